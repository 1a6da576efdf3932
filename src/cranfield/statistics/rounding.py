"""Numbers that are equal up to rounding, and linear algebra with the same bits on every processor.

BLAS and LAPACK, which are behind ``@`` and `numpy.linalg`, add in an order that depends on the processor and on the
number of threads. Sums have an order of ours or of NumPy's own loops (`numpy.sum`, `numpy.einsum`) instead, or are
exact, so that the order does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cranfield.data import Floats, Integers

# Means of the same values, added up in another order, differ in the last digits.
SAME = 1e-12
# Scores that are all smaller than this are no rounding errors of other scores; what is equal depends on their size.
SMALL = 1e-20
BITS = 53  # of a float's fraction


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


def addable(x: Floats, number: int) -> Floats:
    """The values of each row, rounded so that every sum of so many of them is exact, whatever the order.

    The products of such rows with signs, or with counts that add up to ``number``, are then exact too. A value changes
    by at most 2^-52 times ``number`` times the largest of its row.

    >>> row = np.array([0.1, 0.2, 0.3])
    >>> (row[0] + row[1]) + row[2] == row[0] + (row[1] + row[2])
    np.False_
    >>> row = addable(row, 3)
    >>> (row[0] + row[1]) + row[2] == row[0] + (row[1] + row[2])
    np.True_
    """
    exponent = np.frexp(np.abs(x).max(axis=-1, keepdims=True, initial=0))[1] + (number - 1).bit_length() - BITS
    return np.ldexp(np.rint(np.ldexp(x, -exponent)), exponent)


def solve(matrix: Sequence[Sequence[float]], values: Sequence[float]) -> list[float] | None:
    """The solution of a small system of linear equations, by Gaussian elimination; None if it has not exactly one.

    >>> solve([[2, 1], [1, 3]], [5, 10])
    [1.0, 3.0]
    """
    rows = [[*map(float, row), float(value)] for row, value in zip(matrix, values, strict=True)]
    largest = max((abs(x) for row in rows for x in row[:-1]), default=0.0)
    for i in range(len(rows)):
        pivot = max(range(i, len(rows)), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        if abs(rows[i][i]) <= SAME * largest:
            return None
        for row in rows[i + 1 :]:
            factor = row[i] / rows[i][i]
            row[i:] = [x - factor * y for x, y in zip(row[i:], rows[i][i:], strict=True)]
    for i in reversed(range(len(rows))):
        for row in rows[:i]:  # not `sum`, which Python 3.12 and later compensate for rounding
            row[-1] -= row[i] / rows[i][i] * rows[i][-1]
    return [row[-1] / row[i] for i, row in enumerate(rows)]
