"""Evaluation on Apache Spark: DataFrames in, a DataFrame out, with the scores of `cranfield.evaluate`.

Scores of different queries are independent, so Spark has two duties: it brings the rows of a query together, and it
adds up the results of the library's own functions, which run on shards of complete queries.
"""

from cranfield.errors import optional

for _package in ("pyspark", "pyarrow"):
    optional(_package, "evaluation on Spark", "spark")

from cranfield.spark.build_corpus import corpus  # noqa: E402 - needs PySpark
from cranfield.spark.scores import BROADCAST, ScoreFrame, evaluate  # noqa: E402 - needs PySpark

__all__ = ["BROADCAST", "ScoreFrame", "corpus", "evaluate"]


def __dir__() -> list[str]:
    return __all__
