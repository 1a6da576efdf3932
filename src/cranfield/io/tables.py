"""Runs and judgments from tables: which column has which role, and ids without copying.

A column is an Arrow array, a pandas or polars series, or a list. Text files with named columns (CSV, JSON Lines) are
read piece by piece: a run whose queries are contiguous is joined to judgments meanwhile, so that memory is bounded by
its largest query. If a query appears again later, all rows are needed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from cranfield import native
from cranfield.data import Array, Floats, Integers, Judgments, Run, Strings, Table, TableStream
from cranfield.errors import InputError, UsageError, available, max_faults, optional
from cranfield.io.faults import Fault, FaultList, Location, TableKind, Unit, fault_text, input_error, quotable
from cranfield.io.ids import check_marks, id_text, is_collision, is_id
from cranfield.io.judgments import Rows, group_judgments
from cranfield.io.streams import Roles
from cranfield.io.values import number

# Usual names of columns, the most reliable ones first: PyTerrier's frames have the text of
# the query in ``query`` and internal numbers in ``docid``.
PASSAGE_IDS = ("passage_id", "chunk_id", "pid", "node_id")  # of a passage, which may be what was retrieved
COLUMN_NAMES: dict[str, tuple[str, ...]] = {
    "query": (
        *("query_id", "qid", "q_id", "question_id", "topic_id", "topic", "query", "question"),
        *("user_id", "userid", "user"),
    ),
    "document": (
        *("doc_id", "docno", "document_id", "corpus_id", "docid", "did", *PASSAGE_IDS, "doc", "document"),
        *("item_id", "itemid", "item"),
    ),
    "score": ("score", "sim", "similarity"),
    "rank": ("rank",),
    "grade": ("relevance", "rel", "grade", "label", "rating", "relevance_score", "score"),
    "iteration": ("subtopic_id", "subtopic", "iteration"),
    "stratum": ("stratum",),
    "probability": ("probability", "inclusion_probability", "inclusion"),
    # For engines: tables with several runs, and the order of rows.
    "run": ("run", "run_id", "run_name", "system"),
    "row": ("row", "line", "position"),
}
RANKINGS = ("results", "hits", "retrieved", "ranking")  # fields that hold the ranking of a query


class Columns:
    """What a reader found: columns by name, and where each row is.

    A column is a list, an Arrow array, a series or `Strings`. Names may be repeated; `choose_columns` refuses them if
    it needs one of them. ``line``: the line of each row, if the rows are those of a text file. ``text``: all values are
    text, numbers included, as in CSV.
    """

    def __init__(
        self,
        names: Iterable[str],
        column: Callable[[str], Any],
        line: Integers | None = None,
        *,
        text: bool = False,
        source_name: str = "",
    ) -> None:
        self.names, self.column, self.line, self.text = list(names), column, line, text
        self.source_name = source_name

    @classmethod
    def of(cls, columns: Mapping[str, list[Any]], line: Integers | None = None, source_name: str = "") -> Columns:
        """Columns that are lists."""
        return cls(columns, columns.__getitem__, line, source_name=source_name)

    @classmethod
    def of_arrow(cls, table: Any, line: Integers | None = None) -> Columns:
        """The columns of an Arrow table or batch."""
        return cls(table.schema.names, table.column, line)

    @classmethod
    def of_records(cls, records: Sequence[Mapping[str, Any]], line: Integers | None = None) -> Columns:
        """Records with fields by name; a field that a record does not have is None."""
        names = dict.fromkeys(name for record in records for name in record)
        return cls(names, lambda name: [record.get(name) for record in records], line)

    @classmethod
    def of_text(cls, names: Sequence[str], records: Sequence[Sequence[str]], line: Integers) -> Columns:
        """Records of text, with a field for each name."""
        return cls(names, lambda name: [record[names.index(name)] for record in records], line, text=True)

    @classmethod
    def of_strings(cls, names: Sequence[str], columns: Sequence[Strings], line: Integers) -> Columns:
        """Columns of text."""
        return cls(names, lambda name: columns[names.index(name)], line, text=True)

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.column(self.names[0])) if self.names else 0

    def slices(self, rows: int) -> Iterator[Piece]:
        """The columns in pieces of so many rows."""
        for begin in range(0, len(self), rows):
            end = min(begin + rows, len(self))
            columns = {name: _slice(self.column(name), begin, end) for name in self.names}
            yield Columns(self.names, columns.__getitem__, np.arange(begin, end) + 1), ()

    def place(self, row: int) -> str:
        """Where a row is, for messages."""
        return f"{self.source_name}: row {row + 1}" if self.line is None else f"{self.source_name}:{self.line[row]}"

    def values(self, name: str) -> list[Any]:
        """The values of a column."""
        return list_of(self.column(name))

    def rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The rows by name of column, each with its place."""
        columns = [self.values(name) for name in self.names]
        for row, values in enumerate(zip(*columns, strict=True)):
            yield self.place(row), dict(zip(self.names, values, strict=True))

    def usual(self, names: Sequence[str]) -> str | None:
        """The column with the first of these names that there is."""
        normalised = {normalise_name(name): name for name in reversed(self.names)}
        return next((normalised[name] for name in names if name in normalised), None)


