"""What measures tell apart: p-values of all pairs, swap rates, and topics that a difference takes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.report.figures.canvas import BLACK, BLUE, COLUMN, GREEN, GREY, ORANGE, PURPLE, SKY, across, room, save
from cranfield.studies.power import ERROR, Power

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, BLACK)
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
MARKERS = "osD^vPX*<>"
TOP = 4  # levels of significance that the axis of p-values reaches up to, where every measure has
FEW = 3  # pairs or more below that
POINTS = 60
LEGEND = 6  # points


def figures(result: Power, folder: str) -> list[Path]:
    """Draws all three into a folder."""
    drawn = {"power-asl": asl, "power-swaps": swaps, "power-topics": topics}
    return [path for name, draw in drawn.items() for path in save(partial(_one, result, draw), folder, name)]


def _one(result: Power, draw: Any) -> Figure:
    from matplotlib.figure import Figure

    names = [f"{one.measure} (00.0%)" for one in result.outcomes]
    columns = across(names, COLUMN, 2, LEGEND)
    wide, rows = max(COLUMN, room(names, LEGEND)), -(-len(names) // columns)
    figure = Figure(figsize=(wide, 2.2 + 0.13 * rows), layout="constrained")
    axis = draw(result, figure.subplots())
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=LEGEND, handlelength=2.6)
    return figure


def looks(result: Power) -> dict[str, dict[str, Any]]:
    """How each measure is drawn: colours and dashes differ, and so do marks, for those who see no colours."""
    return {
        one.measure: {
            "color": COLOURS[i % len(COLOURS)],
            "linestyle": DASHES[i // len(COLOURS) % len(DASHES)],
            "marker": MARKERS[i % len(MARKERS)],
            "markersize": 2.8,
            "markerfacecolor": "white",
            "markeredgewidth": 0.7,
            "linewidth": 0.9,
        }
        for i, one in enumerate(result.ranked)
    }


def asl(result: Power, axis: Axes) -> Axes:
    """Significance of pairs, the least first: the nearer a curve is to the origin, the more a measure tells apart."""
    from matplotlib.ticker import MaxNLocator

    look = looks(result)
    top = min(1.0, TOP * result.alpha)
    if min((one.tested.p <= top).sum() for one in result.outcomes) < FEW:
        top = 1.0
    pairs = len(result.outcomes[0].tested.p)
    for i, one in enumerate(result.ranked):
        p = np.sort(one.tested.p)[::-1]
        # Marks stand apart from those of other curves.
        every = max(1, pairs // 8)
        marks = (int(every * i / len(look)), every)
        axis.plot(
            np.arange(1, pairs + 1),
            p,
            **look[one.measure],
            markevery=marks,
            label=f"{one.measure} ({one.tested.power:.1%})",
        )
    axis.set_ylim(-0.01 * top, 1.01 * top)
    axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    first = min(int((one.tested.p > top).sum()) for one in result.outcomes)
    axis.set_xlim(max(0, first - 0.03 * (pairs - first)), pairs + max(1, 0.01 * pairs))
    _above(axis, result.alpha, f"α = {result.alpha:g}")
    axis.set_xlabel(f"pairs of {len(result.runs)} runs, by decreasing p")
    axis.set_ylabel("achieved significance level (p)")
    return axis


def swaps(result: Power, axis: Axes) -> Axes:
    """How often a pair changes places, by how far apart one set of topics puts it."""
    from matplotlib.ticker import MaxNLocator

    look = looks(result)
    seen = [np.flatnonzero(one.swaps.compared[-1]) for one in result.outcomes]
    last = max(places[-1] for places in seen)
    for one in result.ranked:
        found = one.swaps
        axis.plot(found.edges, 100 * found.rates[-1], **look[one.measure], label=one.measure)
    _above(axis, 100 * ERROR, f"{ERROR:.0%}")
    axis.set_ylim(bottom=0)
    if last < len(result.outcomes[0].swaps.edges) - 1:
        axis.set_xlim(right=max(one.swaps.edges[last + 1] for one in result.outcomes))
    size = int(result.outcomes[0].swaps.sizes[-1])
    axis.xaxis.set_major_locator(MaxNLocator(5))
    axis.set_xlabel(f"difference on {size} topics")
    axis.set_ylabel(f"swapped on {size} others (%)")
    return axis


def topics(result: Power, axis: Axes) -> Axes:
    """How many topics a paired t-test needs, by the difference that it is to find."""
    look = looks(result)
    asked = np.geomspace(min(0.01, *result.differences), max(0.3, *result.differences), POINTS)
    for i, one in enumerate(result.ranked):
        if one.variance == 0:
            continue
        counts = [result.topics(one, float(wanted)) or np.nan for wanted in asked]
        every = POINTS // 6
        marks = (int(every * i / len(look)), every)
        axis.plot(asked, counts, **look[one.measure], markevery=marks, label=one.measure)
    axis.set_xscale("log")
    axis.set_yscale("log")
    _above(axis, len(result.queries), f"{len(result.queries)} topics, as here", left=True)
    ticks = sorted({0.01, 0.02, 0.05, 0.1, 0.2, *result.differences})
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.yaxis.set_major_formatter("{x:,.0f}")
    axis.minorticks_off()
    axis.set_xlabel("difference to find")
    axis.set_ylabel(f"topics needed (α = {result.alpha:g}, β = {result.beta:g})")
    return axis


def _above(axis: Axes, height: float, text: str, *, left: bool = False) -> None:
    """A line across, named above one of its ends."""
    axis.axhline(height, color=GREY, linewidth=0.6, linestyle=":")
    look: dict[str, Any] = {"ha": "left" if left else "right", "va": "bottom", "fontsize": 6, "color": GREY}
    axis.annotate(text, (0.01 if left else 1, height), (0, 1.5), axis.get_yaxis_transform(), "offset points", **look)
