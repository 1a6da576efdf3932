"""Lists, sets, pairs and records: every shape of the same rankings and judgments gives the same scores."""

from __future__ import annotations

import dataclasses
import uuid
from collections import deque, namedtuple
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield import io, native
from cranfield.data import Run
from cranfield.errors import CranfieldError, InputError
from cranfield.io.runs import empty_index
from cranfield.native import plain
from wrong_shapes import SHAPES

MEASURES = ["nDCG@3", "AP", "RR", "P@2", "Bpref"]
Rankings = list[list[str]]
Judged = list[dict[str, int]]
Row = namedtuple("Row", "query_id doc_id score")


Hit = namedtuple("Hit", "doc_id score")


@dataclasses.dataclass
class Result:
    doc_id: str
    score: float


@dataclasses.dataclass
class QueryResult:
    query_id: str
    doc_id: str
    score: float


def by_name(values: list[Any]) -> dict[str, Any]:
    return {str(position): value for position, value in enumerate(values, 1)}


def pairs(ranking: list[str]) -> list[tuple[str, float]]:
    return [(document, 1.0 / rank) for rank, document in enumerate(ranking, 1)]


def flat(rankings: Rankings, record: Any) -> list[Any]:
    return [record(query, d, s) for query, ranking in by_name(rankings).items() for d, s in pairs(ranking)]


# Without an empty ranking, which rows cannot hold.
FLAT = {
    "named tuples": lambda r: flat(r, Row),
    "dicts with queries": lambda r: flat(r, lambda q, d, s: {"qid": q, "docno": d, "score": s}),
    "objects with queries": lambda r: flat(r, lambda q, d, s: SimpleNamespace(query_id=q, doc_id=d, score=s)),
    "columns": lambda r: dict(
        zip(("query_id", "doc_id", "score"), map(list, zip(*flat(r, Row), strict=True)), strict=True)
    ),
    "a frame": lambda r: pd.DataFrame(flat(r, Row)),
    "a polars frame": lambda r: pl.DataFrame(flat(r, Row), schema=Row._fields, orient="row"),
    "a lazy frame": lambda r: pl.DataFrame(flat(r, Row), schema=Row._fields, orient="row").lazy(),
    "an Arrow table": lambda r: pa.table(FLAT["columns"](r)),
    "data classes with queries": lambda r: flat(r, QueryResult),
    "a generator of rows": lambda r: iter(flat(r, Row)),
}
RUNS = {
    "lists by position": lambda r: r,
    "tuples by position": lambda r: tuple(map(tuple, r)),
    "generators": lambda r: (iter(ranking) for ranking in r),
    "lists by query": by_name,
    "pairs by query": lambda r: by_name(list(map(pairs, r))),
    "pairs by position": lambda r: list(map(pairs, r)),
    "lists as pairs": lambda r: [[list(pair) for pair in pairs(ranking)] for ranking in r],
    "dicts by position": lambda r: [dict(pairs(ranking)) for ranking in r],
    "dicts by query": lambda r: by_name([dict(pairs(ranking)) for ranking in r]),
    "bytes": lambda r: [[document.encode() for document in ranking] for ranking in r],
    "paths": lambda r: [[PurePosixPath(document) for document in ranking] for ranking in r],
    "queries as integers": lambda r: dict(enumerate(r, 1)),
    "deques": lambda r: by_name(list(map(deque, r))),
    "keys": lambda r: by_name([dict(pairs(ranking)).keys() for ranking in r]),
    "arrays": lambda r: [np.array(ranking, object) for ranking in r],
    "series": lambda r: pd.Series(r, dtype=object),
    "polars series": lambda r: by_name([pl.Series(ranking, dtype=pl.String) for ranking in r]),
    "series of scores": lambda r: by_name([pd.Series(dict(pairs(ranking)), dtype=float) for ranking in r]),
    "Arrow arrays": lambda r: by_name([pa.array(ranking, pa.string()) for ranking in r]),
    "named tuples": lambda r: [[Hit(*pair) for pair in pairs(ranking)] for ranking in r],
    "objects": lambda r: by_name([[SimpleNamespace(id=d, score=s) for d, s in pairs(ranking)] for ranking in r]),
    "objects without scores": lambda r: [[SimpleNamespace(id=d) for d in ranking] for ranking in r],
    "points of Qdrant": lambda r: [SimpleNamespace(points=objects) for objects in RUNS["objects"](r).values()],
    "matches of Pinecone": lambda r: [
        {"matches": [{"id": d, "score": s} for d, s in pairs(ranking)], "namespace": ""} for ranking in r
    ],
    "results of Chroma": lambda r: {"ids": r, "distances": [[0.5] * len(ranking) for ranking in r], "metadatas": None},
    "data classes": lambda r: [[Result(*pair) for pair in pairs(ranking)] for ranking in r],
    "hits": lambda r: [[{"corpus_id": d, "score": s} for d, s in pairs(ranking)] for ranking in r],
    "responses": lambda r: [{"hits": {"hits": [{"_id": d, "_score": s} for d, s in pairs(ranking)]}} for ranking in r],
    "_msearch": lambda r: {"responses": RUNS["responses"](r)},
    "predictions": lambda r: [{"query_id": q, "results": h} for q, h in by_name(RUNS["hits"](r)).items()],
    "several runs": lambda r: {"run": r},
    "records": lambda r: cf.records(
        [[{"meta": {"source": d}} for d in ranking] for ranking in r], document="meta.source"
    ),
    "a function": lambda r: cf.records(r, document=lambda chunk: chunk),
}
LISTED = {name for name, shape in RUNS.items() if name == "several runs" or io.read_run(shape([["a"]])).by_position}
GRADED = {
    "dicts by position": lambda j: j,
    "dicts by query": by_name,
    "pairs": lambda j: [list(judged.items()) for judged in j],
    "records": lambda j: [[{"id": d, "grade": g} for d, g in judged.items()] for judged in j],
    "bytes": lambda j: [{d.encode(): g for d, g in judged.items()} for judged in j],
}


