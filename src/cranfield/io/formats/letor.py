"""LETOR and SVM-rank: judgments and features of documents, ``grade qid:QUERY 1:value 2:value ... # docid = ID``.

The grades are judgments, and each feature is a run that ranks the documents of a query by its value. A feature that a
line leaves out is 0. Without an id in the comment, the id of a document is its line number. ``FILE#25`` is the run of
feature 25.
"""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

import numpy as np

from cranfield.data import Floats, Integers, Judgments, Run, Strings, Table
from cranfield.errors import InputError, max_faults
from cranfield.io.detect import BOM, Columns, ContentKind, FileFormat, SourceFormat, reject_columns
from cranfield.io.faults import Location, quotable
from cranfield.io.judgments import Rows, group_judgments
from cranfield.io.runs import no_rows_error
from cranfield.io.streams import Stream, open_stream

LINES_PER_BLOCK = 20_000
_NUMBER = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_LINE = re.compile(rb"\s*(" + _NUMBER + rb")\s+qid:(\S+)((?:\s+\d+:" + _NUMBER + rb")*)\s*(?:#(.*))?", re.DOTALL)
_FIRST = re.compile(rb"\s*" + _NUMBER + rb"\s+qid:\S+(?:\s+\d+:\S+)+\s*(?:#.*)?", re.DOTALL)
_DOCID = re.compile(rb"\bdocid\s*=\s*(\S+)")
_FEATURE = re.compile(r"(.+)#(\d+)")
EXPECTED = "expected `grade qid:QUERY FEATURE:VALUE ... # docid = ID`"


MAX_FEATURE = 2**31 - 1


class Letor(NamedTuple):
    """A LETOR file: judgments, a run for each feature by its number, and the features, (document, feature).

    Rows of ``features`` and of every run are the lines of the file; its columns are the runs in their order.
    """

    qrels: Judgments
    runs: dict[str, Run]
    features: Floats


def read_letor(source: Any, *, name: str | None = None) -> Letor:
    r"""The judgments and the features of a LETOR or SVM-rank file: a path, compressed or not, "-", or a file object.

    >>> from io import BytesIO
    >>> qrels, runs, features = read_letor(BytesIO(b"1 qid:q 1:0.2 3:7 # a\n0 qid:q 1:0.4 # b\n"), name="toy")
    >>> list(qrels.documents), list(runs), runs["3"].name, features.tolist()
    (['a', 'b'], ['1', '3'], 'toy#3', [[0.2, 7.0], [0.4, 0.0]])
    """
    stream = open_stream(source, "letor")
    return _letor(stream, name or stream.name)


def _letor(stream: Stream, name: str) -> Letor:
    faults: list[str] = []
    queries, grades, documents, line_of = list[bytes](), list[bytes](), list[bytes](), list[int]()
    blocks: list[tuple[Integers, Floats, Floats]] = []  # the row, the number and the value of features
    text = stream.read().removeprefix(BOM).split(b"\n")
    for first in range(0, len(text), LINES_PER_BLOCK):
        counts, pairs, rows_before = list[int](), list[bytes](), len(grades)
        for number, line in enumerate(text[first : first + LINES_PER_BLOCK], first + 1):
            if not line.strip() or line.lstrip().startswith(b"#"):
                continue
            match = _LINE.fullmatch(line)
            if match is None:
                shown = quotable(line.strip().decode("utf-8", "surrogateescape"))
                faults.append(f"{stream.source_name}:{number}: {EXPECTED}, found `{shown}`")
                continue
            grade, query, features, comment = match.groups()
            tokens = features.split()
            counts.append(len(tokens))
            pairs += tokens
            queries.append(query)
            grades.append(grade)
            documents.append(_document(comment, number))
            line_of.append(number)
        numbers_and_values = np.array(b":".join(pairs).split(b":") if pairs else [], np.bytes_)
        values = numbers_and_values.astype(np.float64).reshape(-1, 2)
        of_rows = np.repeat(np.arange(rows_before, len(grades)), counts)
        blocks.append((of_rows, values[:, 0], values[:, 1]))
    if faults:
        raise InputError(faults[: max_faults()], total=len(faults))
    if not grades:
        raise no_rows_error(stream.source_name)
    row, feature, value = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    lines = np.array(line_of, np.int64)
    grade_of = np.array(grades).astype(np.float64)
    _check_numbers(stream.source_name, lines, row, grade_of, feature)
    feature = feature.astype(np.int64)
    numbers, column = np.unique(feature, return_inverse=True)
    _check_features(stream.source_name, lines, row, column, numbers, value)
    table = np.zeros((len(grades), len(numbers)))
    table[row, column] = value
    query, document = Strings.packed(queries), Strings.packed(documents)
    rows = Rows.of(query, document, grade_of, lines)
    qrels = group_judgments(name, rows, Location(stream.source_name, "qrels"))
    runs = {
        str(number): Run(f"{name}#{number}", Table(query, document, score), f"{stream.source_name}#{number}")
        for number, score in zip(numbers.tolist(), np.ascontiguousarray(table.T), strict=True)
    }
    return Letor(qrels, runs, table)


