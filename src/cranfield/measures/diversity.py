"""Diversity: an ambiguous query has subtopics, and readers differ in which of them they want.

J_i(r) says whether the document at rank r is relevant to subtopic i, g_i(r) how much it gains there, C_i(r) how many
above it are relevant to i. M is the number of subtopics with a relevant document, and p_i the share of readers who
want subtopic i: 1/M, unless intents are given. Undefined where no document is relevant to anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from cranfield.batch import Batch, Weights
from cranfield.data import Floats
from cranfield.measures.average_precision import average_precision
from cranfield.measures.cascade import aspects, ideal_novelty, novelty, of_queries, perfect_novelty
from cranfield.measures.catalogue import Positive, Probability, Rank, Share, measure
from cranfield.measures.gain import NO_BASE, Base, Discount, dcg, ideal_dcg
from cranfield.measures.precision import hits, success
from cranfield.measures.ratio import ratio
from cranfield.measures.user_model import cascade_of
from cranfield.measures.weights import harmonic, log_discount
from cranfield.rows import summed

Ideal = Literal["greedy", "exact"]

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
    place = np.arange(int(judged.max(initial=0)))
    return aspects(b).gain[np.where(place < judged[:, None], begin[b.query][:, None] + place, -1)]


def for_pool(b: Batch, gain: Floats, pool: Floats) -> Batch:
    """The batch with other gains, those of its documents and those of all that is judged."""
    ideal = -np.sort(-pool, axis=1)
    return b.changed(gain=gain, ideal=ideal, R=(ideal > 0).sum(axis=1).astype(np.float64), mass=summed(ideal))


def over_subtopics(b: Batch, score: Callable[[Batch], Floats], *, alike: bool = False) -> Floats:
    """The mean over subtopics of a measure of the documents relevant to one, weighted by how many readers want it."""
    seen = aspects(b)
    weights = of_queries(b, seen.weight)
    if alike:
        weights = np.sign(weights)
    total = np.zeros(len(b.length))
    for gain, pool, weight in zip(
        np.moveaxis(seen.gain[b.document], 2, 0), np.moveaxis(pools(b), 2, 0), weights.T, strict=True
    ):
        total += weight * np.nan_to_num(score(for_pool(b, gain, pool)))
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
