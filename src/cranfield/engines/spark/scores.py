"""Scores of runs in Spark DataFrames. Only summaries come to the driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from pyspark.sql import functions as sql

from cranfield import errors
from cranfield.analysis.audit import Audit
from cranfield.analysis.compare import Comparison
from cranfield.data import Integers
from cranfield.engines import totals
from cranfield.engines.records import RECORD
from cranfield.engines.shards import Job, empty_records, with_all_judgments, with_own_judgments
from cranfield.engines.spark import content, frames
from cranfield.engines.spark.comparison import compare_runs
from cranfield.engines.spark.session import broadcast as broadcast_value
from cranfield.engines.spark.weights import weights_of
from cranfield.engines.totals import PACKED_SCHEMA, Summary, unpack
from cranfield.errors import CranfieldError, InputError, UsageError
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.columns import Plan, Shown, make_plan
from cranfield.evaluation.evaluator import Measures
from cranfield.evaluation.intents import with_intents
from cranfield.evaluation.notes import Note, QueryNames
from cranfield.evaluation.run_notes import (
    figure_notes,
    gain_notes,
    read_note,
    subtopic_grades,
    subtopic_notes,
    undefined_note,
)
from cranfield.evaluation.scores import MeanScores
from cranfield.io.judgments import NO_SUBTOPIC
from cranfield.wording import one_of

BROADCAST = 64 << 20  # judgments of up to this many bytes are sent to every task

NOT_HERE = ("prefs", "groups", "types", "costs", "predicted")  # parts of a collection that Spark does not read

_RECORDS = frames.schema(RECORD)


def evaluate(
    qrels: Any,
    runs: Any,
    measures: Measures,
    *,
    columns: Mapping[str, str] | None = None,
    qrels_columns: Mapping[str, str] | None = None,
    names: Sequence[str] = (),
    broadcast: int = BROADCAST,
    partitions: int | None = None,
    show: Shown | Sequence[Shown] = (),
    **options: Any,
) -> Scores:
    """The scores of the runs in one Spark DataFrame with the judgments in another, computed by Spark's tasks.

    ``runs`` has one row per retrieved document, with columns for the run (optional if there is one run), the query, the
    document and the score; ``qrels`` has one row per judgment, or is a `Collection` of such a frame. ``columns`` and
    ``qrels_columns`` give the column for each role, if their names do not. ``show`` and ``options`` are those of
    `cranfield.evaluate`. Of a collection, intents, NIL, the full length, the meaning of negative grades and the
    documents are used; documents for content measures are a file that `corpus` or ``cranfield corpus`` wrote, a
    `Corpus` or ``{document: text}``, which is sent to every task.
    Judgments of up to ``broadcast`` bytes are sent to every task; larger ones are joined with the rows of their
    queries. ``partitions`` is the number of tasks. ``names`` are runs that come first, in this order; others follow by
    name.

    The scores are computed now and persisted by Spark, so that faulty input raises here and not later.
    """
    collection = Collection.of(qrels)
    qrels, intents, corpus = collection.qrels, collection.intents, collection.documents
    if unsupported := [name for name in NOT_HERE if name in collection.given]:
        raise UsageError(f"{one_of(unsupported)} cannot be used on Spark", hint="use cranfield.evaluate")
    plan = make_plan(measures, collection.policy(**options), show)
    run_columns, judged_columns = frames.run_columns(runs, columns, plan), frames.qrels_columns(qrels, qrels_columns)
    judgments = frames.judgments(qrels, judged_columns)
    facts = _facts(judgments)
    job = Job(plan, "qrels", float(facts["grades"].max(initial=0)), facts["subtopics"], run_columns, judged_columns)
    if plan.content_columns:
        job = content.with_corpus(job, runs.sparkSession, corpus)
    rows = frames.rankings(runs, run_columns)
    notes: list[Note] = [Note("corpus_unused")] if corpus is not None and not plan.content_columns else []
    notes += gain_notes(facts["grades"], plan.columns)
    if facts["bytes"] <= broadcast:
        all_judgments = job.judgments(judgments.drop("key").toArrow())
        notes += subtopic_notes(all_judgments, plan.columns)
        if intents is not None:
            all_judgments, intent_notes = with_intents(all_judgments, intents)
            notes += intent_notes
        shared = broadcast_value(runs.sparkSession, all_judgments)
        shards = frames.sharded(rows, partitions, by_query=False)
        records = shards.mapInArrow(_WithAllJudgments(job, shared), _RECORDS)
        empty = judgments.sparkSession.range(1).mapInArrow(_EmptyRecords(job, shared), _RECORDS)
        records = records.unionByName(empty)
    else:
        if facts["subtopics"] and _diverse(judgments):
            notes += subtopic_grades("qrels", plan.columns)
        if intents is not None:
            weights, intent_notes = weights_of(judgments, intents, subtopics=facts["subtopics"])
            job = replace(job, weights=weights)
            notes += intent_notes
        both = rows.unionByName(judgments, allowMissingColumns=True)
        shards = frames.sharded(both, partitions, by_query=True)
        records = shards.mapInArrow(_WithOwnJudgments(job), _RECORDS)
    return _checked(Scores(plan, _persist(records), tuple(notes), tuple(names)), judgments)


def _persist(records: Any) -> Any:
    """Persist the records, so that they are computed once; Spark chooses the number of tasks by their size."""
    settings, name = records.sparkSession.conf, "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning"
    before = settings.get(name)
    settings.set(name, "true")
    try:
        return records.persist()
    finally:
        settings.set(name, before)


@dataclass(frozen=True)
class _WithAllJudgments:
    job: Job
    judgments: Any

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        return with_all_judgments(self.job, self.judgments.value, batches)


@dataclass(frozen=True)
class _EmptyRecords:
    job: Job
    judgments: Any

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        if any(batch.num_rows for batch in batches):
            yield from empty_records(self.job, self.judgments.value)


@dataclass(frozen=True)
class _WithOwnJudgments:
    job: Job

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        return with_own_judgments(self.job, batches)


@dataclass(frozen=True)
class _Summaries:
    plan: Plan

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        return totals.summaries(self.plan, batches)


def _facts(judgments: Any) -> dict[str, Any]:
    """Facts about all judgments: size, different grades, and whether there are subtopics."""
    size = sql.octet_length("query") + sql.octet_length("document") + sql.lit(24)
    row = judgments.agg(
        sql.count("*").alias("rows"),
        sql.sum(size).alias("bytes"),
        sql.collect_set(sql.when(~sql.isnan("score"), sql.col("score"))).alias("grades"),
        sql.min("iteration").alias("first"),
        sql.max("iteration").alias("last"),
    ).first()
    if not row["rows"]:
        raise InputError(["qrels: the frame has no judgments"])
    return {
        "bytes": row["bytes"] or 0,
        "grades": np.array(row["grades"], np.float64),
        "subtopics": row["first"] != row["last"] or not {row["first"]} <= NO_SUBTOPIC,
    }


def _diverse(judgments: Any) -> bool:
    """`subtopics.diverse`, computed by Spark."""
    relevant = judgments.where("score > 0").groupBy("query").agg(sql.countDistinct("iteration").alias("many"))
    most = relevant.agg(sql.max("many")).first()[0] or 0
    if most != 2:
        return bool(most > 2)
    distinct = judgments.agg(
        sql.countDistinct("query", "document"), sql.countDistinct("query", "document", "iteration")
    )
    documents, labels = distinct.first()
    return bool(labels > documents)


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores in Spark: ``frame`` has one row per run, query and measure; everything else is a summary of it.

    Other attributes are those of the frame: ``scores.write.parquet(path)``.
    """

    plan: Plan
    records: Any
    evaluation_notes: tuple[Note, ...]
    order: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.frame, name)

    @cached_property
    def frame(self) -> Any:
        """A Spark DataFrame with columns run, query, measure and value; undefined values are null."""
        labels = sql.array(*(sql.lit(label) for label in self.measures))
        value = sql.when(~sql.isnan("value") & (sql.abs("value") != float("inf")), sql.col("value"))
        label = sql.element_at(labels, sql.col("measure") + 1)
        return self._values.select("run", "query", label.alias("measure"), value.alias("value"))

    @property
    def runs(self) -> tuple[str, ...]:
        """The runs: first those in the given order, then others by name."""
        return tuple(dict.fromkeys([*self.order, *sorted(self._overview.runs)]))

    @property
    def measures(self) -> tuple[str, ...]:
        """The labels of the columns."""
        return tuple(column.label for column in self.plan.columns)

    def compare(self, baseline: str | None = None, *, audit: Audit | None = None, **terms: Any) -> Comparison:
        """Significance of differences between runs: `cranfield.compare`, with its arguments and result.

        One task per measure has the values of all runs and queries. Only the outcomes, and once the ids of the queries,
        come to the driver.
        """
        comparison = compare_runs(
            self._values, self.runs, self.plan.columns, self.plan.policy.undefined, baseline, **terms
        )
        return comparison if audit is None else comparison.with_swaps(audit.swaps)

    def mean(self) -> MeanScores:
        """The means of every run, with the notes of `cranfield.Scores`."""
        summaries = [self._summaries[name] for name in self.runs]
        shape = len(self.runs), len(self.measures)
        return MeanScores(
            self.runs,
            self.plan.columns,
            np.array([summary.means(self.plan) for summary in summaries]).reshape(shape),
            np.array([summary.sizes(self.plan) for summary in summaries]).reshape(shape),
            self.notes,
        )

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """Notes on the means, as in `cranfield.Scores`."""
        plan, summaries = self.plan, self._summaries
        counted = {"counted": plan.policy.queries, "queries": self._overview.judged}
        notes = [Note("queries_counted", values=counted)]
        for column, names in zip(plan.columns, self._undefined(), strict=True):
            if column.part == "value" and names.count:
                notes.append(undefined_note(column, names, plan.policy))
        notes += self.evaluation_notes
        for name in self.runs:
            notes += figure_notes(name, summaries[name].figures(plan), plan)
            notes += content.notes(self._coverage)
            for column, (absent, read) in zip(plan.content_columns, summaries[name].read, strict=True):
                notes.append(read_note(name, column, absent, read))
        return tuple(dict.fromkeys(notes))

    def _undefined(self) -> list[QueryNames]:
        """For each column the queries without a value in some run."""
        by_run = [summary.undefined for summary in self._summaries.values()]
        if len(by_run) == 1 or not any(names.count for undefined in by_run for names in undefined):
            return list(by_run[0])
        pairs = self.frame.where("value is null").select("measure", "query").distinct()
        merged = _merged(pairs.mapInArrow(totals.undefined_names, PACKED_SCHEMA))
        return [merged.get(column.label, QueryNames()) for column in self.plan.columns]

    @cached_property
    def _values(self) -> Any:
        """One row per run, counted query and measure; the measure is an index of the columns."""
        counted = {"judged": "judged", "both": "judged and length >= 0", "run": "length >= 0"}[self.plan.policy.queries]
        return self._complete.where(counted).select("run", "query", sql.posexplode("value").alias("measure", "value"))

    @cached_property
    def _coverage(self) -> Integers:
        return content.coverage(self.plan, self.records)

    @cached_property
    def _overview(self) -> _Overview:
        return _overview(self.records)

    @cached_property
    def _complete(self) -> Any:
        """The records of all runs, with those of judged queries that a run does not have."""
        answered = self.records.where("run is not null")
        if self._overview.complete:
            return answered
        empty = self.records.where("run is null and query is not null").drop("run")
        pairs = answered.select("run").distinct().crossJoin(empty)
        missing = pairs.join(answered.select("run", "query"), ["run", "query"], "left_anti")
        return answered.unionByName(missing.select(*(sql.col(name) for name in RECORD)))

    @cached_property
    def _summaries(self) -> dict[str, Summary]:
        return _merged(self._complete.mapInArrow(_Summaries(self.plan), PACKED_SCHEMA))


