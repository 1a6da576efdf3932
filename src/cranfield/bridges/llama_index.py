"""Metrics for LlamaIndex's ``RetrieverEvaluator``; repeated ids, as of chunks, count once."""

from __future__ import annotations

from typing import Any, ClassVar

from cranfield.errors import optional
from cranfield.evaluation.evaluator import Evaluator
from cranfield.evaluation.plan import Keys, keys_of
from cranfield.io import read_run

_base = optional("llama_index.core.evaluation.retrieval.metrics_base", "the bridge to LlamaIndex", "llama-index")


class _Metric(_base.BaseRetrievalMetric):  # type: ignore[misc,name-defined]
    metric_name: ClassVar[str] = "nDCG@10"
    measure: str = "nDCG@10"
    duplicates: str = "first"

    def compute(
        self,
        query: str | None = None,
        expected_ids: list[str] | None = None,
        retrieved_ids: list[str] | None = None,
        expected_texts: list[str] | None = None,
        retrieved_texts: list[str] | None = None,
        **kwargs: Any,
    ) -> Any:
        evaluator = Evaluator([expected_ids or []], [self.measure], undefined="zero")
        run = read_run([retrieved_ids or []], duplicates=self.duplicates)  # type: ignore[arg-type]
        return _base.RetrievalMetricResult(score=evaluator.means(run)[evaluator.columns[0].label])


def metric(measure: str = "nDCG@10", *, duplicates: str = "first", keys: Keys = "labels") -> Any:
    """A metric for ``RetrieverEvaluator(metrics=[metric("nDCG@10")], ...)``, called by the name of the measure.

    ``keys``: ``"plain"`` calls it by a name such as ``ndcg_10``, which every tracker takes.
    """
    (name,) = keys_of([measure], keys)
    fields = {"metric_name": name, "__annotations__": {"metric_name": ClassVar[str]}}
    return type("RetrievalMetric", (_Metric,), fields)(measure=measure, duplicates=duplicates)
