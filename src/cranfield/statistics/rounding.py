"""Scores and differences that are equal up to rounding."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cranfield.data import Floats, Integers

# Means of the same values, added up in another order, differ in the last digits.
SAME = 1e-12
# Scores that are all smaller than this are no rounding errors of other scores; what is equal depends on their size.
SMALL = 1e-20


def levels(x: npt.ArrayLike) -> Integers:
    """The rank of each system, from 0 for the lowest score; scores that are equal up to rounding share a rank.

    >>> levels([0.3, 0.9, 0.1 + 0.2, 0.1]).tolist()
    [1, 2, 1, 0]
    """
    scores = np.asarray(x, np.float64)
    order = scores.argsort(axis=-1, kind="stable")
    ordered = np.take_along_axis(scores, order, axis=-1)
    largest = np.abs(scores).max(axis=-1, keepdims=True, initial=0)
    steps = np.zeros(scores.shape, np.int64)
    steps[..., 1:] = ordered[..., 1:] > ordered[..., :-1] + np.where(largest < SMALL, SAME * largest, SAME)
    ranks = np.empty_like(steps)
    np.put_along_axis(ranks, order, steps.cumsum(axis=-1), axis=-1)
    return ranks


def equalize(differences: Floats) -> Floats:
    """Remove rounding errors from differences (pair, query).

    Differences of one pair that are equal up to rounding become equal; those near 0 become 0.

    >>> equalize(np.array([[0.3 - 0.2, 0.8 - 0.7, 0.1 + 0.2 - 0.3]])).tolist()
    [[0.09999999999999998, 0.09999999999999998, 0.0]]
    """
    z = np.where(np.abs(differences) <= SAME, 0, differences)
    order = z.argsort(axis=1, kind="stable")
    ordered = np.take_along_axis(z, order, axis=1)
    new = np.ones(z.shape, bool)
    new[:, 1:] = ordered[:, 1:] > ordered[:, :-1] + SAME
    new |= ordered == 0  # a chain of close values must not change a difference of 0
    leader = np.maximum.accumulate(np.where(new, np.arange(z.shape[1]), 0), axis=1)
    np.put_along_axis(z, order, np.take_along_axis(ordered, leader, axis=1), axis=1)
    return z
