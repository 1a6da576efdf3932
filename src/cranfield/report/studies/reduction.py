"""The study of reduction as tables."""

from __future__ import annotations

import numpy as np

from cranfield.data import Floats
from cranfield.report.numbers import shown
from cranfield.report.pages import Page, column, sheet
from cranfield.report.sheet import Cell
from cranfield.studies.coefficients import coefficient
from cranfield.studies.reduction import Reduction

WHAT = {
    "rates": "judgments kept at random",
    "depths": "judgments of documents that a run has among its first so many",
    "queries": "random sets of queries",
}
FULL = {"rates": "under all judgments", "depths": "under all judgments", "queries": "over all queries"}


def pages(result: Reduction, digits: int = 4) -> list[Page]:
    """Mean scores, agreement with the order under everything, and discriminative power, by what is known."""
    settings, runs = result.settings, len(result.runs)
    sign = coefficient(settings.coefficient).sign
    known = f"{WHAT[settings.by]}; below each level how many documents are judged"
    if settings.by != "depths":
        spread = f"± is the standard deviation over {settings.repeats} repetitions"
        known += f"; {spread if settings.repeats > 1 else 'one sample'}, seed {settings.seed}"
    power = (
        f"Discriminative power: the share of pairs of runs, out of {runs * (runs - 1) // 2}, that a paired bootstrap "
        f"test tells apart at {settings.alpha:g} ({settings.b} resamplings)"
    )
    agreement = f"{sign} with the order of runs {FULL[settings.by]}{significance(result, digits)}"
    return [
        _page(
            f"Mean score over {runs} runs and {result.queries} queries. {known[0].upper()}{known[1:]}",
            result,
            result.mean,
            digits,
            best=False,
        ),
        _page(agreement, result, result.agreement, digits),
        _page(power, result, result.power, digits),
    ]


def significance(result: Reduction, digits: int = 4) -> str:
    """From where on agreement is no chance, where that is known and can be."""
    test = coefficient(result.settings.coefficient).critical
    critical = 1.0 if test is None else test(len(result.runs), 0.01)
    return f" (significant at 0.01 beyond ±{shown(critical, digits)})" if critical < 1 else ""


def _page(title: str, result: Reduction, values: Floats, digits: int, *, best: bool = True) -> Page:
    middle, spread = result.summary(values)[:2]
    texts = [column(list(middle[:, level]), digits, best=best) for level in range(middle.shape[1])]
    chance = values.shape[2] > 1
    rows = []
    for m, measure in enumerate(result.measures):
        cells = []
        for level, cell in enumerate(row[m] for row in texts):
            aside = f"±{shown(spread[m, level], digits)}" if chance and level and not np.isnan(middle[m, level]) else ""
            cells.append(Cell(cell.text, cell.best, aside))
        rows.append(((measure,), cells))
    judged = result.judged.mean(axis=1)
    heads = [f"{label}\n{many:.0f}" for label, many in zip(result.labels, judged, strict=True)]
    return Page(title, sheet(("measure",), heads, rows))
