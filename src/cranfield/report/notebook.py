"""Results in notebooks: one writer of HTML tables, and the tables and notes that each class of results shows.

No colours: text and rules take those of the page, so that the tables are readable on light and on dark pages.
"""

from __future__ import annotations

import html as markup
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, NamedTuple

from cranfield.errors import MeasureError, UnknownName
from cranfield.evaluation.notes import sentences, summarised
from cranfield.evaluation.scores import Interval, ScoreTable
from cranfield.measures import parse
from cranfield.report.pages import Page, render, titled
from cranfield.report.sheet import Cell, Layout, Row, Sheet
from cranfield.results import TableText
from cranfield.wording import decodable, plural, printable

ROWS = 20  # of a table that are shown
OPEN = 4  # tables and notes that are shown; the others are folded
NOTES = 6
WIDTH = 100  # characters of a line of text
TONES = {"": "", "good": "✓ ", "bad": "✗ "}
RULE = "border-bottom:1px solid currentColor"
TABLE = "border-collapse:collapse;width:auto;margin:0.3em 0"
CELL = "padding:0.15em 0.6em;vertical-align:top"


class Shown(NamedTuple):
    """The tables of a result, and notes below them."""

    pages: Sequence[Page]
    notes: Sequence[str] = ()


def html(result: Any) -> str:
    """The tables and notes of a result for notebooks."""
    return page_of(shown(result))


def text(result: Any) -> str:
    """The tables and notes of a result as text, without a newline at the end."""
    found = shown(result)
    tables = []
    for page in found.pages:
        sheet, more = first_rows(page.sheet)
        tables.append(titled(replace(page, sheet=sheet), WIDTH, colour=False) + (f"{more}\n" if more else ""))
    notes = [f"note: {note}\n" for note in few_notes(found.notes)]
    return decodable("\n".join([*tables, *(["".join(notes)] if notes else [])])).rstrip("\n")


def score_table(
    scores: ScoreTable, *, per_query: bool, digits: int, interval: Interval | None, width: int
) -> TableText:
    """All rows of a table of scores, as text and as HTML."""
    sheet = Layout(per_query, digits, interval).sheet(scores)
    return TableText.of(decodable(render(sheet, width=width)), decodable(f"<div>{table(sheet)}</div>"))


def page_of(found: Shown) -> str:
    """Tables with their titles, and notes."""
    parts = []
    for number, page in enumerate(found.pages):
        sheet, more = first_rows(page.sheet)
        body = table(sheet) + (f"<div><small>{escaped(more)}</small></div>" if more else "")
        title = escaped(page.title)
        if number < OPEN:
            parts.append(f'<div style="margin-top:0.6em">{title}</div>{body}' if title else body)
        else:
            parts.append(f"<details><summary>{title}</summary>{body}</details>")
    notes = [f"<div><small>{escaped(note)}</small></div>" for note in found.notes]
    parts += notes[:OPEN]
    if rest := notes[OPEN:]:
        parts.append(
            f"<details><summary><small>{plural(len(rest), 'more note')}</small></summary>{''.join(rest)}</details>"
        )
    return decodable(f"<div>{''.join(parts)}</div>")


def table(sheet: Sheet) -> str:
    """A sheet as an HTML table; everything that it shows is escaped."""
    left = len(sheet.names)
    heads = [*sheet.names, *(sheet.folded or sheet.columns)]
    head = "".join(_cell("th", _lines(name), right=i >= left) for i, name in enumerate(heads))
    rows = "".join(_row(sheet, row) for row in sheet.rows)
    return f'<table style="{TABLE}"><thead><tr style="{RULE}">{head}</tr></thead><tbody>{rows}</tbody></table>'


def escaped(text: str) -> str:
    """Text of others as HTML."""
    return markup.escape(text, quote=True)


def _row(sheet: Sheet, row: Row) -> str:
    names = "".join(_cell("td", escaped(name), right=False) for name in row.names)
    cells = "".join(_cell("td", _content(cell), right=True) for cell in row.cells)
    style = f' style="{RULE}"' if sheet.ends(row) else ""
    return f"<tr{style}>{names}{cells}</tr>"


def _cell(kind: str, content: str, *, right: bool) -> str:
    side = "right" if right else "left"
    return f'<{kind} style="text-align:{side};{CELL}">{content}</{kind}>'


def _lines(text: str) -> str:
    return escaped(text).replace("\n", "<br>")


def _content(cell: Cell) -> str:
    content = TONES[cell.tone] + escaped(cell.text)
    content = f"<b>{content}</b>" if cell.best else content
    if not cell.aside:
        return content
    return (
        f"{content}<sup>{escaped(cell.aside)}</sup>"
        if cell.raised
        else f"{content}<br><small>{_lines(cell.aside)}</small>"
    )


