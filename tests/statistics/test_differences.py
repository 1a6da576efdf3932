"""Intervals, effect sizes, corrections and tests of paired differences, against SciPy, statsmodels and print."""

from collections.abc import Callable
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from cranfield.data import Floats
from cranfield.statistics import resampling
from cranfield.statistics.design import Sample
from cranfield.statistics.intervals import bca, effect_size, inverted, student, t_quantile
from cranfield.statistics.resampling import (
    anova,
    corrected,
    discriminate,
    hodges_lehmann,
    sign_test,
    t_test,
    tukey,
    wilcoxon,
)

Test = Callable[[Floats], Floats]

# Hours of sleep gained by ten patients with either drug: Student, The probable error of a mean, 1908.
SLEEP = np.array(
    [[0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0], [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]]
)
# Yield of grafts at four pressures from six batches of resin: Montgomery, Design and Analysis of Experiments, ex. 4.1.
GRAFTS = np.array(
    [
        [90.3, 89.2, 98.2, 93.9, 87.4, 97.9],
        [92.5, 89.5, 90.6, 94.7, 87.0, 95.8],
        [85.5, 90.8, 89.6, 86.2, 88.0, 93.4],
        [82.5, 89.5, 85.6, 87.4, 78.9, 90.7],
    ]
)
ONE = np.array([[0, 1]])


def every_pair(systems: int) -> np.ndarray:
    return np.array(list(combinations(range(systems), 2)))


def test_students_sleep_is_as_printed():
    # R prints t = -4.0621, p = 0.002833; the package effectsize prints d = -1.28 [-2.12, -0.41].
    difference = SLEEP[:1] - SLEEP[1:]
    assert t_test(difference) == pytest.approx([0.002833], abs=5e-7)
    assert effect_size(difference)[0] == pytest.approx([-1.28, -2.12, -0.41], abs=5e-3)


def test_montgomerys_grafts_are_as_printed():
    found = anova(GRAFTS)
    assert (found.systems, found.queries, found.residual) == pytest.approx((178.17, 192.25, 109.89), abs=5e-3)
    assert found.freedom == (3, 5, 15)
    assert pytest.approx(8.11, abs=5e-3) == found.F
    assert found.p == pytest.approx(0.0019, abs=5e-5)
    # The critical range for 4 means and 15 degrees of freedom is 4.08 in every printed table.
    critical = 4.08 * np.sqrt(found.noise / 6)
    gaps = np.array([abs(GRAFTS[a].mean() - GRAFTS[b].mean()) for a, b in every_pair(4)])
    assert (tukey(GRAFTS, every_pair(4)) < 0.05).tolist() == (gaps > critical).tolist()


def test_effect_of_queries_is_that_of_systems_of_the_other_side():
    found, turned = anova(GRAFTS), anova(GRAFTS.T)
    assert (found.F_queries, found.p_queries) == pytest.approx((turned.F, turned.p))
    assert (found.F, found.p) == pytest.approx((turned.F_queries, turned.p_queries))


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_students_interval_is_scipys(level):
    differences = np.random.default_rng(5).normal(0.2, 1, (4, 9))
    expected = [stats.ttest_1samp(row, 0).confidence_interval(level) for row in differences]
    assert student(differences, level=level) == pytest.approx(np.array(expected))
    assert student(np.array([[0.5, 0.5], [0.0, 0.0]])).tolist() == [[-np.inf, np.inf], [0, 0]]


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 42, 43, 1000, 6979])
def test_quantiles_of_students_t_are_scipys(degrees):
    for level in (0.01, 0.5, 0.9, 0.95, 0.999):
        assert t_quantile(level, degrees) == pytest.approx(stats.t.ppf(0.5 + level / 2, degrees), rel=1e-10)


def test_tukey_of_two_is_the_t_test():
    assert tukey(SLEEP, ONE) == pytest.approx(t_test(SLEEP[:1] - SLEEP[1:]), abs=1e-6)


