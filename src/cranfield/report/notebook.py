"""Results in notebooks: one writer of HTML tables, and the tables and notes that each class of results shows.

No colours: text and rules take those of the page, so that the tables are readable on light and on dark pages.
"""

from __future__ import annotations

import html as markup
import re
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from cranfield.display import TableText
from cranfield.errors import MeasureError, UnknownName
from cranfield.evaluation.scores import Interval, ScoreTable
from cranfield.measures import parse
from cranfield.report.pages import Page, titled, write
from cranfield.report.sheet import Cell, Layout, Sheet, below
from cranfield.wording import decodable, plural, printable

CODE = re.compile("`([^`]*)`")
ROWS = 20  # of a table that are shown
OPEN = 4  # tables and notes that are shown; the others are folded
NOTES = 6
WIDTH = 100  # characters of a line of text
RULE = "border-bottom:1px solid currentColor"
TABLE = "border-collapse:collapse;width:auto;margin:0.3em 0"
CELL = "padding:0.15em 0.6em;vertical-align:top"


Shown = tuple[Sequence[Page], Sequence[str]]  # the tables of a result, and notes below them


def text(result: Any) -> str:
    """The tables and notes of a result as text, without a newline at the end."""
    pages, notes = shown(result)
    parts = []
    for page in pages:
        sheet, more = first_rows(page.sheet)
        lines = (*filter(None, [more]), *page.below)
        parts.append(titled(replace(page, sheet=sheet, below=lines), WIDTH, colour=False))
    rest = len(notes) - NOTES
    few = [*notes[:NOTES], *([f"... and {plural(rest, 'more note')}"] if rest > 0 else [])]
    parts += ["".join(f"note: {note}\n" for note in few)] if few else []
    return decodable("\n".join(parts)).rstrip("\n")


def score_table(
    scores: ScoreTable, *, per_query: bool, digits: int, interval: Interval | None, width: int
) -> TableText:
    """All rows of a table of scores, as text and as HTML."""
    page = Page("", Layout(per_query, digits, interval).sheet(scores), below(scores))
    markup = table(page.sheet) + _small(page.below)
    return TableText.of(decodable(titled(page, width, colour=False)), decodable(f"<div>{markup}</div>"))


def html(result: Any) -> str:
    """The tables and notes of a result for notebooks: the first ones, and the others folded."""
    pages, texts = shown(result)
    parts = []
    for number, page in enumerate(pages):
        sheet, more = first_rows(page.sheet)
        body = table(sheet) + _small([*filter(None, [more]), *page.below])
        title = escaped(page.title)
        if number < OPEN:
            parts.append(f'<div style="margin-top:0.6em">{title}</div>{body}' if title else body)
        else:
            parts.append(f"<details><summary>{title}</summary>{body}</details>")
    parts.append(_small(texts[:OPEN]))
    if rest := texts[OPEN:]:
        parts.append(
            f"<details><summary><small>{plural(len(rest), 'more note')}</small></summary>{_small(rest)}</details>"
        )
    return decodable(f"<div>{''.join(parts)}</div>")


def _small(lines: Sequence[str]) -> str:
    """Lines of text; what stands between backticks is code."""
    coded = (CODE.sub(r"<code>\1</code>", escaped(line)) for line in lines)
    return "".join(f"<div><small>{line}</small></div>" for line in coded)


def table(sheet: Sheet) -> str:
    """A sheet as an HTML table; everything that it shows is escaped."""
    left = len(sheet.names)
    heads = [*sheet.names, *(sheet.folded or sheet.columns)]
    head = "".join(_cell("th", _lines(name), right=i >= left) for i, name in enumerate(heads))
    rows = ""
    for row in sheet.rows:
        names = "".join(_cell("td", escaped(name), right=False) for name in row.names)
        cells = "".join(_cell("td", _content(cell), right=True) for cell in row.cells)
        style = f' style="{RULE}"' if sheet.ends(row) else ""
        rows += f"<tr{style}>{names}{cells}</tr>"
    return f'<table style="{TABLE}"><thead><tr style="{RULE}">{head}</tr></thead><tbody>{rows}</tbody></table>'


def escaped(text: str) -> str:
    """Untrusted text as HTML."""
    return markup.escape(text, quote=True)


def _cell(kind: str, content: str, *, right: bool) -> str:
    side = "right" if right else "left"
    return f'<{kind} style="text-align:{side};{CELL}">{content}</{kind}>'


def _lines(text: str) -> str:
    return escaped(text).replace("\n", "<br>")


def _content(cell: Cell) -> str:
    content = escaped(cell.text)
    content = f"<b>{content}</b>" if cell.best else content
    content += f" {escaped(cell.mark)}" if cell.mark else ""
    if not cell.aside:
        return content
    return (
        f"{content}<sup>{escaped(cell.aside)}</sup>"
        if cell.raised
        else f"{content}<br><small>{_lines(cell.aside)}</small>"
    )


def first_rows(sheet: Sheet) -> tuple[Sheet, str]:
    """The first rows of a sheet, and a sentence that says how many more there are; empty if there are none."""
    rows = [row for i, row in enumerate(sheet.rows) if i < ROWS or row.kept]
    rest = len(sheet.rows) - len(rows)
    if not rest:
        return sheet, ""
    noun = next((name for name in sheet.names if name in ("run", "query", "measure")), "row")
    if len(sheet.names) > 1 and sheet.names[0]:
        noun = "row"  # a run may have several
    return replace(sheet, rows=tuple(rows)), f"... and {plural(rest, f'more {noun}')}"


def shown(result: Any) -> Shown:
    """The tables and notes of a result."""
    module = module_of(result)
    pages, notes = (result.pages(), result.notes) if module is None else (module.pages(result), module.notes(result))
    return pages, [printable(str(note)) for note in notes]


def plot(result: Any, *, ax: Any = None, **options: Any) -> Any:
    """Draw a result on these axes, or on those of a new figure; returns the axes."""
    if "measure" in options:
        options["m"] = measure_index(result.measures, options.pop("measure"))
    return module_of(result).panel(result, **options).on(ax)


def written(result: Any, *, format: str, **options: Any) -> str:
    """The tables of a result in a format, as commands write them."""
    return decodable(write(module_of(result).pages(result, **options), {}, format))


def module_of(result: Any) -> Any:
    """The module that shows a class of results; None if its own methods do."""
    return import_module(f"cranfield.report.{result._SHOWN_BY}") if result._SHOWN_BY else None


def measure_index(measures: Sequence[str], name: str | None) -> int:
    """The index of a measure, given by its label or by any of its names; by default the first."""
    if name is None or name in measures:
        return 0 if name is None else measures.index(name)
    try:
        return measures.index(str(parse(name)))
    except (MeasureError, ValueError):
        raise UnknownName(
            f"`{name}` is not one of the measures", hint=f"the measures are {', '.join(measures)}"
        ) from None
