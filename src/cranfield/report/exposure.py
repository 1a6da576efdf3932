"""What runs show, as tables."""

from __future__ import annotations

from math import isnan

from cranfield.analysis.exposure import CONFIDENCE, Exposure
from cranfield.report.pages import Page, sheet, table
from cranfield.report.sheet import Cell, interval, shown, signed
from cranfield.wording import few, percent, plural


def pages(exposure: Exposure, digits: int = 4) -> list[Page]:
    """Coverage and concentration of each run, shares of groups, and the documents that are shown most."""
    title = f"Shown in the first {exposure.k}: {plural(exposure.queries, 'query')}"
    title += f", a catalogue of {plural(exposure.documents, 'document')}"
    rows = [
        (name, [shown(run.coverage, digits), shown(run.gini, digits), shown(run.coverage * exposure.documents, 1)])
        for name, run in exposure.runs.items()
    ]
    first = table(title, ("run",), ("coverage", "Gini", "documents"), rows)
    groups = [_shares(exposure, digits)] if exposure.by is not None else []
    return [first, *groups, _most_shown(exposure, digits)]


def _shares(exposure: Exposure, digits: int) -> Page:
    difference = {(d.run, d.group): d for d in exposure.differences}

    def cell(run: str, group: str) -> Cell:
        share, change = shown(exposure[run].shares[group], digits), difference.get((run, group))
        if change is None:
            return Cell(share)
        return Cell(
            share, aside=f"{signed(change.difference, digits)} {interval(change.low, change.high, digits)}".rstrip()
        )

    groups = exposure.catalogue_shares
    rows = [
        ("(catalogue)", [Cell(shown(share, digits)) for share in groups.values()]),
        *((run, [cell(run, group) for group in groups]) for run in exposure.runs),
    ]
    against = f"; differences from {exposure.baseline} with {percent(CONFIDENCE)} intervals"
    title = f"Shares of the exposure by {exposure.by}{against if exposure.differences else ''}"
    return Page(title, sheet(("run",), tuple(groups), rows, across=exposure.by or ""))


def _most_shown(exposure: Exposure, digits: int) -> Page:
    rows = [
        ((name, document), [shown(total, digits), shown(total / exposure.queries, digits)])
        for name, run in exposure.runs.items()
        for document, total in run.most_shown.items()
    ]
    return table("Documents shown most", ("run", "document"), ("queries", "share"), rows)


def notes(exposure: Exposure) -> list[str]:
    """What the numbers depend on."""
    sentences = [
        "coverage and Gini depend on the number of queries; they are for the same queries, and have no interval"
    ]
    if exposure.left_out:
        sentences.append(f"{plural(exposure.left_out, 'query')} that not all runs have are left out")
    if spreadless := list(dict.fromkeys(d.run for d in exposure.differences if isnan(d.low))):
        sentences.append(f"no interval for {few(spreadless)}: there is no spread between queries")
    for name, run in exposure.runs.items():
        if run.tied_queries:
            queries = plural(run.tied_queries, "query")
            sentences.append(f"{name}: ties decide which documents are shown for {queries}; all orders are averaged")
    return sentences
