"""Tests of all pairs at once, against the same tests written out."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

import cranfield as cf
from cranfield.statistics import resampling
from cranfield.statistics.resampling import (
    Signs,
    bootstrap,
    bootstrap_p_values,
    discriminate,
    draw_queries,
    draw_signs,
    pairs,
    randomisation,
    randomisation_p_values,
    randomised_tukey,
    sign_blocks,
)
from golden_cases import STRUCTURED

CASES = {case["id"]: case for case in STRUCTURED}
CASE = CASES["C4-bootstrap"]


def t(values: np.ndarray) -> float:
    """Mean over standard error, 0/0 = 0 and x/0 infinite; below 1e-12 there is no difference."""
    n = len(values)
    mean = values.mean()
    if abs(mean) <= 1e-12:
        return 0.0
    return math.inf if np.ptp(values) <= 1e-12 else float(abs(mean) / (values.std(ddof=1) / math.sqrt(n)))


def differences(x: np.ndarray) -> list[np.ndarray]:
    """Of each pair of systems, on each query."""
    return [a - b for a, b in itertools.combinations(x, 2)]


def clearly_equal_or_not(z: np.ndarray, queries: np.ndarray) -> bool:
    """Whether no two statistics of a pair differ by about as much as is taken for rounding, a relative 1e-9."""
    w = z - z.mean()
    found = sorted(one for one in (t(z), *(t(w[draw]) for draw in queries)) if math.isfinite(one))
    return not any(1e-11 < (b - a) / b < 1e-8 for a, b in itertools.pairwise(found) if b > 0)


def written_out(x: np.ndarray, queries: np.ndarray, alpha: float) -> tuple[list[float], list[float]]:
    """The bootstrap test of pair after pair and draw after draw."""
    levels, required = [], []
    for z in differences(x):
        w = z - z.mean()
        drawn = [t(w[draw]) for draw in queries]
        levels.append(sum(one >= t(z) * (1 - 1e-9) for one in drawn) / len(queries))
        rank = math.ceil(len(queries) * alpha)
        edge = sorted(drawn, reverse=True)[rank - 1]
        before = sum(one > edge * (1 + 1e-9) for one in drawn)
        same = [b for b, one in enumerate(drawn) if edge * (1 - 1e-9) <= one <= edge * (1 + 1e-9)]
        required.append(abs(w[queries[same[rank - before - 1]]].mean()))
    return levels, required


def test_golden() -> None:
    x, expected = np.array(CASE["scores"]), CASE["expected"]
    queries, alpha = np.array(CASE["params"]["indices"]), CASE["params"]["alpha"]
    found = bootstrap(x, queries, alpha)
    assert found.p == pytest.approx(list(expected["ASL"].values()), abs=CASE["tol"])
    assert found.power == pytest.approx(expected["disc_power"], abs=CASE["tol"])
    assert found.required == pytest.approx(expected["diff_per_pair"], abs=CASE["tol"])
    assert found.difference_required == pytest.approx(expected["diff_required"], abs=CASE["tol"])
    first, second = pairs(3)
    own = resampling._observed_squared_t(x[first] - x[second])
    assert np.sqrt(own * 3) == pytest.approx(list(expected["t"].values()), abs=CASE["tol"])
    every = np.array(list(itertools.product(range(4), repeat=4)))
    exact = bootstrap(x, every, alpha)
    assert exact.p == pytest.approx(list(expected["ASL_exact_enumeration"].values()), abs=CASE["tol"])


@st.composite
def samples(draw: st.DrawFn) -> np.ndarray:
    """Scores with many ties: of systems that are equal, differ by a constant, or agree on most queries."""
    systems, queries = draw(st.integers(2, 4)), draw(st.integers(2, 7))
    grain = draw(st.sampled_from([1, 2, 3, 10]))
    rows = st.lists(st.integers(0, grain), min_size=queries, max_size=queries)
    x = np.array(draw(st.lists(rows, min_size=systems, max_size=systems))) / grain
    kind = draw(st.sampled_from(["any", "equal", "constant", "close"]))
    if kind == "equal":
        x[1] = x[0]
    elif kind == "constant":
        x[1] = x[0] + 0.1
    elif kind == "close":
        x[1] = x[0] + np.arange(queries) * 1e-5
    return x


@settings(deadline=None, max_examples=150)
@given(samples(), st.integers(0, 5), st.sampled_from([0.05, 0.25, 0.5]))
def test_bootstrap_written_out(x: np.ndarray, seed: int, alpha: float) -> None:
    queries = draw_queries(x.shape[1], 40, seed)
    assume(all(clearly_equal_or_not(z, queries) for z in differences(x)))
    found = bootstrap(x, queries, alpha)
    levels, required = written_out(x, queries, alpha)
    assert found.p == pytest.approx(levels, abs=1e-12)
    assert found.required == pytest.approx(required, abs=1e-9)


@pytest.mark.parametrize("shape", [(1, 2, 1), (37, 43, 1000), (5, 43, 2500), (3, 600, 100)])
def test_products_in_pieces(shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(1)
    rows, columns = rng.random(shape[:2]), rng.random(shape[1:])
    assert resampling._product(rows, columns) == pytest.approx(rows @ columns, rel=1e-13)


def test_bootstrap_of_continuous_scores_written_out() -> None:
    x = np.random.default_rng(5).random((5, 30))
    queries = draw_queries(30, 200, 1)
    found = bootstrap(x, queries)
    levels, required = written_out(x, queries, 0.05)
    assert found.p.tolist() == levels
    assert found.required == pytest.approx(required, abs=1e-12)


def test_equal_systems_and_constant_differences() -> None:
    """Rounding must not pass for a difference: thirds and tenths, added and taken off again."""
    x = np.random.default_rng(1).integers(0, 4, 50) / 3
    scores = np.stack([x, x.copy(), x + 0.1, (x + 0.2) - 0.1, x - 1 / 3])
    found = bootstrap(scores, draw_queries(50, 1000))
    expected = dict.fromkeys(itertools.combinations(range(5), 2), 0.0) | {(0, 1): 1.0, (2, 3): 1.0}
    assert dict(zip(itertools.combinations(range(5), 2), found.p.tolist(), strict=True)) == expected
    assert found.required.tolist() == pytest.approx([0.0] * 10, abs=1e-12)


def test_one_topic_makes_the_difference() -> None:
    """A third of the draws miss it, have a constant difference, and so an infinite t."""
    x = np.random.default_rng(2).random(40)
    y = x.copy()
    y[7] -= 0.3
    queries = draw_queries(40, 2000)
    missed = (queries != 7).all(axis=1).mean()
    found = bootstrap(np.stack([x, y]), queries)
    levels, required = written_out(np.stack([x, y]), queries, 0.05)
    assert found.p.tolist() == levels
    assert found.p[0] >= missed > 0.3
    assert found.required == pytest.approx(required)


@pytest.mark.parametrize("cells", [1, 1000, 10**7])
def test_pairs_at_a_time_change_nothing(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    x = np.round(np.random.default_rng(3).random((12, 20)), 1)
    before = {test: discriminate(x, test, samples=300, seed=4) for test in resampling.TESTS}
    monkeypatch.setattr(resampling, "CELLS", cells)
    monkeypatch.setattr(resampling, "MIN_PAIRS", 1)
    for test, one in before.items():
        again = discriminate(x, test, samples=300, seed=4)
        assert again.p.tolist() == one.p.tolist()
        assert again.required == pytest.approx(one.required, abs=1e-15)


def test_the_seed_decides() -> None:
    x = np.random.default_rng(3).random((4, 20))
    for test in resampling.TESTS:
        one, same, other = (discriminate(x, test, samples=200, seed=seed) for seed in (1, 1, 2))
        assert one.p.tolist() == same.p.tolist()
        assert (one.p.tolist() == other.p.tolist()) == (test == "t")  # which draws nothing


@pytest.mark.parametrize("test", resampling.TESTS)
def test_false_positives_under_the_null(test: str) -> None:
    """Systems that differ by chance alone are found different as often as alpha says, give or take chance."""
    rng = np.random.default_rng(11)
    trials, alpha = 800, 0.1
    hits = 0
    for seed in range(trials):
        hits += bool(discriminate(rng.normal(size=(2, 25)), test, samples=199, alpha=alpha, seed=seed).significant[0])
    low, high = stats.binom.interval(0.999, trials, alpha)
    assert low <= hits <= high


def test_randomisation_written_out() -> None:
    x = np.array([[0.1, 0.5, 0.3, 0.7], [0.2, 0.2, 0.2, 0.2], [0.1, 0.5, 0.3, 0.7]])
    signs = draw_signs(4, 16)
    assert signs.exact
    assert len(set(map(tuple, signs.values.tolist()))) == 16
    found = randomisation(x, signs)
    for p, (i, j) in zip(found.p, itertools.combinations(range(3), 2), strict=True):
        z = x[i] - x[j]
        ways = [abs(np.dot(z, one)) for one in itertools.product((1, -1), repeat=4)]
        assert p == pytest.approx(np.mean(np.array(ways) >= abs(z.sum()) - 1e-9))
    assert found.p[1] == 1


@settings(deadline=None, max_examples=60)
@given(samples())
def test_randomisation_is_exact_where_topics_are_few(x: np.ndarray) -> None:
    found = discriminate(x, "randomisation", samples=2**7)
    for p, (i, j) in zip(found.p, itertools.combinations(range(len(x)), 2), strict=True):
        z = x[i] - x[j]
        ways = np.array([abs(np.dot(z, one)) for one in itertools.product((1, -1), repeat=len(z))])
        assert p == pytest.approx(np.mean(ways >= abs(z.sum()) - 1e-9))


def test_randomisation_against_scipy() -> None:
    x = np.random.default_rng(8).random((2, 12))
    exact = stats.permutation_test(
        (x[0], x[1]), lambda a, b: (a - b).mean(), permutation_type="samples", n_resamples=np.inf
    )
    assert discriminate(x, "randomisation", samples=2**12).p[0] == pytest.approx(exact.pvalue)
    assert discriminate(x, "randomisation", samples=4000).p[0] == pytest.approx(exact.pvalue, abs=0.04)


def test_the_observed_signs_count_as_one_resample() -> None:
    tosses = np.array([[1, -1, 1], [1, 1, -1]], np.int8)
    found = randomisation([[1, 1, 1], [0, 0, 0]], Signs(tosses, exact=False))
    assert found.p.tolist() == [1 / 3]


def test_tukey_written_out() -> None:
    """All ways to deal out the scores, against many random ones."""
    x = np.array([[0.9, 0.8, 0.7], [0.4, 0.5, 0.1], [0.3, 0.1, 0.2]])
    orders = list(itertools.permutations(range(3)))
    ranges = [
        np.ptp(np.mean([x[list(order), topic] for topic, order in enumerate(deal)], axis=0))
        for deal in itertools.product(orders, repeat=3)
    ]
    found = randomised_tukey(x, samples=40_000)
    exact = [np.mean(np.array(ranges) >= abs(d) - 1e-9) for d in found.difference]
    assert found.p == pytest.approx(exact, abs=0.01)
    assert len(set(found.required)) == 1


def test_tukey_is_the_most_careful() -> None:
    x = np.random.default_rng(9).random((6, 25)) + np.arange(6)[:, None] / 25
    each = discriminate(x, "randomisation", samples=2000)
    together = discriminate(x, "randomised-tukey", samples=2000)
    assert together.power < each.power
    assert together.difference_required >= each.required.max()


@pytest.mark.parametrize(
    ("scores", "how", "message"),
    [
        ([[1, 2]], {}, "a test needs the scores of at least two systems, as an array of systems by queries"),
        ([[1], [2]], {}, "a test needs at least two queries, got 1"),
        ([[1, np.nan], [1, 2]], {}, "1 of the scores is undefined"),
        ([[1, 2], [2, 1]], {"alpha": 1.0}, "alpha must be a number greater than 0 and less than 1, not 1.0"),
        ([[1, 2], [2, 1]], {"samples": 0}, "samples must be a whole number from 1 to 10,000,000, not 0"),
        ([[1, 2], [2, 1]], {"test": "z"}, "test must be one of bootstrap, randomisation, randomised-tukey, t; not 'z'"),
    ],
)
def test_bad_input(scores: list, how: dict, message: str) -> None:
    with pytest.raises(cf.CranfieldError) as error:
        discriminate(scores, **how)
    assert error.value.message == message


def test_resamplings_of_other_queries() -> None:
    x = np.zeros((2, 3))
    with pytest.raises(cf.CranfieldError, match="the resamples are for 4 queries, but there are scores for 3"):
        bootstrap(x, draw_queries(4, 10))
    with pytest.raises(cf.CranfieldError, match="the signs are for 4 queries, but there are scores for 3"):
        randomisation(x, draw_signs(4, 10))


def test_a_difference_that_rounding_makes_is_none() -> None:
    x = np.array([[0.3, 0.5, 0.7, 0.1], [0.1, 0.4, 0.9, 0.2]])
    found = bootstrap(x, draw_queries(4, 200), 0.99)
    assert (found.required == 0).all() or (found.required > 1e-12).all()
    assert found.required.tolist() == [0.0]


@pytest.mark.parametrize("seed", [-1, 1.5, None])
def test_seeds_are_whole_numbers(seed: Any) -> None:
    for draw in (draw_queries, draw_signs):
        with pytest.raises(cf.CranfieldError, match="seed must be a whole number of at least 0"):
            draw(20, 10, seed)


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 6), st.integers(2, 9), st.integers(0, 1000), st.sampled_from([0.1, 1e-3, 7.0]))
def test_p_values_by_system_are_those_by_pair(systems: int, queries: int, seed: int, step: float) -> None:
    x = np.random.default_rng(seed).integers(0, 5, (systems, queries)) * step
    for b in (50, 600):  # drawn, and all there are
        signs = draw_signs(queries, b, seed)
        assert randomisation_p_values(x, samples=b, seed=seed).tolist() == randomisation(x, signs).p.tolist()


@pytest.mark.parametrize("queries", [3, 50, 129, 1001, 20_001])
def test_resamples_in_blocks_are_those_drawn_at_once(queries: int) -> None:
    samples = 9_001 if queries < 1000 else 301
    blocks = list(sign_blocks(queries, samples, 7))
    assert np.array_equal(np.concatenate(blocks), draw_signs(queries, samples, 7).values)
    assert max(map(np.size, blocks)) <= max(2**22, 4 * queries)
    x = np.random.default_rng(1).random((3, queries)).round(2)
    found = bootstrap_p_values(x, samples=samples, seed=7)
    assert found.tolist() == bootstrap(x, draw_queries(queries, samples, 7)).p.tolist()


def test_the_memory_of_a_comparison_does_not_grow_with_its_resamples() -> None:
    script = """
import resource, numpy as np
from cranfield.statistics.resampling import bootstrap_p_values, randomisation_p_values
x = np.random.default_rng(0).random((2, 20_000))
randomisation_p_values(x, samples=100), bootstrap_p_values(x, samples=100)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
randomisation_p_values(x, samples=2_000), bootstrap_p_values(x, samples=500)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 150_000  # KB; all signs as floats are 320 MB
