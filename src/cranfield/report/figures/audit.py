"""An audit as a figure: every score as a point, with bands for the values that it could have had."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.analysis.audit import Audit, Cause
from cranfield.report.figures.canvas import (
    BLACK,
    BLUE,
    COLUMN,
    GREEN,
    GREY,
    ORANGE,
    PAGE,
    SKY,
    ink,
    name_rows,
    new_figure,
    plotted_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW = 0.17  # inches for a run
MARGIN = 0.95  # inches for titles and the legend
ACROSS = 4  # panels side by side

BANDS: tuple[tuple[Cause, str, str, float], ...] = (
    ("ties", "ties: worst to best", ORANGE, -0.24),
    ("unjudged", "unjudged: lowest to highest", SKY, 0.0),
    ("queries", "95% confidence interval", GREY, 0.24),
)
MARKS: tuple[tuple[Cause, str, str], ...] = (("condensed", "D", BLUE), ("terminal", "s", GREEN))


def draw(audit: Audit) -> Figure:
    """A panel for each measure; runs as rows, in the order of the first measure, the highest on top."""
    across = min(ACROSS, len(audit.measures))
    down = -(-len(audit.measures) // across)
    figure = new_figure(PAGE, down * (max(len(audit.runs), 3) * ROW + MARGIN))
    axes = figure.subplots(down, across, squeeze=False, sharey=True)
    order = np.argsort(-np.nan_to_num(audit.score[:, 0], nan=-np.inf), kind="stable")
    for m, axis in enumerate(axes.flat):
        if m < len(audit.measures):
            panel(audit, m, axis, order)
        else:
            axis.set_axis_off()
    figure.legend(handles=list(_legend(audit)), loc="outside upper center", ncols=6, frameon=False, columnspacing=1.2)
    return figure


def plot(audit: Audit, m: int, *, top: int | None, ax: Axes | None) -> Axes:
    """One measure of the best runs, on these axes or on new ones."""
    order = np.argsort(-np.nan_to_num(audit.score[:, m], nan=-np.inf), kind="stable")[:top]

    def draw(axis: Axes) -> Axes:
        panel(audit, m, axis, order)
        if len(order) < len(audit.runs):
            axis.set_title(f"{audit.measures[m]}, the best {len(order)} of {len(audit.runs)} runs")
        below: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "borderaxespad": 3.2}
        axis.legend(handles=list(_legend(audit, ink(axis))), ncols=3, frameon=False, **below)
        return axis

    size = max(len(order), 3) * ROW
    return plotted_axes(draw, 1.5 * COLUMN, size + MARGIN, ax)


def panel(audit: Audit, measure: int, axis: Axes, order: Any = None) -> Axes:
    """One measure: a row for each run with its score and the values that it could have had."""
    order = np.arange(len(audit.runs)) if order is None else order
    rows = np.arange(len(order))
    for row in rows[::2]:
        axis.axhspan(row - 0.5, row + 0.5, color=GREY, alpha=0.11, linewidth=0, zorder=-1)
    for cause, _, colour, offset in BANDS:
        low, high = (ends[order, measure] for ends in audit.reach(cause))
        axis.hlines(rows + offset, low, high, color=colour, linewidth=1.6, zorder=2)
    for cause, marker, colour in MARKS:
        value = audit.reach(cause)[0][order, measure]
        axis.plot(value, rows, linestyle="", **_hollow(marker, colour), zorder=4)
    axis.plot(audit.score[order, measure], rows, linestyle="", **_point(ink(axis)), zorder=3)
    name_rows(axis, [audit.runs[r] for r in order])
    axis.set_ylim(len(order) - 0.5, -0.5)
    axis.set_title(audit.measures[measure])
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="x", color=GREY, alpha=0.35, linewidth=0.4)
    axis.set_axisbelow(True)
    axis.margins(x=0.04)
    return axis


def _legend(audit: Audit, colour: Any = BLACK) -> Iterator[Any]:
    """The legend, without symbols that do not occur in the figure."""
    from matplotlib.lines import Line2D

    yield Line2D([], [], linestyle="", label="score", **_point(colour))
    for _, label, band, _ in BANDS:
        yield Line2D([], [], color=band, linewidth=1.6, label=label)
    for cause, marker, edge in MARKS:
        if not np.isnan(audit.reach(cause)[0]).all():
            yield Line2D([], [], linestyle="", label=cause, **_hollow(marker, edge))


def _point(colour: Any) -> dict[str, Any]:
    return {"marker": "o", "color": colour, "markersize": 2.2}


def _hollow(marker: str, colour: str) -> dict[str, Any]:
    return {
        "marker": marker,
        "markerfacecolor": "none",  # so that both are visible if it lies on the score
        "markeredgecolor": colour,
        "markersize": 4,
        "markeredgewidth": 0.8,
    }
