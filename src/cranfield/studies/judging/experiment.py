"""How far do few judgments go? Strategies of judging, pairs of runs, and judges that are simulated.

On a collection with all judgments: the judgments that each strategy needs until the order of systems is right, and
until the significant pairs are found; the judgments until pairs of systems are decided by bounds; and the coverage and
width of intervals from human and predicted judgments together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cranfield import io
from cranfield.data import Floats
from cranfield.errors import InputError, check_count
from cranfield.evaluation.evaluator import Evaluator, read_runs
from cranfield.evaluation.pair_bounds import rank_weights
from cranfield.evaluation.predicted import mapping_of
from cranfield.measures import parse
from cranfield.ranking.first_page import ranked_lists
from cranfield.studies import saving
from cranfield.studies.judging import budgets as by_budget
from cranfield.studies.judging.coverage import (
    JUDGES,
    LIKE,
    THESE,
    Coverage,
    interval_coverage,
    predicted_grades,
    sample_coverage,
)
from cranfield.studies.judging.deciding import RULES, count_judgments, pair_documents

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

    STUDY = "judging"

    settings: JudgingSettings
    runs: tuple[str, ...]
    queries: int
    strategies: tuple[StrategyResult, ...]
    decisions: tuple[DecisionResult, ...]
    different: float
    coverage: tuple[Coverage, ...]
    samples: tuple[SampleResult, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The complete result as plain data: what `save` writes and ``--format json`` prints."""
        return {
            **self.header(),
            "settings": asdict(self.settings),
            "runs": list(self.runs),
            "queries": self.queries,
            "strategies": [asdict(one) for one in self.strategies],
            "decisions": [asdict(one) for one in self.decisions],
            "different": self.different,
            "coverage": [asdict(one) for one in self.coverage],
            "samples": [asdict(one) for one in self.samples],
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Judging:
        """The result that `to_dict` returned."""
        settings = dict(data["settings"])
        return cls(
            JudgingSettings(**settings | {"budgets": tuple(settings["budgets"])}),
            tuple(data["runs"]),
            data["queries"],
            tuple(
                StrategyResult(one["strategy"], tuple(one["tau"]), tuple(one["found"])) for one in data["strategies"]
            ),
            tuple(DecisionResult(**one) for one in data["decisions"]),
            data["different"],
            tuple(Coverage(**one) for one in data["coverage"]),
            tuple(SampleResult(**one) for one in data["samples"]),
            tuple(data["notes"]),
        )


def judging(
    qrels: Any,
    runs: Any,
    *,
    rel: float = 1.0,
    depth: int = 100,
    budgets: Sequence[int] = by_budget.BUDGETS,
    threshold: float = 0.9,
    orders: int = 20,
    pairs: int = 150,
    repeats: int = 1000,
    human: int | None = None,
    chance: float = 0.3,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Judging:
    """Judgments needed by strategies and by pairs of systems, and coverage of intervals with simulated judges.

    ``rel``: the lowest relevant grade, for AP and for decisions; ``depth``: the length of lists. ``orders``: random
    orders of judging; ``pairs``: random pairs of systems; ``repeats``: repetitions of each coverage. ``human``: queries
    with human judgments, by default 40 of 100 or more queries, else 15.
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
    steps, done = len(by_budget.STRATEGIES) + 2 + len(JUDGES), 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, steps)

    queries = by_budget.query_lists(lists, judged, rel, depth)
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
    queries: Sequence[by_budget.QueryLists], settings: JudgingSettings, step: Callable[[], None]
) -> list[StrategyResult]:
    reference = by_budget.full_scores(queries)
    most, found = settings.budgets[-1], []
    for name, options in by_budget.STRATEGIES.items():
        orders = [by_budget.order_of(query, most, options) for query in queries]
        result = by_budget.compare_budgets(
            reference, list(by_budget.scores_by_budget(queries, orders, settings.budgets))
        )
        found.append(StrategyResult(name, tuple(result.tau), tuple(result.found)))
        step()
    repeated = []
    for seed in range(settings.orders):
        drawn = [by_budget.random_order(query, settings.seed + seed, q) for q, query in enumerate(queries)]
        repeated.append(
            by_budget.compare_budgets(reference, list(by_budget.scores_by_budget(queries, drawn, settings.budgets)))
        )
    means = [np.mean([getattr(one, part) for one in repeated], axis=0) for part in ("tau", "found")]
    found.append(StrategyResult(by_budget.RANDOM, tuple(means[0].tolist()), tuple(means[1].tolist())))
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
