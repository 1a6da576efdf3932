"""Sheets: tables with names, cells and asides, made from scores; and numbers as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from io import StringIO
from typing import Any, Literal, NamedTuple

import numpy as np

from cranfield.data import Floats
from cranfield.evaluation.notes import policy_line
from cranfield.evaluation.plan import Column
from cranfield.evaluation.scores import Interval, Scores, ScoreTable
from cranfield.wording import printable, shortened, spreadsheet_cell

UNDEFINED = "–"
HUGE = 1e15  # from here on use the exponential form


def shown(value: float, digits: int) -> str:
    """A number as text; a number that rounds to 0 has no sign.

    >>> shown(0.12345, 3), shown(-1e-9, 2), shown(1e300, 2), shown(float("nan"), 2)
    ('0.123', '0.00', '1.00e+300', '–')
    """
    if np.isnan(value):
        return UNDEFINED
    if HUGE <= abs(value) < np.inf:
        return f"{value:.{digits}e}"
    text = f"{value:.{digits}f}"
    return text if float(text) else text.removeprefix("-")


def share(part: float, digits: int = 0) -> str:
    """A share in percent; only an exact 0 or 1 is shown as 0% or 100%.

    >>> share(0.25), share(0.001), share(0.0001, 1), share(0.9999, 1), share(1.0, 1)
    ('25%', '<1%', '<0.1%', '>99.9%', '100.0%')
    """
    text, least = shown(100 * part, digits), 10.0**-digits
    if 0 < 100 * part < least / 2:
        return f"<{shown(least, digits)}%"
    if part < 1 and text == shown(100, digits):
        return f">{shown(100 - least, digits)}%"
    return text if text == UNDEFINED else f"{text}%"


def signed(value: float, digits: int) -> str:
    """A difference as text, with a sign unless it rounds to 0.

    >>> signed(0.25, 2), signed(-0.001, 2), signed(float("inf"), 2)
    ('+0.25', '0.00', '+∞')
    """
    if np.isinf(value):
        return "+∞" if value > 0 else "-∞"
    text = shown(value, digits)
    return f"+{text}" if value > 0 and float(text) else text


def interval(low: float, high: float, digits: int, show: Callable[[float, int], str] = signed) -> str:
    """The interval of a difference as text, or with ``show=shown`` that of another number; empty if undefined.

    >>> interval(-0.1, 0.25, 2), interval(0.1, 0.25, 2, shown), interval(float("nan"), 1, 2)
    ('[-0.10, +0.25]', '[0.10, 0.25]', '')
    """
    return "" if np.isnan(low) or np.isnan(high) else f"[{show(low, digits)}, {show(high, digits)}]"


def exact(value: float) -> str:
    """The shortest text that reads back as the same number; empty for undefined.

    >>> exact(0.1), exact(float("nan"))
    ('0.1', '')
    """
    return "" if np.isnan(value) else repr(float(value))


def csv_lines(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as CSV: numbers at full precision, empty if undefined, and texts that no spreadsheet takes for formulas."""
    import csv

    out = StringIO()
    lines = csv.writer(out, lineterminator="\n")
    for row in rows:
        lines.writerow(exact(value) if isinstance(value, float) else spreadsheet_cell(str(value)) for value in row)
    return out.getvalue()


ALL = "all"  # the row of means, as trec_eval calls it
MEAN = "mean"  # the column of the mean over collections


@dataclass(frozen=True)
class Cell:
    """One number as text; ``aside`` is its interval, if any, or a superscript if ``raised``.

    Several intervals are lines; a name from outside is one line by `printable`. ``mark`` stands beside the number, as
    that of a significant difference. ``tone`` colours good and bad answers.
    """

    text: str
    best: bool = False
    aside: str = ""
    raised: bool = False
    mark: str = ""
    tone: Literal["", "good", "bad"] = ""

    def __post_init__(self) -> None:
        if not (self.text.isprintable() and self.aside.isprintable()):
            object.__setattr__(self, "text", printable(self.text))
            object.__setattr__(self, "aside", printable(self.aside, lines=True))

    @property
    def one_line_aside(self) -> str:
        """The aside for formats in which a cell has one line."""
        return self.aside.replace("\n", " ")


