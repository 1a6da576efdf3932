"""The overview of runs as figures: the means of all runs with their intervals, and curves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.data import Floats
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.scores import Interval, Scores
from cranfield.report import canvas
from cranfield.settings import Choice, check
from cranfield.wording import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (canvas.BLUE, canvas.ORANGE, canvas.GREEN, canvas.SKY)
LINES = ("-", "--", "-.", ":")
CURVES = {"recall": ("recall", "precision"), "gain": ("k", "nDCG@k")}  # the names of their axes


def drawings(data: dict[str, Any]) -> canvas.Drawings:
    """The figures of the data from `report.html`."""
    figures: canvas.Drawings = {} if data["curves"] is None else {"curves": partial(curves, data)}
    return figures | {f"means-{measure}": means(data, m) for m, measure in enumerate(data["measures"])}


def means(data: dict[str, Any], m: int) -> canvas.Panel:
    """The mean of each run with its 95% confidence interval, best on top."""
    mean, low, high = (np.array([row[m] for row in data[name]], float) for name in ("means", "low", "high"))
    return _means_panel(data["runs"], mean, low, high, data["measures"][m], data["signs"][m])


def _means_panel(runs: Sequence[str], mean: Floats, low: Floats, high: Floats, label: str, sign: int) -> canvas.Panel:
    draw = partial(draw_means, runs=runs, mean=mean, low=low, high=high, label=label, sign=sign)
    return canvas.Panel(draw, 1.3 * canvas.COLUMN, 0.5 + 0.14 * max(len(mean), 4))


def draw_means(
    axis: Axes, runs: Sequence[str], mean: Floats, low: Floats, high: Floats, label: str, sign: int = 1
) -> Axes:
    """Means as points with their intervals, best on top; ``sign`` is -1 if lower means are better."""
    order = np.argsort(-np.nan_to_num(sign * mean, nan=-np.inf), kind="stable")[::-1]
    axis.hlines(range(len(order)), low[order], high[order], color=canvas.GREY)
    axis.plot(mean[order], range(len(order)), "o", color=canvas.BLUE, markersize=3)
    canvas.name_rows(axis, [runs[r] for r in order])
    axis.set_xlabel(label)
    axis.grid(axis="x", color=canvas.GREY, alpha=0.3, linewidth=0.4)
    axis.set_axisbelow(True)
    return axis


def means_panel(scores: Scores, m: int, *, top: int | None, interval: Interval) -> canvas.Panel:
    """The means of the best runs, computed with their intervals."""
    rows = scores._order(scores.measures[m])[:top]
    low, high = np.array([scores._interval(r, m, method=interval) for r in rows]).reshape(-1, 2).T
    label = scores.measures[m]
    if len(rows) < len(scores.runs):
        label += f", the best {len(rows)} of {len(scores.runs)} runs"

    sign = -1 if scores.columns[m].lower_is_better else 1
    return _means_panel([scores.runs[r] for r in rows], scores._means[rows, m], low, high, label, sign)


def curves(data: dict[str, Any]) -> Figure:
    """Precision by recall, and nDCG by cutoff; the best four runs in colour."""
    figure = canvas.new_figure(canvas.PAGE, 2.4)
    first = np.array([row[0] for row in data["means"]], float) * data["signs"][0]
    order = np.argsort(-np.nan_to_num(first, nan=-np.inf), kind="stable").tolist()
    for axis, name in zip(figure.subplots(1, 2), CURVES, strict=True):
        curve = data["curves"][name]
        draw_curve(axis, name, curve["x"], np.array(curve["y"], float)[order], [data["runs"][r] for r in order])
    return figure


def draw_curve(axis: Axes, name: str, x: Sequence[float], values: Floats, runs: Sequence[str]) -> Axes:
    """A line for each run, best run first; the first four are coloured and named."""
    for r in reversed(range(len(runs))):
        style: dict[str, Any] = {"color": canvas.GREY, "linewidth": 0.4, "alpha": 0.6}
        if r < len(COLOURS):
            style = {"color": COLOURS[r], "linestyle": LINES[r], "label": runs[r]}
        axis.plot(x, values[r], **style)
    axis.set_xlabel(CURVES[name][0])
    axis.set_ylabel(CURVES[name][1])
    axis.set_ylim(0, None)
    if name == "gain":
        axis.set_xscale("log")
        axis.set_xticks(x, [f"{k:g}" for k in x])
        axis.minorticks_off()
    handles, labels = axis.get_legend_handles_labels()
    if (others := len(runs) - len(labels)) > 0:
        handles, labels = [*axis.lines[:1], *handles], [plural(others, "other run"), *labels]
    axis.legend(handles[::-1], labels[::-1])
    return axis


def curve_panel(evaluation: Evaluation, curve: str) -> canvas.Panel:
    """Precision by recall (``recall``) or nDCG by cutoff (``gain``) of all runs."""
    from cranfield.report.html import CUTS, POINTS, RECALL

    check(Choice(tuple(CURVES)), "curve", curve)
    part = slice(len(RECALL)) if curve == "recall" else slice(len(RECALL), None)
    x, measures = (*RECALL, *CUTS)[part], POINTS[part]
    # Precision at a recall level has no terminal form.
    scores = evaluation.remember(
        ("curve", curve), lambda: evaluation.scores_of(measures, terminal=False, full_length=None)
    )
    order = evaluation.scores._order()

    runs = [evaluation.runs[r] for r in order]
    draw = partial(draw_curve, name=curve, x=x, values=scores._means[order], runs=runs)
    return canvas.Panel(draw, 1.3 * canvas.COLUMN, 2.8)