class _Faults:
    """At most one fault for each row; ``line``: the line of each row, if the table is a text file."""

    def __init__(self, location: Location, line: Integers | None = None) -> None:
        self.location = location
        self.line = line
        self.by_row: dict[int, tuple[str, str]] = {}

    def add(self, row: int, kind: str, text: str) -> None:
        self.by_row.setdefault(row, (kind, text))

    def first(self, query: Strings) -> list[Fault]:
        """The faults that an error lists, each with the query of its row."""
        faults: list[Fault] = []
        for row in sorted(self.by_row)[: max_faults()]:
            kind, text = self.by_row[row]
            name = query[row - 1].encode("utf-8", "surrogateescape")
            line = row if self.line is None else int(self.line[row - 1])
            faults.append(Fault(line, kind, name, fault_text(text)[:80], 0))
        return faults

    def raise_if_any(self, query: Strings, document: Strings) -> None:
        """Raise all faults, each with the query and document of its row."""
        if self.by_row:
            faults = self.first(query)
            raise input_error(faults, len(self.by_row), self.location, lambda row: document[row - 1])


def is_frame(source: object) -> bool:
    """Whether the object is a table with columns."""
    return _is_lazy(source) or (
        any(hasattr(source, name) for name in ("__arrow_c_stream__", "__arrow_c_array__", "columns", "to_batches"))
        and not is_column(source)
    )


def is_column(source: object) -> bool:
    """Whether the object is one column of a table, or an array or tensor."""
    if _is_lazy(source) or any(hasattr(source, name) for name in ("columns", "schema")):
        return False
    return any(hasattr(source, name) for name in _TO_LIST) and getattr(source, "ndim", 1) > 0


def list_of(column: Any) -> list[Any]:
    """The values of a column, an array or a list."""
    for method in _TO_LIST:
        if hasattr(column, method):
            return list(getattr(column, method)())
    return list(column)


_TO_LIST = ("to_pylist", "tolist", "to_list")


def _slice(column: Any, begin: int, end: int) -> Any:
    return column.iloc[begin:end] if hasattr(column, "iloc") else column[begin:end]


def _is_lazy(source: Any) -> bool:
    # By name: polars may compute, and warn, when a lazy frame is asked for an attribute.
    return type(source).__name__ == "LazyFrame"


