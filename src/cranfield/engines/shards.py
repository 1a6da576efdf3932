"""A shard of whole queries, scored: Arrow rows in, one record for every ranking out.

A record has the values of all columns for one run and query, and what notes are written from. Records without a run
are what a run scores that does not answer the query. Bad input becomes a record too, not an exception: an
engine would try the task again, and would bury the message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cranfield.alignment import AlignedRun
from cranfield.corpus.corpus_file import REBUILD_HINT
from cranfield.data import Integers, Intents, Judgments, Labels, Run, Strings, Table
from cranfield.engines.records import fault, records, texts_of
from cranfield.errors import CranfieldError, InputError, optional
from cranfield.evaluation.columns import Plan
from cranfield.evaluation.reader import RunReader
from cranfield.io.faults import Location, quotable
from cranfield.io.tables import ArrowFrame, qrels_table, run_table
from cranfield.nil import with_nil

# Rows that are scored together: enough to make calls of Python few, and few enough to hold.
ROWS = 1 << 19

# A ranking's key: of the query but for the last bits, which are the run's, or 0 for judgments. Rows sorted by it
# have whole rankings together, a query's judgments before them. Keys may collide: ids are compared in any case.
RUN_BITS = 24
RUN_MASK = (1 << RUN_BITS) - 1

ROLES = {role: role for role in ("query", "document", "score")}
RANKED = {**ROLES, "rank": "rank"}
JUDGED = {"query": "query", "document": "document", "grade": "score", "iteration": "iteration"}

Weights = Mapping[str, Mapping[str, float]]  # of subtopics, by query


@dataclass(frozen=True)
class Job:
    """What every shard is told: the plan, what only all judgments together tell, and what columns are called."""

    plan: Plan
    name: str  # of the judgments
    top: float  # the highest grade of all
    subtopics: bool  # whether iterations are that
    run_columns: Mapping[str, str] = field(default_factory=dict)
    qrels_columns: Mapping[str, str] = field(default_factory=dict)
    corpus: Any = None  # for measures that read: its ``value`` is a `Corpus`
    corpus_from: str = ""  # the file that it is, which may have been made without documents that are needed
    weights: Weights = field(default_factory=dict)  # where judgments do not come with theirs

    def reader(self, judgments: Judgments) -> RunReader:
        """Judgments of a shard, ready to meet its rankings."""
        rows = None
        if self.plan.policy.nil is not None:
            judgments, rows = with_nil(judgments, self.plan.policy.nil, self.top)
        corpus = self.corpus.value if self.plan.content_columns else None
        return RunReader(judgments, self.plan.columns, self.plan.policy, nil=rows, top_grade=self.top, corpus=corpus)

    def run(self, name: str | None, rows: Any) -> Run:
        """The rows of a run that are in a shard."""
        if name is None:
            raise _nameless(self, rows)
        scored_by = self.run_columns.get("score", self.run_columns.get("rank", ""))
        place = Location(quotable(name), "run", "entry", scored_by)
        if "row" in rows.schema.names:
            _in_order(self, place, rows)
        frame, told = _called(rows, RANKED if "rank" in rows.schema.names else ROLES, self.run_columns)
        return Run(name, run_table(frame, told, place), place.source_name)

    def told(self, place: str, documents: Mapping[str, Iterable[str]]) -> None:
        """An error where the corpus was made without some of these documents, given by query."""
        if not self.corpus_from:
            return
        lacking = {query: self.corpus.value.not_requested(names) for query, names in documents.items()}
        faults = [
            f"{place}: query `{quotable(query)}`, document `{quotable(name)}`: {self.corpus_from} was made without it"
            for query, names in lacking.items()
            for name in sorted(names)
        ]
        if faults:
            raise InputError(faults, hint=REBUILD_HINT.format(self.corpus_from))

    def judgments(self, rows: Any) -> Judgments:
        """Judgments from rows of a shard."""
        place = Location(self.name, "qrels", "entry", self.qrels_columns.get("grade", ""))
        if not rows.num_rows:
            nothing = Strings.of([])
            return Judgments(self.name, nothing, np.zeros(1, np.int64), nothing, np.zeros(0))
        columns = JUDGED if self.subtopics else {r: c for r, c in JUDGED.items() if r != "iteration"}
        frame, told = _called(rows, columns, self.qrels_columns)
        found = qrels_table(frame, told, self.name, place, subtopics=self.subtopics)
        return replace(found, intents=self._intents(found)) if self.weights else found

    def _intents(self, judgments: Judgments) -> Intents | None:
        if judgments.labels is None:
            return None
        place = {subtopic: code for code, subtopic in enumerate(judgments.labels.names)}
        found = [
            (row, place[subtopic], weight)
            for row, query in enumerate(judgments.queries)
            for subtopic, weight in self.weights.get(query, {}).items()
        ]
        query, subtopic, weight = (np.array(part) for part in zip(*found, strict=True)) if found else [np.zeros(0)] * 3
        return Intents(query.astype(np.int64), subtopic.astype(np.int64), weight)


def whole(batches: Iterable[Any], rows: int = ROWS) -> Iterator[Any]:
    """Batches sorted by key as tables of about so many rows, cut only where a key ends."""
    pyarrow = optional("pyarrow", "an engine", "arrow")
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


def with_all_judgments(job: Job, judgments: Judgments, batches: Iterable[Any]) -> Iterator[Any]:
    """Records of sorted rankings, where every task has all judgments."""
    pyarrow = optional("pyarrow", "an engine", "arrow")
    names = texts_of(judgments.queries)
    for rows in whole(batches):
        asked = rows.column("query").cast(pyarrow.large_string()).unique()
        known = pyarrow.compute.is_in(names, value_set=asked).to_numpy(zero_copy_only=False)
        yield from answers(job, some_of(judgments, np.flatnonzero(known)), rows)


def with_own_judgments(job: Job, batches: Iterable[Any]) -> Iterator[Any]:
    """Records of sorted judgments and rankings, where those of a query come in one stream."""
    pyarrow = optional("pyarrow", "an engine", "arrow")
    carried = None
    for rows in whole(batches):
        keys = rows.column("key").to_numpy()
        judged = (keys & RUN_MASK) == 0
        fresh = rows.filter(pyarrow.array(judged))
        known = fresh if carried is None else pyarrow.concat_tables([carried, fresh])
        try:
            judgments = job.judgments(known)
            if fresh.num_rows:
                yield from silence(job, judgments if carried is None else job.judgments(fresh))
        except CranfieldError as error:
            yield fault(error)
            carried = None
            continue
        # Most often all of a shard that is cut inside a query are rankings, and then they are not copied.
        yield from answers(job, judgments, rows.filter(pyarrow.array(~judged)) if judged.any() else rows)
        # The next rows may be another run's for the same query.
        last = known.column("key").to_numpy() >> RUN_BITS == keys[-1] >> RUN_BITS
        carried = known.filter(pyarrow.array(last))


def some_of(judgments: Judgments, queries: Integers) -> Judgments:
    """The judgments of some of the queries."""
    counts = np.diff(judgments.begin)[queries]
    begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    rows = np.arange(begin[-1]) + np.repeat(judgments.begin[queries] - begin[:-1], counts)
    labels, intents = judgments.labels, judgments.intents
    if labels is not None:
        place = np.full(len(judgments.documents), -1)
        place[rows] = np.arange(len(rows))
        kept = place[labels.document] >= 0
        labels = Labels(place[labels.document[kept]], labels.subtopic[kept], labels.grade[kept], labels.names)
    if intents is not None:
        place = np.full(len(judgments.queries), -1)
        place[queries] = np.arange(len(queries))
        kept = place[intents.query] >= 0
        intents = Intents(place[intents.query[kept]], intents.subtopic[kept], intents.weight[kept])
    return replace(
        judgments,
        queries=judgments.queries.take(queries),
        begin=begin,
        documents=judgments.documents.take(rows),
        grade=judgments.grade[rows],
        labels=labels,
        intents=intents,
    )


def answers(job: Job, judgments: Judgments, rows: Any) -> Iterator[Any]:
    """A record for every ranking among the rows of a shard, run by run."""
    reader: RunReader | None = None
    read: list[tuple[str | None, AlignedRun | CranfieldError]] = []
    for name, part in by_run(rows):
        try:
            run = job.run(name, part)
            reader = reader or job.reader(judgments)
            aligned = reader.read(run)
            job.told(run.place, reader.documents_read(aligned) if job.plan.content_columns else {})
            read.append((name, aligned))
        except CranfieldError as error:
            read.append((name, error))
    content = None
    if job.plan.content_columns and reader is not None:
        content = reader.content_aligner([run for _, run in read if isinstance(run, AlignedRun)])
    for name, result in read:
        if isinstance(result, CranfieldError):
            yield fault(result)
            continue
        assert reader is not None
        try:
            scores = reader.run_scores(result, content)
            yield records(job.plan, name, scores, np.flatnonzero(scores.length >= 0))
        except CranfieldError as error:
            yield fault(error)


def silence(job: Job, judgments: Judgments) -> Iterator[Any]:
    """A record without a run for every judged query: what nobody's answer to it scores."""
    nothing = Strings.of([])
    run = Run("", Table(nothing, nothing, np.zeros(0)))
    try:
        if job.plan.content_columns:
            begin, names = judgments.begin.tolist(), list(judgments.documents)
            job.told(job.name, {query: names[begin[q] : begin[q + 1]] for q, query in enumerate(judgments.queries)})
        reader = job.reader(judgments)
        aligned = reader.read(run)
        content = reader.content_aligner([aligned]) if job.plan.content_columns else None
        yield records(job.plan, None, reader.run_scores(aligned, content), np.arange(len(judgments.queries)))
    except CranfieldError as error:
        yield fault(error)


