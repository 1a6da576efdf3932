"""Differences between runs as figures: against a baseline with their intervals, or all pairs as a matrix."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cranfield.analysis.compare import Comparison
from cranfield.report.figures.canvas import BLACK, BLUE, COLUMN, GREY, PAGE, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(found: Comparison, folder: str) -> list[Path]:
    """Draw a figure for each measure into a folder."""
    draw = matrix if found.baseline is None else forest
    return [
        path
        for m, measure in enumerate(found.measures)
        for path in save(partial(draw, found, m), folder, f"compare-{measure}")
    ]


def forest(found: Comparison, m: int) -> Figure:
    """The difference of each run from the baseline with its interval, best first; filled if significant."""
    from matplotlib.figure import Figure

    order = np.argsort(found.difference[m], kind="stable")
    figure = Figure(figsize=(COLUMN, 0.5 + 0.16 * max(len(order), 3)), layout="constrained")
    axis = figure.subplots()
    for place, pair in enumerate(order.tolist()):
        one = found.contest(m, pair)
        colour = BLUE if one.significant else GREY
        axis.plot([one.low, one.high], [place, place], color=colour)
        axis.plot(
            one.difference, place, "o", color=colour, markersize=3.5, fillstyle="full" if one.significant else "none"
        )
    axis.axvline(0, color=BLACK, linewidth=0.5)
    axis.set_yticks(range(len(order)), [found.runs[found.pairs[pair, 0]] for pair in order])
    axis.set_ylim(-0.6, len(order) - 0.4)
    axis.set_xlabel(f"{found.measures[m]}: difference from {found.baseline}")
    return figure


def matrix(found: Comparison, m: int) -> Figure:
    """Row minus column, best runs first; coloured if significant, with a dot if ties or judgments could reverse it."""
    from matplotlib.figure import Figure

    order = np.argsort(-found.means[m], kind="stable")
    place = np.argsort(order)
    gaps = np.full((len(order), len(order)), np.nan)
    doubtful = []
    for pair in range(len(found.pairs)):
        one = found.contest(m, pair)
        a, b = place[found.pairs[pair]].tolist()
        if one.significant:
            gaps[a, b], gaps[b, a] = one.difference, -one.difference
            doubtful += [(b, a), (a, b)] if one.doubts else []
    size = float(np.clip(0.16 * len(order) + 1.4, COLUMN, PAGE))
    figure = Figure(figsize=(size, size * 0.92), layout="constrained")
    axis = figure.subplots()
    most = float(np.nanmax(np.abs(gaps))) if np.isfinite(gaps).any() else 1.0
    image = axis.imshow(np.ma.masked_invalid(gaps), cmap="PuOr", vmin=-most, vmax=most)
    if doubtful:
        axis.plot(*zip(*doubtful, strict=True), ".", color=BLACK, markersize=1.5)
    names = [found.runs[r] for r in order]
    small = min(7.0, 260 / len(names))
    axis.set_xticks(range(len(names)), names, rotation=90, fontsize=small)
    axis.set_yticks(range(len(names)), names, fontsize=small)
    axis.tick_params(length=0)
    bar = figure.colorbar(image, ax=axis, shrink=0.6, pad=0.02, aspect=25)
    bar.set_label(f"{found.measures[m]}: row minus column")
    bar.outline.set_visible(False)
    return figure
