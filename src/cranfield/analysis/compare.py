"""Is one system really better than another? Every pair, with all that speaks for it and against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from cranfield.analysis.audit import Audit, Cause, Swap, reversible
from cranfield.analysis.significance import (
    SIGNIFICANCE_TESTS,
    Family,
    Outcome,
    Settings,
    Test,
    check_settings,
    test_pairs,
)
from cranfield.data import Floats, Integers
from cranfield.errors import InputError, UsageError
from cranfield.evaluation.columns import Column, make_plan
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.evaluator import Evaluator, Measures
from cranfield.evaluation.notes import QueryNames
from cranfield.evaluation.policy import Policy
from cranfield.evaluation.reader import Progress
from cranfield.evaluation.scores import Scores, number
from cranfield.statistics.anova import Anova
from cranfield.statistics.corrections import Correction, corrected
from cranfield.wording import few, plural

# What could turn a difference without any new query.
DOUBTS: tuple[Cause, ...] = ("ties", "unjudged")
FAR = 1000  # coins whose ways to fall a float can still count


class Contest(NamedTuple):
    """One measure of two runs, the first against the second."""

    measure: str
    run: str
    other: str
    mean: float
    other_mean: float
    difference: float
    low: float
    high: float
    effect: float
    effect_low: float
    effect_high: float
    wins: int
    ties: int
    losses: int
    p: dict[Test, float]
    corrected: float
    significant: bool
    doubts: tuple[Cause, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        plain = self._asdict() | {"p": {test: number(p) for test, p in self.p.items()}, "doubts": list(self.doubts)}
        return {name: number(value) if isinstance(value, float) else value for name, value in plain.items()}


@dataclass(frozen=True, eq=False)
class Comparison:
    """Runs in pairs: arrays are (measure, pair) unless said otherwise.

    ``pairs`` (pair, 2): rows of ``runs``; a difference is the first one's mean less the second one's.
    ``queries``: for each measure the queries compared on, which every run has a value for.
    ``means`` (measure, run): over these queries. ``low``, ``high``: the confidence interval of the difference.
    ``effect`` (measure, pair, 3): the difference in standard deviations of its own, and both ends of its interval.
    ``wins``, ``losses``: queries on which the first is better, or worse. ``p``: by test. ``corrected``: of ``test``.
    ``doubts``: what could turn the difference, where an audit was given.
    """

    runs: tuple[str, ...]
    measures: tuple[str, ...]
    pairs: Integers
    baseline: str | None
    queries: tuple[tuple[str, ...], ...]
    means: Floats
    difference: Floats
    low: Floats
    high: Floats
    effect: Floats
    wins: Integers
    losses: Integers
    p: dict[Test, Floats]
    corrected: Floats
    doubts: tuple[tuple[tuple[Cause, ...], ...], ...]
    anova: tuple[Anova, ...]
    test: Test
    correction: Correction
    family: str
    alpha: float
    level: float
    samples: int
    seed: int
    notes: tuple[str, ...] = ()

    def doubted(self, swaps: Sequence[Swap]) -> Comparison:
        """The same, each pair with what could turn it: ``swaps`` of the same runs and measures."""
        known: dict[tuple[str, frozenset[str]], list[Cause]] = {}
        for swap in swaps:
            if swap.cause in DOUBTS:
                known.setdefault((swap.measure, frozenset((swap.higher, swap.lower))), []).append(swap.cause)
        names = [frozenset((self.runs[a], self.runs[b])) for a, b in self.pairs.tolist()]
        doubts = tuple(tuple(tuple(known.get((measure, pair), ())) for pair in names) for measure in self.measures)
        return replace(self, doubts=doubts)

    def contest(self, measure: int, pair: int) -> Contest:
        """All that is known of one measure of one pair."""
        at = measure, pair
        a, b = self.pairs[pair].tolist()
        wins, losses = int(self.wins[at]), int(self.losses[at])
        return Contest(
            self.measures[measure],
            self.runs[a],
            self.runs[b],
            float(self.means[measure, a]),
            float(self.means[measure, b]),
            float(self.difference[at]),
            float(self.low[at]),
            float(self.high[at]),
            float(self.effect[at][0]),
            float(self.effect[at][1]),
            float(self.effect[at][2]),
            wins,
            len(self.queries[measure]) - wins - losses,
            losses,
            {test: float(p[at]) for test, p in self.p.items()},
            float(self.corrected[at]),
            bool(self.corrected[at] < self.alpha),
            self.doubts[measure][pair],
        )

    @property
    def contests(self) -> list[Contest]:
        """Every measure of every pair."""
        return [self.contest(m, p) for m in range(len(self.measures)) for p in range(len(self.pairs))]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        told = "test", "correction", "family", "alpha", "level", "samples", "seed", "baseline"
        return {
            **{name: getattr(self, name) for name in told},
            "queries": dict(zip(self.measures, map(list, self.queries), strict=True)),
            "anova": {
                measure: {"F": number(found.F), "p": number(found.p), "noise": number(found.noise)}
                for measure, found in zip(self.measures, self.anova, strict=True)
            },
            "pairs": [contest.to_dict() for contest in self.contests],
            "notes": list(self.notes),
        }


def compare(
    qrels: Any,
    run: Any = None,
    measures: Measures | None = None,
    *,
    baseline: str | None = None,
    audit: Audit | None = None,
    test: Test = "randomisation",
    tests: Sequence[Test] = (),
    correction: Correction = "holm",
    family: Family = "measure",
    alpha: float = 0.05,
    level: float = 0.95,
    samples: int = 100_000,
    seed: int = 0,
    progress: Progress | None = None,
    **options: Any,
) -> Comparison:
    """Which differences between runs are more than luck with the queries, how large they are, and what may turn them.

    Takes judgments, runs and measures as `evaluate` does, with its ``options``; or `Scores`; or an `Evaluation`.
    Compares every pair of runs, or each with the ``baseline``, over the queries that all of them have a value for.
    ``test`` gives the p-values that are corrected, over all pairs of a measure or, with ``family="all"``, over all
    pairs of all measures; ``tests`` are computed beside it. ``samples`` is how often the resampling tests draw where
    they cannot try every possibility. Each pair says whether ties or unjudged documents could turn it, unless only
    scores are given; then an ``audit`` of the same runs and measures can say so. Queries are resampled in the order
    of their ids, whatever their order in files.

    >>> import cranfield as cf
    >>> qrels = {q: {"a": 1} for q in "123456"}
    >>> good, bad = {q: {"a": 2.0, "b": 1.0} for q in "123456"}, {q: {"b": 2.0, "a": 1.0} for q in "123456"}
    >>> found = cf.compare(qrels, {"good": good, "bad": bad}, "RR")
    >>> found.contests[0].difference, round(found.contests[0].corrected, 5)
    (0.5, 0.03125)
    """
    settings = check_settings(
        test=test,
        tests=tests,
        correction=correction,
        family=family,
        alpha=alpha,
        level=level,
        samples=samples,
        seed=seed,
    )
    if isinstance(qrels, (Scores, Evaluation)) and (run is not None or measures is not None or options):
        raise UsageError(
            f"compare takes {type(qrels).__name__} alone, or judgments, runs and measures",
            hint="baseline= names the run to compare with",
        )
    if isinstance(qrels, Scores):
        found = compare_scores(qrels, settings, baseline, progress)
        return found if audit is None else found.doubted(audit.swaps)
    if isinstance(qrels, Evaluation):
        evaluation = qrels
    elif run is None or measures is None:
        raise UsageError(
            "compare needs judgments, runs and measures", hint="compare(qrels, runs, measures), or compare(scores)"
        )
    else:
        how = {name: options.pop(name, None) for name in ("intents", "corpus")}
        names = options.pop("names", None)
        plan = make_plan(measures, Policy.of(**options, seed=seed))
        evaluation = Evaluator.of(qrels, plan, **how).evaluation(run, names=names)
    return compare_evaluation(evaluation, settings, baseline, progress=progress)


def compare_evaluation(
    evaluation: Evaluation,
    settings: Settings,
    baseline: str | None = None,
    *,
    reversals: bool = True,
    progress: Progress | None = None,
) -> Comparison:
    """`compare` of runs that were read already; without ``reversals`` nothing says what could turn a difference."""
    found = compare_scores(evaluation.scores, settings, baseline, progress)
    return found.doubted(reversible(evaluation)) if reversals else found


def compare_scores(
    scores: Scores, settings: Settings, baseline: str | None = None, progress: Progress | None = None
) -> Comparison:
    """`compare` of scores: significance, intervals and effect sizes."""
    pairs = paired(scores.runs, baseline)
    comparable(scores.columns)
    everything = sorted(scores.queries[q] for q in np.flatnonzero(scores.counted.any(axis=0)))
    matched = [_matched(scores, m, len(everything)) for m in range(len(scores.measures))]
    outcomes = []
    for i, (x, _) in enumerate(matched):
        outcomes.append(test_pairs(x, pairs, settings))
        if progress is not None:
            progress(i + 1, len(matched))
    used = [queries for _, queries in matched]
    return build_comparison(settings, scores.runs, scores.measures, baseline, everything, used, outcomes)


def paired(runs: Sequence[str], baseline: str | None) -> Integers:
    """The runs of every pair, or of each and the baseline, (pair, 2)."""
    if len(runs) < 2:
        raise UsageError("there is nothing to compare: one run", hint="give two runs or more")
    if baseline is None:
        return np.array(list(combinations(range(len(runs)), 2)))
    if baseline not in runs:
        raise UsageError(f"the baseline `{baseline}` is none of the runs", hint=f"one of {few(runs, 10)}")
    at = runs.index(baseline)
    return np.array([(r, at) for r in range(len(runs)) if r != at])


def comparable(columns: Sequence[Column]) -> None:
    """Raise if a measure has no value of its own for a query."""
    for column in columns:
        if column.aggregate == "geometric":
            raise UsageError(
                f"{column.label} is a geometric mean, and has no differences of queries", hint="compare AP"
            )


def enough(measure: str, used: int, of: int) -> None:
    """An error where a measure has too few queries in common."""
    if used < 2:
        raise InputError(
            [f"{measure}: {used} of {of} queries have a value in every run; a test needs two"],
            hint="do the runs answer the same queries?",
        )


def _matched(scores: Scores, measure: int, of: int) -> tuple[Floats, tuple[str, ...]]:
    """One measure's values (run, query), over the queries that every run has one for, by id."""
    values, both = scores.matched(measure)
    enough(scores.measures[measure], len(both), of)
    names = [scores.queries[q] for q in both]
    order = sorted(range(len(names)), key=names.__getitem__)
    return values[:, order], tuple(names[q] for q in order)


