"""Significance of the differences between runs: p-values of every pair of runs, by any of the tests.

Each test is one record; to add a test is to add a record.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.errors import UsageError, check_choice, check_count, check_fraction
from cranfield.parallel import parallel
from cranfield.record import record
from cranfield.statistics.design import REPEATED, Error, Repeated, Sample
from cranfield.statistics.intervals import bca, effect_of_error, effect_size, inverted, student, subset_means
from cranfield.statistics.resampling import (
    CORRECTIONS,
    Anova,
    Correction,
    anova,
    bootstrap_p_values,
    discriminate,
    randomisation_p_values,
    sign_test,
    t_test,
    tukey,
    tukey_distance,
    wilcoxon,
)
from cranfield.statistics.rounding import SAME

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


@record
class ComparisonSettings:
    """The arguments of `compare`, which explains them, that do not depend on the scores; checked.

    ``test``: None until `for_scores` has chosen it; ``tests`` begins with it. ``samples``: the number of resamples;
    None until `choose_samples` has chosen it. ``level``: of intervals; None for 1 - alpha. A joint test needs no
    correction. ``cluster``, ``collection``: attributes of queries; ``repeats``: whether the repeats of runs stand for
    others (random), or are the only ones of interest (fixed).
    """

    test: Test | None = None
    tests: Sequence[Test] = ()
    correction: Correction = "holm"
    family: Family = "measure"
    alpha: float = 0.05
    level: float | None = None
    samples: int | None = None
    seed: int = 0
    cluster: str | None = None
    collection: str | None = None
    repeats: Repeated = "random"
    together: int = 1  # the number of p-values that are corrected together; set by `choose_samples`

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("repeats", self.repeats, REPEATED),
            ("test", self.test or "randomisation", TESTS),
            ("correction", self.correction, CORRECTIONS),
            ("family", self.family, FAMILIES),
            *(("tests", other, TESTS) for other in self.tests),
        ):
            check_choice(name, value, choices)
        checked: dict[str, Any] = {"alpha": check_fraction("alpha", self.alpha)}
        checked["level"] = None if self.level is None else check_fraction("level", self.level)
        checked["samples"] = None if self.samples is None else check_count("samples", self.samples)
        checked["tests"] = tuple(dict.fromkeys((*([self.test] if self.test else []), *self.tests)))
        if self.test and SIGNIFICANCE_TESTS[self.test].joint:
            if self.family == "all":
                raise UsageError(
                    f"{self.test} tests the pairs of one measure, not of all measures",
                    hint="use family=measure or another test",
                )
            checked["correction"] = "none"
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def for_scores(self, *, repeated: bool) -> ComparisonSettings:
        """The settings with a test: by default randomisation, and Student's t if runs have random repeats."""
        default: Test = "t" if repeated and self.repeats == "random" else "randomisation"
        return self if self.test else replace(self, test=default)

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
    def of_groups(self) -> dict[str, Any]:
        """The arguments of `Scores.by` for the same design."""
        return {"cluster": self.cluster, "repeats": self.repeats, "level": self.confidence, "seed": self.seed}

    @property
    def interval_level(self) -> float:
        """The level of one interval such that all of them hold together, as the correction makes p-values do."""
        return self.confidence if self.correction == "none" else 1 - (1 - self.confidence) / self.together

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
                    fits = [other for other, one in SIGNIFICANCE_TESTS.items() if part not in one.undefined]
                    fixed = ", or repeats=fixed to compare these very repeats" if part == "random repeats" else ""
                    raise UsageError(
                        f"{name} is not defined for {part}: {test.undefined[part]}",
                        hint=f"use test={' or '.join(fits)}{fixed}",
                    )


INDEPENDENT = "it takes queries to be independent"
POOLED = "it pools queries, and has no mean of the collections' means"
NO_SEEDS = "it does not know how much repeats differ"
NOT_DESIGNED = {"clusters of queries": INDEPENDENT, "several collections": POOLED, "random repeats": NO_SEEDS}


