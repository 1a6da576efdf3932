"""How much tied scores affect measures and the order of systems.

McSherry and Najork, "Computing Information Retrieval Performance Measures Efficiently in the Presence of Tied Scores"
(ECIR 2008): the authors saw that different orders of tied documents change scores enough to change the order of
systems, and proposed the mean over all orders, in closed form. This study counts the ties of runs, and compares the
closed form with tie rules, with random orders, and with scores that are rounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from cranfield import io
from cranfield.data import Booleans, Floats, Integers, Judgments, Run
from cranfield.errors import MeasureError
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.evaluator import Evaluator, read_runs
from cranfield.evaluation.notes import SENTENCES, Note
from cranfield.evaluation.plan import Column, Plan, make_plan
from cranfield.evaluation.run_scores import RunScores
from cranfield.lab.study import Measures, Progress, Study, StudyResult
from cranfield.lab.systems import (
    judged_scores,
    mean_scores,
    studied,
    unanswered_notes,
    undefined_notes,
)
from cranfield.measures import Measure
from cranfield.parallel import followed
from cranfield.ranking.alignment import Alignment
from cranfield.ranking.rankings import Rankings
from cranfield.ranking.tie_rules import Ties as TieRuleName
from cranfield.report.canvas import BLACK, BLUE, GREY, ORANGE, SKY, Drawings, alone, each, legend_below, name_rows
from cranfield.report.pages import Page, table
from cranfield.report.sheet import Cell, shown
from cranfield.settings import Limits, Whole
from cranfield.statistics.correlation import swapped_pairs
from cranfield.statistics.rounding import SAME
from cranfield.wording import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class TieCounts:
    """The tied documents of one run, or of all runs, in the rankings of judged queries.

    A document is tied if another document of its ranking has the same score. ``retrieved``, ``judged``: documents of
    the rankings, and those of them with a judgment; ``decisive``: relevant documents that are tied with a document of
    another grade or with an unjudged one, so that the order of the tie affects scores. ``sizes``: the number of tie
    groups of each size, from 2.
    """

    retrieved: int
    tied: int
    judged: int
    judged_tied: int
    decisive: int
    queries: int
    queries_tied: int
    sizes: dict[int, int]

    @property
    def groups(self) -> int:
        """The number of tie groups."""
        return sum(self.sizes.values())

    @property
    def largest(self) -> int:
        """The number of documents of the largest tie group; 0 without ties."""
        return max(self.sizes, default=0)

    @staticmethod
    def total(counts: list[TieCounts]) -> TieCounts:
        """The counts of several runs together."""
        sizes = sum((Counter(entry.sizes) for entry in counts), Counter())
        fields = ("retrieved", "tied", "judged", "judged_tied", "decisive", "queries", "queries_tied")
        sums = {name: sum(getattr(entry, name) for entry in counts) for name in fields}
        return TieCounts(**sums, sizes=dict(sorted(sizes.items())))


def count_ties(run: Run, judgments: Judgments, alignment: Alignment) -> TieCounts:
    """The tie groups of a run that is in memory, and aligned with the judgments."""
    query, score = judged_scores(io.load(run), judgments)
    size = group_sizes(query, score)
    several = size[size > 1]
    judged = alignment.aligner.judged.grade[alignment.positions.document] >= 0
    tied_queries = np.unique(query[np.repeat(size > 1, size)]) if len(size) else size
    decisive = sum(int(rankings.mixed_ties().sum()) for rankings in alignment.rankings)
    values, numbers = np.unique(several, return_counts=True)
    return TieCounts(
        len(query),
        int(several.sum()),
        int(judged.sum()),
        int((judged & (alignment.positions.size > 1)).sum()),
        decisive,
        int((alignment.length >= 0).sum()),
        len(tied_queries),
        dict(zip(values.tolist(), numbers.tolist(), strict=True)),
    )


def group_sizes(query: Integers, score: Floats) -> Integers:
    """The size of each group of equal scores, including those of a single document; both arrays are ordered."""
    if not len(query):
        return np.zeros(0, np.int64)
    first = np.append(True, (query[1:] != query[:-1]) | (score[1:] != score[:-1]))
    return np.diff(np.append(np.flatnonzero(first), len(query)))


@dataclass(frozen=True)
class Rounding:
    """Scores rounded to a number of significant decimal digits, or of bits of the significand."""

    unit: str
    number: int

    @property
    def label(self) -> str:
        """The rounding as text."""
        formats = {24: " (32-bit float)", 11: " (16-bit float)", 8: " (bfloat16)"} if self.unit == "bits" else {}
        unit = self.unit if self.number > 1 else self.unit.removesuffix("s")
        return f"{self.number} {unit}{formats.get(self.number, '')}"

    def __call__(self, scores: Floats) -> Floats:
        """The scores, rounded.

        >>> Rounding("digits", 2)(np.array([0.12345, -1250.0, 99.6])).tolist()
        [0.12, -1200.0, 100.0]
        >>> Rounding("bits", 2)(np.array([0.8, 5.0, 7.1])).tolist()
        [0.75, 4.0, 8.0]
        """
        if self.unit == "digits":
            distinct, index = np.unique(scores, return_inverse=True)
            return np.array([float(f"{score:.{self.number - 1}e}") for score in distinct.tolist()])[index]
        significand, exponent = np.frexp(scores)
        return np.ldexp(np.rint(np.ldexp(significand, self.number)), exponent - self.number)

    def of_run(self, run: Run) -> Run:
        """The run with rounded scores."""
        table = io.load(run)
        return replace(run, source=replace(table, score=self(table.score)))


def histogram_bins(largest: int) -> Iterator[tuple[int, int]]:
    """Ranges of sizes: 2, 3, 4, then 5-8, 9-16 and so on up to the largest size.

    >>> list(histogram_bins(20))
    [(2, 2), (3, 3), (4, 4), (5, 8), (9, 16), (17, 32)]
    """
    low, high = 2, 2
    while low <= largest:
        yield low, high
        low, high = high + 1, high + 1 if high < 4 else 2 * high


ORDERED_AT_ONCE = 1 << 20  # documents that are ordered at a time


def random_orders(
    rankings: Rankings, samples: int, rng: np.random.Generator
) -> Iterator[tuple[slice, Integers, Rankings]]:
    """Random orders of all rankings with tied documents; every order of a tie group is equally likely.

    Yields a range of samples, the indices of the rankings with ties, and their orders as rankings without ties: first
    all rankings of the first sample, then all of the second, and so on.
    """
    tied = np.unique(rankings.row[rankings.size > 1])
    if not len(tied):
        return
    part = rankings.rankings(tied)
    row, start, size = part.row, part.start, part.size
    first_of_group = np.append(True, (row[1:] != row[:-1]) | (start[1:] != start[:-1]))
    first, group = np.flatnonzero(first_of_group), np.cumsum(first_of_group) - 1
    of_group = size[first]
    begin = np.cumsum(of_group) - of_group
    # A tie group has a slot for each of its documents; the judged ones take the first slots before they are shuffled.
    slot = begin[group] + np.arange(len(row)) - first[group]
    slot_group = np.repeat(np.arange(len(first)), of_group)
    slot_position = np.arange(len(slot_group)) - begin[slot_group]
    rankings_per_sample = len(part.length)
    step = max(1, ORDERED_AT_ONCE // len(slot_group))
    for sample in range(0, samples, step):
        count = min(step, samples - sample)
        shuffled = np.argsort(slot_group + rng.random((count, len(slot_group))), axis=1)
        position = np.empty(shuffled.shape, np.int64)
        np.put_along_axis(position, shuffled, np.broadcast_to(slot_position, shuffled.shape), axis=1)
        new_row = (row + rankings_per_sample * np.arange(count)[:, None]).ravel()
        new_start = (start + position[:, slot]).ravel()
        order = np.lexsort((new_start, new_row))
        none = np.zeros(len(order), np.int64)
        assert part.pool_row is not None
        yield (
            slice(sample, sample + count),
            tied,
            Rankings(
                part.pool,
                np.tile(part.length, count),
                new_row[order],
                np.tile(part.document, count)[order],
                new_start[order],
                none + 1,
                none,
                none,
                pool_row=np.tile(part.pool_row, count),
            ),
        )


def score_random_orders(
    measures: Sequence[Measure], rankings: Rankings, samples: int, rng: np.random.Generator
) -> Iterator[tuple[slice, Integers, Floats]]:
    """The scores of random orders: a range of samples, the rankings with ties, and (measure, sample, ranking)."""
    for chunk, tied, orders in random_orders(rankings, samples, rng):
        values = np.array([measure.values(orders).value for measure in measures])
        yield chunk, tied, values.reshape(len(measures), chunk.stop - chunk.start, len(tied))


# The six measures of the paper, with its denominators (relevant documents of the result list) and gains (2^grade - 1).
DEFAULT = ("P@10", "R(R='retrieved')@10", "F1(R='retrieved')@10", "AP(R='retrieved')", "RR", "nDCG(gain='exp')")
RULES: tuple[TieRuleName, ...] = ("trec", "input", "expected", "best", "worst")
TREC, EXPECTED, BEST, WORST = (RULES.index(rule) for rule in ("trec", "expected", "best", "worst"))
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
ROUND_DIGITS = (6, 4, 3, 2)
ROUND_BITS = (24, 11, 8)
ALL = "all"
NEVER = 0.001  # pairs that random orders swap less often are not listed


SENTENCES.update(
    estimated_expectation=(
        "{measure}: the expected score of {estimated} of {runs} runs is itself estimated from sampled orders, with a "
        "standard error of up to {error:.2g}"
    ),
    counted_zero="{measures}: undefined for {runs} on {queries}, where others have a value; counted as 0",
)


@dataclass(frozen=True)
class Ties(Study):
    """The effect of tied scores on measures and on the order of systems.

    After McSherry and Najork, "Computing Information Retrieval Performance Measures Efficiently in the Presence of Tied
    Scores" (ECIR 2008). Counts tied documents, and reports for each measure the scores by tie rule, the mean over all
    orders (`expected`) compared with random orders, the pairs of runs that random orders swap, and the effect of
    rounding scores. ::

        cranfield study ties qrels.txt *.run --figures figures
        cranfield study ties qrels.txt *.run -m "AP nDCG@10" --samples 1000 --round-digits 3,2 --round-bits 11
    """

    samples: Annotated[int, Limits(2), "Number of random orders of the tied documents of each run."] = 200
    round_digits: Annotated[Sequence[Annotated[int, Limits(1, 17)]], "Significant digits to round scores to."] = (
        ROUND_DIGITS
    )
    round_bits: Annotated[
        Sequence[Annotated[int, Limits(1, 53)]], "Bits of the significand to round scores to; a 32-bit float has 24."
    ] = ROUND_BITS
    seed: Whole = 0

    @property
    def roundings(self) -> list[Rounding]:
        """The roundings of scores, from the finest to the coarsest of each kind."""
        kinds = {"digits": self.round_digits, "bits": self.round_bits}
        return [Rounding(unit, n) for unit, numbers in kinds.items() for n in sorted(set(numbers), reverse=True)]

    def run(
        self,
        qrels: Any,
        runs: Any,
        measures: Measures = DEFAULT,
        *,
        corpus: Any = None,
        progress: Progress | None = None,
    ) -> TiesResult:
        """Score the runs by all tie rules, in random orders, and with rounded scores."""
        roundings, plan = self.roundings, make_plan(measures, studied(qrels).policy(seed=self.seed))
        for column in plan.columns:
            _check_column(column)
        loaded = [replace(run, source=io.load(run)) for run in read_runs(runs)]
        steps = len(loaded) + len(roundings)
        evaluator = Evaluator.of(studied(qrels, corpus), plan)
        evaluation = evaluator.evaluation(loaded)
        labels, queries = tuple(column.label for column in plan.columns), evaluation.queries
        by_rule = [_values(evaluation, rule) for rule in RULES]
        # A run for which a measure is undefined scores 0; a query counts unless it is undefined for all runs.
        undefined: Booleans = np.isnan(by_rule[EXPECTED])
        defined: Booleans = np.any(~undefined, axis=0)
        scores = _means(by_rule, defined)
        drawn = np.empty((len(loaded), len(labels), self.samples))
        for r, run in enumerate(followed(evaluation.run_scores, progress, steps)):
            seed = np.random.SeedSequence([self.seed, r])
            drawn[r] = _sampled_means(run, plan, by_rule[EXPECTED][r], defined, self.samples, seed)
        rounding = followed(roundings, progress, steps, len(loaded))
        rounded = tuple(_round(step, loaded, evaluator, defined) for step in rounding)
        error = _expectation_errors(evaluation, defined)
        answered = np.array([run.length >= 0 for run in evaluation.run_scores])
        return TiesResult(
            settings=self,
            runs=evaluation.runs,
            measures=labels,
            queries=len(queries),
            counts=tuple(_counts(loaded, evaluation)),
            scores=scores,
            error=error,
            sample_mean=drawn.mean(axis=-1).T,
            sample_deviation=drawn.std(axis=-1, ddof=1).T,
            quantiles=np.quantile(drawn, QUANTILES, axis=-1).transpose(0, 2, 1),
            swap_chance=np.array([swap_chances(drawn[:, m], scores[EXPECTED, m]) for m in range(len(labels))]),
            rounded=rounded,
            notes=(
                *unanswered_notes(evaluation.runs, answered, queries),
                *undefined_notes(labels, defined, queries),
                *_counted_notes(labels, undefined & defined),
                *_estimate_notes(labels, error),
            ),
        )


@dataclass(frozen=True, eq=False)
class RoundedScores:
    """The effect of rounding the scores of all runs.

    ``tied``: the share of retrieved documents that are tied. ``scores`` (rule, measure, run): as in `TiesResult`.
    """

    rounding: str
    tied: float
    scores: Floats


@dataclass(frozen=True, eq=False, repr=False)
class TiesResult(StudyResult):
    """The tied documents of runs, and their effect on scores and on the order of runs.

    ``counts``: for each run. ``scores`` (rule, measure, run): mean scores by the ``rules``; NaN if a rule is not
    defined for a measure. ``error`` (measure, run): the standard error of the expected score, 0 if it is exact.
    ``sample_mean``, ``sample_deviation`` (measure, run) and ``quantiles`` (quantile, measure, run), those of
    ``quantile_levels``: mean scores over random orders of tied documents. ``swap_chance`` (measure, pair): the
    probability that random orders of both runs reverse their order by expected scores; pairs are first with second,
    first with third, and so on.
    """

    DERIVED: ClassVar[tuple[str, ...]] = ("total", "swappable_pairs")

    settings: Ties
    runs: tuple[str, ...]
    measures: tuple[str, ...]
    queries: int
    counts: tuple[TieCounts, ...]
    scores: Floats
    error: Floats
    sample_mean: Floats
    sample_deviation: Floats
    quantiles: Floats
    swap_chance: Floats
    rounded: tuple[RoundedScores, ...]
    rules: tuple[str, ...] = RULES
    quantile_levels: tuple[float, ...] = QUANTILES
    notes: tuple[Note, ...] = ()

    @property
    def total(self) -> TieCounts:
        """The ties of all runs together."""
        return TieCounts.total(list(self.counts))

    @property
    def moves(self) -> Booleans:
        """Whether the order of ties changes a score by more than rounding, (measure, run)."""
        return np.asarray(np.nan_to_num(self.scores[BEST] - self.scores[WORST]) > SAME)

    @property
    def sample_error(self) -> Floats:
        """The standard error of the mean over random orders, (measure, run)."""
        return self.sample_deviation / np.sqrt(self.settings.samples)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of runs, in the order of ``swap_chance``."""
        return list(zip(*(i.tolist() for i in np.triu_indices(len(self.runs), 1)), strict=True))

    def most_orders(self, measure: int) -> Floats:
        """The ends of the range of 90% of random orders, (2, run)."""
        return self.quantiles[[QUANTILES.index(0.05), QUANTILES.index(0.95)], measure]

    def swappable(self, measure: int) -> list[tuple[str, str, float]]:
        """Pairs that random orders swap not just by a rare chance: the run that is ahead, the other, the chance.

        The run with the higher expected score is ahead. The most likely swaps come first.
        """
        expected = self.scores[EXPECTED, measure]
        chosen = []
        for (i, j), chance in zip(self.pairs, self.swap_chance[measure].tolist(), strict=True):
            if chance >= NEVER:
                ahead, other = (i, j) if expected[i] >= expected[j] else (j, i)
                chosen.append((self.runs[ahead], self.runs[other], chance))
        return sorted(chosen, key=lambda pair: -pair[2])

    @property
    def swappable_pairs(self) -> list[list[tuple[str, str, float]]]:
        """The pairs of each measure that random orders swap."""
        return [self.swappable(m) for m in range(len(self.measures))]

    def rounding_swaps(self, rounded: RoundedScores, rule: int, measure: int) -> int:
        """The number of pairs of runs that a rule orders differently once scores are rounded."""
        return len(swapped_pairs(self.scores[rule, measure], rounded.scores[rule, measure]))

    @staticmethod
    def reversible(scores: Floats, measure: int) -> int:
        """The number of pairs of runs that some orders of tied documents reverse; ``scores`` as in this class."""
        expected, best, worst = scores[[EXPECTED, BEST, WORST], measure]
        ahead = expected[:, None] > expected + SAME
        return int((ahead & (worst[:, None] < best - SAME)).sum())

    def pages(self, digits: int = 4) -> list[Page]:
        """The largest effects, tied documents; for each measure the scores, swaps, and the effect of rounding."""
        pages = [_summary_table(self, digits), _count_table(self), _size_table(self)]
        for m in range(len(self.measures)):
            pages += [*_score_tables(self, m, digits), *_swap_tables(self, m, digits)]
        if self.rounded:
            pages += [_rounding_table(self, m, digits) for m in range(len(self.measures))]
        return pages

    def drawings(self) -> Drawings:
        """Ranges of scores of runs that ties can move, sizes of tie groups, and swaps, as far as there are any."""
        draw: Drawings = {}
        if self.moves.any():
            draw["ties-ranges"] = partial(range_figure, self)
        if self.total.groups:
            draw["ties-sizes"] = partial(alone, partial(draw_sizes, self), 2.0)
        if self.swap_chance.size and self.swap_chance.max() >= NEVER:
            draw["ties-swaps"] = partial(swap_figure, self)
        return draw


