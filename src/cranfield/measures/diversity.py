"""Diversity: an ambiguous query has subtopics, and readers differ in which of them they want.

J_i(r) says whether the document at rank r is relevant to subtopic i, g_i(r) how much it gains there, C_i(r) how many
above it are relevant to i. M is the number of subtopics with a relevant document, and p_i the share of readers who
want subtopic i: 1/M, unless intents are given. Undefined where no document is relevant to anything.

An intent is informational (inf) unless types of intents say that it is navigational (nav): then its readers need one
document, and have no use for a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np

from cranfield.data import Booleans, Floats
from cranfield.measures.average_precision import NotNegative, average_precision, q_measure
from cranfield.measures.cascade import aspects, ideal_novelty, novelty, of_queries, perfect_novelty
from cranfield.measures.catalogue import Positive, Probability, Rank, Share, measure
from cranfield.measures.gain import NO_BASE, Base, Discount, dcg, ideal_dcg
from cranfield.measures.ntcireval import mean_weights, p_plus
from cranfield.measures.precision import hits, success
from cranfield.measures.ratio import ratio
from cranfield.measures.ties.estimate import Estimate
from cranfield.measures.ties.strategies import OverOrders
from cranfield.measures.user_model import cascade_of, ideal_cascade
from cranfield.measures.weights import harmonic, log_discount
from cranfield.ranking.batch import Batch, Weights
from cranfield.ranking.row_math import running, summed

Ideal = Literal["greedy", "exact"]
Norm = Literal["min", "R"]

LOG = log_discount("log2", 2)
inf = float("inf")


def power(beta: float) -> Weights:
    """Rank i is worth β^(i-1)."""
    return Weights(
        lambda n: (1 - np.power(beta, n.astype(np.float64))) / (1 - beta),
        lambda rank: np.power(beta, rank.astype(np.float64) - 1),
    )


def subtopics(b: Batch) -> Floats:
    """M of every query."""
    return of_queries(b, aspects(b).many)


def pools(b: Batch) -> Floats:
    """The gains of all that is judged for each query, (query, judged document, subtopic)."""
    assert b.subtopics is not None
    begin = b.subtopics.judgments.begin
    judged = np.where(b.query < 0, 0, np.diff(begin)[b.query])
    place = np.arange(max(int(judged.max(initial=0)), 1))
    return aspects(b).gain[np.where(place < judged[:, None], begin[b.query][:, None] + place, -1)]


def for_pool(b: Batch, gain: Floats, pool: Floats) -> Batch:
    """The batch with other gains, those of its documents and those of all that is judged."""
    ideal = -np.sort(-pool, axis=1)
    return b.changed(gain=gain, ideal=ideal, R=(ideal > 0).sum(axis=1).astype(np.float64), mass=summed(ideal))


def each_subtopic(b: Batch) -> Iterator[tuple[Batch, Floats, Booleans]]:
    """For every subtopic the batch in its gains, M times the share of readers who want it, and who of them need one."""
    seen = aspects(b)
    gains, ideals = (np.moveaxis(x, 2, 0) for x in (seen.gain[b.document], pools(b)))
    weights, types = of_queries(b, seen.weight).T, of_queries(b, seen.navigational).T > 0
    for gain, pool, weight, navigational in zip(gains, ideals, weights, types, strict=True):
        yield for_pool(b, gain, pool), weight, navigational


def over_subtopics(b: Batch, score: Callable[[Batch], Floats], *, alike: bool = False) -> Floats:
    """The mean over subtopics of a measure of the documents relevant to one, weighted by how many readers want it."""
    total = np.zeros(len(b.length))
    for one, weight, _ in each_subtopic(b):
        total += (np.sign(weight) if alike else weight) * np.nan_to_num(score(one))
    return ratio(total, subtopics(b))


def global_gain(b: Batch) -> Batch:
    """The batch in which a document gains Σ_i p_i g_i, times M."""
    weights = of_queries(b, aspects(b).weight)[:, None, :]
    # One after the other: how many subtopics other queries have does not move a last bit.
    gain, pool = (np.cumsum(gains * weights, axis=2)[..., -1] for gains in (aspects(b).gain[b.document], pools(b)))
    return for_pool(b, gain, pool)


@measure(
    "alpha_DCG",
    cite="clarke2008 clarke2011",
    formula="α-DCG@k = Σ_{r≤k} D(r) Σ_i p_i J_i(r) (1-α)^{C_i(r)} / Σ_{r≤k} D(r) (1-α)^{r-1}",
    subtopics=True,
)
def alpha_discounted_cumulated_gain(b: Batch, *, k: Rank | None = None, alpha: Share = 0.5) -> Floats:
    """Discounted gain in which every further document about a subtopic is worth less, scaled as ndeval does.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> cf.evaluate(qrels, {"q": {"b": 2.0, "a": 1.0}}, "alpha_DCG@1").summary(0, 0)
    0.5
    """
    return ratio(novelty(b, alpha, LOG, k), subtopics(b) * perfect_novelty(b, alpha, LOG, k))


@measure(
    "alpha_nDCG",
    cite="clarke2008 clarke2011",
    formula="α-nDCG@k = raw α-DCG@k / that of the best order, found greedily",
    bounds=(0, inf),
    subtopics=True,
)
def alpha_normalised_discounted_cumulated_gain(
    b: Batch, *, k: Rank | None = None, alpha: Share = 0.5, ideal: Ideal = "greedy"
) -> Floats:
    """How much of the best possible diverse gain the ranking reaches.

    The greedy ideal can be beaten, so that scores above 1 are possible; ``ideal='exact'`` rules that out.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> cf.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, "alpha_nDCG@2").summary(0, 0)
    1.0
    """
    return ratio(novelty(b, alpha, LOG, k), ideal_novelty(b, alpha, LOG, k, ideal))


@measure(
    "ERR_IA",
    cite="chapelle2011 clarke2011",
    formula="ERR-IA@k = Σ_{r≤k} (1/r) Σ_i p_i J_i(r) (1-α)^{C_i(r)} / Σ_{r≤k} (1/r) (1-α)^{r-1}",
    subtopics=True,
    unused_when=(("alpha", "norm", "paper"), ("max", "norm", "ndeval")),
)
def intent_aware_expected_reciprocal_rank(
    b: Batch,
    *,
    k: Rank | None = None,
    alpha: Share = 0.5,
    norm: Literal["ndeval", "paper"] = "ndeval",
    max: Positive | None = None,
) -> Floats:
    """One over the rank at which a reader is satisfied, for readers who want one subtopic each.

    ``norm='paper'`` is the mean of ERR over subtopics: R = (2^grade - 1) / 2^max, not scaled further,
    and without alpha; ``max`` is for it alone.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> cf.evaluate(qrels, {"q": {"b": 2.0, "a": 1.0}}, "ERR_IA@1").summary(0, 0)
    0.5
    """
    if norm == "ndeval":
        return ratio(novelty(b, alpha, harmonic, k), subtopics(b) * perfect_novelty(b, alpha, harmonic, k))
    seen = aspects(b)
    assert b.subtopics is not None
    top = np.exp2(b.subtopics.top if max is None else max)
    stop = np.minimum((np.exp2(seen.grade[b.document]) - 1) / top, 1)
    weights = of_queries(b, seen.weight)
    total = np.zeros(len(b.length))
    for chance, weight in zip(np.moveaxis(stop, 2, 0), weights.T, strict=True):
        total += weight * cascade_of(b, chance, k)
    return ratio(total, subtopics(b))


@measure(
    "nERR_IA",
    cite="chapelle2011 clarke2011",
    formula="nERR-IA@k = raw ERR-IA@k / that of the best order, found greedily",
    bounds=(0, inf),
    subtopics=True,
)
def normalised_intent_aware_expected_reciprocal_rank(
    b: Batch, *, k: Rank | None = None, alpha: Share = 0.5, ideal: Ideal = "greedy"
) -> Floats:
    """ERR-IA relative to the best that these documents allow.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> cf.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, "nERR_IA@2").summary(0, 0)
    1.0
    """
    return ratio(novelty(b, alpha, harmonic, k), ideal_novelty(b, alpha, harmonic, k, ideal))


@measure(
    "NRBP",
    cite="clarke2009 clarke2011",
    formula="NRBP = (1 - (1-α)β) Σ_r β^{r-1} Σ_i p_i J_i(r) (1-α)^{C_i(r)}",
    subtopics=True,
)
def novelty_and_rank_biased_precision(
    b: Batch,
    *,
    k: Rank | None = None,
    alpha: Share = 0.5,
    beta: Probability = 0.5,
) -> Floats:
    """The novel gain per document of a reader who goes on with probability β.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> cf.evaluate(qrels, {"q": {"b": 2.0, "a": 1.0}}, "NRBP").summary(0, 0)
    0.65625
    """
    return ratio((1 - (1 - alpha) * beta) * novelty(b, alpha, power(beta), k), subtopics(b))


@measure(
    "nNRBP",
    cite="clarke2009 clarke2011",
    formula="nNRBP = NRBP / that of the best order, found greedily",
    bounds=(0, inf),
    subtopics=True,
)
def normalised_novelty_and_rank_biased_precision(
    b: Batch,
    *,
    k: Rank | None = None,
    alpha: Share = 0.5,
    beta: Probability = 0.5,
    ideal: Ideal = "greedy",
) -> Floats:
    """NRBP relative to the best that these documents allow.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> cf.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, "nNRBP").summary(0, 0)
    1.0
    """
    return ratio(novelty(b, alpha, power(beta), k), ideal_novelty(b, alpha, power(beta), k, ideal))


@measure(
    "AP_IA",
    cite="agrawal2009",
    formula="AP-IA = Σ_i p_i AP_i",
    subtopics=True,
)
def intent_aware_average_precision(b: Batch, *, k: Rank | None = None) -> Floats:
    """The mean over subtopics of average precision.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> cf.evaluate(qrels, {"q": {"b": 2.0, "a": 1.0}}, "AP_IA").summary(0, 0)
    0.75
    """
    return over_subtopics(b, lambda one: average_precision(one, k=k))


@measure(
    "P_IA",
    cite="agrawal2009",
    formula="P-IA@k = Σ_i p_i P_i@k",
    subtopics=True,
)
def intent_aware_precision(b: Batch, *, k: Rank) -> Floats:
    """The mean over subtopics of the share of relevant documents among the first k.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> cf.evaluate(qrels, {"q": {"b": 2.0, "a": 1.0}}, "P_IA@2").summary(0, 0)
    0.75
    """
    return over_subtopics(b, lambda one: hits(one, k) / k)


@measure(
    "StRecall",
    cite="zhai2003 sakai2011",
    formula="StRecall@k = subtopics covered by the first k / M",
    subtopics=True,
)
def subtopic_recall(b: Batch, *, k: Rank) -> Floats:
    """The share of subtopics that the first k documents cover.

    Also known as intent recall, `I-rec`. All subtopics count alike, whatever the weights of intents.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> cf.evaluate(qrels, {"q": {"b": 2.0, "a": 1.0}}, "StRecall@1").summary(0, 0)
    0.5
    """
    return over_subtopics(b, lambda one: success(one, k=k), alike=True)


@measure(
    "nDCG_IA",
    cite="agrawal2009",
    formula="nDCG-IA@k = Σ_i p_i nDCG_i@k",
    gains="graded",
    subtopics=True,
    unused_when=NO_BASE,
)
def intent_aware_normalised_discounted_cumulated_gain(
    b: Batch, *, k: Rank | None = None, discount: Discount = "log2", base: Base = 2.0
) -> Floats:
    """The mean over subtopics of the share of the best possible discounted gain.

    No one ranking is the best for every subtopic, so that few can reach 1.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 3}}}
    >>> round(cf.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, "nDCG_IA@1").summary(0, 0), 6)
    0.666667
    """
    return over_subtopics(b, lambda one: ratio(dcg(one, k, discount, base), ideal_dcg(one, k, discount, base)))


@measure(
    "D_nDCG",
    cite="sakai2011",
    formula="D-nDCG@k = Σ_{r≤k} D(r) Σ_i p_i g_i(r) / that of all judged documents in descending order of Σ_i p_i g_i",
    gains="graded",
    subtopics=True,
    unused_when=NO_BASE,
)
def diversified_normalised_discounted_cumulated_gain(
    b: Batch, *, k: Rank | None = None, discount: Discount = "log2", base: Base = 2.0
) -> Floats:
    """How much of the best possible discounted gain the ranking reaches, gains being summed over subtopics.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> cf.evaluate(qrels, {"q": {"b": 2.0, "a": 1.0}}, "D_nDCG@1").summary(0, 0)
    0.5
    """
    one = global_gain(b)
    return ratio(dcg(one, k, discount, base), ideal_dcg(one, k, discount, base))


@measure(
    "Dsharp_nDCG",
    cite="sakai2011",
    formula="D#-nDCG@k = γ StRecall@k + (1-γ) D-nDCG@k",
    gains="graded",
    subtopics=True,
    unused_when=NO_BASE,
)
def diversified_gain_and_intent_recall(
    b: Batch, *, k: Rank, gamma: Share = 0.5, discount: Discount = "log2", base: Base = 2.0
) -> Floats:
    """Overall gain and the share of subtopics covered, in one number: the D#-nDCG of NTCIR.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> cf.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, "Dsharp_nDCG@1").summary(0, 0)
    1.0
    """
    gain = diversified_normalised_discounted_cumulated_gain(b, k=k, discount=discount, base=base)
    return gamma * subtopic_recall(b, k=k) + (1 - gamma) * gain


def mean_gain(b: Batch) -> Batch:
    """The batch in which a document gains Σ_i p_i g_i."""
    one, many = global_gain(b), np.maximum(subtopics(b), 1)
    return one.changed(gain=one.gain / many[:, None], ideal=one.ideal / many[:, None], mass=one.mass / many)


@measure(
    "D_Q",
    cite="sakai2011 sakai2007",
    formula="D-Q@k = Q@k with gains Σ_i p_i g_i, divided by min(k, R)   (norm='R': by R)",
    gains="graded",
    rewards_promotion=False,
    subtopics=True,
)
def diversified_q_measure(b: Batch, *, k: Rank, beta: NotNegative = 1.0, norm: Norm = "min") -> Floats:
    """Average precision blended with gain, gains being summed over subtopics.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> cf.evaluate(qrels, {"q": {"b": 2.0, "a": 1.0}}, "D_Q@1").summary(0, 0)
    0.75
    """
    return q_measure(mean_gain(b), k=k, beta=beta, norm=norm)


@measure(
    "Dsharp_Q",
    cite="sakai2011 sakai2007",
    formula="D#-Q@k = γ StRecall@k + (1-γ) D-Q@k",
    gains="graded",
    rewards_promotion=False,
    subtopics=True,
)
def diversified_q_and_intent_recall(
    b: Batch, *, k: Rank, gamma: Share = 0.5, beta: NotNegative = 1.0, norm: Norm = "min"
) -> Floats:
    """D-Q and the share of subtopics covered, in one number: the D#-Q of NTCIR.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> cf.evaluate(qrels, {"q": {"b": 2.0, "a": 1.0}}, "Dsharp_Q@1").summary(0, 0)
    0.625
    """
    return gamma * subtopic_recall(b, k=k) + (1 - gamma) * diversified_q_measure(b, k=k, beta=beta, norm=norm)


def useful_dcg(b: Batch, k: int, discount: Weights) -> Floats:
    """M Σ_{r≤k} D(r) N(r), expected over ties; see `useful_gain`."""
    total = np.zeros(len(b.length))
    for one, weight, navigational in each_subtopic(b):
        every = one.gained(discount, k)
        # Any of the relevant documents of the first tie that has some may be the first.
        first = one.relevant & (running(one.relevant) == 1)
        gain = one.within(one.gain) / np.maximum(one.within(one.relevant), 1)
        at = mean_weights(one, first, lambda row, rank: discount.at(rank), k)
        total += weight * np.where(navigational, summed(np.where(first, gain * at, 0)), every)
    return total


def useful_gain(b: Batch) -> Batch:
    """`mean_gain` less what documents would gain for navigational intents met above; of rankings without ties.

    N(r) = Σ_{i inf} p_i g_i(r) + Σ_{j nav} p_j g_j(r) [no document above r is relevant to j]. The ideal knows no types.
    """
    total = np.zeros(b.start.shape)
    for one, weight, navigational in each_subtopic(b):
        again = navigational[:, None] & (one.above(one.relevant) > 0)
        total += weight[:, None] * np.where(again, 0, one.gain)
    return mean_gain(b).changed(gain=total / np.maximum(subtopics(b), 1)[:, None])


@measure(
    "DIN_nDCG",
    cite="sakai2012",
    formula="DIN-nDCG@k = Σ_{r≤k} D(r) N(r) / that of D-nDCG@k,  "
    "N(r) = Σ_{i inf} p_i g_i(r) + Σ_{j nav} p_j g_j(r) [no document above r is relevant to j]",
    gains="graded",
    rewards_promotion=False,
    subtopics=True,
    unused_when=NO_BASE,
)
def informational_and_navigational_gain(b: Batch, *, k: Rank, discount: Discount = "log2", base: Base = 2.0) -> Floats:
    """D-nDCG in which a second document for a navigational intent gains nothing.

    The ideal is that of D-nDCG, as in NTCIREVAL: where it has two documents for one navigational intent, 1 is out of
    reach. Without types of intents it is D-nDCG.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1}, "b": {"1": 1}, "c": {"2": 1}}}
    >>> run, types = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"1": "nav"}}
    >>> round(cf.evaluate(qrels, run, "DIN_nDCG@2", types=types).summary(0, 0), 6)
    0.613147
    """
    weights = log_discount(discount, base)
    return ratio(useful_dcg(b, k, weights), ideal_dcg(global_gain(b), k, discount, base))


@measure(
    "DINsharp_nDCG",
    cite="sakai2012",
    formula="DIN#-nDCG@k = γ StRecall@k + (1-γ) DIN-nDCG@k",
    gains="graded",
    rewards_promotion=False,
    subtopics=True,
    unused_when=NO_BASE,
)
def informational_and_navigational_gain_and_intent_recall(
    b: Batch, *, k: Rank, gamma: Share = 0.5, discount: Discount = "log2", base: Base = 2.0
) -> Floats:
    """DIN-nDCG and the share of subtopics covered, in one number.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1}, "b": {"1": 1}, "c": {"2": 1}}}
    >>> run, types = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"1": "nav"}}
    >>> round(cf.evaluate(qrels, run, "DINsharp_nDCG@2", types=types).summary(0, 0), 6)
    0.556574
    """
    gain = informational_and_navigational_gain(b, k=k, discount=discount, base=base)
    return gamma * subtopic_recall(b, k=k) + (1 - gamma) * gain


def _gain_within(b: Batch, *, k: int, **_: object) -> Floats:
    """The gain of each document for any subtopic, 0 for documents that cannot be among the first k."""
    return np.where(b.start < k, aspects(b).gain[b.document].max(axis=2), 0)


@measure(
    "DIN_Q",
    cite="sakai2012",
    formula="DIN-Q@k = Σ_{r≤k} [N(r) > 0] (β cg_N(r) + count_N(r)) / (β cg_ideal(r) + r) / min(k, R)   "
    "(norm='R': / R),  N(r) as in DIN_nDCG, cg_ideal and R as in D_Q",
    gains="graded",
    ties=OverOrders(affects_score=_gain_within),
    rewards_promotion=False,
    subtopics=True,
)
def informational_and_navigational_q_measure(
    b: Batch, *, k: Rank, beta: NotNegative = 1.0, norm: Norm = "min"
) -> Floats:
    """D-Q in which a second document for a navigational intent gains nothing, and may not count at all.

    Without types of intents it is D-Q.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1}, "b": {"1": 1}, "c": {"2": 1}}}
    >>> run, types = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"1": "nav"}}
    >>> cf.evaluate(qrels, run, "DIN_Q@2", types=types).summary(0, 0)
    0.5
    """
    return q_measure(useful_gain(b), k=k, beta=beta, norm=norm)


@measure(
    "DINsharp_Q",
    cite="sakai2012",
    formula="DIN#-Q@k = γ StRecall@k + (1-γ) DIN-Q@k",
    gains="graded",
    ties=OverOrders(affects_score=_gain_within),
    rewards_promotion=False,
    subtopics=True,
)
def informational_and_navigational_q_and_intent_recall(
    b: Batch, *, k: Rank, gamma: Share = 0.5, beta: NotNegative = 1.0, norm: Norm = "min"
) -> Floats:
    """DIN-Q and the share of subtopics covered, in one number.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1}, "b": {"1": 1}, "c": {"2": 1}}}
    >>> run, types = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"1": "nav"}}
    >>> cf.evaluate(qrels, run, "DINsharp_Q@2", types=types).summary(0, 0)
    0.5
    """
    value = informational_and_navigational_q_measure(b, k=k, beta=beta, norm=norm)
    return gamma * subtopic_recall(b, k=k) + (1 - gamma) * value


@measure(
    "PplusQ",
    cite="sakai2012",
    formula="P+Q@k = Σ_{i inf} p_i Q_i@k (norm='min') + Σ_{j nav} p_j P+_j@k",
    gains="graded",
    rewards_promotion=False,
    subtopics=True,
)
def p_plus_and_q_measure(b: Batch, *, k: Rank, beta: NotNegative = 1.0) -> Floats:
    """The mean over subtopics of Q for informational intents, and of P+ for navigational ones.

    Where a tie goes across rank k, the expectation of P+ is exact for up to 100,000 possibilities of an intent.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1}, "b": {"1": 1}, "c": {"2": 1}}}
    >>> run = {"q": {"a": 2.0, "c": 1.0}}
    >>> round(cf.evaluate(qrels, run, "PplusQ@2", types={"q": {"1": "nav"}}).summary(0, 0), 6)
    0.833333
    """
    from cranfield.measures.ties.over_cuts import over_cuts

    total = np.zeros(len(b.length))
    for one, weight, navigational in each_subtopic(b):
        value = q_measure(one, k=k, beta=beta, norm="min")
        if navigational.any():
            # The mean of a sum is the sum of means, and for one intent documents of equal gain are interchangeable.
            anonymous = one.changed(subtopics=None, reading=None)
            plus = over_cuts(lambda rows: Estimate(p_plus(rows, k=k, beta=beta)), anonymous, k=k).value
            value = np.where(navigational, plus, value)
        total += weight * np.nan_to_num(value)
    return ratio(total, subtopics(b))


@measure(
    "PplusQsharp",
    cite="sakai2012",
    formula="P+Q#@k = γ StRecall@k + (1-γ) P+Q@k",
    gains="graded",
    rewards_promotion=False,
    subtopics=True,
)
def p_plus_and_q_measure_and_intent_recall(b: Batch, *, k: Rank, gamma: Share = 0.5, beta: NotNegative = 1.0) -> Floats:
    """P+Q and the share of subtopics covered, in one number.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1}, "b": {"1": 1}, "c": {"2": 1}}}
    >>> run = {"q": {"a": 2.0, "b": 1.0}}
    >>> cf.evaluate(qrels, run, "PplusQsharp@2", types={"q": {"1": "nav"}}).summary(0, 0)
    0.5
    """
    return gamma * subtopic_recall(b, k=k) + (1 - gamma) * p_plus_and_q_measure(b, k=k, beta=beta)


def _own_stop_chance(one: Batch, gain: Floats) -> Floats:
    """The chance to stop at documents with these gains, by the highest gain that the judgments have for this intent."""
    return gain / (one.ideal[:, :1] + 1)


@measure(
    "IA_ERR",
    cite="sakai2011 chapelle2009 agrawal2009",
    formula="IA-ERR@k = Σ_i p_i ERR_i@k,  ERR_i with q = g_i / (highest g_i of the judgments + 1)",
    gains="graded",
    subtopics=True,
)
def intentwise_expected_reciprocal_rank(b: Batch, *, k: Rank) -> Floats:
    """The mean over subtopics of one over the rank at which a reader is satisfied, as NTCIREVAL has it.

    Each intent has its own top grade. `ERR_IA` is ndeval's form.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 3}}}
    >>> cf.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, "IA_ERR@1").summary(0, 0)
    0.375
    """
    return over_subtopics(b, lambda one: cascade_of(one, _own_stop_chance(one, one.gain), k))


@measure(
    "IA_nERR",
    cite="sakai2011 chapelle2009 agrawal2009",
    formula="IA-nERR@k = Σ_i p_i nERR_i@k,  nERR_i with q = g_i / (highest g_i of the judgments + 1)",
    gains="graded",
    subtopics=True,
)
def intentwise_normalised_expected_reciprocal_rank(b: Batch, *, k: Rank) -> Floats:
    """The mean over subtopics of the share of the best possible expected reciprocal rank, as NTCIREVAL has it.

    Each intent has its own top grade. `nERR_IA` is ndeval's form.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 3}}}
    >>> round(cf.evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, "IA_nERR@1").summary(0, 0), 6)
    0.666667
    """

    def normalised(one: Batch) -> Floats:
        reached = cascade_of(one, _own_stop_chance(one, one.gain), k)
        return ratio(reached, ideal_cascade(_own_stop_chance(one, one.ideal), k))

    return over_subtopics(b, normalised)
