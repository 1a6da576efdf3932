"""Evaluation on Apache Spark: DataFrames in, a DataFrame out, the numbers of `cranfield.evaluate`."""

from cranfield.errors import optional

optional("pyspark", "evaluation on Spark", "spark")

from cranfield.engines.spark.collecting import corpus  # noqa: E402 - not without PySpark
from cranfield.engines.spark.evaluating import BROADCAST, Scores, evaluate  # noqa: E402 - not without PySpark

__all__ = ["BROADCAST", "Scores", "corpus", "evaluate"]
