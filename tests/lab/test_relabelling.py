"""Relabelled runs score what `evaluate` says of the judgments that are left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield import io
from cranfield.errors import CranfieldError, InputError
from cranfield.evaluation.collection import split_options
from cranfield.lab import relabelling
from cranfield.lab.relabelling import Relabeller
from cranfield.measures import CATALOGUE

VIEWS = ["", "[condensed]", "[ties=expected]", "[ties=worst, condensed]", "[ties=best]", "[depth=3]"]
MORE = [
    "nDCG[terminal]",
    "AP[ties=expected, depth=2, condensed]",
    "RR[ties=input]",
    "P@2[ties=rank]",
    "AP[ties=trec9]",
    "RBP(p=0.5)[terminal]",
    "ERR_IA(norm='paper')@3",
    "alpha_nDCG(ideal='exact')@3",
    "nDCG(gain={1: 2, 3: 0.5})",
    "AP(rel=2)",
    "bpref(rel=2)",
]


def named(symbol: str) -> str:
    cutoff = CATALOGUE[symbol].cutoff
    return symbol + {"none": "", "optional": "", "required": "@3", "recall": "@0.5"}[cutoff]


EVERY = [
    named(symbol) + view
    for symbol, d in CATALOGUE.items()
    if not (d.content or d.preferences or d.sampled or d.collection or d.spans or d.documents)
    for view in VIEWS
] + MORE


@st.composite
def collections(draw: Any) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
    """Runs, judgments by subtopic, and some of these judgments."""
    queries = ["q1", "q2", "q3"]
    documents = [f"d{i}" for i in range(draw(st.integers(3, 7)))]
    grades = st.dictionaries(st.sampled_from("ab"), st.sampled_from([-1, 0, 0, 1, 1, 2, 3]), min_size=1)
    judged = {q: draw(st.dictionaries(st.sampled_from(documents), grades, min_size=1)) for q in queries}
    ranking = st.dictionaries(st.sampled_from(documents), st.sampled_from([1.0, 2.0, 3.0, 3.00000001]), min_size=1)
    runs = [
        cf.read_run({"q1": draw(ranking)} | {q: draw(ranking) for q in draw(st.sets(st.sampled_from(queries)))}, name=n)
        for n in ("one", "two")
    ]
    keep = {q: draw(st.sets(st.sampled_from(sorted(rows)))) for q, rows in judged.items()}
    keep["q1"] |= set(list(judged["q1"])[:1])  # else no query of a run may be judged, which is an error
    return runs, judged, {q: {d: rows[d] for d in sorted(keep[q])} for q, rows in judged.items() if keep[q]}


@settings(max_examples=60, deadline=None)
@given(collections(), st.booleans(), st.integers(0, 10_000))
def test_scores_are_those_of_the_judgments_left(
    sample: tuple[list[Any], dict[str, Any], dict[str, Any]], subtopics: bool, seed: int
) -> None:
    runs, judged, left = sample
    names = list(np.random.default_rng(seed).choice(EVERY, 25, replace=False))
    if not subtopics:
        judged, left = (
            {q: {d: max(grades.values()) for d, grades in rows.items()} for q, rows in one.items()}
            for one in (judged, left)
        )
        names = [name for name in names if not cf.parse(name).definition.subtopics] or ["AP"]
    judgments = io.read_qrels(judged)
    keep = np.array([d in left.get(q, ()) for q, d in rows_of(judgments)])
    found = relabelled(runs, judgments, names).values(keep)
    expected = cf.evaluate(left, runs, names)
    place = [expected.queries.index(q) for q in judged if q in left]
    there = np.array([q in left for q in judged])
    assert found[:, :, there] == pytest.approx(expected.values[:, :, place], abs=1e-12, nan_ok=True)
    assert np.isnan(found[:, :, ~there]).all()


def rows_of(judgments: Any) -> list[tuple[str, str]]:
    queries = [q for q, n in zip(judgments.queries, np.diff(judgments.begin), strict=True) for _ in range(n)]
    return list(zip(queries, judgments.documents, strict=True))


RUNS = [
    {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"x": 1.0, "y": 1.0}},
    {"q1": {"c": 3.0, "b": 3.0, "u": 1.0}},
]
JUDGED = {"q1": {"a": 3, "b": 0, "c": 1}, "q2": {"x": 0, "y": 1}}


def relabelled(runs: Any, judgments: Any, measures: Any, **how: Any) -> Relabeller:
    parts, options = split_options(how)
    evaluator = cf.Evaluator(cf.Collection(judgments, **parts), list(measures), **options)
    return Relabeller(evaluator.evaluation(list(runs)))


def relabeller(*measures: str) -> Relabeller:
    return relabelled(RUNS, JUDGED, measures)


def test_the_top_grade_is_that_of_the_judgments_left() -> None:
    runs = relabeller("RBP(p=0.5)")
    assert runs.values()[0, 0].tolist() == pytest.approx([0.5 + 0.125 / 3, 0.25 / 3 * 2])
    # Without the grade 3 the highest is 1, and the document of grade 1 has full gain.
    keep = np.array([False, True, True, True, True])
    assert runs.values(keep)[0, 0].tolist() == pytest.approx([0.125, 0.5])


def test_a_query_without_judgments_counts_no_more() -> None:
    found = relabeller("P@1", "AP").values(np.array([True, True, True, False, False]))
    assert np.isnan(found[:, :, 1]).all()
    assert found[0, :, 0].tolist() == pytest.approx([1, (1 + 2 / 3) / 2])


def test_no_judgment_at_all() -> None:
    assert np.isnan(relabeller("P@1", "bpref").values(np.zeros(5, bool))).all()


def test_many_shelves_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["AP", "nDCG[ties=expected]", "bpref", "Q[condensed]"]
    keep = np.array([True, False, True, True, True])
    expected = relabeller(*names).values(keep)
    monkeypatch.setattr(relabelling, "CELLS", 1)
    runs = relabeller(*names)
    assert {len(shelves) for shelves in runs.blocks.values()} == {4}
    assert runs.values(keep) == pytest.approx(expected, abs=1e-15, nan_ok=True)


def test_ranks_are_trec_evals() -> None:
    # y before x, and c before b: of equal scores the greater id is first.
    assert relabeller("AP[ties=expected]").ranks().tolist() == [[1, 2, 3, 2, 1], [0, 2, 1, 0, 0]]


def test_errors_of_evaluate_are_errors_here() -> None:
    with pytest.raises(CranfieldError, match="needs judgments by subtopic"):
        relabeller("alpha_nDCG@2")
    with pytest.raises(CranfieldError, match="none of its queries is judged"):
        relabelled([{"q9": {"a": 1.0}}], JUDGED, ["AP"])


def test_a_negative_grade_is_what_it_is_said_to_be() -> None:
    run, judged = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": -1, "b": 1}}
    for negative in ("unjudged", "nonrel"):
        runs = relabelled([run], judged, ["bpref"], negative=negative)
        expected = cf.evaluate(cf.Collection(judged, negative=negative), run, "bpref")  # type: ignore[arg-type]
        assert runs.values().tolist() == expected.values.tolist()


READ = [
    f"{symbol}{how}"
    for symbol in ("ABSNB", "ABSRB", "DELTANB", "DELTARB")
    for how in ("@2", "(mu=5)", "(mu=5, whole=True)@3", "[ties=input]", "(mu=9)@3[condensed]", "(rel=2)[ties=expected]")
]


@settings(max_examples=60, deadline=None)
@given(collections(), st.integers(0, 10_000))
def test_what_is_read_is_compared_with_the_judgments_left(
    sample: tuple[list[Any], dict[str, Any], dict[str, Any]], seed: int
) -> None:
    runs, judged, left = sample
    rng = np.random.default_rng(seed)
    texts = {f"d{i}": " ".join(rng.choice(list("uvwxyz"), rng.integers(0, 8))) for i in range(1, 7)}
    names = ["AP", "alpha_nDCG@2", *rng.choice(READ, 6, replace=False)]
    judgments = io.read_qrels(judged)
    keep = np.array([d in left.get(q, ()) for q, d in rows_of(judgments)])
    try:
        every, expected = (
            cf.evaluate(cf.Collection(one, documents=texts, allow_disjoint=True), runs, names).values
            for one in (judged, left)
        )
    except InputError as error:
        assert "is in the corpus" in str(error)  # where no relevant document is, there is nothing to compare with
        return
    runs_again = relabelled(runs, judgments, names, documents=texts, allow_disjoint=True)
    for _ in range(2):  # what was kept from the first time is used the second time
        found = runs_again.values(keep)
        place = [list(left).index(q) for q in judged if q in left]
        there = np.array([q in left for q in judged])
        assert found[:, :, there] == pytest.approx(expected[:, :, place], abs=1e-9, nan_ok=True)
        assert np.isnan(found[:, :, ~there]).all()
    assert runs_again.values() == pytest.approx(every, abs=1e-9, nan_ok=True)


def test_ranks_are_those_of_judged_documents() -> None:
    # u is read, and nobody judged it.
    judged = {q: {d: {"1": grade} for d, grade in rows.items()} for q, rows in JUDGED.items()}
    texts = {d: d * 2 for d in "abcuxy"}
    runs = relabelled(RUNS, judged, ["DELTARB"], documents=texts)
    assert runs.ranks().tolist() == [[1, 2, 3, 2, 1], [0, 2, 1, 0, 0]]
    assert runs.grade.tolist() == [3, 0, 1, 0, 1]


def test_documents_cannot_be_read_without_a_corpus() -> None:
    with pytest.raises(cf.MeasureError, match="DELTARB needs a corpus, because it uses document text"):
        relabelled([{"q": {"a": 1.0}}], {"q": {"a": {"1": 1, "2": 0}}}, ["DELTARB"])
