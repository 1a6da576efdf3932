"""Rank-biased overlap, with ties."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.errors import UsageError
from cranfield.statistics.correlation import Overlap, kendall, pearson, rbo

P = 0.8
FAR = 120  # ranks after which nothing is left of P

rankings = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 2), min_size=1, max_size=4)


def orders(ranking: dict[str, float]) -> list[tuple[str, ...]]:
    """Every order that the scores leave open."""
    return [
        order
        for order in itertools.permutations(ranking)
        if all(ranking[a] >= ranking[b] for a, b in itertools.pairwise(order))
    ]


def sum_of(agreements: list[float]) -> float:
    return (1 - P) * sum(agreement * P**i for i, agreement in enumerate(agreements))


def endless(x: list[str], y: list[str]) -> float:
    """RBO of two lists so long that their ends do not matter, by its definition."""
    return sum_of([len(set(x[:d]) & set(y[:d])) / d for d in range(1, FAR + 1)])


def plain(x: tuple[str, ...], y: tuple[str, ...]) -> Overlap:
    """RBO of two orders without ties: the bounds by going on as badly and as well as can be, ext by equation 32."""
    short, long = sorted((list(x), list(y)), key=len)
    s, n = len(short), len(long)
    low = endless([*short, *range(FAR)], [*long, *range(FAR, 2 * FAR)])
    left = [item for item in long if item not in short]
    more = [item for item in short if item not in long]
    rest = [str(i) for i in range(FAR)]
    # Best: the shorter takes up what it lacks, the longer what it lacks, and then both the same.
    high = endless([*short, *left, *rest], [*long, *more, *rest])
    at = [len(set(short[:d]) & set(long[:d])) for d in range(1, n + 1)]
    head = sum(at[d - 1] / d * P**d for d in range(1, n + 1))
    middle = sum(at[s - 1] * (d - s) / (s * d) * P**d for d in range(s + 1, n + 1))
    ext = (1 - P) / P * (head + middle) + ((at[n - 1] - at[s - 1]) / n + at[s - 1] / s) * P**n
    return Overlap(ext, low, high)


@settings(deadline=None, max_examples=40)
@given(rankings, rankings)
def test_mean_over_orders_of_ties(x: dict[str, float], y: dict[str, float]) -> None:
    every = [plain(a, b) for a in orders(x) for b in orders(y)]
    found = rbo(x, y, P, "a")
    assert found.min == pytest.approx(np.mean([one.min for one in every]))
    # The parts of ext and max beyond the end of the shorter list are no means over orders, but for lists of one length.
    if len(x) == len(y) or len(every) == 1:
        assert found.ext == pytest.approx(np.mean([one.ext for one in every]))
        assert found.max == pytest.approx(np.mean([one.max for one in every]))


@settings(deadline=None)
@given(rankings, rankings)
def test_without_ties_all_rules_agree(x: dict[str, float], y: dict[str, float]) -> None:
    x, y = ({item: float(i) for i, item in enumerate(one)} for one in (x, y))
    expected = plain(orders(x)[0], orders(y)[0])
    for ties in ("a", "b", "w"):
        assert rbo(x, y, P, ties) == pytest.approx(expected)


@settings(deadline=None)
@given(rankings, rankings)
def test_bounds_and_symmetry(x: dict[str, float], y: dict[str, float]) -> None:
    for ties in ("a", "b", "w"):
        found = rbo(x, y, P, ties)
        assert found == pytest.approx(rbo(y, x, P, ties))
        assert -1e-12 <= found.min <= found.ext + 1e-9
        assert found.ext <= found.max + 1e-9
        assert found.max <= 1 + 1e-9
    assert rbo(x, y, P, "a").ext <= rbo(x, y, P, "b").ext + 1e-9


@settings(deadline=None)
@given(rankings)
def test_a_ranking_agrees_with_itself(x: dict[str, float]) -> None:
    assert rbo(x, x, P, "b").ext == pytest.approx(1)
    assert rbo(x, x, P, "w").ext == pytest.approx(1)


def test_as_published() -> None:
    """The worked example of Corsi and Urbano's own software."""
    x = {"red": 4, "blue": 3, "green": 3, "yellow": 2, "pink": 1}
    y = {"blue": 4, "red": 4, "white": 3, "yellow": 2, "black": 2, "purple": 2, "green": 1}
    expected = {
        "a": (0.6922853, 0.3310519, 0.8930692),
        "w": (0.7068257, 0.3429684, 0.9049857),
        "b": (0.7207131, 0.3509163, 0.9129336),
    }
    for ties, values in expected.items():
        found = rbo(x, y, 0.95, ties)  # type: ignore[arg-type]
        assert found == pytest.approx(values, abs=5e-8)
        assert found.residual == pytest.approx(0.5620173, abs=5e-8)


