"""Average precision and related measures: the mean of the precision at each relevant document."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.measures.catalogue import TERMINAL, Rank, measure
from cranfield.measures.precision import hits, of_judged, self_normalised, unbounded
from cranfield.measures.ties.expectation import mean_for_nth
from cranfield.measures.weights import count, harmonic
from cranfield.ranking.batch import Batch, Documents, GainSums, ragged, ratio, running, summed
from cranfield.settings import Limits

EPSILON = 1e-5  # smooths infAP's estimate of precision among judged documents, as in trec_eval
LARGE = 256  # total gains above this need sums without differences of large numbers

NotNegative = Annotated[float, Limits(0, 1e6)]


def precisions(b: GainSums, k: int | None) -> Floats:
    """Expected sum of the precision at each relevant document of the first k; graded gains replace 0 and 1."""
    return b.cumulated(harmonic, k)


@measure(
    "AP",
    cite="buckley2005 mcsherry2008",
    formula="AP@k = Σ_{i≤k} b_i P@i / R   (norm='min': / min(k, R))",
    gains="either",
    terminal=TERMINAL,
)
def average_precision(
    b: GainSums, *, k: Rank | None = None, norm: Literal["R", "min"] = "R", R: Documents = "judged"
) -> Floats:
    """The mean precision at the relevant documents; relevant documents that are not retrieved count 0.

    Undefined if no document is relevant. ``graded=True`` uses gains in [0, 1] instead of 0 and 1. ``R='retrieved'``
    divides by the relevant documents in the ranking, as McSherry and Najork do.

    >>> round(cf.parse("AP")([1, 0, 1], missed=[1]), 6)
    0.555556
    """
    if R == "retrieved":
        divisor = hits(b) if norm == "R" or k is None else np.minimum(hits(b), k)
    else:
        divisor = b.mass if norm == "R" or k is None else b.ideal_gained(count, k)
    return ratio(precisions(b, k), divisor)


@measure("MAP_R", cite="musgrave2020", formula="MAP@R = Σ_{i≤R} b_i P@i / R")
def average_precision_at_r(b: Batch) -> Floats:
    """Average precision of the first R documents, where R is the number of relevant documents; 1 only if all are.

    The name MAP@R is accepted, too. Undefined if no document is relevant.

    >>> round(cf.parse("MAP@R")([1, 0, 1, 1], missed=[1]), 6)
    0.604167
    """
    return ratio(b.cumulated(harmonic, b.R.astype(np.int64)), b.R)


@unbounded("SP", cite="moffat2013", formula="SP@k = Σ_{i≤k} b_i P@i", retrieved_only=True)
def sum_of_precisions(b: GainSums, *, k: Rank | None = None) -> Floats:
    """The sum of the precision at each relevant document; average precision divides it by R.

    >>> round(cf.parse("SP@3")([1, 0, 1]), 6)
    1.666667
    """
    return precisions(b, k)


@self_normalised("SN_AP", cite="moffat2013", formula="SN_AP@k = SP@k / R_k,  R_k = Σ_{i≤k} b_i")
def self_normalised_average_precision(b: Batch, *, k: Rank) -> Floats:
    """Average precision at k divided by the relevant documents in the first k instead of all R.

    Undefined if the first k contain no relevant document; if only some orders of tied documents do, these count 0.

    >>> round(cf.parse("SN_AP@3")([1, 0, 1], missed=[1]), 6)
    0.833333
    """
    relevant_in_top = summed(np.where(b.seen(k) == b.size, b.gain, 0))
    return ratio(precisions(b, k), relevant_in_top)


@measure(
    "GMAP",
    cite="robertson2006",
    formula="GMAP = exp mean log max(AP, 0.00001)",
    aggregate="geometric",
    terminal=TERMINAL,
)
def geometric_mean_average_precision(b: GainSums, *, k: Rank | None = None) -> Floats:
    """The geometric mean of average precision over queries, which gives more weight to low scores.

    >>> round(cf.parse("GMAP")([1, 0, 1], missed=[1]), 6)
    0.555556
    """
    return ratio(precisions(b, k), b.mass)


@of_judged(
    "infAP", cite="yilmaz2006", formula="infAP = Σ_i b_i (1/i + ((i-1)/i) (pooled/(i-1)) ((rel+ε)/(rel+nonrel+2ε))) / R"
)
def inferred_average_precision(b: Batch) -> Floats:
    """Average precision estimated from a pool of which only a random sample is judged.

    A negative grade means pooled but not judged; ε is 0.00001. The counts are of documents above rank i.

    >>> round(cf.parse("infAP")([1, -1, 1, 0]), 4)
    1.0
    """
    flags = b.relevant, b.judged, ~np.isnan(b.grade)
    counts = np.stack([b.start, b.size, *(b.above(x) for x in flags), *(b.within(x) for x in flags)])
    relevant, judged = counts[5:7]
    value = summed(np.where(b.relevant & (judged == 1), _inferred_precision(counts, 0, b.mean_over(harmonic)), 0))
    # In a tie with several judged documents, a relevant one has any number of the others above it, equally likely.
    first = b.relevant & (judged > 1) & (running(b.relevant) == counts[2] + 1)
    if first.any():
        row, column = np.nonzero(first)
        count_judged = judged[first].astype(np.int64)
        owner, j = ragged(count_judged)
        start, size = b.start[first][owner], b.size[first][owner]
        inverse = mean_for_nth(size, count_judged[owner], j, lambda tie, position: 1 / (start[tie] + position + 1))
        inferred = (
            _inferred_precision(counts[:, row[owner], column[owner]], j, inverse)
            * (relevant[first] / count_judged)[owner]
        )
        value += np.bincount(row[owner], inferred, len(value))
    return ratio(value, b.R)


def _inferred_precision(counts: Floats, j: Integers | int, inverse: Floats) -> Floats:
    """Inferred precision at documents with j judged documents of their tie above them; ``inverse`` is mean 1/rank."""
    start, size, relevant_above, judged_above, pooled_above, relevant, judged, pooled = counts
    # The share of relevant documents among the j is that among all other judged documents of the tie; the share of
    # pooled documents among the unjudged ones above is that of the tie.
    share = (relevant_above + j * (relevant - 1) / np.maximum(judged - 1, 1) + EPSILON) / (
        judged_above + j + 2 * EPSILON
    )
    rest = (pooled - judged) / np.maximum(size - judged, 1)
    return inverse + share * ((pooled_above + j) * inverse + rest * (1 - (start + 1 + j) * inverse))


@measure(
    "Q",
    cite="sakai2007",
    formula="Q@k = Σ_{i≤k} isrel(i) (β cg(i) + count(i)) / (β cg_ideal(i) + i) / R   (norm='min': / min(k, R))",
    gains="graded",
    rewards_promotion=False,
)
def q_measure(b: Batch, *, k: Rank | None = None, beta: NotNegative = 1.0, norm: Literal["R", "min"] = "R") -> Floats:
    """Average precision for graded relevance: the mean blended ratio of precision and gain.

    ``beta=0`` is average precision.

    >>> round(cf.parse("Q")([1, 0, 1], missed=[1]), 6)
    0.555556
    """
    at = blended_ratios(b, beta, k)
    return ratio(summed(np.where(b.relevant, at, 0)), b.R if norm == "R" or k is None else np.minimum(b.R, k))


def blended_ratios(b: Batch, beta: float, k: int | None) -> Floats:
    """The expected blended ratio at each relevant document, 0 below rank k; with beta=0 it is precision.

    The blended ratio at rank i is (β cg(i) + count(i)) / (β cg_ideal(i) + i).
    """
    own = beta * (b.above(b.gain) + b.gain) + b.above(b.relevant) + 1
    weight, moment = blended_weights(b, beta, k)
    at = own * weight
    if b.tied.any():
        others = beta * (b.within(b.gain) - b.gain) + b.within(b.relevant) - 1
        at = (at + others / np.maximum(b.size - 1, 1) * moment) / b.size
    return at


def blended_weights(b: Batch, beta: float, k: int | None) -> tuple[Floats, Floats]:
    """For each tie, the sums over its positions x in the first k of w(t+x) and of (x-1) w(t+x).

    t is the number of documents above the tie, and w(j) = 1 / (β cg_ideal(j) + j).
    """
    gains, seen = np.cumsum(b.ideal, axis=1), b.seen(k)
    at = np.take_along_axis(gains, np.minimum(b.start, gains.shape[1] - 1), axis=1)
    weight, moment = np.where(seen > 0, 1 / (beta * at + b.start + 1), 0), np.zeros(b.start.shape)
    if not b.tied.any():
        return weight, moment
    from scipy.special import digamma

    row, column = np.nonzero(b.size > 1)
    ranks = np.arange(1, gains.shape[1] + 1)
    w = 1 / (beta * gains + ranks)
    table = [np.pad(np.cumsum(x, axis=1), ((0, 0), (1, 0))) for x in (w, w * ranks)]
    all_gain, depth = beta * b.mass[row], (b.ideal > 0).sum(axis=1)[row]

    def sums_to(n: Integers) -> tuple[Floats, Floats]:
        # Below its last document with gain, cg_ideal is constant, and the sum of 1/(c+j) is a difference of digammas.
        inside = np.minimum(n, depth)
        beyond = np.maximum(n - depth, 0)
        tail = np.where(beyond > 0, digamma(all_gain + depth + beyond + 1) - digamma(all_gain + depth + 1), 0)
        first, second = (t[row, inside] for t in table)
        return first + tail, second + beyond - all_gain * tail

    start = b.start[row, column]
    end = start + seen[row, column]
    low, high = sums_to(start), sums_to(end)
    weight[row, column] = sums = high[0] - low[0]
    moment[row, column] = high[1] - low[1] - (start + 1) * sums
    if (large := all_gain > LARGE).any():  # then these differences have few right digits
        first, second = (t[row, np.minimum(end, depth)] - t[row, np.minimum(start, depth)] for t in table)
        above = np.maximum(depth - start, 0)  # ranks of the tie in the tables
        tail, tail_moment = level_sums(all_gain + start + above + 1, np.maximum(end - start - above, 0))
        weight[row, column] = np.where(large, first + tail, sums)
        exact = second - (start + 1) * first + above * tail + tail_moment
        moment[row, column] = np.where(large, exact, moment[row, column])
    return weight, moment


def level_sums(a: Floats, n: Integers) -> tuple[Floats, Floats]:
    """The sums of 1/(a+x) and of x/(a+x) over x = 0, 1, ..., n-1, where a is large (Euler-Maclaurin)."""
    steps = np.maximum(n - 1, 0)
    last, v = a + steps, steps / a
    series = v * v * (1 / 2 - v * (1 / 3 - v * (1 / 4 - v * (1 / 5 - v * (1 / 6 - v * (1 / 7 - v / 8))))))
    integral = a * np.where(v < 0.01, series, v - np.log1p(v))
    edges = (last**-2 - a**-2) / 12 - (last**-4 - a**-4) / 120 + (last**-6 - a**-6) / 252
    second = integral + steps / last / 2 + a * edges
    return (n - second) / a, second
