"""Runs and judgments from columns and from objects of Python: in memory, or read piece by piece.

Long tables and text files with named columns (CSV, JSON Lines) are read piece by piece: a run whose queries are
contiguous is joined to judgments meanwhile, so that memory is bounded by its largest query. If a query appears again
later, all rows are needed at once. Judgments are grouped by query, each document once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cranfield import native
from cranfield.data import Floats, Integers, Judgments, JudgmentSample, Labels, Run, Strings, Table, TableStream
from cranfield.errors import InputError, UsageError, available, max_faults, reading_objects
from cranfield.io.columns import (
    COLUMN_NAMES,
    QRELS_COLUMNS,
    RUN_COLUMNS,
    Columns,
    RowFaults,
    by_text,
    check_marks,
    choose_columns,
    codes_of,
    first_rows,
    frame_of,
    ids_of,
    is_frame,
    is_missing,
    normalise_name,
    numbers_of,
    quantity,
    texts_of,
)
from cranfield.io.faults import Fault, FaultList, Location, TableKind, Unit, fault_text, input_error, quotable
from cranfield.io.streams import Roles, reject_columns

if TYPE_CHECKING:
    from cranfield.io.columns import Duplicates

SAMPLE_ROLES = ("stratum", "probability", "method")


def run_table(frame: Columns, columns: Roles, location: Location) -> Table:
    """A run from columns in memory. Without a column of scores, the score is the negative rank."""
    named = choose_columns(frame.names, RUN_COLUMNS, columns, location.source_name)
    table = _run_piece(frame, named, location)

    def document_at(line: int) -> str:
        return quotable(str(frame.values(named["document"])[line - 1])) if frame.line is None else ""

    FaultList(table.faults, table.faults_total).raise_if_any(location, document_at)
    return table


def _run_piece(frame: Columns, named: Mapping[str, str], location: Location) -> Table:
    """The rows of a piece; faulty ones are left out, and the table has their faults."""
    faults = RowFaults(frame.line)
    query, document = (ids_of(frame, named[role], faults) for role in ("query", "document"))
    rank = None
    if "rank" in named:
        # With scores, a rank that is not a number is a fault only if documents are ordered by rank; the join checks it.
        rank = numbers_of(frame, named["rank"], "rank", None if "score" in named else faults)
    score = numbers_of(frame, named["score"], "score", faults) if "score" in named else -np.asarray(rank)
    table = Table(query, document, score, rank, location.unit, location.score_column, frame.line)
    if not faults.by_row:
        return table
    kept = np.delete(np.arange(len(score)), np.array(list(faults.by_row)) - 1)
    return replace(table.take(kept), faults=tuple(faults.first(query)), faults_total=len(faults.by_row))


def qrels_table(
    frame: Columns, columns: Roles, name: str, location: Location, *, subtopics: bool | None = None
) -> Judgments:
    """Judgments from columns in memory; ``subtopics`` as in `group_judgments`."""
    return _read_qrels(lambda: iter([(frame, ())]), name, columns, location, subtopics=subtopics)


def are_subtopics(named: Mapping[str, str]) -> bool | None:
    """True if the name of the column says that it holds subtopics; then 0 is one of them."""
    return named.get("iteration", "").lower() in ("subtopic_id", "subtopic") or None


# Tables that are read piece by piece: text files, and long tables of Arrow and of data frames

ROWS_PER_PIECE = 1 << 15
ROWS_PER_BATCH = 1 << 17

Piece = tuple[Columns, Sequence[Fault]]  # rows, and the faults of lines that are not rows
Pieces = Callable[[], Iterator[Piece]]  # opens the file and reads it from the beginning


def read_rows(kind: TableKind, pieces: Pieces, name: str, columns: Roles, source_name: str, unit: Unit = "line") -> Any:
    """A run, in memory if it is one piece, else a stream; or all judgments."""
    location = Location(source_name, kind, unit, literals=unit == "line")
    return (_read_run if kind == "run" else _read_qrels)(pieces, name, columns, location)


def _read_run(pieces: Pieces, name: str, columns: Roles, location: Location) -> Run:
    stream = TableStream(lambda: _whole_queries(_tables(pieces, columns, location)))
    tables = _tables(pieces, columns, location)
    first = next(tables, None)
    if first is None:
        raise _no_rows(location)
    source = first if next(tables, None) is None else stream
    return Run(name, source, location.source_name)


def _read_qrels(
    pieces: Pieces, name: str, columns: Roles, location: Location, *, subtopics: bool | None = None
) -> Judgments:
    faults, choice = FaultList(), _ColumnChoice(QRELS_COLUMNS, columns, location)
    parts: dict[str, list[Any]] = {}
    named: Mapping[str, str] = {}
    for frame, line_faults in pieces():
        faults.add(line_faults)
        named = choice.of(frame)
        if not len(frame) and (frame.line is not None or not frame.names):
            continue
        of_rows = RowFaults(frame.line)
        for role, values in judged_columns(frame, named, of_rows).items():
            parts.setdefault(role, []).append(values)
        faults.add(of_rows.first(parts["query"][-1]), len(of_rows.by_row))
    faults.raise_if_any(location)
    if not parts:
        raise _no_rows(location)
    judged = {role: _together(values) for role, values in parts.items()}
    if location.source_name:
        check_marks(judged["query"], location.source_name)
    rows = Rows.of(*(judged.get(role) for role in ("query", "document", "grade", "line", "iteration")))  # type: ignore[arg-type]
    judgments = group_judgments(
        name, rows, location, subtopics=are_subtopics(named) if subtopics is None else subtopics
    )
    if "grade" not in named:
        judgments = replace(judgments, remarks=("every row is relevant: it has no grade",))
    return _with_sample(judgments, judged) if judged.keys() & set(SAMPLE_ROLES) else judgments


def judged_columns(frame: Columns, named: Mapping[str, str], faults: RowFaults) -> dict[str, Any]:
    """The values of each role in a piece of judgments."""
    judged: dict[str, Any] = {
        role: ids_of(frame, named[role], faults) for role in ("query", "document", "iteration") if role in named
    }
    rows = len(judged["document"])
    grade = numbers_of(frame, named["grade"], "grade", faults) if "grade" in named else np.ones(rows)
    for row in np.flatnonzero(~np.isfinite(grade)).tolist():
        faults.add(row + 1, "grade", repr(float(grade[row])))
    line = np.arange(1, rows + 1) if frame.line is None else frame.line
    return judged | {"grade": grade, "line": line} | {r: frame.values(named[r]) for r in SAMPLE_ROLES if r in named}


def _together(parts: Sequence[Any]) -> Any:
    """The values of all pieces."""
    if isinstance(parts[0], list):
        return list(chain.from_iterable(parts))
    return Strings.concatenate(parts) if isinstance(parts[0], Strings) else np.concatenate(parts)


def _with_sample(judgments: Judgments, judged: Mapping[str, Any]) -> Judgments:
    given: dict[str, dict[str, dict[str, Any]] | None] = dict.fromkeys(SAMPLE_ROLES)
    faults = []
    for role in [role for role in SAMPLE_ROLES if role in judged and len(judged["query"])]:
        given[role] = by_query = dict[str, dict[str, Any]]()
        for q, d, cell in zip(judged["query"], judged["document"], judged[role], strict=True):
            value = None if is_missing(cell) else cell
            if by_query.setdefault(q, {}).setdefault(d, value) != value:
                faults.append(f"{judgments.name}: {_of_query(d, q)} has two {PLURAL[role]}")
    if faults:
        raise InputError(faults)
    return with_sample(judgments, *given.values())


def _of_query(document: str, query: str) -> str:
    return f"document `{quotable(document)}` of query `{quotable(query)}`"


PLURAL = {"stratum": "strata", "probability": "probabilities", "method": "methods"}


def _no_rows(location: Location) -> InputError:
    return InputError(
        [f"{location.source_name}: the file has no rows" if location.source_name else "the table has no rows"]
    )


def batches_of(source: Any) -> Pieces | None:
    """The pieces of a table that need not be in memory as a whole: of Arrow's datasets and readers, and of DuckDB."""
    kind = type(source)
    pyarrow = available("pyarrow")
    if pyarrow is None:
        return None
    if hasattr(source, "to_batches") and hasattr(source, "scanner"):  # a dataset
        open_batches: Callable[[], Iterable[Any]] = partial(source.to_batches, **_scan_options(source))
    elif isinstance(source, pyarrow.RecordBatchReader):
        open_batches = _CopiedBatches(source)
    elif kind.__name__ == "DuckDBPyRelation":
        open_batches = partial(pyarrow.RecordBatchReader.from_stream, source)
    else:
        return None
    return lambda: pieces_of_batches(open_batches())


