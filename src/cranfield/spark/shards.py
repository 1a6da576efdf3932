"""Scores of a shard of complete queries: Arrow rows in, one record for every ranking out.

A record has the values of all columns for one run and query, and the numbers for notes. Records without a run have the
scores of a run that does not have the query. Faulty input becomes a record and not an exception: Spark would retry the
task, and would hide the message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
from pyarrow import compute

from cranfield.corpus.corpus import top_documents
from cranfield.corpus.corpus_file import REBUILD_HINT
from cranfield.data import Booleans, Integers, Judgments, Run, Strings, Table, TextView
from cranfield.errors import CranfieldError, InputError, UsageError
from cranfield.evaluation.plan import Column, Plan
from cranfield.evaluation.run_notes import (
    documents_read,
    judged_above,
    limited_by_ties,
    noted_depths,
    unknown_tie_effect,
)
from cranfield.evaluation.run_scores import RunReader, RunScores
from cranfield.io.columns import Columns, arrow_binary
from cranfield.io.faults import Location, quotable
from cranfield.io.tables import qrels_table, run_table
from cranfield.ranking.views import with_nil

# Rows that are scored together: a compromise between the number of Python calls and memory.
ROWS = 1 << 19

# The key of a row: a hash of the query, with the last bits for the run, or 0 for judgments. Sorted by key, the rows of
# a ranking are together, after the judgments of the query. Keys may collide, so ids are compared as well.
RUN_BITS = 24
RUN_MASK = (1 << RUN_BITS) - 1

RUN_ROLES = {role: role for role in ("query", "document", "score")}
RANKED_ROLES = {**RUN_ROLES, "rank": "rank"}
QRELS_ROLES = {"query": "query", "document": "document", "grade": "score", "iteration": "iteration"}

# The columns of records, by Spark's names of types.
FAULT = {"fault": "array<string>", "faults": "bigint", "hint": "string", "kind": "string"}
RECORD = {
    "run": "string",
    "query": "string",
    "judged": "boolean",
    "length": "bigint",  # documents retrieved; -1 if the run does not have the query
    "value": "array<double>",  # by column
    "worst": "array<double>",  # by column, with ties at their worst; null if ties do not matter
    "best": "array<double>",
    "error": "array<double>",  # by column, of sampled tie orders; null without sampling
    "seen": "array<double>",  # judged documents up to each depth
    "read": "array<double>",  # by content column: `documents_read`
    "coverage": "array<double>",  # by content column, without a run: `Reading.coverage`
    "unbounded": "array<boolean>",  # by column: has no bounds (lowest), or unknown effect of ties (value); null if none
    **FAULT,
}
TOP_DOCUMENT = {"query": "binary", "document": "binary", **FAULT}


def schema(record: Mapping[str, str]) -> str:
    """Spark's schema of records with these columns."""
    return ", ".join(f"`{name}` {kind}" for name, kind in record.items())


def arrow_type(kind: str) -> Any:
    """Arrow's type for a type of Spark."""
    if kind.startswith("array<"):
        return pyarrow.list_(arrow_type(kind[len("array<") : -1]))
    return pyarrow.type_for_alias({"bigint": "int64", "boolean": "bool"}.get(kind, kind))


def record_batch(record: Mapping[str, str], rows: int, **columns: Any) -> Any:
    """Records with these columns; all others are null."""
    arrays = []
    for name, kind in record.items():
        values, type = columns.get(name), arrow_type(kind)
        if values is None:
            values = pyarrow.nulls(rows, type)
        arrays.append(values if isinstance(values, pyarrow.Array) else pyarrow.array(values, type))
    return pyarrow.RecordBatch.from_arrays(arrays, names=list(record))


def fault_record(error: CranfieldError, record: Mapping[str, str] = RECORD) -> Any:
    """An error as a record."""
    faults = list(error.faults) if isinstance(error, InputError) else [error.message]
    total = error.total if isinstance(error, InputError) else 1
    return record_batch(record, 1, fault=[faults], faults=[total], hint=[error.hint], kind=[type(error).__name__])


def binary(strings: Strings) -> Any:
    """Ids as an Arrow array of bytes."""
    return arrow_binary(strings).cast(pyarrow.binary())


