"""`RetrievalMetric`: any measures as a metric of torchmetrics."""

from __future__ import annotations

from typing import Any

from cranfield.errors import optional
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.evaluator import Measures
from cranfield.tensors.accumulators import Accumulator, checked, is_distributed

torchmetrics = optional("torchmetrics", "a metric of torchmetrics", "tensors")
import torch  # noqa: E402 - torchmetrics needs it

STATES = ("preds", "target", "indexes")


class RetrievalMetric(torchmetrics.Metric):  # type: ignore[misc,name-defined]
    """A metric of torchmetrics that computes any measures of Cranfield, as a dict of means.

    ``update(preds, target, indexes)`` is that of the retrieval metrics of torchmetrics; a target may be any grade, and
    NaN is unjudged. In distributed training, queries or the candidates of a query may be split over processes. Only
    judged documents and counts are exchanged. `evaluate` has the values of each query, and notes.

    Parameters
    ----------
    measures, **options
        As in `Accumulator`.
    process_group
        The processes that exchange counts; by default all.

    Examples
    --------
    >>> metric = RetrievalMetric(["nDCG@10", "RR"])  # doctest: +SKIP
    >>> metric.update(preds, target, indexes)  # doctest: +SKIP
    >>> metric.compute()  # doctest: +SKIP
    {'nDCG@10': tensor(0.61), 'RR': tensor(0.72)}
    """

    is_differentiable = False
    higher_is_better = None
    full_state_update = False

    preds: list[Any]
    target: list[Any]
    indexes: list[Any]

    def __init__(self, measures: Measures, *, process_group: Any = None, **options: Any) -> None:
        super().__init__(process_group=process_group)
        self.accumulator = Accumulator(measures, **options)
        for name in STATES:
            self.add_state(name, default=[], dist_reduce_fx="cat")
        self._exchange = False

    def __repr__(self) -> str:
        return f"RetrievalMetric: {', '.join(map(str, _listed(self.accumulator.measures)))}"

    def update(self, preds: Any, target: Any, indexes: Any) -> None:
        """Add the scores, the grades and the numbers of the queries of some candidates."""
        for name, values in zip(STATES, checked(preds, target, indexes), strict=True):
            getattr(self, name).append(values)

    def sync(
        self,
        dist_sync_fn: Any = None,  # noqa: ARG002 - the signature is that of torchmetrics
        process_group: Any = None,  # noqa: ARG002
        should_sync: bool = True,
        distributed_available: Any = None,
    ) -> None:
        """Gather nothing: `compute` exchanges counts instead of scores."""
        available = distributed_available or is_distributed
        self._exchange = bool(should_sync and available())

    def compute(self) -> dict[str, Any]:
        """The mean of each measure."""
        distributed, self._exchange = self._exchange and is_distributed(), False
        means = self._filled().compute(self.process_group, distributed=distributed)
        return {label: torch.tensor(mean, dtype=torch.float64) for label, mean in means.items()}

    def evaluate(self) -> Evaluation:
        """The evaluation of all batches; in distributed training, all processes must call this."""
        return self._filled().evaluate(self.process_group)

    def _filled(self) -> Accumulator:
        return self.accumulator.of_batches(list(zip(*(_listed(getattr(self, name)) for name in STATES), strict=True)))


def _listed(state: Any) -> list[Any]:
    """A state is a list of tensors, or one tensor after it was loaded."""
    return list(state) if isinstance(state, (list, tuple)) else [state]
