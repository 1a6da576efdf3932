"""Whole collections: blocks in any order and any split have the scores of the whole."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_samples import LIBRARIES, as_dicts, cancelling_embeddings, counted_passes, library, same, tables

import cranfield as cf
from cranfield.errors import CranfieldError
from cranfield.tensors import RankCounter, audit_precision, evaluate_embeddings

MEASURES = ["AP", "nDCG@3", "RR", "bpref", "P@2"]


def judged_table(scores: Any, grades: Any, mask: Any) -> tuple[Any, Any, Any]:
    """Scores, grades and columns of the judged documents of each query, padded; NaN scores are not retrieved."""
    width = max(int((~np.isnan(grades)).sum(axis=1).max()), 1)
    of_judged, values = np.full((2, len(scores), width), np.nan)
    columns = np.zeros((len(scores), width), np.int64)
    for q in range(len(scores)):
        for j, c in enumerate(np.flatnonzero(~np.isnan(grades[q]))):
            of_judged[q, j] = scores[q, c] if mask is None or mask[q, c] else np.nan
            values[q, j], columns[q, j] = grades[q, c], c
    kind = scores.dtype if scores.dtype.kind == "f" else np.float64
    return of_judged.astype(kind), values, columns


@pytest.mark.parametrize("name", LIBRARIES)
@settings(deadline=None, max_examples=20)
@given(table=tables(), ties=st.sampled_from(["expected", "best", "input"]), data=st.data())
def test_blocks_in_any_order(name: str, table: Any, ties: Any, data: st.DataObject) -> None:
    scores, grades, mask = table
    of_judged, values, columns = judged_table(scores, grades, mask)
    cuts = sorted(data.draw(st.sets(st.integers(1, scores.shape[1]), max_size=3)) | {0, scores.shape[1]})
    blocks = data.draw(st.permutations(list(pairwise(cuts))))
    middle = data.draw(st.integers(0, len(scores)))
    with library(name) as array:

        def counter() -> RankCounter:
            positions = array(columns) if ties == "input" else None
            return RankCounter(array(values), array(of_judged), positions=positions)

        parts = [counter(), counter()]
        for i, (a, b) in enumerate(blocks):
            for first, last in ((0, middle), (middle, len(scores))):
                if first < last:
                    parts[i % 2].add(
                        array(scores[first:last, a:b]),
                        first=first,
                        mask=None if mask is None else array(mask[first:last, a:b]),
                        positions=array(np.arange(a, b)) if ties == "input" else None,
                    )
        ours, other = (part.evaluate(MEASURES, ties=ties).scores for part in (parts[0] + parts[1], parts[1] + parts[0]))
    qrels, run = as_dicts(scores, grades, mask)
    expected = cf.evaluate(qrels, run, MEASURES, ties=ties)
    same(ours, expected)
    same(other, expected)


@pytest.mark.parametrize("name", LIBRARIES)
@settings(deadline=None, max_examples=15)
@given(data=st.data(), ties=st.sampled_from(["expected", "trec", "input", "worst"]))
def test_embeddings(name: str, data: st.DataObject, ties: Any) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    queries, documents = int(rng.integers(1, 5)), int(rng.integers(2, 30))
    kind = data.draw(st.sampled_from([np.float16, np.float32, np.float64, np.int8]))
    given_queries = rng.integers(-2, 3, (queries, 3)).astype(kind)
    given_documents = rng.integers(-2, 3, (documents, 3)).astype(kind)
    scores = given_queries.astype(float) @ given_documents.astype(float).T
    ids = [f"d{c}" for c in range(documents)]
    run = {str(q): dict(zip(ids, scores[q].tolist(), strict=True)) for q in range(queries)}
    # Some judged documents are not in the collection, and one judged query has no embedding.
    qrels = {
        str(q): {f"d{c}": int(c) % 3 for c in rng.choice(documents + 3, 4, replace=False)} for q in range(queries + 1)
    }
    qrels["0"]["d0"] = 1
    block = data.draw(st.integers(1, 9))
    cut = documents // 2
    with library(name) as array:
        made = [
            array(given_documents),
            [array(given_documents[:cut]), array(given_documents[cut:])],
            lambda: iter([given_documents[:cut], given_documents[cut:]]),
        ]
        ours = [
            evaluate_embeddings(
                qrels,
                array(given_queries),
                x,
                MEASURES,
                ties=ties,
                query_ids=range(queries),
                document_ids=ids,
                block=block,
            )
            for x in made
        ]
    expected = cf.evaluate(qrels, run, MEASURES, ties=ties)
    for evaluation in ours:
        same(evaluation.scores, expected)


@pytest.mark.parametrize("name", LIBRARIES)
def test_cosine_similarity_and_memory_maps(name: str, tmp_path: Any) -> None:
    rng = np.random.default_rng(0)
    queries, documents = rng.standard_normal((3, 8)).astype(np.float32), rng.standard_normal((50, 8)).astype(np.float32)
    mapped = np.memmap(tmp_path / "documents", np.float32, "w+", shape=documents.shape)
    mapped[:] = documents
    mapped.flush()
    stored = np.memmap(tmp_path / "documents", np.float32, "r", shape=documents.shape)
    qrels = {q: {int(d): 1 for d in rng.choice(50, 5, replace=False)} for q in range(3)}
    with library(name) as array:
        ours = evaluate_embeddings(
            qrels, array(queries), stored, MEASURES, similarity="cosine", block=7, query_ids=range(3)
        ).scores
    unit = [x / np.sqrt((x.astype(float) ** 2).sum(axis=1, keepdims=True)) for x in (queries, documents)]
    table = unit[0] @ unit[1].T
    run = {str(q): {str(d): float(table[q, d]) for d in range(50)} for q in range(3)}
    text = {str(q): {str(d): g for d, g in judged.items()} for q, judged in qrels.items()}
    assert np.allclose(ours.values, cf.evaluate(text, run, MEASURES).values)


def test_many_queries_are_multiplied_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    from cranfield.tensors import embeddings

    monkeypatch.setattr(embeddings, "QUERIES", 2)
    rng = np.random.default_rng(1)
    queries, documents = rng.integers(-2, 3, (5, 3)).astype(float), rng.integers(-2, 3, (9, 3)).astype(float)
    qrels = {str(q): {str(d): d % 2 for d in rng.choice(9, 4, replace=False).tolist()} for q in range(5)}
    table = queries @ documents.T
    run = {str(q): {str(d): float(table[q, d]) for d in range(9)} for q in range(5)}
    ours = evaluate_embeddings(qrels, queries, documents, MEASURES, query_ids=range(5)).scores
    same(ours, cf.evaluate(qrels, run, MEASURES, ties="expected"))


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16", "int8"])
def test_documents_are_read_in_two_passes(kind: str) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    queries, documents = (torch.tensor(rng.integers(-3, 4, (n, 5))).to(getattr(torch, kind)) for n in (4, 60))
    blocks, calls = counted_passes(documents)
    qrels = {str(q): {str(d): 1 for d in range(q, 60, 7)} for q in range(4)}
    ours = evaluate_embeddings(qrels, queries, blocks, MEASURES, query_ids=range(4))
    assert len(calls) == 2
    table = (queries.double() @ documents.double().T).tolist()
    run = {str(q): {str(d): score for d, score in enumerate(row)} for q, row in enumerate(table)}
    same(ours.scores, cf.evaluate(qrels, run, MEASURES, ties="expected"))


@pytest.mark.parametrize("ties", ["expected", "input"])
def test_single_scores_that_round_otherwise_are_counted_again(ties: Any) -> None:
    """The order of terms matters where large ones cancel: the scores that count are those of the whole product."""
    torch = pytest.importorskip("torch")
    queries, documents = cancelling_embeddings(torch)
    blocks, calls = counted_passes(documents)
    qrels = {"0": {str(d): 1 for d in range(0, 1000, 5)}}
    ours = evaluate_embeddings(qrels, queries, blocks, MEASURES, ties=ties, query_ids=["0"])
    assert len(calls) == 4  # two passes, and two for the queries with other scores
    run = {"0": {str(d): score for d, score in enumerate((queries @ documents.T)[0].tolist())}}
    same(ours.scores, cf.evaluate(qrels, run, MEASURES, ties=ties))


def test_infinite_product_of_a_query_that_is_counted_again() -> None:
    """The product with another judged document is NaN, so that it differs from every number."""
    queries, documents = np.ones((3, 2), np.float16), np.ones((4, 2), np.float16)
    queries[2], documents[1], documents[2] = 60_000, 60_000, (np.inf, -np.inf)
    with pytest.raises(CranfieldError, match="query `2`: the product with a judged document is infinite"):
        evaluate_embeddings({"0": {"0": 1}, "2": {"1": 1, "2": 1}}, queries, documents, "AP", query_ids=range(3))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int8])
def test_embeddings_without_dimensions_are_tied(kind: Any) -> None:
    ours = evaluate_embeddings([{"1": 1}], np.zeros((1, 0), kind), np.zeros((2, 0), kind), "RR")
    assert ours.scores._means.tolist() == [[0.75]]


def test_what_precision_does() -> None:
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    queries, documents = torch.randn(6, 16, generator=generator), torch.randn(400, 16, generator=generator)
    qrels = {str(q): {str(d): 1 for d in range(q, 400, 40)} for q in range(6)}
    audit = audit_precision(qrels, queries, documents, ["AP", "RR"], k=100, block=64, query_ids=range(6))
    assert audit.types == ("float32", "float16", "bfloat16", "int8")
    tied = dict(zip(audit.types, audit.tied, strict=True))
    assert tied["float32"] == 0
    assert tied["float16"] < tied["bfloat16"]
    assert (audit.worst <= audit.expected).all()
    assert (audit.expected <= audit.best).all()
    exact = evaluate_embeddings(qrels, queries, documents, ["AP", "RR"], query_ids=range(6)).scores
    assert np.allclose(audit.expected[0], exact._means[0])
    # Without ties, the first 100 documents of torch.topk are those of the ranking.
    cut = evaluate_embeddings(qrels, queries, documents, ["AP[depth=100]", "RR[depth=100]"], query_ids=range(6)).scores
    assert np.allclose(audit.top_k[0], cut._means[0])
    assert audit.to_dict()["types"]["bfloat16"]["measures"]["AP"]["best"] == audit.best[2, 0]


S, G = np.array([[2.0]]), np.array([[1.0]])


def counted(*blocks: Any, **options: Any) -> RankCounter:
    counter = RankCounter(G, S, **options)
    for block in blocks:
        counter.add(np.array(block))
    return counter


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda: RankCounter(G[0], S[0]), "scores of judged documents must have two dimensions"),
        (lambda: RankCounter(G[:0], S), "grades has the shape (0, 1), but scores has the shape (1, 1)"),
        (lambda: counted([[1.0], [2.0]]), "a block must have up to 1 rows, one for each query, not the shape (2, 1)"),
        (lambda: counted([[1.0]]).evaluate("AP"), "query `0`: the score of a judged document is in none of the blocks"),
        (lambda: counted([[2.0, np.nan]]).evaluate("AP"), "query `0` has a score that is NaN"),
        (lambda: counted([[2.0]]).evaluate("AP", ties="trec"), "AP[ties=trec]: ties=trec needs document ids"),
        (lambda: counted([[2.0]]).evaluate("AP", ties="input"), "AP[ties=input]: ties=input needs the positions"),
        (lambda: counted([[2.0]]).evaluate("AP", ties="rank"), "AP[ties=rank]: ties=rank needs the ranks of documents"),
        (lambda: counted([[2.0]], positions=[[0]]), "the counter has positions of documents, but the block has none"),
        (
            lambda: counted() + RankCounter(G, S + 1),
            "counters can be added only if they have the same judged documents",
        ),
        (lambda: RankCounter(G * np.nan, S).evaluate("AP"), "grades: no document is judged"),
        (
            lambda: evaluate_embeddings([{"0": 1}], S, np.ones((2, 2)), "AP"),
            "query embeddings have 1 dimensions, but a",
        ),
        (
            lambda: evaluate_embeddings([{"x": 1}], S, S, "AP"),
            "qrels: none of the judged documents is among the embedd",
        ),
        (
            lambda: evaluate_embeddings([{"0": 1}], S[:0], S, "AP"),
            "there are no queries: query_embeddings has no rows",
        ),
        (lambda: evaluate_embeddings([{"0": 1}], S, S[:0], "AP"), "document_embeddings has no documents"),
        (
            lambda: evaluate_embeddings([{"0": 1}], S, iter([S]), "AP"),
            "an iterator of blocks can be read only once",
        ),
        (lambda: evaluate_embeddings([{"0": 1}], S, S, "AP", ties="trec"), "ties=trec needs document ids"),
        (
            lambda: evaluate_embeddings([{"0": 1}], S, S, "AP", similarity="l2"),
            "similarity must be one of dot, cosine",
        ),
        (
            lambda: evaluate_embeddings([{"0": 1}], S, S, "AP", block=0),
            "block must be a whole number of at least 1",
        ),
        (lambda: evaluate_embeddings([{"0": 1}], S, S.astype("f4"), "AP"), "query embeddings are"),
    ],
)
def test_errors(work: Any, message: str) -> None:
    with pytest.raises(CranfieldError) as error:
        work()
    assert str(error.value).startswith(message)
