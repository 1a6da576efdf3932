"""Evaluation in training loops: an accumulator of batches, with queries or candidates split over processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cranfield.data import Strings
from cranfield.engines.tensors.arrays import Arrays, arrays_of
from cranfield.engines.tensors.candidates import tensor_evaluation
from cranfield.engines.tensors.counted import (
    CountedDocuments,
    RunLengths,
    check_identities,
    check_keys,
    counted_run,
    judgments_of,
)
from cranfield.engines.tensors.counting import count_segments
from cranfield.engines.tensors.rank_counter import check_nan
from cranfield.errors import InputError, UsageError
from cranfield.evaluation.collection import POLICY, Collection, split_options
from cranfield.evaluation.columns import make_plan
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.evaluator import Measures, evaluator_of
from cranfield.evaluation.scores import Scores
from cranfield.ranking.batch import Key
from cranfield.ranking.tie_rules import Ties


class Accumulator:
    """Scores and grades of batches, evaluated together at the end of an epoch.

    ``measures``, ``ties`` and ``options``: as in `evaluate_tensors`; ``unjudged``: the value of ``target`` that means
    unjudged, besides NaN.

    The candidates of a query may come in several batches. In a group of ``torch.distributed``, each process adds its
    own batches: queries may be split over processes, and so may the candidates of a query. Only judged documents and
    counts are exchanged, and every process gets the same result.

    >>> import numpy as np
    >>> accumulator = Accumulator(["RR", "P@1"])
    >>> accumulator.update(np.array([0.2, 0.7]), np.array([1, 0]), np.array([0, 0]))
    >>> accumulator.update(np.array([0.5, 0.9]), np.array([1, 1]), np.array([1, 0]))
    >>> accumulator.compute()
    {'RR[ties=expected]': 1.0, 'P@1[ties=expected]': 1.0}
    """

    def __init__(
        self, measures: Measures, *, ties: Ties = "expected", unjudged: float | None = None, **options: Any
    ) -> None:
        parts, rest = split_options(options)
        policy = {name: value for name, value in rest.items() if name in POLICY}
        make_plan(measures, Collection({}, **parts).policy(ties=ties, **policy))  # raises before the first batch
        self.measures, self.unjudged, self.options = measures, unjudged, {"ties": ties, **options}
        self._batches: list[tuple[Any, Any, Any]] = []

    def update(self, preds: Any, target: Any, indexes: Any) -> None:
        """Add the scores, the grades and the numbers of the queries of some candidates."""
        self._batches.append(checked(preds, target, indexes))

    def reset(self) -> None:
        """Forget all batches."""
        self._batches.clear()

    def __add__(self, other: Accumulator) -> Accumulator:
        """The accumulator of the batches of both."""
        merged = Accumulator(self.measures, unjudged=self.unjudged, **self.options)
        merged._batches = [*self._batches, *other._batches]
        return merged

    def compute(self, group: Any = None) -> dict[str, float]:
        """The mean of each measure; over all processes, if ``torch.distributed`` is used."""
        return means(self.evaluation(group))

    def scores(self, group: Any = None) -> Scores:
        """The scores of each query, with notes."""
        return self.evaluation(group).scores

    def evaluation(self, group: Any = None) -> Evaluation:
        """The evaluation, for audits and comparisons."""
        return evaluation(
            self._batches, self.measures, self.unjudged, self.options, group, distributed=is_distributed()
        )


def means(evaluation: Evaluation) -> dict[str, float]:
    """The mean of each column, without notes."""
    table = evaluation.table(evaluation.columns)
    return dict(zip((column.label for column in table.columns), table.means[0].tolist(), strict=True))


def is_distributed() -> bool:
    """Whether this process is one of several in ``torch.distributed``."""
    import sys

    torch = sys.modules.get("torch")
    if torch is None or not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return False
    return bool(torch.distributed.get_world_size() > 1)


def checked(preds: Any, target: Any, indexes: Any) -> tuple[Any, Any, Any]:
    """Flat arrays of one length."""
    _, arrays = arrays_of(preds=preds, target=target, indexes=indexes)
    shapes = {name: tuple(int(n) for n in values.shape) for name, values in arrays.items()}
    if len(set(shapes.values())) > 1:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise UsageError(f"preds, target and indexes must have the same shape, not {listed}")
    return tuple(values.reshape(-1) for values in arrays.values())


def evaluation(
    batches: Sequence[tuple[Any, Any, Any]],
    measures: Measures,
    unjudged: float | None,
    options: dict[str, Any],
    group: Any = None,
    *,
    distributed: bool,
) -> Evaluation:
    """The evaluation of all batches, of this process or of all of a group."""
    if not batches and not distributed:
        raise InputError(["no batch was added"])
    if distributed:
        return _of_all_processes(_joined(batches) if batches else None, measures, unjudged, options, group)
    preds, target, indexes = _joined(batches)
    return tensor_evaluation(preds, target, measures, indexes=indexes, unjudged=unjudged, **options)


def _joined(batches: Sequence[tuple[Any, Any, Any]]) -> tuple[Any, Any, Any]:
    columns = list(zip(*batches, strict=True))
    if isinstance(batches[0][0], np.ndarray):
        return tuple(np.concatenate(column) for column in columns)  # type: ignore[return-value]
    import torch

    return tuple(torch.cat(column) for column in columns)


def _of_all_processes(
    local: tuple[Any, Any, Any] | None, measures: Measures, unjudged: float | None, options: dict[str, Any], group: Any
) -> Evaluation:
    """Judged documents of all processes are gathered; every process counts its own scores; the counts are added."""
    import torch
    from torch import distributed

    if local is None:
        local = torch.zeros(0), torch.zeros(0), torch.zeros(0, dtype=torch.int64)
    ops, arrays = arrays_of(preds=local[0], target=local[1], indexes=local[2])
    preds, target, indexes = arrays.values()
    judged = ~ops.is_nan(target)
    judged = judged if unjudged is None else judged & (target != unjudged)
    own = ops.nonzero(judged)[0]
    queries, inverse = np.unique(ops.host(indexes), return_inverse=True)
    bad = np.bincount(inverse[ops.host(ops.is_nan(preds))], minlength=len(queries))
    message = {
        "dtype": str(preds.dtype) if len(preds) else None,
        "query": ops.host(indexes[own]).astype(np.int64),
        "score": ops.host(ops.doubles(preds[own])),
        "grade": ops.host(ops.doubles(target[own])),
        "queries": queries.astype(np.int64),
        "length": np.bincount(inverse, minlength=len(queries)),
        "bad": bad,
    }
    messages: list[Any] = [None] * distributed.get_world_size(group)
    distributed.all_gather_object(messages, message, group=group)
    types = {one["dtype"] for one in messages} - {None}
    if len(types) > 1:
        fault = f"the processes have scores of different types: {', '.join(sorted(types))}"
        raise UsageError(fault)
    query, score, grade = (np.concatenate([one[name] for one in messages]) for name in ("query", "score", "grade"))
    counts = _reduced(_local_counts(ops, preds, indexes, query, score), group)
    every, number = np.unique(np.concatenate([one["queries"] for one in messages]), return_inverse=True)
    length, faults = (
        np.bincount(number, np.concatenate([one[name] for one in messages]), len(every)).astype(np.int64)
        for name in ("length", "bad")
    )
    names = Strings.of(map(str, every.tolist()))
    check_nan(faults, names)
    if not len(query):
        raise InputError(["target: no document is judged"], hint="unjudged documents have the target NaN")
    order = np.argsort(query, kind="stable")
    query, grade, higher, equal = query[order], grade[order], counts[0][order], counts[1][order]
    rows = np.searchsorted(every, np.unique(query))
    row_of = np.full(len(every), -1)
    row_of[rows] = np.arange(len(rows))
    of_document = row_of[np.searchsorted(every, query)]
    documents = Strings.of(map(str, range(len(query))))
    evaluator = evaluator_of(judgments_of("grades", names.take(rows), of_document, documents, grade), measures, options)
    check_identities(evaluator, ids=False)
    check_keys(evaluator, ["score"], "needs the order of documents, which several processes do not have")
    others = np.flatnonzero(row_of < 0)
    lengths = RunLengths(length[rows], names.take(others), length[others])
    row = np.arange(len(query))
    counted: dict[Key, CountedDocuments] = {"score": CountedDocuments(of_document, row, higher, equal, row)}
    return evaluator.aligned_evaluation([counted_run(evaluator, "run", lengths, counted)])


def _local_counts(ops: Arrays, preds: Any, indexes: Any, query: Any, score: Any) -> Any:
    """The higher and equal scores of this process for judged documents of all processes."""
    import torch

    values = torch.from_numpy(score).to(preds.dtype).to(preds.device)
    of_query = torch.from_numpy(query).to(indexes.device)
    weight = torch.cat([torch.ones_like(indexes, dtype=torch.int64), torch.zeros_like(of_query)])
    chosen = torch.arange(len(values), device=preds.device) + len(preds)
    if not len(values):
        return torch.zeros((2, 0), dtype=torch.int64, device=preds.device)
    together = torch.cat([indexes.to(torch.int64), of_query]), torch.cat([preds, values])
    higher, equal, _ = count_segments(ops, *together, weight, chosen)
    return torch.stack([higher, equal])


def _reduced(counts: Any, group: Any) -> Any:
    from torch import distributed

    distributed.all_reduce(counts, group=group)
    return counts.cpu().numpy()
