"""Bounds of pairs of runs against golden values, and against all completions."""

from __future__ import annotations

from typing import Any

import pytest

from cranfield.evaluation.pair_bounds import judge_until_decided, linear_difference, precision_difference
from golden_cases import STRUCTURED


def rows(prefix: str) -> Any:
    cases = [case for case in STRUCTURED if case["id"].split("-")[0] == prefix]
    return pytest.mark.parametrize("case", cases, ids=lambda case: case["id"])


def measure(case: dict[str, Any]) -> str:
    name: str = case["measure"].rpartition(", ")[2]
    return name


@rows("L2")
def test_linear(case: dict[str, Any]) -> None:
    found = linear_difference(
        measure(case), case["run_a"], case["run_b"], case["judged"], top=case["gain_range"][1], prior=case["prior"]
    )
    assert found.chances is not None
    values = {
        "low": found.low,
        "high": found.high,
        "low_of_single_bounds": found.low_alone,
        "high_of_single_bounds": found.high_alone,
        "expected": found.expected,
        "variance": found.variance,
        "confidence_normal": found.confidence,
        "p_a_better": found.chances.a_better,
        "p_b_better": found.chances.b_better,
    }
    expected = dict(case["expected"])
    assert found.next == expected.pop("next")
    assert values == pytest.approx(expected, abs=case["tol"])


@rows("L3")
def test_average_precision(case: dict[str, Any]) -> None:
    # The cases count the relevant documents of the two lists alone.
    judged = {d: grade for d, grade in case["judged"].items() if d in case["run_a"] or d in case["run_b"]}
    found = {
        kind: precision_difference(case["run_a"], case["run_b"], judged, prior=case["prior"], weighting=kind)
        for kind in ("expected", "relevant")
    }
    expected = dict(case["expected"])
    for kind, bounds in found.items():
        assert bounds.weights == pytest.approx(expected.pop(f"weights_{kind}"), abs=case["tol"])
        assert bounds.next == expected.pop(f"next_{kind}")
    bounds = found["expected"]
    assert bounds.chances is not None
    values = {
        "sp_low_pairwise": bounds.sp_low_pairwise,
        "sp_high_pairwise": bounds.sp_high_pairwise,
        "sp_low_exact": bounds.sp_low,
        "sp_high_exact": bounds.sp_high,
        "ap_low_exact": bounds.ap_low,
        "ap_high_exact": bounds.ap_high,
        "sp_expected": bounds.sp_expected,
        "sp_variance": bounds.sp_variance,
        "confidence_normal": bounds.confidence,
        "p_a_better": bounds.chances.a_better,
        "p_b_better": bounds.chances.b_better,
    }
    assert values == pytest.approx(expected, abs=case["tol"])


@rows("L4")
def test_judging_until_decided(case: dict[str, Any]) -> None:
    found = judge_until_decided(measure(case), case["run_a"], case["run_b"], case["truth"])
    expected = case["expected"]
    assert (found.judged, found.decision) == (expected["judged"], expected["decision"])
    assert (found.low, found.high) == pytest.approx((expected["low"], expected["high"]), abs=case["tol"])
