"""Tables with columns of any names, and the table of queries: files, frames, records and dicts."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cranfield.errors import InputError, UsageError
from cranfield.io.faults import FaultList, Location, quotable
from cranfield.io.formats.delimited import DELIMITERS, delimiter_of, parse_delimited
from cranfield.io.formats.json import is_json, is_json_lines, parse_json, parse_json_lines
from cranfield.io.formats.parquet import is_parquet, read_columns
from cranfield.io.formats.trec import elements, without_tags
from cranfield.io.ids import by_text, id_text
from cranfield.io.streams import Stream, is_stream, open_stream
from cranfield.io.tables import Frame, frame_of, is_frame, list_of, normalise_name
from cranfield.wording import few

# Usual names of the columns with the id and with the text of a query, the most reliable ones first.
QUERY_COLUMNS = ("query_id", "qid", "q_id", "_id", "id", "query", "topic_id", "number", "topic")
TEXT_COLUMNS = ("text", "query_text", "query", "title", "question")
TEXT = "text"  # the attribute that is shown beside the id of a query
QUESTION = "question"

# What is matched is never tried again in another way (++, *+): time grows with the length of the text.
_OLD_TOPIC = re.compile(
    r"<num>\s*+(?:Number:)?+\s*+([^\s<]++)\s*+(?:</num>\s*+)?+<title>\s*+(?:Topic:)?+([^<]*+)<", re.I
)
_XML_TOPIC = re.compile(rb"<(topic)\b([^<>]*)>", re.I)
_XML_ATTRIBUTE = re.compile(r"""(?<![\w.-])([\w.-]++)\s*+=\s*+(?:"([^"]*)"|'([^']*)')""")
_XML_ELEMENT = re.compile(rb"<(query|title|question)\b[^<>]*>", re.I)


class NamedTable(NamedTuple):
    """Columns by name; ``lines``: the lines of the rows, if they are those of a text file."""

    columns: dict[str, list[Any]]
    lines: Sequence[int] | None
    source_name: str

    def place(self, row: int) -> str:
        """Where a row is, for messages."""
        return f"{self.source_name}: row {row + 1}" if self.lines is None else f"{self.source_name}:{self.lines[row]}"

    def __iter__(self) -> Iterator[Any]:
        """The rows, each with its place."""
        for row, values in enumerate(zip(*self.columns.values(), strict=True)):
            yield self.place(row), dict(zip(self.columns, values, strict=True))

    def column(self, names: Sequence[str]) -> str | None:
        """The column with the first of these names that there is."""
        normalised = {normalise_name(name): name for name in reversed(list(self.columns))}
        return next((normalised[name] for name in names if name in normalised), None)


def read_table(source: Any, what: str, *, has_names: bool = True) -> NamedTable | Mapping[Any, Any] | Stream:
    """The table of a source: a frame, a list of records or a file; a dict, and text without names, as they are.

    ``has_names``: whether the first line of a file called .csv or .tsv names columns, whatever they are.
    """
    if isinstance(source, Mapping):
        return source
    if not isinstance(source, Stream) and is_frame(source):
        return _of_frame(frame_of(source), what)
    if isinstance(source, Sequence) and not is_stream(source) and all(isinstance(row, Mapping) for row in source):
        names = dict.fromkeys(str(name) for row in source for name in row)
        rows = [{str(name): value for name, value in row.items()} for row in source]
        return NamedTable({name: [row.get(name) for row in rows] for name in names}, None, what)
    if not is_stream(source):
        raise UsageError(f"cannot read {what} from {type(source).__name__}")
    stream = open_stream(source, what)
    if is_parquet(stream):
        return _of_frame(read_columns(stream), stream.source_name)
    if is_json(stream) and is_json_lines(stream):
        return _pieces(stream, parse_json_lines(stream))
    if is_json(stream):
        content = parse_json(stream)
        return content if isinstance(content, Mapping) else _of_frame(content, stream.source_name)
    delimiter = named_by(stream) or (delimiter_of(stream.source_name) if has_names else "")
    return _pieces(stream, parse_delimited(stream, delimiter)) if delimiter else stream


def named_by(stream: Stream) -> str:
    """The delimiter of a first line that names a column of queries; "" if there is none."""
    first = stream.first_line.decode("utf-8", "replace")
    for delimiter in DELIMITERS:
        names = {normalise_name(name.strip().strip('"')) for name in first.split(delimiter)}
        if len(names) > 1 and not names.isdisjoint(QUERY_COLUMNS):
            return delimiter
    return ""


def _pieces(stream: Stream, pieces: Iterable[Any]) -> NamedTable:
    """The table that a text file has, from pieces of it with their faults."""
    columns: dict[str, list[Any]] = {}
    lines: list[int] = []
    faults = FaultList()
    written: dict[str, str] = {}  # names as they are in the file, which may have blanks around them
    for frame, found in pieces:
        place = f"{stream.source_name}:1"
        _check_names(frame.names, place)
        for name in frame.names:
            if written.setdefault(name.strip(), name) != name:
                raise _repeated(name, place)
            columns.setdefault(name.strip(), [None] * len(lines)).extend(frame.column(name))
        lines += frame.line.tolist()
        for column in columns.values():
            column += [None] * (len(lines) - len(column))
        faults.add(found)
    faults.raise_if_any(Location(stream.source_name, "run"))
    return NamedTable(columns, lines, stream.source_name)


