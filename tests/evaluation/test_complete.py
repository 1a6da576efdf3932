"""Complete judgments: a document without a judgment is not relevant, and a query without judgments is a nil query."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import UsageError

QRELS = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"d": 1}}
RUN = {"1": {"x": 5.0, "a": 4.0, "y": 3.0, "c": 2.0}, "2": {"y": 2.0, "d": 1.0}}
QUERIES = {"1": "one", "2": "two", "3": "three", "4": "four"}


def explicit(qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]) -> dict[str, dict[str, int]]:
    """The judgments with every retrieved document: grade 0 for those that have none."""
    return {query: dict.fromkeys(run.get(query, {}), 0) | dict(grades) for query, grades in qrels.items()}


def random_case(rng: np.random.Generator) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    pool = [f"d{i}" for i in range(12)]
    qrels, run = {}, {}
    for query in "123":
        judged = rng.choice(pool, rng.integers(1, 8), replace=False)
        qrels[query] = {str(d): int(rng.integers(-1, 4)) for d in judged}
        retrieved = rng.choice(pool, rng.integers(1, 10), replace=False)
        run[query] = {str(d): float(rng.integers(0, 4)) for d in retrieved}
    return qrels, run


@pytest.mark.parametrize("ties", ["trec", "expected", "best", "worst"])
def test_scores_are_those_of_explicit_zeros(ties: str) -> None:
    measures = ["AP", "nDCG@5", "RR", "P@3", "bpref", "bpref_N", "rpref_relative", "Judged@5", "Q", "AP[condensed]"]
    measures += ["nDCG[condensed]", "Success@2", "NumNonRelRet", "RBP", "ERR@5", "RR[terminal]", "nDCG[terminal]"]
    rng = np.random.default_rng(3)
    for _ in range(40):
        qrels, run = random_case(rng)
        zeros = {q: {d: max(g, 0) for d, g in grades.items()} for q, grades in explicit(qrels, run).items()}
        found = cf.evaluate(cf.Collection(qrels, complete=True), run, measures, ties=ties)  # type: ignore[arg-type]
        expected = cf.evaluate(zeros, run, measures, ties=ties)  # type: ignore[arg-type]
        np.testing.assert_allclose(found.values, expected.values, rtol=1e-12)


def test_unjudged_documents_have_no_notes_and_no_effect() -> None:
    collection = cf.Collection(QRELS, complete=True)
    scores = cf.evaluate(collection, RUN, ["AP", "nDCG@3"], show=("bounds", "residuals"))
    assert not any("unjudged" in str(note) for note in scores.notes)
    plain = cf.evaluate(QRELS, RUN, ["AP", "nDCG@3"])
    for name in ("AP", "nDCG@3"):
        assert scores[name]["run"] == plain[name]["run"]
        lowest, highest = (
            label for label in scores.measures if label.startswith((f"{name} lowest", f"{name} highest"))
        )
        assert scores[lowest]["run"] == scores[highest]["run"] == scores[name]["run"]


def test_a_condensed_list_is_the_list() -> None:
    scores = cf.evaluate(cf.Collection(QRELS, complete=True), RUN, ["AP", "AP[condensed]", "Judged@2", "Unjudged@2"])
    assert scores["AP"]["run"] == scores["AP[condensed]"]["run"] == pytest.approx((0.5 + 0.5) / 2 / 2 + 0.5 / 2)
    assert scores["Judged@2"]["run"] == 1
    assert scores["Unjudged@2"]["run"] == 0


def test_an_audit_says_nothing_about_unjudged_documents() -> None:
    other = {"1": {"a": 3.0, "z": 2.0}, "2": {"y": 2.0}}
    audit = cf.audit(cf.Collection(QRELS, complete=True), {"a": RUN, "b": other}, ["AP", "nDCG@3"])
    np.testing.assert_array_equal(audit.lowest, audit.score)
    np.testing.assert_array_equal(audit.highest, audit.score)
    np.testing.assert_array_equal(audit.condensed, audit.score)
    assert (audit.unjudged == 0).all()
    assert not [swap for swap in audit.swaps if swap.cause in ("unjudged", "condensed")]


def test_diversity_measures_see_no_unjudged_documents_either() -> None:
    qrels = {"1": {"a": {"s1": 1}, "b": {"s2": 1}}}
    run = {"1": {"x": 3.0, "a": 2.0, "b": 1.0}}
    collection = cf.Collection(qrels, complete=True)
    assert float(cf.evaluate(collection, run, "StRecall@2")) == 0.5
    audit = cf.audit(collection, run, "alpha_nDCG@3")
    assert audit.condensed[0, 0] == audit.score[0, 0] < 1
    assert audit.unjudged[0, 0] == 0


def test_queries_of_the_table_without_judgments_are_nil_queries() -> None:
    """Liu et al., eq 1: with R = 0, the terminal document has full gain. By hand, for lists of length 0 and 2."""
    collection = cf.Collection(QRELS, queries=QUERIES, complete=True)
    run = {**RUN, "4": {"x": 2.0, "y": 1.0}}
    scores = cf.evaluate(collection, run, ["RR[terminal]", "nDCG[terminal]", "AP[terminal]", "RR", "P@2"])
    assert scores.queries == ("1", "2", "3", "4")
    queries = scores.to_dict()["runs"]["run"]
    assert queries["RR[terminal]"]["queries"]["3"] == 1
    assert queries["RR[terminal]"]["queries"]["4"] == pytest.approx(1 / 3)
    assert queries["nDCG[terminal]"]["queries"]["3"] == 1
    assert queries["nDCG[terminal]"]["queries"]["4"] == pytest.approx(1 / math.log2(4))
    assert queries["AP[terminal]"]["queries"] | {"1": 0, "2": 0} == {"1": 0, "2": 0, "3": 1, "4": pytest.approx(1 / 3)}
    assert queries["P@2"]["n"] == 4
    assert queries["RR"]["queries"]["3"] == queries["RR"]["queries"]["4"] == 0


def test_without_complete_the_table_adds_no_queries() -> None:
    assert cf.evaluate(cf.Collection(QRELS, queries=QUERIES), RUN, "AP").queries == ("1", "2")


def test_complete_with_a_nil_id() -> None:
    collection = cf.Collection(QRELS, queries=QUERIES, complete=True, nil="NIL")
    scores = cf.evaluate(collection, {**RUN, "3": {"NIL": 1.0}}, ["RR", "RR[terminal]"])
    found = scores.to_dict()["runs"]["run"]
    assert found["RR"]["queries"] == {"1": 0.5, "2": 0.5, "3": 1, "4": 0}
    assert found["RR[terminal]"]["queries"]["3"] == 1


def test_an_own_measure_sees_zeros() -> None:
    def nonrelevant(grades: np.ndarray) -> float:
        return float((grades == 0).sum())

    assert cf.evaluate(cf.Collection(QRELS, complete=True), RUN, nonrelevant)["nonrelevant"]["run"] == (2 + 1) / 2


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"complete": "yes"}, "complete must be True or False, not 'yes'"),
        ({"complete": True, "predicted": QRELS}, "complete cannot be combined with prefs, groups, predicted"),
        ({"complete": True, "strata": {"1": {"a": "s"}}}, "complete cannot be combined with prefs, groups, predicted"),
    ],
)
def test_what_contradicts_complete_is_a_sentence(parts: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        cf.Collection(QRELS, **parts)


def test_judgments_of_a_sample_are_not_complete(tmp_path: Path) -> None:
    path = tmp_path / "sample.txt"
    path.write_text("1 0 a 1 0.5\n1 0 b 0 0.5\n")
    with pytest.raises(UsageError, match="judgments of a sample are not complete"):
        cf.evaluate(cf.Collection(path, complete=True), {"1": ["a"]}, "AP")


def test_the_text_of_an_audit_has_no_columns_on_unjudged_documents() -> None:
    from cranfield.report import audit as report

    runs = {f"run{i}": RUN for i in range(12)} | {"other": {"1": {"a": 3.0, "z": 2.0}, "2": {"y": 2.0}}}
    for chosen in (dict(list(runs.items())[-2:]), runs):
        audit = cf.audit(cf.Collection(QRELS, complete=True), chosen, ["AP", "nDCG@3"])
        for format in ("table", "markdown"):
            text = report.write(audit, format, width=200)
            assert "unjudged" not in text
            assert "condensed" not in text
            assert "nDCG@3" in text


def test_documents_of_a_query_are_shown_as_not_relevant() -> None:
    from cranfield.analysis.per_query import documents, top_documents

    runs = [RUN, {"1": {"a": 2.0, "z": 1.0}}]
    evaluation = cf.Evaluator(cf.Collection(QRELS, complete=True), "AP").evaluation(runs, page=5)
    assert {shown.document: shown.grade for shown in documents(evaluation, "1", 5)} == {
        "a": 2,
        "z": 0,
        "x": 0,
        "y": 0,
        "c": 1,
    }
    assert top_documents(evaluation, "1", 2) == [("x", 0), ("a", 2)]


@pytest.mark.parametrize("measure", ["alpha_nDCG@5", "StRecall@1", "AP_IA", "ERR_IA@3", "Dsharp_nDCG@2", "P_IA@2"])
@pytest.mark.parametrize("ties", ["trec", "expected"])
def test_condensed_lists_by_subtopic_keep_documents_without_a_judgment(measure: str, ties: str) -> None:
    qrels = {"1": {"a": {"s": 1}, "b": {"t": 1}}}
    zeros = {"1": qrels["1"] | {"x": {"s": 0}, "y": {"s": 0}}}
    run = {"1": {"x": 4.0, "a": 4.0, "y": 2.0, "b": 1.0}}
    name = f"{measure}[condensed, ties={ties}]"
    found = cf.evaluate(cf.Collection(qrels, complete=True), run, name)._means
    np.testing.assert_allclose(found, cf.evaluate(zeros, run, name)._means)
