"""Scores, orders and differences as less is known: three panels, a line for each measure."""

from __future__ import annotations

from functools import partial
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.data import Floats
from cranfield.report.figures.canvas import BLACK, BLUE, GREEN, GREY, ORANGE, PAGE, SKY, across, save
from cranfield.report.studies.reduction import FULL
from cranfield.studies.coefficients import coefficient
from cranfield.studies.reduction import Reduction

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (BLUE, ORANGE, GREEN, "#CC79A7", "#E69F00", BLACK, SKY, GREY)
ALONG = {"rates": "judgments kept (%)", "depths": "depth of pools", "queries": "queries"}
MARKERS = "osD^v<>hpd"


def figures(result: Reduction, folder: str) -> list[Path]:
    """Draws the figure into a folder."""
    return save(partial(draw, result), folder, f"reduction-{result.settings.by}")


def draw(result: Reduction) -> Figure:
    """Mean score, agreement and discriminative power side by side."""
    from matplotlib.figure import Figure

    columns = across(result.measures, PAGE, 5)
    rows = -(-len(result.measures) // columns)
    figure = Figure(figsize=(PAGE, 2.5 + 0.16 * rows), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    sign = coefficient(result.settings.coefficient).sign
    panel(result, result.mean, left, "mean score")
    panel(result, result.agreement, middle, f"{sign} with the order {FULL[result.settings.by]}")
    panel(result, result.power, right, f"discriminative power at {result.settings.alpha:g}")
    lines, labels = left.get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=columns, frameon=False)
    return figure


def panel(result: Reduction, values: Floats, axis: Axes, name: str) -> Axes:
    """One quantity along the levels, with a band from the 5th to the 95th percentile over repetitions."""
    at = places(result)
    middle, _, low, high = result.summary(values)
    for m, (measure, look) in enumerate(looks(result.measures).items()):
        axis.plot(at, middle[m], label=measure, markersize=3, **look)
        if values.shape[2] > 1:
            axis.fill_between(at, low[m], high[m], color=look["color"], alpha=0.1, linewidth=0)
    axis.set_ylabel(name)
    axis.set_xticks(at, [label.removesuffix(" %") for label in result.labels])
    axis.invert_xaxis()  # less and less is known from left to right
    axis.set_xlabel(ALONG[result.settings.by])
    axis.margins(x=0.03)
    return axis


def places(result: Reduction) -> Floats:
    """Where levels stand on the axis: rates and numbers of queries to scale, depths one beside the other."""
    levels = result.settings.levels
    if result.settings.by == "depths":
        return np.arange(len(levels), -1, -1.0)
    return np.array([100 if result.settings.by == "rates" else result.queries, *levels], np.float64)


def looks(measures: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """A colour and a sign for each measure; forms of one measure share them, the plain one being dotted."""
    stems = dict.fromkeys(measure.partition("[")[0] for measure in measures)
    shared = dict(zip(stems, zip(cycle(COLOURS), cycle(MARKERS)), strict=False))
    found = {}
    for measure in measures:
        stem = measure.partition("[")[0]
        twins = sum(other.partition("[")[0] == stem for other in measures)
        colour, marker = shared[stem]
        plain = measure == stem and twins > 1
        found[measure] = {
            "color": colour,
            "marker": marker,
            "linestyle": ":" if plain else "-",
            "markerfacecolor": "white" if plain else colour,
        }
    return found
