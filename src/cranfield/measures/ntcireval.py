"""Further measures of NTCIREVAL: blended ratios, user populations and normalised cascades.

BR(i) = (β cg(i) + c(i)) / (β cg_ideal(i) + i) is the blended ratio at rank i: c(i) is the number of relevant documents
in the first i ranks, and cg(i) is the sum of their gains. In the cascades a reader stops at a document with
probability q = gain / (top gain + 1), and s_i = q_i Π_{j<i} (1-q_j) is the probability of stopping at rank i. All
measures are undefined if no document is relevant.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np

from cranfield.data import Booleans, Floats, Integers
from cranfield.measures.average_precision import NotNegative, blended_ratios, blended_weights
from cranfield.measures.catalogue import Positive, Rank, UpToOne, measure
from cranfield.measures.ties.expectation import mean_for_nth
from cranfield.measures.ties.strategies import OverCuts
from cranfield.measures.user_model import cascade_score, ideal_cascade, reach_probability
from cranfield.measures.weights import count, geometric, harmonic, powers
from cranfield.ranking.batch import CELLS, Batch, GainSums, after_first, ratio, running, summed
from cranfield.settings import Chance

blended = partial(measure, gains="graded", rewards_promotion=False)
cascade = partial(measure, gains="graded", probabilities=True)
Scheme = Literal["linear", "exp"]
RankWeight = Callable[[Integers, Integers], Floats]  # takes rows of a batch and a rank for each of them


def if_any_relevant(b: Batch, value: Floats) -> Floats:
    """The value; undefined if no document is relevant."""
    return np.where(b.R > 0, value, np.nan)


def blended_divisor(b: Batch, beta: float) -> RankWeight:
    """1 / (β cg_ideal(i) + i), the inverse of the divisor of the blended ratio."""
    gains = np.cumsum(b.ideal, axis=1)
    last = gains.shape[1]
    return lambda row, rank: 1 / (beta * gains[row, np.minimum(rank, last) - 1] + rank)


def order_among_relevant(b: Batch) -> Floats:
    """For each relevant document, the number of relevant documents of its tie in earlier columns."""
    return running(b.relevant) - 1 - b.above(b.relevant)


def mean_weights(b: Batch, chosen: Booleans, weight: RankWeight, k: int | None) -> Floats:
    """The mean weight of the rank of the nth relevant document of a tie, for each chosen document; 0 below rank k.

    A document is the nth relevant one of its tie in the order of columns. The rank of the nth relevant document is
    independent of which document it is, so that sums over relevant documents in rank order are computed term by term.
    """
    means = np.zeros(b.start.shape)
    row, column = np.nonzero(chosen)
    start, size = b.start[row, column], b.size[row, column]
    end = b.length if k is None else np.minimum(b.length, k)

    def score(which: Integers, position: Integers) -> Floats:
        rank = start[which] + position + 1
        return np.where(rank <= end[row[which]], weight(row[which], rank), 0)

    tied = size > 1
    untied, in_tie = np.flatnonzero(~tied), np.flatnonzero(tied)
    means[row[untied], column[untied]] = score(untied, np.zeros_like(untied))
    if len(in_tie):
        r, c = row[in_tie], column[in_tie]
        relevant_in_tie = b.within(b.relevant)[r, c].astype(np.int64)
        nth = order_among_relevant(b)[r, c].astype(np.int64)
        means[r, c] = mean_for_nth(
            size[in_tie], relevant_in_tie, nth, lambda which, position: score(in_tie[which], position)
        )
    return means


@blended(
    "O",
    cite="sakai2007a",
    formula="O@k = BR(r),  r ≤ k the first rank with a relevant document;  0 if there is no such rank",
)
def o_measure(b: Batch, *, k: Rank | None = None, beta: NotNegative = 1.0) -> Floats:
    """The blended ratio of precision and gain at the first relevant document.

    Undefined if no document is relevant. ``beta=0`` is the reciprocal rank.

    >>> round(cf.parse("O")([0, 1, 2], missed=[1]), 6)
    0.4
    """
    first = b.relevant & (running(b.relevant) == 1)
    # Each relevant document of the tie is the first with the same probability.
    gain = b.within(b.gain) / np.maximum(b.within(b.relevant), 1)
    at = (beta * gain + 1) * mean_weights(b, first, blended_divisor(b, beta), k)
    return if_any_relevant(b, summed(np.where(first, at, 0)))


@blended(
    "Pmeasure",
    cite="sakai2006 sakai2007a",
    formula="P-measure@k = BR(r),  r the first rank that has the highest gain of all ranks ≤ k;  0 if that gain is 0",
    ties=OverCuts(rewards_promotion=False),
)
def p_measure(b: Batch, *, k: Rank | None = None, beta: NotNegative = 1.0) -> Floats:
    """The blended ratio at the preferred rank: the first rank with the highest gain in the ranking.

    The highest gain is that of the ranking, not of the judgments. Undefined if no document is relevant.

    >>> round(cf.parse("Pmeasure")([1, 0, 2]), 6)
    0.833333
    """
    return if_any_relevant(b, _at_preferred_rank(b, beta, k)[0])


@blended(
    "Pplus",
    cite="sakai2007a",
    formula="P+@k = Σ_{i≤r} b_i BR(i) / c(r),  r the first rank that has the highest gain of all ranks ≤ k",
    ties=OverCuts(rewards_promotion=False),
)
def p_plus(b: Batch, *, k: Rank | None = None, beta: NotNegative = 1.0) -> Floats:
    """The mean blended ratio at the relevant documents down to the first one with the highest gain.

    The highest gain is that of the ranking, not of the judgments. Undefined if no document is relevant.

    >>> round(cf.parse("Pplus")([1, 0, 2]), 6)
    0.75
    """
    return if_any_relevant(b, _at_preferred_rank(b, beta, k)[1])


def _at_preferred_rank(b: Batch, beta: float, k: int | None) -> tuple[Floats, Floats]:
    """Expected P-measure and P+; no tie crosses rank k.

    In the tie with the preferred rank let r documents be relevant: h with the highest gain, and s others. The first u
    relevant documents are all among the others, and the next one is not, with probability ψ(u) = C(s,u)/C(r,u) h/(r-u),
    independently of the ranks of the relevant documents.
    """
    relevant_in_top = b.relevant & (b.seen(k) > 0)
    gain = np.where(relevant_in_top, b.gain, 0)
    highest = gain.max(axis=1, initial=0)[:, None]
    best = relevant_in_top & (gain == highest)
    row = np.arange(len(gain))
    column = best.argmax(axis=1)
    start = b.start[row, column][:, None]
    tie = relevant_in_top & (b.start == start) & (highest > 0)
    above, relevant_above = (b.above(x)[row, column][:, None] for x in (gain, relevant_in_top))
    relevant, preferred = (x.sum(axis=1)[:, None] for x in (tie, tie & best))
    mean_other_gain = summed(np.where(tie & ~best, gain, 0))[:, None] / np.maximum(relevant - preferred, 1)
    u = np.where(tie, order_among_relevant(b), 0)
    remaining = np.maximum(relevant - u, 1)
    misses = running(np.where(tie, np.maximum(relevant - preferred - u, 0) / remaining, 1), np.multiply)
    probability = after_first(misses, 1.0) * preferred / remaining
    possible = tie & (u <= relevant - preferred)
    weight = mean_weights(b, possible, blended_divisor(b, beta), k)
    at = np.where(
        possible, probability * weight * (beta * (above + u * mean_other_gain + highest) + relevant_above + u + 1), 0
    )
    # Above the preferred rank are the documents of higher ties and the others of this tie.
    ratios = np.where(relevant_in_top & (b.start < start), blended_ratios(b, beta, k), 0)
    others = np.where(possible, weight * (beta * (above + (u + 1) * mean_other_gain) + relevant_above + u + 1), 0)
    before = summed(ratios)[:, None] + running(others) - others
    mean = np.where(possible, (probability * before + at) / (relevant_above + u + 1), 0)
    return summed(at), summed(mean)


@blended(
    "NCU",
    cite="sakai2008 sakai2020",
    formula="NCU@k = Σ_{i≤k} b_i π(i) U(i);  stop='gu': π(i) = gain_i / all gain;  "
    "stop='rb': π(i) = γ^{c(i)-1} / Σ_{i≤min(k,R)} γ^{i-1}  (norm='min': / min(k, R));  "
    "utility='P': U(i) = c(i)/i;  'BR': BR(i);  'IE': p^i",
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
    p: Chance = 0.99,
    beta: NotNegative = 1.0,
    norm: Literal["stop", "min"] = "stop",
) -> Floats:
    """The mean utility of the ranking for readers who stop at one of the relevant documents.

    ``stop`` says where readers stop: with ``'gu'``, in proportion to the gain of the documents; with ``'rb'``, by rank,
    and a share ``gamma`` continues after each relevant document. ``utility`` is the value of the documents read:
    precision (``'P'``), the blended ratio (``'BR'``), or ``p`` to the power of the rank (``'IE'``). With a cutoff,
    NTCIREVAL divides by min(k, R) (``norm='min'``), so that a perfect ranking scores below 1. Undefined if no document
    is relevant.

    >>> round(cf.parse("NCU(stop='gu', utility='BR')")([1, 0, 2]), 6)
    0.777778
    >>> round(cf.parse("NCU(stop='rb', utility='P', gamma=0.5)")([1, 0, 2]), 6)
    0.888889
    """
    if stop == "gu":
        blend = beta if utility == "BR" else 0.0
        value = b.mean_over(powers(p), k) if utility == "IE" else blended_ratios(b, blend, k)
        return ratio(summed(np.where(b.relevant, b.gain * value, 0)), b.mass)
    above = b.above(b.relevant)
    before = np.where(b.relevant, above + order_among_relevant(b), 0)
    weight: RankWeight = {
        "P": lambda row, rank: 1 / rank,
        "BR": blended_divisor(b, beta),
        "IE": lambda row, rank: np.power(p, rank.astype(np.float64)),
    }[utility]
    numerator = np.ones_like(before) if utility == "IE" else before + 1
    if utility == "BR":
        # Each relevant document of a tie is the nth of them with the same probability.
        gain = b.within(b.gain) / np.maximum(b.within(b.relevant), 1)
        numerator += beta * (b.above(b.gain) + (before + 1 - above) * gain)
    value = np.power(gamma, before) * numerator * mean_weights(b, b.relevant, weight, k)
    perfect_length = b.R if k is None else np.minimum(b.R, k)
    divisor = perfect_length if norm == "min" or gamma == 1 else (1 - np.power(gamma, perfect_length)) / (1 - gamma)
    return ratio(summed(np.where(b.relevant, value, 0)), divisor)


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
    """Average precision for readers who differ in the lowest grade that they call relevant.

    ``weights='even'`` has equally many readers at every grade; NTCIREVAL uses ``'rising'``, in which their number is
    proportional to the grade. With grades 0 and 1 both are average precision. Undefined if no document is relevant.

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
        same_grade = b.gain == grade
        above[same_grade], others[same_grade] = (
            (b.above(capped) + capped)[same_grade],
            (b.within(capped) - capped)[same_grade],
        )
    own, later = b.span_sums(harmonic, k)
    at = (above * own + others / np.maximum(b.size - 1, 1) * later) / b.size
    return ratio(summed(np.where(b.relevant, at, 0)), summed(height(b.ideal[:, :k])))


