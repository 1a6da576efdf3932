"""Results in notebooks: one writer of HTML tables, and the tables and notes that each class of results shows.

No colours: text and rules take those of the page, so that the tables are readable on light and on dark pages.
"""

from __future__ import annotations

import html as markup
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from cranfield.errors import MeasureError, UnknownName
from cranfield.evaluation.notes import sentences, summarised
from cranfield.evaluation.scores import Interval, ScoreTable
from cranfield.measures import parse
from cranfield.report.pages import Page, titled
from cranfield.report.sheet import Cell, Layout, Row, Sheet
from cranfield.report.table import render
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


# What each class shows. Modules are loaded when a result of the class is shown.


def shown(result: Any) -> Shown:
    """The tables and notes of a result."""
    found: Shown = _of_class(TABLES, result)(result)
    return Shown(found.pages, list(map(printable, found.notes)))


def plot(result: Any, **options: Any) -> Any:
    """Draw a result; returns the axes."""
    return _of_class(FIGURES, result)(result, **options)


def _of_class(functions: Mapping[str, Callable[..., Any]], result: Any) -> Callable[..., Any]:
    return next(functions[kind.__name__] for kind in type(result).__mro__ if kind.__name__ in functions)


def _scores(scores: ScoreTable) -> Shown:
    return Shown(list(_score_pages(scores)), summarised(scores.notes)[0])


def _score_pages(scores: ScoreTable) -> Iterator[Page]:
    yield Page("", Layout().sheet(scores.of_runs(scores.order()) if scores.columns else scores))
    if means := getattr(scores, "predicted", ()):
        from cranfield.report import predicted

        yield from predicted.pages(means)


def _comparison(comparison: Any) -> Shown:
    from cranfield.report import compare, predicted

    pages = [*compare.pages(comparison), *predicted.pages(comparison.predicted)]
    return Shown(pages, [*sentences(comparison.notes), *compare.findings(comparison)])


def _audit(audit: Any) -> Shown:
    from cranfield.report import audit as report

    pages = [Page(report.COUNTED, report.counts(audit)), *report.overview(audit, Layout())]
    return Shown(pages, [*report.verdict(audit), *summarised(audit.notes)[0]])


def _explanation(explanation: Any) -> Shown:
    from cranfield.report import explanation as report

    return Shown(report.pages(explanation), sentences(explanation.notes))


def _per_query(scores: Any) -> Shown:
    from cranfield.report import per_query

    missing = f"{plural(scores.left_out, 'query')} left out because some run has no value there"
    return Shown([per_query.queries(scores, bars=False)], [missing] if scores.left_out else [])


def _judge(report: Any) -> Shown:
    from cranfield.report import judges

    return Shown(judges.pages([report]), judges.notes([report]))


def _next_documents(found: Any) -> Shown:
    from cranfield.report import judging

    return Shown(judging.pages(found), list(judging.notes(found)))


def _statistics(found: Any) -> Shown:
    from cranfield.report import statistics

    return Shown(statistics.tables(found))


def _study(result: Any) -> Shown:
    from cranfield.studies.registry import Study

    return Shown(Study(result.to_dict()["study"]).tables(result), list(result.notes))


TABLES: dict[str, Callable[[Any], Shown]] = {
    "ScoreTable": _scores,
    "ScoreColumn": lambda column: Shown([*_score_pages(column.scores.only([column.column]))]),
    "Evaluation": lambda evaluation: _scores(evaluation.scores),
    "Comparison": _comparison,
    "Audit": _audit,
    "Explanation": _explanation,
    "PerQueryScores": _per_query,
    "JudgeReport": _judge,
    "NextDocuments": _next_documents,
    "CollectionStatistics": _statistics,
    "StudyResult": _study,
}


def _measure_index(measures: Sequence[str], name: str | None) -> int:
    """The index of a measure, given by its label or by any of its names; by default the first."""
    if name is None or name in measures:
        return 0 if name is None else measures.index(name)
    try:
        return measures.index(str(parse(name)))
    except (MeasureError, ValueError):
        raise UnknownName(
            f"`{name}` is not one of the measures", hint=f"the measures are {', '.join(measures)}"
        ) from None


def _plot_scores(scores: Any, **options: Any) -> Any:
    from cranfield.report.figures import overview

    return overview.plot_means(scores, **options)


def _plot_evaluation(evaluation: Any, **options: Any) -> Any:
    from cranfield.report.figures import overview

    return overview.plot_curve(evaluation, **options)


def _plot_comparison(comparison: Any, measure: str | None, **options: Any) -> Any:
    from cranfield.report.figures import compare

    return compare.plot(comparison, _measure_index(comparison.measures, measure), **options)


def _plot_audit(audit: Any, measure: str | None, **options: Any) -> Any:
    from cranfield.report.figures import audit as figures

    return figures.plot(audit, _measure_index(audit.measures, measure), **options)


def _plot_explanation(explanation: Any, **options: Any) -> Any:
    from cranfield.report.figures import explanation as figures

    return figures.plot(explanation, **options)


def _plot_per_query(scores: Any, **options: Any) -> Any:
    from cranfield.report.figures import contrasts

    return contrasts.plot(scores, **options)


def _plot_judge(report: Any, measure: str | None, **options: Any) -> Any:
    from cranfield.report.figures import judges

    at = _measure_index([one.measure for one in report.measures], measure)
    return judges.plot(report, report.measures[at], **options)


def _plot_study(result: Any, figure: str | None) -> Any:
    from cranfield.report.figures import canvas
    from cranfield.studies.registry import Study

    drawings = Study(result.to_dict()["study"]).drawings(result)
    if figure is not None and figure not in drawings:
        raise UnknownName(f"`{figure}` is not one of the figures", hint=f"the figures are {', '.join(drawings)}")
    return canvas.plotted(drawings[figure or next(iter(drawings))]).axes


FIGURES: dict[str, Callable[..., Any]] = {
    "Scores": _plot_scores,
    "Evaluation": _plot_evaluation,
    "Comparison": _plot_comparison,
    "Audit": _plot_audit,
    "Explanation": _plot_explanation,
    "PerQueryScores": _plot_per_query,
    "JudgeReport": _plot_judge,
    "StudyResult": _plot_study,
}
