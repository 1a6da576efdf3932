"""Frames as people have them: columns of all names and types, ids of all kinds, and all that may be wrong."""

from __future__ import annotations

import sys
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

import cranfield as cf
from cranfield import spark as engine
from cranfield.errors import UsageError
from cranfield.spark.frames import use_this_python

pytestmark = pytest.mark.filterwarnings("ignore")

RUNS = "run string, query string, document string, score double"
QRELS = "query string, document string, grade int"
JUDGED = [("q1", "d1", 1), ("q1", "d2", 0), ("q2", "d1", 1)]


def refused(spark: SparkSession, rows: list[Any], schema: str, **how: Any) -> str:
    qrels = spark.createDataFrame(how.pop("qrels", JUDGED), how.pop("judged", QRELS))
    with pytest.raises(cf.InputError) as error:
        engine.evaluate(qrels, spark.createDataFrame(rows, schema), how.pop("measures", "AP"), **how)
    return str(error.value)


def test_columns_by_odd_names(spark: SparkSession) -> None:
    """Dots, backticks, and names that differ in case alone."""
    rows = [("q1", "other", "d2", 2.0), ("q1", "other", "d1", 1.0)]
    runs = spark.createDataFrame(rows, "`a.q` string, `A.Q` string, `b``d` string, `Sim` double")
    qrels = spark.createDataFrame(JUDGED[:2], "QUERY string, `doc no` string, `Rel` int")
    columns = {"query": "a.q", "document": "b`d"}
    scores = engine.evaluate(qrels, runs, "RR", columns=columns, qrels_columns={"document": "doc no"})
    assert [tuple(row) for row in scores.frame.collect()] == [("run", "q1", "RR", 0.5)]


def test_columns_of_one_name(spark: SparkSession) -> None:
    runs = spark.createDataFrame([("q1", "d1", 1.0)], "query string, document string, score double")
    qrels = spark.createDataFrame(JUDGED, QRELS)
    with pytest.raises(cf.InputError, match="runs: 2 columns are named `score`"):
        engine.evaluate(qrels, runs.select("*", sql.lit(2.0).alias("score")), "AP")
    with pytest.raises(UsageError, match="runs must be a Spark DataFrame, not list"):
        engine.evaluate(qrels, [], "AP")
    with pytest.raises(UsageError, match="qrels must be a Spark DataFrame, not dict"):
        engine.evaluate({}, runs, "AP")


def test_faults_are_told_by_the_names_of_columns(spark: SparkSession) -> None:
    odd = "run string, qid string, url string, sim double"
    message = refused(spark, [("r", "q1", None, 1.0)], odd, columns={"document": "url"})
    assert "found null in column `url`" in message
    ranked = refused(spark, [("q1", "d1", None)], "qid string, docno string, rank int")
    assert ranked.startswith("run: query `q1`, document `d1`: the score in column `rank` is not a number: null")
    by_subtopic = {"judged": "query string, document string, subtopic string, grade int", "broadcast": 0}
    judged = [("q1", "d1", None, 1), ("q1", "d1", "a", 1)]
    message = refused(spark, [("r", "q1", "d1", 1.0)], RUNS, qrels=judged, **by_subtopic)
    assert "qrels: query `q1`: an id must be text or a whole number, found null in column `subtopic`" in message


def test_rows_without_an_order_are_refused_as_a_ranking(spark: SparkSession) -> None:
    """Documents that nothing puts in order are no ranking by input."""
    rows = [
        ("r", "q1", "d1", 1.0, None),
        ("r", "q1", "d2", 1.0, 7),
        ("r", "q1", "d3", 1.0, 7),
        ("r", "q2", "d3", 1.0, 7),
    ]
    none, again, *_ = refused(spark, rows, f"{RUNS}, line int", ties="input").splitlines()
    assert none == "r: query `q1`, document `d1`: the row in column `line` is not a number"
    assert again.startswith("r: query `q1`, document `d")
    assert again.endswith("the row in column `line` is 7, as for another document")
    rows = [("r", "q1", "d1", 1.0, 0.3), ("r", "q1", "d2", 1.0, 0.2)]
    runs, qrels = spark.createDataFrame(rows, f"{RUNS}, row double"), spark.createDataFrame(JUDGED[:2], QRELS)
    assert engine.evaluate(qrels, runs, "RR", ties="input").frame.collect()[0]["value"] == 0.5


def test_ids_that_are_no_text(spark: SparkSession) -> None:
    """Bytes are ids as they are, in notes too; scores of any size and any kind of number."""
    rows = [("r", b"\xff", b"d1", Decimal("1e20")), ("r", b"\xff", b"d2", Decimal("-0.5"))]
    runs = spark.createDataFrame(rows, "run string, query binary, document binary, score decimal(38, 5)")
    judged = [(bytearray(query), bytearray(b"d2"), 1) for query in (b"\xff", b"\xfe", b"\xfd\xff")]
    qrels = spark.createDataFrame(judged, "query binary, document binary, grade int")
    scores = engine.evaluate(qrels, runs.union(runs.withColumn("run", sql.lit("s"))), ["RR", "NumRet"])
    assert sorted(row["value"] for row in scores.frame.collect() if row["measure"] == "RR") == [0, 0, 0, 0, 0.5, 0.5]
    assert scores._means[0].tolist() == [0.5 / 3, 2]
    found = scores.compare(samples=10)
    assert found["RR"].queries == ("\udcfd\udcff", "\udcfe", "\udcff")


def test_what_a_frame_raises_is_raised(spark: SparkSession) -> None:
    runs = spark.createDataFrame([("q1", "d1", 1.0)], "query string, document string, score double")
    runs = runs.withColumn("score", sql.raise_error(sql.lit("boom")).cast("double"))
    before = len(spark.sparkContext._jsc.getPersistentRDDs())
    with pytest.raises(Exception, match="boom"):
        engine.evaluate(spark.createDataFrame(JUDGED, QRELS), runs, "AP")
    assert len(spark.sparkContext._jsc.getPersistentRDDs()) == before


@pytest.mark.parametrize(
    ("master", "settings", "ours"),
    [("local[2]", {}, True), ("yarn", {}, False), ("local[2]", {"spark.pyspark.python": "env/bin/python"}, False)],
)
def test_workers_on_this_machine_run_this_python(
    master: str, settings: dict[str, str], ours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    context = SimpleNamespace(master=master, getConf=lambda: settings, pythonExec="python3")
    use_this_python(SimpleNamespace(sparkContext=context))
    assert (context.pythonExec == sys.executable) == ours
    use_this_python(SimpleNamespace())  # Spark Connect has no context