@dataclass(frozen=True)
class Job:
    """What every task needs: the plan, facts about all judgments, and the names of columns."""

    plan: Plan
    name: str  # of the judgments
    top_grade: float  # the highest of all judgments
    subtopics: bool  # whether iterations are subtopics
    run_columns: Mapping[str, str] = field(default_factory=dict)
    qrels_columns: Mapping[str, str] = field(default_factory=dict)
    corpus: Any = None  # for content measures: its ``value`` is a `Corpus`
    corpus_file: str = ""  # its file, which may have been built without some needed documents

    def __post_init__(self) -> None:
        for column in self.plan.columns:
            needs = ""
            if column.measure.definition.collection:
                needs = "the judgments of all queries, and a task has those of some"
            elif column.measure.definition.sampled or column.measure.views.sampled:
                needs = "to know how documents were drawn, and a task does not"
            elif column.measure.definition.documents:
                needs = "the ids and attributes of documents, and a task does not have them"
            if needs:
                raise UsageError(f"{column.measure} needs {needs}", hint="use cranfield.evaluate")

    def reader(self, judgments: Judgments) -> RunReader:
        """A reader of the rankings of a shard."""
        nil_rows = None
        if self.plan.policy.nil is not None:
            judgments, nil_rows = with_nil(judgments, self.plan.policy.nil, self.top_grade)
        corpus = self.corpus.value if self.plan.content_columns else None
        return RunReader(
            judgments, self.plan.columns, self.plan.policy, nil=nil_rows, top_grade=self.top_grade, corpus=corpus
        )

    def run(self, name: str | None, rows: Any) -> Run:
        """The run of these rows."""
        if name is None:
            raise _unnamed_run_error(self, rows)
        score_column = self.run_columns.get("score", self.run_columns.get("rank", ""))
        location = Location(quotable(name), "run", "entry", score_column)
        if "row" in rows.schema.names:
            _check_order(self, location.source_name, rows)
        roles = RANKED_ROLES if "rank" in rows.schema.names else RUN_ROLES
        frame, columns = _with_user_names(rows, roles, self.run_columns)
        return Run(name, run_table(frame, columns, location), location.source_name)

    def check_documents(self, source_name: str, documents: Mapping[str, Iterable[str]]) -> None:
        """Raise if the corpus was built without some of these documents, given by query."""
        if not self.corpus_file:
            return
        unknown = {query: self.corpus.value.not_requested(names) for query, names in documents.items()}
        faults = [
            f"{source_name}: query `{quotable(query)}`, document `{quotable(name)}`: "
            f"{self.corpus_file} was built without it"
            for query, names in unknown.items()
            for name in sorted(names)
        ]
        if faults:
            raise InputError(faults, hint=REBUILD_HINT.format(self.corpus_file))

    def judgments(self, rows: Any) -> Judgments:
        """Judgments from rows of a shard."""
        location = Location(self.name, "qrels", "entry", self.qrels_columns.get("grade", ""))
        if not rows.num_rows:
            return Judgments.none(self.name)
        roles = {role: name for role, name in QRELS_ROLES.items() if self.subtopics or role != "iteration"}
        frame, columns = _with_user_names(rows, roles, self.qrels_columns)
        return qrels_table(frame, columns, self.name, location, subtopics=self.subtopics)


def whole_keys(batches: Iterable[Any], rows: int = ROWS) -> Iterator[Any]:
    """Batches sorted by key as tables of about ``rows`` rows; the rows of a key stay together."""
    held: list[Any] = []
    count, last = 0, 0
    for batch in batches:
        if not batch.num_rows:
            continue
        keys = batch.column("key").to_numpy()
        if count >= rows:
            new = np.flatnonzero(keys != np.concatenate([[last], keys[:-1]]))
            if len(new):
                cut = int(new[0])
                yield pyarrow.Table.from_batches([*held, batch.slice(0, cut)])
                held, count, batch = [], 0, batch.slice(cut)
        held.append(batch)
        count, last = count + batch.num_rows, keys[-1]
    if held:
        yield pyarrow.Table.from_batches(held)


