"""How many topics it takes to see a difference (Sakai, Information Retrieval Journal, 2016): for a paired t-test."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy.typing as npt

from cranfield.arguments import share
from cranfield.errors import UsageError
from cranfield.statistics.resampling import checked

MOST = 10**7  # topics that nobody will have


def difference_variance(scores: npt.ArrayLike) -> float:
    """The variance over topics of the difference between two systems, in the mean over all pairs.

    It is twice the residual variance of a two-way analysis of variance, systems by topics.

    >>> round(difference_variance([[0.1, 0.5, 0.3], [0.2, 0.2, 0.2]]), 4)
    0.04
    """
    x = checked(scores)
    residual = x - x.mean(axis=0) - x.mean(axis=1, keepdims=True) + x.mean()
    return float(2 * (residual**2).sum() / ((x.shape[0] - 1) * (x.shape[1] - 1)))


def power_of_t(topics: int, effect: float, alpha: float = 0.05) -> float:
    """How often a two-sided paired t-test on so many topics finds a difference of ``effect`` standard deviations.

    >>> round(power_of_t(34, 0.5), 4)
    0.8078
    """
    from scipy import stats

    freedom, shift = topics - 1, effect * math.sqrt(topics)
    edge = stats.t.ppf(1 - alpha / 2, freedom)
    # By symmetry the other tail is the far one of the opposite shift, which is computed without cancellation.
    return float(stats.nct.sf(edge, freedom, shift) + stats.nct.sf(edge, freedom, -shift))


def topics_needed(variance: float, difference: float, *, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """The fewest topics on which a paired t-test finds this difference with this probability; None where nobody has
    so many.

    >>> topics_needed(0.04, 0.1)
    34
    """
    if not (0 <= variance < math.inf and 0 < difference < math.inf):
        raise UsageError(f"a variance of {variance:g} or a difference of {difference:g} makes no sense")
    alpha, power = share("alpha", alpha), share("power", power)
    if variance == 0:
        return 2
    effect = difference / math.sqrt(variance)
    normal = NormalDist()
    apart = normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)
    if apart > effect * math.sqrt(MOST):
        return None
    guess = (apart / effect) ** 2
    # t needs some more topics than the normal distribution, and never fewer.
    low, high = 1, max(2, math.ceil(guess))
    while power_of_t(high, effect, alpha) < power:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_of_t(middle, effect, alpha) >= power else (middle, high)
    return high


def detectable(variance: float, topics: int, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest difference that a paired t-test on so many topics finds with this probability.

    >>> round(detectable(0.04, 34), 3)
    0.099
    """
    if topics < 2:
        raise UsageError(f"a test needs at least two topics, not {topics}")
    alpha, power = share("alpha", alpha), share("power", power)
    low, high = 0.0, 1.0
    while power_of_t(topics, high, alpha) < power:
        high *= 2
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if power_of_t(topics, middle, alpha) >= power else (middle, high)
    return high * math.sqrt(variance)
