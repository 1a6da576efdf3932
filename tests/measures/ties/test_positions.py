"""Means over positions of tied documents, against the plainest way to compute them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.measures.ties.expectation import distinct_positions, mean_over_ranges

ranges = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 12), st.sampled_from([0.0, 0.25, 7.0])), min_size=1, max_size=25
)


@given(ranges, st.sampled_from([1, 7, 1 << 12]))
def test_the_mean_over_positions_is_that_of_each_range(some: list, at_once: int) -> None:
    first, many, kind = (np.array(column) for column in zip(*some, strict=True))

    def score(which: np.ndarray, times: np.ndarray, place: np.ndarray) -> np.ndarray:
        assert len(place) == times.sum()
        return 1 / (1 + place + np.repeat(kind[which], times))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cranfield.measures.ties.expectation.POSITIONS_AT_ONCE", at_once)
        found = mean_over_ranges(first, many, score, kind, np.ones((len(kind), 3)))
    plain = [np.mean([1 / (1 + place + k) for place in range(f, f + n)]) for f, n, k in some]
    np.testing.assert_allclose(found, plain, rtol=1e-14)


@given(ranges)
def test_a_position_is_scored_once_for_all_equal_ranges(some: list) -> None:
    first, many, kind = (np.array(column) for column in zip(*some, strict=True))
    which, place, run = distinct_positions(first, many, kind)
    had = list(zip(kind[which].tolist(), place.tolist(), strict=True))
    wanted = {(k, p) for f, n, k in some for p in range(f, f + n)}
    assert len(had) == len(wanted)
    assert set(had) == wanted
    for at, (f, n, k) in zip(run.tolist(), some, strict=True):
        assert had[at : at + n] == [(k, p) for p in range(f, f + n)]
