"""Classical tests of paired differences: (pair, query) in, a two-sided p-value per pair out."""

from __future__ import annotations

import numpy as np

from cranfield.data import Floats
from cranfield.statistics.rounding import equalize

EXACT_QUERIES = 13  # up to so many queries all sign patterns are enumerated: 8,192


def t_test(difference: Floats) -> Floats:
    """Student's paired t-test (1908).

    If all differences are equal, p is 1 if they are 0, and 0 otherwise.
    """
    from scipy.special import stdtr  # scipy.stats takes half a second to load

    difference, queries = equalize(difference), difference.shape[1]
    flat = np.ptp(difference, axis=1) == 0
    error = np.where(flat, 1, difference.std(axis=1, ddof=1)) / np.sqrt(queries)
    p = 2 * stdtr(queries - 1, -np.abs(difference.mean(axis=1)) / error)
    return np.where(flat, np.where(difference[:, 0] == 0, 1.0, 0.0), p)


def wilcoxon(difference: Floats) -> Floats:
    """Wilcoxon's signed-rank test (1945).

    Queries without a difference are omitted; if no others are left, p is 1. Few queries: exact, by enumeration of all
    sign patterns; more: SciPy's test.
    """
    from scipy import stats

    # Ranks depend on the absolute differences.
    difference, queries = np.copysign(equalize(np.abs(difference)), difference), difference.shape[1]
    p = np.ones(len(difference))
    nonzero = difference.any(axis=1)
    if queries > EXACT_QUERIES:
        # SciPy chooses between the exact and the approximate p-value for all rows at once.
        size = np.sort(np.abs(difference), axis=1)
        untied = (np.diff(size, axis=1) > 0).all(axis=1) & (size[:, 0] > 0)
        for rows in (nonzero & untied, nonzero & ~untied):
            if rows.any():
                p[rows] = stats.wilcoxon(difference[rows], axis=1).pvalue
        return p
    if not nonzero.any():
        return p
    size = np.abs(difference[nonzero])
    rank = np.where(size > 0, stats.rankdata(size, axis=1) - (size == 0).sum(axis=1, keepdims=True), 0)
    signs = (np.arange(1 << queries)[:, None] >> np.arange(queries)) & 1
    sums = signs @ rank.T
    observed = (rank * (difference[nonzero] > 0)).sum(axis=1)
    # Ranks are multiples of 1/2, so that their sums are exact.
    p[nonzero] = np.minimum(2 * np.minimum((sums >= observed).mean(axis=0), (sums <= observed).mean(axis=0)), 1)
    return p
