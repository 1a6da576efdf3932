"""The figures of the study `stopping`: scores by threshold and by depth, a figure per run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from cranfield.data import Floats
from cranfield.report.figures.canvas import BLUE, GREY, ORANGE, SKY, Drawings, panels
from cranfield.studies.stopping.experiment import Curve, CutResult, Stopping
from cranfield.studies.stopping.tables import threshold

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TICKS = 6


def drawings(result: Stopping) -> Drawings:
    """A figure for each run: a row per measure, thresholds on the left, depths on the right."""
    return {f"stopping-{run}": partial(draw, [c for c in result.results if c.run == run]) for run in result.runs}


def draw(cuts: list[CutResult]) -> Figure:
    """All measures of one run."""
    figure, axes = panels(2 * len(cuts), 2, 2.1)
    for i, cut in enumerate(cuts):
        draw_by_threshold(cut, axes[2 * i])
        draw_by_depth(cut, axes[2 * i + 1])
        axes[2 * i + 1].sharey(axes[2 * i])
    figure.suptitle(cuts[0].run, fontsize=8)
    return figure


def draw_by_threshold(cut: CutResult, axis: Axes) -> Axes:
    """The mean score by threshold.

    The axis is scaled by the mean number of documents kept, because scores are spread unevenly; its ticks are
    thresholds.
    """
    curve = cut.by_threshold

    def documents_kept(score: float) -> float:
        return float(np.interp(-score, -curve.at, curve.kept))

    _draw_curve(curve.kept, curve, cut, axis)
    if np.isfinite(cut.threshold):
        mark = f"best: {cut.threshold_score:.3f} at {threshold(cut.threshold)}"
        axis.plot(
            documents_kept(cut.threshold), cut.threshold_score, "o", color=ORANGE, markersize=3.5, label=mark, zorder=4
        )
        axis.axvline(documents_kept(cut.threshold), color=ORANGE, linewidth=0.8, linestyle="--")
    else:
        axis.plot([], [], " ", label=f"best: {threshold(cut.threshold)}")
    low, _, high = cut.splits.percentiles(cut.splits.threshold)
    if low < high:
        span = (documents_kept(end) for end in (high, low))
        label = f"90% of splits: {threshold(low)} to {threshold(high)}"
        axis.axvspan(*span, color=ORANGE, alpha=0.12, linewidth=0, label=label)
    axis.set_xscale("log")
    spaced = np.geomspace(curve.kept[0], curve.kept[-1], TICKS)
    ticks = np.unique(np.abs(np.log(curve.kept) - np.log(spaced)[:, None]).argmin(axis=1))
    axis.set_xticks(curve.kept[ticks], [f"{threshold(curve.at[i])}\n({curve.kept[i]:.3g})" for i in ticks])
    axis.minorticks_off()
    axis.set_xlabel("threshold (mean list length)")
    axis.legend(loc="best")
    return axis


def draw_by_depth(cut: CutResult, axis: Axes) -> Axes:
    """The mean score if all lists are cut at one depth."""
    _draw_curve(cut.by_depth.at, cut.by_depth, cut, axis)
    axis.axhline(cut.oracle, color=BLUE, linewidth=0.8, linestyle="-.", label=f"best depth per list: {cut.oracle:.3f}")
    mark = f"best: {cut.depth_score:.3f} at {cut.depth}"
    axis.plot(cut.depth, cut.depth_score, "o", color=ORANGE, markersize=3.5, label=mark, zorder=4)
    axis.set_xlabel("depth (documents kept per list)")
    axis.legend(loc="best")
    return axis


def _draw_curve(x: Floats, curve: Curve, cut: CutResult, axis: Axes) -> None:
    """The mean over queries with its confidence interval, and the score of the uncut lists."""
    axis.fill_between(x, curve.low, curve.high, color=SKY, alpha=0.3, linewidth=0)
    axis.plot(x, curve.mean, color=BLUE)
    axis.axhline(cut.uncut, color=GREY, linewidth=0.8, linestyle=":", label=f"uncut: {cut.uncut:.3f}")
    axis.set_ylabel(cut.measure.replace("[", "\n[", 1))
    axis.margins(x=0.02)
