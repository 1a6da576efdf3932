"""User models: a reader goes down the ranking and stops; the score is the expected gain on the way.

Gains are scaled into [0, 1] by the top grade. If the weights of all ranks sum to 1, unjudged documents and ranks below
the end of the ranking leave a residual: the amount by which the score could be higher.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np

from cranfield.data import Booleans, Floats, Integers
from cranfield.errors import MeasureError
from cranfield.measures.catalogue import FIXED, TERMINAL, Positive, Rank, measure
from cranfield.measures.ties.expectation import group_equal_rows, mean_over_ranges
from cranfield.measures.ties.strategies import Kernel, OneOpenEnumerated, OverOrders
from cranfield.measures.weights import (
    beta_geometric,
    count,
    geometric,
    harmonic,
    hurwitz,
    inverse_square,
    inverse_squares_from,
)
from cranfield.ranking.batch import CELLS, Batch, GainSums, Weights, after_first, running, summed
from cranfield.settings import Chance, Limits

RankScores = Callable[[Floats, Floats], Floats]  # of gains and costs, both (query, rank)


def weighted(b: GainSums, cumulative: Weights, k: int | None) -> Floats:
    """The weighted gain, with weights that sum to 1 over an infinite ranking."""
    below = (1 if k is None else cumulative(np.array(k))) - cumulative(b.length)
    return b.gained(cumulative, k) + b.tail * np.maximum(below, 0)


def unjudged_weight(b: Batch, cumulative: Weights, k: int | None) -> Floats:
    """The total weight of everything but the judged documents of the first k, with full gain; weights sum to 1."""
    return (1 - b.judged_weight(cumulative, k)) * b.full_gain


def filled(b: Batch, horizon: int, cost: float) -> Batch:
    """The rankings in which every rank down to the horizon without a judged document has full gain.

    An unjudged document without a cost, and a rank below the end, has the smallest cost of its ranking, or ``cost`` if
    that is less.
    """
    shape = len(b.length), horizon
    gain, smallest = np.full(shape, b.full_gain), np.full(len(b.length), cost)
    row, column = np.nonzero(~np.isnan(b.grade) & (b.start < horizon))
    rank, judged = b.start[row, column], b.judged[row, column]
    gain[row[judged], rank[judged]] = b.gain[row, column][judged]
    costs = None
    if b.costs is not None:
        given = b.costs[b.document[row, column]]
        np.fmin.at(smallest, row, given)
        table = np.repeat(smallest[:, None], horizon, axis=1)
        table[row, rank] = np.where(np.isnan(given), np.where(judged, cost, smallest[row]), given)
        costs = table.ravel()
    cells = np.arange(gain.size).reshape(shape)
    return b.changed(
        grade=gain,
        gain=gain,
        start=np.broadcast_to(np.arange(horizon), shape),
        size=np.broadcast_to(np.int64(1), shape),
        nil=np.zeros(shape, bool),
        document=cells,
        costs=costs,
        length=np.full_like(b.length, horizon),
    )


def increase_if_filled(kernel: Kernel, b: Batch, **arguments: Any) -> Floats:
    """The residual: the increase of a score if all ranks without a judged document had full gain and low costs.

    The last rank is the parameter ``horizon``, or the cutoff of a measure without it.
    """
    horizon = arguments.get("horizon", arguments.get("k"))
    if horizon is None:
        raise MeasureError("a residual needs a finite horizon", hint="for example INST(horizon=1000)")
    parts, cost = [b.rows(part) for part in chunks(len(b.length), horizon)], arguments.get("cost", 1.0)
    return np.concatenate(
        [kernel(filled(part, horizon, cost), **arguments) - kernel(part, **arguments) for part in parts]
    )


MIN_RANKS = 8  # ranks for each document of a ranking; with fewer, comparing rankings takes as long as scoring them


def chunks(queries: int, ranks: int) -> list[Integers]:
    """Queries in parts with a limited number of ranks; one part if there are no queries."""
    return np.array_split(np.arange(queries), max(1, -(-queries // max(1, CELLS // ranks))))


def by_rank(b: Batch, horizon: int, cost: float, score: RankScores) -> Floats:
    """Scores from the gain and the cost of every rank down to the horizon, for rankings without ties.

    Without costs of documents, rankings with the same gains are scored once, and there is one row of costs for all.
    """
    counts = ~np.isnan(b.grade) & (b.start < horizon)
    if b.costs is not None or len(counts) < 2 or MIN_RANKS * counts.shape[1] > horizon:
        return _by_rank(b, counts, horizon, cost, score)
    counts &= b.gain != 0
    number, example = group_equal_rows(np.where(counts, b.start, horizon), np.where(counts, b.gain, 0))
    return _by_rank(b.rows(example), counts[example], horizon, cost, score)[number]


def _by_rank(b: Batch, counts: Booleans, horizon: int, cost: float, score: RankScores) -> Floats:
    """`by_rank` of all rankings; ``counts``: which documents are above the horizon."""
    queries = len(b.length)
    if len(parts := chunks(queries, horizon)) > 1:
        scores = [_by_rank(b.rows(part), counts[part], horizon, cost, score) for part in parts]
        return np.concatenate(scores)
    gains, costs = np.zeros((queries, horizon)), np.full((1, horizon), cost)
    row, column = np.nonzero(counts)
    rank = b.start[row, column]
    gains[row, rank] = b.gain[row, column]
    if b.costs is not None:
        given = b.costs[b.document[row, column]]
        costs = np.repeat(costs, queries, axis=0)
        costs[row, rank] = np.where(np.isnan(given), cost, given)
    with np.errstate(over="ignore"):  # a chance that is 0 or 1 is one over infinity, or one less that
        return score(gains, costs)


def filled_measure(symbol: str, **facts: Any) -> Callable[[Kernel], Kernel]:
    """Add a function to the catalogue, with `increase_if_filled` as its residual."""

    def add(kernel: Kernel) -> Kernel:
        facts.setdefault("residual", partial(increase_if_filled, kernel))
        facts.update(gains="scaled", retrieved_only=True, rewards_promotion=False)
        return measure(symbol, **facts)(kernel)

    return add


user_model = partial(measure, gains="scaled", terminal=TERMINAL, linear=True)


@user_model(
    "RBP",
    cite="moffat2008",
    formula="RBP@k = (1-p) Σ_{i≤k} g_i p^{i-1};  residual p^k where all k are judged",
    residual=lambda b, *, k, p: unjudged_weight(b, geometric(p), k),
)
def rank_biased_precision(b: GainSums, *, k: Rank | None = None, p: Chance = 0.8) -> Floats:
    """The expected gain per document for a reader who continues with probability p.

    >>> round(cf.parse("RBP(p=0.5)")([1, 0, 1]), 6)
    0.625
    """
    return weighted(b, geometric(p), k)


@user_model(
    "RBPbeta",
    cite="carterette2011 moffat2008",
    formula="RBPbeta@k = Σ_{i≤k} g_i E[(1-p) p^{i-1}],  p ~ Beta(a, b);  E[p^n] = B(a+n, b) / B(a, b)",
    residual=lambda x, *, k, a, b: unjudged_weight(x, beta_geometric(a, b), k),
)
def rank_biased_precision_of_a_population(
    x: GainSums, *, k: Rank | None = None, a: Positive = 8.0, b: Positive = 2.0
) -> Floats:
    """The mean of RBP over readers whose persistence p has a beta distribution.

    The mean of p is a/(a+b). With a = b = 1, every p is equally likely, and the score is that of `InvSq`.

    >>> round(cf.parse("RBPbeta(a=1, b=1)")([1, 0, 1]), 6), round(cf.parse("InvSq")([1, 0, 1]), 6)
    (0.583333, 0.583333)
    """
    return weighted(x, beta_geometric(a, b), k)


@user_model(
    "InvSq",
    cite="moffat2013",
    formula="InvSq@k = Σ_{i≤k} g_i / (i(i+1));  residual 1/(k+1) where all k are judged",
    residual=lambda b, *, k: unjudged_weight(b, inverse_square, k),
)
def inverse_squares(b: GainSums, *, k: Rank | None = None) -> Floats:
    """The expected gain per document for a reader whose patience grows with each document read.

    >>> round(cf.parse("InvSq")([1, 0, 1]), 6)
    0.583333
    """
    return weighted(b, inverse_square, k)


NEVER = np.iinfo(np.int64).max // 2  # a rank below the end of every ranking
FAR = 1 << 24  # the number of ranks for which running sums are tabulated
# With T ≤ 1/4, the continuation probability ((2T-1)/2T)² after a relevant first document would be 1 or more.
Target = Annotated[float, Limits(0.25, 1e6, ends="(]")]


def zeta_weights(target: float, horizon: int | None) -> Weights:
    """Rank i has weight 1/(i+2T-1)², scaled so that the weights of all ranks up to the horizon sum to 1."""
    shift, end = 2 * target, NEVER if horizon is None else horizon
    endless = float(hurwitz(np.array(shift)))
    total_weight = endless - (0 if horizon is None else float(hurwitz(np.array(shift + horizon))))
    squares = inverse_squares_from(shift)

    def total(n: Integers) -> Floats:
        n = np.minimum(n, end)
        beyond_table = n >= FAR
        within_table = squares(np.where(beyond_table, 0, n))
        return (
            np.where(beyond_table, endless - hurwitz(shift + n.astype(np.float64)), within_table)
            if beyond_table.any()
            else within_table
        ) / total_weight

    return Weights(total, lambda rank: np.where(rank <= end, 1 / (rank + shift - 1.0) ** 2, 0) / total_weight)


@user_model(
    "INSQ",
    cite="moffat2012",
    formula="INSQ = Σ_i g_i w_i / Σ_i w_i,  w_i = 1/(i+2T-1)²,  i ≤ horizon",
    residual=lambda b, *, T, horizon: unjudged_weight(b, zeta_weights(T, horizon), None),
)
def inverse_squares_target(b: GainSums, *, T: Positive = 1.0, horizon: Rank | None = 1000) -> Floats:
    """The expected gain per document for a reader who expects to need T relevant documents.

    Weights are normalised over ``horizon`` ranks, as in cwl_eval; with ``horizon=None``, over an infinite ranking.

    >>> round(cf.parse("INSQ(T=1)")([1, 0, 1]), 6)
    0.485297
    """
    return weighted(b, zeta_weights(T, horizon), None)


@filled_measure(
    "INST",
    cite="moffat2015",
    formula="INST = Σ_i g_i W_i / Σ_i W_i,  W_{i+1}/W_i = ((i+T+T_i-1)/(i+T+T_i))²,  T_i = T - Σ_{j≤i} g_j",
    ties=OneOpenEnumerated(),
    probabilities=True,
)
def information_satisfied(b: Batch, *, T: Target = 1.0, horizon: Rank | None = 1000) -> Floats:
    """The expected gain per document for a reader who wants T relevant ones, and stops sooner the more are found.

    Weights are normalised over ``horizon`` ranks, as in cwl_eval; with ``horizon=None``, over an infinite ranking.

    >>> round(cf.parse("INST(T=1)")([1, 0, 1]), 6)
    0.723289
    """
    return inst_score(b, T, NEVER if horizon is None else horizon)


def inst_score(b: Batch, target: float, horizon: int) -> Floats:
    """The score of INST, for rankings with at most one tied document with gain.

    After rank i with a cumulated gain c, the reader continues with probability ((i+2T-c-1)/(i+2T-c))². Between two
    documents with gain, c is constant: products telescope, and sums of weights are differences of Hurwitz zetas.
    """
    shift = 2 * target
    in_horizon = b.relevant & (b.start < horizon)
    tied = np.nonzero(in_horizon & (b.size > 1))
    gain = np.where(in_horizon, b.gain, 0)
    cumulated = running(gain)
    shifts = shift - cumulated + gain
    x = np.where(in_horizon, b.start + shifts, 1)
    stays = ((x - gain) / x) ** 2
    stays[tied] = 1  # the tied document is added later
    after = shift**2 * running(stays, np.multiply)
    before = np.concatenate([np.full((len(x), 1), shift**2), after[:, :-1]], axis=1)
    weighted_gain = gain * np.where(in_horizon, before / x**2, 0)
    change = after * hurwitz(x + 1 - gain) - before * hurwitz(x + 1)
    total_weight = shift**2 * hurwitz(np.array(shift))
    weight_below = after[:, -1] * hurwitz(shift - cumulated[:, -1] + horizon)
    value = summed(weighted_gain) / (total_weight + summed(change) - weight_below)
    query = tied[0]
    if not len(query):
        return value
    weighted_gain[tied], change[tied] = 0, 0
    weighted_gain, change = running(weighted_gain), running(change)
    above, weight_above = weighted_gain[tied], total_weight + change[tied]
    below = weighted_gain[query, -1] - above
    weight_rest = total_weight + change[query, -1] - weight_above - weight_below[query]
    columns = above, weight_above, below, weight_rest, before[tied], shifts[tied], gain[tied]

    def score(which: Integers, times: Integers, position: Integers) -> Floats:
        # The tied document changes nothing above its position, and multiplies all weights below by one factor.
        above, weight_above, below, weight_rest, scale, shift, gain = (
            np.repeat(part[which], times) for part in columns
        )
        x = position + shift
        stays = ((x - gain) / x) ** 2
        change = stays * hurwitz(x + 1 - gain) - hurwitz(x + 1)
        return (above + scale * gain / x**2 + stays * below) / (weight_above + scale * change + stays * weight_rest)

    first, size = b.start[tied], b.size[tied]
    inside = np.minimum(size, horizon - first)
    beyond = above / (weight_above - before[tied] * hurwitz(shifts[tied] + horizon))
    value[query] = (inside * mean_over_ranges(first, inside, score, *columns) + (size - inside) * beyond) / size
    return value


HORIZON = 1000  # ranks that are read at most where costs are so low that the budget is never spent, as in cwl_eval
ROUNDING = 1e-9  # tolerance for rounding errors in a sum of gains that should be T


def read_by_players(b: Batch, *, k: int, T: float) -> Floats:
    """1 for each document that may be read before a reader stops, else 0."""
    if b.costs is not None:
        return (b.start < max(k, HORIZON)).astype(np.float64)
    return ((b.start < k) & (b.above(b.gain) < T - ROUNDING)).astype(np.float64)


def player_residual(b: Batch, *, k: int, T: float) -> Floats:
    """The residual of BPM; where documents have costs, more than k of them may be read."""
    if b.costs is None:
        return increase_if_filled(bejeweled_player_model, b, k=k, T=T)
    return increase_if_filled(lambda b, *, horizon: bejeweled_player_model(b, k=k, T=T), b, horizon=max(k, HORIZON))


@filled_measure(
    "BPM",
    cite="zhang2017",
    formula="BPM@k = Σ_{i≤s} g_i / s,  s = the first rank where Σ g ≥ T, at most k;  "
    "with costs: the first rank where Σ g ≥ T or Σ cost ≥ k",
    ties=OverOrders(affects_score=read_by_players),
    terminal=FIXED,
    costs=True,
    residual=player_residual,
)
def bejeweled_player_model(b: Batch, *, k: Rank, T: Positive = 1.0) -> Floats:
    """The gain per document for a reader who stops at a total gain of T or after k documents.

    If documents have costs, k is a cost, as in cwl_eval: the reader stops at a total cost of k. Documents without a
    cost have cost 1.

    >>> round(cf.parse("BPM(T=2)@10")([1, 0, 1]), 6)
    0.666667
    """
    if b.costs is not None:

        def score(gains: Floats, costs: Floats) -> Floats:
            gain, queries = running(gains), np.arange(len(gains))
            stops = (gain >= T - ROUNDING) | (running(costs) >= k - ROUNDING)
            stops[:, -1] = True
            last = stops.argmax(axis=1)
            return gain[queries, last] / (last + 1)

        return by_rank(b, max(k, HORIZON), 1.0, score)
    cumulated = running(b.gain)
    rank = np.where(b.relevant, b.start + 1, k)
    stop = np.minimum(np.where(b.relevant & (cumulated >= T - ROUNDING), rank, k).min(axis=1), k)
    return summed(np.where(b.start < stop[:, None], b.gain, 0)) / stop


def nearly_err(b: Batch, weights: Weights, end: int | None) -> Floats:
    """Gain per document for a reader who stops at a document with probability g, or continues by the weights.

    ``weights``: the weights of ranks if no document has gain; below ``end`` they are 0.
    """
    last = NEVER if end is None else end
    in_horizon = b.relevant & (b.start < last)
    gain = np.where(in_horizon, b.gain, 0)
    p_reach = running(np.pad(1 - gain, ((0, 0), (1, 0)), constant_values=1), np.multiply)
    rank = running(np.pad(np.where(in_horizon, b.start + 1, 0), ((0, 0), (1, 0))), np.maximum)
    # Between two documents with gain, all ranks have the same probability of being reached.
    weight_to = weights(rank)
    total_weight = summed(p_reach[:, :-1] * np.diff(weight_to, axis=1)) + p_reach[:, -1] * (
        weights(np.array(last)) - weight_to[:, -1]
    )
    own = weights.at(np.maximum(rank[:, 1:], 1))
    return summed(gain * p_reach[:, :-1] * own) / total_weight


def may_be_read(b: Batch, *, k: int | None = None, horizon: int | None = None, **_: Any) -> Floats:
    """The documents that some reader may see: above the end, and not below one at which every reader stops."""
    return (b.start < (k or horizon or np.inf)) & (b.above(b.gain >= 1) == 0)


nearly = partial(
    measure,
    cite="azzopardi2021",
    gains="scaled",
    ties=OverOrders(may_be_read),
    retrieved_only=True,
    rewards_promotion=False,
    probabilities=True,
)
NEARLY = "NERR = Σ_i g_i W_i / Σ_i W_i,  W_{i+1}/W_i = (1 - g_i)"


@nearly("NERR8", formula=f"{NEARLY},  i ≤ k", terminal=FIXED)
def nearly_err_at(b: Batch, *, k: Rank) -> Floats:
    """The expected gain per document for a reader who stops with probability g, and always at rank k.

    >>> round(cf.parse("NERR8(max=2)@3")([1, 0, 1]), 6)
    0.375
    """
    return nearly_err(b, count, k)


@nearly("NERR9", formula=f"{NEARLY} i/(i+1),  i ≤ k", terminal=FIXED)
def nearly_err_discounted(b: Batch, *, k: Rank) -> Floats:
    """The expected gain per document for a reader who stops with probability g or by rank.

    >>> round(cf.parse("NERR9(max=2)@3")([1, 0, 1]), 6)
    0.411765
    """
    return nearly_err(b, harmonic, k)


@nearly("NERR10", formula=f"{NEARLY} p,  i ≤ horizon")
def nearly_err_persistent(b: Batch, *, p: Chance = 0.9, horizon: Rank | None = 1000) -> Floats:
    """The expected gain per document for a reader who stops with probability g, else continues with probability p.

    >>> round(cf.parse("NERR10(max=2)")([1, 0, 1]), 6)
    0.191027
    """
    return nearly_err(b, geometric(p), horizon)


@nearly("NERR11", formula=f"{NEARLY} ((i+2T-1)/(i+2T))²,  i ≤ horizon")
def nearly_err_target(b: Batch, *, T: Positive = 1.0, horizon: Rank | None = 1000) -> Floats:
    """The expected gain per document for a reader who stops with probability g and expects to need T documents.

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
    probabilities=True,
)
def expected_reciprocal_rank(
    b: Batch, *, k: Rank | None = None, gain: Literal["exp", "linear"] = "exp", max: Positive | None = None
) -> Floats:
    """The expected reciprocal rank at which a reader is satisfied; higher grades satisfy more readers.

    ``gain='exp'`` is as published; NTCIREVAL uses ``gain='linear'`` by default.

    >>> cf.parse("ERR(max=1)@5")([1, 1, 0, 0, 0])
    0.625
    >>> cf.parse("ERR(gain='linear', max=3)@5")([0, 2, 0])
    0.25
    """
    top = b.top if max is None else max
    if gain == "linear":
        return cascade_score(b, b.gain / (top + 1), k)
    return cascade_score(b, np.exp2(b.gain - top) - np.exp2(-top), k)