def frame_of(source: Any) -> Columns:
    """A table of another library as a frame."""
    if _is_lazy(source):
        source = source.collect()
    pandas = hasattr(source, "iloc")
    if pandas and {*source.index.names}.isdisjoint([None, *source.columns]):
        source = source.reset_index()
    pyarrow = None if pandas else available("pyarrow")
    if pyarrow is not None and (hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")):
        with suppress(pyarrow.ArrowInvalid):  # polars has numbers that Arrow does not have
            return Columns.of_arrow(pyarrow.table(source))
    if hasattr(source, "columns") and hasattr(source, "__getitem__"):
        by_name = {str(label): label for label in source.columns}
        return Columns(map(str, source.columns), lambda name: source[by_name[name]])
    optional("pyarrow", "reading this table", "arrow")
    raise UsageError(f"cannot read a table from {type(source).__name__}")


def normalise_name(name: str) -> str:
    """A column name in the spelling of `COLUMN_NAMES`.

    >>> normalise_name(" Query-ID")
    'query_id'
    """
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def choose_columns(names: Sequence[str], roles: Sequence[str], columns: Roles, source_name: str) -> dict[str, str]:
    """The column for each role: from ``columns``, else by its name. Ranks and iterations may be missing."""
    columns = columns or {}
    for role in columns:
        if role not in roles:
            raise UsageError(f"unknown column role `{quotable(role)}`", hint=f"columns= takes {', '.join(roles)}")
    normalised = {normalise_name(name): name for name in reversed(names)}
    chosen: dict[str, str] = {}
    for role in roles:
        if role in columns:
            if columns[role] not in names:
                raise _missing_column(f"no column `{quotable(str(columns[role]))}`", names, source_name, "")
            chosen[role] = columns[role]
        elif column := next((normalised[name] for name in COLUMN_NAMES[role] if name in normalised), None):
            chosen[role] = column
    for role in roles[:3]:
        implicit = role == "grade" and len(names) == len(chosen) == 2
        if role not in chosen and not (role == "score" and "rank" in chosen) and not implicit:
            hint = f"name it {COLUMN_NAMES[role][0]}, or in Python name the columns: {_columns_call(roles)}"
            if {"start", "end"} <= normalised.keys():
                hint = "for passages and chunks, use --judgments spans, or Collection(spans=...)"
            raise _missing_column(f"no column for the {role}", names, source_name, hint)
    for role, column in chosen.items():
        _check_unique(column, role, names, source_name, exactly=role in columns)
    return chosen


def _columns_call(roles: Sequence[str]) -> str:
    """How to read a table whose columns have other names."""
    named = ", ".join(f'"{role}": "..."' for role in roles[:3])
    return f"cf.{'read_run' if 'score' in roles else 'read_qrels'}(table, columns={{{named}}})"


def _check_unique(column: str, role: str, names: Sequence[str], source_name: str, *, exactly: bool) -> None:
    """Raise if several columns have this name, or (unless the caller chose it) one that differs in separators or case.

    Nothing says which of them is meant, and libraries disagree on which one they read.
    """

    def spelling(name: str) -> str:
        return name if exactly else normalise_name(name).replace("_", "")

    alike = [name for name in names if spelling(name) == spelling(column)]
    if len(alike) > 1:
        shown = " and ".join(f"`{quotable(name)}`" for name in dict.fromkeys(alike))
        sentence = f"several columns could be the {role}: {shown}"
        if len(set(alike)) == 1:
            sentence = f"{len(alike)} columns are named {shown}"
        raise InputError(
            [f"{source_name}: {sentence}" if source_name else sentence],
            hint="remove or rename all but one"
            + ("" if exactly else f', or in Python pass columns={{"{role}": ...}} to read_run or read_qrels'),
        )


def _missing_column(problem: str, names: Sequence[str], source_name: str, hint: str) -> InputError:
    sentence = f"{problem}; the columns are {', '.join(quotable(name) for name in names) or 'none'}"
    return InputError([f"{source_name}: {sentence}" if source_name else sentence], hint=hint)


RUN_COLUMNS = ("query", "document", "score", "rank")
SAMPLE_ROLES = ("stratum", "probability")
QRELS_COLUMNS = ("query", "document", "grade", "iteration", "stratum", "probability")


def run_table(frame: Columns, columns: Roles, location: Location) -> Table:
    """A run from a frame. Without a column of scores, the score is the negative rank."""
    named = choose_columns(frame.names, RUN_COLUMNS, columns, location.source_name)
    faults = _Faults(location)
    table = _run_columns(frame, named, faults)
    faults.raise_if_any(table.query, table.document)
    return replace(table, unit=location.unit, score_column=location.score_column)


def run_piece(frame: Columns, named: Mapping[str, str], location: Location) -> Table:
    """The rows of a piece of a text file; faulty ones are left out, and the table has their faults."""
    faults = _Faults(location, frame.line)
    table = replace(_run_columns(frame, named, faults), line=frame.line, unit=location.unit)
    if faults.by_row:
        first = faults.first(table.query)
        kept = np.delete(np.arange(len(table.score)), np.array(list(faults.by_row)) - 1)
        table = replace(table.take(kept), faults=tuple(first), faults_total=len(faults.by_row))
    return replace(table, score_column=location.score_column)


def _run_columns(frame: Columns, named: Mapping[str, str], faults: _Faults) -> Table:
    query, document = _ids(frame, named["query"], faults), _ids(frame, named["document"], faults)
    rank = None
    if "rank" in named:
        # With scores, a rank that is not a number is a fault only if documents are ordered by rank; the join checks it.
        rank = _numbers(frame, named["rank"], "rank", None if "score" in named else faults)
    if "score" in named:
        score = _numbers(frame, named["score"], "score", faults)
    elif rank is not None:
        score = -rank
    return Table(query, document, score, rank)


def qrels_table(
    frame: Columns, columns: Roles, name: str, location: Location, *, subtopics: bool | None = None
) -> Judgments:
    """Judgments from a frame; ``subtopics`` as in `group_judgments`."""
    named = choose_columns(frame.names, QRELS_COLUMNS, columns, location.source_name)
    faults = _Faults(location)
    judged = _judged_columns(frame, named, faults)
    faults.raise_if_any(judged.query, judged.document)
    return group_rows(judged, np.arange(1, len(judged.grade) + 1, dtype=np.int64), name, location, subtopics=subtopics)


def are_subtopics(named: Mapping[str, str]) -> bool | None:
    """True if the name of the column says that it holds subtopics; then 0 is one of them."""
    return named.get("iteration", "").lower() in ("subtopic_id", "subtopic") or None


class JudgedColumns(NamedTuple):
    """Judgments as columns, one row each."""

    query: Strings
    document: Strings
    iteration: Strings | None
    grade: Floats
    sample: Mapping[str, list[Any]]  # the stratum and the probability of each row, if there are such columns
    subtopics: bool | None  # as in `group_judgments`
    remarks: tuple[str, ...] = ()


def group_rows(
    judged: JudgedColumns, line: Integers, name: str, location: Location, *, subtopics: bool | None = None
) -> Judgments:
    """`group_judgments` of columns."""
    rows = Rows.of(judged.query, judged.document, judged.grade, line, judged.iteration)
    judgments = group_judgments(name, rows, location, subtopics=judged.subtopics if subtopics is None else subtopics)
    judgments = replace(judgments, remarks=judged.remarks)
    if not judged.sample:
        return judgments
    from cranfield.io.side_tables import with_sample

    keys = list(zip(judged.query, judged.document, strict=True))
    given: dict[str, dict[str, dict[str, Any]] | None] = dict.fromkeys(SAMPLE_ROLES)
    for role, values in judged.sample.items():
        by_query: dict[str, dict[str, Any]] = {}
        given[role] = by_query
        for (q, d), value in zip(keys, values, strict=True):
            by_query.setdefault(q, {})[d] = None if value == "" else value
    return with_sample(judgments, given["stratum"], given["probability"])


def _judged_columns(frame: Columns, named: Mapping[str, str], faults: _Faults) -> JudgedColumns:
    query, documents = _ids(frame, named["query"], faults), _ids(frame, named["document"], faults)
    iteration = _ids(frame, named["iteration"], faults) if "iteration" in named else None
    if "grade" not in named:
        ones = np.ones(len(documents))
        return JudgedColumns(query, documents, iteration, ones, {}, None, ("every row is relevant: it has no grade",))
    grade = _numbers(frame, named["grade"], "grade", faults)
    for row in np.flatnonzero(~np.isfinite(grade)).tolist():
        faults.add(row + 1, "grade", repr(float(grade[row])))
    sample = {role: list_of(frame.column(named[role])) for role in SAMPLE_ROLES if role in named}
    return JudgedColumns(query, documents, iteration, grade, sample, are_subtopics(named))


def _ids(frame: Columns, name: str, faults: _Faults) -> Strings:
    column = frame.column(name)
    if isinstance(column, Strings):
        return _not_empty(column, name, faults)
    pyarrow = None if isinstance(column, list) else available("pyarrow")
    if pyarrow is not None:
        array = _arrow(column, pyarrow)
        # Arrow makes bytes of text that stands among bytes.
        mixed = array is not column and array is not None and "binary" in str(array.type)
        if array is not None and not mixed and (target := _id_type(array.type, pyarrow)) is not None:
            return _arrow_ids(array, target, name, faults)
    return _ids_from_list(list_of(column), name, faults)


def _ids_from_list(values: list[Any], name: str, faults: _Faults) -> Strings:
    if set(map(type, values)) == {str} and all(values):  # the usual case, in one step
        with suppress(UnicodeEncodeError):
            return Strings.of(values)
    texts = []
    first: dict[str, Any] = {}
    for row, value in enumerate(values, 1):
        text = id_text(value) or ""
        if not is_id(value) or not _is_encodable(text):
            text = ""
            faults.add(row, "id", f"{quotable(repr(value))} in column `{quotable(name)}`")
        elif not text:
            faults.add(row, "empty", name)
        elif is_collision(other := first.setdefault(text, value), value):
            faults.add(row, "collision", f"{other!r} and {value!r}")
        texts.append(text)
    return Strings.of(texts)


def _is_encodable(text: str) -> bool:
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _arrow(column: Any, pyarrow: Any) -> Any:
    """The column as an Arrow array without dictionary encoding; None if Arrow has no type for it."""
    if not isinstance(column, pyarrow.Array | pyarrow.ChunkedArray):
        try:
            column = pyarrow.Array.from_pandas(column)
        except (pyarrow.ArrowException, UnicodeError, OverflowError):  # mixed types, or text that is not UTF-8
            return None
    if pyarrow.types.is_dictionary(column.type):
        # Arrow cannot decode a dictionary of string views, which polars uses for categories.
        encoded = single_array(column)
        values = encoded.dictionary
        values = values.cast(pyarrow.large_string()) if str(values.type) == "string_view" else values
        column = values.take(encoded.indices)
    return column


def _id_type(column_type: Any, pyarrow: Any) -> Any:
    types = pyarrow.types
    if types.is_integer(column_type) or str(column_type) in ("string", "large_string", "string_view"):
        return pyarrow.large_string()
    if str(column_type).startswith(("binary", "large_binary", "fixed_size_binary")):
        return pyarrow.large_binary()
    return None


def single_array(array: Any) -> Any:
    """A chunked array as one array, without copying if it has one chunk."""
    if not hasattr(array, "num_chunks"):
        return array
    return array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()


def _arrow_ids(array: Any, target: Any, name: str, faults: _Faults) -> Strings:
    array = single_array(array.cast(target))
    for row in _null_rows(array):
        faults.add(row, "id", f"null in column `{quotable(name)}`")
    return _not_empty(strings_of(array), name, faults)


def _not_empty(ids: Strings, name: str, faults: _Faults) -> Strings:
    """The ids; an empty one is a fault."""
    for row in np.flatnonzero(np.diff(ids.offsets) == 0).tolist():
        faults.add(row + 1, "empty", name)
    return ids


def strings_of(array: Any) -> Strings:
    """An Arrow array of large strings or large binaries as `Strings`, without copying; null becomes empty text."""
    array = single_array(array)
    _, offsets, data = array.buffers()
    if len(array) == 0 or offsets is None:
        return Strings(np.zeros(1, np.int64), np.empty(0, np.uint8))
    bounds = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return Strings(bounds, np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8))


