"""Further measures of trec_eval: variants, counts and experimental measures, with trec_eval's own rules.

The names of trec_eval for them are accepted, too.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.io.columns import MAX_NUMBER
from cranfield.measures.catalogue import FIXED, UNORDERED, Positive, Rank, measure
from cranfield.measures.gain import dcg, ideal_dcg
from cranfield.measures.precision import Rule, hits, interpolated, number, of_judged, one_open
from cranfield.measures.preference import binary_preference
from cranfield.measures.ties.expectation import mean_over_ranges
from cranfield.measures.weights import count, geometric, log_discount, log_gamma
from cranfield.ranking.batch import Batch, GainSums, Preferences, Weights, ratio, running, summed
from cranfield.settings import Chance, Limits

inf = float("inf")
graded = partial(measure, gains="graded")
of_unjudged = partial(of_judged, punishes_promotion=True)

Points = Annotated[int, Limits(2, 10_000)]
Value = Annotated[float, Limits(-MAX_NUMBER, MAX_NUMBER)]
LOG2: Weights = log_discount("log2", 2.0)


@one_open("IPrecAvg", cite="salton1983", formula="IPrecAvg = mean of IPrec@r over r = 0, 1/(n-1), ..., 1,  n = points")
def average_interpolated_precision(b: Batch, *, points: Points = 11, rule: Rule = "trec9") -> Floats:
    """The mean of interpolated precision over eleven recall levels.

    ``rule`` is explained at IPrec.

    >>> round(cf.parse("IPrecAvg")([1, 0, 1], missed=[1]), 6)
    0.606061
    """
    # i/(n-1) rather than repeated addition: a recall of 0.3 must be exactly the number 0.3.
    levels = interpolated(b, [i / (points - 1) for i in range(points)], rule)
    return sum(levels[1:], levels[0]) / len(levels)


@measure("RprecAt", cite="buckley2005", formula="RprecAt = P@c,  c = ⌊times R + 0.9⌋")
def precision_at_multiple(b: GainSums, *, times: Positive = 1.0) -> Floats:
    """Precision at a rank that is a multiple of R, the number of relevant documents.

    >>> cf.parse("RprecAt(times=2)")([1, 0, 1], missed=[])
    0.5
    """
    depth = np.floor(times * b.R + 0.9)
    return ratio(hits(b, depth), np.where(b.R > 0, depth, 0))


@measure("RelP", cite="buckley2005", formula="RelP@k = Σ_{i≤k} b_i / min(k, R)")
def relative_precision(b: GainSums, *, k: Rank) -> Floats:
    """Precision at k divided by the highest possible precision: precision for k ≤ R, recall for k > R.

    >>> cf.parse("RelP@5")([1, 0, 1], missed=[1, 1])
    0.5
    """
    return ratio(hits(b, k), np.minimum(b.R, k))


@measure("SetRelP", cite="buckley2005", formula="SetRelP = relevant retrieved / min(retrieved, R)", terminal=UNORDERED)
def relative_set_precision(b: GainSums) -> Floats:
    """Precision of the whole ranking divided by the highest possible precision for its length.

    >>> cf.parse("SetRelP")([1, 0, 1, 0], missed=[1, 1])
    0.5
    """
    return ratio(hits(b), np.where(b.R > 0, np.maximum(np.minimum(b.R, b.length), 1), 0))


@measure(
    "Utility",
    cite="hull1998",
    formula="Utility = hit · rr + noise · (retrieved - rr) + miss · (R - rr) + rest · (size - retrieved - R + rr),  "
    "rr = relevant retrieved",
    bounds=(-inf, inf),
    terminal=UNORDERED,
)
def utility(
    b: GainSums, *, hit: Value = 1.0, noise: Value = -1.0, miss: Value = 0.0, rest: Value = 0.0, size: float = 0.0
) -> Floats:
    """The total value of the retrieved set, with a value for each relevant and each non-relevant document.

    ``hit`` and ``noise`` are the values of each relevant and each non-relevant document retrieved, ``miss`` and
    ``rest`` those of documents not retrieved; ``size`` is the number of documents in the collection, and only ``rest``
    uses it.

    >>> cf.parse("Utility(hit=2)")([1, 0, 1], missed=[1])
    3.0
    """
    relevant_retrieved = hits(b)
    value = hit * relevant_retrieved + noise * (b.length - relevant_retrieved)
    return value + miss * (b.R - relevant_retrieved) + rest * (size + relevant_retrieved - b.length - b.R)


@number("NumNonRelRet", formula="NumNonRelRet = judged non-relevant documents retrieved", uses_nonrelevant=True)
def number_judged_nonrelevant_retrieved(b: GainSums) -> Floats:
    """The number of judged non-relevant documents retrieved, summed over queries.

    >>> cf.parse("NumNonRelRet")([1, None, 0], missed=[0])
    1.0
    """
    return b.nonrelevant_retrieved


@of_unjudged(
    "Unjudged",
    cite="sakai2007",
    formula="Unjudged@k = unjudged documents in the first k / k",
    terminal=FIXED,
    gains="none",
)
def unjudged(b: Batch, *, k: Rank) -> Floats:
    """The share of the first k ranks with an unjudged document.

    The divisor is k. Ranks below the end of a short ranking have no document, so that Unjudged@k and Judged@k may sum
    to less than 1.

    >>> cf.parse("Unjudged@4")([1, None, 0])
    0.25
    """
    return (np.minimum(b.length, k) - b.judged_weight(count, k)) / k


@one_open(
    "yaAP", cite="robertson2012", formula="yaAP = log((1 + S) / (1 + R - S)),  S = Σ_i b_i P@i", bounds=(-inf, inf)
)
def yet_another_average_precision(b: Batch) -> Floats:
    """Average precision on a log-odds scale, smoothed so that 0 and 1 give finite values.

    >>> round(cf.parse("yaAP")([1, 0, 1]), 6)
    0.693147
    """
    nth = running(b.relevant)
    sum_of_precisions = summed(np.where(b.relevant & (b.size == 1), nth / (b.start + 1), 0))
    above, below = 1 + sum_of_precisions, 1 + b.R - sum_of_precisions
    value = np.log(above / below)
    query, column = np.nonzero(b.relevant & (b.size > 1))
    if len(query):
        # With the i-th relevant document at rank x the value is log (above + i/x)/(below - i/x). The sum of log(x + a)
        # over the ranks x is a difference of log-gammas.
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
    """The geometric mean of bpref over queries, which gives more weight to low scores.

    >>> cf.parse("GMbpref")([1, None, 0, 1], missed=[0])
    0.75
    """
    return binary_preference(b)


@measure("binG", cite="buckley2005", formula="binG = Σ_rel 1 / log2(2 + non-relevant documents above) / R")
def binary_gain(b: Batch) -> Floats:
    """The mean over relevant documents of a logarithmic discount by the non-relevant documents above.

    >>> round(cf.parse("binG")([1, 0, 1], missed=[1]), 6)
    0.543643
    """
    # Of s non-relevant documents in its tie, any number from 0 to s is above it with the same probability.
    above = (b.start - b.above(b.relevant)).astype(np.int64)
    inside = (b.size - b.within(b.relevant)).astype(np.int64)
    mean_discount = (LOG2(above + np.maximum(inside, 0) + 1) - LOG2(above)) / (np.maximum(inside, 0) + 1)
    return ratio(summed(np.where(b.relevant, mean_discount, 0)), b.R)


@one_open(
    "G",
    cite="buckley2005",
    formula="G = Σ_i g_i / log2(2 + Σ_{j≤i} (max(ideal g_j, 1) - g_j)) / Σ ideal g",
    rewards_promotion=False,
    gains="graded",
)
def normalised_gain(b: Batch) -> Floats:
    """The share of the ideal gain retrieved, discounted by the gain lost down to each rank.

    >>> round(cf.parse("G")([1, 0, 2], missed=[1]), 6)
    0.473197
    """
    cost = np.cumsum(np.maximum(b.ideal, 1), axis=1)
    depth = cost.shape[1]
    cumulated = running(b.gain)

    def discount(query: Integers, rank: Integers, cumulated: Floats) -> Floats:
        lost = cost[query, np.minimum(rank, depth) - 1] + np.maximum(rank - depth, 0)
        return 1 / np.log2(2 + np.maximum(lost - cumulated, 0))

    weight = discount(np.arange(len(cost))[:, None], b.start + 1, cumulated)
    query, column = np.nonzero(b.relevant & (b.size > 1))
    if len(query):
        gain_to_rank, first, size = cumulated[query, column], b.start[query, column], b.size[query, column]

        def at(which: Integers, times: Integers, position: Integers) -> Floats:
            which = np.repeat(which, times)
            return discount(query[which], position + 1, gain_to_rank[which])

        weight[query, column] = mean_over_ranges(first, size, at, b.ideal[query], gain_to_rank)
    return ratio(summed(np.where(b.relevant, b.gain * weight, 0)), b.mass)


@graded(
    "IDCG",
    cite="jarvelin2002",
    formula="IDCG@k = DCG@k of all judged documents in descending order of gain",
    bounds=(0, inf),
)
def ideal_discounted_cumulated_gain(b: GainSums, *, k: Rank | None = None) -> Floats:
    """The discounted gain of the ideal ranking, which is the divisor of nDCG.

    >>> round(cf.parse("IDCG")([0, 1], missed=[3]), 6)
    3.63093
    """
    return ideal_dcg(b, k, "log2", 2.0)


def _ideal_dcg_by_rank(b: Batch) -> Floats:
    """The discounted gain of the ideal ranking at every rank."""
    ranks = np.arange(b.ideal.shape[1])
    return np.cumsum(b.ideal * (LOG2(ranks + 1) - LOG2(ranks)), axis=1)


@graded(
    "R_nDCG",
    cite="jarvelin2002",
    formula="R_nDCG = mean of nDCG@k over every k at which the ideal gain falls, and over the end of a longer ranking",
)
def normalised_discounted_cumulated_gain_at_levels(b: Batch) -> Floats:
    """The mean of nDCG over the ranks at which the gain of the ideal ranking drops.

    As in trec_eval, the end of the ranking is added if it is more than one rank below the last of these ranks.

    >>> round(cf.parse("R_nDCG")([1, 0, 2], missed=[1]), 6)
    0.569394
    """
    ideal = _ideal_dcg_by_rank(b)
    total, points = np.zeros((2, len(b.R)))
    for level in np.unique(b.ideal[b.ideal > 0]):
        depth = (b.ideal >= level).sum(axis=1)
        has_level = (b.ideal == level).any(axis=1)
        gained = summed(b.gain * b.mean_over(LOG2, depth))
        best = np.take_along_axis(ideal, np.maximum(depth - 1, 0)[:, None], axis=1)[:, 0]
        total += np.where(has_level, np.divide(gained, best, out=np.zeros_like(gained), where=has_level), 0)
        points += has_level
    longer = (b.R > 0) & (b.length > b.R + 1)
    end = dcg(b, None, "log2", 2.0)
    total += np.divide(end, ideal[:, -1], out=np.zeros_like(end), where=longer)
    return ratio(total, points + longer)


@graded(
    "nDCG_rel",
    cite="jarvelin2002",
    formula="nDCG_rel = mean of nDCG at the ranks of the documents with gain;  those not retrieved: nDCG of all ranks",
    rewards_promotion=False,
)
def normalised_discounted_cumulated_gain_at_relevant(b: Batch) -> Floats:
    """The mean of nDCG over the ranks of the relevant documents.

    >>> round(cf.parse("nDCG_rel")([1, 0, 2], missed=[1]), 6)
    0.592525
    """
    ideal = _ideal_dcg_by_rank(b)
    depth = np.maximum((b.ideal > 0).sum(axis=1), 1)[:, None]
    low, high = _inverse_ideal_sums(ideal, depth, b.start), _inverse_ideal_sums(ideal, depth, b.start + b.size)
    weight, own, before = (h - m for h, m in zip(high, low, strict=True))
    # At position x of a tie of n, each of its other documents is above with probability (x-1)/(n-1).
    others = (b.within(b.gain) - b.gain) / np.maximum(b.size - 1, 1)
    at = b.above(b.gain * b.mean_over(LOG2)) * weight + b.gain * own + others * (before - LOG2(b.start) * weight)
    retrieved = summed(np.where(b.relevant, at / b.size, 0))
    missed = (b.R - b.relevant.sum(axis=1)) * ratio(dcg(b, None, "log2", 2.0), ideal[:, -1])
    return ratio(retrieved + missed, b.R)


def _inverse_ideal_sums(ideal: Floats, depth: Integers, n: Integers) -> tuple[Floats, Floats, Floats]:
    """Sums over ranks j ≤ n of w(j), w(j) d(j) and w(j) D(j-1); w is 1 / ideal DCG, d the discount, D its sum."""
    width = ideal.shape[1]
    w = np.divide(1, ideal, out=np.zeros_like(ideal), where=ideal > 0)
    last = np.take_along_axis(w, depth - 1, axis=1)
    ranks = np.arange(max(width, int(n.max(initial=0))) + 1)
    discounts = LOG2(ranks), np.concatenate([[0], np.cumsum(LOG2(ranks[:-1]))])
    inside, beyond = np.minimum(n, depth), np.maximum(n - depth, 0)

    def sums(step: Floats, tail: Floats) -> Floats:
        table = np.pad(np.cumsum(w * step, axis=1), ((0, 0), (1, 0)))
        return np.take_along_axis(table, inside, axis=1) + last * tail

    # Below the last document with gain of the ideal ranking, w is constant.
    return (
        sums(np.ones(width), beyond),
        sums(np.diff(discounts[0])[:width], discounts[0][depth + beyond] - discounts[0][depth]),
        sums(discounts[0][:width], discounts[1][depth + beyond] - discounts[1][depth]),
    )


@graded("RBPq", cite="moffat2008", formula="RBPq = (1-p) Σ_i g_i p^{i-1},  g = gain / max(1, top gain of the query)")
def rank_biased_precision_by_query(b: GainSums, *, p: Chance = 0.9) -> Floats:
    """RBP of trec_eval 10: gains are divided by the highest gain in the judgments of the query.

    Scores of queries with different highest grades are not comparable; RBP divides by the highest grade of all queries.

    >>> round(cf.parse("RBPq(p=0.5)")([1, 0, 2]), 6)
    0.375
    """
    best = b.ideal_gained(count, 1)
    return b.gained(geometric(p)) / np.maximum(best, 1)


@of_unjudged("RBPres", cite="moffat2008", formula="RBPres = 1 - (1-p) Σ_{i judged} p^{i-1}", gains="none")
def rank_biased_precision_residual(b: Batch, *, p: Chance = 0.9) -> Floats:
    """How much higher RBP could be if all unjudged documents and all ranks below the end were relevant.

    >>> round(cf.parse("RBPres(p=0.5)")([1, None, 0]), 6)
    0.375
    """
    return 1 - b.judged_weight(geometric(p), None)
