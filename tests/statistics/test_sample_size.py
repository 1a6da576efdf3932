"""Numbers of queries, against definitions, tables and simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import cranfield as cf
from cranfield.statistics.sample_size import (
    detectable_difference,
    difference_variance,
    power_of_shift,
    queries_needed,
)


@pytest.mark.parametrize("difference", [5e-324, 1e-200, 1e-9])
def test_nobody_has_so_many(difference: float) -> None:
    assert queries_needed(0.04, difference) is None


def test_variance_is_the_mean_over_pairs() -> None:
    x = np.random.default_rng(0).random((5, 20))
    pairs = [(x[a] - x[b]).var(ddof=1) for a, b in itertools.combinations(range(5), 2)]
    assert difference_variance(x) == pytest.approx(np.mean(pairs))


@pytest.mark.parametrize("queries", [2, 5, 50, 1000, 100_000])
@pytest.mark.parametrize("effect", [0.001, 0.05, 0.3, 1.0])
def test_power_by_its_definition(queries: int, effect: float) -> None:
    """A normal mean over a standard deviation that is chi-distributed: the mean over even steps of the latter."""
    freedom, shift = queries - 1, effect * math.sqrt(queries)
    steps = (np.arange(20_000) + 0.5) / 20_000
    edge = stats.t.ppf(0.975, freedom) * np.sqrt(stats.chi2.ppf(steps, freedom) / freedom)
    expected = (stats.norm.sf(edge - shift) + stats.norm.cdf(-edge - shift)).mean()
    assert power_of_shift(effect * queries**0.5, queries - 1) == pytest.approx(expected, abs=1e-4)


def test_power_by_simulation() -> None:
    rng = np.random.default_rng(1)
    samples = rng.normal(0.5, 1, (20_000, 34))
    found = (stats.ttest_1samp(samples, 0, axis=1).pvalue < 0.05).mean()
    assert power_of_shift(0.5 * 34**0.5, 33) == pytest.approx(found, abs=0.012)


@pytest.mark.parametrize("effect", [0.01, 0.1, 0.5, 1.0, 3.0, 50.0])
@pytest.mark.parametrize(("alpha", "power"), [(0.05, 0.8), (0.01, 0.9), (0.2, 0.1)])
def test_as_many_as_it_takes_and_no_more(effect: float, alpha: float, power: float) -> None:
    n = queries_needed(1, effect, alpha=alpha, power=power)
    assert n is not None
    assert power_of_shift(effect * n**0.5, n - 1, alpha) >= power
    assert n == 2 or power_of_shift(effect * (n - 1) ** 0.5, n - 2, alpha) < power
    assert detectable_difference(1, n, alpha=alpha, power=power) <= effect * (1 + 1e-6)


def test_known_sizes() -> None:
    """What tables of sample sizes have for effects of 0.2, 0.5 and 0.8 at 0.05 and 80 %."""
    assert [queries_needed(1, effect) for effect in (0.2, 0.5, 0.8)] == [199, 34, 15]


def test_differences_that_need_too_many_queries_or_none() -> None:
    assert queries_needed(1, 1e-6) is None
    assert queries_needed(0, 0.1) == 2
    assert detectable_difference(0, 10) == 0


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"variance": 1, "difference": 0}, "difference must be a number greater than 0, not 0"),
        (
            {"variance": 1, "difference": 1, "power": 1.0},
            "power must be a number greater than 0 and less than 1, not 1.0",
        ),
    ],
)
def test_bad_input(how: dict, message: str) -> None:
    with pytest.raises(cf.CranfieldError) as error:
        queries_needed(**how)
    assert error.value.message == message


def test_one_topic_tells_nothing() -> None:
    with pytest.raises(cf.CranfieldError, match="at least two queries, got 1"):
        detectable_difference(1, 1)


@pytest.mark.parametrize("how", [{"power": 1.0}, {"power": 0.0}, {"alpha": 0.0}])
def test_wrong_probabilities_are_refused(how: dict) -> None:
    with pytest.raises(cf.CranfieldError, match=f"{next(iter(how))} must be a number greater than 0 and less than 1"):
        detectable_difference(0.04, 34, **how)


def test_a_variance_that_more_queries_do_not_lower() -> None:
    """As that between repeats: there may be no number of queries that is enough."""
    known = {"fixed": 0.0004, "freedom": 4.0}
    needed = queries_needed(0.04, 0.1, **known)

    def power(queries: int) -> float:
        own, fixed = 0.04 / queries, known["fixed"]
        freedom = (own + fixed) ** 2 / (own**2 / (queries - 1) + fixed**2 / known["freedom"])
        return power_of_shift(0.1 / (own + fixed) ** 0.5, freedom)

    assert needed is not None
    assert power(needed - 1) < 0.8 <= power(needed)
    assert needed > (queries_needed(0.04, 0.1) or 0)
    assert queries_needed(0.04, 0.05, **known) is None


def test_these_queries_and_repeats_detect() -> None:
    """The sentence of a comparison: not the difference that was seen, but what these queries can find."""
    rng = np.random.default_rng(0)
    base = rng.random(40)
    rows = {run: (base[:, None] + rng.normal(0, 0.02, 3) + rng.normal(0, 0.1, (40, 3))).tolist() for run in ("a", "b")}
    values = {run: {"m": {f"q{i}": row for i, row in enumerate(of)}} for run, of in rows.items()}
    pair = cf.compare(cf.read_scores(values))["m"].pairs[0]
    alone = cf.compare(cf.read_scores(values), repeats="fixed", test="t")["m"].pairs[0]
    assert pair.detectable() > alone.detectable()
    assert alone.detectable() == pytest.approx(detectable_difference(alone.variance[0] * 40, 40))
    found = pair.queries_needed(1.02 * pair.detectable())
    assert found is not None
    assert found > (alone.queries_needed(1.02 * pair.detectable()) or 0)
