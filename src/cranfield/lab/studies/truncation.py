"""The effect of counting the end of a list as an answer: the experiment of Liu et al., *Quit While Ahead*, SIGIR 2016.

Every measure X is computed twice. Plain, as in TREC question answering: NIL is an item of the list, and is correct if
and only if nothing is relevant. And in its terminal form X', by the rules of the paper's Table 2 (see `transform`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from cranfield.analysis.audit import NilDetection, nil_detection
from cranfield.data import Booleans, Floats, Integers, Judgments
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import Evaluator
from cranfield.evaluation.notes import SENTENCES, Note
from cranfield.evaluation.plan import AlignmentKey, make_plan
from cranfield.evaluation.run_scores import RunScores
from cranfield.evaluation.scores import number
from cranfield.lab.study import Progress, Study, StudyResult, check_alike, mean_of
from cranfield.lab.systems import studied
from cranfield.measures import Measure, parse
from cranfield.measures.aliases import LIU, in_notation
from cranfield.ranking.tie_rules import TIE_RULES, TieRule, Ties, tie_rule
from cranfield.report.canvas import BLACK, BLUE, GREEN, GREY, ORANGE, SKY, Drawings, alone, each
from cranfield.report.pages import Page, column, exchanged, table
from cranfield.report.sheet import Cell, shown, signed
from cranfield.settings import Choices, Count, Option
from cranfield.statistics.correlation import Agreement, kendall, swapped_pairs, swaps
from cranfield.statistics.rounding import SAME
from cranfield.wording import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Tie rules that fix the position of NIL in every list.
DEFINITE = tuple(name for name, rule in TIE_RULES.items() if rule.fixes_order)


def c_at_1(n: int, correct: int, unanswered: int) -> float:
    """The share of questions answered correctly, with the same credit for unanswered ones (Peñas and Rodrigo, 2011).

    c@1 = correct/n + (correct/n)(unanswered/n)

    >>> round(c_at_1(10, correct=4, unanswered=3), 6)
    0.52
    """
    if n < 1 or correct < 0 or unanswered < 0 or correct + unanswered > n:
        raise UsageError(f"c@1: {correct} correct and {unanswered} unanswered do not fit {n} questions")
    return correct / n + correct / n * unanswered / n


SENTENCES.update(
    no_terminal_form="{measure} has no terminal form, and is shown in its plain form only: {reason}",
    terminal_above_one=(
        "{measure} exceeds 1 for {lists}: gains between 0 and 1 can do that; ideal='bounded' avoids it"
    ),
)


@dataclass(frozen=True)
class Truncation(Study):
    """Scores that count the end of a ranking as an answer.

    The experiment of Liu et al., "Quit While Ahead" (SIGIR 2016), on at least two runs. Reports the means of plain and
    terminal scores, Kendall's tau between the two orders of systems, swapped pairs, nil detection, and list lengths
    before and after lists are cut at NIL. Draws the figures of the paper. Without --full-length, the end of every list
    counts as an answer. A measure is given in its plain form, or with a prime as in the paper (RR'); one without a
    terminal form is shown in its plain form only. ::

        cranfield study truncation qrels.txt *.run --nil NIL --full-length 5 --figures figures
    """

    nil: str | None = None
    full_length: Annotated[Count | None, "Length of a list that did not end early."] = None
    ties: Annotated[Ties, Choices(DEFINITE), "How to order documents with equal scores."] = "trec"

    def run(
        self,
        qrels: Any,
        runs: Sequence[Any],
        measures: Annotated[Sequence[str | Measure], Option(default="RR nDCG@N RBP(p=0.5) AP, N the full length")] = (),
        *,
        progress: Progress | None = None,
    ) -> TruncationResult:
        """Score the runs by plain and by terminal measures."""
        if len(runs) < 2:
            raise UsageError(
                f"this study needs at least two runs, got {len(runs)}", hint="give the runs of two systems"
            )
        asked = measures or default_measures(self.full_length)
        pairs = list(dict.fromkeys(_pair(_parsed(measure)) for measure in asked))
        paired = [m for m, (_, terminal) in enumerate(pairs) if terminal is not None]
        rule = None if self.ties == "trec" else self.ties
        collection = studied(qrels).changed(nil=self.nil, full_length=self.full_length)
        policy = collection.policy(ties=rule, undefined="zero")
        plan = make_plan([*(x for x, _ in pairs), *(y for _, y in pairs if y is not None), "P@1"], policy)
        evaluation = Evaluator.of(collection, plan).evaluation(list(runs), progress=progress)
        scores = evaluation.scores
        lengths = np.array([_lengths(run, tie_rule(self.ties)) for run in evaluation.run_scores])
        plain = scores.values[:, : len(pairs)]
        terminal = np.full_like(plain, np.nan)
        terminal[:, paired] = scores.values[:, len(pairs) : len(pairs) + len(paired)]
        # P@1 is the last column, unless it is one of the measures.
        first_answer = next((m for m, (x, _) in enumerate(pairs) if x == parse("P@1")), -1)
        return TruncationResult(
            settings=self,
            runs=scores.runs,
            measures=tuple(str(x) for x, _ in pairs),
            terminal_measures=tuple(None if y is None else str(y) for _, y in pairs),
            queries=scores.queries,
            plain=plain,
            terminal=terminal,
            before=lengths[:, 0],
            after=lengths[:, 1],
            correct=scores.values[:, first_answer] > 0,
            no_answer=_without_relevant(collection.judgments, collection.rel),
            notes=(*scores.notes, *_terminal_notes(pairs, terminal)),
        )


@dataclass(frozen=True, eq=False, repr=False)
class TruncationResult(StudyResult):
    """Plain and terminal scores of systems, and the lengths of their lists.

    ``plain``, ``terminal`` (run, measure, query): X and X'; undefined values count 0 in means. ``terminal_measures``:
    the names of X', None for a measure without a terminal form, whose ``terminal`` values are NaN. ``before``,
    ``after`` (run, query): list lengths with NIL as an item, and up to NIL. ``correct`` (run, query): the first answer
    is relevant. ``no_answer``: queries without a relevant document.
    """

    DERIVED: ClassVar[tuple[str, ...]] = ("agreements", "lengths", "summaries")

    settings: Truncation
    runs: tuple[str, ...]
    measures: tuple[str, ...]
    terminal_measures: tuple[str | None, ...]
    queries: tuple[str, ...]
    plain: Floats
    terminal: Floats
    before: Integers
    after: Integers
    correct: Booleans
    no_answer: tuple[str, ...]
    notes: tuple[Note, ...] = ()

    @property
    def paired(self) -> list[int]:
        """The measures with a terminal form."""
        return [m for m, name in enumerate(self.terminal_measures) if name]

    def nil_detection(self, run: int) -> NilDetection:
        """How well a run recognises queries without a relevant document, by an empty list or by NIL in first place."""
        return nil_detection(np.isin(self.queries, self.no_answer), self.after[run] == 0)

    @property
    def means(self) -> Floats:
        """Means over queries of X and of X': (2, run, measure)."""
        return np.nan_to_num(np.stack([self.plain, self.terminal])).mean(axis=-1)

    @property
    def longest(self) -> int:
        """The length below which a list is short: the full length, or else the length of the longest list."""
        return self.settings.full_length or int(self.before.max(initial=0))

    @property
    def short(self) -> Floats:
        """The share of lists shorter than `longest`, before and after the transformation: (2, run)."""
        return (np.stack([self.before, self.after]) < self.longest).mean(axis=-1)

    @property
    def list_lengths(self) -> Integers:
        """The number of lists by length, from 0 to `longest`; before and after, if lists are cut: (length, 1 or 2)."""
        stages = (self.before, self.after) if self.settings.nil else (self.before,)
        return np.stack([np.bincount(x.ravel(), minlength=1 + self.longest) for x in stages], axis=1)

    def agreement(self, measure: int) -> Agreement:
        """The agreement of X and X' on the order of the systems."""
        x, y = self.means[:, :, measure]
        return kendall(x, y)

    def inverted(self, measure: int) -> list[tuple[str, str]]:
        """Pairs that X and X' order differently: the system with the higher X, then the one with the higher X'."""
        x, y = self.means[:, :, measure]
        return swaps(x, y, self.runs)

    def c_at_1(self, run: int) -> float:
        """c@1 of a run: an empty list leaves its question unanswered, whether or not an answer exists."""
        empty = self.after[run] == 0
        return c_at_1(len(self.queries), int((self.correct[run] & ~empty).sum()), int(empty.sum()))

    @property
    def agreements(self) -> list[dict[str, Any]]:
        """The agreement of X and X' for each measure; nothing for one without a terminal form."""
        return [self._agreement_dict(m) if m in self.paired else {} for m in range(len(self.measures))]

    def _agreement_dict(self, m: int) -> dict[str, Any]:
        agreement = self.agreement(m)
        return {
            "tau_b": number(agreement.tau_b),
            "tau_a": agreement.tau_a,
            "concordant": agreement.concordant,
            "discordant": agreement.discordant,
            "tied_plain": agreement.tied_x,
            "tied_terminal": agreement.tied_y,
            "inverted": self.inverted(m),
        }

    @property
    def lengths(self) -> dict[str, dict[int, int]]:
        """The number of lists of each length, before and after the transformation."""
        stages = {"before": self.before, "after": self.after}
        counts = {when: np.unique(lengths, return_counts=True) for when, lengths in stages.items()}
        return {when: dict(zip(n.tolist(), count.tolist(), strict=True)) for when, (n, count) in counts.items()}

    @property
    def summaries(self) -> list[dict[str, Any]]:
        """What follows from the lists and the scores of each run."""
        x, y = self.means
        return [
            {
                "short_before": self.short[0, r],
                "short_after": self.short[1, r],
                "c_at_1": self.c_at_1(r),
                "nil_detection": self.nil_detection(r),
                "means": {
                    measure: {"plain": x[r, m], "terminal": y[r, m] if m in self.paired else None}
                    for m, measure in enumerate(self.measures)
                },
            }
            for r in range(len(self.runs))
        ]

    def pages(self, digits: int = 4) -> list[Page]:
        """The largest changes, scores of systems, agreement, nil detection, list lengths, and swapped pairs."""
        return [
            _summary_table(self, digits),
            _score_table(self, digits),
            *_agreement_tables([self], f"of {len(self.runs)} systems", digits),
            *_detection_tables(self, digits),
            _length_table(self),
            *_swap_tables(self, digits),
        ]

    @classmethod
    def mean_pages(cls, results: Sequence[TruncationResult], digits: int = 4) -> list[Page]:
        """The agreement of plain and terminal measures, averaged over collections; pairs are counted in all of them."""
        check_alike(results, "measures", "settings")
        scope = f"of systems, mean over {len(results)} collections; pairs of all collections"
        return list(_agreement_tables(results, scope, digits))

    def drawings(self) -> Drawings:
        """Lengths of lists, scores and shifts: Figures 1 to 3 of the paper, the last two with a panel per measure."""
        draw: Drawings = {"truncation-lengths": partial(alone, partial(draw_lengths, self), 2.0)}
        if self.paired:  # a measure without a terminal form is in neither
            draw["truncation-scores"] = partial(each, self.paired, 2, 2.9, partial(draw_scores, self))
            draw["truncation-shift"] = partial(each, self.paired, 2, 2.6, partial(draw_shifts, self))
        return draw


def _without_relevant(judgments: Judgments, rel: float) -> tuple[str, ...]:
    """The queries without a relevant document."""
    slices = zip(judgments.queries, judgments.begin, judgments.begin[1:], strict=False)
    return tuple(query for query, begin, end in slices if not (judgments.grade[begin:end] >= rel).any())


def _terminal_notes(pairs: Sequence[tuple[Measure, Measure | None]], terminal: Floats) -> Iterator[Note]:
    """Notes on measures without a terminal form, and on those that exceed 1."""
    for m, (plain, with_terminal) in enumerate(pairs):
        above_one = int((terminal[:, m] > 1 + SAME).sum())
        if with_terminal is None:
            yield Note("no_terminal_form", measure=str(plain), values={"reason": plain.definition.terminal})
        elif above_one:
            yield Note("terminal_above_one", measure=str(with_terminal), values={"lists": plural(above_one, "list")})


def default_measures(full_length: int | None) -> tuple[str, ...]:
    """The measures of the paper, with nDCG cut at the full length."""
    return ("RR", "nDCG" if full_length is None else f"nDCG@{full_length}", "RBP(p=0.5)", "AP")


def _parsed(measure: str | Measure) -> Measure:
    return parse(in_notation(measure, LIU) if isinstance(measure, str) else measure)


def _pair(measure: Measure) -> tuple[Measure, Measure | None]:
    """A measure without and with a terminal document; None if it has no terminal form."""
    views = replace(measure.views, terminal=False, full=None)
    plain = replace(measure, views=views)
    return plain, None if measure.definition.terminal else replace(measure, views=replace(views, terminal=True))


def _lengths(run: RunScores, rule: TieRule) -> Integers:
    """List lengths with NIL as an item, and the numbers of answers before NIL: (2, query)."""
    alignment = run.alignments[AlignmentKey(False, rule.key)]
    before = np.maximum(run.length, 0)
    after, positions = before.copy(), alignment.positions
    nil_rows = alignment.aligner.judged.nil
    if nil_rows is not None:
        nil = positions.take(np.flatnonzero(nil_rows[positions.document]))
        after[nil.query] = nil.start + getattr(nil, rule.page_position)
    return np.stack([before, after])


PAIRS = 20  # swapped pairs listed for each measure; json has all
RANGES = 10  # rows of the table of list lengths


def _summary_table(result: TruncationResult, digits: int) -> Page:
    """The bottom line: by each measure, how much the end of a list changes scores and the order of systems."""
    rows = []
    for m in result.paired:
        x, y = result.means[:, :, m]
        pairs = f"{len(result.inverted(m))} of {len(result.runs) * (len(result.runs) - 1) // 2}"
        most = int(np.abs(y - x).argmax())
        best = [result.runs[int(means.argmax())] for means in (x, y)]
        change = float(y[most] - x[most])
        rows.append((result.measures[m], [pairs, signed(change, digits), result.runs[most] if change else "", *best]))
    heads = ("pairs\nswapped", "largest\nchange", "of", "best,\nplain", "best,\nterminal")
    return table("In short: what counting the end of lists changes", ("measure",), heads, rows)


def _score_table(result: TruncationResult, digits: int) -> Page:
    x, y = result.means
    columns: dict[str, Sequence[Cell | str]] = {}
    for m, (plain, terminal) in enumerate(zip(result.measures, result.terminal_measures, strict=True)):
        columns[plain] = column(x[:, m], digits)
        if terminal:
            columns[terminal] = column(y[:, m], digits)
    columns["c@1"] = column([result.c_at_1(r) for r in range(len(result.runs))], digits)
    for i, when in enumerate(_stages(result)):
        columns[f"short{when}"] = [f"{share:.1%}" for share in result.short[i]]
    rows = [(run, [cells[r] for cells in columns.values()]) for r, run in enumerate(result.runs)]
    stages = f", before and after cutting them at {result.settings.nil}" if result.settings.nil else ""
    short = f"short: share of lists with fewer than {result.longest} answers{stages}"
    return table(f"Mean scores, {len(result.queries)} queries ({short})", ("run",), tuple(columns), rows)


def _stages(result: TruncationResult) -> tuple[str, ...]:
    """Before and after lists are cut at NIL; without NIL they are not cut."""
    return (", before", ", after") if result.settings.nil else ("",)


def _agreement_tables(results: Sequence[TruncationResult], scope: str, digits: int) -> Iterator[Page]:
    first = results[0]
    rows = []
    for m in first.paired:
        agreements = [result.agreement(m) for result in results]
        means = mean_of([np.array([agreement.tau_b, agreement.tau_a]) for agreement in agreements])
        counts = np.sum([(a.discordant, a.tied_x, a.tied_y, a.pairs) for a in agreements], axis=0)
        cells = [*(shown(tau, digits) for tau in means.tolist()), *map(str, counts)]
        rows.append(((first.measures[m], str(first.terminal_measures[m])), cells))
    heads = ("τ-b", "τ-a", "swapped", "tied\nplain", "tied\nterminal", "pairs")
    title = f"Agreement of plain and terminal measures on the order {scope} (Kendall's τ)"
    if rows:
        yield table(title, ("plain", "terminal"), heads, rows)


def _detection_tables(result: TruncationResult, digits: int) -> Iterator[Page]:
    """Nil detection as a classification; no table if nothing is to be detected and no list is empty."""
    detections = [result.nil_detection(r) for r in range(len(result.runs))]
    rows = [
        (
            run,
            [
                *map(str, (d.silent, d.detected, d.false_silences, d.missed)),
                *(shown(share, digits) for share in (d.precision, d.recall, d.f1)),
            ],
        )
        for run, d in zip(result.runs, detections, strict=True)
    ]
    if any(detection.nil or detection.silent for detection in detections):
        title = (
            f"Nil detection: {detections[0].nil} of {len(result.queries)} queries have no relevant document (silent: "
            "lists without an answer; false: of these, lists of queries with a relevant document)"
        )
        yield table(title, ("run",), ("silent", "right", "false", "missed", "precision", "recall", "F1"), rows)


def _length_table(result: TruncationResult) -> Page:
    counts = result.list_lengths
    step = max(1, -(-result.longest // RANGES))
    begins = [0, *range(1, len(counts), step)]
    rows = [
        (f"{begin}" if end - begin == 1 else f"{begin}–{end - 1}", map(str, counts[begin:end].sum(axis=0)))
        for begin, end in zip(begins, [*begins[1:], len(counts)], strict=True)
    ]
    stages = f": before and after cutting them at {result.settings.nil}" if result.settings.nil else ""
    heads = [f"lists{when}" for when in _stages(result)]
    return table(f"Number of lists by length{stages}", ("length",), heads, rows)


def _swap_tables(result: TruncationResult, digits: int) -> Iterator[Page]:
    for m in result.paired:
        pairs = result.inverted(m)
        if pairs:
            means = dict(zip(result.runs, result.means[:, :, m].T, strict=True))
            yield exchanged(pairs, (result.measures[m], str(result.terminal_measures[m])), means, digits, PAIRS)


BARS = 25  # at most
SYSTEMS = 20  # the most systems that are drawn as arrows


def draw_lengths(result: TruncationResult, axis: Axes) -> None:
    """The number of lists by length: a bar for each length, or for each range of lengths if there are many."""
    from matplotlib.ticker import MaxNLocator

    counts = result.list_lengths
    step = -(-len(counts) // BARS)
    begins = np.arange(0, len(counts), step)
    bars = np.add.reduceat(counts, begins)
    styles = [("", "white", SKY)]
    if counts.shape[1] > 1:
        styles = [("before: NIL is an item", "white", SKY), ("after: NIL ends the list", BLUE, BLUE)]
    width = 0.8 * step / len(styles)
    for i, (label, face, edge) in enumerate(styles):
        filled = bars[:, i] > 0
        centre = begins[filled] + (step - 1) / 2 + (i - (len(styles) - 1) / 2) * width
        axis.bar(centre, bars[filled, i], 0.9 * width, facecolor=face, edgecolor=edge, linewidth=0.8, label=label)
    axis.xaxis.set_major_locator(MaxNLocator(12, integer=True))
    axis.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axis.set(xlabel="answers per list", ylabel="lists")
    axis.margins(y=0.25)
    if len(styles) > 1:
        axis.legend(loc="upper left")


def draw_scores(result: TruncationResult, measure: int, axis: Axes) -> None:
    """Systems by X and X' of one measure; lines join swapped pairs, and the most distinct pair is labelled."""
    x, y = result.means[:, :, measure]
    pairs = swapped_pairs(x, y)
    moved = np.zeros(len(x), bool)
    moved[[run for pair in pairs for run in pair]] = True
    ends = [min(x.min(), y.min()), max(x.max(), y.max())]
    axis.plot(ends, ends, color=GREY, linestyle=":", linewidth=0.8, zorder=1)
    for a, b in pairs:
        axis.plot(x[[a, b]], y[[a, b]], color=ORANGE, linewidth=0.5, alpha=0.6, zorder=2)
    axis.plot(x[~moved], y[~moved], "o", color=BLUE, markersize=3, zorder=3, label="in no swapped pair")
    hollow: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": ORANGE, "markeredgewidth": 0.9}
    axis.plot(x[moved], y[moved], "D", markersize=3.2, zorder=3, label="in a swapped pair", **hollow)
    if pairs:
        most_distinct = max(pairs, key=lambda pair: (x[pair[0]] - x[pair[1]]) * (y[pair[1]] - y[pair[0]]))
        places = ((5, -3), "left", "top"), ((-5, 3), "right", "bottom")
        for run, (offset, side, level) in zip(most_distinct, places, strict=True):
            where: dict[str, Any] = {"textcoords": "offset points", "ha": side, "va": level}
            axis.annotate(result.runs[run], (x[run], y[run]), offset, **where)
    axis.set(xlabel=result.measures[measure], ylabel=result.terminal_measures[measure])
    axis.set_title(f"τ-b = {result.agreement(measure).tau_b:.3f}, {len(pairs)} swapped", loc="left")
    axis.margins(0.12)
    if measure == result.paired[0]:
        axis.legend(loc="upper left")


def draw_shifts(result: TruncationResult, measure: int, axis: Axes) -> None:
    """Arrows from (share of short lists, X) to (share of short lists, X'), for the best systems."""
    x, y = result.means[:, :, measure]
    before, after = 100 * result.short
    for run in np.argsort(-np.maximum(x, y), kind="stable")[:SYSTEMS]:
        same = abs(y[run] - x[run]) <= SAME
        colour = BLACK if same else GREEN if y[run] > x[run] else ORANGE
        arrow = {"arrowstyle": "->", "color": colour, "linewidth": 0.7, "shrinkA": 2, "shrinkB": 1}
        axis.annotate("", (after[run], y[run]), (before[run], x[run]), arrowprops=arrow)
        axis.plot(before[run], x[run], "o", markersize=3, markerfacecolor="white", markeredgecolor=colour, zorder=3)
        axis.plot(after[run], y[run], "o", markersize=3, color=colour, zorder=3)
    ends = {f"{result.measures[measure]}, before": "white", f"{result.terminal_measures[measure]}, after": BLACK}
    for label, face in ends.items():
        axis.plot([], [], "o", markersize=3, markerfacecolor=face, markeredgecolor=BLACK, label=label)
    for label, colour in (("higher", GREEN), ("lower", ORANGE)):
        axis.plot([], [], color=colour, linewidth=0.7, label=label)
    axis.set_xlim(-4, 104)
    axis.margins(y=0.2)
    axis.set(xlabel=f"lists with fewer than {result.longest} answers (%)", ylabel="mean score")
    axis.legend(loc="best")
    if len(result.runs) > SYSTEMS:
        axis.set_title(f"the best {SYSTEMS} systems", loc="left")
