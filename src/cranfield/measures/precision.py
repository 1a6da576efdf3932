"""Precision and recall: the share of retrieved documents that are relevant, and of relevant ones retrieved."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.measures.catalogue import FIXED, TERMINAL, UNBOUNDED, UNORDERED, Positive, Rank, measure
from cranfield.measures.ties.strategies import OneOpenClosedForm, OverCuts
from cranfield.measures.weights import count, harmonic
from cranfield.ranking.batch import Batch, Documents, GainSums, after_first, ratio, running, summed
from cranfield.settings import Share

unbounded = partial(measure, bounds=(0, float("inf")), terminal=UNBOUNDED)
self_normalised = partial(measure, ties=OverCuts(), retrieved_only=True, rewards_promotion=False)
of_judged = partial(measure, rewards_promotion=False, uses_nonrelevant=True)
one_open = partial(measure, ties=OneOpenClosedForm())
of_top = partial(measure, terminal=FIXED, retrieved_only=True)
number = partial(measure, cite="buckley2005", bounds=(0, float("inf")), aggregate="sum", terminal=UNORDERED)


def hits(b: GainSums, k: Floats | int | None = None) -> Floats:
    """Expected gain of the first k documents; with gains of 0 and 1, the expected number of relevant ones."""
    if k is None or isinstance(k, int):
        return b.gained(count, k)
    return b.gained(count, k.astype(np.int64))


@measure("P", cite="cleverdon1966", formula="P@k = Σ_{i≤k} b_i / k", terminal=TERMINAL, linear=True)
def precision(b: GainSums, *, k: Rank) -> Floats:
    """The share of relevant documents among the first k.

    The divisor is always k, also for rankings shorter than k.

    The gain of the terminal document is repeated down to rank k, as RBP repeats it without end: a list of two of three
    relevant documents and nothing else has P@5 = (1 + 1 + 3 · 2/3) / 5 = 0.8. With a single terminal document it would
    be (1 + 1 + 2/3) / 5 = 0.533. Liu et al. (2016) do not say which they mean.

    >>> cf.parse("P@4")([1, 0, 1])
    0.5
    """
    return (hits(b, k) + b.tail * np.maximum(k - b.length, 0)) / k


def relevant_documents(b: GainSums, of: Documents) -> Floats:
    """R: the number of relevant documents in the judgments, or in the ranking only."""
    return b.R if of == "judged" else hits(b)


@measure("R", cite="cleverdon1966 mcsherry2008", formula="R@k = Σ_{i≤k} b_i / R")
def recall(b: GainSums, *, k: Rank, R: Documents = "judged") -> Floats:
    """The share of all relevant documents that are among the first k.

    Undefined if no document is relevant. ``R='retrieved'`` divides by the relevant documents in the ranking.

    >>> cf.parse("R@2")([1, 0, 1], missed=[1, 1])
    0.25
    """
    return ratio(hits(b, k), relevant_documents(b, R))


@measure("FullR", cite="asai2020", formula="FullR@k = 1 if Σ_{i≤k} b_i = R, else 0")
def full_recall(b: Batch, *, k: Rank | None = None) -> Floats:
    """1 if all relevant documents are among the first k, else 0; with ties, the probability of that.

    Undefined if no document is relevant. Without k, the whole ranking counts.

    >>> cf.parse("FullR@2")([1, 1, 0]), cf.parse("FullR@2")([1, 1, 0], missed=[1])
    (1.0, 0.0)
    >>> round(cf.parse("FullR@2[ties=expected]")([(1, 1, 0)]), 6)
    0.333333
    """
    # All m relevant documents of a tie of g are in its first s positions with probability C(g-m, s-m) / C(g, s), which
    # is a product with one factor for each of them.
    before = running(b.relevant) - b.relevant - b.above(b.relevant)
    inside = np.maximum(b.seen(k) - before, 0) / np.maximum(b.size - before, 1)
    retrieved = b.relevant.sum(axis=1) == b.R
    return np.where(b.R > 0, np.where(b.relevant, inside, 1).prod(axis=1) * retrieved, np.nan)


@measure("R_cap", cite="thakur2021", formula="R_cap@k = Σ_{i≤k} b_i / min(k, R)")
def capped_recall(b: GainSums, *, k: Rank) -> Floats:
    """Recall at k whose divisor is at most k, so that a perfect ranking always scores 1.

    Undefined if no document is relevant.

    >>> cf.parse("R_cap@2")([1, 0, 1], missed=[1, 1])
    0.5
    """
    return ratio(hits(b, k), np.minimum(b.R, k))


@measure("F1", cite="vanrijsbergen1979", formula="F1@k = 2 Σ_{i≤k} b_i / (k + R)", terminal=FIXED)
def f_one(b: GainSums, *, k: Rank, R: Documents = "judged") -> Floats:
    """The harmonic mean of precision and recall at k.

    ``R='retrieved'`` uses the relevant documents in the ranking, as McSherry and Najork do.

    >>> cf.parse("F1@4")([1, 0, 1], missed=[1, 1])
    0.5
    """
    return 2 * hits(b, k) / (k + relevant_documents(b, R))


@of_top("Success", cite="voorhees2005", formula="Success@k = 1 if b_i = 1 for some i ≤ k, else 0")
def success(b: Batch, *, k: Rank | None = None) -> Floats:
    """1 if any of the first k documents is relevant, else 0; with ties, the probability of that.

    Without k, the whole ranking counts.

    >>> cf.parse("Success@1[ties=expected]")([(1, 0, 0, 0)])
    0.25
    """
    if not b.has_ties:
        return np.minimum(hits(b, k), 1)
    # All r relevant documents of a tie of n miss its first m positions with probability C(n-m, r) / C(n, r), which is
    # a product with one factor for each of them.
    before = running(b.relevant) - b.relevant - b.above(b.relevant)
    missed = np.maximum(b.size - b.seen(k) - before, 0) / np.maximum(b.size - before, 1)
    return 1 - np.where(b.relevant, missed, 1).prod(axis=1)


@of_top("HIT", cite="moffat2013", formula="HIT@k = max_{i≤k} g_i,  g = gain / top gain", gains="scaled")
def best_gain(b: Batch, *, k: Rank) -> Floats:
    """The gain of the best document among the first k; 1 is the highest possible gain.

    >>> round(cf.parse("HIT(max=3)@2")([0, 2, 3]), 6)
    0.666667
    """
    by_gain = np.lexsort((-b.gain, np.where(np.isnan(b.grade), np.iinfo(np.int64).max, b.start)), axis=1)
    b = b.columns(by_gain)
    m, n, i = b.seen(k), b.size, b.order
    sure = np.where(m == n, b.gain, 0).max(axis=1)
    # In the tie that rank k cuts, m of n documents are in the first k. Document i = 0, 1, ... is the best of them with
    # probability C(n-i-1, m-1) / C(n, m): no better document is among the m.
    cut = (m > 0) & (m < n)
    missed = running(np.where(cut, np.maximum(n - m - i, 0) / np.maximum(n - i, 1), 1), np.multiply)
    probability = np.where(cut, after_first(missed, 1.0) * np.minimum(m / np.maximum(n - i, 1), 1), 0)
    return sure + summed(probability * np.maximum(b.gain - sure[:, None], 0))


@measure("Rprec", cite="buckley2000", formula="Rprec = Σ_{i≤R} b_i / R")
def r_precision(b: GainSums) -> Floats:
    """Precision at rank R, where R is the number of relevant documents.

    >>> round(cf.parse("Rprec")([1, 0, 1], missed=[1]), 6)
    0.666667
    """
    return ratio(hits(b, b.R), b.R)


@measure("RPrec", cite="moffat2013", formula="RPrec@k = P@min(k, R)", terminal=FIXED)
def r_precision_at(b: GainSums, *, k: Rank) -> Floats:
    """Precision at rank k, or at rank R if fewer than k documents are relevant.

    >>> cf.parse("RPrec@2")([1, 0, 1], missed=[1])
    0.5
    """
    depth = np.minimum(b.R, k)
    return ratio(hits(b, depth), depth)


Rule = Literal["trec9", "trec10", "exact"]


@one_open("IPrec", cite="salton1983", formula="IPrec@r = max precision at any rank where recall ≥ r")
def interpolated_precision(b: Batch, *, recall: Share, rule: Rule = "trec9") -> Floats:
    """The highest precision at any rank where recall is at least r.

    The rule says how many relevant documents make a recall of r: trec_eval 9 rounds r R + 0.9 down, trec_eval 10 rounds
    r R to the nearest integer, and ``exact`` takes the smallest sufficient number.

    >>> round(cf.parse("IPrec@0.5")([1, 0, 1], missed=[1]), 6)
    0.666667
    """
    return interpolated(b, [recall], rule)[0]


def interpolated(b: Batch, recalls: Sequence[float], rule: Rule) -> list[Floats]:
    """Interpolated precision at several recall levels, for rankings with at most one tied relevant document."""
    if _best_precisions not in b.memo:
        b.memo[_best_precisions] = _best_precisions(b)
    relevant_so_far, best = b.memo[_best_precisions]
    values = []
    for recall in recalls:
        share = recall * b.R
        # 1e-9: rounding errors may push a product just above the integer that it should be.
        needed = {"trec9": np.floor(share + 0.9), "trec10": np.floor(share + 0.5), "exact": np.ceil(share - 1e-9)}[rule]
        first = (relevant_so_far < needed[:, None]).sum(axis=1)
        values.append(np.where(b.R > 0, best[np.arange(len(best)), first], np.nan))
    return values


def _best_precisions(b: Batch) -> tuple[Integers, Floats]:
    """The number of relevant documents down to each one, and the highest precision from there on; 0 at the end."""
    relevant_so_far: Integers = running(b.relevant)
    at = np.where(b.relevant & (b.size == 1), relevant_so_far / (b.start + 1), 0)
    best = running(at[:, ::-1], np.maximum)[:, ::-1]
    query, column = np.nonzero(b.relevant & (b.size > 1))
    if len(query):
        i, t, n = (x[query, column][:, None] for x in (relevant_so_far, b.start, b.size))
        # The i-th relevant document at rank x has a higher precision than c, the best of the others, if x < i/c.
        c = best[query]
        end = np.minimum(np.divide(i, c, out=np.full_like(c, np.inf), where=c > 0), t + n).astype(np.int64)
        wins = np.maximum(end - t, 0)
        mean = (i * (harmonic(t + wins) - harmonic(t)) + (n - wins) * c) / n
        best[query] = np.where(np.arange(best.shape[1]) <= column[:, None], mean, c)
    return relevant_so_far, np.pad(best, ((0, 0), (0, 1)))


@measure("SetP", cite="cleverdon1966", formula="SetP = relevant retrieved / retrieved", terminal=UNORDERED, linear=True)
def set_precision(b: GainSums) -> Floats:
    """The share of all retrieved documents that are relevant; 0 for an empty ranking.

    >>> cf.parse("SetP")([1, 0, 1, None])
    0.5
    """
    return hits(b) / np.maximum(b.length, 1)


@measure("SetR", cite="cleverdon1966", formula="SetR = relevant retrieved / R", terminal=UNORDERED)
def set_recall(b: GainSums) -> Floats:
    """The share of all relevant documents that were retrieved, at any rank.

    >>> cf.parse("SetR")([1, 0, 1], missed=[1, 1])
    0.5
    """
    return ratio(hits(b), b.R)


@measure("SetF", cite="vanrijsbergen1979", formula="SetF = (1 + β²) SetP SetR / (β² SetP + SetR)", terminal=UNORDERED)
def set_f(b: GainSums, *, beta: Positive = 1.0) -> Floats:
    """The weighted harmonic mean of precision and recall of the whole ranking; beta weights recall.

    The parameter of trec_eval's ``set_F.x`` is the square of beta.

    >>> cf.parse("SetF")([1, 0, 1, 0], missed=[1, 1])
    0.5
    """
    return ratio((1 + beta**2) * hits(b), np.where(b.R > 0, beta**2 * b.R + b.length, 0))


@measure("SetAP", cite="buckley2005", formula="SetAP = SetP · SetR", terminal=UNORDERED)
def set_average_precision(b: GainSums) -> Floats:
    """Precision times recall of the whole ranking: average precision for an unordered set.

    >>> cf.parse("SetAP")([1, 0, 1, 0], missed=[1, 1])
    0.25
    """
    return set_precision(b) * set_recall(b)


@of_top(
    "Judged",
    cite="sakai2007",
    formula="Judged@k = judged documents in the first k / k",
    uses_nonrelevant=True,
    gains="none",
)
def judged(b: Batch, *, k: Rank | None = None, of: Literal["k", "retrieved"] = "k") -> Floats:
    """The share of the first k documents (of all documents, without k) that are judged.

    The divisor is k; with ``of='retrieved'``, it is the length of a ranking shorter than k.

    >>> cf.parse("Judged@4")([1, None, 0])
    0.5
    """
    judged_documents = b.judged_weight(count, k)
    if k is not None and of == "k":
        return judged_documents / k
    return judged_documents / np.maximum(b.length if k is None else np.minimum(b.length, k), 1)


@of_judged(
    "FallOut",
    cite="vanrijsbergen1979",
    formula="FallOut@k = judged non-relevant documents in the first k / judged non-relevant documents",
    lower_is_better=True,
)
def fall_out(b: Batch, *, k: Rank | None = None) -> Floats:
    """The share of all documents judged as not relevant that are retrieved. Lower is better.

    Unjudged documents do not count. Undefined if no document is judged as not relevant.

    >>> cf.parse("FallOut@2")([1, 0, None, 0], missed=[0, 0])
    0.25
    >>> cf.parse("FallOut")([1, 0, None, 0], missed=[0, 0])
    0.5
    """
    return ratio(summed(b.judged * ~b.relevant * b.mean_over(count, k)), b.N)


@of_top(
    "Hole",
    cite="thakur2021",
    formula="Hole@k = documents in the first k that are judged for no query / k",
    gains="none",
    rewards_promotion=False,
    punishes_promotion=True,
    uses_nonrelevant=True,
    collection=True,
)
def hole_rate(b: Batch, *, k: Rank) -> Floats:
    """The share of the first k ranks with a document that is not judged for any query of the collection.

    `Unjudged` asks whether a document is judged for its own query. The divisor is always k.

    >>> qrels, run = {"1": {"a": 1}, "2": {"b": 0}}, {"1": {"a": 2.5, "b": 1.5}, "2": {"c": 0.5}}
    >>> cf.evaluate(qrels, run, ["Hole@2", "Unjudged@2"]).means["run"]
    {'Hole@2': 0.25, 'Unjudged@2': 0.5}
    """
    return (np.minimum(b.length, k) - b.judged_weight(count, k)) / k


@number("NumRet", formula="NumRet = documents retrieved", retrieved_only=True, gains="none")
def number_retrieved(b: GainSums) -> Floats:
    """The number of documents retrieved, summed over queries.

    >>> cf.parse("NumRet")([1, None, 0])
    3.0
    """
    return b.length.astype(np.float64)


@number("NumRel", formula="NumRel = R")
def number_relevant(b: GainSums) -> Floats:
    """The number of relevant documents, retrieved or not, summed over queries.

    >>> cf.parse("NumRel")([1, None, 0], missed=[1])
    2.0
    """
    return b.R


@number("NumRelRet", formula="NumRelRet = Σ_i b_i", linear=True)
def number_relevant_retrieved(b: GainSums) -> Floats:
    """The number of relevant documents retrieved, summed over queries.

    >>> cf.parse("NumRelRet")([1, None, 0], missed=[1])
    1.0
    """
    return hits(b)


@number("NumQ", formula="NumQ = 1", retrieved_only=True, gains="none")
def number_of_queries(b: Batch) -> Floats:
    """The number of queries in the evaluation.

    >>> cf.parse("NumQ")([1, None, 0])
    1.0
    """
    return np.ones(len(b.length))
