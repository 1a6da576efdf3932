"""Golden cases of `cranfield.measures.answering`, and c@1 over queries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.lab.studies.truncation import c_at_1
from golden_cases import cases_of, check


@cases_of("answering")
def test_golden(case: dict[str, Any]) -> None:
    check(case)


def collection(n: int, correct: int, unanswered: int) -> tuple[dict, dict]:
    qrels = {f"q{i}": {"right": 1, "wrong": 0} for i in range(n)}
    answers = ["right"] * correct + ["wrong"] * (n - correct - unanswered)
    return qrels, {f"q{i}": {answer: 1.0} for i, answer in enumerate(answers)} or {"q0": {}}


@pytest.mark.parametrize(("n", "correct", "unanswered"), [(10, 4, 3), (492, 200, 49), (8, 8, 0), (5, 1, 4), (3, 0, 2)])
def test_as_the_formula(n: int, correct: int, unanswered: int) -> None:
    qrels, run = collection(n, correct, unanswered)
    expected = c_at_1(n, correct, unanswered)
    for undefined in ("skip", "zero", "one", "error"):
        scores = cf.evaluate(qrels, run, ["c@1", "P@1"], undefined=undefined)
        assert scores._means[0, 0] == pytest.approx(expected, abs=1e-12)
        assert scores._sizes[0, 0] == n
    evaluator = cf.Evaluator(qrels, "c_at_1")
    assert evaluator.means(run)["c_at_1"] == scores._means[0, 0]
    assert np.isnan(evaluator.values(run)).sum() == unanswered
    assert scores._matched(0)[0].mean() == pytest.approx(expected)


def test_unanswered_queries_are_named() -> None:
    qrels, run = collection(4, 2, 1)
    notes = [str(note) for note in cf.evaluate(qrels, run, "c@1").notes]
    assert "c@1 is undefined for 1 query (q3); unanswered, and credited with the share of correct answers" in notes


def test_a_list_that_begins_with_nil_is_unanswered() -> None:
    qrels = {"1": {"a": 1}, "2": {"a": 1}, "3": {"a": 0}}
    run = {"1": {"a": 1.0}, "2": {"NIL": 2.0, "a": 1.0}, "3": {"NIL": 1.0}}
    assert cf.evaluate(cf.Collection(qrels, nil="NIL"), run, "c@1")._means[0, 0] == pytest.approx(c_at_1(3, 1, 2))


def test_compare_and_audit() -> None:
    qrels, first = collection(12, 8, 2)
    _, second = collection(12, 3, 2)
    comparison = cf.compare(qrels, {"a": first, "b": second}, "c_at_1", test="t")
    assert comparison["c@1"].pairs[0].difference == pytest.approx(c_at_1(12, 3, 2) - c_at_1(12, 8, 2))
    assert cf.audit(qrels, first, "c_at_1").score[0, 0] == pytest.approx(c_at_1(12, 8, 2))
