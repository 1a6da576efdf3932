"""Scores by query as tables and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from cranfield.analysis.compare import Comparison
from cranfield.analysis.per_query import DocumentRanks, PerQueryScores
from cranfield.evaluation.scores import Scores
from cranfield.report.canvas import BLUE, COLUMN, GREY, ORANGE, PAGE, Drawings, Panel, ink
from cranfield.report.pages import Page, table
from cranfield.report.sheet import Cell, shown, signed
from cranfield.wording import decodable, plural, printable, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BAR = 12  # characters of the longest bar
LOST = 5  # queries that a job summary names


def pages(scores: PerQueryScores) -> list[Page]:
    """All queries."""
    return [queries(scores, bars=False)]


def queries(
    scores: PerQueryScores,
    digits: int = 4,
    *,
    most: int | None = None,
    bars: bool = True,
    texts: Mapping[str, str] | None = None,
) -> Page:
    """A row for each query: all runs if they are few, otherwise the lowest and the highest; of one run, its values.

    ``bars`` need a font in which all characters have the same width. ``texts``: the texts of queries, by id.
    """
    rows = range(len(scores.queries) if most is None else min(most, len(scores.queries)))
    number = len(scores.runs)
    wide, pair = number <= 6, number == 2
    heads = [*map(printable, scores.runs)] if wide else ["lowest", "highest"]
    heads += ["difference", *([""] if bars else [])] if pair else ["mean", "disagreement"] if number > 1 else []
    longest = float(np.abs(scores.difference).max()) if pair else 0.0
    lines = []
    for q in rows:
        values = scores.values[:, q]
        cells: list[Cell | str]
        if wide:
            cells = [Cell(shown(float(v), digits), bool(v == values.max() > values.min())) for v in values]
        else:
            ends = int(values.argmin()), int(values.argmax())
            cells = [Cell(shown(float(values[r]), digits), aside=printable(scores.runs[r])) for r in ends]
        if pair:
            gap = float(scores.difference[q])
            cells += [signed(gap, digits), *([bar(gap, longest)] if bars else [])]
        elif number > 1:
            cells += [shown(float(scores.mean[q]), digits), shown(float(scores.deviation[q]), digits)]
        name = scores.queries[q]
        lines.append(((name, shortened(texts.get(name, ""))) if texts else (name,), cells))
    part = f", {len(rows)} of {len(scores.queries)} queries" if len(rows) < len(scores.queries) else ""
    gaps = f"; difference: {scores.runs[1]} minus {scores.runs[0]}" if pair else ""
    return table(f"{scores.measure} by query{part}{gaps}", ("query", "text") if texts else ("query",), heads, lines)


def bar(gap: float, longest: float) -> str:
    """A difference as a bar, to the left where it is negative.

    >>> bar(0.5, 0.5), bar(-0.25, 0.5)
    ('            │████████████', '      ██████│            ')
    """
    length = round(BAR * abs(gap) / longest) if longest else 0
    blocks = "█" * length
    return f"{'' if gap > 0 else blocks:>{BAR}}│{blocks if gap > 0 else '':<{BAR}}"


def first_pages(
    ranks: Sequence[DocumentRanks], runs: tuple[str, str], query: str, page: int, text: str = "", score: str = ""
) -> Page:
    """The first documents of two runs for a query, side by side; its ``text`` and ``score`` stand in the title.

    Each document has its grade before it, and beside the second run how it moved.
    """
    sides: list[dict[int, DocumentRanks]] = [
        {rank: entry for entry in ranks if (rank := getattr(entry, side)) is not None} for side in ("first", "second")
    ]
    rows = []
    for rank in range(1, max(map(max, filter(None, sides)), default=0) + 1):
        old, new = (side.get(rank) for side in sides)
        before = "" if old is None else f"{_graded(old)}{'' if old.second is not None else ' (lost)'}"
        rows.append(((str(rank), before, "" if new is None else _graded(new)), ["" if new is None else _moved(new)]))
    named = f"{query} ({shortened(text)})" if text else query
    title = f"Query {named}: {score}{'; ' if score else ''}first {page} documents, grades first (? = unjudged)"
    return table(title, ("", *map(printable, runs)), ("change",), rows)


def lost_page(
    scores: PerQueryScores,
    query: str,
    ranks: Sequence[DocumentRanks],
    page: int,
    digits: int,
    texts: Mapping[str, str],
) -> Page:
    """The first documents of two runs for a query on which the second run lost."""
    q = scores.queries.index(query)
    old, new = (shown(float(value), digits) for value in scores.values[:, q])
    score = f"{scores.measure} {old} to {new} ({signed(float(scores.difference[q]), digits)})"
    return first_pages(ranks, (scores.runs[0], scores.runs[1]), query, page, texts.get(query, ""), score)


def losses(scores: Scores, comparison: Comparison, measure: str | None = None, digits: int = 4) -> list[Page]:
    """For a job summary: the queries on which runs lost most against the baseline; none without a loss.

    ``scores``: those that were compared. ``measure``: by default the first.
    """
    if comparison.baseline is None:
        return []
    result = comparison.by_measure[0] if measure is None else comparison[measure]
    base, (values, at) = int(result.places[0, 1]), scores._matched(scores.measures.index(result.measure))
    gain = (values - values[base]) * result.sign
    rows = []
    for r, q in (divmod(cell, gain.shape[1]) for cell in np.argsort(gain, axis=None, kind="stable")[:LOST].tolist()):
        if gain[r, q] < 0:
            query = scores.queries[at[q]]
            numbers = [shown(float(values[row, q]), digits) for row in (base, r)]
            difference = signed(float(values[r, q] - values[base, q]), digits)
            rows.append(((query, shortened(scores._texts.get(query, "")), scores.runs[r]), [*numbers, difference]))
    heads = [result.runs[base], "run", "difference"]
    title = f"{result.measure}: the queries that lost most"
    return [table(title, ("query", "text", "run"), heads, rows)] if rows else []


def _graded(ranks: DocumentRanks) -> str:
    return f"{'?' if ranks.grade is None else f'{ranks.grade:g}'} {ranks.document}"


def _moved(ranks: DocumentRanks) -> str:
    """How many ranks a document moved up, or that it is new."""
    if ranks.first is None or ranks.second is None:
        return "gained"
    return "" if ranks.first == ranks.second else f"{ranks.first - ranks.second:+d}"


def notes(scores: PerQueryScores) -> list[str]:
    """How many queries were left out, if any."""
    left_out = scores.left_out
    return [f"{plural(left_out, 'query')} left out because some run has no value there"] if left_out else []


NAMED = 80  # the largest number of queries whose names are legible
LETTERS = 80  # of all names together that fit side by side


def drawings(scores: PerQueryScores) -> Drawings:
    """One figure of all queries."""
    return {f"queries-{scores.measure}": panel(scores)}


def panel(scores: PerQueryScores) -> Panel:
    """The queries: by difference for two runs, or in their given order."""
    width = PAGE if len(scores.queries) > NAMED / 2 else 1.5 * COLUMN
    return Panel(partial(_draw_queries, scores=scores), width, 2.4)


def _draw_queries(axis: Axes, scores: PerQueryScores) -> Axes:
    """Bars of the difference of two runs from gain to loss, or the range of several runs with their mean."""
    position, order = np.arange(len(scores.queries)), np.arange(len(scores.queries))
    if len(scores.runs) == 2:
        order = np.argsort(-scores.difference, kind="stable")
        gap = scores.difference[order]
        axis.bar(position, gap, color=np.where(gap > 0, BLUE, ORANGE), width=0.85)
        axis.axhline(0, color=ink(axis), linewidth=0.5)
        axis.set_ylabel(f"{scores.measure}: difference")
        axis.set_title(f"{scores.runs[1]} minus {scores.runs[0]}")
    else:
        axis.vlines(position, scores.values.min(axis=0), scores.values.max(axis=0), color=GREY, linewidth=1)
        axis.plot(position, scores.mean, "o", color=BLUE, markersize=2.5, label="mean of all runs")
        axis.set_ylabel(f"{scores.measure} of {len(scores.runs)} runs")
        axis.legend(loc="upper left")
    axis.set_xlim(-0.7, len(position) - 0.3)
    if len(position) <= NAMED:
        names = [decodable(scores.queries[q]) for q in order]
        upright = len(" ".join(names)) > LETTERS
        size = min(7, 420 / len(position))
        axis.set_xticks(position, names, parse_math=False, rotation=90 if upright else 0, fontsize=size)
    else:
        axis.set_xticks([])
        axis.set_xlabel(f"{len(position)} queries")
    return axis
