"""Weights of ranks and their sums over the first n ranks, from which the mean weight of a tie is one difference."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.errors import MeasureError
from cranfield.measures.catalogue import CATALOGUE, Measure
from cranfield.ranking.batch import Weights
from cranfield.ranking.rankings import from_tables

SHORT = 11  # tables have at least 2**SHORT ranks, enough for most rankings


def _weight(kind: str, base: float, rank: Floats) -> Floats:
    if kind == "harmonic":
        return 1 / rank
    if kind == "log2":
        return 1 / np.log2(rank + 1)
    if kind == "squares":
        return 1 / (rank + base - 1) ** 2
    if kind == "overlap":
        return np.power(base, rank - 1.0) / rank
    return 1 / np.maximum(np.log(np.maximum(rank, base)) / np.log(base), 1)


@lru_cache(maxsize=32)
def _tables(kind: str, base: float, bits: int) -> tuple[Floats, Floats]:
    weight = np.arange(1 << bits, dtype=np.float64)
    weight[1:] = _weight(kind, base, weight[1:])
    return weight, np.cumsum(weight)


def _tabulated(kind: str, base: float = 0) -> Weights:
    def table(n: Integers, which: int) -> Floats:
        try:
            return _tables(kind, base, SHORT)[which][n]
        except IndexError:
            # Table sizes double, so that a long ranking after many short ones costs little.
            return _tables(kind, base, int(n.max(initial=0)).bit_length())[which][n]

    return Weights(
        lambda n: table(n, 1),
        lambda rank: table(rank, 0),
        table=lambda n: _tables(kind, base, max(SHORT, n.bit_length()))[0],
    )


def _with_table(total: Callable[[Integers], Floats], at: Callable[[Integers], Floats]) -> Weights:
    """Weights with closed forms and a table."""

    @lru_cache(maxsize=8)
    def table(bits: int) -> Floats:
        return np.concatenate([[0], at(np.arange(1, 1 << bits))])

    return Weights(total, at, table=lambda n: table(max(SHORT, n.bit_length())))


@lru_cache(maxsize=64)
def log_discount(discount: str, base: float) -> Weights:
    """Rank i has weight 1/log2(i+1); with ``jk`` (Järvelin and Kekäläinen), 1 up to the base, then 1/log_base(i)."""
    return _tabulated(discount, base if discount == "jk" else 0)


@lru_cache(maxsize=64)
def rank_biased_overlap(p: float) -> Weights:
    """Rank i has weight p^(i-1)/i, the weight of one shared document in the overlap at depth i."""
    return _tabulated("overlap", p)


@lru_cache(maxsize=64)
def inverse_squares_from(shift: float) -> Weights:
    """Rank i has weight 1/(i + shift - 1)²."""
    return _tabulated("squares", shift)


@lru_cache(maxsize=8)
def _hurwitz(bits: int) -> Floats:
    return np.concatenate([[np.inf], _euler_maclaurin(np.arange(1.0, 1 << bits))])


def hurwitz(x: Floats) -> Floats:
    """Hurwitz's zeta function ζ(2, x), the sum of 1/(x+i)² over i = 0, 1, ...; for integers from a table."""
    top = float(x.max(initial=0))
    if top < 1 << 20 and (x == (integers := x.astype(np.int64))).all():
        return _hurwitz(max(10, int(top).bit_length()))[integers]
    return _euler_maclaurin(x)


def _euler_maclaurin(x: Floats) -> Floats:
    """ζ(2, x) by the Euler-Maclaurin formula from 16 on, ten times as fast as SciPy's general zeta function."""
    near = x < 16
    y = np.where(near, x + 16, x)
    u = 1 / (y * y)
    # The coefficients are Bernoulli numbers; the next term is smaller than a rounding error.
    series = 1 / 6 - u * (1 / 30 - u * (1 / 42 - u * (1 / 30 - u * (5 / 66 - u * (691 / 2730)))))
    total = np.asarray((1 + (0.5 + series / y) / y) / y)
    if near.any():
        small = x[near]
        total[near] += sum(1 / (small + i) ** 2 for i in reversed(range(16)))
    return total


