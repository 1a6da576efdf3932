"""Gates: evidence that a run is not worse, and losses, which have one side."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.analysis.compare import compare_scores
from cranfield.analysis.gates import Check, Gate, verdict
from cranfield.analysis.significance import ComparisonSettings
from cranfield.report.gates import sentence


def checked(gate: Gate, rows: dict[str, Any], *, lower: bool = False, **settings: Any) -> tuple[list[Check], list[str]]:
    """The checks of runs against the first, and their sentences."""
    values = {run: {"m": {f"q{i}": float(x) for i, x in enumerate(row)}} for run, row in rows.items()}
    scores = cf.read_scores(values, lower=["m"] if lower else [])
    comparison = compare_scores(scores, ComparisonSettings(baseline=scores.runs[0], audit=False, **settings))
    found = verdict({"m": gate}, scores, comparison, scores)
    return list(found.checks), [sentence(check) for check in found.checks]


def of_measure(measure: str, queries: int, lost: int, margin: float, worse: list[str]) -> tuple[Check, str]:
    """A check of `not_worse_by` where some queries lost."""
    qrels = {f"q{i}": {"a": 1} for i in range(queries)}
    old = {q: ["a", "b"] for q in qrels}
    scores = cf.evaluate(qrels, {"old": old, "new": old | {f"q{i}": worse for i in range(lost)}}, measure)
    comparison = compare_scores(scores, ComparisonSettings(baseline="old", audit=False))
    (check,) = verdict({scores.measures[0]: Gate(not_worse_by=margin)}, scores, comparison, scores).checks
    return check, sentence(check)


def test_no_spread_is_undecided() -> None:
    check, said = of_measure("P@1", 3, 0, 0.01, [])
    assert check.outcome == "undecided"
    assert "0 of 3 queries differ" in said
    check, said = of_measure("P@1", 40, 40, 0.01, ["b", "a"])
    assert check.outcome == "undecided"


def test_few_queries_that_differ() -> None:
    """One of 50 queries lost: at most 9.1 % of all do, and each can lose 1."""
    check, said = of_measure("RR", 50, 1, 0.05, ["b", "a"])
    assert check.outcome == "undecided"
    assert check.low == pytest.approx(-0.0914, abs=1e-4)
    assert said.endswith("at least -0.0914 and at most +0.0068; 1 of 50 queries differ)")
    assert of_measure("RR", 50, 1, 0.1, ["b", "a"])[0].outcome == "passed"


def test_a_measure_without_bounds() -> None:
    rows = {"old": np.zeros(50), "new": np.r_[-0.1, 0.1, np.zeros(48)]}
    (check,), (said,) = checked(Gate(not_worse_by=5.0), rows)
    assert (check.outcome, check.low) == ("undecided", -math.inf)
    assert "2 of 50 queries differ, and m has no largest loss" in said


@pytest.mark.parametrize("lower", [False, True])
def test_lower_is_better(lower: bool) -> None:
    rng = np.random.default_rng(1)
    gain = rng.exponential(1, 40) * (-1 if lower else 1)
    rows = {"old": np.zeros(40), "new": gain}
    (check,), _ = checked(Gate(not_worse_by=0.1), rows, lower=lower)
    assert check.outcome == "passed"
    (check,), _ = checked(Gate(not_worse_by=0.1), {"old": gain, "new": np.zeros(40)}, lower=lower)
    assert check.outcome == "failed"


def test_a_loss_is_tested_on_one_side() -> None:
    """Five of 64 queries lost and none won: two-sided p is 1/16, one-sided 1/32."""
    rows = {"old": np.ones(64), "new": np.r_[np.zeros(5), np.ones(59)]}
    gate = Gate(no_significant_loss=True)
    for test in ("randomisation", "sign"):
        (check,), _ = checked(gate, rows, test=test)
        assert check.outcome == "failed"
        assert check.p == pytest.approx(1 / 32, abs=0.002)
    assert checked(gate, {"old": rows["new"], "new": rows["old"]})[0][0].outcome == "passed"
    (check,), (said,) = checked(gate, {"old": np.ones(64), "new": np.r_[np.zeros(4), np.ones(60)]})
    assert (check.outcome, check.lets_through) == ("passed", True)
    assert "passed: no significant loss, but 4 queries lost and none won: q0, q1, q2, q3" in said
    (check,), (said,) = checked(Gate(no_significant_loss=True, margin=0.1), rows)
    assert (check.outcome, check.lets_through) == ("passed", False)


def test_one_side_is_corrected_in_its_family() -> None:
    rng = np.random.default_rng(0)
    old = rng.normal(0, 1, 30)
    rows = {"old": old, "a": old - rng.normal(0.35, 1, 30), "b": old + rng.normal(0.35, 1, 30)}
    checks, _ = checked(Gate(no_significant_loss=True), rows, test="t")
    pairs = [check.pair for check in checks if check.pair is not None]
    halves = [pair.p / 2 if pair.difference < 0 else 1 - pair.p / 2 for pair in pairs]
    assert checks[0].p == pytest.approx(min(2 * min(halves), 1))
