"""Documents to judge next, and what new judgments changed, as tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from cranfield.evaluation.scores import Scores
from cranfield.judging.next_documents import NextDocuments
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell, shown, signed
from cranfield.wording import plural


def pages(found: NextDocuments, digits: int = 4) -> list[Page]:
    """The documents in order, with the pair of runs for which each matters most."""
    if not found.documents:
        return []
    reasons = not math.isnan(found.documents[0].weight)
    rows = []
    for number, proposal in enumerate(found.documents, 1):
        cells = [Cell(str(proposal.best_rank or "–"))]
        if reasons:
            limits = f"[{signed(proposal.low, digits)}, {signed(proposal.high, digits)}]"
            cells += [
                Cell(f"{proposal.run} – {proposal.other}"),
                Cell(shown(proposal.change, digits + 2)),
                Cell(limits),
            ]
        rows.append(((str(number), proposal.query, proposal.document), cells))
    columns = ("best rank", *(("matters most for", "by up to", "which is within") if reasons else ()))
    title = f"Documents to judge next, for {found.measure}"
    return [Page(title, sheet(("", "query", "document"), columns, rows))]


def notes(found: NextDocuments) -> Iterator[str]:
    """How far the pairs of runs are settled."""
    pairs = len(found.status.pairs)
    sure = f"{100 * found.confidence:.10g}% sure"
    if pairs > 1:
        decided = f"{found.decided:,} decided whatever the unjudged documents are"
        yield f"{pairs:,} pairs of runs: {decided}, {found.sure:,} more {sure}, {found.open_pairs:,} open"
    if found.stop == "decided":
        yield f"judging can stop: unjudged documents cannot reverse any pair in {found.measure}"
    elif found.stop == "sure":
        which = "every pair is decided or" if pairs > 1 else "the pair is"
        yield f"judging can stop: {which} {sure}; a higher confidence asks for more documents"
    elif pairs == 1:
        yield f"the pair is open: it is neither decided nor {sure}"
    if not math.isnan(float(found.status.variance[:1].sum())) and found.sure:
        yield "the confidence assumes independent documents, each relevant with the same or the predicted chance"
    yield f"{plural(found.unjudged, 'unjudged document')} down to rank {found.depth} can still change a score"


def changes(before: Scores, after: Scores, digits: int = 4) -> tuple[list[Page], dict[str, Any]]:
    """The leaderboard before and after a merge: scores and places."""
    measure = after.measures[0]
    old, new = before.means[:, 0], after.means[:, 0]
    places = [np.argsort(np.argsort(-values, kind="stable"), kind="stable") + 1 for values in (old, new)]
    rows, plain = [], []
    for r in np.argsort(-new, kind="stable").tolist():
        moved = int(places[0][r] - places[1][r])
        cells = [
            Cell(shown(float(old[r]), digits)),
            Cell(shown(float(new[r]), digits)),
            Cell(signed(float(new[r] - old[r]), digits)),
            Cell(str(int(places[0][r]))),
            Cell(str(int(places[1][r])) + (f" ({moved:+d})" if moved else "")),
        ]
        rows.append(((after.runs[r],), cells))
        plain.append({"run": after.runs[r], "before": float(old[r]), "after": float(new[r]), "moved": moved})
    columns = ("before", "after", "change", "place\nbefore", "place\nafter")
    page = Page(f"{measure} before and after the new judgments", sheet(("run",), columns, rows))
    return [page], {"measure": measure, "runs": plain}


def merged_note(new: int, repeated: int, output: str) -> str:
    """How many judgments were merged, and where they are."""
    again = f"; {plural(repeated, 'judgment')} were there already" if repeated else ""
    return f"{plural(new, 'new judgment')} merged into {output}{again}"
