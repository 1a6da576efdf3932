"""Scores as text: tables for the terminal, LaTeX and Markdown for papers, JSON, CSV and TREC for programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cranfield import codec
from cranfield.errors import UsageError
from cranfield.evaluation.scores import COLLECTION, Interval, ScoreTable
from cranfield.report import pages
from cranfield.report.pages import Page, check_format
from cranfield.report.sheet import ALL, Layout, below, csv_lines, parts_of
from cranfield.wording import printable


def csv(scores: ScoreTable, layout: Layout) -> str:
    """One value per line, at full precision, empty if undefined; the query of means is ``all``.

    With several collections, the last column says which one; it is empty for the mean over them.
    """
    ends, parts = ["low", "high"] if layout.interval else [], parts_of(scores)
    several = len(parts) > 1
    lines: list[list[Any]] = [["run", "query", "measure", "value", *ends, *([COLLECTION] if several else [])]]
    for r, run in enumerate(scores.runs):
        for part in parts:
            for query, values in layout.lines(part.scores, r):
                if query is not None and query not in part.queries:
                    continue
                name, of = ALL if query is None else query, [part.collection] if several else []
                for m, measure in enumerate(scores.measures):
                    limits = layout.limits(part.scores, r, m) or () if query is None else [np.nan] * len(ends)
                    lines.append([run, name, measure, *map(float, (values[m], *limits)), *of])
    return csv_lines(lines)


def trec(scores: ScoreTable, layout: Layout) -> str:
    """trec_eval's three columns; with several runs, each begins with its ``runid``."""
    lines = []
    for r, run in enumerate(scores.runs):
        if len(scores.runs) > 1:
            lines.append(f"{'runid':<22}\t{ALL}\t{printable(run)}\n")
        for query, values in layout.lines(scores, r):
            for column, measure, value in zip(scores.columns, scores.measures, values.tolist(), strict=True):
                # trec_eval has no word for undefined; nan is what C prints and what parsers of floats accept.
                is_count = column.aggregate == "sum" and not np.isnan(value)
                shown = f"{value:.0f}" if is_count else f"{value:6.{layout.digits}f}"
                lines.append(f"{measure:<22}\t{ALL if query is None else printable(query)}\t{shown}\n")
    return "".join(lines)


WRITERS: dict[str, Callable[[ScoreTable, Layout], str]] = {
    "json": lambda scores, _: codec.text(scores.to_dict()),
    "csv": csv,
    "trec": trec,
}
FORMATS = ("table", *WRITERS, "markdown", "latex")
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
    if format in WRITERS:
        return WRITERS[format](scores, layout)
    page = Page("", layout.sheet(scores), below(scores), label="scores")
    return pages.write([page], {}, format, width=width, colour=colour)
