"""The number of queries that a comparison needs: by the power of a t-test, and by swap rates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from cranfield.data import Floats, Integers
from cranfield.errors import UsageError
from cranfield.settings import Chance, NotNegative, Positive, Samples, Whole, checked
from cranfield.statistics.resampling import CELLS, check_scores, pairs, random_generator
from cranfield.statistics.rounding import SAME

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


def power_of_shift(shift: float, freedom: float, alpha: float = 0.05) -> float:
    """The power of a two-sided t-test to detect a difference of ``shift`` standard errors.

    >>> round(power_of_shift(0.5 * 34**0.5, 33), 4)
    0.8078
    """
    from scipy import stats

    critical = stats.t.ppf(1 - alpha / 2, freedom)
    # The lower tail is the upper tail of the opposite shift, which avoids cancellation.
    return float(stats.nct.sf(critical, freedom, shift) + stats.nct.sf(critical, freedom, -shift))


@checked
def queries_needed(
    variance: NotNegative,
    difference: Positive,
    *,
    alpha: Chance = 0.05,
    power: Chance = 0.8,
    fixed: float = 0.0,
    freedom: float = math.inf,
) -> int | None:
    """The smallest number of queries for a paired t-test with this power; None if it is more than `MAX_QUERIES`.

    ``variance``: of the differences of queries. ``fixed``: a variance of the mean difference that more queries do not
    lower, such as that between repeats, with its degrees of ``freedom``.

    >>> queries_needed(0.04, 0.1)
    34
    >>> queries_needed(0.04, 0.1, fixed=0.0005, freedom=4)
    62
    """
    if variance == fixed == 0:
        return 2

    def enough(queries: int) -> bool:
        own = variance / queries
        total = own + fixed
        spread = own**2 / (queries - 1) + fixed**2 / freedom
        return power_of_shift(difference / math.sqrt(total), total**2 / spread, alpha) >= power

    normal = NormalDist()
    distance = normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)
    left = (difference / distance) ** 2 - fixed if distance > 0 else math.inf
    if left <= 0 or variance > left * MAX_QUERIES:
        return None
    # The t-test needs at least as many queries as the normal approximation.
    low, high = 1, max(2, math.ceil(variance / left))
    while not enough(high):
        if high > MAX_QUERIES:
            return None
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def detectable_difference(variance: float, queries: int, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest difference that a paired t-test on so many queries detects with this power.

    >>> round(detectable_difference(0.04, 34), 3)
    0.099
    """
    if queries < 2:
        raise UsageError(f"a test needs at least two queries, got {queries}")
    return detectable_shift(queries - 1, alpha, power) * math.sqrt(variance / queries)


@checked
def detectable_shift(freedom: float, alpha: Chance = 0.05, power: Chance = 0.8) -> float:
    """The smallest difference, in standard errors, that a two-sided t-test detects with this power.

    >>> round(detectable_shift(33), 2)
    2.89
    """
    low, high = 0.0, 1.0
    while power_of_shift(high, freedom, alpha) < power:
        high *= 2
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if power_of_shift(middle, freedom, alpha) >= power else (middle, high)
    return high


BINS = 21  # differences of 0 to 0.01, of 0.01 to 0.02, ..., and of 0.2 and more
SIZES = 10  # number of sizes of query sets
SMALLEST = 5  # the smallest query set; smaller ones do not extrapolate


