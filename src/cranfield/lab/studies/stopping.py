"""What cutting rankings improves: at the best depths, and at a score threshold learned from other queries.

Four results for each run and measure, from an upper limit to what is achievable: every list cut at its own best depth;
all lists at one depth; all lists at one score threshold; and a threshold chosen on one half of the queries and tested
on the other half. The last two also for thresholds on other properties of the scores; see `RULES`.

A threshold also decides which queries are answered at all. For each threshold: the rates of answers, of false and of
missed answers, and the mean of each measure over answered queries (risk and coverage).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import cycle
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from cranfield import io
from cranfield.data import Booleans, Floats, Integers, Run
from cranfield.errors import MeasureError, UsageError
from cranfield.evaluation.evaluator import read_runs
from cranfield.evaluation.notes import SENTENCES, Note
from cranfield.evaluation.overlap import check_query_overlap
from cranfield.evaluation.plan import make_columns
from cranfield.lab.study import Measures, Progress, Study, StudyResult
from cranfield.lab.systems import judged_scores, studied
from cranfield.measures import Measure
from cranfield.parallel import followed
from cranfield.ranking.alignment import Aligner, Alignment
from cranfield.ranking.batch import COLUMNS, Batch, ragged
from cranfield.ranking.tie_rules import TIE_RULES
from cranfield.ranking.views import with_nil
from cranfield.report.canvas import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    Drawings,
    each,
    legend_below,
    panels,
)
from cranfield.report.pages import Page, column, table
from cranfield.report.sheet import UNDEFINED, Cell, shown
from cranfield.settings import Count, Option, Share, Whole
from cranfield.statistics.intervals import t_quantile
from cranfield.statistics.rounding import SAME, solve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# As published, nDCG with a terminal document can exceed 1 with graded gains, which a search for the best cut exploits.
DEFAULT = ("AP[terminal]", "nDCG(ideal='bounded')[terminal]")
# Tie rules that order every list by score, in one way.
DEFINITE = tuple(name for name, rule in TIE_RULES.items() if rule.key == "score" and not rule.leaves_ties)
POINTS = 200  # thresholds of a curve that are kept; all are evaluated
DECISIONS = ("Answered", "FalseAnswer", "MissedAnswer", "AnswerAccuracy")
HEADS = ("answered", "false\nanswers", "missed\nanswers", "accuracy")
LEVELS = (1.0, 0.9, 0.75, 0.5, 0.25)  # answer rates near which a table has a row
SENTENCES.update(
    undefined_omitted="{measure} is undefined for {missing} of {queries} queries: omitted",
    no_ratio="{run}: no thresholds relative to the top score, because some scores are not positive",
)


@dataclass(frozen=True, eq=False)
class Curve:
    """Mean scores by depth or threshold: ``low`` and ``high`` are 95% confidence intervals over queries (Student's t).

    ``at``: the depths or thresholds; ``kept``: the mean number of documents that a list keeps.
    """

    at: Floats
    mean: Floats
    low: Floats
    high: Floats
    kept: Floats


@dataclass(frozen=True, eq=False)
class Splits:
    """For each random split: the learned threshold, and the scores on the other half with it and without a cut."""

    threshold: Floats
    score: Floats
    uncut: Floats

    @property
    def gain(self) -> Floats:
        """The improvement by the threshold on each test half."""
        return self.score - self.uncut

    @staticmethod
    def percentiles(values: Floats) -> tuple[float, float, float]:
        """The 5th, 50th and 95th percentile over splits, without interpolation."""
        low, middle, high = np.quantile(values, [0.05, 0.5, 0.95], method="inverted_cdf")
        return float(low), float(middle), float(high)


@dataclass(frozen=True, eq=False)
class RuleResult:
    """The best threshold of one of `RULES` on all queries, its score there, and thresholds chosen on half of them."""

    DERIVED: ClassVar[tuple[str, ...]] = ("held_out",)

    rule: str
    threshold: float
    score: float
    splits: Splits

    @property
    def held_out(self) -> dict[str, Any]:
        """Means over splits of the scores on test halves, and percentiles."""
        splits = self.splits
        percentiles = {
            name: dict(zip(("p5", "p50", "p95"), splits.percentiles(values), strict=True))
            for name, values in (("gain", splits.gain), ("threshold", splits.threshold))
        }
        return {"score": float(splits.score.mean()), "uncut": float(splits.uncut.mean()), **percentiles}


@dataclass(frozen=True, eq=False)
class CutResult:
    """The best cuts of one run by one measure; all scores are means over queries.

    ``oracle``: each list at its best depth, whose mean is ``oracle_depth``; ``depth`` and ``depth_score``: all lists at
    one depth; ``rules``: the stopping rules, that of a score threshold first.
    """

    run: str
    measure: str
    queries: int
    length: float
    uncut: float
    oracle: float
    oracle_depth: float
    depth: int
    depth_score: float
    by_depth: Curve
    by_threshold: Curve
    rules: tuple[RuleResult, ...]


@dataclass(frozen=True, eq=False)
class AnswerCurve:
    """What one run answers by the threshold of a rule, from the strictest threshold down.

    ``at``: thresholds at which further queries are answered. ``values`` (column, threshold): the means of `DECISIONS`,
    then the mean of each measure over answered queries; NaN where no query counts. ``chosen`` and ``tested`` (column,
    split): thresholds with few enough false answers on one half of the queries, and the values on the other half.
    """

    run: str
    rule: str
    at: Floats
    values: Floats
    chosen: Floats | None = None
    tested: Floats | None = None


@dataclass(frozen=True)
class Stopping(Study):
    """How long a ranking should be, and at which score to cut it.

    Reports the scores of uncut lists, and of lists cut in three ways: each at its own best depth, all at the same
    depth, and all at the same score threshold. The threshold is also chosen on one half of the queries and tested on
    the other half. Other rules are tested in the same way: thresholds relative to the top score, on gaps between
    scores, and on a predicted number of relevant documents. Queries where a measure is undefined are omitted.

    Also reports which queries each threshold answers: the rates of answers, of false answers (to queries without a
    relevant document) and of missed answers, and mean scores of answered queries. With --max-false-answers the
    threshold is chosen on one half of the queries to keep this rate, and tested on the other half. ::

        cranfield study stopping qrels.txt bm25.run dense.run
        cranfield study stopping qrels.txt rag.run -m RR --max-false-answers 0.05
        cranfield study stopping qrels.txt llm.run -m "RBP(p=0.5)[terminal]" --figures figures
    """

    repeats: Annotated[Count, "Number of random splits of the queries."] = 100
    max_false_answers: Annotated[
        Share | None, "Also choose the threshold with at most this rate of false answers.", Option(metavar="RATE")
    ] = None
    seed: Whole = 0

    def run(
        self, qrels: Any, runs: Any, measures: Measures = DEFAULT, *, progress: Progress | None = None
    ) -> StoppingResult:
        """Cut the lists of each run at every depth and threshold."""
        collection, all_runs = studied(qrels), read_runs(runs)
        policy, judgments = collection.policy(), collection.judgments
        chosen = list(dict.fromkeys(_check_measure(column.measure) for column in make_columns(measures, policy)))
        decisions = [column.measure for column in make_columns(DECISIONS, policy)]
        relevant = np.add.reduceat(np.append(judgments.grade >= policy.rel, False), judgments.begin[:-1])
        relevant = np.where(np.diff(judgments.begin) > 0, relevant, 0).astype(np.int64)
        judgments, nil = (judgments, None) if policy.nil is None else with_nil(judgments, policy.nil)
        aligner = Aligner(judgments, policy.negative, nil, complete=policy.complete)
        results: list[CutResult] = []
        answers: list[AnswerCurve] = []
        notes: dict[str, Note] = {}
        for run in followed(all_runs, progress, len(all_runs)):
            lists = RankedLists.of(run, aligner, relevant)
            check_query_overlap(run, lists.alignment)
            tables = [lists.scores_by_depth(measure) for measure in chosen]
            for measure, values in zip(chosen, tables, strict=True):
                defined = np.any(~np.isnan(values), axis=1)
                if not defined.all():
                    counts = {"missing": int((~defined).sum()), "queries": len(defined)}
                    note = Note("undefined_omitted", measure=str(measure), values=counts)
                    notes.setdefault(str(note), note)
                results.append(self._best_cuts(run.name, measure, lists, values, defined))
            if "ratio" not in {rule.rule for rule in results[-1].rules}:
                notes[run.name] = Note("no_ratio", run.name)
            answers += self._answers(run.name, lists, [lists.scores_by_depth(measure) for measure in decisions], tables)
        return StoppingResult(self, tuple(results), tuple(answers), tuple(notes.values()))

    def _best_cuts(self, run: str, measure: Measure, lists: RankedLists, table: Floats, defined: Booleans) -> CutResult:
        n = int(defined.sum())
        if n < 2:
            raise UsageError(
                f"{measure} is defined for {n} of the judged queries; this study splits them into two halves",
                hint="give judgments for at least two queries for which the measure is defined",
            )
        # A cut that makes a measure undefined counts 0.
        values = np.where(defined[:, None], np.nan_to_num(table), 0)
        best = values.max(axis=1, keepdims=True)
        depths = (values >= best - SAME).argmax(axis=1)
        # One sum for all, so that rounding cannot put the oracle below another depth.
        *by_depth, oracle = np.column_stack([values, best])[defined].mean(axis=0).tolist()
        documents = lists.documents_by(lists.score)
        _, kept = documents.best_threshold(documents.steps(values), defined)
        return CutResult(
            run=run,
            measure=str(measure),
            queries=n,
            length=float(lists.length[defined].mean()),
            uncut=by_depth[-1],
            oracle=oracle,
            oracle_depth=float(depths[defined].mean()),
            depth=next(i for i, mean in enumerate(by_depth) if mean >= max(by_depth) - SAME),
            depth_score=max(by_depth),
            by_depth=_curve_by_depth(values[defined], lists.length[defined]),
            by_threshold=_curve_by_threshold(documents, values, defined, kept),
            rules=tuple(self._best_rules(lists, values, defined)),
        )

    def _best_rules(self, lists: RankedLists, values: Floats, defined: Booleans) -> Iterator[RuleResult]:
        """The results of the rules, as far as they can be applied to these scores."""
        for rule in RULES.values():
            documents = lists.documents(rule, defined)
            if documents is None:
                continue
            key, kept = documents.best_threshold(documents.steps(values), defined)
            splits = self._test_on_splits(rule, lists, documents, values, defined)
            thresholds = np.array([rule.threshold(float(x)) for x in splits.threshold])
            score = float(documents.totals(values)[kept] / defined.sum())
            yield RuleResult(rule.name, rule.threshold(key), score, replace(splits, threshold=thresholds))

    def _test_on_splits(
        self, rule: StoppingRule, lists: RankedLists, documents: DocumentsByScore, values: Floats, defined: Booleans
    ) -> Splits:
        """Choose the threshold on one half of the queries and test it on the other, for every split."""
        steps, queries = documents.steps(values), np.flatnonzero(defined)
        # The splits depend on the number of queries and the seed only, so that all runs and measures share them.
        order = np.random.default_rng(self.seed).permuted(np.tile(queries, (self.repeats, 1)), axis=1)
        splits = []
        for permutation in order:
            test = np.zeros(len(values))
            test[permutation[len(permutation) // 2 :]] = 1
            training = defined & (test == 0)
            if rule.learned:
                documents = lists.documents(rule, training) or documents
                steps = documents.steps(values)
            threshold, kept = documents.best_threshold(steps, training)
            inside = slice(None, documents.last[kept - 1] + 1 if kept else 0)
            uncut = (values[:, -1] * test).sum()
            if kept < len(documents.last):
                score = (values[:, 0] * test).sum() + (steps[inside] * test[documents.query[inside]]).sum()
            else:
                score = uncut
            splits.append((threshold, score / test.sum(), uncut / test.sum()))
        return Splits(*np.array(splits).T)

    def _answers(
        self, run: str, lists: RankedLists, decisions: Sequence[Floats], tables: Sequence[Floats]
    ) -> Iterator[AnswerCurve]:
        """What is answered by the threshold of each rule that can leave a list empty; tables of (query, depth)."""
        answered = decisions[0] > 0
        columns = [*decisions, *(np.where(answered, table, np.nan) for table in tables)]
        unanswerable = ~np.isnan(decisions[DECISIONS.index("FalseAnswer")][:, 0])
        if self.max_false_answers is not None and unanswerable.sum() < 2:
            raise UsageError(
                f"judged queries without a relevant document: {unanswerable.sum()}; a rate of false answers on two "
                "halves needs at least two",
                hint="leave out --max-false-answers, or add judgments of queries without an answer",
            )
        every = np.ones(len(unanswerable), bool)
        for rule in RULES.values():
            documents = lists.documents(rule, every)
            if documents is None or len(steps := documents.answering()) < 2:
                continue
            steps = steps[np.unique(np.linspace(0, len(steps) - 1, POINTS).astype(np.int64))]
            curve = AnswerCurve(
                run,
                rule.name,
                np.array([rule.threshold(float(key)) for key in documents.score[documents.last[steps - 1]]]),
                np.array([documents.means(column, every)[steps] for column in columns]),
            )
            if self.max_false_answers is not None:
                tested = list(self._keep_rate(rule, lists, columns, unanswerable))
                curve = replace(
                    curve,
                    chosen=np.array([rule.threshold(threshold) for threshold, _ in tested]),
                    tested=np.array([values for _, values in tested]).T,
                )
            yield curve

    def _keep_rate(
        self, rule: StoppingRule, lists: RankedLists, columns: Sequence[Floats], unanswerable: Booleans
    ) -> Iterator[tuple[float, list[float]]]:
        """For each split the lowest threshold that keeps the rate of false answers, and the values on the test half."""
        rng, false = np.random.default_rng(self.seed), columns[DECISIONS.index("FalseAnswer")]
        groups = [np.flatnonzero(unanswerable), np.flatnonzero(~unanswerable)]  # each is split into two halves
        for _ in range(self.repeats):
            training = np.zeros(len(unanswerable), bool)
            for group in groups:
                training[rng.permutation(group)[: -(-len(group) // 2)]] = True
            documents = lists.documents(rule, training)
            assert documents is not None
            allowed = documents.means(false, training) <= (self.max_false_answers or 0) + SAME
            threshold, kept = documents.threshold(int(np.flatnonzero(allowed)[-1]), training)
            yield threshold, [float(documents.means(column, ~training)[kept]) for column in columns]


@dataclass(frozen=True, eq=False, repr=False)
class StoppingResult(StudyResult):
    """The best cuts of each run by each measure, and what each run answers by threshold."""

    settings: Stopping
    results: tuple[CutResult, ...]
    answers: tuple[AnswerCurve, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of the runs."""
        return tuple(dict.fromkeys(result.run for result in self.results))

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures."""
        return tuple(dict.fromkeys(result.measure for result in self.results))

    def pages(self, digits: int = 4) -> list[Page]:
        """For each measure the scores at the best cuts and the stopping rules; then what each run answers."""
        pages = [page for measure in self.measures for page in self._measure_pages(measure, digits)]
        return [*pages, *_answer_pages(self, digits)]

    def _measure_pages(self, measure: str, digits: int) -> Iterator[Page]:
        cuts = [cut for cut in self.results if cut.measure == measure]
        title = f"{measure}: lists uncut, each cut at its best depth, all at one depth, all at one score threshold"
        yield table(title, ("run",), CUT_COLUMNS, [(cut.run, _best_cells(cut, digits)) for cut in cuts])
        title = f"{measure}: stopping rules, best on all queries, and chosen on half of them, tested on the other half"
        heads = ("best", "at", "uncut,\nheld out", "cut,\nheld out", "gain", "threshold")
        rows = [row for cut in cuts for row in _rule_rows(cut, digits)]
        yield table(f"{title} ({self.splits})", ("run", "rule"), heads, rows)

    @property
    def splits(self) -> str:
        """A description of the splits."""
        return f"{self.settings.repeats} splits, seed {self.settings.seed}; in brackets the 5th and 95th percentile"

    def drawings(self) -> Drawings:
        """A figure for each run: a row per measure, thresholds on the left, depths on the right; and one of answers."""
        draws: Drawings = {
            f"stopping-{run}": partial(draw, [c for c in self.results if c.run == run]) for run in self.runs
        }
        if curves := [curve for curve in self.answers if curve.rule == "score"]:
            draws["stopping-answers"] = partial(answer_figure, curves, self.measures)
        return draws


def _check_measure(measure: Measure) -> Measure:
    if measure.definition.aggregate != "mean":
        raise MeasureError(f"{measure.symbol} is not a mean over queries; this study needs one that is")
    if measure.definition.lower_is_better or measure.definition.neutral:
        raise MeasureError(
            f"{measure}: this study needs a measure of which higher values are better",
            hint="the table of answers has the rates of answers, of false and of missed answers at each threshold",
        )
    if measure.views.ties not in (None, *DEFINITE):
        raise MeasureError(
            f"{measure}: this study needs a tie rule that orders every list by score in one way",
            hint=f"use ties={', '.join(DEFINITE)}",
        )
    return measure


def _curve_by_depth(values: Floats, length: Integers) -> Curve:
    depths = np.arange(values.shape[1])
    kept = np.minimum(depths, length[:, None]).mean(axis=0)
    return _curve(depths, values.sum(axis=0), (values**2).sum(axis=0), kept, len(values))


def _curve_by_threshold(documents: DocumentsByScore, values: Floats, defined: Booleans, best: int) -> Curve:
    thresholds = len(documents.last)
    # Half of the points evenly spaced, half on a logarithmic scale, because single documents matter in short lists.
    end = max(thresholds, 1)
    points = np.append(np.geomspace(1, end, POINTS // 2), np.linspace(1, end, POINTS // 2))
    selected = np.unique(np.append(points.astype(np.int64), max(best, 1)))
    selected = selected[selected <= thresholds]
    kept = np.append(0, np.cumsum(defined[documents.query])[documents.last])
    count = int(defined.sum())
    squares = documents.totals(values**2)
    at = documents.score[documents.last[selected - 1]]
    return _curve(at, documents.totals(values)[selected], squares[selected], kept[selected] / count, count)


def _curve(at: Any, total: Floats, squares: Floats, kept: Floats, n: int) -> Curve:
    mean = total / n
    deviation = np.sqrt(np.maximum(squares - total * mean, 0) / (n - 1))
    half = t_quantile(0.95, n - 1) * deviation / np.sqrt(n)
    return Curve(np.asarray(at, np.float64), mean, mean - half, mean + half, kept)


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


def _rule_rows(cut: CutResult, digits: int) -> Iterator[tuple[tuple[str, str], list[Cell | str]]]:
    held_out = column([float(rule.splits.score.mean()) for rule in cut.rules], digits)
    for rule, cell in zip(cut.rules, held_out, strict=True):
        splits, uncut = rule.splits, shown(float(rule.splits.uncut.mean()), digits)
        low, _, high = (shown(value, digits) for value in splits.percentiles(splits.gain))
        gain = Cell(shown(float(splits.gain.mean()), digits), aside=_range(low, high))
        at = rule_threshold(rule.rule, rule.threshold)
        learned = _threshold_cell(rule.rule, splits.threshold)
        yield (cut.run, rule.rule), [shown(rule.score, digits), at, uncut, cell, gain, learned]


def _threshold_cell(rule: str, thresholds: Floats) -> Cell:
    """The median of learned thresholds, with percentiles."""
    low, median, high = (rule_threshold(rule, value) for value in Splits.percentiles(thresholds))
    return Cell(median, aside=_range(low, high))


def _range(low: str, high: str) -> str:
    return "" if low == high else f"[{low}, {high}]"


def _best_cells(cut: CutResult, digits: int) -> list[str]:
    best = cut.rules[0]
    uncut, oracle, depth, score = (
        shown(value, digits) for value in (cut.uncut, cut.oracle, cut.depth_score, best.score)
    )
    lengths = f"{cut.length:.1f}", uncut, oracle, f"{cut.oracle_depth:.1f}"
    return [*lengths, depth, f"{cut.depth}", score, threshold(best.threshold)]


def _answer_pages(result: StoppingResult, digits: int) -> Iterator[Page]:
    """What is answered at some thresholds; and at thresholds chosen to keep the rate of false answers."""
    if not result.answers:
        return
    # Without unanswerable queries there are no false answers, and accuracy repeats the missed ones.
    shares = [i for i in range(len(DECISIONS)) if not np.isnan(result.answers[0].values[i]).all()]
    if DECISIONS.index("FalseAnswer") not in shares:
        shares.remove(DECISIONS.index("AnswerAccuracy"))
    heads = ["threshold", *(HEADS[i] for i in shares), *result.measures]

    def cells(values: Floats) -> list[Cell | str]:
        rates = [f"{values[i]:.1%}" if values[i] == values[i] else UNDEFINED for i in shares]
        return [*rates, *(shown(float(value), digits) for value in values[len(DECISIONS) :])]

    rows = []
    for curve in result.answers:
        for point in _points(curve):
            at = rule_threshold(curve.rule, float(curve.at[point]))
            rows.append(((curve.run, curve.rule), [at, *cells(curve.values[:, point])]))
    title = "Answers by threshold: rates of answers, and mean scores of answered queries (risk and coverage)"
    yield table(title, ("run", "rule"), heads, rows)
    if (rate := result.settings.max_false_answers) is None:
        return
    rows = []
    for curve in result.answers:
        assert curve.chosen is not None and curve.tested is not None
        means = np.ma.masked_invalid(curve.tested).mean(axis=1).filled(np.nan)
        rows.append(((curve.run, curve.rule), [_threshold_cell(curve.rule, curve.chosen), *cells(means)]))
    title = (
        f"The lowest threshold with at most {rate:.3g} false answers on one half of the queries, tested on the other "
        f"half ({result.splits})"
    )
    yield table(title, ("run", "rule"), heads, rows)


def _points(curve: AnswerCurve) -> list[int]:
    """The points of a curve whose answer rates are nearest to some levels, the highest rate first."""
    nearest = np.abs(curve.values[0] - np.array(LEVELS)[:, None]).argmin(axis=1)
    return list(dict.fromkeys(nearest.tolist()))


def rule_threshold(rule: str, value: float) -> str:
    """The threshold of a rule as text; what keeps nothing or everything depends on its direction.

    >>> rule_threshold("gap", float("inf")), rule_threshold("ratio", float("inf")), rule_threshold("gap", 0.25)
    ('no cut', 'empty', '0.25')
    """
    return threshold(RULES[rule].threshold(value)) if np.isinf(value) else threshold(value)


def threshold(score: float) -> str:
    """A threshold as text.

    >>> threshold(12.50001), threshold(float("-inf")), threshold(float("inf"))
    ('12.5', 'no cut', 'empty')
    """
    if np.isinf(score):
        return "empty" if score > 0 else "no cut"
    return f"{score:.5g}"


TICKS = 6


def draw(cuts: list[CutResult]) -> Figure:
    """All measures of one run."""
    figure, axes = panels(2 * len(cuts), 2, 2.1)
    for i, cut in enumerate(cuts):
        draw_by_threshold(cut, axes[2 * i])
        draw_by_depth(cut, axes[2 * i + 1])
        axes[2 * i + 1].sharey(axes[2 * i])
    figure.suptitle(cuts[0].run, fontsize=8)
    return figure


def draw_by_threshold(cut: CutResult, axis: Axes) -> Axes:
    """The mean score by threshold.

    The axis is scaled by the mean number of documents kept, because scores are spread unevenly; its ticks are
    thresholds.
    """
    curve = cut.by_threshold

    def documents_kept(score: float) -> float:
        return float(np.interp(-score, -curve.at, curve.kept))

    _draw_curve(curve.kept, curve, cut, axis)
    best = cut.rules[0]
    if np.isfinite(best.threshold):
        mark = f"best: {best.score:.3f} at {threshold(best.threshold)}"
        axis.plot(documents_kept(best.threshold), best.score, "o", color=ORANGE, markersize=3.5, label=mark, zorder=4)
        axis.axvline(documents_kept(best.threshold), color=ORANGE, linewidth=0.8, linestyle="--")
    else:
        axis.plot([], [], " ", label=f"best: {threshold(best.threshold)}")
    low, _, high = best.splits.percentiles(best.splits.threshold)
    if low < high:
        span = (documents_kept(end) for end in (high, low))
        label = f"90% of splits: {threshold(low)} to {threshold(high)}"
        axis.axvspan(*span, color=ORANGE, alpha=0.12, linewidth=0, label=label)
    axis.set_xscale("log")
    spaced = np.geomspace(curve.kept[0], curve.kept[-1], TICKS)
    ticks = np.unique(np.abs(np.log(curve.kept) - np.log(spaced)[:, None]).argmin(axis=1))
    axis.set_xticks(curve.kept[ticks], [f"{threshold(curve.at[i])}\n({curve.kept[i]:.3g})" for i in ticks])
    axis.minorticks_off()
    axis.set_xlabel("threshold (mean list length)")
    axis.legend(loc="best")
    return axis


def draw_by_depth(cut: CutResult, axis: Axes) -> Axes:
    """The mean score if all lists are cut at one depth."""
    _draw_curve(cut.by_depth.at, cut.by_depth, cut, axis)
    axis.axhline(cut.oracle, color=BLUE, linewidth=0.8, linestyle="-.", label=f"best depth per list: {cut.oracle:.3f}")
    mark = f"best: {cut.depth_score:.3f} at {cut.depth}"
    axis.plot(cut.depth, cut.depth_score, "o", color=ORANGE, markersize=3.5, label=mark, zorder=4)
    axis.set_xlabel("depth (documents kept per list)")
    axis.legend(loc="best")
    return axis


def _draw_curve(x: Floats, curve: Curve, cut: CutResult, axis: Axes) -> None:
    """The mean over queries with its confidence interval, and the score of the uncut lists."""
    axis.fill_between(x, curve.low, curve.high, color=SKY, alpha=0.3, linewidth=0)
    axis.plot(x, curve.mean, color=BLUE)
    axis.axhline(cut.uncut, color=GREY, linewidth=0.8, linestyle=":", label=f"uncut: {cut.uncut:.3f}")
    axis.set_ylabel(cut.measure.replace("[", "\n[", 1))
    axis.margins(x=0.02)


def answer_figure(curves: Sequence[AnswerCurve], measures: Sequence[str]) -> Figure:
    """Risk and coverage of each run: false and missed answers, and mean scores of answered queries, by answer rate."""
    figure = each(curves, 3, 2.0, partial(draw_answers, measures))
    legend_below(figure, figure.axes[0], 4)
    return figure


def draw_answers(measures: Sequence[str], curve: AnswerCurve, axis: Axes) -> None:
    """The values of one run, by the share of queries that are answered as the threshold falls."""
    answered, false, missed, _, *means = curve.values
    for name, values, colour in (("false answers", false, ORANGE), ("missed answers", missed, GREY)):
        if not np.isnan(values).all():
            axis.plot(100 * answered, values, color=colour, linestyle="--", label=name)
    for name, values, colour in zip(measures, means, cycle((BLUE, GREEN, PURPLE, SKY, BLACK)), strict=False):
        axis.plot(100 * answered, values, color=colour, label=name)
    top = max(1.0, float(np.nanmax(curve.values)))  # means of measures such as DCG can be above 1
    axis.set(xlabel="queries answered (%)", ylim=(-0.02 * top, 1.02 * top))
    axis.set_title(curve.run)


# Rankings cut at every depth and at every threshold of a rule, by relabelling arrays.
#
# A rule gives each document of a list a key that never rises from rank to rank; a threshold keeps the documents whose
# key is at least the threshold. The absolute rule has the score itself as its key. The others are those that Liu et
# al. (SIGIR 2016, section 4) name as future work: the distribution of scores "in both relative and absolute terms",
# and the prediction of R for a query.

# Cells of a batch that are processed at a time: they fit into a processor's cache.
CELLS = 1 << 17


@dataclass(frozen=True, eq=False)
class RankedLists:
    """The rankings of one run for the judged queries: the positions of judged documents, and the score at every rank.

    ``score``: from the top down for the first query, then for the second, and so on; ``length`` (q,): of each list;
    ``relevant`` (q,): the number of relevant documents. ``query``, ``position``: of each document, from 0.
    """

    alignment: Alignment
    score: Floats
    length: Integers
    relevant: Integers
    query: Integers
    position: Integers

    @classmethod
    def of(cls, run: Run, aligner: Aligner, relevant: Integers) -> RankedLists:
        """Read a run once."""
        table = io.load(run)
        alignment = aligner.align(replace(run, source=table))
        # The aligner decides which document holds a rank; the scores by rank only need sorting.
        length = np.maximum(alignment.length, 0)
        return cls(alignment, judged_scores(table, aligner.judgments)[1], length, relevant, *ragged(length))

    def scores_by_depth(self, measure: Measure) -> Floats:
        """The score of every query with its list cut at every depth: (query, depth), from no document to all."""
        table = np.zeros((len(self.length), int(self.length.max(initial=0)) + 1))
        for rankings in self.alignment.rankings:
            queries, ordered = rankings.query, measure.ordered(rankings)
            # Without columns that no measure reads once gains are computed, because rows are copied often.
            width = max(int((ordered.ideal > 0).sum(axis=1).max(initial=0)), 1)
            ordered = ordered.changed(ideal=ordered.ideal[:, :width])
            for row, depth, cut in cut_at_all_depths(ordered):
                table[queries[row], depth] = measure.scored(cut).value
            depths = np.minimum(np.arange(table.shape[1]), ordered.length[:, None])
            table[queries] = np.take_along_axis(table[queries], depths, axis=1)
        return table

    def documents_by(self, key: Floats) -> DocumentsByScore:
        """All documents by a decreasing key, which takes the place of scores; within a list it must not rise."""
        order = np.argsort(-key, kind="stable")
        score = key[order]
        last = np.flatnonzero(np.append(score[1:] != score[:-1], True)) if len(score) else np.zeros(0, np.int64)
        return DocumentsByScore(self.query[order], self.position[order] + 1, score, last)

    def documents(self, rule: StoppingRule, training: Booleans) -> DocumentsByScore | None:
        """The documents by decreasing key; None if the rule cannot be applied to these scores.

        A prediction is learned from the training queries.
        """
        score = self.score
        if rule.name == "ratio":
            if (score <= 0).any():
                return None
            key = score / self.top
        elif rule.name == "distance":
            key = score - self.top
        elif rule.name == "gap":
            key = -self.largest_gap
        elif rule.name == "predicted R":
            key = -(self.position + 1) / self.predicted_relevant(training)[self.query]
        else:
            key = score
        return self.documents_by(key)

    @property
    def top(self) -> Floats:
        """The highest score of its list, for each document."""
        return self.score[(np.cumsum(self.length) - self.length)[self.query]]

    @property
    def largest_gap(self) -> Floats:
        """The largest gap between scores above each document."""
        score = self.score
        gap = np.where(self.position > 0, np.append(0, score[:-1]) - score, 0)
        # The running maximum of each list: gaps are ranked, and an offset makes the ranks of a list higher than all
        # before.
        gaps, rank = np.unique(gap, return_inverse=True)
        offset = self.query * (len(gap) + 1)
        return gaps[np.maximum.accumulate(rank + offset) - offset]

    def predicted_relevant(self, training: Booleans) -> Floats:
        """The predicted number of relevant documents of each query, learned from the training queries.

        Ridge regression of log(1 + R) on the top score, the mean and the standard deviation of the scores of a list,
        and the logarithm of its length.
        """
        x, y = self.features, np.log1p(self.relevant.astype(np.float64))
        centre, spread = x[training].mean(axis=0), x[training].std(axis=0)
        z = (x - centre) / np.where(spread > 0, spread, 1)
        mean = y[training].mean()
        observed = z[training]
        products = (observed[:, :, None] * observed[:, None]).sum(axis=0) + RIDGE * np.eye(z.shape[1])
        weights = solve(products.tolist(), (observed * (y[training] - mean)[:, None]).sum(axis=0).tolist())
        assert weights is not None  # the penalty makes the solution unique
        # No prediction beyond what was seen: weights learned from few queries extrapolate badly.
        low, high = y[training].min(), y[training].max()
        return np.maximum(np.expm1(np.clip(mean + (z * weights).sum(axis=1), low, high)), FEWEST)

    @cached_property
    def features(self) -> Floats:
        """The features of each list, (query, feature); 0 for an empty one."""
        score, query, length = self.score, self.query, self.length
        count = np.maximum(length, 1)
        mean = np.bincount(query, score, len(length)) / count
        deviation = np.sqrt(np.bincount(query, (score - mean[query]) ** 2, len(length)) / count)
        top = np.zeros(len(length))
        top[length > 0] = score[(np.cumsum(length) - length)[length > 0]]
        return np.stack([top, mean, deviation, np.log1p(length)], axis=1)


def cut_at_all_depths(batch: Batch) -> Iterator[tuple[Integers, Integers, Batch]]:
    """Every list cut at every depth up to its length: rows, depths and the cut lists, in blocks of limited size."""
    row, depth = ragged(batch.length + 1)
    order = np.argsort(depth, kind="stable")  # shallow cuts hold few documents and need few columns
    row, depth = row[order], depth[order]
    begin = 0
    while begin < len(row):
        end = begin + max(1, CELLS // (batch.start.shape[1] + batch.ideal.shape[1]))
        q, d = row[begin:end], depth[begin:end]
        inside = ~np.isnan(batch.grade) & (batch.start < d[-1])
        width = max(int(inside.sum(axis=1).max(initial=0)), 1)
        part = batch.changed(**{name: getattr(batch, name)[:, :width] for name in COLUMNS}).rows(q)
        keep = ~np.isnan(part.grade) & (part.start < d[:, None])
        yield q, d, part.only(keep).changed(length=d)
        begin = end


@dataclass(frozen=True, eq=False)
class DocumentsByScore:
    """All documents of a run by decreasing score; a threshold keeps a prefix of them.

    ``query``, ``depth``, ``score``: of each document; ``last``: the last document of each distinct score. One more
    document changes the score of one query, so that the means for all thresholds are one running sum.
    """

    query: Integers
    depth: Integers
    score: Floats
    last: Integers

    def steps(self, table: Floats) -> Floats:
        """The change of its query's score when a document is added."""
        return table[self.query, self.depth] - table[self.query, self.depth - 1]

    def totals(self, table: Floats) -> Floats:
        """The sum over queries without any document, and then at every distinct score."""
        return table[:, 0].sum() + np.append(0, np.cumsum(self.steps(table))[self.last])

    def means(self, table: Floats, queries: Booleans) -> Floats:
        """The mean over these queries, without undefined values, at every threshold; NaN if all are undefined."""
        counted = ~np.isnan(table) & queries[:, None]
        total, count = self.totals(np.where(counted, table, 0)), self.totals(counted.astype(np.float64))
        return np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0.5)

    def answering(self) -> Integers:
        """The numbers of distinct scores at which further queries have their first document."""
        return np.unique(np.searchsorted(self.last, np.flatnonzero(self.depth == 1)) + 1)

    def best_threshold(self, steps: Floats, training: Booleans) -> tuple[float, int]:
        """The best threshold on the training queries, and the number of distinct scores that it keeps.

        Of equally good thresholds the lowest.
        """
        in_training = training[self.query]
        gain = np.append(0, np.cumsum(np.where(in_training, steps, 0))[self.last])
        return self.threshold(int(np.flatnonzero(gain >= gain.max() - SAME * len(training))[-1]), training)

    def threshold(self, best: int, training: Booleans) -> tuple[float, int]:
        """The lowest score of a training document among the first ``best`` distinct scores, and how many these are.

        Infinite if it keeps nothing; minus infinite if it cuts nothing.
        """
        documents = np.flatnonzero(training[self.query])
        kept = int(np.searchsorted(documents, self.last[best - 1], side="right")) if best else 0
        if kept == 0 and len(documents):
            return np.inf, 0
        if kept == len(documents):
            return -np.inf, len(self.last)
        score = float(self.score[documents[kept - 1]])
        return score, int(np.searchsorted(self.last, documents[kept - 1])) + 1


RIDGE = 1.0  # the penalty on the weights of features, which are standardised
FEWEST = 0.5  # the smallest prediction of R: a list can be cut at any multiple of it


@dataclass(frozen=True)
class StoppingRule:
    """A rule with one threshold.

    ``summary``: what it keeps. ``falling``: a higher threshold keeps more documents; then the threshold is the negative
    of the lowest key that is kept. ``learned``: keys are predictions, which are learned from the training queries.
    """

    name: str
    summary: str
    falling: bool = False
    learned: bool = False

    def threshold(self, key: float) -> float:
        """The threshold that keeps documents down to this key; and the lowest key that a threshold keeps."""
        return 0.0 - key if self.falling else key


RULES = {
    rule.name: rule
    for rule in (
        StoppingRule("score", "documents that score at least the threshold"),
        StoppingRule("ratio", "documents that score at least this share of the top score"),
        StoppingRule("distance", "documents that score at most this much below the top score", falling=True),
        StoppingRule("gap", "documents above the first gap between scores that is larger", falling=True),
        StoppingRule(
            "predicted R", "this many times the predicted number of relevant documents", falling=True, learned=True
        ),
    )
}