@dataclass(frozen=True)
class _Overview:
    judged: int
    example: str
    runs: Mapping[str, tuple[int, int, str]]  # judged queries answered, unjudged queries, and an example of these

    @property
    def complete(self) -> bool:
        """Whether every run has every judged query."""
        return all(answered == self.judged for answered, _, _ in self.runs.values())


def _overview(records: Any) -> _Overview:
    """The queries of each run; raise if there are faults."""
    unjudged = sql.when(~sql.col("judged"), sql.col("query"))
    by_run_frame = records.groupBy("run").agg(
        sql.count_if("judged").alias("judged"),
        sql.count(unjudged).alias("unjudged"),
        sql.min(unjudged).alias("example"),
        sql.min("query").alias("query"),
        sql.sum("faults").alias("faults"),
    )
    by_run = {row["run"]: row for row in by_run_frame.collect()}
    no_run = by_run.pop(None)
    if no_run["faults"]:
        raise collect_faults(records, no_run["faults"])
    runs = {run: (row["judged"], row["unjudged"], row["example"]) for run, row in by_run.items()}
    return _Overview(no_run["judged"], no_run["query"], runs)


def collect_faults(records: Any, total: int) -> CranfieldError:
    """The faults of all shards, as one error."""
    rows = records.where("fault is not null").select("fault", "hint", "kind").orderBy("fault").limit(InputError.SHOWN)
    faults = rows.collect()
    hints = {row["hint"] for row in faults}
    hint = hints.pop() if len(hints) == 1 else ""
    error_type = getattr(errors, faults[0]["kind"])
    if error_type is not InputError:
        return error_type(faults[0]["fault"][0], hint=hint)
    return InputError(sorted({fault for row in faults for fault in row["fault"]}), total=total, hint=hint)


