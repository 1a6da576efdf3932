"""Agreement of two orders."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import cranfield as cf
from cranfield.studies.ranks import agreement, inverted


@pytest.mark.parametrize("seed", range(20))
def test_against_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 12, (2, 15)) / 7
    found = agreement(x, y)
    assert found.tau_b == pytest.approx(stats.kendalltau(x, y).statistic)
    assert len(inverted(x, y)) == found.discordant
    undecided = np.sum((x[:, None] == x) | (y[:, None] == y)) - len(x)
    assert found.concordant + found.discordant + undecided // 2 == found.pairs


def test_the_last_digit_decides_nothing() -> None:
    found = agreement(np.array([0.1 + 0.2, 0.3, 1.0]), np.array([1.0, 2.0, 3.0]))
    assert (found.tied_x, found.concordant) == (1, 2)


def test_equal_systems_have_no_order() -> None:
    found = agreement(np.ones(3), np.arange(3.0))
    assert np.isnan(found.tau_b)
    assert found.tau_a == 0


@pytest.mark.parametrize(("n", "message"), [(1, "there is one"), (0, "there is none")])
def test_an_order_needs_two(n: int, message: str) -> None:
    with pytest.raises(cf.CranfieldError, match=message):
        agreement(np.ones(n), np.ones(n))
