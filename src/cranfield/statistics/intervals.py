"""Confidence intervals of mean differences, and effect sizes.

Rows are systems, columns are queries, all scores are defined. All pairs of systems use the same resampled queries.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import inf, sqrt

import numpy as np
import numpy.typing as npt

from cranfield import native
from cranfield.data import Floats, Integers
from cranfield.parallel import parallel
from cranfield.settings import Chance, checked
from cranfield.statistics.design import Error, Sample
from cranfield.statistics.resampling import sign_blocks, sign_patterns
from cranfield.statistics.rounding import SAME, addable, equalize

Level = float | Floats  # of all intervals, or of each
PARTS = 32  # in which pairs are distributed over cores
DRAWN = 1 << 20  # differences that are held at a time
HELD = 1 << 23  # values of t that are held at a time
SUBSETS = 9_999
TAIL = 10  # resamples beyond a quantile that is estimated from them
BISECTIONS = 40
SECANTS = 8  # after these, the noncentrality is right to 1e-10 at levels up to .999999
PROBABLE = 1e-16
SMALL_T = 12
LARGE_T = 1000  # for larger t the interval depends on the error of the standard deviation only
FEW = 10  # queries that differ: with fewer, their spread says little of losses that are rare
MIN_DEGREES = 5  # with fewer degrees of freedom, series converge slowly


def bca(sample: Sample, pairs: Integers, *, level: Level = 0.95, resamples: int = 9_999, seed: int = 0) -> Floats:
    """The bias-corrected and accelerated (BCa) bootstrap interval of each pair's mean difference, (pair, 2).

    Efron, *Better Bootstrap Confidence Intervals*, 1987, for the mean: its acceleration is the skewness of the
    differences, or of what clusters contribute to the mean, over 6 √n. If all differences are equal, so are both
    limits. ``level``: of all intervals, or of each.
    """
    from scipy.special import ndtr, ndtri

    x = sample.x
    # Means over resampled queries for every system; the difference of a pair is the difference of two rows.
    means = np.concatenate([*sample.resampled_means(resamples, seed)], axis=1)
    estimate = None if sample.is_plain else sample.means
    moved = x if sample.design is None else sample.design.deviations(x)

    levels = np.broadcast_to(level, len(pairs))

    def limits_of(part: slice) -> Floats:
        a, b = np.ascontiguousarray(pairs[part].T, np.int64)
        difference = equalize(moved[a] - moved[b])
        average = difference.mean(axis=1, keepdims=True)
        observed = average if estimate is None else (estimate[a] - estimate[b])[:, None]
        deviation = difference - average
        flat = (np.ptp(difference, axis=1) == 0) & (not sample.repeats)
        spread = np.where(flat, 1, (deviation**2).sum(axis=1))
        acceleration = np.divide((deviation**3).sum(axis=1), 6 * spread**1.5, out=np.zeros(len(a)), where=spread > 0)
        # Values equal to the observed one, up to rounding, count half.
        counts = native.differences_below(means, a, b, observed + np.array([-SAME, SAME]))
        bias = ndtri(counts.sum(axis=1) / (2 * resamples))
        shifted = bias + ndtri([0.5 - levels[part] / 2, 0.5 + levels[part] / 2])
        limits = _quantiles(means, a, b, ndtr(bias + shifted / (1 - acceleration * shifted)))
        return np.where(flat[:, None], difference[:, :1] if estimate is None else observed, limits)

    step = max(1, len(pairs) // PARTS)
    return np.concatenate([*parallel(limits_of, (slice(i, i + step) for i in range(0, len(pairs), step)))])


def bootstrap_t(
    sample: Sample, pairs: Integers, error: Error, *, level: Level, resamples: int, seed: int = 0
) -> Floats:
    """The mean differences that the studentised bootstrap test does not reject, (pair, 2).

    They are as far from the estimate, in standard errors, as the t of resamples is from 0. ``error``: of these pairs.
    ``level``: of all intervals, or of each.
    """
    # With one resample less beyond it, p would be too low; the data themselves are one.
    rank = np.ceil((1 - np.broadcast_to(level, len(pairs))) * (resamples + 1) - SAME).astype(np.int64) - 1
    half = np.where(np.abs(error.estimate) <= SAME, 0, inf)  # without any variance; equal runs are equal
    for i in range(0, len(pairs), step := max(1, HELD // resamples)):
        t = np.concatenate([*sample.squared_t(pairs[i : i + step], resamples, seed)], axis=1)
        t.sort(axis=1)
        for p in range(i, i + len(t)):
            if error.variance[p] > 0:
                half[p] = sqrt(t[p - i, -rank[p]] * error.variance[p]) if rank[p] > 0 else inf
    return np.stack([error.estimate - half, error.estimate + half], axis=1)


def subset_means(x: Floats, pairs: Integers, *, level: Level = 0.95, seed: int = 0) -> Floats:
    """The mean differences that a randomisation test does not reject, (pair, 2); ``x`` is (system, unit).

    Flipped signs add up to at least the observed sum if and only if the mean of the flipped differences is at most the
    tested one, so that the limits are means over random subsets, by rank (Hartigan, *Using subsample values as typical
    values*, 1969). If no p-value can be low enough, nothing is rejected. Beyond the resamples, the distribution of
    signed sums is taken as normal. ``level``: of all intervals, or of each.
    """
    units, levels = x.shape[1], np.broadcast_to(level, len(pairs))
    beyond = ((1 - levels) / 2 < TAIL / SUBSETS) & (sign_patterns(units, SUBSETS) is None)
    limits = np.empty((len(pairs), 2))
    limits[beyond] = _normal_limits(x, pairs[beyond], levels[beyond])
    if beyond.all():
        return limits
    parts, x = [], addable(x, units)
    for signs in sign_blocks(units, SUBSETS, seed):
        flipped = np.ascontiguousarray(signs[(signs < 0).any(axis=1)].T < 0, np.float64)
        parts.append(x @ flipped / flipped.sum(axis=0))
    means = np.ascontiguousarray(np.concatenate(parts, axis=1))
    # The observed signs, which flip nothing, count too.
    rank = np.ceil((1 - levels) / 2 * (means.shape[1] + 1) - SAME).astype(np.int64) - 2
    limits[~beyond & (rank < 0)] = -inf, inf
    sampled = np.flatnonzero(~beyond & (rank >= 0))
    a, b = np.ascontiguousarray(pairs[sampled].T, np.int64)
    ranks = np.stack([rank[sampled], means.shape[1] - 1 - rank[sampled]], axis=1)
    limits[sampled] = native.ranked_differences(means, a, b, ranks)[:, :, 0]
    return limits


def _normal_limits(x: Floats, pairs: Integers, level: Floats) -> Floats:
    from scipy.special import ndtri

    units, z = x.shape[1], ndtri(0.5 + level / 2)
    rest = 1 - z * z / units
    factor = np.where(rest > 0, z / units / np.sqrt(np.where(rest > 0, rest, 1)), inf)

    def limits(part: slice) -> Floats:
        a, b = pairs[part].T
        difference = x[a] - x[b]
        mean = difference.mean(axis=1, keepdims=True)
        spread = np.sqrt(((difference - mean) ** 2).sum(axis=1, keepdims=True).clip(min=SAME**2))
        return mean + factor[part, None] * spread * np.array([-1, 1])

    step = max(1, DRAWN // units)
    return np.concatenate([limits(slice(i, i + step)) for i in range(0, max(len(pairs), 1), step)])


def inverted(
    test: Callable[[Floats], Floats], estimate: Callable[[Floats], Floats], difference: Floats, alpha: Level
) -> Floats:
    """The shifts between which a test of differences (pair, query) has a p-value of at least ``alpha``, (pair, 2).

    ``estimate``: the shift of which the test is surest. With too few queries, no shift is rejected, however large.
    """
    inside = np.median(difference, axis=1)
    if (rejected := test(difference - inside[:, None]) < alpha).any():
        inside[rejected] = estimate(difference[rejected])
    limits = []
    for outside, side in ((difference.min(axis=1), -1), (difference.max(axis=1), 1)):
        kept, out = inside.copy(), outside.copy()
        beyond = outside + side * np.maximum(np.abs(outside), 1)
        for _ in range(BISECTIONS):
            middle = (kept + out) / 2
            accepted = test(difference - middle[:, None]) >= alpha
            kept, out = np.where(accepted, middle, kept), np.where(accepted, out, middle)
        kept = np.where(test(difference - outside[:, None]) >= alpha, outside, kept)
        limits.append(np.where(test(difference - beyond[:, None]) >= alpha, side * inf, kept))
    return np.stack(limits, axis=1)


def _quantiles(means: Floats, a: Integers, b: Integers, at: Floats) -> Floats:
    """Two quantiles of each pair's resampled differences, ``at`` (2, pair), with linear interpolation as in NumPy."""
    last = means.shape[1] - 1
    position = np.clip(np.nan_to_num(at), 0, 1).T * last
    low = np.floor(position).astype(np.int64)
    below, above = np.moveaxis(native.ranked_differences(means, a, b, low), 2, 0)
    quantiles: Floats = below + (position - low) * (above - below)
    return quantiles


