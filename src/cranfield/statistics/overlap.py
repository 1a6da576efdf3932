"""Rank-biased overlap: how alike two rankings are to a reader who may stop anywhere (Webber et al., TOIS 2010)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from cranfield.arguments import one_of, share
from cranfield.data import Floats
from cranfield.errors import UsageError
from cranfield.statistics.correlation import levels

Shared = Literal["a", "b", "w"]


class Overlap(NamedTuple):
    """Rank-biased overlap: ``ext`` goes on as the lists began, ``min`` and ``max`` are what could follow them."""

    ext: float
    min: float
    max: float

    @property
    def residual(self) -> float:
        """What the ends of the lists leave open."""
        return self.max - self.min


def rbo(
    x: Mapping[str, float] | Sequence[float] | Floats,
    y: Mapping[str, float] | Sequence[float] | Floats,
    p: float = 0.9,
    ties: Shared = "a",
) -> Overlap:
    """Rank-biased overlap of two rankings, given as scores by item, or as scores of the same items in one order.

    ``p`` is how readily a reader goes on to the next rank. ``ties`` as Corsi and Urbano (SIGIR 2024) have them: ``a``
    is the mean over all orders of tied items, ``b`` the same in proportion to what ties let two rankings agree, so
    that a ranking agrees with itself, ``w`` puts tied items at one and the same rank.

    >>> round(rbo({"a": 3, "b": 2, "c": 1}, {"b": 3, "a": 2, "c": 1}).ext, 4)
    0.9
    >>> red = {"red": 4, "blue": 3, "green": 3, "yellow": 2, "pink": 1}
    >>> black = {"blue": 4, "red": 4, "white": 3, "yellow": 2, "black": 2, "purple": 2, "green": 1}
    >>> [round(value, 7) for value in rbo(red, black, p=0.95)]
    [0.6922853, 0.3310519, 0.8930692]
    """
    p = share("p", p)
    one_of("ties", ties, ("a", "b", "w"))
    short, long = sorted(_named(x, y), key=len)
    s, n = len(short), len(long)
    if s == 0:
        raise UsageError("overlap needs two rankings, and one is empty")
    items = list(dict.fromkeys([*long, *short]))
    depth = np.arange(1, n + 1)
    mine, other = (_held(ranking, items, n, whole=ties == "w") for ranking in (short, long))

    seen = np.einsum("ij,ij->j", mine, other)
    room = _room(mine, other, s, ties)
    until = seen[:s] / room[:s]
    end = float(seen[-1])  # by the last rank everything is in

    # Between the ends of the two lists, the shorter could go on with any items of the longer that it does not hold.
    beyond = depth[s:] - s
    alone = other[[item not in short for item in items]]
    alone = alone[np.argsort(-alone.sum(axis=1), kind="stable")][:, s:]
    active = np.maximum((alone > 0).sum(axis=0), 1)
    like = beyond * until[-1] * alone.sum(axis=0) / active
    best = np.where(np.arange(len(alone))[:, None] < beyond, alone, 0).sum(axis=0)

    weights: Floats = np.power(p, depth, dtype=np.float64)
    worst = _total(until, seen[s:] / room[s:], weights)
    low = worst + end * _tail(p, n)
    full = s + n - end  # the rank from which the lists may agree in everything
    ranks = np.arange(n + 1, full + 1)
    high = float(((2 * ranks - full) / ranks * p**ranks).sum()) + p ** (full + 1) / (1 - p)
    high += _total(until, (seen[s:] + best) / room[s:], weights)
    same = (end + (n - s) * until[-1]) / n * p ** (n + 1) / (1 - p)
    same += _total(until, (seen[s:] + like) / room[s:], weights)
    scale = (1 - p) / p
    return Overlap(scale * float(same), scale * float(low), scale * float(high))


def _named(
    x: Mapping[str, float] | Sequence[float] | Floats, y: Mapping[str, float] | Sequence[float] | Floats
) -> list[dict[str, float]]:
    """Both rankings as scores by item."""
    if isinstance(x, Mapping) and isinstance(y, Mapping):
        found = [dict(x), dict(y)]
    elif isinstance(x, Mapping) or isinstance(y, Mapping):
        raise UsageError("overlap needs two rankings of one kind: both scores by item, or both scores in one order")
    elif len(x) != len(y):
        raise UsageError(
            f"two orders of different items: {len(x)} scores against {len(y)}",
            hint="give scores by item: {item: score}",
        )
    else:
        found = [{str(i): float(score) for i, score in enumerate(one)} for one in (x, y)]
    if any(math.isnan(score) for one in found for score in one.values()):
        raise UsageError("some of the scores to compare are undefined", hint="leave out these items")
    return found


def _held(ranking: dict[str, float], items: list[str], n: int, *, whole: bool) -> Floats:
    """How much of each item is among the first 1 .. n: (item, depth). A tie comes in evenly, or whole at its top."""
    place = -levels(np.array(list(ranking.values())))
    first = (place < place[:, None]).sum(axis=1)
    size = (place == place[:, None]).sum(axis=1)
    depth = np.arange(1, n + 1)
    inside = depth - first[:, None]
    held = inside > 0 if whole else np.clip(inside / size[:, None], 0, 1)
    found = np.zeros((len(items), n))
    where = {item: i for i, item in enumerate(items)}
    found[[where[item] for item in ranking]] = held
    return found


def _room(mine: Floats, other: Floats, s: int, ties: Shared) -> Floats:
    """By what overlap is divided at each depth; the shorter list goes on, one item at a rank, beyond its end."""
    depth = np.arange(1.0, mine.shape[1] + 1)
    if ties == "a":
        return depth
    power = 1 if ties == "w" else 2
    one, two = ((held**power).sum(axis=0) for held in (mine, other))
    one[s:] = depth[s:]
    return (one + two) / 2 if ties == "w" else np.sqrt(one) * np.sqrt(two)


def _total(until: Floats, after: Floats, weights: Floats) -> float:
    return float(np.concatenate([until, after]) @ weights)


def _tail(p: float, n: int) -> float:
    """Σ_{d>n} p^d / d: all of the series less its first terms."""
    depth = np.arange(1, n + 1)
    return -math.log1p(-p) - float((p**depth / depth).sum())
