"""Estimates from judgments of a sample: strata (sample_eval), or inclusion probabilities (statAP).

A pool of documents is divided into strata c of N_c documents, of which n_c are drawn and judged; r_c of these are
relevant. A pooled document that was not drawn has a negative grade. Documents outside the pool only take up ranks. E(k)
is the estimated number of relevant documents above rank k: Σ_c d_c (ρ_c + ε) / (s_c + 3ε), where d_c documents of
stratum c are above rank k, s_c of them are drawn, and ρ_c of these are relevant; ε is 0.00001. R̂ = Σ_c r_c N_c / n_c
estimates the relevant documents of the pool.

With inclusion probabilities, π is the probability that a document was drawn: R̂ = Σ_rel 1/π, and H(k) = Σ 1/π over the
relevant documents above rank k. Without strata, the pool is one stratum; without probabilities, π = n_c / N_c.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from cranfield.data import Booleans, Floats, Integers, JudgmentSample
from cranfield.errors import MeasureError
from cranfield.measures.average_precision import EPSILON
from cranfield.measures.catalogue import CLOSED_FORM, Measure, Rank, measure
from cranfield.measures.ties.strategies import Estimate, OverOrders
from cranfield.measures.weights import rank_weights
from cranfield.ranking.batch import Batch, summed
from cranfield.ranking.rankings import Judged, Pool, Rankings, probabilities, share, strata
from cranfield.settings import Share

inf = math.inf
estimate = partial(
    measure, bounds=(0, inf), ties=OverOrders(), rewards_promotion=False, uses_nonrelevant=True, sampled=True
)
sample_eval = partial(estimate, cite="yilmaz2008")
stat_ap = partial(estimate, cite="aslam2006")
DEPTH = 1000  # sample_eval reads this many documents of a ranking, unless a cutoff says otherwise
LEVELS = 11  # recall levels of interpolated precision
NOT_JUDGED = -999.0  # the grade of a line without a judgment in statAP's files

SampleEval = Literal[2011, 2012]
StatAP = Literal[3, 4]
Method = Literal["mixed", "sampled"]


def _pool(b: Batch) -> tuple[Pool, Integers]:
    assert b.pool is not None  # `Measure.values` provides it
    assert b.pool_row is not None
    return b.pool, b.pool_row


def _expanded(b: Batch, gaining: Booleans) -> Floats:
    """The estimated number of chosen documents in each query: Σ_c count · N_c / n_c, in the order of the strata."""
    pool, rows = _pool(b)
    of_pool = strata(pool)
    queries, count = of_pool.size.shape
    cell = (pool.row * count + of_pool.of_document[pool.document])[gaining]
    counts = np.bincount(cell, minlength=queries * count).reshape(queries, count).astype(np.float64)
    total = np.zeros(queries)
    for c in range(count):
        total += share(counts[:, c] * of_pool.size[:, c], of_pool.drawn[:, c])
    return total[rows]


def _pool_gains(b: Batch) -> Floats:
    """The gain of each document of the pool."""
    pool, _ = _pool(b)
    assert b.gain_of_grade is not None
    return b.gain_of_grade(pool.judged.grade[pool.document])


def estimated_relevant(b: Batch) -> Floats:
    """R̂, the estimated number of relevant documents of each query."""
    return _expanded(b, _pool_gains(b) > 0)


class Walk(NamedTuple):
    """What is known on the way down a ranking, for each document of the pool among the first k; (query, column).

    ``inside``: the document is one of these. ``stratum``: its stratum. ``above``: the estimated number of relevant
    documents above it. ``last``: the same below the last of all of them, (query,).
    """

    inside: Booleans
    stratum: Integers
    above: Floats
    last: Floats


def walk(b: Batch, depth: int | None) -> Walk:
    """The way down to a depth, for rankings without ties."""
    pool, _ = _pool(b)
    inside = ~np.isnan(b.grade) & (b.start < (DEPTH if depth is None else depth))
    stratum = np.zeros(b.grade.shape, np.int64) if b.sample is None else strata(pool).of_document[b.document]
    above, last = np.zeros(b.grade.shape), np.zeros(len(b.length))
    for c in range(strata(pool).size.shape[1]):
        member = inside & (stratum == c)
        retrieved, drawn, relevant = (np.cumsum(member & chosen, axis=1) for chosen in (inside, b.judged, b.relevant))
        expected = retrieved * (relevant + EPSILON) / (drawn + 3 * EPSILON)
        above[:, 1:] += expected[:, :-1]
        last += expected[:, -1]
    return Walk(inside, stratum, above, last)


@sample_eval("xinfAP", formula="xinfAP@D = Σ_c (N_c/n_c) Σ_{relevant in c, at rank k ≤ D} (1 + E(k))/k / R̂")
def extended_inferred_average_precision(b: Batch, *, k: Rank | None = None, version: SampleEval = 2011) -> Floats:
    """Average precision estimated from a stratified sample of judgments.

    The values are those of TREC's sample_eval, which reads 1000 documents unless the cutoff says otherwise. The version
    of 2012 multiplies by R̂/D where R̂ is above D. A query without relevant documents scores 0. A stratum without a
    drawn document above a rank counts a third of each of its documents as relevant.

    >>> round(cf.parse("xinfAP")([-1, 1, 0]), 6)
    0.666667
    """
    pool, rows = _pool(b)
    of_pool, way = strata(pool), walk(b, k)
    precision = np.where(way.inside & b.relevant, (1 + way.above) / (b.start + 1), 0)
    total = np.zeros(len(b.length))
    for c in range(of_pool.size.shape[1]):
        of_stratum = summed(np.where(way.stratum == c, precision, 0))
        total += share(of_stratum * of_pool.size[rows, c], of_pool.drawn[rows, c])
    relevant = estimated_relevant(b)
    value = share(total, relevant)
    depth = DEPTH if k is None else k
    return value * np.maximum(relevant / depth, 1) if version == 2012 else value


@sample_eval(
    "infnDCG",
    formula="infnDCG@D = Σ_c (d_c/s_c) Σ_{in c, at rank i ≤ D} g_i / log2(i+1) / ideal of the estimated grades",
    gains="graded",
)
def inferred_normalised_discounted_cumulated_gain(
    b: Batch, *, k: Rank | None = None, version: SampleEval = 2011, grade_order: Literal["number", "string"] = "number"
) -> Floats:
    """Normalised discounted gain estimated from a stratified sample of judgments.

    The values are those of TREC's sample_eval, which orders grades as text: ``grade_order='string'`` does the same. It
    may exceed 1, because the gain is scaled by the retrieved part of each stratum, and the ideal by the whole of it. A
    query without relevant documents scores 0.

    >>> round(cf.parse("infnDCG")([2, -1, 0], missed=[1]), 6)
    1.140281
    """
    way = walk(b, k)
    gained = np.where(way.inside, b.gain / np.log2(b.start + 2), 0)
    total = np.zeros(len(b.length))
    for c in range(strata(_pool(b)[0]).size.shape[1]):
        member = way.inside & (way.stratum == c)
        retrieved, drawn = (x.sum(axis=1).astype(np.float64) for x in (member, member & b.judged))
        total += share(summed(np.where(member, gained, 0)) * retrieved, drawn)
    ideal = _estimated_ideal(b, DEPTH if k is None else k, version, grade_order)
    return share(total, ideal)


def _estimated_ideal(b: Batch, depth: int, version: int, grade_order: str) -> Floats:
    """The discounted gain of the ideal ranking, from estimated counts of each grade."""
    pool, rows = _pool(b)
    grades, gains = pool.judged.grade[pool.document], _pool_gains(b)
    levels = np.unique(grades[gains > 0]).tolist()
    if grade_order == "string":
        levels.sort(key=lambda grade: f"{grade:g}")
    ideal, first = np.zeros((2, len(rows)))
    for level in reversed(levels):
        chosen = grades == level
        count = _expanded(b, chosen)
        count = np.floor(count + 0.5) if version == 2011 else count
        gain = gains[chosen][0]
        # Inside a grade the ideal ends at the depth, but every further grade adds one term at its own first rank.
        terms = np.floor(count + (1e-9 if version == 2012 else 0)).astype(np.int64)
        shown = np.minimum(terms, np.maximum(np.ceil(depth - first), 1)).astype(np.int64)
        steps = np.arange(1, int(shown.max(initial=0)) + 1)
        discount = np.where(steps <= shown[:, None], 1 / np.log2(first[:, None] + steps + 1), 0)
        ideal += gain * summed(discount)
        first += count
    return ideal


@sample_eval("infP", formula="infP@k = E(k+1) / k")
def inferred_precision(b: Batch, *, k: Rank) -> Floats:
    """Precision of the first k documents estimated from a stratified sample of judgments.

    >>> round(cf.parse("infP@4")([1, -1, 0]), 4)
    0.375
    """
    return walk(b, min(k, DEPTH)).last / k


@sample_eval("infNumRel", formula="infNumRel = R̂", aggregate="sum", ties=CLOSED_FORM)
def inferred_number_relevant(b: Batch) -> Floats:
    """The number of relevant documents estimated from a stratified sample of judgments, summed over queries.

    >>> cf.parse("infNumRel")([1, -1, 0])
    1.5
    """
    return estimated_relevant(b)


@sample_eval("infNumRelRet", formula="infNumRelRet@D = E(D+1)", aggregate="sum")
def inferred_number_relevant_retrieved(b: Batch, *, k: Rank | None = None) -> Floats:
    """The number of relevant documents retrieved, estimated from a stratified sample, summed over queries.

    >>> round(cf.parse("infNumRelRet")([1, -1, 0]), 4)
    1.5
    """
    return walk(b, k).last


@sample_eval("infIPrec", formula="infIPrec@r = max of E(k+1)/k over the ranks k with E(k+1) ≥ r R̂,  r = 0, 0.1, ..., 1")
def inferred_interpolated_precision(b: Batch, *, recall: Share) -> Floats:
    """Interpolated precision estimated from a stratified sample of judgments, at one of eleven recall levels.

    As in sample_eval, the walk from the last rank upwards passes at most one recall level per rank.

    >>> round(cf.parse("infIPrec@0.5")([1, 0, 1]), 4)
    1.0
    """
    level = round(recall * (LEVELS - 1))
    if abs(recall * (LEVELS - 1) - level) > 1e-9:
        raise MeasureError(f"infIPrec has eleven recall levels, 0, 0.1, ..., 1, and not {recall:g}")
    way, relevant = walk(b, None), estimated_relevant(b)
    end = np.minimum(b.length, DEPTH)
    value = np.zeros(len(end))
    for q, length in enumerate(end.tolist()):
        columns = np.flatnonzero(way.inside[q])
        # The estimate below each document of the pool is that above the next one.
        below = np.append(way.above[q, columns[1:]], way.last[q]) if len(columns) else np.zeros(0)
        at = np.searchsorted(b.start[q, columns], np.arange(length), side="right")
        precision_at = np.append(0.0, below)[at]
        value[q] = _interpolated(precision_at, relevant[q])[level] if length else 0.0
    return value


def _interpolated(precision: Floats, relevant: float) -> list[float]:
    """The interpolated precision at every recall level; ``found``: the estimated number relevant down to each rank."""
    cuts = [relevant * i / (LEVELS - 1) for i in range(LEVELS)]
    levels = [0.0] * LEVELS
    current = max((i for i, cut in enumerate(cuts) if cut <= precision[-1]), default=-1)
    best = 0.0
    for rank in range(len(precision), 0, -1):
        best = max(best, float(precision[rank - 1]) / rank)
        if current >= 0 and cuts[current] > precision[rank - 1]:
            levels[current] = best
            current -= 1
    for i in range(current + 1):
        levels[i] = best
    return levels


class Drawn(NamedTuple):
    """The lines that statAP keeps.

    ``document``: the row of each in the judgments. ``row``: its query in the pool. ``probability``, ``kept``: of every
    row of the judgments. ``counts``: the queries with a document that the sample could draw.
    """

    row: Integers
    document: Integers
    probability: Floats
    kept: Booleans
    counts: Booleans


def drawn(pool: Pool, method: str) -> Drawn:
    """The documents with a judgment and a probability to be drawn."""
    if ("drawn", method) not in pool.memo:
        judged, sample = pool.judged, pool.judged.sample
        codes = np.ones(len(judged.grade), np.int64)
        if sample is not None and sample.method is not None:
            codes = sample.method
        if sample is not None and sample.probability is not None:
            probability = sample.probability
            kept = (judged.grade > NOT_JUDGED) & (probability >= 0) & (probability <= 1)
        else:
            of_pool = strata(pool)
            probability, kept = np.ones(len(judged.grade)), judged.grade >= 0
            stratum = of_pool.of_document[pool.document]
            probability[pool.document] = share(of_pool.drawn, of_pool.size)[pool.row, stratum]
        if method == "sampled":
            kept = kept & (codes != 0)
        else:
            probability = np.where((codes == 0) | (codes == 2), 1.0, probability)
        counts = np.zeros(len(pool.query), bool)
        counts[pool.row[codes[pool.document] != 0]] = True
        chosen = kept[pool.document]
        pool.memo["drawn", method] = Drawn(pool.row[chosen], pool.document[chosen], probability, kept, counts)
    result: Drawn = pool.memo["drawn", method]
    return result


class Found(NamedTuple):
    """The kept documents of rankings: 1/π of the relevant ones and 0 for others, π, and whether they are kept.

    ``row``, ``inverse``: the query of each relevant document that was drawn, and its 1/π, whether or not it is found.
    """

    weight: Floats
    probability: Floats
    kept: Booleans
    relevant: Floats  # R̂, NaN where the query does not count
    row: Integers
    inverse: Floats


def sampled_ranking(b: Batch, method: str) -> Found:
    """What statAP sees of a ranking."""
    pool, rows = _pool(b)
    of_pool = drawn(pool, method)
    if b.sample is None:
        # Without a sample every judged document is certain, and documents need no identity; see `strata`.
        shares = share(strata(pool).drawn, strata(pool).size)[rows]
        probability, kept = np.broadcast_to(shares, b.grade.shape), b.judged
    else:
        present = ~np.isnan(b.grade)
        kept = present & of_pool.kept[b.document]
        probability = np.where(kept, of_pool.probability[b.document], 1.0)
    inverse = np.divide(1, probability, out=np.zeros(b.grade.shape), where=probability > 0)
    assert b.gain_of_grade is not None
    gaining = b.gain_of_grade(pool.judged.grade[of_pool.document]) > 0
    row, inverse_of_pool = of_pool.row[gaining], 1 / of_pool.probability[of_pool.document[gaining]]
    weights = np.bincount(row, inverse_of_pool, len(pool.query)).astype(np.float64)
    relevant = np.where(of_pool.counts & (weights > 0), weights, np.nan)[rows]
    return Found(np.where(kept & b.relevant, inverse, 0), probability, kept, relevant, row, inverse_of_pool)


def _precisions(b: Batch, of_ranking: Found) -> Floats:
    """The estimated precision at each relevant document."""
    above = np.cumsum(of_ranking.weight, axis=1) - of_ranking.weight
    return np.where(of_ranking.weight > 0, (1 + above) / (b.start + 1), 0)


@stat_ap("statAP", formula="statAP = Σ_{relevant, at rank k} (1/π) (1 + H(k)) / k / R̂")
def statistical_average_precision(b: Batch, *, method: Method = "mixed", version: StatAP = 4) -> Floats:
    """Average precision estimated from documents drawn with known probabilities.

    It may exceed 1. Undefined if no relevant document was drawn. ``method='sampled'`` drops documents that were only
    judged for another method (code 0), and does not take those with code 2 as certain. Both versions of the program
    give the same value.

    >>> round(cf.parse("statAP")([1, 0, 1], missed=[1]), 6)
    0.555556
    """
    del version
    of_ranking = sampled_ranking(b, method)
    return summed(of_ranking.weight * _precisions(b, of_ranking)) / of_ranking.relevant


@stat_ap(
    "statAP_variance",
    formula="statAP_variance = (Σ(1-π)y² - ((Σy)² - Σy²)/(n-1) + C) / R̂²,  y = (precision - statAP)/π",
    bounds=(-inf, inf),
)
def variance_of_statistical_average_precision(b: Batch, *, method: Method = "mixed", version: StatAP = 4) -> Floats:
    """The estimated sampling variance of statAP.

    As in the program, it may be negative. Undefined if statAP is undefined or a single document was drawn.

    >>> round(cf.parse("statAP_variance(version=3)")([1, 0, 1], missed=[1]), 6)
    0.019204
    """
    pool, rows = _pool(b)
    of_pool, of_ranking = drawn(pool, method), sampled_ranking(b, method)
    inverse, relevant, weight = of_ranking.weight, of_ranking.relevant, of_ranking.inverse
    precision = _precisions(b, of_ranking)
    value = summed(inverse * precision) / relevant
    count = np.bincount(of_pool.row, minlength=len(pool.query)).astype(np.float64)[rows]
    uncertain, retrieved = 1 - of_ranking.probability, inverse > 0
    y = np.where(retrieved, (precision - value[:, None]) * inverse, 0)
    # Every relevant document counts with -statAP/π; those retrieved have the other value instead.

    def missed(values: Floats, of_retrieved: Floats) -> Floats:
        of_all = np.bincount(of_ranking.row, values, minlength=len(pool.query))[rows]
        return of_all - summed(np.where(retrieved, of_retrieved, 0))

    plain, square = missed(weight, inverse), missed(weight**2, inverse**2)
    unsure = missed((1 - 1 / weight) * weight**2, uncertain * inverse**2)
    a = summed(uncertain * y**2) + value**2 * unsure
    total, squares = summed(y) - value * plain, summed(y**2) + value**2 * square
    rank = b.start + 1.0
    if version == 3:
        variances = np.cumsum(np.where(retrieved, uncertain * inverse**2, 0), axis=1)
        c = summed(np.where(retrieved, variances / rank**2, 0))
    else:
        shares = np.where(retrieved, inverse / rank, 0)
        later = summed(shares)[:, None] - np.cumsum(shares, axis=1)
        c = summed(np.where(retrieved, uncertain * inverse**2 * later**2, 0))
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = (a - (total**2 - squares) / (count - 1) + c) / relevant**2
        if version == 4:
            variance = np.minimum(variance * count / (of_ranking.kept.sum(axis=1) + 0.1), 1)
    return np.where(count > 1, variance, np.nan)


@stat_ap("statP", formula="statP@k = H(k+1) / k")
def statistical_precision(b: Batch, *, k: Rank, method: Method = "mixed", version: StatAP = 4) -> Floats:
    """Precision of the first k documents estimated from documents drawn with known probabilities.

    Version 4 of the program gives 0 for a ranking that is shorter than k.

    >>> cf.parse("statP@2")([1, 0, 1])
    0.5
    """
    of_ranking = sampled_ranking(b, method)
    value = summed(np.where(b.start < k, of_ranking.weight, 0)) / k
    value = np.where(b.length < k, 0, value) if version == 4 else value
    return np.where(np.isnan(of_ranking.relevant), np.nan, value)


@stat_ap("statRPrec", formula="statRPrec = H(c+1) / c,  c = ⌊R̂ + ½⌋;  a shorter ranking: H(end) / R̂")
def statistical_r_precision(b: Batch, *, method: Method = "mixed", version: StatAP = 4) -> Floats:
    """R-precision estimated from documents drawn with known probabilities.

    >>> cf.parse("statRPrec")([1, 0, 1])
    0.5
    """
    del version
    of_ranking = sampled_ranking(b, method)
    depth = np.floor(of_ranking.relevant + 0.5)
    counted = summed(np.where(b.start < depth[:, None], of_ranking.weight, 0))
    return counted / np.where(b.length < depth, of_ranking.relevant, depth)


@stat_ap("statNumRel", formula="statNumRel = R̂", aggregate="sum", ties=CLOSED_FORM)
def statistical_number_relevant(b: Batch, *, method: Method = "mixed", version: StatAP = 4) -> Floats:
    """The number of relevant documents estimated from documents drawn with known probabilities.

    >>> cf.parse("statNumRel")([1, 0, 1])
    2.0
    """
    del version
    return sampled_ranking(b, method).relevant


@stat_ap(
    "statnDCG",
    formula="statnDCG@k = Σ_{drawn, at rank i ≤ k} (2^g - 1) / log2(i+1) / ideal of the drawn documents",
    gains="grades",
    bounds=(-inf, inf),
)
def discounted_gain_of_drawn(b: Batch, *, k: Rank, method: Method = "mixed", version: StatAP = 4) -> Floats:
    """The nDCG that the programs of statAP print: that of the drawn documents alone, which is not an estimate.

    It is here for parity: a negative grade has the gain -1. The ideal of version 3 takes grades above 1 as 2.

    >>> round(cf.parse("statnDCG@3")([1, 0, 1], missed=[1]), 6)
    0.703918
    """
    pool, rows = _pool(b)
    of_pool, of_ranking = drawn(pool, method), sampled_ranking(b, method)
    inside = of_ranking.kept & (b.start < k)
    grade = np.where(inside, b.grade, 0)
    gain = np.where(grade < 0, -1, np.exp2(np.maximum(grade, 0)) - 1)
    gained = summed(np.where(inside, gain, 0) / np.log2(b.start + 2))
    grades = pool.judged.grade[of_pool.document]
    ideal = np.array([_ideal_of_drawn(grades[of_pool.row == q], k, version) for q in range(len(pool.query))])
    value = np.divide(gained, ideal[rows], out=np.zeros_like(gained), where=ideal[rows] > 0)
    return np.where(np.isnan(of_ranking.relevant), np.nan, value)


def _ideal_of_drawn(grade: Floats, k: int, version: int) -> float:
    if version == 4:
        gains = np.exp2(-np.sort(-grade[grade > 0])) - 1
    else:
        high, relevant = int((grade > 1).sum()), int((grade > 0).sum())
        gains = np.concatenate([np.full(high, 3.0), np.ones(max(relevant - 2 * high, 0))])
    gains = gains[:k]
    return float(summed(gains[None, :] / np.log2(np.arange(len(gains)) + 2))[0])


# Standard errors of estimates from a sample of judgments, for each query.
#
# - A measure that is linear in the gains (view ``sampled``): the unbiased variance of the Horvitz-Thompson estimate,
# for documents drawn independently (with probabilities) or as a simple random sample of each stratum. - statAP: its own
# variance. statP: as linear measures. - xinfAP and its kin: the jackknife. Each drawn document is taken out of the
# sample in turn; Σ_c (1 - n_c/N_c) (n_c - 1)/n_c Σ (estimate without it - their mean)².
#
# The error is undefined where a single document of a larger stratum was drawn.

ROWS = 1 << 20  # documents of replicated pools that are held at a time
NO_ERROR = ("statRPrec", "statNumRel", "statnDCG", "statAP_variance")


def sampling_errors(measure: Measure, rankings: Rankings, *, seed: int = 0) -> Estimate:
    """The standard error of each query's estimate."""
    symbol = measure.symbol
    if measure.views.sampled:
        variance = _linear_variance(measure, rankings)
    elif symbol == "statAP":
        variance = replace(measure, symbol="statAP_variance").values(rankings, seed=seed).value
    elif symbol == "statP":
        precision = Measure("P", cutoff=int(measure.cutoff or 1), views=replace(measure.views, sampled=True))
        variance = _linear_variance(precision, rankings)
    elif symbol in NO_ERROR:
        variance = np.full(len(rankings.length), np.nan)
    else:
        variance = _jackknife(measure, rankings, seed)
    return Estimate(np.sqrt(np.maximum(variance, 0)))