def _checked(scores: Scores, judgments: Any) -> Scores:
    """The scores after all tasks have finished; raise if there are faults."""
    plan = scores.plan
    try:
        _check_runs(scores)
        content.check(plan, scores._coverage, judgments)
        if plan.policy.undefined == "error":
            _check_defined(scores)
    except BaseException:
        scores.records.unpersist()
        raise
    return scores


def _check_runs(scores: Scores) -> None:
    """Raise if there are no runs, if one has no rows, or if one has no judged query."""
    overview = scores._overview
    if not overview.runs:
        raise InputError(["runs: the frame has no rows"])
    if empty := [run for run in scores.order if run not in overview.runs]:
        raise InputError([f"{run}: the run has no rows" for run in empty])
    for run, (answered, unjudged, example) in overview.runs.items():
        if scores.plan.policy.queries != "run" and unjudged and not answered:
            raise InputError(
                [f"{run}: none of its queries is judged (for example `{example}`)"],
                hint=f"the judgments cover queries such as `{overview.example}`; check that both belong to the same "
                "collection",
            )


def _check_defined(scores: Scores) -> None:
    for run, summary in sorted(scores._summaries.items()):
        for column, names in zip(scores.plan.columns, summary.undefined, strict=True):
            if names.count:
                first = ", ".join(names.first) + (", ..." if names.count > len(names.first) else "")
                raise CranfieldError(
                    f"{column.label} of {run} is undefined for {names.count} of {summary.counted} queries: {first}",
                    hint="these queries have no relevant documents; use undefined=skip, zero or one",
                )


def _merged(parts: Any) -> dict[str, Any]:
    """The packed objects of tasks, added up by name in other tasks."""
    return unpack(parts.repartition("name").mapInArrow(totals.merged, PACKED_SCHEMA).collect())