def first_rows(sheet: Sheet) -> tuple[Sheet, str]:
    """The first rows of a sheet, and a sentence that says how many more there are; empty if there are none."""
    rest = len(sheet.rows) - ROWS
    if rest <= 0:
        return sheet, ""
    noun = next((name for name in sheet.names if name in ("run", "query", "measure")), "row")
    if len(sheet.names) > 1 and sheet.names[0]:
        noun = "row"  # a run may have several
    return replace(sheet, rows=sheet.rows[:ROWS]), f"... and {plural(rest, f'more {noun}')}"


def few_notes(notes: Sequence[str]) -> list[str]:
    """The first notes, and how many more there are."""
    rest = len(notes) - NOTES
    return [*notes[:NOTES], *([f"... and {plural(rest, 'more note')}"] if rest > 0 else [])]


def shown(result: Any) -> Shown:
    """The tables and notes of a result."""
    module, show = _of_class(TABLES, result)
    found = show(import_module(f"cranfield.{module}"), result)
    return Shown(found.pages, list(map(printable, found.notes)))


def plot(result: Any, **options: Any) -> Any:
    """Draw a result; returns the axes."""
    module, draw = _of_class(FIGURES, result)
    return draw(import_module(f"cranfield.{module}"), result, **options)


def _of_class(entries: Mapping[str, tuple[str, Callable[..., Any]]], result: Any) -> tuple[str, Callable[..., Any]]:
    return next(entries[kind.__name__] for kind in type(result).__mro__ if kind.__name__ in entries)


def _scores(report: Any, scores: ScoreTable) -> Shown:
    sheet = Layout().sheet(scores.of_runs(scores.order()) if scores.columns else scores)
    pages = [Page("", sheet), *report.pages(getattr(scores, "predicted", ()))]
    return Shown(pages, summarised(scores.notes)[0])


def _comparison(report: Any, comparison: Any) -> Shown:
    from cranfield.report import predicted

    pages = [*report.pages(comparison), *predicted.pages(comparison.predicted)]
    return Shown(pages, [*sentences(comparison.notes), *report.findings(comparison)])


def _audit(report: Any, audit: Any) -> Shown:
    pages = [Page(report.COUNTED, report.counts(audit)), *report.overview(audit, Layout())]
    return Shown(pages, [*report.verdict(audit), *summarised(audit.notes)[0]])


def _per_query(report: Any, scores: Any) -> Shown:
    missing = f"{plural(scores.left_out, 'query')} left out because some run has no value there"
    return Shown([report.queries(scores, bars=False)], [missing] if scores.left_out else [])


def _own(_report: Any, result: Any) -> Shown:
    """What has its tables itself, because it is above the reports."""
    return Shown(result.pages(), list(result.notes))


# What each class shows: the module that makes its tables, which is loaded then, and how.
TABLES: dict[str, tuple[str, Callable[[Any, Any], Shown]]] = {
    "ScoreTable": ("report.predicted", _scores),
    "ScoreColumn": (
        "report.predicted",
        lambda report, column: Shown(_scores(report, column.scores.only([column.column])).pages),
    ),
    "Evaluation": ("report.predicted", lambda report, evaluation: _scores(report, evaluation.scores)),
    "Comparison": ("report.compare", _comparison),
    "Groups": ("report.groups", lambda report, found: Shown(report.pages(found), report.notes(found))),
    "Audit": ("report.audit", _audit),
    "Explanation": ("report.explanation", lambda report, found: Shown(report.pages(found), sentences(found.notes))),
    "PerQueryScores": ("report.per_query", _per_query),
    "JudgeReport": ("report.pages", _own),
    "NextDocuments": ("report.pages", _own),
    "CollectionStatistics": ("report.collection", lambda report, found: Shown(report.tables(found))),
    "StudyResult": ("report.pages", _own),
}


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


def _plot_measure(figures: Any, found: Any, measure: str | None, **options: Any) -> Any:
    return figures.plot(found, measure_index(found.measures, measure), **options)


FIGURES: dict[str, tuple[str, Callable[..., Any]]] = {
    "Scores": ("report.figures.overview", lambda figures, scores, **options: figures.plot_means(scores, **options)),
    "Evaluation": ("report.figures.overview", lambda figures, found, **options: figures.plot_curve(found, **options)),
    "Comparison": ("report.compare", _plot_measure),
    "Groups": ("report.groups", _plot_measure),
    "Audit": ("report.figures.audit", _plot_measure),
    "Explanation": ("report.explanation", lambda figures, found, **options: figures.plot(found, **options)),
    "PerQueryScores": ("report.per_query", lambda figures, found, **options: figures.plot(found, **options)),
}
