"""The tables of the study `correlation`."""

from __future__ import annotations

from collections.abc import Callable

from cranfield.report.pages import Page, exchanged, sheet
from cranfield.report.sheet import Cell, Sheet, shown
from cranfield.studies.coefficients import get_coefficient
from cranfield.studies.correlation.experiment import Correlation
from cranfield.studies.several import check_alike, mean_of


def tables(result: Correlation, digits: int = 4) -> list[Page]:
    """The agreement of every pair of measures."""
    symbol = get_coefficient(result.coefficient).symbol
    title = (
        f"{symbol} between measures, {len(result.runs)} runs, {result.queries} queries"
        f" (bold: above {result.threshold:g}). {significance(result, digits)}"
    )
    return [Page(title, _sheet(result, lambda m, n: _cell(result, m, n, digits)))]


def _sheet(result: Correlation, cell: Callable[[int, int], Cell]) -> Sheet:
    """The cells of pairs of measures, given their places."""
    place = {measure: m for m, measure in enumerate(result.measures)}
    rows = [((row,), [cell(place[row], place[column]) for column in result.columns]) for row in result.rows]
    return sheet(("measure",), result.columns, rows)


def mean_tables(results: list[Correlation], digits: int = 4) -> list[Page]:
    """The agreement of every pair of measures, averaged over collections; there is no test of a mean."""
    check_alike(results, "measures", "against", "coefficient", "threshold")
    first = results[0]
    mean = mean_of([result.matrix for result in results])

    def cell(m: int, n: int) -> Cell:
        value = float(mean[m, n])
        return Cell(shown(value, digits), best=value > first.threshold and m != n)

    title = (
        f"{get_coefficient(first.coefficient).symbol} between measures, mean over {len(results)} collections"
        f" (bold: above {first.threshold:g})"
    )
    return [Page(title, _sheet(first, cell))]


def swap_tables(result: Correlation, digits: int = 4) -> list[Page]:
    """The pairs of runs that the first measure and another one order differently."""
    first, *others = result.measures
    swaps = {measure: result.swaps(0, m) for m, measure in enumerate(others, 1)}
    return [
        exchanged(pairs, (first, measure), dict(zip(result.runs, result.means[[0, m]].T, strict=True)), digits)
        for m, (measure, pairs) in enumerate(swaps.items(), 1)
        if pairs
    ]


def significance(result: Correlation, digits: int = 4) -> str:
    """A sentence on which values are significant."""
    symbol, critical = get_coefficient(result.coefficient).symbol, result.critical
    if critical is None:
        return f"There is no significance test for {symbol}."
    if critical >= 1:
        return f"Too few runs: no {symbol} is significant at {result.alpha:g}."
    return f"Values within ±{shown(critical, digits)} are not significant at {result.alpha:g} (n.s.)."


def _cell(result: Correlation, m: int, n: int, digits: int) -> Cell:
    value, critical = float(result.matrix[m, n]), result.critical
    insignificant = critical is not None and critical < 1 and abs(value) <= critical
    return Cell(
        shown(value, digits), best=bool(value > result.threshold and m != n), aside="n.s." if insignificant else ""
    )
