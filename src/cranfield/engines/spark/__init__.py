"""Evaluation on Apache Spark: DataFrames in, a DataFrame out, with the scores of `cranfield.evaluate`."""

from cranfield.errors import optional

optional("pyspark", "evaluation on Spark", "spark")

from cranfield.engines.spark.build_corpus import corpus  # noqa: E402 - needs PySpark
from cranfield.engines.spark.scores import BROADCAST, Scores, evaluate  # noqa: E402 - needs PySpark

__all__ = ["BROADCAST", "Scores", "corpus", "evaluate"]
