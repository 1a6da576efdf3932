"""The tables of the study `stopping`."""

from __future__ import annotations

import numpy as np

from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell, shown
from cranfield.studies.stopping.experiment import CutResult, RuleResult, Stopping
from cranfield.studies.stopping.rules import RULES

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
RULE_COLUMNS = ("best", "at", "held out", "gain", "threshold")
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
        if any(cut.rules for cut in cuts):
            pages.append(_rule_table(measure, cuts, splits, digits))
    return pages


def _rule_table(measure: str, cuts: list[CutResult], splits: str, digits: int) -> Page:
    rows = []
    for cut in cuts:
        absolute = RuleResult("score", cut.threshold, cut.threshold_score, cut.splits)
        held_out = [float(entry.splits.score.mean()) for entry in (absolute, *cut.rules)]
        texts = [shown(score, digits) for score in held_out]
        best = texts[int(np.argmax(held_out))] if len(set(texts)) > 1 else None
        for entry, text in zip((absolute, *cut.rules), texts, strict=True):
            low, _, high = entry.splits.percentiles(entry.splits.gain)
            cells = [
                Cell(shown(entry.score, digits)),
                Cell(rule_threshold(entry.rule, entry.threshold)),
                Cell(text, best=text == best),
                Cell(
                    shown(float(entry.splits.gain.mean()), digits),
                    aside=f"[{shown(low, digits)}, {shown(high, digits)}]",
                ),
                Cell(rule_threshold(entry.rule, entry.splits.percentiles(entry.splits.threshold)[1])),
            ]
            rows.append(((cut.run, entry.rule), cells))
    title = f"{measure}: stopping rules, best on all queries, and chosen on half of them ({splits})"
    return Page(title, sheet(("run", "rule"), RULE_COLUMNS, rows))


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


def rule_threshold(rule: str, value: float) -> str:
    """The threshold of a rule as text; what keeps nothing or everything depends on its direction.

    >>> rule_threshold("gap", float("inf")), rule_threshold("ratio", float("inf")), rule_threshold("gap", 0.25)
    ('no cut', 'empty', '0.25')
    """
    return threshold(RULES[rule].key(value)) if np.isinf(value) else threshold(value)


def threshold(score: float) -> str:
    """A threshold as text.

    >>> threshold(12.50001), threshold(float("-inf")), threshold(float("inf"))
    ('12.5', 'no cut', 'empty')
    """
    if np.isinf(score):
        return "empty" if score > 0 else "no cut"
    return f"{score:.5g}"
