"""Scores as text: tables for the terminal, LaTeX and Markdown for papers, JSON, CSV and TREC for programs."""

from __future__ import annotations

import csv as comma
from collections.abc import Callable, Iterator
from io import StringIO

import numpy as np

from cranfield import results
from cranfield.errors import UsageError
from cranfield.evaluation.scores import Interval, Scores, ScoreTable
from cranfield.report.pages import check_format, latex, markdown, render
from cranfield.report.sheet import ALL, Layout, exact
from cranfield.wording import printable, spreadsheet_cell


def json(scores: ScoreTable, _layout: Layout) -> str:
    """``scores.to_dict()``: means, per-query values and notes."""
    return results.text(scores.to_dict())


def csv(scores: ScoreTable, layout: Layout) -> str:
    """One value per line, at full precision, empty if undefined; the query of means is ``all``."""
    out = StringIO()
    lines = comma.writer(out, lineterminator="\n")
    lines.writerow(["run", "query", "measure", "value", *(["low", "high"] if layout.interval else [])])
    for r, run in enumerate(scores.runs):
        name = spreadsheet_cell(run)
        if layout.per_query and isinstance(scores, Scores):
            padding = ["", ""] if layout.interval else []
            for q in np.flatnonzero(scores.counted[r]):
                query = spreadsheet_cell(scores.queries[q])
                for m, measure in enumerate(scores.measures):
                    lines.writerow([name, query, measure, exact(scores.values[r, m, q]), *padding])
        for m, measure in enumerate(scores.measures):
            limits = layout.limits(scores, r, m) or ()
            lines.writerow([name, ALL, measure, exact(scores.means[r, m]), *map(exact, limits)])
    return out.getvalue()


def trec(scores: ScoreTable, layout: Layout) -> str:
    """trec_eval's three columns; with several runs, each begins with its ``runid``."""
    return "".join(_trec_lines(scores, layout))


def _trec_lines(scores: ScoreTable, layout: Layout) -> Iterator[str]:
    counts = [column.aggregate == "sum" for column in scores.columns]

    def line(m: int, query: str, value: float) -> str:
        # trec_eval has no word for undefined; nan is what C prints and what parsers of floats accept.
        shown = f"{value:.0f}" if counts[m] and not np.isnan(value) else f"{value:6.{layout.digits}f}"
        return f"{scores.measures[m]:<22}\t{printable(query)}\t{shown}\n"

    for r, run in enumerate(scores.runs):
        if len(scores.runs) > 1:
            yield f"{'runid':<22}\t{ALL}\t{printable(run)}\n"
        if layout.per_query and isinstance(scores, Scores):
            for q in np.flatnonzero(scores.counted[r]):
                for m in range(len(scores.measures)):
                    yield line(m, scores.queries[q], float(scores.values[r, m, q]))
        for m in range(len(scores.measures)):
            yield line(m, ALL, scores.means[r, m])


WRITERS: dict[str, Callable[[ScoreTable, Layout], str]] = {
    "json": json,
    "csv": csv,
    "trec": trec,
    "markdown": lambda scores, layout: markdown(layout.sheet(scores)),
    "latex": lambda scores, layout: latex(layout.sheet(scores)),
}
FORMATS = ("table", *WRITERS)
WITHOUT_INTERVALS = ("json", "trec")


def accept(format: str, interval: Interval | None) -> None:
    """Raise if a format is unknown or cannot hold intervals; called before the work starts."""
    check_format(format, FORMATS)
    if interval and format in WITHOUT_INTERVALS:
        raise UsageError(f"the {format} format cannot show intervals", hint="use table, csv, markdown or latex")


def write(
    scores: ScoreTable,
    format: str = "table",
    *,
    per_query: bool = False,
    digits: int = 4,
    interval: Interval | None = None,
    seed: int = 0,
    width: int = 80,
    colour: bool = False,
) -> str:
    """The scores in one of `FORMATS`, ending in a newline; ``width`` and ``colour`` apply to tables only."""
    accept(format, interval)
    layout = Layout(per_query, digits, interval, seed)
    if format == "table":
        return render(layout.sheet(scores), width=width, colour=colour)
    return WRITERS[format](scores, layout)
