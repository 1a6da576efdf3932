"""Arithmetic along the rows of tables, quick for those of a few columns too.

NumPy takes a step of its own for every row that it adds up; most tables here have thousands of rows and two or three
columns. These are kept column by column, and taken so.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield import native
from cranfield.data import Floats, Integers

NARROW = 8  # columns up to which a table is kept column by column


def cells(row: Integers, column: Integers, shape: tuple[int, int]) -> Integers:
    """Where `scattered` keeps what stands in these rows and columns."""
    return column * shape[0] + row if shape[1] <= NARROW else row * shape[1] + column


def scatter(values: npt.NDArray[Any], at: Integers, shape: tuple[int, int], empty: float) -> npt.NDArray[Any]:
    """A table with values in some of its `cells`."""
    cells = shape[0] * shape[1]
    flat = np.full(cells, empty, values.dtype) if empty else np.zeros(cells, values.dtype)
    flat[at] = values
    return flat.reshape(shape, order="F" if shape[1] <= NARROW else "C")


@lru_cache(maxsize=64)
def constant(value: float, shape: tuple[int, int]) -> npt.NDArray[Any]:
    """A table with one value in every cell, which takes no memory and cannot be written to."""
    return np.broadcast_to(np.array(value, np.bool_ if isinstance(value, bool) else np.int64), shape)


def take_rows(x: npt.NDArray[Any], rows: Integers) -> npt.NDArray[Any]:
    """Some rows of a table, or some of them several times; or some of a column."""
    if x.ndim == 1 or x.shape[1] > NARROW:
        return x[rows]
    # take is several times as quick, but copies what does not lie in one piece
    return (x.T.take(rows, axis=1) if x.flags.f_contiguous else x.T[:, rows]).T


def reorder(x: npt.NDArray[Any], order: Integers) -> npt.NDArray[Any]:
    """Each row in an order of its own."""
    moved = np.take_along_axis(x, order, axis=1)
    return np.asfortranarray(moved) if x.shape[1] <= NARROW else moved


def running(x: npt.NDArray[Any], step: np.ufunc = np.add) -> npt.NDArray[Any]:
    """Each row's running sums, or products, or whatever a step makes of two numbers."""
    x = x.astype(np.int64) if x.dtype == bool else x
    if x.shape[1] > NARROW:
        return np.asarray(step.accumulate(x, axis=1))
    found = np.array(x, order="F")
    for i in range(1, x.shape[1]):
        step(found[:, i - 1], found[:, i], out=found[:, i])
    return found


def summed(x: Floats) -> Floats:
    """The sum of each row; padding with zeros never changes the result, not even in the last bit."""
    return native.row_sums(x)


def ratio(part: Floats, total: Floats) -> Floats:
    """``part / total``; NaN (undefined) where the total is 0."""
    quotient: Floats = part / np.where(total > 0, total, np.nan)
    return quotient
