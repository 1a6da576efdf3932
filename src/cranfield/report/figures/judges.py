"""Two leaderboards side by side: runs by humans and by a judge, joined by lines."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cranfield.analysis.judges import JudgeReport, MeasureAgreement
from cranfield.report.figures.canvas import BLUE, COLUMN, GREY, ORANGE, new_figure, plain, plotted_axes, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LARGEST = 60  # runs whose names are legible


def figures(report: JudgeReport, folder: str) -> list[Path]:
    """A figure for each measure."""
    files = []
    for one in report.measures:
        files += save(partial(draw, report, one), folder, f"judges-{report.judge}-{one.measure}")
    return files


def draw(report: JudgeReport, one: MeasureAgreement) -> Figure:
    """Places by humans on the left, by the judge on the right; runs of the judge's family in orange."""
    figure = new_figure(COLUMN * 1.3, height(report))
    draw_places(figure.subplots(), report, one)
    return figure


def height(report: JudgeReport) -> float:
    """The height of the figure in inches."""
    return max(2.0, 0.14 * len(report.runs) + 0.8)


def plot(report: JudgeReport, one: MeasureAgreement, ax: Axes | None) -> Axes:
    """One measure on these axes or on new ones."""
    return plotted_axes(lambda axis: draw_places(axis, report, one), COLUMN * 1.3, height(report), ax)


def draw_places(axis: Axes, report: JudgeReport, one: MeasureAgreement) -> Axes:
    """A line for each run, from its place by humans to its place by the judge."""
    count = len(report.runs)
    left, right = (
        np.argsort(np.argsort(-x, kind="stable"), kind="stable") + 1 for x in (one.order.human, one.order.judge)
    )
    size = 7 if count <= 30 else 5
    for r, run in enumerate(report.runs):
        colour = ORANGE if run in report.family else BLUE if left[r] != right[r] else GREY
        axis.plot([0, 1], [left[r], right[r]], color=colour, marker="o", markersize=2.5)
        if count <= LARGEST:
            axis.text(-0.04, left[r], plain(run, 24), ha="right", va="center", fontsize=size)
            axis.text(1.04, right[r], plain(run, 24), ha="left", va="center", fontsize=size)
    axis.set_ylim(count + 0.7, 0.3)
    axis.set_xlim(-0.9, 1.9)
    axis.set_xticks([0, 1], ["humans", plain(report.judge, 16)])
    axis.set_yticks([])
    for side in ("left", "bottom"):
        axis.spines[side].set_visible(False)
    axis.set_title(f"{one.measure}, τ = {one.order.tau_a:.2f}")
    return axis