def _expectation_errors(evaluation: Evaluation, defined: Booleans) -> Floats:
    """The standard errors of expected scores, (measure, run), which are 0 if they are exact."""
    errors = np.array(
        [[run[column.tied("expected")].error for column in evaluation.columns] for run in evaluation.run_scores]
    )
    squares = np.where(defined, np.nan_to_num(errors[..., : len(evaluation.queries)]), 0) ** 2
    return np.sqrt(squares.sum(axis=-1)).T / np.maximum(defined.sum(axis=1)[:, None], 1)


def _check_column(column: Column) -> None:
    if column.aggregate != "mean":
        raise MeasureError(f"{column.label} is not a mean over queries; this study needs one that is")
    if column.measure.views.ties is not None:
        plain = replace(column.measure, views=replace(column.measure.views, ties=None))
        raise MeasureError(f"{column.label}: this study applies the tie rules itself", hint=f"use {plain}")


def _values(evaluation: Evaluation, rule: TieRuleName) -> Floats:
    """The values by a tie rule, (run, measure, query); NaN where the measure is undefined."""
    names, judged = evaluation.columns, len(evaluation.queries)
    values = np.full((len(evaluation.runs), len(names), judged), np.nan)
    for m, column in enumerate(names):
        tied = column.tied(rule)
        values[:, m] = np.array(evaluation.for_each_run(lambda run, tied=tied: run[tied].value[:judged]))  # type: ignore[misc]
    return values


