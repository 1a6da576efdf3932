"""`dense_evaluate`: exact measures over a whole collection of embeddings, without a top-k."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from cranfield.data import Integers, Judgments, Strings
from cranfield.engines.tensors.arrays import NumPyArrays, arrays_of, memory_errors
from cranfield.engines.tensors.candidates import DocumentIds, _names
from cranfield.engines.tensors.counted import (
    CountedDocuments,
    RunLengths,
    check_identities,
    check_keys,
    counted_run,
)
from cranfield.engines.tensors.rank_counter import NO_RANKS, ScoreCounts, check_counted, check_nan
from cranfield.errors import InputError, UsageError, check_choice, check_count
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.evaluator import Evaluator, Measures, evaluator_of
from cranfield.evaluation.scores import Scores
from cranfield.io.faults import quotable
from cranfield.ranking.batch import Key
from cranfield.ranking.tie_rules import Ties

Similarity = Literal["dot", "cosine"]
QUERIES = 8192  # the most queries of one product
ON_DEVICE, ON_HOST = 1 << 30, 1 << 23  # scores of one product
MOST_DIGITS = 18  # of a number of 64 bits
EXACT = 1 << 24  # the integers up to this are exact as 32-bit floats


def dense_evaluate(
    query_embeddings: Any,
    document_embeddings: Any,
    qrels: Any,
    measures: Measures,
    *,
    similarity: Similarity = "dot",
    block: int | None = None,
    query_ids: Sequence[Any] | None = None,
    document_ids: Sequence[Any] | None = None,
    ties: Ties = "expected",
    **options: Any,
) -> Scores:
    """The scores of dense retrieval over a whole collection: every document is ranked, and none is cut off.

    ``query_embeddings``: (queries, dimensions). ``document_embeddings``: (documents, dimensions): a tensor, a NumPy
    array or memory map, a list of blocks of rows, or a function that returns an iterator of blocks, which is called
    twice. The blocks are multiplied on the device of the query embeddings.
    ``qrels``: as in `evaluate`. ``query_ids``, ``document_ids``: the ids of the rows; by default, rows are numbered
    from "0". ``similarity``: the product, or that of normalised embeddings. ``block``: the documents of one product.
    ``ties``: as in `evaluate`; ``input`` is the order of the collection. ``options``: all other options of `evaluate`.

    Two passes compute the same products: the first keeps the scores of judged documents, the second counts the
    documents above and beside them. Memory is one block of scores and a few numbers for each judged document.

    >>> import numpy as np
    >>> queries, documents = np.array([[1.0, 0.0]]), np.array([[0.5, 1.0], [1.0, 0.0], [0.5, 0.0]])
    >>> dense_evaluate(queries, documents, {"0": {"2": 1}}, "RR").means.tolist()
    [[0.41666666666666663]]
    """
    return dense_evaluation(
        query_embeddings,
        document_embeddings,
        qrels,
        measures,
        similarity=similarity,
        block=block,
        query_ids=query_ids,
        document_ids=document_ids,
        ties=ties,
        **options,
    ).scores


def dense_evaluation(
    query_embeddings: Any,
    document_embeddings: Any,
    qrels: Any,
    measures: Measures,
    *,
    similarity: Similarity = "dot",
    block: int | None = None,
    query_ids: Sequence[Any] | None = None,
    document_ids: Sequence[Any] | None = None,
    ties: Ties = "expected",
    group: Any = None,
    first_document: int = 0,
    **options: Any,
) -> Evaluation:
    """The same as `dense_evaluate`, as an `Evaluation` for audits and comparisons.

    ``group``: a group of ``torch.distributed`` (or ``"world"``) whose processes have parts of the collection;
    ``first_document`` is then the number of the first document of this part.
    """
    check_choice("similarity", similarity, ("dot", "cosine"))
    if block is not None:
        check_count("block", block)
    evaluator = evaluator_of(_text_ids(qrels), measures, {"ties": ties, **options})
    check_identities(evaluator, ids=False, reason="needs the ids of unjudged documents")
    check_keys(evaluator, ["score"], NO_RANKS)
    if evaluator.policy.nil is not None:
        raise UsageError("nil cannot be used with embeddings")
    scorer = Scorer(query_embeddings, document_embeddings, similarity, block)
    rows = _names(range(scorer.queries) if query_ids is None else query_ids, scorer.queries, "query_ids", "queries")
    located = Located.of(evaluator.judgments, rows, document_ids, first_document)
    order = "by_id" if evaluator.reader.by_id else "by_input"
    ordered = any(column.measure.views.rule.position is not None for column in evaluator.columns)
    positions = None
    if ordered:
        rules = {column.measure.views.rule.position for column in evaluator.columns} - {None}
        if len(rules) > 1:
            raise UsageError(
                "ties=trec and ties=input cannot be combined here", hint="evaluate the measures one tie rule at a time"
            )
        positions = _positions(document_ids, order)
    counts = located.count(scorer, positions, group, first_document)
    return evaluator.aligned_evaluation([located.run(evaluator, rows, counts, order)])


def _text_ids(qrels: Any) -> Any:
    """Judgments whose queries and documents are numbers get text ids."""
    if not isinstance(qrels, Mapping) or not any(isinstance(query, (int, np.integer)) for query in qrels):
        return qrels
    return {str(query): {str(d): grade for d, grade in judged.items()} for query, judged in qrels.items()}


def _numbers(names: Strings) -> Integers:
    """Ids that are whole numbers, as numbers; -1 for other ids.

    >>> _numbers(Strings.of(["7", "120", "", "x1", "05"])).tolist()
    [7, 120, -1, -1, -1]
    """
    length, first = np.diff(names.offsets), names.offsets[:-1]
    number, valid = np.zeros(len(length), np.int64), (length > 0) & (length < MOST_DIGITS)
    data = np.append(names.data, np.zeros(1, np.uint8))
    for i in range(int(length[valid].max(initial=0))):
        inside = i < length
        digit = data[np.where(inside, first + i, -1)].astype(np.int64) - ord("0")
        valid &= ~inside | ((digit >= 0) & (digit <= 9))
        number = np.where(inside, number * 10 + digit, number)
    valid &= (length == 1) | (data[np.minimum(first, len(data) - 1)] != ord("0"))
    return np.where(valid, number, -1)


def _positions(document_ids: Sequence[Any] | None, order: str) -> Callable[[Integers], Integers]:
    """The positions of documents, given by their numbers, in the order of tied documents."""
    if order == "by_input":
        return lambda numbers: numbers
    if document_ids is None:
        raise UsageError("ties=trec needs document ids", hint="give document_ids=, or use ties=expected")
    ids = DocumentIds.of(document_ids, (len(document_ids),))
    position = ids.positions[ids.codes]
    return lambda numbers: position[numbers]


def _all_reduce(tensors: Sequence[Any], group: Any) -> None:
    """Add tensors over all processes; every judged document is in the part of one process."""
    import torch.distributed as distributed

    for tensor in tensors:
        distributed.all_reduce(tensor, group=None if group == "world" else group)


class Scorer:
    """Products of query embeddings with blocks of document embeddings, the same in every pass."""

    def __init__(self, queries: Any, documents: Any, similarity: Similarity, block: int | None) -> None:
        self.ops, arrays = arrays_of(query_embeddings=queries)
        self.similarity, self.documents, self.block = similarity, documents, block
        self.embeddings = arrays["query_embeddings"]
        if len(self.embeddings.shape) != 2:
            raise UsageError("query_embeddings must have two dimensions (queries, dimensions)")
        self.queries, self.dimensions = (int(n) for n in self.embeddings.shape)
        if not self.queries:
            raise UsageError("there are no queries: query_embeddings has no rows")
        self.embeddings = self._prepared(self.embeddings)
        if not callable(documents) and isinstance(documents, Iterator):
            raise UsageError(
                "an iterator of blocks can be read only once, and two passes are needed",
                hint="give a function that returns the iterator",
            )
        if hasattr(documents, "shape") and len(documents.shape) != 2:
            raise UsageError("document_embeddings must have two dimensions (documents, dimensions)")

    def _prepared(self, embeddings: Any) -> Any:
        """Embeddings as they are multiplied: integers as floats that are exact, normalised for cosine similarity."""
        if isinstance(self.ops, NumPyArrays):
            if embeddings.dtype.kind != "f":
                embeddings = embeddings.astype(np.float32 if self._small(embeddings.dtype.itemsize) else np.float64)
            if self.similarity == "cosine":
                wide = embeddings.astype(np.promote_types(embeddings.dtype, np.float32))
                norm = np.sqrt((wide * wide).sum(axis=1, keepdims=True))
                embeddings = (wide / np.where(norm > 0, norm, 1)).astype(embeddings.dtype)
            return embeddings
        torch = self.ops.torch
        if not embeddings.is_floating_point():
            embeddings = embeddings.to(torch.float32 if self._small(embeddings.element_size()) else torch.float64)
        if self.similarity == "cosine":
            wide = embeddings if embeddings.dtype == torch.float64 else embeddings.float()
            norm = wide.square().sum(1, keepdim=True).sqrt()
            embeddings = (wide / torch.where(norm > 0, norm, torch.ones_like(norm))).to(embeddings.dtype)
        return embeddings

    def _small(self, bytes_each: int) -> bool:
        """Whether products of integers are exact as 32-bit floats."""
        return bytes_each == 1 and self.dimensions * 128 * 128 <= EXACT

    @property
    def step(self) -> int:
        """The documents of one product."""
        scores = ON_DEVICE if self.ops.on_device else ON_HOST
        step = self.block or max(scores // min(self.queries, QUERIES), 1)
        return step if self.block or step < 256 else step // 256 * 256

    def _pieces(self) -> Iterator[Any]:
        """The document embeddings in pieces, where they are."""
        if hasattr(self.documents, "shape"):
            for first in range(0, len(self.documents), self.step):
                yield self.documents[first : first + self.step]
            return
        blocks: Iterable[Any] = self.documents() if callable(self.documents) else self.documents
        for given in blocks:
            for first in range(0, len(given), self.step):
                yield given[first : first + self.step]

    def scores(self) -> Iterator[tuple[int, int, Any]]:
        """First query, first document, and scores (queries, documents) of each product."""
        first, seen = 0, False
        for piece in self._pieces():
            seen = True
            documents = self._documents(piece)
            size = f"{min(self.queries, QUERIES):,} x {len(documents):,} scores"
            for query in range(0, self.queries, QUERIES):
                with memory_errors(f"a block of {size}", "use a smaller block="):
                    yield query, first, self.embeddings[query : query + QUERIES] @ documents.T
            first += len(documents)
        if not seen:
            raise UsageError("document_embeddings has no documents")

    def _documents(self, piece: Any) -> Any:
        if isinstance(self.ops, NumPyArrays):
            documents = np.asarray(piece)
        elif hasattr(piece, "detach"):
            documents = piece.detach().to(self.embeddings.device, non_blocking=True)
        else:
            documents = arrays_of(document_embeddings=np.ascontiguousarray(piece))[1]["document_embeddings"]
            documents = documents.to(self.embeddings.device) if hasattr(documents, "to") else documents
        if len(documents.shape) != 2 or int(documents.shape[1]) != self.dimensions:
            shape = ", ".join(map(str, documents.shape))
            message = f"query embeddings have {self.dimensions} dimensions, but a block of documents has the shape"
            message += f" ({shape})"
            raise UsageError(message)
        documents = self._prepared(documents)
        if documents.dtype != self.embeddings.dtype:
            raise UsageError(
                f"query embeddings are {self.embeddings.dtype}, but document embeddings are {documents.dtype}",
                hint="convert both to one type",
            )
        return documents


class Located:
    """Judged documents and their rows among the embeddings; those that are not there are not retrieved.

    ``query``, ``number``, ``document``: the row of the query embedding, the row of the document embedding, and the row
    of the judgments, in ascending order of queries.
    """

    def __init__(self, query: Integers, number: Integers, document: Integers, row_of_query: Integers) -> None:
        order = np.argsort(query, kind="stable")
        self.query, self.number, self.document = query[order], number[order], document[order]
        self.row_of_query = row_of_query

    @classmethod
    def of(
        cls, judgments: Judgments, rows: Strings, document_ids: Sequence[Any] | None, first_document: int
    ) -> Located:
        row_of = {name: row for row, name in enumerate(rows)}
        row_of_query = np.array([row_of.get(query, -1) for query in judgments.queries], np.int64)
        query = np.repeat(row_of_query, np.diff(judgments.begin))
        if document_ids is None:
            number = _numbers(judgments.documents)
        else:
            wanted = dict.fromkeys(judgments.documents, -1)
            for row, name in enumerate(document_ids):
                text = name if isinstance(name, str) else str(name)
                if text in wanted:
                    if wanted[text] >= 0:
                        raise InputError([f"document_ids has the id `{quotable(text)}` twice"])
                    wanted[text] = row + first_document
            number = np.array([wanted[name] for name in judgments.documents], np.int64)
        known = np.flatnonzero((query >= 0) & (number >= 0))
        if not len(known):
            raise InputError(
                [f"{judgments.name}: none of the judged documents is among the embeddings"],
                hint="query_ids= and document_ids= give the ids of the rows; by default they are numbers from 0",
            )
        return cls(query[known], number[known], known, row_of_query)

    def count(
        self, scorer: Scorer, positions: Callable[[Integers], Integers] | None, group: Any, first_document: int
    ) -> ScoreCounts:
        """The counts of the judged documents, in two passes."""
        ops, like = scorer.ops, scorer.embeddings
        values, present = self._judged_scores(scorer, first_document)
        if group is not None:
            _all_reduce([values, present], group)
        kept = np.flatnonzero(ops.host(present))
        self.query, self.number, self.document = self.query[kept], self.number[kept], self.document[kept]
        position = None if positions is None else ops.to_device(positions(self.number), like)
        row = ops.to_device(self.query, like)
        counts = ScoreCounts(ops, scorer.queries, row, values[ops.to_device(kept, like)], position)
        for query, first, scores in scorer.scores():
            order = None
            if positions is not None:
                numbers = first_document + np.arange(first, first + int(scores.shape[1]))
                order = ops.to_device(positions(numbers), like)
            counts.add(scores, first=query, positions=order)
        if group is not None:
            _all_reduce([getattr(counts, name) for name in counts.fields], group)
        return counts

    def _judged_scores(self, scorer: Scorer, first_document: int) -> tuple[Any, Any]:
        """The score of each judged document, and 1 if it is in this part of the collection."""
        ops, like = scorer.ops, scorer.embeddings
        local = self.number - first_document
        order = np.argsort(local, kind="stable")
        ordered, queries = local[order], self.query[order]
        at, row, column = (ops.to_device(x, like) for x in (order, queries, ordered))
        values: Any = None
        present = ops.zeros(len(order), like)
        for query, first, scores in scorer.scores():
            if values is None:
                values = ops.zeros(len(order), like) + scores[0, 0] * 0
            low, high = np.searchsorted(ordered, [first, first + int(scores.shape[1])]).tolist()
            chosen: Any = slice(low, high)
            if scorer.queries > len(scores):
                of_block = queries[low:high] - query
                chosen = low + np.flatnonzero((of_block >= 0) & (of_block < len(scores)))
                chosen = ops.to_device(chosen, like)
            values[at[chosen]] = scores[row[chosen] - query, column[chosen] - first]
            present[at[chosen]] = 1
        return values, present

    def run(self, evaluator: Evaluator, rows: Strings, counts: ScoreCounts, order: str) -> Any:
        """The judged documents with their counts as a run."""
        ops = counts.ops
        length, bad = ops.host(counts.length), ops.host(counts.bad)
        check_nan(bad, rows)
        check_counted(ops.host(counts.equal), self.query, rows)
        number = np.full(len(rows), -1)
        answered = np.flatnonzero(self.row_of_query >= 0)
        number[self.row_of_query[answered]] = answered
        of_judged = np.full(len(self.row_of_query), -1, np.int64)
        of_judged[answered] = length[self.row_of_query[answered]]
        others = np.flatnonzero(number < 0)
        before = None if counts.before is None else ops.host(counts.before)
        counted: dict[Key, CountedDocuments] = {
            "score": CountedDocuments(
                number[self.query],
                self.document,
                ops.host(counts.higher),
                ops.host(counts.equal),
                self.number,
                before if order == "by_id" else None,
                before if order == "by_input" else None,
            )
        }
        return counted_run(evaluator, "run", RunLengths(of_judged, rows.take(others), length[others]), counted)
