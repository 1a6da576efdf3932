"""Diversity: an ambiguous query has subtopics, and a document about one that was covered before is worth less.

J_i(r) says whether the document at rank r is relevant to subtopic i, C_i(r) how many above it are, M is the number of
subtopics with a relevant document. All but the last three weigh a document by (1-α)^C for each of its subtopics.
Undefined where no document is relevant to anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np

from cranfield.batch import Batch, Weights
from cranfield.data import Floats
from cranfield.measures.average_precision import average_precision
from cranfield.measures.cascade import survival
from cranfield.measures.catalogue import Positive, Probability, Range, Rank, Share, measure
from cranfield.measures.precision import hits, success
from cranfield.measures.ratio import ratio
from cranfield.measures.user_model import cascade_of
from cranfield.measures.weights import harmonic, log_discount

Level = Annotated[float, Range(0, closed="(]")]
Ideal = Literal["greedy", "exact"]

LOG = log_discount("log2", 2)
inf = float("inf")


def power(beta: float) -> Weights:
    """Rank i is worth β^(i-1)."""
    return Weights(
        lambda n: (1 - np.power(beta, n.astype(np.float64))) / (1 - beta),
        lambda rank: np.power(beta, rank.astype(np.float64) - 1),
    )


def about(b: Batch, rel: float) -> tuple[Floats, Floats]:
    """Grades by (query, document, subtopic), 0 where not relevant; and M, the number of subtopics."""
    assert b.subtopics is not None  # `scored` refuses judgments without
    table, many = b.subtopics.grades(rel)
    return table[b.document], np.where(b.query < 0, 0, many[b.query]).astype(np.float64)


def cascade(b: Batch, rel: float, alpha: float, discount: Weights, k: int | None) -> Floats:
    """Σ_r δ(r) Σ_i J_i(r) (1-α)^C_i(r), expected over ties."""
    relevant = about(b, rel)[0] > 0
    total = np.zeros(len(b.length))
    m, weight = b.seen(k), b.mean_over(discount, k)
    for subtopic in np.moveaxis(relevant, 2, 0):
        reached = (1 - alpha) ** b.above(subtopic)
        inside = b.within(subtopic)
        total += np.where(subtopic & (inside == 1), reached * weight, 0).sum(axis=1)
        # Several in one tie: at slot x each has been preceded by some of the r-1 others among the n-1 of the tie.
        q, j = np.nonzero(subtopic & (inside > 1) & (m > 0))
        if len(q):
            r = inside[q, j].astype(np.int64)
            keep = np.where(np.arange(r.max() - 1)[::-1] < (r - 1)[:, None], 1 - alpha, 1.0)
            left = survival(b.size[q, j] - 1, keep, int(m[q, j].max()) - 1)
            x = np.arange(left.shape[1])
            start = b.start[q, j][:, None]
            step = discount.at(start + x + 1)
            value = np.where(x < m[q, j][:, None], step * left, 0).sum(axis=1) / b.size[q, j]
            total += np.bincount(q, reached[q, j] * value, len(total))
    return total


def ideal_cascade(b: Batch, rel: float, alpha: float, discount: Weights, k: int | None, ideal: str) -> Floats:
    """The same for the best order of all relevant documents."""
    assert b.subtopics is not None
    queries, row = np.unique(b.query, return_inverse=True)
    value = np.zeros(len(queries))
    grades = b.subtopics.grades(rel)[0]
    for i, query in enumerate(queries.tolist()):
        if query < 0:
            continue
        order = b.subtopics.order(query, alpha, rel, ideal)[:k]
        seen = (grades[order] > 0).astype(np.float64)
        gain = (seen * (1 - alpha) ** (np.cumsum(seen, axis=0) - seen)).sum(axis=1)
        ranks = np.arange(len(order))
        value[i] = gain @ discount.at(ranks + 1)
    return value[row]


def perfect(b: Batch, alpha: float, discount: Weights, k: int | None) -> Floats:
    """What each subtopic would gain from documents every one of which is about all of them."""
    ends = b.length if k is None else np.full_like(b.length, k)
    ranks = np.arange(int(ends.max(initial=0)))
    gain = (1 - alpha) ** ranks.astype(np.float64) * discount.at(ranks + 1)
    return np.concatenate([[0], np.cumsum(gain)])[ends]


@measure(
    "alpha_DCG",
    cite="clarke2008",
    formula="α-DCG@k = Σ_{r≤k} D(r) Σ_i J_i(r) (1-α)^{C_i(r)} / (M Σ_{r≤k} D(r) (1-α)^{r-1})",
    subtopics=True,
)
def alpha_discounted_cumulated_gain(b: Batch, *, k: Rank | None = None, alpha: Share = 0.5, rel: Level = 1.0) -> Floats:
    """Discounted gain in which every further document about a subtopic is worth less, scaled as ndeval does.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> cf.evaluate({"q": {"b": 2.0, "a": 1.0}}, qrels, "alpha_DCG@1").summary(0, 0)
    0.5
    """
    scale = about(b, rel)[1] * perfect(b, alpha, LOG, k)
    return ratio(cascade(b, rel, alpha, LOG, k), scale)


@measure(
    "alpha_nDCG",
    cite="clarke2008",
    formula="α-nDCG@k = raw α-DCG@k / that of the best order, found greedily",
    bounds=(0, inf),
    subtopics=True,
)
def alpha_normalised_discounted_cumulated_gain(
    b: Batch, *, k: Rank | None = None, alpha: Share = 0.5, ideal: Ideal = "greedy", rel: Level = 1.0
) -> Floats:
    """How much of the best possible diverse gain the ranking reaches.

    The greedy ideal can be beaten, so that scores above 1 are possible; ``ideal='exact'`` rules that out.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> cf.evaluate({"q": {"a": 2.0, "b": 1.0}}, qrels, "alpha_nDCG@2").summary(0, 0)
    1.0
    """
    return ratio(cascade(b, rel, alpha, LOG, k), ideal_cascade(b, rel, alpha, LOG, k, ideal))


@measure(
    "ERR_IA",
    cite="chapelle2011",
    formula="ERR-IA@k = Σ_{r≤k} (1/r) Σ_i J_i(r) (1-α)^{C_i(r)} / (M Σ_{r≤k} (1/r) (1-α)^{r-1})",
    subtopics=True,
)
def intent_aware_expected_reciprocal_rank(
    b: Batch,
    *,
    k: Rank | None = None,
    alpha: Share = 0.5,
    norm: Literal["ndeval", "paper"] = "ndeval",
    max: Positive | None = None,
    rel: Level = 1.0,
) -> Floats:
    """One over the rank at which a reader is satisfied, for readers interested in each subtopic alike.

    ``norm='paper'`` is the mean of ERR over subtopics, graded by (2^grade - 1) / 2^max, not scaled further.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> cf.evaluate({"q": {"b": 2.0, "a": 1.0}}, qrels, "ERR_IA@1").summary(0, 0)
    0.5
    """
    grades, many = about(b, rel)
    assert b.subtopics is not None
    if norm == "ndeval":
        return ratio(cascade(b, rel, alpha, harmonic, k), many * perfect(b, alpha, harmonic, k))
    top = np.exp2(b.subtopics.grades(rel)[0].max(initial=1) if max is None else max)
    stop = np.minimum((np.exp2(grades) - 1) / top, 1)
    return ratio(sum((cascade_of(b, s, k) for s in np.moveaxis(stop, 2, 0)), np.zeros(len(many))), many)


@measure(
    "nERR_IA",
    cite="chapelle2011",
    formula="nERR-IA@k = raw ERR-IA@k / that of the best order, found greedily",
    bounds=(0, inf),
    subtopics=True,
)
def normalised_intent_aware_expected_reciprocal_rank(
    b: Batch, *, k: Rank | None = None, alpha: Share = 0.5, ideal: Ideal = "greedy", rel: Level = 1.0
) -> Floats:
    """ERR-IA relative to the best that these documents allow.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> cf.evaluate({"q": {"a": 2.0, "b": 1.0}}, qrels, "nERR_IA@2").summary(0, 0)
    1.0
    """
    return ratio(cascade(b, rel, alpha, harmonic, k), ideal_cascade(b, rel, alpha, harmonic, k, ideal))


@measure(
    "NRBP",
    cite="clarke2009",
    formula="NRBP = (1 - (1-α)β) / M Σ_r β^{r-1} Σ_i J_i(r) (1-α)^{C_i(r)}",
    subtopics=True,
)
def novelty_and_rank_biased_precision(
    b: Batch,
    *,
    k: Rank | None = None,
    alpha: Share = 0.5,
    beta: Probability = 0.5,
    rel: Level = 1.0,
) -> Floats:
    """The novel gain per document of a reader who goes on with probability β.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> cf.evaluate({"q": {"b": 2.0, "a": 1.0}}, qrels, "NRBP").summary(0, 0)
    0.65625
    """
    return ratio((1 - (1 - alpha) * beta) * cascade(b, rel, alpha, power(beta), k), about(b, rel)[1])


@measure(
    "nNRBP",
    cite="clarke2009",
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
    rel: Level = 1.0,
) -> Floats:
    """NRBP relative to the best that these documents allow.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> cf.evaluate({"q": {"a": 2.0, "b": 1.0}}, qrels, "nNRBP").summary(0, 0)
    1.0
    """
    return ratio(cascade(b, rel, alpha, power(beta), k), ideal_cascade(b, rel, alpha, power(beta), k, ideal))


def over_subtopics(b: Batch, rel: float, score: Callable[[Batch], Floats]) -> Floats:
    """The mean over subtopics of a measure of documents that are relevant to one or not."""
    grades, many = about(b, rel)
    assert b.subtopics is not None
    table, begin = b.subtopics.grades(rel)[0] > 0, b.subtopics.judgments.begin
    totals = np.concatenate([np.zeros((1, table.shape[1])), np.cumsum(table, axis=0)])
    everything = np.where(b.query[:, None] < 0, 0, totals[begin[b.query + 1]] - totals[begin[b.query]])
    total = np.zeros(len(many))
    for s, subtopic in enumerate(np.moveaxis(grades > 0, 2, 0)):
        found = everything[:, s]
        one = replace(b, gain=subtopic.astype(np.float64), R=found, mass=found)
        total += np.nan_to_num(score(one))
    return ratio(total, many)


@measure(
    "AP_IA",
    cite="agrawal2009",
    formula="AP-IA = Σ_i AP_i / M",
    subtopics=True,
)
def intent_aware_average_precision(b: Batch, *, k: Rank | None = None, rel: Level = 1.0) -> Floats:
    """The mean over subtopics of average precision.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> cf.evaluate({"q": {"b": 2.0, "a": 1.0}}, qrels, "AP_IA").summary(0, 0)
    0.75
    """
    return over_subtopics(b, rel, lambda one: average_precision(one, k=k))


@measure(
    "P_IA",
    cite="agrawal2009",
    formula="P-IA@k = Σ_i P_i@k / M",
    subtopics=True,
)
def intent_aware_precision(b: Batch, *, k: Rank, rel: Level = 1.0) -> Floats:
    """The mean over subtopics of the share of relevant documents among the first k.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> cf.evaluate({"q": {"b": 2.0, "a": 1.0}}, qrels, "P_IA@2").summary(0, 0)
    0.75
    """
    return over_subtopics(b, rel, lambda one: hits(one, k) / k)


@measure(
    "StRecall",
    cite="zhai2003",
    formula="StRecall@k = subtopics covered by the first k / M",
    subtopics=True,
)
def subtopic_recall(b: Batch, *, k: Rank, rel: Level = 1.0) -> Floats:
    """The share of subtopics that the first k documents cover.

    >>> import cranfield as cf
    >>> qrels = {"q": {"a": {"1": 1, "2": 1}, "b": {"2": 1}}}
    >>> cf.evaluate({"q": {"b": 2.0, "a": 1.0}}, qrels, "StRecall@1").summary(0, 0)
    0.5
    """
    return over_subtopics(b, rel, lambda one: success(one, k=k))
