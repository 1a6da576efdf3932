"""Classical tests of paired differences, (pair, topic) in, a two-sided p-value for each pair out."""

from __future__ import annotations

import numpy as np

from cranfield.data import Floats
from cranfield.statistics.rounding import settled

FEW = 13  # topics whose signs are all tried: 8,192 ways


def t_test(difference: Floats) -> Floats:
    """The chance of a mean difference this large if there is none, were differences normal (Student, 1908).

    Where all differences are the same there is no noise: nothing speaks against no difference if they are 0, and
    everything does if they are not.
    """
    from scipy.special import stdtr  # scipy.stats takes half a second to load

    difference, topics = settled(difference), difference.shape[1]
    flat = np.ptp(difference, axis=1) == 0
    error = np.where(flat, 1, difference.std(axis=1, ddof=1)) / np.sqrt(topics)
    p = 2 * stdtr(topics - 1, -np.abs(difference.mean(axis=1)) / error)
    return np.where(flat, np.where(difference[:, 0] == 0, 1.0, 0.0), p)


def wilcoxon(difference: Floats) -> Floats:
    """The chance of signed ranks this lopsided if the sign of each difference is a coin toss (Wilcoxon, 1945).

    Topics without a difference say nothing and are left out; where there are no others, the p-value is 1. All signs
    are tried for few topics; for more it is SciPy's test.
    """
    from scipy import stats

    # Ranks are of sizes, whichever way a difference goes.
    difference, topics = np.copysign(settled(np.abs(difference)), difference), difference.shape[1]
    p = np.ones(len(difference))
    moved = difference.any(axis=1)
    if topics > FEW:
        # SciPy chooses between an exact and an approximate p-value for all that it is given at once.
        size = np.sort(np.abs(difference), axis=1)
        plain = (np.diff(size, axis=1) > 0).all(axis=1) & (size[:, 0] > 0)
        for alike in (moved & plain, moved & ~plain):
            if alike.any():
                p[alike] = stats.wilcoxon(difference[alike], axis=1).pvalue
        return p
    if not moved.any():
        return p
    size = np.abs(difference[moved])
    rank = np.where(size > 0, stats.rankdata(size, axis=1) - (size == 0).sum(axis=1, keepdims=True), 0)
    signs = (np.arange(1 << topics)[:, None] >> np.arange(topics)) & 1
    sums = signs @ rank.T
    seen = (rank * (difference[moved] > 0)).sum(axis=1)
    # Ranks are whole or half, and their sums exact.
    p[moved] = np.minimum(2 * np.minimum((sums >= seen).mean(axis=0), (sums <= seen).mean(axis=0)), 1)
    return p
