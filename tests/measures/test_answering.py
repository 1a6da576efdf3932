"""Golden cases of `cranfield.measures.answering`, and c@1 over queries."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.lab.studies.truncation import c_at_1


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


def silent(documents: list[str], nil: str | None) -> bool:
    return not documents or documents[0] == nil


def by_hand(name: str, documents: list[str], qrels: dict[str, int], nil: str | None) -> float | None:
    """The definitions, for a list without ties."""
    relevant = any(grade >= 1 for document, grade in qrels.items() if document != nil)
    answerable = relevant and qrels.get(nil or "", 0) < 1
    quiet = silent(documents, nil)
    values = {
        "Answered": 1 - quiet,
        "FalseAnswer": None if answerable else 1 - quiet,
        "MissedAnswer": quiet if answerable else None,
        "AnswerAccuracy": 1 - quiet if answerable else quiet,
    }
    return None if values[name] is None else float(values[name])


NAMES = ("Answered", "FalseAnswer", "MissedAnswer", "AnswerAccuracy")


def values_of(
    rankings: list[dict[str, float]], qrels: dict[str, int], nil: str | None, **views: Any
) -> dict[str, list[float | None]]:
    """The values of all measures for some rankings of the same documents."""
    run = {f"q{i}": ranking for i, ranking in enumerate(rankings)}
    scores = cf.evaluate(cf.Collection(dict.fromkeys(run, qrels), nil=nil), run, NAMES, **views).to_dict()
    return {name: [scores["runs"]["run"][name]["queries"][q] for q in run] for name in NAMES}


def check_orders(
    expected: dict[str, list[float | None]], run: dict[str, float], qrels: dict[str, int], nil: str | None, **views: Any
) -> None:
    """The values of a run with ties are the mean, the highest and the lowest over its orders."""
    for ties, take in (("expected", np.mean), ("best", max), ("worst", min)):
        for name, (found,) in values_of([run], qrels, nil, ties=ties, **views).items():
            values = expected[name]
            assert (found is None) == (values[0] is None)
            assert found is None or found == pytest.approx(take(values), abs=1e-12), (name, ties)


@pytest.mark.parametrize("seed", range(40))
def test_ties_by_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nil = "NIL" if rng.random() < 0.8 else None
    pool = ["a", "b", "c", "d", *(["NIL"] if nil else [])]
    documents = list(rng.permutation(pool)[: rng.integers(0, 6)])
    run = {str(document): float(rng.integers(1, 3)) for document in documents}
    qrels = {name: int(rng.integers(0, 2)) for name in "abe"} if rng.random() < 0.6 else dict.fromkeys("abe", 0)
    if nil and rng.random() < 0.3:
        qrels["NIL"] = int(rng.integers(0, 2))
    orders = [
        list(order)
        for order in itertools.permutations(run)
        if all(run[x] >= run[y] for x, y in itertools.pairwise(order))
    ]
    expected = {name: [by_hand(name, order, qrels, nil) for order in orders] for name in NAMES}
    check_orders(expected, run, qrels, nil)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize(
    "views", [{"depth": 1}, {"depth": 2}, {"condensed": True}, {"condensed": True, "depth": 2}], ids=str
)
def test_views_by_enumeration(seed: int, views: dict[str, Any]) -> None:
    rng = np.random.default_rng(seed)
    documents = list(rng.permutation(["a", "b", "u", "v", "NIL"])[: rng.integers(1, 6)])
    run = {str(document): float(rng.integers(1, 3)) for document in documents}
    qrels = {"a": int(rng.integers(0, 2)), "b": 0, "c": int(rng.integers(0, 2))}
    orders = [o for o in itertools.permutations(run) if all(run[x] >= run[y] for x, y in itertools.pairwise(o))]
    untied = [{document: -float(rank) for rank, document in enumerate(order)} for order in orders]
    check_orders(values_of(untied, qrels, "NIL", **views), run, qrels, "NIL", **views)


def test_a_large_tie_with_nil_has_exact_limits() -> None:
    run = {"NIL": 1.0} | {f"d{i}": 1.0 for i in range(20_000)}
    qrels = {f"d{i}": int(i < 40) for i in range(60)}
    values = [values_of([run], qrels, "NIL", ties=ties)["MissedAnswer"] for ties in ("best", "worst", "expected")]
    assert values == [[1.0], [0.0], [pytest.approx(1 / 20_001)]]


def test_queries_that_are_missing_or_not_judged() -> None:
    qrels = {"answerable": {"a": 1}, "missing": {"a": 1}, "unanswerable": {}, "quiet": {"a": 0}}
    run = {"answerable": {"b": 1.0}, "unanswerable": {"a": 1.0}, "quiet": {}, "not judged": {"a": 1.0}}
    scores = cf.evaluate(qrels, run, list(NAMES), queries="run").to_dict()["runs"]["run"]
    shown = {name: scores[name]["queries"] for name in NAMES}
    assert shown["Answered"] == {"answerable": 1, "unanswerable": 1, "quiet": 0, "not judged": 1}
    assert shown["FalseAnswer"] == {"answerable": None, "unanswerable": 1, "quiet": 0, "not judged": None}
    assert shown["MissedAnswer"] == {"answerable": 0, "unanswerable": None, "quiet": None, "not judged": None}
    assert shown["AnswerAccuracy"] == {"answerable": 1, "unanswerable": 0, "quiet": 1, "not judged": None}
    assert cf.evaluate(qrels, run, list(NAMES)).means["run"] == {
        "Answered": 0.5, "FalseAnswer": 0.5, "MissedAnswer": 0.5, "AnswerAccuracy": 0.5,
    }  # fmt: skip


JUDGED_AS_NOTHING = {
    "dict": cf.Collection({"q": {}, "r": {"a": 1}}),
    "set": cf.Collection({"q": set(), "r": {"a"}}),
    "spans": cf.Collection(spans={"q": [], "r": [("a", 0, 10)]}),
    "complete": cf.Collection({"r": {"a": 1}}, queries={"q": {"kind": "x"}, "r": {"kind": "y"}}, complete=True),
}


@pytest.mark.parametrize("kind", JUDGED_AS_NOTHING)
def test_judgments_can_say_that_nothing_is_relevant(kind: str) -> None:
    run: dict[str, Any] = {"q": {"a": 1.0}, "r": {"a": 1.0}}
    if kind == "spans":
        run = {"q": [("a", 0, 10)], "r": [("a", 0, 10)]}
    scores = cf.evaluate(JUDGED_AS_NOTHING[kind], run, ["FalseAnswer", "MissedAnswer"])
    assert scores.means["run"] == {"FalseAnswer": 1.0, "MissedAnswer": 0.0}
    assert "1 query (q) has no relevant document" in [str(note) for note in scores.notes]


def test_only_queries_without_a_relevant_passage() -> None:
    scores = cf.evaluate(cf.Collection(spans={"q": []}), {"q": [("a", 0, 5)]}, ["FalseAnswer"])
    assert scores.means["run"] == {"FalseAnswer": 1.0}


def test_unanswerable_queries_are_those_without_a_document_of_the_collection_level() -> None:
    collection = cf.Collection({"q": {"a": 2}, "r": {"a": 1}}, rel=2)
    notes = [str(note) for note in cf.evaluate(collection, {"q": {"a": 1.0}, "r": {"a": 1.0}}, ["FalseAnswer"]).notes]
    assert "1 query (r) has no relevant document" in notes