def test_scores_of_the_same_systems() -> None:
    assert rbo([3, 2, 1], [2, 3, 1]) == rbo({"a": 3, "b": 2, "c": 1}, {"a": 2, "b": 3, "c": 1})
    assert rbo(np.array([3.0, 2.0]), np.array([3.0, 2.0])).ext == pytest.approx(1)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (([1, 2], [1, 2], 1.0), "p must be a number greater than 0 and less than 1, not 1.0"),
        (([1, 2], [1, 2], 0.9, "c"), "ties must be one of a, b, w; not 'c'"),
        (([1, 2], [1]), "the rankings have different numbers of items: 2 and 1"),
        (([1, 2], {"a": 1}), "overlap needs two rankings of the same kind"),
        (([], []), "overlap needs two rankings; one is empty"),
        (([1, float("nan")], [1, 2]), "some of the scores are undefined"),
        ((None, ["a"]), "a ranking is a list of ids or scores, or a dict {item: score}, not NoneType"),
        ((["a"], 3), "a ranking is a list of ids or scores, or a dict {item: score}, not int"),
        (({"a", "b"}, ["a"]), "a ranking is a list of ids or scores, or a dict {item: score}, not set"),
        ((iter("ab"), iter("ab")), "a ranking is a list of ids or scores, or a dict {item: score}, not str_"),
        ((np.array(3.0), [1]), "a ranking is a list of ids or scores, or a dict {item: score}, not ndarray"),
        ((np.zeros((2, 2)), np.zeros((2, 2))), "a ranking is a list of ids or scores, or a dict"),
        (([None], [None]), "some of the scores are not numbers"),
        (({"a": None}, {"a": 1}), "some of the scores are not numbers"),
        (({"a": {"b": 1}}, {"a": 1}), "some of the scores are not numbers"),
        (([[1], [2]], [[1], [2]]), "some of the scores are not numbers"),
        (([1j], [1j]), "some of the scores are not numbers"),
        (([10**400], [1]), "some of the scores are not numbers"),
        (([1, 2], [1, 2], 10**400), "p must be a number greater than 0 and less than 1"),
        (([b"a", "a"], ["a", "b"]), "an item appears twice in a ranking"),
    ],
)
def test_bad_rankings(args: tuple, message: str) -> None:
    with pytest.raises(cf.CranfieldError) as error:
        rbo(*args)
    assert error.value.message.startswith(message)


@pytest.mark.parametrize("lists", [(["3", "1", "2"], ["1", "3", "2"]), (["10", "9", "8"], ["9", "10", "8"])])
def test_lists_of_ids_are_rankings_and_not_scores(lists: tuple[list[str], list[str]]) -> None:
    by_item = [{item: -rank for rank, item in enumerate(ids)} for ids in lists]
    assert rbo(*lists) == rbo(*by_item)
    assert rbo(*(np.array(ids) for ids in lists)) == rbo(*by_item)
    assert rbo(*([item.encode() for item in ids] for ids in lists)).ext == rbo(*by_item).ext
    assert rbo(lists[0], [item.encode() for item in lists[1]]) == rbo(*by_item)
    assert rbo(lists[0], lists[1][:2]) == rbo(by_item[0], dict(list(by_item[1].items())[:2]))


@pytest.mark.parametrize(
    "pair",
    [
        (["1", "2"], [1.0, 2.0]),
        (["1", 2.0], ["1", "2"]),
        ({"a": "1"}, {"a": 1.0}),
        (["1", "2"], {"1": 2.0}),
        ("12", "21"),
    ],
)
def test_rankings_of_two_kinds_are_refused(pair: Any) -> None:
    with pytest.raises(UsageError, match="two rankings of the same kind"):
        rbo(*pair)
    with pytest.raises(UsageError, match="two rankings of the same kind"):
        rbo(*reversed(pair))


def test_an_id_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="appears twice"):
        rbo(["a", "a"], ["a", "b"])


@pytest.mark.parametrize("factor", [1e200, 1e306, 1e-5, 1e-25, 1e-200, 1e-300, 2.0**1000])
def test_no_scale_changes_a_linear_correlation(factor: float) -> None:
    x, y = np.array([1.0, 2.0, 3.0, 5.0]), np.array([10.0, 20.0, 35.0, 1.0])
    expected = np.corrcoef(x, y)[0, 1]
    assert float(pearson(x * factor, y)) == pytest.approx(expected, abs=1e-12)
    assert float(pearson(x, -y * factor)) == pytest.approx(-expected, abs=1e-12)
    assert float(pearson(x * factor, y * factor)) == pytest.approx(expected, abs=1e-12)
    assert kendall(x * factor, y) == kendall(x, y)


def test_rounding_errors_are_no_order() -> None:
    assert math.isnan(pearson([0.1 + 0.2 - 0.3, 0.0, 0.3 - 0.2 - 0.1], [1, 2, 3]))
    assert kendall([0.1 + 0.2, 0.3, 0.5], [1, 2, 3]).tied_x == 1
