"""Diversity: a query has several subtopics, and different readers want different ones.

J_i(r) is 1 if the document at rank r is relevant to subtopic i, else 0; g_i(r) is its gain for subtopic i; C_i(r) is
the number of documents above rank r that are relevant to subtopic i. M is the number of subtopics with a relevant
document. p_i is the share of readers who want subtopic i: 1/M, unless intents are given. All measures are undefined if
no document is relevant to any subtopic.

An intent is informational (inf), unless the types of intents declare it navigational (nav). Readers with a
navigational intent need only one relevant document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal

import numpy as np

from cranfield.data import Array, Booleans, Floats
from cranfield.measures.average_precision import NotNegative, average_precision, q_measure
from cranfield.measures.catalogue import Positive, Rank, measure
from cranfield.measures.gain import NO_BASE, Base, Discount, dcg, ideal_dcg
from cranfield.measures.ntcireval import mean_weights, p_plus
from cranfield.measures.precision import hits, success
from cranfield.measures.ties.strategies import Estimate, OverOrders
from cranfield.measures.user_model import cascade_score, ideal_cascade, survival
from cranfield.measures.weights import harmonic, log_discount
from cranfield.ranking.batch import Batch, Weights, ratio, running, summed
from cranfield.ranking.subtopics import Aspects
from cranfield.settings import Chance, Share

Ideal = Literal["greedy", "exact"]
Norm = Literal["min", "R"]

LOG2 = log_discount("log2", 2)
inf = float("inf")
by_subtopic = partial(measure, subtopics=True)
normalised_by_subtopic = partial(by_subtopic, bounds=(0, inf))
graded_by_subtopic = partial(by_subtopic, gains="graded")
discounted_by_subtopic = partial(graded_by_subtopic, unused_when=NO_BASE)
blended_by_subtopic = partial(graded_by_subtopic, rewards_promotion=False)


def power(beta: float) -> Weights:
    """Rank i has weight β^(i-1)."""
    return Weights(
        lambda n: (1 - np.power(beta, n.astype(np.float64))) / (1 - beta),
        lambda rank: np.power(beta, rank.astype(np.float64) - 1),
    )


def aspects(b: Batch) -> Aspects:
    """The subtopics of the judged documents, with the gains of this measure."""
    assert b.subtopics is not None and b.gain_of_grade is not None  # `check_measurable` requires subtopics
    return b.subtopics.aspects(b.gain_of_grade)


def rows_of_queries(b: Batch, values: Array) -> Floats:
    """The rows of a table by query that belong to the queries of this batch; 0 for unjudged queries."""
    rows = values[b.query].astype(np.float64)
    rows[b.query < 0] = 0
    return rows


def subtopic_count(b: Batch) -> Floats:
    """M, the number of subtopics of each query."""
    return rows_of_queries(b, aspects(b).M)


def pool_gains(b: Batch) -> Floats:
    """The gains of all judged documents of each query, (query, judged document, subtopic)."""
    assert b.subtopics is not None
    begin = b.subtopics.judgments.begin
    judged = np.where(b.query < 0, 0, np.diff(begin)[b.query])
    column = np.arange(max(int(judged.max(initial=0)), 1))
    return aspects(b).gain[np.where(column < judged[:, None], begin[b.query][:, None] + column, -1)]


def with_gains(b: Batch, gain: Floats, pool: Floats) -> Batch:
    """The batch with new gains for its documents and for all judged documents."""
    ideal = -np.sort(-pool, axis=1)
    return b.changed(gain=gain, ideal=ideal, R=(ideal > 0).sum(axis=1).astype(np.float64), mass=summed(ideal))


def each_subtopic(b: Batch) -> Iterator[tuple[Batch, Floats, Booleans]]:
    """For each subtopic: the batch with the gains of this subtopic, M p_i, and whether the intent is navigational."""
    labels = aspects(b)
    gains, ideals = (np.moveaxis(x, 2, 0) for x in (labels.gain[b.document], pool_gains(b)))
    weights, types = rows_of_queries(b, labels.weight).T, rows_of_queries(b, labels.navigational).T > 0
    for gain, pool, weight, navigational in zip(gains, ideals, weights, types, strict=True):
        yield with_gains(b, gain, pool), weight, navigational


def over_subtopics(b: Batch, score: Callable[[Batch], Floats], *, equal_weights: bool = False) -> Floats:
    """The mean of a score over subtopics, weighted by p_i or, with ``equal_weights``, by 1/M."""
    total = np.zeros(len(b.length))
    for subtopic, weight, _ in each_subtopic(b):
        total += (np.sign(weight) if equal_weights else weight) * np.nan_to_num(score(subtopic))
    return ratio(total, subtopic_count(b))


def global_gain(b: Batch) -> Batch:
    """The batch in which the gain of a document is M Σ_i p_i g_i."""
    weights = rows_of_queries(b, aspects(b).weight)[:, None, :]
    # Added one by one, so that the last bit does not depend on the number of subtopics of other queries.
    gain, pool = (np.cumsum(gains * weights, axis=2)[..., -1] for gains in (aspects(b).gain[b.document], pool_gains(b)))
    return with_gains(b, gain, pool)


def novelty(b: Batch, alpha: float, discount: Weights, k: int | None) -> Floats:
    """Σ_r δ(r) Σ_i w_i J_i(r) (1-α)^C_i(r), expected over ties; w_i = 1 if all subtopics have equal weights."""
    labels = aspects(b)
    weights = rows_of_queries(b, labels.weight)
    relevant = labels.gain[b.document] > 0
    total = np.zeros(len(b.length))
    m, weight = b.seen(k), b.mean_over(discount, k)
    for subtopic, share in zip(np.moveaxis(relevant, 2, 0), weights.T, strict=True):
        reached = share[:, None] * (1 - alpha) ** b.above(subtopic)
        inside = b.within(subtopic)
        total += summed(np.where(subtopic & (inside == 1), reached * weight, 0))
        # Of r relevant documents in a tie of n, each has some of the r-1 others above it, depending on its position.
        q, j = np.nonzero(subtopic & (inside > 1) & (m > 0))
        if len(q):
            r = inside[q, j].astype(np.int64)
            keep = np.where(np.arange(r.max() - 1)[::-1] < (r - 1)[:, None], 1 - alpha, 1.0)
            left = survival(b.size[q, j] - 1, keep, int(m[q, j].max()) - 1)
            x = np.arange(left.shape[1])
            start = b.start[q, j][:, None]
            step = discount.at(start + x + 1)
            value = summed(np.where(x < m[q, j][:, None], step * left, 0)) / b.size[q, j]
            total += np.bincount(q, reached[q, j] * value, len(total))
    return total


def ideal_novelty(b: Batch, alpha: float, discount: Weights, k: int | None, ideal: str) -> Floats:
    """The same for the best order of all relevant documents."""
    assert b.subtopics is not None and b.gain_of_grade is not None
    judged = np.diff(b.subtopics.judgments.begin)
    steps = discount.at(np.arange(1, (judged.max(initial=0) if k is None else k) + 1))
    queries, row = np.unique(b.query, return_inverse=True)
    value = np.zeros(len(queries))
    for i, query in enumerate(queries.tolist()):
        if query >= 0:
            value[i] = b.subtopics.best(query, b.gain_of_grade, alpha, ideal, steps[: judged[query]])
    return value[row]


def perfect_novelty(b: Batch, alpha: float, discount: Weights, k: int | None) -> Floats:
    """The gain of each subtopic if every document of the ranking were relevant to all subtopics."""
    # For an empty ranking, the divisor is that of one document.
    ends = np.maximum(b.length, 1) if k is None else np.full_like(b.length, k)
    ranks = np.arange(int(ends.max(initial=0)))
    gain = (1 - alpha) ** ranks.astype(np.float64) * discount.at(ranks + 1)
    return np.concatenate([[0], np.cumsum(gain)])[ends]


@by_subtopic(
    "alpha_DCG",
    cite="clarke2008 clarke2011",
    formula="α-DCG@k = Σ_{r≤k} D(r) Σ_i p_i J_i(r) (1-α)^{C_i(r)} / Σ_{r≤k} D(r) (1-α)^{r-1}",
)
def alpha_discounted_cumulated_gain(b: Batch, *, k: Rank | None = None, alpha: Share = 0.5) -> Floats:
    """Discounted gain in which each further document on a subtopic counts less, scaled as in ndeval.

    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> float(cf.evaluate(qrels, {"q": {"b": 2.0, "a": 1.0}}, "alpha_DCG@1"))
    0.5
    """
    return ratio(novelty(b, alpha, LOG2, k), subtopic_count(b) * perfect_novelty(b, alpha, LOG2, k))


@normalised_by_subtopic(
    "alpha_nDCG", cite="clarke2008 clarke2011", formula="α-nDCG@k = raw α-DCG@k / raw α-DCG@k of the greedy ideal order"
)
def alpha_normalised_discounted_cumulated_gain(
    b: Batch, *, k: Rank | None = None, alpha: Share = 0.5, ideal: Ideal = "greedy"
) -> Floats:
    """Novelty-discounted gain (α-DCG) divided by that of the ideal ranking.

    The greedy ideal is not always the best order, so scores above 1 are possible; ``ideal='exact'`` avoids that.

    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> float(cf.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, "alpha_nDCG@2"))
    1.0
    """
    return ratio(novelty(b, alpha, LOG2, k), ideal_novelty(b, alpha, LOG2, k, ideal))


@by_subtopic(
    "ERR_IA",
    cite="chapelle2011 clarke2011",
    formula="ERR-IA@k = Σ_{r≤k} (1/r) Σ_i p_i J_i(r) (1-α)^{C_i(r)} / Σ_{r≤k} (1/r) (1-α)^{r-1}",
    unused_when=(("alpha", "norm", "paper"), ("max", "norm", "ndeval")),
    probabilities=True,
)
def intent_aware_expected_reciprocal_rank(
    b: Batch,
    *,
    k: Rank | None = None,
    alpha: Share = 0.5,
    norm: Literal["ndeval", "paper"] = "ndeval",
    max: Positive | None = None,
) -> Floats:
    """The expected reciprocal rank at which a reader who wants one subtopic is satisfied.

    ``norm='paper'`` is the mean of ERR over subtopics with R = (2^grade - 1) / 2^max, without alpha and without the
    divisor; only this form uses ``max``.

    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> float(cf.evaluate(qrels, {"q": {"b": 2.0, "a": 1.0}}, "ERR_IA@1"))
    0.5
    """
    if norm == "ndeval":
        return ratio(novelty(b, alpha, harmonic, k), subtopic_count(b) * perfect_novelty(b, alpha, harmonic, k))
    labels = aspects(b)
    assert b.subtopics is not None
    top = np.exp2(b.subtopics.top if max is None else max)
    stop = (np.exp2(labels.grade[b.document]) - 1) / top
    weights = rows_of_queries(b, labels.weight)
    total = np.zeros(len(b.length))
    for probability, weight in zip(np.moveaxis(stop, 2, 0), weights.T, strict=True):
        total += weight * cascade_score(b, probability, k)
    return ratio(total, subtopic_count(b))


@normalised_by_subtopic(
    "nERR_IA",
    cite="chapelle2011 clarke2011",
    formula="nERR-IA@k = raw ERR-IA@k / raw ERR-IA@k of the greedy ideal order",
)
def normalised_intent_aware_expected_reciprocal_rank(
    b: Batch, *, k: Rank | None = None, alpha: Share = 0.5, ideal: Ideal = "greedy"
) -> Floats:
    """ERR-IA divided by that of the ideal ranking.

    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> float(cf.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, "nERR_IA@2"))
    1.0
    """
    return ratio(novelty(b, alpha, harmonic, k), ideal_novelty(b, alpha, harmonic, k, ideal))


@by_subtopic(
    "NRBP", cite="clarke2009 clarke2011", formula="NRBP = (1 - (1-α)β) Σ_r β^{r-1} Σ_i p_i J_i(r) (1-α)^{C_i(r)}"
)
def novelty_and_rank_biased_precision(
    b: Batch, *, k: Rank | None = None, alpha: Share = 0.5, beta: Chance = 0.5
) -> Floats:
    """The expected novel gain per document for a reader who continues with probability β.

    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> float(cf.evaluate(qrels, {"q": {"b": 2.0, "a": 1.0}}, "NRBP"))
    0.65625
    """
    return ratio((1 - (1 - alpha) * beta) * novelty(b, alpha, power(beta), k), subtopic_count(b))


@normalised_by_subtopic("nNRBP", cite="clarke2009 clarke2011", formula="nNRBP = NRBP / NRBP of the greedy ideal order")
def normalised_novelty_and_rank_biased_precision(
    b: Batch, *, k: Rank | None = None, alpha: Share = 0.5, beta: Chance = 0.5, ideal: Ideal = "greedy"
) -> Floats:
    """NRBP divided by that of the ideal ranking.

    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> float(cf.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, "nNRBP"))
    1.0
    """
    return ratio(novelty(b, alpha, power(beta), k), ideal_novelty(b, alpha, power(beta), k, ideal))


@by_subtopic("AP_IA", cite="agrawal2009", formula="AP-IA = Σ_i p_i AP_i")
def intent_aware_average_precision(b: Batch, *, k: Rank | None = None) -> Floats:
    """The mean of average precision over subtopics.

    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> float(cf.evaluate(qrels, {"q": {"b": 2.0, "a": 1.0}}, "AP_IA"))
    0.75
    """
    return over_subtopics(b, lambda subtopic: average_precision(subtopic, k=k))


@by_subtopic("P_IA", cite="agrawal2009", formula="P-IA@k = Σ_i p_i P_i@k")
def intent_aware_precision(b: Batch, *, k: Rank) -> Floats:
    """The mean of precision at k over subtopics.

    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> float(cf.evaluate(qrels, {"q": {"b": 2.0, "a": 1.0}}, "P_IA@2"))
    0.75
    """
    return over_subtopics(b, lambda subtopic: hits(subtopic, k) / k)


@by_subtopic("StRecall", cite="zhai2003 sakai2011", formula="StRecall@k = subtopics covered by the first k / M")
def subtopic_recall(b: Batch, *, k: Rank) -> Floats:
    """The share of subtopics that the first k documents cover.

    Also called intent recall, `I-rec`. All subtopics count equally, whatever the weights of intents.

    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> float(cf.evaluate(qrels, {"q": {"b": 2.0, "a": 1.0}}, "StRecall@1"))
    0.5
    """
    return over_subtopics(b, lambda subtopic: success(subtopic, k=k), equal_weights=True)


@discounted_by_subtopic("nDCG_IA", cite="agrawal2009", formula="nDCG-IA@k = Σ_i p_i nDCG_i@k")
def intent_aware_normalised_discounted_cumulated_gain(
    b: Batch, *, k: Rank | None = None, discount: Discount = "log2", base: Base = 2.0
) -> Floats:
    """The mean of nDCG over subtopics.

    Usually no ranking is ideal for all subtopics, so that the highest possible score is below 1.

    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 3}}}
    >>> round(float(cf.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, "nDCG_IA@1")), 6)
    0.666667
    """
    return over_subtopics(
        b, lambda subtopic: ratio(dcg(subtopic, k, discount, base), ideal_dcg(subtopic, k, discount, base))
    )


@discounted_by_subtopic(
    "D_nDCG",
    cite="sakai2011",
    formula="D-nDCG@k = Σ_{r≤k} D(r) Σ_i p_i g_i(r) / that of all judged documents in descending order of Σ_i p_i g_i",
)
def diversified_normalised_discounted_cumulated_gain(
    b: Batch, *, k: Rank | None = None, discount: Discount = "log2", base: Base = 2.0
) -> Floats:
    """Discounted gain, summed over subtopics, divided by that of the ideal ranking.

    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> float(cf.evaluate(qrels, {"q": {"b": 2.0, "a": 1.0}}, "D_nDCG@1"))
    0.5
    """
    batch = global_gain(b)
    return ratio(dcg(batch, k, discount, base), ideal_dcg(batch, k, discount, base))


@discounted_by_subtopic("Dsharp_nDCG", cite="sakai2011", formula="D#-nDCG@k = γ StRecall@k + (1-γ) D-nDCG@k")
def diversified_gain_and_intent_recall(
    b: Batch, *, k: Rank, gamma: Share = 0.5, discount: Discount = "log2", base: Base = 2.0
) -> Floats:
    """The weighted mean of subtopic recall and D-nDCG: the D#-nDCG of NTCIR.

    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> float(cf.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, "Dsharp_nDCG@1"))
    1.0
    """
    gain = diversified_normalised_discounted_cumulated_gain(b, k=k, discount=discount, base=base)
    return gamma * subtopic_recall(b, k=k) + (1 - gamma) * gain


def scale_of_gains(b: Batch) -> Floats:
    """What M p_i is divided by; p_i sum to 1 over all subtopics, also over those without a relevant document."""
    return np.maximum(subtopic_count(b), 1) / np.where(b.query < 0, 1, aspects(b).answerable[b.query])


def mean_gain(b: Batch) -> Batch:
    """The batch in which the gain of a document is Σ_i p_i g_i."""
    batch, M = global_gain(b), scale_of_gains(b)
    return batch.changed(gain=batch.gain / M[:, None], ideal=batch.ideal / M[:, None], mass=batch.mass / M)


@blended_by_subtopic(
    "D_Q",
    cite="sakai2011 sakai2007",
    formula="D-Q@k = Q@k with gains Σ_i p_i g_i, divided by min(k, R)   (norm='R': by R)",
)
def diversified_q_measure(b: Batch, *, k: Rank, beta: NotNegative = 1.0, norm: Norm = "min") -> Floats:
    """The Q-measure with gains that are summed over subtopics.

    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> float(cf.evaluate(qrels, {"q": {"b": 2.0, "a": 1.0}}, "D_Q@1"))
    0.75
    """
    return q_measure(mean_gain(b), k=k, beta=beta, norm=norm)


@blended_by_subtopic("Dsharp_Q", cite="sakai2011 sakai2007", formula="D#-Q@k = γ StRecall@k + (1-γ) D-Q@k")
def diversified_q_and_intent_recall(
    b: Batch, *, k: Rank, gamma: Share = 0.5, beta: NotNegative = 1.0, norm: Norm = "min"
) -> Floats:
    """The weighted mean of subtopic recall and D-Q: the D#-Q of NTCIR.

    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> float(cf.evaluate(qrels, {"q": {"b": 2.0, "a": 1.0}}, "Dsharp_Q@1"))
    0.625
    """
    return gamma * subtopic_recall(b, k=k) + (1 - gamma) * diversified_q_measure(b, k=k, beta=beta, norm=norm)


def useful_dcg(b: Batch, k: int, discount: Weights) -> Floats:
    """M Σ_{r≤k} D(r) N(r), expected over ties; see `useful_gain`."""
    total = np.zeros(len(b.length))
    for subtopic, weight, navigational in each_subtopic(b):
        all_gain = subtopic.gained(discount, k)
        # In the first tie with relevant documents, each of these is the first with the same probability.
        first = subtopic.relevant & (running(subtopic.relevant) == 1)
        gain = subtopic.within(subtopic.gain) / np.maximum(subtopic.within(subtopic.relevant), 1)
        weight_of_first = mean_weights(subtopic, first, lambda row, rank: discount.at(rank), k)
        total += weight * np.where(navigational, summed(np.where(first, gain * weight_of_first, 0)), all_gain)
    return total


def useful_gain(b: Batch) -> Batch:
    """`mean_gain` without the gains for navigational intents that a document above satisfies; for untied rankings.

    N(r) = Σ_{i inf} p_i g_i(r) + Σ_{j nav} p_j g_j(r) [no document above r is relevant to j]. The ideal ignores types.
    """
    total = np.zeros(b.start.shape)
    for subtopic, weight, navigational in each_subtopic(b):
        repeated = navigational[:, None] & (subtopic.above(subtopic.relevant) > 0)
        total += weight[:, None] * np.where(repeated, 0, subtopic.gain)
    return mean_gain(b).changed(gain=total / scale_of_gains(b)[:, None])


@blended_by_subtopic(
    "DIN_nDCG",
    cite="sakai2012",
    formula="DIN-nDCG@k = Σ_{r≤k} D(r) N(r) / that of D-nDCG@k,  "
    "N(r) = Σ_{i inf} p_i g_i(r) + Σ_{j nav} p_j g_j(r) [no document above r is relevant to j]",
    unused_when=NO_BASE,
)
def informational_and_navigational_gain(b: Batch, *, k: Rank, discount: Discount = "log2", base: Base = 2.0) -> Floats:
    """D-nDCG in which a second document for a navigational intent has no gain.

    The ideal is that of D-nDCG, as in NTCIREVAL; if it has two documents for one navigational intent, the highest
    possible score is below 1. Without types of intents it is D-nDCG.

    >>> qrels = {"q": {"a": {"1": 1}, "b": {"1": 1}, "c": {"2": 1}}}
    >>> run, types = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"1": "nav"}}
    >>> round(float(cf.evaluate(cf.Collection(qrels, types=types), run, "DIN_nDCG@2")), 6)
    0.613147
    """
    weights = log_discount(discount, base)
    return ratio(useful_dcg(b, k, weights), ideal_dcg(global_gain(b), k, discount, base))


@blended_by_subtopic(
    "DINsharp_nDCG", cite="sakai2012", formula="DIN#-nDCG@k = γ StRecall@k + (1-γ) DIN-nDCG@k", unused_when=NO_BASE
)
def informational_and_navigational_gain_and_intent_recall(
    b: Batch, *, k: Rank, gamma: Share = 0.5, discount: Discount = "log2", base: Base = 2.0
) -> Floats:
    """The weighted mean of subtopic recall and DIN-nDCG.

    >>> qrels = {"q": {"a": {"1": 1}, "b": {"1": 1}, "c": {"2": 1}}}
    >>> run, types = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"1": "nav"}}
    >>> round(float(cf.evaluate(cf.Collection(qrels, types=types), run, "DINsharp_nDCG@2")), 6)
    0.556574
    """
    gain = informational_and_navigational_gain(b, k=k, discount=discount, base=base)
    return gamma * subtopic_recall(b, k=k) + (1 - gamma) * gain


def _gain_within(b: Batch, *, k: int, **_: object) -> Floats:
    """The highest gain of each document for any subtopic; 0 for documents that cannot be in the first k."""
    return np.where(b.start < k, aspects(b).gain[b.document].max(axis=2), 0)


@blended_by_subtopic(
    "DIN_Q",
    cite="sakai2012",
    formula="DIN-Q@k = Σ_{r≤k} [N(r) > 0] (β cg_N(r) + count_N(r)) / (β cg_ideal(r) + r) / min(k, R)   "
    "(norm='R': / R),  N(r) as in DIN_nDCG, cg_ideal and R as in D_Q",
    ties=OverOrders(affects_score=_gain_within),
)
def informational_and_navigational_q_measure(
    b: Batch, *, k: Rank, beta: NotNegative = 1.0, norm: Norm = "min"
) -> Floats:
    """D-Q in which a second document for a navigational intent has no gain.

    Without types of intents it is D-Q.

    >>> qrels = {"q": {"a": {"1": 1}, "b": {"1": 1}, "c": {"2": 1}}}
    >>> run, types = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"1": "nav"}}
    >>> float(cf.evaluate(cf.Collection(qrels, types=types), run, "DIN_Q@2"))
    0.5
    """
    return q_measure(useful_gain(b), k=k, beta=beta, norm=norm)


@blended_by_subtopic(
    "DINsharp_Q",
    cite="sakai2012",
    formula="DIN#-Q@k = γ StRecall@k + (1-γ) DIN-Q@k",
    ties=OverOrders(affects_score=_gain_within),
)
def informational_and_navigational_q_and_intent_recall(
    b: Batch, *, k: Rank, gamma: Share = 0.5, beta: NotNegative = 1.0, norm: Norm = "min"
) -> Floats:
    """The weighted mean of subtopic recall and DIN-Q.

    >>> qrels = {"q": {"a": {"1": 1}, "b": {"1": 1}, "c": {"2": 1}}}
    >>> run, types = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"1": "nav"}}
    >>> float(cf.evaluate(cf.Collection(qrels, types=types), run, "DINsharp_Q@2"))
    0.5
    """
    value = informational_and_navigational_q_measure(b, k=k, beta=beta, norm=norm)
    return gamma * subtopic_recall(b, k=k) + (1 - gamma) * value


@blended_by_subtopic(
    "PplusQ", cite="sakai2012", formula="P+Q@k = Σ_{i inf} p_i Q_i@k (norm='min') + Σ_{j nav} p_j P+_j@k"
)
def p_plus_and_q_measure(b: Batch, *, k: Rank, beta: NotNegative = 1.0) -> Floats:
    """The mean over subtopics of Q for informational intents and of P+ for navigational ones.

    If a tie crosses rank k, the expectation of P+ is exact for up to 100,000 possibilities of an intent.

    >>> qrels = {"q": {"a": {"1": 1}, "b": {"1": 1}, "c": {"2": 1}}}
    >>> run = {"q": {"a": 2.0, "c": 1.0}}
    >>> round(float(cf.evaluate(cf.Collection(qrels, types={"q": {"1": "nav"}}), run, "PplusQ@2")), 6)
    0.833333
    """
    from cranfield.measures.ties.over_orders import over_cuts

    total = np.zeros(len(b.length))
    for subtopic, weight, navigational in each_subtopic(b):
        value = q_measure(subtopic, k=k, beta=beta, norm="min")
        if navigational.any():
            # Expectation is linear, and for a single intent documents of equal gain are interchangeable.
            anonymous = subtopic.changed(subtopic_count=None, reading=None)
            plus = over_cuts(lambda rows: Estimate(p_plus(rows, k=k, beta=beta)), anonymous, k=k).value
            value = np.where(navigational, plus, value)
        total += weight * np.nan_to_num(value)
    return ratio(total, subtopic_count(b))


@blended_by_subtopic("PplusQsharp", cite="sakai2012", formula="P+Q#@k = γ StRecall@k + (1-γ) P+Q@k")
def p_plus_and_q_measure_and_intent_recall(b: Batch, *, k: Rank, gamma: Share = 0.5, beta: NotNegative = 1.0) -> Floats:
    """The weighted mean of subtopic recall and P+Q.

    >>> qrels = {"q": {"a": {"1": 1}, "b": {"1": 1}, "c": {"2": 1}}}
    >>> run = {"q": {"a": 2.0, "b": 1.0}}
    >>> float(cf.evaluate(cf.Collection(qrels, types={"q": {"1": "nav"}}), run, "PplusQsharp@2"))
    0.5
    """
    return gamma * subtopic_recall(b, k=k) + (1 - gamma) * p_plus_and_q_measure(b, k=k, beta=beta)


def _stop_probability(subtopic: Batch, gain: Floats) -> Floats:
    """The stopping probability at documents with these gains: gain / (highest judged gain of the intent + 1)."""
    return gain / (subtopic.ideal[:, :1] + 1)


@graded_by_subtopic(
    "IA_ERR",
    cite="sakai2011 chapelle2009 agrawal2009",
    formula="IA-ERR@k = Σ_i p_i ERR_i@k,  ERR_i with q = g_i / (highest g_i of the judgments + 1)",
)
def intentwise_expected_reciprocal_rank(b: Batch, *, k: Rank) -> Floats:
    """The mean of ERR over subtopics, as in NTCIREVAL.

    Each intent has its own highest grade. `ERR_IA` is the form of ndeval.

    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 3}}}
    >>> float(cf.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, "IA_ERR@1"))
    0.375
    """
    return over_subtopics(b, lambda subtopic: cascade_score(subtopic, _stop_probability(subtopic, subtopic.gain), k))


@graded_by_subtopic(
    "IA_nERR",
    cite="sakai2011 chapelle2009 agrawal2009",
    formula="IA-nERR@k = Σ_i p_i nERR_i@k,  nERR_i with q = g_i / (highest g_i of the judgments + 1)",
)
def intentwise_normalised_expected_reciprocal_rank(b: Batch, *, k: Rank) -> Floats:
    """The mean of nERR over subtopics, as in NTCIREVAL.

    Each intent has its own highest grade. `nERR_IA` is the form of ndeval.

    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 3}}}
    >>> round(float(cf.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, "IA_nERR@1")), 6)
    0.666667
    """

    def normalised(subtopic: Batch) -> Floats:
        score = cascade_score(subtopic, _stop_probability(subtopic, subtopic.gain), k)
        return ratio(score, ideal_cascade(_stop_probability(subtopic, subtopic.ideal), k))

    return over_subtopics(b, normalised)
