"""A comparison as tables and figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.analysis.compare import BEST, Comparison, PairComparison
from cranfield.analysis.significance import SIGNIFICANCE_TESTS
from cranfield.data import Integers
from cranfield.report.canvas import BLUE, COLUMN, GREY, PAGE, figure_of, ink, name_rows, plotted_axes, save
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell, Sheet, csv_lines, shown, signed
from cranfield.statistics.resampling import sign_patterns
from cranfield.wording import decodable, percent, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_PAIRS = 45  # pairs per measure that are listed by default: those of ten runs
MAX_LETTERS = 26  # with more runs, numbers stand for letters
HALF = 0.5
MOST_SOURCES = 3  # runs whose variance is said by source
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


def means_page(comparison: Comparison, digits: int = 4) -> Page:
    """The leaderboard; its title says what the marks mean."""
    marks = COUNTS if counted(comparison) else MARKS
    if comparison.baseline is not None:
        baseline = "the best run of each measure" if comparison.baseline == BEST else comparison.baseline
        marks = f"{WORSE} significantly worse, {BETTER} significantly better than {baseline}"
    ranks = f"; rank: the ranks that a run may have by {comparison.measures[0]}" if comparison.baseline is None else ""
    title = f"Means over {queries_of(comparison)}; {marks} ({method(comparison)}){ranks}"
    return Page(title, leaderboard(comparison, digits))


def pair_pages(comparison: Comparison, digits: int = 4) -> list[Page]:
    """For each measure the differences of all pairs."""
    pairs = "all pairs" if comparison.baseline is None else f"difference from {comparison.baseline}"
    together = "" if comparison.correction == "none" or comparison.pairs.shape[1] == 1 else "simultaneous "
    title = SIGNIFICANCE_TESTS[comparison.test].title
    intervals = f"{together}{percent(comparison.level)} intervals of differences by the {title}"
    return [
        Page(
            f"{measure}: {pairs}, {plural(len(comparison.queries[m]), 'query')}; {intervals}",
            _pairs(comparison, m, digits),
        )
        for m, measure in enumerate(comparison.measures)
    ]


def queries_of(comparison: Comparison) -> str:
    """How many queries were compared; a range if it differs between measures."""
    sizes = sorted({len(queries) for queries in comparison.queries})
    return plural(sizes[0], "query") if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,} queries"


def order_of(comparison: Comparison, m: int) -> list[int]:
    """The runs by a measure, best first."""
    order: list[int] = np.argsort(-comparison.means[m] * comparison.signs[m], kind="stable").tolist()
    return order


def method(comparison: Comparison, measure: int | None = None) -> str:
    """The test, its correction, and the significance level; for all measures, or for one."""
    test = SIGNIFICANCE_TESTS[comparison.test]
    correction = "joint test of" if test.joint else CORRECTIONS[comparison.correction]
    units = comparison.units if measure is None else [comparison.units[measure]]
    sampling = f", {_sampling(comparison, units)}" if test.resamples else ""
    of = f" of clusters by {comparison.cluster}" if comparison.cluster else ""
    of += f" over the means of {comparison.collection}" if comparison.collection else ""
    of += f", {comparison.repeats} repeats" if comparison.repeats else ""
    alone = comparison.pairs.shape[1] == 1 and comparison.family.endswith("per measure")
    corrected = "" if alone else f"; {correction} {comparison.family}"
    return f"{test.title}{of}{sampling}{corrected}; p < {comparison.alpha:g}"


def _sampling(comparison: Comparison, sizes: Iterable[int]) -> str:
    """How many resamples were drawn, or that no chance is involved; ``sizes``: how many signs can flip."""
    signs = SIGNIFICANCE_TESTS[comparison.test].signs
    patterns = {size: sign_patterns(size, comparison.samples) if signs else None for size in sorted(set(sizes))}
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


def leaderboard(comparison: Comparison, digits: int) -> Sheet:
    """Runs by their first measure, best first; with each mean the runs that are significantly worse.

    Of many runs, it is the number of runs that are significantly worse, and of those that are significantly better.
    With a baseline, it is a mark: significantly worse or better than the baseline.
    """
    order = order_of(comparison, 0)
    position = np.argsort(order)
    beaten: dict[tuple[int, int], list[int]] = {}
    for m in range(len(comparison.measures)):
        for (a, b), gap, p in zip(
            comparison.pairs[m].tolist(), comparison.difference[m], comparison.corrected[m], strict=True
        ):
            if p < comparison.alpha and gap:
                winner, loser = (a, b) if gap * comparison.signs[m] > 0 else (b, a)
                beaten.setdefault((m, winner), []).append(int(position[loser]))
    best = [
        shown(float(sign * (sign * column).max()), digits)
        for sign, column in zip(comparison.signs, comparison.means, strict=True)
    ]
    if counted(comparison) or comparison.baseline is not None:
        return _with_marks(comparison, order, beaten, best, digits)
    rows = []
    for r in order:
        texts = [shown(float(comparison.means[m, r]), digits) for m in range(len(comparison.measures))]
        cells = [
            Cell(text, text == best[m], letter_ranges(beaten.get((m, r), ())), raised=True)
            for m, text in enumerate(texts)
        ]
        rows.append(((letters(int(position[r])), comparison.runs[r]), [*cells, rank_cell(comparison, 0, r)]))
    return sheet(("", "run"), (*comparison.measures, rank_head(comparison)), rows)


def rank_head(comparison: Comparison) -> str:
    """The head of the column of ranks, which are those by the first measure."""
    return "rank" if len(comparison.measures) == 1 else f"rank\n{comparison.measures[0]}"


def rank_meaning(comparison: Comparison) -> str:
    """What ranks follow from, and whether they are a confidence statement."""
    rule = "behind the runs that are significantly better, ahead of those that are significantly worse"
    if ranks_hold(comparison):
        return f"{rule}; all ranks in a measure are right together with {percent(1 - comparison.alpha)} confidence"
    return f"{rule}; {NO_CONFIDENCE[comparison.correction]}"


def ranks_hold(comparison: Comparison) -> bool:
    """Whether the family-wise error is controlled, so that ranks are a confidence statement."""
    joint = SIGNIFICANCE_TESTS[comparison.test].joint or comparison.pairs.shape[1] == 1
    return joint or comparison.correction in ("holm", "bonferroni")


def rank_cell(comparison: Comparison, m: int, r: int) -> Cell:
    """The ranks that a run may have."""
    low, high = comparison.ranks[comparison.measures[m]][comparison.runs[r]]
    return Cell(f"{low}" if low == high else f"{low}–{high}")


def _with_marks(
    comparison: Comparison,
    order: list[int],
    beaten: dict[tuple[int, int], list[int]],
    best: list[str],
    digits: int,
) -> Sheet:
    """After each mean a cell with a mark against the baseline, or with numbers of significantly worse/better runs."""
    references = comparison.references or ()
    losses = Counter((m, order[loser]) for (m, _), losers in beaten.items() for loser in losers)

    def mark(m: int, r: int) -> Cell:
        wins = len(beaten.get((m, r), ()))
        if comparison.baseline is None:
            return Cell(f"{wins}/{losses[m, r]}")
        if r == references[m] or not wins + losses[m, r]:
            return Cell("")
        return Cell(BETTER, tone="good") if wins else Cell(WORSE, tone="bad")

    rows = []
    for place, r in enumerate(order, 1):
        cells = []
        for m in range(len(comparison.measures)):
            text = shown(float(comparison.means[m, r]), digits)
            cells += [Cell(text, text == best[m]), mark(m, r)]
        ranked = [] if comparison.baseline is not None else [rank_cell(comparison, 0, r)]
        rows.append(((str(place), comparison.runs[r]), [*cells, *ranked]))
    heads = [head for measure in comparison.measures for head in (measure, "")]
    heads += [] if comparison.baseline is not None else [rank_head(comparison)]
    return sheet(("", "run"), heads, rows)


def _pairs(comparison: Comparison, m: int, digits: int) -> Sheet:
    """The differences of each pair by one measure, the largest first."""
    corrected = comparison.correction != "none" and comparison.pairs.shape[1] > 1
    heads = ["difference", *(["p\ncorrected"] if corrected else [])]
    heads += ["p" if test == comparison.test else f"p\n{test}" for test in comparison.p]
    heads += ["effect", "+/=/-"]
    # The column of causes that could reverse a difference is shown only if it is not empty.
    doubtful = any(doubt(comparison.contest(m, pair)) for pair in range(comparison.pairs.shape[1]))
    rows = []
    number = comparison.pairs.shape[1]
    for result in sorted(comparison.rows[m * number : (m + 1) * number], key=lambda one: -abs(one.difference)):
        cells = [
            Cell(
                signed(result.difference, digits),
                result.significant,
                within(result.test_low, result.test_high, digits),
            ),
            *([Cell(chance(result.corrected))] if corrected else []),
            *(Cell(chance(p)) for p in result.p.values()),
            Cell(signed(result.effect, 2), aside=within(result.effect_low, result.effect_high, 2)),
            Cell(f"{result.wins}/{result.ties}/{result.losses}"),
            *([Cell(doubt(result))] if doubtful else []),
        ]
        rows.append(((result.run,) if comparison.baseline is not None else (result.run, result.other), cells))
    names = ("run",) if comparison.baseline is not None else ("run", "versus")
    return sheet(names, (*heads, *(["could be\nreversed by"] if doubtful else [])), rows)


def within(low: float, high: float, digits: int) -> str:
    """An interval of differences as text."""
    return "" if np.isnan(low) or np.isnan(high) else f"[{signed(low, digits)}, {signed(high, digits)}]"


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
    return ", ".join(result.doubts) if result.significant else ""


def findings(comparison: Comparison) -> list[str]:
    """How many significant differences could be reversed, if any."""
    significant = comparison.corrected < comparison.alpha
    reversible = sum(bool(comparison.doubts[m][pair]) for m, pair in np.argwhere(significant).tolist())
    if not reversible:
        return []
    return [f"ties or unjudged documents could reverse {reversible:,} of {significant.sum():,} significant differences"]


def design_notes(comparison: Comparison) -> list[str]:
    """Where the variance of differences comes from, and how many queries would be needed."""
    texts = []
    if comparison.repeats == "random":
        share = comparison.variance[..., 1].sum() / max(comparison.variance.sum(), 1e-300)
        advice = "more repeats would help most" if share > HALF else "more queries would help most"
        texts.append(f"{share:.0%} of the variance of the differences comes from repeats: {advice}")
        measure, runs = next(iter(comparison.sources.items()))
        for run, parts in list(runs.items())[:MOST_SOURCES]:
            queries, repeats, rest = (part / max(sum(parts), 1e-300) for part in parts)
            texts.append(
                f"{run}: the {measure} varies by {queries:.0%} between queries, {repeats:.0%} between repeats, "
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


def figures(found: Comparison, folder: str) -> list[Path]:
    """Draw a figure for each measure into a folder: what `plot` draws."""
    return [
        path
        for m, measure in enumerate(found.measures)
        for path in save(partial(figure_of, *_drawing(found, m)), folder, f"compare-{measure}")
    ]


def plot(found: Comparison, m: int, *, top: int | None, ax: Axes | None) -> Axes:
    """Differences with their intervals, or of many pairs the matrix, on these axes or on new ones."""
    return plotted_axes(*_drawing(found, m, top), ax)


def _drawing(found: Comparison, m: int, top: int | None = None) -> tuple[Callable[[Axes], Axes], float, float]:
    """The function that draws a measure on axes, and the size of the figure in inches."""
    runs = len(found.runs)
    if found.baseline is None and found.pairs.shape[1] > MOST_PAIRS:
        best = order_of(found, m)[:top]
        size = float(np.clip(0.16 * len(best) + 1.4, COLUMN, PAGE))
        title = "significant differences" + (f", the best {len(best)} of {runs} runs" if len(best) < runs else "")
        return partial(_draw_matrix, found=found, m=m, order=best, title=title), size, size * 0.95
    against = found.baseline is not None
    order = np.argsort(-found.difference[m] if against else -np.abs(found.difference[m]), kind="stable")
    order = order[: top or MOST_ROWS] if against else order
    title = f"the best {len(order)} of {runs} runs" if len(order) < found.pairs.shape[1] else ""
    height = 0.7 + 0.16 * max(len(order), 3)
    return partial(_draw_forest, found=found, m=m, order=order[::-1], title=title), 1.3 * COLUMN, height


def _draw_forest(axis: Axes, found: Comparison, m: int, order: Integers, title: str) -> Axes:
    """The difference and interval of these pairs, the last on top, as in the tables; filled if significant."""
    names = []
    for place, pair in enumerate(order.tolist()):
        one = found.rows[m * found.pairs.shape[1] + pair]
        colour = BLUE if one.significant else GREY
        axis.plot([one.test_low, one.test_high], [place, place], color=colour)
        filled = "full" if one.significant else "none"
        axis.plot(one.difference, place, "o", color=colour, markersize=3.5, fillstyle=filled)
        names.append(f"{one.run} − {one.other}" if found.baseline is None else one.run)
    axis.axvline(0, color=ink(axis), linewidth=0.5)
    name_rows(axis, names)
    what = "difference" if found.baseline is None else f"difference from {found.baseline}"
    axis.set_xlabel(f"{found.measures[m]}: {what}")
    axis.set_title(title)
    _legend(axis, found)
    return axis


def _draw_matrix(axis: Axes, found: Comparison, m: int, order: Sequence[int], title: str) -> Axes:
    """Row minus column, best runs first; coloured if significant, with a dot if ties or judgments could reverse it."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    place = {run: i for i, run in enumerate(order)}
    gaps = np.full((len(order), len(order)), np.nan)
    doubtful = []
    for pair, (run, other) in enumerate(found.pairs[m].tolist()):
        one = found.contest(m, pair)
        if one.significant and run in place and other in place:
            a, b = place[run], place[other]
            gaps[a, b], gaps[b, a] = one.difference, -one.difference
            doubtful += [(b, a), (a, b)] if one.doubts else []
    sizes = np.abs(gaps[np.isfinite(gaps)])
    # One bad run differs much from all others: its differences may be off the scale.
    most = min(float(sizes.max()), 2 * float(np.median(sizes))) if len(sizes) else 1.0
    image = axis.imshow(np.ma.masked_invalid(gaps), cmap="PuOr", vmin=-most, vmax=most)
    if not len(sizes):
        axis.text(0.5, 0.5, "no significant difference", ha="center", va="center", transform=axis.transAxes)
    labels: list[Patch | Line2D] = [Patch(facecolor="white", edgecolor=GREY, linewidth=0.5, label="not significant")]
    if doubtful:
        dots: dict[str, Any] = {"linestyle": "", "marker": ".", "color": ink(axis), "markersize": 1.5}
        axis.plot(*zip(*doubtful, strict=True), **dots)
        labels.append(Line2D([], [], label="could be reversed by ties or judging", **dots))
    step = -(-len(order) // MOST_NAMES)
    places, small = range(0, len(order), step), min(7.0, 260 * step / len(order))
    names = [decodable(found.runs[order[place]]) for place in places]
    axis.set_xticks(places, names, rotation=90, fontsize=small, parse_math=False)
    axis.set_yticks(places, names, fontsize=small, parse_math=False)
    axis.tick_params(length=0)
    axis.set_title(title, pad=16)
    axis.legend(handles=labels, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False)
    beyond = "both" if len(sizes) and sizes.max() > most else "neither"
    bar = axis.figure.colorbar(image, ax=axis, shrink=0.6, pad=0.02, aspect=25, extend=beyond)
    bar.set_label(f"{found.measures[m]}: row minus column")
    bar.outline.set_visible(False)
    return axis


def _legend(axis: Axes, found: Comparison) -> None:
    """What filled and empty points mean."""
    from matplotlib.lines import Line2D

    style: dict[str, Any] = {"marker": "o", "markersize": 3.5}
    significant = Line2D([], [], color=BLUE, label=f"p < {found.alpha:g}", **style)
    other = Line2D([], [], color=GREY, fillstyle="none", label="not significant", **style)
    axis.legend(handles=[significant, other], loc="best", fontsize="small")
