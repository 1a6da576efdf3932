"""Significance of the differences between runs: p-values of every pair of runs, by any of the tests.

Each test is one record; to add a test is to add a record.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import compress
from typing import Annotated, Any, Literal, NamedTuple, get_args

import numpy as np

from cranfield.analysis.audit import Cause
from cranfield.data import Booleans, Floats, Integers
from cranfield.errors import UsageError
from cranfield.measures.catalogue import Better
from cranfield.parallel import parallel
from cranfield.settings import RARE, Chance, Choices, Option, Samples, Whole, check_fields
from cranfield.statistics.design import Design, Error, Repeated, Sample
from cranfield.statistics.intervals import (
    bca,
    bootstrap_t,
    effect_of_error,
    effect_size,
    inverted,
    student,
    subset_means,
)
from cranfield.statistics.resampling import (
    Anova,
    Correction,
    anova,
    bootstrap_p_values,
    corrected,
    discriminate,
    hodges_lehmann,
    randomisation_p_values,
    rank_direction,
    sign_direction,
    sign_test,
    t_test,
    tested_at,
    tukey,
    tukey_distance,
    wilcoxon,
)
from cranfield.statistics.rounding import SAME, equalize

Test = Literal["randomisation", "t", "wilcoxon", "sign", "bootstrap", "tukey", "randomised-tukey"]
TESTS: tuple[Test, ...] = get_args(Test)
Family = Literal["measure", "all"]
FAMILIES: tuple[Family, ...] = get_args(Family)
MOST_SIGNS = 1000  # 2 to this power is still a finite float
DEFAULT_SAMPLES = 100_000
# If that is too few for the number of pairs: so many that a p-value can be this many times below the level, if the
# signs for so many queries fit into this number of bytes.
MARGIN = 1.25
MOST_DRAWN = 1 << 29
CELLS = 1 << 17  # differences of pairs by query that are held at a time: there are parts for all cores


@dataclass(frozen=True)
class ComparisonSettings:
    """The arguments of `compare`, which explains them, that do not depend on the scores; checked.

    ``test``: None until `for_scores` has chosen it; ``tests`` begins with it. ``samples``: the number of resamples;
    None until `choose_samples` has chosen it. ``level``: of intervals; None for 1 - alpha. A joint test needs no
    correction. ``baseline``: the run that all others are compared with; None for all pairs. ``cluster``,
    ``collection``: attributes of queries; ``repeats``: whether the repeats of runs stand for others (random), or are
    the only ones of interest (fixed); None if no run has any. ``audit``: whether it is checked what could reverse a
    difference.
    """

    test: Annotated[
        Test | None,
        "Significance test; tukey is the analytic HSD test, randomised-tukey its randomised form.",
        Option(default="randomisation; t for repeats"),
    ] = None
    tests: Annotated[
        tuple[Annotated[Test, Choices((*TESTS, "all"))], ...],
        "Also show the p-values of this test; may be repeated.",
        RARE,
    ] = ()
    correction: Annotated[Correction, "Multiple-testing correction.", RARE] = "holm"
    family: Annotated[Family, "Correct within each measure, or across all measures.", RARE] = "measure"
    alpha: Annotated[Chance, "Significance level: corrected p-values below it are significant.", RARE] = 0.05
    level: Annotated[Chance | None, "Level of confidence intervals."] = None
    samples: Annotated[
        Samples | None,
        "Number of resamples.",
        Option(rare=True, default="100000, or more if that is too few for the number of pairs"),
    ] = None
    seed: Whole = 0
    cluster: Annotated[
        str | None,
        "Query attribute that groups dependent queries, such as topic or conversation; they are resampled together.",
        Option(metavar="ATTRIBUTE", rare=True),
    ] = None
    collection: Annotated[
        str | None,
        "Query attribute that names the collection; means are taken in each collection, then over collections.",
        Option(metavar="ATTRIBUTE", rare=True),
    ] = None
    repeats: Annotated[
        Repeated | None,
        "Treat the repeats of a run as a sample of possible repeats (random), or as the only ones of interest (fixed).",
        RARE,
    ] = "random"
    baseline: str | None = None
    audit: Annotated[bool, "Check whether ties or unjudged documents could reverse a difference."] = True
    together: int = 1  # the number of p-values that are corrected together; set by `choose_samples`

    def __post_init__(self) -> None:
        check_fields(self)
        given = TESTS if "all" in map(str, self.tests) else self.tests
        tests = tuple(dict.fromkeys((*([self.test] if self.test else []), *given)))
        object.__setattr__(self, "tests", tests)
        if self.test and SIGNIFICANCE_TESTS[self.test].joint:
            if self.family == "all":
                raise UsageError(
                    f"{self.test} tests the pairs of one measure, not of all measures",
                    hint="use family=measure or another test",
                )
            object.__setattr__(self, "correction", "none")

    def for_scores(self, *, repeated: bool) -> ComparisonSettings:
        """The settings with a test: by default randomisation, and Student's t if runs have random repeats."""
        repeats = self.repeats if repeated else None
        default: Test = "t" if repeats == "random" else "randomisation"
        return replace(self, repeats=repeats, test=self.test or default)

    @property
    def chosen(self) -> Test:
        """The test, which has been chosen."""
        assert self.test is not None
        return self.test

    @property
    def resamples(self) -> int:
        """The number of resamples, the default unless another was chosen."""
        return self.samples or DEFAULT_SAMPLES

    @property
    def multiplied(self) -> bool:
        """Whether the correction multiplies the lowest p-value by the number of tests."""
        return self.correction in ("holm", "bonferroni")

    @property
    def confidence(self) -> float:
        """The level of intervals: by default that of the test, so that the two agree."""
        return 1 - self.alpha if self.level is None else self.level

    @property
    def lowest_level(self) -> float:
        """The level at which the correction tests the first of the pairs; a joint test, about that of each."""
        return self.alpha / (self.together if self.multiplied or SIGNIFICANCE_TESTS[self.chosen].joint else 1)

    @property
    def of_groups(self) -> dict[str, Any]:
        """The arguments of `Scores.by` for the same design."""
        return {"cluster": self.cluster, "repeats": self.repeats, "level": self.confidence, "seed": self.seed}

    def check_design(self, sample: Sample) -> None:
        """Raise if a test is not defined for the design."""
        parts = {
            "clusters of queries": sample.design is not None and sample.design.clusters < sample.x.shape[1],
            "several collections": sample.design is not None and sample.design.collections > 1,
            "random repeats": bool(sample.repeats),
        }
        for name in self.tests:
            test = SIGNIFICANCE_TESTS[name]
            for part, present in parts.items():
                if present and part in test.undefined:
                    fits = [
                        other for other, test_record in SIGNIFICANCE_TESTS.items() if part not in test_record.undefined
                    ]
                    fixed = ", or repeats=fixed to compare these very repeats" if part == "random repeats" else ""
                    raise UsageError(
                        f"{name} is not defined for {part}: {test.undefined[part]}",
                        hint=f"use test={' or '.join(fits)}{fixed}",
                    )


