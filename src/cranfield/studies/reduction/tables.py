"""The tables of the study `reduction`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cranfield.data import Floats
from cranfield.report.pages import Page, column, sheet
from cranfield.report.sheet import Cell, shown
from cranfield.studies.coefficients import get_coefficient
from cranfield.studies.reduction.experiment import Reduction
from cranfield.studies.several import check_alike, mean_of

KEPT = {
    "rates": "By percentage of judgments kept at random",
    "depths": "By depth of the pools that judgments come from",
    "queries": "By number of queries kept at random",
}
COMPLETE = {"rates": "under all judgments", "depths": "under all judgments", "queries": "over all queries"}


def tables(result: Reduction, digits: int = 4) -> list[Page]:
    """Mean scores, agreement with the order under the complete data, and discriminative power."""
    runs = len(result.runs)
    return _pages(
        result,
        f"{runs} runs, {result.queries} queries",
        significance(result, digits),
        f"share of the {runs * (runs - 1) // 2} pairs of runs",
        digits,
    )


def mean_tables(results: list[Reduction], digits: int = 4) -> list[Page]:
    """The same, averaged over collections, with the judged documents of all of them; there is no test of a mean."""
    check_alike(results, "measures", "settings")
    scope = f"mean over {len(results)} collections"
    mean = replace(
        results[0],
        mean=mean_of([result.mean for result in results]),
        agreement=mean_of([result.agreement for result in results]),
        power=mean_of([result.power for result in results]),
        judged=np.sum([result.judged for result in results], axis=0),
    )
    return _pages(mean, scope, f", {scope}", f"share of the pairs of runs, {scope},", digits, several=True)


def _pages(result: Reduction, scope: str, test: str, pairs: str, digits: int, *, several: bool = False) -> list[Page]:
    settings = result.settings
    symbol = get_coefficient(settings.coefficient).symbol
    kept = f"{KEPT[settings.by]}, with the number of judged documents"
    if settings.by != "depths":
        deviation = f"±: standard deviation over {settings.repeats} repetitions"
        kept += f"; {deviation if settings.repeats > 1 else 'one repetition'}, seed {settings.seed}"
    power = (
        f"Discriminative power: {pairs} that differ significantly at "
        f"{settings.alpha:g} (paired bootstrap test, {settings.samples} resamples)"
    )
    # Collections differ in their number of queries.
    full = "all" if several and settings.by == "queries" else result.labels[0]
    judged = result.judged.mean(axis=1)
    labels = [full, *result.labels[1:]]
    heads = [f"{label}\n{count:.0f}" for label, count in zip(labels, judged, strict=True)]
    agreement = f"{symbol} with the order of runs {COMPLETE[settings.by]}{test}"
    return [
        _page(f"Mean score, {scope}. {kept}", heads, result, result.mean, digits, best=False),
        _page(agreement, heads, result, result.agreement, digits),
        _page(power, heads, result, result.power, digits),
    ]


def significance(result: Reduction, digits: int = 4) -> str:
    """The critical value of the coefficient, if there is one."""
    test = get_coefficient(result.settings.coefficient).critical
    critical = 1.0 if test is None else test(len(result.runs), 0.01)
    return f" (significant at 0.01 beyond ±{shown(critical, digits)})" if critical < 1 else ""


def _page(title: str, heads: list[str], result: Reduction, values: Floats, digits: int, *, best: bool = True) -> Page:
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
    return Page(title, sheet(("measure",), heads, rows, "kept"))
