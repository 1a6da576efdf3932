"""The tables of the study `reduction`."""

from __future__ import annotations

import numpy as np

from cranfield.data import Floats
from cranfield.report.numbers import shown
from cranfield.report.pages import Page, column, sheet
from cranfield.report.sheet import Cell
from cranfield.studies.coefficients import get_coefficient
from cranfield.studies.reduction.experiment import Reduction

KEPT = {
    "rates": "By percentage of judgments kept at random",
    "depths": "By depth of the pools that judgments come from",
    "queries": "By number of queries kept at random",
}
COMPLETE = {"rates": "under all judgments", "depths": "under all judgments", "queries": "over all queries"}


def tables(result: Reduction, digits: int = 4) -> list[Page]:
    """Mean scores, agreement with the order under the complete data, and discriminative power."""
    settings, runs = result.settings, len(result.runs)
    symbol = get_coefficient(settings.coefficient).symbol
    kept = f"{KEPT[settings.by]}, with the number of judged documents"
    if settings.by != "depths":
        deviation = f"±: standard deviation over {settings.repeats} repetitions"
        kept += f"; {deviation if settings.repeats > 1 else 'one repetition'}, seed {settings.seed}"
    power = (
        f"Discriminative power: share of the {runs * (runs - 1) // 2} pairs of runs that differ significantly at "
        f"{settings.alpha:g} (paired bootstrap test, {settings.samples} resamples)"
    )
    agreement = f"{symbol} with the order of runs {COMPLETE[settings.by]}{significance(result, digits)}"
    return [
        _page(f"Mean score, {runs} runs, {result.queries} queries. {kept}", result, result.mean, digits, best=False),
        _page(agreement, result, result.agreement, digits),
        _page(power, result, result.power, digits),
    ]


def significance(result: Reduction, digits: int = 4) -> str:
    """The critical value of the coefficient, if there is one."""
    test = get_coefficient(result.settings.coefficient).critical
    critical = 1.0 if test is None else test(len(result.runs), 0.01)
    return f" (significant at 0.01 beyond ±{shown(critical, digits)})" if critical < 1 else ""


def _page(title: str, result: Reduction, values: Floats, digits: int, *, best: bool = True) -> Page:
    mean, deviation = result.summary(values)[:2]
    columns = [column(list(mean[:, level]), digits, best=best) for level in range(mean.shape[1])]
    repeated = values.shape[2] > 1
    rows = []
    for m, measure in enumerate(result.measures):
        cells = []
        for level, cell in enumerate(cells_of_level[m] for cells_of_level in columns):
            has_deviation = repeated and level and not np.isnan(mean[m, level])
            cells.append(Cell(cell.text, cell.best, f"±{shown(deviation[m, level], digits)}" if has_deviation else ""))
        rows.append(((measure,), cells))
    judged = result.judged.mean(axis=1)
    heads = [f"{label}\n{count:.0f}" for label, count in zip(result.labels, judged, strict=True)]
    return Page(title, sheet(("measure",), heads, rows, "kept"))
