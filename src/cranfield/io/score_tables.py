"""Per-query scores that another program computed: every shape of them as cells of run, measure, query and repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cranfield.data import LARGEST
from cranfield.errors import InputError, UsageError
from cranfield.io.faults import quotable
from cranfield.io.ids import id_text
from cranfield.io.named_tables import NamedTable, is_missing, read_table
from cranfield.io.streams import Stream, is_stream, short_name
from cranfield.io.tables import is_frame
from cranfield.wording import few

COLUMNS: dict[str, tuple[str, ...]] = {
    "run": ("run", "run_id", "runid", "run_name", "run_tag", "system", "model"),
    "query": ("query_id", "qid", "q_id", "query", "topic_id", "question_id", "topic"),
    "measure": ("measure", "metric"),
    "value": ("value", "score"),
    "repeat": ("repeat", "seed", "trial"),
}
ALL = "all"  # the query of means in the text of other programs
SHAPE = "give {run: {measure: {query: value}}}, or a table with the columns run, query, measure, value"


class Cell(NamedTuple):
    """One value, NaN if it is missing, and where it is."""

    run: str
    measure: str
    query: str
    repeat: str
    value: float
    place: str


class Cells:
    """The cells of one or more sources, with all faults that were found in them."""

    def __init__(self, columns: Mapping[str, str] | None, is_measure: Callable[[str], bool]) -> None:
        self.columns, self.is_measure = dict(columns or {}), is_measure
        for role in self.columns:
            if role not in COLUMNS:
                raise UsageError(f"unknown column role `{role}`", hint=f"columns= takes {', '.join(COLUMNS)}")
        self.found: list[Cell] = []
        self.remarks: list[str] = []
        self.means = 0  # rows with means over all queries, which are not read
        self._faults: list[str] = []
        self._first: dict[tuple[str, str, str, str], str] = {}

    def add(self, run: Any, measure: Any, query: Any, value: Any, place: str, repeat: str = "") -> None:
        """One cell; a list of values has the repeats of the run."""
        if isinstance(value, (list, tuple, np.ndarray)) and not repeat:
            for i, one in enumerate(value, 1):
                self.add(run, measure, query, one, place, str(i))
            if not len(value):
                self._faults.append(f"{place}: a list of repeats without a value")
            return
        names = [None if is_missing(name) else id_text(name) for name in (run, measure, query)]
        for what, name, given in zip(("run", "measure", "query"), names, (run, measure, query), strict=True):
            if name is None:
                self._faults.append(f"{place}: {given!r:.60} is not the name of a {what}")
                return
        number = _number(value)
        if number is None:
            self._faults.append(f"{place}: the value of {quotable(str(names[1]))} is not a number: {_shown(value)}")
            return
        if abs(number) > LARGEST:
            limit = f"scores are at most {LARGEST:g}, so that their sums are numbers"
            self._faults.append(f"{place}: the value of {quotable(str(names[1]))} is {number:g}; {limit}")
            return
        key = str(names[0]), str(names[1]), str(names[2]), repeat
        if first := self._first.get(key):
            self._faults.append(
                f"{place}: a second value of {quotable(key[1])} for query `{quotable(key[2])}` of run "
                f"`{quotable(key[0])}`; the first is {first}"
            )
            return
        self._first[key] = f"at {place}"
        self.found.append(Cell(*key, number, place))

    def raise_faults(self) -> None:
        """Raise all faults as one error."""
        if self._faults:
            twice = any("a second value" in fault for fault in self._faults)
            several = "repeats of a run need a column `repeat`, or lists of values"
            hint = several if twice else "missing values are empty, NaN or null"
            raise InputError(self._faults, hint=hint)

    def read(self, table: NamedTable | Mapping[Any, Any] | Stream, run: str | None = None, *, is_file: bool) -> None:
        """All cells of what `read_table` returns. ``run``: the name of the run, where the source has none."""
        if isinstance(table, Mapping):
            self._mapping(table)
        elif isinstance(table, Stream):
            self._text(table, run or table.name)
        else:
            self._table(table, run or (short_name(table.source_name) if is_file else "run"))

    def _mapping(self, source: Mapping[Any, Any]) -> None:
        """``{run: {measure: {query: value or [repeats]}}}``, or paths and tables by run."""
        for run, of_run in source.items():
            if not isinstance(of_run, Mapping):
                if is_stream(of_run) or is_frame(of_run) or isinstance(of_run, (list, tuple)):
                    self.read(read_table(of_run, "scores"), str(run), is_file=is_stream(of_run))
                    continue
                raise _wrong_shape(f"run `{quotable(str(run))}`", of_run)
            for measure, values in of_run.items():
                if not isinstance(values, Mapping):
                    raise _wrong_shape(f"run `{quotable(str(run))}`, {quotable(str(measure))}", values)
                for query, value in values.items():
                    place = f"run `{quotable(str(run))}`, {quotable(str(measure))}, query `{quotable(str(query))}`"
                    self.add(run, measure, query, value, place)

    def _table(self, table: NamedTable, run: str) -> None:
        """A long table (measure and value in columns), or a wide one (a column for each measure)."""
        chosen: dict[str, str] = {}
        for role, names in COLUMNS.items():
            given = self.columns.get(role)
            if given is not None and given not in table.columns:
                raise _no_column(table, f"no column `{quotable(given)}`", "")
            column = given or table.column(names)
            if column is not None:
                chosen[role] = column
        if not any(table.columns.values()):
            raise InputError([f"{table.source_name}: there are no scores"], hint=SHAPE)
        if "query" not in chosen:
            raise _no_column(table, "no column for the query", 'name it query, or pass columns={"query": ...}')
        ids = {chosen[role] for role in ("run", "query", "repeat") if role in chosen}
        if "measure" in chosen and "value" not in chosen:
            raise _no_column(table, "no column for the value", 'name it value, or pass columns={"value": ...}')
        measures = [] if "measure" in chosen else [name for name in table.columns if name not in ids]
        if not measures and "measure" not in chosen:
            raise _no_column(table, "no column with scores", "give a column for each measure, or measure and value")
        for place, row in table:
            if row[chosen["query"]] == ALL:
                self.means += 1
                continue
            of = row[chosen["run"]] if "run" in chosen else run
            repeat = str(row[chosen["repeat"]]) if "repeat" in chosen else ""
            if measures:
                for measure in measures:
                    self.add(of, measure, row[chosen["query"]], row[measure], place, repeat)
            else:
                self.add(of, row[chosen["measure"]], row[chosen["query"]], row[chosen["value"]], place, repeat)

    def _text(self, stream: Stream, run: str) -> None:
        """Lines without names: ``measure query value`` as trec_eval -q prints, or ``query measure value``."""
        rows = [(f"{stream.source_name}:{number}", columns) for number, columns, _ in stream.columns()]
        if not rows:
            raise InputError([f"{stream.source_name}: there are no scores"], hint=SHAPE)
        runs: list[str] = []
        for _, columns in rows:
            # trec_eval names the run first; several outputs may follow each other.
            if columns[0] == "runid" and len(columns) == 3:
                run = columns[2]
            else:
                runs.append(run)
        rows = [(place, columns) for place, columns in rows if columns[0] != "runid" or len(columns) != 3]
        width = len(rows[0][1]) if rows else 3
        wrong = [f"{place}: expected {width} columns, found {len(row)}" for place, row in rows if len(row) != width]
        if wrong or width not in (3, 4):
            raise InputError(
                wrong or [f"{rows[0][0]}: expected 3 columns (measure query value), found {width}"],
                hint="or give a table with a first line of names: run, query, measure, value",
            )
        # The run is the first or the last of four columns; the value is the last of the others. Queries are often
        # numbers, and so may runs be.
        third, last = ([_number(row[i]) is not None for _, row in rows] if width == 4 else [] for i in (2, 3))
        run_last = all(third) and (not any(last) or all(self.is_measure(row[0]) for _, row in rows))
        order = [3, 0, 1, 2] if run_last else [0, 1, 2, 3]
        table = [
            (place, [row[i] for i in order] if width == 4 else [of, *row])
            for of, (place, row) in zip(runs, rows, strict=True)
        ]
        measure = self._measure_column([row for _, row in table], stream.source_name)
        for place, row in table:
            query = row[3 - measure]
            if query != ALL:
                self.add(row[0], row[measure], query, row[3], place)

    def _measure_column(self, rows: Sequence[Sequence[str]], source_name: str) -> int:
        """Which of the columns 1 and 2 has the measure; the other one has the query."""
        sides = [{row[side] for row in rows} for side in (1, 2)]
        with_all = [ALL in side for side in sides]
        known = [all(self.is_measure(name) for name in side - {ALL}) for side in sides]
        sizes = [len(side) for side in sides]
        if with_all[0] != with_all[1]:
            found = 1 if with_all[1] else 2
        elif known[0] != known[1]:
            found = 1 if known[0] else 2
        elif sizes[0] != sizes[1]:
            found = 1 if sizes[0] < sizes[1] else 2
            names = "measure, query, value" if found == 1 else "query, measure, value"
            self.remarks.append(f"{source_name}: the columns were read as {names}")
        else:
            raise InputError(
                [f"{source_name}: which column is the measure, and which the query?"],
                hint="add a first line with the names of the columns: run, query, measure, value",
            )
        return found


def _number(value: Any) -> float | None:
    """A number, NaN if it is missing; None for anything else."""
    if is_missing(value):
        return float("nan")
    if isinstance(value, (bool, np.bool_, bytes)):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if np.isfinite(number) and "_" not in str(value) else None


def _shown(value: Any) -> str:
    return f'"{quotable(value[:60])}"' if isinstance(value, str) else f"{value!r:.60}"


def _wrong_shape(where: str, value: Any) -> InputError:
    return InputError(
        [f"scores: {where}: expected a dict, found {type(value).__name__}"],
        hint="scores are {run: {measure: {query: value}}}",
    )


def _no_column(table: NamedTable, what: str, hint: str) -> InputError:
    names = few([quotable(name) for name in table.columns], 10)
    return InputError([f"{table.source_name}: {what}; the columns are {names}"], hint=hint)


def sources_of(source: Any) -> Iterator[Any]:
    """The sources, of which a list of files or tables has several."""
    if isinstance(source, (list, tuple)) and not all(isinstance(row, Mapping) for row in source):
        yield from source
    else:
        yield source
