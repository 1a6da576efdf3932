"""Swap rates, against the same counted one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import cranfield as cf
from cranfield.statistics import sample_size as swapping
from cranfield.statistics.sample_size import SwapRates, swap_rates


def test_counted_one_by_one() -> None:
    x = np.round(np.random.default_rng(0).random((4, 12)), 1)
    found = swap_rates(x, trials=7, seed=3)
    assert found.sizes.tolist() == [5, 6]
    rng = np.random.default_rng(3)
    for i, size in enumerate(found.sizes):
        compared, swapped = np.zeros((2, swapping.BINS), int)
        for order in rng.permuted(np.tile(np.arange(12), (7, 1)), axis=1):
            for a, b in itertools.combinations(range(4), 2):
                one = (x[a] - x[b])[order[:size]].mean()
                other = (x[a] - x[b])[order[size : 2 * size]].mean()
                place = next((i for i in range(20) if abs(one) + 1e-12 < found.edges[i + 1]), 20)
                compared[place] += 1
                swapped[place] += abs(one) > 1e-9 and abs(other) > 1e-9 and one * other < 0
        assert found.compared[i].tolist() == compared.tolist()
        assert found.swapped[i].tolist() == swapped.tolist()


def test_pairs_at_a_time_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).random((5, 30))
    before = swap_rates(x)
    monkeypatch.setattr(swapping, "CELLS", 1)
    after = swap_rates(x)
    assert after.swapped.tolist() == before.swapped.tolist()
    assert after.compared.tolist() == before.compared.tolist()


def test_differences_that_hold_are_never_swapped() -> None:
    x = np.random.default_rng(1).random(40)
    found = swap_rates(np.stack([x, x + 0.055, x.copy()]))
    assert found.swapped.sum() == 0
    assert found.required() == 0
    assert found.share(0.05) == pytest.approx(2 / 3)
    assert (found.extrapolated[[0, 5]] == 0).all()


def test_systems_that_differ_by_chance_are_swapped_half_of_the_time() -> None:
    x = np.random.default_rng(2).normal(size=(12, 200))
    found = swap_rates(x)
    total = found.swapped[-1].sum() / found.compared[-1].sum()
    assert total == pytest.approx(0.5, abs=0.06)


def test_extrapolation_follows_the_curve() -> None:
    sizes = np.array([5, 10, 15, 20, 25])
    compared = np.full((5, 3), 10**9)
    curve = 0.4 * np.exp(-np.outer(sizes, [0.05, 0.1, 0.2]))
    found = SwapRates(50, sizes, np.arange(3) * 0.01, compared, (compared * curve).astype(int))
    assert found.extrapolated == pytest.approx(0.4 * np.exp(-50 * np.array([0.05, 0.1, 0.2])), rel=1e-3)
    assert found.required(0.05) == pytest.approx(0.01)
    assert found.required(0.02) == pytest.approx(0.02)
    assert found.required(0.05, extrapolated=True) == 0
    assert np.isnan(found.required(1e-9))
    assert found.share(found.required(1e-9)) == 0
    assert found.share(0.01) == pytest.approx(2 / 3)


def test_a_bin_without_comparisons_is_no_proof() -> None:
    found = SwapRates(50, np.array([25]), np.arange(3) * 0.01, np.array([[100, 0, 0]]), np.array([[40, 0, 0]]))
    assert np.isnan(found.rates[0, 1:]).all()
    assert np.isnan(found.required())
    assert found.extrapolated[0] == 0.4


def test_two_topics_are_two_sets() -> None:
    found = swap_rates([[0.1, 0.9], [0.2, 0.3]], trials=5)
    assert found.sizes.tolist() == [1]
    assert found.swapped.sum() == 5


def test_scores_beyond_one_have_wider_bins() -> None:
    assert swap_rates([[1, 20.0], [2, 3]]).edges[1] == pytest.approx(0.2)
    assert swap_rates([[1, 20.0], [2, 3]], width=1).edges[1] == 1


def test_bad_input() -> None:
    with pytest.raises(cf.CranfieldError, match="trials must be a whole number from 1 to 10,000,000, not 0"):
        swap_rates([[1, 2], [2, 1]], trials=0)
