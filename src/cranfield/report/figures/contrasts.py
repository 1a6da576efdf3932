"""Queries on which runs differ, as a figure."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cranfield.analysis.per_query import PerQueryScores
from cranfield.report.figures.canvas import BLUE, COLUMN, GREY, ORANGE, PAGE, ink, new_figure, plotted_axes, save
from cranfield.wording import decodable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMED = 80  # the largest number of queries whose names are legible
LETTERS = 80  # of all names together that fit side by side


def figures(found: PerQueryScores, folder: str) -> list[Path]:
    """Draw the queries, in their given order, into a folder."""
    return save(partial(draw, found), folder, f"queries-{found.measure}")


def draw(found: PerQueryScores) -> Figure:
    """Two runs as bars of their difference; more as the range from the lowest to the highest, with the mean."""
    figure = new_figure(PAGE, 2.4)
    draw_queries(figure.subplots(), found)
    return figure


def plot(found: PerQueryScores, ax: Axes | None) -> Axes:
    """The queries on these axes or on new ones."""
    width = PAGE if len(found.queries) > NAMED / 2 else 1.5 * COLUMN
    return plotted_axes(lambda axis: draw_queries(axis, found), width, 2.4, ax)


def draw_queries(axis: Axes, found: PerQueryScores) -> Axes:
    """Bars of the difference of two runs, or the range of several runs with their mean."""
    place = np.arange(len(found.queries))
    if len(found.runs) == 2:
        gap = found.difference
        axis.bar(place, gap, color=np.where(gap > 0, BLUE, ORANGE), width=0.85)
        axis.axhline(0, color=ink(axis), linewidth=0.5)
        axis.set_ylabel(f"{found.measure}: difference")
        axis.set_title(f"{found.runs[0]} minus {found.runs[1]}")
    else:
        axis.vlines(place, found.values.min(axis=0), found.values.max(axis=0), color=GREY, linewidth=1)
        axis.plot(place, found.mean, "o", color=BLUE, markersize=2.5, label="mean of all runs")
        axis.set_ylabel(f"{found.measure} of {len(found.runs)} runs")
        axis.legend(loc="upper left")
    axis.set_xlim(-0.7, len(place) - 0.3)
    if len(place) <= NAMED:
        names = [decodable(query) for query in found.queries]
        upright = len(" ".join(names)) > LETTERS
        size = min(7, 420 / len(place))
        axis.set_xticks(place, names, parse_math=False, rotation=90 if upright else 0, fontsize=size)
    else:
        axis.set_xticks([])
        axis.set_xlabel(f"{len(place)} queries")
    return axis