def _means(by_rule: Sequence[Floats], defined: Booleans) -> Floats:
    """Mean scores (rule, measure, run). An order for which a measure is undefined counts 0, as in the expectation."""
    means = []
    for values in by_rule:
        unsupported = np.isnan(values).all(axis=(0, 2))
        scores = mean_scores(np.nan_to_num(values), defined)
        scores[unsupported] = np.nan
        means.append(scores)
    return np.array(means)


def _sampled_means(
    run: RunScores, plan: Plan, expected: Floats, defined: Booleans, samples: int, seed: np.random.SeedSequence
) -> Floats:
    """The mean scores of random orders, (measure, sample); all measures are computed from the same orders."""
    totals = np.repeat(np.where(defined, np.nan_to_num(expected), 0).sum(axis=1)[:, None], samples, axis=1)
    for key in dict.fromkeys(column.alignment for column in plan.columns):
        chosen = [m for m, column in enumerate(plan.columns) if column.alignment == key]
        measures = [plan.columns[m].measure for m in chosen]
        rng = np.random.default_rng(seed)
        for rankings in run.alignments[key].rankings:
            for chunk, tied, values in score_random_orders(measures, rankings, samples, rng):
                query = rankings.query[tied]
                change = np.nan_to_num(values) - np.nan_to_num(expected[chosen][:, None, query])
                totals[chosen, chunk] += np.einsum("msq,mq->ms", change, defined[chosen][:, query].astype(np.float64))
    return totals / np.maximum(defined.sum(axis=1)[:, None], 1)


