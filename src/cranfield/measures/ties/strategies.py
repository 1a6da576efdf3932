"""Strategies: ways to compute the expectation of a measure over the orders of tied documents.

With ``ties=expected`` all orders of tied documents are equally likely, and a score is the mean over them. A measure
declares its strategy in the catalogue, as in ``@measure("BPM", ties=OverOrders())``; here they are from cheap to
expensive. The measure's function is the *kernel*: for `ClosedForm` it is the expectation itself, the others need less
of it. The other tie rules leave no ties; then every strategy calls the kernel once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from cranfield.data import Floats
from cranfield.ranking.batch import Batch
from cranfield.ranking.tie_rules import Arrangement
from cranfield.ranking.views import Views, condense_and_terminate

# A query with up to EXACT possibilities is scored exactly; beyond that, SAMPLES of them are drawn. There are separate
# limits for orders of tied documents, for the number of documents of each kind above a cutoff (CUTS), and for orders
# of documents of which no two are interchangeable (DISTINCT), which are expensive to score.
EXACT, SAMPLES = 5_000, 2_000
EXACT_CUTS = 100_000
EXACT_DISTINCT, SAMPLES_DISTINCT = 1_000, 500


class Effort(NamedTuple):
    """Up to how many orders, and cuts, of a query all are tried; else, how many samples."""

    orders: int
    cuts: int
    samples: int


FULL = Effort(EXACT, EXACT_CUTS, SAMPLES)
QUICK = Effort(30, 1_000, 0)  # for notes, which have the limits over orders of every column


class Search(NamedTuple):
    """What of the scores over orders is wanted: their mean, or with ``limit`` the highest or lowest one.

    ``seed``: of samples; ``effort``: how many orders are tried.
    """

    seed: int = 0
    limit: np.ufunc | None = None
    effort: Effort = FULL


@dataclass(eq=False)
class Estimate:
    """A value for each query, and its standard error if orders were sampled (else 0).

    The error of a limit over orders is infinite if an order that was not tried may go beyond it.
    """

    value: Floats
    error: Floats | None = None

    @staticmethod
    def unknown(batch: Batch) -> Estimate:
        """Limits for which no order was tried."""
        return Estimate(np.full(len(batch.length), np.nan), np.full(len(batch.length), np.inf))

    @staticmethod
    def joined(queries: int, parts: Iterable[tuple[Any, Estimate]]) -> Estimate:
        """Combine estimates of parts of the queries, given with their indices; later parts replace earlier ones."""
        value, error = np.zeros((2, queries))
        for which, estimate in parts:
            value[which], error[which] = estimate.value, 0 if estimate.error is None else estimate.error
        return Estimate(value, error if error.any() else None)


Kernel = Callable[..., Floats]
NO_CUTOFF = 1 << 60  # a rank below the end of every ranking


class TieStrategy(ABC):
    """A way to compute the expectation of a measure over the orders of tied documents.

    ``summary``: the meaning of ``ties=expected``, for readers. ``exact_up_to``: the number of possibilities of a query
    beyond which ``samples`` of them are drawn; empty if the expectation is always exact. ``nil_matters``: the limits
    over orders depend on where a tied NIL is, also if it does not end the list.
    """

    summary = "the mean over all orders of tied documents"
    exact_up_to = ""
    samples = 0
    nil_matters = False

    @abstractmethod
    def expectation(self, scoring: Scoring, batch: Batch, seed: int) -> Estimate:
        """The expected scores of lists that are condensed, terminated, and do not end inside a tie."""

    def expectation_at_depth(self, scoring: Scoring, batch: Batch, depth: int, seed: int) -> Estimate:
        """The expected scores of lists that are cut at a depth, which may be inside a tie."""
        from cranfield.measures.ties.over_orders import over_cuts

        return over_cuts(partial(scoring.score_uncut, seed=seed), batch, scoring.search(seed), k=depth)

    def limit_in_order(self, scoring: Scoring, batch: Batch, seed: int) -> Estimate:
        """The highest or lowest scores of complete lists, as `Scoring.arrange` orders their ties."""
        del seed  # nothing is sampled
        return scoring.estimate_arranged(batch)

    def limit(self, scoring: Scoring, batch: Batch, seed: int) -> Estimate:
        """The highest or lowest scores of lists from `views.ordered`, for which orders must be searched."""
        from cranfield.measures.ties.expectation import score_apart
        from cranfield.measures.ties.over_orders import enumerable, over_orders

        if not scoring.views.condensed and scoring.views.depth is None:  # the order below the cutoff has no effect
            below = batch.start >= scoring.cutoff
            start, size = np.where(below, batch.start + batch.order, batch.start), np.where(below, 1, batch.size)
            batch = batch.changed(start=start, size=size)

        def search(rows: Batch) -> Estimate:
            return over_orders(scoring.estimate_uncut, rows, scoring.search(seed))

        if scoring.effort.samples:
            return search(batch)
        return score_apart(batch, enumerable(batch, scoring.effort.orders), search, Estimate.unknown)

    @property
    def for_residual(self) -> TieStrategy:
        """The strategy for the residual, which is a kernel with the same parameters."""
        return self


class ClosedForm(TieStrategy):
    """The kernel itself is the expectation.

    For sums over documents of gain times discount (P, DCG, RBP), in which a tied document has its mean discount; and
    for all other measures with a formula for the mean over the orders of a tie (AP, RR, ERR, bpref).
    """

    summary = "the exact mean over all orders of tied documents, in closed form"

    def expectation(self, scoring: Scoring, batch: Batch, seed: int) -> Estimate:
        del seed  # nothing is sampled
        return scoring.estimate(batch)


class OverCuts(TieStrategy):
    """The mean over the possible sets of documents in the first k, if a tie crosses the cutoff.

    For measures whose divisor depends on the set of documents in the first k, but not on their order (SN_AP, SN_DCG,
    Accuracy). For a given set, the kernel is the expectation. ``rewards_promotion``: for a given set, moving a better
    document up never lowers the score.
    """

    summary = "the mean over the possible sets of tied documents in the first k"
    exact_up_to = f"{EXACT_CUTS:,} possibilities of a query"
    samples = SAMPLES

    def __init__(self, *, rewards_promotion: bool = True) -> None:
        self.rewards_promotion = rewards_promotion

    def expectation(self, scoring: Scoring, batch: Batch, seed: int) -> Estimate:
        return self._over_cuts(scoring.estimate, scoring, batch, seed)

    def limit_in_order(self, scoring: Scoring, batch: Batch, seed: int) -> Estimate:
        return self._over_cuts(scoring.estimate_arranged, scoring, batch, seed)

    def _over_cuts(self, score: Callable[[Batch], Estimate], scoring: Scoring, batch: Batch, seed: int) -> Estimate:
        from cranfield.measures.ties.over_orders import over_cuts

        search, retrieved_only = scoring.search(seed), scoring.retrieved_only
        return over_cuts(score, batch, search, k=scoring.cutoff, retrieved_only=retrieved_only)


class OverOrders(TieStrategy):
    """The mean over all orders of tied documents; documents of equal gain are interchangeable.

    For measures without a known formula, because the contribution of a document is not linear in the gains above it
    (BPM, NERR). The kernel may assume rankings without ties.

    ``affects_score`` takes the arguments of the kernel and returns which documents may change the score (those that
    a reader may see). The orders of all others are not enumerated.
    """

    exact_up_to = f"{EXACT:,} orders of a query"
    samples = SAMPLES
    positions_at_once = 1.0  # positions of one tied document that are scored in about the time of one ranking

    def __init__(self, affects_score: Kernel | None = None) -> None:
        self.affects_score = affects_score

    def expectation(self, scoring: Scoring, batch: Batch, seed: int) -> Estimate:
        from cranfield.measures.ties.over_orders import over_orders

        if self.affects_score is not None and batch.tied.any():
            affects_score = self.affects_score(batch, **scoring.arguments) > 0
            batch = batch.compact(~np.isnan(batch.grade) & affects_score)
        return over_orders(
            scoring.estimate,
            batch,
            Search(seed),
            # Where documents have costs, the cost of every rank depends on the position of each document.
            positions_at_once=self.positions_at_once if batch.costs is None else 1,
            retrieved_only=scoring.retrieved_only,
        )

    @property
    def for_residual(self) -> TieStrategy:
        """Residual kernels need rankings without ties, and every document may change the residual."""
        return OverOrders()


class OverOrdersIfCosts(OverOrders):
    """`ClosedForm` for documents that all cost the same, `OverOrders` where costs are given.

    For measures in which the weight of a rank depends only on the costs of the documents above it (TBG, U).
    """

    summary = "the exact mean over all orders of tied documents; with costs, the mean over these orders"

    def expectation(self, scoring: Scoring, batch: Batch, seed: int) -> Estimate:
        return scoring.estimate(batch) if batch.costs is None else super().expectation(scoring, batch, seed)

    @property
    def for_residual(self) -> TieStrategy:
        """The same, and every document may change the residual."""
        return OverOrdersIfCosts()


class OneOpenClosedForm(OverOrders):
    """The mean over all orders of tied documents except one, which stays tied; the kernel handles it by a formula.

    For measures with a formula for the mean over the positions of a single tied document, but not over the orders of
    two (IPrec, yaAP, G). Most queries have one relevant document; for these nothing is enumerated.
    """

    exact_up_to = f"{EXACT:,} orders of all tied documents of a query but one"
    positions_at_once = math.inf


class OneOpenEnumerated(OverOrders):
    """The mean over all orders of tied documents except one, whose positions the kernel enumerates itself.

    For measures in which moving a single document leaves most intermediate results unchanged (INST, IFT), so that the
    kernel scores many of its positions in the time of one ranking.
    """

    positions_at_once = 10.0
    exact_up_to = (
        f"{EXACT:,} orders of all tied documents of a query but one, or {int(positions_at_once) * EXACT:,} of all"
    )


class OverDistinctOrders(TieStrategy):
    """The mean over all orders of the first k, if no two documents are interchangeable.

    For measures of document text (ABSNB, DELTARB): documents of equal grade have different text, and each order must
    be scored separately.
    """

    exact_up_to = f"{EXACT_DISTINCT:,} orders of a query"
    samples = SAMPLES_DISTINCT

    def expectation(self, scoring: Scoring, batch: Batch, seed: int) -> Estimate:
        from cranfield.measures.ties.over_orders import over_distinct_orders

        return over_distinct_orders(scoring.estimate, batch, Search(seed), k=scoring.cutoff)

    def expectation_at_depth(self, scoring: Scoring, batch: Batch, depth: int, seed: int) -> Estimate:
        """The orders also determine which documents are above the depth, so that one mean is enough."""
        from cranfield.measures.ties.over_orders import over_distinct_orders

        # Depth and cutoff refer to the same ranks only if the list is not condensed.
        k = depth if scoring.views.condensed else min(scoring.cutoff, depth)
        return over_distinct_orders(scoring.estimate_uncut, batch, Search(seed), k=k)

    def limit(self, scoring: Scoring, batch: Batch, seed: int) -> Estimate:
        from cranfield.measures.ties.over_orders import over_distinct_orders

        k = NO_CUTOFF if scoring.views.condensed else scoring.cutoff
        return over_distinct_orders(scoring.estimate_uncut, batch, scoring.search(seed), k=k)


class Scoring(NamedTuple):
    """What strategies need to know about a measure with all its parameters.

    ``kernel``, ``arguments``: the function that scores rankings, and its parameters. ``views``: how lists are prepared;
    ``bounded``: how an ideal list is terminated. ``cutoff``: the last rank that affects the score.
    ``retrieved_only``: the score depends only on the documents retrieved. ``arrange``: for the highest or lowest score
    over orders, the order of ties that has it in lists of known documents; None if orders must be searched, and
    ``effort`` how many of them.
    """

    kernel: Kernel
    arguments: Mapping[str, Any]
    strategy: TieStrategy
    views: Views
    bounded: bool = False
    cutoff: int = NO_CUTOFF
    retrieved_only: bool = False
    arrange: Arrangement | None = None
    effort: Effort = FULL

    def search(self, seed: int) -> Search:
        """What of the orders is wanted."""
        return Search(seed, self.views.rule.limit, self.effort)

    def expectation(self, batch: Batch, seed: int) -> Estimate:
        """The expected scores of lists from `views.ordered`, or the limit over orders that the tie rule asks for.

        A list may end inside a tie, at its depth or at a tied NIL. The mean over ties at ends is computed first,
        because a list can be condensed and terminated only if its end is known.
        """
        if self.views.plain and not batch.has_ties:
            return self.estimate(batch)
        if self.views.rule.limit is not None and (self.arrange is None or batch.costs is not None):
            return self.strategy.limit(self, batch, seed)
        if not self.views.terminal:
            return self.score_cut(batch, seed)
        from cranfield.measures.ties.expectation import score_apart

        nil_is_tied = np.any(batch.nil & (batch.size > 1), axis=1)
        return score_apart(
            batch, nil_is_tied, partial(self.score_tied_nil, seed=seed), partial(self.score_cut, seed=seed)
        )

    def score_tied_nil(self, batch: Batch, seed: int) -> Estimate:
        """The expected scores of lists with NIL in a tie: they end at different ranks in different orders."""
        from cranfield.measures.ties.over_orders import over_orders

        return over_orders(partial(self.score_uncut, seed=seed), batch, self.search(seed))

    def score_cut(self, batch: Batch, seed: int) -> Estimate:
        """The expected scores of lists that a depth may cut inside a tie."""
        if self.views.depth is None:
            return self.score_uncut(batch, seed)
        return self.strategy.expectation_at_depth(self, batch, self.views.depth, seed)

    def score_uncut(self, batch: Batch, seed: int) -> Estimate:
        """The expected scores of lists that do not end inside a tie, or their limits."""
        score = self.strategy.expectation if self.arrange is None else self.strategy.limit_in_order
        return score(self, self.completed(batch), seed)

    def completed(self, batch: Batch) -> Batch:
        """Lists that do not end inside a tie, condensed and terminated."""
        return condense_and_terminate(batch, self.views, bounded=self.bounded)

    def estimate(self, batch: Batch) -> Estimate:
        """The kernel applied to complete lists."""
        return Estimate(self.kernel(batch, **self.arguments))

    def estimate_arranged(self, batch: Batch) -> Estimate:
        """The kernel applied to complete lists in the order that has the limit."""
        assert self.arrange is not None
        return self.estimate(self.arrange(batch) if batch.has_ties else batch)

    def estimate_uncut(self, batch: Batch) -> Estimate:
        """The kernel applied to lists that are completed first."""
        return self.estimate(self.completed(batch))