def _linear_variance(measure: Measure, rankings: Rankings) -> Floats:
    """The variance of the estimate Σ w g / π of each query."""
    plain = replace(measure, views=replace(measure.views, sampled=False))
    batch = plain.ordered(rankings, all_documents=True)
    top = max(rankings.judged.top, 1.0)
    weights = np.zeros(batch.grade.shape)
    for length in np.unique(batch.length).tolist():
        rows = np.flatnonzero(batch.length == length)
        sums = np.concatenate([[0], np.cumsum(rank_weights(replace(plain, views=type(plain.views)()), length, top))])
        ends = np.minimum(batch.start[rows] + batch.size[rows], length)
        weights[rows] = (sums[ends] - sums[np.minimum(batch.start[rows], length)]) / batch.size[rows]
    y = np.where(batch.judged, weights * batch.gain, 0)
    pool = rankings.pool
    row = np.arange(len(rankings.length)) if rankings.pool_row is None else rankings.pool_row
    sample = pool.judged.sample
    if sample is not None and not sample.stratified:
        pi = np.where(batch.judged & (y != 0), probabilities(pool)[batch.document], 1.0)
        return summed((1 - pi) / pi**2 * y**2)
    of_pool = strata(pool)
    stratum = np.zeros(y.shape, np.int64) if sample is None else of_pool.of_document[batch.document]
    variance = np.zeros(len(row))
    for c in range(of_pool.size.shape[1]):
        size, n = of_pool.size[row, c], of_pool.drawn[row, c]
        # Drawn documents that are not retrieved have a y of 0.
        of_stratum = np.where(stratum == c, y, 0)
        mean = summed(of_stratum) / np.maximum(n, 1)
        spread = (summed(of_stratum**2) - n * mean**2) / np.where(n > 1, n - 1, np.nan)
        part = size**2 * (1 - n / np.maximum(size, 1)) * spread / np.maximum(n, 1)
        variance += np.where(n >= size, 0, part)
    return variance


