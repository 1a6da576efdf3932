"""Judged documents and their gains, which all runs and threads share."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import pytest

from cranfield.ranking.rankings import Judged


@dataclass(frozen=True)
class From:
    """A gain of 1 from this grade on; threads with the same barrier all come from here at once."""

    least: float
    together: threading.Barrier | None = field(default=None, compare=False)

    def of(self, grade: np.ndarray, top: float) -> np.ndarray:
        if self.together is not None:
            self.together.wait(60)
        return (grade >= self.least).astype(float)


@pytest.fixture
def _threads_take_turns() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("_threads_take_turns")
def test_threads_give_different_numbers_to_different_sets() -> None:
    with ThreadPoolExecutor(7) as pool:
        for _ in range(50):
            judged = Judged(np.arange(8.0), 7.0)
            first = judged.gaining_set(From(0.5))
            together = threading.Barrier(7)
            mappings = [From(least, together) for least in (0.75, 1, 2, 3, 3.5, 4, 5)]
            numbers = list(pool.map(judged.gaining_set, mappings))
            assert len(set(numbers)) == 5 and numbers[:2] == [first, first] and numbers[4] == numbers[5]
            for mapping in mappings:
                assert judged.gaining(mapping).tolist() == (judged.grade >= mapping.least).astype(int).tolist()
