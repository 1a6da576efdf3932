"""An evaluator reads judgments once; its cheap ways are those of `evaluate`, and nothing is misread silently."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any, get_type_hints

import numpy as np
import pytest

import cranfield as cf
from cranfield.analysis.audit import audit_evaluation
from cranfield.errors import CranfieldError, UsageError
from cranfield.evaluation.notes import sentences
from cranfield.evaluation.plan import Policy, PolicyOptions, keys_of
from cranfield.settings import declared

QRELS = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"a": 0}, "q3": {"x": 1}}
RUN = {"q1": {"a": 1.0, "b": 1.0, "u": 3.0}, "q2": {"a": 1.0}, "q4": {"z": 1.0}}
MEASURES = ["AP", "nDCG@10", "RR[ties=expected]", "GMAP", "NumRet"]


@pytest.mark.parametrize("queries", ["judged", "both", "run"])
@pytest.mark.parametrize("undefined", ["skip", "zero", "one"])
def test_means_and_values_are_those_of_evaluate(queries: Any, undefined: Any) -> None:
    how = {"queries": queries, "undefined": undefined}
    scores = cf.evaluate(QRELS, RUN, MEASURES, **how)
    evaluator = cf.Evaluator(QRELS, MEASURES, **how)
    for _ in range(2):
        assert evaluator.means(RUN) == pytest.approx(dict(zip(scores.measures, scores._means[0], strict=True)), abs=0)
        found = evaluator.per_query(RUN)
        assert list(found) == [q for q, counted in zip(scores.queries, scores.counted[0], strict=True) if counted]
        for query, values in found.items():
            expected = scores.values[0, :, scores.queries.index(query)]
            np.testing.assert_array_equal(list(values.values()), expected)
    assert evaluator(RUN).to_dict() == scores.to_dict()


def test_runs_by_name() -> None:
    runs = {"new": RUN, "old": {"q1": {"c": 1.0}}}
    assert cf.evaluate(QRELS, runs, "AP").runs == ("new", "old")
    assert cf.evaluate(QRELS, {"only": RUN}, "AP").runs == ("only",)
    assert cf.evaluate(QRELS, RUN, "AP").runs == ("run",)


def test_swapped_arguments_are_noticed() -> None:
    run = {q: {f"d{i}": 0.37 * i + 0.013 * len(q) + ord(q[1]) / 97 for i in range(1, 9)} for q in ("q1", "q2")}
    qrels = {q: {f"d{i}": i % 3 for i in range(1, 5)} for q in ("q1", "q2")}
    cf.evaluate(qrels, run, "AP")
    with pytest.raises(UsageError, match="the judgments look like a run, and the run looks like judgments") as caught:
        cf.evaluate(run, qrels, "AP")
    assert "judgments come first" in str(caught.value)
    # The same scores for every query are scores nevertheless.
    same = {q: {f"d{i}": 1 - i / 100 for i in range(8)} for q in ("q1", "q2", "q3")}
    with pytest.raises(UsageError, match="look like a run"):
        cf.evaluate(same, qrels, "AP")
    # Grades that are fractions are no fault as long as scores do not look like grades, or if they are few levels.
    cf.evaluate(run, run, "nDCG")
    cf.evaluate({"q": {"a": 1, "b": 0, "c": 1 / 3, "d": 2 / 3}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, "AP")


def test_notes_are_records() -> None:
    scores = cf.evaluate(QRELS, RUN, ["AP", "RR"])
    notes = {(note.kind, note.run, note.measure): note.values for note in scores.notes}
    assert notes["undefined", None, "AP"]["queries"].first == ("q2",)
    assert notes["unanswered_queries", "run", None]["queries"].count == 1
    low, high = (notes["tie_range", "run", "AP"][end] for end in ("low", "high"))
    assert (
        low < high == notes["tie_range", "run", "AP"]["score"] or low == notes["tie_range", "run", "AP"]["score"] < high
    )
    assert scores.to_dict()["notes"] == sentences(scores.notes)
    assert str(scores.notes[0]) == "AP is undefined for 1 query (q2)"


def test_columns_know_their_measure_and_part() -> None:
    scores = cf.evaluate(QRELS, RUN, ["RBP", "AP"], show=("residuals", "bounds"))
    assert [(str(column.measure), column.part) for column in scores.columns] == [
        *[("RBP", part) for part in ("value", "residual", "lowest", "highest")],
        *[("AP", part) for part in ("value", "lowest", "highest")],
    ]
    assert scores.measures[1] == "RBP residual"


def test_a_policy_is_checked_in_one_place() -> None:
    with pytest.raises(UsageError, match="ties must be one of trec, trec9"):
        cf.Evaluator(QRELS, "AP", ties="random")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="unknown option `tie`") as caught:
        cf.audit(QRELS, RUN, "AP", tie="best")
    assert "did you mean `ties`?" in str(caught.value)
    with pytest.raises(UsageError, match="depth must be a whole number from 1 to 999,999,999, not 0"):
        cf.compare(QRELS, {"a": RUN, "b": RUN}, "AP", depth=0)


def test_compare_takes_judgments_scores_or_an_evaluation() -> None:
    qrels = {q: {"a": 1} for q in "123456"}
    runs = {"good": {q: {"a": 2.0, "b": 1.0} for q in qrels}, "bad": {q: {"b": 2.0, "a": 1.0} for q in qrels}}
    evaluation = cf.Evaluator(qrels, "RR").evaluation(runs)
    found = [cf.compare(qrels, runs, "RR"), cf.compare(evaluation), cf.compare(cf.evaluate(qrels, runs, "RR"))]
    assert len({one.pairs[0].corrected for one in found}) == 1
    for wrong in (
        lambda: cf.compare(qrels),
        lambda: cf.compare(evaluation, runs),
        lambda: cf.compare(list(runs), qrels),
    ):
        with pytest.raises(CranfieldError):
            wrong()


def test_public_names_are_visible_and_nothing_else() -> None:
    assert set(dir(cf)) == {*cf.__all__, "spark", "__version__"}
    for name in cf.__all__:
        assert getattr(cf, name) is not None


@pytest.mark.parametrize("module", [cf.judging, cf.lab, cf.measures, cf.stats, cf.tensors])
def test_other_modules_show_their_public_names(module: Any) -> None:
    if module is cf.tensors:
        pytest.importorskip("torchmetrics", reason="one of its names is a metric of torchmetrics")
    names = [name for name in dir(module) if not name.startswith("__")]
    assert names and all(inspect.getmodule(getattr(module, name)) is not None or name.isupper() for name in names)
    assert not any(isinstance(getattr(module, name), ModuleType) for name in names)
    assert not {"Any", "TYPE_CHECKING", "import_module"} & set(names)


GROUPS = {
    "1": {"x": {"a": 1, "b": 0}, "y": {"b": 1}},
    "2": {"x": {"a": 1}},
    "3": {"x": {"a": 2, "c": 1}, "y": {"c": 1, "b": 0}, "z": {"c": 0}},
}
TIED_RUNS = {
    "one": {q: {"a": 2.0, "b": 2.0, "c": 1.0, "u": 0.5} for q in "123"},
    "other": {q: {"u": 2.0, "b": 1.0, "a": 0.5} for q in "123"},
}


def test_an_evaluation_of_groups_is_that_of_the_evaluator() -> None:
    asked = ["AP[groups]", "P@2[groups]"]
    evaluator = cf.Evaluator(cf.Collection(groups=GROUPS), asked)
    scores, evaluation = evaluator(TIED_RUNS), evaluator.evaluation(TIED_RUNS, page=2)
    assert evaluation.scores.values.tolist() == scores.values.tolist()
    assert sorted(map(str, evaluation.scores.notes)) == sorted(map(str, scores.notes))
    other = evaluation.scores_of("RR[groups]", ties="expected")
    expected = cf.evaluate(cf.Collection(groups=GROUPS), TIED_RUNS, "RR[groups]", ties="expected")
    assert other.values.tolist() == expected.values.tolist()
    assert evaluation.first_pages(2)[0]["1"].documents == ("b", "a")
    with pytest.raises(cf.InputError, match="groups"):
        evaluation.scores_of("RR")
    with pytest.raises(cf.CranfieldError, match="without groups"):
        audit_evaluation(evaluation)


def test_groups_are_compared_with_what_could_reverse_them() -> None:
    evaluation = cf.Evaluator(cf.Collection(groups=GROUPS), "AP[groups]").evaluation(TIED_RUNS)
    compared = cf.compare(evaluation, test="t")
    plain = cf.compare(evaluation.scores, test="t")
    assert compared["AP[groups]"].p.tolist() == plain["AP[groups]"].p.tolist()
    # Each group's judgments are layers of their own: the mean over groups of its own limits.
    (one, _), column = evaluation.run_scores, evaluation.columns[0]
    worst, best = one.tie_limits(column)
    by_rule = {
        rule: cf.evaluate(cf.Collection(groups=GROUPS), TIED_RUNS["one"], f"AP[groups, ties={rule}]").values[0, 0]
        for rule in ("worst", "best")
    }
    assert (worst.tolist(), best.tolist()) == (by_rule["worst"].tolist(), by_rule["best"].tolist())
    assert (best > worst).any()


def test_plain_keys_are_names_that_every_tracker_takes() -> None:
    measures = ["nDCG@10", "nDCG@10[ties=trec]", "RBP(p=0.8)", "P@1", "RR"]
    evaluator = cf.Evaluator(QRELS, measures, ties="expected")
    assert list(evaluator.means(RUN)) == measures
    plain = evaluator.means(RUN, keys="plain")
    assert list(plain) == ["ndcg_10", "ndcg_10_ties_trec", "rbp_p_0_8", "p_1", "rr"]
    assert list(plain.values()) == list(evaluator.means(RUN).values())
    with pytest.raises(UsageError, match="keys must be one of labels, plain"):
        evaluator.means(RUN, keys="short")
    labels = ["@", "P@1", "p_1", "p 1 2", "α", "P@1_2"]
    assert keys_of(labels) == ["measure", "p_1", "p_1_2", "p_1_2_2", "measure_2", "p_1_2_3"]


@pytest.mark.parametrize(
    ("name", "ranking", "low", "high"),
    [
        ("nDCG[depth=3, condensed, terminal]", [(1, 0, 0, None, 1), 1], 0, 0.9218),
        ("AP(R='retrieved')@4[depth=3]", [(2, None), (0, 2)], 0.5, 1),
        ("R(R='retrieved')@2[depth=2]", [(1, 0, 0)], 0, 1),
        ("nDCG(R='retrieved')@1[depth=2]", [1, (2, 0)], 0.5, 1),
        ("Unjudged@1", [(0, None)], 0, 1),
        ("Judged@1", [(0, None)], 0, 1),
    ],
)
def test_the_range_of_ties_is_that_of_all_orders(name: str, ranking: list[Any], low: float, high: float) -> None:
    groups = [group if isinstance(group, tuple) else (group,) for group in ranking]
    graded = [(f"d{g}{i}", -float(g), grade) for g, group in enumerate(groups) for i, grade in enumerate(group)]
    qrels = {"q": {d: grade for d, _, grade in graded if grade is not None} | {"missed": 1}}
    if "nDCG[" in name:
        del qrels["q"]["missed"]
    notes = cf.evaluate(qrels, {"q": {d: score for d, score, _ in graded}}, name).notes
    (found,) = [note.values for note in notes if note.kind == "tie_range"]
    assert (found["low"], found["high"]) == pytest.approx((low, high), abs=1e-4)
    assert "at_least" not in found


def test_a_range_of_some_orders_says_so() -> None:
    qrels = {"q": {f"d{i}": i % 4 for i in range(20)}}
    notes = cf.evaluate(qrels, {"q": dict.fromkeys(qrels["q"], 1.0)}, ["Q", "AP"]).notes
    assert [note.values.get("at_least", False) for note in notes if note.kind == "tie_range"] == [True, False]


class Growing(dict[str, Any]):
    """A dict that gets a key whenever one is read."""

    def __iter__(self) -> Iterator[str]:
        for key in dict.__iter__(self):
            self[f"more {len(self)}"] = 1.0
            yield key


@pytest.mark.parametrize("call", [cf.Evaluator({"q": {"a": 1}}, "RR"), cf.Evaluator({"q": {"a": 1}}, "RR").means])
@pytest.mark.parametrize("run", [{"q": Growing(a=1.0, b=2.0)}, Growing(q={"a": 1.0}, r={"a": 1.0})], ids=["in", "out"])
def test_a_dict_that_changes_while_it_is_read_is_an_error(call: Any, run: Any) -> None:
    with pytest.raises(cf.InputError, match="changed while it was read"):
        call(run)


def test_a_function_that_maps_no_document_is_an_error() -> None:
    collection = cf.Collection({"q": {"a": 1}}, map_documents=lambda chunk: None)
    with pytest.raises(cf.InputError, match="chunk `a#1`: expected an id, found None"):
        cf.evaluate(collection, {"q": ["a#1"]}, "RR")


def test_evaluate_takes_the_described_settings_of_the_policy() -> None:
    settings = {name: field.default for name, field in declared(Policy).items() if field.type.help}
    types = get_type_hints(Policy)
    assert get_type_hints(PolicyOptions) == {name: types[name] for name in settings}
    parameters = inspect.signature(cf.evaluate).parameters
    assert {name: parameters[name].default for name in settings} == settings