def build_comparison(
    settings: Settings,
    runs: Sequence[str],
    measures: Sequence[str],
    baseline: str | None,
    everything: Sequence[str],
    queries: Sequence[tuple[str, ...]],
    outcomes: Sequence[Outcome],
) -> Comparison:
    """What was found of each measure, put together: corrected, and with notes.

    ``everything`` are the queries that count for some run, ``queries`` those that each measure was compared on.
    """
    pairs, test = paired(runs, baseline), settings.test
    p: dict[Test, Floats] = {one: np.array([found.p[one] for found in outcomes]) for one in settings.tests}
    apart = [name for name in Outcome._fields if name not in ("p", "anova")]
    arrays: dict[str, Any] = {name: np.array([getattr(found, name) for found in outcomes]) for name in apart}
    against = plural(len(pairs), "pair") if baseline is None else f"{plural(len(pairs), 'run')} against {baseline}"
    together = settings.family == "all"
    return Comparison(
        runs=tuple(runs),
        measures=tuple(measures),
        pairs=pairs,
        baseline=baseline,
        queries=tuple(queries),
        p=p,
        corrected=corrected(p[test], settings.correction)
        if together
        else np.array([corrected(one, settings.correction) for one in p[test]]),
        doubts=(((),) * len(pairs),) * len(measures),
        anova=tuple(found.anova for found in outcomes),
        test=test,
        correction=settings.correction,
        family=f"{against} of {len(measures)} measures" if together else f"{against} of each measure",
        alpha=settings.alpha,
        level=settings.level,
        samples=settings.samples,
        seed=settings.seed,
        notes=(
            *_notes(measures, everything, queries),
            *_coarse(settings, queries, p[test].size if together else len(pairs)),
        ),
        **arrays,
    )


