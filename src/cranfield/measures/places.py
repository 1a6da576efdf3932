"""Where documents of a tie stand when each order of it is as likely, and means over these places."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.batch import CELLS, ragged
from cranfield.data import Floats, Integers


@lru_cache(maxsize=8)
def _logarithms(bits: int) -> Floats:
    """The logarithms of factorials."""
    return np.concatenate([[0], np.cumsum(np.log(np.arange(1, 1 << bits)))])


def mean_at(size: Integers, many: Integers, nth: Integers, score: Callable[[Integers, Integers], Floats]) -> Floats:
    """The mean of a score of the nth, from 0, of so many documents of ties, over all places that it can have.

    ``score`` takes numbers of ties and places in these, from 0. With r documents in n places the one with j of them
    above stands at place x with chance C(x, j) C(n-1-x, r-1-j) / C(n, r).
    """
    found = np.zeros(len(size))
    for part in _parts(size - many + 1):
        n, r, j = size[part], many[part], nth[part]
        owner, step = ragged(n - r + 1)
        log = _logarithms(max(10, int(n.max(initial=0)).bit_length()))
        # x = j + step and n-1-x = r-1-j + after; what does not depend on x is made up for at the end.
        after = (n - r)[owner] - step
        x = j[owner] + step
        ways = log[x] - log[step] + log[(r - 1 - j)[owner] + after] - log[after]
        ways += (log[r] + log[n - r] - log[n] - log[j] - log[r - 1 - j])[owner]
        chance = np.exp(ways)
        total = np.bincount(owner, chance * score(part[owner], x), len(n))
        found[part] = total / np.bincount(owner, chance, len(n))
    return found


def _parts(cells: Integers) -> Iterator[Integers]:
    """Numbers of ties, as many at a time as fit into memory."""
    part = np.cumsum(cells) // CELLS
    return (np.flatnonzero(part == i) for i in np.unique(part))


def shared(first: Integers, many: Integers, *tables: npt.NDArray[Any]) -> tuple[Integers, Integers, Integers]:
    """Every place of runs of places, but once for all runs that are equal in the tables: whose it is, and what place.

    Last, at which of these each run has its first place; the others follow.
    """
    kind, one = alike(*tables)
    low, high = np.full(len(one), np.iinfo(np.int64).max), np.zeros(len(one), np.int64)
    np.minimum.at(low, kind, first)
    np.maximum.at(high, kind, first + many)
    width = high - low
    base = np.cumsum(width) - width
    run = base[kind] + first - low[kind]
    cells = int(width.sum()) + 1
    needed = np.cumsum(np.bincount(run, minlength=cells) - np.bincount(run + many, minlength=cells)) > 0
    cell = np.flatnonzero(needed)
    owner = np.repeat(np.arange(len(one)), width)[cell]
    return one[owner], cell - base[owner] + low[owner], (np.cumsum(needed) - 1)[run]


@lru_cache(maxsize=8)
def _factors(many: int) -> npt.NDArray[np.uint64]:
    return np.random.default_rng(0).integers(1 << 63, size=many, dtype=np.uint64)


def alike(*tables: npt.NDArray[Any]) -> tuple[Integers, Integers]:
    """A number for each row, the same for rows that are equal in all tables; and one row for each number."""
    raw = np.concatenate([t.reshape(len(t), -1).T.astype(np.float64) for t in tables]).view(np.uint64)
    raw = raw[(raw != raw[:, :1]).any(axis=1)]
    mixed = ((raw ^ (raw >> np.uint64(29))) * _factors(len(raw))[:, None]).sum(axis=0)
    _, one, number = np.unique(mixed, return_index=True, return_inverse=True)
    if (raw != raw[:, one[number]]).any():  # some that differ are mixed to the same
        _, one, number = np.unique(raw, axis=1, return_index=True, return_inverse=True)
    return number, one


def sums(x: npt.NDArray[Any], first: Integers, many: Integers) -> Floats:
    """Sums over runs of x."""
    total = x[first].astype(np.float64)
    several = np.flatnonzero(many > 1)
    # From the last run to the first: what reduceat makes of what lies between two of them is then a single number.
    several = several[np.argsort(-first[several])]
    ends = np.stack([first[several], first[several] + many[several]], axis=1).ravel()
    total[several] = np.add.reduceat(np.append(x, 0.0), ends)[::2]
    return total
