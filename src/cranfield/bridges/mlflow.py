"""An MLflow metric: lists of retrieved ids as predictions, lists of relevant ids as targets."""

from __future__ import annotations

from typing import Any

from cranfield.errors import optional
from cranfield.evaluation.evaluator import Evaluator
from cranfield.evaluation.plan import keys_of
from cranfield.io import read_run
from cranfield.measures import parse


def metric(measure: str = "nDCG@10", *, duplicates: Any = "first") -> Any:
    """A metric for ``mlflow.evaluate(..., extra_metrics=[metric("nDCG@10")])``.

    A row without relevant documents is left out of the mean; its score is NaN.
    """
    package = optional("mlflow.metrics", "the bridge to MLflow", "mlflow")

    def evaluate(predictions: Any, targets: Any) -> Any:
        run = read_run([list(ids) for ids in predictions], duplicates=duplicates)
        evaluator = Evaluator([list(ids) for ids in targets], [measure])
        scores = evaluator.values(run)[0].tolist()
        return package.MetricValue(
            scores=scores, aggregate_results={"mean": evaluator.means(run)[evaluator.columns[0].label]}
        )

    (name,) = keys_of([str(parse(measure))])
    return package.make_metric(eval_fn=evaluate, greater_is_better=True, name=name)