def _coarse(settings: Settings, queries: Sequence[tuple[str, ...]], tests: int) -> list[str]:
    """A warning where a test that resamples cannot give a p-value that is low enough among so many."""
    if not SIGNIFICANCE_TESTS[settings.test].resamples:
        return []
    ways = [2.0 ** min(len(used) - 1, FAR) if settings.test == "randomisation" else np.inf for used in queries]
    finest = 1 / min(settings.samples + 1, max(ways)) * (tests if settings.correction in ("holm", "bonferroni") else 1)
    if finest < settings.alpha:
        return []
    what = f"no corrected p-value of a {settings.test} test can be below {min(finest, 1):.2g} here"
    return [f"nothing can be significant: {what}; it takes more samples, more queries or fewer pairs"]


def _notes(measures: Sequence[str], everything: Sequence[str], used: Sequence[tuple[str, ...]]) -> list[str]:
    """Which queries were compared on, and which were not."""
    notes = []
    for queries in dict.fromkeys(used):
        same = [m for m, others in zip(measures, used, strict=True) if others == queries]
        what = "" if len(same) == len(measures) else f"{', '.join(same)}: "
        there = set(queries)
        missing = [query for query in everything if query not in there]
        left = f"; without {QueryNames.of(missing)}, for which some run has no value" if missing else ""
        notes.append(f"{what}compared on {QueryNames.of(queries)}{left}")
    return notes