def _jackknife(measure: Measure, rankings: Rankings, seed: int) -> Floats:
    rows = np.arange(len(rankings.length)) if rankings.pool_row is None else rankings.pool_row
    begin = np.searchsorted(rankings.row, np.arange(len(rows) + 1))
    kept = [slice(*ends) for ends in pairwise(begin.tolist())]
    each = zip(rows.tolist(), rankings.length.tolist(), kept, strict=True)
    return np.array([_jackknife_of(measure, rankings, row, length, of_run, seed) for row, length, of_run in each])


def _jackknife_of(measure: Measure, rankings: Rankings, row: int, length: int, kept: slice, seed: int) -> float:
    """The jackknife variance of one ranking: a copy of its query for each drawn document, without that document."""
    pool = rankings.pool
    documents = pool.document[pool.row == row]
    of_pool = strata(pool)
    stratum, grade = of_pool.of_document[documents], pool.judged.grade[documents]
    size, drawn = of_pool.size[row], of_pool.drawn[row]
    certain = drawn >= size
    if np.any((drawn == 1) & ~certain):
        return float("nan")
    taken = np.flatnonzero((grade >= 0) & ~certain[stratum])
    if not len(taken):
        return 0.0
    position = {int(document): i for i, document in enumerate(documents)}
    of_run = np.array([position[int(document)] for document in rankings.document[kept]], np.int64)

    def without(left_out: Integers) -> Floats:
        """The estimates with each of these documents taken out of the sample."""
        copies, number = len(left_out), len(grade)
        grades = np.tile(grade, copies)
        grades[np.arange(copies) * number + left_out] = -1.0
        sample = None
        if rankings.judged.sample is not None:
            sample = JudgmentSample(np.tile(stratum, copies), rankings.judged.sample.strata)
        judged = Judged(grades, rankings.judged.top, sample=sample)
        copy = np.repeat(np.arange(copies), number)
        copied = Pool.of(judged, copy, np.arange(copies * number), np.arange(copies))
        columns = [np.tile(getattr(rankings, name)[kept], copies) for name in ("start", "size", "by_id", "by_input")]
        copy_of = np.repeat(np.arange(copies), len(of_run))
        document = np.tile(of_run, copies) + copy_of * number
        lists = Rankings(copied, np.full(copies, length), copy_of, document, *columns)
        return measure.values(lists, seed=seed).value

    step = max(1, ROWS // max(len(documents), 1))
    value = np.concatenate([without(taken[first : first + step]) for first in range(0, len(taken), step)])
    total = 0.0
    for c in np.unique(stratum[taken]).tolist():
        of_stratum = value[stratum[taken] == c]
        n = drawn[c]
        total += (1 - n / size[c]) * (n - 1) / n * float(((of_stratum - of_stratum.mean()) ** 2).sum())
    return total
