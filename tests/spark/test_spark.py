"""Spark keeps the contract of engines, with worker processes of its own, some of which are killed."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import spark_samples
from pyspark import TaskContext
from pyspark.sql import SparkSession
from spark_samples import collected, framed

import cranfield as cf
from cranfield import spark as engine
from cranfield.analysis.compare import Comparison
from cranfield.errors import UsageError
from cranfield.evaluation.collection import split_options
from cranfield.spark.scores import MeanScores
from cranfield.testing import engine_contract
from cranfield.testing.engine_contract import MEASURES, Columns, EngineContract, Evaluated, collection

pytestmark = pytest.mark.filterwarnings("ignore")  # Spark's own, of what it makes of pandas


@pytest.fixture(autouse=True, scope="module")
def _shipped(spark: SparkSession) -> None:
    for file in (spark_samples.__file__, __file__):  # functions of this file run in workers
        spark.sparkContext.addPyFile(file)


def executor() -> int:
    """The process of the executor that this task runs in: the parent of the daemon that made this one."""
    for line in Path(f"/proc/{os.getppid()}/status").read_text().splitlines():
        if line.startswith("PPid:"):
            return int(line.split()[1])
    raise RuntimeError("this process has no grandparent")


def kill(pid: int) -> None:
    """Kill an executor, and wait until it is gone."""
    there = os.pidfd_open(pid)
    assert b"CoarseGrainedExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_bytes()
    signal.pidfd_send_signal(there, signal.SIGKILL)
    gone = select.poll()
    gone.register(there, select.POLLIN)
    assert gone.poll(120_000), "the executor was killed, and is still there"
    os.close(there)


class Fatal:
    """Rows as they are; but whoever comes first to the second partition takes its executor with it."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        if context.partitionId() == 1:
            with contextlib.suppress(FileExistsError):
                os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
                kill(executor())
                os._exit(1)  # nobody is left to take these rows
        yield from batches


class OnSpark(EngineContract):
    broadcast = engine.BROADCAST

    @pytest.fixture(autouse=True)
    def _with(self, spark: SparkSession, tmp_path: Path) -> None:
        self.spark, self.tmp_path = spark, tmp_path
        self.marker: Path | None = None

    def evaluate(self, runs: Sequence[Columns], qrels: Columns, measures: Sequence[str], **policies: Any) -> Evaluated:
        with self.scored(runs, qrels, measures, **policies) as scores:
            return collected(scores)

    def compare(self, runs: Any, qrels: Columns, measures: Any, terms: Any, **policies: Any) -> Comparison:
        with self.scored(runs, qrels, measures, **policies) as scores:
            return scores.compare(**terms)

    @contextlib.contextmanager
    def scored(
        self, runs: Sequence[Columns], qrels: Columns, measures: Sequence[str], **policies: Any
    ) -> Iterator[engine.ScoreFrame]:
        frame = framed(self.spark, runs[0]).coalesce(1)
        for piece in runs[1:]:
            frame = frame.unionByName(framed(self.spark, piece).coalesce(1))
        if self.marker is not None:
            frame = frame.repartition(len(runs)).mapInArrow(Fatal(self.marker), frame.schema)
        judged = framed(self.spark, qrels)
        parts, options = split_options(policies)
        collection = cf.Collection(judged, **parts)
        scores = engine.evaluate(collection, frame, measures, broadcast=self.broadcast, **options)
        try:
            yield scores
        finally:
            scores.records.unpersist()

    @contextlib.contextmanager
    def disturbed(self, runs: Sequence[Columns]) -> Iterator[Sequence[Columns]]:
        self.marker = self.tmp_path / "killed"
        yield runs
        assert self.marker.exists()
        self.marker = None


class TestBroadcast(OnSpark):
    """Judgments that every task has whole."""


class TestApart(OnSpark):
    """Judgments that come with the rows of their queries."""

    broadcast = 0


def test_scores_lost_with_an_executor_are_computed_again(spark: SparkSession) -> None:
    """An executor dies with the scores that it kept: they are computed again, and are the same."""
    runs, qrels = collection(2, queries=30, seed=11)
    scores = engine.evaluate(framed(spark, qrels), framed(spark, runs).repartition(4), MEASURES)

    def pids(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"pid": [executor()]})

    there = spark.range(8, numPartitions=8).mapInArrow(pids, "pid long").distinct().collect()
    kill(there[0]["pid"])
    engine_contract.same(collected(scores), engine_contract.local([runs], qrels, MEASURES))


def test_the_order_given(spark: SparkSession) -> None:
    """Ties in the order of rows, where a column has it; an error where none does."""
    runs, qrels = collection(1, queries=5, seed=12)
    numbered = {**runs, "row": list(range(len(runs["run"])))}
    asked = ["AP[ties=input]", "nDCG[ties=rank]"]
    scores = engine.evaluate(framed(spark, qrels), framed(spark, numbered).repartition(3), asked)
    engine_contract.same(collected(scores), engine_contract.local([runs], qrels, asked))
    with pytest.raises(cf.InputError, match="a Spark DataFrame has no order"):
        engine.evaluate(framed(spark, qrels), framed(spark, runs), asked)


def test_values_on_the_driver(spark: SparkSession) -> None:
    """Scores that every other part of the library takes."""
    runs, qrels = collection(2, queries=9, seed=3)
    collected_scores = engine.evaluate(framed(spark, qrels), framed(spark, runs), MEASURES).collect()
    rows = {(one.run, one.query, one.measure): one.value for one in collected_scores}
    expected = engine_contract.local([runs], qrels, MEASURES).rows
    assert rows.keys() == expected.keys()
    assert all(value == expected[key] or (np.isnan(value) and expected[key] is None) for key, value in rows.items())


