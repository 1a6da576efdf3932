"""Repeated ids are found wherever they are, and hashes that collide do no harm."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.data import Strings
from cranfield.io import duplicates

pairs = st.lists(st.tuples(st.integers(0, 2), st.text("ab\x00", max_size=3)), max_size=30)


def expected(given: list[tuple[int, str]]) -> list[int]:
    return [given.index(pair) for pair in given]


def found(given: list[tuple[int, str]]) -> list[int]:
    group = np.array([g for g, _ in given], np.int64)
    return duplicates.first_rows(group, Strings.of(t for _, t in given)).tolist()


@given(pairs)
def test_first_rows(given: list[tuple[int, str]]) -> None:
    assert found(given) == expected(given)


def test_every_hash_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "_hashes", lambda ids: np.zeros(len(ids), np.uint64))
    given = [(0, "a"), (0, "b"), (1, "a"), (0, "a"), (0, ""), (1, "a")]
    assert found(given) == expected(given)


def test_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "_BLOCK", 3)
    given = [(0, t) for t in ["", "a", "bb", "a", "", "ccc", "bb", "d"]]
    assert found(given) == expected(given)


def test_a_slice_of_longer_data() -> None:
    whole = Strings.of(["skip", "x", "y", "x"])
    part = Strings(whole.offsets[1:], whole.data)
    assert duplicates.first_rows(np.zeros(3, np.int64), part).tolist() == [0, 1, 0]
    distinct, codes = duplicates.codes_of(part)
    assert (list(distinct), codes.tolist()) == (["x", "y"], [0, 1, 0])
