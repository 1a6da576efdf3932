"""Prediction-powered means against golden values and against ppi_py."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from cranfield.statistics.survey import equivalent_queries, human_mean, ppi_mean
from golden_cases import STRUCTURED

FIELDS = {"lambda": "tuning", "lambda_mean": "tuning"}


def rows(*prefixes: str) -> Any:
    cases = [case for case in STRUCTURED if case["id"].split("-")[0] in prefixes]
    return pytest.mark.parametrize("case", cases, ids=lambda case: case["id"])


def check(case: dict[str, Any], found: Any) -> None:
    if case["expected"] is None:
        assert math.isnan(found.estimate)
        assert not found.defined
        return
    values = {name: getattr(found, FIELDS.get(name, name)) for name in case["expected"]}
    assert values == pytest.approx(case["expected"], abs=case["tol"])


@rows("I1", "I3", "I5", "I6")
def test_means(case: dict[str, Any]) -> None:
    method = {"ppi++ loo": "loo"}.get(case["method"], case["method"])
    method = "fixed" if "fixed" in case["measure"] else method
    found = ppi_mean(
        case["human"], case["predicted"], case["predicted_only"], method=method, alpha=case.get("alpha", 0.05)
    )
    check(case, found)


@rows("I2")
def test_p_values(case: dict[str, Any]) -> None:
    found = ppi_mean(case["human"], case["predicted"], case["predicted_only"], method=case["method"])
    assert found.p_value == pytest.approx(case["expected"], abs=case["tol"])


@rows("I4")
def test_differences(case: dict[str, Any]) -> None:
    names = ("human", "predicted", "predicted_only")
    differences = [np.subtract(case[f"{name}_a"], case[f"{name}_b"]) for name in names]
    check(case, ppi_mean(*differences, method=case["method"], alpha=case["alpha"]))


@pytest.mark.parametrize("seed", range(8))
def test_parity_with_ppi_py(seed: int) -> None:
    """λ and intervals of ppi_py, its faults aside: it ignores ``alternative`` and does not clip λ in p-values."""
    ppi_py = pytest.importorskip("ppi_py")
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(5, 40)), int(rng.integers(10, 80))
    truth = rng.random(n + m)
    f = np.clip(truth + rng.normal(0, 0.2, n + m), 0, 1)
    y, said, others = truth[:n], f[:n], f[n:]
    for method, given in (("ppi", 1), ("ppi++", None), ("classical", 0)):
        found = ppi_mean(y, said, others, method=method)
        low, high = ppi_py.ppi_mean_ci(y, said, others, alpha=0.05, lam=given)
        point = ppi_py.ppi_mean_pointestimate(y, said, others, lam=given)
        assert (found.low, found.high) == pytest.approx((float(low[0]), float(high[0])), abs=1e-10)
        assert found.estimate == pytest.approx(float(np.ravel(point)[0]), abs=1e-10)


def test_leave_one_out_is_unbiased_and_covers() -> None:
    """A short version of the study: 15 human queries of a skewed population."""
    rng = np.random.default_rng(0)
    truth = rng.beta(2, 3, 200)
    said = np.clip(0.6 * truth + 0.3 + rng.normal(0, 0.1, 200), 0, 1)
    estimates, covered, alone = [], 0, 0
    for _ in range(400):
        drawn = rng.integers(0, 200, 60)
        y, f, others = truth[drawn[:15]], said[drawn[:15]], said[drawn[15:]]
        found = ppi_mean(y, f, others)
        estimates.append(found.estimate)
        covered += found.low <= truth.mean() <= found.high
        judge = human_mean(said[drawn])
        alone += judge.low <= truth.mean() <= judge.high
    error = np.std(estimates, ddof=1) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - truth.mean()) < 3 * error
    assert covered / 400 >= 0.92
    assert alone / 400 < 0.5


def test_equivalent_queries() -> None:
    both, human = ppi_mean([0.1, 0.5, 0.9, 0.3], [0.2, 0.5, 0.8, 0.3], [0.1, 0.6, 0.4, 0.9] * 5), human_mean([0.1, 0.9])
    assert math.isnan(equivalent_queries(both, human_mean([0.5])))
    assert equivalent_queries(both, human) == pytest.approx(2 * (human.standard_error / both.standard_error) ** 2)