def by_run(rows: Any) -> Iterator[tuple[str | None, Any]]:
    """The rows of each run, in the order in which they came."""
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


def _called(rows: Any, columns: Mapping[str, str], names: Mapping[str, str]) -> tuple[ArrowFrame, Mapping[str, str]]:
    """The columns by the names that somebody gave them, so that messages have these."""
    told = {role: names.get(role, role) for role in columns}
    if len(set(told.values())) < len(told):  # one column for two roles, or for one and none
        told = {role: role for role in columns}
    return ArrowFrame(rows.select(list(columns.values())).rename_columns(list(told.values()))), told


def _in_order(job: Job, place: Location, rows: Any) -> None:
    """An error where numbers that are to order documents do not: ``rows`` are sorted by them within a query."""
    pyarrow = optional("pyarrow", "an engine", "arrow")
    compute = optional("pyarrow.compute", "an engine", "arrow")
    row, query = rows.column("row").combine_chunks(), rows.column("query").combine_chunks()
    void = compute.is_null(row, nan_is_null=True).to_numpy(zero_copy_only=False)
    again = np.zeros(len(row), bool)
    if len(row) > 1:
        same = (compute.equal(column.slice(1), column.slice(0, len(row) - 1)) for column in (row, query))
        again[1:] = compute.and_(*(compute.fill_null(one, False) for one in same)).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero(void | again)
    if not len(wrong):
        return
    first = rows.select(["query", "document", "row"]).take(pyarrow.array(wrong[: InputError.SHOWN])).to_pylist()
    column = quotable(job.run_columns.get("row", "row"))
    sentences = []
    for at, one in zip(wrong, first, strict=False):
        where = ", ".join(f"{role} `{quotable(one[role])}`" for role in ("query", "document") if one[role] is not None)
        what = "is no number" if void[at] else f"is {one['row']}, as that of another document"
        sentences.append(f"{place.source_name}: {where}: the row in column `{column}` {what}")
    raise InputError(sentences, total=len(wrong), hint="it is to say in which order documents were given")


def _nameless(job: Job, rows: Any) -> InputError:
    column = job.run_columns.get("run", "run")
    queries = rows.column("query").slice(0, InputError.SHOWN).to_pylist()
    where = ("" if query is None else f"query `{quotable(query)}`: " for query in queries)
    sentences = [f"runs: {there}a run must have a name, found null in column `{quotable(column)}`" for there in where]
    return InputError(sentences, total=rows.num_rows)
