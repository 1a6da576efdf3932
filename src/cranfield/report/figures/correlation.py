"""The agreement of measures as a heat map, like measures side by side; and run by run, against the first measure."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cranfield.report.figures.canvas import BLUE, COLUMN, GREY, PAGE, panels, save
from cranfield.statistics.correlation import places
from cranfield.studies.coefficients import coefficient
from cranfield.studies.correlation import Correlation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Inches: a cell, one with room for its number, one below which names have to stand upright, and one that can still be
# seen; a letter of a name; the bar of colours.
CELL, ROOMY, UPRIGHT, SMALLEST, LETTER, BAR = 0.42, 0.28, 0.2, 0.11, 0.056, 0.75


def figures(result: Correlation, folder: str) -> list[Path]:
    """Draws the heat map, and the places of runs, into a folder."""
    return [
        *save(partial(draw, result), folder, result.STUDY),
        *save(partial(scatter, result), folder, f"{result.STUDY}-places"),
    ]


def draw(result: Correlation) -> Figure:
    """The heat map below the tree that orders it."""
    from matplotlib.figure import Figure

    many, names = len(result.measures), LETTER * max(map(len, result.measures))
    wide = float(np.clip(CELL * many + names + BAR, COLUMN, PAGE))
    cell = max((wide - names - BAR) / many, SMALLEST)
    steep = cell < UPRIGHT  # then names below the map stand upright, or they would run into each other
    wide = max(wide, cell * many + names + BAR)
    high = cell * many * 8 / 7 + names * (1 if steep else 0.65) + 0.1
    figure = Figure(figsize=(wide, high), layout="constrained")
    tree, map_ = figure.subplots(2, 1, height_ratios=(1, 7), sharex=True, gridspec_kw={"hspace": 0})
    branches(result, tree)
    heat(result, map_, cell=cell, steep=steep)
    return figure


def branches(result: Correlation, axis: Axes) -> Axes:
    """Which measures join at which distance."""
    from scipy.cluster import hierarchy

    found = hierarchy.dendrogram(result.linkage, no_plot=True)
    for at, height in zip(found["icoord"], found["dcoord"], strict=True):
        # The tree has a leaf at 5, 15, 25, ...; the map a column at 0, 1, 2, ...
        axis.plot((np.array(at) - 5) / 10, height, color=GREY, linewidth=0.8)
    axis.set_axis_off()
    return axis


def heat(result: Correlation, axis: Axes, *, cell: float = CELL, steep: bool = False) -> Axes:
    """The values in colours and, where a cell has room for them, numbers."""
    order = result.clustered
    names = [result.measures[i] for i in order]
    matrix = result.matrix[np.ix_(order, order)]
    low = float(np.floor(np.fmin.reduce(matrix, axis=None, initial=0.9) * 10 + 1e-9) / 10)
    image = axis.imshow(np.ma.masked_invalid(matrix), cmap="cividis", vmin=low, vmax=1, aspect="auto")
    for (i, j), value in np.ndenumerate(matrix) if cell >= ROOMY else ():
        text, dark = f"{value:.2f}" if np.isfinite(value) else "–", (value - low) / (1 - low) < 0.55
        size = min(6, 6 * cell / CELL * 1.4)
        axis.text(j, i, text, ha="center", va="center", color="white" if dark else "black", fontsize=size)
    places = range(len(names))
    if steep:
        axis.set_xticks(places, names, rotation=90)
    else:
        axis.set_xticks(places, names, rotation=40, ha="right", rotation_mode="anchor")
    axis.set_yticks(places, names)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    bar = axis.figure.colorbar(image, ax=axis, shrink=0.6, pad=0.02, aspect=25)
    sign = coefficient(result.coefficient).sign
    bar.set_label(f"{sign} between orders of {len(result.runs)} runs")
    bar.outline.set_visible(False)
    return axis


def scatter(result: Correlation) -> Figure:
    """The place of every run by each measure against its place by the first one, 1 for the best.

    As in Figure 2 of Hui et al. (ICTIR 2017): measures that agree have all runs on the diagonal.
    """
    from matplotlib.ticker import MaxNLocator

    figure, axes = panels(len(result.measures) - 1, 4, 1.9)
    first = places(result.means[0])
    end = len(result.runs) + 0.7
    for m, axis in enumerate(axes, 1):
        axis.plot((0.3, end), (0.3, end), color=GREY, linewidth=0.6, linestyle=":")
        axis.scatter(first, places(result.means[m]), s=9, color=BLUE, alpha=0.8, linewidths=0)
        sign, value = coefficient(result.coefficient).sign, result.matrix[0, m]
        axis.set_title(f"{sign} = {value:.2f}" if np.isfinite(value) else f"{sign} is undefined", fontsize=7)
        axis.set_xlabel(f"place by {result.measures[0]}")
        axis.set_ylabel(f"by {result.measures[m]}")
        axis.set_xlim(0.3, end)
        axis.set_ylim(0.3, end)
        axis.set_aspect("equal")
        for side in (axis.xaxis, axis.yaxis):
            side.set_major_locator(MaxNLocator(4, integer=True))
    return figure
