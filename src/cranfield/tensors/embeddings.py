"""Exact measures over a whole collection of embeddings, without a top-k, and what their number type does to scores."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cranfield.data import Floats, Integers, Judgments, Run, Strings
from cranfield.errors import InputError, UsageError, optional
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.evaluator import Evaluator, Measures
from cranfield.evaluation.overlap import check_identity
from cranfield.evaluation.scores import number
from cranfield.io import read_run
from cranfield.io.faults import quotable
from cranfield.ranking.tie_rules import Ties
from cranfield.settings import Count, Whole, checked
from cranfield.tensors.arrays import (
    Arrays,
    DocumentIds,
    arrays_of,
    host_array,
    id_texts,
    memory_errors,
    row_names,
    shown,
    tensor_of,
)
from cranfield.tensors.candidates import QueryRows, count_run, make_block_evaluator
from cranfield.tensors.counting import ScoreCounts, all_reduce

Similarity = Literal["dot", "cosine"]
QUERIES = 8192  # the most queries of one product
ON_DEVICE, ON_HOST = 1 << 30, 1 << 23  # scores of one product
DIGITS = 18  # of numbers that fit into 64 bits
EXACT = 1 << 24  # the integers up to this are exact as 32-bit floats
SMALL = 1e-18  # a shorter vector of 32-bit floats has squares that are not exact
IDS_OF_ROWS = "give the ids of the rows, query_ids=[...], or the judgments as a list"
NumberType = Literal["float64", "float32", "float16", "bfloat16", "int8"]
TYPES: tuple[NumberType, ...] = "float32", "float16", "bfloat16", "int8"


@checked
def evaluate_embeddings(
    qrels: Any,
    query_embeddings: Any,
    document_embeddings: Any,
    measures: Measures,
    *,
    similarity: Similarity = "dot",
    block: Count | None = None,
    query_ids: Sequence[Any] | None = None,
    document_ids: Sequence[Any] | None = None,
    ties: Ties = "expected",
    group: Any = None,
    first_document: Whole = 0,
    **options: Any,
) -> Evaluation:
    """The evaluation of dense retrieval over a whole collection: every document is ranked, and none is cut off.

    A first pass finds the scores of judged documents, a second one counts the documents ranked above or tied with them.
    The scores must be those of the second pass to the last bit. So the first pass computes all products, too; but where
    scores have 16 bits or are whole numbers, it computes those of judged documents alone, each by itself. The second
    pass compares them with its own, and only the queries in which one differs are counted again, in two passes.
    Memory is one block of scores and a few numbers for each judged document.

    Parameters
    ----------
    qrels
        As in `cranfield.evaluate`, or a `Collection`; a list has the judgments of each row.
    query_embeddings
        (queries, dimensions).
    document_embeddings
        (documents, dimensions): a tensor, a NumPy array or memory map, a list of blocks of rows, or a function that
        returns an iterator of blocks, which is called several times. The blocks are multiplied on the device of the
        query embeddings.
    measures
        As in `cranfield.evaluate`.
    similarity
        The product, or that of normalised embeddings.
    block
        The documents of one product.
    query_ids
        The ids of the rows of queries, unless ``qrels`` is a list.
    document_ids
        The ids of the rows of documents; by default, they are numbered from "0".
    ties
        As in `cranfield.evaluate`, but tied documents stay tied by default; ``input`` is the order of the collection.
    group
        A group of ``torch.distributed`` (or ``"world"``) whose processes have parts of the collection.
    first_document
        With a group: the number of the first document of this part.
    **options
        All other options of `cranfield.Evaluator`.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> import numpy as np
    >>> queries, documents = np.array([[1.0, 0.0]]), np.array([[0.5, 1.0], [1.0, 0.0], [0.5, 0.0]])
    >>> float(evaluate_embeddings([{2}], queries, documents, "RR").scores)
    0.41666666666666663
    """
    if group is not None and document_ids is not None:
        raise UsageError(
            "document_ids cannot be combined with group",
            hint="use the numbers of documents in the whole collection as ids",
        )
    evaluator = make_block_evaluator(Collection.of(qrels), measures, ties=ties, **options)
    ids = None if document_ids is None else id_texts(document_ids, "document_ids")
    scorer = Scorer(query_embeddings, document_embeddings, similarity, block, None if ids is None else len(ids))
    names = names_of_rows(evaluator.judgments, query_ids, scorer.queries)
    located = JudgedRows.of(evaluator.judgments, names, ids, first_document)
    order = "by_id" if evaluator.reader.by_id else "by_input"
    rules = {column.measure.views.rule.position for column in evaluator.columns} - {None}
    if len(rules) > 1:
        raise UsageError(
            "ties=trec and ties=input cannot be combined here", hint="evaluate the measures one tie rule at a time"
        )
    positions = _positions(ids, order, first_document) if rules else None
    counts = located.count(scorer, positions, group, first_document)
    located.check_finite(counts)
    of_judged = located.query, located.document, located.number
    return evaluator.aligned_evaluation([count_run(evaluator, located.rows, counts, *of_judged, order)])


def names_of_rows(judgments: Judgments, query_ids: Sequence[Any] | None, rows: int) -> Strings:
    """The ids of the rows of query embeddings; without ids, rows and judgments are matched by position."""
    check_identity(judgments, Run("query_embeddings", {}, by_position=rows if query_ids is None else 0), IDS_OF_ROWS)
    return judgments.queries if query_ids is None else row_names(query_ids, rows, "queries")


def _positions(document_ids: list[str] | None, order: str, first: int) -> Callable[[Integers], Integers]:
    """The positions of documents, given by their numbers, in the order of tied documents."""
    if order == "by_input":
        return lambda numbers: numbers
    if document_ids is None:
        raise UsageError("ties=trec needs document ids", hint="give document_ids=, or use ties=expected")
    ids = DocumentIds.of(document_ids, (len(document_ids),))
    position = ids.positions[ids.codes]
    return lambda numbers: position[numbers - first]


def _slices(documents: Any, rows: int) -> Iterator[Any]:
    """Document embeddings, one array or several, in slices of at most so many rows."""
    blocks = [documents] if hasattr(documents, "shape") else documents() if callable(documents) else documents
    for given in blocks:
        for first in range(0, len(given), rows):
            yield given[first : first + rows]


class Scorer:
    """Products of query embeddings with blocks of document embeddings, the same in every pass."""

    def __init__(
        self, queries: Any, documents: Any, similarity: Similarity, block: int | None, expected: int | None = None
    ) -> None:
        self.expected, self.total = expected, -1  # documents with ids, and those of a whole pass
        self.ops, arrays = arrays_of(query_embeddings=queries)
        self.similarity, self.documents, self.block = similarity, documents, block
        self.embeddings = arrays["query_embeddings"]
        if len(self.embeddings.shape) != 2:
            raise UsageError("query_embeddings must have two dimensions (queries, dimensions)")
        self.queries, self.dimensions = (int(n) for n in self.embeddings.shape)
        if not self.queries:
            raise UsageError("there are no queries: query_embeddings has no rows")
        whole_numbers = similarity == "dot" and not self.ops.is_float(self.embeddings)
        self.embeddings = self._prepared(self.embeddings)
        # Sums that are exact, or rounded to 16 bits, rarely depend on the order of their terms.
        self.rounds_once = whole_numbers or self.embeddings.dtype.itemsize <= 2
        if not callable(documents) and not hasattr(documents, "__iter__"):
            raise UsageError(f"document_embeddings must be numbers, not {type(documents).__name__}")
        if not callable(documents) and isinstance(documents, Iterator):
            raise UsageError(
                "an iterator of blocks can be read only once, and two passes are needed",
                hint="give a function that returns the iterator",
            )
        if hasattr(documents, "shape") and len(documents.shape) != 2:
            raise UsageError("document_embeddings must have two dimensions (documents, dimensions)")

    def _prepared(self, embeddings: Any) -> Any:
        """Embeddings as they are multiplied: integers as floats that are exact, normalised for cosine similarity."""
        ops = self.ops
        if not ops.is_float(embeddings):
            # Products of integers of eight bits are exact as 32-bit floats, unless there are very many.
            small = embeddings.dtype.itemsize == 1 and self.dimensions * 128 * 128 <= EXACT
            embeddings = ops.cast(embeddings, ops.xp.float32 if small else ops.xp.float64)
        if self.similarity == "dot":
            return embeddings
        wide = embeddings if embeddings.dtype.itemsize > 4 else ops.cast(embeddings, ops.xp.float32)
        return ops.cast(normalised(ops, wide), embeddings.dtype)

    @property
    def step(self) -> int:
        """The documents of one product."""
        scores = ON_DEVICE if self.ops.on_device else ON_HOST
        step = self.block or max(scores // min(self.queries, QUERIES), 1)
        return step if self.block or step < 256 else step // 256 * 256

    def scores(self) -> Iterator[tuple[int, int, Any]]:
        """First query, first document, and scores (queries, documents) of each product."""
        for first, documents in self.blocks():
            size = f"{min(self.queries, QUERIES):,} x {len(documents):,} scores"
            for query in range(0, self.queries, QUERIES):
                with memory_errors(f"a block of {size}", "use a smaller block="):
                    yield query, first, self._product(self.embeddings[query : query + QUERIES], documents)

    def blocks(self) -> Iterator[tuple[int, Any]]:
        """First document, and embeddings (documents, dimensions), of each block."""
        first, seen = 0, False
        for piece in _slices(self.documents, self.step):
            seen = True
            documents = self._documents(piece)
            yield first, documents
            first += len(documents)
        if not seen:
            raise UsageError("document_embeddings has no documents")
        if self.expected is not None and first != self.expected:
            raise UsageError(f"document_ids has {self.expected:,} ids for {first:,} documents")
        if self.total not in (-1, first):
            raise UsageError(
                f"document_embeddings had {self.total:,} documents in the first pass, and {first:,} in the second",
                hint="give a function that returns all blocks each time",
            )
        self.total = first

    def single_scores(self, documents: Any, query: Any, column: Any) -> Any:
        """Scores of pairs of queries and documents of a block, each product by itself."""
        ops, like = self.ops, self.embeddings
        wide = ops.xp.float64 if like.dtype.itemsize > 4 else ops.xp.float32
        step = max((ON_DEVICE if ops.on_device else ON_HOST) // (4 * max(self.dimensions, 1)), 1)
        scores = ops.cast(ops.zeros(len(query), like), like.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            for first in range(0, len(query), step):
                part = slice(first, first + step)
                pairs = (ops.cast(x, wide) for x in (like[query[part]], documents[column[part]]))
                scores[part] = ops.cast(math.prod(pairs).sum(1), like.dtype)
        return scores

    def only(self, queries: Integers) -> Scorer:
        """The scorer of these queries alone."""
        chosen = copy.copy(self)
        chosen.block = self.step  # few queries and very many documents are a slow product
        chosen.embeddings = self.embeddings[self.ops.to_device(queries, self.embeddings)]
        chosen.queries = len(queries)
        return chosen

    @staticmethod
    def _product(queries: Any, documents: Any) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):  # infinity and NaN are found where they count
            return queries @ documents.T

    def _documents(self, piece: Any) -> Any:
        if self.ops.xp is np:
            documents: Any = host_array("document_embeddings", piece)
        else:
            documents = tensor_of(self.ops.xp, "document_embeddings", piece)
            documents = documents.to(self.embeddings.device, non_blocking=True)
        if len(documents.shape) != 2 or int(documents.shape[1]) != self.dimensions:
            raise UsageError(
                f"query embeddings have {self.dimensions} dimensions, but a block of documents has the shape "
                f"{shown(documents.shape)}"
            )
        documents = self._prepared(documents)
        if documents.dtype != self.embeddings.dtype:
            raise UsageError(
                f"query embeddings are {self.embeddings.dtype}, but document embeddings are {documents.dtype}",
                hint="convert both to one type",
            )
        return documents


def normalised(ops: Arrays, wide: Any) -> Any:
    """Rows of length 1, also where squares overflow or underflow."""
    xp = ops.xp
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        norm = xp.sqrt((wide * wide).sum(1))[:, None]
        largest = xp.amax(xp.abs(wide), 1)[:, None]
        extreme = ~xp.isfinite(norm) | ((norm < SMALL) & (largest > 0))
        if bool(extreme.any()):
            wide = xp.where(extreme, wide / xp.where(largest > 0, largest, 1), wide)
            norm = xp.sqrt((wide * wide).sum(1))[:, None]
        return wide / xp.where(norm > 0, norm, 1)


def numbers_of(ids: Strings) -> Integers:
    """The number that each id is, as `str` writes it; -1 for other ids.

    >>> numbers_of(Strings.of(["7", "120", "07", "1e3", ""])).tolist()
    [7, 120, -1, -1, -1]
    """
    first, length = ids.offsets[:-1], np.diff(ids.offsets)
    number = np.where((length > 0) & (length <= DIGITS), 0, -1)
    for digit_at in range(min(int(length.max(initial=0)), DIGITS)):
        rows = np.flatnonzero((number >= 0) & (digit_at < length))
        digit = ids.data[first[rows] + digit_at] - np.uint8(ord("0"))  # other characters are above 9
        is_digit = (digit <= 9) & ((number[rows] > 0) | (digit_at == 0))
        number[rows] = np.where(is_digit, 10 * number[rows] + digit, -1)
    return number


class JudgedRows:
    """Judged documents and their rows among the embeddings; those that are not there are not retrieved.

    ``query``, ``number``, ``document``: the row of the query embedding, the row of the document embedding, and the row
    of the judgments, in ascending order of queries. ``rows``: the queries of the embeddings.
    """

    def __init__(self, query: Integers, number: Integers, document: Integers, rows: QueryRows) -> None:
        order = np.argsort(query, kind="stable")
        self.query, self.number, self.document = query[order], number[order], document[order]
        self.rows = rows

    @classmethod
    def of(
        cls, judgments: Judgments, names: Strings, document_ids: list[str] | None, first_document: int = 0
    ) -> JudgedRows:
        row_of = {name: row for row, name in enumerate(names)}
        row_of_query = np.array([row_of.get(query, -1) for query in judgments.queries], np.int64)
        query = np.repeat(row_of_query, np.diff(judgments.begin))
        if document_ids is None:
            number = numbers_of(judgments.documents)
        else:
            wanted = dict.fromkeys(judgments.documents, -1)
            for row, text in enumerate(document_ids):
                if text in wanted:
                    if wanted[text] >= 0:
                        raise InputError([f"document_ids has the id `{quotable(text)}` twice"])
                    wanted[text] = row + first_document
            number = np.array([wanted[name] for name in judgments.documents], np.int64)
        judged = np.flatnonzero((query >= 0) & (number >= 0))
        if not len(judged):
            raise InputError(
                [f"{judgments.name}: none of the judged documents is among the embeddings"],
                hint="query_ids= and document_ids= give the ids of the rows; by default, documents are numbers from 0",
            )
        return cls(query[judged], number[judged], judged, QueryRows(names, row_of_query))

    def count(
        self,
        scorer: Scorer,
        positions: Callable[[Integers], Integers] | None,
        group: Any,
        first_document: int,
        *,
        singly: bool = True,
    ) -> ScoreCounts:
        """The counts of the judged documents, in two passes; ``singly``: the first one may compute single scores."""
        ops, like = scorer.ops, scorer.embeddings
        singly &= scorer.rounds_once
        judged = JudgedPairs(ops, self.query, self.number - first_document, like)
        values, present = judged.scores(scorer, singly=singly)
        if group is not None:
            all_reduce([values, present], group)
        kept = np.flatnonzero(ops.host(present))
        self.query, self.number, self.document = self.query[kept], self.number[kept], self.document[kept]
        position = None if positions is None else ops.to_device(positions(self.number), like)
        if len(kept) < len(values):
            values = values[ops.to_device(kept, like)]
            judged = JudgedPairs(ops, self.query, self.number - first_document, like)
        counts = ScoreCounts(ops, scorer.queries, ops.to_device(self.query, like), values, position)
        other = ops.zeros(len(kept), like)
        for query, first, scores in scorer.scores():
            order = None
            if positions is not None:
                numbers = first_document + np.arange(first, first + int(scores.shape[1]))
                order = ops.to_device(positions(numbers), like)
            counts.add(scores, first=query, positions=order)
            if singly:
                at, row, column = judged.of_block(query, first, *scores.shape)
                other[at] = (scores[row, column] != values[at]) * 1
        if group is not None:
            all_reduce([*counts.sums, other], group)
        if len(again := np.unique(self.query[ops.host(other) > 0])):
            rows = np.flatnonzero(np.isin(self.query, again))
            part = JudgedRows(
                np.searchsorted(again, self.query[rows]), self.number[rows], self.document[rows], self.rows
            )
            chosen = scorer.only(again)
            counts.replace(rows, again, part.count(chosen, positions, group, first_document, singly=False))
        return counts

    def check_finite(self, counts: ScoreCounts) -> None:
        """Raise an error if the score of a judged document is infinite."""
        infinite = np.flatnonzero(np.isinf(counts.ops.host(counts.value)))
        if len(infinite):
            example = quotable(self.rows.names[int(self.query[infinite[0]])])
            raise InputError(
                [f"query `{example}`: the product with a judged document is infinite in {counts.value.dtype}"],
                total=len(infinite),
                hint="convert the embeddings to a type with higher numbers",
            )


class JudgedPairs:
    """Judged documents, given by the rows of their queries and of their embeddings, block by block."""

    def __init__(self, ops: Arrays, query: Integers, document: Integers, like: Any) -> None:
        self.ops, self.like = ops, like
        # Sorted on the device, which takes a fiftieth of the time of the processor.
        order = ops.argsort(ops.to_device(document, like))
        self._on_device = order, ops.to_device(query, like)[order], ops.to_device(document, like)[order]
        self.query, self.document = ops.host(self._on_device[1]), ops.host(self._on_device[2])

    def of_block(self, query: int, first: int, queries: int, documents: int) -> tuple[Any, Any, Any]:
        """The numbers of the pairs of a block, and their rows and columns in it."""
        low, high = np.searchsorted(self.document, [first, first + int(documents)]).tolist()
        chosen: Any = slice(low, high)
        of_block = self.query[low:high] - query
        if not ((of_block >= 0) & (of_block < queries)).all():
            chosen = low + np.flatnonzero((of_block >= 0) & (of_block < queries))
            chosen = self.ops.to_device(chosen, self.like)
        at, row, column = (x[chosen] for x in self._on_device)
        return at, row - query, column - first

    def scores(self, scorer: Scorer, *, singly: bool) -> tuple[Any, Any]:
        """The score of each pair, and 1 if it is in this part of the collection; ``singly``: from single products."""
        present = self.ops.zeros(len(self.query), self.like)
        values = self.ops.cast(present, self.like.dtype)
        if singly:
            for first, documents in scorer.blocks():
                at, row, column = self.of_block(0, first, scorer.queries, len(documents))
                values[at], present[at] = scorer.single_scores(documents, row, column), 1
            return values, present
        for query, first, scores in scorer.scores():
            at, row, column = self.of_block(query, first, *scores.shape)
            values[at], present[at] = scores[row, column], 1
        return values, present


@dataclass(frozen=True, eq=False)
class PrecisionAudit:
    """Scores of the same embeddings in several number types; arrays are (type, measure) unless noted.

    ``tied`` (type,): the share of judged documents that have the same score as another document. ``mean_tie`` (type,):
    the mean number of documents with the score of a judged document, itself included.
    ``expected``, ``best``, ``worst``: the means over all orders of tied documents, and with ties in their best and
    worst order, over the whole collection. ``top_k``: the means for the order that ``torch.topk`` returned, cut at
    ``k`` documents.

    Examples
    --------
    >>> audit = audit_precision(qrels, queries, documents, ["nDCG@10"])  # doctest: +SKIP
    >>> audit.types, audit.tied.tolist()  # doctest: +SKIP
    (('float32', 'float16', 'bfloat16', 'int8'), [0.003, 0.057, 0.305, 0.002])
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

    def __repr__(self) -> str:
        return f"PrecisionAudit: {', '.join(self.measures)}; {', '.join(self.types)}"

    def __str__(self) -> str:
        rows = [["type", "measure", "tied", "expected", "worst", "best", f"top {self.k}"]]
        for t, name in enumerate(self.types):
            for m, measure in enumerate(self.measures):
                values = (float(getattr(self, order)[t, m]) for order in ("expected", "worst", "best", "top_k"))
                rows.append([name, measure, f"{self.tied[t]:.1%}", *(f"{value:.4f}" for value in values)])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
        return "\n".join(line.rstrip() for line in lines)

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


