"""What trec_eval has beside the measures of the other families: variants, counts, and experiments of its makers.

With trec_eval's own rules where these are a choice; its names for them are understood.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.measures.catalogue import FIXED, UNORDERED, Positive, Probability, Range, Rank, measure
from cranfield.measures.gain import dcg, ideal_dcg
from cranfield.measures.parameters import LARGEST
from cranfield.measures.precision import Rule, hits, interpolated
from cranfield.measures.preference import binary_preference
from cranfield.measures.ties.positions import mean_over_ranges
from cranfield.measures.ties.strategies import OneOpenClosedForm
from cranfield.measures.user_model import unjudged_weight
from cranfield.measures.weights import count, geometric, log_discount, log_gamma
from cranfield.ranking.batch import Batch, GainSums, Preferences, Weights
from cranfield.ranking.row_math import ratio, running, summed

inf = float("inf")

Points = Annotated[int, Range(2, 10_000)]
Worth = Annotated[float, Range(-LARGEST, LARGEST)]
LOG2: Weights = log_discount("log2", 2.0)


@measure(
    "IPrecAvg",
    cite="salton1983",
    formula="IPrecAvg = mean of IPrec@r over r = 0, 1/(n-1), ..., 1,  n = points",
    ties=OneOpenClosedForm(),
)
def average_interpolated_precision(b: Batch, *, points: Points = 11, rule: Rule = "trec9") -> Floats:
    """Interpolated precision, averaged over eleven levels of recall: what average precision replaced.

    ``rule`` is that of IPrec.

    >>> import cranfield as cf
    >>> round(cf.parse("IPrecAvg")([1, 0, 1], missed=[1]), 6)
    0.606061
    """
    # i/(n-1) and not steps of a sum: a recall of 0.3 has to be the number that people write so
    levels = interpolated(b, [i / (points - 1) for i in range(points)], rule)
    return sum(levels[1:], levels[0]) / len(levels)


@measure("RprecAt", cite="buckley2005", formula="RprecAt = P@c,  c = ⌊times R + 0.9⌋")
def precision_at_multiple(b: GainSums, *, times: Positive = 1.0) -> Floats:
    """Precision where a multiple of the number of relevant documents has been seen.

    >>> import cranfield as cf
    >>> cf.parse("RprecAt(times=2)")([1, 0, 1], missed=[])
    0.5
    """
    depth = np.floor(times * b.R + 0.9)
    return ratio(hits(b, depth), np.where(b.R > 0, depth, 0))


@measure("RelP", cite="buckley2005", formula="RelP@k = Σ_{i≤k} b_i / min(k, R)")
def relative_precision(b: GainSums, *, k: Rank) -> Floats:
    """Precision at k relative to the best there could be: precision down to rank R, recall below it.

    >>> import cranfield as cf
    >>> cf.parse("RelP@5")([1, 0, 1], missed=[1, 1])
    0.5
    """
    return ratio(hits(b, k), np.minimum(b.R, k))


@measure("SetRelP", cite="buckley2005", formula="SetRelP = relevant retrieved / min(retrieved, R)", terminal=UNORDERED)
def relative_set_precision(b: GainSums) -> Floats:
    """Precision of everything retrieved, relative to the best that as many documents could reach.

    >>> import cranfield as cf
    >>> cf.parse("SetRelP")([1, 0, 1, 0], missed=[1, 1])
    0.5
    """
    return ratio(hits(b), np.where(b.R > 0, np.maximum(np.minimum(b.R, b.length), 1), 0))


@measure(
    "Utility",
    cite="hull1998",
    formula="Utility = hit · found + noise · (retrieved - found) + miss · (R - found) + rest · all others of size",
    bounds=(-inf, inf),
    terminal=UNORDERED,
)
def utility(
    b: GainSums, *, hit: Worth = 1.0, noise: Worth = -1.0, miss: Worth = 0.0, rest: Worth = 0.0, size: float = 0.0
) -> Floats:
    """What a set of documents is worth, if each relevant one brings something and each other one costs something.

    ``hit`` and ``noise`` are for documents retrieved, ``miss`` and ``rest`` for those that were not; ``size`` is the
    number of documents in the collection, and matters only to ``rest``.

    >>> import cranfield as cf
    >>> cf.parse("Utility(hit=2)")([1, 0, 1], missed=[1])
    3.0
    """
    found = hits(b)
    retrieved = hit * found + noise * (b.length - found)
    return retrieved + miss * (b.R - found) + rest * (size + found - b.length - b.R)


@measure(
    "NumNonRelRet",
    cite="buckley2005",
    formula="NumNonRelRet = documents retrieved that are judged not to be relevant",
    bounds=(0, inf),
    aggregate="sum",
    terminal=UNORDERED,
    uses_nonrelevant=True,
)
def number_judged_nonrelevant_retrieved(b: GainSums) -> Floats:
    """How many documents judged not to be relevant were retrieved; summed over queries.

    >>> import cranfield as cf
    >>> cf.parse("NumNonRelRet")([1, None, 0], missed=[0])
    1.0
    """
    return b.nonrelevant_retrieved


@measure(
    "Unjudged",
    cite="sakai2007",
    formula="Unjudged@k = documents in the first k that nobody judged / k",
    terminal=FIXED,
    rewards_promotion=False,
    uses_nonrelevant=True,
)
def unjudged(b: Batch, *, k: Rank) -> Floats:
    """The share of the first k ranks that hold a document which nobody judged.

    A ranking shorter than k has none below its end, so that this and Judged@k need not add up to 1.

    >>> import cranfield as cf
    >>> cf.parse("Unjudged@4")([1, None, 0])
    0.25
    """
    return (np.minimum(b.length, k) - summed(b.judged * b.mean_over(count, k))) / k


@measure(
    "yaAP",
    cite="robertson2012",
    formula="yaAP = log((1 + S) / (1 + R - S)),  S = Σ_i b_i P@i",
    bounds=(-inf, inf),
    ties=OneOpenClosedForm(),
)
def yet_another_average_precision(b: Batch) -> Floats:
    """Average precision on a logistic scale, smoothed so that 0 and 1 stay finite.

    >>> import cranfield as cf
    >>> round(cf.parse("yaAP")([1, 0, 1]), 6)
    0.693147
    """
    nth = running(b.relevant)
    found = summed(np.where(b.relevant & (b.size == 1), nth / (b.start + 1), 0))
    above, below = 1 + found, 1 + b.R - found
    value = np.log(above / below)
    query, column = np.nonzero(b.relevant & (b.size > 1))
    if len(query):
        # The i-th relevant document at rank x makes it log (above + i/x)/(below - i/x), and the sum over the ranks x of
        # log(x + a) is a difference of log-gammas.
        i, first, n = nth[query, column], b.start[query, column] + 1, b.size[query, column]
        high, low = first + i / above[query], first - i / below[query]
        value[query] += (log_gamma(high + n) - log_gamma(high) - log_gamma(low + n) + log_gamma(low)) / n
    return np.where(b.R > 0, value, np.nan)


@measure(
    "GMbpref",
    cite="buckley2004 robertson2006",
    formula="GMbpref = exp mean log max(bpref, 0.00001)",
    aggregate="geometric",
    uses_nonrelevant=True,
)
def geometric_mean_binary_preference(b: Preferences) -> Floats:
    """bpref, averaged over queries so that doubling a poor query counts as much as doubling a good one.

    >>> import cranfield as cf
    >>> cf.parse("GMbpref")([1, None, 0, 1], missed=[0])
    0.75
    """
    return binary_preference(b)


@measure("binG", cite="buckley2005", formula="binG = Σ_rel 1 / log2(2 + documents above that are not relevant) / R")
def binary_gain(b: Batch) -> Floats:
    """How few documents that are not relevant stand above each relevant one, on a scale of logarithms.

    >>> import cranfield as cf
    >>> round(cf.parse("binG")([1, 0, 1], missed=[1]), 6)
    0.543643
    """
    # Of s such documents in its tie, any number from 0 to s is above it with the same chance.
    above = (b.start - b.above(b.relevant)).astype(np.int64)
    inside = (b.size - b.within(b.relevant)).astype(np.int64)
    worth = (LOG2(above + np.maximum(inside, 0) + 1) - LOG2(above)) / (np.maximum(inside, 0) + 1)
    return ratio(summed(np.where(b.relevant, worth, 0)), b.R)


@measure(
    "G",
    cite="buckley2005",
    formula="G = Σ_i g_i / log2(2 + Σ_{j≤i} (max(ideal g_j, 1) - g_j)) / Σ ideal g",
    gains="graded",
    ties=OneOpenClosedForm(),
    rewards_promotion=False,
)
def normalised_gain(b: Batch) -> Floats:
    """Gain found, each document discounted by how much the documents above it lack of a perfect ranking.

    >>> import cranfield as cf
    >>> round(cf.parse("G")([1, 0, 2], missed=[1]), 6)
    0.473197
    """
    cost = np.cumsum(np.maximum(b.ideal, 1), axis=1)
    depth = cost.shape[1]
    gained = running(b.gain)

    def discount(query: Integers, rank: Integers, gained: Floats) -> Floats:
        paid = cost[query, np.minimum(rank, depth) - 1] + np.maximum(rank - depth, 0)
        return 1 / np.log2(2 + np.maximum(paid - gained, 0))

    worth = discount(np.arange(len(cost))[:, None], b.start + 1, gained)
    query, column = np.nonzero(b.relevant & (b.size > 1))
    if len(query):
        met, first, size = gained[query, column], b.start[query, column], b.size[query, column]

        def at(which: Integers, times: Integers, place: Integers) -> Floats:
            which = np.repeat(which, times)
            return discount(query[which], place + 1, met[which])

        worth[query, column] = mean_over_ranges(first, size, at, b.ideal[query], met)
    return ratio(summed(np.where(b.relevant, b.gain * worth, 0)), b.mass)


@measure(
    "IDCG",
    cite="jarvelin2002",
    formula="IDCG@k = DCG@k of all judged documents in descending order of gain",
    gains="graded",
    bounds=(0, inf),
)
def ideal_discounted_cumulated_gain(b: GainSums, *, k: Rank | None = None) -> Floats:
    """The discounted gain of the best ranking there could be, by which nDCG divides.

    >>> import cranfield as cf
    >>> round(cf.parse("IDCG")([0, 1], missed=[3]), 6)
    3.63093
    """
    return ideal_dcg(b, k, "log2", 2.0)


def _ideal(b: Batch) -> Floats:
    """The discounted gain of a perfect ranking at every rank of the pool."""
    ranks = np.arange(b.ideal.shape[1])
    return np.cumsum(b.ideal * (LOG2(ranks + 1) - LOG2(ranks)), axis=1)


@measure(
    "R_nDCG",
    cite="jarvelin2002",
    formula="R_nDCG = mean of nDCG@k over every k at which the ideal gain falls, and over the end of a longer ranking",
    gains="graded",
)
def normalised_discounted_cumulated_gain_at_levels(b: Batch) -> Floats:
    """nDCG, averaged over the ranks where a perfect ranking goes from one grade to the next.

    As in trec_eval the end of the ranking counts where it is more than one rank below the last of these.

    >>> import cranfield as cf
    >>> round(cf.parse("R_nDCG")([1, 0, 2], missed=[1]), 6)
    0.569394
    """
    ideal = _ideal(b)
    total, points = np.zeros((2, len(b.R)))
    for level in np.unique(b.ideal[b.ideal > 0]):
        depth = (b.ideal >= level).sum(axis=1)
        there = (b.ideal == level).any(axis=1)
        found = summed(b.gain * b.mean_over(LOG2, depth))
        best = np.take_along_axis(ideal, np.maximum(depth - 1, 0)[:, None], axis=1)[:, 0]
        total += np.where(there, np.divide(found, best, out=np.zeros_like(found), where=there), 0)
        points += there
    longer = (b.R > 0) & (b.length > b.R + 1)
    end = dcg(b, None, "log2", 2.0)
    total += np.divide(end, ideal[:, -1], out=np.zeros_like(end), where=longer)
    return ratio(total, points + longer)


@measure(
    "nDCG_rel",
    cite="jarvelin2002",
    formula="nDCG_rel = mean over documents with gain of nDCG at their rank; of the whole ranking for those not found",
    gains="graded",
    rewards_promotion=False,
)
def normalised_discounted_cumulated_gain_at_relevant(b: Batch) -> Floats:
    """nDCG, averaged over the ranks of the relevant documents.

    >>> import cranfield as cf
    >>> round(cf.parse("nDCG_rel")([1, 0, 2], missed=[1]), 6)
    0.592525
    """
    ideal = _ideal(b)
    depth = np.maximum((b.ideal > 0).sum(axis=1), 1)[:, None]
    low, high = _inverse(ideal, depth, b.start), _inverse(ideal, depth, b.start + b.size)
    weight, own, before = (h - m for h, m in zip(high, low, strict=True))
    # At the x-th place of a tie, each of the others in it stands above with chance (x-1)/(n-1), anywhere above.
    others = (b.within(b.gain) - b.gain) / np.maximum(b.size - 1, 1)
    at = b.above(b.gain * b.mean_over(LOG2)) * weight + b.gain * own + others * (before - LOG2(b.start) * weight)
    found = summed(np.where(b.relevant, at / b.size, 0))
    missed = (b.R - b.relevant.sum(axis=1)) * ratio(dcg(b, None, "log2", 2.0), ideal[:, -1])
    return ratio(found + missed, b.R)


def _inverse(ideal: Floats, depth: Integers, n: Integers) -> tuple[Floats, Floats, Floats]:
    """Running sums over ranks j of w(j), w(j) d(j) and w(j) D(j-1): w = 1/ideal DCG, d the discount, D its sum."""
    width = ideal.shape[1]
    w = np.divide(1, ideal, out=np.zeros_like(ideal), where=ideal > 0)
    last = np.take_along_axis(w, depth - 1, axis=1)
    ranks = np.arange(max(width, int(n.max(initial=0))) + 1)
    running = LOG2(ranks), np.concatenate([[0], np.cumsum(LOG2(ranks[:-1]))])
    inside, beyond = np.minimum(n, depth), np.maximum(n - depth, 0)

    def sums(step: Floats, tail: Floats) -> Floats:
        table = np.pad(np.cumsum(w * step, axis=1), ((0, 0), (1, 0)))
        return np.take_along_axis(table, inside, axis=1) + last * tail

    # Below its last gain a perfect ranking has no more, and w stays what it is.
    return (
        sums(np.ones(width), beyond),
        sums(np.diff(running[0])[:width], running[0][depth + beyond] - running[0][depth]),
        sums(running[0][:width], running[1][depth + beyond] - running[1][depth]),
    )


@measure(
    "RBPq",
    cite="moffat2008",
    formula="RBPq = (1-p) Σ_i g_i p^{i-1},  g = gain / max(1, top gain of the query)",
    gains="graded",
)
def rank_biased_precision_by_query(b: GainSums, *, p: Probability = 0.9) -> Floats:
    """RBP on the scale of trec_eval 10: gains are divided by the best one that the query's own judgments have.

    Queries whose best documents differ in grade are not comparable; RBP divides by the top grade of the collection.

    >>> import cranfield as cf
    >>> round(cf.parse("RBPq(p=0.5)")([1, 0, 2]), 6)
    0.375
    """
    best = b.ideal_gained(count, 1)
    return b.gained(geometric(p)) / np.maximum(best, 1)


@measure(
    "RBPres",
    cite="moffat2008",
    formula="RBPres = 1 - (1-p) Σ_{i judged} p^{i-1}",
    rewards_promotion=False,
    uses_nonrelevant=True,
)
def rank_biased_precision_residual(b: Batch, *, p: Probability = 0.9) -> Floats:
    """How much higher RBP could be if all that nobody judged, and all below the end of the ranking, were relevant.

    >>> import cranfield as cf
    >>> round(cf.parse("RBPres(p=0.5)")([1, None, 0]), 6)
    0.375
    """
    return unjudged_weight(b, geometric(p), None)
