"""Foraging measures: readers weigh the gain of documents against their cost, in seconds, characters or money.

These are the measures of cwl_eval that are not user models. Gains g are scaled into [0, 1] by the top grade. The
cost of a document is given by ``costs=``, or by the parameter ``cost`` if it is not there. V_i is the probability that
a reader sees rank i, and C_i = V_{i+1}/V_i the probability of going on after rank i. The score is the gain per document
seen: Σ_i g_i V_i / Σ_i V_i over the ranks down to a horizon. y_i is the total gain of ranks 1 to i, T_i is their total
cost, and t_i is the total cost of the ranks above i. No measure is undefined: a ranking without a relevant document
scores 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Annotated, Any, Literal

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.io.columns import MAX_NUMBER
from cranfield.measures.average_precision import NotNegative
from cranfield.measures.catalogue import Positive, Rank, UpToOne, measure
from cranfield.measures.ties.expectation import mean_over_ranges
from cranfield.measures.ties.strategies import OneOpenEnumerated, OverOrders, OverOrdersIfCosts
from cranfield.measures.user_model import ROUNDING, by_rank, filled_measure, increase_if_filled, unjudged_weight
from cranfield.ranking.batch import CELLS, Batch, GainSums, Weights, after_first, running, summed
from cranfield.settings import Limits

Cost = Annotated[float, Limits(1 / MAX_NUMBER, MAX_NUMBER)]
SMALLEST = 1e-300  # a difference between ranks that no sum shows, and one over which is a number
LOG_OF_ZERO = -800.0  # finite, so that sums of logarithms have differences; its exponential is 0
SeveralRanks = Annotated[int, Limits(2, 10_000_000)]  # U has no weight at the horizon itself


@lru_cache(maxsize=64)
def halving(rate: float, horizon: int) -> Weights:
    """Rank i has weight 2^(-rate (i-1)), and 0 below the horizon."""
    rate = min(max(rate, SMALLEST), 1e6)  # beyond these, weights are all equal, or all but the first one 0
    step = math.expm1(-rate * math.log(2))

    def total(n: Integers) -> Floats:
        return np.expm1(-rate * math.log(2) * np.minimum(n, horizon)) / step

    return Weights(total, lambda rank: np.where(rank <= horizon, np.exp2(-rate * (rank - 1.0)), 0))


@lru_cache(maxsize=64)
def falling(step: float, last: int) -> Weights:
    """Rank i has weight 1 - step (i-1) while that is positive, and 0 below the last rank."""
    step = min(max(step, SMALLEST), 1.0)  # with 1, the first rank alone has weight
    end = min(last, math.ceil(1 / step))

    def total(n: Integers) -> Floats:
        n = np.minimum(n, end)
        return np.asarray(n - step * (n * (n - 1.0) / 2))

    return Weights(total, lambda rank: np.where(rank <= end, np.maximum(1 - step * (rank - 1.0), 0), 0))


@lru_cache(maxsize=64)
def diminishing(beta: float, last: int) -> Weights:
    """Rank i has weight (i+1)^beta - i^beta, and 0 below the last rank."""
    return Weights(
        lambda n: np.power(np.minimum(n, last) + 1.0, beta) - 1,
        lambda rank: np.where(rank <= last, np.power(rank + 1.0, beta) - np.power(rank * 1.0, beta), 0),
    )


def normalised(weights: Weights) -> Weights:
    """The same weights, scaled so that all of them sum to 1."""
    total = float(weights(np.array(np.iinfo(np.int64).max // 2)))
    return Weights(lambda n: weights(n) / total, lambda rank: weights.at(rank) / total)


def per_document(gains: Floats, seen: Floats) -> Floats:
    """The gain per document seen, from the probability that each rank is seen."""
    return summed(gains * seen) / summed(seen)


def seen_by(continues: Floats) -> Floats:
    """The probability that each rank is seen, from the probability of going on after each rank."""
    return after_first(running(continues, np.multiply), 1.0)


def above_horizon(b: Batch, *, horizon: int, **_: Any) -> Floats:
    """1 for each document that may be above the horizon, else 0."""
    return (b.start < horizon).astype(np.float64)


linear_measure = partial(measure, gains="scaled", linear=True)
with_costs = partial(linear_measure, ties=OverOrdersIfCosts(above_horizon), costs=True)
forager = partial(filled_measure, ties=OneOpenEnumerated(above_horizon))


def time_biased_residual(b: Batch, **arguments: Any) -> Floats:
    """The residual of TBG; without costs, it is a sum of weights."""
    if b.costs is not None:
        return increase_if_filled(time_biased_gain, b, **arguments)
    weights = halving(arguments["cost"] / arguments["half"], arguments["horizon"])
    if arguments["per"] == "document":
        return unjudged_weight(b, normalised(weights), None)
    return float(weights(np.array(arguments["horizon"]))) - summed(b.judged * b.mean_over(weights))


@with_costs(
    "TBG",
    cite="smucker2012 azzopardi2019",
    formula="TBG = Σ_i g_i V_i / Σ_i V_i,  V_i = 2^{-t_i/half},  i ≤ horizon;  per='list': Σ_i g_i V_i",
    bounds=(0, math.inf),
    residual=time_biased_residual,
)
def time_biased_gain(
    b: Batch,
    *,
    half: Positive = 224.0,
    per: Literal["document", "list"] = "document",
    cost: Cost = 1.0,
    horizon: Rank = 1000,
) -> Floats:
    """The gain per document for readers of whom half stop in every ``half`` seconds of reading.

    Costs are seconds. ``per='document'`` gives the value of cwl_eval. ``per='list'`` gives the gain of the whole list;
    with reading times in ``costs=`` it is the published measure.

    >>> cf.parse("TBG(half=1, per='list')")([1, 0, 1])
    1.25
    """
    if b.costs is None:
        weights = halving(cost / half, horizon)
        return b.gained(weights if per == "list" else normalised(weights))

    def score(gains: Floats, costs: Floats) -> Floats:
        seen = np.exp2(-after_first(running(costs), 0.0) / half)
        return summed(gains * seen) if per == "list" else per_document(gains, seen)

    return by_rank(b, horizon, cost, score)


def u_residual(b: Batch, **arguments: Any) -> Floats:
    """The residual of U; without costs, it is a sum of weights."""
    if b.costs is not None:
        return increase_if_filled(u_measure, b, **arguments)
    return unjudged_weight(b, normalised(falling(arguments["cost"] / arguments["L"], arguments["horizon"] - 1)), None)


@with_costs(
    "U",
    cite="sakai2013u azzopardi2019",
    formula="U = Σ_i g_i V_i / Σ_i V_i,  V_i = max(0, 1 - t_i/L),  i < horizon",
    residual=u_residual,
)
def u_measure(b: Batch, *, L: Positive = 1000.0, cost: Cost = 1.0, horizon: SeveralRanks = 1000) -> Floats:
    """The gain per document for readers who stop after a random amount of text, up to L characters.

    All amounts are equally likely. Costs are characters. As in cwl_eval, the weight of a document depends on the
    position where it begins, and the last rank (``horizon``) has no weight. In the paper, the weight depends on the
    position where the document ends, L is 132,000, and the divisor is constant.

    >>> round(cf.parse("U(L=4)")([1, 0, 1]), 6)
    0.6
    """
    if b.costs is None:
        return b.gained(normalised(falling(cost / L, horizon - 1)))

    def score(gains: Floats, costs: Floats) -> Floats:
        seen = np.maximum(1 - after_first(running(costs), 0.0) / L, 0)
        seen[:, -1] = 0
        return per_document(gains, seen)

    return by_rank(b, horizon, cost, score)


Continues = Callable[[Floats, Floats], Floats]  # the probability of going on, from the total gain and cost so far


def goal_not_met(T: float, b1: float, R1: float) -> Continues:
    """A reader who wants a gain of T."""
    return lambda gain, _: 1 - 1 / (1 + b1 * np.exp((T - gain) * R1))


def rate_met(A: float, b2: float, R2: float) -> Continues:
    """A reader who expects a gain of A per unit of cost."""
    return lambda gain, cost: 1 / (1 + b2 * np.exp((A - gain / cost) * R2))


def foraging_score(b: Batch, horizon: int, cost: float, continues: Continues) -> Floats:
    """The gain per document seen; without costs of documents, one document of each ranking may be tied."""

    def score(gains: Floats, costs: Floats) -> Floats:
        return per_document(gains, seen_by(continues(running(gains), running(costs))))

    open_ = np.any(b.relevant & (b.size > 1) & (b.start < horizon), axis=1)
    if not open_.any():
        return by_rank(b, horizon, cost, score)
    value = np.empty(len(open_))
    if not open_.all():
        value[~open_] = by_rank(b.rows(np.flatnonzero(~open_)), horizon, cost, score)
    value[open_] = _mean_over_positions(b.rows(np.flatnonzero(open_)), horizon, cost, continues)
    return value


def _mean_over_positions(b: Batch, horizon: int, cost: float, continues: Continues) -> Floats:
    """`foraging_score` of rankings with one tied document: the mean over its positions.

    Between two documents the total gain is constant. For each total gain there is a table with a row of ranks, so that
    products and sums of probabilities from one document to the next are differences of two entries.
    """
    gain = np.where(b.start < horizon, b.gain, 0)
    totals, level = np.unique(after_first(np.pad(running(gain), ((0, 0), (0, 1))), 0.0), return_inverse=True)
    level = level.reshape(len(gain), -1)  # before each document, and after the last one
    queries, column = np.arange(len(gain)), np.argmax((gain > 0) & (b.size > 1), axis=1)
    first, size = b.start[queries, column], b.size[queries, column]
    if len(totals) * horizon > 4 * CELLS and len(gain) > 1:
        halves = np.array_split(queries, 2)
        return np.concatenate([_mean_over_positions(b.rows(half), horizon, cost, continues) for half in halves])
    if len(totals) * horizon > 4 * CELLS:  # tables would be too large: position by position
        rows = b.rows(np.zeros(size[0], np.int64))
        start = rows.start.copy()
        start[:, column[0]] += np.arange(size[0])
        return foraging_score(rows.changed(start=start, size=np.ones_like(start)), horizon, cost, continues).mean()[
            None
        ]
    with np.errstate(over="ignore", divide="ignore"):
        goes_on = continues(totals[:, None], running(np.full((1, horizon), cost)))
        goes_on = np.array(np.broadcast_to(goes_on, (len(totals), horizon)))
        log = after_first(running(np.maximum(np.log(goes_on), LOG_OF_ZERO)), 0.0)
    below = _seen_below(goes_on)

    def reaches(level: Integers, above: Integers, position: Integers) -> Floats:
        return np.exp(log[level, position] - log[level, above])

    # Down to the last document above the tied one: its position, the probability that it is seen, and sums so far.
    position, p_seen, seen, gained = np.zeros_like(column), np.ones(len(gain)), np.ones(len(gain)), np.zeros(len(gain))
    for j in range(column.max()):
        at = np.where((gain[:, j] > 0) & (j < column), b.start[:, j], position)
        p_next = p_seen * reaches(level[:, j], position, at)
        seen += p_seen * below[level[:, j], position] - p_next * below[level[:, j], at]
        gained += np.where(j < column, gain[:, j], 0) * p_next
        position, p_seen = at, p_next
    # Up to the first document below the tied one, if it is seen: the gain from there on, and by how much fewer
    # documents are seen because of the gains from there on.
    end, gained_below, fewer = np.full_like(column, horizon - 1), np.zeros(len(gain)), np.zeros(len(gain))
    for j in range(gain.shape[1] - 1, column.min(), -1):
        counts = (gain[:, j] > 0) & (j > column)
        at = np.where(counts, b.start[:, j], end)
        p_next = np.where(gained_below > 0, reaches(level[:, j + 1], at, end), 0)
        gained_below = np.where(counts, gain[:, j] + p_next * gained_below, gained_below)
        change = below[level[:, j], at] - below[level[:, j + 1], at] + p_next * fewer
        fewer, end = np.where(counts, change, fewer), at
    own, before, after = gain[queries, column], level[queries, column], level[queries, column + 1]
    columns = position, p_seen, seen, gained, own, before, after, end, gained_below, fewer

    def score(which: Integers, times: Integers, at: Integers) -> Floats:
        position, p_seen, seen, gained, own, before, after, end, gained_below, fewer = (
            np.repeat(part[which], times) for part in columns
        )
        p_own = p_seen * reaches(before, position, at)
        p_end = np.where(gained_below > 0, reaches(after, at, end), 0)
        above = seen + p_seen * below[before, position] - p_own * below[before, at]
        return (gained + p_own * (own + p_end * gained_below)) / (above + p_own * (below[after, at] - p_end * fewer))

    inside = np.minimum(size, horizon - first)
    beyond = gained / (seen + p_seen * below[before, position])
    return (inside * mean_over_ranges(first, inside, score, *columns) + (size - inside) * beyond) / size


def _seen_below(goes_on: Floats) -> Floats:
    """The expected number of documents seen below each rank by a reader who sees it: s_i = C_i (1 + s_{i+1})."""
    goes_on[:, -1] = 0  # no rank below the horizon is seen
    seen, step = goes_on.copy(), 1
    while step < goes_on.shape[1]:
        seen[:, :-step] += goes_on[:, :-step] * seen[:, step:]
        goes_on[:, :-step] *= goes_on[:, step:]
        step *= 2
    return seen


@forager(
    "IFT_C1",
    cite="azzopardi2018",
    formula="IFT_C1 = Σ_i g_i V_i / Σ_i V_i,  C_i = 1 - 1/(1 + b1 e^{(T - y_i) R1}),  i ≤ horizon",
)
def information_foraging_goal(
    b: Batch, *, T: Positive = 2.0, b1: Positive = 0.9, R1: NotNegative = 10.0, horizon: Rank = 1000
) -> Floats:
    """The gain per document for a reader who tends to stop at a total gain of T.

    R1 sets how sharply the reader stops at T; with R1=0 the gain has no effect on stopping.

    >>> round(cf.parse("IFT_C1(T=1.5, R1=100)")([1, 0, 1]), 6)
    0.666667
    """
    return foraging_score(b, horizon, 1.0, goal_not_met(T, b1, R1))


@forager(
    "IFT_C2",
    cite="azzopardi2018",
    formula="IFT_C2 = Σ_i g_i V_i / Σ_i V_i,  C_i = 1/(1 + b2 e^{(A - y_i/T_i) R2}),  i ≤ horizon",
    costs=True,
)
def information_foraging_rate(
    b: Batch,
    *,
    A: NotNegative = 0.2,
    b2: Positive = 0.9,
    R2: NotNegative = 10.0,
    cost: Cost = 1.0,
    horizon: Rank = 1000,
) -> Floats:
    """The gain per document for a reader who tends to stop once the gain per unit of cost falls below A.

    R2 sets how sharply the reader stops below A; with R2=0 the gain per unit of cost has no effect on stopping.

    >>> round(cf.parse("IFT_C2(A=0.6, R2=100)")([1, 0, 1]), 6)
    0.5
    """
    return foraging_score(b, horizon, cost, rate_met(A, b2, R2))


@forager(
    "IFT",
    cite="azzopardi2018",
    formula="IFT = Σ_i g_i V_i / Σ_i V_i,  C_i = that of IFT_C1 times that of IFT_C2,  i ≤ horizon",
    costs=True,
)
def information_foraging(
    b: Batch,
    *,
    T: Positive = 2.0,
    b1: Positive = 0.9,
    R1: NotNegative = 10.0,
    A: NotNegative = 0.2,
    b2: Positive = 0.9,
    R2: NotNegative = 10.0,
    cost: Cost = 1.0,
    horizon: Rank = 1000,
) -> Floats:
    """The gain per document for a reader who stops at a total gain of T, or once gain per cost falls below A.

    >>> round(cf.parse("IFT(T=1.5, R1=100, A=0.3, R2=100)")([1, 0, 1]), 6)
    0.666667
    """
    goal, rate = goal_not_met(T, b1, R1), rate_met(A, b2, R2)
    return foraging_score(b, horizon, cost, lambda gain, cost: goal(gain, cost) * rate(gain, cost))


def discounted(rate: float, horizon: int) -> Weights:
    """Rank i has weight 1/(1+rate)^(i-1) down to the horizon; all weights sum to 1."""
    return normalised(halving(math.log1p(rate) / math.log(2), horizon))


@linear_measure(
    "NPV",
    cite="azzopardi2019",
    formula="NPV = Σ_i g_i V_i / Σ_i V_i,  V_i = 1/(1 + rate)^{i-1},  i ≤ horizon",
    residual=lambda b, *, rate, horizon: unjudged_weight(b, discounted(rate, horizon), None),
)
def net_present_value(b: GainSums, *, rate: Positive = 0.1, horizon: Rank = 1000) -> Floats:
    """The gain per document, with gain discounted by an interest rate at each rank.

    It is RBP with p = 1/(1 + rate), normalised over ``horizon`` ranks.

    >>> cf.parse("NPV(rate=1)")([1, 0, 1])
    0.625
    """
    return b.gained(discounted(rate, horizon))


def set_weights(beta: float, last: int) -> Weights:
    """The weights of SET; all of them sum to 1."""
    return normalised(diminishing(beta, last))


@linear_measure(
    "SET",
    cite="azzopardi2014 azzopardi2019",
    formula="SET@k = Σ_i g_i V_i / Σ_i V_i,  V_i = (i+1)^beta - i^beta,  i ≤ k",
    residual=lambda b, *, k, beta, horizon: unjudged_weight(b, set_weights(beta, min(k, horizon)), None),
)
def search_economic_theory(b: GainSums, *, k: Rank, beta: UpToOne = 0.5, horizon: Rank = 1000) -> Floats:
    """The gain per document down to rank k, if each further document is worth less than the one before.

    In economic models of search, i documents are worth i^beta. As in cwl_eval, the weights are those of the second to
    the (k+1)th document.

    >>> round(cf.parse("SET@3")([1, 0, 1]), 6)
    0.682163
    """
    return b.gained(set_weights(beta, min(k, horizon)))


def above_last_stop(b: Batch, *, k: int, hc: float, med: float, cost: float, horizon: int, **_: Any) -> Floats:
    """1 for each document that may be read before the budget is spent, else 0."""
    if b.costs is not None:
        return above_horizon(b, horizon=horizon)
    last = (k + hc * (b.gain.sum(axis=1) + med)) / (cost + hc * med)
    return (b.start < np.minimum(last + 1, horizon)[:, None]).astype(np.float64)


@filled_measure(
    "BPMD",
    cite="zhang2017",
    formula="BPMD@k = Σ_{i≤s} g_i / s,  s = the first rank where y_i ≥ T + hb Σ_{j<i} (g_j - med) "
    "or T_i ≥ k + hc Σ_{j<i} (g_j - med)",
    ties=OverOrders(above_last_stop),
    costs=True,
    cutoff_is_cost=True,
)
def bejeweled_player_model_dynamic(
    b: Batch,
    *,
    k: Rank,
    T: Positive = 1.0,
    hb: NotNegative = 1.0,
    hc: NotNegative = 1.0,
    med: NotNegative = 0.5,
    cost: Cost = 1.0,
    horizon: Rank = 1000,
) -> Floats:
    """The gain per document for a reader whose goal and budget change with the gains of the documents read.

    The reader starts with the goal T and the budget k, which is a cost. A document with more gain than ``med`` raises
    the goal (by hb) and the budget (by hc); one with less gain lowers both. In cwl_eval hc has no effect: hc=0 gives
    its value.

    >>> round(cf.parse("BPMD(T=2, hb=0)@10")([1, 0, 1]), 6)
    0.666667
    """

    def score(gains: Floats, costs: Floats, ranks: int = 64) -> Floats:
        met = running(gains[:, :ranks])
        mood = after_first(met - med * np.arange(1, met.shape[1] + 1), 0.0)
        stops = (met >= T + hb * mood - ROUNDING) | (running(costs[:, :ranks]) >= k + hc * mood - ROUNDING)
        goes_on = ~stops.any(axis=1)
        last = np.where(goes_on, met.shape[1] - 1, stops.argmax(axis=1))
        scores = met[np.arange(len(last)), last] / (last + 1)
        if ranks < horizon and goes_on.any():  # most readers stop soon
            further = costs if len(costs) == 1 else costs[goes_on]
            scores[goes_on] = score(gains[goes_on], further, horizon)
        return scores

    return by_rank(b, horizon, cost, score)
