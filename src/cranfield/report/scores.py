"""Scores as they show themselves: the table of means, notes, and figures of the means and of curves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.data import Floats
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.notes import summarised
from cranfield.evaluation.scores import Interval, ScoreColumn, Scores, ScoreTable
from cranfield.report import canvas, predicted
from cranfield.report.pages import Page
from cranfield.report.sheet import Layout, below
from cranfield.settings import Choice, check
from cranfield.wording import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (canvas.BLUE, canvas.ORANGE, canvas.GREEN, canvas.SKY)
LINES = ("-", "--", "-.", ":")
CURVES = {"recall": ("recall", "precision"), "gain": ("k", "nDCG@k")}  # the names of their axes


def pages(result: ScoreTable | ScoreColumn | Evaluation) -> list[Page]:
    """The table of means, best run first, and those with predictions."""
    scores = _scores_of(result)
    sheet = Layout().sheet(scores._of_runs(scores._order()) if scores.columns else scores)
    return [Page("", sheet, below(scores)), *predicted.pages(getattr(scores, "predicted", ()))]


def notes(result: ScoreTable | ScoreColumn | Evaluation) -> list[str]:
    """The notes on scores and on those with predictions; those of one column are with all scores."""
    if isinstance(result, ScoreColumn):
        return []
    scores = _scores_of(result)
    return [*summarised(scores.notes)[0], *predicted.notes(getattr(scores, "predicted", ()))]


def _scores_of(result: ScoreTable | ScoreColumn | Evaluation) -> ScoreTable:
    if isinstance(result, ScoreColumn):
        return result.scores._of_columns([result._column])
    return result.scores if isinstance(result, Evaluation) else result


def drawings(scores: Scores, evaluation: Evaluation | None, seed: int) -> canvas.Drawings:
    """The means of each measure with their BCa intervals; and curves, if there are rankings."""
    figures: canvas.Drawings = {} if evaluation is None else {"curves": partial(curves, evaluation)}
    means = (means_panel(scores, m, top=None, interval="bca", seed=seed) for m in range(len(scores.measures)))
    return figures | {f"means-{measure}": panel for measure, panel in zip(scores.measures, means, strict=True)}


def panel(result: Scores | Evaluation, **options: Any) -> canvas.Panel:
    """The means of scores, or a curve of an evaluation."""
    if isinstance(result, Evaluation):
        check(Choice(tuple(CURVES)), "curve", options["curve"])
        return canvas.Panel(partial(draw_curve, evaluation=result, name=options["curve"]), 1.3 * canvas.COLUMN, 2.8)
    return means_panel(result, **options)


def means_panel(scores: Scores, m: int, *, top: int | None, interval: Interval, seed: int = 0) -> canvas.Panel:
    """The means of the best runs with their intervals."""
    rows = scores._order(scores.measures[m])[:top]
    low, high = np.array([scores._interval(r, m, method=interval, seed=seed) for r in rows]).reshape(-1, 2).T
    label = scores.measures[m]
    if len(rows) < len(scores.runs):
        label += f", the best {len(rows)} of {len(scores.runs)} runs"
    runs = [scores.runs[r] for r in rows]
    draw = partial(draw_means, runs=runs, mean=scores._means[rows, m], low=low, high=high, label=label)
    return canvas.Panel(draw, 1.3 * canvas.COLUMN, 0.5 + 0.14 * max(len(rows), 4))


def draw_means(axis: Axes, runs: Sequence[str], mean: Floats, low: Floats, high: Floats, label: str) -> Axes:
    """Means of runs, best first, as points with their intervals."""
    places = range(len(runs))[::-1]
    axis.hlines(places, low, high, color=canvas.GREY)
    axis.plot(mean, places, "o", color=canvas.BLUE, markersize=3)
    canvas.name_rows(axis, runs[::-1])
    axis.set_xlabel(label)
    axis.grid(axis="x", color=canvas.GREY, alpha=0.3, linewidth=0.4)
    axis.set_axisbelow(True)
    return axis


def curves(evaluation: Evaluation) -> Figure:
    """Precision by recall, and nDCG by cutoff."""
    figure = canvas.new_figure(canvas.PAGE, 2.4)
    for axis, name in zip(figure.subplots(1, 2), CURVES, strict=True):
        draw_curve(axis, evaluation, name)
    return figure


def draw_curve(axis: Axes, evaluation: Evaluation, name: str) -> Axes:
    """Precision by recall (``recall``) or nDCG by cutoff (``gain``): the best four runs are coloured and named."""
    from cranfield.report.html import CUTS, POINTS, RECALL

    part = slice(len(RECALL)) if name == "recall" else slice(len(RECALL), None)
    x, measures = (*RECALL, *CUTS)[part], POINTS[part]
    # Precision at a recall level has no terminal form.
    scores = evaluation.remember(
        ("curve", name), lambda: evaluation.scores_of(measures, terminal=False, full_length=None)
    )
    for position, r in reversed([*enumerate(evaluation.scores._order())]):
        style: dict[str, Any] = {"color": canvas.GREY, "linewidth": 0.4, "alpha": 0.6}
        if position < len(COLOURS):
            style = {"color": COLOURS[position], "linestyle": LINES[position], "label": evaluation.runs[r]}
        axis.plot(x, scores._means[r], **style)
    axis.set_xlabel(CURVES[name][0])
    axis.set_ylabel(CURVES[name][1])
    axis.set_ylim(0, None)
    if name == "gain":
        axis.set_xscale("log")
        axis.set_xticks(x, [f"{k:g}" for k in x])
        axis.minorticks_off()
    handles, labels = axis.get_legend_handles_labels()
    if (others := len(evaluation.runs) - len(labels)) > 0:
        handles, labels = [*axis.lines[:1], *handles], [plural(others, "other run"), *labels]
    axis.legend(handles[::-1], labels[::-1])
    return axis
