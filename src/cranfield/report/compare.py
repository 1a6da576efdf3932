"""A comparison as tables: the leaderboard with significant differences, then each pair."""

from __future__ import annotations

import csv as comma
from collections import Counter
from collections.abc import Iterable, Iterator
from io import StringIO
from string import ascii_lowercase

import numpy as np

from cranfield.analysis.compare import Comparison, PairComparison
from cranfield.analysis.significance import SIGNIFICANCE_TESTS
from cranfield.data import Integers
from cranfield.evaluation.notes import sentences
from cranfield.report.numbers import exact, shown, signed
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell, Sheet
from cranfield.statistics.resampling import sign_patterns
from cranfield.wording import plural, spreadsheet_cell

MAX_PAIRS = 45  # pairs per measure that are listed by default: those of ten runs
MAX_LETTERS = 26  # with more runs, numbers stand for letters
WORSE, BETTER = "▼", "▲"  # than the baseline
MARKS = "letters mark the runs that are significantly worse"
CORRECTIONS = {
    "holm": "Holm correction over",
    "bonferroni": "Bonferroni correction over",
    "bh": "Benjamini-Hochberg correction over",
    "none": "no correction for",
}


def pages(comparison: Comparison, digits: int = 4, *, all_pairs: bool = False) -> list[Page]:
    """The leaderboard, and the pairs of each measure if they are few or requested."""
    marks = "how many runs are significantly worse/better" if counted(comparison) else MARKS
    if comparison.baseline is not None:
        marks = f"{WORSE} significantly worse, {BETTER} significantly better than {comparison.baseline}"
    leaders = Page(f"Means; {marks} ({method(comparison)})", leaderboard(comparison, digits))
    if len(comparison.pairs) > MAX_PAIRS and not all_pairs:
        return [leaders]
    pairs = "all pairs" if comparison.baseline is None else f"difference from {comparison.baseline}"
    intervals = f"{comparison.level:.0%} intervals of differences by [BCa bootstrap] and (Student's t)"
    return [
        leaders,
        *(
            Page(
                f"{measure}: {pairs}, {plural(len(comparison.queries[m]), 'query')}; {intervals}",
                _pairs(comparison, m, digits),
            )
            for m, measure in enumerate(comparison.measures)
        ),
    ]


def method(comparison: Comparison, measure: int | None = None) -> str:
    """The test, its correction, and the significance level; for all measures, or for one."""
    test = SIGNIFICANCE_TESTS[comparison.test]
    correction = "joint test of" if test.joint else CORRECTIONS[comparison.correction]
    queries = comparison.queries if measure is None else [comparison.queries[measure]]
    sampling = f", {_sampling(comparison, {len(names) for names in queries})}" if test.resamples else ""
    return f"{test.title}{sampling}; {correction} {comparison.family}; p < {comparison.alpha:g}"


def _sampling(comparison: Comparison, sizes: Iterable[int]) -> str:
    """How many resamples were drawn, or that no chance is involved; ``sizes`` are numbers of queries."""
    signs = SIGNIFICANCE_TESTS[comparison.test].signs
    patterns = {size: sign_patterns(size, comparison.samples) if signs else None for size in sorted(sizes)}
    exact = [f"{number:,}" for number in patterns.values() if number]
    parts = [f"all {' or '.join(exact)} sign patterns"] if exact else []
    if len(exact) < len(patterns):
        parts.append(f"{comparison.samples:,} samples, seed {comparison.seed}")
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


def by_first_measure(comparison: Comparison) -> Integers:
    """The runs by their first measure, best first."""
    return np.argsort(-comparison.means[0], kind="stable")


def leaderboard(comparison: Comparison, digits: int) -> Sheet:
    """Runs by their first measure, best first; with each mean the runs that are significantly worse.

    Of many runs, it is the number of runs that are significantly worse, and of those that are significantly better.
    With a baseline, it is a mark: significantly worse or better than the baseline.
    """
    order = by_first_measure(comparison)
    position = np.argsort(order)
    beaten: dict[tuple[int, int], list[int]] = {}
    for m in range(len(comparison.measures)):
        for (a, b), gap, p in zip(
            comparison.pairs.tolist(), comparison.difference[m], comparison.corrected[m], strict=True
        ):
            if p < comparison.alpha and gap:
                winner, loser = (a, b) if gap > 0 else (b, a)
                beaten.setdefault((m, winner), []).append(int(position[loser]))
    best = [shown(float(column.max()), digits) for column in comparison.means]
    if counted(comparison) or comparison.baseline is not None:
        return _with_marks(comparison, order.tolist(), beaten, best, digits)
    rows = []
    for r in order.tolist():
        texts = [shown(float(comparison.means[m, r]), digits) for m in range(len(comparison.measures))]
        cells = [
            Cell(text, text == best[m], letter_ranges(beaten.get((m, r), ())), raised=True)
            for m, text in enumerate(texts)
        ]
        rows.append(((letters(int(position[r])), comparison.runs[r]), cells))
    return sheet(("", "run"), comparison.measures, rows)


