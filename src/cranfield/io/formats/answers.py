"""TREC question answering, named ``qa:FILE``: each answer is a pair of a document and a text.

Runs have lines ``query Q0 document rank score tag answer``, judgments have lines ``query document judgment answer``;
an answer is the rest of its line. A pair becomes one id, `answer_id`, so that a document may have several answers.
Of the judgments, 1 is right; -1 (wrong), 2 (unsupported) and 3 (inexact) are not relevant. The letters R, W, U and X
mean the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cranfield.data import Judgments, Run, Strings, Table
from cranfield.errors import InputError, max_faults
from cranfield.io.detect import BOM, SourceFormat
from cranfield.io.faults import Location, quotable
from cranfield.io.judgments import Rows, group_judgments
from cranfield.io.runs import no_rows_error
from cranfield.io.streams import Stream, open_stream

PREFIX = "qa:"
NIL = "NIL"
RUN_FIELDS = "query Q0 document rank score tag answer"
QRELS_FIELDS = "query document judgment answer"
GRADES = {"1": 1.0, "-1": 0.0, "2": 0.0, "3": 0.0, "R": 1.0, "W": 0.0, "U": 0.0, "X": 0.0}


def answer_id(document: str, answer: str) -> str:
    """The id of an answer in a document: both, without blanks. NIL has no answer.

    >>> answer_id("AP880212-0001", " Tom  Hanks"), answer_id("NIL", "")
    ('AP880212-0001/Tom_Hanks', 'NIL')
    """
    words = answer.split()
    return document if document == NIL or not words else f"{document}/{'_'.join(words)}"


def is_answers(path: str) -> bool:
    """Whether a path is qa:FILE."""
    return path.startswith(PREFIX)


def read_run(path: str, name: str | None) -> Run:
    """The answers of a system. NIL may be repeated; an evaluation with ``nil`` counts the first one."""
    stream = open_stream(path.removeprefix(PREFIX), "run")
    queries, documents, numbers = list[str](), list[str](), list[tuple[float, float]]()
    faults: list[str] = []
    for line, (query, _, document, rank, score, _, *answer) in _lines(stream, 6, RUN_FIELDS, faults):
        try:
            numbers.append((_number(score), _number(rank)))
        except ValueError:
            shown = quotable(f"{rank} {score}")
            faults.append(f"{stream.source_name}:{line}: the rank and the score must be numbers, found `{shown}`")
            continue
        queries.append(query)
        documents.append(answer_id(document, answer[0] if answer else ""))
    _check(stream, faults, len(queries))
    score_of, rank_of = np.array(numbers).T
    table = Table(Strings.of(queries), Strings.of(documents), np.ascontiguousarray(score_of), rank_of.copy())
    return Run(name or stream.name, table, stream.source_name)


def read_qrels(path: str, name: str | None) -> Judgments:
    """The judgments of answers."""
    stream = open_stream(path.removeprefix(PREFIX), "qrels")
    queries: dict[str, int] = {}
    query_of, documents, grades, lines = list[int](), list[str](), list[float](), list[int]()
    faults: list[str] = []
    for line, (query, document, judgment, *answer) in _lines(stream, 3, QRELS_FIELDS, faults):
        grade = GRADES.get(judgment.upper())
        if grade is None:
            expected = "expected a judgment of 1, -1, 2 or 3, or R, W, U or X"
            faults.append(f"{stream.source_name}:{line}: {expected}, found `{quotable(judgment)}`")
            continue
        query_of.append(queries.setdefault(query, len(queries)))
        documents.append(answer_id(document, answer[0] if answer else ""))
        grades.append(grade)
        lines.append(line)
    _check(stream, faults, len(lines))
    rows = Rows(
        Strings.of(queries),
        np.array(query_of, np.int64),
        Strings.of(["0"]),
        np.zeros(len(lines), np.int64),
        Strings.of(documents),
        np.array(grades),
        np.array(lines, np.int64),
    )
    return group_judgments(name or stream.name, rows, Location(stream.source_name, "qrels"))


def _lines(stream: Stream, width: int, fields: str, faults: list[str]) -> Iterator[tuple[int, list[str]]]:
    """The fields of each line; the answer, if there is one, is the rest of the line."""
    text = stream.read().removeprefix(BOM).decode("utf-8", "surrogateescape")
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        parts = line.split(None, width)
        if len(parts) < width:
            faults.append(f"{stream.source_name}:{number}: expected `{fields}`, found `{quotable(line.strip())}`")
            continue
        yield number, parts


def _number(text: str) -> float:
    value = float(text)
    if np.isnan(value):
        raise ValueError
    return value


def _check(stream: Stream, faults: list[str], rows: int) -> None:
    if faults:
        raise InputError(faults[: max_faults()], total=len(faults))
    if not rows:
        raise no_rows_error(stream.source_name)


FORMATS = (SourceFormat("TREC question answering", is_answers, read_run=read_run, read_qrels=read_qrels),)