def _document(comment: bytes | None, line: int) -> bytes:
    """The id in a comment: after ``docid =``, or its only word; else the line number."""
    if comment:
        match = _DOCID.search(comment)
        if match is not None:
            return match[1]
        words = comment.split()
        if len(words) == 1:
            return words[0]
    return str(line).encode()


def _check_numbers(source_name: str, line: Integers, row: Integers, grade: Floats, feature: Floats) -> None:
    """Raise if a grade, or the number of a feature, is too large."""
    faults = [(int(line[i]), "the grade is not a finite number") for i in np.flatnonzero(~np.isfinite(grade)).tolist()]
    large = np.flatnonzero(~(feature <= MAX_FEATURE)).tolist()
    faults += [(int(line[row[i]]), f"the number of a feature is above {MAX_FEATURE}") for i in large]
    if faults:
        messages = [f"{source_name}:{number}: {fault}" for number, fault in sorted(faults)]
        raise InputError(messages[: max_faults()], total=len(faults))


def _check_features(
    source_name: str, line: Integers, row: Integers, column: Integers, numbers: Integers, value: Floats
) -> None:
    """Raise if a line has a feature twice, or a value is too large for a number."""
    cell = row * len(numbers) + column
    _, first = np.unique(cell, return_index=True)
    twice = np.ones(len(cell), bool)
    twice[first] = False
    faulty = np.flatnonzero(twice | ~np.isfinite(value))
    if len(faulty):
        messages = [
            f"{source_name}:{line[row[i]]}: feature {numbers[column[i]]} "
            + ("appears twice" if twice[i] else "is not a finite number")
            for i in faulty[: max_faults()].tolist()
        ]
        raise InputError(messages, total=len(faulty))


def is_letor(stream: Stream, kind: ContentKind, _columns: Columns = None) -> bool:
    """Whether the first line that is not a comment has a grade, ``qid:`` and features."""
    if kind == "documents" or b"qid:" not in stream.head:
        return False
    *complete, last = stream.head.removeprefix(BOM).split(b"\n")
    for line in complete:
        if line.strip() and not line.lstrip().startswith(b"#"):
            return _FIRST.fullmatch(line) is not None
    # The first line is longer than what was read of it; its last word may be cut.
    return _FIRST.fullmatch(last) is not None or _FIRST.fullmatch(last.rpartition(b" ")[0]) is not None


def read_qrels(stream: Stream, name: str, columns: Columns) -> Judgments:
    """The grades as judgments."""
    reject_columns(columns)
    return _letor(stream, name).qrels


def read_runs(stream: Stream, name: str, columns: Columns) -> list[Run]:
    """A run for each feature."""
    reject_columns(columns)
    return list(_letor(stream, name).runs.values())


def read_run(stream: Stream, name: str, columns: Columns) -> Run:
    """The run of the only feature; an error if there are several."""
    runs = read_runs(stream, name, columns)
    if len(runs) != 1:
        number = runs[0].name.rpartition("#")[2] if runs else "1"
        raise InputError(
            [f"{stream.source_name}: the file has {len(runs)} features, and one run is needed"],
            hint=f"choose a feature by its number: {stream.source_name}#{number}",
        )
    return runs[0]


def is_feature(path: str) -> bool:
    """Whether a path is FILE#NUMBER, and FILE exists."""
    match = _FEATURE.fullmatch(path)
    return match is not None and not os.path.exists(path) and os.path.isfile(match[1])


def read_feature(path: str, name: str | None) -> Run:
    """The run of one feature."""
    file, _, number = path.rpartition("#")
    runs = read_letor(file).runs
    run = runs.get(number.lstrip("0") or "0")
    if run is None:
        raise InputError(
            [f"{file}: there is no feature {quotable(number)}"], hint=f"the features are {', '.join(runs)}"
        )
    return run if name is None else Run(name, run.source, run.source_name)


FORMATS = (
    FileFormat(
        "LETOR",
        priority=4,
        recognises=is_letor,
        read_run=read_run,
        read_runs=read_runs,
        read_qrels=read_qrels,
        extensions=(".letor",),
    ),
    SourceFormat("LETOR feature", is_feature, read_run=read_feature),
)
