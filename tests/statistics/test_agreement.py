"""Agreement of two orders."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import cranfield as cf
from cranfield.statistics.correlation import critical_tau, kendall, pearson, spearman, swapped_pairs, swaps, tau, tau_ap
from cranfield.statistics.rounding import levels
from golden_cases import STRUCTURED

GOLDEN = STRUCTURED
KENDALL = [case for case in GOLDEN if case["measure"] == "kendall"]

# Scores that tie often, of two scorings of the same systems.
scorings = st.integers(2, 7).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n).map(np.array)] * 2)
)


@pytest.mark.parametrize("case", KENDALL, ids=lambda case: case["id"])
def test_golden(case: dict) -> None:
    x, y = case["scores"]
    found = kendall(x, y)
    for variant in ("a", "b"):
        expected = pytest.approx(case["expected"][f"tau_{variant}"], abs=case["tol"])
        assert getattr(found, f"tau_{variant}") == expected
        assert tau(x, y, variant) == expected


def test_there_are_golden_cases() -> None:
    assert len(KENDALL) >= 3


@pytest.mark.parametrize("seed", range(20))
def test_against_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 12, (2, 15)) / 7
    found = kendall(x, y)
    theirs = stats.kendalltau(x, y, method="asymptotic")
    assert found.tau_b == pytest.approx(theirs.statistic)
    assert not found.exact
    assert found.p_value == pytest.approx(theirs.pvalue)
    assert len(swapped_pairs(x, y)) == found.discordant
    undecided = np.sum((x[:, None] == x) | (y[:, None] == y)) - len(x)
    assert found.concordant + found.discordant + undecided // 2 == found.pairs
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 33])
def test_exact_significance(n: int) -> None:
    rng = np.random.default_rng(n)
    x, y = rng.permutation(n), rng.permutation(n)
    found = kendall(x, y)
    assert found.exact
    assert found.p_value == pytest.approx(stats.kendalltau(x, y, method="exact").pvalue)


def test_exact_significance_by_enumeration() -> None:
    x, y = np.arange(6), np.array([1, 0, 2, 3, 5, 4])
    wanted = abs(kendall(x, y).tau_a)
    every = [abs(kendall(x, np.array(order)).tau_a) for order in itertools.permutations(range(6))]
    assert kendall(x, y).p_value == pytest.approx(np.mean(np.array(every) >= wanted - 1e-12))


def test_many_systems_are_left_to_the_normal_distribution() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random((2, 101))
    found = kendall(x, y)
    assert not found.exact
    assert found.p_value == pytest.approx(stats.kendalltau(x, y, method="asymptotic").pvalue)


@settings(deadline=None, max_examples=40)
@given(scorings)
def test_variance_with_ties_by_enumeration(both: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = (one[:5] for one in both)
    every = [kendall(x, np.array(order)) for order in itertools.permutations(y)]
    squares = [(one.concordant - one.discordant) ** 2 for one in every]
    assert kendall(x, y).variance == pytest.approx(np.mean(squares))


def test_critical_value_of_the_paper() -> None:
    assert critical_tau(30, 0.01) == pytest.approx(0.3319, abs=5e-5)
    with pytest.raises(cf.CranfieldError, match="two systems"):
        critical_tau(1)


@pytest.mark.parametrize("alpha", [0.1, 0.05, 0.01, 0.001])
@pytest.mark.parametrize("n", range(2, 9))
def test_few_systems_are_counted_out(n: int, alpha: float) -> None:
    """Beyond the critical value, and only there, is what so few orders reach less often than alpha."""
    critical, pairs = critical_tau(n, alpha), n * (n - 1) // 2
    for discordant in range(pairs // 2 + 1):
        x = np.arange(n)
        found = kendall(x, _with_inversions(n, discordant))
        assert found.discordant == discordant
        assert (found.tau_a > critical) == (found.p_value <= alpha + 1e-12)


def _with_inversions(n: int, count: int) -> list[int]:
    """An order with so many inversions: the highest goes to the front, as far as it may."""
    order: list[int] = []
    for i in range(n):
        step = min(count, i)
        order.insert(i - step, i)
        count -= step
    return order


def test_many_at_once() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 9, (3, 4, 11)) / 9, rng.integers(0, 9, (4, 11)) / 9
    for variant in ("a", "b"):
        found = tau(x, y, variant)
        assert found.shape == (3, 4)
        one = [[getattr(kendall(x[r, m], y[m]), f"tau_{variant}") for m in range(4)] for r in range(3)]
        assert found == pytest.approx(np.array(one))
    assert tau(y[:, None], y) == pytest.approx(np.array([[kendall(a, b).tau_a for b in y] for a in y]))
    for rule in (spearman, pearson, tau_ap, lambda a, b: tau_ap(a, b, "b")):
        assert rule(x, y) == pytest.approx(np.array([[rule(x[r, m], y[m]) for m in range(4)] for r in range(3)]))


def plain_tau_ap(truth: np.ndarray, order: tuple[int, ...]) -> float:
    """AP correlation of an estimated order without ties, straight from its definition."""
    shares = []
    for i in range(1, len(order)):
        above = [np.sign(truth[j] - truth[order[i]]) for j in order[:i]]
        shares.append(np.mean(above))
    return float(np.mean(shares))


@settings(deadline=None, max_examples=60)
@given(scorings)
def test_ap_correlation_is_the_mean_over_orders_of_ties(both: tuple[np.ndarray, np.ndarray]) -> None:
    truth, estimate = (one[:6] for one in both)
    orders = [
        order
        for order in itertools.permutations(range(len(truth)))
        if all(estimate[a] >= estimate[b] for a, b in itertools.pairwise(order))
    ]
    assert tau_ap(truth, estimate) == pytest.approx(np.mean([plain_tau_ap(truth, order) for order in orders]))


def test_ap_correlation_as_published() -> None:
    """The worked example of Urbano and Marrero's own software."""
    x = np.array([0.06, 0.2, 0.27, 0.37, 0.57, 0.63, 0.66, 0.9, 0.91, 0.94])
    y = np.array([0.37, 0.06, 0.2, 0.27, 0.57, 0.66, 0.63, 0.91, 0.9, 0.94])
    assert kendall(x, y).tau_a == pytest.approx(0.7777778, abs=5e-8)
    assert tau_ap(x, y) == pytest.approx(0.7491182, abs=5e-8)
    y = np.round(y * 5) / 5
    assert kendall(x, y).tau_a == pytest.approx(0.7111111, abs=5e-8)
    assert tau_ap(x, y) == pytest.approx(0.6074515, abs=5e-8)
    x = np.round(x * 5) / 5
    assert kendall(x, y).tau_b == pytest.approx(0.75, abs=5e-8)
    assert tau_ap(x, y, "b") == pytest.approx(0.6269841, abs=5e-8)


