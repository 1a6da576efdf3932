"""Content measures on Spark: the corpus for every task, and how much of the judgments it covers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from pyspark.sql import functions as sql

from cranfield.corpus import Corpus, corpus_file
from cranfield.data import Integers
from cranfield.engines.shards import Job
from cranfield.engines.spark.session import broadcast
from cranfield.errors import UsageError
from cranfield.evaluation.columns import Plan
from cranfield.evaluation.notes import Note
from cranfield.evaluation.run_notes import learning_notes
from cranfield.ranking.unjudged import check_readable, no_overlap_error


def with_corpus(job: Job, spark: Any, corpus: Any) -> Job:
    """The job with a corpus, which is sent to every task."""
    check_readable([column.measure for column in job.plan.content_columns], corpus, job.name, subtopics=job.subtopics)
    path = ""
    if isinstance(corpus, Mapping):
        corpus = Corpus.of(corpus)
    elif not isinstance(corpus, Corpus):
        if not corpus_file.is_corpus_file(corpus):
            raise UsageError(
                "on Spark a corpus must be a file of `cranfield corpus`, a Corpus, or {document: text}",
                hint="build the file first, with cranfield corpus or cranfield.engines.spark.corpus",
            )
        corpus, path = Corpus.load(corpus), str(corpus)
    return replace(job, corpus=broadcast(spark, corpus), corpus_file=path)


def coverage(plan: Plan, records: Any) -> Integers:
    """`Reading.coverage` of all queries together, (content column, 4)."""
    totals = np.zeros(4 * len(plan.content_columns), np.int64)
    if plan.content_columns:
        rows = records.where("run is null").select(sql.posexplode("coverage")).groupBy("pos").agg(sql.sum("col"))
        for position, total in rows.collect():
            totals[position] = total
    return totals.reshape(-1, 4)


def check(plan: Plan, coverage: Integers, judgments: Any) -> None:
    """Raise if the corpus has none of the relevant documents."""
    for column, (absent, relevant, _, _) in zip(plan.content_columns, coverage.tolist(), strict=True):
        if relevant and absent == relevant:
            rows = judgments.where(sql.col("score") >= column.measure.chosen["rel"])
            name = "qrels"
            raise no_overlap_error(name, relevant, rows.agg(sql.min("document")).first()[0])


def notes(coverage: Integers) -> Iterator[Note]:
    """Notes on relevant documents that the corpus does not have."""
    for counts in coverage.tolist():
        yield from learning_notes("qrels", *counts)
