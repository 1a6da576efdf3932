"""Is one system really better than another? Every pair, with all that speaks for it and against it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from cranfield.arguments import one_of, share, whole
from cranfield.auditing import Audit, Cause
from cranfield.data import Floats, Integers
from cranfield.errors import InputError, UsageError
from cranfield.notes import some
from cranfield.scores import Scores, number
from cranfield.statistics.anova import Anova, anova, tukey
from cranfield.statistics.corrections import CORRECTIONS, Correction, corrected
from cranfield.statistics.intervals import bca, effect_size
from cranfield.statistics.paired import t_test, wilcoxon
from cranfield.statistics.resampling import discriminate

Test = Literal["randomisation", "t", "wilcoxon", "bootstrap", "tukey", "randomised-tukey"]
TESTS: tuple[Test, ...] = get_args(Test)
# These test all pairs of a measure at once, and leave nothing to correct.
JOINT: tuple[Test, ...] = ("tukey", "randomised-tukey")
RESAMPLING: tuple[Test, ...] = ("randomisation", "bootstrap", "randomised-tukey")
Family = Literal["measure", "all"]
FAMILIES: tuple[Family, ...] = get_args(Family)
# What could turn a difference without any new query.
DOUBTS: tuple[Cause, ...] = ("ties", "unjudged")
# Scores of a query nearer to each other than this are the same: sums in another order differ by as much.
SAME = 1e-12


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

    def doubted(self, audit: Audit) -> Comparison:
        """The same, each pair with what could turn it, as an audit of the same runs and measures says."""
        known: dict[tuple[str, frozenset[str]], list[Cause]] = {}
        for swap in audit.swaps:
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
    scores: Scores,
    baseline: str | None = None,
    *,
    audit: Audit | None = None,
    test: Test = "randomisation",
    tests: Sequence[Test] = (),
    correction: Correction = "holm",
    family: Family = "measure",
    alpha: float = 0.05,
    level: float = 0.95,
    samples: int = 100_000,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Which differences between runs are more than luck with the queries, how large they are, and what may turn them.

    Every pair of runs, or each against the ``baseline``, over the queries that all of them have a value for.
    ``test`` gives the p-values that are corrected, over all pairs of a measure or, with ``family="all"``, over all
    pairs of all measures; ``tests`` are computed beside it. ``samples`` is how often the resampling tests draw where
    they cannot try every possibility. With an ``audit`` of the same runs and measures, each pair says whether ties or
    unjudged documents could turn it.

    >>> import cranfield as cf
    >>> qrels = {q: {"a": 1} for q in "123456"}
    >>> good, bad = {q: {"a": 2.0, "b": 1.0} for q in "123456"}, {q: {"b": 2.0, "a": 1.0} for q in "123456"}
    >>> found = cf.compare(cf.evaluate([good, bad], qrels, "RR", names=["good", "bad"]))
    >>> found.contests[0].difference, round(found.contests[0].corrected, 5)
    (0.5, 0.03125)
    """
    for name, value, known in (
        ("test", test, TESTS),
        ("correction", correction, CORRECTIONS),
        ("family", family, FAMILIES),
        *(("tests", one, TESTS) for one in tests),
    ):
        one_of(name, value, known)
    alpha, level, samples = share("alpha", alpha), share("level", level), whole("samples", samples)
    if test in JOINT:
        if family == "all":
            raise UsageError(f"{test} is about the pairs of one measure", hint="family = all needs another test")
        correction = "none"
    if len(scores.runs) < 2:
        raise UsageError("there is nothing to compare: one run", hint="give two runs or more")
    pairs = _pairs(scores, baseline)
    matched = [_matched(scores, m) for m in range(len(scores.measures))]
    wanted = tuple(dict.fromkeys((test, *tests)))
    parts = []
    for i, (x, _) in enumerate(matched):
        parts.append(_measured(x, pairs, wanted, level=level, samples=samples, seed=seed))
        if progress is not None:
            progress(i + 1, len(matched))
    p: dict[Test, Floats] = {one: np.array([part["p"][one] for part in parts]) for one in wanted}
    arrays: dict[str, Any] = {name: np.array([part[name] for part in parts]) for name in parts[0] if name != "p"}
    many = "s" if len(pairs) > 1 else ""
    against = f"{len(pairs)} pair{many}" if baseline is None else f"{len(pairs)} run{many} against {baseline}"
    found = Comparison(
        runs=scores.runs,
        measures=scores.measures,
        pairs=pairs,
        baseline=baseline,
        queries=tuple(queries for _, queries in matched),
        means=np.array([x.mean(axis=1) for x, _ in matched]),
        p=p,
        corrected=corrected(p[test], correction)
        if family == "all"
        else np.array([corrected(one, correction) for one in p[test]]),
        doubts=(((),) * len(pairs),) * len(scores.measures),
        anova=tuple(anova(x) for x, _ in matched),
        test=test,
        correction=correction,
        family=f"{against} of {len(scores.measures)} measures" if family == "all" else f"{against} of each measure",
        alpha=alpha,
        level=level,
        samples=samples,
        seed=seed,
        notes=(
            *_notes(scores, [queries for _, queries in matched]),
            *_coarse(matched, p[test].size if family == "all" else len(pairs), test, correction, alpha, samples),
        ),
        **arrays,
    )
    return found if audit is None else found.doubted(audit)


