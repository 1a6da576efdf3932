"""Which differences between runs are significant: every pair, with intervals, effect sizes and p-values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import combinations
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, get_type_hints

import numpy as np

from cranfield.analysis.audit import Audit, Cause, Swap, reversible
from cranfield.analysis.significance import (
    DEFAULT_SAMPLES,
    SIGNIFICANCE_TESTS,
    ComparisonSettings,
    Family,
    MeasureComparison,
    Test,
    choose_samples,
    lowest_p,
    test_pairs,
)
from cranfield.data import Floats, Integers, Run
from cranfield.errors import InputError, MissingDependency, UsageError
from cranfield.evaluation.collection import is_several
from cranfield.evaluation.designs import matched_sample
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.evaluator import Evaluator, Measures, evaluate
from cranfield.evaluation.notes import Note, QueryNames, sentences
from cranfield.evaluation.plan import Column
from cranfield.evaluation.predicted import PredictedMean, check_queries, judged_per_query, predicted_differences
from cranfield.evaluation.provenance import Provenance
from cranfield.evaluation.reader import Progress
from cranfield.evaluation.scores import Scores, ScoreTable
from cranfield.measures.catalogue import Better
from cranfield.parallel import followed
from cranfield.record import record
from cranfield.results import PathLike, Saved, plain, typed
from cranfield.statistics.design import Repeated, Sample
from cranfield.statistics.resampling import Anova, Correction, corrected
from cranfield.statistics.rounding import SAME
from cranfield.wording import decodable, few, listed, plural, printable

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

ComparisonTable = Literal["means", "pairs"]

SELECTED = "the best run was selected by the scores that it is tested on: p-values do not account for the selection"
BEST = "best"  # the baseline that is the best run of each measure
# What could reverse a difference without any new query.
DOUBTS: tuple[Cause, ...] = ("ties", "unjudged")


SAVED_UNCHANGED = (
    *("test", "correction", "family", "alpha", "level", "samples", "seed"),
    *("cluster", "collection", "repeats", "baseline", "runs", "measures"),
)
SAVED_BY_MEASURE = ("queries", "units", "better", "lowest_p", "anova")


NUMBERS = ("difference", "low", "high", "t_low", "t_high", "test_low", "test_high", "degrees", "corrected")


class PairComparison(NamedTuple):
    """One measure of two runs, the first against the second."""

    measure: str
    run: str
    other: str
    mean: float
    other_mean: float
    difference: float
    low: float
    high: float
    t_low: float
    t_high: float
    test_low: float
    test_high: float
    variance: tuple[float, float]
    degrees: float
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

    @property
    def turned(self) -> PairComparison:
        """The same, the second run against the first."""
        ends = {"low": "high", "t_low": "t_high", "test_low": "test_high", "effect_low": "effect_high"}
        others = {"run": "other", "mean": "other_mean", "wins": "losses"}
        values = {a: getattr(self, b) for pair in others.items() for a, b in (pair, pair[::-1])}
        values |= {a: 0 - getattr(self, b) for pair in ends.items() for a, b in (pair, pair[::-1])}
        return self._replace(**values, difference=0 - self.difference, effect=0 - self.effect)


@record(eq=False, repr=False)
class Comparison(Saved):
    """Runs compared in pairs: arrays are (measure, pair) unless noted.

    ``pairs`` (measure, pair, 2): indices into ``runs``; a difference is the mean of the first minus that of the second.
    With a baseline it is the second; the baseline ``best`` is the best run of each measure.
    ``queries``: for each measure the queries for which every run has a value; only these are compared.
    ``means`` (measure, run): over these queries, or over the means of collections. ``test_low``, ``test_high``: the
    confidence interval of the difference that belongs to the test; if p-values are corrected, all intervals hold
    together. ``low``, ``high``: the interval of the difference alone, by the BCa bootstrap; ``t_low``, ``t_high``: by
    Student's t. ``variance`` (measure, pair, 2): of the difference, by queries and by random repeats;
    ``degrees``: the degrees of freedom of both together.
    ``effect`` (measure, pair, 3): the difference in units of its standard deviation, and both ends of its interval.
    ``wins``, ``losses``: queries on which the first is better, or worse. ``p``: by test. ``corrected``: of ``test``.
    ``doubts``: what could reverse the difference, if an audit was given. ``better``: whether higher or lower values
    are better. ``units``: how many independent queries, or clusters of them, each measure has; ``cluster``,
    ``collection``: the attributes that say so, and ``repeats``: random or fixed, if runs have repeats. ``sources``: by
    measure and repeated run, the variance of a score between queries, between repeats, and the rest.
    ``lowest_p`` (measure,): the lowest corrected p-value that the test could give; if it is not below ``alpha``, no
    difference can be significant. ``query_notes``, ``resolution_notes``: which queries were compared, and whether the
    test can decide; ``notes`` are both.
    """

    _KIND: ClassVar[str] = "comparison"
    _WHAT: ClassVar[str] = "a saved comparison"
    _HINT: ClassVar[str] = (
        "save a comparison with `cranfield compare ... --format json -o FILE` or `comparison.save(FILE)`"
    )

    runs: tuple[str, ...]
    measures: tuple[str, ...]
    pairs: Integers
    baseline: str | None
    queries: tuple[tuple[str, ...], ...]
    means: Floats
    difference: Floats
    low: Floats
    high: Floats
    t_low: Floats
    t_high: Floats
    test_low: Floats
    test_high: Floats
    variance: Floats
    degrees: Floats
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
    lowest_p: Floats
    better: tuple[Better, ...]
    units: tuple[int, ...]
    cluster: str | None = None
    collection: str | None = None
    repeats: Repeated | None = None
    sources: Mapping[str, Mapping[str, tuple[float, float, float]]] = field(default_factory=dict)
    query_notes: tuple[Note, ...] = ()
    resolution_notes: tuple[Note, ...] = ()
    predicted: tuple[PredictedMean, ...] = ()  # the differences with predicted judgments
    provenance: Provenance | None = None

    @property
    def references(self) -> list[int] | None:
        """The index of the baseline of each measure, or None without a baseline."""
        return None if self.baseline is None else self.pairs[:, 0, 1].tolist()

    def __repr__(self) -> str:
        one = self.baseline
        against = plural(self.pairs.shape[1], "pair") if one is None else f"each against {printable(one)}"
        significant = (self.corrected < self.alpha).sum(axis=1).tolist()
        counts = [f"{m} {n}" for m, n in zip(self.measures, significant, strict=True)]
        return decodable(
            f"Comparison: {listed(self.runs, 'run')}, {against}; "
            f"significant differences (p < {self.alpha:g}): {few(counts)}"
        )

    @property
    def notes(self) -> tuple[Note, ...]:
        """The queries that were compared, and whether the test can decide."""
        return self.query_notes + self.resolution_notes

    def with_swaps(self, swaps: Sequence[Swap]) -> Comparison:
        """The same comparison, each pair with what could reverse it; ``swaps`` are of the same runs and measures."""
        causes: dict[tuple[str, frozenset[str]], list[Cause]] = {}
        for swap in swaps:
            if swap.cause in DOUBTS:
                causes.setdefault((swap.measure, frozenset((swap.higher, swap.lower))), []).append(swap.cause)
        doubts = tuple(
            tuple(tuple(causes.get((measure, frozenset((self.runs[a], self.runs[b]))), ())) for a, b in pairs)
            for measure, pairs in zip(self.measures, self.pairs.tolist(), strict=True)
        )
        return replace(self, doubts=doubts)

    def contest(self, measure: int, pair: int) -> PairComparison:
        """The comparison of one pair of runs by one measure, given by their indices."""
        at = measure, pair
        a, b = self.pairs[at].tolist()
        wins, losses = int(self.wins[at]), int(self.losses[at])
        effect, effect_low, effect_high = self.effect[at].tolist()
        of_queries, of_repeats = self.variance[at].tolist()
        return PairComparison(
            measure=self.measures[measure],
            run=self.runs[a],
            other=self.runs[b],
            mean=float(self.means[measure, a]),
            other_mean=float(self.means[measure, b]),
            effect=effect,
            effect_low=effect_low,
            effect_high=effect_high,
            variance=(of_queries, of_repeats),
            wins=wins,
            ties=len(self.queries[measure]) - wins - losses,
            losses=losses,
            p={test: float(p[at]) for test, p in self.p.items()},
            significant=bool(self.corrected[at] < self.alpha),
            doubts=self.doubts[measure][pair],
            **{name: float(getattr(self, name)[at]) for name in NUMBERS},
        )

    @property
    def signs(self) -> Integers:
        """For each measure 1, or -1 if lower values are better."""
        return np.array([-1 if better == "lower" else 1 for better in self.better])

    @cached_property
    def ranks(self) -> dict[str, dict[str, tuple[int, int]]]:
        """The ranks that each run may have, from best to worst, by measure and run.

        A run is behind those that are significantly better, and ahead of those that are significantly worse. With a
        correction that controls the family-wise error (Holm, Bonferroni, Tukey), all ranks are right together with
        confidence 1 - alpha; after Benjamini and Hochberg's, or without any, their confidence is not known.

        >>> import cranfield as cf
        >>> values = {"new": {"m": {"1": 0.5, "2": 0.9}}, "old": {"m": {"1": 0.4, "2": 0.8}}}
        >>> cf.compare(cf.read_scores(values), test="t").ranks
        {'m': {'new': (1, 1), 'old': (2, 2)}}
        """
        if self.baseline is not None:
            raise UsageError("ranks need a comparison of all pairs of runs", hint="compare without a baseline")
        ranks = {}
        for m, measure in enumerate(self.measures):
            significant = np.where(self.corrected[m] < self.alpha, np.sign(self.difference[m]) * self.signs[m], 0)
            first, second = self.pairs[m].T
            runs = len(self.runs)
            ahead = np.bincount(first, significant < 0, runs) + np.bincount(second, significant > 0, runs)
            behind = np.bincount(first, significant > 0, runs) + np.bincount(second, significant < 0, runs)
            limits = zip((1 + ahead).astype(int).tolist(), (runs - behind).astype(int).tolist(), strict=True)
            ranks[measure] = dict(zip(self.runs, limits, strict=True))
        return ranks

    def one_sided(self, measure: int, runs: tuple[str, str]) -> tuple[float, float]:
        """The bounds that the difference of two runs exceeds, and stays below, each with confidence 1 - alpha."""
        from scipy.special import stdtrit

        named = enumerate(self.pairs[measure].tolist())
        pair = next(p for p, (a, b) in named if (self.runs[a], self.runs[b]) == runs)
        deviation = math.sqrt(float(self.variance[measure, pair].sum()))
        half = float(stdtrit(self.degrees[measure, pair], 1 - self.alpha)) * deviation
        difference = float(self.difference[measure, pair])
        return difference - half, difference + half

    def queries_needed(self, measure: int, pair: int, *, power: float = 0.8) -> int | None:
        """How many queries a test would need to find a difference of this size with this power; None if too many.

        Of queries in clusters, it is the number if clusters are as large as these.
        """
        from cranfield.statistics.sample_size import queries_needed

        used, difference = len(self.queries[measure]), abs(float(self.difference[measure, pair]))
        variance = float(self.variance[measure, pair, 0]) * used
        return queries_needed(variance, difference, alpha=self.alpha, power=power) if difference > SAME else None

    @property
    def contests(self) -> list[PairComparison]:
        """The comparisons of all pairs of runs by all measures, the first run of a pair against the second."""
        return [self.contest(m, p) for m in range(len(self.measures)) for p in range(self.pairs.shape[1])]

    @property
    def rows(self) -> list[PairComparison]:
        """The same as tables, files and figures have them: each run minus the baseline, or minus an earlier run."""
        return [one.turned if self.baseline is None else one for one in self.contests]

    @property
    def predicted_rows(self) -> tuple[PredictedMean, ...]:
        """The differences with predicted judgments, as tables and files have them: see `rows`."""
        return tuple(one.turned if self.baseline is None else one for one in self.predicted)

    def to_columns(self) -> dict[str, list[Any]]:
        """Columns by name, a row for each measure of each pair: what ``--format csv`` writes.

        A difference is that of a run from the baseline, or from an earlier run.
        """
        contests = self.rows
        fields = [name for name in PairComparison._fields if name not in ("p", "doubts", "variance")]
        settings = {name: [getattr(self, name)] * len(contests) for name in ("test", "correction", "family")}
        return {
            **{name: [getattr(one, name) for one in contests] for name in fields},
            **{f"p {test}": [one.p[test] for one in contests] for test in self.p},
            "doubts": [" ".join(one.doubts) for one in contests],
            **settings,
        }

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each measure of each pair, as a pandas DataFrame; see `to_columns`."""
        try:
            import pandas
        except ImportError:
            raise MissingDependency(what="a pandas DataFrame", extra="pandas") from None
        return pandas.DataFrame(self.to_columns())

    def to_latex(self, table: ComparisonTable = "means", *, digits: int = 4) -> str:
        """A table for a paper, with a caption that explains its marks: ``--format latex --table means`` or ``pairs``.

        The ``pairs`` are a table for each measure.
        """
        return self._write("latex", table=table, digits=digits)

    def to_markdown(self, table: ComparisonTable = "means", *, digits: int = 4) -> str:
        """The same tables in Markdown."""
        return self._write("markdown", table=table, digits=digits)

    def plot(self, measure: str | None = None, *, top: int | None = None, ax: Axes | None = None) -> Axes:
        """Draw the differences with their intervals; returns the Matplotlib axes.

        Of more than 45 pairs it draws a matrix: row minus column, coloured if significant, with a dot if ties or
        unjudged documents could reverse it. ``measure``: by default the first. ``top``: only the best runs; by default
        all in the matrix, and 40 against a baseline. ``ax``: axes to draw on instead of a new figure.
        """
        return self._draw(measure=measure, top=top, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, which `load` reads."""
        return {
            **self._header(),
            **{name: plain(getattr(self, name)) for name in SAVED_UNCHANGED},
            **{name: plain(dict(zip(self.measures, getattr(self, name), strict=True))) for name in SAVED_BY_MEASURE},
            "pairs": plain(self.rows),
            "notes": sentences(self.notes),
            "resolution_notes": sentences(self.resolution_notes),
            **({"predicted": plain(self.predicted_rows)} if self.predicted else {}),
            **({"sources": plain(self.sources)} if self.sources else {}),
            **({"provenance": self.provenance.data} if self.provenance is not None else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The comparison that `to_dict` returned."""
        hints = get_type_hints(cls)
        values = {name: typed(hints[name], data[name], name) for name in SAVED_UNCHANGED}
        runs, measures, baseline = (values[name] for name in ("runs", "measures", "baseline"))
        if baseline not in (None, BEST, *runs):
            raise ValueError(f"the baseline `{baseline}` is not one of the runs")
        ComparisonSettings(**{name: values[name] for name in ("test", "alpha", "level", "samples", "seed")})
        for name in SAVED_BY_MEASURE:
            values[name] = typed(hints[name], [data[name][measure] for measure in measures], name)
        notes, resolution = (typed(tuple[str, ...], data[name], name) for name in ("notes", "resolution_notes"))
        contests = typed(tuple[PairComparison, ...], data["pairs"], "pairs")
        place = {run: r for r, run in enumerate(runs)}
        predicted = typed(hints["predicted"], data.get("predicted", []), "predicted")
        if baseline is None:  # a row is that of the later run
            contests, predicted = (
                tuple(one.turned if place[one.run] > place[one.other] else one for one in rows)
                for rows in (contests, predicted)
            )
        pairs, rows = _saved_pairs(contests, runs, measures, same=baseline != BEST)
        tests = list(rows[0][0].p)
        if any(list(row.p) != tests for of_measure in rows for row in of_measure):
            raise ValueError("pairs have p-values of other tests")

        def table(value: Callable[[PairComparison], Any]) -> Any:
            return np.array([[value(row) for row in of_measure] for of_measure in rows])

        means = np.full((len(rows), len(runs)), np.nan)
        np.put_along_axis(means, pairs[..., 0], table(lambda row: row.mean), axis=1)
        np.put_along_axis(means, pairs[..., 1], table(lambda row: row.other_mean), axis=1)
        numbers = {name: table(attrgetter(name)) for name in (*NUMBERS, "wins", "losses")}
        for name, infinite in (("test_low", -np.inf), ("test_high", np.inf)):
            numbers[name] = np.where(np.isnan(numbers[name]), infinite, numbers[name])  # null in JSON
        return cls(
            pairs=pairs,
            means=means,
            variance=table(lambda row: row.variance),
            effect=table(_saved_effect),
            p=dict(zip(tests, np.moveaxis(table(lambda row: list(row.p.values())), 2, 0), strict=True)),
            doubts=tuple(tuple(row.doubts for row in of_measure) for of_measure in rows),
            query_notes=tuple(map(Note.saved, notes[: len(notes) - len(resolution)])),
            resolution_notes=tuple(map(Note.saved, resolution)),
            predicted=predicted,
            sources=typed(hints["sources"], data.get("sources", {}), "sources"),
            provenance=Provenance.of_file(data),
            **values,
            **numbers,
        )

    def save(self, path: PathLike) -> None:
        """Write the comparison as one JSON file; an existing file is replaced only by a complete one.

        >>> import cranfield as cf
        >>> comparison.save("comparison.json")  # doctest: +SKIP
        >>> cf.load("comparison.json")  # doctest: +SKIP
        Comparison: 2 runs (old, new), 1 pair; significant differences (p < 0.05): RR 1
        """
        if not np.isfinite(self.means).all():
            raise UsageError("a comparison with infinite means cannot be saved")
        super().save(path)


def _saved_pairs(
    contests: Sequence[PairComparison], runs: Sequence[str], measures: Sequence[str], *, same: bool
) -> tuple[Integers, list[list[PairComparison]]]:
    """The pairs of runs, (measure, pair, 2), and the rows of each measure; ``same``: all have the same pairs."""
    rows = [[row for row in contests if row.measure == measure] for measure in measures]
    index = {run: r for r, run in enumerate(runs)}
    named = [[(index[row.run], index[row.other]) for row in of_measure] for of_measure in rows]
    if not named or not named[0] or any(pairs != named[0] if same else len(pairs) != len(named[0]) for pairs in named):
        raise ValueError("the measures do not have the same pairs of runs")
    if len(index) < len(runs) or any({run for pair in pairs for run in pair} != set(index.values()) for pairs in named):
        raise ValueError("the pairs do not cover the runs")
    return np.array(named), rows


def _saved_effect(row: PairComparison) -> list[float]:
    """The effect and its interval; JSON has no infinity, so that an infinite effect is null."""
    effect = math.copysign(math.inf, row.difference) if math.isnan(row.effect) else row.effect
    return [effect, row.effect_low, row.effect_high]


def compare(
    qrels: Any,
    run: Any = None,
    measures: Measures | None = None,
    *,
    baseline: str | None = None,
    audit: Audit | None = None,
    test: Test | None = None,
    tests: Sequence[Test] = (),
    correction: Correction = "holm",
    family: Family = "measure",
    alpha: float = 0.05,
    level: float | None = None,
    samples: int | None = None,
    seed: int = 0,
    cluster: str | None = None,
    collection: str | None = None,
    repeats: Repeated = "random",
    progress: Progress | None = None,
    **options: Any,
) -> Comparison:
    """Which differences between runs are significant, how large they are, and what could reverse them.

    Takes judgments or a `Collection`, runs and measures as `evaluate` does, with its ``options``; or `Scores`; or an
    `Evaluation`. Compares every pair of runs, or each run with the ``baseline``, over the queries for which all runs
    have a value. A difference is ``run`` minus ``other``: a run minus the baseline, or of a pair the first minus the
    second; tables show the later run minus the earlier one. The baseline ``"best"`` is the best
    run by each measure, unless a run has this name. To compare only the best ten runs:
    ``compare(scores.only(runs=scores.best(10)))``.
    The p-values of ``test`` are corrected over all pairs of a measure or, with ``family="all"``, over all pairs of all
    measures; ``tests`` are computed as well, uncorrected. ``level``: of intervals, by default 1 - ``alpha``.
    ``samples`` is the number of resamples of tests that cannot try every possibility: by default 100,000, or more if
    that is too few for the number of pairs. Each pair says whether ties or unjudged documents could reverse the
    difference, unless only scores are given; then pass an ``audit`` of the same runs and measures. ``cluster``: the
    attribute of queries that are not independent, such as a topic or conversation. ``collection``: the attribute whose
    means are averaged. ``repeats``: whether the repeats of runs stand for others (random), or are the only ones of
    interest (fixed). If the collection has predicted judgments, the comparison has the differences from human and
    predicted judgments together. Queries are resampled in the order of their ids, so the order of lines in files does
    not matter.

    >>> import cranfield as cf
    >>> qrels = {q: {"a": 1} for q in "123456"}
    >>> old, new = {q: {"b": 2.0, "a": 1.0} for q in "123456"}, {q: {"a": 2.0, "b": 1.0} for q in "123456"}
    >>> comparison = cf.compare(qrels, {"old": old, "new": new}, "RR", baseline="old")
    >>> comparison.contests[0].difference, round(comparison.contests[0].corrected, 5)
    (0.5, 0.03125)
    """
    settings = ComparisonSettings(
        test=test,
        tests=tests,
        correction=correction,
        family=family,
        alpha=alpha,
        level=level,
        samples=samples,
        seed=seed,
        cluster=cluster,
        collection=collection,
        repeats=repeats,
    )
    if isinstance(qrels, (Scores, Evaluation)) and (run is not None or measures is not None or options):
        raise UsageError(
            f"compare takes no runs, measures or options together with {type(qrels).__name__}",
            hint="use baseline= to name the run to compare with",
        )
    if isinstance(qrels, Scores):
        comparison = compare_scores(qrels, settings, baseline, progress)
        return comparison if audit is None else comparison.with_swaps(audit.swaps)
    runs: list[Run] = []
    if isinstance(qrels, Evaluation):
        evaluation = qrels
    elif is_several(qrels, run) and measures is not None:
        return compare_scores(evaluate(qrels, run, measures, **options, seed=seed), settings, baseline, progress)
    elif run is None or measures is None:
        raise UsageError(
            "compare needs judgments, runs and measures", hint="call compare(qrels, runs, measures), or compare(scores)"
        )
    else:
        names = options.pop("names", None)
        evaluator = Evaluator(qrels, measures, **options, seed=seed)
        runs = evaluator.read_runs(run, names)
        if any(item.system for item in runs):
            # A difference between means over repeats is not one of single rankings, which an audit could turn.
            return compare_scores(evaluator(runs), settings, baseline, progress)
        evaluation = evaluator.evaluation(runs)
    comparison = compare_scores(evaluation.scores, settings, baseline, progress).with_swaps(reversible(evaluation))
    has_predictions = runs and evaluation.collection.predicted is not None
    return with_predictions(comparison, evaluation, runs) if has_predictions else comparison


def with_predictions(comparison: Comparison, evaluation: Evaluation, runs: Sequence[Run]) -> Comparison:
    """The comparison, with the difference of each pair from human and predicted judgments together."""
    predicted, inference = evaluation.collection.predicted, evaluation.collection.inference
    assert predicted is not None
    check_queries(evaluation.queries, list(predicted.queries))
    scores = Evaluator.of(predicted, evaluation.plan)(list(runs), names=evaluation.runs)
    rows = [evaluation.runs.index(name) for name in comparison.runs]
    differences = predicted_differences(
        evaluation.scores._of_runs(rows),
        scores._of_runs(rows),
        comparison.pairs.tolist(),
        inference=inference,
        alpha=1 - comparison.level,
        judged_per_query=judged_per_query(evaluation.judgments),
    )
    return replace(comparison, predicted=differences)


def with_reversals(
    comparison: Comparison, evaluation: Evaluation, *, only_significant: bool, progress: Progress | None = None
) -> Comparison:
    """The comparison, each pair with what could reverse it; only runs of significant differences are audited, if asked.

    Differences that are not significant then have no doubts.
    """
    if not only_significant:
        some = None if len(comparison.runs) == len(evaluation.runs) else comparison.runs
        return comparison.with_swaps(reversible(evaluation, progress, some))
    significant = comparison.corrected < comparison.alpha
    runs = {comparison.runs[r] for r in comparison.pairs[significant].flatten().tolist()}
    if not runs:
        return comparison
    audited = comparison.with_swaps(reversible(evaluation, progress, runs))
    doubts = tuple(
        tuple(of_pair if found else () for of_pair, found in zip(of_measure, row, strict=True))
        for of_measure, row in zip(audited.doubts, significant.tolist(), strict=True)
    )
    return replace(audited, doubts=doubts)


def compare_scores(
    scores: Scores, settings: ComparisonSettings, baseline: str | None = None, progress: Progress | None = None
) -> Comparison:
    """`compare` of scores: significance, intervals and effect sizes."""
    selected = baseline == BEST and BEST not in scores.runs
    baseline, pairs = compared_pairs(scores, baseline)
    check_comparable(scores.columns)
    all_queries = sorted(scores.queries[q] for q in np.flatnonzero(scores.counted.any(axis=0)))
    settings = settings_for(scores, settings, baseline)
    matched = _matched(scores, settings, len(all_queries))
    samples = zip((sample for sample, _ in matched), pairs, strict=True)
    outcomes = [test_pairs(*one, settings) for one in followed(samples, progress, len(matched))]
    used = [queries for _, queries in matched]
    comparison = build_comparison(settings, scores, baseline, pairs, all_queries, used, outcomes)
    few_repeats = [run for run, table in scores.repeats.items() if table.shape[2] == 2 and settings.repeats == "random"]
    two = (
        [Note.saved(f"two repeats are few to know how much repeats differ: {few(few_repeats)}")] if few_repeats else []
    )
    return replace(
        comparison,
        query_notes=(*comparison.query_notes, *([Note.saved(SELECTED)] if selected else []), *two),
        provenance=scores.provenance,
        repeats=settings.repeats if scores.repeats else None,
        sources={
            measure: {scores.runs[run]: parts for run, parts in sample.sources().items()}
            for measure, (sample, _) in zip(scores.measures, matched, strict=True)
            if sample.repeats
        },
    )


def settings_for(scores: Scores, settings: ComparisonSettings, baseline: str | None = None) -> ComparisonSettings:
    """The settings with a number of resamples that fits the number of pairs and queries."""
    pairs = compared_pairs(scores, baseline)[1]
    tests = number_of_tests(settings, pairs.shape[1], len(scores.measures))
    return choose_samples(settings.for_scores(repeated=bool(scores.repeats)), len(scores.queries), tests)


def number_of_tests(settings: ComparisonSettings, pairs: int, measures: int) -> int:
    """The number of p-values that are corrected together."""
    return pairs * measures if settings.family == "all" else pairs


def resolution_of(scores: Scores, settings: ComparisonSettings, baseline: str | None = None) -> list[Note]:
    """Before anything is computed: the number of resamples, if it was raised, and whether the test can decide."""
    check_comparable(scores.columns)
    settings = settings_for(scores, settings, baseline)
    units = [sample.units for sample, _ in _matched(scores, settings, int(scores.counted.any(axis=0).sum()))]
    return resolution_notes(settings, scores.measures, units)


def compared_pairs(scores: ScoreTable, baseline: str | None) -> tuple[str | None, Integers]:
    """The baseline, and the runs of every pair in each measure, (measure, pair, 2).

    ``best`` is the best run of each measure, unless a run has this name; if one run is the best in all, it is that one.
    """
    if baseline != BEST or BEST in scores.runs:
        return baseline, np.array([run_pairs(scores.runs, baseline)] * len(scores.measures))
    best = [scores.order(measure)[0] for measure in scores.measures]
    pairs = np.array([run_pairs(scores.runs, run) for run in best])
    return best[0] if len(set(best)) == 1 else BEST, pairs


def run_pairs(runs: Sequence[str], baseline: str | None) -> Integers:
    """The runs of every pair, or of each and the baseline, (pair, 2)."""
    if len(runs) < 2:
        message = "compare needs at least two runs"
        saved = "; a baseline is one of the runs, or a file of scores that ends in .json"
        raise UsageError(message, hint="only one run was given" + (saved if baseline else ""))
    if baseline is None:
        return np.array(list(combinations(range(len(runs)), 2)))
    if baseline not in runs:
        raise UsageError(f"the baseline `{baseline}` is not one of the runs", hint=f"the runs are {few(runs, 10)}")
    at = runs.index(baseline)
    return np.array([(r, at) for r in range(len(runs)) if r != at])


def check_comparable(columns: Sequence[Column]) -> None:
    """Raise if a measure has no value of its own for a query."""
    for column in columns:
        if column.aggregate == "geometric":
            raise UsageError(
                f"{column.label} is a geometric mean over queries and has no per-query values to compare",
                hint="compare AP instead",
            )


def check_query_count(measure: str, used: int, of: int) -> None:
    """Raise if too few queries have a value in every run."""
    if used < 2:
        raise InputError(
            [f"{measure}: {used} of {of} queries have a value in every run; a test needs at least two"],
            hint="check that the runs answer the same queries",
        )


def _matched(scores: Scores, settings: ComparisonSettings, of: int) -> list[tuple[Sample, tuple[str, ...]]]:
    """What the test sees of each measure, and the queries for which every run has a value."""
    design: dict[str, Any] = {name: getattr(settings, name) for name in ("cluster", "collection", "repeats")}
    matched = [matched_sample(scores, m, **design) for m in range(len(scores.measures))]
    for measure, (_, queries) in zip(scores.measures, matched, strict=True):
        check_query_count(measure, len(queries), of)
    return matched


def build_comparison(
    settings: ComparisonSettings,
    scores: ScoreTable,
    baseline: str | None,
    pairs: Integers,
    all_queries: Sequence[str],
    queries: Sequence[tuple[str, ...]],
    outcomes: Sequence[MeasureComparison],
) -> Comparison:
    """The comparisons of all measures together: p-values corrected, and notes.

    ``all_queries`` are the queries that count for some run, ``queries`` those on which each measure was compared.
    """
    test, runs, measures = settings.chosen, scores.runs, scores.measures
    units = tuple(outcome.units for outcome in outcomes)
    p: dict[Test, Floats] = {name: np.array([outcome.p[name] for outcome in outcomes]) for name in settings.tests}
    fields = [name for name in MeasureComparison._fields if name not in ("p", "anova", "units")]
    arrays: dict[str, Any] = {name: np.array([getattr(outcome, name) for outcome in outcomes]) for name in fields}
    lower = [[column.lower_is_better] for column in scores.columns]
    up, down = arrays.pop("higher"), arrays.pop("lower")
    number = pairs.shape[1]
    other = "the best run" if baseline == BEST and BEST not in runs else baseline
    against = plural(number, "pair") if baseline is None else f"{plural(number, 'run')} against {other}"
    across = settings.family == "all"
    return Comparison(
        runs=runs,
        measures=measures,
        pairs=pairs,
        baseline=baseline,
        queries=tuple(queries),
        p=p,
        corrected=corrected(p[test], settings.correction)
        if across
        else np.array([corrected(row, settings.correction) for row in p[test]]),
        doubts=(((),) * number,) * len(measures),
        anova=tuple(outcome.anova for outcome in outcomes),
        test=test,
        correction=settings.correction,
        family=f"{against} in all {len(measures)} measures" if across else f"{against} per measure",
        alpha=settings.alpha,
        level=settings.confidence,
        samples=settings.resamples,
        seed=settings.seed,
        lowest_p=np.array([lowest_p(settings, number) for number in units]),
        better=tuple(column.better for column in scores.columns),
        units=units,
        cluster=settings.cluster,
        collection=settings.collection,
        query_notes=tuple(_query_notes(measures, all_queries, queries)),
        resolution_notes=tuple(resolution_notes(settings, measures, units)),
        wins=np.where(lower, down, up),
        losses=np.where(lower, up, down),
        **arrays,
    )


def resolution_notes(settings: ComparisonSettings, measures: Sequence[str], units: Sequence[int]) -> list[Note]:
    """The number of resamples, if it was raised; a warning if no p-value can be significant after correction.

    ``units``: how many queries, or clusters of them, are compared, for each measure.
    """
    notes = []
    test, tests = SIGNIFICANCE_TESTS[settings.chosen], settings.together
    if test.resamples and settings.resamples > DEFAULT_SAMPLES and DEFAULT_SAMPLES * settings.alpha <= tests:
        raised = {"resamples": settings.resamples, "default": DEFAULT_SAMPLES, "pairs": tests}
        notes.append(Note("resamples_raised", values=raised))
    lowest = {measure: lowest_p(settings, number) for measure, number in zip(measures, units, strict=True)}
    unable = {measure: p for measure, p in lowest.items() if p >= settings.alpha}
    if unable:
        values = {
            "test": settings.chosen,
            "measures": [] if len(unable) == len(lowest) else list(unable),
            "lowest_p": sorted(unable.values()),
            # Either the signs of the differences have too few patterns, or too few of them are drawn.
            "more": "queries" if test.signs and 2.0 ** min(max(units) - 1, 60) <= settings.resamples else "samples",
            "fewer_pairs": settings.multiplied and tests > 1,
        }
        notes.append(Note("none_significant", values=values))
    return notes


def _query_notes(measures: Sequence[str], all_queries: Sequence[str], used: Sequence[tuple[str, ...]]) -> list[Note]:
    """Which queries were used, and which were left out."""
    notes = []
    for queries in dict.fromkeys(used):
        same = [m for m, others in zip(measures, used, strict=True) if others == queries]
        used_queries = set(queries)
        missing = [query for query in all_queries if query not in used_queries]
        values = {
            "measures": [] if len(same) == len(measures) else same,
            "queries": QueryNames.of(queries),
            "left_out": QueryNames.of(missing),
        }
        notes.append(Note("compared", values=values))
    return notes