def _with_marks(
    comparison: Comparison,
    order: list[int],
    beaten: dict[tuple[int, int], list[int]],
    best: list[str],
    digits: int,
) -> Sheet:
    """After each mean a cell with a mark against the baseline, or with numbers of significantly worse/better runs."""
    losses = Counter((m, order[loser]) for (m, _), losers in beaten.items() for loser in losers)

    def mark(m: int, r: int) -> Cell:
        wins = len(beaten.get((m, r), ()))
        if comparison.baseline is None:
            return Cell(f"{wins}/{losses[m, r]}")
        if comparison.runs[r] == comparison.baseline or not wins + losses[m, r]:
            return Cell("")
        return Cell(BETTER, tone="good") if wins else Cell(WORSE, tone="bad")

    rows = []
    for place, r in enumerate(order, 1):
        cells = []
        for m in range(len(comparison.measures)):
            text = shown(float(comparison.means[m, r]), digits)
            cells += [Cell(text, text == best[m]), mark(m, r)]
        rows.append(((str(place), comparison.runs[r]), cells))
    heads = [head for measure in comparison.measures for head in (measure, "")]
    return sheet(("", "run"), heads, rows)


def _pairs(comparison: Comparison, m: int, digits: int) -> Sheet:
    """The differences of each pair by one measure, in the order of the leaderboard."""
    joint = comparison.correction == "none"
    heads = [
        "difference",
        "effect",
        "+/=/-",
        *("p" if test == comparison.test else f"p\n{test}" for test in comparison.p),
    ]
    heads += [] if joint else ["p\ncorrected"]
    # The column of causes that could reverse a difference is shown only if it is not empty.
    doubtful = any(doubt(comparison.contest(m, pair)) for pair in range(len(comparison.pairs)))
    position = np.argsort(by_first_measure(comparison))
    rows = []
    for pair in np.lexsort(position[comparison.pairs].T[::-1]).tolist():
        result = comparison.contest(m, pair)
        cells = [
            Cell(signed(result.difference, digits), result.significant, _intervals(result, digits)),
            Cell(signed(result.effect, 2), aside=_within(result.effect_low, result.effect_high, 2)),
            Cell(f"{result.wins}/{result.ties}/{result.losses}"),
            *(Cell(chance(p)) for p in result.p.values()),
            *([] if joint else [Cell(chance(result.corrected))]),
            *([Cell(doubt(result))] if doubtful else []),
        ]
        rows.append(((result.run,) if comparison.baseline is not None else (result.run, result.other), cells))
    names = ("run",) if comparison.baseline is not None else ("run", "versus")
    return sheet(names, (*heads, *(["could be\nreversed by"] if doubtful else [])), rows)


def _intervals(result: PairComparison, digits: int) -> str:
    """The interval by the BCa bootstrap in brackets, and below it that by Student's t in parentheses."""
    by_t = _within(result.t_low, result.t_high, digits)
    return f"{_within(result.low, result.high, digits)}\n({by_t[1:-1]})" if by_t else ""


def _within(low: float, high: float, digits: int) -> str:
    return "" if np.isnan(low) or np.isnan(high) else f"[{signed(low, digits)}, {signed(high, digits)}]"


def chance(p: float) -> str:
    """A p-value as text.

    >>> chance(0.5), chance(0.00004), chance(0.0)
    ('0.5000', '<0.0001', '<0.0001')
    """
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def doubt(result: PairComparison) -> str:
    """The causes that could reverse a significant difference."""
    return ", ".join(result.doubts) if result.significant else ""


def notes(comparison: Comparison, *, all_pairs: bool = False) -> list[str]:
    """Notes: the queries used, pairs that are not listed, and differences that could be reversed."""
    texts = sentences(comparison.query_notes)
    if len(comparison.pairs) > MAX_PAIRS and not all_pairs:
        texts.append(f"{len(comparison.pairs):,} pairs per measure hidden; use --all-pairs, or --format csv or json")
    return [*texts, *findings(comparison)]


def findings(comparison: Comparison) -> list[str]:
    """How many significant differences could be reversed, if any."""
    significant = comparison.corrected < comparison.alpha
    reversible = sum(bool(comparison.doubts[m][pair]) for m, pair in np.argwhere(significant).tolist())
    if not reversible:
        return []
    return [f"ties or unjudged documents could reverse {reversible:,} of {significant.sum():,} significant differences"]


def csv(comparison: Comparison) -> str:
    """A line for each measure of each pair, at full precision."""
    out = StringIO()
    lines = comma.writer(out, lineterminator="\n")
    fields = [name for name in PairComparison._fields if name not in ("p", "doubts")]
    settings = [comparison.test, comparison.correction, comparison.family]
    lines.writerow([*fields, *(f"p {test}" for test in comparison.p), "doubts", "test", "correction", "family"])
    for result in comparison.contests:
        lines.writerow(
            [*_field_texts(result, fields), *map(exact, result.p.values()), " ".join(result.doubts), *settings]
        )
    return out.getvalue()


def _field_texts(result: PairComparison, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        value = getattr(result, name)
        yield exact(value) if isinstance(value, float) else spreadsheet_cell(str(value))