def swap_chances(samples: Floats, expected: Floats) -> Floats:
    """For each pair of runs, the probability that random orders reverse their order by expected scores.

    ``samples`` (run, sample): mean scores over independent random orders; every order of one run is compared with
    every order of the other. If the expected scores are equal, it is the probability of the less likely order.

    >>> swap_chances(np.array([[0.4, 0.4, 0.4, 0.4], [0.1, 0.3, 0.5, 0.5]]), np.array([0.4, 0.35])).tolist()
    [0.5]
    """
    ordered, count = np.sort(samples, axis=1), samples.shape[1]
    chances = []
    for i, j in zip(*np.triu_indices(len(samples), 1), strict=True):
        below = np.searchsorted(ordered[j], ordered[i] - SAME, side="left").sum() / count**2
        above = (count - np.searchsorted(ordered[j], ordered[i] + SAME, side="right")).sum() / count**2
        difference = expected[i] - expected[j]
        chances.append(min(below, above) if abs(difference) <= SAME else above if difference > 0 else below)
    return np.array(chances, np.float64)


def _counts(runs: Sequence[Run], evaluation: Evaluation) -> Iterator[TieCounts]:
    for run, scored in zip(runs, evaluation.run_scores, strict=True):
        yield count_ties(run, evaluation.judgments, scored.alignment)


