"""Scores as text: tables for the terminal, LaTeX and Markdown for papers, JSON, CSV and TREC for programs."""

from __future__ import annotations

from collections.abc import Callable

from cranfield.errors import UsageError
from cranfield.evaluation.scores import Interval, ScoreTable
from cranfield.report import markup, table, text
from cranfield.report.sheet import Layout

WRITERS: dict[str, Callable[[ScoreTable, Layout], str]] = {
    "json": text.json,
    "csv": text.csv,
    "trec": text.trec,
    "markdown": lambda scores, layout: markup.markdown(layout.sheet(scores)),
    "latex": lambda scores, layout: markup.latex(layout.sheet(scores)),
}
FORMATS = ("table", *WRITERS)
WITHOUT_INTERVALS = ("json", "trec")


def accept(format: str, interval: Interval | None) -> None:
    """Raise if a format is unknown or cannot hold intervals; called before the work starts."""
    if format not in FORMATS:
        raise UsageError(f"unknown format `{format}`", hint=f"use one of {', '.join(FORMATS)}")
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
        return table.render(layout.sheet(scores), width=width, colour=colour)
    return WRITERS[format](scores, layout)
