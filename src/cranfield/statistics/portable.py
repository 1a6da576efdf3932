"""Linear algebra with the same bits on every processor.

BLAS and LAPACK, which are behind ``@`` and `numpy.linalg`, add in an order that depends on the processor and on the
number of threads. Sums have an order of ours or of NumPy's own loops (`numpy.sum`, `numpy.einsum`) instead, or are
exact, so that the order does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cranfield.data import Floats
from cranfield.statistics.rounding import SAME

BITS = 53  # of a float's fraction


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
