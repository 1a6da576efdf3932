"""The study of reuse as tables."""

from __future__ import annotations

import numpy as np

from cranfield.report.numbers import shown
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell
from cranfield.studies.coefficients import coefficient
from cranfield.studies.reuse import Reuse

HIGH = 0.8  # printed in bold, as in the paper


def pages(result: Reuse, digits: int = 4) -> list[Page]:
    """What is judged where; then for each measure how far orders agree, by where judgments are from and runs are."""
    return [_judged(result), *(_page(result, t, digits) for t in range(len(result.truths)))]


def _page(result: Reuse, t: int, digits: int) -> Page:
    sign = coefficient(result.settings.coefficient).sign
    many = f"{len(result.runs)} runs over {result.queries} queries"
    title = (
        f"{sign} between orders of {many}: by judgments of one collection "
        f"→ on another, and by {result.truths[t]} with the judgments of the latter (bold: above {HIGH:g}; –: no order)"
    )
    heads = [f"{source}→{target}" for source in result.collections for target in result.collections]
    rows = [
        ((rival,), [_cell(float(value), digits) for value in result.agreement[t, r].ravel()])
        for r, rival in enumerate(result.rivals)
    ]
    return Page(title, sheet(("judged → searched",), heads, rows))


def _cell(value: float, digits: int) -> Cell:
    return Cell(shown(value, digits), best=bool(np.isfinite(value) and value > HIGH))


def _judged(result: Reuse) -> Page:
    rows = [
        ((name,), [Cell(str(int(n))) for n in (*many, many.sum())])
        for name, many in zip(result.collections, result.judged, strict=True)
    ]
    return Page(
        f"Judged documents of each collection; parts: {result.settings.rule}",
        sheet(("collection",), ("relevant", "other", "judged"), rows),
    )