def arrow_binary(strings: Strings) -> Any:
    """`Strings` as an Arrow array of large binaries, without copying."""
    pyarrow = optional("pyarrow", "an Arrow table", "arrow")
    buffers = [None, pyarrow.py_buffer(strings.offsets), pyarrow.py_buffer(strings.data)]
    return pyarrow.Array.from_buffers(pyarrow.large_binary(), len(strings), buffers)


def _null_rows(array: Any) -> list[int]:
    if array.null_count == 0:
        return []
    return [int(row) + 1 for row in np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))]


def _numbers(frame: Columns, name: str, kind: str, faults: _Faults | None) -> Floats:
    """The column as floats; other values are faults, or NaN if ``faults`` is None."""
    column = frame.column(name)
    if isinstance(column, Strings):
        numbers: Floats | None = native.parse_numbers((column.offsets, column.data))
        if numbers is not None:
            return numbers
    if frame.text:
        column = _numbers_of_text(list(column))
    pyarrow = None if isinstance(column, list) else available("pyarrow")
    if pyarrow is not None and isinstance(column, pyarrow.Array | pyarrow.ChunkedArray):
        return _arrow_numbers(column, kind, faults, pyarrow)
    array = None if isinstance(column, list) else _numeric(column)
    return _numbers_from_list(list_of(column), kind, faults) if array is None else array


