"""Scores along a scale of cuts: by threshold and by depth, a figure for each run."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cranfield.data import Floats
from cranfield.report.figures.canvas import BLUE, GREY, ORANGE, SKY, panels, save
from cranfield.report.studies.stopping import threshold
from cranfield.studies.stopping import Curve, Outcome, Stopping

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TICKS = 6


def figures(result: Stopping, folder: str) -> list[Path]:
    """Draws a figure for each run into a folder: measures below each other, thresholds left, depths right."""
    written = []
    for run in dict.fromkeys(one.run for one in result.outcomes):
        mine = [one for one in result.outcomes if one.run == run]
        written += save(partial(draw, mine), folder, f"stopping-{run}")
    return written


def draw(outcomes: list[Outcome]) -> Figure:
    """All measures of one run."""
    figure, axes = panels(2 * len(outcomes), 2, 2.1)
    for i, one in enumerate(outcomes):
        by_threshold(one, axes[2 * i])
        by_depth(one, axes[2 * i + 1])
        axes[2 * i + 1].sharey(axes[2 * i])
    figure.suptitle(outcomes[0].run, fontsize=8)
    return figure


def by_threshold(one: Outcome, axis: Axes) -> Axes:
    """The mean score when documents are kept that score at least this.

    Scores crowd in places, so that the scale is how many documents are kept, and its ticks are thresholds.
    """
    curve = one.by_threshold

    def place(score: float) -> float:
        return float(np.interp(-score, -curve.at, curve.kept))

    _band(curve.kept, curve, one, axis)
    if np.isfinite(one.threshold):
        mark = f"best: {one.threshold_score:.3f} at {threshold(one.threshold)}"
        axis.plot(place(one.threshold), one.threshold_score, "o", color=ORANGE, markersize=3.5, label=mark, zorder=4)
        axis.axvline(place(one.threshold), color=ORANGE, linewidth=0.8, linestyle="--")
    else:
        axis.plot([], [], " ", label=f"best: {threshold(one.threshold)}")
    low, _, high = one.splits.spread(one.splits.threshold)
    if low < high:
        span = (place(end) for end in (high, low))
        label = f"90 % of splits: {threshold(low)} to {threshold(high)}"
        axis.axvspan(*span, color=ORANGE, alpha=0.12, linewidth=0, label=label)
    axis.set_xscale("log")
    wanted = np.geomspace(curve.kept[0], curve.kept[-1], TICKS)
    ticks = np.unique(np.abs(np.log(curve.kept) - np.log(wanted)[:, None]).argmin(axis=1))
    axis.set_xticks(curve.kept[ticks], [f"{threshold(curve.at[i])}\n({curve.kept[i]:.3g})" for i in ticks])
    axis.minorticks_off()
    axis.set_xlabel("threshold (and mean length of lists)")
    axis.legend(loc="best")
    return axis


def by_depth(one: Outcome, axis: Axes) -> Axes:
    """The mean score when all lists are cut at one depth."""
    _band(one.by_depth.at, one.by_depth, one, axis)
    axis.axhline(one.oracle, color=BLUE, linewidth=0.8, linestyle="-.", label=f"each at its best: {one.oracle:.3f}")
    mark = f"best: {one.depth_score:.3f} at {one.depth}"
    axis.plot(one.depth, one.depth_score, "o", color=ORANGE, markersize=3.5, label=mark, zorder=4)
    axis.set_xlabel("depth: documents kept of each list")
    axis.legend(loc="best")
    return axis


def _band(at: Floats, curve: Curve, one: Outcome, axis: Axes) -> None:
    """The mean over queries and its interval, beside the score of whole lists."""
    axis.fill_between(at, curve.low, curve.high, color=SKY, alpha=0.3, linewidth=0)
    axis.plot(at, curve.mean, color=BLUE)
    axis.axhline(one.uncut, color=GREY, linewidth=0.8, linestyle=":", label=f"uncut: {one.uncut:.3f}")
    axis.set_ylabel(one.measure.replace("[", "\n[", 1))
    axis.margins(x=0.02)