@checked
def audit_precision(
    qrels: Any,
    query_embeddings: Any,
    document_embeddings: Any,
    measures: Measures,
    *,
    types: Sequence[NumberType] = TYPES,
    k: Count = 1000,
    similarity: Similarity = "dot",
    block: Count | None = None,
    query_ids: Sequence[Any] | None = None,
    document_ids: Sequence[Any] | None = None,
    **options: Any,
) -> PrecisionAudit:
    """How many judged documents are tied in each number type, and which scores their order could give.

    Parameters
    ----------
    qrels, query_embeddings, document_embeddings, measures, similarity, block, query_ids, document_ids, **options
        As in `evaluate_embeddings`.
    types
        float64, float32, float16, bfloat16 or int8. Products have the type of the embeddings, and those of int8 are
        exact integers. For int8, embeddings are scaled by their largest absolute value.
    k
        The documents that ``torch.topk`` keeps.

    Returns
    -------
    PrecisionAudit
        The share of tied documents, and the scores of their orders, by type.

    Examples
    --------
    >>> audit_precision(qrels, queries, documents, ["nDCG@10"]).tied  # doctest: +SKIP
    array([0.003, 0.057, 0.305, 0.002])
    """
    torch = optional("torch", "an audit of precision", "tensors")

    def prepared(name: str, embeddings: Any) -> Any:
        tensor = tensor_of(torch, name, embeddings)
        if similarity == "dot":
            return tensor
        return normalised(arrays_of(embeddings=tensor)[0], tensor.double())

    def parts() -> Iterator[Any]:
        return (prepared("document_embeddings", part) for part in _slices(document_embeddings, 1 << 16))

    query_embeddings = prepared("query_embeddings", query_embeddings)
    scales = _largest([query_embeddings]), _largest(parts())
    collection = Collection.of(qrels)
    rows: dict[str, list[Any]] = {name: [] for name in ("tied", "mean_tie", "expected", "best", "worst", "top_k")}
    columns: Any = ()
    for name in types:
        queries = _converted(torch, query_embeddings, name, scales[0])

        def documents(name: str = name) -> Iterator[Any]:
            return (_converted(torch, part, name, scales[1]) for part in parts())

        ids: dict[str, Any] = {"query_ids": query_ids, "document_ids": document_ids}
        evaluation = evaluate_embeddings(collection, queries, documents, measures, block=block, **ids, **options)
        size = evaluation.run_scores[0].alignment.positions.size
        rows["tied"].append(float((size > 1).mean()))
        rows["mean_tie"].append(float(size.mean()))
        columns = evaluation.columns
        rows["expected"].append(evaluation.table(columns)._means[0])
        for order in ("best", "worst"):
            tied = [column.tied(order) for column in columns]
            rows[order].append(evaluation.table(tied)._means[0])
        scorer = Scorer(queries, documents, "dot", block)
        rows["top_k"].append(_top_k_means(torch, scorer, collection, measures, k, **ids, **options))
    arrays = {name: np.array(values) for name, values in rows.items()}
    return PrecisionAudit(tuple(types), tuple(column.label for column in columns), k, **arrays)


