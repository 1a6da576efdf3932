"""Runs and judgments in text files with named columns (CSV, JSON Lines), read piece by piece.

A run whose queries are contiguous is joined to judgments while it is read: memory is bounded by its largest query. If a
query appears again later, all rows are needed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.data import Judgments, Run, Strings, Table, TableStream
from cranfield.errors import InputError
from cranfield.io.detect import Columns
from cranfield.io.faults import Fault, FaultList, Location, TableKind
from cranfield.io.ids import check_marks
from cranfield.io.tables import (
    QRELS_COLUMNS,
    RUN_COLUMNS,
    Frame,
    JudgedColumns,
    choose_columns,
    group_rows,
    qrels_piece,
    run_piece,
)

ROWS_PER_PIECE = 1 << 15

Piece = tuple[Frame, Sequence[Fault]]  # rows, and the faults of lines that are not rows
Pieces = Callable[[], Iterator[Piece]]  # opens the file and reads it from the beginning


def read_rows(kind: TableKind, pieces: Pieces, name: str, columns: Columns, source_name: str) -> Any:
    """A run, in memory if it is one piece, else a stream; or all judgments."""
    location = Location(source_name, kind, literals=True)
    return (_read_run if kind == "run" else _read_qrels)(pieces, name, columns, location)


def _read_run(pieces: Pieces, name: str, columns: Columns, location: Location) -> Run:
    stream = TableStream(lambda: _whole_queries(_tables(pieces, columns, location)))
    tables = _tables(pieces, columns, location)
    first = next(tables, None)
    if first is None:
        raise InputError([f"{location.source_name}: the file has no rows"])
    source = first if next(tables, None) is None else stream
    return Run(name, source, location.source_name)


def _read_qrels(pieces: Pieces, name: str, columns: Columns, location: Location) -> Judgments:
    faults, named = FaultList(), _ColumnChoice(QRELS_COLUMNS, columns, location)
    parts: list[JudgedColumns] = []
    lines = []
    for frame, line_faults in pieces():
        faults.add(line_faults)
        column_of = named.of(frame)
        if frame.line is None or not len(frame.line):
            continue
        judged, first, total = qrels_piece(frame, column_of, location)
        faults.add(first, total)
        parts.append(judged)
        lines.append(frame.line)
    faults.raise_if_any(location)
    if not parts:
        raise InputError([f"{location.source_name}: the file has no rows"])
    iterations = [part.iteration for part in parts if part.iteration is not None]
    joined = JudgedColumns(
        Strings.concatenate([part.query for part in parts]),
        Strings.concatenate([part.document for part in parts]),
        Strings.concatenate(iterations) if iterations else None,
        np.concatenate([part.grade for part in parts]),
        {role: [value for part in parts for value in part.sample[role]] for role in parts[0].sample},
        parts[0].subtopics,
    )
    check_marks(joined.query, location.source_name)
    return group_rows(joined, np.concatenate(lines), name, location)


class _ColumnChoice:
    """The column for each role, from the names in the first piece; names in later pieces must agree."""

    def __init__(self, roles: Sequence[str], columns: Columns, location: Location) -> None:
        self._roles, self._columns, self._location = roles, columns, location
        self._named: dict[str, str] = {}

    def of(self, frame: Frame) -> dict[str, str]:
        if not frame.names and not (frame.line is not None and len(frame.line)):  # a piece without rows
            return self._named
        named = choose_columns(frame.names, self._roles, self._columns, self._location.source_name)
        if not self._named:
            self._named = named
        for role, column in named.items():
            if self._named.get(role) != column:
                assert frame.line is not None
                first = f"`{self._named[role]}`" if role in self._named else "no such column"
                message = f"the {role} is in column `{column}`; the lines before have {first}"
                raise InputError([f"{self._location.prefix(int(frame.line[0]), b'', '')}{message}"])
        return self._named


def _tables(pieces: Pieces, columns: Columns, location: Location) -> Iterator[Table]:
    named = _ColumnChoice(RUN_COLUMNS, columns, location)
    for frame, line_faults in pieces():
        faults, total = list(line_faults), len(line_faults)
        table, column_of = _NO_ROWS, named.of(frame)
        if frame.line is not None and len(frame.line):
            table = run_piece(frame, column_of, location)
        elif not faults:
            continue
        yield replace(table, faults=(*faults, *table.faults), faults_total=total + table.faults_total)


_NO_ROWS = Table(Strings.of([]), Strings.of([]), np.zeros(0), None, line=np.zeros(0, np.int64))


def _whole_queries(tables: Iterator[Table]) -> Iterator[Table]:
    """The tables cut where a query ends."""
    held: list[Table] = []
    for table in tables:
        cut = _start_of_last_query(table)
        continued = bool(held and len(table.score)) and table.query[0] == held[-1].query[len(held[-1].score) - 1]
        if held and cut == 0 and (continued or not len(table.score)):
            held.append(table)
            continue
        if held and not continued:
            yield concatenate(held)
            held = []
        yield concatenate([*held, table.take(np.arange(cut))])
        rest = np.arange(cut, len(table.score))
        held = [replace(table.take(rest), faults=(), faults_total=0)] if len(rest) else []
    if held:
        yield concatenate(held)


def _start_of_last_query(table: Table) -> int:
    """The row where the last query of a table begins."""
    row = len(table.score)
    last = table.query[row - 1] if row else ""
    while row and table.query[row - 1] == last:
        row -= 1
    return row


def concatenate(tables: Sequence[Table]) -> Table:
    """The rows of several tables of one file, and their faults."""
    tables = list(tables) or [_NO_ROWS]
    faults = FaultList()
    for table in tables:
        faults.add(table.faults, table.faults_total)
    with_rows: list[Any] = [table for table in tables if len(table.score)] or tables[:1]
    first = with_rows[0]
    return Table(
        Strings.concatenate([table.query for table in with_rows]),
        Strings.concatenate([table.document for table in with_rows]),
        np.concatenate([table.score for table in with_rows]),
        None if first.rank is None else np.concatenate([table.rank for table in with_rows]),
        first.numbered,
        first.score_column,
        np.concatenate([table.line for table in with_rows]),
        tuple(faults.first),
        faults.total,
    )
