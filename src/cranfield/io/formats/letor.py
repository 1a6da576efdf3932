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
from cranfield.errors import InputError
from cranfield.io.faults import Location, quotable
from cranfield.io.runs import no_rows_error
from cranfield.io.streams import (
    BOM,
    ContentKind,
    FileFormat,
    Roles,
    SourceFormat,
    Stream,
    open_stream,
    reject_columns,
)
from cranfield.io.tables import Rows, group_judgments

LINES_PER_BLOCK = 20_000
# What is matched is never tried again in another way (++, *+): a line takes time that grows with its length.
_NUMBER = rb"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?"
_LINE = rb"(?s)\s*+(" + _NUMBER + rb")\s++qid:(\S++)((?:\s++\d++:" + _NUMBER + rb")*+)\s*+(?:#(.*))?"
_FIRST = rb"(?s)\s*+" + _NUMBER + rb"\s++qid:\S++(?:\s++\d++:\S++)++\s*+(?:#.*)?"
_FEATURE = re.compile(r"(.+)#(\d+)")
EXPECTED = "expected `grade qid:QUERY FEATURE:VALUE ... # docid = ID`"


MAX_FEATURE = 2**31 - 1
# Features that most lines leave out are words, say, and not rankings. As runs they would take many times the memory of
# the file.
MAX_CELLS, MAX_FILL = 1_000_000, 100
MAX_RUNS = 10_000
MAX_LISTED = 20  # features that a message names
MAX_SHOWN = 1000  # bytes of a line that a message may begin with


class Letor(NamedTuple):
    """A LETOR file: judgments, a run for each feature by its number, and the features, (document, feature).

    Rows of ``features`` and of every run are the lines of the file; its columns are the runs in their order.
    """

    qrels: Judgments
    runs: dict[str, Run]
    features: Floats


def read_letor(source: Any, *, name: str | None = None) -> Letor:
    r"""The judgments and the features of a LETOR or SVM-rank file.

    Parameters
    ----------
    source
        A path, compressed or not, "-" for standard input, or a binary file object.
    name
        The name of the judgments, with which those of the runs begin; by default that of the file.

    Returns
    -------
    Letor
        ``qrels``, ``runs`` (a run for each feature, by its number) and ``features`` (document, feature).

    Examples
    --------
    >>> from io import BytesIO
    >>> qrels, runs, features = read_letor(BytesIO(b"1 qid:q 1:0.2 3:7 # a\n0 qid:q 1:0.4 # b\n"), name="toy")
    >>> list(qrels.documents), list(runs), runs["3"].name, features.tolist()
    (['a', 'b'], ['1', '3'], 'toy#3', [[0.2, 7.0], [0.4, 0.0]])
    """
    stream = open_stream(source, "letor")
    name = name or stream.name
    read = _read(stream)
    table = read.table()
    return Letor(read.judgments(name), read.runs(name, table), np.ascontiguousarray(table.T))


class Lines(NamedTuple):
    """The lines of a file, and the values in them: of line ``row`` and of feature ``numbers[column]``, by column."""

    source_name: str
    line: Integers
    query: Strings
    document: Strings
    grade: Floats
    numbers: Integers
    row: Integers
    column: Integers
    value: Floats

    def judgments(self, name: str) -> Judgments:
        rows = Rows.of(self.query, self.document, self.grade, self.line)
        return group_judgments(name, rows, Location(self.source_name, "qrels"))

    def scores(self, column: int) -> Floats:
        """The values of one feature."""
        of_column = slice(*np.searchsorted(self.column, [column, column + 1]))
        scores = np.zeros(len(self.line))
        scores[self.row[of_column]] = self.value[of_column]
        return scores

    def run(self, name: str, column: int, scores: Floats | None = None) -> Run:
        """The run of one feature."""
        number = self.numbers[column]
        table = Table(self.query, self.document, self.scores(column) if scores is None else scores)
        return Run(f"{name}#{number}", table, f"{self.source_name}#{number}")

    def table(self) -> Floats:
        """The values of all features, (feature, document)."""
        cells = len(self.line) * len(self.numbers)
        if cells > max(MAX_CELLS, MAX_FILL * len(self.value)) or len(self.numbers) > MAX_RUNS:
            raise InputError(
                [
                    f"{self.source_name}: {len(self.numbers):,} features of {len(self.line):,} documents are "
                    f"{cells:,} values, of which the file has {len(self.value):,}"
                ],
                hint=f"choose a feature by its number: {self.source_name}#{self.numbers[0]}",
            )
        table = np.zeros((len(self.numbers), len(self.line)))
        table[self.column, self.row] = self.value
        return table

    def runs(self, name: str, table: Floats) -> dict[str, Run]:
        """A run for each feature, by its number."""
        return {str(self.numbers[column]): self.run(name, column, scores) for column, scores in enumerate(table)}


