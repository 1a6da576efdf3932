"""The study of newcomers as tables."""

from __future__ import annotations

import numpy as np

from cranfield.report.numbers import UNDEFINED, shown
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell
from cranfield.studies.coefficients import coefficient
from cranfield.studies.newcomers import Newcomers


def pages(result: Newcomers, digits: int = 4) -> list[Page]:
    """What runs lose without their own contributions: by measure, and then run by run."""
    grouped = len(result.groups) < len(result.runs)
    whose = f"its group, of {len(result.groups)}," if grouped else "it"
    title = (
        f"{len(result.runs)} runs over {result.queries} queries, each without the judgments that {whose} alone"
        f" contributed at depth {result.settings.pool_depth}: change of scores, and of places in the order"
    )
    rows = [((measure,), _summary(result, m, digits)) for m, measure in enumerate(result.measures)]
    sign = coefficient(result.settings.coefficient).sign
    heads = ("mean\nchange", "largest\nchange", "of run", "runs that\nmove", "largest\nmove", f"least\n{sign}")
    return [
        Page(title, sheet(("measure",), heads, rows)),
        *(_runs(result, m, digits, grouped=grouped) for m in range(len(result.measures))),
    ]


def percent(value: float) -> str:
    """A share as people write it, with its sign."""
    if np.isnan(value):
        return UNDEFINED
    rounded = round(100 * value, 1)
    return f"{rounded:+.1f} %" if rounded else "0.0 %"


def _summary(result: Newcomers, m: int, digits: int) -> list[Cell]:
    change = result.change[m]
    moved = result.rank_without[m] - result.rank[m]
    known = ~np.isnan(change)
    if not known.any():
        return [Cell(UNDEFINED)] * 6
    worst = int(np.nanargmax(np.abs(change)))
    return [
        Cell(percent(float(change[known].mean()))),
        Cell(percent(float(change[worst]))),
        Cell(result.runs[worst]),
        Cell(f"{(moved != 0).sum()}"),
        Cell(f"{moved[np.abs(moved).argmax()]:+d}" if moved.any() else "0"),
        Cell(shown(float(np.fmin.reduce(result.agreement[m])), digits)),
    ]


def _runs(result: Newcomers, m: int, digits: int, *, grouped: bool) -> Page:
    """One measure, the best run first."""
    heads = ("own\nrelevant", "own\nother", "score", "without", "change", "rank", "rank\nwithout")
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
    title = (
        f"{result.measures[m]}, with all judgments and without those that are a {'group' if grouped else 'run'}'s own"
    )
    return Page(title, sheet(("run", "group") if grouped else ("run",), heads, rows))
