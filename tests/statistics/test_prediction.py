"""Prediction-powered means against golden values and against ppi_py."""

from __future__ import annotations

import math
from typing import Any

import pytest

from cranfield.statistics.prediction import ppi_difference, ppi_mean
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
    pairs = [(case[f"{name}_a"], case[f"{name}_b"]) for name in ("human", "predicted", "predicted_only")]
    check(case, ppi_difference(*pairs, method=case["method"], alpha=case["alpha"]))
