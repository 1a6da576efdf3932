"""Significance of the differences between runs: p-values of every pair of runs, by any of the tests.

Each test is one record; to add a test is to add a record.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.errors import UsageError, check_choice, check_count, check_fraction
from cranfield.parallel import parallel
from cranfield.statistics.intervals import bca, effect_size, student
from cranfield.statistics.pair_tests import CORRECTIONS, Anova, Correction, anova, t_test, tukey, wilcoxon
from cranfield.statistics.resampling import discriminate, draw_signs, randomisation_p_values
from cranfield.statistics.rounding import SAME

Test = Literal["randomisation", "t", "wilcoxon", "bootstrap", "tukey", "randomised-tukey"]
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

    ``tests`` begins with ``test``. ``samples``: the number of resamples; None until `choose_samples` has chosen it. A
    joint test needs no correction.
    """

    test: Test = "randomisation"
    tests: Sequence[Test] = ()
    correction: Correction = "holm"
    family: Family = "measure"
    alpha: float = 0.05
    level: float = 0.95
    samples: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("test", self.test, TESTS),
            ("correction", self.correction, CORRECTIONS),
            ("family", self.family, FAMILIES),
            *(("tests", other, TESTS) for other in self.tests),
        ):
            check_choice(name, value, choices)
        checked: dict[str, Any] = {name: check_fraction(name, getattr(self, name)) for name in ("alpha", "level")}
        checked["samples"] = None if self.samples is None else check_count("samples", self.samples)
        checked["tests"] = tuple(dict.fromkeys((self.test, *self.tests)))
        if SIGNIFICANCE_TESTS[self.test].joint:
            if self.family == "all":
                raise UsageError(
                    f"{self.test} tests the pairs of one measure, not of all measures",
                    hint="use family=measure or another test",
                )
            checked["correction"] = "none"
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def resamples(self) -> int:
        """The number of resamples, the default unless another was chosen."""
        return self.samples or DEFAULT_SAMPLES

    @property
    def multiplied(self) -> bool:
        """Whether the correction multiplies the lowest p-value by the number of tests."""
        return self.correction in ("holm", "bonferroni")


@dataclass(frozen=True)
class SignificanceTest:
    """One test.

    ``title`` is its name in reports. ``p_values`` takes values (run, query) and pairs of runs, and returns a p-value
    for each pair. A ``joint`` test tests all pairs of a measure at once and needs no correction. A test that
    ``resamples`` cannot give a p-value below one over the number of samples; a test of ``signs``, below one over the
    number of their patterns.
    """

    title: str
    p_values: Callable[[Floats, Integers, ComparisonSettings], Floats]
    joint: bool = False
    resamples: bool = False
    signs: bool = False