def _scan_options(dataset: Any) -> dict[str, Any]:
    # Without threads: each of them has memory of its own, and together they take half as much again.
    options = {"batch_size": ROWS_PER_BATCH, "batch_readahead": 1, "fragment_readahead": 1, "use_threads": False}
    if getattr(getattr(dataset, "format", None), "default_extname", "") != "parquet":
        return options
    from pyarrow.dataset import ParquetFragmentScanOptions

    return options | {"fragment_scan_options": ParquetFragmentScanOptions(pre_buffer=False)}  # as in `formats.parquet`


def pieces_of_batches(batches: Iterable[Any]) -> Iterator[Piece]:
    """Batches of Arrow with the numbers of their rows."""
    row = 1
    for batch in batches:
        if len(batch):
            yield Columns.of_arrow(batch, np.arange(row, row + len(batch))), ()
        row += len(batch)


class _CopiedBatches:
    """A reader that can be read once, copied to a file while it is read so that it can be read again."""

    def __init__(self, reader: Any) -> None:
        import tempfile

        import pyarrow as pa

        self._reader, self._copied = reader, 0
        self._file = tempfile.NamedTemporaryFile(suffix=".arrow")  # noqa: SIM115 - closed with this object
        self._writer = pa.ipc.new_stream(pa.OSFile(self._file.name, "wb"), reader.schema)

    def __call__(self) -> Iterator[Any]:
        import pyarrow as pa

        if self._copied:
            with pa.OSFile(self._file.name) as file:
                yield from islice(pa.ipc.open_stream(file), self._copied)
        for batch in self._reader:
            self._writer.write_batch(batch)
            self._copied += 1
            yield batch

    def __del__(self) -> None:
        self._file.close()


