"""Data frames, Arrow tables and rows of any origin: which column is what, and ids without copying.

A frame here is anything with ``names`` and ``column(name)``; a column is an Arrow array, a pandas or
polars series, or a list.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cranfield.data import Floats, Judgments, Strings, Table
from cranfield.errors import InputError, UsageError
from cranfield.io.duplicates import codes_of
from cranfield.io.faults import Fault, Place, input_error, shown
from cranfield.io.judgments import Rows, judgments
from cranfield.io.optional import available, optional

# What columns are called in the wild, the surest names first: PyTerrier's frames have the text of
# the query in ``query`` and numbers of its own in ``docid``.
GUESSES: dict[str, tuple[str, ...]] = {
    "query": ("query_id", "qid", "q_id", "topic_id", "topic", "query"),
    "document": ("doc_id", "docno", "document_id", "corpus_id", "docid", "did", "doc", "document"),
    "score": ("score", "sim"),
    "rank": ("rank",),
    "grade": ("relevance", "rel", "grade", "label", "relevance_score", "score"),
    "iteration": ("subtopic_id", "subtopic", "iteration"),
    # Tables that hold several runs, as engines read them, and the order of rows where it means something.
    "run": ("run", "run_id", "run_name", "system"),
    "row": ("row", "line", "position"),
}

NUMBER = r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)"
_NUMBER = re.compile(rf"\s*{NUMBER}\s*", re.ASCII | re.IGNORECASE)


class Frame(Protocol):
    """Columns by name."""

    @property
    def names(self) -> Sequence[str]: ...
    def column(self, name: str) -> Any: ...


class ListFrame:
    """Columns that are lists."""

    def __init__(self, columns: Mapping[str, list[Any]]) -> None:
        self.names = list(columns)
        self.column = columns.__getitem__


class TextFrame(ListFrame):
    """Columns of text, numbers included, as CSV has them."""


class ArrowFrame:
    """Columns that are Arrow arrays."""

    def __init__(self, table: Any) -> None:
        self.names = list(table.schema.names)
        self.column = table.column


class _SeriesFrame:
    def __init__(self, frame: Any) -> None:
        by_name = {str(label): label for label in frame.columns}
        self.names = list(by_name)
        self.column = lambda name: frame[by_name[name]]


class _Faults:
    """At most one fault for each row."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.by_row: dict[int, tuple[str, str]] = {}

    def add(self, row: int, kind: str, text: str) -> None:
        self.by_row.setdefault(row, (kind, text))

    def settle(self, query: Strings, document: Strings) -> None:
        """An error where there is a fault, with the query and document that its row is about."""
        if not self.by_row:
            return
        faults: list[Fault] = []
        for row in sorted(self.by_row)[:20]:
            kind, text = self.by_row[row]
            name = query[row - 1].encode("utf-8", "surrogateescape")
            faults.append((row, kind, name, text.encode("utf-8", "backslashreplace")[:80], 0))
        raise input_error(faults, len(self.by_row), self.place, lambda row: document[row - 1])


def is_frame(source: object) -> bool:
    """Whether this has columns."""
    return _lazy(source) or any(hasattr(source, n) for n in ("__arrow_c_stream__", "__arrow_c_array__", "columns"))


def _lazy(source: Any) -> bool:
    # Asking one of these for an attribute may make polars work, and warn of it.
    return type(source).__name__ == "LazyFrame"


