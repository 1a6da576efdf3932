"""Strategies: how the expectation of a measure over the orders of tied documents is taken.

With ``ties=expected`` all orders of tied documents are equally likely, and a score is the mean over them. A measure
names its strategy in the catalogue, as in ``@measure("BPM", ties=OverOrders())``. From the cheapest to the dearest:

- `ClosedForm`: the kernel, which is the measure's function, is the expectation itself.
- `OverCuts`: the kernel is the expectation once it is known which documents are in the first k.
- `OneOpenClosedForm`, `OneOpenEnumerated`: the kernel is the expectation where a single document is tied.
- `OverOrders`: the kernel scores rankings without ties.
- `OverOrdersIfCosts`: so it does where costs are given; else it is the expectation itself.
- `OverDistinctOrders`: so it does, and no two documents are interchangeable, because the measure reads them.

Other tie rules leave no ties open; then every strategy calls the kernel once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from cranfield.data import Floats
from cranfield.measures.ties.estimate import (
    EXACT,
    EXACT_CUTS,
    EXACT_DISTINCT,
    SAMPLES,
    SAMPLES_DISTINCT,
    Estimate,
)
from cranfield.ranking.batch import Batch
from cranfield.ranking.views import Views, settled

Kernel = Callable[..., Floats]
NO_CUTOFF = 1 << 60  # below any ranking


class TieStrategy(ABC):
    """One way to take the expectation of a measure over the orders of tied documents.

    ``summary``: what ``ties=expected`` is, for readers. ``exact_up_to``: the number of possibilities of a query beyond
    which ``samples`` of them are drawn; empty where the expectation is always exact.
    """

    summary = "the mean over all orders of tied documents"
    exact_up_to = ""
    samples = 0

    @abstractmethod
    def expectation(self, scoring: Scoring, batch: Batch, seed: int) -> Estimate:
        """The expected score of complete lists: condensed and terminated, and none ends inside a tie."""

    def expectation_at_depth(self, scoring: Scoring, batch: Batch, depth: int, seed: int) -> Estimate:
        """The expected score of lists that are cut at a depth, which may fall inside a tie."""
        from cranfield.measures.ties.over_cuts import over_cuts

        return over_cuts(partial(scoring.score_uncut, seed=seed), batch, k=depth, seed=seed)

    @property
    def for_residual(self) -> TieStrategy:
        """The strategy for the measure's residual, a kernel with the same parameters."""
        return self


class ClosedForm(TieStrategy):
    """The kernel itself is the expectation.

    Right for a sum over documents of gain by discount (P, DCG, RBP), where a tied document counts with its mean
    discount; and wherever else the mean over the orders of a tie has a formula (AP, RR, ERR, bpref).
    """

    summary = "the exact mean over all orders of tied documents, in closed form"

    def expectation(self, scoring: Scoring, batch: Batch, seed: int) -> Estimate:
        return scoring.estimate(batch)


class OverCuts(TieStrategy):
    """The mean over which of the documents tied across the cutoff are in the first k.

    Right for a measure that is divided by something that depends on which documents the first k hold, but not on
    their order (SN_AP, SN_DCG, Accuracy). Inside the first k the kernel is the expectation.
    """

    summary = "the mean over which of the tied documents reach the first k"
    exact_up_to = f"{EXACT_CUTS:,} possibilities of a query"
    samples = SAMPLES

    def expectation(self, scoring: Scoring, batch: Batch, seed: int) -> Estimate:
        from cranfield.measures.ties.over_cuts import over_cuts

        return over_cuts(scoring.estimate, batch, k=scoring.cutoff, retrieved_only=scoring.retrieved_only, seed=seed)


class OverOrders(TieStrategy):
    """The mean over all orders of tied documents, with documents of equal gain taken as interchangeable.

    Right where no formula is known, because what a document adds depends on the gains above it, and not linearly
    (BPM, NERR). The kernel may take every ranking to be without ties.

    ``affects_score`` takes the arguments of the kernel and returns which documents may change the score (those that
    a reader may still see): the orders of all others are not enumerated.
    """

    exact_up_to = f"{EXACT:,} orders of a query"
    samples = SAMPLES
    positions_at_once = 1.0  # how many positions of one tied document are scored in about the time of one ranking

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
            positions_at_once=self.positions_at_once,
            retrieved_only=scoring.retrieved_only,
            seed=seed,
        )

    @property
    def for_residual(self) -> TieStrategy:
        """A residual is known for rankings without ties only, and every document may change it."""
        return OverOrders()


class OverOrdersIfCosts(OverOrders):
    """`ClosedForm` for documents that all cost the same, `OverOrders` where costs are given.

    Right where the weight of a rank depends on the costs of the documents above it, and on nothing else (TBG, U).
    """

    summary = "the exact mean over all orders of tied documents; with costs, the mean over these orders"

    def expectation(self, scoring: Scoring, batch: Batch, seed: int) -> Estimate:
        return scoring.estimate(batch) if batch.costs is None else super().expectation(scoring, batch, seed)