class _ColumnChoice:
    """The column for each role, from the names in the first piece; names in later pieces must agree."""

    def __init__(self, roles: Sequence[str], columns: Roles, location: Location) -> None:
        self._roles, self._columns, self._location = roles, columns, location
        self._named: dict[str, str] = {}

    def of(self, frame: Columns) -> dict[str, str]:
        if not frame.names and not len(frame):  # a piece without rows
            return self._named
        named = choose_columns(frame.names, self._roles, self._columns, self._location.source_name)
        if not self._named:
            self._named = named
        for role, column in named.items():
            if self._named.get(role) != column:
                first = f"`{self._named[role]}`" if role in self._named else "no such column"
                message = f"the {role} is in column `{column}`; the lines before have {first}"
                raise InputError([f"{self._location.prefix(frame.number(0), b'', '')}{message}"])
        return self._named


def _tables(pieces: Pieces, columns: Roles, location: Location) -> Iterator[Table]:
    named = _ColumnChoice(RUN_COLUMNS, columns, location)
    for frame, line_faults in pieces():
        faults, total = list(line_faults), len(line_faults)
        table, column_of = replace(_NO_ROWS, unit=location.unit), named.of(frame)
        if len(frame):
            table = _run_piece(frame, column_of, location)
        elif not faults:
            continue
        yield replace(table, faults=(*faults, *table.faults), faults_total=total + table.faults_total)


_NO_ROWS = Table(Strings.of([]), Strings.of([]), np.zeros(0), None, line=np.zeros(0, np.int64))


