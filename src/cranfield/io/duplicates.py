"""Which rows say something about a document that an earlier row already spoke of."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cranfield.data import Integers, Strings

_BLOCK = 1 << 16
_BASE = np.uint64(0x9E3779B97F4A7C15)
_OTHER = np.uint64(0xD6E8FEB86659FD93)


def first_rows(group: Integers, ids: Strings) -> Integers:
    """For each row the first row with the same group and the same id; most often the row itself.

    Hashes only find the rows worth a look: those that share one are then compared byte by byte.
    """
    first = np.arange(len(ids), dtype=np.int64)
    hashes = _hashes(ids) * _OTHER + group.astype(np.uint64) * _BASE
    order = np.argsort(hashes, kind="stable")
    same = hashes[order][1:] == hashes[order][:-1]
    suspects = np.zeros(len(ids), bool)
    suspects[order[1:][same]] = True
    suspects[order[:-1][same]] = True
    seen: dict[tuple[int, bytes], int] = {}
    rows = np.flatnonzero(suspects)
    bounds = zip(ids.offsets[:-1][rows].tolist(), ids.offsets[1:][rows].tolist(), strict=True)
    for row, place, (a, b) in zip(rows.tolist(), group[rows].tolist(), bounds, strict=True):
        first[row] = seen.setdefault((place, ids.data[a:b].tobytes()), row)
    return first


def _hashes(ids: Strings) -> npt.NDArray[np.uint64]:
    """A number for each string, equal where strings are equal: its bytes as digits, modulo 2**64."""
    lengths = np.diff(ids.offsets)
    powers = np.cumprod(np.full(max(int(lengths.max(initial=0)), 1), _BASE, np.uint64))
    hashes = np.empty(len(ids), np.uint64)
    for row in range(0, len(ids), _BLOCK):  # in blocks, because this takes 24 times the memory of the ids
        block = ids.offsets[row : row + _BLOCK + 1]
        begin = int(block[0])
        data = ids.data[begin : int(block[-1])]
        within = np.arange(len(data)) - np.repeat(block[:-1] - begin, np.diff(block))
        sums = np.zeros(len(data) + 1, np.uint64)
        np.cumsum((data.astype(np.uint64) + np.uint64(1)) * powers[within], out=sums[1:])
        hashes[row : row + _BLOCK] = sums[block[1:] - begin] - sums[block[:-1] - begin]
    return hashes


def codes_of(ids: Strings) -> tuple[Strings, Integers]:
    """The distinct strings in order of appearance, and which of them each row has."""
    first = first_rows(np.zeros(len(ids), np.int64), ids)
    distinct, codes = np.unique(first, return_inverse=True)
    return ids.take(distinct), codes.astype(np.int64)
