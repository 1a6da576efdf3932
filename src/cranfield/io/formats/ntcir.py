"""NTCIR's files: judgments with grades L0, L1, ... in three or four columns, and runs that begin with a description.

Judgments are lines ``query document grade``, or with intents ``query intent document grade``. A run is TREC text after
an element ``<SYSDESC>``, which ends in the first lines.
"""

from __future__ import annotations

import re
from functools import partial

import numpy as np

from cranfield.data import Judgments, Run, Strings
from cranfield.io.faults import Fault, FaultList, Location
from cranfield.io.judgments import Rows, group_judgments
from cranfield.io.runs import no_rows_error
from cranfield.io.streams import BOM, HEAD, ContentKind, Continued, FileFormat, Roles, Stream, reject_columns

_SEPARATORS = re.compile(rb"[\x00-\x20]+")
_GRADE = re.compile(rb"L?([+-]?\d+(?:\.\d*)?)")
_LEVEL = re.compile(rb"L\d+")
_DESCRIPTION = re.compile(rb"\s*<SYSDESC>(?:.*?</SYSDESC>[^\n]*|[^\n]*)(?:\n|\Z)", re.IGNORECASE | re.DOTALL)
MAX_DESCRIPTION = 1 << 20


def is_ntcir(stream: Stream, kind: ContentKind, columns: Roles = None) -> bool:
    """Whether judgments have three columns, or a grade such as L2; or whether a run begins with a description."""
    head = stream.head.removeprefix(BOM)
    if kind == "run":
        return head.lstrip()[:9].upper() == b"<SYSDESC>"
    if kind != "qrels" or columns:
        return False
    complete = head[: head.rfind(b"\n") + 1] or head
    lines = [line for line in map(_columns, complete.split(b"\n")) if line and not line[0].startswith(b"#")]
    widths = {len(line) for line in lines}
    if widths == {3}:
        return all(_GRADE.fullmatch(line[2]) for line in lines)
    return widths == {4} and _LEVEL.fullmatch(lines[0][3]) is not None


def _columns(line: bytes) -> list[bytes]:
    return [column for column in _SEPARATORS.split(line) if column]


def read_qrels(stream: Stream, name: str, columns: Roles) -> Judgments:
    """The judgments of all lines."""
    reject_columns(columns)
    location = Location(stream.source_name, "qrels")
    rows: list[tuple[bytes, bytes, bytes]] = []
    grades, lines = list[float](), list[int]()
    faults: list[Fault] = []
    width = 0
    for number, line in enumerate(stream.read().removeprefix(BOM).split(b"\n"), 1):
        found = _columns(line)
        if not found or found[0].startswith(b"#"):
            continue
        width = width or len(found)
        if b"\0" in line:
            faults.append(Fault(number, "binary", b"", line, 0))
            break
        if len(found) != width:
            faults.append(Fault(number, "fields", b"", str(width).encode(), len(found)))
            continue
        query, *intent, document, grade = found
        level = _GRADE.fullmatch(grade)
        if level is None:
            faults.append(Fault(number, "grade", query, grade, 0))
        else:
            rows.append((query, intent[0] if intent else b"0", document))
            grades.append(float(level[1]))
            lines.append(number)
    FaultList(faults).raise_if_any(location)
    if not rows:
        raise no_rows_error(stream.source_name)
    query_of, intent_of, document_of = map(Strings.packed, zip(*rows, strict=True))
    judged = Rows.of(query_of, document_of, np.array(grades, np.float64), np.array(lines, np.int64), intent_of)
    return group_judgments(name, judged, location)


def read_run(stream: Stream, name: str, columns: Roles) -> Run:
    """A run that is read when it is joined to judgments."""
    reject_columns(columns)
    return Run(name, partial(_without_description, stream), stream.source_name)


def _without_description(stream: Stream) -> Continued:
    """The text with blank lines in place of its description, so that line numbers stay the same."""
    file, head, buffer = stream.open(), b"", bytearray(HEAD)
    while len(head) < MAX_DESCRIPTION and (count := file.readinto(buffer)):
        head += buffer[:count]
        if b"</SYSDESC>" in head.upper() and head.endswith(b"\n"):
            break
    description = _DESCRIPTION.match(head.removeprefix(BOM))
    end = 0 if description is None else description.end() + len(head) - len(head.removeprefix(BOM))
    return Continued(b"\n" * head[:end].count(b"\n") + head[end:], file)


FORMATS = (FileFormat("NTCIR text", priority=8, recognises=is_ntcir, read_run=read_run, read_qrels=read_qrels),)
