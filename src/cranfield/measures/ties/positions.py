"""Where documents of a tie stand when each order of it is as likely, and means over these places."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.batch import CELLS, ragged
from cranfield.data import Floats, Integers

AT_ONCE = 1 << 12  # places that are scored together: few enough to stay in the processor's cache


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


def mean_in(
    first: Integers, many: Integers, score: Callable[[Integers, Integers, Integers], Floats], *tables: npt.NDArray[Any]
) -> Floats:
    """The mean of a score over runs of places; it is the same at a place for all runs that are equal in the tables.

    ``score`` takes numbers of runs, how many places each of them stands for, and all of these places.
    """
    total = np.zeros(len(first))
    order, leader, width, run = _stretches(first, many, tables)
    piece = np.flatnonzero(np.diff(np.cumsum(width) // AT_ONCE)) + 1
    for begin, end in itertools.pairwise([0, *piece.tolist(), len(leader)]):
        one, wide = order[leader[begin:end]], width[begin:end]
        scores = score(one, wide, _places(first[one], wide))
        mine = slice(leader[begin], leader[end] if end < len(leader) else None)
        total[order[mine]] = _totals(scores, run[mine] - run[leader[begin]], many[order[mine]])
    return total / many


def shared(first: Integers, many: Integers, *tables: npt.NDArray[Any]) -> tuple[Integers, Integers, Integers]:
    """Every place of runs of places, but once for all runs that are equal in the tables: whose it is, and what place.

    Last, at which of these each run has its first place; the others follow.
    """
    order, leader, width, run = _stretches(first, many, tables)
    one = order[leader]
    found = np.empty_like(run)
    found[order] = run
    return np.repeat(one, width), _places(first[one], width), found


def _places(first: Integers, many: Integers) -> Integers:
    return np.arange(many.sum()) + np.repeat(first - np.cumsum(many) + many, many)


def _stretches(
    first: Integers, many: Integers, tables: Sequence[npt.NDArray[Any]]
) -> tuple[Integers, Integers, Integers, Integers]:
    """An order of runs in which those that meet and are equal in the tables follow each other, and form a stretch.

    For each stretch which is its first, and how many places it has; for each run, where it begins among all of these.
    """
    kind, _ = alike(*tables)
    order = np.lexsort((_small(first), _small(kind)))
    begin = (kind * (int((first + many).max(initial=0)) + 1) + first)[order]
    end = np.maximum.accumulate(begin + many[order])
    leads = np.append(True, begin[1:] > end[:-1])
    leader = np.flatnonzero(leads)
    width = end[np.append(leader[1:], len(end)) - 1] - begin[leader]
    gap = begin[leader] - (np.cumsum(width) - width)
    return order, leader, width, begin - gap[np.cumsum(leads) - 1]


def _small(x: Integers) -> npt.NDArray[Any]:
    """The same numbers in as few bits as they need: those of 16 are sorted in no time."""
    return x.astype(np.uint16) if x.max(initial=0) < 1 << 16 else x


@lru_cache(maxsize=32)
def _factors(bits: int) -> npt.NDArray[np.uint64]:
    return np.random.default_rng(0).integers(1 << 63, size=(1 << bits, 1), dtype=np.uint64) | np.uint64(1)


def alike(*tables: npt.NDArray[Any]) -> tuple[Integers, Integers]:
    """A number for each row, the same for rows that are equal in all tables; and one row for each number."""
    parts = [part for table in tables if len(part := _varying(table))]
    mixed = np.zeros(len(tables[0]), np.uint64)
    for part in parts:
        factors = _factors(len(part).bit_length())
        mixed = mixed * factors[0] + ((part ^ (part >> np.uint64(29))) * factors[1 : len(part) + 1]).sum(axis=0)
    _, one, number = np.unique(mixed, return_index=True, return_inverse=True)
    leader = one[number]
    if any((part != part.take(leader, axis=1)).any() for part in parts):  # some that differ are mixed to the same
        _, one, number = np.unique(np.concatenate(parts), axis=1, return_index=True, return_inverse=True)
    return number, one


def _varying(table: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """The bits of a table's columns, but of those that are the same in all rows."""
    columns = np.ascontiguousarray(table.reshape(len(table), -1).T, np.float64).view(np.uint64)
    return columns[(columns != columns[:, :1]).any(axis=1)]


def sums(x: npt.NDArray[Any], first: Integers, many: Integers) -> Floats:
    """Sums over runs of x."""
    total = x[first].astype(np.float64)
    several = np.flatnonzero(many > 1)
    several = several[np.argsort(_small(first[several]), kind="stable")]
    total[several] = _totals(x, first[several], many[several])
    return total


def _totals(x: npt.NDArray[Any], first: Integers, many: Integers) -> Floats:
    """Sums over runs of x that come one after the other."""
    # From the last run to the first: what reduceat makes of what lies between two of them is then a single number.
    ends = np.empty(2 * len(first), np.int64)
    ends[-2::-2], ends[::-2] = first, first + many
    return np.add.reduceat(np.append(x, 0.0), ends)[-2::-2]
