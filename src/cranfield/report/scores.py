"""Scores as they show themselves: tables of means, those with predicted judgments, notes, and figures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.data import Floats
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.notes import summarised
from cranfield.evaluation.predicted import PredictedMean
from cranfield.evaluation.scores import Interval, ScoreColumn, Scores, ScoreTable
from cranfield.report import canvas
from cranfield.report.pages import Page, sheet, write
from cranfield.report.sheet import Cell, Layout, below, interval, shown, signed
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
    return [Page("", sheet, below(scores)), *predicted_pages(getattr(scores, "predicted", ()))]


def notes(result: ScoreTable | ScoreColumn | Evaluation) -> list[str]:
    """The notes on scores and on those with predictions; those of one column are with all scores."""
    if isinstance(result, ScoreColumn):
        return []
    scores = _scores_of(result)
    return [*summarised(scores.notes)[0], *predicted_notes(getattr(scores, "predicted", ()))]


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


# Means and differences from human and predicted judgments: tables with three lines for each.

FEW_HUMAN = {"fixed": 20, "loo": 15}  # queries below which intervals cover too little, by inference
PREDICTED_LINES = {"human": "humans only", "predicted": "predictions only", "both": "both together"}


def predicted_pages(means: Sequence[PredictedMean], digits: int = 4) -> list[Page]:
    """A table for each measure: humans only, predictions only, and both together, with 95% intervals."""
    # Of some measures, not even the human line says anything.
    names = dict.fromkeys(mean.measure for mean in means if not (mean.reason and math.isnan(mean.human.estimate)))
    return [_predicted_page(name, [mean for mean in means if mean.measure == name], digits) for name in names]


def predicted_text(means: Sequence[PredictedMean], format: str, digits: int, *, width: int, colour: bool) -> str:
    """The tables as text after a table of scores; nothing for formats that hold one table only, or everything."""
    if format in ("json", "csv", "trec"):
        return ""
    return "\n" + write(predicted_pages(means, digits), {}, format, width=width, colour=colour)


def _predicted_page(measure: str, means: Sequence[PredictedMean], digits: int) -> Page:
    differences = bool(means[0].other)
    rows = []
    for mean in means:
        for kind, line in PREDICTED_LINES.items():
            predicted = getattr(mean, kind)
            limits = interval(predicted.low, predicted.high, digits, shown)
            p = "" if math.isnan(predicted.p_value) or not limits else f"{predicted.p_value:.4f}"
            equivalent = (mean.worth_queries, mean.worth_judgments) if kind == "both" else (math.nan, math.nan)
            texts = [
                (signed if differences else shown)(predicted.estimate, digits),
                *(limits, str(predicted.queries), *([p] if differences else [])),
                *("" if math.isnan(x) else f"{x:+,.0f}" for x in equivalent),
            ]
            who = (mean.run, mean.other) if differences else (mean.run,)
            rows.append(((*(name if kind == "human" else "" for name in who), line), [*map(Cell, texts)]))
    names = ("run", "versus", "judgments") if differences else ("run", "judgments")
    columns = ("95% interval", "queries", *(("p",) if differences else ()), "worth\nqueries", "\njudgments")
    heads = ("difference" if differences else "mean", *columns)
    return Page(f"{measure}: human and predicted judgments", sheet(names, heads, rows))


def predicted_notes(means: Sequence[PredictedMean]) -> Iterator[str]:
    """Why some measures or pairs have no estimate, and what the intervals are."""
    texts = (f"{mean.measure}: {mean.reason}" if mean.other else mean.reason for mean in means if mean.reason)
    reasons = Counter(texts)
    for reason, count in reasons.items():
        yield reason if count == 1 else f"{reason} ({plural(count, 'time')})"
    if any(not mean.reason for mean in means):
        method = "fixed" if any(mean.both.method == "fixed" for mean in means) else "loo"
        yield (
            "predictions: intervals are for this query set only, of which the human queries are a random sample"
            if method == "fixed"
            else "predictions: intervals are for new queries of this kind; the human queries must be chosen at random"
        )
        if min(mean.both.human for mean in means if not mean.reason) < FEW_HUMAN[method]:
            yield (
                f"predictions: with fewer than {FEW_HUMAN[method]} human queries, intervals of measures with few "
                "values, such as P@1 and RR, may be too short"
                + ("; those of inference=loo are longer" if method == "fixed" else "")
            )
