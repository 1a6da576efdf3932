"""Each strategy with a kernel of its kind, against the mean over every order of a small tie."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable

import numpy as np
import pytest

import cranfield as cf
from cranfield.measures.ties.strategies import (
    ClosedForm,
    Estimate,
    OneOpenClosedForm,
    OneOpenEnumerated,
    OverCuts,
    OverDistinctOrders,
    OverOrders,
    Scoring,
    TieStrategy,
)
from cranfield.measures.weights import harmonic
from cranfield.ranking.batch import Batch, summed
from cranfield.ranking.rankings import from_ranking
from cranfield.ranking.views import Gains, ordered
from every_measure import orders


class Kernel:
    """A kernel that remembers the rankings it was given: how many, and the largest number of tied documents in one."""

    def __init__(self, function: Callable[[Batch], np.ndarray]) -> None:
        self.function = function
        self.rankings = self.tied_documents = 0

    def __call__(self, batch: Batch) -> np.ndarray:
        self.rankings += len(batch.length)
        tied = ((batch.size > 1) & batch.relevant).sum(axis=1)
        self.tied_documents = max(self.tied_documents, int(tied.max(initial=0)))
        return self.function(batch)


def expectation(kernel: Kernel, strategy: TieStrategy, ranking: list, views: str = "", **facts) -> Estimate:
    """The expectation of a kernel of relevant or not over the ties of a ranking."""
    views = cf.parse(f"AP[ties=expected, {views}]").views
    batch = ordered(from_ranking(ranking), Gains("binary"), views)
    return Scoring(kernel, {}, strategy, views, **facts).expectation(batch, 0)


def enumerated(function: Callable[[Batch], np.ndarray], ranking: list) -> float:
    """The mean of a kernel over every order, one after the other; undefined counts 0."""
    gains = Gains("binary")
    values = [
        function(from_ranking(order).batch(gains, None))[0] for order in orders([list(group) for group in ranking])
    ]
    return float(np.nan_to_num(values).mean())


def sum_of_reciprocal_ranks(b: Batch) -> np.ndarray:
    """A sum over documents, for any tie."""
    return summed(b.gain * b.mean_over(harmonic))


def share_at_top_of_two(b: Batch) -> np.ndarray:
    """The share, of the relevant documents of the first 2, that the first rank is expected to hold."""
    whole = b.seen(2) == b.size
    with np.errstate(invalid="ignore"):
        return summed(np.where(whole, b.gain * b.seen(1) / b.size, 0)) / summed(np.where(whole, b.gain, 0))


def product_of_ranks(b: Batch) -> np.ndarray:
    """Not a sum over documents. A single tied document may have each of its ranks; of several no formula is known."""
    return np.where(b.relevant, b.start + (b.size + 1) / 2, 1).prod(axis=1)


def grade_on_top(b: Batch) -> np.ndarray:
    """Different for documents of equal gain."""
    return b.grade[:, 0]


def test_closed_form_is_for_kernels_that_are_the_expectation() -> None:
    kernel, ranking = Kernel(sum_of_reciprocal_ranks), [(1, 0, 1), (1, None)]
    estimate = expectation(kernel, ClosedForm(), ranking)
    assert estimate.value[0] == pytest.approx(enumerated(sum_of_reciprocal_ranks, ranking))
    assert (kernel.rankings, kernel.tied_documents) == (1, 3)


def test_over_cuts_is_for_kernels_that_need_to_know_which_documents_reach_the_cutoff() -> None:
    kernel, ranking = Kernel(share_at_top_of_two), [(1,), (1, 1, 0, None)]
    estimate = expectation(kernel, OverCuts(), ranking, cutoff=2)
    assert estimate.value[0] == pytest.approx(enumerated(share_at_top_of_two, ranking)) == 0.75
    assert (
        share_at_top_of_two(from_ranking(ranking).batch(Gains("binary"), None))[0] == 1
    )  # the kernel alone does not know
    # A relevant document, the one that is not, or the unjudged one: not all 24 orders.
    assert kernel.rankings == 3


def test_over_orders_is_for_kernels_that_score_rankings_without_ties() -> None:
    kernel, ranking = Kernel(product_of_ranks), [(1, 1, None, None), (1, None)]
    estimate = expectation(kernel, OverOrders(), ranking)
    assert estimate.value[0] == pytest.approx(enumerated(product_of_ranks, ranking))
    # Relevant documents are interchangeable: 2 of 4 positions and 1 of 2, not 4! times 2 orders.
    assert (kernel.rankings, kernel.tied_documents) == (12, 0)


def test_over_orders_leaves_out_documents_that_do_not_affect_the_score() -> None:
    def best_rank(b: Batch) -> np.ndarray:
        return np.where(b.relevant, b.start + 1, np.inf).min(axis=1)

    kernel, ranking = Kernel(best_rank), [(1, None), (1, 1, None, None)]
    strategy = OverOrders(affects_score=lambda b: b.above(b.gain) == 0)
    assert expectation(kernel, strategy, ranking).value[0] == enumerated(best_rank, ranking) == 1.5
    assert kernel.rankings == 2


@pytest.mark.parametrize("strategy", [OneOpenClosedForm(), OneOpenEnumerated()])
def test_one_open_is_for_kernels_that_average_over_the_positions_of_one_document(strategy: TieStrategy) -> None:
    kernel, ranking = Kernel(product_of_ranks), [(1, None, None, None, None)]
    assert expectation(kernel, strategy, ranking).value[0] == enumerated(product_of_ranks, ranking) == 3
    assert (kernel.rankings, kernel.tied_documents) == (1, 1)
    kernel, ranking = Kernel(product_of_ranks), [(1, 1, None), (1, None, None, None)]
    estimate = expectation(kernel, strategy, ranking)
    assert estimate.value[0] == pytest.approx(enumerated(product_of_ranks, ranking))
    # The document of the wider tie stays open: 2 of 3 positions for the others, and once in any order.
    assert (kernel.rankings, kernel.tied_documents) == (3 + 1, 1)


@pytest.mark.parametrize(
    ("size", "exact"),
    [(100, [OverOrders, OneOpenEnumerated, OneOpenClosedForm]), (102, [OneOpenEnumerated, OneOpenClosedForm]), (330, [OneOpenClosedForm])],
)  # fmt: skip
def test_the_more_positions_a_kernel_takes_at_once_the_longer_the_mean_is_exact(size: int, exact: list) -> None:
    # Two documents have C(size, 2) positions: 4,950, 5,151 and 54,285.
    ranking = [(1, 1, *[None] * (size - 2))]
    mean = np.mean([a * b for a, b in itertools.combinations(range(1, size + 1), 2)])
    for strategy in (OverOrders, OneOpenEnumerated, OneOpenClosedForm):
        estimate = expectation(Kernel(product_of_ranks), strategy(), ranking)
        assert (estimate.error is None) == (strategy in exact)
        sampling = 0 if estimate.error is None else 5 * estimate.error[0]
        assert estimate.value[0] == pytest.approx(mean, rel=1e-9, abs=sampling)


def test_over_distinct_orders_is_for_kernels_that_read_documents() -> None:
    kernel, ranking = Kernel(grade_on_top), [(1, 2, 4), (1, 2)]
    estimate = expectation(kernel, OverDistinctOrders(), ranking, cutoff=1)
    assert estimate.value[0] == pytest.approx(enumerated(grade_on_top, ranking)) == pytest.approx(7 / 3)
    assert kernel.rankings == 3  # below the cutoff the order does not matter
    interchangeable = expectation(Kernel(grade_on_top), OverOrders(), ranking)
    assert interchangeable.value[0] != pytest.approx(7 / 3)


def test_over_distinct_orders_says_which_documents_are_above_a_depth_too() -> None:
    kernel = Kernel(lambda b: np.where(np.isnan(b.grade), 0, b.grade).sum(axis=1))
    assert expectation(kernel, OverDistinctOrders(), [(1, 2, 4)], "depth=2").value[0] == pytest.approx(14 / 3)
    assert kernel.rankings == 6
    # The depth counts ranks before a list is condensed, and the cutoff after.
    estimate = expectation(Kernel(grade_on_top), OverDistinctOrders(), [(None, 1, 4)], "depth=2, condensed", cutoff=1)
    assert estimate.value[0] == pytest.approx(2.5)


@pytest.mark.parametrize("strategy", [ClosedForm(), OverCuts(), OverOrders(), OneOpenClosedForm(), OneOpenEnumerated()])
def test_a_depth_inside_a_tie_is_averaged_over_before_the_strategy(strategy: TieStrategy) -> None:
    kernel = Kernel(lambda b: b.relevant.sum(axis=1).astype(float))
    assert expectation(kernel, strategy, [(0,), (1, 1, None)], "depth=3").value[0] == pytest.approx(4 / 3)
    assert kernel.rankings >= 2  # one or two of the relevant documents are above the depth


def test_the_residual_of_a_measure_that_takes_open_documents_is_the_mean_over_orders() -> None:
    ranking = [(1, 0, None), (1, None)]
    plain = cf.parse("INST(horizon=9, max=2)")
    each = [plain.residual(from_ranking(order)).value[0] for order in orders([list(group) for group in ranking])]
    found = cf.parse("INST(horizon=9, max=2)[ties=expected]").residual(from_ranking(ranking))
    assert found.value[0] == pytest.approx(np.mean(each))


@pytest.mark.parametrize("name", ["AP", "NERR8@5", "nDCG(gain='exp')@10[condensed]"])
def test_a_measure_that_was_used_travels_to_another_process(name: str) -> None:
    measure = cf.parse(name)
    score = measure([1, (0, 1), None])
    there = pickle.loads(pickle.dumps(measure))
    assert there == measure
    assert there([1, (0, 1), None]) == score
