"""The figure of the study `reuse`: a panel per reference measure, a column per source and target."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from cranfield.report.figures.canvas import GREY, Drawings, one_scale, panels
from cranfield.studies.coefficients import get_coefficient
from cranfield.studies.reuse.experiment import Reuse
from cranfield.studies.sampling.figures import candidate_styles, legend_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def drawings(result: Reuse) -> Drawings:
    """The one figure of the study."""
    return {"reuse": partial(draw, result)}


def draw(result: Reuse) -> Figure:
    """All reference measures below each other, on one scale."""
    figure, axes = panels(len(result.references), 1, 1.6)
    figure.set_figheight(figure.get_figheight() + 0.5)
    for r, axis in enumerate(axes):
        draw_agreement(result, r, axis)
    one_scale(figure, axes, 1.04, 3)
    return figure


def draw_agreement(result: Reuse, reference: int, axis: Axes) -> Axes:
    """The candidates of one reference, side by side in each column."""
    collections = range(len(result.collections))
    columns = [(source, target) for source in collections for target in collections]
    styles = candidate_styles(result.candidates)
    offset = np.linspace(-0.3, 0.3, len(styles))
    for c, (candidate, style) in enumerate(styles.items()):
        values = [result.agreement[reference, c, source, target] for source, target in columns]
        marker = {"color": style["color"], "marker": style["marker"]}
        x = np.arange(len(columns)) + offset[c]
        axis.plot(x, values, linestyle="none", markersize=3, label=legend_name(candidate), **marker)
    axis.axhline(result.settings.threshold, color=GREY, linewidth=0.6, linestyle=":")
    names = [f"{result.collections[source]}→{result.collections[target]}" for source, target in columns]
    axis.set_xticks(range(len(columns)), names)
    axis.set_title(result.references[reference])
    axis.set_ylabel(get_coefficient(result.settings.coefficient).symbol)
    return axis
