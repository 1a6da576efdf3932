"""Numbers, ids and blocks that tensors must not change silently: refused, or the numbers of text."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import CranfieldError, InputError, UsageError
from cranfield.tensors import Accumulator, RankCounter, evaluate, evaluate_embeddings

torch = pytest.importorskip("torch")
BIG = 2**53
FORMS = {"NumPy": np.asarray, "PyTorch": lambda values: torch.from_numpy(np.asarray(values))}
forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def mean(*args: Any, **options: Any) -> float:
    return float(evaluate(*args, "RR", **options).scores._means.item())


@forms
@pytest.mark.parametrize("scores", [[BIG, BIG + 1], [-BIG - 1, -BIG], [2**62, 2**62 + 1], [-(2**63), 1 - 2**63]])
def test_whole_numbers_beyond_floats_are_exact(form: Any, scores: list[int]) -> None:
    grades, table = form(np.array([[0.0, 1.0]])), form(np.array([scores]))
    assert mean(grades, table) == 1.0
    assert mean(grades, table, mask=form(np.array([[True, True]]))) == 1.0
    flat = form(np.array([*scores, 0]))
    assert mean(form(np.array([0.0, 1.0, 1.0])), flat, indexes=form(np.array([0, 0, 1]))) == 1.0


@forms
@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint8, np.bool_, np.float32])
def test_the_lowest_score_is_not_that_of_other_candidates(form: Any, dtype: Any) -> None:
    """Candidates outside the mask have the lowest number of the type; a judged document may have it, too."""
    lowest = -np.inf if dtype == np.float32 else 0 if dtype == np.bool_ else np.iinfo(dtype).min
    scores = form(np.array([[lowest, lowest, 1]]).astype(dtype))
    grades, mask = form(np.array([[1.0, np.nan, np.nan]])), form(np.array([[True, False, True]]))
    assert mean(grades, scores, mask=mask) == 0.5
    assert mean(grades, scores, mask=mask, ids=["a", "z", "b"], ties="trec") == 0.5


def test_unsigned_whole_numbers_are_exact_or_refused() -> None:
    assert mean(np.array([[0.0, 1.0]]), np.array([[BIG, BIG + 1]], np.uint64)) == 1.0
    with pytest.raises(UsageError, match=r"above 2\^63 - 1"):
        mean(np.array([[0.0, 1.0]]), np.array([[2**63, 2**63 + 1]], np.uint64))


@forms
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_trec9_rounds_all_scores_to_32_bits(form: Any, dtype: Any) -> None:
    scores = np.array([[2**24 + 1, 2**24]], dtype)
    run = {"0": dict(zip("ab", scores[0].tolist(), strict=True))}
    expected = cf.Evaluator({"0": {"b": 1, "a": 0}}, "RR", ties="trec9").means(run)["RR"]
    assert mean(form(np.array([[0.0, 1.0]])), form(scores), ids=["a", "b"], ties="trec9") == expected


def test_ids_are_text_at_every_door_of_tensors() -> None:
    grades, scores = np.array([[0.0, 1.0]]), np.array([[2.0, 1.0]])
    for ids in ([b"a", b"b"], np.array([b"a", b"b"]), ["a", "b"]):
        found = evaluate(grades, scores, "RR", ids=ids, query_ids=[b"q"])
        assert found.collection.judgments.queries[0] == "q"
        assert list(found.collection.judgments.documents) == ["a", "b"]
    for ids in ([2, "2"], [b"2", "2"]):
        with pytest.raises(InputError, match="different ids are the same text"):
            evaluate(grades, scores, "RR", ids=ids)
    with pytest.raises(CranfieldError, match="different ids are the same text"):
        evaluate(np.array([[1.0], [0.0]]), np.array([[1.0], [1.0]]), "RR", query_ids=[1, "1"])


def embedded(judged: Any, documents: Any, **options: Any) -> float:
    queries = np.array([[1.0, 0.0]], np.float32)
    return float(evaluate_embeddings(judged, queries, documents, "RR", **options).scores._means.item())


DOCUMENTS = np.array([[0.5, 1.0], [1.0, 0.0], [0.25, 0.0]], np.float32)


@pytest.mark.parametrize("ids", [["a", "b"], ["a", "b", "c", "d"], []])
def test_every_document_has_an_id(ids: list[str]) -> None:
    with pytest.raises(CranfieldError, match=r"document_ids has \d ids for 3 documents|none of the judged"):
        embedded([{"b": 1}], DOCUMENTS, document_ids=ids)


def test_ids_of_embeddings_are_text() -> None:
    assert embedded([{"b": 1}], DOCUMENTS, document_ids=[b"a", b"b", b"c"]) == 1.0
    assert embedded([{1: 1}], DOCUMENTS) == 1.0
    with pytest.raises(InputError, match="different ids are the same text"):
        embedded([{"2": 1}], DOCUMENTS, document_ids=[2, "2", "3"])
    with pytest.raises(InputError, match="different ids are the same text"):
        embedded([{2: 1, "2": 0}], DOCUMENTS)


@pytest.mark.parametrize("lengths", [(3, 2), (2, 3)])
def test_both_passes_have_the_same_documents(lengths: tuple[int, int]) -> None:
    left = iter(lengths)
    with pytest.raises(UsageError, match="in the first pass"):
        embedded([{"0": 1}], lambda: iter([DOCUMENTS[: next(left)]]))


@pytest.mark.parametrize("factor", [1e30, 1e-30, 1e38, 1e-42])
@pytest.mark.parametrize("form", [np.asarray, torch.from_numpy])
def test_no_length_changes_a_cosine(factor: float, form: Any) -> None:
    documents = np.array([[0.9, 0.5], [0.5, 0.9], [0.1, 0.9]], np.float32)
    documents[1] *= np.float32(factor)
    queries = form(np.array([[0.5, 0.9]], np.float32))
    found = evaluate_embeddings([{"1": 1}], queries, form(documents), "RR", similarity="cosine")
    assert found.scores._means.item() == 1.0


def counter(**options: Any) -> RankCounter:
    return RankCounter(np.array([[1.0]]), np.array([[2.0]]), **options)


def test_counters_of_other_queries_are_not_added() -> None:
    with pytest.raises(UsageError, match="same judged documents"):
        counter(query_ids=["a"]) + counter(query_ids=["b"])
    positions = np.array([[0]])
    with pytest.raises(UsageError, match="same judged documents"):
        counter(positions=positions) + counter(positions=positions, order="trec")
    counter(query_ids=["a"]) + counter(query_ids=["a"])


@pytest.mark.parametrize("positions", [np.array([0]), np.array([[0]]), np.array([[0], [1]]), np.array(0)])
def test_positions_do_not_broadcast(positions: Any) -> None:
    with pytest.raises(UsageError, match="positions has the shape"):
        counter(positions=np.array([[1]])).add(np.array([[2.0, 2.0]]), positions=positions)


@forms
def test_blocks_have_the_type_of_the_judged_scores(form: Any) -> None:
    judged = RankCounter(form(np.array([[1.0]])), form(np.array([[0.1]])))
    with pytest.raises(UsageError, match="float32"):
        judged.add(form(np.array([[0.1]], np.float32)))


def test_only_judged_columns_have_names() -> None:
    """The last of many columns is judged: names of all of them took 100 bytes for each."""
    columns = 1_000_000
    scores, grades = np.zeros((1, columns), np.float32), np.full((1, columns), np.nan, np.float32)
    grades[0, [3, columns - 1]] = 1
    counter = RankCounter(grades, scores)
    counter.add(scores)
    tracemalloc.start()
    evaluation = evaluate(grades, scores, ["R@10"])
    counted = counter.evaluate(["R@10"])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40 * columns
    for found in (evaluation, counted):
        assert list(found.judgments.documents) == ["3", str(columns - 1)]


ONE, TWO = np.array([[0.0, 1.0]]), np.array([[1.0, 2.0]])
HIDDEN = np.ma.masked_array(TWO, mask=[[False, True]])
WRONG: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "no scores": (ONE, None, {}, "scores must be numbers, not None"),
    "no grades": (None, TWO, {}, "grades must be numbers, not None"),
    "masked scores": (ONE, HIDDEN, {}, "scores is a masked array"),
    "masked grades": (HIDDEN, TWO, {}, "grades is a masked array"),
    "NaN in the mask": (ONE, TWO, {"mask": np.array([[1.0, np.nan]])}, "mask has values that are NaN"),
    "unjudged is text": (ONE, TWO, {"unjudged": "x"}, "unjudged must be a number"),
    "a surrogate in ids": (ONE, TWO, {"ids": ["\ud800", "b"]}, "UTF-8 can encode"),
    "a surrogate in query_ids": (ONE, TWO, {"query_ids": ["\ud800"]}, "UTF-8 can encode"),
    "a surrogate in missed": (ONE, TWO, {"missed": [{"\ud800": 1}]}, "UTF-8 can encode"),
    "a long number": (ONE, TWO, {"ids": [10**5000, 1]}, "4,300 digits"),
    "query_ids without order": (ONE, TWO, {"query_ids": {"q"}}, "must be a list of ids, not set"),
    "query_ids are text": (ONE, TWO, {"query_ids": "q"}, "must be a list of ids, not str"),
    "missed is a number": (ONE, TWO, {"missed": np.array(3)}, "missed must be"),
    "missed has text": (ONE, TWO, {"missed": [["1"]]}, "the grade is not a number"),
    "missed has a column": (ONE, TWO, {"missed": [{"1": 1}]}, "document `1` twice"),
    "judged twice": (
        np.array([[1.0, 0.0, 1.0]]),
        np.array([[1.0, 2.0, 0.0]]),
        {"ids": ["a", "b", "b"], "mask": np.array([[1, 1, 0]])},
        "document `b` appears twice",
    ),
    "an index below 0": (ONE[0], TWO[0], {"indexes": [-1, 0], "query_ids": ["a", "b"]}, "found -1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_values_are_refused_in_words(name: str) -> None:
    grades, scores, options, message = WRONG[name]
    with pytest.raises(CranfieldError, match=message):
        mean(grades, scores, **options)


@forms
def test_blocks_of_whole_numbers_are_exact_in_the_type_of_the_judged_scores(form: Any) -> None:
    for dtype, exact in ((np.float32, 2**24), (np.float64, BIG)):
        judged = RankCounter(form(np.array([[1.0, 1.0]])), form(np.array([[exact, np.nan]], dtype)))
        judged.add(form(np.array([[exact, exact - 1]])))
        with pytest.raises(UsageError, match="rounds"):
            judged.add(form(np.array([[exact + 1]])))


@pytest.mark.parametrize(
    "options", [{"ids": [["b"]]}, {"positions": np.array([[7]])}, {"scores": np.array([[2.0]], np.float32)}], ids=str
)
def test_only_counters_of_the_same_documents_are_added(options: dict[str, Any]) -> None:
    same = {"ids": [["a"]], "positions": np.array([[1]]), "scores": np.array([[2.0]])}
    one, other = (RankCounter(np.array([[1.0]]), **same | more) for more in ({}, options))
    with pytest.raises(UsageError, match="same judged documents"):
        one + other


def test_positions_and_grades_of_a_counter() -> None:
    with pytest.raises(UsageError, match="positions has values that are NaN"):
        counter(positions=np.array([[np.nan]]))
    with pytest.raises(UsageError, match="positions has values that are NaN"):
        counter(positions=np.array([[1.0]])).add(np.array([[2.0]]), positions=np.array([np.nan]))
    with pytest.raises(UsageError, match="not grades by subtopic"):
        RankCounter(np.array([[[1.0, 0.0]]]), np.array([[2.0]]))


QUERY, COLLECTION = np.array([[1.0, 0.0]]), np.array([[0.5, 1.0], [1.0, 0.0], [0.5, 0.0]])


def of_embeddings(judged: str = "2", documents: Any = COLLECTION, query: Any = QUERY, **options: Any) -> float:
    return float(evaluate_embeddings([{judged: 1}], query, documents, "RR", **options).scores._means.item())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"document_ids": {"a"}}, "must be a list of ids, not set"),
        ({"document_ids": "a2b"}, "must be a list of ids, not str"),
        ({"document_ids": ["2", "\ud800", "b"]}, "UTF-8 can encode"),
        ({"first_document": 0.0}, "first_document must be a whole number"),
        ({"first_document": -1}, "first_document must be a whole number"),
        ({"documents": None}, "document_embeddings must be numbers"),
        ({"query": None}, "query_embeddings must be numbers"),
        ({"documents": COLLECTION * 1j}, "document_embeddings must be numbers"),
        ({"documents": COLLECTION.astype(str)}, "document_embeddings must be numbers"),
        ({"documents": np.ma.masked_array(COLLECTION, mask=COLLECTION > 0.7)}, "is a masked array"),
        ({"document_ids": ["2", "a", "b"], "group": "world"}, "cannot be combined with group"),
    ],
    ids=str,
)
def test_wrong_embeddings_are_refused_in_words(options: dict[str, Any], message: str) -> None:
    with pytest.raises(CranfieldError, match=message):
        of_embeddings(**options)


@forms
@pytest.mark.parametrize(("dtype", "factor"), [(np.float16, 400), (np.float32, 1e30)])
def test_a_product_that_overflows_is_no_tie(form: Any, dtype: Any, factor: float) -> None:
    query, documents = form((QUERY * factor).astype(dtype)), form((COLLECTION * factor).astype(dtype))
    with pytest.raises(InputError, match="infinite in"):
        of_embeddings(documents=documents, query=query)


@forms
def test_ids_of_a_part_of_a_collection(form: Any) -> None:
    documents = form(COLLECTION)
    for ids in (form(np.array([5, 6, 7])), (number for number in (5, 6, 7))):
        assert of_embeddings("7", documents, form(QUERY), document_ids=ids) == pytest.approx(5 / 12)
    assert of_embeddings("c", documents, form(QUERY), document_ids=list("abc"), first_document=5, ties="trec") == 0.5


CHUNKED = {"map_documents": {"0": "d", "1": "d"}}


@pytest.mark.parametrize("parts", [CHUNKED, {"predicted": {"0": {"0": 1}}}], ids=str)
def test_parts_of_a_collection_are_used_or_refused(parts: dict[str, Any]) -> None:
    for door in (
        lambda: mean(cf.Collection(ONE, **parts), TWO),
        lambda: evaluate_embeddings(cf.Collection({"0": {"2": 1}}, **parts), QUERY, COLLECTION, "RR", query_ids=["0"]),
        lambda: RankCounter(cf.Collection(ONE, **parts), TWO).evaluate("RR"),
    ):
        with pytest.raises(UsageError, match="cannot be used with tensors"):
            door()


@forms
def test_complete_judgments_have_queries_without_a_judged_document(form: Any) -> None:
    """Query 1 is a row without judged candidates, and query 9 is no row."""
    grades = form(np.array([[1.0, np.nan], [np.nan, np.nan]]))
    scores = form(np.array([[1.0, 2.0], [1.0, 2.0]]))
    collection = cf.Collection(grades, complete=True, queries={name: {"kind": "x"} for name in "019"})
    run = {"0": {"0": 1.0, "1": 2.0}, "1": {"0": 1.0, "1": 2.0}}
    text = cf.Collection({"0": {"0": 1}}, complete=True, queries={name: {"kind": "x"} for name in "019"})
    measures = ["P@1", "NumRet", "AP"]
    expected = cf.evaluate(text, run, measures, ties="expected")
    counter = RankCounter(collection, scores)
    counter.add(scores)
    for found in (evaluate(collection, scores, measures).scores, counter.evaluate(measures).scores):
        assert found.queries == expected.queries
        np.testing.assert_array_equal(found.values, expected.values)


@forms
@pytest.mark.parametrize("types", [(np.float32, np.float64), (np.int64, np.float64), (np.int32, np.float32)], ids=str)
def test_batches_have_scores_of_one_type(form: Any, types: tuple[Any, Any]) -> None:
    accumulator = Accumulator("RR")
    for dtype in types:
        accumulator.update(form(np.array([1], dtype)), form(np.array([1.0])), form(np.array([0])))
    with pytest.raises(UsageError, match="the batches have scores of different types"):
        accumulator.compute()
    accumulator.reset()
    for scores in (np.zeros(0, types[0]), np.array([1], types[1])):
        accumulator.update(form(scores), form(scores * 0.0 + 1), form(np.zeros(len(scores), np.int64)))
    assert accumulator.compute() == {"RR": 1.0}