@settings(deadline=None)
@given(scorings)
def test_ranges_and_symmetry(both: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = both
    for rule in (spearman, pearson, tau, lambda a, b: tau(a, b, "b"), lambda a, b: tau_ap(a, b, "b")):
        one, other = float(rule(x, y)), float(rule(y, x))
        assert one == pytest.approx(other, nan_ok=True)
        assert math.isnan(one) or abs(one) <= 1 + 1e-12
    assert abs(tau_ap(x, y)) <= 1 + 1e-12


def test_the_last_digit_decides_nothing() -> None:
    found = kendall(np.array([0.1 + 0.2, 0.3, 1.0]), np.array([1.0, 2.0, 3.0]))
    assert (found.tied_x, found.concordant) == (1, 2)
    assert levels([[0.3, 0.1 + 0.2], [2, 1]]).tolist() == [[0, 0], [1, 0]]
    assert np.isnan(pearson([0.1 + 0.2, 0.3, 0.3], [1, 2, 3]))


def test_equal_systems_have_no_order() -> None:
    found = kendall(np.ones(3), np.arange(3.0))
    assert np.isnan(found.tau_b)
    assert np.isnan(found.p_value)
    assert found.tau_a == 0
    assert np.isnan([tau(np.ones(3), np.arange(3.0), "b"), spearman(np.ones(3), np.arange(3.0))]).all()
    assert np.isnan(tau_ap(np.ones(3), np.arange(3.0), "b"))


def test_swaps_by_name() -> None:
    names = ["w", "x", "y", "z"]
    assert swaps([4, 3, 2, 1], [3, 4, 1, 2], names) == [("w", "x"), ("y", "z")]
    assert swaps([4, 3, 3, 1], [3, 3, 4, 1], names) == [("w", "y")]  # what one leaves undecided is no swap
    with pytest.raises(cf.CranfieldError, match="3 names for 4 systems"):
        swaps([4, 3, 2, 1], [3, 4, 1, 2], names[:3])


@pytest.mark.parametrize(("n", "message"), [(1, "got 1"), (0, "got 0")])
def test_an_order_needs_two(n: int, message: str) -> None:
    with pytest.raises(cf.CranfieldError, match=message):
        kendall(np.ones(n), np.ones(n))


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1, 2, 3], [1, 2], "the scorings have different numbers of systems: 3 and 2"),
        ([1, 2, np.nan], [1, 2, 3], "1 of the scores is undefined"),
        ([[1, 2, 3]], [1, 2, 3], "kendall compares two scorings; use tau for arrays of scorings"),
    ],
)
def test_bad_scorings(x: list, y: list, message: str) -> None:
    with pytest.raises(cf.CranfieldError) as error:
        kendall(x, y)
    assert error.value.message == message


def test_bad_variant() -> None:
    with pytest.raises(cf.CranfieldError, match="variant must be one of a, b; not 'c'"):
        tau([1, 2], [1, 2], "c")  # type: ignore[arg-type]
