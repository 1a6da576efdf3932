"""Narrow tables and wide ones: the same numbers, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from cranfield.ranking.batch import NARROW, cells, reorder, running, scatter, summed, take_rows

WIDTHS = [*range(1, 2 * NARROW + 2), 127, 129, 300]


def table(width: int) -> np.ndarray:
    rng = np.random.default_rng(width)
    return rng.normal(size=(50, width)) * 10.0 ** rng.integers(-9, 9, (50, width))


@pytest.mark.parametrize("width", WIDTHS)
def test_padding_moves_no_bit_of_a_sum(width: int) -> None:
    x = table(width)
    sums = summed(x)
    np.testing.assert_allclose(sums, x.sum(axis=1), rtol=1e-12, atol=1e-6)
    for more in (1, 2, 5, NARROW, 140):
        np.testing.assert_array_equal(summed(np.pad(x, ((0, 0), (0, more)))), sums)
    np.testing.assert_array_equal(summed(np.asfortranarray(x)), sums)
    assert not np.signbit(summed(np.full((3, width), -0.0))).any()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("step", [np.add, np.multiply, np.maximum, np.minimum])
def test_running_is_what_numpy_accumulates(width: int, step: np.ufunc) -> None:
    x = table(width) if step is not np.multiply else np.random.default_rng(width).random((50, width))
    np.testing.assert_array_equal(running(x, step), step.accumulate(x, axis=1))


@pytest.mark.parametrize("width", [1, 3, NARROW, NARROW + 1, 40])
def test_tables_are_the_same_however_they_are_kept(width: int) -> None:
    rng = np.random.default_rng(width)
    row, column = np.nonzero(rng.random((30, width)) < 0.5)
    values = rng.random(len(row))
    plain = np.full((30, width), -1.0)
    plain[row, column] = values
    found = scatter(values, cells(row, column, plain.shape), plain.shape, -1)
    np.testing.assert_array_equal(found, plain)
    np.testing.assert_array_equal(take_rows(found, np.array([3, 3, 0])), plain[[3, 3, 0]])
    order = np.argsort(rng.random(plain.shape), axis=1)
    np.testing.assert_array_equal(reorder(found, order), np.take_along_axis(plain, order, axis=1))
    np.testing.assert_array_equal(running(found > 0), np.cumsum(plain > 0, axis=1))
