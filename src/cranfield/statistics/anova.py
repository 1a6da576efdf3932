"""Systems by topics without replication: what is noise once both are accounted for, and Tukey's test on it."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.statistics.correlation import SAME

FAR = 1e-10  # a p-value below which nobody asks how far below


class Anova(NamedTuple):
    """How much of the variance of scores is due to systems, to topics, and to neither."""

    systems: float  # sums of squares
    topics: float
    residual: float
    freedom: tuple[int, int, int]

    @property
    def noise(self) -> float:
        """The residual variance: what a score varies by when its system and its topic are known."""
        return self.residual / self.freedom[2]

    @property
    def F(self) -> float:
        """The variance between systems in terms of the noise."""
        between = self.systems / self.freedom[0]
        return between / self.noise if self.noise else float("inf") if between else 0.0

    @property
    def p(self) -> float:
        """The chance of differences between systems like these if there are none."""
        from scipy.special import fdtrc

        return float(fdtrc(self.freedom[0], self.freedom[2], self.F)) if self.F else 1.0


def anova(x: Floats) -> Anova:
    """The two-way analysis of variance of (system, topic)."""
    systems, topics = x.shape
    rows, columns = x.mean(axis=1, keepdims=True), x.mean(axis=0, keepdims=True)
    left = x - rows - columns + x.mean()
    # A difference that is the same for all topics leaves nothing but rounding.
    rounding = (1e-14 * np.abs(x).max(initial=0)) ** 2 * x.size
    squares = (
        topics * ((rows - x.mean()) ** 2).sum(),
        systems * ((columns - x.mean()) ** 2).sum(),
        (left**2).sum(),
    )
    freedom = systems - 1, topics - 1, (systems - 1) * (topics - 1)
    between, among, left_over = (float(one) if one > rounding else 0.0 for one in squares)
    return Anova(between, among, left_over, freedom)


def tukey(x: Floats, pairs: Integers) -> Floats:
    """Tukey's honestly significant differences: p-values of the pairs that hold for all pairs of systems together.

    With two systems it is the paired t-test.
    """
    from scipy.special import stdtr
    from scipy.stats import studentized_range

    found = anova(x)
    gap = np.abs(x[pairs[:, 0]].mean(axis=1) - x[pairs[:, 1]].mean(axis=1))
    if not found.noise:
        return np.where(gap > SAME, 0.0, 1.0)
    reach, which = np.unique(gap / np.sqrt(found.noise / x.shape[1]), return_inverse=True)
    # Far out, where SciPy integrates for long and finds 0, the sum over all pairs is as good a bound as any.
    p = len(x) * (len(x) - 1) * stdtr(found.freedom[2], -reach / np.sqrt(2))
    near = p > FAR
    with warnings.catch_warnings():
        # SciPy integrates numerically, and says where a tail was hard: by then it is known to many digits.
        warnings.simplefilter("ignore")
        p[near] = studentized_range.sf(reach[near], len(x), found.freedom[2])
    return np.clip(p, 0, 1)[which]
