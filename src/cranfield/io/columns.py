"""What a reader found: columns of tables, which of them has which role, and their cells as ids and numbers.

A column is an Arrow array, a pandas or polars series, or a list; ids are not copied. Every reader asks here what is an
id and what is a number, so that all follow one rule. Whole numbers, bytes, UUIDs and paths are compared as text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal

import numpy as np

from cranfield import native
from cranfield.data import Array, Floats, Integers, Passages, Strings
from cranfield.errors import InputError, UsageError, available, check_choice, max_faults, optional, reading_objects
from cranfield.io.faults import Fault, Location, fault_text, input_error, quotable
from cranfield.io.streams import BOM, Roles
from cranfield.wording import NO_BYTE, few

# Values: ids as text, and numbers

NUMBER = r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)"
_PADDED = rf"(?ai)\s*{NUMBER}\s*"
MAX_NUMBER = 1e100  # larger costs, weights and scores, and costs below its inverse, may overflow in sums or underflow


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, NA, or the text "", "NaN" or "null"."""
    if isinstance(value, str):
        return value.strip().lower() in ("", "nan", "null")
    if value is None or _is_na(value):  # NA is neither equal to itself nor unequal
        return True
    try:
        unequal = value != value  # of an array, an array
    except ArithmeticError:  # a signaling NaN of `Decimal`
        return False
    return type(unequal).__name__ in ("bool", "bool_") and bool(unequal)


def _is_na(value: Any) -> bool:
    """Whether this is the missing value of pandas, for numbers or for times; by name, because few programs use it."""
    return type(value).__name__ in ("NAType", "NaTType")


def number(value: Any, *, text: bool = False) -> float | None:
    """The value as a float; None if it is missing or not a number.

    Numbers of every type are numbers: Python's, NumPy's, `Decimal`, `Fraction`, objects with ``__float__``, and True
    and False, which are 1 and 0. ``text``: text is a number, too, if it looks like one, as in files of text.

    >>> number("0.5"), number("0.5", text=True), number(True), number(None)
    (None, 0.5, 1.0, None)
    """
    if isinstance(value, str | bytes | bytearray | memoryview):
        return float(value) if text and isinstance(value, str) and re.fullmatch(_PADDED, value) else None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def quantity(value: Any) -> float:
    """A number, which may be text and is no yes or no; NaN for everything else."""
    parsed = None if isinstance(value, bool) else number(value, text=True)
    return np.nan if parsed is None else parsed


def is_scalar(value: Any) -> bool:
    """Whether a value is one value, as a score is, and not a ranking, a run or a table."""
    if value is None or isinstance(value, str | bytes | bytearray | memoryview | complex) or _is_na(value):
        return True
    if (dimensions := getattr(value, "ndim", None)) is not None:
        return bool(dimensions == 0)
    return hasattr(value, "__float__") and not hasattr(value, "__iter__")


def id_text(value: Any) -> str | None:
    """An id as text; None if the value is not an id.

    >>> id_text(7), id_text(b"d7"), id_text(7.0)
    ('7', 'd7', None)
    """
    if isinstance(value, str):
        return value
    if isinstance(value, int | np.integer):
        with reading_objects():
            return None if isinstance(value, bool) else str(int(value))
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    return str(value) if _is_uuid(value) else None


def is_id(value: Any) -> bool:
    """Whether the value can be an id."""
    return id_text(value) is not None


def is_encodable(text: str) -> bool:
    """Whether UTF-8 can encode a text: the only surrogates are those that stand for bytes."""
    return NO_BYTE.search(text) is None


def _is_uuid(value: Any) -> bool:
    # By name: few programs use UUIDs, and their module takes a while to load.
    return any(kind.__module__ == "uuid" and kind.__name__ == "UUID" for kind in type(value).__mro__)


def texts_of(values: Collection[Any], query: str, location: Location, *, encodable: bool = False) -> list[str]:
    """Ids as text; an error for values that are no ids, and for different ids that are the same text.

    ``encodable``: refuse text that UTF-8 cannot encode; otherwise others report it.
    """
    kinds = set(map(type, values))
    if kinds <= {str} and not (encodable and not is_encodable("".join(values))):
        return list(values)
    if kinds == {int}:
        with reading_objects():
            return list(map(str, values))
    texts = [id_text(value) for value in values]
    faults = [
        Fault(0, "id", fault_text(query), fault_text(repr(value))[:80], position if query else 0)
        for position, (value, text) in enumerate(zip(values, texts, strict=True), 1)
        if text is None or (encodable and not is_encodable(text))
    ]
    present = [text for text in texts if text is not None]
    if not faults and len(kinds) > 1:
        faults = _collisions(list(values), present, query)
    if faults:
        raise input_error(faults[:1], 1, location)  # the others are likely of the same kind
    return present


