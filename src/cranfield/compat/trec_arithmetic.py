"""Measures in the arithmetic of trec_eval: the same operations in the same order, so that no last digit differs.

The catalogue has the same measures for ties and views of all kinds, and adds in another order. Here rankings have no
ties, as in trec_eval, and every function goes down the ranking once. Padding has gain 0 and changes no sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.measures import Measure, preference_judgments
from cranfield.measures.average_precision import EPSILON
from cranfield.measures.precision import interpolated
from cranfield.measures.ties.strategies import NO_CUTOFF
from cranfield.ranking.alignment import Alignment
from cranfield.ranking.batch import Batch
from cranfield.ranking.views import condense_and_terminate, ordered

# The values of a batch, from the measure and, for measures of numbers, the first of these.
Arithmetic = Callable[[Batch, Measure, float], Floats]


def exact_values(arithmetic: Arithmetic, alignment: Alignment, measure: Measure, number: float, queries: int) -> Floats:
    """The value of each judged query."""
    values = np.zeros(queries)
    # nDCG of the catalogue divides gains by the highest one, which makes no difference but for the last digit.
    gains = replace(measure.gains, kind="graded") if measure.gains.kind == "scaled" else measure.gains
    whole = measure.definition.uses_nonrelevant
    for rankings in alignment.rankings:
        batch = condense_and_terminate(ordered(rankings, gains, measure.views, all_documents=whole), measure.views)
        with np.errstate(divide="ignore", invalid="ignore"):
            values[rankings.query] = arithmetic(batch, measure, number)
    return values


def _total(x: Floats) -> Floats:
    """The sum of each row, added from left to right."""
    return np.add.accumulate(x, axis=1)[:, -1]


def _share(x: Floats, y: Floats | Integers) -> Floats:
    """X / y; 0 where y is 0."""
    return np.divide(x, y, out=np.zeros(len(x)), where=y != 0)


def average_precision(b: Batch, measure: Measure, _: float) -> Floats:
    """map, map_cut, gm_map."""
    counted = b.relevant
    if measure.cutoff is not None:
        counted = counted & (b.start < measure.cutoff)
    precision = np.cumsum(b.relevant, axis=1) / (b.start + 1)
    return _share(_total(np.where(counted, precision, 0)), b.R)


def binary_preference(b: Batch, _: Measure, __: float) -> Floats:
    """bpref, gm_bpref."""
    above = b.above(b.judged & ~b.relevant)
    R, N = b.R[:, None], b.N[:, None]
    preferred = np.where(above > 0, 1 - np.minimum(above, R) / np.minimum(N, R), 1)
    return _share(_total(np.where(b.relevant, preferred, 0)), b.R)


def inferred_average_precision(b: Batch, _: Measure, __: float) -> Floats:
    """InfAP."""
    relevant, nonrelevant = b.above(b.relevant), b.above(b.judged & ~b.relevant)
    pooled = b.above(b.grade < 0)
    above = b.start.astype(np.float64)
    share = (relevant + EPSILON) / (relevant + nonrelevant + 2 * EPSILON)
    below_first = 1 / (above + 1) + (above / (above + 1)) * ((relevant + nonrelevant + pooled) / above) * share
    return _share(_total(np.where(b.relevant, np.where(b.start == 0, 1, below_first), 0)), b.R)


def eleven_point_average(b: Batch, measure: Measure, _: float) -> Floats:
    """11pt_avg, from the highest recall to the lowest."""
    levels = interpolated(b, [i / 10 for i in range(11)], measure.chosen["rule"])
    return np.nan_to_num(sum(levels[-2::-1], levels[-1]) / len(levels))


def set_average_precision(b: Batch, _: Measure, __: float) -> Floats:
    """set_map."""
    found = b.relevant.sum(axis=1).astype(np.float64)
    return _share(found * found, b.length * b.R)


def set_f(b: Batch, _: Measure, weight: float) -> Floats:
    """set_F; the weight of recall is the square of beta."""
    found = b.relevant.sum(axis=1).astype(np.float64)
    precision, recall = _share(found, b.length), _share(found, b.R)
    return _share((weight + 1) * precision * recall, recall + weight * precision)


@lru_cache(maxsize=1)
def _logarithms(count: int) -> Floats:
    """The discount of each rank, by the logarithm of C."""
    return np.array([1.0, *(math.log2(rank + 1) for rank in range(1, count + 1))])


def _discounts(ranks: Integers) -> Floats:
    needed = int(ranks.max(initial=1))
    return _logarithms(1 << max(10, needed.bit_length()))[ranks]


def cumulated_gain(b: Batch, measure: Measure, _: float) -> Floats:
    """Dcg."""
    gain = b.gain if measure.cutoff is None else np.where(b.start < measure.cutoff, b.gain, 0)
    return _total(gain / _discounts(b.start + 1))


def ideal_cumulated_gain(b: Batch, measure: Measure, _: float) -> Floats:
    """ideal_dcg."""
    ideal = b.ideal if measure.cutoff is None else b.ideal[:, : int(measure.cutoff)]
    return _total(ideal / _discounts(np.arange(ideal.shape[1]) + 1))


def normalised_cumulated_gain(b: Batch, measure: Measure, _: float) -> Floats:
    """ndcg, ndcg_cut."""
    return _share(cumulated_gain(b, measure, 0), ideal_cumulated_gain(b, measure, 0))


def binary_gain(b: Batch, _: Measure, __: float) -> Floats:
    """BinG."""
    nonrelevant = b.start - b.above(b.relevant).astype(np.int64)
    return _share(_total(b.relevant / _discounts(nonrelevant + 1)), b.R)


def gain_by_cost(b: Batch, _: Measure, __: float) -> Floats:
    """G."""
    width = b.ideal.shape[1]
    cost = np.add.accumulate(np.maximum(b.ideal, 1), axis=1)
    at = np.minimum(b.start, width - 1)
    spent = np.take_along_axis(cost, at, axis=1) + (b.start - at)
    row, column = np.nonzero(b.gain)
    open_gain = 2 + spent[row, column] - np.add.accumulate(b.gain, axis=1)[row, column]
    earned = np.zeros_like(b.gain)
    earned[row, column] = b.gain[row, column] / np.array([math.log2(x) for x in open_gain.tolist()])
    return _share(_total(earned), _total(b.ideal))


def _running_gains(b: Batch) -> tuple[Floats, Floats]:
    """Dcg down to each judged document, and ideal_dcg down to each rank."""
    ideal = b.ideal / _discounts(np.arange(b.ideal.shape[1]) + 1)
    return np.add.accumulate(b.gain / _discounts(b.start + 1), axis=1), np.add.accumulate(ideal, axis=1)


def normalised_gain_at_relevant(b: Batch, _: Measure, __: float) -> Floats:
    """ndcg_rel."""
    gained, ideal = _running_gains(b)
    at = gained / np.take_along_axis(ideal, np.minimum(b.start, ideal.shape[1] - 1), axis=1)
    relevant = (b.ideal > 0).sum(axis=1)
    missed = relevant - b.relevant.sum(axis=1)
    total = _total(np.where(b.relevant, at, 0)) + missed * gained[:, -1] / ideal[:, -1]
    return np.where(total > 0, total / relevant, 0)


def normalised_gain_at_levels(b: Batch, _: Measure, __: float) -> Floats:
    """Rndcg: at the ranks where the ideal gain changes, and at the end of a ranking that goes on after the last."""
    gained, ideal = _running_gains(b)
    below = np.append(b.ideal[:, 1:], np.zeros((len(b.R), 1)), axis=1)
    row, column = np.nonzero((b.ideal > 0) & (b.ideal != below))
    inside = np.where(b.start[row] <= column[:, None], (b.gain / _discounts(b.start + 1))[row], 0)
    total = np.zeros(len(b.R))
    np.add.at(total, row, _total(inside) / ideal[row, column])
    longer = (b.R > 0) & (b.length > (b.ideal > 0).sum(axis=1) + 1)
    total += np.where(longer, gained[:, -1] / ideal[:, -1], 0)
    return _share(total, np.bincount(row, minlength=len(b.R)) + longer)


def preference_pairs(b: Batch, measure: Measure, _: float) -> Floats:
    """prefs_pair: pairs by the ranks of their documents, those with one document retrieved after those with both."""
    preferences, seen = preference_judgments.judged(b), preference_judgments.pairs(b)
    counted = seen.counted(measure.chosen["count"])
    row, entry, found = seen.row[counted], seen.entry[counted], seen.found[counted]
    ranks = []
    for document in (preferences.better[entry], preferences.worse[entry]):
        rank = preference_judgments.positions(b, row, document)
        ranks.append(np.where(rank < 0, NO_CUTOFF + document, rank))
    first, last = np.minimum(*ranks), np.maximum(*ranks)
    order = np.lexsort((last, first, -found, row))
    pair = np.stack([row, first, last], axis=1)[order]
    new = np.append(True, (pair[1:] != pair[:-1]).any(axis=1))[: len(pair)]
    number = np.cumsum(new) - 1
    met = np.bincount(number, (ranks[0] < ranks[1])[order] & (found[order] > 0))
    share = met / np.maximum(np.bincount(number), 1)
    owner = pair[new, 0]
    return _share(
        np.bincount(owner, share, len(b.length)).astype(np.float64), np.bincount(owner, minlength=len(b.length))
    )


def _powers(p: float, count: int) -> Floats:
    """1, p, p·p, ...: ``count`` numbers, each the one before times p."""
    return np.multiply.accumulate(np.concatenate([[1.0], np.full(max(count - 1, 0), p)]))


def rank_biased_precision(b: Batch, measure: Measure, _: float) -> Floats:
    """Rbp."""
    p = measure.chosen["p"]
    weight = _powers(p, int(b.start.max(initial=0)) + 1)
    best = np.maximum(b.ideal[:, :1], 1)
    return (1 - p) * _total(b.gain / best * weight[b.start])


def rank_biased_residual(b: Batch, measure: Measure, _: float) -> Floats:
    """rbp_resid; 0 where every document retrieved is judged."""
    p = measure.chosen["p"]
    longest = int(b.length.max(initial=0))
    weight = _powers(p, longest + 1)
    values = np.zeros(len(b.length))
    # One query at a time: a table of all ranks of all queries can be many times as large as the run.
    for query, (length, judged) in enumerate(zip(b.length.tolist(), b.judged, strict=True)):
        unjudged = np.ones(length, bool)
        unjudged[b.start[query, judged]] = False
        if unjudged.any():
            total = np.add.accumulate(weight[:length][unjudged])[-1]
            values[query] = weight[length] + (1 - p) * total
    return values
