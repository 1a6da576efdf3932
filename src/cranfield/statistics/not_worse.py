"""The lowest plausible difference: bounds for evidence that a run is not worse, also if few queries differ."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cranfield.data import Floats
from cranfield.settings import Chance, checked
from cranfield.statistics.rounding import SAME

FEW = 10  # queries that differ: with fewer, their spread says little of losses that are rare


@checked
def lowest_difference(
    estimate: npt.ArrayLike,
    variance: npt.ArrayLike,
    degrees: npt.ArrayLike,
    skewness: npt.ArrayLike,
    *,
    units: npt.ArrayLike,
    differ: npt.ArrayLike,
    lost: npt.ArrayLike,
    largest: npt.ArrayLike,
    alpha: Chance = 0.05,
) -> Floats:
    """The bound that the mean difference exceeds with confidence 1 - alpha: the lowest of three.

    That of Student's t; that of Hall, which corrects it for skewness; and, if fewer than 10 queries differ, the
    upper limit (Clopper and Pearson) of the share of queries that lose, if each loses as much as it can. Without any
    spread nothing is known, and it is minus infinity.

    ``variance``, ``degrees``, ``skewness``: of the estimate; its skewness is that of n differences divided by √n.
    ``units``: the number of queries, or of clusters of them; ``differ``: how many of them differ, and ``lost`` of these
    are worse. ``largest``: the largest possible loss of a query.

    >>> d = np.array([-1.0] + [0.0] * 99)
    >>> skewness = ((d - d.mean()) ** 3).mean() / d.std(ddof=1) ** 3 / 10
    >>> known = {"units": 100, "differ": 1, "lost": 1, "largest": 1}
    >>> lowest_difference(d.mean(), d.var(ddof=1) / 100, 99, skewness, **known).round(4).item()
    -0.0692
    """
    from scipy.special import betaincinv, stdtrit

    share = 1 - alpha
    mean, error = np.asarray(estimate, np.float64), np.sqrt(np.asarray(variance, np.float64))
    flat = error <= SAME
    error = np.where(flat, 1, error)
    t = stdtrit(np.asarray(degrees, np.float64), share)
    a = np.asarray(skewness, np.float64)
    skewed = np.abs(a) > SAME
    divisor = np.where(skewed, a, 1)
    hall = np.where(skewed, 3 * (np.cbrt(1 + a * (t - a / 6)) - 1) / divisor, t)
    low = mean - np.maximum(t, hall) * error
    number, losing = np.asarray(units, np.float64), np.asarray(lost, np.float64)
    everyone = losing >= number
    limit = np.where(everyone, 1.0, betaincinv(losing + 1, np.where(everyone, 1, number - losing), share))
    low = np.where(np.asarray(differ) < FEW, np.minimum(low, -limit * np.asarray(largest, np.float64)), low)
    return np.where(flat, -np.inf, low)
