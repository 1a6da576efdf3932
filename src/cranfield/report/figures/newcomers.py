"""Runs with and without their own contributions, a panel for each measure."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.report.figures.canvas import BLUE, GREY, ORANGE, panels, save
from cranfield.report.studies.newcomers import percent
from cranfield.studies.newcomers import Newcomers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def figures(result: Newcomers, folder: str) -> list[Path]:
    """Draws the figure into a folder."""
    return save(partial(draw, result), folder, "newcomers")


def draw(result: Newcomers) -> Figure:
    """All measures."""
    figure, axes = panels(len(result.measures), 2, 2.2)
    for m, axis in enumerate(axes):
        losses(result, m, axis)
    return figure


def losses(result: Newcomers, measure: int, axis: Axes) -> Axes:
    """By how much each score changes, against the score; the largest change has a name."""
    x, y = result.score[measure], 100 * result.change[measure]
    moved = result.rank_without[measure] != result.rank[measure]
    axis.axhline(0, color=GREY, linestyle=":", linewidth=0.8, zorder=1)
    axis.plot(x[~moved], y[~moved], "o", color=BLUE, markersize=3, zorder=3, label="keeps its place")
    hollow: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": ORANGE, "markeredgewidth": 0.9}
    axis.plot(x[moved], y[moved], "D", markersize=3.2, zorder=3, label="changes its place", **hollow)
    if not np.isnan(y).all() and np.nanmax(np.abs(y)) > 0:
        worst = int(np.nanargmax(np.abs(y)))
        right = x[worst] > (x.min() + x.max()) / 2
        axis.annotate(
            f"{result.runs[worst]}, {percent(y[worst] / 100)}",
            (x[worst], y[worst]),
            (-5 if right else 5, 0),
            textcoords="offset points",
            ha="right" if right else "left",
            va="center",
        )
    axis.set_xlabel(result.measures[measure])
    axis.set_ylabel("change without its own (%)")
    axis.margins(0.12)
    if measure == 0:
        axis.legend(loc="best")
    return axis
