"""Words split and counted in plain Python: the fallback without the native core, and the reference for its tests."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np

from cranfield.data import Bytes, Integers, Strings

Column = tuple[Integers, Bytes]


class Words:
    """Counts of words; the contract is in `cranfield.native`."""

    def __init__(self, kinds: Bytes, lower: bool) -> None:
        begins, continues = (_class_of(np.flatnonzero(kinds == kind)) for kind in (1, 2))
        self.pattern = re.compile(f"[{begins}][{begins}{continues}]*")
        self.lower = lower
        self.counts: Counter[bytes] = Counter()
        self.number: dict[bytes, int] = {}

    def add(self, texts: Column, keep: Integers) -> dict[str, Any]:
        lengths = []
        kept: list[list[tuple[int, int]]] = []
        wanted = set(keep.tolist())
        data = texts[1].tobytes()
        for row, (a, b) in enumerate(pairwise(texts[0].tolist())):
            found = Counter(self._words(data[a:b]))
            lengths.append(found.total())
            self._count(found)
            if row in wanted:
                kept.append(sorted((self.number[word], count) for word, count in found.items()))
        rows = np.array([pair for pairs in kept for pair in pairs], np.int64).reshape(-1, 2)
        return {
            "length": np.array(lengths, np.int64),
            "begin": np.cumsum([0, *map(len, kept)], dtype=np.int64),
            "word": rows[:, 0].copy(),
            "count": rows[:, 1].copy(),
        }

    def merge(self, other: Words) -> Integers:
        self._count(other.counts)
        return np.array([self.number[word] for word in other.number], np.int64)

    def columns(self) -> tuple[Column, Integers]:
        words = [word.decode("utf-8") for word in self.number]
        strings = Strings.of(words)
        return (strings.offsets, strings.data), np.array([self.counts[word] for word in self.number], np.int64)

    def _words(self, text: bytes) -> list[bytes]:
        found = [word.encode("utf-8") for word in self.pattern.findall(text.decode("utf-8", "surrogateescape"))]
        return [word.lower() for word in found] if self.lower else found

    def _count(self, found: Counter[bytes]) -> None:
        self.counts.update(found)
        for word in found:
            self.number.setdefault(word, len(self.number))


def _class_of(points: Any) -> str:
    """These code points inside the brackets of a regular expression."""
    breaks = np.flatnonzero(np.diff(points) != 1) + 1
    return "".join(f"\\U{run[0]:08x}-\\U{run[-1]:08x}" for run in np.split(points, breaks) if len(run))