def judged_rows(judged: Judged, record: Any) -> list[Any]:
    return [record(query, d, g) for query, grades in by_name(judged).items() for d, g in grades.items()]


Judgment = namedtuple("Judgment", "query_id doc_id relevance")
GRADED_ROWS = {
    "named tuples": lambda j: judged_rows(j, Judgment),
    "dicts with queries": lambda j: judged_rows(j, lambda q, d, g: {"qid": q, "docno": d, "label": g}),
    "objects with queries": lambda j: judged_rows(j, lambda q, d, g: SimpleNamespace(query_id=q, doc_id=d, grade=g)),
    "columns": lambda j: dict(
        zip(Judgment._fields, map(list, zip(*judged_rows(j, Judgment), strict=True)), strict=True)
    ),
    "a frame": lambda j: pd.DataFrame(judged_rows(j, Judgment)),
    "a polars frame": lambda j: pl.DataFrame(judged_rows(j, Judgment), schema=Judgment._fields, orient="row"),
    "an Arrow table": lambda j: pa.table(GRADED_ROWS["columns"](j)),
}
BINARY = {
    "sets": lambda j: [set(judged) for judged in j],
    "frozen sets by query": lambda j: by_name([frozenset(judged) for judged in j]),
    "lists": lambda j: [list(judged) for judged in j],
    "arrays": lambda j: by_name([np.array(list(judged), dtype=object) for judged in j]),
}


@st.composite
def collections(draw: Any) -> tuple[Rankings, Judged]:
    names = [f"d{number}" for number in range(8)]
    queries = draw(st.integers(1, 3))
    rankings = [draw(st.lists(st.sampled_from(names), unique=True, max_size=6)) for _ in range(queries)]
    grades = st.dictionaries(st.sampled_from(names), st.integers(0, 3), max_size=5)
    return rankings, [draw(grades) | {"d0": 1} for _ in range(queries)]


def reference(judged: Judged, rankings: Rankings) -> np.ndarray:
    run = {query: dict(pairs(ranking)) for query, ranking in by_name(rankings).items()}
    return cf.Evaluator(by_name(judged), MEASURES).values(run)


@settings(max_examples=40)
@given(collections())
def test_every_shape_of_a_run_has_the_same_scores(collection: tuple[Rankings, Judged]) -> None:
    rankings, judged = collection
    expected = reference(judged, rankings)
    shapes = RUNS | (FLAT if all(rankings) else {})
    for name, shape in shapes.items():
        listed = name in LISTED and shape is RUNS[name]
        got = cf.evaluate(judged if listed else by_name(judged), shape(rankings), MEASURES).values[0]
        np.testing.assert_array_equal(got, expected, err_msg=name)


# Ids of other types for the ids d0 to d7.
IDS = {
    "integers": lambda d: int(d[1:]),
    "NumPy integers": lambda d: np.int32(d[1:]),
    "NumPy text": np.str_,
    "bytes": str.encode,
    "UUIDs": lambda d: uuid.UUID(int=int(d[1:])),
    "paths": lambda d: PurePosixPath("docs", d),
}


