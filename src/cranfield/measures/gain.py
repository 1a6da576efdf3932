"""Cumulated gain: the sum of graded gains, discounted by rank."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.measures.catalogue import TERMINAL, Rank, measure
from cranfield.measures.precision import hits, self_normalised, unbounded
from cranfield.measures.ties.expectation import mean_for_nth
from cranfield.measures.weights import geometric, log_discount, rank_biased_overlap
from cranfield.ranking.batch import Batch, Documents, GainSums, ratio, summed
from cranfield.settings import Chance, Limits

Discount = Literal["log2", "jk"]
Base = Annotated[float, Limits(1, ends="(]")]
NO_BASE = (("base", "discount", "log2"),)  # discount='log2' has base 2 by definition
discounted = partial(measure, unused_when=NO_BASE)

inf = float("inf")


def dcg(b: GainSums, k: int | None, discount: str, base: float) -> Floats:
    """Expected discounted gain of the first k documents."""
    return b.gained(log_discount(discount, base), k)


def ideal_dcg(b: GainSums, k: int | None, discount: str, base: float, of: Documents = "judged") -> Floats:
    """The discounted gain of the ideal ranking of all judged documents, or of those retrieved."""
    return b.ideal_gained(log_discount(discount, base), k, of)


@unbounded("CG", cite="jarvelin2002", formula="CG@k = Σ_{i≤k} g_i", gains="graded", linear=True)
def cumulated_gain(b: GainSums, *, k: Rank | None = None) -> Floats:
    """The sum of the gains of the first k documents.

    >>> cf.parse("CG@2")([2, 1, 3])
    3.0
    """
    return hits(b, k)


@unbounded(
    "DCG",
    cite="jarvelin2002 mcsherry2008",
    formula="DCG@k = Σ_{i≤k} g_i D(i),  D(i) = 1/log2(i+1);  discount='jk': 1 for i ≤ base, then 1/log_base(i)",
    gains="graded",
    linear=True,
    unused_when=NO_BASE,
)
def discounted_cumulated_gain(
    b: GainSums, *, k: Rank | None = None, discount: Discount = "log2", base: Base = 2.0
) -> Floats:
    """The sum of the gains of the first k documents, each discounted by the logarithm of its rank.

    >>> cf.parse("DCG@3")([3, 0, 1])
    3.5
    """
    return dcg(b, k, discount, base)


@discounted(
    "nDCG",
    cite="jarvelin2002 mcsherry2008",
    formula="nDCG@k = DCG@k / DCG@k of the ideal ranking,  DCG@k = Σ_{i≤k} g_i D(i),  D(i) = 1/log2(i+1)",
    gains="ideal",
    terminal=TERMINAL,
)
def normalised_discounted_cumulated_gain(
    b: GainSums, *, k: Rank | None = None, discount: Discount = "log2", base: Base = 2.0, R: Documents = "judged"
) -> Floats:
    """Discounted gain divided by that of the ideal ranking.

    Undefined if no document has a gain. ``R='retrieved'`` divides by the discounted gain of the retrieved documents in
    the best order, as McSherry and Najork do. With a terminal document, gains are used as they are (Liu et al., eq 3):
    scores are at most 1 if all gains are 0 or at least 1. Gains between 0 and 1 can score above 1;
    ``ideal='bounded'`` avoids that.

    >>> round(cf.parse("nDCG@3")([1, 0, 2], missed=[1]), 6)
    0.638788
    """
    return ratio(dcg(b, k, discount, base), ideal_dcg(b, k, discount, base, R))


@discounted(
    "SDCG",
    cite="moffat2013",
    formula="SDCG@k = DCG@k / Σ_{i≤k} D(i),  g = gain / top gain",
    gains="scaled",
    terminal=TERMINAL,
    linear=True,
)
def scaled_discounted_cumulated_gain(b: GainSums, *, k: Rank, discount: Discount = "log2", base: Base = 2.0) -> Floats:
    """Discounted gain divided by that of k documents with the highest grade.

    >>> cf.parse("SDCG@1")([1], missed=[2])
    0.5
    """
    weights = log_discount(discount, base)
    below = weights(np.array(k)) - weights(np.minimum(b.length, k))
    return (dcg(b, k, discount, base) + b.tail * below) / weights(np.array(k))


@self_normalised(
    "SN_DCG",
    cite="moffat2013",
    formula="SN_DCG@k = DCG@k / DCG@k of the same k documents in descending order of gain",
    gains="graded",
    unused_when=NO_BASE,
)
def self_normalised_discounted_cumulated_gain(
    b: Batch, *, k: Rank, discount: Discount = "log2", base: Base = 2.0
) -> Floats:
    """Discounted gain of the first k divided by that of the same documents in the best order.

    Undefined if the first k have no gain; if only some orders of tied documents have gain, the others count 0.

    >>> round(cf.parse("SN_DCG@5")([1, 0, 1, 0, 0], missed=[1]), 6)
    0.919721
    """
    ideal_of_top = -np.sort(-np.where(b.seen(k) == b.size, b.gain, 0), axis=1)
    ranks = np.arange(ideal_of_top.shape[1])
    return ratio(dcg(b, k, discount, base), summed(ideal_of_top * log_discount(discount, base).at(ranks + 1)))


@measure(
    "Compat",
    cite="clarke2021",
    formula="Compat = RBO(ranking, ideal) / RBO(ideal, ideal),  "
    "RBO = Σ_{i≤depth} p^{i-1} overlap at i / i / Σ_{i≤depth} p^{i-1}",
    gains="graded",
)
def compatibility(b: Batch, *, p: Chance = 0.95, normalize: bool = True, depth: Rank | None = 1000) -> Floats:
    """Rank-biased overlap between the ranking and the most similar ideal ranking.

    The ideal ranking has all documents with gain in descending order of gain; documents of equal gain are in the order
    of the ranking. Overlaps are summed to a depth of 1,000, as the authors do; below the end of a ranking the overlap
    stays constant. ``depth=None`` stops at the end of the longer of the two. Undefined if no document has a gain.

    >>> cf.parse("Compat")([2, 1, 1])
    1.0
    >>> round(cf.parse("Compat")([1], missed=[1]), 4)
    0.5942
    """
    count = b.R.astype(np.int64)
    last = np.maximum(b.length, count) if depth is None else np.full_like(count, depth)
    weights, total = rank_biased_overlap(p), geometric(p)
    limit = np.broadcast_to(last[:, None], b.gain.shape)

    def overlap(n: Integers, limit: Integers = limit) -> Floats:
        return weights(np.minimum(n, limit))

    def summed_overlap(n: Integers) -> Floats:
        # The sum of overlap(i), i < n, is n overlap(n) - Σ_{i<n} p^i; below the limit, overlap(i) is constant.
        inside = np.minimum(n, limit)
        return inside * weights(inside) - total(inside) / (1 - p) + (n - inside) * weights(limit)

    same_in_tie, nth, ideal = np.zeros((3, *b.gain.shape), np.int64)
    for level in np.unique(b.gain[b.relevant]):
        same_gain = b.gain == level
        before = np.cumsum(same_gain, axis=1) - same_gain
        better = (b.ideal > level).sum(axis=1)[:, None]
        for table, values in (
            (same_in_tie, b.within(same_gain)),
            (nth, before - b.above(same_gain)),
            (ideal, better + before),
        ):
            table[same_gain] = values[same_gain]
    # A document is in both top lists from the lower of its two ranks on.
    above = overlap(np.maximum(b.start, ideal))
    if b.tied.any():
        # All positions above the ideal rank are equivalent.
        inside, end = b.start + np.clip(ideal - b.start, 0, b.size), b.start + b.size
        beyond = summed_overlap(end) - summed_overlap(inside)
        above = np.where(b.size == 1, above, ((inside - b.start) * overlap(ideal) + beyond) / b.size)
        with_equals = same_in_tie > 1
        start, own, end = b.start[with_equals], ideal[with_equals], limit[with_equals]
        above[with_equals] = mean_for_nth(
            b.size[with_equals],
            same_in_tie[with_equals],
            nth[with_equals],
            lambda i, x: overlap(np.maximum(start[i] + x, own[i]), end[i]),
        )
    shared = summed(np.where(b.relevant, weights(limit) - above, 0))
    perfect = np.minimum(count, last)
    best = total(perfect) / (1 - p) + b.R * (weights(last) - weights(perfect))
    value = ratio(shared, best if normalize else np.where(b.R > 0, total(last) / (1 - p), 0))
    return np.minimum(value, 1)  # rounding may give a quotient just above 1
