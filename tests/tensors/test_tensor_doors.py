"""Numbers, ids and blocks that tensors must not change silently: refused, or the numbers of text."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import CranfieldError, InputError, UsageError
from cranfield.tensors import RankCounter, evaluate, evaluate_embeddings

torch = pytest.importorskip("torch")
BIG = 2**53
FORMS = {"NumPy": np.asarray, "PyTorch": lambda values: torch.from_numpy(np.asarray(values))}
forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def mean(*args: Any, **options: Any) -> float:
    return float(evaluate(*args, "RR", **options).scores.means.item())


@forms
@pytest.mark.parametrize("scores", [[BIG, BIG + 1], [-BIG - 1, -BIG], [2**62, 2**62 + 1]])
def test_whole_numbers_beyond_floats_are_exact_or_refused(form: Any, scores: list[int]) -> None:
    grades, table = form(np.array([[0.0, 1.0]])), form(np.array([scores]))
    assert mean(grades, table) == 1.0
    with pytest.raises(UsageError, match=r"beyond 2\^53"):
        mean(grades, table, mask=form(np.array([[True, True]])))
    small = form(np.array([[3, 4]]))
    assert mean(grades, small, mask=form(np.array([[True, True]]))) == 1.0


def test_unsigned_whole_numbers_are_exact_or_refused() -> None:
    assert mean(np.array([[0.0, 1.0]]), np.array([[BIG, BIG + 1]], np.uint64)) == 1.0
    with pytest.raises(UsageError, match=r"above 2\^63 - 1"):
        mean(np.array([[0.0, 1.0]]), np.array([[2**63, 2**63 + 1]], np.uint64))


@forms
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_trec9_rounds_all_scores_to_32_bits(form: Any, dtype: Any) -> None:
    scores = np.array([[2**24 + 1, 2**24]], dtype)
    run = {"0": dict(zip("ab", scores[0].tolist(), strict=True))}
    expected = cf.Evaluator({"0": {"b": 1, "a": 0}}, "RR", ties="trec9").means(run)["RR[ties=trec9]"]
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
    return float(evaluate_embeddings(judged, queries, documents, "RR", **options).scores.means.item())


DOCUMENTS = np.array([[0.5, 1.0], [1.0, 0.0], [0.25, 0.0]], np.float32)


@pytest.mark.parametrize("ids", [["a", "b"], ["a", "b", "c", "d"], []])
def test_every_document_has_an_id(ids: list[str]) -> None:
    with pytest.raises(CranfieldError, match=r"document_ids has \d ids for 3 documents|none of the judged"):
        embedded({"0": {"b": 1}}, DOCUMENTS, document_ids=ids)


def test_ids_of_embeddings_are_text() -> None:
    assert embedded({"0": {"b": 1}}, DOCUMENTS, document_ids=[b"a", b"b", b"c"]) == 1.0
    assert embedded({0: {1: 1}}, DOCUMENTS) == 1.0
    with pytest.raises(InputError, match="different ids are the same text"):
        embedded({"0": {"2": 1}}, DOCUMENTS, document_ids=[2, "2", "3"])
    with pytest.raises(InputError, match="different ids are the same text"):
        embedded({0: {2: 1, "2": 0}}, DOCUMENTS)


@pytest.mark.parametrize("lengths", [(3, 2), (2, 3)])
def test_both_passes_have_the_same_documents(lengths: tuple[int, int]) -> None:
    left = iter(lengths)
    with pytest.raises(UsageError, match="in the first pass"):
        embedded({"0": {"0": 1}}, lambda: iter([DOCUMENTS[: next(left)]]))


@pytest.mark.parametrize("factor", [1e30, 1e-30, 1e38, 1e-42])
@pytest.mark.parametrize("form", [np.asarray, torch.from_numpy])
def test_no_length_changes_a_cosine(factor: float, form: Any) -> None:
    documents = np.array([[0.9, 0.5], [0.5, 0.9], [0.1, 0.9]], np.float32)
    documents[1] *= np.float32(factor)
    queries = form(np.array([[0.5, 0.9]], np.float32))
    found = evaluate_embeddings({"0": {"1": 1}}, queries, form(documents), "RR", similarity="cosine")
    assert found.scores.means.item() == 1.0


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
