"""The figures of the study `truncation`, as in *Quit While Ahead*: list lengths, agreement, and shifts of scores."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.report.figures.canvas import BLACK, BLUE, COLUMN, GREEN, GREY, ORANGE, SKY, Drawings, new_figure, panels
from cranfield.statistics.correlation import swapped_pairs
from cranfield.statistics.rounding import SAME
from cranfield.studies.truncation.experiment import Truncation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BARS = 25  # the most list lengths that are drawn as separate bars
SYSTEMS = 20  # the most systems that are drawn as arrows


def drawings(result: Truncation) -> Drawings:
    """Lengths of lists, scores and shifts."""
    draw: Drawings = {"truncation-lengths": partial(length_figure, result)}
    if result.paired:  # a measure without a terminal form is in neither
        draw |= {"truncation-scores": partial(score_figure, result), "truncation-shift": partial(shift_figure, result)}
    return draw


def length_figure(result: Truncation) -> Figure:
    """The distribution of list lengths, before and after the transformation (Figure 1)."""
    figure = new_figure(COLUMN, 2.0)
    draw_histogram(result, figure.subplots())
    return figure


def draw_histogram(result: Truncation, axis: Axes) -> Axes:
    """The number of lists by length: bars for each length, or outlines if there are many lengths."""
    from matplotlib.ticker import MaxNLocator

    counts = np.zeros((result.longest + 1, 2))
    for length, numbers in result.histogram.items():
        counts[length] = numbers
    x = np.arange(len(counts))
    styles = [("before: NIL is an item", "white", SKY), ("after: NIL ends the list", BLUE, BLUE)]
    if result.nil is None:
        styles, counts = [("lists", "white", SKY)], counts[:, :1]
    for i, (label, face, edge) in enumerate(styles):
        if len(x) <= BARS:
            bars: dict[str, Any] = {"facecolor": face, "edgecolor": edge, "linewidth": 0.8, "label": label}
            axis.bar(x + (i - (len(styles) - 1) / 2) * 0.4, counts[:, i], 0.36, **bars)
        else:
            line: dict[str, Any] = {"linewidth": (2.0, 0.8)[i], "label": label, "color": edge}
            axis.hist(x, np.linspace(0, len(x), BARS + 1).tolist(), weights=counts[:, i], histtype="step", **line)
    if len(x) <= BARS:
        axis.set_xticks(x[:: 1 + len(x) // 12])
    axis.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axis.set_xlabel("answers per list")
    axis.set_ylabel("lists")
    axis.margins(y=0.25)
    axis.legend(loc="upper left")
    return axis


def score_figure(result: Truncation) -> Figure:
    """Systems by X and X', a panel per measure (Figure 2)."""
    figure, axes = panels(len(result.paired), 2, 2.9)
    for m, axis in zip(result.paired, axes, strict=True):
        draw_scores(result, m, axis)
    return figure


def draw_scores(result: Truncation, measure: int, axis: Axes) -> Axes:
    """Systems by X and X' of one measure; lines join swapped pairs, and the most distinct pair is labelled."""
    x, y = result.means[:, :, measure]
    pairs = swapped_pairs(x, y)
    moved = np.zeros(len(x), bool)
    moved[[run for pair in pairs for run in pair]] = True
    ends = [min(x.min(), y.min()), max(x.max(), y.max())]
    axis.plot(ends, ends, color=GREY, linestyle=":", linewidth=0.8, zorder=1)
    for a, b in pairs:
        axis.plot(x[[a, b]], y[[a, b]], color=ORANGE, linewidth=0.5, alpha=0.6, zorder=2)
    axis.plot(x[~moved], y[~moved], "o", color=BLUE, markersize=3, zorder=3, label="in no swapped pair")
    hollow: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": ORANGE, "markeredgewidth": 0.9}
    axis.plot(x[moved], y[moved], "D", markersize=3.2, zorder=3, label="in a swapped pair", **hollow)
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
    axis.set_ylabel(result.terminal_measures[measure])
    axis.set_title(f"τ-b = {result.agreement(measure).tau_b:.3f}, {len(pairs)} swapped", loc="left")
    axis.margins(0.12)
    if measure == result.paired[0]:
        axis.legend(loc="upper left")
    return axis


def shift_figure(result: Truncation) -> Figure:
    """The change of each system, a panel per measure (Figure 3)."""
    figure, axes = panels(len(result.paired), 2, 2.6)
    for m, axis in zip(result.paired, axes, strict=True):
        draw_shifts(result, m, axis)
    return figure


def draw_shifts(result: Truncation, measure: int, axis: Axes) -> Axes:
    """Arrows from (share of short lists, X) to (share of short lists, X'), for the best systems."""
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
    for label, face in (
        (f"{result.measures[measure]}, before", "white"),
        (f"{result.terminal_measures[measure]}, after", BLACK),
    ):
        axis.plot([], [], "o", markersize=3, markerfacecolor=face, markeredgecolor=BLACK, label=label)
    axis.set_xlim(-4, 104)
    axis.margins(y=0.2)
    axis.set_xlabel(f"lists with fewer than {result.longest} answers (%)")
    axis.set_ylabel("mean score")
    axis.legend(loc="best")
    if len(result.runs) > SYSTEMS:
        axis.set_title(f"the best {SYSTEMS} systems", loc="left")
    return axis
