"""Measures that read documents, on Spark: a corpus for every task, and what is to know of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from pyspark.sql import functions as sql

from cranfield.corpus import Corpus, corpus_file
from cranfield.data import Integers
from cranfield.engines.shards import Job
from cranfield.engines.spark.session import everywhere
from cranfield.errors import UsageError
from cranfield.evaluation.columns import Plan
from cranfield.evaluation.notes import Note
from cranfield.evaluation.run_notes import learning_notes
from cranfield.ranking.unjudged import check_readable, no_overlap_error


def with_corpus(job: Job, spark: Any, corpus: Any) -> Job:
    """The job with the words of documents, which every task is given once."""
    check_readable([column.measure for column in job.plan.content_columns], corpus, job.name, subtopics=job.subtopics)
    place = ""
    if isinstance(corpus, Mapping):
        corpus = Corpus.of(corpus)
    elif not isinstance(corpus, Corpus):
        if not corpus_file.is_corpus_file(corpus):
            raise UsageError(
                "on Spark a corpus is a file that `cranfield corpus` made, a Corpus, or {document: text}",
                hint="make the file of the collection first: cranfield corpus, or cranfield.engines.spark.corpus",
            )
        corpus, place = Corpus.load(corpus), str(corpus)
    return replace(job, corpus=everywhere(spark, corpus), corpus_from=place)


def learnt(plan: Plan, records: Any) -> Integers:
    """`Reading.coverage` of all queries together, (column that reads, 4)."""
    found = np.zeros(4 * len(plan.content_columns), np.int64)
    if plan.content_columns:
        rows = records.where("run is null").select(sql.posexplode("learnt")).groupBy("pos").agg(sql.sum("col"))
        for place, total in rows.collect():
            found[place] = total
    return found.reshape(-1, 4)


def check(plan: Plan, learnt: Integers, judgments: Any) -> None:
    """An error where the corpus has none of the relevant documents."""
    for column, (absent, relevant, _, _) in zip(plan.content_columns, learnt.tolist(), strict=True):
        if relevant and absent == relevant:
            rows = judgments.where(sql.col("score") >= column.measure.chosen["rel"])
            raise no_overlap_error("qrels", relevant, rows.agg(sql.min("document")).first()[0])


def notes(learnt: Integers) -> Iterator[Note]:
    """How much of what could have been learnt the corpus does not have."""
    for counts in learnt.tolist():
        yield from learning_notes("qrels", *counts)