@lru_cache(maxsize=64)
def geometric(p: float) -> Weights:
    """Rank i has weight (1-p) p^(i-1)."""
    return _with_table(
        lambda n: 1 - np.power(p, n.astype(np.float64)), lambda rank: (1 - p) * np.power(p, rank.astype(np.float64) - 1)
    )


@lru_cache(maxsize=64)
def beta_geometric(a: float, b: float) -> Weights:
    """Rank i has the mean of (1-p) p^(i-1) over p with a beta distribution."""
    ends = np.array([a, a + b])
    start = log_gamma(ends[:1]) - log_gamma(ends[1:])

    def power(n: Floats) -> Floats:
        """The mean of p^n."""
        return np.where(n > 0, np.exp(log_gamma(a + n) - log_gamma(a + b + n) - start), 1.0)

    return _with_table(
        lambda n: 1 - power(n.astype(np.float64)),
        lambda rank: power(rank.astype(np.float64) - 1) * b / (a + b + rank - 1.0),
    )


@lru_cache(maxsize=64)
def powers(p: float) -> Weights:
    """Rank i has weight p^i."""
    return Weights(
        lambda n: p * (1 - np.power(p, n.astype(np.float64))) / (1 - p),
        lambda rank: np.power(p, rank.astype(np.float64)),
    )


count = _with_table(lambda n: n.astype(np.float64), lambda rank: np.ones(rank.shape))
harmonic = _tabulated("harmonic")._replace(moment=lambda n: n)
inverse_square = _with_table(lambda n: n / (n + 1), lambda rank: 1 / (rank * (rank + 1.0)))


def log_gamma(z: Floats) -> Floats:
    """The logarithm of the gamma function of positive numbers, by Stirling's series at z + 10."""
    y = z + 10
    u = 1 / (y * y)
    series = 1 / 12 - u * (1 / 360 - u * (1 / 1260 - u * (1 / 1680 - u * (1 / 1188 - u * (691 / 360360)))))
    # z (z+1) ... (z+9), in pairs of factors that share z² + 9z.
    w = z * (z + 9)
    rising = w * (w + 8) * (w + 14) * (w + 18) * (w + 20)
    return (y - 0.5) * np.log(y) - y + 0.5 * np.log(2 * np.pi) + series / y - np.log(rising)


# The weights of ranks in a measure that is linear in the gains of documents.


def is_linear(measure: Measure) -> bool:
    """Whether the score of a ranking is a sum over documents of gain times a weight of the rank."""
    views = measure.views
    return measure.definition.linear and not (views.terminal or views.condensed)


def check_linear(measure: Measure) -> None:
    """Raise if the measure is not linear in the gains."""
    if not is_linear(measure):
        symbols = ", ".join(definition.symbol for definition in CATALOGUE.values() if definition.linear)
        raise MeasureError(
            f"{measure} is not linear in the gains of documents", hint=f"measures that are linear: {symbols}"
        )


def rank_weights(measure: Measure, length: int, top: float = 1.0) -> Floats:
    """The weight of each rank of a ranking of this length, for gains as the measure maps them.

    >>> rank_weights(cf.parse("P@2"), 3).tolist()
    [0.5, 0.5, 0.0]
    """
    check_linear(measure)
    return _rank_weights(measure, length, top) if length else np.zeros(0)


@lru_cache(maxsize=256)
def _rank_weights(measure: Measure, length: int, top: float) -> Floats:
    ranks = np.arange(length)[:, None]
    ones = np.ones_like(ranks)
    grades = np.full((length, 1), float(top))
    rankings = from_tables(grades, ranks, ones, ones - 1, np.full(length, length), top)
    return measure.values(rankings).value / measure.highest_gain(top)
