"""The figure of the study `newcomers`: the change of each run's score, a panel per measure."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.report.figures.canvas import BLUE, GREY, ORANGE, Drawings, panels
from cranfield.studies.newcomers.experiment import Newcomers
from cranfield.studies.newcomers.tables import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def drawings(result: Newcomers) -> Drawings:
    """The one figure of the study."""
    return {"newcomers": partial(draw, result)}


def draw(result: Newcomers) -> Figure:
    """A panel for each measure."""
    figure, axes = panels(len(result.measures), 2, 2.2)
    for m, axis in enumerate(axes):
        draw_changes(result, m, axis)
    return figure


def draw_changes(result: Newcomers, measure: int, axis: Axes) -> Axes:
    """The relative change of each score against the score; the largest change is labelled."""
    x, y = result.score[measure], 100 * result.change[measure]
    moved = result.rank_without[measure] != result.rank[measure]
    axis.axhline(0, color=GREY, linestyle=":", linewidth=0.8, zorder=1)
    axis.plot(x[~moved], y[~moved], "o", color=BLUE, markersize=3, zorder=3, label="same rank")
    hollow: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": ORANGE, "markeredgewidth": 0.9}
    axis.plot(x[moved], y[moved], "D", markersize=3.2, zorder=3, label="new rank", **hollow)
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
    axis.set_ylabel("change without own judgments (%)")
    axis.margins(0.12)
    if measure == 0:
        axis.legend(loc="best")
    return axis
