"""Passages of documents: judged ones, and runs of chunks.

Both are ``{query: [(document, start, end), ...]}``, tables with the columns query, document, start and end, records
with such fields, or plain runs and judgments whose ids are those of passages, as in ``d7:120-320``. Offsets are
half-open. A judged passage may be a quote from the text of its document, in place of the offsets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield import io, native
from cranfield.data import Floats, Integers, Judgments, Passages, Run, Strings, Table
from cranfield.errors import InputError, UsageError, reading_objects
from cranfield.io.columns import (
    COLUMN_NAMES,
    PASSAGE_IDS,
    Columns,
    Duplicates,
    RowFaults,
    check_duplicates,
    codes_of,
    id_text,
    ids_of,
    numbers_of,
    passage_ids,
)
from cranfield.io.faults import FaultList, Location, TableKind, Unit, quotable
from cranfield.io.named_tables import read_table
from cranfield.io.records import FIELDS, Accessors, columns_of, read_chunk_records, without_repeats
from cranfield.io.runs import load, load_unchecked
from cranfield.io.streams import Stream, detect_file, is_stream, open_stream
from cranfield.io.tables import Rows, group_judgments, with_queries
from cranfield.wording import plural

# Usual names of columns. Grades are not called `score` here, because a table of chunks has scores.
COLUMNS = {
    "query": (*COLUMN_NAMES["query"], "query"),
    "document": (*(n for n in COLUMN_NAMES["document"] if n not in PASSAGE_IDS), "source", "source_id", "ref_doc_id"),
    "start": ("start", "begin", "start_char_idx", "start_index", "split_idx_start"),
    "end": ("end", "stop", "end_char_idx", "end_index"),
    "score": COLUMN_NAMES["score"],
    "rank": COLUMN_NAMES["rank"],
    "grade": ("grade", "relevance", "rel", "label", "rating"),
    "quote": ("quote", "passage", "text"),
}
LONGEST = 10**11  # the highest offset; larger ones are no offsets
MOST_DIGITS = 1000  # that are read: Python refuses very long numbers
_ID = re.compile(rb"(.+):([0-9]{1,11})-([0-9]{1,11})", re.DOTALL)
SHAPES = {
    "run": "[(document, start, end), ...], with the score as a fourth value or in order",
    "qrels": "[(document, start, end), ...] or [(document, quote), ...], with the grade as the last value or without",
}


@dataclass(frozen=True, eq=False)
class Located:
    """Passages by query, with their scores or grades and their ranks, if there are any; ``where``: where a row is."""

    name: str
    source_name: str
    where: Callable[[int], str]
    query: Strings
    passages: Passages
    values: Floats | None
    ranks: Floats | None = None
    line: Integers | None = None
    empty: Sequence[str] = ()  # queries without passages
    listed: bool = False  # in lists by query, which have an order


@reading_objects()
def read_chunks(
    source: Any,
    *,
    name: str | None = None,
    duplicates: Duplicates = "error",
    accessors: Accessors | None = None,
    texts: Texts | None = None,
) -> Run:
    """A run of chunks; without scores, chunks are ranked as listed.

    ``texts``: the texts of documents, as far as they are known; no chunk can end beyond them.
    """
    check_duplicates(duplicates)
    located = (
        io.read_run(source, name=name) if isinstance(source, Run) else _located(source, "run", name, accessors, texts)
    )
    positions = located.by_position if isinstance(located, Run) else by_position(source)
    run = _run(located) if isinstance(located, Located) else located
    table = run.source if isinstance(run.source, Table) else load(run)
    passages = parse_ids(table.document, run.source_name or run.name) if table.passages is None else table.passages
    run = replace(run, source=replace(table, passages=passages), by_position=positions)
    if texts is not None:
        title = run.source_name or run.name
        of_id = lambda row: f"{title}: `{quotable(table.document[row])}`"  # noqa: E731
        texts.check(passages, located.where if isinstance(located, Located) else of_id)
    return run if duplicates == "error" else without_repeats(run, duplicates, load_unchecked)


def _run(located: Located) -> Run:
    scores = -np.arange(float(len(located.query))) if located.values is None else located.values
    table = Table(
        located.query,
        passage_ids(located.passages),
        scores,
        located.ranks,
        unit="row" if located.line is None else "line",
        line=located.line,
        passages=located.passages,
    )
    rising = located.listed and located.values is not None and _rise(located.query, located.values)
    return Run(located.name, table, located.source_name, empty=tuple(located.empty), rising=rising)


def _rise(query: Strings, score: Floats) -> bool:
    """Whether scores never fall within a query, and rise in some."""
    steps = np.diff(score)[query.same_as_previous()]
    return len(steps) > 0 and bool((steps >= 0).all() and (steps > 0).any())


def parse_ids(ids: Strings, source_name: str) -> Passages:
    """The passages that ids such as ``d7:120-320`` name."""
    matches = [_ID.fullmatch(text.encode("utf-8", "surrogateescape")) for text in ids]
    wrong = [ids[row] for row, match in enumerate(matches) if match is None]
    if wrong:
        message = f"{source_name}: `{quotable(wrong[0])}` is not a passage ({len(wrong):,} of {len(ids):,} ids)"
        hint = "give the columns query, document, start and end, or ids such as d7:120-320"
        raise InputError([message], hint=hint)
    names, document = codes_of(Strings.packed([match[1] for match in matches if match]))
    start, end = (np.array([int(match[i]) for match in matches if match], np.int64) for i in (2, 3))
    if (end < start).any():
        raise InputError(
            [f"{source_name}: `{quotable(ids[int((end < start).argmax())])}`: the end is before the start"]
        )
    return Passages(names, document, start, end)


@reading_objects()
def read_spans(source: Any, *, name: str | None = None, texts: Texts | None = None) -> tuple[Judgments, Passages]:
    """Judged passages as judgments by subtopic, each a document and a subtopic of its own; and their offsets.

    ``texts``: the texts of documents, in which quotes are located and offsets must be.
    """
    located = _located(source, "qrels", name, texts=texts)
    unit: Unit = "row"
    line: Integers | None = None
    unanswered: Sequence[str] = ()
    if isinstance(located, Judgments):
        passages = parse_ids(located.documents, located.name)
        query = located.queries.take(np.repeat(np.arange(len(located.queries)), np.diff(located.begin)))
        grade, ids, title, unit = located.grade, located.documents, located.name, "entry"
        places = [f"{located.name}: `{quotable(text)}`" for text in ids]
        where_of: Callable[[int], str] = places.__getitem__
    else:
        passages, query, where_of, title = located.passages, located.query, located.where, located.source_name
        grade, ids = np.ones(len(query)) if located.values is None else located.values, passage_ids(passages)
        line, unanswered = located.line, located.empty
        unit = "row" if line is None else "line"
    if texts is not None:
        texts.check(passages, where_of)
    if len(empty := np.flatnonzero(passages.start == passages.end)):
        raise InputError([f"{where_of(row)}: the passage is empty" for row in empty.tolist()])
    rows = Rows.of(query, ids, grade, np.arange(1, len(grade) + 1) if line is None else line, ids)
    judgments = group_judgments(located.name, rows, Location(title, "qrels", unit), subtopics=True)
    judgments = with_queries(judgments, unanswered)  # judged, and nothing is relevant
    judgments = replace(judgments, by_position=by_position(source))
    row_of = {text: row for row, text in enumerate(ids)}
    return judgments, passages.take(np.array([row_of[text] for text in judgments.documents], np.int64))


def _located(
    source: Any, kind: TableKind, name: str | None, accessors: Accessors | None = None, texts: Texts | None = None
) -> Located | Any:
    """The passages of a source; or a plain run or plain judgments, whose ids are those of passages."""
    columns = native.scan_passages(source) if type(source) is dict and accessors is None else None
    if columns is None or not len(columns["start"]) or (kind == "qrels" and np.isinf(columns.get("value", 0)).any()):
        return _given(source, kind, name, accessors, texts)
    begin, queries = columns["begin"], Strings(*columns["query"])
    passages = Passages(Strings(*columns["name"]), *(columns[role] for role in ("document", "start", "end")))
    row_query = np.repeat(np.arange(len(queries)), np.diff(begin))

    def where_of(row: int) -> str:
        query = int(row_query[row])
        return f"query `{quotable(queries[query])}`, position {row - int(begin[query]) + 1}"

    empty, title = list(queries.take(np.flatnonzero(np.diff(begin) == 0))), name or _what(kind)
    query, values = queries.take(row_query), columns.get("value")
    return Located(title, "", where_of, query, passages, values, empty=empty, listed=True)


def _what(kind: TableKind) -> str:
    return "run" if kind == "run" else "spans"


def _given(source: Any, kind: TableKind, name: str | None, accessors: Accessors | None, texts: Texts | None) -> Any:
    """`_located` for sources of all kinds."""
    what, quotes = _what(kind), kind == "qrels" or texts is not None
    if isinstance(source, Run) and source.records is not None:
        source, accessors = source.records[0], replace(source.records[1], field_of={}, scored=None)
    stream = open_stream(source, what) if is_stream(source) else None
    if by_position(source):
        source = {str(position): passages for position, passages in enumerate(source, 1)}
    table: Any = read_table(source if stream is None else stream, what)
    if isinstance(table, Stream):  # text without names of columns
        return getattr(detect_file(table, kind), f"read_{kind}")(table, name or table.name, None)
    title, source_name = (name or what, "") if stream is None else (name or stream.name, stream.source_name)
    if isinstance(table, Mapping) and columns_of(table) is not None:
        table = Columns.of({str(column): list(cells) for column, cells in table.items()}, source_name=what)
    by_query = _by_query(table) if isinstance(table, Columns) else table
    empty: list[str] = []
    frame = None
    if by_query is None:
        frame = _of_table(table, kind, source_name, quotes=quotes)
    else:
        first = next((value for value in by_query.values() if not _is_empty(value)), None)
        if not isinstance(first, Mapping) and not _is_text(first):
            frame = _of_mapping(by_query, kind, accessors or Accessors(), source_name, quotes=quotes)
            empty = [id_text(query) or str(query) for query, ranking in by_query.items() if _is_empty(ranking)]
    if frame is not None:
        return _checked(frame, kind, title, source_name, texts, empty, listed=by_query is not None)
    return (io.read_run if kind == "run" else io.read_qrels)(source if stream is None else stream, name=name)


def by_position(source: Any) -> int:
    """The number of lists in a list of lists, which has no ids of queries; 0 for everything else."""
    return len(source) if isinstance(source, list | tuple) and source and isinstance(source[0], list | tuple) else 0


def _by_query(table: Columns) -> Mapping[Any, Any] | None:
    """The results by query of a table with a list of them in each row; None for everything else."""
    columns = {name: table.values(name) for name in table.names}
    if all(len(cells) == 1 and isinstance(cells[0], list) for cells in columns.values()):  # JSON, by query
        return {query: cells[0] for query, cells in columns.items()}
    query, ranking = table.usual(COLUMNS["query"]), table.usual(FIELDS["ranking"])
    if query is None or ranking is None or not all(isinstance(cell, list) for cell in columns[ranking]):
        return None
    row_of: dict[str, int] = {}
    for row, name in enumerate(map(str, columns[query])):
        if row_of.setdefault(name, row) != row:
            raise InputError(
                [f"{table.where(row)}: query `{quotable(name)}` has two records, first {table.where(row_of[name])}"],
                hint="give the results of a query once",
            )
    return dict(zip(columns[query], columns[ranking], strict=True))


def _is_empty(value: Any) -> bool:
    return not isinstance(value, str) and hasattr(value, "__len__") and len(value) == 0


def _is_text(ranking: Any) -> bool:
    """Whether a ranking is a list of ids."""
    return isinstance(ranking, list | tuple | set | frozenset) and isinstance(next(iter(ranking)), str)


def _of_table(table: Columns, kind: TableKind, source_name: str, *, quotes: bool) -> Columns | None:
    """The columns query and document; start and end, or quote in their place; value (scores or grades) and rank."""
    columns = {role: table.usual(names) for role, names in COLUMNS.items()}
    quotes = quotes and columns["start"] is None and columns["quote"] is not None
    if not quotes and columns["start"] is columns["end"] is None:
        if columns["query"] is not None and _has_fields(table):
            return _of_records(table, table.values(columns["query"]), kind, source_name)
        if source_name:
            return None
    needed = ["query", "document", "quote"] if quotes else ["query", "document", "start", "end"]
    chosen = {role: columns[role] for role in (*needed, "rank")}
    chosen["value"] = columns["score" if kind == "run" else "grade"]
    roles = {role: column for role, column in chosen.items() if column is not None}
    more = ", or query, document and quote" if kind == "qrels" else ""
    hint = f"a table of passages has the columns query, document, start and end{more}"
    table.check_roles(roles, **dict.fromkeys(needed, hint))
    frame = Columns(roles, lambda role: table.column(roles[role]), table.line, text=table.text)
    frame.source_name = table.source_name
    return frame


def _has_fields(table: Columns) -> bool:
    """Whether a cell of the first row has fields of its own, as the metadata of a chunk have."""
    return any(isinstance(cell, Mapping) for name in table.names for cell in table.values(name)[:1])


def _of_records(table: Columns, queries: list[Any], kind: TableKind, source_name: str) -> Columns:
    """The rows of a table as records, whose fields may be nested."""
    with _in(source_name):
        rows = read_chunk_records([row for _, row in table.rows()], "", kind, Accessors())
    columns = dict(zip(("document", "start", "end", "value"), map(list, zip(*rows, strict=True)), strict=False))
    return Columns.of({"query": queries, **columns}, table.line, source_name=table.source_name)


@contextmanager
def _in(source_name: str) -> Iterator[None]:
    """Errors in a part of a file, with its name."""
    try:
        yield
    except InputError as error:
        prefix = f"{source_name}: " if source_name else ""
        raise InputError([prefix + fault for fault in error.faults], total=error.total, hint=error.hint) from None


def _of_mapping(
    source: Mapping[Any, Any], kind: TableKind, accessors: Accessors, source_name: str, *, quotes: bool
) -> Columns:
    """Lists of tuples or of records by query."""
    queries: list[Any] = []
    rows: list[Any] = []
    begin: list[int] = []
    with _in(source_name):
        for query, ranking in source.items():
            items = _listed(query, ranking, kind)
            if items and _is_record(items[0], accessors):
                items = read_chunk_records(items, str(query), kind, accessors, quotes=quotes)
            begin.append(len(rows))
            rows += items
            queries += [query] * len(items)
    starts = np.array(begin, np.int64)

    def where_of(row: int) -> str:
        at = row - int(starts[starts <= row].max())
        prefix = f"{source_name}: " if source_name else ""
        return f"{prefix}query `{quotable(str(queries[row]))}`, position {at + 1}"

    widths = set(map(len, rows)) if set(map(type, rows)) <= {tuple, list} else {0}
    quoted = quotes and min(widths, default=0) > 1 and isinstance(rows[0][1], str)
    usual = {2, 3} if quoted else {3, 4}
    if not widths <= usual:
        row = next(i for i, item in enumerate(rows) if not isinstance(item, tuple | list) or len(item) not in usual)
        raise InputError(
            [f"{where_of(row)}: expected a passage, found {quotable(repr(rows[row]))}"], hint=f"write {SHAPES[kind]}"
        )
    if len(widths) > 1:
        if kind == "run":
            row = next(i for i, item in enumerate(rows) if len(item) == min(widths))
            raise InputError([f"{where_of(row)}: there is no score, but other chunks have one"])
        rows = [item if len(item) == max(widths) else (*item, 1) for item in rows]
    names = ("document", "quote", "value") if quoted else ("document", "start", "end", "value")
    width = max(widths, default=min(usual))
    columns = {role: [row[i] for row in rows] for i, role in enumerate(names[:width])}
    return Columns.of({"query": queries, **columns}, where_of=where_of)


def _is_record(item: Any, accessors: Accessors) -> bool:
    """Whether this is a record, or a pair of a record and a score, and not a tuple of offsets."""
    if accessors.given or not isinstance(item, tuple | list) or hasattr(item, "_fields"):
        return True
    return len(item) == 2 and id_text(item[0]) is None


def _listed(query: Any, ranking: Any, kind: TableKind) -> list[Any]:
    if isinstance(ranking, str | Mapping) or not isinstance(ranking, Iterable):
        shown = quotable(repr(ranking))
        raise InputError(
            [f"query `{quotable(str(query))}`: expected passages, found {shown}"], hint=f"write {SHAPES[kind]}"
        )
    if isinstance(ranking, np.ndarray):
        ranking = ranking.tolist()
    return ranking if type(ranking) is list else list(ranking)


def _checked(
    frame: Columns,
    kind: TableKind,
    name: str,
    source_name: str,
    texts: Texts | None,
    empty: Sequence[str],
    *,
    listed: bool,
) -> Located:
    """The passages as arrays of ids and numbers."""
    faults = RowFaults(in_columns=not listed)
    query, document = (ids_of(frame, role, faults) for role in ("query", "document"))
    if "quote" in frame.names:
        starts, ends = _located_quotes(frame, list(document), texts, faults)
    else:
        starts, ends = (_offsets(frame.values(role), role, faults) for role in ("start", "end"))
        for row in np.flatnonzero((starts < 0) | (ends < starts)).tolist():
            negative = f"the start is negative: {starts[row]}"
            wrong = negative if starts[row] < 0 else f"the end {ends[row]} is before the start {starts[row]}"
            faults.add(row + 1, "syntax", wrong)
    values, ranks = (
        _numbers(frame, column, what, faults)
        for column, what in (("value", "score" if kind == "run" else "grade"), ("rank", "rank"))
    )
    location = Location(source_name, kind, "row", where_of=lambda row: frame.where(row - 1))
    FaultList(faults.first(query), len(faults.by_row)).raise_if_any(location)
    if not len(query) and not empty:
        raise InputError([f"{source_name or name}: no passages"])
    if kind == "run" and values is None and ranks is not None:
        values = -ranks
    passages = Passages(*codes_of(document), starts, ends)
    return Located(name, source_name, frame.where, query, passages, values, ranks, frame.line, empty, listed)


def _numbers(frame: Columns, column: str, what: str, faults: RowFaults) -> Floats | None:
    if column not in frame.names:
        return None
    numbers = numbers_of(frame, column, what, faults)
    for row in np.flatnonzero(~np.isfinite(numbers) if what == "grade" else np.isnan(numbers)).tolist():
        faults.add(row + 1, what, repr(frame.values(column)[row]))
    return numbers


def _offsets(values: list[Any], role: str, faults: RowFaults) -> Integers:
    kinds = set(map(type, values))
    if kinds == {str} and "" not in values and max(map(len, values)) < len(str(LONGEST)):
        digits = "".join(values)
        if digits.isdecimal() and digits.isascii():
            return np.fromstring(" ".join(values), np.int64, sep=" ")
    offsets = values if kinds == {int} else [_whole(value) for value in values]
    for row, value in enumerate(offsets):
        if isinstance(value, Wrong):
            faults.add(row + 1, "syntax", f"the {role} must be a whole number, found {quotable(str(value))}")
        elif abs(value) > LONGEST:
            faults.add(row + 1, "syntax", f"the {role} is too large: {quotable(str(values[row]))}")
    return np.array([0 if row + 1 in faults.by_row else value for row, value in enumerate(offsets)], np.int64)


class Wrong(str):
    """The text of a value that is not a whole number."""

    __slots__ = ()


def _whole(value: Any) -> int | Wrong:
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"\s*-?[0-9]+\s*", value):
        return int(value) if len(value) < MOST_DIGITS else LONGEST + 1
    return Wrong(value if isinstance(value, str) and value else repr(value))


class Texts:
    """The texts of documents: ``{document: text}``, or a collection, of which only judged documents are read."""

    def __init__(self, source: Any) -> None:
        self.source = source
        self._known: dict[str, str] = {}

    def of(self, documents: Iterable[str]) -> Mapping[str, str]:
        """The texts of these documents, as far as they are known."""
        if isinstance(self.source, Mapping):
            return self.source
        wanted = set(documents)
        if not wanted <= self._known.keys():
            from cranfield.io.documents import read_texts

            self._known |= read_texts([self.source], wanted)
        return self._known

    def check(self, passages: Passages, where_of: Callable[[int], str]) -> None:
        """Raise if a passage ends beyond the text of its document."""
        names = list(passages.names)
        texts = self.of(names) if not self._known else self._known
        length = np.array([len(texts[name]) if name in texts else LONGEST for name in names], np.int64)
        beyond = np.flatnonzero(passages.end > length[passages.document]).tolist()
        if beyond:
            where = [(row, names[passages.document[row]]) for row in beyond]
            raise InputError(
                [
                    f"{where_of(row)}: the end {passages.end[row]} is beyond the text of document `{quotable(name)}`, "
                    f"which has {plural(len(texts[name]), 'character')}"
                    for row, name in where
                ],
                hint="offsets count the characters of the documents that are given",
            )


def _located_quotes(
    frame: Columns, documents: Sequence[str], texts: Texts | None, faults: RowFaults
) -> tuple[Integers, Integers]:
    """The offsets of quotes in the texts of documents."""
    if texts is None:
        raise UsageError(
            "quotes need the texts of documents", hint="give --corpus FILE, or documents={id: text} of a Collection"
        )
    text_of, offsets = texts.of(documents), np.zeros((len(documents), 2), np.int64)
    for row, (name, quote) in enumerate(zip(documents, frame.values("quote"), strict=True)):
        if not isinstance(quote, str) or not quote.strip():
            faults.add(row + 1, "quote", f"expected a quote, found {quotable(repr(quote))}")
        elif name not in text_of:
            faults.add(row + 1, "syntax", f"there is no document `{quotable(name)}`")
        elif len(places := locate(quote, text_of[name])) == 1:
            offsets[row] = places[0]
        else:
            problem = "the quote is not found" if not places else f"the quote is found {len(places)} times"
            faults.add(row + 1, "quote", f"{problem} in document `{quotable(name)}`: `{quotable(quote)}`")
    return offsets[:, 0], offsets[:, 1]


def locate(quote: str, text: str) -> list[tuple[int, int]]:
    r"""All places of a quote in a text; if there is none, all those that differ in white space only.

    >>> locate("a lamp", "a lamp, a lamp"), locate("a lamp", "not a\n  lamp")
    ([(0, 6), (8, 14)], [(4, 12)])
    """
    at = [match.start() for match in re.finditer(f"(?={re.escape(quote)})", text)]
    if at:
        return [(start, start + len(quote)) for start in at]
    words = r"\s+".join(map(re.escape, quote.split()))
    return [match.span(1) for match in re.finditer(f"(?=({words}))", text)]
