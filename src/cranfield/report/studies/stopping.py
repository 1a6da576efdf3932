"""The study of stopping as tables."""

from __future__ import annotations

import numpy as np

from cranfield.report.numbers import shown
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell
from cranfield.studies.stopping import Outcome, Stopping


def pages(result: Stopping, digits: int = 4) -> list[Page]:
    """For each measure what the best cuts score, and what a threshold scores on queries that it was not chosen on."""
    halves = f"{result.repeats} splits, seed {result.seed}; in brackets the 5th and 95th percentile"
    found = []
    for measure in dict.fromkeys(one.measure for one in result.outcomes):
        mine = [one for one in result.outcomes if one.measure == measure]
        best = [((one.run,), _best(one, digits)) for one in mine]
        held = [((one.run,), _held(one, digits)) for one in mine]
        found += [
            Page(
                f"{measure}, uncut, each list cut at its own best depth, all at one, all at a score",
                sheet(("run",), BEST, best),
            ),
            Page(
                f"{measure}, the score chosen on half of the queries, tried on the others: {halves}",
                sheet(("run",), HELD, held),
            ),
        ]
    return found


BEST = (
    "mean\nlength",
    "uncut",
    "own\ndepths",
    "mean\ndepth",
    "one\ndepth",
    "depth",
    "one\nthreshold",
    "threshold",
)
HELD = ("queries", "uncut", "cut", "gain", "threshold")


def _best(one: Outcome, digits: int) -> list[Cell]:
    return [
        Cell(f"{one.length:.1f}"),
        Cell(shown(one.uncut, digits)),
        Cell(shown(one.oracle, digits)),
        Cell(f"{one.oracle_depth:.1f}"),
        Cell(shown(one.depth_score, digits)),
        Cell(f"{one.depth}"),
        Cell(shown(one.threshold_score, digits)),
        Cell(threshold(one.threshold)),
    ]


def _held(one: Outcome, digits: int) -> list[Cell]:
    low, _, high = one.splits.spread(one.splits.gain)
    least, middle, most = one.splits.spread(one.splits.threshold)
    return [
        Cell(f"{one.queries}"),
        Cell(shown(float(one.splits.uncut.mean()), digits)),
        Cell(shown(float(one.splits.score.mean()), digits)),
        Cell(shown(float(one.splits.gain.mean()), digits), aside=f"[{shown(low, digits)}, {shown(high, digits)}]"),
        Cell(threshold(middle), aside=f"[{threshold(least)}, {threshold(most)}]"),
    ]


def threshold(score: float) -> str:
    """A threshold as shown to people.

    >>> threshold(12.50001), threshold(float("-inf")), threshold(float("inf"))
    ('12.5', 'no cut', 'empty')
    """
    if np.isinf(score):
        return "empty" if score > 0 else "no cut"
    return f"{score:.5g}"
