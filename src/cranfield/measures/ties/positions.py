"""Means over the positions of tied documents, if all orders of a tie are equally likely.

A *range* is a sequence of consecutive positions, given by the first one and their number. Positions count from 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.data import Floats, Integers
from cranfield.ranking.batch import CELLS, ragged

AT_ONCE = 1 << 12  # number of positions that are scored together; they fit into the processor cache


@lru_cache(maxsize=8)
def _log_factorials(bits: int) -> Floats:
    return np.concatenate([[0], np.cumsum(np.log(np.arange(1, 1 << bits)))])


def mean_for_nth(
    size: Integers, count: Integers, nth: Integers, score: Callable[[Integers, Integers], Floats]
) -> Floats:
    """The mean score of one document of each tie, over all its possible positions in the tie.

    The document is the nth (from 0) of ``count`` documents in a tie of ``size``. ``score`` takes indices of ties and
    positions in them. With r documents in n positions, the document with j of the others above it is at position x
    with probability C(x, j) C(n-1-x, r-1-j) / C(n, r).
    """
    mean = np.zeros(len(size))
    for part in _chunks(size - count + 1):
        n, r, j = size[part], count[part], nth[part]
        owner, step = ragged(n - r + 1)
        log = _log_factorials(max(10, int(n.max(initial=0)).bit_length()))
        # x = j + step and n-1-x = r-1-j + after; factors that do not depend on x are added at the end.
        after = (n - r)[owner] - step
        x = j[owner] + step
        ways = log[x] - log[step] + log[(r - 1 - j)[owner] + after] - log[after]
        ways += (log[r] + log[n - r] - log[n] - log[j] - log[r - 1 - j])[owner]
        probability = np.exp(ways)
        total = np.bincount(owner, probability * score(part[owner], x), len(n))
        mean[part] = total / np.bincount(owner, probability, len(n))
    return mean


def _chunks(cells: Integers) -> Iterator[Integers]:
    """Indices of ties in chunks that fit into memory."""
    chunk = np.cumsum(cells) // CELLS
    return (np.flatnonzero(chunk == i) for i in np.unique(chunk))


def mean_over_ranges(
    first: Integers, count: Integers, score: Callable[[Integers, Integers, Integers], Floats], *tables: npt.NDArray[Any]
) -> Floats:
    """The mean of a score over each range; ranges with equal rows in the tables share the scores of their positions.

    ``score`` takes indices of ranges, the number of positions to score for each of them, and all these positions.
    """
    total = np.zeros(len(first))
    order, leader, width, offset = _merge_ranges(first, count, tables)
    piece = np.flatnonzero(np.diff(np.cumsum(width) // AT_ONCE)) + 1
    for begin, end in itertools.pairwise([0, *piece.tolist(), len(leader)]):
        example, times = order[leader[begin:end]], width[begin:end]
        scores = score(example, times, _positions(first[example], times))
        members = slice(leader[begin], leader[end] if end < len(leader) else None)
        total[order[members]] = _ascending_range_sums(
            scores, offset[members] - offset[leader[begin]], count[order[members]]
        )
    return total / count


def distinct_positions(
    first: Integers, count: Integers, *tables: npt.NDArray[Any]
) -> tuple[Integers, Integers, Integers]:
    """The distinct positions of the ranges; ranges with equal rows in the tables share positions.

    Returns, for each position, a range that contains it and the position itself; and, for each range, the index of
    its first position in these arrays. Its other positions follow.
    """
    order, leader, width, offset = _merge_ranges(first, count, tables)
    example = order[leader]
    index = np.empty_like(offset)
    index[order] = offset
    return np.repeat(example, width), _positions(first[example], width), index


def _positions(first: Integers, count: Integers) -> Integers:
    """All positions of ranges, one range after the other."""
    return np.arange(count.sum()) + np.repeat(first - np.cumsum(count) + count, count)


def _merge_ranges(
    first: Integers, count: Integers, tables: Sequence[npt.NDArray[Any]]
) -> tuple[Integers, Integers, Integers, Integers]:
    """Merge ranges with equal rows in the tables that overlap or touch.

    Returns an order of the ranges in which the members of a merged range are adjacent; for each merged range, the
    index of its first member in this order, and its number of positions; and, for each range in this order, the number
    of positions of merged ranges before its first position.
    """
    group, _ = group_equal_rows(*tables)
    order = np.lexsort((_narrowest(first), _narrowest(group)))
    begin = (group * (int((first + count).max(initial=0)) + 1) + first)[order]
    end = np.maximum.accumulate(begin + count[order])
    leads = np.append(True, begin[1:] > end[:-1])
    leader = np.flatnonzero(leads)
    width = end[np.append(leader[1:], len(end)) - 1] - begin[leader]
    gap = begin[leader] - (np.cumsum(width) - width)
    return order, leader, width, begin - gap[np.cumsum(leads) - 1]


def _narrowest(x: Integers) -> npt.NDArray[Any]:
    """The same numbers in 16 bits if possible, because NumPy sorts these much faster."""
    return x.astype(np.uint16) if x.max(initial=0) < 1 << 16 else x


@lru_cache(maxsize=32)
def _hash_factors(bits: int) -> npt.NDArray[np.uint64]:
    return np.random.default_rng(0).integers(1 << 63, size=(1 << bits, 1), dtype=np.uint64) | np.uint64(1)


def group_equal_rows(*tables: npt.NDArray[Any]) -> tuple[Integers, Integers]:
    """A group number for each row, equal for rows that are equal in all tables; and one row of each group."""
    parts = [part for table in tables if len(part := _varying_columns(table))]
    hashed = np.zeros(len(tables[0]), np.uint64)
    for part in parts:
        factors = _hash_factors(len(part).bit_length())
        hashed = hashed * factors[0] + ((part ^ (part >> np.uint64(29))) * factors[1 : len(part) + 1]).sum(axis=0)
    _, example, group = np.unique(hashed, return_index=True, return_inverse=True)
    leader = example[group]
    if any((part != part.take(leader, axis=1)).any() for part in parts):  # different rows with the same hash
        _, example, group = np.unique(np.concatenate(parts), axis=1, return_index=True, return_inverse=True)
    return group, example


def _varying_columns(table: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """The bits of a table's columns, without the columns that are the same in all rows."""
    columns = np.ascontiguousarray(table.reshape(len(table), -1).T, np.float64).view(np.uint64)
    return columns[(columns != columns[:, :1]).any(axis=1)]


def range_sums(x: npt.NDArray[Any], first: Integers, count: Integers) -> Floats:
    """The sum of x over each range."""
    total = x[first].astype(np.float64)
    several = np.flatnonzero(count > 1)
    several = several[np.argsort(_narrowest(first[several]), kind="stable")]
    total[several] = _ascending_range_sums(x, first[several], count[several])
    return total


def _ascending_range_sums(x: npt.NDArray[Any], first: Integers, count: Integers) -> Floats:
    """The sum of x over each range, where ranges are in order of their first position."""
    # From the last range to the first: reduceat then returns a single number for the gap between two ranges.
    ends = np.empty(2 * len(first), np.int64)
    ends[-2::-2], ends[::-2] = first, first + count
    return np.add.reduceat(np.append(x, 0.0), ends)[-2::-2]