def frame_of(source: Any) -> Frame:
    """Somebody's table as a frame."""
    if _lazy(source):
        source = source.collect()
    pandas = hasattr(source, "iloc")
    pyarrow = None if pandas else available("pyarrow")
    if pyarrow is not None and (hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")):
        return ArrowFrame(pyarrow.table(source))
    if hasattr(source, "columns") and hasattr(source, "__getitem__"):
        return _SeriesFrame(source)
    optional("pyarrow", "reading this table", "arrow")
    raise UsageError(f"cannot read a table from {type(source).__name__}")


def parquet(source: Any, wanted: Sequence[str], columns: Mapping[str, str] | None, place: Place) -> Frame:
    """The columns of a Parquet file that are needed, and no others."""
    module = optional("pyarrow.parquet", "reading Parquet", "arrow")
    pyarrow = optional("pyarrow", "reading Parquet", "arrow")
    try:
        with module.ParquetFile(source) as file:
            names = chosen(file.schema_arrow.names, wanted, columns, place).values()
            return ArrowFrame(file.read(columns=list(names)))
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError([f"{place.name}: this begins as Parquet but cannot be read as such"]) from error


def chosen(
    names: Sequence[str], wanted: Sequence[str], columns: Mapping[str, str] | None, place: Place
) -> dict[str, str]:
    """Which column has what: as told, else by its name. Ranks and iterations may be missing."""
    columns = columns or {}
    for role in columns:
        if role not in wanted:
            raise UsageError(f"unknown column `{shown(role)}`", hint=f"columns= knows {', '.join(wanted)}")
    normal = {name.strip().lower().replace("-", "_").replace(" ", "_"): name for name in reversed(names)}
    found = {}
    for role in wanted:
        if role in columns:
            if columns[role] not in names:
                raise _missing(f"no column `{shown(columns[role])}`", names, place, "")
            found[role] = columns[role]
        elif guess := next((normal[guess] for guess in GUESSES[role] if guess in normal), None):
            found[role] = guess
    for role in wanted[:3]:
        if role not in found and not (role == "score" and "rank" in found):
            hint = f'call it {GUESSES[role][0]}; in Python, columns={{"{role}": ...}} says which it is'
            raise _missing(f"no column for the {role}", names, place, hint)
    return found


def _missing(what: str, names: Sequence[str], place: Place, hint: str) -> InputError:
    there = f"{what}; the columns are {', '.join(shown(name) for name in names) or 'none'}"
    return InputError([f"{place.name}: {there}" if place.name else there], hint=hint)


RUN_COLUMNS = ("query", "document", "score", "rank")
QRELS_COLUMNS = ("query", "document", "grade", "iteration")


def run_table(frame: Frame, columns: Mapping[str, str] | None, place: Place) -> Table:
    """A run from a frame. Where there are only ranks, a document's score is its negative rank."""
    named = chosen(frame.names, RUN_COLUMNS, columns, place)
    faults = _Faults(place)
    query, document = _ids(frame, named["query"], faults), _ids(frame, named["document"], faults)
    rank = None
    if "rank" in named:
        # A rank that is no number matters only to those who order by rank; the join will say so.
        rank = _numbers(frame, named["rank"], "rank", None if "score" in named else faults)
    if "score" in named:
        score = _numbers(frame, named["score"], "score", faults)
    elif rank is not None:
        score = -rank
    faults.settle(query, document)
    return Table(query, document, score, rank, place.unit == "row", place.score_from)


def qrels_table(
    frame: Frame, columns: Mapping[str, str] | None, name: str, place: Place, *, subtopics: bool | None = None
) -> Judgments:
    """Judgments from a frame; ``subtopics`` as in `judgments`."""
    named = chosen(frame.names, QRELS_COLUMNS, columns, place)
    faults = _Faults(place)
    query, documents = _ids(frame, named["query"], faults), _ids(frame, named["document"], faults)
    iteration = _ids(frame, named["iteration"], faults) if "iteration" in named else None
    grade = _numbers(frame, named["grade"], "grade", faults)
    for row in np.flatnonzero(~np.isfinite(grade)).tolist():
        faults.add(row + 1, "grade", repr(float(grade[row])))
    faults.settle(query, documents)
    queries, query_of = codes_of(query)
    if iteration is None:
        iterations, iteration_of = Strings.of(["0"]), np.zeros(len(grade), np.int64)
    else:
        iterations, iteration_of = codes_of(iteration)
    line = np.arange(1, len(grade) + 1, dtype=np.int64)
    rows = Rows(queries, query_of, iterations, iteration_of, documents, grade, line)
    return judgments(name, rows, place, subtopics=subtopics)


def _ids(frame: Frame, name: str, faults: _Faults) -> Strings:
    column = frame.column(name)
    pyarrow = None if isinstance(column, list) else available("pyarrow")
    if pyarrow is not None:
        array = _arrow(column, pyarrow)
        if array is not None and (target := _id_type(array.type, pyarrow)) is not None:
            return _arrow_ids(array, target, name, faults)
    return _listed_ids(_listed(column), name, faults)


def _listed(column: Any) -> list[Any]:
    for method in ("to_pylist", "tolist", "to_list"):
        if hasattr(column, method):
            return list(getattr(column, method)())
    return list(column)


def _listed_ids(values: list[Any], name: str, faults: _Faults) -> Strings:
    texts = []
    for row, value in enumerate(values, 1):
        text = ""
        if isinstance(value, str) and _encodes(value):
            text = value
        elif isinstance(value, int | np.integer) and not isinstance(value, bool):
            text = str(int(value))
        else:
            faults.add(row, "id", f"{shown(repr(value))} in column `{shown(name)}`")
        texts.append(text)
    return Strings.of(texts)


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _arrow(column: Any, pyarrow: Any) -> Any:
    """The column as an Arrow array without its dictionary; None where Arrow has no type for it."""
    if not isinstance(column, pyarrow.Array | pyarrow.ChunkedArray):
        try:
            column = pyarrow.Array.from_pandas(column)
        except (pyarrow.ArrowException, UnicodeError, OverflowError):  # mixed types, or text that is not UTF-8
            return None
    if pyarrow.types.is_dictionary(column.type):
        # Arrow cannot decode a dictionary of views, which is what polars makes of categories.
        coded = _one(column)
        words = coded.dictionary
        words = words.cast(pyarrow.large_string()) if str(words.type) == "string_view" else words
        column = words.take(coded.indices)
    return column


def _id_type(given: Any, pyarrow: Any) -> Any:
    types = pyarrow.types
    if types.is_integer(given) or str(given) in ("string", "large_string", "string_view"):
        return pyarrow.large_string()
    if str(given).startswith(("binary", "large_binary", "fixed_size_binary")):
        return pyarrow.large_binary()
    return None


def _one(array: Any) -> Any:
    """A single array, without copying where there is one already."""
    if not hasattr(array, "num_chunks"):
        return array
    return array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()


def _arrow_ids(array: Any, target: Any, name: str, faults: _Faults) -> Strings:
    array = _one(array.cast(target))
    for row in _null_rows(array):
        faults.add(row, "id", f"null in column `{shown(name)}`")
    return strings_of(array)


def strings_of(array: Any) -> Strings:
    """An Arrow array of large strings or large binaries, without copying; null is as the empty text."""
    array = _one(array)
    _, offsets, data = array.buffers()
    if len(array) == 0 or offsets is None:
        return Strings(np.zeros(1, np.int64), np.empty(0, np.uint8))
    bounds = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return Strings(bounds, np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8))


