"""Arithmetic along the rows of tables, which is fast for tables with few columns, too.

NumPy has a fixed cost for each row of a reduction, but most tables here have thousands of rows and two or three
columns. These narrow tables are stored and processed column by column.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from cranfield import native
from cranfield.data import Array, Booleans, Floats, Integers

NARROW = 8  # tables with up to this many columns are stored column by column
MOST_STATES = 1 << 62  # the most values of a combined key of 64 bits


def cells(row: Integers, column: Integers, shape: tuple[int, int]) -> Integers:
    """The indices at which `scatter` stores the values of these rows and columns."""
    return column * shape[0] + row if shape[1] <= NARROW else row * shape[1] + column


def scatter(values: Array, at: Integers, shape: tuple[int, int], empty: float) -> Array:
    """A table with these values in these `cells`, and ``empty`` in all others."""
    count = shape[0] * shape[1]
    flat = np.full(count, empty, values.dtype) if empty else np.zeros(count, values.dtype)
    flat[at] = values
    return flat.reshape(shape, order="F" if shape[1] <= NARROW else "C")


@lru_cache(maxsize=64)
def constant(value: float, shape: tuple[int, int]) -> Array:
    """A read-only table with the same value in every cell, which needs no memory."""
    return np.broadcast_to(np.array(value, np.bool_ if isinstance(value, bool) else np.int64), shape)


def take_rows(x: Array, rows: Integers) -> Array:
    """These rows of a table or column; rows may repeat."""
    if x.ndim == 1 or x.shape[1] > NARROW:
        return x[rows]
    # take is several times as fast, but copies arrays that are not contiguous.
    return (x.T.take(rows, axis=1) if x.flags.f_contiguous else x.T[:, rows]).T


def reorder(x: Array, order: Integers) -> Array:
    """The table with each row in its own order."""
    moved = np.take_along_axis(x, order, axis=1)
    return np.asfortranarray(moved) if x.shape[1] <= NARROW else moved


def running(x: Array, step: np.ufunc = np.add) -> Array:
    """The running sums of each row; another ufunc gives running products, maxima and so on."""
    if x.shape[1] > NARROW and step is np.add and x.dtype == np.float64:
        return native.running_sums(x)
    x = x.astype(np.int64) if x.dtype == bool else x
    if x.shape[1] > NARROW:
        return np.asarray(step.accumulate(x, axis=1))
    accumulated = np.array(x, order="F")
    for i in range(1, x.shape[1]):
        step(accumulated[:, i - 1], accumulated[:, i], out=accumulated[:, i])
    return accumulated


def edges(first: Booleans) -> tuple[Integers, Integers]:
    """The first and last column of the group of each column; ``first``: a column begins a group."""
    last = np.ones_like(first)
    last[:, :-1] = first[:, 1:]
    columns = np.arange(first.shape[1])
    tail = running(np.where(last, columns, columns[-1])[:, ::-1], np.minimum)[:, ::-1]
    return running(np.where(first, columns, 0), np.maximum), tail


def after_first(values: Array, first: float) -> Array:
    """Each row moved to the right by a column, with its last value dropped."""
    return np.concatenate([np.full((len(values), 1), first), values[:, :-1]], axis=1)


def summed(x: Floats) -> Floats:
    """The sum of each row; padding with zeros never changes the result, not even in the last bit."""
    return native.row_sums(x)


def ratio(part: Floats, total: Floats) -> Floats:
    """``part / total``; NaN (undefined) where the total is 0."""
    quotient: Floats = part / np.where(total > 0, total, np.nan)
    return quotient


def lexsorted(keys: Sequence[Array]) -> Integers:
    """`numpy.lexsort`; keys of small integers are combined into one, because that is several times faster.

    >>> lexsorted([np.array([0, 1, 0]), np.array([2.0, 2.0, -1.0])]).tolist()
    [2, 0, 1]
    """
    combined, states = np.zeros(len(keys[0]), np.int64), 1
    for key in reversed(keys) if len(combined) else ():
        low, high = float(key.min()), float(key.max())
        if max(-low, high) >= MOST_STATES or (key.dtype.kind == "f" and (key != np.floor(key)).any()):
            return np.lexsort(list(keys))
        values = int(high) - int(low) + 1
        if states * values >= MOST_STATES:
            return np.lexsort(list(keys))
        states *= values
        combined = combined * values + (key.astype(np.int64) - int(low))
    return np.argsort(combined, kind="stable")