def stop_probability(b: Batch, gain: Floats, scheme: Scheme, top: float | None) -> Floats:
    """The stopping probability at documents with these gains: gain / (top gain + 1)."""
    share = 1 / (b.top + 1) if top is None else np.exp2(-top) if scheme == "exp" else 1 / (top + 1)
    return gain * share


@cascade(
    "nERR",
    cite="chapelle2009",
    formula="nERR@k = Σ_{i≤k} s_i / i / the same sum for all judged documents in descending order of gain",
)
def normalised_expected_reciprocal_rank(
    b: Batch, *, k: Rank | None = None, gain: Scheme = "linear", max: Positive | None = None
) -> Floats:
    """Expected reciprocal rank divided by that of the ideal ranking.

    Readers stop with probability gain / (top gain + 1); with ``gain='exp'`` it is that of ERR as published. Undefined
    if no document is relevant.

    >>> round(cf.parse("nERR(max=3)@2")([0, 3], missed=[3]), 6)
    0.444444
    """
    stop = stop_probability(b, b.gain, gain, max)
    return ratio(cascade_score(b, stop, k), ideal_cascade(stop_probability(b, b.ideal, gain, max), k))


@measure(
    "nRBP",
    cite="moffat2008",
    formula="nRBP@k = Σ_{i≤k} g_i p^{i-1} / the same sum for all judged documents in descending order of gain",
    gains="graded",
)
def normalised_rank_biased_precision(b: GainSums, *, k: Rank | None = None, p: Chance = 0.95) -> Floats:
    """Rank-biased precision divided by that of the ideal ranking.

    Undefined if no document is relevant.

    >>> round(cf.parse("nRBP(p=0.5)@2")([0, 2], missed=[1]), 6)
    0.4
    """
    return ratio(b.gained(geometric(p), k), b.ideal_gained(geometric(p), k))


