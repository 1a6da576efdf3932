"""Results as titled tables, in several formats."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield import results
from cranfield.data import Floats
from cranfield.errors import UsageError
from cranfield.report import markup
from cranfield.report.numbers import UNDEFINED, shown
from cranfield.report.sheet import Cell, Row, Sheet
from cranfield.report.table import BOLD, PLAIN, render
from cranfield.wording import printable, spreadsheet_cell


@dataclass(frozen=True)
class Page:
    """One table of a result, with its title."""

    title: str
    sheet: Sheet

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", printable(self.title))


def write(
    pages: Sequence[Page], result: dict[str, Any], format: str = "table", *, width: int = 80, colour: bool = False
) -> str:
    """A result in one of `FORMATS`, ending in a newline; json has the whole result, the others have the pages."""
    if format == "json":
        return results.text(result)
    if format == "table":
        return "\n".join(titled(page, width, colour=colour) for page in pages)
    if format not in WRITERS:
        raise UsageError(f"unknown format `{format}`", hint=f"use one of {', '.join(FORMATS)}")
    return "\n".join(WRITERS[format](page) for page in pages)


def titled(page: Page, width: int, *, colour: bool) -> str:
    """The table under its title, if it has one, for a screen of this width."""
    if not page.title:
        return render(page.sheet, width=width, colour=colour)
    title = textwrap.fill(page.title, width)
    title = f"{BOLD}{title}{PLAIN}" if colour else title
    return f"{title}\n{render(page.sheet, width=width, colour=colour)}"


def markdown(page: Page) -> str:
    """The table under its title."""
    return f"**{markup.piped(page.title)}**\n\n{markup.markdown(page.sheet)}"


def latex(page: Page) -> str:
    """The table, with its title as a comment to use in the caption."""
    return f"% {markup.escaped(' '.join(page.title.split()))}\n{markup.latex(page.sheet)}"


def comma_separated(page: Page) -> str:
    """Rows under a comment; an interval that other formats show beside or below a number gets its own column."""
    sheet = page.sheet
    has_aside = [any(row.cells[c].aside for row in sheet.rows) for c in range(len(sheet.columns))]
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    head = [spreadsheet_cell(" ".join(name.split())) for name in sheet.columns]
    writer.writerow(
        [*sheet.names, *(t for h, b in zip(head, has_aside, strict=True) for t in ([h, f"{h} (aside)"] if b else [h]))]
    )
    for row in sheet.rows:
        cells = [
            t
            for c, b in zip(row.cells, has_aside, strict=True)
            for t in ([c.text, c.one_line_aside] if b else [c.text])
        ]
        texts = ("" if text == UNDEFINED else text for text in cells)
        writer.writerow(map(spreadsheet_cell, (*row.names, *texts)))
    return f"# {page.title}\n{lines.getvalue()}"


WRITERS: dict[str, Callable[[Page], str]] = {"markdown": markdown, "latex": latex, "csv": comma_separated}
FORMATS = ("table", *WRITERS, "json")


def column(values: Sequence[float], digits: int, *, best: bool = True) -> list[Cell]:
    """The numbers of a column, the highest in bold."""
    texts = [shown(value, digits) for value in values]
    top = texts[int(np.nanargmax(values))] if best and len(set(texts)) > 1 and not np.isnan(values).all() else None
    return [Cell(text, text == top) for text in texts]


def exchanged(
    pairs: Sequence[tuple[str, str]],
    measures: tuple[str, str],
    means: Mapping[str, Sequence[float] | Floats],
    digits: int,
    most: int | None = None,
) -> Page:
    """Pairs of runs that two measures order differently, with their means: all pairs, or the first ``most``."""
    first, second = measures
    rows = [
        (pair, [Cell(shown(float(means[run][i]), digits)) for i in (0, 1) for run in pair]) for pair in pairs[:most]
    ]
    part = f", first {most} of {len(pairs)}" if most is not None and len(pairs) > most else ""
    return Page(
        f"Pairs in different order: A is ahead in {first}, B in {second}{part}",
        sheet(("A", "B"), (f"{first}\nof A", "\nof B", f"{second}\nof A", "\nof B"), rows),
    )


def sheet(
    names: Sequence[str],
    columns: Sequence[str],
    rows: Sequence[tuple[Sequence[str], Sequence[Cell]]],
    across: str = "measure",
) -> Sheet:
    """A sheet from rows of names and cells."""
    return Sheet(tuple(names), tuple(columns), tuple(Row(tuple(n), tuple(c)) for n, c in rows), across=across)