def _whole_queries(tables: Iterator[Table]) -> Iterator[Table]:
    """The tables cut where a query ends."""
    held: list[Table] = []
    for table in tables:
        first_rows = np.flatnonzero(np.append(True, ~table.query.same_as_previous()))
        cut = int(first_rows[-1]) if len(table.score) else 0
        continued = bool(held and len(table.score)) and table.query[0] == held[-1].query[len(held[-1].score) - 1]
        if held and cut == 0 and (continued or not len(table.score)):
            held.append(table)
            continue
        if held and not continued:
            yield concatenate(held)
            held = []
        yield concatenate([*held, table.take(np.arange(cut))])
        rest = np.arange(cut, len(table.score))
        held = [replace(table.take(rest), faults=(), faults_total=0)] if len(rest) else []
    if held:
        yield concatenate(held)


def concatenate(tables: Sequence[Table]) -> Table:
    """The rows of several tables of one file, and their faults."""
    tables = list(tables) or [_NO_ROWS]
    faults = FaultList()
    for table in tables:
        faults.add(table.faults, table.faults_total)
    with_rows: list[Any] = [table for table in tables if len(table.score)] or tables[:1]
    first = with_rows[0]
    return Table(
        Strings.concatenate([table.query for table in with_rows]),
        Strings.concatenate([table.document for table in with_rows]),
        np.concatenate([table.score for table in with_rows]),
        None if first.rank is None else np.concatenate([table.rank for table in with_rows]),
        first.unit,
        first.score_column,
        np.concatenate([table.line for table in with_rows]),
        tuple(faults.first),
        faults.total,
    )


# Samples of judgments

ByDocument = Mapping[str, Mapping[str, Any]]  # {query: {document: value}}
METHODS = frozenset(("0", "1", "2", "4"))


@reading_objects()
def with_sample(
    judgments: Judgments,
    strata: ByDocument | None = None,
    inclusion: ByDocument | None = None,
    method: ByDocument | None = None,
) -> Judgments:
    """The judgments with the stratum, the inclusion probability and the method of each document.

    A probability of None is not known. A document without a stratum is an error.
    """
    if judgments.labels is not None or judgments.preferences is not None:
        raise UsageError("samples cannot be combined with subtopics or preferences")
    strata, inclusion, method = (
        _by_document(name, given, judgments)
        for name, given in (("strata", strata), ("inclusion", inclusion), ("method", method))
    )
    documents, query_of = list(judgments.documents), list(judgments.queries.take(judgments.query))
    faults: list[str] = []

    def values(given: ByDocument | None) -> Iterator[tuple[int, Any]]:
        rows = zip(query_of, documents, strict=True) if given is not None else ()
        return enumerate((given or {}).get(query, {}).get(name) for query, name in rows)

    def add_fault(row: int, problem: str) -> None:
        faults.append(f"{judgments.name}: {_of_query(documents[row], query_of[row])} {problem}")

    names, codes = [""] * len(documents), np.ones(len(documents), np.int64)
    probability = np.full(len(documents), np.nan)
    for row, stratum in values(strata):
        if stratum is None:
            add_fault(row, "has no stratum")
        names[row] = str(stratum)
    for row, code in values(method):
        if code is not None and str(code) not in METHODS:
            add_fault(row, f"has the method `{quotable(str(code))}`, not 0, 1, 2 or 4")
        elif code is not None:
            codes[row] = int(code)
    for row, value in values(inclusion):
        if value is None or value == "NA" or (isinstance(value, float) and np.isnan(value)):
            continue
        probability[row] = quantity(value)
        if not 0 <= probability[row] <= 1:
            add_fault(row, f"has the probability {quotable(str(value))}, which is not between 0 and 1")
        elif probability[row] == 0 and judgments.grade[row] > 0 and codes[row] not in (0, 2):
            add_fault(row, "is relevant and has the probability 0: a document that cannot be drawn")
    if faults:
        raise InputError(faults)
    sample = JudgmentSample(
        _numbers_within_queries(names, judgments.begin),
        Strings.of(names),
        None if inclusion is None else probability,
        None if method is None else codes,
    )
    return replace(judgments, sample=sample)