# Few queries or many: between them, SciPy takes seconds for an exact test with ties, and no other way than with few.
scores = st.sampled_from([*range(2, 9), 14, 15, 16]).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 5).map(lambda x: x / 5), min_size=n, max_size=n), min_size=2, max_size=4)
)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("queries", [2, 3, 5, 10, 50, 500])
def test_the_interval_of_an_effect_inverts_the_noncentral_t_distribution(queries: int, level: float) -> None:
    rng = np.random.default_rng(queries)
    difference = rng.normal(10 ** rng.uniform(-2, 1.5, (300, 1)), 1, (300, queries))
    found = effect_size(difference, level=level)
    t = np.sqrt(queries) * found[:, 0]
    few = np.abs(t) <= 1000  # beyond that, SciPy's distribution is none
    for limit, p in zip(found.T[1:], (0.5 + level / 2, 0.5 - level / 2), strict=True):
        below = special.nctdtr(queries - 1, np.sqrt(queries) * limit, t)
        assert below[few] == pytest.approx(p, abs=1e-9)


@settings(max_examples=20)
@given(scores)
def test_t_test_and_wilcoxon_are_scipys(rows):
    x = np.array(rows)
    pairs = every_pair(len(x))
    difference = x[pairs[:, 0]] - x[pairs[:, 1]]
    fifths = (difference * 5).round()  # to SciPy 0.8 - 0.6 and 0.6 - 0.4 are two differences
    for row, t, w in zip(fifths, t_test(difference), wilcoxon(difference), strict=True):
        if np.ptp(row) > 1e-9:
            assert t == pytest.approx(stats.ttest_1samp(row, 0).pvalue, abs=1e-9)
        if row.any():
            assert w == pytest.approx(stats.wilcoxon(row).pvalue, abs=1e-9)
        else:
            assert (t, w) == (1, 1)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_bca_is_scipys_with_the_same_samples(seed, level):
    rng = np.random.default_rng(seed)
    x = np.stack([rng.exponential(size=25), rng.random(25), rng.random(25).round(1)])
    pairs = every_pair(3)
    for (a, b), found in zip(pairs, bca(Sample(x), pairs, level=level, resamples=999, seed=7), strict=True):
        theirs = stats.bootstrap(
            (x[a] - x[b],), np.mean, confidence_level=level, n_resamples=999, method="BCa", rng=np.random.default_rng(7)
        ).confidence_interval
        assert found == pytest.approx([theirs.low, theirs.high], abs=1e-12)


def test_pairs_do_not_depend_on_how_many_are_taken_at_a_time(monkeypatch):
    x = np.random.default_rng(0).random((6, 20))
    whole = bca(Sample(x), every_pair(6), resamples=99)
    monkeypatch.setattr("cranfield.statistics.intervals.PARTS", 1)
    assert (bca(Sample(x), every_pair(6), resamples=99) == whole).all()


def test_differences_without_noise():
    x = np.array([[0.5, 0.75, 1.0], [0.25, 0.5, 0.75], [0.25, 0.5, 0.75]])
    pairs = every_pair(3)
    difference = x[pairs[:, 0]] - x[pairs[:, 1]]
    assert t_test(difference).tolist() == [1, 1, 1]
    assert bca(Sample(x), pairs).tolist() == [[0.25, 0.25], [0.25, 0.25], [0, 0]]
    assert effect_size(difference)[:, 0].tolist() == [np.inf, np.inf, 0]
    assert np.isnan(effect_size(difference)[:, 1:]).all()
    assert tukey(x, pairs).tolist() == [1, 1, 1]


def test_effect_intervals_cover_the_true_effect():
    rng = np.random.default_rng(3)
    found = effect_size(rng.normal(0.4, 1, (2000, 30)))
    covered = ((found[:, 1] <= 0.4) & (found[:, 2] >= 0.4)).mean()
    assert abs(covered - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 2000)


@settings(max_examples=40)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_corrections_are_those_of_statsmodels(p):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    for ours, theirs in (("holm", "holm"), ("bonferroni", "bonferroni"), ("bh", "fdr_bh")):
        assert corrected(np.array(p), ours) == pytest.approx(multitest.multipletests(p, method=theirs)[1], abs=1e-12)
    assert corrected(np.array(p), "none").tolist() == p


def test_false_alarms_are_as_frequent_as_promised():
    """5 % tests reject a true null in 5 % of experiments, and corrections keep it so for a family."""
    rng = np.random.default_rng(11)
    experiments, queries = 1500, 25
    band = 4 * np.sqrt(0.05 * 0.95 / experiments)
    noise = rng.normal(size=(experiments, queries))
    assert abs((t_test(noise) < 0.05).mean() - 0.05) < band
    assert abs((wilcoxon(noise) < 0.05).mean() - 0.05) < band
    families = np.array([t_test(rng.normal(size=(6, queries))) for _ in range(experiments)])
    for method in ("holm", "bonferroni"):
        assert np.mean([(corrected(p, method) < 0.05).any() for p in families]) < 0.05 + band
    assert (families < 0.05).any(axis=1).mean() > 0.15  # what they guard against


