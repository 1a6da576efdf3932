"""Per-query scores, and the documents on which two runs differ, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cranfield.analysis.per_query import DocumentRanks, PerQueryScores
from cranfield.io.query_texts import shortened
from cranfield.report.numbers import UNDEFINED, shown, signed
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell
from cranfield.wording import printable

BAR = 12  # characters of the longest bar


def queries(
    scores: PerQueryScores,
    digits: int = 4,
    *,
    most: int | None = None,
    bars: bool = True,
    texts: Mapping[str, str] | None = None,
) -> Page:
    """A row for each query: all runs if they are few, otherwise the lowest and the highest.

    ``bars`` need a font in which all characters have the same width. ``texts``: the texts of queries, by id.
    """
    rows = range(len(scores.queries) if most is None else min(most, len(scores.queries)))
    wide = len(scores.runs) <= 6
    heads = [*map(printable, scores.runs)] if wide else ["lowest", "highest"]
    pair = len(scores.runs) == 2
    heads += ["difference", *([""] if bars else [])] if pair else ["mean", "disagreement"]
    longest = float(np.abs(scores.difference).max()) if pair else 0.0
    lines = []
    for q in rows:
        values = scores.values[:, q]
        if wide:
            cells = [Cell(shown(float(v), digits), bool(v == values.max() > values.min())) for v in values]
        else:
            ends = int(values.argmin()), int(values.argmax())
            cells = [Cell(shown(float(values[r]), digits), aside=scores.runs[r]) for r in ends]
        if pair:
            gap = float(scores.difference[q])
            cells += [Cell(signed(gap, digits)), *([Cell(bar(gap, longest))] if bars else [])]
        else:
            cells += [Cell(shown(float(scores.mean[q]), digits)), Cell(shown(float(scores.deviation[q]), digits))]
        name = scores.queries[q]
        lines.append(((name, shortened(texts.get(name, ""))) if texts else (name,), cells))
    part = f", {len(rows)} of {len(scores.queries)} queries" if len(rows) < len(scores.queries) else ""
    return Page(f"{scores.measure} by query{part}", sheet(("query", "text") if texts else ("query",), heads, lines))


def bar(gap: float, longest: float) -> str:
    """A difference as a bar, to the left where it is negative.

    >>> bar(0.5, 0.5), bar(-0.25, 0.5)
    ('            │████████████', '      ██████│            ')
    """
    length = round(BAR * abs(gap) / longest) if longest else 0
    blocks = "█" * length
    return f"{'' if gap > 0 else blocks:>{BAR}}│{blocks if gap > 0 else '':<{BAR}}"


def documents(ranks: Sequence[DocumentRanks], runs: tuple[str, str], query: str, page: int, text: str = "") -> Page:
    """The top documents of two runs for a query, whose ``text`` the title shows."""
    rows = []
    for document in ranks:
        if document.first is None:
            change = "gained"
        elif document.second is None:
            change = "lost"
        else:
            change = "" if document.first == document.second else f"{document.first - document.second:+d}"
        cells = [Cell(UNDEFINED if rank is None else str(rank)) for rank in (document.first, document.second)]
        grade = "?" if document.grade is None else f"{document.grade:g}"
        relevant = bool(document.grade and document.grade > 0)
        rows.append(((document.document,), [Cell(grade, relevant), *cells, Cell(change)]))
    heads = ("grade", *map(printable, runs), "change")
    named = f"{query} ({shortened(text)})" if text else query
    return Page(
        f"Query {named}: ranks in the top {page} of both runs (? = unjudged, {UNDEFINED} = not in the top {page})",
        sheet(("document",), heads, rows),
    )
