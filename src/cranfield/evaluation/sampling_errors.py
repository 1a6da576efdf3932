"""Standard errors of estimates from a sample of judgments, for each query.

- A measure that is linear in the gains (view ``sampled``): the unbiased variance of the Horvitz-Thompson estimate, for
  documents drawn independently (with probabilities) or as a simple random sample of each stratum.
- statAP: its own variance. statP: as linear measures.
- xinfAP and its kin: the jackknife. Each drawn document is taken out of the sample in turn; Σ_c (1 - n_c/N_c)
  (n_c - 1)/n_c Σ (estimate without it - their mean)².

The error is undefined where a single document of a larger stratum was drawn.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from cranfield.data import Floats, Integers, JudgmentSample
from cranfield.measures import Measure, parse
from cranfield.measures.ties.strategies import Estimate
from cranfield.ranking.batch import summed
from cranfield.ranking.rankings import Judged, Pool, Rankings, probabilities, strata

ROWS = 1 << 20  # documents of replicated pools that are held at a time
NO_ERROR = ("statRPrec", "statNumRel", "statnDCG", "statAP_variance")


def sampling_errors(measure: Measure, rankings: Rankings, *, seed: int = 0) -> Estimate:
    """The standard error of each query's estimate."""
    symbol = measure.symbol
    if measure.views.sampled:
        variance = _linear_variance(measure, rankings)
    elif symbol == "statAP":
        parameters = dict(measure.parameters)
        own = replace(parse("statAP_variance"), parameters=tuple(parameters.items()), views=measure.views)
        variance = own.values(rankings, seed=seed).value
    elif symbol == "statP":
        plain = parse(f"P@{int(measure.cutoff or 1)}[sampled]")
        variance = _linear_variance(replace(plain, views=replace(measure.views, sampled=True)), rankings)
    elif symbol in NO_ERROR:
        variance = np.full(len(rankings.length), np.nan)
    else:
        variance = _jackknife(measure, rankings, seed)
    return Estimate(np.sqrt(np.maximum(variance, 0)))


def _linear_variance(measure: Measure, rankings: Rankings) -> Floats:
    """The variance of the estimate Σ w g / π of each query."""
    from cranfield.evaluation.pair_bounds import rank_weights

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
