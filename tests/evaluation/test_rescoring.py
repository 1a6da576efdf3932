"""`Rescorer`: bit-equal to evaluating the same run as dicts, for every tie rule, view and measure."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import cranfield as cf
from awkward import random_input
from cranfield.errors import UsageError

MEASURES = ["AP", "nDCG@10", "RR", "P@5", "bpref", "ERR@7", "RBP", "Q[condensed]", "nDCG[terminal]", "AP[depth=3]"]
RULES = ["trec", "trec9", "expected", "best", "worst", "input", "rank"]
KINDS = [[0.0, 1.0], [-0.0, 0.0, 1.0], [0.1, 0.1 + 1e-12, 0.3], [np.inf, -np.inf, 2.0]]


def flat(run: dict) -> np.ndarray:
    return np.array([score for ranking in run.values() for score in ranking.values()], float)


def with_scores(run: dict, scores: np.ndarray) -> dict:
    left = iter(scores.tolist())
    return {query: {document: next(left) for document in ranking} for query, ranking in run.items()}


def equal(a: dict[str, float], b: dict[str, float]) -> bool:
    return a.keys() == b.keys() and all(
        x == y or (x != x and y != y) for x, y in zip(a.values(), b.values(), strict=True)
    )


@pytest.mark.parametrize("seed", range(12))
def test_the_same_bits_as_evaluating_dicts(seed: int) -> None:
    rng = random.Random(seed)
    run, qrels = random_input(rng)
    run["q1"] = {}
    ties = [f"{name}[ties={rule}]" for name in ("AP", "nDCG@3", "RR", "bpref") for rule in RULES]
    for queries in ("judged", "both", "run"):
        evaluator = cf.Evaluator(qrels, [*MEASURES, *ties], queries=queries)
        rescorer = evaluator.rescorer(run)
        assert len(rescorer) == len(flat(run))
        draw = np.random.default_rng(seed)
        kinds = [draw.choice(kind, len(rescorer)) for kind in KINDS]
        for scores in (flat(run), draw.random(len(rescorer)), *kinds):
            other = with_scores(run, scores)
            assert equal(rescorer.means(scores), evaluator.means(other))
            assert np.array_equal(rescorer.values(scores), evaluator.values(other), equal_nan=True)
            ours, theirs = rescorer.per_query(scores), evaluator.per_query(other)
            assert ours.keys() == theirs.keys()
            assert all(equal(ours[query], theirs[query]) for query in ours)


def test_the_same_bits_with_nil_and_subtopics() -> None:
    run = {"q": {"a": 1.0, "NIL": 1.0, "b": 0.5}, "r": {"NIL": 1.0, "a": 1.0}}
    evaluator = cf.Evaluator(
        cf.Collection({"q": {"a": 1}, "r": {"a": 0}}, nil="NIL"), ["RR[terminal]", "AP"], ties="expected"
    )
    rescorer = evaluator.rescorer(run)
    for scores in ([1, 1, 1, 1, 1], [3, 2, 1, 2, 1], [1, 2, 3, 1, 2]):
        assert equal(rescorer.means(scores), evaluator.means(with_scores(run, np.array(scores, float))))
    qrels = {"q": {"a": {"1": 1}, "b": {"2": 1}, "c": {"1": 0, "2": 1}}}
    evaluator = cf.Evaluator(qrels, ["alpha_nDCG@3", "ERR_IA@3"], ties="expected")
    run = {"q": {"c": 1.0, "a": 1.0, "x": 1.0, "b": 0.0}}
    rescorer = evaluator.rescorer(run)
    for scores in ([1, 1, 1, 1], [1, 2, 3, 4], [1, 1, 2, 2]):
        assert equal(rescorer.means(scores), evaluator.means(with_scores(run, np.array(scores, float))))


def test_rows_of_a_file_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "bm25.run"
    path.write_text("q2 Q0 a 1 5 t\nq1 Q0 b 1 4 t\nq2 Q0 b 2 3 t\nq1 Q0 a 2 2 t\nq3 Q0 a 1 1 t\n")
    evaluator = cf.Evaluator({"q1": {"a": 1}, "q2": {"b": 2, "c": 1}}, ["AP", "RR[ties=rank]"])
    rescorer = evaluator.rescorer(path)
    assert rescorer.documents == [("q2", "a"), ("q1", "b"), ("q2", "b"), ("q1", "a"), ("q3", "a")]
    assert rescorer.means([5, 4, 3, 2, 1]) == evaluator.means(path)
    assert (
        rescorer.means([3, 2, 5, 4, 1])["AP"] == evaluator.means({"q2": {"b": 5, "a": 3}, "q1": {"a": 4, "b": 2}})["AP"]
    )


def test_features_of_a_letor_file_without_joining_again(tmp_path: Path) -> None:
    path = tmp_path / "fold.letor"
    path.write_text("1 qid:1 1:3 2:1 # a\n0 qid:1 1:3 2:2 # b\n1 qid:2 1:0 2:5 # a\n0 qid:2 1:1 2:5 # c\n")
    qrels, runs, features = cf.read_letor(path)
    evaluator = cf.Evaluator(qrels, ["AP[ties=expected]", "nDCG@1"])
    rescorer = evaluator.rescorer(runs["1"])
    assert [rescorer.means(column) for column in features.T] == [evaluator.means(run) for run in runs.values()]


def test_errors() -> None:
    evaluator = cf.Evaluator({"q": {"a": 1}}, "AP")
    rescorer = evaluator.rescorer({"q": {"a": 1.0, "b": 2.0}})
    with pytest.raises(UsageError, match="expected 2 scores"):
        rescorer.means([1.0])
    with pytest.raises(UsageError, match="`b` of query `q` is NaN"):
        rescorer.means([1.0, float("nan")])
    with pytest.raises(cf.InputError, match="none of its queries is judged"):
        evaluator.rescorer({"x": {"a": 1.0}})
    with pytest.raises(UsageError, match="document text"):
        cf.Evaluator(cf.Collection({"q": {"a": 1}}, documents={"a": "x"}), "ABSNB@5").rescorer({"q": {"a": 1.0}})
    with pytest.raises(UsageError, match="judgments by group"):
        cf.Evaluator(cf.Collection(groups={"q": {"g": {"a": 1}}}), "AP[groups]").rescorer({"q": {"a": 1.0}})
