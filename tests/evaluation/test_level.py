"""The lowest relevant grade of a collection: binary measures use it, the policy line says it, labels do not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cranfield as cf
from cranfield.evaluation.notes import policy_line
from cranfield.evaluation.plan import Policy, make_columns
from cranfield.measures import CATALOGUE

QRELS = {"q": {"a": 1, "b": 2}, "r": {"a": 3, "b": 1}}
RUN = {"q": {"a": 2.0, "b": 1.0}, "r": {"b": 2.0, "a": 1.0}}


@pytest.mark.parametrize("name", ["AP", "RR", "P@1", "bpref", "R@1", "nDCG(gain='binary')@5"])
def test_as_if_each_measure_named_it(name: str) -> None:
    symbol, _, rest = name.partition("@")
    named = f"{symbol[:-1]}, rel=2)" if symbol.endswith(")") else f"{symbol}(rel=2)"
    named += f"@{rest}" if rest else ""
    scores = cf.evaluate(cf.Collection(QRELS, rel=2), RUN, name)
    assert scores.measures == (name,)
    assert scores.values.tolist() == cf.evaluate(QRELS, RUN, named).values.tolist()
    assert scores.values.tolist() != cf.evaluate(QRELS, RUN, name).values.tolist()


def test_graded_measures_and_levels_of_their_own_stay() -> None:
    names = ["nDCG@5", "RBP", "AP(rel=3)", "AP(graded=True)"]
    scores = [cf.evaluate(qrels, RUN, names) for qrels in (cf.Collection(QRELS, rel=2), QRELS)]
    np.testing.assert_array_equal(scores[0].values, scores[1].values)


@pytest.mark.parametrize("name", ["RR(rel=1)", "P(rel=1)@1", "AP(rel=1)", "R(rel=1.0)@1", "mrr(rel=1)"])
def test_a_measure_that_names_the_default_level_keeps_it(name: str) -> None:
    collection, plain = cf.Collection(QRELS, rel=2), cf.evaluate(QRELS, RUN, name).values.tolist()
    scores = cf.evaluate(collection, RUN, [name, "NumRel"])
    assert scores.values[:, :1].tolist() == plain
    assert [note for note in scores.notes if note.kind == "below_level" and note.measure == name] == []
    assert list(cf.Evaluator(collection, name).per_query(RUN).values()) == [{name: value} for value in plain[0][0]]


def test_queries_without_a_relevant_document_by_the_lowest_level() -> None:
    qrels, run = {"q": {"a": 0.9}, "r": {"a": 0.2}}, {"q": ["a"], "r": ["a"]}
    for measures, queries in ((["RR(rel=0.5)"], ("r",)), (["RR(rel=0.5)", "RR(rel=0.1)"], None), ("nDCG", ("q", "r"))):
        notes = [note for note in cf.evaluate(qrels, run, measures).notes if note.kind == "unanswerable_queries"]
        assert [note.values["queries"].first for note in notes] == ([] if queries is None else [queries])


def test_the_same_means_at_every_door() -> None:
    collection = cf.Collection(QRELS, rel=2)
    means = cf.evaluate(collection, RUN, ["AP", "RR"]).means["run"]
    assert cf.Evaluator(collection, ["AP", "RR"]).means(RUN) == means
    assert cf.Evaluator(QRELS, ["AP(rel=2)", "RR(rel=2)"]).means(RUN) == {
        "AP(rel=2)": means["AP"],
        "RR(rel=2)": means["RR"],
    }
    pair = cf.compare(collection, {"x": RUN, "y": RUN}, "AP")["AP"].pairs[0]
    assert pair.mean == means["AP"]
    assert cf.audit(collection, RUN, "AP").score.tolist() == [[means["AP"]]]
    assert cf.explain(collection, RUN, "RR", query="q").score == 0.5


def test_the_policy_line_says_it_and_saved_scores_keep_it(tmp_path: Path) -> None:
    scores = cf.evaluate(cf.Collection(QRELS, rel=2), RUN, ["AP", "nDCG"])
    assert "relevant: grade 2 or higher" in policy_line(scores)
    scores.save(tmp_path / "scores.json")
    assert policy_line(cf.load(tmp_path / "scores.json")) == policy_line(scores)
    assert str(scores.notes[0]) == "2 documents with a grade above 0 and below 2: not relevant for AP"
    with pytest.raises(cf.CranfieldError, match="computed with rel=2"):
        cf.compare(QRELS, RUN, "AP", baseline=str(tmp_path / "scores.json"))


@pytest.mark.parametrize("measure", ["AP", "RR", "R@5", "nDCG(gain='binary')"])
def test_grades_that_never_reach_it(measure: str) -> None:
    qrels = {"q": {"a": 0.9, "b": 0.2}}
    for door in (cf.evaluate, lambda *words: cf.Evaluator(words[0], words[2])):
        with pytest.raises(cf.InputError, match=r"the highest grade is 0\.9") as caught:
            door(qrels, {"q": ["a"]}, measure)
        assert "use rel=0.5" in caught.value.hint
    assert float(cf.evaluate(cf.Collection(qrels, rel=0.5), {"q": ["a"]}, measure)) == 1
    with pytest.raises(cf.InputError, match="the highest grade is 2"):
        cf.evaluate(cf.Collection({"q": {"a": 2}}, rel=3), {"q": ["a"]}, measure)


def test_no_error_without_need() -> None:
    assert float(cf.evaluate({"q": {"a": 0.9}}, {"q": ["a"]}, "nDCG")) == 1
    assert str(cf.evaluate({"q": {"a": 0}}, {"q": ["a"]}, "AP").means["run"]["AP"]) == "nan"


@pytest.mark.parametrize("rel", [0, -1, "2", True, float("inf"), float("nan")])
def test_a_wrong_level_of_relevance_is_refused(rel: object) -> None:
    with pytest.raises(cf.CranfieldError, match="rel must be a number greater than 0"):
        cf.Collection(QRELS, rel=rel)  # type: ignore[arg-type]


def test_every_binary_measure_takes_it() -> None:
    for definition in CATALOGUE.values():
        if definition.gains == "attribute":
            continue
        try:
            measure = cf.parse(definition.symbol)
        except cf.MeasureError:
            if "of" in definition.own and definition.own["of"].default is ...:
                continue  # the mean of an attribute
            measure = cf.parse(f"{definition.symbol}@{0.5 if definition.cutoff == 'recall' else 10}")
        (column,) = make_columns(measure, Policy(rel=2.0))
        assert column.label == str(measure)
        assert column.measure.level in (None, 2.0)
        assert cf.parse(str(column.measure)) == column.measure