INDEPENDENT = "it takes queries to be independent"
POOLED = "it pools queries, and has no mean of the collections' means"
NO_SEEDS = "it does not know how much repeats differ"
NOT_DESIGNED = {"clusters of queries": INDEPENDENT, "several collections": POOLED, "random repeats": NO_SEEDS}


@dataclass(frozen=True)
class SignificanceTest:
    """One test.

    ``title`` is its name in reports; ``about`` says what it tests, and what it assumes. ``p_values`` takes a sample and
    pairs of runs, and returns a p-value for each pair; ``interval`` also takes the level of each interval, and returns
    the differences, (pair, 2), between which the test rejects none. ``estimate`` and ``direction``: of differences
    (pair, query), how large they are by the test, and which way its statistic points (1, 0 or -1); None for their mean
    and its sign. ``quantity``: what the estimate is.
    A ``joint`` test tests all pairs of a measure at once and needs no correction. A test that ``resamples`` cannot give
    a p-value below one over the number of samples; a test of ``signs``, below one over the number of their patterns.
    ``undefined``: the designs that it cannot test, with reasons. ``cite``: keys of the bibliography.
    """

    title: str
    about: str
    cite: str
    p_values: Callable[[Sample, Integers, ComparisonSettings], Floats]
    interval: Callable[[Sample, Integers, ComparisonSettings, Floats], Floats]
    joint: bool = False
    resamples: bool = False
    signs: bool = False
    undefined: Mapping[str, str] = field(default_factory=dict)
    quantity: str = "difference"
    estimate: Callable[[Floats], Floats] | None = None
    direction: Callable[[Floats], Integers] | None = None


