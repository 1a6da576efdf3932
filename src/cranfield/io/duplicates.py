"""Documents that appear twice for a query: what to do with them, and how they are found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

import numpy as np
import numpy.typing as npt

from cranfield.data import Integers, Strings
from cranfield.errors import check_choice

Duplicates = Literal["error", "first", "best"]
DUPLICATES: tuple[Duplicates, ...] = ("error", "first", "best")

_default: ContextVar[Duplicates] = ContextVar("duplicates", default="error")


def default_duplicates() -> Duplicates:
    """What happens to documents that appear twice, unless a call says so itself."""
    return _default.get()


@contextmanager
def keeping_duplicates(duplicates: Duplicates) -> Iterator[None]:
    """Runs that are read inside keep one of several rows of a document: the command line's --duplicates."""
    token = _default.set(duplicates)
    try:
        yield
    finally:
        _default.reset(token)


def check_duplicates(duplicates: str) -> None:
    """Raise if this is no policy for documents that appear twice."""
    check_choice("duplicates", duplicates, DUPLICATES)


_BLOCK = 1 << 16
_BASE = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER = np.uint64(0xD6E8FEB86659FD93)


def first_rows(group: Integers, ids: Strings) -> Integers:
    """For each row the first row with the same group and the same id, usually the row itself.

    Hashes only select candidates; ids with equal hashes are compared byte by byte.
    """
    first = np.arange(len(ids), dtype=np.int64)
    # In place, and freed as soon as possible: there may be many millions of rows.
    hashes = _hashes(ids)
    hashes *= _MULTIPLIER
    hashes += group.astype(np.uint64) * _BASE
    order = np.argsort(hashes, kind="stable")
    hashes = hashes[order]
    same = hashes[1:] == hashes[:-1]
    del hashes
    candidates = np.zeros(len(ids), bool)
    candidates[order[1:][same]] = True
    candidates[order[:-1][same]] = True
    seen: dict[tuple[int, bytes], int] = {}
    rows = np.flatnonzero(candidates)
    bounds = zip(ids.offsets[:-1][rows].tolist(), ids.offsets[1:][rows].tolist(), strict=True)
    for row, group_of_row, (begin, end) in zip(rows.tolist(), group[rows].tolist(), bounds, strict=True):
        first[row] = seen.setdefault((group_of_row, ids.data[begin:end].tobytes()), row)
    return first


def _hashes(ids: Strings) -> npt.NDArray[np.uint64]:
    """A hash for each string: its bytes as digits of a number modulo 2**64."""
    lengths = np.diff(ids.offsets)
    powers = np.cumprod(np.full(max(int(lengths.max(initial=0)), 1), _BASE, np.uint64))
    hashes = np.empty(len(ids), np.uint64)
    for row in range(0, len(ids), _BLOCK):  # in blocks: this takes 24 times the memory of the ids
        block = ids.offsets[row : row + _BLOCK + 1]
        begin = int(block[0])
        data = ids.data[begin : int(block[-1])]
        position = np.arange(len(data)) - np.repeat(block[:-1] - begin, np.diff(block))
        sums = np.zeros(len(data) + 1, np.uint64)
        np.cumsum((data.astype(np.uint64) + np.uint64(1)) * powers[position], out=sums[1:])
        hashes[row : row + _BLOCK] = sums[block[1:] - begin] - sums[block[:-1] - begin]
    return hashes


def codes_of(ids: Strings) -> tuple[Strings, Integers]:
    """The distinct strings in order of appearance, and for each row the index of its string."""
    first = first_rows(np.zeros(len(ids), np.int64), ids)
    distinct, codes = np.unique(first, return_inverse=True)
    return ids.take(distinct), codes.astype(np.int64)
