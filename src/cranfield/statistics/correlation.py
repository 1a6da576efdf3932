"""Rank correlation: the agreement of two scorings on the order of systems.

A scoring is one number per system, higher is better. Systems are along the last axis, other axes broadcast:
``tau(x, y)`` of ``x`` (repetitions, measures, systems) and ``y`` (measures, systems) is (repetitions, measures).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from cranfield.data import Floats, Integers
from cranfield.errors import UsageError
from cranfield.settings import Chance, checked
from cranfield.statistics.rounding import SAME, levels
from cranfield.wording import printable

EXACT = 100  # the most systems for which the distribution of τ is computed exactly, if none are tied
FEW = 10  # the most systems for which critical values are exact; for more they use the normal approximation

Variant = Literal["a", "b"]


@dataclass(frozen=True)
class Agreement:
    """The numbers of pairs of systems on which two scorings agree and disagree.

    ``concordant``: both prefer the same system; ``discordant``: they prefer different ones; ``tied_x``, ``tied_y``:
    pairs that are tied in the first and in the second scoring. ``variance``: of concordant - discordant for independent
    scorings with these ties.

    Examples
    --------
    >>> agreement = kendall([0.5, 0.4, 0.3], [0.5, 0.3, 0.4])
    >>> agreement.concordant, agreement.discordant, round(agreement.tau_a, 4)
    (2, 1, 0.3333)
    """

    systems: int
    concordant: int
    discordant: int
    tied_x: int
    tied_y: int
    variance: float

    @property
    def pairs(self) -> int:
        return self.systems * (self.systems - 1) // 2

    @property
    def tau_a(self) -> float:
        """Kendall's τ-a, over all pairs: a tied pair counts as half a disagreement."""
        return (self.concordant - self.discordant) / self.pairs

    @property
    def tau_b(self) -> float:
        """Kendall's τ-b, corrected for ties; undefined if all systems are tied in a scoring."""
        untied = (self.pairs - self.tied_x) * (self.pairs - self.tied_y)
        return (self.concordant - self.discordant) / math.sqrt(untied) if untied else math.nan

    @property
    def exact(self) -> bool:
        """Whether `p_value` is exact: without ties, and for at most 100 systems."""
        return not (self.tied_x or self.tied_y) and self.systems <= EXACT

    @property
    def p_value(self) -> float:
        """The two-sided p-value for independent scorings: exact, or by the normal approximation."""
        if self.exact:
            fewer = min(self.concordant, self.discordant)
            return min(1.0, 2 * float(_inversions(self.systems)[: fewer + 1].sum()))
        if not self.variance:
            return math.nan
        return math.erfc(abs(self.concordant - self.discordant) / math.sqrt(2 * self.variance))


def kendall(x: npt.ArrayLike, y: npt.ArrayLike) -> Agreement:
    """Count the pairs of systems on whose order two scorings agree: Kendall's τ-a and τ-b, and their significance.

    Parameters
    ----------
    x, y
        The scores of the same systems by two scorings: lists in the same order, or ``{system: score}``.

    Returns
    -------
    Agreement
        Counts of concordant, discordant and tied pairs, with ``tau_a``, ``tau_b`` and ``p_value``.

    Examples
    --------
    >>> agreement = kendall([0.7, 0.8, 0.9], [0.7, 0.8, 0.8])
    >>> agreement.concordant, agreement.discordant, agreement.tied_x, agreement.tied_y
    (2, 0, 0, 1)
    >>> round(agreement.tau_a, 4), round(agreement.tau_b, 4)
    (0.6667, 0.8165)
    >>> kendall([1, 2, 3, 4], [1, 2, 4, 3]).p_value
    0.3333333333333333
    """
    a, b = _check_scorings(x, y)
    if a.ndim != 1 or b.ndim != 1:
        raise UsageError("kendall compares two scorings; use tau for arrays of scorings")
    n = len(a)
    s, t = _signs(a), _signs(b)
    product = s * t
    tied_x, tied_y = np.bincount(levels(a)), np.bincount(levels(b))
    return Agreement(
        n,
        int((product > 0).sum()),
        int((product < 0).sum()),
        int((s == 0).sum()),
        int((t == 0).sum()),
        _variance(n, tied_x, tied_y),
    )