def _of_pairs(p: Floats, pairs: Integers, systems: int) -> Floats:
    """P-values of these pairs out of those of all pairs (0, 1), (0, 2), ..., (1, 2), ..."""
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    return p[low * systems - low * (low + 1) // 2 + high - low - 1]


def _around(sample: Sample, pairs: Integers, distance: float | Floats) -> Floats:
    """The intervals that reach this far from the observed differences, (pair, 2)."""
    means = sample.means
    difference = means[pairs[:, 0]] - means[pairs[:, 1]]
    distance = np.where(np.isinf(distance) & (np.abs(difference) <= SAME), 0, distance)  # equal runs are equal
    return np.stack([difference - distance, difference + distance], axis=1)


def _randomisation(sample: Sample, pairs: Integers, settings: ComparisonSettings) -> Floats:
    table = sample.units_table
    p = randomisation_p_values(table, samples=settings.resamples, seed=settings.seed)
    return _of_pairs(p, pairs, len(table))


def _t_interval(sample: Sample, pairs: Integers, _: ComparisonSettings, level: Floats) -> Floats:
    if not sample.is_plain:
        error = sample.error(pairs)
        unknown = np.where((error.variance == 0) & (np.abs(error.estimate) > SAME), math.inf, 0)
        return error.interval(level) + np.stack([-unknown, unknown], axis=1)
    return each_pair(lambda differences, level: student(differences, level=level), sample.x, pairs, level)


def _error(sample: Sample, pairs: Integers) -> Error:
    """The error of the mean difference of each pair."""
    if not sample.is_plain:
        return sample.error(pairs)
    x, queries = sample.x, sample.x.shape[1]
    difference = each_pair(lambda differences: differences.mean(axis=1), x, pairs)
    spread = each_pair(lambda differences: np.ptp(equalize(differences), axis=1), x, pairs)
    of_queries = each_pair(lambda differences: differences.var(axis=1, ddof=1) / queries, x, pairs)
    of_queries[spread == 0] = 0
    return Error(difference, of_queries, np.zeros(len(pairs)), np.full(len(pairs), queries - 1.0))


def _bootstrap(sample: Sample, pairs: Integers, settings: ComparisonSettings) -> Floats:
    if not sample.is_plain:
        return sample.bootstrap(pairs, settings.resamples, settings.seed)
    p = bootstrap_p_values(sample.x, samples=settings.resamples, seed=settings.seed)
    # As in the other tests the data themselves count as a sample: no number of samples makes a p-value 0.
    p_values = (settings.resamples * _of_pairs(p, pairs, len(sample.x)) + 1) / (settings.resamples + 1)
    return np.where(_error(sample, pairs).variance == 0, 1.0, p_values)


def _bootstrap_interval(sample: Sample, pairs: Integers, settings: ComparisonSettings, level: Floats) -> Floats:
    return bootstrap_t(
        sample, pairs, _error(sample, pairs), level=level, resamples=settings.resamples, seed=settings.seed
    )


def _randomised_tukey(sample: Sample, pairs: Integers, settings: ComparisonSettings) -> Floats:
    p = discriminate(sample.x, "randomised-tukey", samples=settings.resamples, seed=settings.seed).p
    return _of_pairs(p, pairs, len(sample.x))


def _randomised_tukey_interval(sample: Sample, pairs: Integers, settings: ComparisonSettings, _: Floats) -> Floats:
    alpha = 1 - settings.confidence
    tests = discriminate(sample.x, "randomised-tukey", samples=settings.resamples, alpha=alpha, seed=settings.seed)
    return _around(sample, pairs, _of_pairs(tests.required, pairs, len(sample.x)))


def _by_difference(
    title: str,
    about: str,
    cite: str,
    test: Callable[[Floats], Floats],
    quantity: str,
    estimate: Callable[[Floats], Floats],
    direction: Callable[[Floats], Integers],
) -> SignificanceTest:
    """A test of the signs of single differences."""

    def interval(sample: Sample, pairs: Integers, _: ComparisonSettings, level: Floats) -> Floats:
        limits: Floats = each_pair(lambda x, p: inverted(test, estimate, x, p), sample.x, pairs, 1 - level)
        return limits

    return SignificanceTest(
        title,
        about,
        cite,
        lambda sample, pairs, _: each_pair(test, sample.x, pairs),
        interval,
        signs=True,
        undefined=NOT_DESIGNED,
        quantity=quantity,
        estimate=estimate,
        direction=direction,
    )


SIGNIFICANCE_TESTS: dict[Test, SignificanceTest] = {
    "randomisation": SignificanceTest(
        "paired randomisation test",
        "Whether the scores of two runs could be exchanged on any query, or on any cluster of queries: the signs of "
        "differences are flipped. It is the test to trust with few clusters, or with clusters of different size.",
        "fisher1935 smucker2007",
        _randomisation,
        lambda sample, pairs, how, level: subset_means(sample.units_table, pairs, level=level, seed=how.seed),
        resamples=True,
        signs=True,
        undefined={"random repeats": NO_SEEDS},
    ),
    "t": SignificanceTest(
        "paired t-test",
        "Whether the mean difference is large for its standard error. It takes differences to be nearly normal: with "
        "few queries and rare large losses, it calls equal runs different too often.",
        "student1908",
        lambda sample, pairs, _: (
            each_pair(t_test, sample.x, pairs) if sample.is_plain else sample.error(pairs).t_test()
        ),
        _t_interval,
    ),
    "wilcoxon": _by_difference(
        "Wilcoxon signed-rank test",
        "Whether differences are as large above 0 as below it, by their ranks. Many small wins count more than a few "
        "large losses, so that it may point another way than the mean.",
        "wilcoxon1945 hodges1963",
        wilcoxon,
        "Hodges-Lehmann difference",
        hodges_lehmann,
        rank_direction,
    ),
    "sign": _by_difference(
        "sign test",
        "Whether a run is better as often as it is worse. The size of differences does not count, so that it may point "
        "another way than the mean.",
        "dixon1946",
        sign_test,
        "median difference",
        lambda difference: np.median(difference, axis=1),
        sign_direction,
    ),
    "bootstrap": SignificanceTest(
        "paired bootstrap test",
        "Whether the mean difference is large for its standard error, compared with resamples of the queries, or of "
        "clusters of queries. With many differences of 0 it finds little.",
        "efron1993 sakai2006b",
        _bootstrap,
        _bootstrap_interval,
        resamples=True,
    ),
    "tukey": SignificanceTest(
        "Tukey's HSD",
        "Whether a difference is larger than the largest one of runs that are all equal. It takes all pairs of runs to "
        "vary alike: near clones beside other runs are called different two to three times as often as alpha says. t "
        "with Holm's correction assumes no such thing.",
        "tukey1949",
        lambda sample, pairs, _: tukey(sample.x, pairs),
        lambda sample, pairs, how, _: _around(sample, pairs, tukey_distance(sample.x, how.confidence)),
        joint=True,
        undefined=NOT_DESIGNED,
    ),
    "randomised-tukey": SignificanceTest(
        "randomised Tukey HSD",
        "Whether a difference is larger than the largest one if the scores of each query are permuted among all runs. "
        "It takes all runs to be exchangeable at once: near clones beside other runs are called different two to three "
        "times as often as alpha says, and beside one bad run it finds no other difference. Randomisation with Holm's "
        "correction assumes no such thing.",
        "carterette2012",
        _randomised_tukey,
        _randomised_tukey_interval,
        joint=True,
        resamples=True,
        undefined=NOT_DESIGNED,
    ),
}
# The papers of corrections, as keys of the bibliography.
CORRECTION_PAPERS: dict[str, str] = {"holm": "holm1979", "bonferroni": "dunn1961", "bh": "benjamini1995"}


def each_pair(statistic: Callable[..., Any], x: Floats, pairs: Integers, *of_pairs: Floats) -> Any:
    """A statistic of the differences (pair, query), for some pairs at a time; ``of_pairs``: more arguments, by pair."""
    step = max(1, CELLS // x.shape[1])
    parts = (slice(i, i + step) for i in range(0, len(pairs), step))

    def of_part(part: slice) -> Any:
        first, second = pairs[part].T
        return statistic(x[first] - x[second], *(values[part] for values in of_pairs))

    return np.concatenate([*parallel(of_part, parts)])


class PairComparison(NamedTuple):
    """One measure of two runs: how much ``run`` differs from ``other``, and what it means.

    ``difference``: the mean of ``run`` minus that of ``other``. ``estimate``: the difference that belongs to the test:
    of the sign test the median of differences, of Wilcoxon's that of Hodges and Lehmann, of others the same.
    ``direction``: which way the statistic of the test points, 1, 0 or -1; a significant difference has this direction.
    ``low``, ``high``: the interval of the estimate by the test, at the level at which the correction tested the pair:
    it excludes 0 if and only if the difference is significant, and is infinite if the test cannot decide. ``p``: of the
    test; ``corrected``: the same for the number of pairs. ``doubts``: what could reverse the difference without any new
    query; None if that was not checked. ``t_low``, ``t_high``, ``bca_low``, ``bca_high``: intervals of this difference
    alone, by Student's t and by the bootstrap. ``effect``: the difference in units of its standard deviation.
    ``variance``: of the difference, by queries and by random repeats; ``degrees``: of freedom, of both together;
    ``skewness``: of the mean difference. ``wins``, ``ties``, ``losses``: queries on which ``run`` is better,
    equal or worse. ``raised``, ``lowered``: independent queries, or clusters of them, whose value is higher or lower.
    ``tests``: the p-values of all tests.
    """

    measure: str
    run: str
    other: str
    mean: float
    other_mean: float
    difference: float
    estimate: float
    direction: int
    low: float
    high: float
    p: float
    corrected: float
    significant: bool
    doubts: tuple[Cause, ...] | None
    t_low: float
    t_high: float
    bca_low: float
    bca_high: float
    effect: float
    effect_low: float
    effect_high: float
    variance: tuple[float, float]
    degrees: float
    skewness: float
    wins: int
    ties: int
    losses: int
    raised: int
    lowered: int
    tests: dict[Test, float]

    @property
    def decides(self) -> bool:
        """Whether the test could reject anything: there is a spread, and there are queries enough."""
        return math.isfinite(self.low) or math.isfinite(self.high)

    @property
    def queries(self) -> int:
        """The number of queries that were compared."""
        return self.wins + self.ties + self.losses

    def detectable(self, alpha: float = 0.05, *, power: float = 0.8) -> float:
        """The smallest true difference that a test with these queries and repeats would find with this power."""
        from cranfield.statistics.sample_size import detectable_shift

        return detectable_shift(self.degrees, alpha, power) * math.sqrt(sum(self.variance))

    def queries_needed(self, difference: float, alpha: float = 0.05, *, power: float = 0.8) -> int | None:
        """How many queries a test would need to find a true difference of this size with this power.

        With the same repeats, and of clusters as large as these; None if no number of queries is enough, or too many.
        """
        from cranfield.statistics.sample_size import queries_needed

        of_queries, of_repeats = self.variance
        # Of the degrees of freedom of both together, those of the queries are known.
        rest = (of_queries + of_repeats) ** 2 / self.degrees - of_queries**2 / (self.queries - 1)
        more = {"fixed": of_repeats, "freedom": of_repeats**2 / rest} if of_repeats > 0 and rest > 0 else {}
        return queries_needed(of_queries * self.queries, difference, alpha=alpha, power=power, **more)


# Arrays of a `MeasureComparison` by pair that change their sign if its runs change places; and ends of intervals.
SIGNED = ("difference", "estimate", "direction", "effect", "skewness")
ENDS = (("low", "high"), ("t_low", "t_high"), ("effect_low", "effect_high"))


@dataclass(frozen=True, eq=False)
class MeasureComparison:
    """The comparison of one measure. Arrays are by pair, and ``means`` by run; `pairs` has the same with names.

    ``places`` (pair, 2): the index of the run and of the other one. ``queries``: those for which every run has a value;
    only these are compared. ``means``: over these queries, or over the means of collections. ``units``: how many
    independent queries, or clusters of them, there are. ``largest``: the largest possible difference, the range of the
    measure. ``lowest_p``: the lowest corrected p-value that the test could
    give; if it is not below alpha, no difference can be significant. ``sources``: of each repeated run, the variance
    of a score between queries, between repeats, and the rest. ``bca``: computes the ends of the BCa intervals,
    (pair, 2), which take longer than a test, and few readers show. The other fields are those of `PairComparison`.
    """

    measure: str
    better: Better
    runs: tuple[str, ...]
    queries: tuple[str, ...]
    places: Integers
    means: Floats
    difference: Floats
    estimate: Floats
    direction: Integers
    low: Floats
    high: Floats
    tests: dict[Test, Floats]
    p: Floats
    corrected: Floats
    significant: Booleans
    t_low: Floats
    t_high: Floats
    bca: Callable[[], Floats]
    effect: Floats
    effect_low: Floats
    effect_high: Floats
    variance: Floats
    degrees: Floats
    skewness: Floats
    wins: Integers
    losses: Integers
    raised: Integers
    lowered: Integers
    units: int
    largest: float
    lowest_p: float
    anova: Anova
    sources: dict[str, tuple[float, float, float]]
    doubts: tuple[tuple[Cause, ...] | None, ...]

    @property
    def sign(self) -> int:
        """1, or -1 if lower values are better."""
        return -1 if self.better == "lower" else 1

    @cached_property
    def _bca(self) -> Floats:
        return self.bca()

    @property
    def bca_low(self) -> Floats:
        """The lower end of the BCa interval of each pair."""
        return self._bca[:, 0]

    @property
    def bca_high(self) -> Floats:
        """The upper end of the BCa interval of each pair."""
        return self._bca[:, 1]

    @cached_property
    def pairs(self) -> tuple[PairComparison, ...]:
        """Every pair of runs that was compared."""
        wins, losses = self.wins.tolist(), self.losses.tolist()
        means = self.means.tolist()
        columns: dict[str, Sequence[Any]] = {
            **{name: getattr(self, name).tolist() for name in BY_PAIR},
            "variance": list(map(tuple, self.variance.tolist())),
            "doubts": self.doubts,
            "run": [self.runs[a] for a, _ in self.places.tolist()],
            "other": [self.runs[b] for _, b in self.places.tolist()],
            "mean": [means[a] for a, _ in self.places.tolist()],
            "other_mean": [means[b] for _, b in self.places.tolist()],
            "measure": [self.measure] * len(wins),
            "ties": [len(self.queries) - won - lost for won, lost in zip(wins, losses, strict=True)],
            "tests": [
                dict(zip(self.tests, of_pair, strict=True))
                for of_pair in zip(*(p.tolist() for p in self.tests.values()), strict=True)
            ],
        }
        rows = zip(*(columns[name] for name in PairComparison._fields), strict=True)
        return tuple(PairComparison(*row) for row in rows)

    @property
    def significant_doubts(self) -> list[tuple[Cause, ...] | None]:
        """What could reverse each significant difference; None where that was not checked."""
        return list(compress(self.doubts, self.significant.tolist()))

    @property
    def verdict(self) -> Integers:
        """Of each pair 1 if the run is significantly better than the other, -1 if it is worse, and 0 otherwise."""
        return np.where(self.significant, self.direction * self.sign, 0)

    @cached_property
    def ranks(self) -> dict[str, tuple[int, int]]:
        """The ranks that each run may have, if all pairs were compared."""
        verdict = self.verdict
        first, second = self.places.T
        runs = len(self.runs)
        ahead = np.bincount(first, verdict < 0, runs) + np.bincount(second, verdict > 0, runs)
        behind = np.bincount(first, verdict > 0, runs) + np.bincount(second, verdict < 0, runs)
        limits = zip((1 + ahead).astype(int).tolist(), (runs - behind).astype(int).tolist(), strict=True)
        return dict(zip(self.runs, limits, strict=True))

    @property
    def order(self) -> list[int]:
        """The indices of the runs, best first."""
        order: list[int] = np.argsort(-self.means * self.sign, kind="stable").tolist()
        return order

    @property
    def turned(self) -> MeasureComparison:
        """The same, with the other run of each pair first."""
        changed: dict[str, Any] = {name: 0 - getattr(self, name) for name in SIGNED}
        changed |= {a: 0 - getattr(self, b) for pair in ENDS for a, b in (pair, pair[::-1])}
        changed |= {"wins": self.losses, "losses": self.wins, "raised": self.lowered, "lowered": self.raised}
        return replace(self, places=self.places[:, ::-1], bca=partial(_turned, self.bca), **changed)


def _turned(interval: Callable[[], Floats]) -> Floats:
    """The intervals of differences with the other sign."""
    return 0 - interval()[:, ::-1]


# What a pair has besides these names, `MeasureComparison` has as an array by pair.
_NOT_ARRAYS = ("measure", "run", "other", "mean", "other_mean", "ties", "tests", "doubts", "variance")
BY_PAIR = tuple(name for name in PairComparison._fields if name not in _NOT_ARRAYS)


def choose_samples(settings: ComparisonSettings, queries: int, tests: int) -> ComparisonSettings:
    """The settings for so many tests, with a number of resamples that can decide unless the user chose one.

    After correction for many pairs, the default number of resamples may be too low for any difference to be
    significant. ``tests``: the number of p-values that are corrected together.
    """
    if settings.samples is not None:
        return replace(settings, together=tests)
    samples = DEFAULT_SAMPLES
    if (
        SIGNIFICANCE_TESTS[settings.chosen].resamples
        and settings.multiplied
        and tests / (samples + 1) >= settings.alpha
    ):
        enough = math.ceil(MARGIN * tests / settings.alpha / samples) * samples
        samples = enough if enough * queries <= MOST_DRAWN else samples
    return replace(settings, samples=samples, together=tests)


def lowest_p(settings: ComparisonSettings, units: int, *, sides: Literal[1, 2] = 2) -> float:
    """The lowest corrected p-value that the test could give; if it is not below alpha, nothing can be significant.

    ``units``: how many queries, or clusters of them, are compared. ``sides``: of the test.
    """
    test = SIGNIFICANCE_TESTS[settings.chosen]
    patterns = 2.0 ** min(units + 1 - sides, MOST_SIGNS) if test.signs else math.inf
    if test.resamples:
        patterns = min(patterns, settings.resamples + 1)
    return min(1 / patterns * (settings.together if settings.multiplied else 1), 1.0)


def p_values(sample: Sample, pairs: Integers, settings: ComparisonSettings) -> dict[Test, Floats]:
    """The p-values of all tests, from values that are all defined."""
    settings.check_design(sample)
    sample = sample._replace(x=np.ascontiguousarray(sample.x))  # so that results do not depend on memory layout
    return {test: SIGNIFICANCE_TESTS[test].p_values(sample, pairs, settings) for test in settings.tests}


class Corrected(NamedTuple):
    """P-values of one measure, corrected, and the level at which the correction tested each."""

    p: Floats
    level: Floats


def correct(p: Sequence[Floats], settings: ComparisonSettings) -> list[Corrected]:
    """The p-values of all measures, corrected within each measure or together."""
    if settings.family == "all":
        every = np.array(p)
        return [*map(Corrected, *(f(every) for f in _corrections(settings)))]
    return [Corrected(*(f(of_measure) for f in _corrections(settings))) for of_measure in p]


def _corrections(settings: ComparisonSettings) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]:
    method, alpha = settings.correction, settings.alpha
    return (lambda p: corrected(p, method)), (lambda p: tested_at(p, method, alpha))


def compare_pairs(
    sample: Sample, pairs: Integers, settings: ComparisonSettings, p: dict[Test, Floats], correction: Corrected
) -> dict[str, Any]:
    """The fields of a `MeasureComparison` that do not name anything, from values that are all defined."""
    x = np.ascontiguousarray(sample.x)  # so that results do not depend on memory layout
    sample = sample._replace(x=x)
    confidence, significant = settings.confidence, correction.p < settings.alpha
    t_low, t_high = _t_interval(sample, pairs, settings, np.full(len(pairs), confidence)).T
    error = _error(sample, pairs)
    if sample.is_plain:
        effect = each_pair(lambda differences: effect_size(differences, level=confidence), x, pairs)
    else:
        spread = each_pair(lambda differences: differences.std(axis=1, ddof=1), x, pairs)
        effect = effect_of_error(error, spread, level=confidence)
    test = SIGNIFICANCE_TESTS[settings.chosen]
    estimate = error.estimate if test.estimate is None else each_pair(test.estimate, x, pairs)
    direction = np.sign(error.estimate) if test.direction is None else each_pair(test.direction, x, pairs)
    low, high = _test_interval(sample, pairs, settings, p[settings.chosen], correction, direction)
    moved = (sample.design or Design.of(x.shape[1])).deviations(x)  # how much each unit moves the mean
    third = each_pair(lambda differences: (differences**3).sum(axis=1), moved, pairs)
    flat = error.variance <= SAME**2
    units = sample.units_table
    return {
        "means": _means(sample),
        "difference": error.estimate,
        "estimate": estimate,
        "direction": direction.astype(np.int64),
        "low": low,
        "high": high,
        "tests": p,
        "p": p[settings.chosen],
        "corrected": correction.p,
        "significant": significant,
        "t_low": t_low,
        "t_high": t_high,
        "bca": partial(_bca_interval, sample, pairs, confidence, settings.seed),
        **dict(zip(("effect", "effect_low", "effect_high"), effect.T, strict=True)),
        "variance": np.stack([error.from_queries, error.from_repeats], axis=1),
        "degrees": error.degrees,
        "skewness": np.where(flat, 0, third / np.where(flat, 1, error.variance) ** 1.5),
        "raised": each_pair(lambda differences: (differences > SAME).sum(axis=1), units, pairs),
        "lowered": each_pair(lambda differences: (differences < -SAME).sum(axis=1), units, pairs),
        "wins": each_pair(lambda differences: (differences > SAME).sum(axis=1), x, pairs),
        "losses": each_pair(lambda differences: (differences < -SAME).sum(axis=1), x, pairs),
        "units": sample.units,
        "lowest_p": lowest_p(settings, sample.units),
        "anova": anova(x),
    }


def _bca_interval(sample: Sample, pairs: Integers, level: float, seed: int) -> Floats:
    """The BCa interval of each pair, (pair, 2); NaN where a run has no repeats to draw."""
    interval = bca(sample, pairs, level=level, seed=seed)
    interval[sample.borrowed(pairs)] = np.nan
    return interval


def _means(sample: Sample) -> Floats:
    """The mean of each run, rounded once as those of scores; of several collections, the mean of their means."""
    collection = np.zeros(sample.x.shape[1], np.int64) if sample.design is None else sample.design.collection
    parts = [sample.x[:, collection == c].tolist() for c in range(int(collection.max()) + 1)]
    means = ([math.fsum(row) / len(row) for row in part] for part in parts)
    return np.array([math.fsum(of_run) / len(of_run) for of_run in zip(*means, strict=True)])


def _test_interval(
    sample: Sample,
    pairs: Integers,
    settings: ComparisonSettings,
    p: Floats,
    correction: Corrected,
    direction: Floats | Integers,
) -> Floats:
    """The interval of each difference at the level at which it was tested, (2, pair).

    Interval and test are one statement, but may be drawn from other resamples: at the limit, the test decides.
    """
    error = (1 - settings.confidence) * (correction.level / settings.alpha)
    test = SIGNIFICANCE_TESTS[settings.chosen]
    low, high = test.interval(sample, pairs, settings, 1 - error).T
    open_ = p >= error * (1 - SAME)
    if settings.confidence == 1 - settings.alpha:
        open_ = correction.p >= settings.alpha
    low, high = np.where(open_, low.clip(max=0), low), np.where(open_, high.clip(min=0), high)
    contains = ~open_ & (low <= 0) & (high >= 0)
    above = contains & (direction > 0)
    return np.array([np.where(above, SAME, low), np.where(contains & ~above, -SAME, high)])