@settings(max_examples=20)
@given(collections())
def test_every_type_of_id_has_the_same_scores(collection: tuple[Rankings, Judged]) -> None:
    rankings, judged = collection
    expected = reference(judged, rankings)
    for name, typed in IDS.items():
        lists = [[typed(document) for document in ranking] for ranking in rankings]
        scored = by_name([[(typed(d), s) for d, s in pairs(ranking)] for ranking in rankings])
        nested = [{typed(d): s for d, s in pairs(ranking)} for ranking in rankings]
        objects = cf.records(
            [[SimpleNamespace(key=document) for document in ranking] for ranking in lists], document="key"
        )
        grades = [{typed(d): grade for d, grade in documents.items()} for documents in judged]
        for run in (lists, scored, nested, objects):
            given_grades = by_name(grades) if run is scored else grades
            np.testing.assert_array_equal(cf.evaluate(given_grades, run, MEASURES).values[0], expected, err_msg=name)


@settings(max_examples=40)
@given(collections())
def test_every_shape_of_judgments_has_the_same_scores(collection: tuple[Rankings, Judged]) -> None:
    rankings, judged = collection
    for shapes, grades in (
        (GRADED | GRADED_ROWS, judged),
        (BINARY, [dict.fromkeys(documents, 1) for documents in judged]),
    ):
        expected = reference(grades, rankings)
        for name, shape in shapes.items():
            judgments = io.read_qrels(shape(grades))
            got = cf.Evaluator(judgments, MEASURES).values(rankings if judgments.by_position else by_name(rankings))
            np.testing.assert_array_equal(got, expected, err_msg=name)


@given(st.lists(st.lists(st.sampled_from(["a", "b", "ä", "日", 7, None]), max_size=5), min_size=1, max_size=4))
def test_the_native_join_of_lists_is_the_plain_one(rankings: list[list[Any]]) -> None:
    if not native.NATIVE:
        pytest.skip("there is no native core")
    source = by_name(rankings)
    native_result = native.join_dict(source, empty_index(), ["score"], True, 3)
    index = (np.zeros(1, np.int64), np.empty(0, np.uint8))
    plain_result = plain.join_dict(source, plain.Index(index, np.zeros(1, np.int64), index), ["score"], True, 3)
    assert native_result["faults"] == plain_result["faults"]
    if not plain_result["faults"]:
        np.testing.assert_array_equal(native_result["other_length"], plain_result["other_length"])
        for ours, theirs in zip(native_result["tops"], plain_result["tops"], strict=True):
            np.testing.assert_array_equal(ours["start"], theirs["start"])


def test_ids_are_compared_as_text() -> None:
    key = uuid.UUID(int=7)
    run = [[1, np.int64(2)], [key, b"d"], [PurePosixPath("a/b"), "x"]]
    assert cf.Evaluator([["1"], [str(key)], ["a/b"]], "RR").means(run) == {"RR": 1.0}
    assert cf.Evaluator({1: {10: 1}}, "RR").means({1: {11: 2.0, 10: 1.0}}) == {"RR": 0.5}
    assert cf.Evaluator({"1": {"10": 1}}, "RR").means({1: ["11", 10]}) == {"RR": 0.5}


def test_two_lists_of_lists() -> None:
    scores = cf.evaluate([["a"], ["b", "c"]], [["a", "x"], ["x", "c"]], ["nDCG@10", "RR"])
    assert scores.queries == ("1", "2")
    assert scores._means[0, 1] == 0.75


@pytest.mark.parametrize(
    ("run", "duplicates", "expected"),
    [
        ([["x", "x", "a"]], "first", 0.5),
        ([["x", "x", "a"]], "best", 0.5),
        ([[("a", 1.0), ("x", 2.0), ("a", 3.0), ("y", 0.5)]], "first", 0.5),
        ([[("a", 1.0), ("x", 2.0), ("a", 3.0), ("y", 0.5)]], "best", 1.0),
        (pd.DataFrame({"qid": [1, 1, 1], "docno": ["a", "x", "a"], "score": [1.0, 2.0, 3.0]}), "first", 0.5),
        (pd.DataFrame({"qid": [1, 1, 1], "docno": ["a", "x", "a"], "score": [1.0, 2.0, 3.0]}), "best", 1.0),
        (Run("run", {"1": ["x", "x", "a"]}), "first", 0.5),
    ],
)
def test_duplicates(run: Any, duplicates: Any, expected: float) -> None:
    qrels = [{"a"}] if isinstance(run, list) else {"1": {"a"}}
    assert cf.evaluate(qrels, run, "RR", duplicates=duplicates)._means[0, 0] == expected
    assert cf.Evaluator(qrels, "RR").means(cf.read_run(run, duplicates=duplicates)) == {"RR": expected}
    with pytest.raises(CranfieldError, match=r'appears twice[\s\S]*duplicates="first"'):
        cf.evaluate(qrels, run, "RR")


