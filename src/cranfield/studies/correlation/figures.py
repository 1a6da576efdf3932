"""The figures of the study `correlation`: a clustered heat map, and the ranks of runs under each measure."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from cranfield.report.figures.canvas import BLUE, COLUMN, GREY, PAGE, Drawings, new_figure, panels
from cranfield.statistics.correlation import mean_ranks
from cranfield.studies.coefficients import get_coefficient
from cranfield.studies.correlation.experiment import Correlation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Inches: the width of a cell, the least that has room for a number, that below which names are vertical, the least of
# all; the width of a letter; the width of the colour bar.
CELL, ROOMY, UPRIGHT, SMALLEST, LETTER, BAR = 0.42, 0.28, 0.2, 0.11, 0.056, 0.75


def drawings(result: Correlation) -> Drawings:
    """The heat map and the ranks of runs."""
    return {result.STUDY: partial(draw, result), f"{result.STUDY}-ranks": partial(scatter, result)}


def draw(result: Correlation) -> Figure:
    """The heat map below its dendrogram."""
    count, names = len(result.measures), LETTER * max(map(len, result.measures))
    width = float(np.clip(CELL * count + names + BAR, COLUMN, PAGE))
    cell = max((width - names - BAR) / count, SMALLEST)
    vertical = cell < UPRIGHT  # slanted names would overlap
    width = max(width, cell * count + names + BAR)
    height = cell * count * 8 / 7 + names * (1 if vertical else 0.65) + 0.1
    figure = new_figure(width, height)
    tree, heat_map = figure.subplots(2, 1, height_ratios=(1, 7), sharex=True, gridspec_kw={"hspace": 0})
    draw_dendrogram(result, tree)
    draw_heat_map(result, heat_map, cell=cell, vertical=vertical)
    return figure


def draw_dendrogram(result: Correlation, axis: Axes) -> Axes:
    """The clustering of the measures by distance."""
    from scipy.cluster import hierarchy

    tree = hierarchy.dendrogram(result.linkage, no_plot=True)
    for x, height in zip(tree["icoord"], tree["dcoord"], strict=True):
        # SciPy puts leaves at 5, 15, 25, ...; the columns of the heat map are at 0, 1, 2, ...
        axis.plot((np.array(x) - 5) / 10, height, color=GREY, linewidth=0.8)
    axis.set_axis_off()
    return axis


def draw_heat_map(result: Correlation, axis: Axes, *, cell: float = CELL, vertical: bool = False) -> Axes:
    """The coefficients as colours and, where they fit, as numbers."""
    order = result.clustered
    names = [result.measures[i] for i in order]
    matrix = result.matrix[np.ix_(order, order)]
    low = float(np.floor(np.fmin.reduce(matrix, axis=None, initial=0.9) * 10 + 1e-9) / 10)
    image = axis.imshow(np.ma.masked_invalid(matrix), cmap="cividis", vmin=low, vmax=1, aspect="auto")
    for (i, j), value in np.ndenumerate(matrix) if cell >= ROOMY else ():
        text, dark = f"{value:.2f}" if np.isfinite(value) else "–", (value - low) / (1 - low) < 0.55
        size = min(6, 6 * cell / CELL * 1.4)
        axis.text(j, i, text, ha="center", va="center", color="white" if dark else "black", fontsize=size)
    positions = range(len(names))
    if vertical:
        axis.set_xticks(positions, names, rotation=90)
    else:
        axis.set_xticks(positions, names, rotation=40, ha="right", rotation_mode="anchor")
    axis.set_yticks(positions, names)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    bar = axis.figure.colorbar(image, ax=axis, shrink=0.6, pad=0.02, aspect=25)
    symbol = get_coefficient(result.coefficient).symbol
    bar.set_label(f"{symbol}, {len(result.runs)} runs")
    bar.outline.set_visible(False)
    return axis


def scatter(result: Correlation) -> Figure:
    """The rank of every run under each measure against its rank under the first measure; rank 1 is the best run.

    As in Figure 2 of Hui et al. (ICTIR 2017): if two measures agree, all runs are on the diagonal.
    """
    from matplotlib.ticker import MaxNLocator

    figure, axes = panels(len(result.measures) - 1, 4, 1.9)
    first = mean_ranks(result.means[0])
    end = len(result.runs) + 0.7
    for m, axis in enumerate(axes, 1):
        axis.plot((0.3, end), (0.3, end), color=GREY, linewidth=0.6, linestyle=":")
        axis.scatter(first, mean_ranks(result.means[m]), s=9, color=BLUE, alpha=0.8, linewidths=0)
        symbol, value = get_coefficient(result.coefficient).symbol, result.matrix[0, m]
        axis.set_title(f"{symbol} = {value:.2f}" if np.isfinite(value) else f"{symbol} is undefined", fontsize=7)
        axis.set_xlabel(f"rank by {result.measures[0]}")
        axis.set_ylabel(f"rank by {result.measures[m]}")
        axis.set_xlim(0.3, end)
        axis.set_ylim(0.3, end)
        axis.set_aspect("equal")
        for side in (axis.xaxis, axis.yaxis):
            side.set_major_locator(MaxNLocator(4, integer=True))
    return figure