def _largest(parts: Any) -> float:
    return max((float(part.abs().max()) for part in parts if part.numel()), default=1.0) or 1.0


def _converted(torch: Any, embeddings: Any, name: str, scale: float) -> Any:
    if name != "int8":
        return embeddings.to(getattr(torch, name))
    return (embeddings.double() * (127 / scale)).round().to(torch.int8)


def _top_k_means(
    torch: Any,
    scorer: Scorer,
    collection: Collection,
    measures: Measures,
    k: int,
    query_ids: Any,
    document_ids: Any,
    **options: Any,
) -> Floats:
    """The means for the order that `torch.topk` returns, block by block, as retrieval programs use it."""
    best: dict[int, tuple[Any, Any]] = {}
    for query, first, scores in scorer.scores():
        numbers = torch.arange(first, first + scores.shape[1], device=scores.device).expand(len(scores), -1)
        if query in best:
            scores = torch.cat([best[query][0], scores], 1)
            numbers = torch.cat([best[query][1], numbers], 1)
        top = torch.topk(scores, min(k, scores.shape[1]), dim=1)
        best[query] = top.values, torch.gather(numbers, 1, top.indices)
    order = np.concatenate([best[query][1].cpu().numpy() for query in sorted(best)])
    ids = None if document_ids is None else id_texts(document_ids, "document_ids")
    listed = [[str(d) if ids is None else ids[d] for d in documents] for documents in order.tolist()]
    run = read_run(listed, query_ids=query_ids)
    return np.array(list(Evaluator(collection, measures, **options | {"ties": "rank"}).means(run).values()))
