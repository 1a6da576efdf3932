"""Cascade models: readers go down the ranking and stop with a probability that depends on the documents read."""

from __future__ import annotations

import numpy as np

from cranfield.data import Array, Floats, Integers
from cranfield.ranking.batch import Batch, Weights, summed
from cranfield.ranking.subtopics import Aspects


def survival(n: Integers, keep: Floats, depth: int) -> Floats:
    """The mean over all sets of x of the n documents of a tie of the product of their factors; (tie, x = 0..depth).

    ``keep`` (tie, document): the factors that are not 1, at the right of the row; the row is filled with 1s. The mean
    is a normalised elementary symmetric polynomial. The recurrence adds one document at a time and stays in [0, 1].
    """
    n = n[:, None]
    x = np.arange(depth + 1)
    probability = np.ones((len(n), depth + 1))
    added = np.flatnonzero(keep.min(axis=0, initial=1) < 1)
    for i, column in enumerate(added):
        share = np.minimum(x / np.maximum(n - len(added) + i + 1, 1), 1)
        probability[:, 1:] = ((1 - share) * probability)[:, 1:] + share[:, 1:] * keep[:, column, None] * probability[
            :, :-1
        ]
    return probability


def survival_with_gain(n: Integers, keep: Floats, extra: Floats, depth: int) -> tuple[Floats, Floats, Floats]:
    """`survival`, and two more means over the sets and orders of the documents of a tie.

    Let S_x be the product of the factors of x documents. A_x is the mean of S_x times the sum of the ``extra`` of
    these documents; H_x is the mean of S_(x-1) times the ``extra`` of the x-th document. ``extra`` is 0 where ``keep``
    is filled with 1s.
    """
    n = n[:, None]
    x = np.arange(depth + 1)
    alone = np.ones((len(n), depth + 1))
    above, last = np.zeros((2, *alone.shape))
    added = np.flatnonzero((keep.min(axis=0, initial=1) < 1) | (extra.max(axis=0, initial=0) > 0))
    for i, column in enumerate(added):
        documents = np.maximum(n - len(added) + i + 1, 1)
        share, before = np.minimum(x / documents, 1), np.clip((x - 1) / documents, 0, 1)
        factor, own = keep[:, column, None], extra[:, column, None]
        shifted = alone[:, :-1]
        last[:, 1:] = ((1 - share) * last)[:, 1:] + before[:, 1:] * factor * last[:, :-1] + own * shifted / documents
        above[:, 1:] = ((1 - share) * above)[:, 1:] + share[:, 1:] * factor * (above[:, :-1] + own * shifted)
        alone[:, 1:] = ((1 - share) * alone)[:, 1:] + share[:, 1:] * factor * shifted
    return alone, above, last


def aspects(b: Batch) -> Aspects:
    """The subtopics of the judged documents, with the gains of this measure."""
    assert b.subtopics is not None and b.gain_of_grade is not None  # `check_measurable` requires subtopics
    return b.subtopics.aspects(b.gain_of_grade)


def rows_of_queries(b: Batch, values: Array) -> Floats:
    """The rows of a table by query that belong to the queries of this batch; 0 for unjudged queries."""
    rows = values[b.query].astype(np.float64)
    rows[b.query < 0] = 0
    return rows


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
