"""The lowest mean difference of every pair of runs that unjudged documents allow, where it is cheap to compute.

Two runs share unjudged documents, and each has one grade: the difference of a pair is bounded more tightly than by the
bounds of each run alone (see `pair_bounds`). This needs the ids of unjudged documents, so that it is done for measures
that are linear in the gains and look at the first few documents only.
"""

from __future__ import annotations

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.evaluation.columns import Column
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.pair_bounds import is_linear, rank_weights
from cranfield.evaluation.policy import Policy
from cranfield.evaluation.run_scores import RunScores

CHEAP = 20  # the last rank for which top documents are kept


def pair_depth(column: Column, policy: Policy) -> int:
    """The number of top documents that pairs of runs need for this column; 0 if it is not cheap, or not possible."""
    measure, cutoff = column.measure, column.rank_cutoff
    possible = (
        column.part == "value"
        and is_linear(measure)
        and not measure.views.sampled
        and measure.views.rule.fixes_order
        and policy.queries == "judged"
        and policy.nil is None
        and not column.alignment.costs
    )
    return cutoff if possible and cutoff is not None and cutoff <= CHEAP else 0


def lowest_differences(evaluation: Evaluation, m: int) -> Floats | None:
    """The lowest mean of each run less that of each other, (run, run); None if it is not known."""
    column = evaluation.columns[m]
    depth = pair_depth(column, evaluation.policy)
    runs = evaluation.run_scores
    if not depth or not all(isinstance(run, RunScores) and run.tops for run in runs):
        return None
    measure = column.measure
    top = max(run.alignments[column.alignment].aligner.judged.top for run in runs)
    if measure.gains.of(np.zeros(1), top)[0] > 0:
        return None  # an unjudged document gains less than one that is judged not relevant
    weights = rank_weights(measure, depth, max(top, 1.0)) * measure.highest_gain(max(top, 1.0))
    count = len(runs)
    run_of, code, weight = _unjudged(evaluation, column, depth, weights)
    room = np.bincount(run_of, weight, count)
    shared = _shared(run_of, code, weight, count)
    means = evaluation.scores.means[:, m]
    queries = max(len(evaluation.queries), 1)
    return np.asarray(means[:, None] - means + (shared - room) / queries)


def _unjudged(evaluation: Evaluation, column: Column, depth: int, weights: Floats) -> tuple[Integers, Integers, Floats]:
    """The unjudged documents with weight: the run, a number for the query and document, and the weight of each."""
    numbers: dict[tuple[int, str], int] = {}
    run_of: list[int] = []
    codes: list[int] = []
    values: list[float] = []
    rule = column.measure.views.rule
    for r, run in enumerate(evaluation.run_scores):
        tops, grade = run.tops[rule.key], run.alignments[column.alignment].aligner.grade
        top = tops.positions
        position = top.start + getattr(top, rule.page_position)
        judged = (top.document >= 0) & (grade[top.document] >= 0) if len(grade) else top.document >= 0
        rows = np.flatnonzero((position < depth) & ~judged & (top.query < len(evaluation.queries)))
        ids = zip(top.query[rows].tolist(), tops.ids.take(rows), strict=True)
        codes += [numbers.setdefault(pair, len(numbers)) for pair in ids]
        values += weights[position[rows]].tolist()
        run_of += [r] * len(rows)
    return np.array(run_of, np.int64), np.array(codes, np.int64), np.array(values, np.float64)


def _shared(run_of: Integers, code: Integers, weight: Floats, count: int) -> Floats:
    """Σ over documents of the lower of two runs' weights, (run, run)."""
    shared = np.zeros((count, count))
    order = np.argsort(code, kind="stable")
    begin = np.flatnonzero(np.diff(code[order], prepend=-1))
    for rows in np.split(order, begin[1:]) if len(order) else ():
        runs = run_of[rows]
        shared[np.ix_(runs, runs)] += np.minimum.outer(weight[rows], weight[rows])
    return shared
