"""Queries on which runs differ, as a figure."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cranfield.analysis.per_query import PerQueryScores
from cranfield.report.figures.canvas import BLACK, BLUE, GREY, ORANGE, PAGE, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMED = 80  # the largest number of queries whose names are legible


def figures(found: PerQueryScores, folder: str) -> list[Path]:
    """Draw the queries, in their given order, into a folder."""
    return save(partial(draw, found), folder, f"queries-{found.measure}")


def draw(found: PerQueryScores) -> Figure:
    """Two runs as bars of their difference; more as the range from the lowest to the highest, with the mean."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(PAGE, 2.4), layout="constrained")
    axis = figure.subplots()
    place = np.arange(len(found.queries))
    if len(found.runs) == 2:
        gap = found.difference
        axis.bar(place, gap, color=np.where(gap > 0, BLUE, ORANGE), width=0.85)
        axis.axhline(0, color=BLACK, linewidth=0.5)
        axis.set_ylabel(f"{found.measure}: {found.runs[0]} minus {found.runs[1]}")
    else:
        axis.vlines(place, found.values.min(axis=0), found.values.max(axis=0), color=GREY, linewidth=1)
        axis.plot(place, found.mean, "o", color=BLUE, markersize=2.5, label="mean of all runs")
        axis.set_ylabel(f"{found.measure} of {len(found.runs)} runs")
        axis.legend()
    axis.set_xlim(-0.7, len(place) - 0.3)
    if len(place) <= NAMED:
        axis.set_xticks(place, found.queries, rotation=90, fontsize=min(7, 420 / len(place)))
    else:
        axis.set_xticks([])
        axis.set_xlabel(f"{len(place)} queries")
    return figure
