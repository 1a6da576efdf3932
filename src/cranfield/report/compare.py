"""A comparison: what it says in one or two sentences, the tables behind them, and figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from cranfield.analysis.compare import BEST, NOT_AUDITED, Comparison, ComparisonTable
from cranfield.analysis.significance import SIGNIFICANCE_TESTS, MeasureComparison, PairComparison
from cranfield.data import Integers
from cranfield.evaluation.designs import INDEPENDENT
from cranfield.evaluation.notes import Note, sentences
from cranfield.report.canvas import BLUE, COLUMN, DIVERGING, GREY, PAGE, Drawings, Panel, draw_intervals, ink
from cranfield.report.pages import Page, sheet
from cranfield.report.scores import predicted_notes, predicted_pages
from cranfield.report.sheet import Cell, Row, Sheet, csv_lines, interval, shown, signed
from cranfield.statistics.resampling import sign_patterns
from cranfield.statistics.rounding import SAME
from cranfield.wording import decodable, few, one_of, percent, plural, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_PAIRS = 45  # pairs per measure that are listed by default: those of ten runs
MAX_LETTERS = 26  # with more runs, numbers stand for letters
HALF = 0.5
MOST_SOURCES = 3  # number of runs whose variance is shown by source
WORSE, BETTER = "▼", "▲"  # than the baseline
MARKS = "letters name the runs that are significantly worse"
COUNTS = "after each mean, how many runs it beats/loses to significantly"
CORRECTIONS = {
    "holm": "Holm correction over",
    "bonferroni": "Bonferroni correction over",
    "bh": "Benjamini-Hochberg correction over",
    "none": "no correction for",
}


NO_CONFIDENCE = {
    "bh": "after Benjamini and Hochberg's correction, ranks have no known confidence",
    "none": "without a correction, ranks have no known confidence",
}
OF_TUKEY = "Tukey's tests take all runs to vary alike; where they do not, ranks have no known confidence"
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
    return [*sheets, *predicted_pages(comparison.predicted, digits)]


def most_rows(comparison: Comparison) -> int:
    """How many runs the table shows."""
    runs, measures = len(comparison.runs), len(comparison.measures)
    return runs if runs <= ALL_ROWS else 30 if measures <= FEW_MEASURES else 15


def answer(comparison: Comparison, digits: int = 4) -> Page:
    """The answer above its table, of many runs the best; below it, how the numbers were found."""
    against = [dict(_against(comparison, result)) for result in comparison.by_measure]
    two = len(comparison.runs) == 2
    text = (_of_two if two else _of_many)(comparison, against, digits)
    table = (_table_of_two if two else _table_of_many)(comparison, against, digits)
    below = tuple(filter(None, (_method(comparison, [] if two else against), comparison.policy)))
    return Page(text, table, below, "comparison")


def headlines(comparison: Comparison, digits: int = 4) -> dict[str, str]:
    """The answer by each measure alone."""
    alone = {result.measure: replace(comparison, by_measure=(result,)) for result in comparison.by_measure}
    return {measure: answer(of_measure, digits).title for measure, of_measure in alone.items()}


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
    return [*texts, *unchecked(comparison), *design_notes(comparison), *predicted_notes(comparison.predicted)]


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


def _of_many(comparison: Comparison, against: list[dict[int, Versus]], digits: int) -> str:
    first, versus = comparison.by_measure[0], against[0]
    order, best = first.order, first.order[0]
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


def _method(comparison: Comparison, against: list[dict[int, Versus]]) -> str:
    """How the numbers were found, and what marks mean."""
    text = f"{queries_of(comparison)}; {method(comparison)}"
    if comparison.settings.together > 1 and len(comparison.by_measure) == 1:
        text += f"; {interval_name(comparison)}"
    marks = {versus_run.mark for versus in against for versus_run in versus.values()} - {""}
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


def _table_of_many(comparison: Comparison, against: list[dict[int, Versus]], digits: int) -> Sheet:
    """A row for each run, best first: its means, and the p-value of its difference from the best or the baseline."""
    order, most = comparison.by_measure[0].order, most_rows(comparison)
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


def means_page(comparison: Comparison, digits: int = 4) -> Page:
    """The leaderboard; its title says what the marks mean."""
    marks = COUNTS if counted(comparison) else MARKS
    if comparison.baseline is not None:
        baseline = "the best run of each measure" if comparison.baseline == BEST else comparison.baseline
        marks = f"{WORSE} significantly worse, {BETTER} significantly better than {baseline}"
    ranks = f"; rank: the ranks that a run may have by {comparison.measures[0]}" if comparison.baseline is None else ""
    title = f"Means over {queries_of(comparison)}; {marks} ({method(comparison)}){ranks}"
    return Page(title, leaderboard(comparison, digits), tuple(filter(None, [comparison.policy])), "means")


def pair_pages(comparison: Comparison, digits: int = 4) -> list[Page]:
    """For each measure the differences of all pairs."""
    pairs = "all pairs" if comparison.baseline is None else f"difference from {comparison.baseline}"
    intervals = f"{interval_name(comparison)} by the {SIGNIFICANCE_TESTS[comparison.settings.chosen].title}"
    return [
        Page(
            f"{result.measure}: {pairs}, {plural(len(result.queries), 'query')}; {intervals}",
            _pairs(comparison, result, digits),
            label=f"pairs-{result.measure}",
        )
        for result in comparison.by_measure
    ]


def interval_name(comparison: Comparison) -> str:
    """What the interval of a difference is called: it belongs to the step at which the correction tested the pair."""
    settings, level = comparison.settings, f"{percent(comparison.settings.confidence)} interval"
    if SIGNIFICANCE_TESTS[settings.chosen].joint and settings.together > 1:
        return f"simultaneous {level}"
    return level if settings.correction == "none" or settings.together == 1 else "interval at the corrected level"


def queries_of(comparison: Comparison) -> str:
    """How many queries were compared; a range if it differs between measures."""
    sizes = sorted({len(result.queries) for result in comparison.by_measure})
    return plural(sizes[0], "query") if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,} queries"


def method(comparison: Comparison, measure: str | None = None) -> str:
    """The test, its correction, and the significance level; for all measures, or for one."""
    settings = comparison.settings
    test = SIGNIFICANCE_TESTS[settings.chosen]
    correction = "joint test of" if test.joint else CORRECTIONS[settings.correction]
    units = [result.units for result in comparison.by_measure if measure in (None, result.measure)]
    sampling = f", {_sampling(comparison, units)}" if test.resamples else ""
    of = f" of clusters by {settings.cluster}" if settings.cluster not in (None, INDEPENDENT) else ""
    of += f" over the means of {settings.collection}" if settings.collection else ""
    of += f", {settings.repeats} repeats" if settings.repeats else ""
    corrected = "" if settings.together == 1 else f"; {correction} {comparison.family}"
    return f"{test.title}{of}{sampling}{corrected}; p < {settings.alpha:g}"


def _sampling(comparison: Comparison, sizes: Iterable[int]) -> str:
    """How many resamples were drawn, or that no chance is involved; ``sizes``: how many signs can flip."""
    settings = comparison.settings
    signs = SIGNIFICANCE_TESTS[settings.chosen].signs
    patterns = {size: sign_patterns(size, settings.resamples) if signs else None for size in sorted(set(sizes))}
    exact = [f"{number:,}" for number in patterns.values() if number]
    parts = [f"all {' or '.join(exact)} sign patterns"] if exact else []
    if len(exact) < len(patterns):
        parts.append(f"{settings.resamples:,} samples, seed {settings.seed}")
    return " or ".join(parts)


def letters(position: int) -> str:
    """The letters that stand for a run: a to z, then aa, ab and so on.

    >>> letters(0), letters(25), letters(26), letters(27), letters(702)
    ('a', 'z', 'aa', 'ab', 'aaa')
    """
    text = ""
    position += 1
    while position:
        position, letter = divmod(position - 1, 26)
        text = ascii_lowercase[letter] + text
    return text


def letter_ranges(positions: Iterable[int]) -> str:
    """The letters of runs, with neighbours joined.

    >>> letter_ranges([0, 1, 2, 4, 27, 28])
    'a–c e ab ac'
    """
    groups: list[list[int]] = []
    for position in sorted(positions):
        if groups and groups[-1][-1] == position - 1:
            groups[-1].append(position)
        else:
            groups.append([position])
    return " ".join(
        f"{letters(group[0])}–{letters(group[-1])}" if len(group) > 2 else " ".join(map(letters, group))
        for group in groups
    )


def counted(comparison: Comparison) -> bool:
    """Whether the leaderboard counts significant differences: there are too many runs for letters."""
    return len(comparison.runs) > MAX_LETTERS and comparison.baseline is None


def leaderboard(comparison: Comparison, digits: int) -> Sheet:
    """Runs by their first measure, best first; with each mean the runs that are significantly worse.

    Of many runs, it is the number of runs that are significantly worse, and of those that are significantly better.
    With a baseline, it is a mark: significantly worse or better than the baseline.
    """
    order, baseline = comparison.by_measure[0].order, comparison.baseline
    position = np.argsort(order)
    beaten: dict[tuple[int, int], list[int]] = {}
    losses = Counter[tuple[int, int]]()
    for m, result in enumerate(comparison.by_measure):
        for (a, b), verdict in zip(result.places.tolist(), result.verdict.tolist(), strict=True):
            if verdict:
                winner, loser = (a, b) if verdict > 0 else (b, a)
                beaten.setdefault((m, winner), []).append(int(position[loser]))
                losses[m, loser] += 1
    best = [shown(float(result.sign * (result.sign * result.means).max()), digits) for result in comparison.by_measure]
    lettered = baseline is None and not counted(comparison)

    def cell(m: int, r: int) -> Cell:
        result, worse, lost = comparison.by_measure[m], beaten.get((m, r), []), losses[m, r]
        text = shown(float(result.means[r]), digits)
        if lettered:
            return Cell(text, text == best[m], letter_ranges(worse), raised=True)
        if baseline is None:
            return Cell(text, text == best[m], mark=f"{len(worse)}/{lost}")
        if not (worse or lost) or r == result.places[0, 1]:
            return Cell(text, text == best[m])
        return Cell(text, text == best[m], mark=BETTER if worse else WORSE, tone="good" if worse else "bad")

    rows = []
    for rank, r in enumerate(order):
        name = comparison.runs[r]
        names = (letters(rank) if lettered else str(rank + 1), f"{name} (baseline)" if name == baseline else name)
        ranked = [rank_cell(comparison, r)] if baseline is None else []
        rows.append((names, [*(cell(m, r) for m in range(len(best))), *ranked]))
    return sheet(("", "run"), (*comparison.measures, *([rank_head(comparison)] if baseline is None else [])), rows)


def rank_head(comparison: Comparison) -> str:
    """The head of the column of ranks, which are those by the first measure."""
    return "rank" if len(comparison.measures) == 1 else f"rank\n{comparison.measures[0]}"


def rank_meaning(comparison: Comparison) -> str:
    """What ranks follow from, and whether they are a confidence statement."""
    rule = "below the runs that are significantly better, above those that are significantly worse"
    if ranks_hold(comparison):
        confidence = percent(1 - comparison.settings.alpha)
        return f"{rule}; with {confidence} confidence, the ranks of all runs in a measure are in their ranges"
    return f"{rule}; {no_confidence(comparison)}"


def no_confidence(comparison: Comparison) -> str:
    """Why ranks are no confidence statement."""
    joint = SIGNIFICANCE_TESTS[comparison.settings.chosen].joint
    return OF_TUKEY if joint else NO_CONFIDENCE[comparison.settings.correction]


def ranks_hold(comparison: Comparison) -> bool:
    """Whether the family-wise error is controlled, so that ranks are a confidence statement."""
    return comparison.size == 1 or comparison.settings.correction in ("holm", "bonferroni")


def quantity(comparison: Comparison) -> str:
    """What is estimated of each pair: the difference of means, or what belongs to another test."""
    return SIGNIFICANCE_TESTS[comparison.settings.chosen].quantity


def against_the_mean(comparison: Comparison) -> list[str]:
    """The significant differences whose mean points the other way than the test."""
    named = []
    for result in comparison.by_measure:
        for p in np.flatnonzero(result.significant & (result.direction * result.difference < 0)).tolist():
            run, other = (result.runs[r] for r in result.places[p].tolist())
            named.append(f"{run} and {other} in {result.measure} (mean {signed(float(result.difference[p]), 4)})")
    title = SIGNIFICANCE_TESTS[comparison.settings.chosen].title
    return [f"the mean points the other way than the {title}: {few(named)}"] if named else []


def rank_cell(comparison: Comparison, r: int) -> Cell:
    """The ranks that a run may have by the first measure."""
    low, high = comparison.by_measure[0].ranks[comparison.runs[r]]
    return Cell(f"{low}" if low == high else f"{low}–{high}")


def _pairs(comparison: Comparison, compared: MeasureComparison, digits: int) -> Sheet:
    """The differences of each pair by one measure, the largest first."""
    settings = comparison.settings
    corrected = settings.correction != "none" and settings.together > 1
    heads = [quantity(comparison), *(["p\ncorrected"] if corrected else [])]
    heads += ["p" if test == settings.test else f"p\n{test}" for test in settings.tests]
    heads += ["effect", "+/=/-"]
    # The column of causes that could reverse a difference is shown only if it says something.
    doubtful = any(map(doubt, compared.pairs))
    rows = []
    for result in sorted(compared.pairs, key=lambda pair: -abs(pair.estimate)):
        cells = [
            Cell(signed(result.estimate, digits), result.significant, interval(result.low, result.high, digits)),
            *([Cell(chance(result.corrected))] if corrected else []),
            *(Cell(chance(p)) for p in result.tests.values()),
            Cell(signed(result.effect, 2), aside=interval(result.effect_low, result.effect_high, 2)),
            Cell(f"{result.wins}/{result.ties}/{result.losses}"),
            *([Cell(doubt(result))] if doubtful else []),
        ]
        rows.append(((result.run,) if comparison.baseline is not None else (result.run, result.other), cells))
    names = ("run",) if comparison.baseline is not None else ("run", "versus")
    return sheet(names, (*heads, *(["could be\nreversed by"] if doubtful else [])), rows)


def chance(p: float) -> str:
    """A p-value as text.

    >>> chance(0.5), chance(0.00004), chance(0.0)
    ('0.5000', '<0.0001', '<0.0001')
    """
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def chance_words(p: float) -> str:
    """How a p-value stands in a sentence, after the letter.

    >>> chance_words(0.5), chance_words(0.00004)
    ('= 0.5000', '< 0.0001')
    """
    return chance(p).replace("<", "< ") if p < 0.0001 else f"= {chance(p)}"


def doubt(result: PairComparison) -> str:
    """The causes that could reverse a significant difference."""
    if not result.significant or result.doubts == ():
        return ""
    return NOT_AUDITED if result.doubts is None else ", ".join(result.doubts)


def reversals(comparison: Comparison) -> list[str]:
    """How many significant differences could be reversed."""
    doubts = [doubts for result in comparison.by_measure for doubts in result.significant_doubts]
    reversible = sum(map(bool, doubts))
    if not reversible:
        return []
    return [f"ties or unjudged documents could reverse {reversible:,} of {len(doubts):,} significant differences"]


def unchecked(comparison: Comparison) -> list[str]:
    """The measures with significant differences of which it is not known what could reverse them."""
    names = [of_measure.measure for of_measure in comparison.by_measure if None in of_measure.significant_doubts]
    if not names:
        return []
    which = "" if len(names) == len(comparison.measures) else f" in {one_of(names, 'and')}"
    return [f"not checked{which}: whether ties or unjudged documents could reverse a difference"]


def design_notes(comparison: Comparison) -> list[str]:
    """Where the variance of differences comes from, and how many queries would be needed."""
    texts = []
    if comparison.settings.repeats == "random":
        by_queries, by_repeats = np.concatenate([result.variance for result in comparison.by_measure]).sum(axis=0)
        share = by_repeats / max(by_queries + by_repeats, 1e-300)
        advice = "more repeats would help most" if share > HALF else "more queries would help most"
        texts.append(f"{share:.0%} of the variance of the differences comes from repeats: {advice}")
        first = comparison.by_measure[0]
        for run, parts in list(first.sources.items())[:MOST_SOURCES]:
            queries, repeats, rest = (part / max(sum(parts), 1e-300) for part in parts)
            texts.append(
                f"{run}: the {first.measure} varies by {queries:.0%} between queries, {repeats:.0%} between repeats, "
                f"{rest:.0%} for a query and repeat"
            )
    return texts


def csv(comparison: Comparison) -> str:
    """A line for each measure of each pair, at full precision."""
    columns = comparison.to_columns()
    return csv_lines([columns, *zip(*columns.values(), strict=True)])


MOST_NAMES = 42  # names beside the matrix; of more runs, some are named
MOST_ROWS = 40  # differences from a baseline that are drawn by default
MOST_PAIRS = 45  # pairs that are drawn with their intervals: those of ten runs; of more, the matrix


def drawings(comparison: Comparison) -> Drawings:
    """A figure for each measure."""
    return {f"compare-{measure}": panel(comparison, m) for m, measure in enumerate(comparison.measures)}


def panel(comparison: Comparison, m: int, top: int | None = None) -> Panel:
    """Differences with their intervals, or of many pairs the matrix."""
    runs, result = len(comparison.runs), comparison.by_measure[m]
    if comparison.baseline is None and comparison.size > MOST_PAIRS:
        best = result.order[:top]
        size = float(np.clip(0.16 * len(best) + 1.4, COLUMN, PAGE))
        title = "significant differences" + (f", the best {len(best)} of {runs} runs" if len(best) < runs else "")
        return Panel(partial(_draw_matrix, result=result, order=best, title=title), size, size * 0.95)
    against = comparison.baseline is not None
    order = np.argsort(-result.estimate if against else -np.abs(result.estimate), kind="stable")
    order = order[: top or MOST_ROWS] if against else order
    title = f"the best {len(order)} of {runs} runs" if len(order) < comparison.size else ""
    draw = partial(_draw_forest, comparison=comparison, result=result, order=order, title=title)
    return Panel(draw, 1.3 * COLUMN, 0.7 + 0.16 * max(len(order), 3))


def _draw_forest(axis: Axes, comparison: Comparison, result: MeasureComparison, order: Integers, title: str) -> Axes:
    """The difference and interval of these pairs, the first on top, as in the tables; filled if significant."""
    pairs = [[result.runs[r] for r in pair] for pair in result.places[order].tolist()]
    names = [" − ".join(pair) if comparison.baseline is None else pair[0] for pair in pairs]
    values, low, high = (column[order] for column in (result.estimate, result.low, result.high))
    draw_intervals(axis, names, values, low, high, result.significant[order])
    axis.axvline(0, color=ink(axis), linewidth=0.5)
    what = quantity(comparison) if comparison.baseline is None else f"{quantity(comparison)} from {comparison.baseline}"
    axis.set_xlabel(f"{result.measure}: {what}, {interval_name(comparison)}")
    axis.set_title(title)
    _legend(axis, comparison)
    return axis


def _draw_matrix(axis: Axes, result: MeasureComparison, order: Sequence[int], title: str) -> Axes:
    """Row minus column, best runs first; coloured if significant, with a dot if ties or judgments could reverse it."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    row_of = {run: i for i, run in enumerate(order)}
    gaps = np.full((len(order), len(order)), np.nan)
    doubtful = []
    for (run, other), pair in zip(result.places.tolist(), result.pairs, strict=True):
        if pair.significant and run in row_of and other in row_of:
            a, b = row_of[run], row_of[other]
            gaps[a, b], gaps[b, a] = pair.estimate, -pair.estimate
            doubtful += [(b, a), (a, b)] if pair.doubts else []
    sizes = np.abs(gaps[np.isfinite(gaps)])
    # One bad run differs much from all others: its differences may be off the scale.
    most = min(float(sizes.max()), 2 * float(np.median(sizes))) if len(sizes) else 1.0
    colours = LinearSegmentedColormap.from_list("differences", DIVERGING)
    image = axis.imshow(np.ma.masked_invalid(gaps), cmap=colours, vmin=-most, vmax=most)
    if not len(sizes):
        axis.text(0.5, 0.5, "no significant difference", ha="center", va="center", transform=axis.transAxes)
    labels: list[Patch | Line2D] = [Patch(facecolor="white", edgecolor=GREY, linewidth=0.5, label="not significant")]
    if doubtful:
        dots: dict[str, Any] = {"linestyle": "", "marker": ".", "color": ink(axis), "markersize": 1.5}
        axis.plot(*zip(*doubtful, strict=True), **dots)
        labels.append(Line2D([], [], label="could be reversed by ties or judging", **dots))
    step = -(-len(order) // MOST_NAMES)
    places, small = range(0, len(order), step), min(7.0, 260 * step / len(order))
    names = [decodable(result.runs[order[row_of]]) for row_of in places]
    axis.set_xticks(places, names, rotation=90, fontsize=small, parse_math=False)
    axis.set_yticks(places, names, fontsize=small, parse_math=False)
    axis.tick_params(length=0)
    axis.set_title(title, pad=16)
    axis.legend(handles=labels, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False)
    beyond = "both" if len(sizes) and sizes.max() > most else "neither"
    bar = axis.figure.colorbar(image, ax=axis, shrink=0.6, pad=0.02, aspect=25, extend=beyond)
    bar.set_label(f"{result.measure}: row minus column")
    bar.outline.set_visible(False)
    return axis


def _legend(axis: Axes, comparison: Comparison) -> None:
    """What filled and empty points mean."""
    from matplotlib.lines import Line2D

    style: dict[str, Any] = {"marker": "o", "markersize": 3.5}
    significant = Line2D([], [], color=BLUE, label=f"p < {comparison.settings.alpha:g}", **style)
    other = Line2D([], [], color=GREY, fillstyle="none", label="not significant", **style)
    axis.legend(handles=[significant, other], loc="best", fontsize="small")