def test_tukey_keeps_its_promise_for_all_pairs():
    rng = np.random.default_rng(5)
    experiments, alarms = 300, 0
    for x in rng.normal(size=(experiments, 4, 15)):
        order = x.mean(axis=1).argsort()
        alarms += tukey(x, order[[[0, -1]]])[0] < 0.05  # the widest gap: no other pair can be significant without it
    assert abs(alarms / experiments - 0.05) < 4 * np.sqrt(0.05 * 0.95 / experiments)


def test_a_pair_is_tested_as_if_it_were_alone():
    """SciPy's Wilcoxon test is exact only if no row given with it has a tie or a zero."""
    rng = np.random.default_rng(4)
    difference = rng.normal(size=(5, 20))
    difference[1] = difference[1].round()
    difference[2, 3] = 0
    difference[4, :2] = 0.5
    alone = [stats.wilcoxon(row).pvalue for row in difference]
    assert wilcoxon(difference) == pytest.approx(alone, abs=1e-12)


def test_rounding_is_no_difference():
    """Tenths, taken off each other, are as equal as whole numbers are."""
    tens = np.array(
        [[3, 8, 4, 6, 9, 2, 5, 7], [2, 7, 3, 7, 8, 1, 9, 6], [3, 8, 4, 6, 9, 2, 5, 7], [2, 7, 3, 5, 8, 1, 4, 6]]
    )
    x, pairs = tens / 10, every_pair(4)
    x[2, 0], x[2, 1] = 0.1 + 0.2, 0.7 + 0.1 + 1e-16
    difference, whole = (y[pairs[:, 0]] - y[pairs[:, 1]] for y in (x, tens))
    assert t_test(difference) == pytest.approx(t_test(whole), abs=1e-12)
    assert wilcoxon(difference) == pytest.approx(wilcoxon(whole), abs=1e-12)
    assert effect_size(difference) == pytest.approx(effect_size(whole), abs=1e-9, nan_ok=True)
    assert bca(Sample(x), pairs) == pytest.approx(bca(Sample(tens), pairs) / 10, abs=1e-9)
    assert tukey(x, pairs) == pytest.approx(tukey(tens, pairs), abs=1e-9)
    assert anova(x[[0, 2]]).p == 1


def test_effects_almost_without_noise_have_an_interval():
    """SciPy's search would take minutes. The exact one integrates over what the standard deviation may be."""
    queries = 12
    free = queries - 1
    log_s = np.linspace(-4, 1, 20_001)
    weight = np.exp(free * log_s - free * np.exp(2 * log_s) / 2)
    noise = np.random.default_rng(0).normal(size=queries)
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    for effect in (-2000, -0.3, 0.3, 14, 280, 300, 1e7):
        found = effect_size((noise + effect)[None])[0]
        assert found[1] < found[0] < found[2]
        for end, p in zip(found[1:], (0.975, 0.025), strict=True):
            # Where the effect is steep enough, only the ratio matters, and a lower one says the same.
            scale = np.sqrt(queries) * min(1, 1000 / abs(effect))
            chance = (weight * stats.norm.cdf((effect * np.exp(log_s) - end) * scale)).sum() / weight.sum()
            assert chance == pytest.approx(p, abs=1e-3)


def test_the_randomisation_test_is_scipys():
    rng = np.random.default_rng(8)
    x = rng.random((3, 8)).round(1)
    found = discriminate(x, "randomisation", samples=10_000).p
    for (a, b), p in zip(every_pair(3), found, strict=True):
        theirs = stats.permutation_test(
            (x[a], x[b]), lambda y, z, axis: (y - z).mean(axis=axis), permutation_type="samples", vectorized=True
        )
        assert p == pytest.approx(theirs.pvalue, abs=1e-12)


