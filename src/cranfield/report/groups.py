"""Scores by group of queries as tables and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.evaluation.designs import Groups
from cranfield.report.canvas import COLUMN, Panel, draw_intervals, ink
from cranfield.report.compare import chance, chance_words
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell, Sheet, csv_lines, highest_text, interval, shown, signed
from cranfield.wording import percent, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVEL = 0.05  # of the sentence whether a difference depends on the group


def pages(by_group: Groups, digits: int = 4) -> list[Page]:
    """A table for each measure: a row for each run, a column for each group."""
    against = (
        ""
        if by_group.baseline is None
        else f"; difference from {by_group.baseline} with its {percent(by_group.level)} interval"
    )
    return [
        Page(f"{measure} by {by_group.attribute}{against}", _table(by_group, m, digits))
        for m, measure in enumerate(by_group.measures)
    ]


def _table(by_group: Groups, m: int, digits: int) -> Sheet:
    heads = [
        f"{group}\n{plural(int(n), 'query')}" for group, n in zip(by_group.groups, by_group.queries[m], strict=True)
    ]
    compared = by_group.baseline is not None
    sign = -1 if by_group.better[m] == "lower" else 1
    texts = [[shown(mean, digits) for mean in of_group] for of_group in by_group.means[m].T.tolist()]
    best = [highest_text(sign * values, row) for values, row in zip(by_group.means[m].T, texts, strict=True)]
    rows = []
    for r, run in enumerate(by_group.runs):
        cells = []
        for g in range(len(by_group.groups)):
            aside = _difference(by_group, m, r, g, digits) if compared and run != by_group.baseline else ""
            cells.append(Cell(texts[g][r], texts[g][r] == best[g], aside))
        effect = by_group.effects[m][r].p if compared else np.nan
        rows.append(((run,), [*cells, *([Cell("" if np.isnan(effect) else chance(effect))] if compared else [])]))
    return sheet(("run",), [*heads, *(["p of\ninteraction"] if compared else [])], rows)


def _difference(by_group: Groups, m: int, r: int, g: int, digits: int) -> str:
    difference, low, high = (float(table[m, r, g]) for table in (by_group.difference, by_group.low, by_group.high))
    if np.isnan(difference):
        return ""
    return f"{signed(difference, digits)} {interval(low, high, digits)}".rstrip()


def notes(by_group: Groups) -> list[str]:
    """Which differences depend on the group."""
    if by_group.baseline is None:
        return []
    sentences = []
    for m, measure in enumerate(by_group.measures):
        for r, run in enumerate(by_group.runs):
            effect = by_group.effects[m][r]
            if effect.p < LEVEL:
                sentences.append(
                    f"{measure}: the difference of {run} from {by_group.baseline} depends on {by_group.attribute} "
                    f"(F = {effect.F:.2f} with {effect.between} and {effect.within} degrees of freedom, "
                    f"p {chance_words(effect.p)})"
                )
    return sentences or [f"no difference from {by_group.baseline} depends significantly on {by_group.attribute}"]


def csv(by_group: Groups) -> str:
    """A line for each measure, run and group, at full precision."""
    compared = by_group.baseline is not None
    lines: list[list[Any]] = [["measure", "run", by_group.attribute, "queries", "mean"]]
    lines[0] += ["difference", "low", "high", "F", "p"] if compared else []
    for m, measure in enumerate(by_group.measures):
        for r, run in enumerate(by_group.runs):
            for g, group in enumerate(by_group.groups):
                numbers = [by_group.means[m, r, g]]
                if compared:
                    effect = by_group.effects[m][r]
                    tables = by_group.difference, by_group.low, by_group.high
                    numbers += [*(table[m, r, g] for table in tables), effect.F, effect.p]
                lines.append([measure, run, group, int(by_group.queries[m, g]), *map(float, numbers)])
    return csv_lines(lines)


def panel(by_group: Groups, m: int) -> Panel:
    """The difference of each run from the baseline in each group with its interval; without a baseline, the means."""
    runs = [r for r, run in enumerate(by_group.runs) if run != by_group.baseline]
    rows = [(r, g) for r in runs for g in range(len(by_group.groups))]

    def draw(axis: Axes) -> Axes:
        alone = by_group.baseline is None
        tables = by_group.means if alone else by_group.difference, by_group.low, by_group.high
        values, low, high = (table[m][tuple(zip(*rows, strict=True))] for table in tables)
        names = [f"{by_group.runs[r]}, {by_group.groups[g]}" for r, g in rows]
        draw_intervals(axis, names, values, low, high, alone | (low > 0) | (high < 0))
        if not alone:
            axis.axvline(0, color=ink(axis), linewidth=0.5)
        what = "mean" if by_group.baseline is None else f"difference from {by_group.baseline}"
        axis.set_xlabel(f"{by_group.measures[m]}: {what} by {by_group.attribute}")
        return axis

    return Panel(draw, 1.3 * COLUMN, 0.5 + 0.16 * max(len(rows), 3))