@blended("EBR", cite="sakai2019", formula="EBR@k = Σ_{i≤k} s_i BR(i)", probabilities=True)
def expected_blended_ratio(
    b: Batch, *, k: Rank | None = None, beta: NotNegative = 1.0, gain: Scheme = "linear", max: Positive | None = None
) -> Floats:
    """The expected blended ratio at the rank where a reader is satisfied; 0 for readers who never are.

    Undefined if no document is relevant.

    >>> round(cf.parse("EBR(max=1)")([1, 0, 1]), 6)
    0.7
    """
    return if_any_relevant(b, _blended_ratio_at_stop(b, stop_probability(b, b.gain, gain, max), beta, k))


@blended(
    "nEBR",
    cite="sakai2019",
    formula="nEBR@k = EBR@k / EBR@k of all judged documents in descending order of gain",
    probabilities=True,
)
def normalised_expected_blended_ratio(
    b: Batch, *, k: Rank | None = None, beta: NotNegative = 1.0, gain: Scheme = "linear", max: Positive | None = None
) -> Floats:
    """Expected blended ratio divided by that of the ideal ranking.

    Undefined if no document is relevant.

    >>> round(cf.parse("nEBR(max=1)@3")([1, 0, 1]), 6)
    0.933333
    """
    stop = stop_probability(b, b.gain, gain, max)
    # The blended ratio of an ideal ranking is 1 at each of its documents.
    return ratio(
        _blended_ratio_at_stop(b, stop, beta, k), ideal_cascade(stop_probability(b, b.ideal, gain, max), k, count)
    )


