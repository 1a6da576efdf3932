"""Rank-biased overlap of two rankings (Webber et al., TOIS 2010)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from cranfield.data import Floats
from cranfield.errors import UsageError, check_choice, check_fraction
from cranfield.statistics.rounding import levels

TieVariant = Literal["a", "b", "w"]


class Overlap(NamedTuple):
    """Rank-biased overlap: ``ext`` is extrapolated beyond the ends of the lists, ``min`` and ``max`` are bounds."""

    ext: float
    min: float
    max: float

    @property
    def residual(self) -> float:
        """The uncertainty from what follows the ends of the lists."""
        return self.max - self.min


def rbo(
    x: Mapping[str, float] | Sequence[float] | Floats,
    y: Mapping[str, float] | Sequence[float] | Floats,
    p: float = 0.9,
    ties: TieVariant = "a",
) -> Overlap:
    """Rank-biased overlap of two rankings, given as scores by item, or as scores of the same items in one order.

    ``p`` is the persistence: the probability of going on to the next rank. ``ties`` as in Corsi and Urbano (SIGIR
    2024): ``a`` is the mean over all orders of tied items; ``b`` is ``a`` normalised, so that a ranking with ties
    agrees with itself; ``w`` puts tied items at the same rank.

    >>> round(rbo({"a": 3, "b": 2, "c": 1}, {"b": 3, "a": 2, "c": 1}).ext, 4)
    0.9
    >>> red = {"red": 4, "blue": 3, "green": 3, "yellow": 2, "pink": 1}
    >>> black = {"blue": 4, "red": 4, "white": 3, "yellow": 2, "black": 2, "purple": 2, "green": 1}
    >>> [round(value, 7) for value in rbo(red, black, p=0.95)]
    [0.6922853, 0.3310519, 0.8930692]
    """
    p = check_fraction("p", p)
    check_choice("ties", ties, ("a", "b", "w"))
    short, long = sorted(_as_mappings(x, y), key=len)
    s, n = len(short), len(long)
    if s == 0:
        raise UsageError("overlap needs two rankings; one is empty")
    items = list(dict.fromkeys([*long, *short]))
    depth = np.arange(1, n + 1)
    contained, other = (_contained(ranking, items, n, at_top=ties == "w") for ranking in (short, long))

    overlap = np.einsum("ij,ij->j", contained, other)
    norm = _norm(contained, other, s, ties)
    until = overlap[:s] / norm[:s]
    end = float(overlap[-1])  # the last rank includes all items

    # Between the ends of the lists, the shorter one could continue with any items that only the longer one contains.
    beyond = depth[s:] - s
    only_long = other[[item not in short for item in items]]
    only_long = only_long[np.argsort(-only_long.sum(axis=1), kind="stable")][:, s:]
    active = np.maximum((only_long > 0).sum(axis=0), 1)
    expected = beyond * until[-1] * only_long.sum(axis=0) / active
    best = np.where(np.arange(len(only_long))[:, None] < beyond, only_long, 0).sum(axis=0)

    weights: Floats = np.power(p, depth, dtype=np.float64)
    worst = _total(until, overlap[s:] / norm[s:], weights)
    low = worst + end * _tail(p, n)
    full = s + n - end  # the rank from which the lists can agree completely
    ranks = np.arange(n + 1, full + 1)
    high = float(((2 * ranks - full) / ranks * p**ranks).sum()) + p ** (full + 1) / (1 - p)
    high += _total(until, (overlap[s:] + best) / norm[s:], weights)
    extrapolated = (end + (n - s) * until[-1]) / n * p ** (n + 1) / (1 - p)
    extrapolated += _total(until, (overlap[s:] + expected) / norm[s:], weights)
    scale = (1 - p) / p
    return Overlap(scale * float(extrapolated), scale * float(low), scale * float(high))


def _as_mappings(
    x: Mapping[str, float] | Sequence[float] | Floats, y: Mapping[str, float] | Sequence[float] | Floats
) -> list[dict[str, float]]:
    """Both rankings as scores by item."""
    if isinstance(x, Mapping) and isinstance(y, Mapping):
        rankings = [dict(x), dict(y)]
    elif isinstance(x, Mapping) or isinstance(y, Mapping):
        raise UsageError("overlap needs two rankings of the same kind: scores by item, or scores in one order")
    elif len(x) != len(y):
        raise UsageError(
            f"the rankings have different numbers of items: {len(x)} and {len(y)}",
            hint="give scores by item: {item: score}",
        )
    else:
        rankings = [{str(i): float(score) for i, score in enumerate(scores)} for scores in (x, y)]
    if any(math.isnan(score) for ranking in rankings for score in ranking.values()):
        raise UsageError("some of the scores are undefined", hint="leave out these items")
    return rankings


def _contained(ranking: dict[str, float], items: list[str], n: int, *, at_top: bool) -> Floats:
    """The share of each item in the first 1 .. n ranks: (item, depth).

    Tied items are spread evenly over their ranks, or all at the top one.
    """
    level = -levels(np.array(list(ranking.values())))
    first = (level < level[:, None]).sum(axis=1)
    size = (level == level[:, None]).sum(axis=1)
    depth = np.arange(1, n + 1)
    inside = depth - first[:, None]
    shares = inside > 0 if at_top else np.clip(inside / size[:, None], 0, 1)
    table = np.zeros((len(items), n))
    index = {item: i for i, item in enumerate(items)}
    table[[index[item] for item in ranking]] = shares
    return table


def _norm(contained: Floats, other: Floats, s: int, ties: TieVariant) -> Floats:
    """The divisor of the overlap at each depth; beyond its end the shorter list continues with one item per rank."""
    depth = np.arange(1.0, contained.shape[1] + 1)
    if ties == "a":
        return depth
    power = 1 if ties == "w" else 2
    a, b = ((shares**power).sum(axis=0) for shares in (contained, other))
    a[s:] = depth[s:]
    return (a + b) / 2 if ties == "w" else np.sqrt(a) * np.sqrt(b)


def _total(until: Floats, after: Floats, weights: Floats) -> float:
    return float(np.concatenate([until, after]) @ weights)


def _tail(p: float, n: int) -> float:
    """Σ_{d>n} p^d / d: the complete series minus its first n terms."""
    depth = np.arange(1, n + 1)
    return -math.log1p(-p) - float((p**depth / depth).sum())
