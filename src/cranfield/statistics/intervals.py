"""Where a difference of means may lie, and how large it is beside its own noise.

Systems are rows, topics columns, and nothing is undefined. Every pair of systems sees the same resampled topics.
"""

from __future__ import annotations

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.statistics.correlation import SAME
from cranfield.statistics.resampling import begun, counts
from cranfield.statistics.rounding import settled

CELLS = 1 << 22  # resampled differences held at a time
DRAWN = 1 << 20  # topics drawn at a time
STEEP = 1000  # from this t on its own noise is nothing beside that of the standard deviation


def bca(x: Floats, pairs: Integers, *, level: float = 0.95, resamples: int = 9_999, seed: int = 0) -> Floats:
    """The bias-corrected and accelerated bootstrap interval of each pair's mean difference, (pair, 2).

    Efron, *Better Bootstrap Confidence Intervals*, 1987, for the mean: its acceleration is the skewness of the
    differences over 6 √n. Where all differences are equal, so are both ends.
    """
    from scipy.special import ndtr, ndtri

    topics = x.shape[1]
    # Means of resampled topics for every system at once: a pair's difference is the difference of two columns.
    rng, means = begun(seed), np.empty((len(x), resamples))
    for i in range(0, resamples, step := max(1, DRAWN // topics)):
        drawn = rng.integers(0, topics, (min(step, resamples - i), topics))
        means[:, i : i + step] = x @ counts(drawn) / topics
    limits = np.empty((len(pairs), 2))
    for i in range(0, len(pairs), step := max(1, CELLS // resamples)):
        a, b = pairs[i : i + step].T
        difference = settled(x[a] - x[b])
        observed = difference.mean(axis=1, keepdims=True)
        away = difference - observed
        flat = np.ptp(difference, axis=1) == 0
        spread = np.where(flat, 1, (away**2).sum(axis=1))
        skewed = (away**3).sum(axis=1) / (6 * spread**1.5)
        sample = np.sort(means[a] - means[b], axis=1)
        # What is as large but for rounding counts half.
        below = sum((sample < observed + near).sum(axis=1) for near in (-SAME, SAME)) / (2 * resamples)
        bias = ndtri(below)
        for end, quantile in enumerate((0.5 - level / 2, 0.5 + level / 2)):
            moved = bias + ndtri(quantile)
            found = _quantile(sample, ndtr(bias + moved / (1 - skewed * moved)))
            limits[i : i + step, end] = np.where(flat, difference[:, 0], found)
    return limits


def _quantile(ordered: Floats, at: Floats) -> Floats:
    """Of each row, already in order, the value at its own quantile, between neighbours as NumPy does by default."""
    place = np.clip(np.nan_to_num(at), 0, 1) * (ordered.shape[1] - 1)
    low = np.floor(place).astype(np.int64)
    high = np.minimum(low + 1, ordered.shape[1] - 1)
    rows = np.arange(len(ordered))
    return ordered[rows, low] + (place - low) * (ordered[rows, high] - ordered[rows, low])


def effect_size(difference: Floats, *, level: float = 0.95) -> Floats:
    """Each pair's mean difference in standard deviations of its differences (Cohen's d_z) with its interval, (pair, 3).

    ``difference`` is (pair, topic). The interval is that of Student's t with the noncentrality that puts the observed
    t at either end (Steiger & Fouladi, *Noncentrality interval estimation*, 1997). Without any noise the effect is
    0 or infinite, and has no interval.
    """
    from scipy.special import chdtri, nctdtrinc

    difference, topics = settled(difference), difference.shape[1]
    mean, flat = difference.mean(axis=1), np.ptp(difference, axis=1) == 0
    deviation = np.where(flat, 1, difference.std(axis=1, ddof=1))
    certain = np.where(difference[:, 0] == 0, 0, np.copysign(np.inf, mean))
    effect = np.where(flat, certain, mean / deviation)
    t = np.where(flat, 0, mean / deviation) * np.sqrt(topics)
    size, ends = np.abs(t), []
    for p in (0.5 + level / 2, 0.5 - level / 2):
        # SciPy's search for the noncentrality does not end where t is large.
        steep = size * np.sqrt(chdtri(topics - 1, p) / (topics - 1))
        found = np.where(size > STEEP, steep, nctdtrinc(topics - 1, p, np.minimum(size, STEEP)))
        ends.append(np.where(flat, np.nan, found / np.sqrt(topics)))
    low, high = np.where(t < 0, [-ends[1], -ends[0]], ends)
    return np.stack([effect, low, high], axis=1)
