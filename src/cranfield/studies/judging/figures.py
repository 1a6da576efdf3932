"""The figures of the study of judging."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cranfield.report.figures.canvas import BLACK, BLUE, GREEN, GREY, ORANGE, PAGE, PURPLE, SKY, Drawings, new_figure
from cranfield.studies.judging.coverage import LIKE, THESE
from cranfield.studies.judging.experiment import Judging

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = (BLACK, BLUE, ORANGE, SKY, GREEN, PURPLE, GREY)
MARKS = "os^Dv<x"


def drawings(result: Judging) -> Drawings:
    """The order of systems by budget, and the coverage of intervals."""
    return {"judging-budgets": partial(draw_budgets, result), "judging-coverage": partial(draw_coverage, result)}


def draw_budgets(result: Judging) -> Figure:
    """τ and the share of significant pairs found after each budget."""
    figure = new_figure(PAGE, 2.6)
    axes = figure.subplots(1, 2)
    for axis, part, label in zip(axes, ("tau", "found"), ("τ-a", "share of significant pairs"), strict=True):
        for one, colour, mark in zip(result.strategies, COLOURS, MARKS, strict=False):
            values = getattr(one, part)
            axis.plot(result.settings.budgets, values, color=colour, marker=mark, markersize=3, label=one.strategy)
        axis.axhline(result.settings.threshold, color=GREY, linewidth=0.5, linestyle=":")
        axis.set_xlabel("judgments per query")
        axis.set_ylabel(label)
    lines, labels = axes[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def draw_coverage(result: Judging) -> Figure:
    """Coverage against mean width of each interval, for each judge."""
    subjects = list(dict.fromkeys(one.subject for one in result.coverage))
    figure = new_figure(PAGE, 2.8)
    axes = figure.subplots(1, len(subjects), squeeze=False)[0]
    judges = list(dict.fromkeys(one.judge for one in result.coverage))
    for axis, subject in zip(axes, subjects, strict=True):
        for method, colour in zip((*LIKE, *THESE), COLOURS, strict=True):
            for judge, mark in zip(judges, "os^", strict=False):
                one = next(
                    one for one in result.coverage if (one.subject, one.method, one.judge) == (subject, method, judge)
                )
                label = method if judge == judges[0] else None
                axis.plot([one.width], [one.coverage], mark, color=colour, markersize=4, label=label)
        axis.axhline(0.95, color=GREY, linewidth=0.5, linestyle=":")
        axis.set_title(subject)
        axis.set_xlabel("mean width")
        axis.set_ylabel("coverage")
    lines, labels = axes[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure
