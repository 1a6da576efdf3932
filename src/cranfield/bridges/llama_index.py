"""Metrics for LlamaIndex's ``RetrieverEvaluator``; repeated ids, as of chunks, count once."""

from __future__ import annotations

from typing import Any, ClassVar

from cranfield.errors import optional
from cranfield.evaluation.evaluator import Evaluator
from cranfield.io import read_run

_base = optional("llama_index.core.evaluation.retrieval.metrics_base", "the bridge to LlamaIndex", "llama-index")


class _Metric(_base.BaseRetrievalMetric):  # type: ignore[misc,name-defined]
    metric_name: ClassVar[str] = "nDCG@10"
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
        evaluator = Evaluator([expected_ids or []], [self.metric_name], undefined="zero")
        run = read_run([retrieved_ids or []], duplicates=self.duplicates)  # type: ignore[arg-type]
        return _base.RetrievalMetricResult(score=evaluator.means(run)[evaluator.columns[0].label])


def metric(measure: str = "nDCG@10", *, duplicates: str = "first") -> Any:
    """A metric for ``RetrieverEvaluator(metrics=[metric("nDCG@10")], ...)``, called by the name of the measure."""
    fields = {"metric_name": measure, "__annotations__": {"metric_name": ClassVar[str]}}
    return type("RetrievalMetric", (_Metric,), fields)(duplicates=duplicates)
