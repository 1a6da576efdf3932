"""Evaluation in training loops: an accumulator of batches, with queries or candidates split over processes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from cranfield.data import Strings
from cranfield.errors import InputError, UsageError
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.evaluator import Measures
from cranfield.evaluation.plan import Keys, Shown, keys_of, make_plan
from cranfield.ranking.tie_rules import Ties
from cranfield.tensors.arrays import arrays_of
from cranfield.tensors.candidates import evaluate
from cranfield.tensors.counting import ScoreCounts, Tables, all_reduce, groups
from cranfield.tensors.ranks import QueryRows, count_run, judgments_of, make_block_evaluator

Batch = tuple[Any, Any, Any]  # scores, grades, and numbers of queries


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
        names, row, document = Strings.of(map(str, every.tolist())), np.searchsorted(every, query), np.arange(len(query))
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