@dataclass(frozen=True, eq=False)
class SwapRates:
    """How often two sets of queries disagree on the better of two systems, by the difference on the first set.

    ``sizes``: queries in a set; ``edges``: the lower ends of the bins of differences, the last of which is open;
    ``compared``, ``swapped`` (size, bin): the number of pairs of systems, over all pairs of sets, and of those that
    are swapped; ``queries``: the number of all queries.
    """

    queries: int
    sizes: Integers
    edges: Floats
    compared: Integers
    swapped: Integers

    @property
    def rates(self) -> Floats:
        """The share of swapped pairs, (size, bin); undefined for bins without pairs."""
        return np.where(self.compared > 0, self.swapped / np.maximum(self.compared, 1), np.nan)

    @property
    def extrapolated(self) -> Floats:
        """The swap rate for two sets as large as the set of all queries, by bin.

        Voorhees and Buckley's curve, rate = A exp(-B size), fitted on a logarithmic scale and weighted by swaps. With
        swaps at fewer than two sizes it is the rate at the largest size.
        """
        extrapolated = np.full(len(self.edges), np.nan)
        for i, (rate, swapped, compared) in enumerate(zip(self.rates.T, self.swapped.T, self.compared.T, strict=True)):
            fitted, nonempty = swapped > 0, np.flatnonzero(compared)
            if fitted.sum() > 1:
                weight = swapped[fitted] / swapped[fitted].sum()
                size, log = self.sizes[fitted], np.log(rate[fitted])
                mean, level = (size * weight).sum(), (log * weight).sum()
                slope = (weight * (size - mean) * (log - level)).sum() / (weight * (size - mean) ** 2).sum()
                extrapolated[i] = min(1.0, np.exp(level + slope * (self.queries - mean)))
            elif len(nonempty):
                extrapolated[i] = rate[nonempty[-1]]
        return extrapolated

    def required(self, error: float = 0.05, *, extrapolated: bool = False) -> float:
        """The smallest difference from which the swap rate stays at most ``error``; NaN if none is large enough.

        For sets of the largest size or, extrapolated, for sets as large as the set of all queries.
        """
        rates = self.extrapolated if extrapolated else self.rates[-1]
        above = np.flatnonzero(rates > error)
        enough = self.edges[0 if not len(above) else above[-1] + 1 :]
        defined = np.flatnonzero(~np.isnan(rates))
        exists = len(enough) and len(defined) and defined[-1] >= len(rates) - len(enough)
        return float(enough[0]) if exists else np.nan

    def share(self, difference: float) -> float:
        """The share of comparisons, at the largest size, with at least this difference."""
        if np.isnan(difference):
            return 0.0
        return float(self.compared[-1, self.edges >= difference - SAME].sum() / self.compared[-1].sum())


@checked
def swap_rates(
    scores: npt.ArrayLike, *, trials: Samples = 100, width: float | None = None, seed: Whole = 0
) -> SwapRates:
    """Draw two disjoint sets of queries, ``trials`` times for each size, and count the pairs that are swapped.

    ``width`` is the width of a bin of differences; by default 0.01, multiplied by the highest score if that exceeds 1.
    """
    x = check_scores(scores)
    systems, n = x.shape
    step = 0.01 * max(1.0, float(np.abs(x).max())) if width is None else width
    sizes = np.unique(np.linspace(min(SMALLEST, n // 2), n // 2, SIZES).round().astype(np.int64))
    rng = random_generator(seed)
    first, second = pairs(systems)
    compared, swapped = np.zeros((2, len(sizes), BINS), np.int64)
    block = max(1, CELLS // len(first))
    for i, size in enumerate(sizes):
        order = rng.permuted(np.tile(np.arange(n), (trials, 1)), axis=1)
        for begin in range(0, trials, block):
            queries = order[begin : begin + block]
            halves = (x[:, half].mean(axis=2) for half in (queries[:, :size], queries[:, size : 2 * size]))
            a, b = (means[first] - means[second] for means in halves)
            # A difference on an edge belongs to the bin above it, however it was rounded.
            bins = np.minimum((np.abs(a) + SAME) // step, BINS - 1).astype(np.int64)
            changed = (np.minimum(np.abs(a), np.abs(b)) > SAME) & (a * b < 0)
            compared[i] += np.bincount(bins.ravel(), minlength=BINS)
            swapped[i] += np.bincount(bins[changed], minlength=BINS)
    return SwapRates(n, sizes, step * np.arange(BINS, dtype=np.float64), compared, swapped)
