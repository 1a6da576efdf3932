"""`cranfield.measures.average_precision`: golden cases, and expectations over orders with large gains."""

from __future__ import annotations

import itertools
import math

import pytest

import cranfield as cf


@pytest.mark.parametrize("beta", [1, 100, 10_000, 1_000_000])
@pytest.mark.parametrize("missed", [1, 30, 1_000_000])
@pytest.mark.parametrize("ties", [["xy", "abzu", "v", "cdw"], ["abcd", "xyz"], ["x", "y", "z", "ab", "wucv"]])
@pytest.mark.parametrize("cutoff", ["", "@3", "@6", "@9"])
def test_expectation_of_q_with_large_gains(beta: int, missed: int, ties: list[str], cutoff: str) -> None:
    """Below the last relevant document of the ideal ranking, weights of ranks are nearly the same."""
    grades = {"a": 1, "b": 3, "c": 2, "d": 0, "never": missed}
    ideal = list(itertools.accumulate(sorted(grades.values(), reverse=True)))

    def q(order: tuple[str, ...]) -> float:
        cg = count = total = 0.0
        for i, document in enumerate(order[: int(cutoff[1:] or 99)], start=1):
            gain = grades.get(document, 0)
            cg, count = cg + gain, count + (gain > 0)
            total += (beta * cg + count) / (beta * ideal[min(i, 5) - 1] + i) if gain > 0 else 0
        return total / 4

    orders = [sum(order, ()) for order in itertools.product(*(itertools.permutations(tie) for tie in ties))]
    expected = math.fsum(map(q, orders)) / len(orders)
    run = {"q": {document: -float(i) for i, tie in enumerate(ties) for document in tie}}
    value = cf.Evaluator({"q": grades}, f"Q(beta={beta}){cutoff}[ties=expected]").values(run)
    assert value[0, 0] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("size", [50, 1_000, 30_000])
@pytest.mark.parametrize("beta", [1, 60, 250, 10_000, 1_000_000])
def test_expectation_of_q_in_large_ties(size: int, beta: int) -> None:
    """Two relevant documents in a tie: for each position of one, the mean over all positions of the other."""
    grades, ideal = {"a": 2, "b": 1, "never": 3}, 6.0  # from rank 3 on
    run = {"q": {"x": 3.0, "y": 3.0, "z": 3.0, "u": 3.0} | dict.fromkeys(["a", "b", *map(str, range(size - 2))], 2.0)}
    terms = []
    for x in range(size):
        above = x / (size - 1)  # the chance that the other one is above
        own = beta * 3 * (1 + above) + 2 * (1 + above)
        terms.append(own / (beta * ideal + 5 + x))
    expected = math.fsum(terms) / size / 3
    value = cf.Evaluator({"q": grades}, f"Q(beta={beta})[ties=expected]").values(run)
    assert value[0, 0] == pytest.approx(expected, rel=1e-11)
