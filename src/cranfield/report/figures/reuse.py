"""Judgments of one collection on another: a panel for each measure, a column for each way from one to another."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cranfield.report.figures.canvas import GREY, one_scale, panels, save
from cranfield.report.figures.sampling import looks
from cranfield.report.studies.reuse import HIGH
from cranfield.studies.coefficients import coefficient
from cranfield.studies.reuse import Reuse
from cranfield.studies.rivals import LISTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def figures(result: Reuse, folder: str) -> list[Path]:
    """Draws the figure into a folder."""
    return save(partial(draw, result), folder, "reuse")


def draw(result: Reuse) -> Figure:
    """All measures below each other, on one scale."""
    figure, axes = panels(len(result.truths), 1, 1.6)
    figure.set_figheight(figure.get_figheight() + 0.5)
    for t, axis in enumerate(axes):
        panel(result, t, axis)
    one_scale(figure, axes, 1.04, 3)
    return figure


def panel(result: Reuse, t: int, axis: Axes) -> Axes:
    """One measure's rivals, side by side in each column."""
    ways = [(s, t) for s in range(len(result.collections)) for t in range(len(result.collections))]
    found = looks(result.rivals)
    beside = np.linspace(-0.3, 0.3, len(found))
    for r, (rival, look) in enumerate(found.items()):
        values = [result.agreement[t, r, source, target] for source, target in ways]
        name = f"{rival} list" if rival in LISTS else rival
        style = {"color": look["color"], "marker": look["marker"]}
        axis.plot(np.arange(len(ways)) + beside[r], values, linestyle="none", markersize=3, label=name, **style)
    axis.axhline(HIGH, color=GREY, linewidth=0.6, linestyle=":")
    names = [f"{result.collections[source]}→{result.collections[target]}" for source, target in ways]
    axis.set_xticks(range(len(ways)), names)
    axis.set_title(result.truths[t])
    axis.set_ylabel(coefficient(result.settings.coefficient).sign)
    return axis
