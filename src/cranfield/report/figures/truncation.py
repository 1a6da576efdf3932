"""The three figures of *Quit While Ahead*, for any collection: list lengths, agreement, and who gains by stopping."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.report.figures.canvas import BLACK, BLUE, COLUMN, GREEN, GREY, ORANGE, SKY, panels, save
from cranfield.statistics.correlation import SAME, inverted
from cranfield.studies.truncation import Truncation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BARS = 25  # list lengths up to which each has its own bar
SYSTEMS = 20  # arrows beyond which only those of the best systems are drawn


def figures(result: Truncation, folder: str) -> list[Path]:
    """Draws all three into a folder."""
    return [
        *save(lambda: lengths(result), folder, "truncation-lengths"),
        *save(lambda: scatter(result), folder, "truncation-scores"),
        *save(lambda: shift(result), folder, "truncation-shift"),
    ]


def lengths(result: Truncation) -> Figure:
    """How long lists are, before and after (Figure 1)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(COLUMN, 2.0), layout="constrained")
    histogram(result, figure.subplots())
    return figure


def histogram(result: Truncation, axis: Axes) -> Axes:
    """Lists by length: two bars for each length, or outlines where lengths are many."""
    from matplotlib.ticker import MaxNLocator

    counts = np.zeros((result.longest + 1, 2))
    for length, both in result.histogram.items():
        counts[length] = both
    at = np.arange(len(counts))
    looks = [("before: NIL is an item", "white", SKY), ("after: NIL ends the list", BLUE, BLUE)]
    if result.nil is None:
        looks, counts = [("lists as they are", "white", SKY)], counts[:, :1]
    for i, (label, face, edge) in enumerate(looks):
        if len(at) <= BARS:
            bars: dict[str, Any] = {"facecolor": face, "edgecolor": edge, "linewidth": 0.8, "label": label}
            axis.bar(at + (i - (len(looks) - 1) / 2) * 0.4, counts[:, i], 0.36, **bars)
        else:
            line: dict[str, Any] = {"linewidth": (2.0, 0.8)[i], "label": label, "color": edge}
            axis.hist(at, np.linspace(0, len(at), BARS + 1).tolist(), weights=counts[:, i], histtype="step", **line)
    if len(at) <= BARS:
        axis.set_xticks(at[:: 1 + len(at) // 12])
    axis.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axis.set_xlabel("answers in a list")
    axis.set_ylabel("lists")
    axis.margins(y=0.25)
    axis.legend(loc="upper left")
    return axis


def scatter(result: Truncation) -> Figure:
    """Systems by X and X', a panel for each measure (Figure 2)."""
    figure, axes = panels(len(result.measures), 2, 2.9)
    for m, axis in enumerate(axes):
        against(result, m, axis)
    return figure


def against(result: Truncation, measure: int, axis: Axes) -> Axes:
    """Systems by X and X' of one measure; lines join those that change places, and the plainest pair has names."""
    x, y = result.means[:, :, measure]
    pairs = inverted(x, y)
    moved = np.zeros(len(x), bool)
    moved[[run for pair in pairs for run in pair]] = True
    ends = [min(x.min(), y.min()), max(x.max(), y.max())]
    axis.plot(ends, ends, color=GREY, linestyle=":", linewidth=0.8, zorder=1)
    for a, b in pairs:
        axis.plot(x[[a, b]], y[[a, b]], color=ORANGE, linewidth=0.5, alpha=0.6, zorder=2)
    axis.plot(x[~moved], y[~moved], "o", color=BLUE, markersize=3, zorder=3, label="keeps its place")
    hollow: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": ORANGE, "markeredgewidth": 0.9}
    axis.plot(x[moved], y[moved], "D", markersize=3.2, zorder=3, label="changes places with another", **hollow)
    if pairs:
        a, b = max(pairs, key=lambda pair: (x[pair[0]] - x[pair[1]]) * (y[pair[1]] - y[pair[0]]))
        for run, (dx, side), level in ((a, (5, "left"), "top"), (b, (-5, "right"), "bottom")):
            axis.annotate(
                result.runs[run],
                (x[run], y[run]),
                (dx, -3 if level == "top" else 3),
                textcoords="offset points",
                ha=side,
                va=level,
            )
    axis.set_xlabel(result.measures[measure])
    axis.set_ylabel(result.forms[measure])
    axis.set_title(f"τ-b = {result.agreement(measure).tau_b:.3f}, {len(pairs)} inverted", loc="left")
    axis.margins(0.12)
    if measure == 0:
        axis.legend(loc="upper left")
    return axis


def shift(result: Truncation) -> Figure:
    """What the transformation does to each system, a panel for each measure (Figure 3)."""
    figure, axes = panels(len(result.measures), 2, 2.6)
    for m, axis in enumerate(axes):
        arrows(result, m, axis)
    return figure


def arrows(result: Truncation, measure: int, axis: Axes) -> Axes:
    """From (share of short lists, X) before to (share of short lists, X') after, for the best systems."""
    x, y = result.means[:, :, measure]
    best = np.argsort(-np.maximum(x, y), kind="stable")[:SYSTEMS]
    before, after = 100 * result.short
    for run in best:
        same = abs(y[run] - x[run]) <= SAME
        colour = BLACK if same else GREEN if y[run] > x[run] else ORANGE
        axis.annotate(
            "",
            (after[run], y[run]),
            (before[run], x[run]),
            arrowprops={"arrowstyle": "->", "color": colour, "linewidth": 0.7, "shrinkA": 2, "shrinkB": 1},
        )
        axis.plot(before[run], x[run], "o", markersize=3, markerfacecolor="white", markeredgecolor=colour, zorder=3)
        axis.plot(after[run], y[run], "o", markersize=3, color=colour, zorder=3)
    for label, face in ((f"{result.measures[measure]}, before", "white"), (f"{result.forms[measure]}, after", BLACK)):
        axis.plot([], [], "o", markersize=3, markerfacecolor=face, markeredgecolor=BLACK, label=label)
    axis.set_xlim(-4, 104)
    axis.margins(y=0.2)
    axis.set_xlabel(f"lists with fewer than {result.longest} answers (%)")
    axis.set_ylabel("mean score")
    axis.legend(loc="best")
    if len(result.runs) > SYSTEMS:
        axis.set_title(f"the best {SYSTEMS} systems", loc="left")
    return axis
