"""Differences between runs as figures: against a baseline with their intervals, or all pairs as a matrix."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.analysis.compare import Comparison
from cranfield.data import Integers
from cranfield.report.figures.canvas import (
    BLUE,
    COLUMN,
    GREY,
    PAGE,
    ink,
    name_rows,
    new_figure,
    plotted_axes,
    save,
)
from cranfield.wording import decodable

MOST_NAMES = 42  # names beside the matrix; of more runs, some are named
MOST_ROWS = 40  # differences from a baseline that are drawn by default
MOST_PAIRS = 45  # pairs that are drawn with their intervals: those of ten runs; of more, the matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def figures(found: Comparison, folder: str) -> list[Path]:
    """Draw a figure for each measure into a folder."""
    draw = matrix if found.baseline is None else forest
    return [
        path
        for m, measure in enumerate(found.measures)
        for path in save(partial(draw, found, m), folder, f"compare-{measure}")
    ]


def forest_height(rows: int) -> float:
    """The height in inches of a figure with a row for each difference."""
    return 0.5 + 0.16 * max(rows, 3)


def forest(found: Comparison, m: int) -> Figure:
    """The difference of each run from the baseline with its interval, best first; filled if significant."""
    order = np.argsort(found.difference[m], kind="stable")
    figure = new_figure(COLUMN, forest_height(len(order)))
    draw_forest(figure.subplots(), found, m, order)
    return figure


def draw_forest(axis: Axes, found: Comparison, m: int, order: Integers) -> Axes:
    """These pairs, the last on top; without a baseline each pair as the better run minus the other."""
    names = []
    for place, pair in enumerate(order.tolist()):
        one = found.contest(m, pair)
        colour = BLUE if one.significant else GREY
        flip = -1 if found.baseline is None and one.difference < 0 else 1
        axis.plot([flip * one.low, flip * one.high], [place, place], color=colour)
        filled = "full" if one.significant else "none"
        axis.plot(flip * one.difference, place, "o", color=colour, markersize=3.5, fillstyle=filled)
        pair_name = f"{one.run} – {one.other}" if flip > 0 else f"{one.other} – {one.run}"
        names.append(pair_name if found.baseline is None else one.run)
    axis.axvline(0, color=ink(axis), linewidth=0.5)
    name_rows(axis, names)
    what = "difference" if found.baseline is None else f"difference from {found.baseline}"
    axis.set_xlabel(f"{found.measures[m]}: {what}")
    return axis


def matrix(found: Comparison, m: int) -> Figure:
    """Row minus column, best runs first; coloured if significant, with a dot if ties or judgments could reverse it."""
    order = np.argsort(-found.means[m], kind="stable")
    size = matrix_size(len(order))
    figure = new_figure(size, size * 0.92)
    draw_matrix(figure.subplots(), found, m, order)
    return figure


def matrix_size(runs: int) -> float:
    """The width in inches of the matrix of so many runs."""
    return float(np.clip(0.16 * runs + 1.4, COLUMN, PAGE))


def draw_matrix(axis: Axes, found: Comparison, m: int, order: Integers) -> Axes:
    """All pairs of these runs."""
    place = {run: i for i, run in enumerate(order.tolist())}
    gaps = np.full((len(order), len(order)), np.nan)
    doubtful = []
    for pair, (run, other) in enumerate(found.pairs.tolist()):
        one = found.contest(m, pair)
        if one.significant and run in place and other in place:
            a, b = place[run], place[other]
            gaps[a, b], gaps[b, a] = one.difference, -one.difference
            doubtful += [(b, a), (a, b)] if one.doubts else []
    most = float(np.nanmax(np.abs(gaps))) if np.isfinite(gaps).any() else 1.0
    image = axis.imshow(np.ma.masked_invalid(gaps), cmap="PuOr", vmin=-most, vmax=most)
    if doubtful:
        axis.plot(*zip(*doubtful, strict=True), ".", color=ink(axis), markersize=1.5)
    if not np.isfinite(gaps).any():
        axis.text(0.5, 0.5, "no significant difference", ha="center", va="center", transform=axis.transAxes)
    step = -(-len(order) // MOST_NAMES)
    places, small = range(0, len(order), step), min(7.0, 260 * step / len(order))
    names = [decodable(found.runs[order[place]]) for place in places]
    axis.set_xticks(places, names, rotation=90, fontsize=small, parse_math=False)
    axis.set_yticks(places, names, fontsize=small, parse_math=False)
    axis.tick_params(length=0)
    bar = axis.figure.colorbar(image, ax=axis, shrink=0.6, pad=0.02, aspect=25)
    bar.set_label(f"{found.measures[m]}: row minus column")
    bar.outline.set_visible(False)
    return axis


def plot(found: Comparison, m: int, *, top: int | None, ax: Axes | None) -> Axes:
    """Differences with their intervals, or of many pairs the matrix, on these axes or on new ones."""
    runs = len(found.runs)
    if found.baseline is None and len(found.pairs) > MOST_PAIRS:
        best = np.argsort(-found.means[m], kind="stable")[:top]
        title = "significant differences" + (f", the best {len(best)} of {runs} runs" if len(best) < runs else "")

        def draw_all(axis: Axes) -> Axes:
            draw_matrix(axis, found, m, best).set_title(title)
            return axis

        size = matrix_size(len(best))
        return plotted_axes(draw_all, size, size * 0.92, ax)
    against = found.baseline is not None
    order = np.argsort(-found.difference[m] if against else -np.abs(found.difference[m]), kind="stable")
    order = order[: top or MOST_ROWS] if against else order

    def draw(axis: Axes) -> Axes:
        draw_forest(axis, found, m, order[::-1])
        if len(order) < len(found.pairs):
            axis.set_title(f"the best {len(order)} of {runs} runs")
        _legend(axis, found)
        return axis

    return plotted_axes(draw, 1.3 * COLUMN, forest_height(len(order)) + 0.2, ax)


def _legend(axis: Axes, found: Comparison) -> None:
    """What filled and empty points mean."""
    from matplotlib.lines import Line2D

    style: dict[str, Any] = {"marker": "o", "markersize": 3.5}
    significant = Line2D([], [], color=BLUE, label=f"p < {found.alpha:g}", **style)
    other = Line2D([], [], color=GREY, fillstyle="none", label="not significant", **style)
    axis.legend(handles=[significant, other], loc="best", fontsize="small")
