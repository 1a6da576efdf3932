"""How far do few judgments go? Strategies of judging, pairs of runs, and judges that are simulated.

On a collection with all judgments: the judgments that each strategy needs until the order of systems is right, and
until the significant pairs are found; the judgments until pairs of systems are decided by bounds; and the coverage and
width of intervals from human and predicted judgments together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from cranfield import io
from cranfield.data import Floats
from cranfield.errors import InputError, check_count
from cranfield.evaluation.evaluator import Evaluator, read_runs
from cranfield.evaluation.pair_bounds import rank_weights
from cranfield.evaluation.predicted import mapping_of
from cranfield.lab import saving
from cranfield.lab.few_judgments import (
    BUDGETS,
    JUDGES,
    LIKE,
    RANDOM,
    RULES,
    STRATEGIES,
    THESE,
    Coverage,
    QueryLists,
    compare_budgets,
    count_judgments,
    full_scores,
    interval_coverage,
    order_of,
    pair_documents,
    predicted_grades,
    query_lists,
    random_order,
    sample_coverage,
    scores_by_budget,
    sufficient,
)
from cranfield.lab.registry import Progress, Relevant, Threshold
from cranfield.lab.systems import of_rankings
from cranfield.measures import parse
from cranfield.ranking.alignment import ranked_lists
from cranfield.report.canvas import BLACK, BLUE, GREEN, GREY, ORANGE, PAGE, PURPLE, SKY, Drawings, new_figure
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell, shown
from cranfield.settings import Count, Limits, Option

if TYPE_CHECKING:
    from matplotlib.figure import Figure


INTERVAL_MEASURE = "nDCG@10"
DECISION_MEASURE = "RBP(p=0.8)@20"
SAMPLED_MEASURES = ("P@10", "DCG@10")
MANY_QUERIES = 100


@dataclass(frozen=True)
class JudgingSettings:
    """How the study was run: lowest relevant grade, depth of lists, budgets per query, and repetitions.

    ``human``: the number of queries with human judgments. ``chance``: the share of documents drawn within queries.
    """

    rel: float
    depth: int
    budgets: tuple[int, ...]
    threshold: float
    orders: int
    pairs: int
    repeats: int
    human: int
    chance: float
    seed: int


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


@dataclass(frozen=True, eq=False, repr=False)
class Judging(saving.StudyResult):
    """The results of all parts; see their classes. ``different``: documents that differ in a pair, on average."""

    KIND: ClassVar[str] = "judging"

    settings: JudgingSettings
    runs: tuple[str, ...]
    queries: int
    strategies: tuple[StrategyResult, ...]
    decisions: tuple[DecisionResult, ...]
    different: float
    coverage: tuple[Coverage, ...]
    samples: tuple[SampleResult, ...]
    notes: tuple[str, ...] = ()


@of_rankings
@saving.recorded
def judging(
    qrels: Any,
    runs: Any,
    *,
    rel: Relevant = 1.0,
    depth: Annotated[Count, "Length of lists."] = 100,
    budgets: Annotated[Sequence[int], "Judgments per query."] = BUDGETS,
    threshold: Threshold = 0.9,
    orders: int = 20,
    pairs: Annotated[Count, "Random pairs of runs."] = 150,
    repeats: Annotated[Count, "Repetitions per coverage estimate."] = 1000,
    human: Annotated[
        int | None, Limits(3), "Queries with human judgments.", Option(default="40 of 100 or more queries, else 15")
    ] = None,
    chance: float = 0.3,
    seed: int = 0,
    progress: Progress | None = None,
) -> Judging:
    """How few judgments decide, and which intervals hold with predicted ones.

    On a collection with all judgments and at least three runs: judgments that each strategy, and a random order, needs
    until the order of runs agrees with that from all judgments and until the significant pairs are found; judgments
    until pairs of runs are decided; and, with simulated judges, the coverage and width of intervals from human and
    predicted judgments. ::

        cranfield study judging qrels.txt *.run --rel 2 --figures figures
    """
    for name, count in (("depth", depth), ("orders", orders), ("pairs", pairs), ("repeats", repeats)):
        check_count(name, count)
    judgments = io.read_qrels(qrels)
    read = sorted(read_runs(runs if not isinstance(runs, tuple) else list(runs)), key=lambda run: run.name)
    if len(read) < 3:
        raise InputError(["the study needs at least three runs"])
    judged = mapping_of(judgments)
    human = (40 if len(judged) >= MANY_QUERIES else 15) if human is None else human
    if not 3 <= human <= len(judged) - 2:
        raise InputError([f"{len(judged)} queries are too few for {human} with human judgments and 2 others"])
    settings = JudgingSettings(rel, depth, tuple(budgets), threshold, orders, pairs, repeats, human, chance, seed)
    lists = ranked_lists(read, judgments, None, depth)
    steps, done = len(STRATEGIES) + 2 + len(JUDGES), 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, steps)

    queries = query_lists(lists, judged, rel, depth)
    if not queries:
        raise InputError([f"{judgments.name}: no query has a document of grade {rel:g} or higher"])
    strategies = _strategies(queries, settings, step)
    decisions, different = _decisions(lists, judged, settings)
    step()
    coverage, samples = [], []
    for judge in JUDGES:
        predicted = predicted_grades(judged, judge)
        coverage += _coverage(judge, judged, predicted, read, settings)
        samples += _samples(judge, judged, predicted, lists[len(read) // 2], settings)
        step()
    return Judging(
        settings,
        tuple(run.name for run in read),
        len(judged),
        tuple(strategies),
        tuple(decisions),
        different,
        tuple(coverage),
        tuple(samples),
        (
            "simulated judges err independently of each other given the grade; real ones do not",
            "near-duplicate runs, which differ on few queries, have poor coverage with every interval",
        ),
    )


def _strategies(
    queries: Sequence[QueryLists], settings: JudgingSettings, step: Callable[[], None]
) -> list[StrategyResult]:
    reference = full_scores(queries)
    most, found = settings.budgets[-1], []
    for name, options in STRATEGIES.items():
        orders = [order_of(query, most, options) for query in queries]
        result = compare_budgets(reference, scores_by_budget(queries, orders, settings.budgets))
        found.append(StrategyResult(name, *map(tuple, result.tolist())))
        step()
    repeated = []
    for seed in range(settings.orders):
        drawn = [random_order(query, settings.seed + seed, q) for q, query in enumerate(queries)]
        repeated.append(compare_budgets(reference, scores_by_budget(queries, drawn, settings.budgets)))
    found.append(StrategyResult(RANDOM, *map(tuple, np.mean(repeated, axis=0).tolist())))
    step()
    return found


def _decisions(lists: Any, judged: Any, settings: JudgingSettings) -> tuple[list[DecisionResult], float]:
    weights = rank_weights(parse(DECISION_MEASURE), 20)
    rng = np.random.default_rng(settings.seed)
    every = [(a, b) for a in range(len(lists)) for b in range(a + 1, len(lists))]
    chosen = rng.permutation(len(every))[: settings.pairs].tolist()
    counts = []
    for i in chosen:
        a, b = every[i]
        documents = pair_documents(lists[a], lists[b], judged, weights, settings.rel)
        counts.append(count_judgments(documents, seed=settings.seed + i))
    found = [
        DecisionResult(
            rule,
            float(np.mean([one.judgments[rule] for one in counts])),
            float(np.mean([one.right[rule] for one in counts])),
        )
        for rule in RULES
    ]
    return found, float(np.mean([one.different for one in counts]))


def _coverage(
    judge: str, judged: Any, predicted: Any, runs: Sequence[Any], settings: JudgingSettings
) -> list[Coverage]:
    middle = len(runs) // 2
    chosen = runs[middle : middle + 2]
    values = []
    for side in (judged, predicted):
        evaluator = Evaluator(side, INTERVAL_MEASURE, undefined="zero")
        values.append(np.nan_to_num(np.array([evaluator.values(run)[0] for run in chosen])))
    human, said = values
    subjects = {"one system": (human[0], said[0]), "pair": (human[0] - human[-1], said[0] - said[-1])}
    found = []
    for subject, (y, f) in subjects.items():
        results = interval_coverage(y, f, settings.human, repeats=settings.repeats, seed=settings.seed)
        found += [Coverage(judge, subject, method, *results[method]) for method in (*LIKE, *THESE)]
    return found


def _samples(judge: str, judged: Any, predicted: Any, ranking: Any, settings: JudgingSettings) -> list[SampleResult]:
    found = []
    for name in SAMPLED_MEASURES:
        weights = rank_weights(parse(name), 10)
        sides = [
            [_gains(side[query], ranking.get(query, ())[:10], settings.rel) for query in judged]
            for side in (judged, predicted)
        ]
        results = sample_coverage(weights, *sides, chance=settings.chance, repeats=settings.repeats, seed=settings.seed)
        found += [SampleResult(judge, name, estimator, *values) for estimator, values in results.items()]
    return found


def _gains(grades: Any, documents: Sequence[str], rel: float) -> Floats:
    return np.array([float(grades.get(d, 0) >= rel) for d in documents], np.float64)


def tables(result: Judging, digits: int = 4) -> list[Page]:
    """Judgments per strategy, judgments per pair, and coverage of intervals."""
    return [
        _strategy_table(result),
        _decision_table(result),
        *_coverage_tables(result, digits),
        _sample_table(result, digits),
    ]


def _strategy_table(result: Judging) -> Page:
    settings = result.settings
    rows = []
    for one in result.strategies:
        enough = [sufficient(values, settings.budgets, settings.threshold) for values in (one.tau, one.found)]
        cells = [Cell("never" if budget is None else str(budget)) for budget in enough]
        cells += [Cell(shown(value, 2)) for value in one.tau]
        rows.append(((one.strategy,), cells))
    columns = (
        f"until τ ≥ {settings.threshold:g}",
        f"until {settings.threshold:.0%} of significant pairs",
        *(f"τ at {budget}" for budget in settings.budgets),
    )
    title = f"Judgments per query of each strategy (AP, grade {settings.rel:g} or higher, lists of {settings.depth})"
    return Page(title, sheet(("strategy",), columns, rows))


def _decision_table(result: Judging) -> Page:
    rows = [((one.rule,), [Cell(f"{one.judgments:,.0f}"), Cell(f"{one.right:.1%}")]) for one in result.decisions]
    title = f"Judgments until a pair is settled, {DECISION_MEASURE}; {result.different:,.0f} documents differ"
    return Page(title, sheet(("rule",), ("judgments", "right sign"), rows))


def _coverage_tables(result: Judging, digits: int) -> list[Page]:
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
                cells += [Cell(shown(one.coverage, 3)), Cell(shown(one.width, digits))]
            rows.append(((method,), cells))
        columns = [text for judge in judges for text in (f"{judge}: coverage", f"{judge}: width")]
        title = f"95% intervals of {INTERVAL_MEASURE}, {subject}: {settings.human} human queries of {result.queries}"
        pages.append(Page(f"{title}, {settings.repeats:,} repetitions", sheet(("interval",), columns, rows)))
    return pages


def _sample_table(result: Judging, digits: int) -> Page:
    rows = [
        (
            (one.judge, one.measure, one.estimator),
            [Cell(shown(one.coverage, 3)), Cell(shown(one.width, digits)), Cell(shown(one.bias, 2))],
        )
        for one in result.samples
    ]
    title = f"Estimates within queries, {result.settings.chance:.0%} of the documents judged"
    return Page(title, sheet(("judge", "measure", "estimator"), ("coverage", "width", "bias in standard errors"), rows))


COLOURS = (BLACK, BLUE, ORANGE, SKY, GREEN, PURPLE, GREY)
MARKS = "os^Dv<x"


def drawings(result: Judging) -> Drawings:
    """The order of systems by budget, and the coverage of intervals."""
    return {"judging-budgets": partial(draw_budgets, result), "judging-coverage": partial(draw_coverage, result)}


def draw_budgets(result: Judging) -> Figure:
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
    lines, labels = axes[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def draw_coverage(result: Judging) -> Figure:
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
    lines, labels = axes[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure
