"""Evaluation in parts, in one process or several: `RankCounter` of blocks, and `Accumulator` of batches in training."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from cranfield.data import Integers, Strings
from cranfield.errors import InputError, UsageError
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.evaluator import Measures
from cranfield.evaluation.plan import Keys, Shown, keys_of, make_plan
from cranfield.io.faults import quotable
from cranfield.ranking.tie_rules import Ties
from cranfield.tensors.arrays import arrays_of, check_no_nan, memory_errors, shown
from cranfield.tensors.candidates import (
    JudgedCandidates,
    QueryRows,
    candidates_of,
    count_run,
    evaluate,
    judgments_of,
    make_block_evaluator,
)
from cranfield.tensors.counting import ScoreCounts, Tables, all_reduce, groups

Batch = tuple[Any, Any, Any]  # scores, grades, and numbers of queries


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
        candidates = candidates_of(ops, {"run": scores}, grades, None, None, ids, query_ids)
        if positions is not None and tuple(positions.shape) != candidates.shape:
            raise UsageError(f"positions has the shape {shown(positions.shape)}, expected {shown(candidates.shape)}")
        if len(grades.shape) > 2:
            raise UsageError("a counter takes one grade for each judged document, not grades by subtopic")
        check_no_nan(ops, "positions", positions)
        if order not in ("input", "trec"):
            raise UsageError(f"order must be input or trec, not {order!r}")
        self.order = order
        judged = ~ops.xp.isnan(grades)
        present = judged & ~ops.xp.isnan(scores)
        self._judged = JudgedCandidates.of(replace(candidates, mask=judged), None, None)
        self._present = np.flatnonzero(ops.host(present[judged]))
        self._query = candidates.query_of(self._judged.at)[self._present]
        position = None if positions is None else positions[present]
        row = ops.nonzero(present)[0]
        self.counts = ScoreCounts(ops, len(candidates.names), row, scores[present], position)

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
        if not all(map(np.array_equal, self._judged_documents(), other._judged_documents())):
            raise UsageError("counters can be added only if they have the same judged documents with the same scores")
        merged, counts = copy(self), self.counts
        merged.counts = ScoreCounts(counts.ops, counts.rows, counts.row, counts.value, counts.position)
        for part in (counts, other.counts):
            for total, values in zip(merged.counts.sums, part.sums, strict=True):
                total += values
        return merged

    def _judged_documents(self) -> list[Any]:
        """All that counters must have in common."""
        counts, judged = self.counts, self._judged
        values = [None if x is None else counts.ops.host(x) for x in (counts.value, counts.position)]
        ids = list(judged.rows.names), list(judged.judgments.documents)
        return [self.order, str(counts.value.dtype), *ids, judged.at, judged.judgments.grade, self._present, *values]

    def all_reduce(self, group: Any = None) -> RankCounter:
        """Add the counts of all processes of a group of ``torch.distributed``, in place."""
        all_reduce(self.counts.sums, group)
        return self

    def evaluate(self, measures: Measures, *, ties: Ties = "expected", **options: Any) -> Evaluation:
        """The evaluation of the collection that was counted; ``options`` are those of `cranfield.evaluate`."""
        collection = self._collection.changed(qrels=self._judged.judgments)
        evaluator = make_block_evaluator(collection, measures, ties=ties, **options)
        rows = self._judged.rows.with_queries(evaluator.judgments)
        of_judged = self._query, self._present, self._present
        position = "by_id" if self.order == "trec" else "by_input"
        return evaluator.aligned_evaluation([count_run(evaluator, rows, self.counts, *of_judged, position)])


class Accumulator:
    """Scores and grades of batches, evaluated together at the end of an epoch.

    The candidates of a query may come in several batches. In a group of ``torch.distributed``, each process adds its
    own batches: queries may be split over processes, and so may the candidates of a query. Only judged documents and
    counts are exchanged, and every process gets the same result.

    Parameters
    ----------
    measures, ties, show, **options
        As in `evaluate`.
    collection
        What else is known of the judgments, such as ``Collection(negative="nonrel")``.
    unjudged
        The value of ``target`` that means unjudged, besides NaN.
    keys
        Those of the means: labels, or ``"plain"`` names such as ``ndcg_10``.

    Examples
    --------
    >>> import numpy as np
    >>> accumulator = Accumulator(["RR", "P@1"])
    >>> accumulator.update(np.array([0.2, 0.7]), np.array([1, 0]), np.array([0, 0]))
    >>> accumulator.update(np.array([0.5, 0.9]), np.array([1, 1]), np.array([1, 0]))
    >>> accumulator.compute()
    {'RR': 1.0, 'P@1': 1.0}
    """

    def __init__(
        self,
        measures: Measures,
        *,
        collection: Collection | None = None,
        unjudged: float | None = None,
        ties: Ties = "expected",
        show: Shown | Sequence[Shown] = (),
        keys: Keys = "labels",
        **options: Any,
    ) -> None:
        keys_of((), keys)  # raises before the first batch, as does the plan
        self.collection = Collection() if collection is None else collection
        make_plan(measures, self.collection.policy(ties=ties, **options), show)
        self.measures, self.unjudged, self.options = measures, unjudged, {"ties": ties, "show": show, **options}
        self.keys: Keys = keys
        self._batches: list[Batch] = []

    def update(self, preds: Any, target: Any, indexes: Any) -> None:
        """Add the scores, the grades and the numbers of the queries of some candidates, as in torchmetrics."""
        self._batches.append(checked(preds, target, indexes))

    def reset(self) -> None:
        """Forget all batches."""
        self._batches.clear()

    def of_batches(self, batches: Sequence[Batch]) -> Accumulator:
        """An accumulator with the same settings and other batches."""
        other = copy(self)
        other._batches = list(batches)
        return other

    def __add__(self, other: Accumulator) -> Accumulator:
        """The accumulator of the batches of both."""
        return self.of_batches([*self._batches, *other._batches])

    def compute(self, group: Any = None, *, distributed: bool | None = None) -> dict[str, float]:
        """The mean of each measure; over all processes, if ``torch.distributed`` is used."""
        evaluation = self.evaluate(group, distributed=distributed)
        (means,) = evaluation.table(evaluation.columns).means.values()  # without notes
        return dict(zip(keys_of(means, self.keys), means.values(), strict=True))

    def evaluate(self, group: Any = None, *, distributed: bool | None = None) -> Evaluation:
        """The evaluation of all batches: of this process, or of all processes of a group if they are several."""
        if is_distributed() if distributed is None else distributed:
            return self._of_all_processes(group)
        if not self._batches:
            raise InputError(["no batch was added"])
        preds, target, indexes = _joined(self._batches)
        collection = self.collection.changed(qrels=target)
        return evaluate(collection, preds, self.measures, indexes=indexes, unjudged=self.unjudged, **self.options)

    def _of_all_processes(self, group: Any) -> Evaluation:
        """Judged documents of all processes are gathered; every process counts its own scores; the counts are added."""
        import torch
        from torch import distributed

        none = torch.zeros(0), torch.zeros(0), torch.zeros(0, dtype=torch.int64)
        local = _joined(self._batches) if self._batches else none
        ops, arrays = arrays_of(preds=local[0], target=local[1], indexes=local[2])
        preds, target, indexes = arrays.values()
        judged = ~ops.xp.isnan(target)
        judged = judged if self.unjudged is None else judged & (target != self.unjudged)
        own = ops.nonzero(judged)[0]
        order, numbers, begin = groups(ops, indexes)
        message = {
            "dtype": str(preds.dtype) if len(preds) else None,
            "query": ops.host(indexes[own]).astype(np.int64),
            "score": ops.host(ops.doubles(preds[own])),
            "grade": ops.host(ops.doubles(target[own])),
            "queries": numbers.astype(np.int64),
        }
        messages: list[Any] = [None] * distributed.get_world_size(group)
        distributed.all_gather_object(messages, message, group=group)
        _check_types("processes", {part["dtype"] for part in messages} - {None})
        query, score, grade, every = (
            np.concatenate([part[name] for part in messages]) for name in ("query", "score", "grade", "queries")
        )
        by_query, every = np.argsort(query, kind="stable"), np.unique(every)
        query, score, grade = query[by_query], score[by_query], grade[by_query]
        names, row = Strings.of(map(str, every.tolist())), np.searchsorted(every, query)
        document = np.arange(len(query))
        values = ops.cast(ops.to_device(score, preds), preds.dtype)
        counts = ScoreCounts(ops, len(every), ops.to_device(row, preds), values)
        if len(preds):
            # Its own scores, for the judged documents of all processes that belong to its queries.
            here = np.flatnonzero(np.isin(query, numbers))
            scores = preds if order is None else preds[order]
            at, rows = (ops.to_device(x, preds) for x in (here, np.searchsorted(every, numbers)))
            tables, of_query = Tables(ops, begin, preds), np.searchsorted(numbers, query[here])
            of_rows, of_values = tables.count(scores, None, of_query, values[at])
            counts.length[rows], counts.bad[rows] = ops.to_device(of_rows, preds)
            counts.higher[at], counts.equal[at] = ops.to_device(of_values, preds)
        all_reduce(counts.sums, group)
        judgments, row_of_query = judgments_of(names, row, Strings.of(map(str, document.tolist())), grade)
        reason = "needs the order of documents, which several processes do not have"
        evaluator = make_block_evaluator(
            self.collection.changed(qrels=judgments), self.measures, reason, **self.options
        )
        queries = QueryRows(names, row_of_query).with_queries(evaluator.judgments)
        return evaluator.aligned_evaluation([count_run(evaluator, queries, counts, row, document, document)])


def is_distributed() -> bool:
    """Whether this process is one of several in ``torch.distributed``."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return False
    return bool(torch.distributed.get_world_size() > 1)


def checked(preds: Any, target: Any, indexes: Any) -> Batch:
    """Flat arrays of one length."""
    _, arrays = arrays_of(preds=preds, target=target, indexes=indexes)
    shapes = {name: tuple(int(n) for n in values.shape) for name, values in arrays.items()}
    if len(set(shapes.values())) > 1:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise UsageError(f"preds, target and indexes must have the same shape, not {listed}")
    return tuple(values.reshape(-1) for values in arrays.values())


def _check_types(parts: str, types: set[str]) -> None:
    """Raise if scores have several types: rounded ones cannot be compared with others."""
    if len(types) > 1:
        raise UsageError(
            f"the {parts} have scores of different types: {', '.join(sorted(types))}", hint="convert all to one type"
        )


def _joined(batches: Sequence[Batch]) -> Batch:
    _check_types("batches", {str(preds.dtype) for preds, _, _ in batches if len(preds)})
    columns = list(zip(*batches, strict=True))
    if isinstance(batches[0][0], np.ndarray):
        return tuple(np.concatenate(column) for column in columns)  # type: ignore[return-value]
    import torch

    return tuple(torch.cat(column) for column in columns)
