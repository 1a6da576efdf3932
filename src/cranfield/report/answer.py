"""What a comparison says: one or two sentences, and the table behind them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Literal, NamedTuple

import numpy as np

from cranfield.analysis.compare import BEST, Comparison, ComparisonTable
from cranfield.analysis.significance import MeasureComparison
from cranfield.evaluation.notes import Note, sentences
from cranfield.report import predicted
from cranfield.report.compare import (
    BETTER,
    MAX_PAIRS,
    WORSE,
    against_the_mean,
    chance,
    chance_words,
    design_notes,
    drawings,
    interval_name,
    means_page,
    method,
    no_confidence,
    pair_pages,
    panel,
    quantity,
    queries_of,
    rank_cell,
    rank_head,
    ranks_hold,
    reversals,
    unchecked,
)
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell, Row, Sheet, interval, shown, signed
from cranfield.statistics.rounding import SAME
from cranfield.wording import one_of, plural, printable

# The figures of a comparison are shown with its answer.
__all__ = ["answer", "drawings", "notes", "pages", "panel"]

ALL_ROWS = 40  # runs that the table shows; of more, so many that the answer fits two screens of 25 lines
FEW_MEASURES = 3  # whose columns fit 80 characters
MOST_NAMED = 3  # runs that a sentence names
BELOW = {WORSE: "worse", BETTER: "better"}


class Versus(NamedTuple):
    """A run against the one that its row of a table refers to: the estimate, its interval, and what it means."""

    estimate: float
    low: float
    high: float
    p: float
    verdict: int  # 1 significantly better, -1 significantly worse, 0 neither
    doubts: tuple[str, ...] | None

    @property
    def mark(self) -> str:
        """The sign of a significant difference."""
        return {1: BETTER, -1: WORSE, 0: ""}[self.verdict]

    @property
    def turned(self) -> Versus:
        """The other run against this one."""
        return Versus(-self.estimate, -self.high, -self.low, self.p, -self.verdict, self.doubts)

    def marked(self, text: str, *, best: bool) -> Cell:
        """The mean of the run with the sign of its difference."""
        tone: Literal["", "good", "bad"] = {1: "good", -1: "bad", 0: ""}[self.verdict]  # type: ignore[assignment]
        return Cell(text, best, mark=self.mark, tone=tone)

    def numbers(self, comparison: Comparison, digits: int) -> str:
        """The estimate, its interval and the p-value, in a sentence."""
        limits = interval(self.low, self.high, digits)
        middle = f"{interval_name(comparison)} {limits}, " if limits else ""
        what = "" if (name := quantity(comparison)) == "difference" else f"{name} "
        return f"{what}{signed(self.estimate, digits)}, {middle}p {chance_words(self.p)}"


def pages(
    comparison: Comparison, digits: int = 4, *, table: ComparisonTable | None = None, details: bool = False
) -> list[Page]:
    """The answer above its table; or one other ``table``; or with ``details`` all, those of pairs only if few.

    Tables with predictions follow.
    """
    few = comparison.size <= MAX_PAIRS
    sheets = [] if table is not None else [answer(comparison, digits)]
    sheets += [means_page(comparison, digits)] if details or table == "means" else []
    sheets += pair_pages(comparison, digits) if (details and few) or table == "pairs" else []
    return [*sheets, *predicted.pages(comparison.predicted, digits)]


def most_rows(comparison: Comparison) -> int:
    """How many runs the table shows."""
    runs, measures = len(comparison.runs), len(comparison.measures)
    return runs if runs <= ALL_ROWS else 30 if measures <= FEW_MEASURES else 15


def answer(comparison: Comparison, digits: int = 4) -> Page:
    """The answer above its table, of many runs the best; below it, how the numbers were found."""
    order = comparison.by_measure[0].order
    against = [dict(_against(comparison, result)) for result in comparison.by_measure]
    if len(comparison.runs) == 2:
        below = tuple(filter(None, (_method(comparison), comparison.policy)))
        return Page(
            _of_two(comparison, against, digits), _table_of_two(comparison, against, digits), below, "comparison"
        )
    text = _of_many(comparison, against, order, digits)
    most = most_rows(comparison)
    below = tuple(filter(None, (_method(comparison, against), comparison.policy)))
    return Page(text, _table_of_many(comparison, against, order, digits, most), below, "comparison")


def notes(
    comparison: Comparison,
    *,
    table: ComparisonTable | None = None,
    details: bool = False,
) -> list[str]:
    """The queries used, what is not listed, and differences that could be reversed; the answer has fewer of them."""
    complete = details or table is not None
    texts = sentences(note for note in comparison.query_notes if complete or not _plain(note))
    pairs = comparison.size
    if not complete and len(comparison.runs) > most_rows(comparison):
        texts.append(f"the best {most_rows(comparison)} of {len(comparison.runs)} runs are shown")
    if details and pairs > MAX_PAIRS:
        texts.append(f"{pairs:,} pairs per measure hidden; use --table pairs, or --format csv or json")
    if comparison.baseline is None and not ranks_hold(comparison):
        texts.append(no_confidence(comparison))
    texts += against_the_mean(comparison)
    # The answer on two runs says what could reverse it.
    texts += reversals(comparison) if complete or len(comparison.runs) > 2 else []
    return [*texts, *unchecked(comparison), *design_notes(comparison), *predicted.notes(comparison.predicted)]


def _plain(note: Note) -> bool:
    """Whether a note only says on which queries all runs were compared, whose number the table has."""
    return note.kind == "compared" and not note.values["left_out"].count


def _against(comparison: Comparison, result: MeasureComparison) -> Iterator[tuple[int, Versus]]:
    """Each run against the baseline, the older of two runs, or the best."""
    reference = result.places[0, 1] if comparison.baseline is not None or len(result.runs) == 2 else result.order[0]
    chosen = np.flatnonzero((result.places == reference).any(axis=1))
    columns = result.places, result.estimate, result.low, result.high, result.corrected, result.verdict
    rows = zip(*(column[chosen].tolist() for column in columns), strict=True)
    for pair, ((first, second), estimate, low, high, p, verdict) in zip(chosen.tolist(), rows, strict=True):
        doubts = result.doubts[pair] if result.significant[pair] else ()
        if second == reference:
            yield first, Versus(estimate, low, high, p, verdict, doubts)
        else:
            yield second, Versus(estimate, low, high, p, verdict, doubts).turned


def _of_two(comparison: Comparison, against: list[dict[int, Versus]], digits: int) -> str:
    """The newer of two runs against the older, or against the baseline."""
    (run,) = against[0]
    name, other = (printable(comparison.runs[r]) for r in (run, 1 - run))
    of_measure = {measure: versus[run] for measure, versus in zip(comparison.measures, against, strict=True)}
    by_verdict = {v: [m for m, result in of_measure.items() if result.verdict == v] for v in (1, -1, 0)}
    first = of_measure[comparison.measures[0]]
    numbers = first.numbers(comparison, digits)
    parts = []
    for verdict, phrase in ((1, "significantly better than"), (-1, "significantly worse than")):
        if by_verdict[verdict]:
            parts.append(f"{phrase} {other} in {_measures(comparison, by_verdict[verdict])}")
    if not parts and all((np.abs(result.difference) <= SAME).all() for result in comparison.by_measure):
        return f"{name} and {other} have the same mean in {_measures(comparison, by_verdict[0])}."
    if not parts:
        same = _measures(comparison, by_verdict[0])
        text = f"{name} is neither significantly better nor significantly worse than {other} in {same}"
    else:
        text = f"{name} is {' and '.join(parts)}"
        text += f"; no significant difference in {one_of(by_verdict[0], 'and')}" if by_verdict[0] else ""
    which = "" if len(of_measure) == 1 else f"{comparison.measures[0]} "
    sentences = [f"{text} ({which}{numbers})."]
    doubtful = {measure: result.doubts for measure, result in of_measure.items() if result.doubts}
    if doubtful:
        these = "this" if len(of_measure) == 1 else f"the difference in {one_of(list(doubtful), 'and')}"
        sentences.append(f"{_causes(doubtful.values())} could reverse {these}.")
    elif len(of_measure) == 1 and (detectable := _detectable(comparison, digits)):
        sentences.append(detectable)
    return " ".join(sentences)


def _measures(comparison: Comparison, names: Sequence[str]) -> str:
    """The measures of a verdict; all of them are counted."""
    number = len(comparison.measures)
    return f"all {number} measures" if len(names) == number > 2 else one_of(names, "and")


def _causes(doubts: Iterable[tuple[str, ...]]) -> str:
    """What could reverse differences, at the beginning of a sentence."""
    causes = set(chain.from_iterable(doubts))
    names = {"ties": "ties", "unjudged": "unjudged documents"}
    return one_of([name for cause, name in names.items() if cause in causes], "or").capitalize()


def _detectable(comparison: Comparison, digits: int) -> str:
    """For one pair without a significant difference: which difference these queries would probably show."""
    result, settings = comparison.by_measure[0], comparison.settings
    (pair,) = result.pairs
    if pair.significant or sum(pair.variance) <= SAME**2 or result.lowest_p >= settings.alpha:
        return ""
    difference = pair.detectable(settings.lowest_level)
    repeats = " and these repeats" if pair.variance[1] else ""
    return (
        f"{plural(pair.queries, 'query')}{repeats} detect a difference of {shown(difference, digits)} with 80% power."
    )


def _of_many(comparison: Comparison, against: list[dict[int, Versus]], order: list[int], digits: int) -> str:
    first, best, versus = comparison.by_measure[0], order[0], against[0]
    measure = first.measure
    reference = next(r for r in range(len(comparison.runs)) if r not in versus)
    extreme = "lowest" if first.better == "lower" else "highest"
    name, mean = printable(comparison.runs[best]), shown(float(first.means[best]), digits)
    same = [printable(comparison.runs[r]) for r in order if abs(first.means[r] - first.means[best]) <= SAME]
    sentences = [f"{name} has the {extreme} {measure}, {mean}."]
    if len(same) > 1:
        names = [*same[:MOST_NAMED], *([f"{len(same) - MOST_NAMED} more"] if len(same) > MOST_NAMED else [])]
        sentences = [f"{one_of(names, 'and')} have the {extreme} {measure}, {mean}."]
    it = "It" if len(same) == 1 else name
    if reference == best:
        sentences.append(_leads(comparison, versus, order, digits, it))
        verdict = -1
    else:
        sentences.append(_against_baseline(comparison, versus, reference, best, digits, it))
        verdict = 1
    doubtful = [
        versus_run.doubts for versus_run in versus.values() if versus_run.doubts and versus_run.verdict == verdict
    ]
    significant = sum(versus_run.verdict == verdict for versus_run in versus.values())
    if doubtful:
        part = "all" if len(doubtful) == significant else f"{len(doubtful)}"
        count = f"{part} of these {significant} significant differences"
        count = "this significant difference" if significant == 1 else count
        sentences.append(f"{_causes(doubtful)} could reverse {count}.")
    return " ".join([*sentences, *_elsewhere(comparison, best)])


def _elsewhere(comparison: Comparison, best: int) -> Iterator[str]:
    """The best runs by the other measures, if there are any."""
    by_run: dict[int, list[str]] = {}
    for result in comparison.by_measure[1:]:
        by_run.setdefault(result.order[0], []).append(result.measure)
    if set(by_run) == {best}:
        yield f"{printable(comparison.runs[best])} is also the best in {one_of(by_run[best], 'and')}."
    elif by_run:
        runs = [f"{printable(comparison.runs[run])} in {one_of(names, 'and')}" for run, names in by_run.items()]
        yield f"Best in the other measures: {'; '.join(runs)}."


def _leads(comparison: Comparison, versus: dict[int, Versus], order: list[int], digits: int, it: str) -> str:
    """What the best run is significantly better than."""
    others = order[1:]
    beaten = [r for r in others if versus[r].verdict < 0]
    open_ = [r for r in others if versus[r].verdict >= 0]

    def named(r: int) -> str:
        return f"{printable(comparison.runs[r])} ({versus[r].turned.numbers(comparison, digits)})"

    if not open_:
        everyone = "both other runs" if len(others) == 2 else f"all {len(others)} other runs"
        return f"{it} is significantly better than {everyone}; the next is {named(others[0])}."
    if not beaten:
        return f"{it} is not significantly better than any other run; the next is {named(open_[0])}."
    count = f"{len(beaten)} of the {len(others)} other runs"
    if len(beaten) <= MOST_NAMED:
        count = one_of([printable(comparison.runs[r]) for r in beaten], "and")
    better = f"{it} is significantly better than {count}"
    if len(open_) == 1:
        return f"{better}; its difference from {named(open_[0])} is not significant."
    return f"{better}; its differences from {named(open_[0])} and {len(open_) - 1} more are not significant."


def _against_baseline(
    comparison: Comparison, versus: dict[int, Versus], reference: int, best: int, digits: int, it: str
) -> str:
    """How the runs compare with a baseline that is not the best run."""
    baseline = printable(comparison.runs[reference])
    better = sum(versus_run.verdict > 0 for versus_run in versus.values())
    worse = sum(versus_run.verdict < 0 for versus_run in versus.values())
    numbers = versus[best].numbers(comparison, digits)
    is_better = "significantly" if versus[best].verdict > 0 else "not significantly"
    text = f"{it} is {is_better} better than the baseline {baseline} ({numbers})"
    if not better and not worse:
        return f"{text}; no run is significantly better or worse."
    counts = f"{better} {'is' if better == 1 else 'are'} significantly better and {worse} significantly worse"
    return f"{text}; of {len(versus)} runs, {counts}."


def _method(comparison: Comparison, against: list[dict[int, Versus]] | None = None) -> str:
    """How the numbers were found, and what marks mean."""
    text = f"{queries_of(comparison)}; {method(comparison)}"
    if comparison.settings.together > 1 and len(comparison.by_measure) == 1:
        text += f"; {interval_name(comparison)}"
    marks = {versus_run.mark for versus in against or () for versus_run in versus.values()} - {""}
    to = "the best" if comparison.baseline in (None, BEST) else "the baseline"
    text += "".join(f"; {mark} significantly {BELOW[mark]} than {to}" for mark in (BETTER, WORSE) if mark in marks)
    return text


def _interval_head(comparison: Comparison) -> str:
    """The head of the column of intervals; the line below the table has the whole name of long ones."""
    name = interval_name(comparison)
    return name if name[0].isdigit() else "interval"


def _table_of_two(comparison: Comparison, against: list[dict[int, Versus]], digits: int) -> Sheet:
    """A row for each measure: both means, the difference, its interval and its p-value."""
    (run,) = against[0]
    rows = []
    for measure, versus in zip(comparison.by_measure, against, strict=True):
        versus_run = versus[run]
        means = [shown(float(measure.means[r]), digits) for r in (1 - run, run)]
        values = [Cell(text, versus_run.verdict == v) for text, v in zip(means, (-1, 1), strict=True)]
        cells = [
            Cell(signed(versus_run.estimate, digits)),
            Cell(interval(versus_run.low, versus_run.high, digits)),
            Cell(chance(versus_run.p)),
        ]
        rows.append(((measure.measure,), [*values, *cells]))
    names = [printable(comparison.runs[r]) for r in (1 - run, run)]
    return sheet(("measure",), (*names, quantity(comparison), _interval_head(comparison), "p"), rows, across="")


def _table_of_many(
    comparison: Comparison, against: list[dict[int, Versus]], order: list[int], digits: int, most: int
) -> Sheet:
    """A row for each run, best first: its means, and the p-value of its difference from the best or the baseline."""
    alone, ranked = len(comparison.measures) == 1, comparison.baseline is None
    word = "baseline" if comparison.baseline not in (None, BEST) else "best"
    rank = {run: i + 1 for i, run in enumerate(order)}
    references = {r for versus in against for r in order if r not in versus}
    rows = []
    for r in [*order[:most], *(run for run in order[most:] if not ranked and run in references)]:
        cells: list[Cell] = []
        for measure, versus in zip(comparison.by_measure, against, strict=True):
            versus_run = versus.get(r)
            mean, highest = (shown(float(measure.means[run]), digits) for run in (r, measure.order[0]))
            best = mean == highest
            cells.append(Cell(mean, best) if versus_run is None else versus_run.marked(mean, best=best))
            if alone:
                gap = (
                    ("", "")
                    if versus_run is None
                    else (signed(versus_run.estimate, digits), interval(versus_run.low, versus_run.high, digits))
                )
                cells += map(Cell, gap)
            cells.append(Cell(word if versus_run is None else chance(versus_run.p)))
        cells += [rank_cell(comparison, r)] if ranked else []
        rows.append(Row((str(rank[r]), comparison.runs[r]), tuple(cells), kept=not ranked and r in references))
    between = [quantity(comparison), _interval_head(comparison)] if alone else []
    heads = [head for measure in comparison.measures for head in (measure, *between, "p")]
    columns = (*heads, *([rank_head(comparison)] if ranked else []))
    return Sheet(("", "run"), columns, tuple(rows), together=1 if alone else 2)
