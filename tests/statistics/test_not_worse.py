"""The lowest plausible difference: its three bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from cranfield.statistics.intervals import lowest_difference


def bound(d: np.ndarray, largest: float = 1.0, alpha: float = 0.05) -> float:
    """The bound of plain differences."""
    n, s = len(d), d.std(ddof=1)
    skewness = ((d - d.mean()) ** 3).sum() / (n * s**3) / math.sqrt(n) if s else 0.0
    counts = {"units": n, "differ": int((d != 0).sum()), "lost": int((d < 0).sum()), "largest": largest}
    return float(lowest_difference(d.mean(), s**2 / n, n - 1, skewness, alpha=alpha, **counts))


def test_normal_differences_have_the_bound_of_t_or_hall() -> None:
    d = np.random.default_rng(3).normal(0.1, 1, 40)
    m, s, t = d.mean(), d.std(ddof=1), stats.t.ppf(0.95, 39)
    a = stats.skew(d) * (39 / 40) ** 1.5 / math.sqrt(40)  # with the divisor n - 1 in s
    hall = 3 * (np.cbrt(1 + a * (t - a / 6)) - 1) / a
    assert bound(d) == pytest.approx(m - max(t, hall) * s / math.sqrt(40), abs=1e-12)
    assert bound(-d) == pytest.approx(-m - max(t, 3 * (np.cbrt(1 - a * (t + a / 6)) - 1) / -a) * s / math.sqrt(40))


def test_few_queries_that_differ_have_the_bound_of_clopper_and_pearson() -> None:
    d = np.array([-0.1] * 2 + [0.1] * 3 + [0.0] * 45)
    limit = stats.beta.ppf(0.95, 3, 48)
    assert bound(d) == pytest.approx(-limit)
    assert bound(d, largest=2.0) == pytest.approx(-2 * limit)
    assert bound(d, largest=math.inf) == -math.inf
    assert bound(np.array([-0.1, -0.2, -0.3])) == -1


@pytest.mark.parametrize("value", [0.0, 0.5, -0.5])
def test_differences_without_spread_give_no_lower_bound(value: float) -> None:
    assert bound(np.full(30, value)) == -math.inf


def test_arrays_in_arrays_out() -> None:
    low = lowest_difference(
        [0.1, 0.1], [0.01, 0], [9, 9], [0, 0], units=10, differ=[10, 0], lost=[3, 0], largest=1, alpha=0.1
    )
    assert low[0] == pytest.approx(0.1 - 0.1 * stats.t.ppf(0.9, 9))
    assert low[1] == -math.inf