class OneOpenClosedForm(OverOrders):
    """The mean over all orders of tied documents but one, which the kernel takes tied as it is.

    Right where the mean over the positions of a single tied document has a formula, but not that over the orders of
    two (IPrec, yaAP, G). Most queries have one relevant document, and then nothing is enumerated.
    """

    exact_up_to = f"{EXACT:,} orders of all tied documents of a query but one"
    positions_at_once = math.inf


class OneOpenEnumerated(OverOrders):
    """The mean over all orders of tied documents but one, whose positions the kernel enumerates itself.

    Right where moving a single document changes little of what was computed for the others (INST), so that the
    kernel scores many positions of it in the time of one ranking.
    """

    positions_at_once = 10.0
    exact_up_to = (
        f"{EXACT:,} orders of all tied documents of a query but one, or {int(positions_at_once) * EXACT:,} of all"
    )


class OverDistinctOrders(TieStrategy):
    """The mean over all orders of the first k, where no two documents are interchangeable.

    Right for a measure that reads documents, judged or not (ABSNB, DELTARB): documents of equal grade differ in what
    they say, and every order is to be read anew.
    """

    exact_up_to = f"{EXACT_DISTINCT:,} orders of a query"
    samples = SAMPLES_DISTINCT

    def expectation(self, scoring: Scoring, batch: Batch, seed: int) -> Estimate:
        from cranfield.measures.ties.over_orders import over_distinct_orders

        return over_distinct_orders(scoring.estimate, batch, k=scoring.cutoff, seed=seed)

    def expectation_at_depth(self, scoring: Scoring, batch: Batch, depth: int, seed: int) -> Estimate:
        """An order says which documents are above the depth, too: both means are taken at once."""
        from cranfield.measures.ties.over_orders import over_distinct_orders

        # Only in a list that is not condensed do depth and cutoff count the same ranks.
        k = depth if scoring.views.condensed else min(scoring.cutoff, depth)
        return over_distinct_orders(scoring.estimate_uncut, batch, k=k, seed=seed)


@dataclass(frozen=True, eq=False)
class Scoring:
    """A measure with all parameters chosen, as strategies see it.

    ``kernel``, ``arguments``: the function that scores rankings, and its parameters. ``views``: what is done to lists
    first; ``bounded``: how an ideal list is terminated. ``cutoff``: the last rank that the kernel reads.
    ``retrieved_only``: it reads nothing but the documents retrieved.
    """

    kernel: Kernel
    arguments: Mapping[str, Any]
    strategy: TieStrategy
    views: Views
    bounded: bool = False
    cutoff: int = NO_CUTOFF
    retrieved_only: bool = False

    def expectation(self, batch: Batch, seed: int) -> Estimate:
        """The expected score of lists as `views.ordered` returns them.

        A list may end inside a tie, at its depth or at a tied NIL. The ties at ends are averaged over first: a list
        can be condensed and terminated only where its end is known.
        """
        if self.views.plain and not batch.has_ties:
            return self.estimate(batch)
        if not self.views.terminal:
            return self.score_cut(batch, seed)
        from cranfield.measures.ties.expectation import score_apart

        nil_is_tied = np.any(batch.nil & (batch.size > 1), axis=1)
        return score_apart(
            batch, nil_is_tied, partial(self.score_tied_nil, seed=seed), partial(self.score_cut, seed=seed)
        )

    def score_tied_nil(self, batch: Batch, seed: int) -> Estimate:
        """The expected score of lists with NIL in a tie: the order decides where they end."""
        from cranfield.measures.ties.over_orders import over_orders

        return over_orders(partial(self.score_uncut, seed=seed), batch, seed=seed)

    def score_cut(self, batch: Batch, seed: int) -> Estimate:
        """The expected score of lists that a depth may cut inside a tie."""
        if self.views.depth is None:
            return self.score_uncut(batch, seed)
        return self.strategy.expectation_at_depth(self, batch, self.views.depth, seed)

    def score_uncut(self, batch: Batch, seed: int) -> Estimate:
        """The expected score of lists that do not end inside a tie."""
        return self.strategy.expectation(self, self.completed(batch), seed)

    def completed(self, batch: Batch) -> Batch:
        """Lists that do not end inside a tie, condensed and terminated."""
        return settled(batch, self.views, bounded=self.bounded)

    def estimate(self, batch: Batch) -> Estimate:
        """What the kernel returns for complete lists."""
        return Estimate(self.kernel(batch, **self.arguments))

    def estimate_uncut(self, batch: Batch) -> Estimate:
        """What the kernel returns for lists that are still to be completed."""
        return self.estimate(self.completed(batch))
