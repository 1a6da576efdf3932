"""How far do few judgments go? Strategies of judging, pairs of runs, and judges that are simulated.

.venv/bin/python benchmarks/few_judgments.py QRELS RUN... [--rel GRADE] [--depth N] [--figures DIR]

On a collection with all judgments: the judgments that each strategy needs until the order of systems is right, and
until the significant pairs are found; the judgments until pairs of systems are decided by bounds; and the coverage and
width of intervals from human and predicted judgments together. docs/studies/judging.md has the results.

Simulated judges err independently of each other given the grade; real ones do not. Near-duplicate runs, which differ on
few queries, have poor coverage with every interval.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from cranfield import io
from cranfield.data import Floats, Integers
from cranfield.errors import InputError
from cranfield.evaluation.evaluator import Evaluator, read_runs
from cranfield.evaluation.notes import Note
from cranfield.evaluation.pair_bounds import DECIMALS, lowest_differences
from cranfield.evaluation.predicted import mapping_of
from cranfield.judging.proposals import judging_order
from cranfield.lab.study import Progress, Relevant, Study, StudyResult, Threshold
from cranfield.measures import parse
from cranfield.measures.weights import rank_weights
from cranfield.parallel import followed
from cranfield.ranking.alignment import ranked_lists
from cranfield.report.canvas import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PAGE,
    PURPLE,
    SKY,
    Drawings,
    legend_below,
    new_figure,
)
from cranfield.report.pages import Page, table
from cranfield.report.sheet import shown
from cranfield.settings import Chance, Count, Limits, Option, Whole
from cranfield.statistics.correlation import tau
from cranfield.statistics.intervals import t_quantile
from cranfield.statistics.resampling import pairs, t_test
from cranfield.statistics.rounding import SAME
from cranfield.statistics.survey import Estimates, classical, leave_one_out, of_these, powered, tuned

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# How far few judgments go: the parts of the study `judging`.
#
# The order of systems by AP after each budget of a judging strategy; how many judgments decide a pair of systems; and
# the coverage of intervals from human and predicted judgments, by simulated judges on judged queries.

BUDGETS = (5, 10, 15, 20, 30, 40, 60, 80, 100, 150)
STRATEGIES: dict[str, dict[str, Any]] = {
    "depth": {"strategy": "depth"},
    "move-to-front": {"strategy": "mtf"},
    "MaxMean": {"strategy": "maxmean"},
    "MaxMean, last only": {"strategy": "maxmean", "rate": 0.0},
    "MaxMean, credit all": {"strategy": "maxmean", "credit": "all"},
    "hedge": {"strategy": "hedge"},
}
RANDOM = "random"


class QueryLists(NamedTuple):
    """One query: the documents, whether each is relevant, and for each system their numbers in rank order (-1: none).

    ``relevant_elsewhere``: relevant documents that no list has.
    """

    documents: list[str]
    relevant: Any
    lists: list[list[str]]
    ranked: Integers
    relevant_elsewhere: int


def query_lists(
    rankings: Sequence[Mapping[str, Sequence[str]]], judged: Mapping[str, Mapping[str, float]], rel: float, depth: int
) -> list[QueryLists]:
    """Every judged query with a relevant document."""
    found = []
    for query, grades in judged.items():
        relevant = {document for document, grade in grades.items() if grade >= rel}
        if not relevant:
            continue
        lists = [list(of_run.get(query, ()))[:depth] for of_run in rankings]
        documents = sorted({d for ranking in lists for d in ranking})
        number = {d: i for i, d in enumerate(documents)}
        ranked = np.full((len(lists), depth), -1, np.int64)
        for s, ranking in enumerate(lists):
            ranked[s, : len(ranking)] = [number[d] for d in ranking]
        is_relevant = np.array([d in relevant for d in documents], bool)
        found.append(QueryLists(documents, is_relevant, lists, ranked, len(relevant) - int(is_relevant.sum())))
    return found


def average_precisions(query: QueryLists, relevant: Any, total: float) -> Floats:
    """AP of every system, with these documents as the relevant ones; 0 if there are none."""
    hits = np.append(relevant, False)[query.ranked]
    precision = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1)
    return (hits * precision).sum(axis=1) / total if total > 0 else np.zeros(len(hits))


def full_scores(queries: Sequence[QueryLists]) -> Floats:
    """AP by (system, query) under all judgments."""
    return np.stack(
        [average_precisions(q, q.relevant, float(q.relevant.sum()) + q.relevant_elsewhere) for q in queries], axis=1
    )


def scores_by_budget(
    queries: Sequence[QueryLists], orders: Sequence[Sequence[int]], budgets: Sequence[int]
) -> Iterator[Floats]:
    """AP by (system, query) after each budget; unjudged documents are not relevant."""
    for budget in budgets:
        columns = []
        for query, order in zip(queries, orders, strict=True):
            judged = np.zeros(len(query.documents), bool)
            judged[list(order[:budget])] = True
            known = judged & query.relevant
            columns.append(average_precisions(query, known, float(known.sum())))
        yield np.stack(columns, axis=1)


def order_of(query: QueryLists, most: int, options: dict[str, Any]) -> list[int]:
    """The first documents that a strategy judges, as numbers."""
    number = {d: i for i, d in enumerate(query.documents)}
    order: list[int] = []
    for document in judging_order(query.lists, lambda d: bool(query.relevant[number[d]]), **options):
        order.append(number[document])
        if len(order) >= most:
            break
    return order


def random_order(query: QueryLists, seed: int, index: int) -> list[int]:
    """All documents of the pool in a random order."""
    return np.random.default_rng([seed, index]).permutation(len(query.documents)).tolist()


def compare_budgets(reference: Floats, by_budget: Iterable[Floats]) -> Floats:
    """τ-a with the order under all judgments, and the share of significant pairs found: (2, budget)."""
    significant, sign = _significant(reference)
    found = []
    for scores in by_budget:
        now, now_sign = _significant(scores)
        same = now & (now_sign == sign) & significant
        agreement = float(tau(reference.mean(axis=1), scores.mean(axis=1)))
        found.append((agreement, same.sum() / max(significant.sum(), 1)))
    return np.array(found, np.float64).T


def _significant(scores: Floats) -> tuple[Any, Any]:
    first, second = pairs(len(scores))
    difference = scores[first] - scores[second]
    return t_test(difference) < 0.05, np.sign(difference.mean(axis=1))


def sufficient(values: Sequence[float], budgets: Sequence[int], threshold: float) -> int | None:
    """The smallest budget from which all values are at least the threshold; None if no budget is enough."""
    below = [i for i, value in enumerate(values) if not value >= threshold - SAME]
    first = below[-1] + 1 if below else 0
    return budgets[first] if first < len(budgets) else None


RULES = ("pair bounds", "bounds of each alone", "pair bounds, random order", "95% sure")


class PairCounts(NamedTuple):
    """Judgments until a pair is decided by each rule, whether the sign was right, and how many documents differ."""

    judgments: dict[str, int]
    right: dict[str, bool]
    different: int


class PairDocuments(NamedTuple):
    """All documents of a pair, over all queries, in the order of judging: weights in both systems, and relevance."""

    a: Floats
    b: Floats
    relevant: Floats


def pair_documents(
    of_a: Mapping[str, Sequence[str]],
    of_b: Mapping[str, Sequence[str]],
    judged: Mapping[str, Mapping[str, float]],
    weights: Floats,
    rel: float,
) -> PairDocuments:
    """The documents of two systems, in the order in which `mtc` judges them: greatest weight first."""
    depth = len(weights)
    rows: list[tuple[float, float, float, str, str]] = []
    for query, grades in judged.items():
        weight: dict[str, list[float]] = {}
        for side, run in enumerate((of_a, of_b)):
            for rank, document in enumerate(run.get(query, ())[:depth]):
                weight.setdefault(document, [0.0, 0.0])[side] = float(weights[rank])
        rows += [(x, y, float(grades.get(d, 0) >= rel), query, d) for d, (x, y) in weight.items()]
    rows.sort(key=lambda row: (-round(abs(row[0] - row[1]), DECIMALS), row[3], row[4]))
    a, b, relevant = np.array([row[:3] for row in rows], np.float64).reshape(-1, 3).T
    return PairDocuments(a, b, relevant)


def count_judgments(pair: PairDocuments, *, seed: int = 0) -> PairCounts:
    """The judgments that each rule needs."""
    delta = pair.a - pair.b
    different = np.flatnonzero(np.abs(delta) > SAME)
    total = float((delta * pair.relevant).sum())
    truth = np.sign(total) if abs(total) > SAME else 0.0
    counts: dict[str, int] = {}
    right: dict[str, bool] = {}
    mtc = different  # documents are in this order already
    # For each system alone every document counts, and the greatest total weight comes first.
    alone = np.argsort(-(pair.a + pair.b), kind="stable")
    drawn = np.random.default_rng(seed).permutation(different)
    for rule, order in zip(RULES, (mtc, alone, drawn, mtc), strict=True):
        weight, g = np.array([pair.a[order], pair.b[order]]), pair.relevant[order]
        lowest = np.array([np.append(0.0, np.cumsum(of_run * g)) for of_run in weight])
        shared = 0.0 if rule == "bounds of each alone" else _left(weight.min(axis=0))
        differences = lowest_differences(lowest, lowest + np.array([_left(of_run) for of_run in weight]), shared)
        low, high = differences[0, 1], -differences[1, 0]
        settled = (low > SAME) | (high < -SAME)
        sign = np.sign(np.where(low > SAME, 1.0, np.where(high < -SAME, -1.0, 0.0)))
        if rule == "95% sure":
            from scipy.special import ndtr

            d = delta[order]
            mean, variance = lowest[0] - lowest[1] + 0.5 * _left(d), 0.25 * _left(d**2)
            with np.errstate(divide="ignore", invalid="ignore"):
                sure = np.where(variance > 1e-18, ndtr(np.abs(mean) / np.sqrt(variance)), np.abs(mean) > SAME)
            settled, sign = sure >= 0.95, np.sign(mean)
        at = int(np.argmax(settled)) if settled.any() else len(order)
        counts[rule] = at
        right[rule] = bool(sign[at] == truth) if settled.any() else truth == 0
    return PairCounts(counts, right, len(different))


def _left(values: Floats) -> Floats:
    """The sum of the values that are not judged yet, after 0, 1, ... judgments."""
    return np.concatenate([np.cumsum(values[::-1])[::-1], [0.0]])


# The chance of each grade of the judge (columns) for each human grade (rows).
JUDGES: dict[str, tuple[tuple[float, ...], ...]] = {
    "good": ((0.95, 0.05, 0, 0), (0.2, 0.6, 0.2, 0), (0.05, 0.2, 0.6, 0.15), (0, 0.05, 0.2, 0.75)),
    "lenient": ((0.6, 0.3, 0.1, 0), (0.1, 0.4, 0.4, 0.1), (0, 0.1, 0.5, 0.4), (0, 0, 0.2, 0.8)),
    "random": ((0.4, 0.3, 0.2, 0.1),) * 4,
}
LEVEL = 0.95
# Methods for queries like these, and for exactly these queries.
LIKE = ("humans, t", "ppi, z", "ppi++, z", "ppi++ loo, t", "judge only, t")
THESE = ("humans, t, these queries", "ppi, t, these queries")


@dataclass(frozen=True)
class Coverage:
    """How often an interval holds the truth, and its mean width."""

    judge: str
    subject: str
    method: str
    coverage: float
    width: float


def predicted_grades(
    judged: Mapping[str, Mapping[str, float]], judge: str, seed: int = 1
) -> dict[str, dict[str, float]]:
    """The grades of a simulated judge, drawn once for each document from the row of its human grade."""
    rng, rows = np.random.default_rng(seed), np.array(JUDGES[judge])
    ends = np.cumsum(rows, axis=1)
    return {
        query: {
            document: float(np.searchsorted(ends[int(min(max(grade, 0), 3))], rng.random(), side="right").clip(0, 3))
            for document, grade in documents.items()
        }
        for query, documents in judged.items()
    }


def interval_coverage(
    human: Floats, predicted: Floats, n: int, *, repeats: int, seed: int = 0
) -> dict[str, tuple[float, float]]:
    """Coverage and mean width of each method; ``human``, ``predicted``: the scores of all queries.

    For queries like these, all queries are drawn with replacement and the first n have human scores; for exactly these
    queries, n are drawn without replacement. The truth is the mean over all queries.
    """
    count, truth = len(human), float(human.mean())
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, count, (repeats, count))
    y, f, others = human[drawn[:, :n]], predicted[drawn[:, :n]], predicted[drawn[:, n:]]
    z = NormalDist().inv_cdf(0.5 + LEVEL / 2)
    found = {
        "humans, t": (_mean(y), t_quantile(LEVEL, n - 1)),
        "ppi, z": (powered(y, f, others, 1.0), z),
        "ppi++, z": (powered(y, f, others, tuned(y, f, others)), z),
        "ppi++ loo, t": (leave_one_out(y, f, others), t_quantile(LEVEL, n - 2)),
        "judge only, t": (_mean(predicted[drawn]), t_quantile(LEVEL, count - 1)),
    }
    order = np.argsort(rng.random((repeats, count)), axis=1)
    y, f, others = human[order[:, :n]], predicted[order[:, :n]], predicted[order[:, n:]]
    plain = _mean(y)
    found["humans, t, these queries"] = (
        plain._replace(error=plain.error * math.sqrt(1 - n / count)),
        t_quantile(LEVEL, n - 1),
    )
    found["ppi, t, these queries"] = (of_these(y, f, others), t_quantile(LEVEL, n - 1))
    return {name: _covered(estimates, factor, truth) for name, (estimates, factor) in found.items()}


def _mean(y: Floats) -> Estimates:
    plain = classical(y)
    return plain._replace(error=y.std(axis=-1, ddof=1) / math.sqrt(y.shape[-1]))


def _covered(estimates: Estimates, factor: float, truth: float) -> tuple[float, float]:
    half = factor * estimates.error
    # An interval of width 0 holds a truth that it equals up to rounding.
    holds = np.abs(estimates.value - truth) <= half + SAME
    return float(holds.mean()), float(2 * half.mean())


def sample_coverage(
    weights: Floats, human: Sequence[Floats], predicted: Sequence[Floats], *, chance: float, repeats: int, seed: int = 0
) -> dict[str, tuple[float, float, float]]:
    """Within queries: coverage, mean width and bias (in standard errors of the mean) of two estimators.

    ``human``, ``predicted``: the gains of the ranked documents of each query. Each is drawn with the same chance.
    """
    width = len(weights)
    g, f = (
        np.array([np.pad(row[:width], (0, max(width - len(row), 0))) for row in side]) for side in (human, predicted)
    )
    truth = float((g * weights).sum(axis=1).mean())
    rng, z = np.random.default_rng(seed), NormalDist().inv_cdf(0.5 + LEVEL / 2)
    found: dict[str, list[tuple[float, float]]] = {"Horvitz-Thompson": [], "difference": []}
    for _ in range(repeats):
        drawn = rng.random(g.shape) < chance
        for name, said in (("Horvitz-Thompson", np.zeros_like(f)), ("difference", f)):
            y = np.where(drawn, weights * (g - said), 0)
            value = float(((weights * said).sum(axis=1) + y.sum(axis=1) / chance).mean())
            error = math.sqrt(float(((1 - chance) / chance**2 * y**2).sum())) / len(g)
            found[name].append((value, error))
    result = {}
    for name, estimates in found.items():
        value, error = np.array(estimates).T
        bias = (value.mean() - truth) / (value.std(ddof=1) / math.sqrt(repeats)) if value.std() > 0 else 0.0
        result[name] = (
            float((np.abs(value - truth) <= z * error + SAME).mean()),
            float((2 * z * error).mean()),
            float(bias),
        )
    return result


INTERVAL_MEASURE = "nDCG@10"
DECISION_MEASURE = "RBP(p=0.8)@20"
SAMPLED_MEASURES = ("P@10", "DCG@10")
MANY_QUERIES = 100


@dataclass(frozen=True)
class StrategyResult:
    """One strategy after each budget: τ with the order from all judgments, and significant pairs found."""

    strategy: str
    tau: tuple[float, ...]
    found: tuple[float, ...]


@dataclass(frozen=True)
class DecisionResult:
    """One rule for when a pair is settled: judgments on average, and the share of right signs."""

    rule: str
    judgments: float
    right: float


@dataclass(frozen=True)
class SampleResult:
    """One estimator within queries: its coverage, mean width, and bias in standard errors."""

    judge: str
    measure: str
    estimator: str
    coverage: float
    width: float
    bias: float


@dataclass(frozen=True)
class Judging(Study):
    """How few judgments decide, and which intervals hold with predicted ones.

    On a collection with all judgments and at least three runs: judgments that each strategy, and a random order, needs
    until the order of runs agrees with that from all judgments and until the significant pairs are found; judgments
    until pairs of runs are decided; and, with simulated judges, the coverage and width of intervals from human and
    predicted judgments.
    """

    rel: Relevant = 1.0
    depth: Annotated[Count, "Length of lists."] = 100
    budgets: Annotated[Sequence[int], "Judgments per query."] = BUDGETS
    threshold: Threshold = 0.9
    orders: Count = 20
    pairs: Annotated[Count, "Random pairs of runs."] = 150
    repeats: Annotated[Count, "Repetitions per coverage estimate."] = 1000
    human: Annotated[
        int | None, Limits(3), "Queries with human judgments.", Option(default="40 of 100 or more queries, else 15")
    ] = None
    chance: Chance = 0.3
    seed: Whole = 0

    def run(self, qrels: Any, runs: Any, *, progress: Progress | None = None) -> JudgingResult:
        """Judge with each strategy, decide pairs, and draw samples with each simulated judge."""
        judgments = io.read_qrels(qrels)
        read = sorted(read_runs(runs if not isinstance(runs, tuple) else list(runs)), key=lambda run: run.name)
        if len(read) < 3:
            raise InputError(["the study needs at least three runs"])
        judged = mapping_of(judgments)
        human = (40 if len(judged) >= MANY_QUERIES else 15) if self.human is None else self.human
        if not 3 <= human <= len(judged) - 2:
            raise InputError([f"{len(judged)} queries are too few for {human} with human judgments and 2 others"])
        lists = ranked_lists(read, judgments, None, self.depth)
        queries = query_lists(lists, judged, self.rel, self.depth)
        if not queries:
            raise InputError([f"{judgments.name}: no query has a document of grade {self.rel:g} or higher"])
        steps = len(STRATEGIES) + 2 + len(JUDGES)
        strategies = list(followed(self._strategies(queries), progress, steps))
        decisions, different = self._decisions(lists, judged)
        coverage: list[Coverage] = []
        samples: list[SampleResult] = []
        for judge in followed(JUDGES, progress, steps, len(STRATEGIES) + 2):
            predicted = predicted_grades(judged, judge)
            coverage += self._coverage(judge, judged, predicted, read, human)
            samples += self._samples(judge, judged, predicted, lists[len(read) // 2])
        return JudgingResult(
            settings=self,
            runs=tuple(run.name for run in read),
            queries=len(judged),
            human=human,
            strategies=tuple(strategies),
            decisions=tuple(decisions),
            different=different,
            coverage=tuple(coverage),
            samples=tuple(samples),
        )

    def _strategies(self, queries: Sequence[QueryLists]) -> Iterator[StrategyResult]:
        reference, budgets = full_scores(queries), self.budgets
        for name, options in STRATEGIES.items():
            orders = [order_of(query, budgets[-1], options) for query in queries]
            result = compare_budgets(reference, scores_by_budget(queries, orders, budgets))
            yield StrategyResult(name, *map(tuple, result.tolist()))
        repeated = []
        for seed in range(self.orders):
            drawn = [random_order(query, self.seed + seed, q) for q, query in enumerate(queries)]
            repeated.append(compare_budgets(reference, scores_by_budget(queries, drawn, budgets)))
        yield StrategyResult(RANDOM, *map(tuple, np.mean(repeated, axis=0).tolist()))

    def _decisions(self, lists: Any, judged: Any) -> tuple[list[DecisionResult], float]:
        weights = rank_weights(parse(DECISION_MEASURE), 20)
        rng = np.random.default_rng(self.seed)
        every = [(a, b) for a in range(len(lists)) for b in range(a + 1, len(lists))]
        counts = []
        for i in rng.permutation(len(every))[: self.pairs].tolist():
            a, b = every[i]
            documents = pair_documents(lists[a], lists[b], judged, weights, self.rel)
            counts.append(count_judgments(documents, seed=self.seed + i))
        results = [
            DecisionResult(
                rule,
                float(np.mean([count.judgments[rule] for count in counts])),
                float(np.mean([count.right[rule] for count in counts])),
            )
            for rule in RULES
        ]
        return results, float(np.mean([count.different for count in counts]))

    def _coverage(self, judge: str, judged: Any, predicted: Any, runs: Sequence[Any], human: int) -> Iterator[Coverage]:
        middle = len(runs) // 2
        values = []
        for side in (judged, predicted):
            evaluator = Evaluator(side, INTERVAL_MEASURE, undefined="zero")
            chosen = runs[middle : middle + 2]
            values.append(np.nan_to_num(np.array([evaluator.values(run)[0] for run in chosen])))
        y, f = values
        subjects = {"one system": (y[0], f[0]), "pair": (y[0] - y[-1], f[0] - f[-1])}
        for subject, sides in subjects.items():
            results = interval_coverage(*sides, human, repeats=self.repeats, seed=self.seed)
            yield from (Coverage(judge, subject, method, *results[method]) for method in (*LIKE, *THESE))

    def _samples(self, judge: str, judged: Any, predicted: Any, ranking: Any) -> Iterator[SampleResult]:
        for name in SAMPLED_MEASURES:
            weights = rank_weights(parse(name), 10)
            sides = [
                [_gains(side[query], ranking.get(query, ())[:10], self.rel) for query in judged]
                for side in (judged, predicted)
            ]
            results = sample_coverage(weights, *sides, chance=self.chance, repeats=self.repeats, seed=self.seed)
            yield from (SampleResult(judge, name, estimator, *values) for estimator, values in results.items())


@dataclass(frozen=True, eq=False, repr=False)
class JudgingResult(StudyResult):
    """The results of all parts; see their classes.

    ``human``: the number of queries with human judgments. ``different``: documents that differ in a pair, on average.
    """

    settings: Judging
    runs: tuple[str, ...]
    queries: int
    human: int
    strategies: tuple[StrategyResult, ...]
    decisions: tuple[DecisionResult, ...]
    different: float
    coverage: tuple[Coverage, ...]
    samples: tuple[SampleResult, ...]
    notes: tuple[Note, ...] = ()

    def pages(self, digits: int = 4) -> list[Page]:
        """Judgments per strategy, judgments per pair, and coverage of intervals."""
        tables = [_strategy_table(self), _decision_table(self)]
        return [*tables, *_coverage_tables(self, digits), _sample_table(self, digits)]

    def drawings(self) -> Drawings:
        """The order of systems by budget, and the coverage of intervals."""
        return {"judging-budgets": partial(draw_budgets, self), "judging-coverage": partial(draw_coverage, self)}


def _gains(grades: Any, documents: Sequence[str], rel: float) -> Floats:
    return np.array([float(grades.get(d, 0) >= rel) for d in documents], np.float64)


def _strategy_table(result: JudgingResult) -> Page:
    settings = result.settings
    rows = []
    for one in result.strategies:
        enough = [sufficient(values, settings.budgets, settings.threshold) for values in (one.tau, one.found)]
        cells = ["never" if budget is None else str(budget) for budget in enough]
        cells += [shown(value, 2) for value in one.tau]
        rows.append((one.strategy, cells))
    columns = (
        f"until τ ≥ {settings.threshold:g}",
        f"until {settings.threshold:.0%} of significant pairs",
        *(f"τ at {budget}" for budget in settings.budgets),
    )
    title = f"Judgments per query of each strategy (AP, grade {settings.rel:g} or higher, lists of {settings.depth})"
    return table(title, ("strategy",), columns, rows)


def _decision_table(result: JudgingResult) -> Page:
    rows = [(one.rule, [f"{one.judgments:,.0f}", f"{one.right:.1%}"]) for one in result.decisions]
    title = f"Judgments until a pair is settled, {DECISION_MEASURE}; {result.different:,.0f} documents differ"
    return table(title, ("rule",), ("judgments", "right sign"), rows)


def _coverage_tables(result: JudgingResult, digits: int) -> list[Page]:
    pages = []
    settings = result.settings
    for subject in dict.fromkeys(one.subject for one in result.coverage):
        chosen = {(one.judge, one.method): one for one in result.coverage if one.subject == subject}
        judges = list(dict.fromkeys(judge for judge, _ in chosen))
        rows = []
        for method in (*LIKE, *THESE):
            cells = []
            for judge in judges:
                one = chosen[judge, method]
                cells += [shown(one.coverage, 3), shown(one.width, digits)]
            rows.append((method, cells))
        columns = [text for judge in judges for text in (f"{judge}: coverage", f"{judge}: width")]
        title = f"95% intervals of {INTERVAL_MEASURE}, {subject}: {result.human} human queries of {result.queries}"
        pages.append(table(f"{title}, {settings.repeats:,} repetitions", ("interval",), columns, rows))
    return pages


def _sample_table(result: JudgingResult, digits: int) -> Page:
    rows = [
        (
            (one.judge, one.measure, one.estimator),
            [shown(one.coverage, 3), shown(one.width, digits), shown(one.bias, 2)],
        )
        for one in result.samples
    ]
    title = f"Estimates within queries, {result.settings.chance:.0%} of the documents judged"
    return table(title, ("judge", "measure", "estimator"), ("coverage", "width", "bias in standard errors"), rows)


COLOURS = (BLACK, BLUE, ORANGE, SKY, GREEN, PURPLE, GREY)
MARKS = "os^Dv<x"


def draw_budgets(result: JudgingResult) -> Figure:
    """τ and the share of significant pairs found after each budget."""
    figure = new_figure(PAGE, 2.6)
    axes = figure.subplots(1, 2)
    for axis, part, label in zip(axes, ("tau", "found"), ("τ-a", "share of significant pairs"), strict=True):
        for one, colour, mark in zip(result.strategies, COLOURS, MARKS, strict=False):
            values = getattr(one, part)
            axis.plot(result.settings.budgets, values, color=colour, marker=mark, markersize=3, label=one.strategy)
        axis.axhline(result.settings.threshold, color=GREY, linewidth=0.5, linestyle=":")
        axis.set_xlabel("judgments per query")
        axis.set_ylabel(label)
    legend_below(figure, axes[0], 4)
    return figure


def draw_coverage(result: JudgingResult) -> Figure:
    """Coverage against mean width of each interval, for each judge."""
    subjects = list(dict.fromkeys(one.subject for one in result.coverage))
    figure = new_figure(PAGE, 2.8)
    axes = figure.subplots(1, len(subjects), squeeze=False)[0]
    judges = list(dict.fromkeys(one.judge for one in result.coverage))
    found = {(one.subject, one.method, one.judge): one for one in result.coverage}
    for axis, subject in zip(axes, subjects, strict=True):
        for method, colour in zip((*LIKE, *THESE), COLOURS, strict=True):
            for judge, mark in zip(judges, "os^", strict=False):
                one = found[subject, method, judge]
                label = method if judge == judges[0] else None
                axis.plot([one.width], [one.coverage], mark, color=colour, markersize=4, label=label)
        axis.axhline(0.95, color=GREY, linewidth=0.5, linestyle=":")
        axis.set_title(subject)
        axis.set_xlabel("mean width")
        axis.set_ylabel("coverage")
    legend_below(figure, axes[0], 4)
    return figure


def main() -> None:
    """Print the tables, and draw the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qrels")
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--rel", type=float, default=1.0)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--figures")
    given = parser.parse_args()
    result = Judging(rel=given.rel, depth=given.depth).run(given.qrels, given.runs)
    print(result.write(width=120))
    if given.figures:
        result.save_figures(given.figures)


if __name__ == "__main__":
    main()