def _survival_with_gain(n: Integers, keep: Floats, extra: Floats, depth: int) -> tuple[Floats, Floats, Floats]:
    """`survival`, and two more means over the sets and orders of the documents of a tie.

    Let S_x be the product of the factors of x documents. A_x is the mean of S_x times the sum of the ``extra`` of
    these documents; H_x is the mean of S_(x-1) times the ``extra`` of the x-th document. ``extra`` is 0 where ``keep``
    is filled with 1s.
    """
    n = n[:, None]
    x = np.arange(depth + 1)
    alone = np.ones((len(n), depth + 1))
    above, last = np.zeros((2, *alone.shape))
    added = np.flatnonzero((keep.min(axis=0, initial=1) < 1) | (extra.max(axis=0, initial=0) > 0))
    for i, column in enumerate(added):
        documents = np.maximum(n - len(added) + i + 1, 1)
        share, before = np.minimum(x / documents, 1), np.clip((x - 1) / documents, 0, 1)
        factor, own = keep[:, column, None], extra[:, column, None]
        shifted = alone[:, :-1]
        last[:, 1:] = ((1 - share) * last)[:, 1:] + before[:, 1:] * factor * last[:, :-1] + own * shifted / documents
        above[:, 1:] = ((1 - share) * above)[:, 1:] + share[:, 1:] * factor * (above[:, :-1] + own * shifted)
        alone[:, 1:] = ((1 - share) * alone)[:, 1:] + share[:, 1:] * factor * shifted
    return alone, above, last