@record
class SignificanceTest:
    """One test.

    ``title`` is its name in reports. ``p_values`` takes a sample and pairs of runs, and returns a p-value for each
    pair; ``interval`` also takes a level, and returns the differences, (pair, 2), between which the test rejects none.
    A ``joint`` test tests all pairs of a measure at once and needs no correction. A test that ``resamples`` cannot give
    a p-value below one over the number of samples; a test of ``signs``, below one over the number of their patterns.
    ``undefined``: the designs that it cannot test, with reasons. ``cite``: keys of the bibliography.
    """

    title: str
    cite: str
    p_values: Callable[[Sample, Integers, ComparisonSettings], Floats]
    interval: Callable[[Sample, Integers, ComparisonSettings, float], Floats]
    joint: bool = False
    resamples: bool = False
    signs: bool = False
    undefined: Mapping[str, str] = field(default_factory=dict)


def _of_pairs(p: Floats, pairs: Integers, systems: int) -> Floats:
    """P-values of these pairs out of those of all pairs (0, 1), (0, 2), ..., (1, 2), ..."""
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    return p[low * systems - low * (low + 1) // 2 + high - low - 1]


def _around(sample: Sample, pairs: Integers, distance: float | Floats) -> Floats:
    """The intervals that reach this far from the observed differences, (pair, 2)."""
    means = sample.means
    difference = means[pairs[:, 0]] - means[pairs[:, 1]]
    return np.stack([difference - distance, difference + distance], axis=1)


def _randomisation(sample: Sample, pairs: Integers, settings: ComparisonSettings) -> Floats:
    table = sample.units_table
    p = randomisation_p_values(table, samples=settings.resamples, seed=settings.seed)
    return _of_pairs(p, pairs, len(table))


def _t_interval(sample: Sample, pairs: Integers, _: ComparisonSettings, level: float) -> Floats:
    if not sample.is_plain:
        return sample.error(pairs).interval(level)
    return each_pair(lambda differences: student(differences, level=level), sample.x, pairs)


def _bootstrap(sample: Sample, pairs: Integers, settings: ComparisonSettings) -> Floats:
    if not sample.is_plain:
        return sample.bootstrap(pairs, settings.resamples, settings.seed)
    p = bootstrap_p_values(sample.x, samples=settings.resamples, seed=settings.seed)
    # As in the other tests the data themselves count as a sample: no number of samples makes a p-value 0.
    return (settings.resamples * _of_pairs(p, pairs, len(sample.x)) + 1) / (settings.resamples + 1)


def _randomised_tukey(sample: Sample, pairs: Integers, settings: ComparisonSettings) -> Floats:
    p = discriminate(sample.x, "randomised-tukey", samples=settings.resamples, seed=settings.seed).p
    return _of_pairs(p, pairs, len(sample.x))


def _randomised_tukey_interval(sample: Sample, pairs: Integers, settings: ComparisonSettings, level: float) -> Floats:
    tests = discriminate(sample.x, "randomised-tukey", samples=settings.resamples, alpha=1 - level, seed=settings.seed)
    return _around(sample, pairs, _of_pairs(tests.required, pairs, len(sample.x)))


def _by_difference(title: str, cite: str, test: Callable[[Floats], Floats]) -> SignificanceTest:
    """A test of the signs of single differences."""
    return SignificanceTest(
        title,
        cite,
        lambda sample, pairs, _: each_pair(test, sample.x, pairs),
        lambda sample, pairs, _, level: each_pair(lambda x: inverted(test, x, 1 - level), sample.x, pairs),
        signs=True,
        undefined=NOT_DESIGNED,
    )


SIGNIFICANCE_TESTS: dict[Test, SignificanceTest] = {
    "randomisation": SignificanceTest(
        "paired randomisation test",
        "fisher1935 smucker2007",
        _randomisation,
        lambda sample, pairs, how, level: subset_means(sample.units_table, pairs, level=level, seed=how.seed),
        resamples=True,
        signs=True,
        undefined={"random repeats": NO_SEEDS},
    ),
    "t": SignificanceTest(
        "paired t-test",
        "student1908",
        lambda sample, pairs, _: (
            each_pair(t_test, sample.x, pairs) if sample.is_plain else sample.error(pairs).t_test()
        ),
        _t_interval,
    ),
    "wilcoxon": _by_difference("Wilcoxon signed-rank test", "wilcoxon1945", wilcoxon),
    "sign": _by_difference("sign test", "dixon1946", sign_test),
    "bootstrap": SignificanceTest(
        "paired bootstrap test",
        "efron1993 sakai2006b",
        _bootstrap,
        lambda sample, pairs, how, level: bca(sample, pairs, level=level, seed=how.seed),
        resamples=True,
    ),
    "tukey": SignificanceTest(
        "Tukey's HSD",
        "tukey1949",
        lambda sample, pairs, _: tukey(sample.x, pairs),
        lambda sample, pairs, _, level: _around(sample, pairs, tukey_distance(sample.x, level)),
        joint=True,
        undefined=NOT_DESIGNED,
    ),
    "randomised-tukey": SignificanceTest(
        "randomised Tukey HSD",
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


def each_pair(statistic: Callable[[Floats], Any], x: Floats, pairs: Integers) -> Any:
    """A statistic of the differences (pair, query), for some pairs at a time."""
    step = max(1, CELLS // x.shape[1])
    parts = (pairs[i : i + step].T for i in range(0, len(pairs), step))
    return np.concatenate([*parallel(lambda part: statistic(x[part[0]] - x[part[1]]), parts)])


class MeasureComparison(NamedTuple):
    """The comparison of one measure; arrays are by pair, as in `Comparison`, except ``means``, which are by run.

    ``higher``, ``lower``: the number of queries with a higher or a lower value of the first run.
    """

    means: Floats
    difference: Floats
    low: Floats
    high: Floats
    t_low: Floats
    t_high: Floats
    test_low: Floats
    test_high: Floats
    effect: Floats
    variance: Floats
    degrees: Floats
    higher: Integers
    lower: Integers
    p: dict[Test, Floats]
    anova: Anova
    units: int


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


def lowest_p(settings: ComparisonSettings, units: int) -> float:
    """The lowest corrected p-value that the test could give; if it is not below alpha, nothing can be significant.

    ``units``: how many queries, or clusters of them, are compared.
    """
    test = SIGNIFICANCE_TESTS[settings.chosen]
    patterns = 2.0 ** min(units - 1, MOST_SIGNS) if test.signs else math.inf
    if test.resamples:
        patterns = min(patterns, settings.resamples + 1)
    return min(1 / patterns * (settings.together if settings.multiplied else 1), 1.0)


def test_pairs(sample: Sample, pairs: Integers, settings: ComparisonSettings) -> MeasureComparison:
    """One measure compared, from its values, all of them defined."""
    settings.check_design(sample)
    x = np.ascontiguousarray(sample.x)  # so that results do not depend on memory layout
    sample = sample._replace(x=x)
    low, high = bca(sample, pairs, level=settings.confidence, seed=settings.seed).T
    t_low, t_high = _t_interval(sample, pairs, settings, settings.confidence).T
    p = {test: SIGNIFICANCE_TESTS[test].p_values(sample, pairs, settings) for test in settings.tests}
    level = settings.interval_level
    interval = SIGNIFICANCE_TESTS[settings.chosen].interval(sample, pairs, settings, level)
    # Interval and test are the same statement; resamples of one and the other may differ at the limit.
    undecided = p[settings.chosen] >= (1 - level) * (1 - SAME)
    test_low, test_high = np.where(undecided, [interval[:, 0].clip(max=0), interval[:, 1].clip(min=0)], interval.T)
    if sample.is_plain:
        difference = each_pair(lambda differences: differences.mean(axis=1), x, pairs)
        effect = each_pair(lambda differences: effect_size(differences, level=settings.confidence), x, pairs)
        of_queries = each_pair(lambda differences: differences.var(axis=1, ddof=1) / x.shape[1], x, pairs)
        error = Error(difference, of_queries, np.zeros(len(pairs)), np.full(len(pairs), x.shape[1] - 1.0))
    else:
        error = sample.error(pairs)
        spread = each_pair(lambda differences: differences.std(axis=1, ddof=1), x, pairs)
        effect = effect_of_error(error, spread, level=settings.confidence)
    return MeasureComparison(
        sample.means,
        error.estimate,
        low,
        high,
        t_low,
        t_high,
        test_low,
        test_high,
        effect,
        np.stack([error.from_queries, error.from_repeats], axis=1),
        error.degrees,
        each_pair(lambda differences: (differences > SAME).sum(axis=1), x, pairs),
        each_pair(lambda differences: (differences < -SAME).sum(axis=1), x, pairs),
        p,
        anova(x),
        sample.units,
    )
