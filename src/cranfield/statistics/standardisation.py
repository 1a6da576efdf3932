"""Score standardisation: how a score compares with those of other runs for the same query.

Webber, Moffat and Zobel (SIGIR 2008). Hard and easy queries then count alike, and means of different collections can be
compared.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from cranfield.data import Booleans, Floats
from cranfield.errors import UsageError
from cranfield.settings import checked

Standardisation = Literal["z", "normal", "empirical"]


@checked
def standardise(values: Floats, method: Standardisation, reference: Booleans | None = None) -> Floats:
    """The values of runs (run, ...), standardised over the runs; NaN stays NaN and does not count.

    ``z``: the distance from the mean over the reference runs, in their standard deviations (of a sample, with n - 1);
    0 if all reference runs have the same score. ``normal``: the probability of a lower value in a normal distribution,
    between 0 and 1. ``empirical``: the share of reference runs with a lower score, plus half of those with the same.
    ``reference`` (run,): the runs that are compared with; by default all.

    >>> standardise(np.array([[1.0], [2.0], [3.0]]), "z").T.tolist()
    [[-1.0, 0.0, 1.0]]
    >>> standardise(np.array([[1.0], [2.0], [3.0]]), "empirical").round(4).T.tolist()
    [[0.1667, 0.5, 0.8333]]
    """
    chosen = values if reference is None else values[reference]
    if len(chosen) < 2:
        raise UsageError(f"standardisation compares runs and needs at least two, got {len(chosen)}")
    present = ~np.isnan(chosen)
    n = present.sum(axis=0)
    if method == "empirical":
        return _empirical(values, chosen, n)
    values_present = np.where(present, chosen, 0.0)
    mean = values_present.sum(axis=0) / np.maximum(n, 1)
    squares = np.where(present, (chosen - mean) ** 2, 0.0).sum(axis=0)
    deviation = np.sqrt(squares / np.maximum(n - 1, 1))
    # Equal scores may leave a rounding error.
    spread = np.where(present, np.abs(chosen), 0.0).max(axis=0, initial=0.0) * 1e-12
    differs = deviation > spread
    z = np.where(differs, (values - mean) / np.where(differs, deviation, 1.0), 0.0)
    z = np.where(np.isnan(values), np.nan, z)
    return z if method == "z" else _normal(z)


def _empirical(values: Floats, chosen: Floats, n: Floats) -> Floats:
    result = np.full(values.shape, np.nan)
    for r, row in enumerate(values):
        below = (chosen < row).sum(axis=0) + 0.5 * (chosen == row).sum(axis=0)
        result[r] = np.where(np.isnan(row) | (n == 0), np.nan, below / np.maximum(n, 1))
    return result


def _normal(z: Floats) -> Floats:
    """The standard normal distribution function."""
    from math import erf, sqrt

    flat = [0.5 * (1 + erf(value / sqrt(2))) for value in z.ravel().tolist()]
    return np.array(flat).reshape(z.shape)
