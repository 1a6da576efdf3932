"""Which differences between systems would hold on other topics like these: tests of all pairs, by resampling.

Scores are (system, topic), all defined. A resampling is drawn once, and all pairs are tested against it: as products of
matrices, a bounded number of pairs at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from cranfield.arguments import one_of, share, whole
from cranfield.batch import Booleans
from cranfield.data import Floats, Integers
from cranfield.errors import UsageError
from cranfield.statistics.correlation import SAME
from cranfield.statistics.rounding import settled

Test = Literal["bootstrap", "randomisation", "tukey"]

CELLS = 2**16  # pairs times resamplings that are worked on at a time: what a processor's cache holds
LEAST = 16  # pairs at a time, however many resamplings there are: products of matrices need some
NEAR = 1e-9  # statistics closer than this, in proportion, are equal: sums in another order differ in the last digits
CANCELLED = 1e-6  # what is left of a sum of squares, in proportion, below which it is summed again, exactly
ALONE = 2**18  # multiplications up to which OpenBLAS does a product in one thread
WIDTH = 1024  # resamplings in a piece of a product
HELD = 2**24  # signs that are held as floats, all of them at once
GLANCE = 512  # resamplings looked at to guess where the largest are


@dataclass(frozen=True, eq=False)
class Tested:
    """Every pair of systems under a test; pairs are (0, 1), (0, 2), ..., (1, 2), ...

    ``difference``: the mean of the first less that of the second; ``p``: how often chance alone does as much (the
    achieved significance level); ``required``: the difference that would have been significant at ``alpha``.
    """

    difference: Floats
    p: Floats
    required: Floats
    alpha: float

    @property
    def significant(self) -> Booleans:
        """Pairs whose difference chance alone would hardly make."""
        return self.p < self.alpha

    @property
    def power(self) -> float:
        """Discriminative power: the share of pairs that are significantly different."""
        return float(self.significant.mean())

    @property
    def difference_required(self) -> float:
        """The difference that is significant whichever the pair (Sakai's estimate): the largest one required."""
        return float(self.required.max())


class Signs(NamedTuple):
    """Which differences change sides, (resampling, topic) of 1 and -1; ``exact`` where these are all ways there are."""

    values: npt.NDArray[np.int8]
    exact: bool


def pairs(systems: int) -> tuple[Integers, Integers]:
    """First and second system of every pair, in the order in which pairs are reported."""
    first, second = np.triu_indices(systems, 1)
    return first.astype(np.int64), second.astype(np.int64)


def draw_topics(topics: int, b: int, seed: int = 0) -> Integers:
    """Topics drawn with replacement, as many as there are, ``b`` times: (resampling, topic)."""
    return begun(seed).integers(0, topics, (whole("b", b), topics))


def draw_signs(topics: int, b: int, seed: int = 0) -> Signs:
    """For each topic, whether two systems change places, ``b`` times; all ways, where these are no more than that."""
    if topics < 63 and 2**topics <= whole("b", b):
        bits = np.arange(2**topics)[:, None] >> np.arange(topics) & 1
        return Signs((1 - 2 * bits).astype(np.int8), exact=True)
    values = begun(seed).integers(0, 2, (b, topics), np.int8)
    values *= -2
    values += 1
    return Signs(values, exact=False)


def discriminate(
    scores: npt.ArrayLike, test: Test = "bootstrap", *, b: int = 1000, alpha: float = 0.05, seed: int = 0
) -> Tested:
    """Tests all pairs of systems; scores of other measures on the same topics meet the same resampling.

    >>> found = discriminate([[0.3, 0.5, 0.4, 0.8], [0.3, 0.5, 0.4, 0.8], [0.1, 0.3, 0.2, 0.6]])
    >>> found.p.tolist(), found.significant.tolist()
    ([1.0, 0.0, 0.0], [False, True, True])
    """
    one_of("test", test, TESTS)
    x = checked(scores)
    if test == "bootstrap":
        return bootstrap(x, draw_topics(x.shape[1], b, seed), alpha)
    if test == "randomisation":
        return randomisation(x, draw_signs(x.shape[1], b, seed), alpha)
    return tukey(x, b=b, alpha=alpha, seed=seed)


def bootstrap(scores: npt.ArrayLike, topics: Integers, alpha: float = 0.05) -> Tested:
    """The paired bootstrap test (Sakai, SIGIR 2006): how often do topics drawn anew give a t as large by chance alone?

    ``topics`` (resampling, topic) are drawn by `draw_topics`. The differences of a pair are moved to a mean of 0, and
    t is taken of each draw: mean over its standard error, where 0/0 is 0 and x/0 infinite. ``required`` is the mean
    difference of the draw with the ⌈Bα⌉-th largest |t|; of draws with the same one, the earlier comes first.
    """
    x, alpha = checked(scores), share("alpha", alpha)
    b, n = topics.shape
    if n != x.shape[1]:
        raise UsageError(f"topics were drawn from {n}, and there are scores for {x.shape[1]}")
    drawn = counts(topics)
    rank = math.ceil(b * alpha)
    p, required = [], []
    for z in _differences(x, b):
        t = _squared_t(z, drawn, topics)
        p.append((t >= _own_squared_t(z)[:, None] * (1 - NEAR)).mean(axis=1))
        there = topics[_place(t, rank)]
        shift = np.abs(np.take_along_axis(z, there, axis=1).mean(axis=1) - z.mean(axis=1))
        required.append(np.where(shift > SAME, shift, 0))
    return Tested(_means(x), np.concatenate(p), np.concatenate(required), alpha)


def power(scores: npt.ArrayLike, topics: Integers, alpha: float = 0.05) -> float:
    """The discriminative power of `bootstrap`, in about half of its time: for studies that need it a thousand times.

    >>> x = [[0.3, 0.5, 0.4, 0.8], [0.3, 0.5, 0.4, 0.8], [0.1, 0.3, 0.2, 0.6]]
    >>> power(x, draw_topics(4, 1000)), bootstrap(x, draw_topics(4, 1000)).power
    (0.6666666666666666, 0.6666666666666666)
    """
    x, alpha = checked(scores), share("alpha", alpha)
    b, n = topics.shape
    if n != x.shape[1]:
        raise UsageError(f"topics were drawn from {n}, and there are scores for {x.shape[1]}")
    drawn = counts(topics)
    found = 0
    for z in _differences(x, b):
        own = _own_squared_t(z)[:, None] * (1 - NEAR)
        both = _product(np.concatenate([z, n * z**2]), drawn)
        total, squares = both[: len(z)], both[len(z) :]
        spread = squares - total**2
        doubtful = np.flatnonzero(((spread <= CANCELLED * squares) & (squares > 0)).any(axis=1))
        total -= z.sum(axis=1, keepdims=True)
        p = (total**2 >= np.where(np.isinf(own), 0, own) * spread).mean(axis=1)  # the infinite are doubtful
        if len(doubtful):
            p[doubtful] = (_squared_t(z[doubtful], drawn, topics) >= own[doubtful]).mean(axis=1)
        found += int((p < alpha).sum())
    return found / len(pairs(len(x))[0])


def randomisation(scores: npt.ArrayLike, signs: Signs, alpha: float = 0.05) -> Tested:
    """The paired randomisation test (Fisher): how often is the mean difference as large when sides are tossed up?

    ``signs`` are drawn by `draw_signs`. The data themselves count as one of the tosses, p = (c + 1) / (B + 1), unless
    all tosses there are were made.
    """
    x, alpha = checked(scores), share("alpha", alpha)
    b, n = signs.values.shape
    if n != x.shape[1]:
        raise UsageError(f"signs were drawn for {n} topics, and there are scores for {x.shape[1]}")
    tossed: npt.NDArray[Any] = signs.values.T
    if tossed.size <= HELD:
        tossed = np.ascontiguousarray(tossed, np.float64)
    own = 0 if signs.exact else 1
    p, required = [], []
    for z in _differences(x, b):
        totals = np.abs(_product(z, tossed))
        reached = (totals >= np.abs(z.sum(axis=1, keepdims=True)) - n * SAME).sum(axis=1)
        p.append((reached + own) / (b + own))
        required.append(_largest(totals, math.ceil(b * alpha)) / n)
    return Tested(_means(x), np.concatenate(p), np.concatenate(required), alpha)


def randomisation_p_values(scores: npt.ArrayLike, signs: Signs) -> Floats:
    """The p-values of `randomisation` alone, many times as fast: a difference of signed sums is the signed sum of it.

    So the scores of each system meet the signs once, and not those of each pair.
    """
    x = checked(scores)
    b, n = signs.values.shape
    x = x - x[0]  # smaller numbers leave less to cancel
    size = np.abs(x.sum(axis=1)[:, None] - x.sum(axis=1)) - n * SAME
    reached = [np.zeros(len(x) - 1 - first, np.int64) for first in range(len(x) - 1)]
    for begin in range(0, b, WIDTH):
        totals = _product(x, np.ascontiguousarray(signs.values[begin : begin + WIDTH].T, np.float64))
        for first, count in enumerate(reached):
            apart = np.abs(totals[first + 1 :] - totals[first])
            count += np.count_nonzero(apart >= size[first + 1 :, first, None], axis=1)
    own = 0 if signs.exact else 1
    return (np.concatenate(reached) + own) / (b + own)


def tukey(scores: npt.ArrayLike, *, b: int = 1000, alpha: float = 0.05, seed: int = 0) -> Tested:
    """Tukey's honestly significant difference, randomised (Carterette, TOIS 2012): all pairs at once at one level.

    Scores of each topic are dealt out to the systems anew; a difference is significant where the best and the worst
    of systems that chance alone made differ by as much seldom. p = (c + 1) / (B + 1). What is required of one pair is
    required of all.
    """
    x, alpha = checked(scores), share("alpha", alpha)
    systems, n = x.shape
    rng = begun(seed)
    rows = max(1, CELLS // x.size)
    ranges = np.empty(whole("b", b))
    for begin in range(0, b, rows):
        some = np.broadcast_to(x.T, (min(rows, b - begin), n, systems))
        ranges[begin : begin + rows] = np.ptp(rng.permuted(some, axis=-1).mean(axis=1), axis=1)
    difference = _means(x)
    reached = b - np.sort(ranges).searchsorted(np.abs(difference) - SAME)
    required = np.sort(ranges)[b - math.ceil(b * alpha)]
    return Tested(difference, (reached + 1) / (b + 1), np.full(len(difference), required), alpha)


def checked(scores: npt.ArrayLike) -> Floats:
    """Scores of at least two systems on at least two topics, all defined."""
    x = np.asarray(scores, np.float64)
    if x.ndim != 2 or x.shape[0] < 2:
        raise UsageError("a test needs the scores of at least two systems: an array of systems by topics")
    if x.shape[1] < 2:
        raise UsageError(
            f"a test needs at least two topics, and there {'is one' if x.shape[1] else 'is none'}",
            hint="differences on one topic say nothing of others",
        )
    missing = int((~np.isfinite(x)).sum())
    if missing:
        raise UsageError(
            f"{missing} of the scores to test {'is' if missing == 1 else 'are'} undefined",
            hint="leave out these topics, or say what an undefined score counts",
        )
    return x


def begun(seed: int) -> np.random.Generator:
    """Random numbers that are the same for the same seed."""
    return np.random.default_rng(whole("seed", seed, 0))


def counts(topics: Integers) -> Floats:
    """How often each topic is drawn in each draw: (topic, draw)."""
    b, n = topics.shape
    drawn = np.bincount((np.arange(b)[:, None] * n + topics).ravel(), minlength=b * n).reshape(b, n)
    return np.ascontiguousarray(drawn.T, np.float64)


def _product(rows: Floats, columns: npt.NDArray[Any]) -> Floats:
    """The product of two matrices, in pieces too small to be shared among threads; signs become floats by piece.

    BLAS shares larger ones, and its threads then wait for each other: on a busy machine for longer than they work.
    """
    n, b = columns.shape
    height = ALONE // (n * min(b, WIDTH))
    large = height < 1  # enough to be worth the wait
    if large and columns.dtype == np.float64:
        return rows @ columns
    found = np.empty((len(rows), b))
    height = len(rows) if large else height
    count = len(rows) // height
    whole = count * height
    for begin in range(0, b, WIDTH):
        part = columns[:, begin : begin + WIDTH]
        if part.dtype != np.float64:
            part = np.ascontiguousarray(part, np.float64)
        pieces = rows[:whole].reshape(count, height, n) @ part
        found[:whole, begin : begin + WIDTH] = pieces.reshape(whole, part.shape[1])
        found[whole:, begin : begin + WIDTH] = rows[whole:] @ part
    return found


def _means(x: Floats) -> Floats:
    """The mean difference of every pair."""
    first, second = pairs(len(x))
    means = x.mean(axis=1)
    return means[first] - means[second]


def _differences(x: Floats, b: int) -> Iterator[Floats]:
    """Differences by topic of the pairs, some at a time."""
    first, second = pairs(len(x))
    rows = max(LEAST, CELLS // b)
    for begin in range(0, len(first), rows):
        yield settled(x[first[begin : begin + rows]] - x[second[begin : begin + rows]])


def _commonest(z: Floats) -> Floats:
    """The value that most topics of a pair share; of several, or where all differ, one from the middle."""
    n = z.shape[1]
    ordered = np.sort(z, axis=1)
    at = np.arange(n)
    starts = np.ones(z.shape, bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    run = at - np.maximum.accumulate(np.where(starts, at, 0), axis=1) + 1
    best = (run * 2 * n - np.abs(2 * at - n)).argmax(axis=1)
    return np.take_along_axis(ordered, best[:, None], axis=1)


def _squared_t(z: Floats, drawn: Floats, topics: Integers) -> Floats:
    """Of every pair and draw, t² / (n - 1) of the differences moved to a mean of 0: (pair, draw).

    With y the differences less one of them, S = Σ y and Q = Σ y² over a draw, it is (S - Σ_all y)² / (nQ - S²). The one
    taken off is the commonest: a draw that holds nothing else has S = Q = 0 without rounding.
    """
    n = z.shape[1]
    y = z - _commonest(z)
    both = _product(np.concatenate([y, n * y**2]), drawn)
    total, squares = both[: len(y)], both[len(y) :]
    spread = squares - total**2
    total -= y.sum(axis=1, keepdims=True)
    doubtful = (spread <= CANCELLED * squares) & (squares > 0)
    if doubtful.any():
        pair, draw = np.nonzero(doubtful)
        spread[pair, draw] = _spread(z[pair[:, None], topics[draw]])
    return _quotient(total, spread, n)


def _own_squared_t(z: Floats) -> Floats:
    """Of every pair, t² / (n - 1) of the differences as they are."""
    total = z.sum(axis=1)
    total[np.abs(total) <= z.shape[1] * SAME] = 0  # or a mean of 0 might seem larger than another
    return _quotient(total, _spread(z), z.shape[1])


def _spread(values: Floats) -> Floats:
    """n Σ (v - mean)², and 0 without rounding where all values are one."""
    around = values - values.mean(axis=1, keepdims=True)
    return np.where(np.ptp(values, axis=1) == 0, 0, values.shape[1] * (around**2).sum(axis=1))


def _quotient(total: Floats, spread: Floats, n: int) -> Floats:
    """total² / spread, where 0/0 is 0 and x/0 infinite; a total that rounding made is 0."""
    flat = spread <= 0
    found = np.divide(total**2, spread, out=np.zeros_like(spread), where=~flat)
    found[flat & (np.abs(total) > n * SAME)] = np.inf
    return found


def _place(values: Floats, rank: int) -> Integers:
    """Where in each row the ``rank``-th largest value stands; of equal ones the earlier comes first."""
    edge = _largest(values, rank)[:, None]
    beyond = values > edge * (1 + NEAR)
    row, column = np.nonzero((values >= edge * (1 - NEAR)) & ~beyond)
    begin = row.searchsorted(np.arange(len(values)))
    found: Integers = column[begin + rank - np.count_nonzero(beyond, axis=1) - 1]
    return found


def _largest(values: Floats, rank: int) -> Floats:
    """The ``rank``-th largest value of each row."""
    rows, b = values.shape
    few = min(b, GLANCE)
    at = min(few, math.ceil(1.5 * rank * few / b) + 8)
    floor = np.partition(values[:, :few], few - at, axis=1)[:, few - at]
    above = values >= floor[:, None]
    count = np.count_nonzero(above, axis=1)
    width = int(count.max())
    if count.min() < rank or width > b // 2:  # the first few were no guide
        return np.partition(values, b - rank, axis=1)[:, b - rank]
    high = np.full((rows, width), -np.inf)
    high[np.arange(width) < count[:, None]] = values[above]
    return np.partition(high, width - rank, axis=1)[:, width - rank]


TESTS: tuple[str, ...] = get_args(Test)