def test_randomised_tukey_is_what_all_ways_to_deal_say():
    rng = np.random.default_rng(6)
    x = rng.random((3, 4)).round(2)
    draws = 20_000
    ways = np.array(list(product(permutations(range(3)), repeat=4)))
    dealt = x[ways, np.arange(4)[:, None]].mean(axis=1)
    reached = np.ptp(dealt, axis=1)
    for (a, b), p in zip(every_pair(3), discriminate(x, "randomised-tukey", samples=draws, seed=1).p, strict=True):
        exact = (reached >= abs(x[a].mean() - x[b].mean()) - 1e-12).mean()
        assert abs(p - exact) < 4 * np.sqrt(exact * (1 - exact) / draws) + 1e-4


def test_resampling_tests_raise_as_few_false_alarms_as_promised():
    """Skewed scores and unequal queries: what the t-test assumes does not hold, and these tests do not assume it."""
    rng = np.random.default_rng(12)
    experiments, draws = 400, 199
    band = 4 * np.sqrt(0.05 * 0.95 / experiments)
    single, family = 0, 0
    for seed in range(experiments):
        x = np.clip(rng.beta(0.5, 1, 12) + rng.exponential(0.2, (4, 12)), 0, 2)
        # With 199 draws p = (c + 1) / 200 can be 0.05 exactly, and "at most" is what keeps the level.
        single += discriminate(x[:2], "randomisation", samples=draws, seed=seed).p[0] <= 0.05
        family += discriminate(x, "randomised-tukey", samples=draws, seed=seed).p.min() <= 0.05
    assert abs(single / experiments - 0.05) < band
    assert abs(family / experiments - 0.05) < band


def plain_levels(p: list[float], method: str, alpha: float) -> list[tuple[float, bool]]:
    """The level at which each p-value is tested, and whether it is significant: the procedures, step by step."""
    m = len(p)
    order = sorted(range(m), key=p.__getitem__)
    found: dict[int, tuple[float, bool]] = {}
    if method == "holm":
        stopped = None
        for step, i in enumerate(order):
            level = alpha / (m - step) if stopped is None else stopped
            significant = stopped is None and p[i] < level
            if not significant:
                stopped = level
            found[i] = level, significant
    elif method == "bh":
        below = [rank for rank, i in enumerate(order, 1) if p[i] < alpha * rank / m]
        level = alpha * max(below, default=1) / m
        found = {i: (level, rank <= max(below, default=0)) for rank, i in enumerate(order, 1)}
    else:
        level = alpha / m if method == "bonferroni" else alpha
        found = {i: (level, p[i] < level) for i in order}
    return [found[i] for i in range(m)]


@pytest.mark.parametrize("method", ["holm", "bh", "bonferroni", "none"])
def test_levels_are_those_of_the_steps_of_a_correction(method):
    rng = np.random.default_rng(8)
    steps = set()
    for _ in range(400):
        p = (rng.random(rng.integers(1, 12)) ** rng.choice([1, 3, 6])).round(rng.integers(2, 5)).tolist()
        alpha = float(rng.choice([0.01, 0.05, 0.2]))
        found = resampling.tested_at(np.array(p), method, alpha)
        # At a level itself, rounding decides.
        if any(abs(one - level) < 1e-12 for one, (level, _) in zip(p, plain_levels(p, method, alpha), strict=True)):
            continue
        levels, significant = zip(*plain_levels(p, method, alpha), strict=True)
        assert found == pytest.approx(levels, rel=1e-12)
        assert (np.array(p) < found).tolist() == list(significant) == (corrected(np.array(p), method) < alpha).tolist()
        steps.add(len(set(levels)))
    assert len(steps) > 3 if method == "holm" else steps == {1}


def test_levels_of_a_family_of_several_measures_have_its_shape():
    p = np.random.default_rng(9).random((3, 4)) ** 4
    assert resampling.tested_at(p).tolist() == resampling.tested_at(p.ravel()).reshape(3, 4).tolist()


@pytest.mark.parametrize("test", [sign_test, wilcoxon])
@pytest.mark.parametrize("queries", [2, 5, 6, 8])
def test_tests_of_signs_have_no_limits_if_no_shift_can_be_rejected(test: Test, queries: int) -> None:
    difference = np.arange(1.0, queries + 1)[None]
    low, high = inverted(test, hodges_lehmann, difference, 0.05)[0]
    if 2 / 2**queries < 0.05:  # the p-value of a shift beyond all differences
        assert 0 < low < high <= queries
    else:
        assert (low, high) == (-np.inf, np.inf)