def _blended_ratio_at_stop(b: Batch, stop: Floats, beta: float, k: int | None) -> Floats:
    """The expected blended ratio at the rank where a reader stops."""
    extra = beta * b.gain + b.relevant
    p_reach, above, m = reach_probability(b, stop), b.above(extra), b.seen(k)
    in_tie = b.within(b.relevant) > 1
    mean_weight = blended_weights(b, beta, k)[0] / b.size  # for ties with a single relevant document
    value = summed(np.where(b.relevant & ~in_tie, p_reach * stop * (above + extra) * mean_weight, 0))
    row, column = np.nonzero((b.order == 0) & in_tie & (m > 0))
    divisor = blended_divisor(b, beta)
    for part in np.array_split(np.arange(len(row)), 1 + int(m.max(initial=0)) * len(row) // CELLS):
        if not len(part):
            continue
        q, j = row[part], column[part]
        same_tie = (b.start[q] == b.start[q, j][:, None]) & b.relevant[q]
        order = np.argsort(np.where(same_tie, b.gain[q], 0), axis=1, kind="stable")
        keep = np.take_along_axis(np.where(same_tie, 1 - stop[q], 1), order, axis=1)
        own = np.take_along_axis(np.where(same_tie, extra[q], 0), order, axis=1)
        left, gained, last = _survival_with_gain(b.size[q, j], keep, own, int(m[q, j].max()))
        x = np.arange(1, left.shape[1])
        # A reader who stops at position x did not stop at the first x-1 documents.
        at = above[q, j][:, None] * (left[:, :-1] - left[:, 1:]) + gained[:, :-1] + last[:, 1:] - gained[:, 1:]
        ratios = at * divisor(q[:, None], b.start[q, j][:, None] + x)
        value += np.bincount(q, p_reach[q, j] * summed(np.where(x <= m[q, j][:, None], ratios, 0)), len(value))
    return value


@cascade("iRBU", cite="sakai2019 amigo2018", formula="iRBU@k = Σ_{i≤k} s_i p^i")
def intentwise_rank_biased_utility(
    b: Batch, *, k: Rank | None = None, p: Chance = 0.99, gain: Scheme = "linear", max: Positive | None = None
) -> Floats:
    """The expected utility for a reader who loses a share of it with each document read until satisfied.

    The first document read also costs utility, so that a perfect ranking scores below 1. Undefined if no document is
    relevant.

    >>> cf.parse("iRBU(p=0.5, max=1)")([1, 0, 1])
    0.28125
    """
    return if_any_relevant(b, cascade_score(b, stop_probability(b, b.gain, gain, max), k, powers(p)))


@cascade(
    "niRBU", cite="sakai2020", formula="niRBU@k = iRBU@k / iRBU@k of all judged documents in descending order of gain"
)
def normalised_intentwise_rank_biased_utility(
    b: Batch, *, k: Rank | None = None, p: Chance = 0.99, gain: Scheme = "linear", max: Positive | None = None
) -> Floats:
    """Intentwise rank-biased utility divided by that of the ideal ranking.

    Undefined if no document is relevant.

    >>> cf.parse("niRBU(p=0.5, max=1)")([1, 0, 1])
    0.9
    """
    stop, ideal = (stop_probability(b, x, gain, max) for x in (b.gain, b.ideal))
    return ratio(cascade_score(b, stop, k, powers(p)), ideal_cascade(ideal, k, powers(p)))
