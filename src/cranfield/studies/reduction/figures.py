"""The figure of the study `reduction`: scores, agreement and discriminative power, a line per measure."""

from __future__ import annotations

from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.data import Floats
from cranfield.report.figures.canvas import BLACK, BLUE, GREEN, GREY, ORANGE, PAGE, SKY, Drawings, across, new_figure
from cranfield.studies.coefficients import get_coefficient
from cranfield.studies.reduction.experiment import Reduction
from cranfield.studies.reduction.tables import COMPLETE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (BLUE, ORANGE, GREEN, "#CC79A7", "#E69F00", BLACK, SKY, GREY)
X_LABELS = {"rates": "judgments kept (%)", "depths": "pool depth", "queries": "queries"}
MARKERS = "osD^v<>hpd"


def drawings(result: Reduction) -> Drawings:
    """The one figure of the study."""
    return {f"reduction-{result.settings.by}": partial(draw, result)}


def draw(result: Reduction) -> Figure:
    """Mean score, agreement and discriminative power side by side."""
    columns = across(result.measures, PAGE, 5)
    rows = -(-len(result.measures) // columns)
    figure = new_figure(PAGE, 2.5 + 0.16 * rows)
    left, middle, right = figure.subplots(1, 3)
    symbol = get_coefficient(result.settings.coefficient).symbol
    draw_quantity(result, result.mean, left, "mean score")
    draw_quantity(result, result.agreement, middle, f"{symbol} with the order {COMPLETE[result.settings.by]}")
    draw_quantity(result, result.power, right, f"discriminative power at {result.settings.alpha:g}")
    lines, labels = left.get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=columns, frameon=False)
    return figure


def draw_quantity(result: Reduction, values: Floats, axis: Axes, name: str) -> Axes:
    """One quantity by level, with a band from the 5th to the 95th percentile over repetitions."""
    x = level_positions(result)
    mean, _, low, high = result.summary(values)
    for m, (measure, style) in enumerate(line_styles(result.measures).items()):
        axis.plot(x, mean[m], label=measure, markersize=3, **style)
        if values.shape[2] > 1:
            axis.fill_between(x, low[m], high[m], color=style["color"], alpha=0.1, linewidth=0)
    axis.set_ylabel(name)
    axis.set_xticks(x, [label.removesuffix("%") for label in result.labels])
    axis.invert_xaxis()  # the complete data are on the left
    axis.set_xlabel(X_LABELS[result.settings.by])
    axis.margins(x=0.03)
    return axis


def level_positions(result: Reduction) -> Floats:
    """The x-coordinates of the levels: rates and numbers of queries to scale, pool depths equally spaced."""
    levels = result.settings.levels
    if result.settings.by == "depths":
        return np.arange(len(levels), -1, -1.0)
    return np.array([100 if result.settings.by == "rates" else result.queries, *levels], np.float64)


def line_styles(measures: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """The style of each measure; variants of a measure share colour and marker, and the plain one is dotted."""
    stems = dict.fromkeys(measure.partition("[")[0] for measure in measures)
    shared = dict(zip(stems, zip(cycle(COLOURS), cycle(MARKERS)), strict=False))
    styles = {}
    for measure in measures:
        stem = measure.partition("[")[0]
        variants = sum(other.partition("[")[0] == stem for other in measures)
        colour, marker = shared[stem]
        plain = measure == stem and variants > 1
        styles[measure] = {
            "color": colour,
            "marker": marker,
            "linestyle": ":" if plain else "-",
            "markerfacecolor": "white" if plain else colour,
        }
    return styles