def effect_size(difference: Floats, *, level: float = 0.95) -> Floats:
    """Each pair's mean difference in standard deviations of its differences (Cohen's d_z) with its interval, (pair, 3).

    ``difference`` is (pair, query). The interval inverts the noncentral t distribution (Steiger & Fouladi,
    *Noncentrality interval estimation*, 1997). If all differences are equal, the effect is 0 or infinite and has no
    interval.
    """
    difference, queries = equalize(difference), difference.shape[1]
    mean, flat = difference.mean(axis=1), np.ptp(difference, axis=1) == 0
    deviation = np.where(flat, 1, difference.std(axis=1, ddof=1))
    constant = np.where(difference[:, 0] == 0, 0, np.copysign(np.inf, mean))
    effect = np.where(flat, constant, mean / deviation)
    t = np.where(flat, 0, mean / deviation) * np.sqrt(queries)
    limits = [
        np.where(flat, np.nan, _noncentrality(np.abs(t), p, queries - 1) / np.sqrt(queries))
        for p in (0.5 + level / 2, 0.5 - level / 2)
    ]
    low, high = np.where(t < 0, [-limits[1], -limits[0]], limits)
    return np.stack([effect, low, high], axis=1)


def effect_of_error(error: Error, deviation: Floats, *, level: float = 0.95) -> Floats:
    """Each pair's estimate in standard ``deviation``s of its differences, with its interval, (pair, 3).

    The interval is that of the noncentral t distribution with the degrees of freedom of the error, rounded down.
    """
    flat = (deviation <= SAME) | (error.variance == 0)
    constant = np.where(np.abs(error.estimate) <= SAME, 0, np.copysign(np.inf, error.estimate))
    spread, root = np.where(flat, 1, deviation), np.sqrt(np.where(flat, 1, error.variance))
    t, degrees = np.where(flat, 0, error.estimate / root), np.maximum(error.degrees.astype(np.int64), 1)
    limits = np.full((2, len(t)), np.nan)
    for df in np.unique(degrees[~flat]).tolist():
        rows = ~flat & (degrees == df)
        for end, p in enumerate((0.5 + level / 2, 0.5 - level / 2)):
            limits[end, rows] = _noncentrality(np.abs(t[rows]), p, df) * (root / spread)[rows]
    low, high = np.where(t < 0, [-limits[1], -limits[0]], limits)
    return np.stack([np.where(flat, constant, error.estimate / spread), low, high], axis=1)


