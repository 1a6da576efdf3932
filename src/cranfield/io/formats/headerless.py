"""Tables without column names, recognised by their content: MS MARCO's ``query document rank``, and the same in CSV.

Runs have three columns (query, document and rank or score) or four (query, document, rank, score); judgments have
three (query, document, grade). The columns that were assumed are a remark of the run or the judgments.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import groupby

import numpy as np

from cranfield.data import Judgments, Run
from cranfield.errors import InputError, max_faults
from cranfield.io.detect import BOM, Columns, ContentKind, FileFormat
from cranfield.io.faults import Fault, Location, TableKind, input_error
from cranfield.io.formats.json import is_json
from cranfield.io.objects import qrels_from_object, run_from_object
from cranfield.io.streams import Stream
from cranfield.io.tables import COLUMN_NAMES, NUMBER, TextFrame, normalise_name

DELIMITERS = ("\t", ",", ";")
WIDTHS = {"run": (3, 4), "qrels": (3,)}
_NUMBER = re.compile(NUMBER, re.ASCII | re.IGNORECASE)
_WHOLE = re.compile(r"[0-9]+")


def is_headerless(stream: Stream, kind: ContentKind, columns: Columns = None) -> bool:
    """Whether the first lines have the same few fields, of which the last is a number, and no names."""
    if kind == "documents" or columns or is_json(stream):
        return False
    return _delimiter(stream, kind) != ""


def _delimiter(stream: Stream, kind: str) -> str:
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


def read_run(stream: Stream, name: str, columns: Columns) -> Run:
    """A run with columns in the usual order."""
    rows, location = _rows(stream, "run"), Location(stream.source_name, "run", "row")
    roles = ["query", "document", "rank", "score"]
    if len(rows[0]) == 3:
        roles = ["query", "document", "rank" if _are_ranks(rows) else "score"]
    run = run_from_object(_frame(rows, roles, location), name, columns, stream.source_name)
    return replace(run, remarks=(_remark(roles),))


def read_qrels(stream: Stream, name: str, columns: Columns) -> Judgments:
    """Judgments with columns in the usual order."""
    rows, location = _rows(stream, "qrels"), Location(stream.source_name, "qrels", "row")
    roles = ["query", "document", "grade"]
    judgments = qrels_from_object(_frame(rows, roles, location), name, columns, stream.source_name)
    return replace(judgments, remarks=(_remark(roles),))


def _remark(roles: list[str]) -> str:
    return f"the file has no column names; its columns were read as {', '.join(roles)}"


def _rows(stream: Stream, kind: TableKind) -> list[list[str]]:
    import csv
    import io

    text = stream.read_text()
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise input_error([Fault(line, "binary", b"", b"", 0)], 1, Location(stream.source_name, kind))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(stream, kind))
    try:
        return [record for record in reader if record]
    except csv.Error as error:
        raise InputError([f"{stream.source_name}:{reader.line_num}: invalid CSV: {error}"]) from error


def _frame(rows: list[list[str]], roles: list[str], location: Location) -> TextFrame:
    width = len(roles)
    faults = [
        Fault(row, "fields", b"", str(width).encode(), len(record))
        for row, record in enumerate(rows, 1)
        if len(record) != width
    ]
    if faults:
        raise input_error(faults[: max_faults()], len(faults), location)
    records = [[field.strip() for field in record] for record in rows]
    return TextFrame(roles, records, np.arange(1, len(rows) + 1))


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
        "tables without column names",
        priority=-6,
        recognises=is_headerless,
        read_run=read_run,
        read_qrels=read_qrels,
        listed=False,
    ),
)