def _numbers_of_text(texts: list[str]) -> list[Any]:
    """Numbers where texts are numbers."""
    joined = " ".join(texts)
    if joined.isascii() and joined.isprintable() and "_" not in joined:  # then `float` takes the same texts
        with suppress(ValueError):
            return list(map(float, texts))
    numbers = ((text, number(text, text=True)) for text in texts)
    return [_Raw(text) if value is None else value for text, value in numbers]


def _numeric(series: Any) -> Floats | None:
    if str(series.dtype).endswith("Int128"):  # of polars; NumPy has no such numbers
        return None
    values: Array = np.asarray(series.to_numpy())
    return values.astype(np.float64) if values.dtype.kind in "iufb" and not _has_null(series) else None


def _has_null(series: Any) -> bool:
    # polars converts null to NaN for NumPy; pandas does not distinguish them.
    return bool(series.null_count()) if hasattr(series, "null_count") else False


def _arrow_numbers(column: Any, kind: str, faults: _Faults | None, pyarrow: Any) -> Floats:
    array = single_array(_arrow(column, pyarrow))
    types = pyarrow.types
    if not (types.is_integer(array.type) or types.is_floating(array.type) or types.is_decimal(array.type)):
        return _numbers_from_list(array.to_pylist(), kind, faults)
    for row in _null_rows(array):
        if faults is not None:
            faults.add(row, kind, "null")
    numbers = array.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(numbers, np.float64)


