"""Scores by group of queries as tables and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.evaluation.designs import Groups
from cranfield.report.canvas import BLUE, COLUMN, GREY, ink, name_rows, plotted_axes
from cranfield.report.compare import chance, chance_words
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell, Sheet, csv_lines, highest_text, shown, signed
from cranfield.wording import percent, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVEL = 0.05  # of the sentence whether a difference depends on the group


def pages(found: Groups, digits: int = 4) -> list[Page]:
    """A table for each measure: a row for each run, a column for each group."""
    against = (
        "" if found.baseline is None else f"; difference from {found.baseline} with its {percent(found.level)} interval"
    )
    return [
        Page(f"{measure} by {found.attribute}{against}", _table(found, m, digits))
        for m, measure in enumerate(found.measures)
    ]


def _table(found: Groups, m: int, digits: int) -> Sheet:
    heads = [f"{group}\n{plural(int(n), 'query')}" for group, n in zip(found.groups, found.queries[m], strict=True)]
    compared = found.baseline is not None
    sign = -1 if found.better[m] == "lower" else 1
    texts = [[shown(mean, digits) for mean in of_group] for of_group in found.means[m].T.tolist()]
    best = [highest_text(sign * values, row) for values, row in zip(found.means[m].T, texts, strict=True)]
    rows = []
    for r, run in enumerate(found.runs):
        cells = []
        for g in range(len(found.groups)):
            aside = _difference(found, m, r, g, digits) if compared and run != found.baseline else ""
            cells.append(Cell(texts[g][r], texts[g][r] == best[g], aside))
        effect = found.effects[m][r].p if compared else np.nan
        rows.append(((run,), [*cells, *([Cell("" if np.isnan(effect) else chance(effect))] if compared else [])]))
    return sheet(("run",), [*heads, *(["p of\ninteraction"] if compared else [])], rows)


def _difference(found: Groups, m: int, r: int, g: int, digits: int) -> str:
    difference, low, high = (float(table[m, r, g]) for table in (found.difference, found.low, found.high))
    if np.isnan(difference):
        return ""
    interval = "" if np.isnan(low) else f" [{signed(low, digits)}, {signed(high, digits)}]"
    return f"{signed(difference, digits)}{interval}"


def notes(found: Groups) -> list[str]:
    """Which differences depend on the group."""
    if found.baseline is None:
        return []
    sentences = []
    for m, measure in enumerate(found.measures):
        for r, run in enumerate(found.runs):
            effect = found.effects[m][r]
            if effect.p < LEVEL:
                sentences.append(
                    f"{measure}: the difference of {run} from {found.baseline} depends on {found.attribute} "
                    f"(F = {effect.F:.2f} with {effect.between} and {effect.within} degrees of freedom, "
                    f"p {chance_words(effect.p)})"
                )
    return sentences or [f"no difference from {found.baseline} depends significantly on {found.attribute}"]


def csv(found: Groups) -> str:
    """A line for each measure, run and group, at full precision."""
    compared = found.baseline is not None
    lines: list[list[Any]] = [["measure", "run", found.attribute, "queries", "mean"]]
    lines[0] += ["difference", "low", "high", "F", "p"] if compared else []
    for m, measure in enumerate(found.measures):
        for r, run in enumerate(found.runs):
            for g, group in enumerate(found.groups):
                numbers = [found.means[m, r, g]]
                if compared:
                    effect = found.effects[m][r]
                    tables = found.difference, found.low, found.high
                    numbers += [*(table[m, r, g] for table in tables), effect.F, effect.p]
                lines.append([measure, run, group, int(found.queries[m, g]), *map(float, numbers)])
    return csv_lines(lines)


def plot(found: Groups, m: int, *, ax: Axes | None = None) -> Axes:
    """The difference of each run from the baseline in each group with its interval; without a baseline, the means."""
    runs = [r for r, run in enumerate(found.runs) if run != found.baseline]
    rows = [(r, g) for r in runs for g in range(len(found.groups))]

    def draw(axis: Axes) -> Axes:
        for place, (r, g) in enumerate(reversed(rows)):
            values = found.means if found.baseline is None else found.difference
            low, high = found.low[m, r, g], found.high[m, r, g]
            decided = bool(low > 0 or high < 0)
            colour = BLUE if decided or found.baseline is None else GREY
            axis.plot([low, high], [place, place], color=colour)
            axis.plot(
                values[m, r, g], place, "o", color=colour, markersize=3.5, fillstyle="full" if decided else "none"
            )
        if found.baseline is not None:
            axis.axvline(0, color=ink(axis), linewidth=0.5)
        name_rows(axis, [f"{found.runs[r]}, {found.groups[g]}" for r, g in reversed(rows)])
        what = "mean" if found.baseline is None else f"difference from {found.baseline}"
        axis.set_xlabel(f"{found.measures[m]}: {what} by {found.attribute}")
        return axis

    return plotted_axes(draw, 1.3 * COLUMN, 0.5 + 0.16 * max(len(rows), 3), ax)
