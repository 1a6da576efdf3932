"""User models: somebody reads down the list and stops; the score is the gain they met on the way.

Gains are scaled into [0, 1] by the top grade. Where weights over an endless list sum to 1, what is
neither judged nor retrieved leaves a residual: how much higher the score could be.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.errors import MeasureError
from cranfield.measures.cascade import survival
from cranfield.measures.catalogue import FIXED, TERMINAL, Positive, Probability, Range, Rank, measure
from cranfield.measures.ties.positions import mean_over_ranges
from cranfield.measures.ties.strategies import Kernel, OneOpenEnumerated, OverOrders
from cranfield.measures.weights import count, geometric, harmonic, hurwitz, inverse_square, inverse_squares_from
from cranfield.ranking.batch import CELLS, Batch, GainSums, Weights
from cranfield.ranking.row_math import running, summed
from cranfield.ranking.views import fill


def weighted(b: GainSums, cumulative: Weights, k: int | None) -> Floats:
    """The gain met, by weights that sum to 1 down an endless list."""
    below = (1 if k is None else cumulative(np.array(k))) - cumulative(b.length)
    return b.gained(cumulative, k) + b.tail * np.maximum(below, 0)


def unjudged_weight(b: Batch, cumulative: Weights, k: int | None) -> Floats:
    """The weight, out of 1, of everything but the judged documents of the first k."""
    return 1 - summed(b.judged * b.mean_over(cumulative, k))


def _if_filled(b: Batch, depth: int | None, score: Kernel, **parameters: Any) -> Floats:
    """How much a score would rise if every rank down to a depth that nobody judged held a perfect document."""
    if depth is None:
        raise MeasureError("a residual needs a list that ends", hint="give a horizon, as in INST(horizon=1000)")
    return score(fill(b, depth), **parameters) - score(b, **parameters)


@measure(
    "RBP",
    cite="moffat2008",
    formula="RBP@k = (1-p) Σ_{i≤k} g_i p^{i-1};  residual p^k where all k are judged",
    gains="scaled",
    residual=lambda b, *, k, p: unjudged_weight(b, geometric(p), k),
    terminal=TERMINAL,
    retrieved_only=True,
)
def rank_biased_precision(b: GainSums, *, k: Rank | None = None, p: Probability = 0.8) -> Floats:
    """The gain per document of a reader who goes on to the next one with probability p.

    >>> import cranfield as cf
    >>> round(cf.parse("RBP(p=0.5)")([1, 0, 1]), 6)
    0.625
    """
    return weighted(b, geometric(p), k)


@measure(
    "InvSq",
    cite="moffat2013",
    formula="InvSq@k = Σ_{i≤k} g_i / (i(i+1));  residual 1/(k+1) where all k are judged",
    gains="scaled",
    residual=lambda b, *, k: unjudged_weight(b, inverse_square, k),
    terminal=TERMINAL,
    retrieved_only=True,
)
def inverse_squares(b: GainSums, *, k: Rank | None = None) -> Floats:
    """The gain per document of a reader who grows more patient with every document read.

    >>> import cranfield as cf
    >>> round(cf.parse("InvSq")([1, 0, 1]), 6)
    0.583333
    """
    return weighted(b, inverse_square, k)


NEVER = np.iinfo(np.int64).max // 2  # a rank below every list
FAR = 1 << 24  # ranks above which running sums are kept
# With 1/4 or less, who has met nothing but relevant documents would go on with a chance of ((2T-1)/2T)² of 1 or more.
Target = Annotated[float, Range(0.25, 1e6, closed="(]")]


def zeta_weights(target: float, horizon: int | None) -> Weights:
    """Rank i is worth 1/(i+2T-1)², scaled so that ranks up to the horizon are worth 1 together."""
    shift, end = 2 * target, NEVER if horizon is None else horizon
    every = float(hurwitz(np.array(shift)))
    whole = every - (0 if horizon is None else float(hurwitz(np.array(shift + horizon))))
    squares = inverse_squares_from(shift)

    def total(n: Integers) -> Floats:
        n = np.minimum(n, end)
        far = n >= FAR
        near = squares(np.where(far, 0, n))
        return (np.where(far, every - hurwitz(shift + n.astype(np.float64)), near) if far.any() else near) / whole

    return Weights(total, lambda rank: np.where(rank <= end, 1 / (rank + shift - 1.0) ** 2, 0) / whole)


@measure(
    "INSQ",
    cite="moffat2012",
    formula="INSQ = Σ_i g_i w_i / Σ_i w_i,  w_i = 1/(i+2T-1)²,  i ≤ horizon",
    gains="scaled",
    residual=lambda b, *, T, horizon: unjudged_weight(b, zeta_weights(T, horizon), None),
    terminal=TERMINAL,
    retrieved_only=True,
)
def inverse_squares_target(
    b: GainSums,
    *,
    T: Positive = 1.0,
    horizon: Rank | None = 1000,
) -> Floats:
    """The gain per document of a reader who expects to need T relevant documents.

    Weights are normalised over ``horizon`` ranks, as in cwl_eval; ``horizon=None`` has no end.

    >>> import cranfield as cf
    >>> round(cf.parse("INSQ(T=1)")([1, 0, 1]), 6)
    0.485297
    """
    return weighted(b, zeta_weights(T, horizon), None)


@measure(
    "INST",
    cite="moffat2015",
    formula="INST = Σ_i g_i W_i / Σ_i W_i,  W_{i+1}/W_i = ((i+T+T_i-1)/(i+T+T_i))²,  T_i = T - Σ_{j≤i} g_j",
    gains="scaled",
    ties=OneOpenEnumerated(),
    residual=lambda b, *, T, horizon: _if_filled(b, horizon, information_satisfied, T=T, horizon=horizon),
    retrieved_only=True,
    rewards_promotion=False,
)
def information_satisfied(
    b: Batch,
    *,
    T: Target = 1.0,
    horizon: Rank | None = 1000,
) -> Floats:
    """The gain per document of a reader who wants T relevant documents and loses interest as they come in.

    Weights are normalised over ``horizon`` ranks, as in cwl_eval; ``horizon=None`` has no end.

    >>> import cranfield as cf
    >>> round(cf.parse("INST(T=1)")([1, 0, 1]), 6)
    0.723289
    """
    return gain_per_document(b, T, NEVER if horizon is None else horizon)


def gain_per_document(b: Batch, target: float, horizon: int) -> Floats:
    """The gain met by weight, over the weight of all ranks; of rankings with one open place at most."""
    shift = 2 * target
    counts = b.relevant & (b.start < horizon)
    open_ = np.nonzero(counts & (b.size > 1))
    gain = np.where(counts, b.gain, 0)
    met = running(gain)
    shifts = shift - met + gain
    x = np.where(counts, b.start + shifts, 1)
    stays = ((x - gain) / x) ** 2
    stays[open_] = 1  # an open document is passed over
    after = shift**2 * running(stays, np.multiply)
    before = np.concatenate([np.full((len(x), 1), shift**2), after[:, :-1]], axis=1)
    found = gain * np.where(counts, before / x**2, 0)
    turned = after * hurwitz(x + 1 - gain) - before * hurwitz(x + 1)
    whole = shift**2 * hurwitz(np.array(shift))
    left = after[:, -1] * hurwitz(shift - met[:, -1] + horizon)
    value = summed(found) / (whole + summed(turned) - left)
    query = open_[0]
    if not len(query):
        return value
    found[open_], turned[open_] = 0, 0
    found, turned = running(found), running(turned)
    above, read = found[open_], whole + turned[open_]
    below, rest = found[query, -1] - above, whole + turned[query, -1] - read - left[query]
    parts = above, read, below, rest, before[open_], shifts[open_], gain[open_]

    def score(which: Integers, times: Integers, place: Integers) -> Floats:
        # With the open document at a place, what is above it stays as it is, and all below shrinks alike.
        above, read, below, rest, reach, shift, gain = (np.repeat(part[which], times) for part in parts)
        x = place + shift
        stays = ((x - gain) / x) ** 2
        turned = stays * hurwitz(x + 1 - gain) - hurwitz(x + 1)
        return (above + reach * gain / x**2 + stays * below) / (read + reach * turned + stays * rest)

    first, size = b.start[open_], b.size[open_]
    inside = np.minimum(size, horizon - first)
    beyond = above / (read - before[open_] * hurwitz(shifts[open_] + horizon))
    value[query] = (inside * mean_over_ranges(first, inside, score, *parts) + (size - inside) * beyond) / size
    return value


ROUNDING = 1e-9  # by which a sum of gains that should reach T may fall short of it


@measure(
    "BPM",
    cite="zhang2017",
    formula="BPM@k = Σ_{i≤s} g_i / s,  s = the first rank where Σ g ≥ T, at most k",
    gains="scaled",
    ties=OverOrders(affects_score=lambda b, *, k, T: (b.start < k) & (b.above(b.gain) < T - ROUNDING)),
    residual=lambda b, *, k, T: _if_filled(b, k, bejeweled_player_model, k=k, T=T),
    terminal=FIXED,
    retrieved_only=True,
    rewards_promotion=False,
)
def bejeweled_player_model(
    b: Batch,
    *,
    k: Rank,
    T: Positive = 1.0,
) -> Floats:
    """The gain per document of a reader who stops once T gain is met or k documents are read.

    >>> import cranfield as cf
    >>> round(cf.parse("BPM(T=2)@10")([1, 0, 1]), 6)
    0.666667
    """
    met = running(b.gain)
    rank = np.where(b.relevant, b.start + 1, k)
    stop = np.minimum(np.where(b.relevant & (met >= T - ROUNDING), rank, k).min(axis=1), k)
    return summed(np.where(b.start < stop[:, None], b.gain, 0)) / stop


def nearly_err(b: Batch, weights: Weights, end: int | None) -> Floats:
    """Gain per document of a reader who stops at each with its gain as the chance, else goes on as weights say.

    ``weights`` are those that ranks have where nothing was found; below ``end`` they are 0.
    """
    last = NEVER if end is None else end
    counts = b.relevant & (b.start < last)
    gain = np.where(counts, b.gain, 0)
    left = running(np.pad(1 - gain, ((0, 0), (1, 0)), constant_values=1), np.multiply)
    rank = running(np.pad(np.where(counts, b.start + 1, 0), ((0, 0), (1, 0))), np.maximum)
    # Up to each document, and after the last one, all ranks share what the documents above have left.
    until = weights(rank)
    whole = summed(left[:, :-1] * np.diff(until, axis=1)) + left[:, -1] * (weights(np.array(last)) - until[:, -1])
    own = weights.at(np.maximum(rank[:, 1:], 1))
    return summed(gain * left[:, :-1] * own) / whole


def may_be_read(b: Batch, end: int | None) -> Floats:
    """The documents that are not surely below the end, or below one at which every reader stops."""
    return (b.start < (np.inf if end is None else end)) & (b.above(b.gain >= 1) == 0)


NEARLY = "NERR = Σ_i g_i W_i / Σ_i W_i,  W_{i+1}/W_i = (1 - g_i)"


@measure(
    "NERR8",
    cite="azzopardi2021",
    formula=f"{NEARLY},  i ≤ k",
    gains="scaled",
    ties=OverOrders(affects_score=lambda b, *, k: may_be_read(b, k)),
    retrieved_only=True,
    rewards_promotion=False,
    terminal=FIXED,
)
def nearly_err_at(b: Batch, *, k: Rank) -> Floats:
    """The gain per document of a reader who stops at each with its gain as the chance, at rank k at the latest.

    >>> import cranfield as cf
    >>> round(cf.parse("NERR8(max=2)@3")([1, 0, 1]), 6)
    0.375
    """
    return nearly_err(b, count, k)


@measure(
    "NERR9",
    cite="azzopardi2021",
    formula=f"{NEARLY} i/(i+1),  i ≤ k",
    gains="scaled",
    ties=OverOrders(affects_score=lambda b, *, k: may_be_read(b, k)),
    retrieved_only=True,
    rewards_promotion=False,
    terminal=FIXED,
)
def nearly_err_discounted(b: Batch, *, k: Rank) -> Floats:
    """The gain per document of a reader who stops at each with its gain as the chance, and tires rank by rank.

    >>> import cranfield as cf
    >>> round(cf.parse("NERR9(max=2)@3")([1, 0, 1]), 6)
    0.411765
    """
    return nearly_err(b, harmonic, k)


@measure(
    "NERR10",
    cite="azzopardi2021",
    formula=f"{NEARLY} p,  i ≤ horizon",
    gains="scaled",
    ties=OverOrders(affects_score=lambda b, *, p, horizon: may_be_read(b, horizon)),
    retrieved_only=True,
    rewards_promotion=False,
)
def nearly_err_persistent(b: Batch, *, p: Probability = 0.9, horizon: Rank | None = 1000) -> Floats:
    """The gain per document of a reader who stops by its gain, and otherwise goes on with probability p.

    >>> import cranfield as cf
    >>> round(cf.parse("NERR10(max=2)")([1, 0, 1]), 6)
    0.191027
    """
    return nearly_err(b, geometric(p), horizon)


@measure(
    "NERR11",
    cite="azzopardi2021",
    formula=f"{NEARLY} ((i+2T-1)/(i+2T))²,  i ≤ horizon",
    gains="scaled",
    ties=OverOrders(affects_score=lambda b, *, T, horizon: may_be_read(b, horizon)),
    retrieved_only=True,
    rewards_promotion=False,
)
def nearly_err_target(b: Batch, *, T: Positive = 1.0, horizon: Rank | None = 1000) -> Floats:
    """The gain per document of a reader who stops by its gain, and expects to need T relevant documents.

    >>> import cranfield as cf
    >>> round(cf.parse("NERR11(max=2)")([1, 0, 1]), 6)
    0.358841
    """
    return nearly_err(b, zeta_weights(T, horizon), horizon)


@measure(
    "ERR",
    cite="chapelle2009",
    formula="ERR@k = Σ_{i≤k} (1/i) p_i Π_{j<i} (1-p_j),  p = (2^grade - 1) / 2^max;  gain='linear': grade / (max + 1)",
    gains="grades",
    retrieved_only=True,
)
def expected_reciprocal_rank(
    b: Batch, *, k: Rank | None = None, gain: Literal["exp", "linear"] = "exp", max: Positive | None = None
) -> Floats:
    """One over the rank at which a reader is satisfied, the better documents satisfying more readers.

    ``gain='exp'`` is as published; NTCIREVAL has ``gain='linear'``, unless it is told other gains.

    >>> import cranfield as cf
    >>> cf.parse("ERR(max=1)@5")([1, 1, 0, 0, 0])
    0.625
    >>> cf.parse("ERR(gain='linear', max=3)@5")([0, 2, 0])
    0.25
    """
    top = b.top if max is None else max
    if gain == "linear":
        return cascade_score(b, np.minimum(b.gain / (top + 1), 1), k)
    return cascade_score(b, np.minimum(np.exp2(b.gain - top) - np.exp2(-top), 1), k)


def reach_probability(b: Batch, stop: Floats) -> Floats:
    """The chance that a reader, who stops at each document with its own chance, gets as far as each tie."""
    left = running(1 - stop, np.multiply)
    left = np.concatenate([np.ones_like(left[:, :1]), left[:, :-1]], axis=1)
    return np.take_along_axis(left, np.arange(left.shape[1]) - b.order, axis=1)


def cascade_score(b: Batch, stop: Floats, k: int | None, weights: Weights = harmonic) -> Floats:
    """The expected weight, 1/rank by default, of the rank at which a reader stops; 0 below the first k."""
    reach = reach_probability(b, stop)
    m = b.seen(k)
    # Alone in its tie a document may be anywhere in it, each rank as likely.
    several = b.within(stop > 0) > 1
    value = summed(np.where(several, 0, reach * stop * b.mean_over(weights, k)))
    row, column = np.nonzero((b.order == 0) & several & (m > 0))
    for part in np.array_split(np.arange(len(row)), 1 + int(m.max(initial=0)) * len(row) // CELLS):
        q, j = row[part], column[part]
        value += np.bincount(q, reach[q, j] * _satisfied(b, stop, q, j, m[q, j], weights), minlength=len(value))
    return value


def ideal_cascade(stop: Floats, k: int | None, weights: Weights = harmonic) -> Floats:
    """The same for rows of chances in rank order, those of an ideal ranking."""
    stop = stop[:, :k]
    left = running(1 - stop, np.multiply)
    left = np.concatenate([np.ones_like(left[:, :1]), left[:, :-1]], axis=1)
    return summed(left * stop * weights.at(np.arange(stop.shape[1]) + 1))


def _satisfied(b: Batch, stop: Floats, q: Integers, j: Integers, m: Integers, weights: Weights) -> Floats:
    """Σ_x (S_{x-1} - S_x) w(t+x) over the first m slots of ties, S_x the chance to be unsatisfied after x."""
    if not len(q):
        return np.zeros(0)
    same = (b.start[q] == b.start[q, j][:, None]) & ~np.isnan(b.grade[q])
    keep = -np.sort(-np.where(same, 1 - stop[q], 1), axis=1)
    s = survival(b.size[q, j], keep, int(m.max()))
    x = np.arange(1, s.shape[1])
    stops, rank = s[:, :-1] - s[:, 1:], b.start[q, j][:, None] + x
    # A quotient is rounded once, a product with a weight that was rounded already twice.
    worth = stops / rank if weights is harmonic else stops * weights.at(rank)
    return summed(np.where(x <= m[:, None], worth, 0))