def test_means_without_queries_are_shown_too() -> None:
    scores = cf.evaluate({"q": {"a": 1}}, {"llm": {"q": ["b", "a"]}}, ["AP", "RR"])
    means = MeanScores(scores.runs, scores.columns, scores._means, scores._sizes)
    assert "0.5000" in means._repr_html_()
    assert means["AP"]["llm"] == 0.5
    with pytest.raises(UsageError, match="needs per-query values"):
        means["AP"].plot()


def test_columns_by_other_names_and_types(spark: SparkSession) -> None:
    rows = [(7, 1, Decimal("0.5")), (7, 2, Decimal("0.25"))]
    runs = spark.createDataFrame(rows, "qid int, docno long, sim decimal(5, 3)")
    qrels = spark.createDataFrame([("7", b"2", 1)], "topic string, passage binary, label smallint")
    scores = engine.evaluate(qrels, runs, "RR", qrels_columns={"document": "passage"})
    assert [tuple(row) for row in scores.frame.collect()] == [("run", "7", "RR", 0.5)]


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        (
            "query string, document string, score string",
            "runs: column `score` is string; the score must be a number\n\nhint: cast the column first",
        ),
        (
            "query double, document string, score double",
            "runs: column `query` is double; an id must be text\n\nhint: cast the column first",
        ),
    ],
)
def test_types(spark: SparkSession, runs: str, message: str) -> None:
    qrels = spark.createDataFrame([("q", "d", 1)], "query string, document string, grade int")
    with pytest.raises(cf.InputError) as error:
        engine.evaluate(qrels, spark.createDataFrame([], runs), "AP")
    assert str(error.value) == message


def test_an_error_in_full(spark: SparkSession) -> None:
    runs = spark.createDataFrame(
        [("bm25", "q1", "d1", float("nan"))], "run string, qid string, docno string, sim double"
    )
    qrels = spark.createDataFrame([("q1", "d1", 1)], "qid string, docno string, rel int")
    with pytest.raises(cf.InputError) as error:
        engine.evaluate(qrels, runs, "AP")
    assert str(error.value) == (
        "bm25: query `q1`, document `d1`: the score in column `sim` is NaN\n\n"
        "hint: NaN cannot be ordered; remove the document, or give it a score"
    )


def test_nothing_to_evaluate(spark: SparkSession) -> None:
    runs = spark.createDataFrame([], "query string, document string, score double")
    qrels = spark.createDataFrame([("q1", "d1", 1)], "query string, document string, grade int")
    with pytest.raises(cf.InputError, match="runs: the frame has no rows"):
        engine.evaluate(qrels, runs, "AP")
    with pytest.raises(cf.InputError, match="qrels: the frame has no judgments"):
        engine.evaluate(qrels.limit(0), runs, "AP")
    with pytest.raises(cf.CranfieldError, match="AP of run is undefined for 1 of 1 queries: q1"):
        some = spark.createDataFrame([("q1", "d1", 1.0)], "query string, document string, score double")
        engine.evaluate(qrels.selectExpr("query", "document", "0 as grade"), some, "AP", undefined="error")


def test_every_measure_and_view_of_a_track(spark: SparkSession, tmp_path: Path) -> None:
    """Runs with ties and with lists that end early, to the last bit; and some of them in every other view."""
    made = cf.simulate(queries=12, systems=9, documents=1000, depth=100, ties=0.5, truncate=0.4, seed=1)
    paths, tables = [], []
    for run in made.runs:
        paths.append(str(tmp_path / f"{run.name}.run"))
        cf.io.write_run(run, paths[-1])  # with ranks, which it has from there
        table = cf.io.load(cf.read_run(paths[-1]))
        columns = {
            "query": list(table.query),
            "document": list(table.document),
            "score": table.score,
            "rank": table.rank,
        }
        tables.append(pa.table({"run": [run.name] * len(table.score), **columns}))
    judged = replace(made.judgments, labels=None)
    counts = (judged.begin[1:] - judged.begin[:-1]).tolist()
    of_query = [query for query, count in zip(judged.queries, counts, strict=True) for _ in range(count)]
    qrels = spark.createDataFrame(
        pa.table({"query": of_query, "document": list(judged.documents), "grade": judged.grade})
    )
    runs = spark.createDataFrame(pa.concat_tables(tables)).repartition(8).persist()
    others = ("subtopics", "content", "preferences", "sampled", "collection", "documents", "spans")
    plain = [d for d in cf.measures.CATALOGUE.values() if not any(getattr(d, kind) for kind in others)]
    cut = {"required": "@10", "recall": "@0.2"}
    names = [d.symbol + cut.get(d.cutoff, "") for d in plain]
    ends = [d.symbol + cut.get(d.cutoff, "") for d in plain if not d.terminal]
    few = paths[::3]
    some = runs.where(runs.run.isin([run.name for run in made.runs[::3]])).persist()
    views = ["ties=expected", "ties=worst, depth=50", "ties=trec9, condensed", "ties=best, depth=20, condensed"]
    viewed = [f"{name}[{view}]" for view in views for name in names]
    viewed += [f"{name}[{view}]" for view in ("terminal", "ties=worst, condensed, terminal") for name in ends]
    for given, chosen, measures, policies in (
        (runs, paths, names, {}),
        (some, few, viewed, {}),
        (some, few, names, {"ties": "rank", "negative": "nonrel"}),
    ):
        parts, options = split_options(policies)
        scores = engine.evaluate(cf.Collection(qrels, **parts), given, measures, **options)
        local = cf.evaluate(cf.Collection(judged, **parts), chosen, measures, **options)
        engine_contract.same(collected(scores), engine_contract.evaluated(local))
        scores.records.unpersist()