@pytest.mark.parametrize(("duplicates", "expected"), [("first", 0.5), ("best", 1.0)])
def test_duplicates_in_files(tmp_path: Any, duplicates: Any, expected: float) -> None:
    path = tmp_path / "chunks.run"
    path.write_text("1 Q0 a 1 1 t\n1 Q0 x 2 2 t\n1 Q0 a 3 3 t\n")
    assert cf.evaluate({"1": {"a"}}, path, "RR", duplicates=duplicates)._means[0, 0] == expected


def test_an_unknown_policy_for_duplicates() -> None:
    with pytest.raises(CranfieldError, match="duplicates must be one of error, first, best"):
        cf.evaluate([{"a"}], [["a"]], "RR", duplicates="last")  # type: ignore[arg-type]


def test_relevant_documents_given_twice_are_counted() -> None:
    assert io.read_qrels({"q": ["a", "a", "b"]}).repeated == 1


@pytest.mark.parametrize("name", SHAPES)
def test_a_wrong_shape_is_answered_by_one_sentence(name: str) -> None:
    qrels, run = SHAPES[name]
    with pytest.raises(CranfieldError) as caught:
        cf.evaluate(qrels, run, "RR")
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 160
    assert caught.value.hint  # what to write instead


def test_the_list_of_wrong_shapes_is_complete() -> None:
    assert len(SHAPES) >= 40


def test_lists_can_be_loaded_and_written(tmp_path: Any) -> None:
    path = tmp_path / "lists.run"
    io.write_run(io.read_run({"q": ["b", "a"]}), path)
    assert path.read_text().splitlines() == ["q Q0 b 1 0.0 run", "q Q0 a 2 -1.0 run"]


def test_series_have_ids_as_their_index() -> None:
    evaluator = cf.Evaluator({"q": {"a": 1}, "2": {"b": 1}}, "RR")
    for kind in ("float64", "int64", "uint8", "Int64", "Float32"):
        scores = pd.Series({"x": 3, "a": 1, "y": 2}).astype(kind)
        assert evaluator.values({"q": scores}).tolist() == [[1 / 3, 0.0]]
    assert evaluator.values({"q": pd.Series(["x", "a"])}).tolist() == [[0.5, 0.0]]
    by_query = pd.Series({2: ["x", "b"], "q": ["a"]})
    assert evaluator.values(by_query).tolist() == [[1.0, 0.5]]
    judged = pd.Series({"q": pd.Series({"a": 1, "x": 0}), "2": ["b"]})
    assert cf.Evaluator(judged, "RR").values({"q": ["x", "a"]}).tolist() == [[0.5, 0.0]]


def test_a_label_that_a_series_has_twice_is_refused() -> None:
    twice = pd.Series([1.0, 2.0], index=["a", "a"])
    with pytest.raises(InputError, match="document `a` appears twice for query `q`"):
        cf.evaluate({"q": {"a": 1}}, {"q": twice}, "RR")
    with pytest.raises(InputError, match="document `a` already has another grade for query `q`"):
        cf.evaluate({"q": twice}, {"q": ["a"]}, "RR")
    with pytest.raises(InputError, match="query 'q' appears twice in the index of the series"):
        cf.evaluate({"q": {"a": 1}}, pd.Series([["a"], ["b"]], index=["q", "q"]), "RR")


@pytest.mark.parametrize("duplicates", ["first", "best"])
def test_values_that_are_no_ids_or_scores_are_refused_among_duplicates(duplicates: Any) -> None:
    for ranking in (["a", ["b"]], ["a", None], [("a", 1), ("b", 2), ("a", "3")]):
        with pytest.raises(InputError, match=r"an id must be text|the score is not a number"):
            cf.read_run({"q": ranking}, duplicates=duplicates)


def test_a_generator_that_was_read_before_is_refused() -> None:
    evaluator = cf.Evaluator({"q": {"a": 1}}, "RR")
    run = {"q": (document for document in ["b", "a"])}
    assert evaluator.means(run) == {"RR": 0.5}
    for qrels, ranking in (({"q": {"a": 1}}, run), (run, {"q": ["a"]})):
        with pytest.raises(InputError, match="query `q`: the generator was already read to its end"):
            cf.evaluate(qrels, ranking, "RR")
    assert evaluator.means({"q": (document for document in ())}) == {"RR": 0.0}
