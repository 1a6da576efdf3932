"""The figure of the study `sampling`: agreement by percentage of judgments, a panel per measure."""

from __future__ import annotations

from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any

from cranfield.report.figures.canvas import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, Drawings, one_scale, panels
from cranfield.studies.candidates import LISTS
from cranfield.studies.coefficients import get_coefficient
from cranfield.studies.sampling.experiment import Sampling

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CONTENT_COLOURS = (BLUE, ORANGE, PURPLE, SKY)


def drawings(result: Sampling) -> Drawings:
    """The one figure of the study."""
    return {"sampling": partial(draw, result)}


def draw(result: Sampling) -> Figure:
    """All reference measures side by side, on one scale."""
    figure, axes = panels(len(result.references), 3, 2.5)
    for r, axis in enumerate(axes):
        draw_agreement(result, r, axis)
    one_scale(figure, axes, 1.02, 4)
    return figure


def draw_agreement(result: Sampling, reference: int, axis: Axes) -> Axes:
    """The candidates of one reference, with bands from the 5th to the 95th percentile over repetitions."""
    rates = result.settings.rates
    mean, _, low, high = result.summary(result.agreement[reference])
    for c, (candidate, style) in enumerate(candidate_styles(result.candidates).items()):
        axis.plot(rates, mean[c], label=legend_name(candidate), markersize=2.5, **style)
        axis.fill_between(rates, low[c], high[c], color=style["color"], alpha=0.1, linewidth=0)
    axis.axhline(result.settings.threshold, color=GREY, linewidth=0.6, linestyle=":")
    axis.set_title(result.references[reference])
    axis.set_xlabel("judgments sampled (%)")
    axis.set_ylabel(f"{get_coefficient(result.settings.coefficient).symbol} with the order under all")
    axis.set_xlim(0, 101)
    return axis


def candidate_styles(candidates: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Dashed lines for measures that need judgments of the retrieved documents, solid lines for those reading text."""
    styles: dict[str, dict[str, Any]] = {
        LISTS[0]: {"color": BLACK, "linestyle": "--", "marker": "x"},
        LISTS[1]: {"color": GREEN, "linestyle": "--", "marker": "+"},
    }
    content = candidates[len(LISTS) :]
    for candidate, colour, marker in zip(content, cycle(CONTENT_COLOURS), cycle("osD^"), strict=False):
        styles[candidate] = {"color": colour, "linestyle": "-", "marker": marker}
    return styles


def legend_name(candidate: str) -> str:
    """The name of a candidate in a legend."""
    return f"{candidate} list" if candidate in LISTS else candidate