def _round(rounding: Rounding, runs: Sequence[Run], evaluator: Evaluator, defined: Booleans) -> RoundedScores:
    rounded = [rounding.of_run(run) for run in runs]
    evaluation = evaluator.evaluation(rounded)
    scores = _means([_values(evaluation, rule) for rule in RULES], defined)
    total = TieCounts.total(list(_counts(rounded, evaluation)))
    return RoundedScores(rounding.label, total.tied / max(total.retrieved, 1), scores)


def _estimate_notes(labels: Sequence[str], error: Floats) -> Iterator[Note]:
    for label, row in zip(labels, error, strict=True):
        if row.any():
            values = {"estimated": (row > 0).sum(), "runs": len(row), "error": row.max()}
            yield Note("estimated_expectation", measure=label, values=values)


PAIRS = 20  # pairs listed for each measure; json has all


def _counted_notes(labels: Sequence[str], undefined: Booleans) -> Iterator[Note]:
    """One note for all measures that are undefined alike; ``undefined`` (run, measure, query)."""
    by_runs: dict[bytes, list[int]] = {}
    for m in np.flatnonzero(undefined.any(axis=(0, 2))).tolist():
        by_runs.setdefault(undefined[:, m].tobytes(), []).append(m)
    for measures in by_runs.values():
        counts = undefined[:, measures[0]].sum(axis=1)
        values = {"queries": plural(int(undefined[:, measures[0]].any(axis=0).sum()), "query")}
        values |= {"runs": plural(int((counts > 0).sum()), "run")}
        yield Note("counted_zero", values={"measures": ", ".join(labels[m] for m in measures), **values})


