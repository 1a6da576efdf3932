"""Average precision and its relatives: precision taken at every relevant document."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.measures.catalogue import TERMINAL, UNBOUNDED, Range, Rank, measure
from cranfield.measures.precision import Base, hits
from cranfield.measures.ties.positions import mean_for_nth
from cranfield.measures.ties.strategies import OverCuts
from cranfield.measures.weights import count, harmonic
from cranfield.ranking.batch import Batch, GainSums, ragged
from cranfield.ranking.row_math import ratio, running, summed

EPSILON = 1e-5  # smooths infAP's estimate of precision among judged documents, as in trec_eval

NotNegative = Annotated[float, Range(0, 1e6)]


def precisions(b: GainSums, k: int | None) -> Floats:
    """Expected sum of precisions at the relevant documents of the first k (of gains, where graded)."""
    return b.cumulated(harmonic, k)


@measure(
    "AP",
    cite="buckley2005 mcsherry2008",
    formula="AP@k = Σ_{i≤k} b_i P@i / R   (norm='min': / min(k, R))",
    gains="either",
    terminal=TERMINAL,
)
def average_precision(
    b: GainSums, *, k: Rank | None = None, norm: Literal["R", "min"] = "R", R: Base = "judged"
) -> Floats:
    """How early the relevant documents come: precision at each of them, unfound ones counting 0.

    Undefined where no document is relevant. ``graded=True`` reads gains in [0, 1] for 0 and 1. ``R='retrieved'``
    divides by the relevant documents of the result list, as McSherry and Najork do.

    >>> import cranfield as cf
    >>> round(cf.parse("AP")([1, 0, 1], missed=[1]), 6)
    0.555556
    """
    if R == "retrieved":
        reachable = hits(b) if norm == "R" or k is None else np.minimum(hits(b), k)
    else:
        reachable = b.mass if norm == "R" or k is None else b.ideal_gained(count, k)
    return ratio(precisions(b, k), reachable)


@measure(
    "SP",
    cite="moffat2013",
    formula="SP@k = Σ_{i≤k} b_i P@i",
    bounds=(0, float("inf")),
    terminal=UNBOUNDED,
    retrieved_only=True,
)
def sum_of_precisions(b: GainSums, *, k: Rank | None = None) -> Floats:
    """Average precision before it is divided by the number of relevant documents.

    >>> import cranfield as cf
    >>> round(cf.parse("SP@3")([1, 0, 1]), 6)
    1.666667
    """
    return precisions(b, k)


@measure(
    "SN_AP",
    cite="moffat2013",
    formula="SN_AP@k = SP@k / R_k,  R_k = Σ_{i≤k} b_i",
    ties=OverCuts(),
    retrieved_only=True,
    rewards_promotion=False,
)
def self_normalised_average_precision(b: Batch, *, k: Rank) -> Floats:
    """Average precision as if nothing were relevant but what the first k hold.

    Undefined where they hold nothing relevant; in ties, those orders count 0.

    >>> import cranfield as cf
    >>> round(cf.parse("SN_AP@3")([1, 0, 1], missed=[1]), 6)
    0.833333
    """
    held = summed(np.where(b.seen(k) == b.size, b.gain, 0))
    return ratio(precisions(b, k), held)


@measure(
    "GMAP",
    cite="robertson2006",
    formula="GMAP = exp mean log max(AP, 0.00001)",
    aggregate="geometric",
    terminal=TERMINAL,
)
def geometric_mean_average_precision(b: GainSums, *, k: Rank | None = None) -> Floats:
    """Average precision, averaged over queries so that doubling a poor query counts as much as doubling a good one.

    >>> import cranfield as cf
    >>> round(cf.parse("GMAP")([1, 0, 1], missed=[1]), 6)
    0.555556
    """
    return ratio(precisions(b, k), b.mass)


@measure(
    "infAP",
    cite="yilmaz2006",
    formula="infAP = Σ_i b_i (1/i + ((i-1)/i) (pooled/(i-1)) ((rel+ε)/(rel+nonrel+2ε))) / R",
    rewards_promotion=False,
    uses_nonrelevant=True,
)
def inferred_average_precision(b: Batch) -> Floats:
    """Average precision estimated from a pool of which only a random sample was judged.

    Documents pooled but not judged have a negative grade; ε is 0.00001. The counts are of documents above rank i.

    >>> import cranfield as cf
    >>> round(cf.parse("infAP")([1, -1, 1, 0]), 4)
    1.0
    """
    counted = b.relevant, b.judged, ~np.isnan(b.grade)
    stands = np.stack([b.start, b.size, *(b.above(x) for x in counted), *(b.within(x) for x in counted)])
    relevant, judged = stands[5:7]
    value = summed(np.where(b.relevant & (judged == 1), _inferred(stands, 0, b.mean_over(harmonic)), 0))
    # Of several judged documents of a tie, a relevant one is as likely below any number of the others.
    first = b.relevant & (judged > 1) & (running(b.relevant) == stands[2] + 1)
    if first.any():
        row, column = np.nonzero(first)
        many = judged[first].astype(np.int64)
        owner, j = ragged(many)
        start, size = b.start[first][owner], b.size[first][owner]
        inverse = mean_for_nth(size, many[owner], j, lambda tie, place: 1 / (start[tie] + place + 1))
        found = _inferred(stands[:, row[owner], column[owner]], j, inverse) * (relevant[first] / many)[owner]
        value += np.bincount(row[owner], found, len(value))
    return ratio(value, b.R)


def _inferred(stands: Floats, j: Integers | int, inverse: Floats) -> Floats:
    """Inferred precision at documents with j of the judged ones of their tie above them, by the mean of 1/rank."""
    start, size, relevant_above, judged_above, pooled_above, relevant, judged, pooled = stands
    # Relevant are as many of the j as of all others; pooled, as many of those that are not judged as in the whole tie.
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
    """Average precision for graded relevance: precision blended with how much of the ideal gain was collected.

    ``beta=0`` is average precision.

    >>> import cranfield as cf
    >>> round(cf.parse("Q")([1, 0, 1], missed=[1]), 6)
    0.555556
    """
    at = blended_ratios(b, beta, k)
    return ratio(summed(np.where(b.relevant, at, 0)), b.R if norm == "R" or k is None else np.minimum(b.R, k))


def blended_ratios(b: Batch, beta: float, k: int | None) -> Floats:
    """The expected blended ratio at each relevant document, 0 below the first k; with beta=0 it is precision.

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
    """Sums over each span's first slots x of w(t+x) and of (x-1) w(t+x), w(j) = 1 / (β cg_ideal(j) + j)."""
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

    def running(n: Integers) -> tuple[Floats, Floats]:
        # Below its last gain the ideal has no more, and the sum of 1/(c+j) is a difference of digammas.
        inside = np.minimum(n, depth)
        beyond = np.maximum(n - depth, 0)
        tail = np.where(beyond > 0, digamma(all_gain + depth + beyond + 1) - digamma(all_gain + depth + 1), 0)
        first, second = (t[row, inside] for t in table)
        return first + tail, second + beyond - all_gain * tail

    start = b.start[row, column]
    low, high = running(start), running(start + seen[row, column])
    weight[row, column] = sums = high[0] - low[0]
    moment[row, column] = high[1] - low[1] - (start + 1) * sums
    return weight, moment
