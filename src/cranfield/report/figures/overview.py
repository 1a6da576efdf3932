"""The overview of a report as figures: the means of all runs with their intervals, and curves."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.report.figures.canvas import BLUE, COLUMN, GREEN, GREY, ORANGE, PAGE, SKY, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = (BLUE, ORANGE, GREEN, SKY)
LINES = ("-", "--", "-.", ":")


def figures(data: dict[str, Any], folder: str) -> list[Path]:
    """Draw the data from `report.html.contents` into a folder."""
    written = save(partial(curves, data), folder, "curves")
    for m, measure in enumerate(data["measures"]):
        written += save(partial(means, data, m), folder, f"means-{measure}")
    return written


def means(data: dict[str, Any], m: int) -> Figure:
    """The mean of each run with its 95% confidence interval, best on top."""
    from matplotlib.figure import Figure

    mean, low, high = (np.array([row[m] for row in data[name]], float) for name in ("means", "low", "high"))
    order = np.argsort(np.nan_to_num(mean, nan=-np.inf), kind="stable")
    figure = Figure(figsize=(COLUMN, 0.5 + 0.14 * max(len(order), 4)), layout="constrained")
    axis = figure.subplots()
    axis.hlines(range(len(order)), low[order], high[order], color=GREY)
    axis.plot(mean[order], range(len(order)), "o", color=BLUE, markersize=3)
    axis.set_yticks(range(len(order)), [data["runs"][r] for r in order])
    axis.set_ylim(-0.6, len(order) - 0.4)
    axis.set_xlabel(data["measures"][m])
    return figure


def curves(data: dict[str, Any]) -> Figure:
    """Precision by recall, and nDCG by cutoff; the best four runs in colour."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(PAGE, 2.4), layout="constrained")
    first = np.array([row[0] for row in data["means"]], float)
    order = np.argsort(-np.nan_to_num(first, nan=-np.inf), kind="stable").tolist()
    names = {"recall": ("recall", "precision"), "gain": ("k", "nDCG@k")}
    for axis, (name, (x, y)) in zip(figure.subplots(1, 2), names.items(), strict=True):
        for place, r in reversed(list(enumerate(order))):
            values = np.array(data["curves"][name]["y"][r], float)
            front = place < len(COLOURS)
            style: dict[str, Any] = {"color": GREY, "linewidth": 0.4, "alpha": 0.6}
            if front:
                style = {"color": COLOURS[place], "linestyle": LINES[place], "label": data["runs"][r]}
            axis.plot(data["curves"][name]["x"], values, **style)
        axis.set_xlabel(x)
        axis.set_ylabel(y)
        axis.set_ylim(0, None)
    axis.set_xscale("log")
    axis.set_xticks(data["curves"]["gain"]["x"], data["curves"]["gain"]["x"])
    axis.minorticks_off()
    handles, labels = axis.get_legend_handles_labels()
    axis.legend(handles[::-1], labels[::-1])
    return figure
