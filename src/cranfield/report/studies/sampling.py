"""The study of sampling as tables."""

from __future__ import annotations

import numpy as np

from cranfield.report.sheet import UNDEFINED, Cell
from cranfield.report.studies.pages import Page, column, sheet, shown
from cranfield.studies.coefficients import coefficient
from cranfield.studies.sampling import HIGH, Sampling


def pages(result: Sampling, digits: int = 4) -> list[Page]:
    """How few judgments will do, and then for each measure the agreement at every rate."""
    sign = coefficient(result.settings.coefficient).sign
    title = (
        f"The least share of the judgments from which on the order of {len(result.runs)} runs over {result.queries} "
        f"queries agrees with that under all judgments: mean {sign} of at least {HIGH:g}"
    )
    rows = [
        ((truth,), [Cell(UNDEFINED if rate is None else f"{rate} %") for rate in rates])
        for truth, rates in zip(result.truths, result.enough(), strict=True)
    ]
    return [
        Page(title, sheet(("measure",), result.rivals, rows)),
        *(_page(result, t, digits) for t in range(len(result.truths))),
    ]


def _page(result: Sampling, t: int, digits: int) -> Page:
    settings, values = result.settings, result.agreement[t]
    sign = coefficient(settings.coefficient).sign
    title = (
        f"{sign} with the order by {result.truths[t]} under all judgments. Mean over {settings.repeats} samples, seed "
        f"{settings.seed}, ± standard deviation, [5th, 95th percentile]"
    )
    middle, *spread = result.summary(values)
    rows = []
    for level, rate in enumerate(settings.rates):
        cells = column(list(middle[:, level]), digits)
        asides = [_aside(*(float(one[r, level]) for one in spread), digits=digits) for r in range(len(cells))]
        # What never varies needs no spread beside it.
        varies = [settings.repeats > 1 and np.ptp(values[r, level]) > 0 for r in range(len(cells))]
        shown_cells = [
            Cell(cell.text, cell.best, aside if there else "")
            for cell, aside, there in zip(cells, asides, varies, strict=True)
        ]
        many = Cell(str(int(result.judged[level].sum())))
        rows.append(((f"{rate} %",), [many, *shown_cells]))
    return Page(title, sheet(("share",), ("judged", *result.rivals), rows))


def _aside(deviation: float, low: float, high: float, *, digits: int) -> str:
    return f"±{shown(deviation, digits)} [{shown(low, digits)}, {shown(high, digits)}]"