def by_text(source: Mapping[Any, Any], what: str) -> dict[str, Any]:
    """A dict with ids as keys, as text; the same errors as `texts_of`. ``what``: what messages call it.

    >>> by_text({7: 0.5, b"d8": 1}, "costs")
    {'7': 0.5, 'd8': 1}
    """
    texts = texts_of(source, "", Location(what, "qrels", "entry"), encodable=True)
    return dict(zip(texts, source.values(), strict=True))


def is_collision(first: Any, other: Any) -> bool:
    """Whether two ids with the same text are different ones, such as 1 and "1"."""
    return type(first) is not type(other) and bool(first != other)


def _collisions(values: Sequence[Any], texts: Sequence[str], query: str) -> list[Fault]:
    first: dict[str, Any] = {}
    faults = []
    for value, text in zip(values, texts, strict=True):
        other = first.setdefault(text, value)
        if is_collision(other, value):
            faults.append(Fault(0, "collision", fault_text(query), fault_text(f"{other!r} and {value!r}")[:80], 0))
    return faults


def is_marked(ids: Strings) -> bool:
    """Whether an id begins with a byte order mark."""
    begin, data = ids.offsets[:-1][np.diff(ids.offsets) >= len(BOM)], ids.data
    return any(bytes(data[at : at + len(BOM)]) == BOM for at in begin[data[begin] == BOM[0]].tolist())


def check_marks(queries: Strings, source_name: str) -> None:
    """Raise if the id of a query in a file begins with a byte order mark: it would be another query."""
    if is_marked(queries):
        raise InputError(
            [f"{source_name}: the id of a query begins with a byte order mark"],
            hint="files with such marks were joined; remove the mark (U+FEFF) from all lines but the first",
        )


Duplicates = Literal["error", "first", "best"]
DuplicateRule = Annotated[
    Duplicates,
    "What to do if a document appears twice for a query: report an error, or keep the first row or the row with the "
    "best score.",
]
DUPLICATES: tuple[Duplicates, ...] = ("error", "first", "best")


def check_duplicates(duplicates: str) -> None:
    """Raise if this is not a policy for documents that appear twice."""
    check_choice("duplicates", duplicates, DUPLICATES)


def first_rows(group: Integers, ids: Strings) -> Integers:
    """For each row the first row with the same group and the same id, usually the row itself.

    Groups are numbered from 0, with no number above that of the last row.
    """
    rows: Integers = native.first_rows(group, (ids.offsets, ids.data))
    return rows


def codes_of(ids: Strings) -> tuple[Strings, Integers]:
    """The distinct strings in order of appearance, and for each row the index of its string."""
    first = first_rows(np.zeros(len(ids), np.int64), ids)
    is_first = first == np.arange(len(first))
    return ids.take(np.flatnonzero(is_first)), (np.cumsum(is_first) - 1)[first]


def passage_ids(passages: Passages) -> Strings:
    """An id for each passage: the document, a colon, and both offsets, as in ``d7:120-320``."""
    names = passages.names.offsets, passages.names.data
    columns = map(np.ascontiguousarray, (passages.document, passages.start, passages.end))
    return Strings(*native.name_passages(names, *columns))


# Columns

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
    "method": (),  # of statAP
    # For engines: tables with several runs, and the order of rows.
    "run": ("run", "run_id", "run_name", "system"),
    "row": ("row", "line", "position"),
}
RUN_COLUMNS = ("query", "document", "score", "rank")
QRELS_COLUMNS = ("query", "document", "grade", "iteration", "stratum", "probability", "method")
RANKINGS = ("results", "hits", "retrieved", "ranking")  # fields that hold the ranking of a query