def _of_pairs(p: Floats, pairs: Integers, systems: int) -> Floats:
    """P-values of these pairs out of those of all pairs (0, 1), (0, 2), ..., (1, 2), ..."""
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    return p[low * systems - low * (low + 1) // 2 + high - low - 1]


def _randomisation(x: Floats, pairs: Integers, settings: ComparisonSettings) -> Floats:
    signs = draw_signs(x.shape[1], settings.resamples, settings.seed)
    return _of_pairs(randomisation_p_values(x, signs), pairs, len(x))


def _bootstrap(x: Floats, pairs: Integers, settings: ComparisonSettings) -> Floats:
    p = discriminate(x, "bootstrap", samples=settings.resamples, seed=settings.seed).p
    # As in the other tests the data themselves count as a sample: no number of samples makes a p-value 0.
    return (settings.resamples * _of_pairs(p, pairs, len(x)) + 1) / (settings.resamples + 1)


def _randomised_tukey(x: Floats, pairs: Integers, settings: ComparisonSettings) -> Floats:
    p = discriminate(x, "randomised-tukey", samples=settings.resamples, seed=settings.seed).p
    return _of_pairs(p, pairs, len(x))


SIGNIFICANCE_TESTS: dict[Test, SignificanceTest] = {
    "randomisation": SignificanceTest("paired randomisation test", _randomisation, resamples=True, signs=True),
    "t": SignificanceTest("paired t-test", lambda x, pairs, settings: each_pair(t_test, x, pairs)),
    "wilcoxon": SignificanceTest(
        "Wilcoxon signed-rank test", lambda x, pairs, settings: each_pair(wilcoxon, x, pairs), signs=True
    ),
    "bootstrap": SignificanceTest("paired bootstrap test", _bootstrap, resamples=True),
    "tukey": SignificanceTest("Tukey's HSD", lambda x, pairs, settings: tukey(x, pairs), joint=True),
    "randomised-tukey": SignificanceTest("randomised Tukey HSD", _randomised_tukey, joint=True, resamples=True),
}


def each_pair(statistic: Callable[[Floats], Any], x: Floats, pairs: Integers) -> Any:
    """A statistic of the differences (pair, query), for some pairs at a time."""
    step = max(1, CELLS // x.shape[1])
    parts = (pairs[i : i + step].T for i in range(0, len(pairs), step))
    return np.concatenate([*parallel(lambda part: statistic(x[part[0]] - x[part[1]]), parts)])


class MeasureComparison(NamedTuple):
    """The comparison of one measure; arrays are by pair, as in `Comparison`, except ``means``, which are by run."""

    means: Floats
    difference: Floats
    low: Floats
    high: Floats
    t_low: Floats
    t_high: Floats
    effect: Floats
    wins: Integers
    losses: Integers
    p: dict[Test, Floats]
    anova: Anova


def choose_samples(settings: ComparisonSettings, queries: int, tests: int) -> ComparisonSettings:
    """The settings with a number of resamples that can decide, unless the user chose one.

    After correction for many pairs, the default number of resamples may be too low for any difference to be
    significant. ``tests``: the number of p-values that are corrected together.
    """
    if settings.samples is not None:
        return settings
    samples = DEFAULT_SAMPLES
    if SIGNIFICANCE_TESTS[settings.test].resamples and settings.multiplied and tests / (samples + 1) >= settings.alpha:
        enough = math.ceil(MARGIN * tests / settings.alpha / samples) * samples
        samples = enough if enough * queries <= MOST_DRAWN else samples
    return replace(settings, samples=samples)


def lowest_p(settings: ComparisonSettings, queries: int, tests: int) -> float:
    """The lowest corrected p-value that the test could give; if it is not below alpha, nothing can be significant.

    ``queries``: how many are compared; ``tests``: the number of p-values that are corrected together.
    """
    test = SIGNIFICANCE_TESTS[settings.test]
    patterns = 2.0 ** min(queries - 1, MOST_SIGNS) if test.signs else math.inf
    if test.resamples:
        patterns = min(patterns, settings.resamples + 1)
    return min(1 / patterns * (tests if settings.multiplied else 1), 1.0)


def test_pairs(x: Floats, pairs: Integers, settings: ComparisonSettings) -> MeasureComparison:
    """One measure compared, from its values (run, query), all of them defined."""
    x = np.ascontiguousarray(x)  # so that results do not depend on memory layout
    limits = bca(x, pairs, level=settings.level, seed=settings.seed)
    by_t = each_pair(lambda differences: student(differences, level=settings.level), x, pairs)
    return MeasureComparison(
        x.mean(axis=1),
        each_pair(lambda differences: differences.mean(axis=1), x, pairs),
        limits[:, 0],
        limits[:, 1],
        by_t[:, 0],
        by_t[:, 1],
        each_pair(lambda differences: effect_size(differences, level=settings.level), x, pairs),
        each_pair(lambda differences: (differences > SAME).sum(axis=1), x, pairs),
        each_pair(lambda differences: (differences < -SAME).sum(axis=1), x, pairs),
        {test: SIGNIFICANCE_TESTS[test].p_values(x, pairs, settings) for test in settings.tests},
        anova(x),
    )
