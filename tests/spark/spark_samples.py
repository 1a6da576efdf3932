"""Columns as Spark DataFrames, and what Spark found as plain data."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from cranfield import spark as engine
from cranfield.evaluation.notes import sentences
from cranfield.testing.engine_contract import Columns, Evaluated

TYPES = {"score": pa.float64(), "grade": pa.float64(), "rank": pa.int64(), "row": pa.int64()}


def framed(spark: SparkSession, columns: Columns) -> DataFrame:
    table = pa.table({name: pa.array(of, TYPES.get(name, pa.string())) for name, of in columns.items()})
    return spark.createDataFrame(table)


def collected(scores: engine.ScoreFrame) -> Evaluated:
    rows = scores.frame.toArrow().to_pydict()
    found = scores.to_dict()["runs"]
    values = zip(*(rows[name] for name in ("run", "query", "measure", "value")), strict=True)
    return Evaluated(
        {(run, query, measure): value for run, query, measure, value in values},
        {(run, measure): one["mean"] for run, of in found.items() for measure, one in of.items()},
        sentences(scores.notes),
    )


class Lent:
    """A session that those who are given it do not stop."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    def __getattr__(self, name: str) -> Any:
        return getattr(self.spark, name)

    def stop(self) -> None:
        pass