def _coarse(
    matched: Sequence[tuple[Floats, tuple[str, ...]]],
    tests: int,
    test: Test,
    correction: Correction,
    alpha: float,
    samples: int,
) -> list[str]:
    """A warning where a test that resamples cannot give a p-value that is low enough among so many."""
    if test not in RESAMPLING:
        return []
    ways = [2.0 ** (len(queries) - 1) if test == "randomisation" else np.inf for _, queries in matched]
    finest = 1 / min(samples + 1, max(ways)) * (tests if correction in ("holm", "bonferroni") else 1)
    if finest < alpha:
        return []
    what = f"no corrected p-value of a {test} test can be below {min(finest, 1):.2g} here"
    return [f"nothing can be significant: {what}; it takes more samples, more queries or fewer pairs"]


def _pairs(scores: Scores, baseline: str | None) -> Integers:
    if baseline is None:
        return np.array(list(combinations(range(len(scores.runs)), 2)))
    if baseline not in scores.runs:
        shown = ", ".join(scores.runs[:10]) + (", ..." if len(scores.runs) > 10 else "")
        raise UsageError(f"the baseline `{baseline}` is none of the runs", hint=f"one of {shown}")
    at = scores.runs.index(baseline)
    return np.array([(r, at) for r in range(len(scores.runs)) if r != at])


def _matched(scores: Scores, measure: int) -> tuple[Floats, tuple[str, ...]]:
    """One measure's values (run, query), over the queries that every run has one for."""
    name = scores.measures[measure]
    if scores.aggregates[measure] == "geometric":
        raise UsageError(f"{name} is a geometric mean, and has no differences of queries", hint="compare AP")
    values, both = scores.matched(measure)
    if len(both) < 2:
        raise InputError(
            [f"{name}: {len(both)} of {len(scores.queries)} queries have a value in every run; a test needs two"],
            hint="do the runs answer the same queries?",
        )
    return values, tuple(scores.queries[q] for q in both)


def _measured(
    x: Floats, pairs: Integers, tests: Sequence[Test], *, level: float, samples: int, seed: int
) -> dict[str, Any]:
    difference = x[pairs[:, 0]] - x[pairs[:, 1]]
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    place = low * len(x) - low * (low + 1) // 2 + high - low - 1  # among all pairs (0, 1), (0, 2), ..., (1, 2), ...
    how: dict[str, Any] = {"b": samples, "seed": seed}
    by_test: dict[Test, Callable[[], Floats]] = {
        "randomisation": lambda: discriminate(x, "randomisation", **how).p[place],
        # As in the others the data themselves count as a draw: no number of draws makes a p-value 0.
        "bootstrap": lambda: (samples * discriminate(x, "bootstrap", **how).p[place] + 1) / (samples + 1),
        "randomised-tukey": lambda: discriminate(x, "tukey", **how).p[place],
        "t": lambda: t_test(difference),
        "wilcoxon": lambda: wilcoxon(difference),
        "tukey": lambda: tukey(x, pairs),
    }
    limits = bca(x, pairs, level=level, seed=seed)
    return {
        "difference": difference.mean(axis=1),
        "low": limits[:, 0],
        "high": limits[:, 1],
        "effect": effect_size(difference, level=level),
        "wins": (difference > SAME).sum(axis=1),
        "losses": (difference < -SAME).sum(axis=1),
        "p": {test: by_test[test]() for test in tests},
    }


def _notes(scores: Scores, used: Sequence[tuple[str, ...]]) -> list[str]:
    """Which queries were compared on, and which were not."""
    notes = []
    everything = [scores.queries[q] for q in np.flatnonzero(scores.counted.any(axis=0))]
    for queries in dict.fromkeys(used):
        same = [m for m, others in zip(scores.measures, used, strict=True) if others == queries]
        what = "" if len(same) == len(scores.measures) else f"{', '.join(same)}: "
        missing = sorted(set(everything) - set(queries), key=everything.index)
        left = f"; without {some(missing)}, for which some run has no value" if missing else ""
        notes.append(f"{what}compared on {some(queries)}{left}")
    return notes
