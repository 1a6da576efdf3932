"""Tables with columns of any names: files, frames, records and dicts of queries, of items and of scores.

Items are all documents with their attributes, such as price, age or group. Scores are those that another program
computed for each query.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from cranfield.data import Floats, Integers, Strings
from cranfield.errors import InputError, UsageError, reading_objects
from cranfield.io.columns import (
    COLUMN_NAMES,
    MAX_NUMBER,
    Columns,
    by_text,
    first_rows,
    frame_of,
    id_text,
    is_encodable,
    is_frame,
    is_missing,
    no_column,
    normalise_name,
    number,
)
from cranfield.io.faults import FaultList, Location, TableKind, quotable
from cranfield.io.formats.delimited import DELIMITERS, delimiter_of, parse_delimited
from cranfield.io.formats.json import is_json, is_json_lines, parse_json, parse_json_lines
from cranfield.io.formats.parquet import column_names, is_parquet, read_columns
from cranfield.io.formats.trec import elements, without_tags
from cranfield.io.streams import Roles, Stream, detect_source, is_stream, open_stream, reject_columns, short_name
from cranfield.wording import did_you_mean, few

# Usual names of the columns with the id and with the text of a query, the most reliable ones first.
QUERY_COLUMNS = ("query_id", "qid", "q_id", "_id", "id", "query", "topic_id", "number", "topic", "user_id", "user")
TEXT_COLUMNS = ("text", "query_text", "query", "title", "question")
TEXT = "text"  # the attribute that is shown beside the id of a query
QUESTION = "question"
ITEM_COLUMNS = (*COLUMN_NAMES["document"], "product_id", "_id", "id")

# What is matched is never tried again in another way (++, *+): time grows with the length of the text.
_OLD_TOPIC = re.compile(
    r"<num>\s*+(?:Number:)?+\s*+([^\s<]++)\s*+(?:</num>\s*+)?+<title>\s*+(?:Topic:)?+([^<]*+)<", re.I
)
_XML_TOPIC = rb"<(topic)\b([^<>]*)>"
_XML_ATTRIBUTE = re.compile(r"""(?<![\w.-])([\w.-]++)\s*+=\s*+(?:"([^"]*)"|'([^']*)')""")
_XML_ELEMENT = rb"<(query|title|question)\b[^<>]*>"


def read_table(
    source: Any, what: str, *, has_names: bool = True, hint: str = ""
) -> Columns | Mapping[Any, Any] | Stream:
    """The table of a source: a frame, a list of records or a file; a dict, and text without names, as they are.

    ``has_names``: whether the first line of a file called .csv or .tsv names columns, whatever they are. ``hint``: what
    to give in place of an object that is no table.
    """
    if isinstance(source, Mapping):
        return source
    if not isinstance(source, Stream) and is_frame(source):
        return _named(frame_of(source), what)
    if isinstance(source, Sequence) and not is_stream(source) and all(isinstance(row, Mapping) for row in source):
        records = [{str(name): value for name, value in row.items()} for row in source]
        return _named(Columns.of_records(records), what)
    if not is_stream(source):
        raise UsageError(f"cannot read {what} from {type(source).__name__}", hint=hint)
    stream = open_stream(source, what)
    if is_parquet(stream):
        return _named(read_columns(stream), stream.source_name)
    if is_json(stream) and is_json_lines(stream):
        return _of_pieces(stream, parse_json_lines(stream))
    if is_json(stream):
        content = parse_json(stream)
        return content if isinstance(content, Mapping) else _named(content, stream.source_name)
    delimiter = named_by(stream) or (delimiter_of(stream.source_name) if has_names else "")
    return _of_pieces(stream, parse_delimited(stream, delimiter)) if delimiter else stream


