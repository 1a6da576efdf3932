"""Risk: whether a system is worse than others on some queries, which a mean over queries hides."""

from __future__ import annotations

import numpy as np

from cranfield.data import Floats


def risk_utility(values: Floats, baseline: Floats, alpha: float) -> Floats:
    """URisk of each system (Wang et al. 2012): the mean gain over a baseline; losses count (1 + alpha) times.

    ``values`` (system, query), ``baseline`` (query,).
    """
    difference = values - baseline
    return np.asarray(np.where(difference < 0, (1 + alpha) * difference, difference).mean(axis=-1))


def geometric_risk(values: Floats, alpha: float) -> Floats:
    """GeoRisk of each system (Dinçer et al. 2016): the geometric mean of effectiveness and of risk among all systems.

    ``values`` (system, query), not negative. A system is expected to have its share of what all systems have on a
    query. z is the difference from this in standard units; where it is negative it counts (1 + alpha) times.
    """
    from scipy.special import ndtr

    queries, total = values.shape[1], values.sum()
    expected = np.outer(values.sum(axis=1), values.sum(axis=0)) / (total if total > 0 else 1)
    z = (values - expected) / np.sqrt(np.where(expected > 0, expected, 1))
    risk = np.where(z < 0, (1 + alpha) * z, z).sum(axis=1) / queries
    return np.asarray(np.sqrt(values.mean(axis=1) * ndtr(risk)))
