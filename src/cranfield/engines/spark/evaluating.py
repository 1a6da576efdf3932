"""Runs and judgments in Spark DataFrames; scores in another. Only summaries come to the driver."""

from __future__ import annotations

import pickle
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
from cranfield.engines.shards import Job, silence, with_all_judgments, with_own_judgments
from cranfield.engines.spark import frames, reading
from cranfield.engines.spark.comparing import compared
from cranfield.engines.spark.session import everywhere
from cranfield.engines.spark.weights import weights_of
from cranfield.engines.totals import Summary
from cranfield.errors import CranfieldError, InputError
from cranfield.evaluation.columns import Plan, make_plan
from cranfield.evaluation.evaluator import Measures
from cranfield.evaluation.notes import Note, QueryNames
from cranfield.evaluation.policy import Policy
from cranfield.evaluation.run_notes import figure_notes, read_note, subtopic_grades, subtopic_notes, undefined_note
from cranfield.evaluation.scores import MeanScores
from cranfield.formats.judging import NO_SUBTOPIC
from cranfield.intents import with_intents

BROADCAST = 64 << 20  # bytes of judgments up to which every task is given all of them

_RECORDS = frames.schema(RECORD)
_FOUND = "name string, found binary"


def evaluate(
    qrels: Any,
    runs: Any,
    measures: Measures,
    *,
    columns: Mapping[str, str] | None = None,
    qrels_columns: Mapping[str, str] | None = None,
    intents: Any = None,
    corpus: Any = None,
    names: Sequence[str] = (),
    broadcast: int = BROADCAST,
    partitions: int | None = None,
    residuals: bool = False,
    bounds: bool = False,
    **policies: Any,
) -> Scores:
    """The scores of the runs in one Spark DataFrame by the judgments in another, computed where the rows are.

    ``runs`` has a row for each document retrieved, with columns for the run (without one there is one run), the query,
    the document and the score; ``qrels`` one for each judgment. ``columns`` and ``qrels_columns`` say which is which,
    where their names do not. All policies of `cranfield.evaluate` mean the same here: ``ties``, ``depth``,
    ``condensed``, ``terminal``, ``queries``, ``undefined``, ``negative``, ``residuals``, ``bounds``, ``nil``,
    ``full_length``, ``intents``, ``seed``. ``corpus``, for measures that read documents, is a file that `corpus` or
    ``cranfield corpus`` made, a `Corpus` or ``{document: text}``; every task is given all of it.
    Judgments of up to ``broadcast`` bytes go to every task whole; larger ones are brought together with the rows of
    their queries. ``partitions`` is how many tasks there are to be. ``names`` are runs that are told first, in this
    order; others follow by name.

    The work is done here and its result kept by Spark, so that bad input is an error now, and not later.
    """
    plan = make_plan(measures, Policy.of(**policies), residuals=residuals, bounds=bounds)
    named, judged = frames.run_columns(runs, columns, plan), frames.qrels_columns(qrels, qrels_columns)
    judgments = frames.judgments(qrels, judged)
    known = _known(judgments)
    job = Job(plan, "qrels", known["top"], known["subtopics"], named, judged)
    if plan.content_columns:
        job = reading.with_corpus(job, runs.sparkSession, corpus)
    rows = frames.rankings(runs, named)
    notes: list[Note] = [Note("corpus_unused")] if corpus is not None and not plan.content_columns else []
    if known["bytes"] <= broadcast:
        whole = job.judgments(judgments.drop("key").toArrow())
        notes += subtopic_notes(whole, plan.columns)
        if intents is not None:
            whole, said = with_intents(whole, intents)
            notes += said
        given = everywhere(runs.sparkSession, whole)
        shards = frames.sharded(rows, partitions, by_query=False)
        records = shards.mapInArrow(_Everywhere(job, given), _RECORDS)
        silent = judgments.sparkSession.range(1).mapInArrow(_Silence(job, given), _RECORDS)
        records = records.unionByName(silent)
    else:
        if known["subtopics"] and _diverse(judgments):
            notes += subtopic_grades("qrels", plan.columns)
        if intents is not None:
            weights, said = weights_of(judgments, intents, subtopics=known["subtopics"])
            job = replace(job, weights=weights)
            notes += said
        both = rows.unionByName(judgments, allowMissingColumns=True)
        shards = frames.sharded(both, partitions, by_query=True)
        records = shards.mapInArrow(_Apart(job), _RECORDS)
    return _checked(Scores(plan, _kept(records), tuple(notes), tuple(names)), judgments)


def _kept(records: Any) -> Any:
    """The records, to be computed once, in as many tasks as their bytes and not a setting ask for."""
    settings, name = records.sparkSession.conf, "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning"
    before = settings.get(name)
    settings.set(name, "true")
    try:
        return records.persist()
    finally:
        settings.set(name, before)