class Columns:
    """What a reader found: columns by name, and where each row is.

    A column is a list, an Arrow array, a series or `Strings`. Names may be repeated; `choose_columns` refuses them if
    it needs one of them. ``line``: the line of each row, if the rows are those of a text file. ``text``: all values are
    text, numbers included, as in CSV. ``where_of``: where a row is, if not in a line or row of ``source_name``.
    """

    def __init__(
        self,
        names: Iterable[str],
        column: Callable[[str], Any],
        line: Integers | None = None,
        *,
        text: bool = False,
        source_name: str = "",
        where_of: Callable[[int], str] | None = None,
    ) -> None:
        self.names, self.column, self.line, self.text = list(names), column, line, text
        self.source_name, self.where_of = source_name, where_of

    @classmethod
    def of(cls, columns: Mapping[str, list[Any]], line: Integers | None = None, **about: Any) -> Columns:
        """Columns that are lists."""
        return cls(columns, columns.__getitem__, line, **about)

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
        if self.line is not None:
            return len(self.line)
        return len(self.column(self.names[0])) if self.names else 0

    def number(self, row: int) -> int:
        """The number of a row in messages: of its line, or counted from 1."""
        return row + 1 if self.line is None else int(self.line[row])

    def slices(self, rows: int) -> Iterator[tuple[Columns, Sequence[Fault]]]:
        """The columns in pieces of so many rows, without faults."""
        for begin in range(0, len(self), rows):
            end = min(begin + rows, len(self))
            columns = {name: _slice(self.column(name), begin, end) for name in self.names}
            yield Columns(self.names, columns.__getitem__, np.arange(begin, end) + 1), ()

    def where(self, row: int) -> str:
        """Where a row is, for messages."""
        if self.where_of is not None:
            return self.where_of(row)
        return f"{self.source_name}:{' row ' if self.line is None else ''}{self.number(row)}"

    def values(self, name: str) -> list[Any]:
        """The values of a column."""
        return list_of(self.column(name))

    def rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The rows by name of column, each with its place."""
        columns = [self.values(name) for name in self.names]
        for row, values in enumerate(zip(*columns, strict=True)):
            yield self.where(row), dict(zip(self.names, values, strict=True))

    def usual(self, names: Sequence[str]) -> str | None:
        """The column with the first of these names that there is."""
        normalised = {normalise_name(name): name for name in reversed(self.names)}
        return next((normalised[name] for name in names if name in normalised), None)

    def of_roles(self, usual: Mapping[str, Sequence[str]], columns: Roles, **needed: str) -> dict[str, str]:
        """`columns_of_roles`; an error if there is no column for a role that is ``needed``, each with a hint."""
        chosen = columns_of_roles(self.names, usual, columns, self.source_name)
        self.check_roles(chosen, **needed)
        return chosen

    def check_roles(self, chosen: Collection[str], **needed: str) -> None:
        """Raise if a role that is needed is not among the chosen ones; each has a hint."""
        for role, hint in needed.items():
            if role not in chosen:
                raise no_column(self.names, self.source_name, f"no column for the {role}", hint)


class RowFaults:
    """At most one fault for each row; ``line``: the number of each row in messages, if it is not its place.

    ``in_columns``: whether ids are in columns, which messages name, and are never empty; they are not in nested dicts.
    """

    def __init__(self, line: Integers | None = None, *, in_columns: bool = True) -> None:
        self.line, self.in_columns = line, in_columns
        self.by_row: dict[int, tuple[str, str]] = {}

    def add(self, row: int, kind: str, text: str) -> None:
        """Add a fault of a row, which counts from 1."""
        self.by_row.setdefault(row, (kind, text))

    def add_id(self, row: int, value: str, column: str) -> None:
        """Add a value that is not an id."""
        self.add(row, "id", f"{value} in column `{quotable(column)}`" if self.in_columns else value)

    def first(self, query: Strings) -> list[Fault]:
        """The faults that an error lists, each with the query of its row."""
        faults: list[Fault] = []
        for row in sorted(self.by_row)[: max_faults()]:
            kind, text = self.by_row[row]
            name = query[row - 1].encode("utf-8", "surrogateescape")
            line = row if self.line is None else int(self.line[row - 1])
            faults.append(Fault(line, kind, name, fault_text(text), 0))
        return faults


def is_frame(source: object) -> bool:
    """Whether the object is a table with columns."""
    return is_lazy(source) or (
        any(hasattr(source, name) for name in ("__arrow_c_stream__", "__arrow_c_array__", "columns", "to_batches"))
        and not is_column(source)
    )


def is_column(source: object) -> bool:
    """Whether the object is one column of a table, or an array or tensor."""
    if is_lazy(source) or any(hasattr(source, name) for name in ("columns", "schema")):
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


def is_lazy(source: Any) -> bool:
    """Whether this is a lazy frame of polars."""
    # By name: polars may compute, and warn, when a lazy frame is asked for an attribute.
    return type(source).__name__ == "LazyFrame"


def frame_of(source: Any) -> Columns:
    """A table of another library as a frame."""
    if is_lazy(source):
        source = source.collect()
    pandas = hasattr(source, "iloc")
    if pandas and {*source.index.names}.isdisjoint([None, *source.columns]):
        source = source.reset_index()
    pyarrow = None if pandas else available("pyarrow")
    # Of objects in columns of polars, such as UUIDs, Arrow gets the addresses.
    if "Object" in map(str, getattr(source, "dtypes", ())):
        pyarrow = None
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
    chosen = columns_of_roles(names, {role: COLUMN_NAMES[role] for role in roles}, columns, source_name)
    for role in roles[:3]:
        implicit = role == "grade" and len(names) == len(chosen) == 2
        if role not in chosen and not (role == "score" and "rank" in chosen) and not implicit:
            hint = f"name it {COLUMN_NAMES[role][0]}, or in Python name the columns: {_columns_call(roles)}"
            if {"start", "end"} <= set(map(normalise_name, names)):
                hint = "for passages and chunks, use --judgments spans, or Collection(spans=...)"
            raise no_column(names, source_name, f"no column for the {role}", hint)
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

    matches = [name for name in names if spelling(name) == spelling(column)]
    if len(matches) > 1:
        shown = " and ".join(f"`{quotable(name)}`" for name in dict.fromkeys(matches))
        sentence = f"several columns could be the {role}: {shown}"
        if len(set(matches)) == 1:
            sentence = f"{len(matches)} columns are named {shown}"
        raise InputError(
            [f"{source_name}: {sentence}" if source_name else sentence],
            hint="remove or rename all but one"
            + ("" if exactly else f', or in Python pass columns={{"{role}": ...}} to read_run or read_qrels'),
        )


def columns_of_roles(
    names: Sequence[str], usual: Mapping[str, Sequence[str]], columns: Roles, source_name: str
) -> dict[str, str]:
    """The column of each role: the chosen one, or the first with a usual name."""
    for role, column in (columns or {}).items():
        if role not in usual:
            raise UsageError(f"unknown column role `{quotable(role)}`", hint=f"columns= takes {', '.join(usual)}")
        if column not in names:
            raise no_column(names, source_name, f"no column `{quotable(str(column))}`")
    normalised = {normalise_name(name): name for name in reversed(names)}
    by_name = {role: next((normalised[n] for n in of_role if n in normalised), None) for role, of_role in usual.items()}
    return {role: column for role, column in {**by_name, **(columns or {})}.items() if column is not None}


def no_column(names: Sequence[str], source_name: str, what: str, hint: str = "") -> InputError:
    """The error for a table without a column that is needed."""
    sentence = f"{what}; the columns are {few([quotable(name) for name in names], 10) or 'none'}"
    return InputError([f"{source_name}: {sentence}" if source_name else sentence], hint=hint)


def ids_of(frame: Columns, name: str, faults: RowFaults) -> Strings:
    """The ids in a column; other values are faults."""
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


def _ids_from_list(values: list[Any], name: str, faults: RowFaults) -> Strings:
    if set(map(type, values)) == {str} and all(values):  # the usual case, in one step
        with suppress(UnicodeEncodeError):
            return Strings.of(values)
    texts = []
    first: dict[str, Any] = {}
    for row, value in enumerate(values, 1):
        text = id_text(value) or ""
        if not is_id(value) or not is_encodable(text):
            text = ""
            faults.add_id(row, quotable(repr(value)), name)
        elif not text and faults.in_columns:
            faults.add(row, "empty", name)
        elif is_collision(other := first.setdefault(text, value), value):
            faults.add(row, "collision", f"{other!r} and {value!r}")
        texts.append(text)
    return Strings.of(texts)


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


def _arrow_ids(array: Any, target: Any, name: str, faults: RowFaults) -> Strings:
    array = single_array(array.cast(target))
    for row in _null_rows(array):
        faults.add_id(row, "null", name)
    return _not_empty(strings_of(array), name, faults)


def _not_empty(ids: Strings, name: str, faults: RowFaults) -> Strings:
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


def numbers_of(frame: Columns, name: str, kind: str, faults: RowFaults | None) -> Floats:
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


def _arrow_numbers(column: Any, kind: str, faults: RowFaults | None, pyarrow: Any) -> Floats:
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


def _numbers_from_list(values: list[Any], kind: str, faults: RowFaults | None) -> Floats:
    if set(map(type, values)) == {float}:  # the usual case, in one step
        return np.array(values, np.float64)
    numbers = [number(value) for value in values]
    for row, value in enumerate(numbers, 1):
        if value is None and faults is not None:
            faults.add(row, kind, repr(values[row - 1]))
    return np.array([np.nan if value is None else value for value in numbers], np.float64)
