"""Cumulated gain: graded documents, each worth less the deeper it stands."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.measures.catalogue import TERMINAL, UNBOUNDED, Probability, Range, Rank, measure
from cranfield.measures.precision import hits
from cranfield.measures.ties.positions import mean_for_nth
from cranfield.measures.ties.strategies import OverCuts
from cranfield.measures.weights import geometric, log_discount, rank_biased_overlap
from cranfield.ranking.batch import Batch, GainSums
from cranfield.ranking.row_math import ratio, summed

Discount = Literal["log2", "jk"]
Base = Annotated[float, Range(1, closed="(]")]
NO_BASE = (("base", "discount", "log2"),)  # its logarithms are to the base 2 by name

inf = float("inf")


def dcg(b: GainSums, k: int | None, discount: str, base: float) -> Floats:
    """Expected discounted gain of the first k."""
    return b.gained(log_discount(discount, base), k)


def ideal_dcg(b: GainSums, k: int | None, discount: str, base: float) -> Floats:
    """The discounted gain of the best ranking there could be."""
    return b.ideal_gained(log_discount(discount, base), k)


@measure(
    "CG",
    cite="jarvelin2002",
    formula="CG@k = Σ_{i≤k} g_i",
    gains="graded",
    bounds=(0, inf),
    terminal=UNBOUNDED,
    retrieved_only=True,
)
def cumulated_gain(b: GainSums, *, k: Rank | None = None) -> Floats:
    """All gain in the first k, wherever it stands there.

    >>> import cranfield as cf
    >>> cf.parse("CG@2")([2, 1, 3])
    3.0
    """
    return hits(b, k)


@measure(
    "DCG",
    cite="jarvelin2002 mcsherry2008",
    formula="DCG@k = Σ_{i≤k} g_i D(i),  D(i) = 1/log2(i+1);  discount='jk': 1 for i ≤ base, then 1/log_base(i)",
    gains="graded",
    bounds=(0, inf),
    terminal=UNBOUNDED,
    retrieved_only=True,
    unused_when=NO_BASE,
)
def discounted_cumulated_gain(
    b: GainSums, *, k: Rank | None = None, discount: Discount = "log2", base: Base = 2.0
) -> Floats:
    """Gain found on the way down, each document worth less the deeper it stands.

    >>> import cranfield as cf
    >>> cf.parse("DCG@3")([3, 0, 1])
    3.5
    """
    return dcg(b, k, discount, base)


@measure(
    "nDCG",
    cite="jarvelin2002 mcsherry2008",
    formula="nDCG@k = DCG@k / DCG@k of all judged documents in descending order of gain",
    gains="ideal",
    terminal=TERMINAL,
    unused_when=NO_BASE,
)
def normalised_discounted_cumulated_gain(
    b: GainSums, *, k: Rank | None = None, discount: Discount = "log2", base: Base = 2.0
) -> Floats:
    """How much of the best possible discounted gain the ranking reaches.

    Undefined where no document has any gain.

    >>> import cranfield as cf
    >>> round(cf.parse("nDCG@3")([1, 0, 2], missed=[1]), 6)
    0.638788
    """
    return ratio(dcg(b, k, discount, base), ideal_dcg(b, k, discount, base))


@measure(
    "SDCG",
    cite="moffat2013",
    formula="SDCG@k = DCG@k / Σ_{i≤k} D(i),  g = gain / top gain",
    gains="scaled",
    terminal=TERMINAL,
    retrieved_only=True,
    unused_when=NO_BASE,
)
def scaled_discounted_cumulated_gain(b: GainSums, *, k: Rank, discount: Discount = "log2", base: Base = 2.0) -> Floats:
    """How much of the discounted gain of k perfect documents the ranking reaches.

    >>> import cranfield as cf
    >>> cf.parse("SDCG@1")([1], missed=[2])
    0.5
    """
    weights = log_discount(discount, base)
    below = weights(np.array(k)) - weights(np.minimum(b.length, k))
    return (dcg(b, k, discount, base) + b.tail * below) / weights(np.array(k))


@measure(
    "SN_DCG",
    cite="moffat2013",
    formula="SN_DCG@k = DCG@k / DCG@k of the same k documents in descending order of gain",
    gains="graded",
    ties=OverCuts(),
    retrieved_only=True,
    rewards_promotion=False,
    unused_when=NO_BASE,
)
def self_normalised_discounted_cumulated_gain(
    b: Batch, *, k: Rank, discount: Discount = "log2", base: Base = 2.0
) -> Floats:
    """How well the first k documents are ordered, whatever else there was to find.

    Undefined where they have no gain; in ties, those orders count 0.

    >>> import cranfield as cf
    >>> round(cf.parse("SN_DCG@5")([1, 0, 1, 0, 0], missed=[1]), 6)
    0.919721
    """
    held = -np.sort(-np.where(b.seen(k) == b.size, b.gain, 0), axis=1)
    ranks = np.arange(held.shape[1])
    return ratio(dcg(b, k, discount, base), summed(held * log_discount(discount, base).at(ranks + 1)))


@measure(
    "Compat",
    cite="clarke2021",
    formula="Compat = RBO(ranking, ideal) / RBO(ideal, ideal),  "
    "RBO = Σ_{i≤depth} p^{i-1} overlap at i / i / Σ_{i≤depth} p^{i-1}",
    gains="graded",
)
def compatibility(b: Batch, *, p: Probability = 0.95, normalize: bool = True, depth: Rank | None = 1000) -> Floats:
    """How much the ranking overlaps with the most similar ideal one, the top counting most.

    Ideal are all documents with gain, in descending order of it; of equal ones the ranking decides. Overlaps are
    summed to a depth of 1,000, as its authors do: below the end of a list the last overlap stays. ``depth=None`` ends
    with the longer of the list and the ideal. Undefined where no document has a gain.

    >>> import cranfield as cf
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
        # The sum of overlap(i), i < n, is n overlap(n) - Σ_{i<n} p^i; below the limit overlap(i) stays what it is.
        inside = np.minimum(n, limit)
        return inside * weights(inside) - total(inside) / (1 - p) + (n - inside) * weights(limit)

    many, nth, ideal = np.zeros((3, *b.gain.shape), np.int64)
    for level in np.unique(b.gain[b.relevant]):
        alike = b.gain == level
        before = np.cumsum(alike, axis=1) - alike
        better = (b.ideal > level).sum(axis=1)[:, None]
        for known, new in (many, b.within(alike)), (nth, before - b.above(alike)), (ideal, better + before):
            known[alike] = new[alike]
    # A document is in both tops from the lower of its two ranks on.
    above = overlap(np.maximum(b.start, ideal))
    if b.tied.any():
        # Above its ideal rank its position does not matter.
        inside, end = b.start + np.clip(ideal - b.start, 0, b.size), b.start + b.size
        beyond = summed_overlap(end) - summed_overlap(inside)
        above = np.where(b.size == 1, above, ((inside - b.start) * overlap(ideal) + beyond) / b.size)
        several = many > 1
        start, own, end = b.start[several], ideal[several], limit[several]
        above[several] = mean_for_nth(
            b.size[several],
            many[several],
            nth[several],
            lambda i, x: overlap(np.maximum(start[i] + x, own[i]), end[i]),
        )
    shared = summed(np.where(b.relevant, weights(limit) - above, 0))
    perfect = np.minimum(count, last)
    best = total(perfect) / (1 - p) + b.R * (weights(last) - weights(perfect))
    value = ratio(shared, best if normalize else np.where(b.R > 0, total(last) / (1 - p), 0))
    return np.minimum(value, 1)  # two ways to the same sum differ in the last digit
