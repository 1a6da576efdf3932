"""CSV and TSV: runs and judgments; tab-separated documents. A first line names the columns, or is missing.

Without names, tables are recognised by their content: MS MARCO's ``query document rank``, and the same in CSV. Runs
then have three columns (query, document and rank or score) or four (query, document, rank, score); judgments have three
(query, document, grade). The columns that were assumed are a remark of the run or the judgments. Whole numbers that
could be ranks or scores are refused: the order of the documents depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from io import BufferedReader, StringIO, TextIOWrapper
from itertools import islice
from typing import Any

import numpy as np

from cranfield import native
from cranfield.data import Booleans, Floats, Strings
from cranfield.errors import InputError, UsageError, reading
from cranfield.io.columns import COLUMN_NAMES, NUMBER, Columns, normalise_name
from cranfield.io.documents import (
    ID_FIELDS,
    NUL_IN_LINE,
    TEXT_FIELDS,
    Block,
    Documents,
    DocumentsBuilder,
    FieldChoice,
    TextReader,
)
from cranfield.io.faults import Fault, FaultList, Location, TableKind, quotable
from cranfield.io.formats.json import is_json
from cranfield.io.streams import (
    BOM,
    READ_AHEAD,
    ContentKind,
    Continued,
    FileFormat,
    Roles,
    Row,
    Stream,
    WritableTable,
)
from cranfield.io.tables import ROWS_PER_PIECE, Piece, from_object, read_rows
from cranfield.io.write import ROWS_PER_PIECE as ROWS_PER_WRITE
from cranfield.io.write import check_ids, unwritable_id

CHARACTERS_PER_ROW = 32  # of a usual run
_DELIMITERS = {"csv": ",", "tsv": "\t"}
_TREC_WIDTH = {"run": 6, "qrels": 4}


def delimiter_of(path: str) -> str:
    """The delimiter for a file name, compressed or not; "" for other names."""
    extensions = path.lower().rsplit(".", 2)[1:]
    return next((_DELIMITERS[extension] for extension in extensions if extension in _DELIMITERS), "")


def is_delimited(stream: Stream, kind: ContentKind, columns: Roles = None) -> bool:
    """Whether the file is called .csv or .tsv, or holds documents and has a tab in its first line."""
    delimiter = delimiter_of(stream.source_name)
    if kind == "documents":
        return delimiter == "\t" or b"\t" in stream.first_line
    if not delimiter:
        return False
    # TREC text is often called .tsv; it has no column names, and the number of columns is known.
    first = stream.first_line.decode("utf-8", "replace")
    names = {normalise_name(name.strip().strip('"')) for name in first.split(delimiter)}
    has_names = bool(columns) or not names.isdisjoint(COLUMN_NAMES["query"])
    return has_names or len(first.split()) != _TREC_WIDTH[kind]


def read_delimited(kind: TableKind, stream: Stream, name: str, columns: Roles) -> Any:
    """A run or judgments whose first line names the columns."""
    return read_rows(kind, lambda: parse_delimited(stream), name, columns, stream.source_name)


class _NulByte(Exception):
    """A line is not text."""


def parse_delimited(stream: Stream, delimiter: str = "") -> Iterator[Piece]:
    """The records of a file, some thousand at a time; the first one names the columns.

    A record may have line breaks in quotes; its line is the first of them. Reading stops at a NUL byte and at quotes
    that make no sense. ``delimiter``: by default that of the file name.
    """
    import csv

    delimiter = delimiter or delimiter_of(stream.source_name)
    names: list[str] = []
    records: list[list[str]] = []
    lines: list[int] = []
    faults: list[Fault] = []

    def piece() -> Piece:
        return Columns.of_text(names, records, np.array(lines, np.int64)), faults

    with reading(stream.source_name), BufferedReader(stream.open(), READ_AHEAD) as file:
        before, rest = 0, b""  # lines that were read as plain fields; the beginning of the next one
        while block := rest + file.read(ROWS_PER_PIECE * CHARACTERS_PER_ROW):
            block = block if before else block.removeprefix(BOM)
            cut = block.rfind(b"\n") + 1 if len(block) > len(rest) else len(block)
            plain = native.split_fields(block[:cut], delimiter, len(names), csv.field_size_limit()) if cut else None
            if plain is None:
                break
            columns = [Strings(*column) for column in plain]
            if not names:
                names = [column[0] for column in columns]
                columns = [Strings(column.offsets[1:], column.data) for column in columns]
                before = 1
            rows = np.arange(before, before + len(columns[0])) + 1
            if len(rows):
                yield Columns.of_strings(names, columns, rows), ()
            before += len(rows)
            rest = block[cut:]
        remaining = TextIOWrapper(BufferedReader(Continued(block, file)), "utf-8", "surrogateescape", newline="")
        reader = csv.reader(map(_without_nul, remaining), delimiter=delimiter, strict=True)
        line = before + 1
        try:
            for record in reader:
                if not record:
                    pass
                elif before + reader.line_num > line and joins_rows(record, delimiter):
                    faults.append(Fault(line, "syntax", b"", JOINED, 0))
                elif not names:
                    names = record
                elif len(record) != len(names):
                    faults.append(Fault(line, "fields", b"", str(len(names)).encode(), len(record)))
                else:
                    records.append(record)
                    lines.append(line)
                if len(records) + len(faults) >= ROWS_PER_PIECE:
                    yield piece()
                    records, lines, faults = [], [], []
                line = before + reader.line_num + 1
        except _NulByte:
            faults.append(Fault(before + reader.line_num + 1, "binary", b"", b"", 0))
        except csv.Error as error:
            faults.append(Fault(line, "syntax", b"", f"invalid CSV: {error}".encode(), 0))
    yield piece()


JOINED = b"quotes join lines that could be rows; double each quote of an id, and put the id in quotes"


def joins_rows(record: Sequence[Any], delimiter: str) -> bool:
    r"""Whether each line of a record could be a row: quotes that belong to two ids may have joined them.

    >>> joins_rows(["q", "d1,3\nq,d2", "2"], ","), joins_rows(["q", "d1\nd2", "2"], ",")
    (True, False)
    """
    lines = re.split("\r\n|\r|\n", delimiter.join(map(str, record)))
    return len(lines) > 1 and all(line.count(delimiter) == len(record) - 1 for line in lines)


def _without_nul(line: str) -> str:
    if "\0" in line:
        raise _NulByte
    return line


def write_delimited(delimiter: str, table: WritableTable) -> Iterator[bytes]:
    """Rows after a line of column names."""
    check_ids(table)
    yield csv_lines([tuple(table.columns)], table.path, delimiter)
    rows = table.rows()
    while piece := list(islice(rows, ROWS_PER_WRITE)):
        yield csv_lines(piece, table.path, delimiter)


def csv_lines(rows: Sequence[Row], path: str, delimiter: str = ",") -> bytes:
    """Rows as lines of CSV, quoted where readers need it."""
    import csv

    texts = [field for row in rows for field in row if isinstance(field, str)]
    if nul := next((text for text in texts if "\0" in text), None):
        raise unwritable_id(path, nul, "CSV cannot contain a NUL byte", ".jsonl")
    # Up to Python 3.12 the writer does not quote a carriage return, and readers take it for the end of a line.
    quote_all = any("\r" in text for text in texts)
    for row in rows if quote_all or any("\n" in text for text in texts) else ():
        if joins_rows(row, delimiter):
            broken = next(text for text in row if isinstance(text, str) and ("\n" in text or "\r" in text))
            raise unwritable_id(path, broken, "its lines look like rows", ".jsonl")
    text_file = StringIO(newline="")
    csv.writer(
        text_file,
        delimiter=delimiter,
        lineterminator="\n",
        quoting=csv.QUOTE_NONNUMERIC if quote_all else csv.QUOTE_MINIMAL,
    ).writerows(rows)
    try:
        return text_file.getvalue().encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        surrogate = error.object[error.start : error.end]
        raise unwritable_id(path, surrogate, "UTF-8 has no lone surrogates", "other text") from error


class TabSeparated(TextReader):
    """Documents, one per line, with fields separated by tabs. There is no quoting.

    Without a first line of field names, the id comes first and everything else is text.
    """

    def __init__(self, stream: Stream, choice: FieldChoice) -> None:
        super().__init__(stream)
        names = stream.first_line.decode("utf-8", "surrogateescape").split("\t")
        lower = {name.strip().lower() for name in names}
        usual = not (lower.isdisjoint(ID_FIELDS) or lower.isdisjoint(TEXT_FIELDS))
        self.has_names = bool(choice.id or choice.texts) or usual
        self.width = len(names)
        self.id_column, self.text_columns = 0, [0]
        if self.has_names:
            fields = choice.resolve(names, self.source_name)
            self.id_column = names.index(fields.id)
            self.text_columns = [names.index(name) for name in fields.texts]

    def parse(self, block: Block) -> Documents:
        documents = DocumentsBuilder()
        for line, text in block.text_lines():
            if line == 1 and self.has_names:
                continue
            cells = text.rstrip(b"\r").split(b"\t")
            if b"\0" in text:
                documents.fault(line, NUL_IN_LINE)
            elif self.has_names and len(cells) != self.width:
                fields = f"expected {self.width} fields as in the first line, found {len(cells)}"
                documents.fault(line, fields)
            elif len(cells) < 2:
                documents.fault(line, "expected an id, a tab and a text, found no tab")
            elif not cells[self.id_column]:
                documents.fault(line, "the id is empty")
            else:
                texts = [cells[i] for i in self.text_columns] if self.has_names else cells[1:]
                documents.add(line, cells[self.id_column], b"\n".join(texts))
        return documents.build()


DELIMITERS = ("\t", ",", ";")
_DELIMITER_BYTES = tuple(delimiter.encode() for delimiter in DELIMITERS)
WIDTHS = {"run": (3, 4), "qrels": (3,)}
_NUMBER = rf"(?ai){NUMBER}"
_WHOLE = re.compile(r"[0-9]+")


def is_headerless(stream: Stream, kind: ContentKind, columns: Roles = None) -> bool:
    """Whether the first lines have the same few fields, of which the last is a number, and no names."""
    if kind == "documents" or not _are_numbers(columns) or is_json(stream):
        return False
    return _headerless_delimiter(stream, kind) != ""


def _are_numbers(columns: Roles) -> bool:
    """Whether these are columns of a table without names, or none were chosen."""
    return all(_WHOLE.fullmatch(str(column)) for column in (columns or {}).values())


def _headerless_delimiter(stream: Stream, kind: str) -> str:
    if not any(map(stream.head.__contains__, _DELIMITER_BYTES)):  # as in most runs
        return ""
    text = stream.head.removeprefix(BOM).decode("utf-8", "replace")
    lines = [line.rstrip("\r") for line in text.split("\n")]
    lines = [line for line in (lines if len(lines) == 1 else lines[:-1])[:20] if line.strip()]
    for delimiter in DELIMITERS:
        if not lines or lines[0].count(delimiter) + 1 not in WIDTHS[kind]:
            continue
        rows = [[field.strip() for field in line.split(delimiter)] for line in lines]
        if len({len(row) for row in rows}) != 1 or not all(map(all, rows)):
            continue
        names = {normalise_name(field.strip('"')) for field in rows[0]}
        column_names = {name for names in COLUMN_NAMES.values() for name in names}
        if names.isdisjoint(column_names) and all(re.fullmatch(_NUMBER, _unquoted(row[-1])) for row in rows):
            return delimiter
    return ""


_run_columns: ContextVar[Roles] = ContextVar("run_columns", default=None)


@contextmanager
def headerless_columns(columns: str) -> Iterator[None]:
    """Read runs without column names inside with these columns, in order: "query,document,rank"."""
    roles = [role.strip() for role in columns.split(",")]
    number = {"rank", "score"} & set(roles)
    if len(set(roles)) < len(roles) or set(roles) - number != {"query", "document"} or not number:
        raise UsageError(
            f"the columns of a run cannot be `{quotable(columns)}`",
            hint="write query,document,rank or query,document,score or query,document,rank,score, in their order",
        )
    token = _run_columns.set({role: str(at) for at, role in enumerate(roles, 1)})
    try:
        yield
    finally:
        _run_columns.reset(token)


def read_headerless(kind: TableKind, stream: Stream, name: str, columns: Roles) -> Any:
    """A run or judgments with columns in the usual order, unless ``columns`` has the number of a column for a role."""
    fields = _headerless_columns(stream, kind)
    chosen = columns or (_run_columns.get() if kind == "run" else None)
    if chosen:
        roles = _chosen_roles(chosen, len(fields), kind, stream.source_name)
    elif len(fields) not in WIDTHS[kind]:  # the delimiters that were counted are in quotes
        width = f"{len(fields)} columns where {' or '.join(map(str, WIDTHS[kind]))} are needed"
        raise InputError(
            [f"{stream.source_name}: the file has no column names, and {width}"],
            hint="give each column a name in the first line",
        )
    elif kind == "qrels":
        roles = ["query", "document", "grade"]
    else:
        roles = _assumed_roles(fields, stream.source_name)
    frame = Columns.of_strings(roles, fields, np.arange(1, len(fields[0]) + 1))
    judged_or_run = from_object(kind, frame, name, None, stream.source_name)
    if chosen:
        return judged_or_run
    remark = f"the file has no column names; its columns were read as {', '.join(roles)}"
    return replace(judged_or_run, remarks=(remark,))


def _chosen_roles(columns: Mapping[str, str], width: int, kind: TableKind, source_name: str) -> list[str]:
    """The role of each column; the query is the first one and the document the second one unless they are chosen."""
    allowed = ("query", "document", "score", "rank") if kind == "run" else ("query", "document", "grade")
    roles = {str(at): role for role, at in {"query": "1", "document": "2", **columns}.items()}
    if set(roles) != {str(at + 1) for at in range(width)} or not set(roles.values()) <= set(allowed):
        chosen = ", ".join(f"{quotable(str(role))}: {quotable(str(at))}" for role, at in columns.items())
        raise InputError(
            [f"{source_name}: the table has {width} columns without names, which do not fit {{{chosen}}}"],
            hint=f"give each of the columns 1 to {width} one of the roles {', '.join(allowed)}",
        )
    return [roles[str(at + 1)] for at in range(width)]


# White space and quotes, which may not belong to the text of a field.
_UNUSUAL = b' \t\v\f\x1c\x1d\x1e\x1f"'


def _headerless_columns(stream: Stream, kind: TableKind) -> list[Strings]:
    """The columns of all lines that are not blank."""
    delimiter, content = _headerless_delimiter(stream, kind), stream.read().removeprefix(BOM)
    unusual = _UNUSUAL.replace(delimiter.encode(), b"")
    if content.isascii() and len(content.translate(None, unusual)) == len(content):
        plain = native.split_fields(content, delimiter, 0, len(content))
        columns = [Strings(*column) for column in plain or ()]
        if columns and np.diff(columns[0].offsets).all():  # else a line may consist of tabs, and is blank
            return columns
    rows = _headerless_rows(content.decode("utf-8", "surrogateescape"), delimiter, Location(stream.source_name, kind))
    width = len(rows[0])
    faults = [
        Fault(row, "fields", b"", str(width).encode(), len(record))
        for row, record in enumerate(rows, 1)
        if len(record) != width
    ]
    FaultList(faults).raise_if_any(Location(stream.source_name, kind, "row"))
    return [Strings.of([field.strip() for field in column]) for column in zip(*rows, strict=True)]


def _headerless_rows(text: str, delimiter: str, location: Location) -> list[list[str]]:
    """The fields of each line that is not blank. A line is a row: a quote cannot join it to the next one."""
    import csv

    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        if "\0" in line:
            FaultList([Fault(number, "binary", b"", b"", 0)]).raise_if_any(location)
        if not line.strip():
            continue
        if delimiter == "\t":
            rows.append([_unquoted(field) for field in line.split("\t")])
            continue
        try:
            rows += csv.reader([line], delimiter=delimiter, strict=True)
        except csv.Error as error:
            raise InputError([f"{location.source_name}:{number}: invalid CSV: {error}"]) from error
    return rows


def _unquoted(field: str) -> str:
    """A field without the quotes around it. In tables with tabs, a quote that is not one of a pair is text."""
    inner = field[1:-1].replace('""', "")
    if len(field) > 1 and field[0] == field[-1] == '"' and '"' not in inner:
        return field[1:-1].replace('""', '"')
    return field


MAX_RANK = 10**12


class _ByQuery:
    """The rows of each query in input order.

    ``order``: rows, one query after the other; ``begin`` (query,): where those of each query begin there; ``count``.
    ``contiguous``: the input has this order.
    """

    def __init__(self, query: Strings) -> None:
        first = np.flatnonzero(np.append(True, ~query.same_as_previous()))
        numbers: dict[str, int] = {}
        number = np.array([numbers.setdefault(query[row], len(numbers)) for row in first.tolist()])
        of_row = np.repeat(number, np.diff(np.append(first, len(query))))
        self.order, self.count = np.argsort(of_row, kind="stable"), np.bincount(of_row)
        self.begin, self.contiguous = np.cumsum(self.count) - self.count, len(first) == len(numbers)
        self.query = np.repeat(np.arange(len(self.count)), self.count)

    def numbers(self, column: Strings) -> Floats:
        """The numbers of a column in this order; NaN for other texts."""
        numbers: Floats | None = native.parse_numbers((column.offsets, column.data))
        if numbers is None:
            numbers = np.array([float(text) if re.fullmatch(_NUMBER, text) else np.nan for text in column])
        return numbers[self.order]

    def falls(self, x: Floats) -> Booleans:
        """Whether a number is less than the one before it, of the same query."""
        return (x[1:] < x[:-1]) & (self.query[1:] == self.query[:-1])

    def rises(self, x: Floats) -> Booleans:
        """Whether a number is more than the one before it, of the same query."""
        return self.falls(-x)

    def are_ranks(self, ranks: Floats) -> bool:
        """Whether the numbers count 0, 1, 2, ... or 1, 2, 3, ... for every query, and queries are contiguous."""
        first = np.repeat(ranks[self.begin], self.count)
        counted = first + np.arange(len(ranks)) - np.repeat(self.begin, self.count)
        return self.contiguous and bool((ranks == counted).all() and (first <= 1).all() and (first % 1 == 0).all())

    def could_be_ranks(self, ranks: Floats) -> bool:
        """Whether the numbers could be ranks of some order, with gaps and from any number on.

        They are scores if one is no rank; if the order within each query is the same for both; or if they descend
        in every query, as scores do, and are no reversed ranks: a query has none of 0 and 1, or numbers far above its
        length.
        """
        if np.isnan(ranks).any() or not (self.rises(ranks) | self.falls(ranks)).any():
            return False
        if self.rises(ranks).any():
            return True
        first, last = ranks[self.begin], ranks[self.begin + self.count - 1]
        return bool(((last <= 1) & (first <= 2 * self.count))[self.count > 1].all())


def _as_ranks(numbers: Floats) -> Floats:
    """Numbers that could be ranks, however they are written (1, 01, 1.0, 1e0); NaN for others. 2.5: of two tied."""
    with np.errstate(invalid="ignore"):
        could_be = (numbers % 1 == 0) | ((numbers > 1) & (numbers % 0.5 == 0))
    return np.where(could_be & (numbers >= 0) & (numbers < MAX_RANK), numbers, np.nan)


def _assumed_roles(columns: Sequence[Strings], source_name: str) -> list[str]:
    """The columns of a run: query, document, and rank or score; an error if nothing says which of them it is."""
    roles, rows = ["query", "document"], _ByQuery(columns[0])
    ranks = _as_ranks(rows.numbers(columns[2]))
    if len(columns) > 3:
        if _ranks_before_scores(rows, ranks, rows.numbers(columns[3])):
            return [*roles, "rank", "score"]
    elif rows.are_ranks(ranks):
        return [*roles, "rank"]
    elif not rows.could_be_ranks(ranks):
        return [*roles, "score"]
    either = "query,document,rank{0} or --columns query,document,score{1}"
    either = either.format(*(("", "") if len(columns) == 3 else (",score", ",rank")))
    where = "third column" if len(columns) == 3 else "third and fourth column"
    raise InputError(
        [f"{source_name}: the file has no column names, and its {where} could hold ranks or scores"],
        hint=f'use --columns {either}; in Python pass columns={{"rank": "3"}} or columns={{"score": "3"}}',
    )


def _ranks_before_scores(rows: _ByQuery, ranks: Floats, scores: Floats) -> bool:
    """Whether the third column has ranks and the fourth scores: they agree, and not both of them could be ranks."""
    if not (ranks % 1 == 0).all():
        return False
    counted, scored = rows.are_ranks(ranks), bool(np.isnan(_as_ranks(scores)).any())
    if not (counted or scored):
        return False
    scored_rows = ~np.isnan(scores)
    order = np.lexsort((scores[scored_rows], ranks[scored_rows], rows.query[scored_rows]))
    columns = (x[scored_rows][order] for x in (rows.query, ranks, scores))
    (query, next_query), (rank, next_rank), (score, next_score) = ((x[:-1], x[1:]) for x in columns)
    contrary = (query == next_query) & (rank < next_rank) & (score < next_score)
    return (counted and scored) or not contrary.any()


FORMATS = (
    FileFormat(
        "CSV",
        priority=3,
        recognises=is_delimited,
        read_run=partial(read_delimited, "run"),
        read_qrels=partial(read_delimited, "qrels"),
        read_documents=TabSeparated,
        writers={".csv": partial(write_delimited, ","), ".tsv": partial(write_delimited, "\t")},
        extensions=(".csv", ".tsv"),
        document_extensions=(".tsv",),
        document_name="tab-separated lines",
    ),
    FileFormat(
        "tables without column names",
        priority=-6,
        recognises=is_headerless,
        read_run=partial(read_headerless, "run"),
        read_qrels=partial(read_headerless, "qrels"),
        listed=False,
    ),
)
