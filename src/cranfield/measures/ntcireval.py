"""What NTCIREVAL has beside the measures of the other families: blended ratios, user populations, normalised cascades.

BR(i) = (β cg(i) + c(i)) / (β cg_ideal(i) + i) is the blended ratio at rank i: c(i) counts the relevant documents down
to rank i, and cg(i) sums their gains. In the cascades a reader stops at a document with chance q = gain / (top gain +
1), and s_i = q_i Π_{j<i} (1-q_j) is the chance to stop at rank i. All are undefined where no document is relevant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np

from cranfield.data import Booleans, Floats, Integers
from cranfield.measures.average_precision import NotNegative, blended_ratios, blended_weights
from cranfield.measures.cascade import survival_with_gain
from cranfield.measures.catalogue import Positive, Probability, Range, Rank, measure
from cranfield.measures.ties.positions import mean_for_nth
from cranfield.measures.ties.strategies import OverCuts
from cranfield.measures.user_model import cascade_score, ideal_cascade, reach_probability
from cranfield.measures.weights import count, geometric, harmonic, powers
from cranfield.ranking.batch import CELLS, Batch, GainSums
from cranfield.ranking.row_math import ratio, running, summed

Scheme = Literal["linear", "exp"]
UpToOne = Annotated[float, Range(0, 1, "(]")]
RankWeight = Callable[[Integers, Integers], Floats]  # of rows of a batch, and a rank for each of them


def if_any_relevant(b: Batch, value: Floats) -> Floats:
    """The value, undefined where no document is relevant."""
    return np.where(b.R > 0, value, np.nan)


def blended_divisor(b: Batch, beta: float) -> RankWeight:
    """One over what the blended ratio divides by: β cg_ideal(i) + i."""
    gains = np.cumsum(b.ideal, axis=1)
    last = gains.shape[1]
    return lambda row, rank: 1 / (beta * gains[row, np.minimum(rank, last) - 1] + rank)


def order_among_relevant(b: Batch) -> Floats:
    """How many relevant documents of its tie come before each relevant one, where the columns are the order."""
    return running(b.relevant) - 1 - b.above(b.relevant)


def mean_weights(b: Batch, wanted: Booleans, weight: RankWeight, k: int | None) -> Floats:
    """The mean weight of the rank of each wanted relevant document, the nth relevant one of its tie; 0 below rank k.

    Documents of a tie are taken in the order of columns. Which relevant document of a tie is the nth does not depend
    on where the nth is, so that sums over relevant documents in rank order can be taken term by term.
    """
    means = np.zeros(b.start.shape)
    row, column = np.nonzero(wanted)
    start, size = b.start[row, column], b.size[row, column]
    end = b.length if k is None else np.minimum(b.length, k)

    def score(which: Integers, position: Integers) -> Floats:
        rank = start[which] + position + 1
        return np.where(rank <= end[row[which]], weight(row[which], rank), 0)

    tied = size > 1
    single, several = np.flatnonzero(~tied), np.flatnonzero(tied)
    means[row[single], column[single]] = score(single, np.zeros_like(single))
    if len(several):
        r, c = row[several], column[several]
        many = b.within(b.relevant)[r, c].astype(np.int64)
        nth = order_among_relevant(b)[r, c].astype(np.int64)
        means[r, c] = mean_for_nth(size[several], many, nth, lambda which, position: score(several[which], position))
    return means


@measure(
    "O",
    cite="sakai2007a",
    formula="O@k = BR(r),  r ≤ k the first rank with a relevant document;  0 if there is none",
    gains="graded",
    rewards_promotion=False,
)
def o_measure(b: Batch, *, k: Rank | None = None, beta: NotNegative = 1.0) -> Floats:
    """The blended ratio at the first relevant document: how early it is, and how good.

    Undefined where no document is relevant. ``beta=0`` is the reciprocal rank.

    >>> import cranfield as cf
    >>> round(cf.parse("O")([0, 1, 2], missed=[1]), 6)
    0.4
    """
    first = b.relevant & (running(b.relevant) == 1)
    gain = b.within(b.gain) / np.maximum(b.within(b.relevant), 1)  # any relevant document of its tie may be the first
    at = (beta * gain + 1) * mean_weights(b, first, blended_divisor(b, beta), k)
    return if_any_relevant(b, summed(np.where(first, at, 0)))


@measure(
    "Pmeasure",
    cite="sakai2006 sakai2007a",
    formula="P-measure@k = BR(r),  r the first rank that has the highest gain of all ranks ≤ k;  0 if that gain is 0",
    gains="graded",
    ties=OverCuts(),
    rewards_promotion=False,
)
def p_measure(b: Batch, *, k: Rank | None = None, beta: NotNegative = 1.0) -> Floats:
    """The blended ratio at the preferred rank, which is the first rank with the best document that was found.

    The best document of the ranking, not of the judgments, decides. Undefined where no document is relevant.

    >>> import cranfield as cf
    >>> round(cf.parse("Pmeasure")([1, 0, 2]), 6)
    0.833333
    """
    return if_any_relevant(b, _at_preferred_rank(b, beta, k)[0])


@measure(
    "Pplus",
    cite="sakai2007a",
    formula="P+@k = Σ_{i≤r} b_i BR(i) / c(r),  r the first rank that has the highest gain of all ranks ≤ k",
    gains="graded",
    ties=OverCuts(),
    rewards_promotion=False,
)
def p_plus(b: Batch, *, k: Rank | None = None, beta: NotNegative = 1.0) -> Floats:
    """The mean blended ratio of the relevant documents down to the first of the best ones that were found.

    The best document of the ranking, not of the judgments, decides. Undefined where no document is relevant.

    >>> import cranfield as cf
    >>> round(cf.parse("Pplus")([1, 0, 2]), 6)
    0.75
    """
    return if_any_relevant(b, _at_preferred_rank(b, beta, k)[1])


def _at_preferred_rank(b: Batch, beta: float, k: int | None) -> tuple[Floats, Floats]:
    """Expected P-measure and P+; no tie goes across rank k.

    In the tie with the preferred rank let r documents be relevant, h of them of the highest gain and s others. The
    first u relevant ones are all among the others, and the next is not, with chance ψ(u) = C(s,u)/C(r,u) h/(r-u),
    wherever relevant documents are.
    """
    inside = b.relevant & (b.seen(k) > 0)
    gain = np.where(inside, b.gain, 0)
    highest = gain.max(axis=1, initial=0)[:, None]
    best = inside & (gain == highest)
    row = np.arange(len(gain))
    column = best.argmax(axis=1)
    start = b.start[row, column][:, None]
    tie = inside & (b.start == start) & (highest > 0)
    above, found = (b.above(x)[row, column][:, None] for x in (gain, inside))
    relevant, preferred = (x.sum(axis=1)[:, None] for x in (tie, tie & best))
    other = summed(np.where(tie & ~best, gain, 0))[:, None] / np.maximum(relevant - preferred, 1)
    u = np.where(tie, order_among_relevant(b), 0)
    left = np.maximum(relevant - u, 1)
    misses = running(np.where(tie, np.maximum(relevant - preferred - u, 0) / left, 1), np.multiply)
    chance = np.concatenate([np.ones_like(misses[:, :1]), misses[:, :-1]], axis=1) * preferred / left
    wanted = tie & (u <= relevant - preferred)
    weight = mean_weights(b, wanted, blended_divisor(b, beta), k)
    at = np.where(wanted, chance * weight * (beta * (above + u * other + highest) + found + u + 1), 0)
    # Above the preferred rank: documents of ties above, and the others of this tie.
    ratios = np.where(inside & (b.start < start), blended_ratios(b, beta, k), 0)
    others = np.where(wanted, weight * (beta * (above + (u + 1) * other) + found + u + 1), 0)
    before = summed(ratios)[:, None] + running(others) - others
    mean = np.where(wanted, (chance * before + at) / (found + u + 1), 0)
    return summed(at), summed(mean)


@measure(
    "NCU",
    cite="sakai2008 sakai2020",
    formula="NCU@k = Σ_{i≤k} b_i π(i) U(i);  stop='gu': π(i) = gain_i / all gain;  "
    "stop='rb': π(i) = γ^{c(i)-1} / Σ_{i≤min(k,R)} γ^{i-1}  (norm='min': / min(k, R));  "
    "utility='P': U(i) = c(i)/i;  'BR': BR(i);  'IE': p^i",
    gains="graded",
    rewards_promotion=False,
    unused_when=(
        ("gamma", "stop", "gu"),
        ("norm", "stop", "gu"),
        ("beta", "utility", "P"),
        ("beta", "utility", "IE"),
        ("p", "utility", "P"),
        ("p", "utility", "BR"),
    ),
)
def normalised_cumulative_utility(
    b: Batch,
    *,
    k: Rank | None = None,
    stop: Literal["rb", "gu"] = "rb",
    utility: Literal["P", "BR", "IE"] = "P",
    gamma: UpToOne = 0.95,
    p: Probability = 0.99,
    beta: NotNegative = 1.0,
    norm: Literal["stop", "min"] = "stop",
) -> Floats:
    """The utility of the ranking to a population of readers, each of whom stops at some relevant document.

    ``stop`` says where readers stop: ``'gu'`` in proportion to the gain of documents; ``'rb'`` by rank, where a share
    ``gamma`` goes on after each relevant document. ``utility`` is what the documents down to there are worth: precision
    (``'P'``), the blended ratio (``'BR'``), or ``p`` to the power of the rank (``'IE'``). With a cut-off, NTCIREVAL
    divides by min(k, R) (``norm='min'``), so that a perfect ranking scores below 1. Undefined where no document is
    relevant.

    >>> import cranfield as cf
    >>> round(cf.parse("NCU(stop='gu', utility='BR')")([1, 0, 2]), 6)
    0.777778
    >>> round(cf.parse("NCU(stop='rb', utility='P', gamma=0.5)")([1, 0, 2]), 6)
    0.888889
    """
    if stop == "gu":
        blend = beta if utility == "BR" else 0.0
        worth = b.mean_over(powers(p), k) if utility == "IE" else blended_ratios(b, blend, k)
        return ratio(summed(np.where(b.relevant, b.gain * worth, 0)), b.mass)
    above = b.above(b.relevant)
    before = np.where(b.relevant, above + order_among_relevant(b), 0)
    weight: RankWeight = {
        "P": lambda row, rank: 1 / rank,
        "BR": blended_divisor(b, beta),
        "IE": lambda row, rank: np.power(p, rank.astype(np.float64)),
    }[utility]
    found = np.ones_like(before) if utility == "IE" else before + 1
    if utility == "BR":
        # Any relevant document of a tie may be the nth of them.
        gain = b.within(b.gain) / np.maximum(b.within(b.relevant), 1)
        found += beta * (b.above(b.gain) + (before + 1 - above) * gain)
    worth = np.power(gamma, before) * found * mean_weights(b, b.relevant, weight, k)
    many = b.R if k is None else np.minimum(b.R, k)
    whole = many if norm == "min" or gamma == 1 else (1 - np.power(gamma, many)) / (1 - gamma)
    return ratio(summed(np.where(b.relevant, worth, 0)), whole)


@measure(
    "GAP",
    cite="robertson2010",
    formula="GAP@k = Σ_{i≤k} b_i (1/i) Σ_{j≤i} h(min(l_i, l_j)) / Σ_{j≤min(k,R)} h(ideal l_j),  "
    "h(l) = l (l+1);  weights='even': h(l) = l",
    gains="grades",
)
def graded_average_precision(
    b: Batch, *, k: Rank | None = None, weights: Literal["rising", "even"] = "rising"
) -> Floats:
    """Average precision over readers who differ in the lowest grade that is relevant to them.

    ``weights='even'`` has as many readers at every grade; NTCIREVAL's, ``'rising'``, has more of them at higher grades,
    in proportion to the grade. With grades 0 and 1 both are average precision. Undefined where no document is relevant.

    >>> import cranfield as cf
    >>> round(cf.parse("GAP")([1, 0, 2], missed=[1]), 6)
    0.466667
    >>> round(cf.parse("GAP(weights='even')")([1, 0, 2], missed=[1]), 6)
    0.5
    """

    def height(grade: Floats) -> Floats:
        return grade * (grade + 1) if weights == "rising" else grade

    above, others = np.zeros((2, *b.gain.shape))
    for grade in np.unique(b.gain[b.relevant]).tolist():
        capped = height(np.minimum(b.gain, grade))
        here = b.gain == grade
        above[here], others[here] = (b.above(capped) + capped)[here], (b.within(capped) - capped)[here]
    own, later = b.spread(harmonic, k)
    at = (above * own + others / np.maximum(b.size - 1, 1) * later) / b.size
    return ratio(summed(np.where(b.relevant, at, 0)), summed(height(b.ideal[:, :k])))


def stop_chance(b: Batch, gain: Floats, scheme: Scheme, top: float | None) -> Floats:
    """The chance to stop at documents with these gains: gain / (top gain + 1)."""
    share = 1 / (b.top + 1) if top is None else np.exp2(-top) if scheme == "exp" else 1 / (top + 1)
    return np.minimum(gain * share, 1)


@measure(
    "nERR",
    cite="chapelle2009",
    formula="nERR@k = Σ_{i≤k} s_i / i / that of all judged documents in descending order of gain",
    gains="graded",
)
def normalised_expected_reciprocal_rank(
    b: Batch, *, k: Rank | None = None, gain: Scheme = "linear", max: Positive | None = None
) -> Floats:
    """How much of the best possible expected reciprocal rank the ranking reaches.

    Readers stop with a chance of gain / (top gain + 1); with ``gain='exp'`` it is that of ERR as published. Undefined
    where no document is relevant.

    >>> import cranfield as cf
    >>> round(cf.parse("nERR(max=3)@2")([0, 3], missed=[3]), 6)
    0.444444
    """
    stop = stop_chance(b, b.gain, gain, max)
    return ratio(cascade_score(b, stop, k), ideal_cascade(stop_chance(b, b.ideal, gain, max), k))


@measure(
    "nRBP",
    cite="moffat2008",
    formula="nRBP@k = Σ_{i≤k} g_i p^{i-1} / that of all judged documents in descending order of gain",
    gains="graded",
)
def normalised_rank_biased_precision(b: GainSums, *, k: Rank | None = None, p: Probability = 0.95) -> Floats:
    """How much of the best possible rank-biased precision the ranking reaches.

    Undefined where no document is relevant.

    >>> import cranfield as cf
    >>> round(cf.parse("nRBP(p=0.5)@2")([0, 2], missed=[1]), 6)
    0.4
    """
    return ratio(b.gained(geometric(p), k), b.ideal_gained(geometric(p), k))


@measure(
    "EBR",
    cite="sakai2019",
    formula="EBR@k = Σ_{i≤k} s_i BR(i)",
    gains="graded",
    rewards_promotion=False,
)
def expected_blended_ratio(
    b: Batch,
    *,
    k: Rank | None = None,
    beta: NotNegative = 1.0,
    gain: Scheme = "linear",
    max: Positive | None = None,
) -> Floats:
    """The blended ratio at the rank where a reader is satisfied, 0 for readers who never are.

    Undefined where no document is relevant.

    >>> import cranfield as cf
    >>> round(cf.parse("EBR(max=1)")([1, 0, 1]), 6)
    0.7
    """
    return if_any_relevant(b, _stopped(b, stop_chance(b, b.gain, gain, max), beta, k))


@measure(
    "nEBR",
    cite="sakai2019",
    formula="nEBR@k = EBR@k / that of all judged documents in descending order of gain",
    gains="graded",
    rewards_promotion=False,
)
def normalised_expected_blended_ratio(
    b: Batch,
    *,
    k: Rank | None = None,
    beta: NotNegative = 1.0,
    gain: Scheme = "linear",
    max: Positive | None = None,
) -> Floats:
    """How much of the best possible expected blended ratio the ranking reaches.

    Undefined where no document is relevant.

    >>> import cranfield as cf
    >>> round(cf.parse("nEBR(max=1)@3")([1, 0, 1]), 6)
    0.933333
    """
    stop = stop_chance(b, b.gain, gain, max)
    # The blended ratio of an ideal ranking is 1 at each of its documents.
    return ratio(_stopped(b, stop, beta, k), ideal_cascade(stop_chance(b, b.ideal, gain, max), k, count))


def _stopped(b: Batch, stop: Floats, beta: float, k: int | None) -> Floats:
    """The expected blended ratio at the rank where a reader stops."""
    extra = beta * b.gain + b.relevant
    reach, above, m = reach_probability(b, stop), b.above(extra), b.seen(k)
    several = b.within(b.relevant) > 1
    alone = blended_weights(b, beta, k)[0] / b.size  # a single relevant document of a tie may be anywhere in it
    value = summed(np.where(b.relevant & ~several, reach * stop * (above + extra) * alone, 0))
    row, column = np.nonzero((b.order == 0) & several & (m > 0))
    divisor = blended_divisor(b, beta)
    for part in np.array_split(np.arange(len(row)), 1 + int(m.max(initial=0)) * len(row) // CELLS):
        if not len(part):
            continue
        q, j = row[part], column[part]
        same = (b.start[q] == b.start[q, j][:, None]) & b.relevant[q]
        order = np.argsort(np.where(same, b.gain[q], 0), axis=1, kind="stable")
        keep = np.take_along_axis(np.where(same, 1 - stop[q], 1), order, axis=1)
        own = np.take_along_axis(np.where(same, extra[q], 0), order, axis=1)
        left, gained, last = survival_with_gain(b.size[q, j], keep, own, int(m[q, j].max()))
        x = np.arange(1, left.shape[1])
        # Who stops at slot x has met x-1 documents without stopping, and has not passed all x.
        at = above[q, j][:, None] * (left[:, :-1] - left[:, 1:]) + gained[:, :-1] + last[:, 1:] - gained[:, 1:]
        ratios = at * divisor(q[:, None], b.start[q, j][:, None] + x)
        value += np.bincount(q, reach[q, j] * summed(np.where(x <= m[q, j][:, None], ratios, 0)), len(value))
    return value


@measure(
    "iRBU",
    cite="sakai2019 amigo2018",
    formula="iRBU@k = Σ_{i≤k} s_i p^i",
    gains="graded",
)
def intentwise_rank_biased_utility(
    b: Batch,
    *,
    k: Rank | None = None,
    p: Probability = 0.99,
    gain: Scheme = "linear",
    max: Positive | None = None,
) -> Floats:
    """The utility to a reader who is satisfied at some rank, and loses a share of it with every document read.

    The first document costs its share, too, so that a perfect ranking stays below 1. Undefined where no document is
    relevant.

    >>> import cranfield as cf
    >>> cf.parse("iRBU(p=0.5, max=1)")([1, 0, 1])
    0.28125
    """
    return if_any_relevant(b, cascade_score(b, stop_chance(b, b.gain, gain, max), k, powers(p)))


@measure(
    "niRBU",
    cite="sakai2020",
    formula="niRBU@k = iRBU@k / that of all judged documents in descending order of gain",
    gains="graded",
)
def normalised_intentwise_rank_biased_utility(
    b: Batch,
    *,
    k: Rank | None = None,
    p: Probability = 0.99,
    gain: Scheme = "linear",
    max: Positive | None = None,
) -> Floats:
    """How much of the best possible intentwise rank-biased utility the ranking reaches.

    Undefined where no document is relevant.

    >>> import cranfield as cf
    >>> cf.parse("niRBU(p=0.5, max=1)")([1, 0, 1])
    0.9
    """
    stop, ideal = (stop_chance(b, x, gain, max) for x in (b.gain, b.ideal))
    return ratio(cascade_score(b, stop, k, powers(p)), ideal_cascade(ideal, k, powers(p)))
