"""The figures of the study `ties`: ranges of scores over random orders, sizes of tie groups, and swaps."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from cranfield.report.figures.canvas import BLACK, BLUE, COLUMN, GREY, ORANGE, SKY, Drawings, new_figure, panels
from cranfield.studies.ties.experiment import BEST, EXPECTED, QUANTILES, TREC, WORST, Ties
from cranfield.studies.ties.tie_groups import histogram_bins

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW = 0.11  # inches: the height of a run


def drawings(result: Ties) -> Drawings:
    """Ranges of scores, sizes of tie groups, and swaps, which need at least two runs."""
    draw: Drawings = {"ties-ranges": partial(range_figure, result), "ties-sizes": partial(size_figure, result)}
    return draw | ({"ties-swaps": partial(swap_figure, result)} if len(result.runs) > 1 else {})


def range_figure(result: Ties) -> Figure:
    """The scores of each run over orders of its ties, a panel per measure."""
    figure, axes = panels(len(result.measures), 2, max(1.4, 0.6 + ROW * len(result.runs)))
    for m, axis in enumerate(axes):
        draw_ranges(result, m, axis)
    lines, labels = axes[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def draw_ranges(result: Ties, measure: int, axis: Axes) -> Axes:
    """For each run: worst to best order, 90% of random orders, the expectation, and the order of trec_eval."""
    expected = result.scores[EXPECTED, measure]
    order = np.argsort(expected, kind="stable")
    y = np.arange(len(order))
    low, high = result.scores[[WORST, BEST], measure][:, order]
    axis.hlines(y, low, high, color=SKY, linewidth=0.8, label="worst to best")
    ends = result.quantiles[[QUANTILES.index(0.05), QUANTILES.index(0.95)], measure][:, order]
    axis.hlines(y, *ends, color=BLUE, linewidth=2.4, label="90% of random orders")
    axis.plot(expected[order], y, "|", color=BLACK, markersize=5, label="expected")
    trec = result.scores[TREC, measure][order]
    axis.plot(trec, y, "o", markerfacecolor="none", markeredgecolor=ORANGE, markersize=2.6, label="trec")
    axis.set_yticks(y, [result.runs[r] for r in order], fontsize=min(7, 72 * ROW))
    axis.set_xlabel(result.measures[measure])
    axis.margins(y=0.5 / max(len(y), 1))
    return axis


def size_figure(result: Ties) -> Figure:
    """The number of tie groups by size, over all runs."""
    figure = new_figure(COLUMN, 2.0)
    draw_sizes(result, figure.subplots())
    return figure


def draw_sizes(result: Ties, axis: Axes) -> Axes:
    """The histogram of the sizes of tie groups, on a logarithmic scale."""
    total = result.total
    bins = list(histogram_bins(total.largest)) or [(2, 2)]
    counts = [sum(n for size, n in total.sizes.items() if low <= size <= high) for low, high in bins]
    axis.bar(range(len(bins)), counts, 0.8, facecolor=SKY, edgecolor=BLUE, linewidth=0.8)
    axis.set_xticks(range(len(bins)), [f"{low}" if low == high else f"{low}–{high}" for low, high in bins])
    if max(counts) > 0:
        axis.set_yscale("log")
        axis.set_ylim(bottom=0.5)
    axis.set_xlabel("documents with the same score")
    axis.set_ylabel("tie groups")
    return axis


def swap_figure(result: Ties) -> Figure:
    """The probability that random orders swap two runs, a panel per measure."""
    figure, axes = panels(len(result.measures), 3, 2.4)
    for m, axis in enumerate(axes):
        draw_swaps(result, m, axis)
    image = axes[0].images[0]
    bar = figure.colorbar(image, ax=list(axes), shrink=0.6, pad=0.02, aspect=25)
    bar.set_label("probability of a swap")
    bar.outline.set_visible(False)
    return figure


def draw_swaps(result: Ties, measure: int, axis: Axes) -> Axes:
    """The probability of a swap for each pair; runs are ranked by expected score, the best first."""
    from matplotlib.ticker import MaxNLocator

    runs = len(result.runs)
    matrix = np.zeros((runs, runs))
    first, second = np.triu_indices(runs, 1)
    matrix[first, second] = matrix[second, first] = result.swap_chance[measure]
    order = np.argsort(-result.scores[EXPECTED, measure], kind="stable")
    highest = max(0.5, result.swap_chance.max(initial=0))
    axis.imshow(
        matrix[np.ix_(order, order)], cmap="Blues", vmin=0, vmax=highest, extent=(0.5, runs + 0.5, runs + 0.5, 0.5)
    )
    axis.plot((0.5, runs + 0.5), (0.5, runs + 0.5), color=GREY, linewidth=0.4)
    axis.set_title(f"{result.measures[measure]}: {len(result.swappable(measure))} pairs", fontsize=7)
    for side in (axis.xaxis, axis.yaxis):
        side.set_major_locator(MaxNLocator(4, integer=True))
    axis.set_xlabel("rank by expected score")
    return axis
