"""Classical tests of paired differences, the two-way analysis of variance, and corrections for many tests."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.results import plain, typed
from cranfield.statistics.rounding import SAME, equalize

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


def sign_test(difference: Floats) -> Floats:
    """The sign test, exact: how often one of two equal systems is better on at least so many queries.

    Queries without a difference are omitted; if no others are left, p is 1.
    """
    from scipy.special import bdtr

    higher, less = (difference > SAME).sum(axis=1), (difference < -SAME).sum(axis=1)
    return np.minimum(2 * bdtr(np.minimum(higher, less).astype(np.float64), higher + less, 0.5), 1.0)


FAR = 1e-10  # p-values below this are approximated by a bound


class Anova(NamedTuple):
    """The variance of scores by source: systems, queries, and residual."""

    systems: float  # sums of squares
    queries: float
    residual: float
    freedom: tuple[int, int, int]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            **{name: plain(getattr(self, name)) for name in ("F", "p", "F_queries", "p_queries", "noise")},
            "squares": {name: plain(getattr(self, name)) for name in ("systems", "queries", "residual")},
            "freedom": list(self.freedom),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Anova:
        """The variances that `to_dict` returned."""
        freedom = typed(tuple[int, int, int], data["freedom"], "freedom")
        systems, queries, residual = (typed(float, data["squares"][name], name) for name in cls._fields[:3])
        return cls(systems, queries, residual, freedom)

    @property
    def noise(self) -> float:
        """The residual variance: the variance of a score given its system and query."""
        return self.residual / self.freedom[2]

    @property
    def F(self) -> float:
        """The variance between systems divided by the residual variance."""
        return self._ratio(self.systems, self.freedom[0])

    @property
    def p(self) -> float:
        """The probability of differences at least this large if all systems are equal."""
        return self._probability(self.F, self.freedom[0])

    @property
    def F_queries(self) -> float:
        """The variance between queries divided by the residual variance."""
        return self._ratio(self.queries, self.freedom[1])

    @property
    def p_queries(self) -> float:
        """The probability of differences at least this large if all queries are equally hard."""
        return self._probability(self.F_queries, self.freedom[1])

    def _ratio(self, squares: float, freedom: int) -> float:
        between = squares / freedom
        return between / self.noise if self.noise else float("inf") if between else 0.0

    def _probability(self, F: float, freedom: int) -> float:
        from scipy.special import fdtrc

        return float(fdtrc(freedom, self.freedom[2], F)) if F else 1.0


def anova(x: Floats) -> Anova:
    """The two-way analysis of variance of (system, query)."""
    systems, queries = x.shape
    rows, columns = x.mean(axis=1, keepdims=True), x.mean(axis=0, keepdims=True)
    residual = x - rows - columns + x.mean()
    # A difference that is the same for all queries leaves a residual of rounding errors only.
    rounding = (1e-14 * np.abs(x).max(initial=0)) ** 2 * x.size
    squares = (
        queries * ((rows - x.mean()) ** 2).sum(),
        systems * ((columns - x.mean()) ** 2).sum(),
        (residual**2).sum(),
    )
    freedom = systems - 1, queries - 1, (systems - 1) * (queries - 1)
    between, among, residual_sum = (float(square) if square > rounding else 0.0 for square in squares)
    return Anova(between, among, residual_sum, freedom)


def tukey(x: Floats, pairs: Integers) -> Floats:
    """Tukey's honestly significant difference test: p-values of pairs, adjusted for all pairs of systems.

    With two systems it is the paired t-test.
    """
    from scipy.special import stdtr
    from scipy.stats import studentized_range

    variance = anova(x)
    gap = np.abs(x[pairs[:, 0]].mean(axis=1) - x[pairs[:, 1]].mean(axis=1))
    if not variance.noise:
        return np.where(gap > SAME, 0.0, 1.0)
    statistic, index = np.unique(gap / np.sqrt(variance.noise / x.shape[1]), return_inverse=True)
    # In the far tail SciPy integrates for long and returns 0; the sum over all pairs is a good bound there.
    p = len(x) * (len(x) - 1) * stdtr(variance.freedom[2], -statistic / np.sqrt(2))
    near = p > FAR
    with warnings.catch_warnings():
        # SciPy warns about slow convergence of its integral, which is accurate to many digits by then.
        warnings.simplefilter("ignore")
        p[near] = studentized_range.sf(statistic[near], len(x), variance.freedom[2])
    return np.clip(p, 0, 1)[index]


def tukey_distance(x: Floats, level: float) -> float:
    """The difference from which `tukey` rejects at this level, the same for all pairs."""
    from scipy.stats import studentized_range

    variance = anova(x)
    return float(studentized_range.ppf(level, len(x), variance.freedom[2]) * np.sqrt(variance.noise / x.shape[1]))


Correction = Literal["holm", "bonferroni", "bh", "none"]
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)


def corrected(p: Floats, method: Correction = "holm") -> Floats:
    """The p-values of one family of tests, adjusted so that each can be compared with alpha.

    Holm and Bonferroni control the family-wise error rate (Holm, *A simple sequentially rejective multiple test
    procedure*, 1979), Benjamini and Hochberg (1995) the false discovery rate.

    >>> corrected(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    >>> corrected(np.array([0.01, 0.04, 0.03]), "bh").tolist()
    [0.03, 0.04, 0.04]
    """
    if method == "none":
        return p.copy()
    flat = p.ravel()
    tests = len(flat)
    if method == "bonferroni":
        return np.minimum(p * tests, 1)
    order = np.argsort(flat, kind="stable")
    rank = np.arange(1, tests + 1)
    if method == "holm":
        steps = np.maximum.accumulate(flat[order] * (tests + 1 - rank))
    else:
        steps = np.minimum.accumulate((flat[order] * tests / rank)[::-1])[::-1]
    adjusted = np.empty_like(flat)
    adjusted[order] = np.minimum(steps, 1)
    return adjusted.reshape(p.shape)