def with_all_judgments(job: Job, shared: Any, batches: Iterable[Any]) -> Iterator[Any]:
    """Records of sorted rankings, if every task has all judgments, the ``value`` of what is shared."""
    judgments = shared.value
    names = arrow_binary(judgments.queries).view(pyarrow.large_string())
    for rows in whole_keys(batches):
        queries = rows.column("query").cast(pyarrow.large_string()).unique()
        in_shard = compute.is_in(names, value_set=queries).to_numpy(zero_copy_only=False)
        yield from ranking_records(job, select_queries(judgments, np.flatnonzero(in_shard)), rows)


def with_own_judgments(job: Job, batches: Iterable[Any]) -> Iterator[Any]:
    """Records of sorted judgments and rankings, if the judgments of a query come in the same stream."""
    carried = None
    for rows in whole_keys(batches):
        keys = rows.column("key").to_numpy()
        judged = (keys & RUN_MASK) == 0
        new = rows.filter(pyarrow.array(judged))
        available = new if carried is None else pyarrow.concat_tables([carried, new])
        try:
            judgments = job.judgments(available)
            if new.num_rows:
                yield from empty_records(job, judgments if carried is None else job.judgments(new))
        except CranfieldError as error:
            yield fault_record(error)
            carried = None
            continue
        # A table that begins inside a query often has rankings only; they are not copied then.
        yield from ranking_records(job, judgments, rows.filter(pyarrow.array(~judged)) if judged.any() else rows)
        # The next rows may be of another run for the same query.
        last = available.column("key").to_numpy() >> RUN_BITS == keys[-1] >> RUN_BITS
        carried = available.filter(pyarrow.array(last))


def select_queries(judgments: Judgments, queries: Integers) -> Judgments:
    """The judgments of these queries."""
    counts = np.diff(judgments.begin)[queries]
    begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    rows = np.arange(begin[-1]) + np.repeat(judgments.begin[queries] - begin[:-1], counts)

    def select(part: Any, index: str, chosen: Integers, count: int) -> Any:
        """The rows of a part of the judgments whose index is one of the chosen ones, with its new number."""
        if part is None:
            return None
        number = np.full(count, -1)
        number[chosen] = np.arange(len(chosen))
        kept = number[getattr(part, index)] >= 0
        arrays = {name: values[kept] for name, values in part._asdict().items() if isinstance(values, np.ndarray)}
        return part._replace(**arrays | {index: number[arrays[index]]})

    return replace(
        judgments,
        queries=judgments.queries.take(queries),
        begin=begin,
        documents=judgments.documents.take(rows),
        grade=judgments.grade[rows],
        labels=select(judgments.labels, "document", rows, len(judgments.documents)),
        intents=select(judgments.intents, "query", queries, len(judgments.queries)),
        navigational=select(judgments.navigational, "query", queries, len(judgments.queries)),
    )


def ranking_records(job: Job, judgments: Judgments, rows: Any) -> Iterator[Any]:
    """A record for every ranking in the rows of a shard, run by run."""
    reader: RunReader | None = None
    results: list[tuple[str | None, RunScores | CranfieldError]] = []
    for name, part in by_run(rows):
        try:
            run = job.run(name, part)
            reader = reader or job.reader(judgments)
            aligned = reader.read(run)
            job.check_documents(run.source_name, reader.documents_read(aligned) if job.plan.content_columns else {})
            results.append((name, aligned))
        except CranfieldError as error:
            results.append((name, error))
    content = None
    if job.plan.content_columns and reader is not None:
        content = reader.content_aligner([run for _, run in results if isinstance(run, RunScores)])
    for name, result in results:
        if isinstance(result, CranfieldError):
            yield fault_record(result)
            continue
        assert reader is not None
        try:
            scores = result if content is None else reader.with_content(result, content)
            yield records(job.plan, name, scores, np.flatnonzero(scores.length >= 0))
        except CranfieldError as error:
            yield fault_record(error)