def _by_document(name: str, given: ByDocument | None, judgments: Judgments) -> ByDocument | None:
    """The values by query and document, with ids as text; an error if none of the queries is judged."""
    if given is None:
        return None
    if not isinstance(given, Mapping) or not all(isinstance(of_query, Mapping) for of_query in given.values()):
        raise UsageError(f"{name} must be {{query: {{document: value}}}}, not {type(given).__name__}")
    queries = by_text(given, name)
    given = {query: by_text(values, f"{name}: query `{quotable(query)}`") for query, values in queries.items()}
    if given and not set(given) & set(judgments.queries):
        example = quotable(next(iter(given)))
        raise InputError(
            [f"{name}: none of the queries is judged (first query: `{example}`)"],
            hint=f"the judgments cover queries such as `{judgments.queries[0]}`",
        )
    return given


def _numbers_within_queries(names: list[str], begin: Integers) -> Integers:
    """The number of each name among those of its query, bytewise in order."""
    numbers = np.zeros(len(names), np.int64)
    for first, end in zip(begin[:-1].tolist(), begin[1:].tolist(), strict=True):
        of_query = names[first:end]
        order = sorted(set(of_query), key=lambda name: name.encode("utf-8", "surrogateescape"))
        if len(order) > 1:
            number = {name: i for i, name in enumerate(order)}
            numbers[first:end] = [number[name] for name in of_query]
    return numbers


# Judgments, grouped by query


NO_SUBTOPIC = frozenset(("0", "Q0"))


class Rows(NamedTuple):
    """Judgments in input order; ``query_of`` and ``iteration_of`` are rows of ``queries`` and ``iterations``."""

    queries: Strings
    query_of: Integers
    iterations: Strings
    iteration_of: Integers
    documents: Strings
    grade: Floats
    line: Integers

    @classmethod
    def of(
        cls, query: Strings, document: Strings, grade: Floats, line: Integers, iteration: Strings | None = None
    ) -> Rows:
        """The rows of columns with an id in each row; without iterations there are no subtopics."""
        iterations = (Strings.of(["0"]), np.zeros(len(line), np.int64)) if iteration is None else codes_of(iteration)
        return cls(*codes_of(query), *iterations, document, grade, line)

    def take(self, order: Integers) -> Rows:
        query_of, iteration_of = self.query_of[order], self.iteration_of[order]
        documents, grade, line = self.documents.take(order), self.grade[order], self.line[order]
        return Rows(self.queries, query_of, self.iterations, iteration_of, documents, grade, line)


def group_judgments(name: str, rows: Rows, location: Location, *, subtopics: bool | None = None) -> Judgments:
    """Group rows by query; keep the highest grade of a document, and its labels if there are subtopics.

    Identical repetitions are counted; a repetition with another grade is a fault. ``subtopics`` says whether
    iterations are subtopics, if the caller has seen more than these rows; by default the rows decide.
    """
    if np.any(np.diff(rows.query_of) < 0):
        rows = rows.take(np.argsort(rows.query_of, kind="stable"))
    first = first_rows(rows.query_of, rows.documents)
    is_first = first == np.arange(len(first))
    # A single iteration "0" or "Q0" means that there are no subtopics.
    if subtopics is None:
        subtopics = len(rows.iterations) > 1 or not set(rows.iterations) <= NO_SUBTOPIC

    if is_first.all():
        kept, grade = rows, rows.grade
        document_of = first
        repeated = 0
    else:
        pair = first * len(rows.iterations) + rows.iteration_of
        _, index, inverse = np.unique(pair, return_index=True, return_inverse=True)
        earlier = index[inverse]
        repetition = earlier != np.arange(len(earlier))
        conflicts = np.flatnonzero(rows.grade != rows.grade[earlier])
        if len(conflicts):
            raise _conflict_error(rows, conflicts, earlier, location)
        repeated = int(repetition.sum())
        document_of = (np.cumsum(is_first) - 1)[first]
        grade = np.full(int(is_first.sum()), -np.inf)
        np.maximum.at(grade, document_of, rows.grade)
        document_of, kept = document_of[~repetition], rows.take(np.flatnonzero(~repetition))
    labels = None
    if subtopics:
        # Subtopics are numbered by name, so that sums over them do not depend on the order of rows.
        ids = [name.encode("utf-8", "surrogateescape") for name in rows.iterations]
        by_name = np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int64)
        code = np.argsort(by_name)
        labels = Labels(document_of, code[kept.iteration_of], kept.grade, rows.iterations.take(by_name))

    documents = rows.documents if is_first.all() else rows.documents.take(np.flatnonzero(is_first))
    counts = np.bincount(rows.query_of[is_first], minlength=len(rows.queries))
    begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Judgments(name, rows.queries, begin, documents, grade, labels, repeated)


