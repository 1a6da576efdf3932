"""The tables of the study `sampling`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cranfield.report.pages import Page, column, sheet
from cranfield.report.sheet import UNDEFINED, Cell, shown
from cranfield.statistics.rounding import SAME
from cranfield.studies.coefficients import get_coefficient
from cranfield.studies.divergence_claim import DivergenceClaim
from cranfield.studies.sampling.experiment import Sampling
from cranfield.studies.several import check_alike, mean_of


def tables(result: Sampling, digits: int = 4) -> list[Page]:
    """The sufficient rates, then for each reference measure the agreement at every rate."""
    pages = [_sufficient_table(result, f"{len(result.runs)} runs, {result.queries} queries")]
    pages += [_mean_table(result, r, digits) for r in range(len(result.references))]
    if result.settings.repeats > 1:
        pages += [_percentile_table(result, r, digits) for r in range(len(result.references))]
    return [*pages, *claim_tables(result.claims)]


def mean_tables(results: list[Sampling], digits: int = 4) -> list[Page]:
    """The sufficient rates and the agreement at every rate, averaged over collections."""
    check_alike(results, "references", "candidates", "settings")
    mean = replace(
        results[0],
        agreement=mean_of([result.agreement for result in results]),
        judged=np.sum([result.judged for result in results], axis=0),
    )
    scope = f"mean over {len(results)} collections"
    pages = [_sufficient_table(mean, scope)]
    for r in range(len(mean.references)):
        page = _mean_table(mean, r, digits)
        pages.append(replace(page, title=f"{scope[0].upper()}{scope[1:]}: {page.title}"))
    return pages


def _sufficient_table(result: Sampling, scope: str) -> Page:
    symbol = get_coefficient(result.settings.coefficient).symbol
    title = (
        f"Lowest percentage of judgments from which the mean {symbol} with the order under all judgments stays at "
        f"least {result.settings.threshold:g}: {scope}"
    )
    rows = [
        ((reference,), [Cell(UNDEFINED if rate is None else f"{rate}%") for rate in rates])
        for reference, rates in zip(result.references, result.sufficient_rates(), strict=True)
    ]
    return Page(title, sheet(("measure",), result.candidates, rows))


def claim_tables(claims: Sequence[DivergenceClaim]) -> list[Page]:
    """How often the results of runs are as close to a subtopic as the collection is; no table without text."""
    rows = [
        (
            (claim.measure, claim.smoothing),
            [Cell(f"{claim.holds}"), Cell(f"{claim.total}"), Cell(f"{claim.holds / claim.total:.2%}")],
        )
        for claim in claims
        if claim.total
    ]
    title = "KLD(q‖R) ≤ KLD(q‖D), counted over runs, queries, subtopics, and ranks down to the cutoff; all judgments"
    return [Page(title, sheet(("models of", "smoothing"), ("holds", "of", "share"), rows))] if rows else []


def _mean_table(result: Sampling, r: int, digits: int) -> Page:
    settings = result.settings
    symbol = get_coefficient(settings.coefficient).symbol
    title = (
        f"{symbol} with the order by {result.references[r]} under all judgments: mean and standard deviation over "
        f"{settings.repeats} samples, seed {settings.seed}"
    )
    mean, deviation, *_ = result.summary(result.agreement[r])
    rows = []
    for level, rate in enumerate(settings.rates):
        cells = column(list(mean[:, level]), digits)
        # A deviation of 0 is not printed.
        asides = [f"±{shown(value, digits)}" if value > SAME else "" for value in deviation[:, level].tolist()]
        with_deviation = [Cell(cell.text, cell.best, aside) for cell, aside in zip(cells, asides, strict=True)]
        rows.append(((f"{rate}%",), [Cell(str(int(result.judged[level].sum()))), *with_deviation]))
    return Page(title, sheet(("judgments",), ("judged", *result.candidates), rows))


def _percentile_table(result: Sampling, r: int, digits: int) -> Page:
    symbol = get_coefficient(result.settings.coefficient).symbol
    title = (
        f"{symbol} with the order by {result.references[r]} under all judgments: 5th and 95th percentile over samples"
    )
    low, high = result.summary(result.agreement[r])[2:]
    rows = [
        ((f"{rate}%",), [Cell(_range(*ends, digits)) for ends in zip(low[:, level], high[:, level], strict=True)])
        for level, rate in enumerate(result.settings.rates)
    ]
    return Page(title, sheet(("judgments",), result.candidates, rows))


def _range(low: float, high: float, digits: int) -> str:
    return UNDEFINED if np.isnan(low) else f"{shown(low, digits)} … {shown(high, digits)}"
