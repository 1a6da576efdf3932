"""Scores as they show themselves: the table of means, notes, and a figure, whose module is loaded when it is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.notes import summarised
from cranfield.evaluation.scores import ScoreColumn, Scores, ScoreTable
from cranfield.report import predicted
from cranfield.report.pages import Page
from cranfield.report.sheet import Layout, below

if TYPE_CHECKING:
    from cranfield.report.canvas import Panel


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


def panel(result: Scores | Evaluation, **options: Any) -> Panel:
    """The means of scores, or the curves of an evaluation."""
    from cranfield.report.overview import curve_panel, means_panel

    return curve_panel(result, **options) if isinstance(result, Evaluation) else means_panel(result, **options)