def with_queries(judgments: Judgments, queries: Iterable[str]) -> Judgments:
    """The judgments with all of these queries; one without judgments has no relevant document."""
    if judgments.sample is not None:
        raise UsageError(f"{judgments.name}: judgments of a sample are not complete", hint="leave out complete")
    judged = set(judgments.queries)
    nil = [query for query in queries if query not in judged]
    if not nil:
        return judgments

    begin = np.concatenate([judgments.begin, np.full(len(nil), judgments.begin[-1])])
    return replace(judgments, queries=Strings.of([*judgments.queries, *nil]), begin=begin)


def _conflict_error(rows: Rows, conflicts: Integers, earlier: Integers, location: Location) -> InputError:
    ordered = conflicts[np.argsort(rows.line[conflicts], kind="stable")][: max_faults()]
    faults: list[Fault] = []
    for row in ordered.tolist():
        ids = rows.queries[rows.query_of[row]], rows.documents[row]
        query, document = (name.encode("utf-8", "surrogateescape") for name in ids)
        faults.append(Fault(int(rows.line[row]), "conflict", query, document, int(rows.line[earlier[row]])))
    return input_error(faults, len(conflicts), location)


# Objects of Python: nested dicts, lists, records, data frames and Arrow tables


def from_object(kind: TableKind, source: Any, name: str, columns: Roles = None, source_name: str = "") -> Any:
    """A run or judgments, as `run_from_object` and `qrels_from_object` read them."""
    return (run_from_object if kind == "run" else qrels_from_object)(source, name, columns, source_name)


def run_from_object(
    source: Any, name: str, columns: Roles = None, source_name: str = "", duplicates: Duplicates = "error"
) -> Run:
    """A run from dicts, lists, records or a frame; ``source_name`` is the file it came from, if any."""
    location = Location(source_name, "run", "entry")
    shaped = _shape(source, location)
    if isinstance(shaped, Mapping):
        reject_columns(columns)
        rankings = _rankings(shaped, location, duplicates)
        if rankings is shaped and not any("hits" in ranking for ranking in shaped.values()):
            return Run(name, rankings, source_name)
        from cranfield.io.records import listed_run

        return listed_run(name, shaped, rankings, source_name)
    if isinstance(shaped, Columns) and len(shaped) > ROWS_PER_BATCH:
        shaped = partial(shaped.slices, ROWS_PER_BATCH)
    if callable(shaped):
        return read_rows("run", shaped, name, columns, source_name, "row")
    location = Location(source_name, "run", "row")
    return Run(name, run_table(shaped, columns, location), source_name)


def qrels_from_object(source: Any, name: str, columns: Roles = None, source_name: str = "") -> Judgments:
    """Judgments from dicts, the same with subtopics, sets, lists, records or a frame."""
    location = Location(source_name, "qrels", "entry")
    shaped = _shape(source, location)
    if isinstance(shaped, Mapping):
        reject_columns(columns)
        judgments = qrels_from_dict(shaped, name, location)
        positions = type(shaped).__name__ == "ByPosition"
        return replace(judgments, by_position=len(shaped)) if positions else judgments
    if callable(shaped):
        return read_rows("qrels", shaped, name, columns, source_name, "row")
    return qrels_table(shaped, columns, name, Location(source_name, "qrels", "row"))


_ENGINES = {"hits", "error"}  # fields of responses of search engines