@dataclass(frozen=True)
class _Everywhere:
    job: Job
    judgments: Any

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        return with_all_judgments(self.job, self.judgments.value, batches)


@dataclass(frozen=True)
class _Silence:
    job: Job
    judgments: Any

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        if any(batch.num_rows for batch in batches):
            yield from silence(self.job, self.judgments.value)


@dataclass(frozen=True)
class _Apart:
    job: Job

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        return with_own_judgments(self.job, batches)


@dataclass(frozen=True)
class _Summaries:
    plan: Plan

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        return totals.summaries(self.plan, batches)


def _known(judgments: Any) -> dict[str, Any]:
    """What only all judgments together tell."""
    size = sql.octet_length("query") + sql.octet_length("document") + sql.lit(24)
    found = judgments.agg(
        sql.count("*").alias("rows"),
        sql.sum(size).alias("bytes"),
        sql.max(sql.when(~sql.isnan("score"), sql.col("score"))).alias("top"),
        sql.min("iteration").alias("first"),
        sql.max("iteration").alias("last"),
    ).first()
    if not found["rows"]:
        raise InputError(["qrels: there is no judgment in it"])
    return {
        "bytes": found["bytes"] or 0,
        "top": float(found["top"] or 0),
        "subtopics": found["first"] != found["last"] or not {found["first"]} <= NO_SUBTOPIC,
    }


def _diverse(judgments: Any) -> bool:
    """`subtopics.diverse`, where the rows are."""
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
    """Scores in Spark: ``frame`` has a row for each run, query and measure; all else is a summary of it.

    What is asked of this that it does not have is asked of the frame: ``scores.write.parquet(path)``.
    """

    plan: Plan
    records: Any
    said: tuple[Note, ...]
    order: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.frame, name)

    @cached_property
    def frame(self) -> Any:
        """A Spark DataFrame with columns run, query, measure and value; what is undefined is null."""
        labels = sql.array(*(sql.lit(label) for label in self.measures))
        value = sql.when(~sql.isnan("value") & (sql.abs("value") != float("inf")), sql.col("value"))
        label = sql.element_at(labels, sql.col("measure") + 1)
        return self._values.select("run", "query", label.alias("measure"), value.alias("value"))

    @property
    def runs(self) -> tuple[str, ...]:
        """The runs in the order asked for, and others by name."""
        return tuple(dict.fromkeys([*self.order, *sorted(self._overview.runs)]))

    @property
    def measures(self) -> tuple[str, ...]:
        """What the columns are called."""
        return tuple(column.label for column in self.plan.columns)

    def compare(self, baseline: str | None = None, *, audit: Audit | None = None, **terms: Any) -> Comparison:
        """Which differences between runs are more than luck: `cranfield.compare`, with its arguments and result.

        Every measure is compared by one task, which holds its values of all runs and queries. What comes back are
        the findings, and the ids of the queries once.
        """
        found = compared(self._values, self.runs, self.plan.columns, self.plan.policy.undefined, baseline, **terms)
        return found if audit is None else found.with_swaps(audit.swaps)

    def mean(self) -> MeanScores:
        """The means of every run, with what `cranfield.Scores` says of them."""
        found = [self._summaries[name] for name in self.runs]
        shape = len(self.runs), len(self.measures)
        return MeanScores(
            self.runs,
            self.plan.columns,
            np.array([one.means(self.plan) for one in found]).reshape(shape),
            np.array([one.sizes(self.plan) for one in found]).reshape(shape),
            self.notes,
        )

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """What a reader of the means has to know, as `cranfield.Scores` has it."""
        plan, found = self.plan, self._summaries
        counted = {"counted": plan.policy.queries, "queries": self._overview.judged}
        notes = [Note("queries_counted", values=counted)]
        for column, names in zip(plan.columns, self._undefined(), strict=True):
            if column.part == "value" and names.count:
                notes.append(undefined_note(column, names, plan.policy))
        notes += self.said
        for name in self.runs:
            notes += figure_notes(name, found[name].figures(plan), plan)
            notes += reading.notes(self._learnt)
            for column, (absent, read) in zip(plan.content_columns, found[name].read, strict=True):
                notes.append(read_note(name, column, absent, read))
        return tuple(dict.fromkeys(notes))

    def _undefined(self) -> list[QueryNames]:
        """For each column the queries that some run has no value for."""
        found = [one.undefined for one in self._summaries.values()]
        if len(found) == 1 or not any(names.count for one in found for names in one):
            return list(found[0])
        pairs = self.frame.where("value is null").select("measure", "query").distinct()
        merged = _merged(pairs.mapInArrow(totals.undefined_names, _FOUND))
        return [merged.get(column.label, QueryNames()) for column in self.plan.columns]

    @cached_property
    def _values(self) -> Any:
        """A row for each run, query that counts, and measure, which here is its place among the columns."""
        counted = {"judged": "judged", "both": "judged and length >= 0", "run": "length >= 0"}[self.plan.policy.queries]
        return self._complete.where(counted).select("run", "query", sql.posexplode("value").alias("measure", "value"))

    @cached_property
    def _learnt(self) -> Integers:
        return reading.learnt(self.plan, self.records)

    @cached_property
    def _overview(self) -> _Overview:
        return _overview(self.records)

    @cached_property
    def _complete(self) -> Any:
        """The records of all runs, those of judged queries that a run does not answer included."""
        given = self.records.where("run is not null")
        if self._overview.complete:
            return given
        silent = self.records.where("run is null and query is not null").drop("run")
        every = given.select("run").distinct().crossJoin(silent)
        left = every.join(given.select("run", "query"), ["run", "query"], "left_anti")
        return given.unionByName(left.select(*(sql.col(name) for name in RECORD)))

    @cached_property
    def _summaries(self) -> dict[str, Summary]:
        return _merged(self._complete.mapInArrow(_Summaries(self.plan), _FOUND))


@dataclass(frozen=True)
class _Overview:
    judged: int
    example: str
    runs: Mapping[str, tuple[int, int, str]]  # judged queries answered, others, and one of the others

    @property
    def complete(self) -> bool:
        """Whether every run answers every judged query."""
        return all(answered == self.judged for answered, _, _ in self.runs.values())


def _overview(records: Any) -> _Overview:
    """Who answers what, by run; or an error with all that is wrong."""
    other = sql.when(~sql.col("judged"), sql.col("query"))
    found = records.groupBy("run").agg(
        sql.count_if("judged").alias("judged"),
        sql.count(other).alias("other"),
        sql.min(other).alias("example"),
        sql.min("query").alias("query"),
        sql.sum("faults").alias("faults"),
    )
    by_run = {row["run"]: row for row in found.collect()}
    nobody = by_run.pop(None)
    if nobody["faults"]:
        raise faulty(records, nobody["faults"])
    runs = {run: (row["judged"], row["other"], row["example"]) for run, row in by_run.items()}
    return _Overview(nobody["judged"], nobody["query"], runs)


def faulty(records: Any, total: int) -> CranfieldError:
    """The faults that shards found, as one error."""
    rows = records.where("fault is not null").select("fault", "hint", "kind").orderBy("fault").limit(InputError.SHOWN)
    found = rows.collect()
    hints = {row["hint"] for row in found}
    hint = hints.pop() if len(hints) == 1 else ""
    kind = getattr(errors, found[0]["kind"])
    if kind is not InputError:
        return kind(found[0]["fault"][0], hint=hint)
    return InputError(sorted({fault for row in found for fault in row["fault"]}), total=total, hint=hint)


def _checked(scores: Scores, judgments: Any) -> Scores:
    """The scores, once the work is done and nothing is wrong with it."""
    plan = scores.plan
    try:
        overview = scores._overview
        if not overview.runs:
            raise InputError(["runs: there is no row in it"])
        if rowless := [run for run in scores.order if run not in overview.runs]:
            raise InputError([f"{run}: there is no row in it" for run in rowless])
        for run, (answered, other, example) in overview.runs.items():
            if plan.policy.queries != "run" and other and not answered:
                raise InputError(
                    [f"{run}: none of its queries is judged (for example `{example}`)"],
                    hint=f"the judgments are for queries such as `{overview.example}`; do the two belong together?",
                )
        reading.check(plan, scores._learnt, judgments)
        if plan.policy.undefined == "error":
            _all_defined(scores)
    except BaseException:
        scores.records.unpersist()
        raise
    return scores


def _all_defined(scores: Scores) -> None:
    for run, found in sorted(scores._summaries.items()):
        for column, names in zip(scores.plan.columns, found.undefined, strict=True):
            if names.count:
                shown = ", ".join(names.first) + (", ..." if names.count > len(names.first) else "")
                raise CranfieldError(
                    f"{column.label} of {run} is undefined for {names.count} of {found.counted} queries: {shown}",
                    hint="no relevant document is judged for them; use undefined = skip, zero or one",
                )


def _merged(parts: Any) -> dict[str, Any]:
    """What tasks packed, added up by name: where the data are first, then here."""
    rows = parts.repartition("name").mapInArrow(totals.merged, _FOUND).collect()
    return {row["name"]: pickle.loads(bytes(row["found"])) for row in rows}