def empty_records(job: Job, judgments: Judgments) -> Iterator[Any]:
    """A record without a run for every judged query: the scores of a run that does not have the query."""
    empty = Strings.of([])
    run = Run("", Table(empty, empty, np.zeros(0)))
    try:
        if job.plan.content_columns:
            begin, names = judgments.begin.tolist(), list(judgments.documents)
            job.check_documents(
                job.name, {query: names[begin[q] : begin[q + 1]] for q, query in enumerate(judgments.queries)}
            )
        reader = job.reader(judgments)
        scores = reader.read(run)
        if job.plan.content_columns:
            scores = reader.with_content(scores, reader.content_aligner([scores]))
        yield records(job.plan, None, scores, np.arange(len(judgments.queries)))
    except CranfieldError as error:
        yield fault_record(error)


def without_rankings(job: Job, shared: Any, batches: Iterable[Any]) -> Iterator[Any]:
    """The records without a run, if every task has all judgments; made by the one task that has a row."""
    if any(batch.num_rows for batch in batches):
        yield from empty_records(job, shared.value)


def by_run(rows: Any) -> Iterator[tuple[str | None, Any]]:
    """The rows of each run, in input order."""
    if not rows.num_rows:
        return
    coded = rows.column("run").combine_chunks().dictionary_encode()
    names = coded.dictionary.to_pylist()
    if len(names) == 1 and not coded.null_count:
        yield names[0], rows
        return
    codes = coded.indices.fill_null(len(names)).to_numpy(zero_copy_only=False)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(names) + 1))
    taken = rows.take(order)
    for name, begin, end in zip([*names, None], [0, *ends[:-1]], ends, strict=True):
        if end > begin:
            yield name, taken.slice(begin, end - begin)


def _with_user_names(
    rows: Any, roles: Mapping[str, str], names: Mapping[str, str]
) -> tuple[Columns, Mapping[str, str]]:
    """The columns under the names that the user gave them, for messages; and these names by role."""
    user_names = {role: names.get(role, role) for role in roles}
    if len(set(user_names.values())) < len(user_names):  # a column has two roles, or the name of another role
        user_names = {role: role for role in roles}
    frame = rows.select(list(roles.values())).rename_columns(list(user_names.values()))
    return Columns.of_arrow(frame), user_names


def _check_order(job: Job, source_name: str, rows: Any) -> None:
    """Raise if the numbers that order documents are missing or repeated; ``rows`` are sorted by them within a query."""
    row, query = rows.column("row").combine_chunks(), rows.column("query").combine_chunks()
    missing = compute.is_null(row, nan_is_null=True).to_numpy(zero_copy_only=False)
    repeated = np.zeros(len(row), bool)
    if len(row) > 1:
        same = (compute.equal(column.slice(1), column.slice(0, len(row) - 1)) for column in (row, query))
        repeated[1:] = compute.and_(*(compute.fill_null(equal, False) for equal in same)).to_numpy(zero_copy_only=False)
    faulty = np.flatnonzero(missing | repeated)
    if not len(faulty):
        return
    first = rows.select(["query", "document", "row"]).take(pyarrow.array(faulty[: InputError.SHOWN])).to_pylist()
    column = quotable(job.run_columns.get("row", "row"))
    sentences = []
    for index, cells in zip(faulty, first, strict=False):
        ids = [f"{role} `{quotable(cells[role])}`" for role in ("query", "document") if cells[role] is not None]
        problem = "is not a number" if missing[index] else f"is {cells['row']}, as for another document"
        sentences.append(f"{source_name}: {', '.join(ids)}: the row in column `{column}` {problem}")
    raise InputError(sentences, total=len(faulty), hint="the rows must number the documents in input order")


def _unnamed_run_error(job: Job, rows: Any) -> InputError:
    column = job.run_columns.get("run", "run")
    queries = rows.column("query").slice(0, InputError.SHOWN).to_pylist()
    prefixes = ("" if query is None else f"query `{quotable(query)}`: " for query in queries)
    sentences = [
        f"runs: {prefix}a run must have a name, found null in column `{quotable(column)}`" for prefix in prefixes
    ]
    return InputError(sentences, total=rows.num_rows)


