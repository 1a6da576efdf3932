"""Means over places of open documents, and the sums behind weights, against the plainest way to have them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import zeta

from cranfield.measures.ties import positions as places
from cranfield.measures.ties.over_orders import _sample
from cranfield.measures.ties.positions import mean_in, shared
from cranfield.measures.weights import hurwitz

runs = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 12), st.sampled_from([0.0, 0.25, 7.0])), min_size=1, max_size=25
)


@given(runs, st.sampled_from([1, 7, 1 << 12]))
def test_the_mean_over_places_is_that_of_each_run(some: list, at_once: int) -> None:
    first, many, kind = (np.array(column) for column in zip(*some, strict=True))

    def score(which: np.ndarray, times: np.ndarray, place: np.ndarray) -> np.ndarray:
        assert len(place) == times.sum()
        return 1 / (1 + place + np.repeat(kind[which], times))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(places, "AT_ONCE", at_once)
        found = mean_in(first, many, score, kind, np.ones((len(kind), 3)))
    plain = [np.mean([1 / (1 + place + k) for place in range(f, f + n)]) for f, n, k in some]
    np.testing.assert_allclose(found, plain, rtol=1e-14)


@given(runs)
def test_a_place_is_had_once_for_all_runs_that_are_alike(some: list) -> None:
    first, many, kind = (np.array(column) for column in zip(*some, strict=True))
    which, place, run = shared(first, many, kind)
    had = list(zip(kind[which].tolist(), place.tolist(), strict=True))
    wanted = {(k, p) for f, n, k in some for p in range(f, f + n)}
    assert len(had) == len(wanted)
    assert set(had) == wanted
    for at, (f, n, k) in zip(run.tolist(), some, strict=True):
        assert had[at : at + n] == [(k, p) for p in range(f, f + n)]


@pytest.mark.parametrize(("documents", "size"), [(3, 12), (5, 7), (7, 7), (1, 4)])
def test_drawn_places_are_all_different_and_as_likely(documents: int, size: int) -> None:
    samples = 20_000
    drawn = _sample(documents, size, samples, np.random.default_rng(5))
    assert drawn.shape == (samples, documents)
    assert (np.diff(np.sort(drawn, axis=1), axis=1) > 0).all()
    for column in drawn.T:
        seen = np.bincount(column, minlength=size)
        assert len(seen) == size
        assert np.abs(seen / samples - 1 / size).max() < 5 * np.sqrt(1 / size / samples)
    # Of two documents either may be above.
    if documents > 1:
        assert abs((drawn[:, 0] < drawn[:, 1]).mean() - 0.5) < 5 * 0.5 / np.sqrt(samples)


def test_hurwitz_zetas_are_those_of_scipy_and_the_same_from_a_table() -> None:
    x = np.concatenate([np.geomspace(0.01, 1e18, 2_000), np.arange(1, 100) / 3, [15.999, 16, 16.001]])
    np.testing.assert_allclose(hurwitz(x), zeta(2, x), rtol=2e-15)
    whole = np.arange(1.0, 3000)
    assert hurwitz(np.append(whole, 0.5))[:-1].tolist() == hurwitz(whole).tolist()
    assert hurwitz(np.array(1.0)) == pytest.approx(np.pi**2 / 6, rel=1e-15)
