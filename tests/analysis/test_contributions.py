"""What documents add: it adds up to the score of every measure, and to what is computed by hand."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import UsageError
from cranfield.report.explanation import pages
from cranfield.report.pages import FORMATS, write
from every_measure import NAMES
from golden_cases import without_notes

# Grades in rank order; a list inside is a tie, None is unjudged.
RANKINGS: dict[str, list[list[int | None]]] = {
    "mixed": [[1], [None], [0, 3, None], [2], [1, 1], [0]],
    "one tie": [[2, 0, 1, None]],
    "no ties": [[0], [1], [None], [3], [0], [1]],
    "nothing relevant first": [[None], [0], [None, None], [1]],
}
MISSED = [2, 0, 1]


def collection_of(ranking: list[list[int | None]], missed: list[int] = MISSED) -> tuple[dict[str, Any], dict[str, Any]]:
    judged, scored, number = {}, {}, 0
    for i, tie in enumerate(ranking):
        for grade in tie:
            name = f"d{number}"
            number += 1
            scored[name] = -float(i)
            if grade is not None:
                judged[name] = grade
    judged |= {f"missed{i}": grade for i, grade in enumerate(missed)}
    # Another query has the highest grade of the collection.
    return {"q": judged, "r": {"x": 3}}, {"q": scored, "r": {"x": 1.0}}


VIEWS = ["", "[ties=expected]", "[ties=worst]", "[condensed]", "[condensed, ties=expected]", "[terminal]"]


@pytest.mark.parametrize("name", NAMES)
def test_what_documents_add_is_the_score(name: str) -> None:
    explained = 0
    for qrels, run in [*map(collection_of, RANKINGS.values()), collection_of([[0], [None, 0]], missed=[])]:
        for views in VIEWS:
            try:
                measure = cf.parse(name + views)
                score = without_notes(qrels, run, measure).values[0, 0, 0]
            except cf.MeasureError:
                continue
            if np.isnan(score):
                with pytest.raises(cf.InputError, match="undefined"):
                    cf.explain(qrels, run, measure, query="q")
                continue
            try:
                found = cf.explain(qrels, run, measure, query="q")
            except UsageError:  # the worst order is not that of gains
                assert "worst" in views and (measure.limit_order is None or "SN_" in name or "Accuracy" in name)
                continue
            explained += 1
            assert found.score == pytest.approx(score, abs=1e-12)
            assert found.before + sum(step.earned for step in found.steps) == pytest.approx(score, abs=1e-9)
            assert [step.rank for step in found.steps] == list(range(1, len(found.steps) + 1))
            if found.steps and not math.isnan(found.steps[-1].so_far):
                assert found.steps[-1].so_far == pytest.approx(score, abs=1e-9)
            if not math.isnan(found.divisor):
                for step in found.steps:
                    if step.gain > 0:
                        assert step.earned == pytest.approx(step.gain * step.weight / found.divisor, abs=1e-9)
    assert explained


def test_ndcg_by_hand() -> None:
    # DCG = 3 / log2(3) + 2 / log2(5); the ideal ranking has 3 + 2 / log2(3).
    found = cf.explain({"q": {"a": 3, "b": 0, "c": 2}}, {"q": ["b", "a", "x", "c"]}, "nDCG@4")
    ideal = 3 + 2 / math.log2(3)
    assert found.divisor == pytest.approx(ideal)
    assert found.divisor_name == "the same sum for the ideal ranking"
    assert [step.judged for step in found.steps] == [{"": 0.0}, {"": 3.0}, None, {"": 2.0}]
    assert [step.weight for step in found.steps] == pytest.approx([1 / math.log2(i + 1) for i in range(1, 5)])
    assert [step.earned for step in found.steps] == pytest.approx(
        [0, 3 / math.log2(3) / ideal, 0, 2 / math.log2(5) / ideal]
    )
    assert [step.ideal_so_far for step in found.steps] == pytest.approx([3 / ideal, 1, 1, 1])
    assert (found.steps[0].ideal_gain, found.steps[1].ideal_gain) == (3, 2)
    assert math.isnan(found.steps[2].ideal_gain)


def test_average_precision_by_hand() -> None:
    found = cf.explain({"q": {"a": 1, "b": 0, "c": 1, "d": 1}}, {"q": ["a", "b", "c"]}, "AP")
    assert [step.earned for step in found.steps] == pytest.approx([1 / 3, 0, 2 / 3 / 3])
    assert (found.divisor, found.divisor_name) == (3, "the number of relevant documents")
    assert (found.steps[0].weight, found.steps[2].weight) == pytest.approx((1, 2 / 3))


def test_a_measure_that_is_no_sum() -> None:
    found = cf.explain({"q": {"a": 1, "b": 1}}, {"q": ["x", "a", "b"]}, "RR")
    assert [step.earned for step in found.steps] == [0, 0.5, 0]
    assert math.isnan(found.divisor)
    text = write(pages(found), found.to_dict())
    assert "not a sum of gain times weight" in text
    assert "1 divided by the rank of the first relevant document" in text


def test_tied_documents_of_equal_grade_add_the_same() -> None:
    # In every order of the tie, the first relevant document of the two adds more; each is first in half of the orders.
    found = cf.explain({"q": {"a": 1, "b": 1, "c": 0}}, {"q": {"a": 1.0, "b": 1.0, "c": 1.0}}, "RR[ties=expected]")
    assert [(step.tie, step.open) for step in found.steps] == [((1, 3), True)] * 3
    by_name = {step.document: step.earned for step in found.steps}
    assert by_name["a"] == by_name["b"] == pytest.approx(found.score / 2)
    assert found.score == pytest.approx((4 * 1 + 2 * 0.5) / 6)
    assert by_name["c"] == 0
    fixed = cf.explain({"q": {"a": 1, "b": 1, "c": 0}}, {"q": {"a": 1.0, "b": 1.0, "c": 1.0}}, "RR")
    assert [(step.document, step.tie, step.open) for step in fixed.steps] == [
        (name, (1, 3), False) for name in ("c", "b", "a")
    ]


@pytest.mark.parametrize("ties", ["best", "worst"])
def test_the_order_of_ties_is_the_measures_own(ties: str) -> None:
    qrels = {"q": {"a": 0, "b": 2, "c": 1}}
    run = {"q": {"a": 1.0, "b": 1.0, "c": 1.0, "x": 1.0}}
    found = cf.explain(qrels, run, f"nDCG[ties={ties}]")
    names = [step.document for step in found.steps]
    assert names.index("b") == (0 if ties == "best" else 3)
    assert names.index("c") == (1 if ties == "best" else 2)


def test_the_terminal_document_is_a_row() -> None:
    found = cf.explain({"q": {"a": 1, "b": 1}}, {"q": ["a", "x"]}, "RR[terminal]")
    assert [step.document for step in found.steps] == ["a", "x", "(end of the list)"]
    late = cf.explain({"q": {"a": 1, "b": 1}}, {"q": ["x", "a"]}, "nDCG[terminal]")
    assert late.steps[-1].gain == 0.5
    assert late.steps[-1].earned > 0


SUBTOPICS = {"q": {"a": {"1": 1, "2": 1}, "b": {"1": 1}, "c": {"3": 1}, "d": {"1": 0}}}


@pytest.mark.parametrize(
    "name", ["alpha_nDCG@4", "alpha_DCG@3", "ERR_IA@4", "nERR_IA", "NRBP", "AP_IA", "P_IA@3", "StRecall@3"]
)
@pytest.mark.parametrize("ties", ["trec", "expected"])
def test_subtopics(name: str, ties: str) -> None:
    run = {"q": {"b": 3.0, "a": 2.0, "x": 2.0, "d": 2.0, "c": 1.0}}
    found = cf.explain(SUBTOPICS, run, name, ties=ties)
    score = cf.evaluate(SUBTOPICS, run, name, ties=ties).values[0, 0, 0]
    assert found.before + sum(step.earned for step in found.steps) == pytest.approx(score, abs=1e-9)
    judged = {step.document: step.judged for step in found.steps}
    assert judged["d"] == {"1": 0.0}
    assert judged.get("x") is None


def test_preferences() -> None:
    prefs = cf.Collection(prefs={"q": [(1, 1, "a", 2), (1, 1, "b", 1), (1, 1, "c", 0)]})
    for name in ("Prefs", "NumPrefsMet"):
        run = {"q": ["b", "a", "c"]}
        found = cf.explain(prefs, run, name)
        score = cf.evaluate(prefs, run, name).values[0, 0, 0]
        assert found.before + sum(step.earned for step in found.steps) == pytest.approx(score, abs=1e-9)


def test_complete_judgments_and_depth() -> None:
    found = cf.explain(cf.Collection({"q": {"a": 1}}, complete=True), {"q": ["x", "a", "y"]}, "AP", depth=2)
    assert [(step.document, step.judged) for step in found.steps] == [("x", {"": 0.0}), ("a", {"": 1.0})]


@pytest.mark.parametrize("format", FORMATS)
def test_formats(format: str) -> None:
    qrels, run = collection_of(RANKINGS["mixed"])
    found = cf.explain(qrels, run, "nDCG@5", query="q")
    text = write(pages(found), found.to_dict(), format, width=80)
    if format == "json":
        data = json.loads(text)
        assert sum(step["earned"] for step in data["ranks"]) == pytest.approx(data["score"])
        assert data["ranks"][2]["tie"] == [3, 5]
        return
    assert "unjudged" in text
    assert "the same sum for the ideal ranking" in text
    assert max(map(len, text.splitlines())) <= 80 or format in ("markdown", "latex", "csv")


def test_ranks_that_are_not_shown_are_added_up() -> None:
    run = {"q": [f"d{i}" for i in range(50)]}
    found = cf.explain({"q": {"d1": 1, "d30": 1, "d45": 1}}, run, "AP")
    text = write(pages(found, top=10), found.to_dict())
    last = next(line for line in text.splitlines() if line.startswith("11–50"))
    rest = (2 / 31 + 3 / 46) / 3
    assert last.split()[1:] == ["(40", "more", "documents)", f"{rest:.4f}", f"{found.score:.4f}"]


def test_the_figure_has_all_documents() -> None:
    found = cf.explain({"q": {"a": 1, "b": 0}}, {"q": ["a", "b", "x"]}, "nDCG@3")
    axis = found.plot()
    assert [tick.get_text().split()[0] for tick in axis.get_yticklabels()] == ["a", "b", "x"]
    with pytest.raises(cf.CranfieldError, match="part"):
        found.plot("subtopics")


def test_explain_takes_one_run_and_positions_without_ties() -> None:
    with pytest.raises(cf.CranfieldError, match="one run"):
        cf.explain({"q": {"a": 1}}, [{"q": ["a"]}, {"q": ["b", "a"]}], "AP")
    empty = cf.explain({"q": {"a": 1}, "r": {"a": 1}}, {"q": ["a"]}, "AP", query="r")
    assert empty.score == 0 and not empty.steps
    with pytest.raises(cf.CranfieldError, match="inside a tie"):
        cf.explain({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}, "AP[ties=expected, depth=1]")
