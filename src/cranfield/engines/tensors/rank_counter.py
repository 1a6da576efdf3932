"""`RankCounter`: the ranks of judged documents in collections of any size, from blocks of scores in any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cranfield.data import Integers, Strings
from cranfield.engines.tensors.arrays import Arrays, arrays_of, memory_errors
from cranfield.engines.tensors.counted import (
    CountedDocuments,
    RunLengths,
    check_identities,
    check_keys,
    counted_run,
    judgments_of,
)
from cranfield.engines.tensors.counting import count_before, count_scores
from cranfield.errors import InputError, UsageError
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.evaluator import Evaluator, Measures, evaluator_of
from cranfield.evaluation.scores import Scores
from cranfield.io.faults import quotable
from cranfield.ranking.batch import Batch, Key
from cranfield.ranking.rankings import Rankings
from cranfield.ranking.tie_rules import Ties

NO_RANKS = "needs the ranks of documents, and a collection in blocks has none"


class ScoreCounts:
    """Counts for a list of values, each of one row: the higher and the equal scores of all blocks added so far.

    ``row``: the row of each value, ascending; ``position``: its position among tied documents, if ties are ordered.
    """

    def __init__(self, ops: Arrays, rows: int, row: Any, value: Any, position: Any = None) -> None:
        self.ops, self.rows, self.row, self.value, self.position = ops, rows, row, value, position
        self.higher, self.equal = ops.zeros(len(value), value), ops.zeros(len(value), value)
        self.before = None if position is None else ops.zeros(len(value), value)
        self.length, self.bad = ops.zeros(rows, value), ops.zeros(rows, value)
        self._kernel: Any = None

    def add(self, scores: Any, *, first: int = 0, mask: Any = None, positions: Any = None) -> None:
        """Count a block (rows, documents) whose first row is number ``first``."""
        if not scores.shape[1] or not len(scores):
            return
        ops, of_rows = self.ops, slice(first, first + len(scores))
        self.length[of_rows] += int(scores.shape[1])
        if mask is not None:
            scores, lowest = ops.lowest(scores)
            scores = ops.where(mask != 0, scores, lowest)
            self.length[of_rows] -= ops.count(mask == 0)
        elif self.before is None and self._fused(scores, first):
            return
        row, value, chosen = self.row, self.value, slice(None)
        if first != 0 or len(scores) != self.rows:
            chosen = ops.nonzero((self.row >= first) & (self.row < first + len(scores)))[0]
            row, value = self.row[chosen] - first, self.value[chosen]
        higher, equal = count_scores(ops, scores, row, value)
        if mask is not None:
            equal = equal - ops.count(mask == 0)[row] * (value == lowest)
        self.bad[of_rows] += ops.is_nan(ops.highest(scores)) * 1  # the highest of scores with NaN is NaN
        self.higher[chosen] += higher
        self.equal[chosen] += equal
        if self.before is not None:
            if mask is not None:
                positions = ops.where(mask != 0, positions[None], np.iinfo(np.int64).max)
            self.before[chosen] += count_before(ops, scores, row, value, positions, self.position[chosen])

    def _fused(self, scores: Any, first: int) -> bool:
        """Count with the kernel, if it can be used."""
        if not self.ops.on_device:
            return False
        from cranfield.engines.tensors import kernels

        if not kernels.usable(scores):
            return False
        if self._kernel is None:
            self._kernel = kernels.FusedCounts(self.rows, self.row, self.value)
        self._kernel.add(scores, first, self.higher, self.equal, self.bad)
        return True

    def merge(self, other: ScoreCounts) -> None:
        for name in self.fields:
            getattr(self, name).__iadd__(getattr(other, name))

    @property
    def fields(self) -> list[str]:
        return ["higher", "equal", "length", "bad", *([] if self.before is None else ["before"])]


class RankCounter:
    """Counts, for each judged document, the documents of a collection with a higher and with an equal score.

    ``scores`` (queries, judged): the scores of the judged documents; NaN for one that is not in the collection.
    ``grades``: the same shape; NaN for padding. The scores must come from the same computation as those of the blocks,
    bit by bit; if no score of any block equals that of a judged document, an error says so.
    ``positions``: the position of each judged document in the order of tied documents, for ``ties`` ``input`` (the
    position in the collection) or ``trec`` (the position by descending id); ``order`` says which of the two.

    `add` takes blocks of scores in any order, and counters of parts of a collection are added with ``+`` or
    `all_reduce`. Memory is a few numbers for each judged document.

    >>> import numpy as np
    >>> counter = RankCounter(np.array([[2.0]]), np.array([[1.0]]))
    >>> for block in (np.array([[5.0, 2.0]]), np.array([[1.0, 2.0, 0.5]])):
    ...     counter.add(block)
    >>> counter.higher.tolist(), counter.equal.tolist()
    ([1], [2])
    >>> counter.evaluate("RR").means.tolist()
    [[0.41666666666666663]]
    """

    def __init__(
        self,
        scores: Any,
        grades: Any,
        *,
        positions: Any = None,
        order: str = "input",
        query_ids: Sequence[Any] | None = None,
        ids: Any = None,
    ) -> None:
        from cranfield.engines.tensors.candidates import DocumentIds, _check_shapes, _names

        ops, arrays = arrays_of(scores=scores, grades=grades, positions=positions)
        scores, grades, positions = arrays["scores"], arrays["grades"], arrays["positions"]
        if len(scores.shape) != 2:
            raise UsageError("scores of judged documents must have two dimensions (queries, judged documents)")
        shape = tuple(int(n) for n in scores.shape)
        _check_shapes(shape, {"scores": scores}, grades, positions)
        if order not in ("input", "trec"):
            raise UsageError(f"order must be input or trec, not {order!r}")
        self.order = order
        self.names = _names(range(shape[0]) if query_ids is None else query_ids, shape[0], "query_ids", "rows")
        judged = ~ops.is_nan(grades)
        present = judged & ~ops.is_nan(scores)
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
        ops, arrays = arrays_of(scores=scores, mask=mask, positions=positions)
        scores, mask = arrays["scores"], arrays["mask"]
        counts = self.counts
        if len(scores.shape) != 2 or first < 0 or first + len(scores) > counts.rows:
            message = f"a block must have up to {counts.rows} rows, one for each query, not the shape"
            message += f" ({', '.join(map(str, scores.shape))})"
            raise UsageError(message)
        if mask is not None and tuple(mask.shape) != tuple(scores.shape):
            raise UsageError(f"mask has the shape {tuple(mask.shape)}, but scores has the shape {tuple(scores.shape)}")
        here, there = getattr(ops, "device", "cpu"), getattr(counts.ops, "device", "cpu")
        if str(here) != str(there):
            raise UsageError(
                f"the block is on {here}, but the scores of judged documents are on {there}",
                hint="move all tensors to one device",
            )
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
        merged.counts.merge(counts)
        merged.counts.merge(other.counts)
        return merged

    def _check_same(self, other: RankCounter) -> None:
        same = (
            np.array_equal(self._query, other._query)
            and np.array_equal(self._grade, other._grade)
            and np.array_equal(self.counts.ops.host(self.counts.value), other.counts.ops.host(other.counts.value))
            and (self.counts.before is None) == (other.counts.before is None)
        )
        if not same:
            raise UsageError("counters can be added only if they have the same judged documents with the same scores")

    def all_reduce(self, group: Any = None) -> RankCounter:
        """Add the counts of all processes of a group of ``torch.distributed``, in place."""
        import torch.distributed as distributed

        for name in self.counts.fields:
            distributed.all_reduce(getattr(self.counts, name), group=group)
        return self

    def evaluation(self, measures: Measures, *, ties: Ties = "expected", **options: Any) -> Evaluation:
        """The evaluation of the collection that was counted, for audits and comparisons."""
        evaluator = self._evaluator(measures, ties=ties, **options)
        return evaluator.aligned_evaluation([self._run(evaluator)])

    def evaluate(self, measures: Measures, *, ties: Ties = "expected", **options: Any) -> Scores:
        """The scores of the collection that was counted; ``options`` are those of `evaluate`."""
        return self.evaluation(measures, ties=ties, **options).scores

    def rankings(self) -> list[Rankings]:
        """The positions of the judged documents, for measures."""
        evaluator = self._evaluator("AP", ties="expected")
        return self._run(evaluator).first.rankings

    def batches(self) -> list[Batch]:
        """The input of measures, with grades as gains and ties left as they are; one batch unless padding is large."""
        from cranfield.measures import parse

        return [parse("AP[ties=expected]").ordered(rankings) for rankings in self.rankings()]

    def _evaluator(self, measures: Measures, **options: Any) -> Evaluator:
        rows = np.unique(self._query)
        if not len(rows):
            raise InputError(["grades: no document is judged"], hint="padding has the grade NaN")
        number = np.full(len(self.names), -1)
        number[rows] = np.arange(len(rows))
        if self._ids is None:
            names = Strings.of(map(str, range(int(self._column.max()) + 1))).take(self._column)
        else:
            width = self._ids.codes.shape[-1]
            codes = np.broadcast_to(self._ids.codes, (len(self.names), width))
            names = self._ids.names.take(codes[self._query, self._column])
        judgments = judgments_of("grades", self.names.take(rows), number[self._query], names, self._grade)
        evaluator = evaluator_of(judgments, measures, options)
        if evaluator.policy.nil is not None:
            raise UsageError("nil cannot be used with a collection in blocks")
        check_identities(evaluator, ids=False, reason="needs the ids of unjudged documents")
        check_keys(evaluator, ["score"], NO_RANKS)
        return evaluator

    def _run(self, evaluator: Evaluator) -> Any:
        counts, ops = self.counts, self.counts.ops
        length, bad = ops.host(counts.length), ops.host(counts.bad)
        check_nan(bad, self.names)
        query, document = self._query[self._present], self._present
        check_counted(ops.host(counts.equal), query, self.names)
        rows = np.unique(self._query)
        number = np.full(len(self.names), -1)
        number[rows] = np.arange(len(rows))
        before = None if counts.before is None else ops.host(counts.before)
        counted: dict[Key, CountedDocuments] = {
            "score": CountedDocuments(
                number[query],
                document,
                self.higher,
                self.equal,
                document,
                before if self.order == "trec" else None,
                before if self.order == "input" else None,
            )
        }
        others = np.flatnonzero(number < 0)
        lengths = RunLengths(length[rows], self.names.take(others), length[others])
        return counted_run(evaluator, "run", lengths, counted)


def check_nan(bad: Integers, names: Strings) -> None:
    """Raise if a query has a score that is NaN."""
    if bad.any():
        faults = [f"query `{quotable(names[int(q)])}` has a score that is NaN" for q in np.flatnonzero(bad)]
        raise InputError(faults, hint="NaN cannot be ordered")


def check_counted(equal: Integers, query: Integers, names: Strings) -> None:
    """Raise if the score of a judged document is in no block."""
    absent = np.flatnonzero(equal <= 0)
    if len(absent):
        name = quotable(names[int(query[absent[0]])])
        raise InputError(
            [f"query `{name}`: the score of a judged document is in none of the blocks"],
            total=len(absent),
            hint="compute the scores of judged documents with the same product as all others: rounding may differ",
        )
