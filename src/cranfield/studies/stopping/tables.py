"""The tables of the study `stopping`."""

from __future__ import annotations

import numpy as np

from cranfield.report.numbers import shown
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell
from cranfield.studies.stopping.experiment import CutResult, Stopping

CUT_COLUMNS = (
    "mean\nlength",
    "uncut",
    "best\ndepths",
    "mean\ndepth",
    "best\ndepth",
    "depth",
    "best\nthreshold",
    "threshold",
)
TEST_COLUMNS = ("queries", "uncut", "cut", "gain", "threshold")


def tables(result: Stopping, digits: int = 4) -> list[Page]:
    """For each measure the scores at the best cuts, and the scores of thresholds on held-out queries."""
    splits = f"{result.repeats} splits, seed {result.seed}; in brackets the 5th and 95th percentile"
    pages = []
    for measure in dict.fromkeys(cut.measure for cut in result.results):
        cuts = [cut for cut in result.results if cut.measure == measure]
        best = [((cut.run,), _best_cells(cut, digits)) for cut in cuts]
        held_out = [((cut.run,), _held_out_cells(cut, digits)) for cut in cuts]
        pages += [
            Page(
                f"{measure}: lists uncut, each cut at its best depth, all at one depth, all at one score threshold",
                sheet(("run",), CUT_COLUMNS, best),
            ),
            Page(
                f"{measure}: threshold chosen on half of the queries, tested on the other half ({splits})",
                sheet(("run",), TEST_COLUMNS, held_out),
            ),
        ]
    return pages


def _best_cells(cut: CutResult, digits: int) -> list[Cell]:
    return [
        Cell(f"{cut.length:.1f}"),
        Cell(shown(cut.uncut, digits)),
        Cell(shown(cut.oracle, digits)),
        Cell(f"{cut.oracle_depth:.1f}"),
        Cell(shown(cut.depth_score, digits)),
        Cell(f"{cut.depth}"),
        Cell(shown(cut.threshold_score, digits)),
        Cell(threshold(cut.threshold)),
    ]


def _held_out_cells(cut: CutResult, digits: int) -> list[Cell]:
    low, _, high = cut.splits.percentiles(cut.splits.gain)
    lowest, median, highest = cut.splits.percentiles(cut.splits.threshold)
    return [
        Cell(f"{cut.queries}"),
        Cell(shown(float(cut.splits.uncut.mean()), digits)),
        Cell(shown(float(cut.splits.score.mean()), digits)),
        Cell(shown(float(cut.splits.gain.mean()), digits), aside=f"[{shown(low, digits)}, {shown(high, digits)}]"),
        Cell(threshold(median), aside=f"[{threshold(lowest)}, {threshold(highest)}]"),
    ]


def threshold(score: float) -> str:
    """A threshold as text.

    >>> threshold(12.50001), threshold(float("-inf")), threshold(float("inf"))
    ('12.5', 'no cut', 'empty')
    """
    if np.isinf(score):
        return "empty" if score > 0 else "no cut"
    return f"{score:.5g}"
