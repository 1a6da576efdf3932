"""`audit_precision`: what the number type of embeddings does to ties and to scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.data import Floats, Integers, Strings
from cranfield.engines.tensors.candidates import _names
from cranfield.engines.tensors.counted import CountedDocuments, RunLengths, counted_run
from cranfield.engines.tensors.dense import Located, Scorer, Similarity, _text_ids, dense_evaluation
from cranfield.errors import check_choice, check_count, optional
from cranfield.evaluation.evaluator import Measures, evaluator_of
from cranfield.evaluation.scores import number
from cranfield.ranking.batch import Key

TYPES = ("float32", "float16", "bfloat16", "int8")


@dataclass(frozen=True, eq=False)
class PrecisionAudit:
    """Scores of the same embeddings in several number types; arrays are (type, measure) unless noted.

    ``tied`` (type,): the share of judged documents that have the same score as another document. ``mean_tie`` (type,):
    the mean number of documents with the score of a judged document, itself included.
    ``expected``, ``best``, ``worst``: the means over all orders of tied documents, and with ties in their best and
    worst order, over the whole collection. ``top_k``: the means for the order that ``torch.topk`` returned, cut at
    ``k`` documents.
    """

    types: tuple[str, ...]
    measures: tuple[str, ...]
    k: int
    tied: Floats
    mean_tie: Floats
    expected: Floats
    best: Floats
    worst: Floats
    top_k: Floats

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        orders = ("expected", "best", "worst", "top_k")
        return {
            "k": self.k,
            "types": {
                name: {
                    "tied": number(float(self.tied[t])),
                    "mean_tie": number(float(self.mean_tie[t])),
                    "measures": {
                        measure: {order: number(float(getattr(self, order)[t, m])) for order in orders}
                        for m, measure in enumerate(self.measures)
                    },
                }
                for t, name in enumerate(self.types)
            },
        }


def audit_precision(
    query_embeddings: Any,
    document_embeddings: Any,
    qrels: Any,
    measures: Measures,
    *,
    types: Sequence[str] = TYPES,
    k: int = 1000,
    similarity: Similarity = "dot",
    block: int | None = None,
    query_ids: Sequence[Any] | None = None,
    document_ids: Sequence[Any] | None = None,
    **options: Any,
) -> PrecisionAudit:
    """How many judged documents are tied in each number type, and which scores their order could give.

    The arguments are those of `dense_evaluate`. ``types``: float64, float32, float16, bfloat16 or int8; products have
    the type of the embeddings, and those of int8 are exact integers. For int8, embeddings are scaled by their largest
    absolute value. ``k``: the documents that ``torch.topk`` keeps.
    """
    torch = optional("torch", "an audit of precision", "tensors")
    check_count("k", k)
    for name in types:
        check_choice("types", name, ("float64", *TYPES))
    if similarity == "cosine":
        query_embeddings = _normalised(torch, query_embeddings)
    parts = _parts(torch, document_embeddings, cosine=similarity == "cosine")
    scales = _largest([_tensor(torch, query_embeddings)]), _largest(parts())
    qrels = _text_ids(qrels)
    rows: dict[str, list[Any]] = {name: [] for name in ("tied", "mean_tie", "expected", "best", "worst", "top_k")}
    columns: Any = ()
    for name in types:
        queries = _converted(torch, _tensor(torch, query_embeddings), name, scales[0])

        def documents(name: str = name) -> Iterator[Any]:
            return (_converted(torch, part, name, scales[1]) for part in parts())

        evaluation = dense_evaluation(
            queries,
            documents,
            qrels,
            measures,
            block=block,
            query_ids=query_ids,
            document_ids=document_ids,
            **options,
        )
        size = evaluation.run_scores[0].alignment.rows["size"]
        rows["tied"].append(float((size > 1).mean()))
        rows["mean_tie"].append(float(size.mean()))
        columns = evaluation.columns
        rows["expected"].append(evaluation.table(columns).means[0])
        for order in ("best", "worst"):
            tied = [column.tied(order) for column in columns]
            rows[order].append(evaluation.table(tied).means[0])
        scorer = Scorer(queries, documents, "dot", block)
        rows["top_k"].append(_top_k_means(torch, scorer, qrels, measures, k, query_ids, document_ids, options))
    arrays = {name: np.array(values) for name, values in rows.items()}
    return PrecisionAudit(tuple(types), tuple(column.label for column in columns), k, **arrays)


def _tensor(torch: Any, embeddings: Any) -> Any:
    return embeddings.detach() if hasattr(embeddings, "detach") else torch.from_numpy(np.array(embeddings))


def _normalised(torch: Any, embeddings: Any) -> Any:
    return torch.nn.functional.normalize(_tensor(torch, embeddings).float(), dim=1)


def _parts(torch: Any, documents: Any, *, cosine: bool) -> Callable[[], Iterator[Any]]:
    """The document embeddings in parts of at most 65,536 rows."""

    def parts() -> Iterator[Any]:
        blocks = [documents] if hasattr(documents, "shape") else documents() if callable(documents) else documents
        for given in blocks:
            for first in range(0, len(given), 1 << 16):
                part = given[first : first + (1 << 16)]
                yield _normalised(torch, part) if cosine else _tensor(torch, part)

    return parts


def _largest(parts: Any) -> float:
    return max((float(part.abs().max()) for part in parts if part.numel()), default=1.0) or 1.0


def _converted(torch: Any, embeddings: Any, name: str, scale: float) -> Any:
    if name != "int8":
        return embeddings.to(getattr(torch, name))
    return (embeddings.double() * (127 / scale)).round().to(torch.int8)


def _top_k_means(
    torch: Any,
    scorer: Scorer,
    qrels: Any,
    measures: Measures,
    k: int,
    query_ids: Any,
    document_ids: Any,
    options: dict[str, Any],
) -> Floats:
    """The means for the order that `torch.topk` returns, block by block, as retrieval programs use it."""
    best: dict[int, tuple[Any, Any]] = {}
    documents = 0
    for query, first, scores in scorer.scores():
        numbers = torch.arange(first, first + scores.shape[1], device=scores.device).expand(len(scores), -1)
        documents = max(documents, first + int(scores.shape[1]))
        if query in best:
            scores = torch.cat([best[query][0], scores], 1)
            numbers = torch.cat([best[query][1], numbers], 1)
        top = torch.topk(scores, min(k, scores.shape[1]), dim=1)
        best[query] = top.values, torch.gather(numbers, 1, top.indices)
    order = np.concatenate([best[query][1].cpu().numpy() for query in sorted(best)])
    evaluator = evaluator_of(qrels, measures, options | {"ties": "rank"})
    names: Strings = _names(
        range(scorer.queries) if query_ids is None else query_ids, scorer.queries, "query_ids", "queries"
    )
    located = Located.of(evaluator.judgments, names, document_ids, 0)
    rank = _ranks(order, located.query, located.number)
    kept = np.flatnonzero(rank >= 0)
    number_of = np.full(len(names), -1)
    answered = np.flatnonzero(located.row_of_query >= 0)
    number_of[located.row_of_query[answered]] = answered
    length = np.where(located.row_of_query >= 0, order.shape[1], -1)
    others = np.flatnonzero(number_of < 0)
    none = np.zeros(len(kept), np.int64)
    counted: dict[Key, CountedDocuments] = {
        "rank": CountedDocuments(
            number_of[located.query[kept]], located.document[kept], rank[kept], none + 1, rank[kept], none, none
        )
    }
    lengths = RunLengths(length, names.take(others), np.full(len(others), order.shape[1], np.int64))
    evaluation = evaluator.aligned_evaluation([counted_run(evaluator, "run", lengths, counted)])
    return evaluation.table(evaluation.columns).means[0]


def _ranks(order: Integers, query: Integers, document: Integers) -> Integers:
    """The position of each document in the list of its query; -1 if it is not there."""
    rank = np.full(len(query), -1, np.int64)
    for i, (q, d) in enumerate(zip(query.tolist(), document.tolist(), strict=True)):
        at = np.flatnonzero(order[q] == d)
        if len(at):
            rank[i] = at[0]
    return rank
