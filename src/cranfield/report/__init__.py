"""Scores as text: for people (table), for papers (latex, markdown), for programs (json, csv, trec)."""

from __future__ import annotations

from collections.abc import Callable

from cranfield.errors import UsageError
from cranfield.evaluation.scores import Interval, ScoreTable
from cranfield.report import markup, table, text
from cranfield.report.sheet import Look

WRITERS: dict[str, Callable[[ScoreTable, Look], str]] = {
    "json": text.json,
    "csv": text.csv,
    "trec": text.trec,
    "markdown": lambda scores, look: markup.markdown(look.sheet(scores)),
    "latex": lambda scores, look: markup.latex(look.sheet(scores)),
}
FORMATS = ("table", *WRITERS)
WITHOUT_INTERVALS = ("json", "trec")


def accept(format: str, interval: Interval | None) -> None:
    """An error where a format is unknown or cannot hold intervals: better said before the work than after it."""
    if format not in FORMATS:
        raise UsageError(f"unknown format `{format}`", hint=f"one of {', '.join(FORMATS)}")
    if interval and format in WITHOUT_INTERVALS:
        raise UsageError(f"{format} has no place for intervals", hint="table, csv, markdown and latex have")


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
    """The scores in one of `FORMATS`, ending in a newline; ``width`` and ``colour`` matter to tables only."""
    accept(format, interval)
    look = Look(per_query, digits, interval, seed)
    if format == "table":
        return table.render(look.sheet(scores), width=width, colour=colour)
    return WRITERS[format](scores, look)