def _noncentrality(t: Floats, p: float, degrees: int) -> Floats:
    """The noncentrality with which Student's t is below each ``t`` >= 0 with probability ``p``."""
    from numpy.polynomial import chebyshev
    from scipy.special import chdtri

    limit: Floats = t * np.sqrt(chdtri(degrees, p) / degrees)
    small, large = t <= SMALL_T, t > LARGE_T
    medium = ~small & ~large
    limit[small] = chebyshev.chebval(2 * t[small] / SMALL_T - 1, _small_series(p, degrees))
    if degrees < MIN_DEGREES:
        limit[medium] = _noncentrality_search(t[medium], p, degrees)
    else:
        x = 2 * (1 / t[medium] - 1 / LARGE_T) / (1 / SMALL_T - 1 / LARGE_T) - 1
        limit[medium] = t[medium] * chebyshev.chebval(x, _medium_series(p, degrees))
    return limit


@cache
def _small_series(p: float, degrees: int) -> Floats:
    """Chebyshev coefficients of the noncentrality for t from 0 to SMALL_T; they give it with an error below 1e-9."""
    return _chebyshev_series(lambda x: _noncentrality_search((x + 1) * SMALL_T / 2, p, degrees), 65)


@cache
def _medium_series(p: float, degrees: int) -> Floats:
    """Those of the noncentrality divided by t, as a function of 1/t, for t up to LARGE_T; with an error below 1e-10."""

    def at(x: Floats) -> Floats:
        t = 1 / (1 / LARGE_T + (x + 1) / 2 * (1 / SMALL_T - 1 / LARGE_T))
        return _noncentrality_search(t, p, degrees) / t

    return _chebyshev_series(at, 33)