def survival(n: Integers, keep: Floats, depth: int) -> Floats:
    """The mean over all sets of x of the n documents of a tie of the product of their factors; (tie, x = 0..depth).

    ``keep`` (tie, document): the factors that are not 1, at the right of the row; the row is filled with 1s. The mean
    is a normalised elementary symmetric polynomial. The recurrence adds one document at a time and stays in [0, 1].
    """
    n = n[:, None]
    x = np.arange(depth + 1)
    probability = np.ones((len(n), depth + 1))
    added = np.flatnonzero(keep.min(axis=0, initial=1) < 1)
    for i, column in enumerate(added):
        share = np.minimum(x / np.maximum(n - len(added) + i + 1, 1), 1)
        probability[:, 1:] = ((1 - share) * probability)[:, 1:] + share[:, 1:] * keep[:, column, None] * probability[
            :, :-1
        ]
    return probability


def reach_probability(b: Batch, stop: Floats) -> Floats:
    """The probability that a reader, who stops at documents with these probabilities, reaches each tie."""
    p_reach = after_first(running(1 - stop, np.multiply), 1.0)
    return np.take_along_axis(p_reach, np.arange(p_reach.shape[1]) - b.order, axis=1)


def cascade_score(b: Batch, stop: Floats, k: int | None, weights: Weights = harmonic) -> Floats:
    """The expected weight (by default 1/rank) of the rank at which a reader stops; 0 below rank k."""
    p_reach = reach_probability(b, stop)
    m = b.seen(k)
    # A single document with gain has each rank of its tie with the same probability.
    with_others = b.within(stop > 0) > 1
    value = summed(np.where(with_others, 0, p_reach * stop * b.mean_over(weights, k)))
    row, column = np.nonzero((b.order == 0) & with_others & (m > 0))
    for part in np.array_split(np.arange(len(row)), 1 + int(m.max(initial=0)) * len(row) // CELLS):
        q, j = row[part], column[part]
        value += np.bincount(
            q, p_reach[q, j] * _stop_weight_in_ties(b, stop, q, j, m[q, j], weights), minlength=len(value)
        )
    return value


def ideal_cascade(stop: Floats, k: int | None, weights: Weights = harmonic) -> Floats:
    """`cascade_score` of the ideal ranking, from stopping probabilities in rank order."""
    stop = stop[:, :k]
    p_reach = after_first(running(1 - stop, np.multiply), 1.0)
    return summed(p_reach * stop * weights.at(np.arange(stop.shape[1]) + 1))


def _stop_weight_in_ties(b: Batch, stop: Floats, q: Integers, j: Integers, m: Integers, weights: Weights) -> Floats:
    """Σ_x (S_{x-1} - S_x) w(t+x) over the first m positions of ties; S_x: the probability of not stopping by x."""
    if not len(q):
        return np.zeros(0)
    same_tie = (b.start[q] == b.start[q, j][:, None]) & ~np.isnan(b.grade[q])
    keep = -np.sort(-np.where(same_tie, 1 - stop[q], 1), axis=1)
    s = survival(b.size[q, j], keep, int(m.max()))
    x = np.arange(1, s.shape[1])
    p_stop, rank = s[:, :-1] - s[:, 1:], b.start[q, j][:, None] + x
    # A quotient is rounded once; a product with a rounded weight is rounded twice.
    weighted = p_stop / rank if weights is harmonic else p_stop * weights.at(rank)
    return summed(np.where(x <= m[:, None], weighted, 0))