def _read(stream: Stream) -> Lines:
    faults = list[str]()
    queries, grades, documents, line_of = list[bytes](), list[float](), list[bytes](), list[int]()
    blocks: list[tuple[Integers, Floats, Floats]] = []  # the row, the number and the value of features
    text, pattern = stream.read().removeprefix(BOM).split(b"\n"), re.compile(_LINE)
    for first in range(0, len(text), LINES_PER_BLOCK):
        counts, pairs, rows_before = list[int](), list[bytes](), len(grades)
        for number, line in enumerate(text[first : first + LINES_PER_BLOCK], first + 1):
            if not line.strip() or line.lstrip().startswith(b"#"):
                continue
            match = pattern.fullmatch(line)
            if match is None:
                shown = quotable(line.strip()[:MAX_SHOWN].decode("utf-8", "surrogateescape"))
                faults.append(f"{stream.source_name}:{number}: {EXPECTED}, found `{shown}`")
                continue
            grade, query, features, comment = match.groups()
            tokens = features.split()
            counts.append(len(tokens))
            pairs += tokens
            queries.append(query)
            grades.append(float(grade))
            documents.append(_document(comment, number))
            line_of.append(number)
        values = np.array([float(part) for pair in pairs for part in pair.split(b":")]).reshape(-1, 2)
        of_rows = np.repeat(np.arange(rows_before, len(grades)), counts)
        blocks.append((of_rows, values[:, 0], values[:, 1]))
    if faults:
        raise InputError(faults)
    if not grades:
        raise no_rows_error(stream.source_name)
    row, feature, value = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    lines, grade_of = np.array(line_of, np.int64), np.array(grades)
    _check_numbers(stream.source_name, lines, row, grade_of, feature)
    numbers, column = np.unique(feature.astype(np.int64), return_inverse=True)
    _check_features(stream.source_name, lines, row, column, numbers, value)
    order = np.argsort(column, kind="stable")
    of_values = row[order], column[order], value[order]
    query, document = Strings.packed(queries), Strings.packed(documents)
    return Lines(stream.source_name, lines, query, document, grade_of, numbers, *of_values)


def _document(comment: bytes | None, line: int) -> bytes:
    """The id in a comment: after ``docid =``, or its only word; else the line number."""
    if comment:
        match = re.search(rb"\bdocid\s*=\s*(\S+)", comment)
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
        raise InputError([f"{source_name}:{number}: {fault}" for number, fault in sorted(faults)])


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
            for i in faulty.tolist()
        ]
        raise InputError(messages)


def is_letor(stream: Stream, kind: ContentKind, _columns: Roles = None) -> bool:
    """Whether the first line that is not a comment has a grade, ``qid:`` and features."""
    if kind == "documents" or b"qid:" not in stream.head:
        return False
    *complete, last = stream.head.removeprefix(BOM).split(b"\n")
    for line in complete:
        if line.strip() and not line.lstrip().startswith(b"#"):
            return re.fullmatch(_FIRST, line) is not None
    # The first line is longer than what was read of it; its last word may be cut.
    return any(re.fullmatch(_FIRST, line) for line in (last, last.rpartition(b" ")[0]))


def read_qrels(stream: Stream, name: str, columns: Roles) -> Judgments:
    """The grades as judgments."""
    reject_columns(columns)
    return _read(stream).judgments(name)


def read_runs(stream: Stream, name: str, columns: Roles) -> list[Run]:
    """A run for each feature."""
    reject_columns(columns)
    lines = _read(stream)
    return list(lines.runs(name, lines.table()).values())


def read_run(stream: Stream, name: str, columns: Roles) -> Run:
    """The run of the only feature; an error if there are several."""
    reject_columns(columns)
    read = _read(stream)
    if len(read.numbers) != 1:
        number = read.numbers[0] if len(read.numbers) else "1"
        raise InputError(
            [f"{stream.source_name}: the file has {len(read.numbers):,} features, and one run is needed"],
            hint=f"choose a feature by its number: {stream.source_name}#{number}",
        )
    return read.run(name, 0)


def is_feature(path: str) -> bool:
    """Whether a path is FILE#NUMBER, and FILE exists."""
    match = _FEATURE.fullmatch(path)
    return match is not None and not os.path.exists(path) and os.path.isfile(match[1])


def read_feature(path: str, name: str | None) -> Run:
    """The run of one feature."""
    file, _, number = path.rpartition("#")
    stream = open_stream(file, "letor")
    read = _read(stream)
    digits = number.lstrip("0") or "0"
    column = int(np.searchsorted(read.numbers, int(digits))) if len(digits) < 19 else len(read.numbers)
    if column == len(read.numbers) or str(read.numbers[column]) != digits:
        numbers = [*map(str, read.numbers[:MAX_LISTED].tolist()), *(["..."] if len(read.numbers) > MAX_LISTED else [])]
        raise InputError(
            [f"{file}: there is no feature {quotable(number)}"], hint=f"the features are {', '.join(numbers)}"
        )
    run = read.run(stream.name, column)
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