def _summary_table(result: TiesResult, digits: int) -> Page:
    """The bottom line: by each measure, how much the order of tied documents changes scores and the order of runs."""
    total, rows = result.total, []
    for m, measure in enumerate(result.measures):
        trec, expected, best, worst = result.scores[[TREC, EXPECTED, BEST, WORST], m]
        spread = np.nan_to_num(best - worst)
        texts = [shown(float(spread.max()), digits), result.runs[int(spread.argmax())] if spread.max() > SAME else ""]
        texts += [shown(_largest(np.abs(trec - expected)), digits)]
        rows.append((measure, [*texts, f"{len(result.swappable(m))}", f"{result.reversible(result.scores, m)}"]))
    heads = ("best -\nworst", "of", "trec -\nexpected", "pairs swapped\nat random", "reversible\npairs")
    title = (
        f"In short: {_share(total.tied, total.retrieved)} of the documents of {plural(len(result.runs), 'run')} are"
        f" tied; the most that their order changes, and pairs of runs of {len(result.pairs)} that it swaps"
    )
    return table(title, ("measure",), heads, rows)


def _count_rows(result: TiesResult) -> list[tuple[str, TieCounts]]:
    rows = list(zip(result.runs, result.counts, strict=True))
    return rows if len(rows) == 1 else [*rows, (ALL, result.total)]