def _null_rows(array: Any) -> list[int]:
    if array.null_count == 0:
        return []
    return [int(row) + 1 for row in np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))]


def _numbers(frame: Frame, name: str, kind: str, faults: _Faults | None) -> Floats:
    """The column as floats; what is no number becomes a fault, or NaN where faults do not matter."""
    column = frame.column(name)
    if isinstance(frame, TextFrame):
        column = [float(text) if _NUMBER.fullmatch(text) else text for text in column]
    pyarrow = None if isinstance(column, list) else available("pyarrow")
    if pyarrow is not None and isinstance(column, pyarrow.Array | pyarrow.ChunkedArray):
        return _arrow_numbers(column, kind, faults, pyarrow)
    array = None if isinstance(column, list) else _numeric(column)
    return _listed_numbers(_listed(column), kind, faults) if array is None else array


def _numeric(series: Any) -> Floats | None:
    values: npt.NDArray[Any] = np.asarray(series.to_numpy())
    return values.astype(np.float64) if values.dtype.kind in "iufb" and not _has_null(series) else None


def _has_null(series: Any) -> bool:
    # polars turns null into NaN on the way to NumPy; in pandas they are one.
    return bool(series.null_count()) if hasattr(series, "null_count") else False


def _arrow_numbers(column: Any, kind: str, faults: _Faults | None, pyarrow: Any) -> Floats:
    array = _one(_arrow(column, pyarrow))
    types = pyarrow.types
    if not (types.is_integer(array.type) or types.is_floating(array.type) or types.is_decimal(array.type)):
        return _listed_numbers(array.to_pylist(), kind, faults)
    for row in _null_rows(array):
        if faults is not None:
            faults.add(row, kind, "null")
    numbers = array.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(numbers, np.float64)


def _listed_numbers(values: list[Any], kind: str, faults: _Faults | None) -> Floats:
    numbers = np.full(len(values), np.nan)
    for row, value in enumerate(values, 1):
        try:
            if isinstance(value, str | bytes):  # text is not a number, even where it looks like one
                raise TypeError
            numbers[row - 1] = float(value)
        except (TypeError, ValueError, OverflowError):
            if faults is not None:
                faults.add(row, kind, repr(value))
    return numbers
