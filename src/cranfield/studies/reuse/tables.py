"""The tables of the study `reuse`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell, shown
from cranfield.studies.coefficients import get_coefficient
from cranfield.studies.reuse.experiment import Reuse
from cranfield.studies.sampling.tables import claim_tables
from cranfield.studies.several import check_alike, mean_of


def tables(result: Reuse, digits: int = 4) -> list[Page]:
    """The judged documents of each part; then for each reference measure the agreement by source and target."""
    return [
        _judged_table(result),
        *(_agreement_table(result, r, digits) for r in range(len(result.references))),
        *claim_tables(result.claims),
    ]


def mean_tables(results: list[Reuse], digits: int = 4) -> list[Page]:
    """The agreement by source and target, averaged over collections."""
    check_alike(results, "collections", "references", "candidates")
    mean = replace(results[0], agreement=mean_of([result.agreement for result in results]))
    scope = f"mean over {len(results)} collections"
    return [_agreement_table(mean, r, digits, scope) for r in range(len(mean.references))]


def _agreement_table(result: Reuse, reference: int, digits: int, scope: str = "") -> Page:
    symbol = get_coefficient(result.settings.coefficient).symbol
    title = (
        f"{symbol} with the order by {result.references[reference]} under the target's own judgments:"
        f" {scope or f'{len(result.runs)} runs, {result.queries} queries'};"
        " source of the judgments → target of the search"
        f" (bold: above {result.settings.threshold:g}; –: no order)"
    )
    heads = [f"{source}→{target}" for source in result.collections for target in result.collections]
    rows = [
        (
            (candidate,),
            [
                _cell(float(value), result.settings.threshold, digits)
                for value in result.agreement[reference, c].ravel()
            ],
        )
        for c, candidate in enumerate(result.candidates)
    ]
    return Page(title, sheet(("measure",), heads, rows, "source → target"))


def _cell(value: float, threshold: float, digits: int) -> Cell:
    return Cell(shown(value, digits), best=bool(np.isfinite(value) and value > threshold))


def _judged_table(result: Reuse) -> Page:
    rows = [
        ((name,), [Cell(str(int(count))) for count in (*counts, counts.sum(), included.sum())])
        for name, counts, included in zip(result.collections, result.judged, result.included, strict=True)
    ]
    return Page(
        f"Judged documents and runs of each part; split {result.settings.rule}",
        sheet(("collection",), ("relevant", "other", "judged", "runs"), rows),
    )
