"""Differences that only rounding tells apart, which are the same."""

from __future__ import annotations

import numpy as np

from cranfield.data import Floats
from cranfield.statistics.correlation import SAME


def settled(differences: Floats) -> Floats:
    """Differences (pair, topic), those of one pair that are nearer than rounding made equal, and near 0 none at all.

    >>> settled(np.array([[0.3 - 0.2, 0.8 - 0.7, 0.1 + 0.2 - 0.3]])).tolist()
    [[0.09999999999999998, 0.09999999999999998, 0.0]]
    """
    z = np.where(np.abs(differences) <= SAME, 0, differences)
    order = z.argsort(axis=1, kind="stable")
    ordered = np.take_along_axis(z, order, axis=1)
    new = np.ones(z.shape, bool)
    new[:, 1:] = ordered[:, 1:] > ordered[:, :-1] + SAME
    new |= ordered == 0  # a chain of near values may not move away from no difference
    leader = np.maximum.accumulate(np.where(new, np.arange(z.shape[1]), 0), axis=1)
    np.put_along_axis(z, order, np.take_along_axis(ordered, leader, axis=1), axis=1)
    return z