def _shape(source: Any, location: Location) -> Any:
    """A mapping by query, columns, or a function that opens pieces of columns."""
    if type(source) is dict and source and type(next(iter(source.values()))) is dict and not _ENGINES & source.keys():
        return source  # the usual case: without the modules for all others
    if isinstance(source, Columns):
        return source
    if is_frame(source) and not isinstance(source, Mapping):
        return batches_of(source) or frame_of(source)
    from cranfield.io.records import shape_of

    return shape_of(source, location)


def may_be_fields(queries: Sequence[str]) -> bool:
    """Whether a dict of lists with such keys may be a table or a response, and not ``{query: [document, ...]}``."""
    names = {*COLUMN_NAMES["document"], "responses", "ids", "matches", "hits", "error"}
    return not names.isdisjoint(map(normalise_name, queries))


def _rankings(source: Mapping[Any, Any], location: Location, duplicates: Duplicates) -> Mapping[str, Any]:
    """The dict itself if it has the right shape; ids and scores are checked when they are used."""
    if type(source) is dict and set(map(type, source.values())) <= {dict}:
        return source
    from cranfield.io.records import rankings_of

    return rankings_of(source, location, duplicates)


def document_at(source: Mapping[str, Iterable[str]], entry: int) -> str:
    """The document of an entry, counted from 1 over all queries; "" for entry 0."""
    documents = (document for ranking in source.values() for document in ranking)
    return quotable(str(next(islice(documents, entry - 1, None), ""))) if entry else ""


def qrels_from_dict(source: Mapping[Any, Any], name: str, location: Location) -> Judgments:
    """Judgments from ``{query: {document: grade}}`` or ``{query: {document: {subtopic: grade}}}``."""
    columns = native.scan_nested(source)
    repeated = 0
    if columns is None:
        from cranfield.io.records import judged_of

        source, repeated = judged_of(source, location)
        columns = native.scan_nested(source)
    if columns is not None:
        queries, documents = Strings(*columns["query"]), Strings(*columns["document"])
        return Judgments(name, queries, columns["begin"], documents, columns["grade"], repeated=repeated)
    return _general_qrels(source, name, location)


def _general_qrels(source: Mapping[Any, Any], name: str, location: Location) -> Judgments:
    """The same for any type of number, for subtopics, and for faulty input."""
    names = list(source)
    query_of = np.repeat(np.arange(len(source)), [len(judged) for judged in source.values()])
    documents = [document for judged in source.values() for document in judged]
    values = [value for judged in source.values() for value in judged.values()]
    subtopics: list[Any] = []
    if any(issubclass(value_type, Mapping) for value_type in set(map(type, values))):
        plain = next((row for row, value in enumerate(values) if not isinstance(value, Mapping)), None)
        if plain is not None:
            prefix = location.prefix(0, fault_text(names[query_of[plain]]), quotable(str(documents[plain])))
            raise InputError([f"{prefix}the grade has no subtopic, but other grades have one"])
        # A document without subtopics keeps a row; `judged_columns` reports that its grade is missing.
        labels = [value or {"0": value} for value in values]
        counts = [len(label) for label in labels]
        query_of = np.repeat(query_of, counts)
        documents = [document for document, count in zip(documents, counts, strict=True) for _ in range(count)]
        subtopics = [subtopic for label in labels for subtopic in texts_of(label, "", location)]
        values = [value for label in labels for value in label.values()]

    columns = {"document": documents, "grade": values} | ({"iteration": subtopics} if subtopics else {})
    faults, frame = RowFaults(in_columns=False), Columns.of(columns)
    judged = judged_columns(frame, {role: role for role in columns}, faults)
    iterations = codes_of(judged["iteration"]) if subtopics else (Strings.of(["0"]), np.zeros(len(values), np.int64))
    queries = Strings.of(names)
    every = FaultList(faults.first(queries.take(query_of)), len(faults.by_row))
    every.raise_if_any(location, lambda entry: quotable(str(documents[entry - 1])))
    rows = Rows(queries, query_of, *iterations, judged["document"], judged["grade"], judged["line"])
    return group_judgments(name, rows, location, subtopics=bool(subtopics))