@dataclass(frozen=True)
class Row:
    """Names, then numbers; ``last``: the last row of a run, below which a line may be drawn.

    ``kept``: the row is shown even if the table is cut above it, as that of a baseline.
    """

    names: tuple[str, ...]
    cells: tuple[Cell, ...]
    last: bool = False
    kept: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(map(printable, self.names)))


@dataclass(frozen=True)
class Sheet:
    """Headings of names and of numbers, and rows of both; ``folded`` are headings split into several lines.

    ``across`` says what the columns are, as ``names`` says what the rows are.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    folded: tuple[str, ...] = ()
    across: str = "measure"
    together: int = 1  # columns that stay beside each other if the sheet is split

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(printable(name, lines=True) for name in self.columns))

    @cached_property
    def transposed(self) -> Sheet:
        """Columns as rows, and rows as columns; only for sheets with a single column of names."""
        heads = tuple(row.names[0] for row in self.rows)
        names = (name.replace("\n", " ") for name in self.columns)  # a heading may have lines, a row has one
        rows = (Row((name,), tuple(row.cells[c] for row in self.rows)) for c, name in enumerate(names))
        return Sheet((self.across,), heads, tuple(rows), across=self.names[0])

    @property
    def square(self) -> bool:
        """Whether rows and columns have the same names, as in a table of all pairs."""
        return len(self.names) == 1 and self.columns == tuple(row.names[0] for row in self.rows)

    def ends(self, row: Row) -> bool:
        """Whether the rows of a run end here and another run follows."""
        return row.last and len(self.names) > 1 and row is not self.rows[-1]

    def part(self, columns: slice) -> Sheet:
        """The sheet with only these columns of numbers."""
        rows = tuple(replace(row, cells=row.cells[columns]) for row in self.rows)
        return replace(self, columns=self.columns[columns], rows=rows, folded=self.folded[columns])


class ScoresPart(NamedTuple):
    """The scores on one of several collections, or the mean over them; ``queries`` are those whose values it shows.

    ``head``: what stands below the name of a measure, if anything.
    """

    collection: str
    head: tuple[str, ...]
    scores: ScoreTable
    queries: frozenset[str]


def parts_of(scores: ScoreTable) -> list[ScoresPart]:
    """The scores on each collection, or by each judge, then their mean; else the scores as they are."""
    if not isinstance(scores, Scores):
        return [ScoresPart("", (), scores, frozenset())]
    if scores.judges is not None:
        of_judges = scores.judges._collections.items()
        parts = [ScoresPart(name, (name,), part, frozenset()) for name, part in of_judges]
        return [*parts, ScoresPart("", (MEAN,), scores, frozenset(scores.queries))]
    if len(scores._collections) < 2:
        return [ScoresPart("", (), scores, frozenset(scores.queries))]
    parts = [ScoresPart(name, (name,), part, frozenset(part.queries)) for name, part in scores._collections.items()]
    return [*parts, ScoresPart("", (MEAN,), scores, frozenset())]


def below(scores: ScoreTable) -> tuple[str, ...]:
    """What stands below a table of scores: their policy line, if they have one."""
    return tuple(filter(None, [policy_line(scores)]))


@dataclass(frozen=True)
class Layout:
    """What to show of scores, in any format."""

    per_query: bool = False
    digits: int = 4
    interval: Interval | None = None
    seed: int = 0

    def number(self, value: float, *, count: bool = False) -> str:
        """A value as text; counts have no decimals."""
        return shown(value, 0 if count else self.digits)

    def limits(self, scores: ScoreTable, run: int, measure: int) -> tuple[float, float] | None:
        """The confidence interval of a mean, or None if none was requested."""
        if self.interval is None or not isinstance(scores, Scores):
            return None
        return scores._interval(run, measure, method=self.interval, seed=self.seed)

    def lines(self, scores: ScoreTable, run: int) -> Iterator[tuple[str | None, Floats]]:
        """The queries of a run and their values, if they are shown; then None and its means."""
        if self.per_query and isinstance(scores, Scores):
            yield from ((scores.queries[q], scores.values[run, :, q]) for q in np.flatnonzero(scores.counted[run]))
        yield None, scores._means[run]

    def sheet(self, scores: ScoreTable) -> Sheet:
        """Runs (and queries) as rows, measures as columns, and the number of queries of each mean.

        With several collections, a measure has a column for each of them, and one for the mean over them. Known texts
        stand beside the ids of queries.
        """
        texts_of = scores._texts if self.per_query and isinstance(scores, Scores) else {}
        names = ("run", *(("query",) if self.per_query else ()), *(("text",) if texts_of else ()))
        parts = parts_of(scores)
        places = [(m, p) for m in range(len(scores.columns)) for p in range(len(parts))]
        heads = tuple(" ".join([scores.measures[m], *parts[p].head]) for m, p in places)
        folded = tuple("\n".join([folded_label(scores.columns[m]), *parts[p].head]) for m, p in places)
        cells = [list(self._means(parts[p].scores, m)) for m, p in places]
        counts = [column.aggregate == "sum" for column in scores.columns]
        rows = []
        for r, run in enumerate(scores.runs):
            for query, values in self.lines(scores, r):
                if query is not None:
                    texts = (
                        self.number(values[m], count=counts[m]) if query in parts[p].queries else "" for m, p in places
                    )
                    about = (shortened(texts_of.get(query, "")),) if texts_of else ()
                    rows.append(Row((run, query, *about), (*map(Cell, texts), Cell(""))))
            last = (*(column[r] for column in cells), Cell(averaged(scores, r)))
            rows.append(Row((run, ALL, "")[: len(names)], last, last=True))
        return Sheet(names, (*heads, "queries"), tuple(rows), (*folded, "queries"))

    def _means(self, scores: ScoreTable, m: int) -> Iterator[Cell]:
        """The mean of each run, the best in bold, with its interval."""
        column, means = scores.columns[m], scores._means[:, m]
        texts = [self.number(mean, count=column.aggregate == "sum") for mean in means]
        best = best_text(column, means, texts)
        for r, text in enumerate(texts):
            yield Cell(text, text == best, self._aside(scores, r, m))

    def _aside(self, scores: ScoreTable, run: int, measure: int) -> str:
        limits = self.limits(scores, run, measure)
        if limits is None or np.isnan(limits[0]):
            return ""
        low, high = (self.number(limit) for limit in limits)
        return f"[{low}, {high}]"


def folded_label(column: Column) -> str:
    """A column's label split into lines: the measure, its views, and its part."""
    lines = [column.label]
    if column.part != "value":
        lines = [column.label.removesuffix(f" {column.part}"), column.part]
    name, bracket, views = lines[0].partition("[")
    return "\n".join([name, bracket + views, *lines[1:]] if bracket else lines)


def best_text(column: Column, means: Floats, shown: list[str]) -> str | None:
    """The best mean of a column as text, or None if no mean is better than another, or all are equal."""
    if column.aggregate == "sum" or column.part == "residual":
        return None
    return highest_text(-means if column.lower_is_better else means, shown)


def highest_text(values: Floats | Sequence[float], texts: Sequence[str]) -> str | None:
    """The text of the highest value, or None if all are equal: a difference that is not shown is not marked."""
    return None if len(set(texts)) < 2 or np.isnan(values).all() else texts[int(np.nanargmax(values))]


def averaged(scores: ScoreTable, run: int) -> str:
    """The number of queries that a run's means cover; a range if it differs between measures."""
    sizes = scores._sizes[run].tolist()
    if not sizes:
        return "0"
    low, high = min(sizes), max(sizes)
    return str(low) if low == high else f"{low}–{high}"