def kind_of(source: str) -> TableKind | None:
    """What a file holds, as the names of its columns say, or the number of those of TREC; None if they do not."""
    if detect_source(source) is not None:
        return None
    stream = open_stream(source, "table")
    names: list[str] = []
    if is_parquet(stream):
        names = column_names(stream)
    elif is_json(stream) and is_json_lines(stream):
        names = next(parse_json_lines(stream, 1))[0].names
    elif not is_json(stream) and (delimiter := delimiter_of(stream.source_name)):
        names = next(parse_delimited(stream, delimiter))[0].names
    columns = set(map(normalise_name, names))
    scored, judged = (not columns.isdisjoint(usual) for usual in (RUN_ONLY, QRELS_ONLY))
    if scored == judged:
        _, fields, _ = next(stream.columns(), (0, [], ""))
        return {6: "run", 4: "qrels"}.get(len(fields)) if not names and not is_json(stream) else None  # type: ignore[return-value]
    return "run" if scored else "qrels"


RUN_ONLY = (*COLUMN_NAMES["score"], *COLUMN_NAMES["rank"])
QRELS_ONLY = ("relevance", "rel", "grade", "label", "rating")


def named_by(stream: Stream) -> str:
    """The delimiter of a first line that names a column of queries; "" if there is none."""
    first = stream.first_line.decode("utf-8", "replace")
    for delimiter in DELIMITERS:
        names = {normalise_name(name.strip().strip('"')) for name in first.split(delimiter)}
        if len(names) > 1 and not names.isdisjoint(QUERY_COLUMNS):
            return delimiter
    return ""


def _of_pieces(stream: Stream, pieces: Iterable[Any]) -> Columns:
    """The table that a text file has, from pieces of it with their faults."""
    columns: dict[str, list[Any]] = {}
    lines: list[int] = []
    faults = FaultList()
    text = False
    written: dict[str, str] = {}  # names as they are in the file, which may have blanks around them
    for piece, faults_of_piece in pieces:
        header = f"{stream.source_name}:1"
        _check_names(piece.names, header)
        for name in piece.names:
            if written.setdefault(name.strip(), name) != name:
                raise _repeated(name, header)
            columns.setdefault(name.strip(), [None] * len(lines)).extend(piece.column(name))
        lines += piece.line.tolist()
        text = piece.text
        for column in columns.values():
            column += [None] * (len(lines) - len(column))
        faults.add(faults_of_piece)
    faults.raise_if_any(Location(stream.source_name, "run"))
    return Columns.of(columns, np.array(lines, np.int64), source_name=stream.source_name, text=text)


def _named(columns: Columns, source_name: str) -> Columns:
    _check_names(columns.names, source_name)
    columns.source_name = source_name
    return columns


