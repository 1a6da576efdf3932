"""The study of sampling as tables."""

from __future__ import annotations

import numpy as np

from cranfield.report.numbers import UNDEFINED, shown
from cranfield.report.pages import Page, column, sheet
from cranfield.report.sheet import Cell
from cranfield.statistics.correlation import SAME
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
    found = [Page(title, sheet(("measure",), result.rivals, rows))]
    found += [_means(result, t, digits) for t in range(len(result.truths))]
    if result.settings.repeats > 1:
        found += [_spread(result, t, digits) for t in range(len(result.truths))]
    return found


def _means(result: Sampling, t: int, digits: int) -> Page:
    settings = result.settings
    sign = coefficient(settings.coefficient).sign
    title = (
        f"{sign} with the order by {result.truths[t]} under all judgments: mean and standard deviation over "
        f"{settings.repeats} samples, seed {settings.seed}"
    )
    middle, deviation, *_ = result.summary(result.agreement[t])
    rows = []
    for level, rate in enumerate(settings.rates):
        cells = column(list(middle[:, level]), digits)
        # What never varies needs no spread beside it.
        asides = [f"±{shown(one, digits)}" if one > SAME else "" for one in deviation[:, level].tolist()]
        beside = [Cell(cell.text, cell.best, aside) for cell, aside in zip(cells, asides, strict=True)]
        rows.append(((f"{rate} %",), [Cell(str(int(result.judged[level].sum()))), *beside]))
    return Page(title, sheet(("share",), ("judged", *result.rivals), rows))


def _spread(result: Sampling, t: int, digits: int) -> Page:
    sign = coefficient(result.settings.coefficient).sign
    title = f"{sign} with the order by {result.truths[t]} under all judgments: 5th and 95th percentile over the samples"
    low, high = result.summary(result.agreement[t])[2:]
    rows = [
        ((f"{rate} %",), [Cell(_between(*ends, digits)) for ends in zip(low[:, level], high[:, level], strict=True)])
        for level, rate in enumerate(result.settings.rates)
    ]
    return Page(title, sheet(("share",), result.rivals, rows))


def _between(low: float, high: float, digits: int) -> str:
    return UNDEFINED if np.isnan(low) else f"{shown(low, digits)} … {shown(high, digits)}"
