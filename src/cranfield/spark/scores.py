"""Scores and comparisons of runs in Spark DataFrames. Only summaries come to the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow
from pyarrow import compute
from pyspark.sql import functions as sql

from cranfield import errors
from cranfield.analysis.compare import Comparison, compare_scores
from cranfield.analysis.significance import ComparisonSettings
from cranfield.corpus import Corpus, corpus_file
from cranfield.data import Floats, Integers
from cranfield.errors import CranfieldError, InputError, UsageError
from cranfield.evaluation.collection import Collection, with_intents
from cranfield.evaluation.evaluator import Measures
from cranfield.evaluation.notes import Note, QueryNames, policy_line
from cranfield.evaluation.overlap import other_queries_error
from cranfield.evaluation.plan import Column, Plan, Policy, Shown, make_plan
from cranfield.evaluation.run_notes import (
    MAX_QUERIES,
    check_level,
    divisor_notes,
    figure_notes,
    gain_notes,
    learning_notes,
    level_notes,
    read_note,
    subtopic_grades,
    subtopic_notes,
    undefined_note,
)
from cranfield.evaluation.run_scores import check_readable
from cranfield.evaluation.scores import Scores, ScoreTable
from cranfield.io.tables import NO_SUBTOPIC, are_subtopics
from cranfield.ranking.alignment import no_overlap_error
from cranfield.spark import frames, shards, totals
from cranfield.spark.frames import broadcast as broadcast_value
from cranfield.spark.shards import Job
from cranfield.spark.totals import PACKED_SCHEMA, Summary, id_list, unpack
from cranfield.wording import one_of

BROADCAST = 64 << 20  # judgments of up to this many bytes are sent to every task

# The parts of a collection that are read here; `allow_disjoint` and `name` change no score.
READ = ("qrels", "intents", "documents", "queries", "rel", "nil", "full_length", "negative", "allow_disjoint", "name")

_RECORDS = shards.schema(shards.RECORD)


def check_collection(collection: Collection) -> None:
    """Raise an error if the collection has parts that are not read here."""
    if others := [name for name in collection.chosen if name not in READ]:
        raise UsageError(f"{one_of(others)} cannot be used on Spark", hint="use cranfield.evaluate")


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
) -> ScoreFrame:
    """The scores of the runs in one Spark DataFrame with the judgments in another, computed by Spark's tasks.

    The scores are computed now and persisted by Spark, so that faulty input raises here and not later.

    Parameters
    ----------
    qrels
        A DataFrame with one row per judgment, or a `Collection` of one. Of a collection, intents, NIL, the full length,
        the meaning of negative grades, the table of queries (by `ScoreFrame.collect`) and the documents are used;
        documents for content measures are a file that `corpus` or ``cranfield corpus`` wrote, a `Corpus` or
        ``{document: text}``, which is sent to every task.
    runs
        A DataFrame with one row per retrieved document, with columns for the run (optional if there is one run), the
        query, the document and the score.
    measures, show, **options
        As in `cranfield.evaluate`.
    columns, qrels_columns
        The column for each role, if their names do not say it.
    names
        Runs that come first, in this order; others follow by name.
    broadcast
        Judgments of up to so many bytes, and those with intents, are sent to every task; larger ones are joined with
        the rows of their queries.
    partitions
        The number of tasks.

    Returns
    -------
    ScoreFrame
        Means and notes, and the values of all queries in a DataFrame.

    Examples
    --------
    >>> scores = cf.spark.evaluate(qrels, runs, ["nDCG@10", "RR"], depth=100)  # doctest: +SKIP
    >>> scores["nDCG@10"]["bm25"]  # doctest: +SKIP
    0.61
    """
    collection = Collection.of(qrels)
    qrels, intents, corpus = collection.qrels, collection.intents, collection.documents
    check_collection(collection)
    plan = make_plan(measures, collection.policy(**options), show)
    run_columns, judged_columns = frames.run_columns(runs, columns, plan), frames.qrels_columns(qrels, qrels_columns)
    frames.use_this_python(runs.sparkSession)
    judgments = frames.judgments(qrels, judged_columns)
    facts = _facts(judgments)
    facts["subtopics"] = are_subtopics(judged_columns) or facts["subtopics"]
    job = Job(plan, "qrels", float(facts["grades"].max(initial=0)), facts["subtopics"], run_columns, judged_columns)
    if plan.content_columns:
        job = _with_corpus(job, runs.sparkSession, corpus)
    rows = frames.rankings(runs, run_columns)
    notes: list[Note] = [Note("corpus_unused")] if corpus is not None and not plan.content_columns else []
    check_level(facts["grades"], plan, "qrels")
    below = _below(judgments, facts["grades"], plan.policy.rel)
    notes += [*gain_notes(facts["grades"], plan.columns), *level_notes(below, plan), *divisor_notes(plan)]
    notes += _unanswerable(judgments, plan)
    if facts["bytes"] <= broadcast or intents is not None:
        all_judgments = job.judgments(judgments.drop("key").toArrow())
        notes += subtopic_notes(all_judgments, plan.columns)
        if intents is not None:
            all_judgments, intent_notes = with_intents(all_judgments, intents)
            notes += intent_notes
        shared = broadcast_value(runs.sparkSession, all_judgments)
        sharded = frames.sharded(rows, partitions, by_query=False)
        records = sharded.mapInArrow(partial(shards.with_all_judgments, job, shared), _RECORDS)
        one_row = judgments.sparkSession.range(1)
        records = records.unionByName(one_row.mapInArrow(partial(shards.without_rankings, job, shared), _RECORDS))
    else:
        if facts["subtopics"] and _diverse(judgments):
            notes += subtopic_grades("qrels", plan.columns)
        both = rows.unionByName(judgments, allowMissingColumns=True)
        sharded = frames.sharded(both, partitions, by_query=True)
        records = sharded.mapInArrow(partial(shards.with_own_judgments, job), _RECORDS)
    records = _persist(records)
    try:
        return replace(_summed_up(plan, records, judgments, tuple(notes), names), queries=collection.queries)
    except BaseException:
        records.unpersist()
        raise


def _persist(records: Any) -> Any:
    """Persist the records, so that they are computed once; Spark chooses the number of tasks by their size."""
    settings, name = records.sparkSession.conf, "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning"
    before = settings.get(name)
    settings.set(name, "true")
    try:
        return records.persist()
    finally:
        settings.set(name, before)


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


def _below(judgments: Any, grades: Floats, level: float) -> int:
    """How many documents have a grade above 0 that is below the level."""
    if not ((grades > 0) & (grades < level)).any():
        return 0
    highest = judgments.groupBy("query", "document").agg(sql.max("score").alias("grade"))
    return int(highest.where((sql.col("grade") > 0) & (sql.col("grade") < level)).count())


def _unanswerable(judgments: Any, plan: Plan) -> list[Note]:
    """`unanswerable_notes`, computed by Spark; the first queries are those in the order of ids."""
    level, nil = plan.policy.rel, plan.policy.nil
    relevant = (sql.col("score") >= level) & ~sql.isnan("score")
    if nil is not None:
        relevant &= sql.col("document") != nil
    without = judgments.groupBy("query").agg(sql.max(relevant).alias("relevant")).where("not relevant").select("query")
    count = without.count()
    first = [row["query"] for row in without.orderBy("query").limit(MAX_QUERIES).collect()] if count else []
    return [Note("unanswerable_queries", values={"queries": QueryNames(count, tuple(first))})] if count else []


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


@dataclass(frozen=True, eq=False, repr=False)
class MeanScores(ScoreTable):
    """Means without per-query values, which are in a Spark DataFrame."""

    runs: tuple[str, ...]
    columns: tuple[Column, ...]
    _means: Floats
    _sizes: Integers
    notes: tuple[Note, ...] = ()
    policy: Policy | None = None

    @property
    def _policy(self) -> Mapping[str, Any]:
        return {} if self.policy is None else asdict(self.policy)

    def _query_values(self, run: int, column: int) -> dict[str, float | None]:
        del run, column  # there are no per-query values
        return {}

    def _of_runs(self, rows: Sequence[int]) -> MeanScores:
        runs = tuple(self.runs[r] for r in rows)
        kept = list(rows)
        return replace(self, runs=runs, _means=self._means[kept], _sizes=self._sizes[kept], notes=self._notes_on(runs))

    def _of_columns(self, columns: Sequence[int]) -> MeanScores:
        kept = list(columns)
        names = tuple(self.columns[m] for m in kept)
        return replace(self, columns=names, _means=self._means[:, kept], _sizes=self._sizes[:, kept])


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ScoreFrame(MeanScores):
    """Scores in Spark: means and notes on the driver, and the values of all queries in the DataFrame ``frame``.

    ``records``: what Spark persists, one row per ranking; ``values``: the values of all columns of those that count.
    ``evaluation_notes``: the notes that do not depend on the means. ``queries``: their texts and attributes.

    Examples
    --------
    >>> scores = cf.spark.evaluate(qrels, runs, ["nDCG@10"])  # doctest: +SKIP
    >>> scores["nDCG@10"]["bm25"], scores.frame.columns  # doctest: +SKIP
    (0.61, ['run', 'query', 'measure', 'value'])
    """

    plan: Plan
    records: Any
    values: Any
    evaluation_notes: tuple[Note, ...]
    queries: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @cached_property
    def frame(self) -> Any:
        """A Spark DataFrame with columns run, query, measure and value; undefined values are null."""
        return _frame(self.plan, self.values)

    def _of_runs(self, rows: Sequence[int]) -> MeanScores:
        return self._on_driver._of_runs(rows)

    def _of_columns(self, columns: Sequence[int]) -> MeanScores:
        return self._on_driver._of_columns(columns)

    @property
    def _on_driver(self) -> MeanScores:
        """The means alone: a part of the runs or columns has no frame of its own."""
        return MeanScores(self.runs, self.columns, self._means, self._sizes, self.notes, self.policy)

    def collect(self) -> Scores:
        """The values of all queries on the driver, as `Scores`: eight bytes for each."""
        rows = self.values.toArrow()
        ids = rows.column("query").combine_chunks().dictionary_encode()
        queries = id_list(ids.dictionary)
        of_query, of_run = (
            codes.to_numpy() for codes in (ids.indices, compute.index_in(rows.column("run"), pyarrow.array(self.runs)))
        )
        values = np.full((len(self.runs), len(self.columns), len(queries)), np.nan)
        counted = np.zeros((len(self.runs), len(queries)), bool)
        table = rows.column("value").combine_chunks().flatten().to_numpy(zero_copy_only=False)
        values[of_run, :, of_query] = table.reshape(-1, len(self.columns))
        counted[of_run, of_query] = True
        undefined = self.plan.policy.undefined
        scores = Scores(self.runs, self.columns, tuple(queries), values, counted, undefined, notes=self.notes)
        return scores._with_attributes(self.queries) if self.queries else scores

    def compare(self, baseline: str | None = None, **terms: Any) -> Comparison:
        """Significance of differences between runs: `cranfield.compare` of the collected scores, with its arguments.

        What could reverse a difference is not checked: the rankings are not on the driver.
        """
        settings = ComparisonSettings(baseline=baseline, **terms)
        return replace(compare_scores(self.collect(), settings), policy=policy_line(self, denominator=False))


def _frame(plan: Plan, values: Any) -> Any:
    labels = sql.array(*(sql.lit(column.label) for column in plan.columns))
    value = sql.when(~sql.isnan("value") & (sql.abs("value") != float("inf")), sql.col("value"))
    label = sql.element_at(labels, sql.col("measure") + 1)
    by_measure = values.select("run", "query", sql.posexplode("value").alias("measure", "value"))
    return by_measure.select("run", "query", label.alias("measure"), value.alias("value"))


def _summed_up(
    plan: Plan, records: Any, judgments: Any, evaluation_notes: tuple[Note, ...], order: Sequence[str]
) -> ScoreFrame:
    """The scores of records, after all tasks have finished; raise if there are faults."""
    overview = _overview(records)
    _check_runs(overview, order, plan)
    coverage = _coverage(plan, records, judgments)
    complete = _complete(records, overview)
    summaries: dict[str, Summary] = _merged(complete.mapInArrow(partial(totals.summaries, plan), PACKED_SCHEMA))
    if plan.policy.undefined == "error":
        _check_defined(plan, summaries)
    counted = {"judged": "judged", "both": "judged and length >= 0", "run": "length >= 0"}[plan.policy.queries]
    values = complete.where(counted).select("run", "query", "value")
    runs = tuple(dict.fromkeys([*order, *sorted(overview.runs)]))
    notes: list[Note] = []
    for column, names in zip(plan.columns, _undefined(plan, values, summaries), strict=True):
        if column.part == "value" and names.count:
            notes.append(undefined_note(column, names))
    notes += evaluation_notes
    for name in runs:
        notes += figure_notes(name, summaries[name].figures(plan), plan)
        for counts in coverage:
            notes += learning_notes("qrels", *counts)
        for column, (absent, read) in zip(plan.content_columns, summaries[name].read, strict=True):
            notes.append(read_note(name, column, absent, read))
    means, sizes = ([getattr(summaries[name], part)(plan) for name in runs] for part in ("means", "sizes"))
    return ScoreFrame(
        runs,
        plan.columns,
        np.array(means),
        np.array(sizes),
        tuple(dict.fromkeys(notes)),
        plan.policy,
        plan=plan,
        records=records,
        values=values,
        evaluation_notes=evaluation_notes,
    )


def _undefined(plan: Plan, values: Any, summaries: Mapping[str, Summary]) -> list[QueryNames]:
    """For each column the queries without a value in some run."""
    by_run = [summary.undefined for summary in summaries.values()]
    if len(by_run) == 1 or not any(names.count for undefined in by_run for names in undefined):
        return list(by_run[0])
    pairs = _frame(plan, values).where("value is null").select("measure", "query").distinct()
    merged = _merged(pairs.mapInArrow(totals.undefined_names, PACKED_SCHEMA))
    return [merged.get(column.label, QueryNames()) for column in plan.columns]


def _complete(records: Any, overview: _Overview) -> Any:
    """The records of all runs, with those of judged queries that a run does not have."""
    answered = records.where("run is not null")
    if overview.complete:
        return answered
    empty = records.where("run is null and query is not null").drop("run")
    pairs = answered.select("run").distinct().crossJoin(empty)
    missing = pairs.join(answered.select("run", "query"), ["run", "query"], "left_anti")
    return answered.unionByName(missing.select(*(sql.col(name) for name in shards.RECORD)))


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


def _check_runs(overview: _Overview, order: Sequence[str], plan: Plan) -> None:
    """Raise if there are no runs, if one has no rows, or if one has no judged query."""
    if not overview.runs:
        raise InputError(["runs: the frame has no rows"])
    if empty := [run for run in order if run not in overview.runs]:
        raise InputError([f"{run}: the run has no rows" for run in empty])
    for run, (answered, unjudged, example) in overview.runs.items():
        if plan.policy.queries != "run" and unjudged and not answered:
            raise other_queries_error(run, example, overview.example)


def _check_defined(plan: Plan, summaries: Mapping[str, Summary]) -> None:
    for run, summary in sorted(summaries.items()):
        for column, names in zip(plan.columns, summary.undefined, strict=True):
            if names.count:
                first = ", ".join(names.first) + (", ..." if names.count > len(names.first) else "")
                raise CranfieldError(
                    f"{column.label} of {run} is undefined for {names.count} of {summary.counted} queries: {first}",
                    hint="these queries have no relevant documents; use undefined=skip, zero or one",
                )


def _merged(parts: Any) -> dict[str, Any]:
    """The packed objects of tasks, added up by name in other tasks."""
    return unpack(parts.repartition("name").mapInArrow(totals.merged, PACKED_SCHEMA).collect())


def _with_corpus(job: Job, spark: Any, corpus: Any) -> Job:
    """The job with a corpus, which is sent to every task."""
    check_readable([column.measure for column in job.plan.content_columns], corpus, job.name, subtopics=job.subtopics)
    path = ""
    if isinstance(corpus, Mapping):
        corpus = Corpus.of(corpus)
    elif not isinstance(corpus, Corpus):
        if not corpus_file.is_corpus_file(corpus):
            raise UsageError(
                "on Spark a corpus must be a file of `cranfield corpus`, a Corpus, or {document: text}",
                hint="build the file first, with cranfield corpus or cranfield.spark.corpus",
            )
        corpus, path = Corpus.load(corpus), str(corpus)
    return replace(job, corpus=broadcast_value(spark, corpus), corpus_file=path)


def _coverage(plan: Plan, records: Any, judgments: Any) -> list[list[int]]:
    """`Reading.coverage` of all queries together, by content column; raise if the corpus has no relevant document."""
    if not plan.content_columns:
        return []
    rows = records.where("run is null").select(sql.posexplode("coverage")).groupBy("pos").agg(sql.sum("col"))
    totals = dict(rows.collect())
    coverage = [[int(totals.get(4 * c + i, 0)) for i in range(4)] for c in range(len(plan.content_columns))]
    for column, (absent, relevant, _, _) in zip(plan.content_columns, coverage, strict=True):
        if relevant and absent == relevant:
            rows = judgments.where(sql.col("score") >= column.measure.chosen["rel"])
            raise no_overlap_error("qrels", relevant, rows.agg(sql.min("document")).first()[0])
    return coverage
