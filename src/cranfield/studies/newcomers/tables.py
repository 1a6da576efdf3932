"""The tables of the study `newcomers`."""

from __future__ import annotations

import numpy as np

from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import UNDEFINED, Cell, shown
from cranfield.studies.coefficients import get_coefficient
from cranfield.studies.newcomers.experiment import Newcomers


def tables(result: Newcomers, digits: int = 4) -> list[Page]:
    """The changes without the unique contributions: a summary by measure, then a table of runs for each measure."""
    grouped = len(result.groups) < len(result.runs)
    owner = f"its group (of {len(result.groups)})" if grouped else "it"
    title = (
        f"Changes of scores and ranks when each run is scored without the judgments that only {owner} contributed:"
        f" {len(result.runs)} runs, {result.queries} queries, pool depth {result.settings.pool_depth}"
    )
    rows = [((measure,), _summary(result, m, digits)) for m, measure in enumerate(result.measures)]
    symbol = get_coefficient(result.settings.coefficient).symbol
    heads = (
        "mean\nchange",
        "largest\nchange",
        "of run",
        "runs with\nnew rank",
        "largest rank\nchange",
        f"lowest\n{symbol}",
    )
    return [
        Page(title, sheet(("measure",), heads, rows)),
        *(_run_table(result, m, digits, grouped=grouped) for m in range(len(result.measures))),
    ]


def percent(value: float) -> str:
    """A relative change as a percentage with its sign."""
    if np.isnan(value):
        return UNDEFINED
    rounded = round(100 * value, 1)
    return f"{rounded:+.1f}%" if rounded else "0.0%"


def _summary(result: Newcomers, m: int, digits: int) -> list[Cell]:
    change = result.change[m]
    rank_change = result.rank_without[m] - result.rank[m]
    defined = ~np.isnan(change)
    if not defined.any():
        return [Cell(UNDEFINED)] * 6
    worst = int(np.nanargmax(np.abs(change)))
    return [
        Cell(percent(float(change[defined].mean()))),
        Cell(percent(float(change[worst]))),
        Cell(result.runs[worst]),
        Cell(f"{(rank_change != 0).sum()}"),
        Cell(f"{rank_change[np.abs(rank_change).argmax()]:+d}" if rank_change.any() else "0"),
        Cell(shown(float(np.fmin.reduce(result.agreement[m])), digits)),
    ]


def _run_table(result: Newcomers, m: int, digits: int, *, grouped: bool) -> Page:
    """All runs by one measure, the best first."""
    heads = ("unique\nrelevant", "unique\nother", "score", "without", "change", "rank", "rank\nwithout")
    rows = []
    for r in np.lexsort((np.arange(len(result.runs)), result.rank[m])):
        group = int(result.group[r])
        cells = [
            Cell(f"{result.unique[group, 0]}"),
            Cell(f"{result.unique[group, 1]}"),
            Cell(shown(float(result.score[m, r]), digits)),
            Cell(shown(float(result.without[m, r]), digits)),
            Cell(percent(float(result.change[m, r]))),
            Cell(f"{result.rank[m, r]}"),
            Cell(f"{result.rank_without[m, r]}", best=bool(result.rank_without[m, r] != result.rank[m, r])),
        ]
        names = (result.runs[r], result.groups[group]) if grouped else (result.runs[r],)
        rows.append((names, cells))
    owner = "group" if grouped else "run"
    title = f"{result.measures[m]} with all judgments, and without those that only the {owner} contributed"
    return Page(title, sheet(("run", "group") if grouped else ("run",), heads, rows))
