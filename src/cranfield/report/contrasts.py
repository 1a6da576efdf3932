"""Queries and documents on which runs differ, as tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cranfield.analysis.per_query import Contrast, Place
from cranfield.report.numbers import UNDEFINED, shown, signed
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell

BAR = 12  # signs of the longest bar


def queries(found: Contrast, digits: int = 4, *, most: int | None = None, bars: bool = True) -> Page:
    """A row for each query: all runs where they are few, else the lowest and the highest of them.

    ``bars`` are for where signs are all of one width.
    """
    rows = range(len(found.queries) if most is None else min(most, len(found.queries)))
    wide = len(found.runs) <= 6
    heads = [*found.runs] if wide else ["lowest", "highest"]
    pair = len(found.runs) == 2
    heads += ["difference", *([""] if bars else [])] if pair else ["mean", "disagreement"]
    longest = float(np.abs(found.difference).max()) if pair else 0.0
    lines = []
    for q in rows:
        values = found.values[:, q]
        if wide:
            cells = [Cell(shown(float(v), digits), bool(v == values.max() > values.min())) for v in values]
        else:
            ends = int(values.argmin()), int(values.argmax())
            cells = [Cell(shown(float(values[r]), digits), aside=found.runs[r]) for r in ends]
        if pair:
            gap = float(found.difference[q])
            cells += [Cell(signed(gap, digits)), *([Cell(bar(gap, longest))] if bars else [])]
        else:
            cells += [Cell(shown(float(found.mean[q]), digits)), Cell(shown(float(found.deviation[q]), digits))]
        lines.append(((found.queries[q],), cells))
    part = f", {len(rows)} of {len(found.queries)} queries" if len(rows) < len(found.queries) else ""
    return Page(f"{found.measure} by query{part}", sheet(("query",), heads, lines))


def bar(gap: float, longest: float) -> str:
    """A difference as a bar, to the left where it is negative.

    >>> bar(0.5, 0.5), bar(-0.25, 0.5)
    ('            │████████████', '      ██████│            ')
    """
    length = round(BAR * abs(gap) / longest) if longest else 0
    full = "█" * length
    return f"{'' if gap > 0 else full:>{BAR}}│{full if gap > 0 else '':<{BAR}}"


def documents(found: Sequence[Place], runs: tuple[str, str], query: str) -> Page:
    """The first pages of two runs for a query."""
    rows = []
    for one in found:
        if one.first is None:
            change = "gained"
        elif one.second is None:
            change = "lost"
        else:
            change = "" if one.first == one.second else f"{one.first - one.second:+d}"
        ranks = [Cell(UNDEFINED if rank is None else str(rank)) for rank in (one.first, one.second)]
        grade = "?" if one.grade is None else f"{one.grade:g}"
        rows.append(((one.document,), [Cell(grade, bool(one.grade and one.grade > 0)), *ranks, Cell(change)]))
    heads = ("grade", *runs, "change")
    return Page(
        f"Query {query}: ranks of what either run has on its first page; ? is unjudged",
        sheet(("document",), heads, rows),
    )