def _check_names(names: Sequence[str], where: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise _repeated(name, where)


def _repeated(name: str, where: str) -> InputError:
    fault = f"the column `{quotable(name)}` appears twice" if name.strip() else "several columns have no name"
    return InputError([f"{where}: {fault}"])


def _id_of(value: Any) -> str | None:
    """The id in a cell, None if it is empty or no id."""
    text = None if is_missing(value) else id_text(value)
    return text if text is None or is_encodable(text) else None


# Queries


@reading_objects()
def read_queries(source: Any, *, columns: Roles = None) -> dict[str, dict[str, str]]:
    """The attributes of queries by query; the attribute ``text`` is the text of the query.

    Parameters
    ----------
    source
        ``{query: text}``, ``{query: {attribute: value}}``, a table with a column for the query (CSV, TSV, JSON Lines,
        Parquet, a frame or a list of records), lines of an id, a tab and a text, TREC topics, or a BEIR folder.
    columns
        Which column of a table is the ``query`` and the ``text``, if their names do not say it.

    Returns
    -------
    dict
        ``{query: {attribute: value}}``, all of it text.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.read_queries([{"kunde": "k1", "land": "DE"}], columns={"query": "kunde"})
    {'k1': {'land': 'DE'}}
    """
    if isinstance(source, str | os.PathLike) and os.path.isdir(source):
        source = os.path.join(os.fsdecode(source), "queries.jsonl")
    table = read_table(source, "queries", has_names=columns is not None)
    if isinstance(table, Columns):
        return _queries_of_table(table, columns)
    reject_columns(columns)
    if isinstance(table, Stream):
        return _queries_of_text(table)
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


def _queries_of_table(table: Columns, columns: Roles) -> dict[str, dict[str, str]]:
    hint = 'name it query, or use cf.read_queries(..., columns={"query": ...})'
    chosen = table.of_roles({"query": QUERY_COLUMNS, "text": ()}, columns, query=hint)
    query = chosen["query"]
    text = chosen.get("text") or table.usual([name for name in TEXT_COLUMNS if name != normalise_name(query)])
    copied: dict[str, str] = {}
    if text is not None and normalise_name(text) == QUESTION:
        # A question is the text of a query, unless queries share it; it can be an attribute in any case.
        questions = table.values(text)
        shared = len(set(map(str, questions))) < len(questions)
        copied, text = {QUESTION: text} | ({} if shared else {TEXT: text}), None
    queries: dict[str, dict[str, str]] = {}
    faults = []
    for where, row in table.rows():
        name = _id_of(row[query])
        if name is None:
            faults.append(f"{where}: `{quotable(str(row[query]))}` is not the id of a query")
            continue
        row |= {attribute: row[column] for attribute, column in copied.items()}
        about = _texts({TEXT if column == text else column: row[column] for column in row if column != query})
        if queries.setdefault(name, about) != about:
            faults.append(f"{where}: query `{quotable(name)}` appears twice, with other attributes")
    if faults:
        raise InputError(faults, hint="the table has one row for each query")
    return queries


def _queries_of_text(stream: Stream) -> dict[str, dict[str, str]]:
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
    for at, line in enumerate(text.splitlines(), 1):
        name, tab, rest = line.partition("\t")
        if line.strip() and not tab:
            raise InputError(
                [f'{stream.source_name}:{at}: expected an id, a tab and a text: "{quotable(line[:60])}"'],
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


# Items


@dataclass(frozen=True, eq=False)
class Items:
    """All documents of a collection, each once, and the values of each attribute; None where there is none."""

    name: str
    ids: Strings
    attributes: Mapping[str, Sequence[Any]]
    _numbers: dict[str, Floats] = field(default_factory=dict, init=False, repr=False)

    def rows(self, documents: Strings) -> Integers:
        """The row of each of these documents; -1 if it is not in the table."""
        every = Strings.concatenate([self.ids, documents])
        first = first_rows(np.zeros(len(every), np.int64), every)[len(self.ids) :]
        return np.where(first < len(self.ids), first, -1)

    def column(self, attribute: str) -> Sequence[Any]:
        """The values of an attribute; an error if there is no such attribute."""
        if attribute not in self.attributes:
            names = few(list(self.attributes), 10)
            hint = did_you_mean(attribute, list(self.attributes), f"the attributes are {names}" if names else "")
            raise InputError([f"{self.name}: no attribute `{quotable(attribute)}`"], hint=hint)
        return self.attributes[attribute]

    @reading_objects()
    def numbers(self, attribute: str) -> Floats:
        """The values of an attribute as numbers; NaN where there is none."""
        if attribute not in self._numbers:
            values = self.column(attribute)
            parsed = [number(value, text=True) for value in values]
            numbers = np.array([np.nan if value is None else value for value in parsed], np.float64)
            in_range = np.abs(numbers) <= MAX_NUMBER
            wrong = [row for row in np.flatnonzero(~in_range).tolist() if not is_missing(values[row])]
            if wrong:
                limits = f"between {-MAX_NUMBER:g} and {MAX_NUMBER:g}"
                faults = [
                    f"{self.name}: the {attribute} of document `{quotable(self.ids[row])}` is not "
                    f'{limits if np.isfinite(numbers[row]) else "a finite number"}: "{quotable(str(values[row]))}"'
                    for row in wrong
                ]
                raise InputError(faults)
            self._numbers[attribute] = numbers
        return self._numbers[attribute]


@reading_objects()
def read_items(source: Any, *, columns: Roles = None) -> Items:
    """The items of a catalogue, each with its attributes.

    Parameters
    ----------
    source
        ``{document: {attribute: value}}``, or a table with a column for the document (a file, a frame or records).
    columns
        Which column of a table is the ``document``, if its name does not say it.

    Returns
    -------
    Items
        ``ids`` are the documents; ``numbers(attribute)`` gives the values of an attribute.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.read_items([{"sku": "a", "price": 2.5}], columns={"document": "sku"}).numbers("price").tolist()
    [2.5]
    """
    if isinstance(source, Items):
        return source
    table = read_table(source, "items")
    if isinstance(table, Columns):
        return _items_of_table(table, columns)
    reject_columns(columns)
    if not isinstance(table, Mapping):
        raise UsageError("items must be a table with names of columns, such as document,price")
    rows = by_text(table, "items")
    for name, about in rows.items():
        if not isinstance(about, Mapping):
            raise InputError([f"items: document `{quotable(name)}`: expected {{attribute: value}}"])
    named = [{str(name): value for name, value in about.items()} for about in rows.values()]
    names = dict.fromkeys(name for about in named for name in about)
    attributes = {name: [about.get(name) for about in named] for name in names}
    return _checked(Items("items", Strings.of(rows), attributes))


def _items_of_table(table: Columns, columns: Roles) -> Items:
    hint = 'name it document, or use cf.read_items(..., columns={"document": ...})'
    document = table.of_roles({"document": ITEM_COLUMNS}, columns, document=hint)["document"]
    given = table.values(document)
    ids = [_id_of(value) for value in given]
    present = [name for name in ids if name is not None]
    strings, rows = Strings.of(present), [row for row, name in enumerate(ids) if name is not None]
    first = first_rows(np.zeros(len(strings), np.int64), strings)
    repeated = np.flatnonzero(first != np.arange(len(first))).tolist()
    faults = [
        f"{table.where(row)}: `{quotable(str(given[row]))}` is not the id of a document"
        for row, name in enumerate(ids)
        if name is None
    ]
    faults += [f"{table.where(rows[i])}: document `{quotable(present[i])}` appears twice" for i in repeated]
    if faults:
        raise InputError(faults, hint="the table has one row for each document")
    return _checked(Items(table.source_name, strings, {n: table.values(n) for n in table.names if n != document}))


def _checked(items: Items) -> Items:
    if not len(items.ids):
        raise InputError([f"{items.name}: no documents"])
    return items


# Scores that another program computed

SCORE_COLUMNS: dict[str, tuple[str, ...]] = {
    "run": ("run", "run_id", "runid", "run_name", "run_tag", "system", "model"),
    "query": ("query_id", "qid", "q_id", "query", "topic_id", "question_id", "topic"),
    "measure": ("measure", "metric"),
    "value": ("value", "score"),
    "repeat": ("repeat", "seed", "trial"),
    "collection": ("collection", "test_set"),  # queries are then called COLLECTION/QUERY, as in scores of several
}
ALL = "all"  # the query of means in the text of other programs
SHAPE = "give {run: {measure: {query: value}}}, or a table with the columns run, query, measure, value"


class ScoreCell(NamedTuple):
    """One value, NaN if it is missing, and where it is."""

    run: str
    measure: str
    query: str
    repeat: str
    value: float
    where: str


class Cells:
    """The cells of one or more sources, with all faults that were found in them."""

    def __init__(self, columns: Roles, is_measure: Callable[[str], bool]) -> None:
        self.columns, self.is_measure = columns, is_measure
        self.cells: list[ScoreCell] = []
        self.remarks: list[str] = []
        self.means = 0  # rows with means over all queries, which are not read
        self._faults: list[str] = []
        self._file_of: dict[str, str] = {}
        self._first: dict[tuple[str, str, str, str], str] = {}

    def add(self, run: Any, measure: Any, query: Any, value: Any, where: str, repeat: str = "") -> None:
        """One cell; a list of values has the repeats of the run."""
        if (isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim)) and not repeat:
            for i, repeat_value in enumerate(value, 1):
                self.add(run, measure, query, repeat_value, where, str(i))
            if not len(value):
                self._faults.append(f"{where}: a list of repeats without a value")
            return
        names = [_id_of(name) for name in (run, measure, query)]
        for what, name, given in zip(("run", "measure", "query"), names, (run, measure, query), strict=True):
            if name is None:
                self._faults.append(f"{where}: {given!r:.60} is not the name of a {what}")
                return
        score = float("nan") if is_missing(value) else number(value, text=True)
        if score is None or abs(score) > MAX_NUMBER:
            wrong = "a number" if score is None or np.isinf(score) else f"between {-MAX_NUMBER:g} and {MAX_NUMBER:g}"
            self._faults.append(f"{where}: the value of {quotable(str(names[1]))} is not {wrong}: {_shown(value)}")
            return
        key = str(names[0]), str(names[1]), str(names[2]), repeat
        if first := self._first.get(key):
            self._faults.append(
                f"{where}: a second value of {quotable(key[1])} for query `{quotable(key[2])}` of run "
                f"`{quotable(key[0])}`; the first is {first}"
            )
            return
        self._first[key] = f"at {where}"
        self.cells.append(ScoreCell(*key, score, where))

    def raise_faults(self) -> None:
        """Raise all faults as one error."""
        if self._faults:
            twice = any("a second value" in fault for fault in self._faults)
            several = "repeats of a run need a column `repeat`, or lists of values"
            hint = several if twice else "missing values are empty, NaN or null"
            raise InputError(self._faults, hint=hint)

    def read(self, table: Columns | Mapping[Any, Any] | Stream, run: str | None = None, *, is_file: bool) -> None:
        """All cells of what `read_table` returns. ``run``: the name of the run, where the source has none."""
        if isinstance(table, Mapping):
            self._mapping(table)
            return
        name = run or (table.name if isinstance(table, Stream) else short_name(table.source_name) if is_file else "run")
        if is_file and (other := self._file_of.setdefault(name, table.source_name)) != table.source_name:
            self.remarks.append(f"{other} and {table.source_name} are both read as the run `{quotable(name)}`")
        if isinstance(table, Stream):
            self._text(table, name)
        else:
            self._table(table, name)

    def _mapping(self, source: Mapping[Any, Any]) -> None:
        """``{run: {measure: {query: value or [repeats]}}}``, or paths and tables by run."""
        for run, of_run in source.items():
            if not isinstance(of_run, Mapping):
                if is_stream(of_run) or is_frame(of_run) or isinstance(of_run, (list, tuple)):
                    self.read(read_table(of_run, "scores"), str(run), is_file=is_stream(of_run))
                    continue
                raise _wrong_shape(f"run `{quotable(str(run))}`", of_run)
            for measure, values in of_run.items():
                if not isinstance(values, Mapping):
                    raise _wrong_shape(f"run `{quotable(str(run))}`, {quotable(str(measure))}", values)
                for query, value in values.items():
                    where = f"run `{quotable(str(run))}`, {quotable(str(measure))}, query `{quotable(str(query))}`"
                    self.add(run, measure, query, value, where)

    def _table(self, table: Columns, run: str) -> None:
        """A long table (measure and value in columns), or a wide one (a column for each measure)."""
        chosen = table.of_roles(SCORE_COLUMNS, self.columns)
        if not any(table.values(name) for name in table.names):
            raise InputError([f"{table.source_name}: there are no scores"], hint=SHAPE)
        table.check_roles(chosen, query='name it query, or pass columns={"query": ...}')
        ids = {chosen[role] for role in ("run", "query", "repeat", "collection") if role in chosen}
        measures = [name for name in table.names if name not in ids]
        if "measure" in chosen:
            measures = []
            table.check_roles(chosen, value='name it value, or pass columns={"value": ...}')
        elif not measures:
            hint = "give a column for each measure, or measure and value"
            raise no_column(table.names, table.source_name, "no column with scores", hint)
        for where, row in table.rows():
            query = row[chosen["query"]]
            if isinstance(query, str) and query == ALL:
                self.means += 1
                continue
            if "collection" in chosen and not is_missing(query):
                query = f"{row[chosen['collection']]}/{id_text(query) or query}"
            of = row[chosen["run"]] if "run" in chosen else run
            repeat = row[chosen["repeat"]] if "repeat" in chosen else ""
            repeat = "" if is_missing(repeat) else str(repeat)
            if measures:
                for measure in measures:
                    self.add(of, measure, query, row[measure], where, repeat)
            else:
                self.add(of, row[chosen["measure"]], query, row[chosen["value"]], where, repeat)

    def _text(self, stream: Stream, run: str) -> None:
        """Lines without names: ``measure query value`` as trec_eval -q prints, or ``query measure value``."""
        rows = [(f"{stream.source_name}:{line}", columns) for line, columns, _ in stream.columns()]
        if not rows:
            raise InputError([f"{stream.source_name}: there are no scores"], hint=SHAPE)
        runs: list[str] = []
        for _, columns in rows:
            # trec_eval names the run first; several outputs may follow each other.
            if columns[0] == "runid" and len(columns) == 3:
                run = columns[2]
            else:
                runs.append(run)
        rows = [(where, columns) for where, columns in rows if columns[0] != "runid" or len(columns) != 3]
        width = len(rows[0][1]) if rows else 3
        wrong = [f"{where}: expected {width} columns, found {len(row)}" for where, row in rows if len(row) != width]
        if wrong or width not in (3, 4):
            raise InputError(
                wrong or [f"{rows[0][0]}: expected 3 columns (measure query value), found {width}"],
                hint="or give a table with a first line of names: run, query, measure, value",
            )
        # The run is the first or the last of four columns; the value is the last of the others. Queries are often
        # numbers, and so may runs be.
        third, last = ([number(row[i], text=True) is not None for _, row in rows] if width == 4 else [] for i in (2, 3))
        run_last = all(third) and (not any(last) or all(self.is_measure(row[0]) for _, row in rows))
        order = [3, 0, 1, 2] if run_last else [0, 1, 2, 3]
        table = [
            (where, [row[i] for i in order] if width == 4 else [of, *row])
            for of, (where, row) in zip(runs, rows, strict=True)
        ]
        measure = self._measure_column([row for _, row in table], stream.source_name)
        for where, row in table:
            query = row[3 - measure]
            if query != ALL:
                self.add(row[0], row[measure], query, row[3], where)

    def _measure_column(self, rows: Sequence[Sequence[str]], source_name: str) -> int:
        """Which of the columns 1 and 2 has the measure; the other one has the query."""
        sides = [{row[side] for row in rows} for side in (1, 2)]
        with_all = [ALL in side for side in sides]
        all_measures = [all(self.is_measure(name) for name in side - {ALL}) for side in sides]
        sizes = [len(side) for side in sides]
        if with_all[0] != with_all[1]:
            column = 1 if with_all[1] else 2
        elif all_measures[0] != all_measures[1]:
            column = 1 if all_measures[0] else 2
        elif sizes[0] != sizes[1]:
            column = 1 if sizes[0] < sizes[1] else 2
            names = "measure, query, value" if column == 1 else "query, measure, value"
            self.remarks.append(f"{source_name}: the columns were read as {names}")
        else:
            raise InputError(
                [f"{source_name}: which column is the measure, and which the query?"],
                hint="add a first line with the names of the columns: run, query, measure, value",
            )
        return column


def _shown(value: Any) -> str:
    return f'"{quotable(value[:60])}"' if isinstance(value, str) else f"{value!r:.60}"


def _wrong_shape(where: str, value: Any) -> InputError:
    return InputError(
        [f"scores: {where}: expected a dict, found {type(value).__name__}"],
        hint="scores are {run: {measure: {query: value}}}",
    )


def sources_of(source: Any) -> Iterator[Any]:
    """The sources, of which a list of files or tables has several."""
    if isinstance(source, (list, tuple)) and not all(isinstance(row, Mapping) for row in source):
        yield from source
    else:
        yield source