def _count_table(result: TiesResult) -> Page:
    columns: dict[str, Callable[[TieCounts], str]] = {
        "retrieved": lambda counts: f"{counts.retrieved}",
        "tied": lambda counts: _share(counts.tied, counts.retrieved),
        "judged": lambda counts: f"{counts.judged}",
        "judged,\ntied": lambda counts: _share(counts.judged_tied, counts.judged),
        "order\nmatters": lambda counts: f"{counts.decisive}",
        "queries\nwith ties": lambda counts: f"{counts.queries_tied} of {counts.queries}",
        "tie\ngroups": lambda counts: f"{counts.groups}",
        "largest\ngroup": lambda counts: f"{counts.largest}",
    }
    rows = [(name, [text(counts) for text in columns.values()]) for name, counts in _count_rows(result)]
    title = (
        "Documents of judged queries that have the score of another document (order matters: relevant documents tied"
        " with a document of another grade or an unjudged one)"
    )
    return table(title, ("run",), tuple(columns), rows)


def _share(part: int, total: int) -> str:
    return f"{part / total:.1%}" if total else "–"


def _histogram(counts: TieCounts, largest: int) -> dict[str, int]:
    """The number of tie groups by size, in ranges that cover sizes up to the largest."""
    return {
        f"{low}" if low == high else f"{low}–{high}": sum(n for size, n in counts.sizes.items() if low <= size <= high)
        for low, high in histogram_bins(largest)
    }


def _size_table(result: TiesResult) -> Page:
    largest = result.total.largest
    rows = [(name, map(str, _histogram(counts, largest).values())) for name, counts in _count_rows(result)]
    heads = tuple(_histogram(result.total, largest))
    return table("Number of tie groups by size (documents with the same score)", ("run",), heads, rows)


def _score_tables(result: TiesResult, m: int, digits: int) -> Iterator[Page]:
    """The scores of runs that the order of ties changes; no table if there are none."""
    rows = []
    for r in np.flatnonzero(result.moves[m]).tolist():
        run = result.runs[r]
        low, high = (shown(float(end), digits) for end in result.most_orders(m)[:, r])
        cells: list[Cell | str] = [shown(float(score), digits) for score in result.scores[:, m, r]]
        cells.append(Cell(shown(float(result.sample_mean[m, r]), digits), aside=f"[{low}, {high}]"))
        cells.append(shown(float(result.sample_error[m, r]), digits + 2))
        rows.append((run, cells))
    title = (
        f"{result.measures[m]} by tie rule, and the mean of {result.settings.samples} random orders with their 5th and"
        " 95th percentile and its standard error"
    )
    if len(rows) < len(result.runs):
        title += f" ({len(rows)} of {len(result.runs)} runs; the others have no ties that matter)"
    if rows:
        yield table(title, ("run",), (*RULES, "random\norders", "standard\nerror"), rows)


def _swap_tables(result: TiesResult, m: int, digits: int) -> Iterator[Page]:
    pairs = result.swappable(m)
    row = {run: r for r, run in enumerate(result.runs)}
    rows = [
        (
            (ahead, other),
            [
                *(
                    shown(float(result.scores[i, m, row[run]]), digits)
                    for i in (EXPECTED, TREC)
                    for run in (ahead, other)
                ),
                f"{chance:.1%}",
            ],
        )
        for ahead, other, chance in pairs[:PAIRS]
    ]
    part = f", first {PAIRS} of {len(pairs)}" if len(pairs) > PAIRS else ""
    title = f"{result.measures[m]}: pairs that random orders swap; A is ahead in expectation{part}"
    if pairs:
        yield table(title, ("A", "B"), ("expected\nof A", "\nof B", "trec\nof A", "\nof B", "swapped"), rows)


def _rounding_table(result: TiesResult, m: int, digits: int) -> Page:
    total = result.total
    given = RoundedScores("none", total.tied / max(total.retrieved, 1), result.scores)
    rows = []
    for entry in (given, *result.rounded):
        scores = entry.scores
        spread = _largest(scores[BEST, m] - scores[WORST, m])
        cells = [f"{entry.tied:.1%}", shown(spread, digits), f"{result.reversible(scores, m)}"]
        for rule in (TREC, EXPECTED):
            cells.append(shown(_largest(np.abs(scores[rule, m] - result.scores[rule, m])), digits))
            cells.append(f"{result.rounding_swaps(entry, rule, m)}")
        rows.append((entry.rounding, cells))
    heads = ["tied", "best -\nworst", "reversible\npairs"]
    heads += [f"{rule}:\n{what}" for rule in ("trec", "expected") for what in ("change", "swapped")]
    title = (
        f"{result.measures[m]} of runs with rounded scores: largest range from the worst to the best order, largest"
        f" change against the scores as given, and swaps of {plural(len(result.pairs), 'pair')} of runs"
    )
    return table(title, ("rounding",), heads, rows)


