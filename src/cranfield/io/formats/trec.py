"""TREC text: runs with six columns, judgments with four. Every file that is nothing else is read as this."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from cranfield import native
from cranfield.data import Judgments, Run
from cranfield.errors import max_faults, reading
from cranfield.io.compression import detect_compression
from cranfield.io.detect import Columns, ContentKind, FileFormat, Row, WritableTable, detect_file, reject_columns
from cranfield.io.faults import Location
from cranfield.io.judgments import Rows, group_judgments
from cranfield.io.runs import no_rows_error, raise_faults
from cranfield.io.streams import HEAD, Stream
from cranfield.io.write import ROWS_PER_PIECE, unwritable_id

_BLANK = re.compile(r"[\x00\t-\r ]+")


def is_table(_stream: Stream, kind: ContentKind, _columns: Columns = None) -> bool:
    """Any run or judgments that no other format recognises."""
    return kind != "documents"


def read_run(stream: Stream, name: str, columns: Columns) -> Run:
    """A run that is read when it is joined to judgments."""
    reject_columns(columns)
    return Run(name, stream.opener, stream.source_name)


def read_qrels(stream: Stream, name: str, columns: Columns) -> Judgments:
    """The judgments of all lines."""
    reject_columns(columns)
    from cranfield.io.side_tables import is_sampled, read_sampled

    if is_sampled(stream):
        return read_sampled(stream, name)
    location = Location(stream.source_name, "qrels")
    with reading(stream.source_name):
        result = raise_faults(native.scan_qrels(stream.opener, max_faults()), location)
    if len(result["line"]) == 0:
        raise no_rows_error(stream.source_name)
    return group_judgments(name, Rows.from_scan(result), location)


def write_trec(table: WritableTable) -> Iterator[bytes]:
    """One line per row; an error for ids that would not be read back."""
    rows, first = table.trec_rows(), True
    while piece := list(islice(rows, ROWS_PER_PIECE)):
        data = _encode(piece, table.path)
        if first:
            _check_beginning(data, piece[0][0], table)
            first = False
        yield data


def _encode(rows: list[Row], path: str) -> bytes:
    for query, second, third, *_ in rows:
        for text in (query, third, second):
            if not text or _BLANK.search(text):
                raise unwritable_id(path, text, "TREC text has no way to write an id that is empty or contains blanks")
        if query.startswith(("#", "\ufeff")):
            raise unwritable_id(path, query, "TREC text that begins like this is read as something else")
    return "".join([" ".join(map(str, row)) + "\n" for row in rows]).encode("utf-8", "surrogateescape")


def _check_beginning(data: bytes, query: Any, table: WritableTable) -> None:
    """Raise if the file would be recognised as another format."""
    head = Stream(table.path, "", data[:HEAD], lambda: None)
    if detect_compression(data) or detect_file(head, table.kind) is not FORMATS[0]:
        raise unwritable_id(table.path, query, "TREC text that begins like this is read as another format")


FORMATS = (
    FileFormat(
        "TREC text",
        priority=9,
        recognises=is_table,
        read_run=read_run,
        read_qrels=read_qrels,
        writers={"": write_trec},
        extensions=(".run", ".txt", ".trec", ".res", ".results", ".qrels", ".qrel"),
    ),
)
