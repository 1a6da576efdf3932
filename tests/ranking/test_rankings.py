"""Judged documents and their gains, which all runs and threads share."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

from cranfield.ranking.rankings import Judged


@dataclass(frozen=True)
class From:
    """A gain of 1 from this grade on."""

    least: float

    def of(self, grade: np.ndarray, top: float) -> np.ndarray:
        return (grade >= self.least).astype(float)


def test_threads_give_different_numbers_to_different_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    equal = np.array_equal

    def slowly(*arrays: np.ndarray) -> bool:
        time.sleep(0.01)  # so that the other threads come in between
        return equal(*arrays)

    monkeypatch.setattr(np, "array_equal", slowly)
    judged = Judged(np.arange(8.0), 7.0)
    mappings = [From(least) for least in (1, 1, 2, 3, 3, 4, 5)]
    judged.gaining_set(From(0.5))
    with ThreadPoolExecutor(len(mappings)) as pool:
        numbers = list(pool.map(judged.gaining_set, mappings))
    assert len(set(numbers)) == 5
    for mapping in mappings:
        assert judged.gaining(mapping).tolist() == (judged.grade >= mapping.least).astype(int).tolist()
    assert judged.gaining_set(From(1)) == judged.gaining_set(From(0.5))
