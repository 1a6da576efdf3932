"""Candidates as tensors have the scores of `evaluate`, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_samples import LIBRARIES, as_dicts, library, same, tables

import cranfield as cf
from cranfield.errors import CranfieldError
from cranfield.evaluation.collection import split_options
from cranfield.tensors import evaluate

MEASURES = ["AP", "nDCG@3", "RR", "bpref", "P@2", "RBP", "infAP", "Q"]
TIES = ["expected", "trec", "trec9", "best", "worst", "input", "rank"]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"depth": 3},
    {"condensed": True},
    {"terminal": True},
    {"queries": "run"},
    {"queries": "both", "undefined": "zero"},
    {"negative": "nonrel"},
    {"show": ("residuals", "bounds")},
]


def measures_for(options: dict[str, Any]) -> list[str]:
    return ["AP", "RR", "P@2"] if options.get("terminal") else MEASURES


@pytest.mark.parametrize("name", LIBRARIES)
@settings(deadline=None, max_examples=25)
@given(table=tables(), ties=st.sampled_from(TIES), options=st.sampled_from(OPTIONS))
def test_table(name: str, table: Any, ties: Any, options: dict[str, Any]) -> None:
    scores, grades, mask = table
    qrels, run = as_dicts(scores, grades, mask)
    measures = measures_for(options)
    parts, options = split_options(options)
    expected = cf.evaluate(cf.Collection(qrels, **parts), run, measures, ties=ties, **options)
    with library(name) as array:
        ours = evaluate(
            cf.Collection(array(grades), **parts),
            array(scores),
            measures,
            mask=None if mask is None else array(mask),
            ids=[str(c) for c in range(scores.shape[1])],
            ties=ties,
            **options,
        )
    same(ours.scores, expected)


@pytest.mark.parametrize("name", LIBRARIES)
@settings(deadline=None, max_examples=25)
@given(table=tables(), ties=st.sampled_from(["expected", "trec", "best", "input", "rank"]), data=st.data())
def test_flat_form(name: str, table: Any, ties: Any, data: st.DataObject) -> None:
    scores, grades, mask = table
    lengths = data.draw(st.lists(st.integers(0, scores.shape[1]), min_size=len(scores), max_size=len(scores)))
    chosen = [(q, c) for q in range(len(scores)) for c in range(lengths[q])]
    if ties not in ("input", "rank"):
        chosen = data.draw(st.permutations(chosen))
    else:
        # The candidates of queries may be mixed, but those of a query keep their order.
        turns = data.draw(st.permutations([q for q, _ in chosen]))
        left = {q: iter([c for p, c in chosen if p == q]) for q in set(turns)}
        chosen = [(q, next(left[q])) for q in turns]
    if not any(not np.isnan(grades[at]) for at in chosen):
        return
    rows, columns = np.array(chosen).T
    present = np.zeros(scores.shape, bool)
    present[rows, columns] = True
    known = np.where(present, grades, np.nan)
    asked = np.unique(rows)
    qrels, run = as_dicts(scores, known, present if mask is None else present & mask)
    expected = cf.evaluate(qrels, {str(q): run[str(q)] for q in asked}, MEASURES, ties=ties)
    with library(name) as array:
        ours = evaluate(
            array(grades[rows, columns]),
            array(scores[rows, columns]),
            MEASURES,
            mask=None if mask is None else array(mask[rows, columns]),
            ids=[str(c) for c in columns],
            indexes=array(rows),
            ties=ties,
        )
    same(ours.scores, expected)


@pytest.mark.parametrize("name", LIBRARIES)
def test_very_uneven_queries_are_sorted_in_flat_form(name: str) -> None:
    lengths = [200, 1, 2, 1, 3, 1]
    rng = np.random.default_rng(0)
    indexes = np.repeat(np.arange(6), lengths)
    scores, grades = rng.integers(0, 9, 208).astype(np.float32), rng.choice([np.nan, 0, 1, 2], 208)
    grades[-1], mask = 1, rng.random(208) < 0.9
    ids = [f"d{i}" for i in range(208)]
    run: dict[str, Any] = {str(q): {} for q in range(6)}
    qrels: dict[str, Any] = {}
    for q, s, g, m, d in zip(indexes, scores, grades, mask, ids, strict=True):
        run[str(q)] |= {d: float(s)} if m else {}
        if not np.isnan(g):
            qrels.setdefault(str(q), {})[d] = float(g)
    for ties in ("expected", "trec", "input", "rank", "worst"):
        with library(name) as array:
            ours = evaluate(
                *map(array, (grades, scores)), MEASURES, mask=array(mask), ids=ids, indexes=array(indexes), ties=ties
            )
        same(ours.scores, cf.evaluate(qrels, run, MEASURES, ties=ties))


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("judged", [3, 60])
def test_comparing_and_sorting_count_the_same(name: str, judged: int) -> None:
    rng = np.random.default_rng(judged)
    scores, grades = rng.integers(-5, 20, (7, 90)).astype(np.float32), np.full((7, 90), np.nan)
    grades[:, :judged] = rng.integers(0, 3, (7, judged))
    mask = rng.random((7, 90)) < 0.8
    scores[0, :5] = -np.inf
    with library(name) as array:
        ours = evaluate(*map(array, (grades, scores)), MEASURES, mask=array(mask))
    same(ours.scores, cf.evaluate(*as_dicts(scores, grades, mask), MEASURES, ties="expected"))


@pytest.mark.parametrize("missed", [[[1.0, np.nan], [0.0, 2.0]], {"0": [1.0], 1: {"x": 0, "y": 2}}])
def test_missed_documents(missed: Any) -> None:
    scores, grades = np.array([[2.0, 1.0], [1.0, 1.0]]), np.array([[np.nan, 1.0], [1.0, np.nan]])
    ids = range(2) if isinstance(missed, dict) else None
    ours = evaluate(grades, scores, MEASURES, missed=missed, query_ids=ids).scores
    qrels = {"0": {"1": 1, "x": 1}, "1": {"0": 1, "x": 0, "y": 2}}
    same(ours, cf.evaluate(qrels, as_dicts(scores, grades)[1], MEASURES, ties="expected"))


def test_a_missed_query_is_not_answered() -> None:
    scores, grades = np.array([[2.0, 1.0]]), np.array([[np.nan, 1.0]])
    ours = evaluate(grades, scores, "AP", missed={"q": [1]}, query_ids=["p"]).scores
    same(ours, cf.evaluate({"p": {"b": 1}, "q": {"x": 1}}, {"p": {"a": 2.0, "b": 1.0}}, "AP", ties="expected"))


def test_an_own_value_for_unjudged() -> None:
    scores, grades = np.array([[3.0, 2.0, 1.0]]), np.array([[0, 1, 2]])
    ours = evaluate(grades, scores, ["bpref", "AP"], unjudged=0).scores
    same(ours, cf.evaluate({"0": {"1": 1, "2": 2}}, as_dicts(scores, grades)[1], ["bpref", "AP"], ties="expected"))


def test_several_runs_are_audited_and_compared() -> None:
    rng = np.random.default_rng(3)
    grades = rng.choice([np.nan, 0, 1], (9, 6))
    runs = {"old": rng.integers(0, 3, (9, 6)).astype(float), "new": rng.integers(0, 9, (9, 6)).astype(float)}
    evaluation = evaluate(grades, runs, ["AP", "nDCG@3"])
    qrels = as_dicts(runs["old"], grades)[0]
    dicts = {name: as_dicts(scores, grades)[1] for name, scores in runs.items()}
    same(evaluation.scores, cf.evaluate(qrels, dicts, ["AP", "nDCG@3"], ties="expected"))
    audit = cf.audit(qrels, dicts, ["AP", "nDCG@3"], ties="expected")
    assert cf.audit(evaluation).to_dict() == audit.to_dict()
    compared = cf.compare(qrels, dicts, ["AP", "nDCG@3"], ties="expected", test="t")
    of_tensors, of_dicts = cf.compare(evaluation, test="t").to_dict(), compared.to_dict()
    assert of_tensors.pop("provenance") != of_dicts.pop("provenance")
    assert of_tensors == of_dicts


def test_every_measure_of_grades() -> None:
    rng = np.random.default_rng(4)
    scores, grades = rng.integers(0, 5, (5, 12)).astype(np.float32), rng.choice([np.nan, 0, 1, 2], (5, 12))
    plain = [
        d
        for d in cf.measures.CATALOGUE.values()
        if not (d.subtopics or d.content or d.preferences or d.spans or d.gains == "attribute")
    ]
    cutoff = {"required": "@10", "recall": "@0.5"}
    measures = [d.symbol + cutoff.get(d.cutoff, "") for d in plain]
    ours = evaluate(grades, scores, measures, ids=[str(c) for c in range(12)]).scores
    same(ours, cf.evaluate(*as_dicts(scores, grades), measures, ties="expected"))


def test_nil_and_costs_need_ids() -> None:
    rng = np.random.default_rng(5)
    scores, grades = rng.integers(0, 5, (4, 6)).astype(np.float32), rng.choice([np.nan, np.nan, 0, 1], (4, 6))
    grades[:, 5] = np.nan
    ids = ["a", "b", "c", "d", "e", "NIL"]
    qrels, run = as_dicts(scores, grades, names=ids.__getitem__)
    ours = evaluate(cf.Collection(grades, nil="NIL"), scores, ["AP", "P@3"], ids=ids).scores
    same(ours, cf.evaluate(cf.Collection(qrels, nil="NIL"), run, ["AP", "P@3"], ties="expected"))
    costs = {"0": {"a": 3.0, "e": 9.0}, "2": {"b": 0.5}}
    ours = evaluate(cf.Collection(grades, costs=costs), scores, ["TBG", "AP"], ids=ids).scores
    same(ours, cf.evaluate(cf.Collection(qrels, costs=costs), run, ["TBG", "AP"], ties="expected"))
    with pytest.raises(CranfieldError, match="needs document ids"):
        evaluate(cf.Collection(grades, costs=costs), scores, "TBG")
    with pytest.raises(CranfieldError, match="nil needs document ids"):
        evaluate(cf.Collection(grades, nil="NIL"), scores, "AP")


def test_subtopics_are_a_third_dimension() -> None:
    rng = np.random.default_rng(6)
    scores, grades = rng.integers(0, 9, (4, 7)).astype(np.float32), rng.choice([np.nan, 0, 1], (4, 7, 3))
    ids = [str(c) for c in range(7)]
    qrels = {
        str(q): {ids[c]: d for c in range(7) if (d := {str(t): g for t, g in enumerate(grades[q, c]) if g == g})}
        for q in range(4)
    }
    run = as_dicts(scores, grades[..., 0])[1]
    measures = ["alpha_nDCG@5", "ERR_IA@5", "StRecall@5", "AP"]
    ours = evaluate(grades, scores, measures, ids=ids).scores
    assert ours.values.tobytes() == cf.evaluate(qrels, run, measures, ties="expected").values.tobytes()


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64", "int8", "int64", "uint8", "float8_e5m2"])
def test_types_of_torch(kind: str) -> None:
    torch = pytest.importorskip("torch")
    numbers = torch.tensor([[3, 1, 1, 2], [0, 0, 0, 0]])
    grades = np.array([[np.nan, 1, 0, 1], [1, np.nan, np.nan, 0]])
    scores = numbers.to(getattr(torch, kind))
    same(
        evaluate(torch.from_numpy(grades), scores, MEASURES).scores,
        cf.evaluate(*as_dicts(numbers.double().numpy(), grades), MEASURES, ties="expected"),
    )


def test_gradients_and_read_only_arrays() -> None:
    torch = pytest.importorskip("torch")
    scores = torch.tensor([[1.0, 2.0]], requires_grad=True)
    grades = np.array([[1.0, 0.0]])
    grades.flags.writeable = False
    assert evaluate(grades, scores, "RR").scores._means.tolist() == [[0.5]]


class Foreign:
    """An array of another library, which has nothing but DLPack."""

    def __init__(self, values: Any) -> None:
        self._values = np.array(values)

    def __dlpack__(self, **options: Any) -> Any:
        return self._values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._values.__dlpack_device__()


def test_dlpack() -> None:
    pytest.importorskip("torch")
    scores, grades = Foreign([[1.0, 2.0]]), Foreign([[1.0, np.nan]])
    assert evaluate(grades, scores, "RR").scores._means.tolist() == [[0.5]]


S, G = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[1.0, 0.0], [np.nan, 1.0]])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((S[0], G[0]), {}, "scores must have two dimensions (queries, candidates), not the shape (2,)"),
        ((S, G[:1]), {}, "grades has the shape (1, 2), but scores has the shape (2, 2)"),
        ((S, G), {"mask": G[:, :1]}, "mask has the shape (2, 1), expected (2, 2)"),
        ((S[:0], G[:0]), {}, "there are no queries: scores has no rows"),
        ((S, G * np.nan), {}, "grades: no document is judged"),
        (
            (S * np.nan, G),
            {"query_ids": ["p", "q"]},
            "run: query `p` has a score that is NaN\nrun: query `q` has a score",
        ),
        ((S, G + np.inf), {}, "grades: query `0` has an infinite grade"),
        ((S, G), {"ids": ["a"]}, "ids has the shape (1,), expected (2,) or (2, 2)"),
        ((S, G), {"ids": ["a", "a"]}, "query `0`: document `a` appears twice among ids"),
        ((S, G), {"query_ids": ["a"]}, "query_ids has 1 ids for 2 rows of scores"),
        ((S, G), {"query_ids": ["a", "a"]}, "query_ids has the id `a` twice"),
        ((S, G), {"ties": "trec"}, "AP[ties=trec]: ties=trec needs document ids"),
        ((S, G), {"indexes": [0, 1]}, "scores has the shape (2, 2), expected (2,)"),
        ((S[0], G[0]), {"indexes": [[0, 1]]}, "indexes must have one dimension, not the shape (1, 2)"),
        ((S[0, :0], G[0, :0]), {"indexes": np.zeros(0, int)}, "there are no queries: indexes is empty"),
        ((S, G), {"missed": [[1.0]]}, "missed has 1 rows for 2 queries"),
        (([["a", "b"]], G), {}, "scores must be numbers, not str"),
        (([[1.0], [1.0, 2.0]], G), {}, "scores must be a table of numbers, not lists of different lengths"),
        (({}, G), {}, "no runs given"),
    ],
)
def test_errors(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(CranfieldError) as error:
        evaluate(*reversed(arguments), "AP", **options)
    assert str(error.value).startswith(message)


def test_text_is_refused() -> None:
    with pytest.raises(CranfieldError, match="needs document text, which tensors do not have"):
        evaluate(G, S, "DELTARB")


def test_memory_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    from cranfield.tensors import counting

    def fail(*_: Any) -> Any:
        raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")

    monkeypatch.setattr(counting, "count_scores", fail)
    with pytest.raises(cf.InputError, match="there is not enough memory for the counts of these scores"):
        evaluate(G, S, "AP")


def test_tensors_on_two_devices() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(CranfieldError, match="scores is on meta, but grades is on cpu"):
        evaluate(torch.zeros(2, 2), torch.zeros(2, 2, device="meta"), "AP")


def test_torch_is_loaded_only_by_its_users() -> None:
    import subprocess
    import sys

    code = (
        "import sys, numpy as np, cranfield as cf\n"
        "cf.tensors.evaluate(np.ones((1, 2)), np.ones((1, 2)), 'AP')\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_scores_and_grades_the_other_way_round() -> None:
    rng = np.random.default_rng(0)
    scores, grades = rng.normal(size=(4, 10)), (rng.random((4, 10)) < 0.3).astype(float)
    with pytest.raises(CranfieldError, match="the grades look like scores") as raised:
        evaluate(scores, grades, ["nDCG@10"])
    assert "evaluate(grades, scores, measures)" in raised.value.hint
    assert np.isfinite(evaluate(grades, scores, ["nDCG@10"]).scores._means).all()