def _chebyshev_series(function: Callable[[Floats], Floats], terms: int) -> Floats:
    """The coefficients of `numpy.polynomial.chebyshev.chebinterpolate`, without the BLAS that it uses."""
    from numpy.polynomial import chebyshev

    x = chebyshev.chebpts1(terms)
    series: Floats = (chebyshev.chebvander(x, terms - 1) * function(x)[:, None]).sum(axis=0) * (2 / terms)
    series[0] /= 2
    return series


def _noncentrality_search(t: Floats, p: float, degrees: int) -> Floats:
    """The same by the secant method, because SciPy's own search is off by up to 0.07 in the tails.

    The normal quantile of the probability is almost linear in the noncentrality.
    """
    from scipy.special import chdtri, nctdtr, ndtri

    tail, quantile = min(p, 1 - p), ndtri(p)
    low, high = ndtri(tail), t * np.sqrt(chdtri(degrees, tail / 2) / degrees) - ndtri(tail / 2)

    def miss(noncentrality: Floats) -> Floats:
        error: Floats = ndtri(np.clip(nctdtr(degrees, noncentrality, t), PROBABLE, 1 - PROBABLE)) - quantile
        return error

    before, limit = t - quantile, t * np.sqrt(chdtri(degrees, p) / degrees)
    missed_before = miss(before)
    for _ in range(SECANTS):
        missed = miss(limit)
        moved, change = limit - before, missed - missed_before
        slope = np.divide(change, moved, out=np.full_like(t, -1), where=(moved != 0) & (change != 0))
        before, missed_before, limit = limit, missed, np.clip(limit - missed / slope, low, high)
    return limit


def student(difference: Floats, *, level: Level = 0.95) -> Floats:
    """Student's t interval of each pair's mean difference, (pair, 2); ``difference`` is (pair, query).

    If all differences are equal, nothing is known, unless they are all 0: both ends are 0 then, as in `bca`.
    """
    from scipy.special import stdtrit

    difference, queries = equalize(difference), difference.shape[1]
    mean = difference.mean(axis=1)
    half = stdtrit(queries - 1, 0.5 + np.asarray(level) / 2) * difference.std(axis=1, ddof=1) / np.sqrt(queries)
    half[(np.ptp(difference, axis=1) == 0) & (mean != 0)] = inf
    return np.stack([mean - half, mean + half], axis=1)


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


def t_quantile(level: float, degrees: int) -> float:
    """The t that Student's distribution does not exceed in absolute value with probability ``level``.

    >>> round(t_quantile(0.95, 10), 4)
    2.2281
    """
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.5 + level / 2))
