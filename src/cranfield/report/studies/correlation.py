"""The study of correlation as a table."""

from __future__ import annotations

from cranfield.report.numbers import shown
from cranfield.report.pages import Page, exchanged, sheet
from cranfield.report.sheet import Cell
from cranfield.studies.coefficients import coefficient
from cranfield.studies.correlation import Correlation

HIGH = 0.8  # printed in bold, as in the paper


def pages(result: Correlation, digits: int = 4) -> list[Page]:
    """The agreement of every measure with every other."""
    sign = coefficient(result.coefficient).sign
    title = (
        f"{sign} between orders of {len(result.runs)} runs over {result.queries} queries"
        f" (bold: above {HIGH:g}). {significance(result, digits)}"
    )
    rows = [
        ((measure,), [_cell(result, m, n, digits) for n in range(len(result.measures))])
        for m, measure in enumerate(result.measures)
    ]
    return [Page(title, sheet(("measure",), result.measures, rows))]


def swapped(result: Correlation, digits: int = 4) -> list[Page]:
    """The pairs of runs that the first measure and another one order differently, by name."""
    first, *others = result.measures
    found = {measure: result.swaps(0, m) for m, measure in enumerate(others, 1)}
    return [
        exchanged(pairs, (first, measure), dict(zip(result.runs, result.means[[0, m]].T, strict=True)), digits)
        for m, (measure, pairs) in enumerate(found.items(), 1)
        if pairs
    ]


def significance(result: Correlation, digits: int = 4) -> str:
    """What can be told from chance, in a sentence."""
    sign, critical = coefficient(result.coefficient).sign, result.critical
    if critical is None:
        return f"There is no test for {sign}."
    if critical >= 1:
        return f"With so few runs no {sign} is significant at {result.alpha:g}."
    return f"Significant at {result.alpha:g} beyond ±{shown(critical, digits)}; what is not is marked n.s."


def _cell(result: Correlation, m: int, n: int, digits: int) -> Cell:
    value, critical = float(result.matrix[m, n]), result.critical
    chance = critical is not None and critical < 1 and abs(value) <= critical
    return Cell(shown(value, digits), best=bool(value > HIGH and m != n), aside="n.s." if chance else "")
