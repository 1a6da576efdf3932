"""The figures of the study `power`: p-values of all pairs, swap rates, and queries needed by difference."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.report.figures.canvas import (
    BLACK,
    BLUE,
    COLUMN,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    Drawings,
    across,
    new_figure,
    room,
)
from cranfield.studies.power.experiment import MAX_SWAP_RATE, Power

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, BLACK)
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
MARKERS = "osD^vPX*<>"
AXIS_LEVELS = 4  # the axis of p-values ends at this multiple of alpha, if every measure has pairs below it
MIN_PAIRS = 3  # the fewest pairs that each measure must have below that end
POINTS = 60
LEGEND = 6  # points


def drawings(result: Power) -> Drawings:
    """P-values of all pairs, swap rates, and queries needed."""
    panels = {"power-asl": draw_p_values, "power-swaps": draw_swap_rates, "power-queries": draw_queries_needed}
    return {name: partial(draw, result, panel) for name, panel in panels.items()}


def draw(result: Power, panel: Any) -> Figure:
    """One panel with a legend below it."""
    names = [f"{sensitivity.measure} (00.0%)" for sensitivity in result.sensitivities]
    columns = across(names, COLUMN, 2, LEGEND)
    width, rows = max(COLUMN, room(names, LEGEND)), -(-len(names) // columns)
    figure = new_figure(width, 2.2 + 0.13 * rows)
    axis = panel(result, figure.subplots())
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=LEGEND, handlelength=2.6)
    return figure


def line_styles(result: Power) -> dict[str, dict[str, Any]]:
    """The style of each measure; measures differ in colour, dashes and markers."""
    return {
        sensitivity.measure: {
            "color": COLOURS[i % len(COLOURS)],
            "linestyle": DASHES[i // len(COLOURS) % len(DASHES)],
            "marker": MARKERS[i % len(MARKERS)],
            "markersize": 2.8,
            "markerfacecolor": "white",
            "markeredgewidth": 0.7,
            "linewidth": 0.9,
        }
        for i, sensitivity in enumerate(result.ranked)
    }


def draw_p_values(result: Power, axis: Axes) -> Axes:
    """The p-values of all pairs in decreasing order: the closer to the origin, the more sensitive the measure."""
    from matplotlib.ticker import MaxNLocator

    styles = line_styles(result)
    top = min(1.0, AXIS_LEVELS * result.alpha)
    if min((sensitivity.tests.p <= top).sum() for sensitivity in result.sensitivities) < MIN_PAIRS:
        top = 1.0
    pairs = len(result.sensitivities[0].tests.p)
    for i, sensitivity in enumerate(result.ranked):
        p = np.sort(sensitivity.tests.p)[::-1]
        # Shifted, so that the markers of different curves do not overlap.
        every = max(1, pairs // 8)
        marks = (int(every * i / len(styles)), every)
        axis.plot(
            np.arange(1, pairs + 1),
            p,
            **styles[sensitivity.measure],
            markevery=marks,
            label=f"{sensitivity.measure} ({sensitivity.tests.power:.1%})",
        )
    axis.set_ylim(-0.01 * top, 1.01 * top)
    axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    first = min(int((sensitivity.tests.p > top).sum()) for sensitivity in result.sensitivities)
    axis.set_xlim(max(0, first - 0.03 * (pairs - first)), pairs + max(1, 0.01 * pairs))
    _draw_level(axis, result.alpha, f"α = {result.alpha:g}")
    axis.set_xlabel(f"pairs of {len(result.runs)} runs, by decreasing p")
    axis.set_ylabel("achieved significance level (p)")
    return axis


def draw_swap_rates(result: Power, axis: Axes) -> Axes:
    """The swap rate of a pair by its difference on the first set of queries."""
    from matplotlib.ticker import MaxNLocator

    styles = line_styles(result)
    last = max(np.flatnonzero(sensitivity.swaps.compared[-1])[-1] for sensitivity in result.sensitivities)
    for sensitivity in result.ranked:
        swaps = sensitivity.swaps
        axis.plot(swaps.edges, 100 * swaps.rates[-1], **styles[sensitivity.measure], label=sensitivity.measure)
    _draw_level(axis, 100 * MAX_SWAP_RATE, f"{MAX_SWAP_RATE:.0%}")
    axis.set_ylim(bottom=0)
    if last < len(result.sensitivities[0].swaps.edges) - 1:
        axis.set_xlim(right=max(sensitivity.swaps.edges[last + 1] for sensitivity in result.sensitivities))
    size = int(result.sensitivities[0].swaps.sizes[-1])
    axis.xaxis.set_major_locator(MaxNLocator(5))
    axis.set_xlabel(f"difference on {size} queries")
    axis.set_ylabel(f"swapped on {size} other queries (%)")
    return axis


def draw_queries_needed(result: Power, axis: Axes) -> Axes:
    """The number of queries that a paired t-test needs, by the difference to detect."""
    styles = line_styles(result)
    differences = np.geomspace(min(0.01, *result.differences), max(0.3, *result.differences), POINTS)
    for i, sensitivity in enumerate(result.ranked):
        if sensitivity.variance == 0:
            continue
        counts = [result.queries_needed(sensitivity, float(difference)) or np.nan for difference in differences]
        every = POINTS // 6
        marks = (int(every * i / len(styles)), every)
        axis.plot(differences, counts, **styles[sensitivity.measure], markevery=marks, label=sensitivity.measure)
    axis.set_xscale("log")
    axis.set_yscale("log")
    _draw_level(axis, len(result.queries), f"{len(result.queries)} queries (this study)", left=True)
    ticks = sorted({0.01, 0.02, 0.05, 0.1, 0.2, *result.differences})
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.yaxis.set_major_formatter("{x:,.0f}")
    axis.minorticks_off()
    axis.set_xlabel("difference to detect")
    axis.set_ylabel(f"queries needed (α = {result.alpha:g}, β = {result.beta:g})")
    return axis


def _draw_level(axis: Axes, height: float, text: str, *, left: bool = False) -> None:
    """A horizontal line with a label above one of its ends."""
    axis.axhline(height, color=GREY, linewidth=0.6, linestyle=":")
    style: dict[str, Any] = {"ha": "left" if left else "right", "va": "bottom", "fontsize": 6, "color": GREY}
    axis.annotate(text, (0.01 if left else 1, height), (0, 1.5), axis.get_yaxis_transform(), "offset points", **style)
