"""From counts to rankings: runs of which only the positions of some documents are known, and `RankCounter`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from numbers import Integral
from typing import Any

import numpy as np

from cranfield.data import Booleans, Floats, Integers, Judgments, Run, Strings
from cranfield.errors import InputError, MeasureError, UsageError
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.evaluator import Evaluator, Measures
from cranfield.evaluation.run_scores import RunScores
from cranfield.io.faults import quotable
from cranfield.io.runs import Positions, RunQueries, TopDocuments
from cranfield.ranking.alignment import Alignment
from cranfield.ranking.batch import Key, lexsorted
from cranfield.ranking.tie_rules import Ties
from cranfield.tensors.arrays import (
    DocumentIds,
    arrays_of,
    check_no_nan,
    check_shapes,
    column_names,
    memory_errors,
    row_names,
    shown,
)
from cranfield.tensors.counting import ScoreCounts, all_reduce

POSITIONS = ("by_id", "by_input")  # of documents in a tie
NO_RANKS = "needs the ranks of documents, and a collection in blocks has none"


@dataclass(frozen=True, eq=False)
class QueryRows:
    """The queries of tensors: the name of each row, and the row of each judged query, -1 if it has none."""

    names: Strings
    row_of_query: Integers

    @cached_property
    def number(self) -> Integers:
        """The number of the query of each row: judged queries first, then the others."""
        number = np.full(len(self.names), -1)
        judged = np.flatnonzero(self.row_of_query >= 0)
        number[self.row_of_query[judged]] = judged
        number[self.others] = len(self.row_of_query) + np.arange(len(self.others))
        return number

    def with_queries(self, judgments: Judgments) -> QueryRows:
        """The rows for judgments that have more queries at the end, as complete judgments may."""
        rows = {name: row for row, name in enumerate(self.names)}
        added = [rows.get(query, -1) for query in islice(judgments.queries, len(self.row_of_query), None)]
        return replace(self, row_of_query=np.append(self.row_of_query, added).astype(np.int64)) if added else self

    @cached_property
    def others(self) -> Integers:
        """The rows of queries that are not judged."""
        judged = np.zeros(len(self.names), bool)
        judged[self.row_of_query[self.row_of_query >= 0]] = True
        return np.flatnonzero(~judged)


@dataclass(frozen=True, eq=False)
class CountedDocuments:
    """Documents of a run with counts, one row each.

    ``query``: the row of the query in the tensors. ``document``: the row in the judgments, -1 for others. ``start``,
    ``size``: the numbers of documents with a higher score, and with an equal one. ``by_id``, ``by_input``: positions in
    the tie group, if they were counted. ``sequence``: the input order.
    """

    query: Integers
    document: Integers
    start: Integers
    size: Integers
    sequence: Integers
    by_id: Integers | None = None
    by_input: Integers | None = None

    def positions(self, chosen: Booleans, rows: QueryRows) -> tuple[Positions, Integers]:
        """The positions of the chosen documents, best first, and their rows."""
        kept = np.flatnonzero(chosen)
        query = rows.number[self.query[kept]]
        order = lexsorted((self.sequence[kept], self.start[kept], query))
        kept, zero = kept[order], np.zeros_like(kept)
        by_id, by_input = (zero if values is None else values[kept] for values in (self.by_id, self.by_input))
        columns = query[order], self.document[kept], self.start[kept], self.size[kept]
        return Positions(*columns, by_id, by_input), kept


def counted_run(
    evaluator: Evaluator,
    name: str,
    rows: QueryRows,
    length: Integers,
    counted: Mapping[Key, CountedDocuments],
    ids: Strings | None = None,
) -> RunScores:
    """A run from its counts for each key; ``length``: the documents of each row; ``ids``: of all counted documents."""
    of_judged = np.where(rows.row_of_query >= 0, length[rows.row_of_query], -1)
    queries = RunQueries(of_judged, rows.names.take(rows.others), length[rows.others])
    reader, alignments = evaluator.reader, dict[Key, Alignment]()
    for key, documents in counted.items():
        positions, _ = documents.positions(documents.document >= 0, rows)
        positions_known = tuple(name for name in POSITIONS if getattr(documents, name) is not None)
        alignments[key] = Alignment(reader.aligner, positions, queries, tie_positions=positions_known)
        if ids is not None:
            positions, kept = documents.positions(documents.start < reader.top, rows)
            alignments[key].tops = TopDocuments(ids.take(kept), positions)
    return reader.run_scores(Run(name, {}), alignments)


def judgments_of(names: Strings, row: Integers, documents: Strings, grade: Floats) -> tuple[Judgments, Integers]:
    """Judgments from documents in ascending order of the rows of their queries, and the row of each judged query."""
    if not len(row):
        raise InputError(["grades: no document is judged"], hint="unjudged documents have the grade NaN")
    infinite = np.flatnonzero(~np.isfinite(grade))
    if len(infinite):
        example = quotable(names[int(row[infinite[0]])])
        raise InputError([f"grades: query `{example}` has an infinite grade"], total=len(infinite))
    begin = np.flatnonzero(np.diff(row, prepend=-1))
    rows = row[begin]
    begin = np.append(begin, len(row)).astype(np.int64)
    return Judgments("grades", names.take(rows), begin, documents, np.ascontiguousarray(grade, np.float64)), rows


def make_evaluator(collection: Collection, measures: Measures, *, ids: bool, **options: Any) -> Evaluator:
    """An evaluator for runs whose documents, judged or not, have ``ids`` or have none; raise if it needs more."""
    evaluator = Evaluator(collection, measures, **options)
    for name in ("predicted", "map_documents"):
        if name in collection.given:
            raise UsageError(f"{name} cannot be used with tensors", hint="use cranfield.evaluate")
    if evaluator.policy.nil is not None and not ids:
        raise UsageError("nil needs document ids")
    for column in evaluator.columns:
        if column.measure.definition.content:
            raise MeasureError(
                f"{column.measure} needs document text, which tensors do not have",
                hint="write the run to a file, and use cranfield.evaluate",
            )
        if (column.alignment.collection or column.alignment.costs or column.alignment.documents) and not ids:
            raise MeasureError(f"{column.measure} needs document ids")
    return evaluator


def make_block_evaluator(
    collection: Collection, measures: Measures, reason: str = NO_RANKS, **options: Any
) -> Evaluator:
    """An evaluator for counts alone: unjudged documents have no ids, and documents no ranks."""
    evaluator = make_evaluator(collection, measures, ids=False, **options)
    for column in evaluator.columns:
        if column.alignment.key != "score":
            raise MeasureError(
                f"{column.measure}: ties={column.measure.views.ties} {reason}",
                hint="ties=expected is the mean over all orders of tied documents",
            )
    return evaluator


class RankCounter:
    """Counts, for each judged document, the documents of a collection with a higher and with an equal score.

    `add` takes blocks of scores in any order, and counters of parts of a collection are added with ``+`` or
    `all_reduce`. Memory is a few numbers for each judged document.

    Parameters
    ----------
    grades
        (queries, judged): NaN for padding; or a `Collection` of such grades.
    scores
        The scores of the judged documents, the same shape; NaN for one that is not in the collection. The scores must
        come from the same computation as those of the blocks, bit by bit; if no score of any block equals that of a
        judged document, an error says so.
    positions
        The position of each judged document in the order of tied documents, for ``ties`` ``input`` (the position in
        the collection) or ``trec`` (the position by descending id).
    order
        Which of the two ``positions`` are: ``input`` or ``trec``.
    query_ids, ids
        The ids of queries and of judged documents; by default, they are numbered.

    Examples
    --------
    >>> import numpy as np
    >>> counter = RankCounter(np.array([[1.0]]), np.array([[2.0]]))
    >>> for block in (np.array([[5.0, 2.0]]), np.array([[1.0, 2.0, 0.5]])):
    ...     counter.add(block)
    >>> counter.higher.tolist(), counter.equal.tolist()
    ([1], [2])
    >>> float(counter.evaluate("RR").scores)
    0.41666666666666663
    """

    def __init__(
        self,
        grades: Any,
        scores: Any,
        *,
        positions: Any = None,
        order: str = "input",
        query_ids: Sequence[Any] | None = None,
        ids: Any = None,
    ) -> None:
        self._collection = Collection.of(grades)
        ops, arrays = arrays_of(scores=scores, grades=self._collection.qrels, positions=positions)
        scores, grades, positions = arrays["scores"], arrays["grades"], arrays["positions"]
        if len(scores.shape) != 2:
            raise UsageError("scores of judged documents must have two dimensions (queries, judged documents)")
        shape = tuple(int(n) for n in scores.shape)
        check_shapes(shape, {}, grades, None)
        if positions is not None and tuple(positions.shape) != shape:
            raise UsageError(f"positions has the shape {shown(positions.shape)}, expected {shown(shape)}")
        if len(grades.shape) > 2:
            raise UsageError("a counter takes one grade for each judged document, not grades by subtopic")
        check_no_nan(ops, "positions", positions)
        if order not in ("input", "trec"):
            raise UsageError(f"order must be input or trec, not {order!r}")
        self.order = order
        self.names = row_names(query_ids, shape[0], "rows")
        judged = ~ops.xp.isnan(grades)
        present = judged & ~ops.xp.isnan(scores)
        query, column = (ops.host(x) for x in ops.nonzero(judged))
        self._query, self._column = query.astype(np.int64), column.astype(np.int64)
        self._grade = ops.host(ops.doubles(grades[judged]))
        self._present = np.flatnonzero(ops.host(present[judged]))
        row = ops.nonzero(present)[0]
        position = None if positions is None else positions[present]
        self.counts = ScoreCounts(ops, shape[0], row, scores[present], position)
        self._ids = None if ids is None else DocumentIds.of(ids, shape)

    @property
    def higher(self) -> Integers:
        """For each judged document that is in the collection, the documents with a higher score."""
        return self.counts.ops.host(self.counts.higher)

    @property
    def equal(self) -> Integers:
        """For each judged document that is in the collection, the documents with an equal score, itself included."""
        return self.counts.ops.host(self.counts.equal)

    def add(self, scores: Any, *, first: int = 0, mask: Any = None, positions: Any = None) -> None:
        """Count a block of scores (queries, documents).

        ``first``: the number of the first query of the block, if it has not all of them. ``mask``: true for documents
        that are retrieved. ``positions``: of the documents of the block, if the counter has positions.
        """
        if not isinstance(first, Integral) or isinstance(first, bool):
            raise UsageError(f"first must be a whole number, not {quotable(repr(first))}")
        counts = self.counts
        ops, arrays = arrays_of(scores=scores, mask=mask, positions=positions)
        if counts.ops.xp is np:  # PyTorch may have been loaded since
            arrays = {name: None if values is None else ops.host(values) for name, values in arrays.items()}
            ops = counts.ops
        scores, mask = arrays["scores"], arrays["mask"]
        if len(scores.shape) != 2 or first < 0 or first + len(scores) > counts.rows:
            rows = f"a block must have up to {counts.rows} rows, one for each query"
            raise UsageError(f"{rows}, not the shape {shown(scores.shape)}")
        if mask is not None and tuple(mask.shape) != tuple(scores.shape):
            raise UsageError(f"mask has the shape {shown(mask.shape)}, but scores has the shape {shown(scores.shape)}")
        here, there = getattr(ops, "device", "cpu"), getattr(counts.ops, "device", "cpu")
        if str(here) != str(there):
            raise UsageError(
                f"the block is on {here}, but the scores of judged documents are on {there}",
                hint="move all tensors to one device",
            )
        # Whole numbers may be judged as floats: a judged document that is not in the collection has NaN.
        if not ops.is_float(scores) and ops.is_float(counts.value) and not ops.exact_in(scores, counts.value):
            raise UsageError(
                f"the block has whole numbers that {counts.value.dtype}, the type of the scores of judged documents, "
                "rounds",
                hint="give the scores of judged documents as whole numbers",
            )
        if ops.is_float(scores) and scores.dtype != counts.value.dtype:
            raise UsageError(
                f"the block is {scores.dtype}, but the scores of judged documents are {counts.value.dtype}",
                hint="convert both to one type",
            )
        given = arrays["positions"]
        if given is not None and tuple(given.shape) not in (tuple(scores.shape), tuple(scores.shape[1:])):
            raise UsageError(
                f"positions has the shape {shown(given.shape)}, expected {shown(scores.shape[1:])} or "
                f"{shown(scores.shape)}"
            )
        check_no_nan(ops, "mask", mask)
        check_no_nan(ops, "positions", given)
        if (counts.before is None) != (positions is None):
            have, lack = ("the counter", "the block") if positions is None else ("the block", "the counter")
            raise UsageError(f"{have} has positions of documents, but {lack} has none")
        with memory_errors(f"a block of {scores.shape[0]:,} x {scores.shape[1]:,} scores", "use smaller blocks"):
            counts.add(scores, first=first, mask=mask, positions=arrays["positions"])

    def __add__(self, other: RankCounter) -> RankCounter:
        """The counter of both parts of a collection; both must have the same judged documents."""
        if not isinstance(other, RankCounter):
            return NotImplemented
        self._check_same(other)
        merged = RankCounter.__new__(RankCounter)
        merged.__dict__.update(self.__dict__)
        counts = self.counts
        merged.counts = ScoreCounts(counts.ops, counts.rows, counts.row, counts.value, counts.position)
        for part in (counts, other.counts):
            for total, values in zip(merged.counts.sums, part.sums, strict=True):
                total += values
        return merged

    def _check_same(self, other: RankCounter) -> None:
        if not all(map(_equal, self._judged_documents(), other._judged_documents())):
            raise UsageError("counters can be added only if they have the same judged documents with the same scores")

    def _judged_documents(self) -> list[Any]:
        """All that counters must have in common."""
        counts, ids = self.counts, self._ids
        values = [None if x is None else counts.ops.host(x) for x in (counts.value, counts.position)]
        names = None if ids is None else (list(ids.names), ids.codes.tolist())
        parts = [self._query, self._column, self._present, self._grade, *values]
        return [list(self.names), self.order, str(counts.value.dtype), names, *parts]

    def all_reduce(self, group: Any = None) -> RankCounter:
        """Add the counts of all processes of a group of ``torch.distributed``, in place."""
        all_reduce(self.counts.sums, group)
        return self

    def evaluate(self, measures: Measures, *, ties: Ties = "expected", **options: Any) -> Evaluation:
        """The evaluation of the collection that was counted; ``options`` are those of `cranfield.evaluate`."""
        if self._ids is None:
            ids = column_names(self._column)
        else:
            codes = np.broadcast_to(self._ids.codes, (len(self.names), self._ids.codes.shape[-1]))
            ids = self._ids.names.take(codes[self._query, self._column])
        judgments, row_of_query = judgments_of(self.names, self._query, ids, self._grade)
        evaluator = make_block_evaluator(self._collection.changed(qrels=judgments), measures, ties=ties, **options)
        rows = QueryRows(self.names, row_of_query).with_queries(evaluator.judgments)
        of_judged = self._query[self._present], self._present, self._present
        position = "by_id" if self.order == "trec" else "by_input"
        return evaluator.aligned_evaluation([count_run(evaluator, rows, self.counts, *of_judged, position)])


def _equal(value: Any, other: Any) -> bool:
    return (
        np.array_equal(value, other)
        if isinstance(value, np.ndarray) and isinstance(other, np.ndarray)
        else value == other
    )


def count_run(
    evaluator: Evaluator,
    rows: QueryRows,
    counts: ScoreCounts,
    query: Integers,
    document: Integers,
    sequence: Integers,
    position: str,
) -> RunScores:
    """A run from the counts of a collection in blocks; ``position``: what the counted positions are."""
    higher, equal, length, bad = (counts.ops.host(x) for x in (counts.higher, counts.equal, counts.length, counts.bad))
    check_nan(bad, rows.names)
    absent = np.flatnonzero(equal <= 0)
    if len(absent):
        example = quotable(rows.names[int(query[absent[0]])])
        raise InputError(
            [f"query `{example}`: the score of a judged document is in none of the blocks"],
            total=len(absent),
            hint="compute the scores of judged documents with the same product as all others: rounding may differ",
        )
    before = {} if counts.before is None else {position: counts.ops.host(counts.before)}
    counted: dict[Key, CountedDocuments] = {
        "score": CountedDocuments(query, document, higher, equal, sequence, **before)
    }
    return counted_run(evaluator, "run", rows, length, counted)


def check_nan(bad: Integers, names: Strings, run: str = "", advice: str = "") -> None:
    """Raise if a query has a score that is NaN."""
    if bad.any():
        faults = [f"{run}query `{quotable(names[int(q)])}` has a score that is NaN" for q in np.flatnonzero(bad)]
        raise InputError(faults, hint=f"NaN cannot be ordered{advice}")