def _largest(values: Floats) -> float:
    return float(np.fmax.reduce(values)) if len(values) else np.nan


ROW = 0.11  # inches: the height of a run


def range_figure(result: TiesResult) -> Figure:
    """The scores of runs over orders of their ties, a panel for each measure that ties can move."""
    moved = np.flatnonzero(result.moves.any(axis=1)).tolist()
    figure = each(moved, 2, 0.6 + ROW * max(5, result.moves.sum(axis=1).max()), partial(draw_ranges, result))
    legend_below(figure, figure.axes[0], 4)
    return figure


def draw_ranges(result: TiesResult, measure: int, axis: Axes) -> None:
    """For each run, relative to the expectation: worst to best order, 90% of random orders, the order of trec_eval."""
    scores = result.scores[:, measure]
    order = np.argsort(scores[EXPECTED], kind="stable")
    order = order[result.moves[measure, order]]
    trec, best, worst, low, high = (
        (row - scores[EXPECTED])[order] for row in (*scores[[TREC, BEST, WORST]], *result.most_orders(measure))
    )
    y = np.arange(len(order))
    axis.axvline(0, color=BLACK, linewidth=0.5, label="expected")
    axis.hlines(y, worst, best, color=SKY, linewidth=0.8, label="worst to best")
    axis.hlines(y, low, high, color=BLUE, linewidth=2.4, label="90% of random orders")
    axis.plot(trec, y, "o", markerfacecolor="none", markeredgecolor=ORANGE, markersize=2.6, label="trec")
    name_rows(axis, [result.runs[r] for r in order], min(7, 72 * ROW))
    axis.locator_params(axis="x", nbins=5)
    axis.set_xlabel(f"{result.measures[measure]}, difference from the expected score")


def draw_sizes(result: TiesResult, axis: Axes) -> None:
    """The histogram of the sizes of tie groups over all runs, on a logarithmic scale."""
    counts = _histogram(result.total, max(result.total.largest, 2))
    axis.bar(range(len(counts)), list(counts.values()), 0.8, facecolor=SKY, edgecolor=BLUE, linewidth=0.8)
    axis.set_xticks(range(len(counts)), list(counts), rotation=40, ha="right", rotation_mode="anchor")
    if any(counts.values()):
        axis.set_yscale("log")
        axis.set_ylim(bottom=0.5)
    axis.set(xlabel="documents with the same score", ylabel="tie groups")


def swap_figure(result: TiesResult) -> Figure:
    """The probability that random orders swap two runs, a panel per measure."""
    figure = each(range(len(result.measures)), 3, 2.4, partial(draw_swaps, result))
    axes = figure.axes[: len(result.measures)]
    bar = figure.colorbar(axes[0].images[0], ax=axes, shrink=0.6, pad=0.02, aspect=25)
    bar.set_label("probability of a swap")
    bar.outline.set_visible(False)
    return figure


def draw_swaps(result: TiesResult, measure: int, axis: Axes) -> None:
    """The probability of a swap for each pair; runs are ranked by expected score, the best first."""
    from matplotlib.ticker import MaxNLocator

    runs = len(result.runs)
    matrix = np.zeros((runs, runs))
    first, second = np.triu_indices(runs, 1)
    matrix[first, second] = matrix[second, first] = result.swap_chance[measure]
    order = np.argsort(-result.scores[EXPECTED, measure], kind="stable")
    highest, end = max(0.5, result.swap_chance.max(initial=0)), runs + 0.5
    axis.imshow(matrix[np.ix_(order, order)], cmap="Blues", vmin=0, vmax=highest, extent=(0.5, end, end, 0.5))
    axis.plot((0.5, end), (0.5, end), color=GREY, linewidth=0.4)
    axis.set_title(f"{result.measures[measure]}: {len(result.swappable(measure))} pairs", fontsize=7)
    for side in (axis.xaxis, axis.yaxis):
        side.set_major_locator(MaxNLocator(4, integer=True))
    axis.set_xlabel("rank by expected score")