def top_document_records(job: Job, depth: int | None, batches: Iterable[Any]) -> Iterator[Any]:
    """Documents that may be in the top ``depth`` of sorted rankings in some order of ties, with their query."""
    for rows in whole_keys(batches):
        for name, part in by_run(rows):
            try:
                documents = top_documents(job.run(name, part), depth)
            except CranfieldError as error:
                yield fault_record(error, TOP_DOCUMENT)
                continue
            pairs = [(query, document) for query, names in documents.items() for document in names]
            ids = (binary(Strings.of(pair[side] for pair in pairs)) for side in range(2))
            yield record_batch(TOP_DOCUMENT, len(pairs), **dict(zip(TOP_DOCUMENT, ids, strict=False)))


def records(plan: Plan, name: str | None, run: RunScores, chosen: Integers) -> Any:
    """The rankings of a run as records: those of the ``chosen`` judged queries, then those of unjudged queries."""
    columns, judged, unjudged = plan.columns, len(run.length), len(run.unjudged_queries)
    queries = np.concatenate([chosen, np.arange(judged, judged + unjudged)])
    table = np.array([run[column].value for column in columns])
    errors = np.array([run[column].error for column in columns])
    values, scores = table[:, queries].T, table[:, :judged]
    limits = np.broadcast_to(scores, (2, *scores.shape)).copy()
    unbounded = np.zeros((len(columns), judged), bool)
    for m, column in enumerate(columns):
        if limited_by_ties(run, column):
            limits[:, m] = [limit[:judged] for limit in run.tie_limits(column)]
        if column.part == "lowest":
            unbounded[m] = ~run[column].hold[:judged]
        elif column.part == "value":
            unbounded[m] = unknown_tie_effect(run, column)
    unchanged = (limits == scores) | (np.isnan(limits) & np.isnan(scores))
    changed_by_ties = np.asarray(~unchanged.all(axis=(0, 1)))
    above = judged_above(run.alignment, noted_depths(columns))
    names = run.alignment.aligner.judgments.queries.take(chosen)
    unjudged_false = np.zeros(unjudged, bool)

    def lists(table: npt.NDArray[Any], present: Booleans) -> Any:
        """The rows of a table as lists; null where not present."""
        offsets = pyarrow.array(np.arange(len(table) + 1, dtype=np.int32) * table.shape[1])
        return pyarrow.ListArray.from_arrays(offsets, pyarrow.array(table.ravel()), mask=pyarrow.array(~present))

    def by_query(table: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A table of columns and judged queries as one row per query, 0 for unjudged queries."""
        return np.concatenate([table[:, chosen].T, np.zeros((unjudged, len(table)), table.dtype)])

    all_queries = np.ones(len(queries), bool)
    content: dict[str, Any] = {}
    if plan.content_columns:
        key, count = ("coverage", _coverage) if name is None else ("read", documents_read)
        counts = np.concatenate([count(run, column) for column in plan.content_columns], axis=1)
        content[key] = lists(by_query(counts.T.astype(np.float64)), all_queries)
    sampled = np.asarray((errors[:, queries] > 0).any(axis=0))
    with_limits = np.concatenate([changed_by_ties[chosen], unjudged_false])
    lengths = run.alignment.other_length
    ids = pyarrow.concat_arrays([arrow_binary(names), arrow_binary(run.unjudged_queries)])
    return record_batch(
        RECORD,
        len(queries),
        run=[name] * len(queries),
        query=ids.view(pyarrow.large_string()).cast(pyarrow.string()),
        judged=np.concatenate([np.ones(len(chosen), bool), unjudged_false]),
        length=np.concatenate([run.length[chosen], lengths]),
        value=lists(values, all_queries),
        worst=lists(by_query(limits[0]), with_limits),
        best=lists(by_query(limits[1]), with_limits),
        error=lists(errors[:, queries].T, sampled),
        seen=lists(by_query(above), all_queries),
        **content,
        unbounded=lists(by_query(unbounded), np.concatenate([unbounded[:, chosen].any(axis=0), unjudged_false])),
    )


def _coverage(run: RunScores, column: Column) -> Integers:
    """`Reading.coverage` for the measure of a column."""
    reading, chosen = run.alignments[column.alignment].aligner.reading, column.measure.chosen
    assert reading is not None
    return reading.coverage(TextView.of(chosen), chosen["mu"])
