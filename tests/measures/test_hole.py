"""Hole@k: documents that are judged for another query are no holes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cranfield as cf
from golden_cases import STRUCTURED

CASES = [case for case in STRUCTURED if case["id"].startswith("M6-")]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_cases(case: dict[str, Any]) -> None:
    names = [f"Hole@{k}" for k in case["k"]]
    of_run = cf.evaluate(case["qrels"], case["runs"], names, queries="run").to_dict()["runs"]["run"]
    of_judged = cf.evaluate(case["qrels"], case["runs"], names).to_dict()["runs"]["run"]
    expected = case["expected"]
    for k, name in zip(map(str, case["k"]), names, strict=True):
        for query, values in expected["per_query"].items():
            assert of_run[name]["queries"][query] == pytest.approx(values[k], abs=case["tol"])
        assert of_run[name]["mean"] == pytest.approx(expected["mean_run_queries"][k], abs=case["tol"])
        assert of_judged[name]["mean"] == pytest.approx(expected["beir_mean"][k], abs=case["tol"])


def plain(qrels: dict, run: dict, k: int, negative: str) -> dict[str, float]:
    """The definition, with documents of equal score by descending id."""
    judged = {d for of in qrels.values() for d, grade in of.items() if grade >= 0 or negative == "nonrel"}
    top = {q: sorted(of, key=lambda d: (of[d], d), reverse=True)[:k] for q, of in run.items()}
    return {q: sum(d not in judged for d in documents) / k for q, documents in top.items()}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("negative", ["unjudged", "nonrel"])
def test_against_the_definition(seed: int, negative: str) -> None:
    rng = np.random.default_rng(seed)
    documents = [f"d{i}" for i in range(15)]
    run = {
        f"q{q}": {str(d): float(rng.integers(0, 4)) for d in rng.choice(documents, rng.integers(1, 9), replace=False)}
        for q in range(5)
    }
    qrels = {
        f"q{q}": {str(d): int(rng.integers(-1, 3)) for d in rng.choice(documents, rng.integers(1, 4), replace=False)}
        for q in range(1, 6)
    }
    found = cf.evaluate(cf.Collection(qrels, negative=negative), run, "Hole@3", queries="run").to_dict()["runs"]["run"][
        "Hole@3"
    ]
    assert found["queries"] == pytest.approx(plain(qrels, run, 3, negative))


def test_an_evaluation_without_it_says_what_to_do() -> None:
    evaluation = cf.Evaluator({"q": {"a": 1}}, "AP").evaluation({"q": {"a": 1.0}})
    with pytest.raises(cf.MeasureError, match="Hole@2"):
        evaluation.scores_of("Hole@2")
    kept = cf.Evaluator({"q": {"a": 1}}, ["AP", "Hole@2"]).evaluation({"q": {"a": 1.0, "b": 0.0}})
    assert kept.scores._means.tolist() == [[1.0, 0.5]]
    assert kept.scores_of("Hole@2[ties=expected]")._means.tolist() == [[0.5]]
