"""Significance tests of all pairs of systems: by resampling queries, and Student's t for comparison.

Scores are (system, query), all defined. Resamples are drawn once and all pairs are tested with them, as matrix
products, a bounded number of pairs at a time.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from cranfield import native
from cranfield.codec import plain, typed
from cranfield.data import Booleans, Floats, Integers
from cranfield.errors import UsageError
from cranfield.parallel import parallel
from cranfield.settings import Chance, Count, Samples, Whole, checked
from cranfield.statistics.rounding import SAME, addable, equalize

Test = Literal["bootstrap", "randomisation", "randomised-tukey", "t"]

CELLS = 2**16  # pairs times resamples that are processed at a time: they fit into a processor's cache
MIN_PAIRS = 16  # the fewest pairs at a time, so that matrix products are efficient
TOLERANCE = 1e-9  # relative difference below which statistics are equal: the order of summation changes the last digits
CANCELLATION = 1e-6  # relative remainder of a sum of squares below which it is computed again, exactly
SINGLE_THREAD = 2**18  # the most multiplications that OpenBLAS does in one thread
BLOCK = 8192  # resamples whose sums are held at a time
MAX_HELD = 2**21  # the most resampled queries that a thread holds at a time, and
MAX_HELD_BY_ALL = 2**23  # all threads together
WIDTH = 1024  # resamples in a block of a product
MAX_FLOATS = 2**24  # the most signs that are converted to floats at once


@dataclass(frozen=True, eq=False)
class PairwiseTests:
    """The tests of all pairs of systems; pairs are (0, 1), (0, 2), ..., (1, 2), ...

    ``difference``: the mean of the first minus the mean of the second; ``p``: the p-value (achieved significance
    level); ``required``: the difference that would be significant at ``alpha``.
    """

    difference: Floats
    p: Floats
    required: Floats
    alpha: float

    @property
    def significant(self) -> Booleans:
        """The pairs with p below ``alpha``."""
        return self.p < self.alpha

    @property
    def power(self) -> float:
        """Discriminative power: the share of pairs that differ significantly."""
        return float(self.significant.mean())

    @property
    def difference_required(self) -> float:
        """The difference that is significant for any pair (Sakai's estimate): the largest required difference."""
        return float(self.required.max())


class Signs(NamedTuple):
    """Random signs of differences, (resample, query), 1 or -1; ``exact`` if they are all possible sign patterns."""

    values: npt.NDArray[np.int8]
    exact: bool


def pairs(systems: int) -> tuple[Integers, Integers]:
    """The first and the second system of every pair, in the order in which pairs are reported."""
    first, second = np.triu_indices(systems, 1)
    return first.astype(np.int64), second.astype(np.int64)


@checked
def draw_queries(queries: int, samples: Samples, seed: Whole = 0) -> Integers:
    """Bootstrap samples of the queries: (resample, query)."""
    return random_generator(seed).integers(0, queries, (samples, queries))


@checked
def sign_patterns(queries: int, samples: Samples) -> int | None:
    """The number of sign patterns of so many queries; None if there are more than ``samples``.

    >>> sign_patterns(7, 100_000), sign_patterns(20, 100_000)
    (128, None)
    """
    patterns = 2 ** min(queries, 63)
    return patterns if queries < 63 and patterns <= samples else None


def draw_signs(queries: int, samples: int, seed: int = 0) -> Signs:
    """Random signs for each query; all sign patterns if there are no more than ``samples``."""
    if patterns := sign_patterns(queries, samples):
        bits = np.arange(patterns)[:, None] >> np.arange(queries) & 1
        return Signs((1 - 2 * bits).astype(np.int8), exact=True)
    return Signs(next(sign_blocks(queries, samples, seed, rows=samples)), exact=False)


def sign_blocks(
    queries: int, samples: int, seed: int = 0, *, rows: int | None = None
) -> Iterator[npt.NDArray[np.int8]]:
    """The rows of `draw_signs`, a block at a time: the same numbers, without holding all of them."""
    rows = block_rows(queries) if rows is None else rows
    if sign_patterns(queries, samples):
        values = draw_signs(queries, samples, seed).values
        yield from (values[begin : begin + rows] for begin in range(0, len(values), rows))
        return
    rng = random_generator(seed)
    for begin in range(0, samples, rows):
        values = rng.integers(0, 2, (min(rows, samples - begin), queries), np.int8)
        values *= -2
        values += 1
        yield values


def block_rows(queries: int) -> int:
    """The resamples of a block. A multiple of 4: the generator makes four signs of one draw, and keeps no rest."""
    return min(BLOCK, max(4, MAX_HELD // queries // 4 * 4))


@checked
def discriminate(
    scores: npt.ArrayLike, test: Test = "bootstrap", *, samples: Samples = 1000, alpha: Chance = 0.05, seed: Whole = 0
) -> PairwiseTests:
    """Test all pairs of systems; the same seed gives the same resamples for every measure on the same queries.

    >>> tests = discriminate([[0.3, 0.5, 0.4, 0.8], [0.3, 0.5, 0.4, 0.8], [0.1, 0.3, 0.2, 0.6]])
    >>> tests.p.tolist(), tests.significant.tolist()
    ([1.0, 0.0, 0.0], [False, True, True])
    """
    x = check_scores(scores)
    if test == "bootstrap":
        return bootstrap(x, draw_queries(x.shape[1], samples, seed), alpha)
    if test == "randomisation":
        return randomisation(x, draw_signs(x.shape[1], samples, seed), alpha)
    if test == "t":
        return students_t(x, alpha)
    return randomised_tukey(x, samples=samples, alpha=alpha, seed=seed)


@checked
def bootstrap(scores: npt.ArrayLike, resamples: Integers, alpha: Chance = 0.05) -> PairwiseTests:
    """The paired bootstrap test (Sakai, SIGIR 2006).

    ``resamples`` (resample, query) are drawn by `draw_queries`. The differences of a pair are shifted to a mean of 0,
    and t is computed for each resample: the mean divided by its standard error, where 0/0 is 0 and x/0 is infinite.
    p is the share of resamples whose |t| is at least as large as the observed one. ``required`` is the mean
    difference of the resample with the ⌈Bα⌉-th largest |t|; of equal ones the earlier.
    """
    x = check_scores(scores)
    samples, n = resamples.shape
    if n != x.shape[1]:
        raise UsageError(f"the resamples are for {n} queries, but there are scores for {x.shape[1]}")
    counts = draw_counts(resamples)
    rank = math.ceil(samples * alpha)
    p, required = [], []
    for z in _differences(x, samples):
        t = _squared_t(z, counts, resamples)
        p.append((t >= _observed_squared_t(z)[:, None] * (1 - TOLERANCE)).mean(axis=1))
        queries = resamples[_index_of_largest(t, rank)]
        shift = np.abs(np.take_along_axis(z, queries, axis=1).mean(axis=1) - z.mean(axis=1))
        required.append(np.where(shift > SAME, shift, 0))
    return PairwiseTests(_means(x), np.concatenate(p), np.concatenate(required), alpha)


def bootstrap_p_values(scores: npt.ArrayLike, *, samples: int, seed: int = 0) -> Floats:
    """The p-values of `bootstrap` with the resamples of `draw_queries`, which are not held in memory."""
    x = check_scores(scores)
    counts = np.zeros(len(pairs(len(x))[0]), np.int64)
    for resamples in query_blocks(x.shape[1], samples, seed):
        columns, done = draw_counts(resamples), 0
        for z in _differences(x, samples):
            t = _squared_t(z, columns, resamples)
            reached = t >= _observed_squared_t(z)[:, None] * (1 - TOLERANCE)
            counts[done : done + len(z)] += np.count_nonzero(reached, axis=1)
            done += len(z)
    return counts / samples


def resampled_t(scores: Floats, pairs: Integers, *, samples: int, seed: int = 0) -> Iterator[Floats]:
    """The squared t of these pairs in the resamples of `bootstrap_p_values`, (pair, resample), a block at a time."""
    z, n = equalize(scores[pairs[:, 0]] - scores[pairs[:, 1]]), scores.shape[1]
    for resamples in query_blocks(n, samples, seed):
        yield _squared_t(z, draw_counts(resamples), resamples) * (n - 1)


def query_blocks(queries: int, samples: int, seed: int) -> Iterator[Integers]:
    """The rows of `draw_queries`, a block at a time."""
    rng = random_generator(seed)
    rows = block_rows(4 * queries)  # indices and counts take more memory than signs
    for begin in range(0, samples, rows):
        yield rng.integers(0, queries, (min(rows, samples - begin), queries))


@checked
def randomisation(scores: npt.ArrayLike, signs: Signs, alpha: Chance = 0.05) -> PairwiseTests:
    """The paired randomisation test (Fisher).

    ``signs`` are drawn by `draw_signs`. c of B resamples have a mean difference at least as large as the observed one;
    p = (c + 1) / (B + 1), or c / B if all sign patterns are enumerated.
    """
    x = check_scores(scores)
    samples, n = signs.values.shape
    if n != x.shape[1]:
        raise UsageError(f"the signs are for {n} queries, but there are scores for {x.shape[1]}")
    columns: npt.NDArray[Any] = signs.values.T
    if columns.size <= MAX_FLOATS:
        columns = np.ascontiguousarray(columns, np.float64)
    observed = 0 if signs.exact else 1  # the observed data count as one resample
    p, required = [], []
    for z in _differences(x, samples):
        totals = np.abs(_product(z, columns))
        count = (totals >= np.abs(z.sum(axis=1, keepdims=True)) - n * SAME).sum(axis=1)
        p.append((count + observed) / (samples + observed))
        required.append(_largest(totals, math.ceil(samples * alpha)) / n)
    return PairwiseTests(_means(x), np.concatenate(p), np.concatenate(required), alpha)


def randomisation_p_values(scores: npt.ArrayLike, *, samples: int, seed: int = 0) -> Floats:
    """The p-values of `randomisation` with the signs of `draw_signs`, many times faster and in little memory.

    The signed sum of a difference is the difference of two signed sums, so that one sum per system is enough.
    """
    x = check_scores(scores)
    n = x.shape[1]
    x = x - x[0]  # smaller numbers, less cancellation
    size = np.abs(x.sum(axis=1)[:, None] - x.sum(axis=1)) - n * SAME
    first, second = np.triu_indices(len(x), 1)
    limit = size[second, first]

    def count(signs: npt.NDArray[np.int8]) -> Integers:
        totals = _product(x, np.ascontiguousarray(signs.T, np.float64))
        return native.differences_at_least(totals, second, first, limit)

    patterns = sign_patterns(n, samples)
    samples, observed = (samples, 1) if patterns is None else (patterns, 0)
    total = np.zeros(len(limit), np.int64)
    for part in parallel(count, sign_blocks(n, samples, seed), MAX_HELD_BY_ALL // (n * block_rows(n))):
        total += part
    return (total + observed) / (samples + observed)


@checked
def students_t(scores: npt.ArrayLike, alpha: Chance = 0.05) -> PairwiseTests:
    """Student's paired t-test. The required difference is that with p = alpha for a pair of the same spread."""
    from scipy.special import stdtrit

    x = check_scores(scores)
    n, p, required = x.shape[1], [], []
    quantile = float(stdtrit(n - 1, 1 - alpha / 2))
    for z in _differences(x, n):
        p.append(t_test(z))
        deviation = np.where(np.ptp(z, axis=1) == 0, 0, z.std(axis=1, ddof=1))
        required.append(quantile * deviation / np.sqrt(n))
    return PairwiseTests(_means(x), np.concatenate(p), np.concatenate(required), alpha)


@checked
def randomised_tukey(
    scores: npt.ArrayLike, *, samples: Samples = 1000, alpha: Chance = 0.05, seed: Whole = 0
) -> PairwiseTests:
    """The randomised Tukey HSD test (Carterette, TOIS 2012), which controls the error rate over all pairs.

    Each resample permutes the scores of each query among the systems and computes the range of the systems' means.
    c of B ranges are at least as large as the observed difference; p = (c + 1) / (B + 1). The required difference is
    the same for all pairs.
    """
    x = check_scores(scores)
    systems, n = x.shape
    rng = random_generator(seed)
    rows = max(1, CELLS // x.size)
    ranges = np.empty(samples)
    for begin in range(0, samples, rows):
        copies = np.broadcast_to(x.T, (min(rows, samples - begin), n, systems))
        ranges[begin : begin + rows] = np.ptp(rng.permuted(copies, axis=-1).mean(axis=1), axis=1)
    difference = _means(x)
    count = samples - np.sort(ranges).searchsorted(np.abs(difference) - SAME)
    required = np.sort(ranges)[samples - math.ceil(samples * alpha)]
    return PairwiseTests(difference, (count + 1) / (samples + 1), np.full(len(difference), required), alpha)


def check_scores(scores: npt.ArrayLike) -> Floats:
    """The scores as an array; raise unless they are of at least two systems and two queries, all defined."""
    x = np.asarray(scores, np.float64)
    if x.ndim != 2 or x.shape[0] < 2:
        raise UsageError("a test needs the scores of at least two systems, as an array of systems by queries")
    if x.shape[1] < 2:
        raise UsageError(f"a test needs at least two queries, got {x.shape[1]}")
    missing = int((~np.isfinite(x)).sum())
    if missing:
        raise UsageError(
            f"{missing} of the scores {'is' if missing == 1 else 'are'} undefined",
            hint="leave out these queries, or replace undefined scores by a number",
        )
    return x


@checked
def random_generator(seed: Whole) -> np.random.Generator:
    """A random number generator; the same seed gives the same numbers."""
    return np.random.default_rng(seed)


def draw_counts(resamples: Integers) -> Floats:
    """How often each resample contains each query: (query, resample)."""
    samples, n = resamples.shape
    cells = (np.arange(samples)[:, None] * n + resamples).ravel()
    counts = np.bincount(cells, minlength=samples * n).reshape(samples, n)
    return np.ascontiguousarray(counts.T, np.float64)


def _product(rows: Floats, columns: npt.NDArray[Any]) -> Floats:
    """The product with signs or counts, in blocks that BLAS computes in one thread; signs become floats by block.

    BLAS uses several threads for larger products, which is slow on a busy machine.
    """
    n, samples = columns.shape
    rows = addable(rows, n)
    height = SINGLE_THREAD // (n * min(samples, WIDTH))
    large = height < 1  # worth several threads
    if large and columns.dtype == np.float64:
        return rows @ columns
    product = np.empty((len(rows), samples))
    height = len(rows) if large else height
    blocks = len(rows) // height
    end = blocks * height
    for begin in range(0, samples, WIDTH):
        part = columns[:, begin : begin + WIDTH]
        if part.dtype != np.float64:
            part = np.ascontiguousarray(part, np.float64)
        block_products = rows[:end].reshape(blocks, height, n) @ part
        product[:end, begin : begin + WIDTH] = block_products.reshape(end, part.shape[1])
        product[end:, begin : begin + WIDTH] = rows[end:] @ part
    return product


def _means(x: Floats) -> Floats:
    """The mean difference of every pair."""
    first, second = pairs(len(x))
    means = x.mean(axis=1)
    return means[first] - means[second]


def _differences(x: Floats, samples: int) -> Iterator[Floats]:
    """The differences by query, (pair, query), a block of pairs at a time."""
    first, second = pairs(len(x))
    rows = max(MIN_PAIRS, CELLS // samples)
    for begin in range(0, len(first), rows):
        yield equalize(x[first[begin : begin + rows]] - x[second[begin : begin + rows]])


def _mode(z: Floats) -> Floats:
    """The most frequent difference of each pair; of several, the one closest to the median."""
    n = z.shape[1]
    ordered = np.sort(z, axis=1)
    index = np.arange(n)
    starts = np.ones(z.shape, bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    frequency = index - np.maximum.accumulate(np.where(starts, index, 0), axis=1) + 1
    best = (frequency * 2 * n - np.abs(2 * index - n)).argmax(axis=1)
    return np.take_along_axis(ordered, best[:, None], axis=1)


def _squared_t(z: Floats, counts: Floats, resamples: Integers) -> Floats:
    """t² / (n - 1) of the differences shifted to a mean of 0, for every pair and resample: (pair, resample).

    With y the differences minus a constant, S = Σ y and Q = Σ y² over a resample, it is (S - Σ_all y)² / (nQ - S²). The
    constant is the most frequent difference: a resample that contains nothing else has S = Q = 0 without rounding.
    """
    n = z.shape[1]
    y = z - _mode(z)
    sums = _product(np.concatenate([y, n * y**2]), counts)
    total, squares = sums[: len(y)], sums[len(y) :]
    spread = squares - total**2
    total -= y.sum(axis=1, keepdims=True)
    inexact = (spread <= CANCELLATION * squares) & (squares > 0)
    if inexact.any():
        pair, resample = np.nonzero(inexact)
        spread[pair, resample] = _spread(z[pair[:, None], resamples[resample]])
    return _quotient(total, spread, n)


def _observed_squared_t(z: Floats) -> Floats:
    """t² / (n - 1) of the observed differences of every pair."""
    total = z.sum(axis=1)
    total[np.abs(total) <= z.shape[1] * SAME] = 0  # a mean of 0 must not exceed another one by rounding
    return _quotient(total, _spread(z), z.shape[1])


def _spread(values: Floats) -> Floats:
    """The spread n Σ (v - mean)², exactly 0 if all values are equal."""
    deviation = values - values.mean(axis=1, keepdims=True)
    return np.where(np.ptp(values, axis=1) == 0, 0, values.shape[1] * (deviation**2).sum(axis=1))


def _quotient(total: Floats, spread: Floats, n: int) -> Floats:
    """total² / spread, where 0/0 is 0 and x/0 is infinite; a total that is due to rounding is 0."""
    flat = spread <= 0
    quotient = np.divide(total**2, spread, out=np.zeros_like(spread), where=~flat)
    quotient[flat & (np.abs(total) > n * SAME)] = np.inf
    return quotient


def _index_of_largest(values: Floats, rank: int) -> Integers:
    """The index of the ``rank``-th largest value of each row; of equal values the earlier comes first."""
    limit = _largest(values, rank)[:, None]
    larger = values > limit * (1 + TOLERANCE)
    row, column = np.nonzero((values >= limit * (1 - TOLERANCE)) & ~larger)
    begin = row.searchsorted(np.arange(len(values)))
    index: Integers = column[begin + rank - np.count_nonzero(larger, axis=1) - 1]
    return index


def _largest(values: Floats, rank: int) -> Floats:
    """The ``rank``-th largest value of each row."""
    at = values.shape[1] - rank
    return np.partition(values, at, axis=1)[:, at]


TESTS: tuple[str, ...] = get_args(Test)


# Classical tests of paired differences, the two-way analysis of variance, and corrections for many tests.

EXACT_QUERIES = 13  # up to so many queries all sign patterns are enumerated: 8,192


def t_test(difference: Floats) -> Floats:
    """Student's paired t-test (1908); if all differences are equal, p is 1: without a spread there is no evidence."""
    from scipy.special import stdtr  # scipy.stats takes half a second to load

    difference, queries = equalize(difference), difference.shape[1]
    flat = np.ptp(difference, axis=1) == 0
    error = np.where(flat, 1, difference.std(axis=1, ddof=1)) / np.sqrt(queries)
    p = 2 * stdtr(queries - 1, -np.abs(difference.mean(axis=1)) / error)
    return np.where(flat, 1.0, p)


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


def sign_direction(difference: Floats) -> Integers:
    """Which way the sign test points: 1 if more differences are positive, -1 if more are negative."""
    return np.sign((difference > SAME).sum(axis=1) - (difference < -SAME).sum(axis=1))


def rank_direction(difference: Floats) -> Integers:
    """Which way Wilcoxon's test points: the sign of the sum of the signed ranks of the differences."""
    from scipy.stats import rankdata

    size = equalize(np.abs(difference))
    rank = rankdata(size, axis=1) - (size == 0).sum(axis=1, keepdims=True)
    return np.sign((np.where(size > 0, rank, 0) * np.sign(difference)).sum(axis=1)).astype(np.int64)


def hodges_lehmann(difference: Floats) -> Floats:
    """The estimate that belongs to Wilcoxon's test: the median of the means of all two differences of a pair of runs.

    A difference counts as a pair with itself, too (Hodges & Lehmann, 1963).

    >>> hodges_lehmann(np.array([[0.0, 1.0, 5.0]])).round(6).tolist()
    [1.75]
    """
    return np.array([_median_of_means(np.sort(row)) for row in difference])


def _median_of_means(ordered: Floats) -> float:
    """The median of (x + y) / 2 over all pairs of these values, by bisection: there may be too many pairs to hold."""
    number = len(ordered) * (len(ordered) + 1) // 2

    def at_most(value: float) -> int:
        of_two = int(ordered.searchsorted(2 * value - ordered, "right").sum())
        return (of_two + int(ordered.searchsorted(value, "right"))) // 2

    def ranked(rank: int) -> float:
        low, high = float(ordered[0]), float(ordered[-1])
        while low < (middle := (low + high) / 2) < high:
            low, high = (low, middle) if at_most(middle) >= rank else (middle, high)
        return low if at_most(low) >= rank else high

    return (ranked((number + 1) // 2) + ranked(number // 2 + 1)) / 2


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
        freedom = typed(tuple[Count, Count, Count], data["freedom"], "freedom")
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
    if not variance.noise:  # no spread is no evidence
        return np.ones(len(pairs))
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
    """The difference from which `tukey` rejects at this level, the same for all pairs; infinite without a spread."""
    from scipy.stats import studentized_range

    variance = anova(x)
    if not variance.noise:
        return math.inf
    return float(studentized_range.ppf(level, len(x), variance.freedom[2]) * np.sqrt(variance.noise / x.shape[1]))


Correction = Literal["holm", "bonferroni", "bh", "none"]
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)


def corrected(p: Floats, method: Correction = "holm", weight: Floats | None = None) -> Floats:
    """The p-values of one family of tests, adjusted so that each can be compared with alpha.

    Holm and Bonferroni control the family-wise error rate (Holm, *A simple sequentially rejective multiple test
    procedure*, 1979), Benjamini and Hochberg (1995) the false discovery rate. ``weight``: of each test in Holm's
    method, where a test with twice the weight is tested at twice the level.

    >>> corrected(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    >>> corrected(np.array([0.01, 0.04, 0.03]), "bh").tolist()
    [0.03, 0.04, 0.04]
    >>> corrected(np.array([0.01, 0.04]), weight=np.array([3, 1])).round(4).tolist()
    [0.0133, 0.04]
    """
    if method == "none":
        return p.copy()
    flat = p.ravel()
    tests = len(flat)
    if method == "bonferroni":
        return np.minimum(p * tests, 1)
    weight = np.ones(tests) if weight is None else weight
    order = np.argsort(flat / weight, kind="stable")
    if method == "holm":
        undecided = weight[order][::-1].cumsum()[::-1]
        steps = np.maximum.accumulate(flat[order] / weight[order] * undecided)
    else:
        steps = np.minimum.accumulate((flat[order] * tests / np.arange(1, tests + 1))[::-1])[::-1]
    adjusted = np.empty_like(flat)
    adjusted[order] = np.minimum(steps, 1)
    return adjusted.reshape(p.shape)


def tested_at(p: Floats, method: Correction = "holm", alpha: float = 0.05) -> Floats:
    """The level at which a correction tests each p-value; one below its level is significant.

    Holm's method goes from the lowest p-value on, with levels that rise, and stops at the first one that is not
    significant: its level is that of all others. Benjamini and Hochberg's level is the same for all.

    >>> tested_at(np.array([0.01, 0.04, 0.03])).round(4).tolist()
    [0.0167, 0.025, 0.025]
    >>> tested_at(np.array([0.01, 0.04, 0.03]), "bh").round(4).tolist()
    [0.05, 0.05, 0.05]
    """
    tests = p.size
    significant = corrected(p, method) < alpha
    count = int(significant.sum())
    if method == "none":
        return np.full(p.shape, alpha)
    if method == "bonferroni":
        return np.full(p.shape, alpha / tests)
    if method == "bh":
        return np.full(p.shape, alpha * max(count, 1) / tests)
    step = np.full(tests, min(count, tests - 1))
    order = np.argsort(p.ravel(), kind="stable")
    step[order[:count]] = np.arange(count)
    levels: Floats = alpha / (tests - step)
    return levels.reshape(p.shape)
