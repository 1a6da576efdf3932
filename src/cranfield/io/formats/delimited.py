"""CSV and TSV: runs and judgments; tab-separated documents. A first line names the columns, or is missing.

Without names, tables are recognised by their content: MS MARCO's ``query document rank``, and the same in CSV. Runs
then have three columns (query, document and rank or score) or four (query, document, rank, score); judgments have three
(query, document, grade). The columns that were assumed are a remark of the run or the judgments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import groupby, islice
from typing import Any

import numpy as np

from cranfield.errors import InputError
from cranfield.io.detect import BOM, Columns, ContentKind, FileFormat, Row, WritableTable
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
from cranfield.io.faults import Fault, FaultList, Location, TableKind
from cranfield.io.formats.json import is_json
from cranfield.io.objects import from_object
from cranfield.io.rows import ROWS_PER_PIECE, Piece, read_rows
from cranfield.io.streams import Stream
from cranfield.io.tables import COLUMN_NAMES, NUMBER, Frame, normalise_name
from cranfield.io.write import ROWS_PER_PIECE as ROWS_PER_WRITE
from cranfield.io.write import check_ids, unwritable_id

_DELIMITERS = {"csv": ",", "tsv": "\t"}
_TREC_WIDTH = {"run": 6, "qrels": 4}


def delimiter_of(path: str) -> str:
    """The delimiter for a file name, compressed or not; "" for other names."""
    extensions = path.lower().rsplit(".", 2)[1:]
    return next((_DELIMITERS[extension] for extension in extensions if extension in _DELIMITERS), "")


def is_delimited(stream: Stream, kind: ContentKind, columns: Columns = None) -> bool:
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


def read_delimited(kind: TableKind, stream: Stream, name: str, columns: Columns) -> Any:
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

    names: list[str] = []
    records: list[list[str]] = []
    lines: list[int] = []
    faults: list[Fault] = []

    def piece() -> Piece:
        return Frame.of_text(names, records, np.array(lines, np.int64)), faults

    with stream.text_lines(newline="") as text:
        reader = csv.reader(
            map(_without_nul, text), delimiter=delimiter or delimiter_of(stream.source_name), strict=True
        )
        line = 1
        try:
            for record in reader:
                if not record:
                    pass
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
                line = reader.line_num + 1
        except _NulByte:
            faults.append(Fault(reader.line_num + 1, "binary", b"", b"", 0))
        except csv.Error as error:
            faults.append(Fault(line, "syntax", b"", f"invalid CSV: {error}".encode(), 0))
    yield piece()


def _without_nul(line: str) -> str:
    if "\0" in line:
        raise _NulByte
    return line


def write_delimited(delimiter: str, table: WritableTable) -> Iterator[bytes]:
    """Rows after a line of column names."""
    import csv
    import io

    def encode(rows: list[Row]) -> bytes:
        texts = [field for row in rows for field in row if isinstance(field, str)]
        if nul := next((text for text in texts if "\0" in text), None):
            raise unwritable_id(table.path, nul, "CSV cannot contain a NUL byte", ".jsonl")
        # Up to Python 3.12 the writer does not quote a carriage return, and readers take it for the end of a line.
        quote_all = any("\r" in text for text in texts)
        text_file = io.StringIO(newline="")
        csv.writer(
            text_file,
            delimiter=delimiter,
            lineterminator="\n",
            quoting=csv.QUOTE_NONNUMERIC if quote_all else csv.QUOTE_MINIMAL,
        ).writerows(rows)
        return text_file.getvalue().encode("utf-8", "surrogateescape")

    check_ids(table)
    yield encode([tuple(table.columns)])
    rows = table.rows()
    while piece := list(islice(rows, ROWS_PER_WRITE)):
        yield encode(piece)


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
                documents.faults.add(line, NUL_IN_LINE)
            elif self.has_names and len(cells) != self.width:
                fields = f"expected {self.width} fields as in the first line, found {len(cells)}"
                documents.faults.add(line, fields)
            elif len(cells) < 2:
                documents.faults.add(line, "expected an id, a tab and a text, found no tab")
            elif not cells[self.id_column]:
                documents.faults.add(line, "the id is empty")
            else:
                texts = [cells[i] for i in self.text_columns] if self.has_names else cells[1:]
                documents.add(line, cells[self.id_column], b"\n".join(texts))
        return documents.build()


DELIMITERS = ("\t", ",", ";")
WIDTHS = {"run": (3, 4), "qrels": (3,)}
_NUMBER = re.compile(NUMBER, re.ASCII | re.IGNORECASE)
_WHOLE = re.compile(r"[0-9]+")


def is_headerless(stream: Stream, kind: ContentKind, columns: Columns = None) -> bool:
    """Whether the first lines have the same few fields, of which the last is a number, and no names."""
    if kind == "documents" or columns or is_json(stream):
        return False
    return _headerless_delimiter(stream, kind) != ""


def _headerless_delimiter(stream: Stream, kind: str) -> str:
    text = stream.head.removeprefix(BOM).decode("utf-8", "replace")
    lines = [line.rstrip("\r") for line in text.split("\n")]
    lines = [line for line in (lines if len(lines) == 1 else lines[:-1])[:20] if line.strip()]
    for delimiter in DELIMITERS:
        rows = [[field.strip() for field in line.split(delimiter)] for line in lines]
        widths = {len(row) for row in rows}
        if len(widths) != 1 or not widths <= set(WIDTHS[kind]) or not all(map(all, rows)):
            continue
        names = {normalise_name(field.strip('"')) for field in rows[0]}
        known = {name for names in COLUMN_NAMES.values() for name in names}
        if names.isdisjoint(known) and all(_NUMBER.fullmatch(row[-1]) for row in rows):
            return delimiter
    return ""


def read_headerless(kind: TableKind, stream: Stream, name: str, columns: Columns) -> Any:
    """A run or judgments with columns in the usual order."""
    rows = _headerless_rows(stream, kind)
    roles = ["query", "document", "grade"]
    if kind == "run":
        roles[2:] = ["rank", "score"] if len(rows[0]) > 3 else ["rank" if _are_ranks(rows) else "score"]
    frame = _frame(rows, roles, Location(stream.source_name, kind, "row"))
    remark = f"the file has no column names; its columns were read as {', '.join(roles)}"
    return replace(from_object(kind, frame, name, columns, stream.source_name), remarks=(remark,))


def _headerless_rows(stream: Stream, kind: TableKind) -> list[list[str]]:
    import csv
    import io

    text = stream.read_text()
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        FaultList([Fault(line, "binary", b"", b"", 0)]).raise_if_any(Location(stream.source_name, kind))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_headerless_delimiter(stream, kind))
    try:
        return [record for record in reader if record]
    except csv.Error as error:
        raise InputError([f"{stream.source_name}:{reader.line_num}: invalid CSV: {error}"]) from error


def _frame(rows: list[list[str]], roles: list[str], location: Location) -> Frame:
    width = len(roles)
    faults = [
        Fault(row, "fields", b"", str(width).encode(), len(record))
        for row, record in enumerate(rows, 1)
        if len(record) != width
    ]
    FaultList(faults).raise_if_any(location)
    records = [[field.strip() for field in record] for record in rows]
    return Frame.of_text(roles, records, np.arange(1, len(rows) + 1))


MAX_DIGITS = 12  # of a rank


def _are_ranks(rows: list[list[str]]) -> bool:
    """Whether the third column counts 0, 1, 2, ... or 1, 2, 3, ... for every query."""
    for _, group in groupby(rows, key=lambda row: row[0]):
        numbers = [row[2].strip() for row in group if len(row) == 3]
        if not numbers:  # a fault, which `_frame` reports
            continue
        if not all(map(_WHOLE.fullmatch, numbers)) or max(map(len, numbers)) > MAX_DIGITS:
            return False
        first = int(numbers[0])
        if first > 1 or list(map(int, numbers)) != list(range(first, first + len(numbers))):
            return False
    return True


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
