"""Passages of documents: judged ones, and runs of chunks.

Both are ``{query: [(document, start, end), ...]}``, tables with the columns query, document, start and end, records
with such fields, or plain runs and judgments whose ids are those of passages, as in ``d7:120-320``. Offsets are
half-open. A judged passage may be a quote from the text of its document, in place of the offsets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield import io
from cranfield.data import Floats, Integers, Judgments, Passages, Repeats, Run, Strings, Table
from cranfield.errors import InputError, UsageError
from cranfield.io.detect import detect_file
from cranfield.io.faults import Location, TableKind, quotable
from cranfield.io.ids import Duplicates, check_duplicates, codes_of, id_text
from cranfield.io.judgments import Rows, group_judgments
from cranfield.io.lists import without_repeats
from cranfield.io.named_tables import NamedTable, is_missing, read_table
from cranfield.io.records import Accessors, read_chunk_records
from cranfield.io.runs import load, load_unchecked
from cranfield.io.streams import Stream, is_stream, short_name
from cranfield.io.tables import COLUMN_NAMES, PASSAGE_IDS, is_frame
from cranfield.wording import few, plural

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
_ID = re.compile(rb"(.+):([0-9]{1,11})-([0-9]{1,11})", re.DOTALL)
SHAPES = {
    "run": "[(document, start, end), ...], with the score as a fourth value or in order",
    "qrels": "[(document, start, end), ...] or [(document, quote), ...], with the grade as the last value or without",
}


@dataclass
class Given:
    """Passages as they were given, in columns; ``place`` says where a row is.

    ``values``: scores or grades, None without any. ``quotes``: in place of offsets.
    """

    name: str
    source_name: str
    queries: list[Any]
    documents: list[Any]
    starts: list[Any]
    ends: list[Any]
    values: list[Any] | None
    place: Callable[[int], str]
    lines: Sequence[int] | None = None
    quotes: list[Any] | None = None
    answers: bool = False  # a run by query, which may have found nothing


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
    given = io.read_run(source, name=name) if isinstance(source, Run) else _given(source, "run", name, accessors)
    run = _run(given) if isinstance(given, Given) else given
    table = run.source if isinstance(run.source, Table) else load(run)
    passages = parse_ids(table.document, run.source_name or run.name) if table.passages is None else table.passages
    run = replace(run, source=replace(table, passages=passages))
    if texts is not None:
        title = run.source_name or run.name
        of_id = lambda row: f"{title}: `{quotable(table.document[row])}`"  # noqa: E731
        texts.check(passages, given.place if isinstance(given, Given) else of_id)
    return run if duplicates == "error" else without_repeats(run, duplicates, load_unchecked)


def _run(given: Given) -> Run:
    passages, query = _passages(given)
    scores = -np.arange(float(len(query))) if given.values is None else _numbers(given, given.values, "score")
    lines = None if given.lines is None else np.array(given.lines, np.int64)
    table = Table(query, passages.ids, scores, numbered=given.lines is None, line=lines, passages=passages)
    return Run(given.name, table, given.source_name)


def parse_ids(ids: Strings, source_name: str) -> Passages:
    """The passages that ids such as ``d7:120-320`` name."""
    found = [_ID.fullmatch(text.encode("utf-8", "surrogateescape")) for text in ids]
    wrong = [ids[row] for row, match in enumerate(found) if match is None]
    if wrong:
        message = f"{source_name}: `{quotable(wrong[0])}` is not a passage ({len(wrong):,} of {len(ids):,} ids)"
        hint = "give the columns query, document, start and end, or ids such as d7:120-320"
        raise InputError([message], hint=hint)
    names, document = codes_of(Strings.packed([match[1] for match in found if match]))
    start, end = (np.array([int(match[i]) for match in found if match], np.int64) for i in (2, 3))
    if (end < start).any():
        raise InputError(
            [f"{source_name}: `{quotable(ids[int((end < start).argmax())])}`: the end is before the start"]
        )
    return Passages(names, document, start, end)


def read_spans(source: Any, *, name: str | None = None, texts: Texts | None = None) -> tuple[Judgments, Passages]:
    """Judged passages as judgments by subtopic, each a document and a subtopic of its own; and their offsets.

    ``texts``: the texts of documents, in which quotes are located and offsets must be.
    """
    given = _given(source, "qrels", name)
    if isinstance(given, Judgments):
        passages = parse_ids(given.documents, given.name)
        query = given.queries.take(np.repeat(np.arange(len(given.queries)), np.diff(given.begin)))
        grade, unit, lines = given.grade, "entry", None
        ids, title = given.documents, given.name
        places = [f"{given.name}: `{quotable(text)}`" for text in ids]
        place: Callable[[int], str] = places.__getitem__
    else:
        passages, query = _passages(given, texts)
        grade = np.ones(len(query)) if given.values is None else _numbers(given, given.values, "grade")
        unit, lines = "row" if given.lines is None else "line", given.lines
        ids, title, place = passages.ids, given.source_name, given.place
    if texts is not None:
        texts.check(passages, place)
    if len(empty := np.flatnonzero(passages.start == passages.end)):
        raise InputError([f"{place(row)}: the passage is empty" for row in empty.tolist()])
    line = np.array(range(1, len(grade) + 1) if lines is None else lines, np.int64)
    location = Location(title, "qrels", unit)  # type: ignore[arg-type]
    judgments = group_judgments(given.name, Rows.of(query, ids, grade, line, ids), location, subtopics=True)
    row_of = {text: row for row, text in enumerate(ids)}
    return judgments, passages.take(np.array([row_of[text] for text in judgments.documents], np.int64))


def _given(source: Any, kind: TableKind, name: str | None, accessors: Accessors | None = None) -> Given | Any:
    """The passages of a source in columns; or a plain run or plain judgments, whose ids are those of passages."""
    what = "run" if kind == "run" else "spans"
    table = read_table(source, what)
    if isinstance(table, Stream):  # text without names of columns
        return getattr(detect_file(table, kind), f"read_{kind}")(table, name or table.name, None)
    given: Given | None = None
    if isinstance(table, NamedTable) and all(map(_is_one_list, table.columns.values())):  # JSON, by query
        table = {query: cells[0] for query, cells in table.columns.items()}
    if isinstance(table, NamedTable):
        in_file = is_stream(source)
        title = short_name(table.source_name).strip("<>") if in_file else what  # <stdin>
        given = _of_table(table, kind, name or title, in_file=in_file)
    else:
        first = next((value for value in table.values() if not _is_empty(value)), None)
        if not isinstance(first, Mapping) and not _is_text(first):
            given = _of_mapping(table, kind, name or what, accessors or Accessors())
    return (io.read_run if kind == "run" else io.read_qrels)(source, name=name) if given is None else given


def _is_empty(value: Any) -> bool:
    return not isinstance(value, str) and hasattr(value, "__len__") and len(value) == 0


def _is_one_list(cells: list[Any]) -> bool:
    return len(cells) == 1 and isinstance(cells[0], list)


def _is_text(ranking: Any) -> bool:
    """Whether a ranking is a list of ids."""
    return isinstance(ranking, list | tuple | set | frozenset) and isinstance(next(iter(ranking)), str)


def _of_table(table: NamedTable, kind: TableKind, name: str, *, in_file: bool) -> Given | None:
    columns = {role: table.column(names) for role, names in COLUMNS.items()}
    cells = {role: [] if column is None else table.columns[column] for role, column in columns.items()}
    needed = ["query", "document", "start", "end"]
    quotes = kind == "qrels" and columns["start"] is None and columns["quote"] is not None
    if quotes:
        needed[2:] = ["quote"]
    elif columns["start"] is None and columns["end"] is None and in_file:
        return None
    missing = [role for role in needed if columns[role] is None]
    if missing:
        names = few([quotable(column) for column in table.columns], 10)
        more = ", or query, document and quote" if kind == "qrels" else ""
        raise InputError(
            [f"{table.source_name}: no column for the {missing[0]}; the columns are {names}"],
            hint=f"a table of passages has the columns query, document, start and end{more}",
        )
    values: list[Any] | None = cells["score" if kind == "run" else "grade"] or None
    if kind == "run" and values is None and cells["rank"]:
        values = [_negated(rank) for rank in cells["rank"]]
    return Given(
        name,
        table.source_name if in_file else "",
        cells["query"],
        cells["document"],
        cells["start"],
        cells["end"],
        values,
        table.place,
        table.lines,
        cells["quote"] if quotes else None,
    )


def _negated(rank: Any) -> Any:
    try:
        return -float(rank)
    except (TypeError, ValueError):
        return rank


def _of_mapping(source: Mapping[Any, Any], kind: TableKind, name: str, accessors: Accessors) -> Given:
    """Lists of tuples or of records by query."""
    queries: list[Any] = []
    rows: list[Any] = []
    begin: list[int] = []
    for query, ranking in source.items():
        items = _listed(query, ranking, kind)
        if items and _is_record(items[0], accessors):
            items = read_chunk_records(items, str(query), kind, accessors)
        begin.append(len(rows))
        rows += items
        queries += [query] * len(items)
    starts = np.array(begin, np.int64)

    def place(row: int) -> str:
        at = row - int(starts[starts <= row].max())
        return f"query `{quotable(str(queries[row]))}`, position {at + 1}"

    widths = set(map(len, rows))
    quoted = kind == "qrels" and bool(rows) and len(rows[0]) > 1 and isinstance(rows[0][1], str)
    usual = {2, 3} if quoted else {3, 4}
    if not widths <= usual or not set(map(type, rows)) <= {tuple, list}:
        row = next(i for i, one in enumerate(rows) if not isinstance(one, tuple | list) or len(one) not in usual)
        raise InputError(
            [f"{place(row)}: expected a passage, found {quotable(repr(rows[row]))}"], hint=f"write {SHAPES[kind]}"
        )
    if len(widths) > 1:
        if kind == "run":
            row = next(i for i, one in enumerate(rows) if len(one) == min(widths))
            raise InputError([f"{place(row)}: there is no score, but other chunks have one"])
        rows = [one if len(one) == max(widths) else (*one, 1) for one in rows]
    columns: list[list[Any]] = [[row[i] for row in rows] for i in range(max(widths, default=min(usual)))]
    values = columns.pop() if len(columns) == max(usual) else None
    documents, *offsets = columns
    first, second = (offsets[0], []) if quoted else offsets
    return Given(
        name,
        "",
        queries,
        documents,
        first,
        second,
        values,
        place,
        quotes=first if quoted else None,
        answers=kind == "run" and bool(source),
    )


def _is_record(item: Any, accessors: Accessors) -> bool:
    """Whether this is a record, or a pair of a record and a score, and not a tuple of offsets."""
    if accessors.given or not isinstance(item, tuple | list) or hasattr(item, "_fields"):
        return True
    return len(item) == 2 and id_text(item[0]) is None


def _listed(query: Any, ranking: Any, kind: TableKind) -> list[Any]:
    if isinstance(ranking, str | Mapping) or not isinstance(ranking, Iterable):
        found = quotable(repr(ranking))
        raise InputError(
            [f"query `{quotable(str(query))}`: expected passages, found {found}"], hint=f"write {SHAPES[kind]}"
        )
    return ranking if type(ranking) is list else list(ranking)


def _passages(given: Given, texts: Texts | None = None) -> tuple[Passages, Strings]:
    """The passages, and the query of each."""
    faults: list[str] = []
    queries, documents = (_ids(given, column, role, faults) for role, column in
                          (("query", given.queries), ("document", given.documents)))  # fmt: skip
    codes = {text: code for code, text in enumerate(dict.fromkeys(documents))}
    document = np.fromiter(map(codes.__getitem__, documents), np.int64, len(documents))
    if given.quotes is not None and not faults:
        starts, ends = _located(given, documents, given.quotes, texts, faults)
    else:
        starts, ends = (_offsets(given, column, role, faults) for role, column in
                        (("start", given.starts), ("end", given.ends)))  # fmt: skip
        if not faults:
            for row in np.flatnonzero((starts < 0) | (ends < starts)).tolist():
                negative = f"the start is negative: {starts[row]}"
                wrong = negative if starts[row] < 0 else f"the end {ends[row]} is before the start {starts[row]}"
                faults.append(f"{given.place(row)}: {wrong}")
    if faults:
        hint = "" if given.quotes is None else "quotes are searched as they are, then up to white space; give offsets"
        raise InputError(faults, hint=hint)
    if not documents and not given.answers:
        raise InputError([f"{given.source_name or given.name}: no passages"])
    return Passages(Strings.of(codes), document, starts, ends), Strings.of(queries)


def _ids(given: Given, values: list[Any], role: str, faults: list[str]) -> list[str]:
    if set(map(type, values)) <= {str} and all(values):
        return values
    texts = []
    for row, value in enumerate(values):
        text = None if is_missing(value) else id_text(value)
        if text is None:
            faults.append(f"{given.place(row)}: `{quotable(str(value))}` is not the id of a {role}")
        texts.append(text or "")
    return texts


def _offsets(given: Given, values: list[Any], role: str, faults: list[str]) -> Integers:
    kinds = set(map(type, values))
    if kinds == {str} and all(map(str.isdecimal, values)):
        values = list(map(int, values))
    elif kinds != {int}:
        values = [_whole(value) for value in values]
        for row, value in enumerate(values):
            if isinstance(value, Wrong):
                faults.append(f"{given.place(row)}: the {role} must be a whole number, found {quotable(str(value))}")
    try:
        offsets = np.array([] if faults else values, np.int64)
        highest = int(offsets.max(initial=0))
    except OverflowError:
        offsets, highest = np.zeros(0, np.int64), max(values)
    if highest > LONGEST:
        faults.append(f"{given.place(values.index(highest))}: the {role} is too large: {quotable(str(highest))}")
    return offsets


class Wrong(str):
    """The text of a value that is not a whole number."""

    __slots__ = ()


def _whole(value: Any) -> int | Wrong:
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"\s*-?[0-9]+\s*", value):
        return int(value)
    return Wrong(value if isinstance(value, str) and value else repr(value))


def _numbers(given: Given, values: list[Any], role: str) -> Floats:
    try:
        numbers = np.array(values if set(map(type, values)) == {float} else list(map(float, values)), np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = np.array([np.nan])
    if not np.isnan(numbers).any() and (role == "score" or np.isfinite(numbers).all()):
        return numbers
    faults = [
        f"{given.place(row)}: the {role} is not a {'finite ' if role == 'grade' else ''}number: {quotable(repr(value))}"
        for row, value in enumerate(values)
        if not _is_number(value, role)
    ]
    raise InputError(faults)


def _is_number(value: Any, role: str) -> bool:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return number == number and (role == "score" or abs(number) != float("inf"))


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
            from cranfield.io.collection import read_texts

            self._known |= read_texts([self.source], wanted)
        return self._known

    def check(self, passages: Passages, place: Callable[[int], str]) -> None:
        """Raise if a passage ends beyond the text of its document."""
        names = list(passages.names)
        texts = self.of(names) if not self._known else self._known
        length = np.array([len(texts[name]) if name in texts else LONGEST for name in names], np.int64)
        beyond = np.flatnonzero(passages.end > length[passages.document]).tolist()
        if beyond:
            where = [(row, names[passages.document[row]]) for row in beyond]
            raise InputError(
                [
                    f"{place(row)}: the end {passages.end[row]} is beyond the text of document `{quotable(name)}`, "
                    f"which has {plural(len(texts[name]), 'character')}"
                    for row, name in where
                ],
                hint="offsets count the characters of the documents that are given",
            )


def _located(
    given: Given, documents: Sequence[str], quotes: Sequence[Any], texts: Texts | None, faults: list[str]
) -> tuple[Integers, Integers]:
    """The offsets of quotes in the texts of documents."""
    if texts is None:
        raise UsageError("quotes need the texts of documents", hint="give documents={id: text} or a collection")
    known, found = texts.of(documents), []
    for row, (name, quote) in enumerate(zip(documents, quotes, strict=True)):
        if not isinstance(quote, str) or not quote.strip():
            faults.append(f"{given.place(row)}: expected a quote, found {quotable(repr(quote))}")
        elif name not in known:
            faults.append(f"{given.place(row)}: there is no document `{quotable(name)}`")
        elif len(places := locate(quote, known[name])) == 1:
            found.append(places[0])
        else:
            where = f"in document `{quotable(name)}`: `{quotable(quote)}`"
            problem = "the quote is not found" if not places else f"the quote is found {len(places)} times"
            faults.append(f"{given.place(row)}: {problem} {where}")
    offsets = np.array(found, np.int64).reshape(-1, 2)
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


def is_mapping_of_runs(run: Any) -> bool:
    """Whether this is ``{name: run}``, with runs of chunks, and not ``{query: ranking}``."""
    return isinstance(run, Mapping) and _are_runs(list(run.values()))


def is_list_of_runs(run: Any) -> bool:
    """Whether this is a list of runs of chunks, and not a list of records."""
    return isinstance(run, list | tuple) and _are_runs(run)


def _are_runs(values: Sequence[Any]) -> bool:
    first = next((value for value in values if not _is_empty(value)), None)
    if isinstance(first, Mapping):  # a run, a ranking {id: score}, or the record of a chunk
        return isinstance(next(iter(first.values())), Mapping | list | tuple)
    return isinstance(first, Run | Repeats) or is_stream(first) or is_frame(first)