@checked
def tau(x: npt.ArrayLike, y: npt.ArrayLike, variant: Variant = "a") -> Floats:
    """Kendall's τ of arrays of scorings.

    Parameters
    ----------
    x, y
        Scores with the systems along the last axis; the other axes are broadcast, so that ``tau(x[:, None], x)`` is
        the matrix of all pairs of scorings.
    variant
        ``a`` divides by all pairs, ``b`` by the pairs that are not tied.

    Returns
    -------
    numpy.ndarray
        One τ for each pair of scorings.

    Examples
    --------
    >>> tau([[1, 2, 3, 4], [4, 3, 2, 1]], [1, 2, 4, 3]).round(4).tolist()
    [0.6667, -0.6667]
    """
    a, b = _check_scorings(x, y)
    s, t = _signs(a), _signs(b)
    balance = np.einsum("...i,...i->...", s, t).astype(np.float64)
    if variant == "a":
        return np.asarray(balance / s.shape[-1])
    untied = np.sqrt(np.abs(s).sum(axis=-1, dtype=np.float64) * np.abs(t).sum(axis=-1, dtype=np.float64))
    return _ratio(balance, untied)


@checked
def critical_tau(systems: int, alpha: Chance = 0.05) -> float:
    """The critical value of τ for so many untied systems; 1 if no value is significant.

    By the normal approximation; exact for few systems.

    >>> round(critical_tau(30, 0.01), 4), critical_tau(4, 0.05)
    (0.3319, 1.0)
    """
    n = systems
    if n < 2:
        raise UsageError(f"a critical τ needs at least two systems, got {n}")
    if n <= FEW:
        pairs = n * (n - 1) // 2
        rejected = int((2 * _inversions(n)[: pairs // 2 + 1].cumsum() <= alpha * (1 + SAME)).sum())
        return (pairs - 2 * rejected) / pairs
    return NormalDist().inv_cdf(1 - alpha / 2) * math.sqrt(2 * (2 * n + 5) / (9 * n * (n - 1)))


@checked
def tau_ap(truth: npt.ArrayLike, estimate: npt.ArrayLike, variant: Variant = "a") -> Floats:
    """AP correlation: a τ that gives more weight to the top (Yilmaz, Aslam and Robertson, SIGIR 2008).

    Compares each system of the estimated order, except the first, with a random system above it: does the truth order
    them in the same way? Ties as in Urbano and Marrero (ICTIR 2017).

    Parameters
    ----------
    truth, estimate
        The scores of the same systems: lists in the same order, ``{system: score}``, or arrays as in `tau`.
    variant
        ``a`` (accuracy) is the mean over all orders of tied systems; ``b`` (agreement) counts tied pairs as no
        agreement, leaves out the systems in first place, and takes the mean of both directions.

    Returns
    -------
    numpy.ndarray
        One correlation for each pair of scorings.

    Examples
    --------
    >>> truth = [0.06, 0.2, 0.27, 0.37, 0.57, 0.63, 0.66, 0.9, 0.91, 0.94]
    >>> estimate = [0.37, 0.06, 0.2, 0.27, 0.57, 0.66, 0.63, 0.91, 0.9, 0.94]
    >>> round(float(tau_ap(truth, estimate)), 7)
    0.7491182
    """
    a, b = _check_scorings(truth, estimate)
    if variant == "b":
        return np.asarray((_untied_ap(a, b) + _untied_ap(b, a)) / 2)
    level = levels(b)
    above = (level[..., None, :] > level[..., :, None]).astype(np.float64)
    count = above.sum(axis=-1)
    size = (level[..., None, :] == level[..., :, None]).sum(axis=-1)
    # Within a tie the preferences of the truth cancel; the weight of a system is the mean of 1 / (systems above it)
    # over its possible positions.
    harmonic = np.append(0, np.cumsum(1 / np.arange(1, a.shape[-1] + 1)))
    first = count.astype(np.int64)
    weight = np.where(first > 0, (harmonic[first + size - 1] - harmonic[np.maximum(first - 1, 0)]) / size, 0)
    balance = np.einsum("...ij,...ij->...i", above, _preferences(a))
    return np.asarray((balance * weight).sum(axis=-1) / (a.shape[-1] - 1))


def spearman(x: npt.ArrayLike, y: npt.ArrayLike) -> Floats:
    """Spearman's ρ: the linear correlation of ranks; tied systems share their mean rank.

    Parameters
    ----------
    x, y
        The scores of the same systems: lists in the same order, ``{system: score}``, or arrays as in `tau`.

    Returns
    -------
    numpy.ndarray
        One correlation for each pair of scorings.

    Examples
    --------
    >>> round(float(spearman([0.1, 0.2, 0.9], [1, 3, 2])), 4)
    0.5
    """
    a, b = _check_scorings(x, y)
    return _linear(_centred_ranks(a), _centred_ranks(b))


@checked
def critical_rho(systems: int, alpha: Chance = 0.05) -> float:
    """The critical value of Spearman's ρ for so many untied systems; 1 if no value is significant.

    Exact for up to 10 systems, by all their orders; then by the normal approximation with variance 1 / (n - 1).

    >>> round(critical_rho(8, 0.01), 4), critical_rho(4, 0.05)
    (0.8571, 1.0)
    """
    n = systems
    if n < 2:
        raise UsageError(f"a critical ρ needs at least two systems, got {n}")
    if n > FEW:
        return NormalDist().inv_cdf(1 - alpha / 2) / math.sqrt(n - 1)
    # ρ = 1 - 6 Σd² / (n³ - n), where Σd² is even; both tails are alike.
    chance, cube = _squared_differences(n), n**3 - n
    rejected = int((2 * chance[: cube // 12 + 1].cumsum() <= alpha * (1 + SAME)).sum())
    significant = np.flatnonzero(chance[:rejected])  # some sums are impossible
    if not len(significant):
        return 1.0
    next_sum = significant[-1] + 1 + int(np.flatnonzero(chance[significant[-1] + 1 :])[0])
    return 1 - 12 * int(next_sum) / cube


@cache
def _squared_differences(n: int) -> Floats:
    """The probabilities of Σd² = 0, 2, 4, ... for two independent orders of n systems."""
    # Σd² / 2 = Σi² - Σ i π(i), where i counts from 0. Orders of the first ranks are counted by the set that they use.
    squares = sum(i * i for i in range(n))
    ways = np.zeros((1 << n, squares + 1))
    ways[0, 0] = 1
    for used in range(1 << n):
        i = used.bit_count()
        for j in range(n):
            if not used >> j & 1:
                ways[used | 1 << j, i * j :] += ways[used, : squares + 1 - i * j]
    probability: Floats = ways[-1, ::-1] / math.factorial(n)
    return probability


def pearson(x: npt.ArrayLike, y: npt.ArrayLike) -> Floats:
    """Pearson's r, the linear correlation; undefined if all systems have the same score.

    Parameters
    ----------
    x, y
        The scores of the same systems: lists in the same order, ``{system: score}``, or arrays as in `tau`.

    Returns
    -------
    numpy.ndarray
        One correlation for each pair of scorings.

    Examples
    --------
    >>> round(float(pearson([1, 2, 3], [10, 20, 35])), 4)
    0.9934
    """
    return _linear(*_check_scorings(x, y))


def swapped_pairs(x: Floats, y: Floats) -> list[tuple[int, int]]:
    """The pairs that two scorings order differently: the system that x prefers, then the one that y prefers.

    >>> swapped_pairs(np.array([0.9, 0.8, 0.1]), np.array([0.6, 0.7, 0.1]))
    [(0, 1)]
    """
    first, second = np.nonzero((_preferences(x) > 0) & (_preferences(y) < 0))
    # In `_preferences` the column is the preferred system.
    pairs = zip(second.tolist(), first.tolist(), strict=True)
    return sorted(pairs, key=lambda pair: (-x[pair[0]], -x[pair[1]], pair))


def swaps(x: npt.ArrayLike, y: npt.ArrayLike, names: Sequence[str]) -> list[tuple[str, str]]:
    """The pairs of systems that two scorings order differently.

    Parameters
    ----------
    x, y
        The scores of the same systems, in the same order.
    names
        The names of the systems.

    Returns
    -------
    list of (str, str)
        The system that ``x`` prefers comes first.

    Examples
    --------
    >>> swaps([0.9, 0.8, 0.1], [0.6, 0.7, 0.1], ["bm25", "dense", "random"])
    [('bm25', 'dense')]
    """
    a, b = _check_scorings(x, y)
    if len(names) != len(a):
        raise UsageError(f"{len(names)} names for {len(a)} systems")
    return [(names[i], names[j]) for i, j in swapped_pairs(a, b)]


def _check_scorings(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Two scorings as arrays; raise unless they are of the same two or more systems, all scores defined."""
    if isinstance(x, Mapping) or isinstance(y, Mapping):
        x, y = _in_one_order(x, y)
    try:
        a, b = np.asarray(x, np.float64), np.asarray(y, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(
            "a correlation needs two scorings of numbers", hint="give two lists of scores, or two dicts {system: score}"
        ) from None
    n, m = (scores.shape[-1] if scores.ndim else 0 for scores in (a, b))
    if n != m:
        raise UsageError(
            f"the scorings have different numbers of systems: {n} and {m}",
            hint="give the scores of the same systems, in the same order",
        )
    if n < 2:
        raise UsageError(f"a correlation needs at least two systems, got {n}")
    missing = int(np.isnan(a).sum() + np.isnan(b).sum())
    if missing:
        raise UsageError(
            f"{missing} of the scores {'is' if missing == 1 else 'are'} undefined",
            hint="leave out these systems, or replace undefined scores by a number",
        )
    return a, b


def _in_one_order(x: Any, y: Any) -> tuple[list[Any], list[Any]]:
    """The values of two mappings by the same systems, in one order."""
    if not (isinstance(x, Mapping) and isinstance(y, Mapping)):
        raise UsageError("a correlation needs two scorings of the same kind: two lists, or two dicts {system: score}")
    if x.keys() != y.keys():
        only = min(map(str, x.keys() ^ y.keys()))
        raise UsageError(f"only one of the scorings has the system `{printable(only)}`")
    return list(x.values()), [y[system] for system in x]


def _signs(x: Floats) -> npt.NDArray[np.float32]:
    """For every pair i < j: 1 if i scores higher than j, -1 if lower, 0 if tied; pairs are the last axis.

    32-bit floats, because their products are fast; sums of fewer than 2**24 of them are exact.
    """
    level = levels(x)
    i, j = np.triu_indices(x.shape[-1], 1)
    dtype = np.float32 if len(i) < 2**24 else np.float64
    return np.sign(level[..., i] - level[..., j]).astype(dtype)


def _preferences(x: Floats) -> Floats:
    """At (i, j): 1 if j scores higher than i, -1 if lower, 0 if tied."""
    level = levels(x)
    return np.sign(level[..., None, :] - level[..., :, None]).astype(np.float64)


def _untied_ap(truth: Floats, estimate: Floats) -> Floats:
    """One direction of variant b of the AP correlation, without the systems in first place."""
    above = _preferences(estimate) > 0
    count = above.sum(axis=-1)
    agreed = (above & (_preferences(truth) > 0)).sum(axis=-1)
    share = np.where(count > 0, 2 * agreed / np.maximum(count, 1) - 1, 0).sum(axis=-1)
    return _ratio(share, (count > 0).sum(axis=-1))


def mean_ranks(x: Floats) -> Floats:
    """The rank of each system, 1 for the highest score; tied systems share the mean of their ranks.

    >>> mean_ranks(np.array([0.2, 0.9, 0.2])).tolist()
    [2.5, 1.0, 2.5]
    """
    return (x.shape[-1] + 1) / 2 + _centred_ranks(x)


def _centred_ranks(x: Floats) -> Floats:
    """The rank of each system minus the mean rank; tied systems share the mean of their ranks."""
    return _preferences(x).sum(axis=-1) / 2


def _linear(a: Floats, b: Floats) -> Floats:
    a, b = map(_centred, (a, b))
    spread = np.sqrt((a**2).sum(axis=-1)) * np.sqrt((b**2).sum(axis=-1))
    return np.clip(_ratio(np.einsum("...i,...i->...", a, b), spread), -1, 1)


def _centred(x: Floats) -> Floats:
    """The scores less their mean, times a power of 2 by which no square overflows or underflows."""
    exponent = np.frexp(np.abs(x).max(axis=-1, keepdims=True))[1]
    with np.errstate(invalid="ignore"):  # infinite scores have no mean
        scaled = np.ldexp(x, -exponent)
        scaled = scaled - scaled.mean(axis=-1, keepdims=True)
    # Scores that differ by rounding only are constant.
    differ = levels(np.ldexp(scaled, exponent)).max(axis=-1, keepdims=True) > 0
    return np.where(differ, scaled, 0)


def _ratio(numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> Floats:
    """A quotient, undefined if the denominator is 0."""
    a, b = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    return np.divide(a, b, out=np.full(a.shape, np.nan), where=b != 0)


def _variance(n: int, tied_x: Integers, tied_y: Integers) -> float:
    """The variance of concordant minus discordant pairs for independent orders with these ties (Kendall, 1970)."""
    sizes = [size.astype(np.float64) for size in (tied_x, tied_y)]
    pairs = [float((t * (t - 1)).sum()) for t in sizes]
    triples = [float((t * (t - 1) * (t - 2)).sum()) for t in sizes]
    ties = sum(float((t * (t - 1) * (2 * t + 5)).sum()) for t in sizes)
    variance = (n * (n - 1) * (2 * n + 5) - ties) / 18 + pairs[0] * pairs[1] / (2 * n * (n - 1))
    return variance + triples[0] * triples[1] / (9 * n * (n - 1) * (n - 2)) if n > 2 else variance


@cache
def _inversions(n: int) -> Floats:
    """The probabilities of 0, 1, 2, ... inversions in a random order of n."""
    probability = np.ones(1)
    for i in range(2, n + 1):
        probability = np.sum([np.pad(probability, (shift, i - 1 - shift)) for shift in range(i)], axis=0) / i
    return probability


TieVariant = Literal["a", "b", "w"]


class Overlap(NamedTuple):
    """Rank-biased overlap: ``ext`` is extrapolated beyond the ends of the lists, ``min`` and ``max`` are bounds.

    Examples
    --------
    >>> overlap = rbo(["a", "b", "c"], ["a", "c", "b"])
    >>> round(overlap.min, 4), round(overlap.ext, 4), round(overlap.max, 4)
    (0.4775, 0.955, 0.955)
    """

    ext: float
    min: float
    max: float

    @property
    def residual(self) -> float:
        """The uncertainty from what follows the ends of the lists."""
        return self.max - self.min


@checked
def rbo(
    x: Mapping[str, float] | Sequence[float] | Sequence[str] | Floats,
    y: Mapping[str, float] | Sequence[float] | Sequence[str] | Floats,
    p: Chance = 0.9,
    ties: TieVariant = "a",
) -> Overlap:
    """Rank-biased overlap of two rankings.

    Parameters
    ----------
    x, y
        Scores by item, scores of the same items in one order, or lists of ids (text), best first.
    p
        The persistence: the probability of going on to the next rank.
    ties
        As in Corsi and Urbano (SIGIR 2024): ``a`` is the mean over all orders of tied items; ``b`` is ``a``
        normalised, so that a ranking with ties agrees with itself; ``w`` puts tied items at the same rank.

    Returns
    -------
    Overlap
        The overlap ``ext``, extrapolated beyond the ends of the lists, and its bounds ``min`` and ``max``.

    Examples
    --------
    >>> round(rbo({"a": 3, "b": 2, "c": 1}, {"b": 3, "a": 2, "c": 1}).ext, 4)
    0.9
    >>> round(rbo(["a", "b", "c"], ["b", "a", "c"]).ext, 4)
    0.9
    >>> red = {"red": 4, "blue": 3, "green": 3, "yellow": 2, "pink": 1}
    >>> black = {"blue": 4, "red": 4, "white": 3, "yellow": 2, "black": 2, "purple": 2, "green": 1}
    >>> [round(value, 7) for value in rbo(red, black, p=0.95)]
    [0.6922853, 0.3310519, 0.8930692]
    """
    short, long = sorted(_as_mappings(x, y), key=len)
    s, n = len(short), len(long)
    if s == 0:
        raise UsageError("overlap needs two rankings; one is empty")
    items = list(dict.fromkeys([*long, *short]))
    depth = np.arange(1, n + 1)
    contained, other = (_contained(ranking, items, n, at_top=ties == "w") for ranking in (short, long))

    overlap = np.einsum("ij,ij->j", contained, other)
    norm = _norm(contained, other, s, ties)
    until = overlap[:s] / norm[:s]
    end = float(overlap[-1])  # the last rank includes all items

    # Between the ends of the lists, the shorter one could continue with any items that only the longer one contains.
    beyond = depth[s:] - s
    only_long = other[[item not in short for item in items]]
    only_long = only_long[np.argsort(-only_long.sum(axis=1), kind="stable")][:, s:]
    active = np.maximum((only_long > 0).sum(axis=0), 1)
    expected = beyond * until[-1] * only_long.sum(axis=0) / active
    best = np.where(np.arange(len(only_long))[:, None] < beyond, only_long, 0).sum(axis=0)

    weights: Floats = np.power(p, depth, dtype=np.float64)
    worst = _total(until, overlap[s:] / norm[s:], weights)
    low = worst + end * _tail(p, n)
    full = s + n - end  # the rank from which the lists can agree completely
    ranks = np.arange(n + 1, full + 1)
    high = float(((2 * ranks - full) / ranks * p**ranks).sum()) + p ** (full + 1) / (1 - p)
    high += _total(until, (overlap[s:] + best) / norm[s:], weights)
    extrapolated = (end + (n - s) * until[-1]) / n * p ** (n + 1) / (1 - p)
    extrapolated += _total(until, (overlap[s:] + expected) / norm[s:], weights)
    scale = (1 - p) / p
    return Overlap(scale * float(extrapolated), scale * float(low), scale * float(high))


def _as_mappings(
    x: Mapping[str, float] | Sequence[float] | Sequence[str] | Floats,
    y: Mapping[str, float] | Sequence[float] | Sequence[str] | Floats,
) -> list[dict[str, float]]:
    """Both rankings as scores by item."""
    kinds = {kind for ranking in (x, y) if (kind := _kind(ranking))}
    if len(kinds) > 1 or "mixed" in kinds:
        kind = "scores by item, scores in one order, or lists of ids"
        raise UsageError(f"overlap needs two rankings of the same kind: {kind}")
    if kinds == {"ids"}:
        listed = [
            [item.decode("utf-8", "surrogateescape") if isinstance(item, bytes) else item for item in ids]
            for ids in (x, y)
        ]
        rankings = [{str(item): -float(rank) for rank, item in enumerate(ids)} for ids in listed]
        if any(len(ranking) < len(ids) for ranking, ids in zip(rankings, listed, strict=True)):
            raise UsageError("an item appears twice in a ranking", hint="list every item once, best first")
        return rankings
    try:
        if isinstance(x, Mapping) and isinstance(y, Mapping):
            rankings = [{item: float(score) for item, score in ranking.items()} for ranking in (x, y)]
        else:
            rankings = [{str(i): float(score) for i, score in enumerate(scores)} for scores in (x, y)]
    except (TypeError, ValueError, OverflowError):
        raise UsageError(
            "some of the scores are not numbers", hint="give two lists of numbers, or {item: score}"
        ) from None
    if not isinstance(x, Mapping) and len(x) != len(y):
        raise UsageError(
            f"the rankings have different numbers of items: {len(x)} and {len(y)}",
            hint="give scores by item: {item: score}",
        )
    if any(math.isnan(score) for ranking in rankings for score in ranking.values()):
        raise UsageError("some of the scores are undefined", hint="leave out these items")
    return rankings


def _kind(ranking: Any) -> str:
    """Whether a ranking is given as scores by item, as scores, or as ids; empty if it has no items."""
    by_item = isinstance(ranking, Mapping)
    if not by_item and not isinstance(ranking, Sequence) and (isinstance(ranking, Set) or np.ndim(ranking) != 1):
        raise UsageError(
            f"a ranking is a list of ids or scores, or a dict {{item: score}}, not {type(ranking).__name__}",
            hint="list the items, best first",
        )
    texts = {isinstance(item, str | bytes) for item in (ranking.values() if by_item else ranking)}
    if isinstance(ranking, str | bytes) or len(texts) > 1 or (by_item and texts == {True}):
        return "mixed"
    return "" if not texts else "by item" if by_item else "ids" if texts == {True} else "scores"


def _contained(ranking: dict[str, float], items: list[str], n: int, *, at_top: bool) -> Floats:
    """The share of each item in the first 1 .. n ranks: (item, depth).

    Tied items are spread evenly over their ranks, or all at the top one.
    """
    level = -levels(np.array(list(ranking.values())))
    first = (level < level[:, None]).sum(axis=1)
    size = (level == level[:, None]).sum(axis=1)
    depth = np.arange(1, n + 1)
    inside = depth - first[:, None]
    shares = inside > 0 if at_top else np.clip(inside / size[:, None], 0, 1)
    table = np.zeros((len(items), n))
    index = {item: i for i, item in enumerate(items)}
    table[[index[item] for item in ranking]] = shares
    return table


def _norm(contained: Floats, other: Floats, s: int, ties: TieVariant) -> Floats:
    """The divisor of the overlap at each depth; beyond its end the shorter list continues with one item per rank."""
    depth = np.arange(1.0, contained.shape[1] + 1)
    if ties == "a":
        return depth
    power = 1 if ties == "w" else 2
    a, b = ((shares**power).sum(axis=0) for shares in (contained, other))
    a[s:] = depth[s:]
    return (a + b) / 2 if ties == "w" else np.sqrt(a) * np.sqrt(b)


def _total(until: Floats, after: Floats, weights: Floats) -> float:
    return float((np.concatenate([until, after]) * weights).sum())


def _tail(p: float, n: int) -> float:
    """Σ_{d>n} p^d / d: the complete series minus its first n terms."""
    depth = np.arange(1, n + 1)
    return -math.log1p(-p) - float((p**depth / depth).sum())