class _Raw(str):
    """Text from a file that is not a number; messages quote it as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f'"{self}"'


def _numbers_from_list(values: list[Any], kind: str, faults: _Faults | None) -> Floats:
    if set(map(type, values)) == {float}:  # the usual case, in one step
        return np.array(values, np.float64)
    numbers = [number(value) for value in values]
    for row, value in enumerate(numbers, 1):
        if value is None and faults is not None:
            faults.add(row, kind, repr(values[row - 1]))
    return np.array([np.nan if value is None else value for value in numbers], np.float64)


# Tables that are read piece by piece: text files, and long tables of Arrow and of data frames

ROWS_PER_PIECE = 1 << 15
ROWS_PER_BATCH = 1 << 18

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


def _read_qrels(pieces: Pieces, name: str, columns: Roles, location: Location) -> Judgments:
    faults, named = FaultList(), _ColumnChoice(QRELS_COLUMNS, columns, location)
    parts: list[JudgedColumns] = []
    lines = []
    for frame, line_faults in pieces():
        faults.add(line_faults)
        column_of = named.of(frame)
        if frame.line is None or not len(frame.line):
            continue
        of_rows = _Faults(location, frame.line)
        parts.append(_judged_columns(frame, column_of, of_rows))
        faults.add(of_rows.first(parts[-1].query), len(of_rows.by_row))
        lines.append(frame.line)
    faults.raise_if_any(location)
    if not parts:
        raise _no_rows(location)
    iterations = [part.iteration for part in parts if part.iteration is not None]
    joined = JudgedColumns(
        Strings.concatenate([part.query for part in parts]),
        Strings.concatenate([part.document for part in parts]),
        Strings.concatenate(iterations) if iterations else None,
        np.concatenate([part.grade for part in parts]),
        {role: [value for part in parts for value in part.sample[role]] for role in parts[0].sample},
        parts[0].subtopics,
        parts[0].remarks,
    )
    check_marks(joined.query, location.source_name)
    return group_rows(joined, np.concatenate(lines), name, location)


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
        open_batches: Callable[[], Iterable[Any]] = partial(source.to_batches, batch_size=ROWS_PER_BATCH, **READ_AHEAD)
    elif isinstance(source, pyarrow.RecordBatchReader):
        open_batches = _CopiedBatches(source)
    elif kind.__name__ == "DuckDBPyRelation":
        open_batches = partial(pyarrow.RecordBatchReader.from_stream, source)
    else:
        return None
    return lambda: pieces_of_batches(open_batches())


READ_AHEAD = {"batch_readahead": 2, "fragment_readahead": 1}


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
        if not frame.names and not (frame.line is not None and len(frame.line)):  # a piece without rows
            return self._named
        named = choose_columns(frame.names, self._roles, self._columns, self._location.source_name)
        if not self._named:
            self._named = named
        for role, column in named.items():
            if self._named.get(role) != column:
                assert frame.line is not None
                first = f"`{self._named[role]}`" if role in self._named else "no such column"
                message = f"the {role} is in column `{column}`; the lines before have {first}"
                raise InputError([f"{self._location.prefix(int(frame.line[0]), b'', '')}{message}"])
        return self._named


def _tables(pieces: Pieces, columns: Roles, location: Location) -> Iterator[Table]:
    named = _ColumnChoice(RUN_COLUMNS, columns, location)
    for frame, line_faults in pieces():
        faults, total = list(line_faults), len(line_faults)
        table, column_of = _NO_ROWS, named.of(frame)
        if frame.line is not None and len(frame.line):
            table = run_piece(frame, column_of, location)
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