def _check_names(names: Sequence[str], place: str) -> None:
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise _repeated(repeated, place)


def _repeated(name: str, place: str) -> InputError:
    return InputError([f"{place}: the column `{quotable(name)}` appears twice"])


def _of_frame(frame: Frame, source_name: str) -> NamedTable:
    _check_names(list(frame.names), source_name)
    return NamedTable({name: list_of(frame.column(name)) for name in frame.names}, None, source_name)


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, or the text "", "NaN" or "null"."""
    if isinstance(value, str):
        return value.strip().lower() in ("", "nan", "null")
    return value is None or value != value or type(value).__name__ in ("NAType", "NaTType")


def read_queries(source: Any) -> dict[str, dict[str, str]]:
    """The attributes of queries by query; the attribute ``text`` is the text of the query.

    The source is ``{query: text}``, ``{query: {attribute: value}}``, a table with a column for the query (CSV, TSV,
    JSON Lines, Parquet, a frame or a list of records), lines of an id, a tab and a text, TREC topics, or a BEIR folder.
    """
    if isinstance(source, str | os.PathLike) and os.path.isdir(source):
        source = os.path.join(os.fsdecode(source), "queries.jsonl")
    table = read_table(source, "queries", has_names=False)
    if isinstance(table, NamedTable):
        return _of_table(table)
    if isinstance(table, Stream):
        return _of_text(table)
    queries = {}
    for name, about in by_text(table, "queries").items():
        if not isinstance(about, (Mapping, str)):
            raise InputError(
                [f"queries: query `{quotable(name)}`: expected a text or {{attribute: value}}, found {about!r:.60}"]
            )
        queries[name] = _texts(about if isinstance(about, Mapping) else {TEXT: about})
    return queries


def _texts(attributes: Mapping[Any, Any]) -> dict[str, str]:
    return {
        str(name): value if isinstance(value, str) else str(value)
        for name, value in attributes.items()
        if not is_missing(value)
    }


def _of_table(table: NamedTable) -> dict[str, dict[str, str]]:
    query = table.column(QUERY_COLUMNS)
    if query is None:
        names = few([quotable(name) for name in table.columns], 10)
        message = f"{table.source_name}: no column for the query; the columns are {names}"
        raise InputError([message], hint="name it query")
    text = table.column([name for name in TEXT_COLUMNS if name != normalise_name(query)])
    if text is not None and normalise_name(text) == QUESTION:
        # A question is the text of a query, unless queries share it; it can be an attribute in any case.
        shared = len(set(map(str, table.columns[text]))) < len(table.columns[text])
        table.columns.update({QUESTION: table.columns[text]} | ({} if shared else {TEXT: table.columns[text]}))
        text = None
    queries: dict[str, dict[str, str]] = {}
    faults = []
    for place, row in table:
        name = None if is_missing(row[query]) else id_text(row[query])
        if name is None:
            faults.append(f"{place}: `{quotable(str(row[query]))}` is not the id of a query")
            continue
        about = _texts({TEXT if column == text else column: row[column] for column in row if column != query})
        if queries.setdefault(name, about) != about:
            faults.append(f"{place}: query `{quotable(name)}` appears twice, with other attributes")
    if faults:
        raise InputError(faults, hint="the table has one row for each query")
    return queries


def _of_text(stream: Stream) -> dict[str, dict[str, str]]:
    text = stream.read_text()
    queries: dict[str, dict[str, str]] = {}
    for topic in elements(text.encode("utf-8", "surrogateescape"), _XML_TOPIC):
        attributes = topic.tag.decode("utf-8", "surrogateescape")
        about = {name: _plain(double or single) for name, double, single in _XML_ATTRIBUTE.findall(attributes)}
        name = about.pop("number", None) or about.pop("id", None)
        shown = next(elements(topic.content, _XML_ELEMENT), None)
        if name:
            text_of = {} if shown is None else {TEXT: _plain(shown.content.decode("utf-8", "surrogateescape"))}
            queries[name] = about | text_of
    if queries:
        return queries
    queries = {name: {TEXT: _plain(title)} for name, title in _OLD_TOPIC.findall(text + "<")}
    if queries:
        return queries
    for number, line in enumerate(text.splitlines(), 1):
        name, tab, rest = line.partition("\t")
        if line.strip() and not tab:
            raise InputError(
                [f'{stream.source_name}:{number}: expected an id, a tab and a text: "{quotable(line[:60])}"'],
                hint="a table of queries has a first line of column names, such as query,text,type",
            )
        if line.strip():
            queries[name.strip()] = {TEXT: rest.strip()}
    return queries


def _plain(text: str) -> str:
    return " ".join(without_tags(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape").split())


def read_query_texts(source: Any, queries: Collection[str]) -> dict[str, str]:
    """The texts of these queries, as far as the source has them; an error if it has none of them."""
    about = read_queries(source)
    texts = {query: about[query][TEXT] for query in queries if TEXT in about.get(query, {})}
    if not texts:
        first = quotable(next(iter(queries), ""))
        raise InputError([f"{quotable(str(source))}: no text for any query (first query: `{first}`)"])
    return texts
