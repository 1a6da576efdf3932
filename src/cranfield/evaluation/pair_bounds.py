"""Bounds of the difference of two runs over all possible grades of unjudged documents.

Two runs share unjudged documents, and a document has one grade for both. With a measure that is linear in the gains,
Σ w(rank) g, run A is lowest if none of its unjudged documents is relevant, and run B is highest if all of its are. A
document in both then adds to A, too, or to neither. The lowest difference is therefore

    lowest of A - highest of B + Σ over unjudged documents in both of min(w_A, w_B) · highest gain,

and it is attained. nDCG divides the linear DCG by that of the ideal ranking of the query, which is the same for both
runs, and which is taken as it is judged so far. For other measures nothing is known of shared documents: the sum is 0.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cranfield.data import Floats, Integers, Strings
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.plan import Column, Policy
from cranfield.evaluation.run_scores import RunScores
from cranfield.io.columns import first_rows
from cranfield.measures import Measure
from cranfield.measures.weights import is_linear, rank_weights
from cranfield.ranking.batch import CELLS
from cranfield.ranking.views import Views

DECIMALS = 12  # weights equal to this number of decimals are tied
CHEAP = 20  # the last rank for which top documents are kept


def lowest_differences(lowest: Floats, highest: Floats, shared: Floats | float = 0.0) -> Floats:
    """The lowest difference of every two runs, (run, run, ...): row less column. The highest is that of (column, row).

    ``lowest``, ``highest`` (run, ...): the bounds of each run alone. ``shared`` (run, run, ...): what unjudged
    documents add to both runs, see `shared_gain`; 0 if that is not known.

    >>> lowest_differences(np.array([0.5, 0.0]), np.array([1.0, 1.0]), np.array([[0, 0.5], [0.5, 0]])).tolist()
    [[-0.5, 0.0], [-0.5, -1.0]]
    """
    return np.asarray(lowest[:, None] - highest + shared, np.float64)


def shared_gain(run: Integers, document: Integers, weight: Floats, runs: int) -> Floats:
    """Σ over documents of the lower of two runs' weights, (run, run); the arrays have a row for each run of a document.

    Documents of a single run are left out, from the diagonal as well.

    >>> shared_gain(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2]), np.array([1.0, 0.5, 1.0, 0.5]), 2).tolist()
    [[0.5, 0.5], [0.5, 1.0]]
    """
    shared = np.zeros((runs, runs))
    several = np.flatnonzero(np.bincount(document)[document] > 1)
    rows = several[np.argsort(document[several], kind="stable")]
    number = np.cumsum(np.diff(document[rows], prepend=-1) > 0) - 1
    step = min(max(1, CELLS // runs), len(rows) or 1)
    for first in range(0, int(number.max(initial=-1)) + 1, step):
        chosen = slice(*np.searchsorted(number, (first, first + step)))
        table = np.zeros((runs, step))
        table[run[rows[chosen]], number[chosen] - first] = weight[rows[chosen]]
        for r, row in enumerate(table):
            has = np.flatnonzero(row)
            shared[r] += np.minimum(row[has], table[:, has]).sum(axis=1)
    return shared


def linear_part(measure: Measure) -> Measure | None:
    """The linear measure that this one is, or that it divides by the ideal ranking of the query; None otherwise."""
    views = measure.views
    if is_linear(measure):
        return measure
    if measure.symbol == "nDCG" and measure.chosen["R"] == "judged" and not (views.terminal or views.condensed):
        return replace(measure, symbol="DCG")
    return None


def ideal_scores(measure: Measure, begin: Integers, grade: Floats, top: float) -> Floats:
    """What a measure divides the score of its linear part by, (query,): 1, or the score of the ideal ranking.

    ``begin``, ``grade``: the grades of each query's documents; negative ones are unjudged. 0 if no document has a gain.

    >>> ideal_scores(cf.parse("nDCG@2"), np.array([0, 3, 4]), np.array([0.0, 2, 1, 0]), 2.0).round(4).tolist()
    [2.6309, 0.0]
    """
    part, count = linear_part(measure), np.diff(begin)
    if part is None or part == measure:
        return np.ones(len(count))
    query = np.repeat(np.arange(len(count)), count)
    gain = np.where(grade >= 0, part.gains.of(np.maximum(grade, 0), top), 0)
    gain = gain[np.lexsort((-gain, query))]
    weight = rank_weights(replace(part, views=Views()), max(int(count.max(initial=0)), 1), top)
    weighted = gain * weight[np.arange(len(gain)) - begin[query]]
    return np.asarray(np.bincount(query, weighted, len(count)), np.float64)


def pair_depth(column: Column, policy: Policy) -> int:
    """The number of top documents that pairs of runs need for this column; 0 if it is not cheap, or not possible."""
    measure, cutoff = column.measure, column.rank_cutoff
    possible = (
        column.part == "value"
        and linear_part(measure) is not None
        and not measure.views.sampled
        and measure.views.rule.fixes_order
        and policy.queries == "judged"
        and policy.nil is None
        and not policy.complete
        and not column.alignment.costs
    )
    return cutoff if possible and cutoff is not None and cutoff <= CHEAP else 0


def differences_of_runs(evaluation: Evaluation, m: int) -> Floats | None:
    """The lowest mean difference of every two runs in a column of the scores, (run, run); None if it is not known.

    The ideal ranking of nDCG is that of the judgments so far.
    """
    column = evaluation.columns[m]
    depth, part = pair_depth(column, evaluation.policy), linear_part(column.measure)
    runs, scores = evaluation.run_scores, evaluation.ranking_scores
    if not depth or part is None or not all(isinstance(run, RunScores) and run.tops for run in runs):
        return None
    aligner, *others = [run.alignments[column.alignment].aligner for run in runs]
    if part != column.measure and any(other.judgments is not aligner.judgments for other in others):
        return None  # each run has judgments, and an ideal ranking, of its own
    top = max(*(of_run.judged.top for of_run in (aligner, *others)), 1.0)
    if part.gains.of(np.zeros(1), top)[0] > 0:
        return None  # an unjudged document gains less than one that is judged not relevant
    ideal = ideal_scores(column.measure, aligner.judgments.begin, aligner.grade, top)
    gain = rank_weights(part, depth, top) * part.highest_gain(top)
    run, document, weight = _unjudged(evaluation, column, gain, np.where(ideal > 0, ideal, np.inf))
    means, total = scores._means[:, m], max(int(scores._sizes[:, m].max()), 1)
    room = np.bincount(run, weight, len(runs))
    return lowest_differences(means, means + room / total, shared_gain(run, document, weight, len(runs)) / total)


def _unjudged(evaluation: Evaluation, column: Column, gain: Floats, ideal: Floats) -> tuple[Integers, Integers, Floats]:
    """The unjudged top documents: the run, a number for the query and document, and the weight of each."""
    parts: list[tuple[Integers, Integers, Floats]] = []
    ids: list[Strings] = []
    rule = column.measure.views.rule
    for r, run in enumerate(evaluation.run_scores):
        tops, grade = run.tops[rule.key], run.alignments[column.alignment].aligner.grade
        top = tops.positions
        position = top.start + getattr(top, rule.page_position)
        judged = (top.document >= 0) & (grade[top.document] >= 0) if len(grade) else top.document >= 0
        rows = np.flatnonzero((position < len(gain)) & ~judged & (top.query < len(evaluation.queries)))
        query = top.query[rows]
        ids.append(tops.ids.take(rows))
        parts.append((np.full(len(rows), r), query, gain[position[rows]] / ideal[query]))
    runs, queries, weights = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    group = np.unique(queries, return_inverse=True)[1]
    return runs, first_rows(group, Strings.concatenate(ids)), weights
