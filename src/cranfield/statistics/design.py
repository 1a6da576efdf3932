"""The number of queries that a paired t-test needs (topic set size design; Sakai, IR Journal, 2016)."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy.typing as npt

from cranfield.errors import UsageError, check_fraction
from cranfield.statistics.resampling import check_scores

MAX_QUERIES = 10**7  # larger numbers are not computed


def difference_variance(scores: npt.ArrayLike) -> float:
    """The variance over queries of the difference between two systems, averaged over all pairs.

    It is twice the residual variance of a two-way analysis of variance, systems by queries.

    >>> round(difference_variance([[0.1, 0.5, 0.3], [0.2, 0.2, 0.2]]), 4)
    0.04
    """
    x = check_scores(scores)
    residual = x - x.mean(axis=0) - x.mean(axis=1, keepdims=True) + x.mean()
    return float(2 * (residual**2).sum() / ((x.shape[0] - 1) * (x.shape[1] - 1)))


def power_of_t(queries: int, effect: float, alpha: float = 0.05) -> float:
    """The power of a two-sided paired t-test to detect a difference of ``effect`` standard deviations.

    >>> round(power_of_t(34, 0.5), 4)
    0.8078
    """
    from scipy import stats

    freedom, shift = queries - 1, effect * math.sqrt(queries)
    critical = stats.t.ppf(1 - alpha / 2, freedom)
    # The lower tail is the upper tail of the opposite shift, which avoids cancellation.
    return float(stats.nct.sf(critical, freedom, shift) + stats.nct.sf(critical, freedom, -shift))


def queries_needed(variance: float, difference: float, *, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """The smallest number of queries for a paired t-test with this power; None if it is more than `MAX_QUERIES`.

    >>> queries_needed(0.04, 0.1)
    34
    """
    if not (0 <= variance < math.inf and 0 < difference < math.inf):
        raise UsageError(f"variance must be at least 0 and difference positive; got {variance:g} and {difference:g}")
    alpha, power = check_fraction("alpha", alpha), check_fraction("power", power)
    if variance == 0:
        return 2
    effect = difference / math.sqrt(variance)
    normal = NormalDist()
    distance = normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)
    if distance > effect * math.sqrt(MAX_QUERIES):
        return None
    guess = (distance / effect) ** 2
    # The t-test needs at least as many queries as the normal approximation.
    low, high = 1, max(2, math.ceil(guess))
    while power_of_t(high, effect, alpha) < power:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_of_t(middle, effect, alpha) >= power else (middle, high)
    return high


def detectable_difference(variance: float, queries: int, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest difference that a paired t-test on so many queries detects with this power.

    >>> round(detectable_difference(0.04, 34), 3)
    0.099
    """
    if queries < 2:
        raise UsageError(f"a test needs at least two queries, got {queries}")
    alpha, power = check_fraction("alpha", alpha), check_fraction("power", power)
    low, high = 0.0, 1.0
    while power_of_t(queries, high, alpha) < power:
        high *= 2
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if power_of_t(queries, middle, alpha) >= power else (middle, high)
    return high * math.sqrt(variance)
