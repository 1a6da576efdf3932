"""How far two ways of scoring agree on the order of systems.

A scoring is one number for each system, the higher the better. Systems are along the last axis, and whatever is
before it broadcasts: ``tau(x, y)`` of ``x`` (repetitions, measures, systems) and ``y`` (measures, systems) is
(repetitions, measures).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Literal

import numpy as np
import numpy.typing as npt

from cranfield.arguments import one_of, share
from cranfield.data import Floats, Integers
from cranfield.errors import UsageError

# Means of the same values, added up in another order, differ in the last digits: that is no difference.
SAME = 1e-12
EXACT = 100  # systems up to which the distribution of τ is counted out, where none tie
FEW = 10  # systems up to which it is not near enough to the normal one to take a critical value from that

Variant = Literal["a", "b"]


def levels(x: npt.ArrayLike) -> Integers:
    """The place of each system, from 0 for the lowest score; equal scores share a place.

    >>> levels([0.3, 0.9, 0.1 + 0.2, 0.1]).tolist()
    [1, 2, 1, 0]
    """
    scores = np.asarray(x, np.float64)
    order = scores.argsort(axis=-1, kind="stable")
    ordered = np.take_along_axis(scores, order, axis=-1)
    steps = np.zeros(scores.shape, np.int64)
    steps[..., 1:] = ordered[..., 1:] > ordered[..., :-1] + SAME
    found = np.empty_like(steps)
    np.put_along_axis(found, order, steps.cumsum(axis=-1), axis=-1)
    return found


@dataclass(frozen=True)
class Agreement:
    """Pairs of systems by what two scorings say of them.

    ``concordant``: both put the same system first; ``discordant``: they do not; ``tied_x``, ``tied_y``: pairs that
    the first, and that the second, leaves undecided. ``variance`` is that of concordant - discordant were the two
    scorings independent, their ties given.
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
        """Kendall's τ over all pairs: an undecided pair is half a disagreement."""
        return (self.concordant - self.discordant) / self.pairs

    @property
    def tau_b(self) -> float:
        """Kendall's τ corrected for undecided pairs; undefined where a scoring decides none."""
        decided = (self.pairs - self.tied_x) * (self.pairs - self.tied_y)
        return (self.concordant - self.discordant) / math.sqrt(decided) if decided else math.nan

    @property
    def exact(self) -> bool:
        """Whether `p_value` counts all orders: where no systems tie, and they are not too many."""
        return not (self.tied_x or self.tied_y) and self.systems <= EXACT

    @property
    def p_value(self) -> float:
        """How often independent scorings agree or disagree as strongly: exact, or else by the normal distribution."""
        if self.exact:
            fewer = min(self.concordant, self.discordant)
            return min(1.0, 2 * float(_inversions(self.systems)[: fewer + 1].sum()))
        if not self.variance:
            return math.nan
        return math.erfc(abs(self.concordant - self.discordant) / math.sqrt(2 * self.variance))


def kendall(x: npt.ArrayLike, y: npt.ArrayLike) -> Agreement:
    """Counts the pairs of systems on whose order two scorings agree: Kendall's τ-a and τ-b, and their significance.

    >>> found = kendall([0.7, 0.8, 0.9], [0.7, 0.8, 0.8])
    >>> found.concordant, found.discordant, found.tied_x, found.tied_y
    (2, 0, 0, 1)
    >>> round(found.tau_a, 4), round(found.tau_b, 4)
    (0.6667, 0.8165)
    >>> kendall([1, 2, 3, 4], [1, 2, 4, 3]).p_value
    0.3333333333333333
    """
    a, b = _checked(x, y)
    if a.ndim != 1 or b.ndim != 1:
        raise UsageError("kendall compares two scorings; for many at once there is tau")
    n = len(a)
    s, t = _signs(a), _signs(b)
    both = s * t
    tied_x, tied_y = np.bincount(levels(a)), np.bincount(levels(b))
    return Agreement(
        n,
        int((both > 0).sum()),
        int((both < 0).sum()),
        int((s == 0).sum()),
        int((t == 0).sum()),
        _variance(n, tied_x, tied_y),
    )


def tau(x: npt.ArrayLike, y: npt.ArrayLike, variant: Variant = "a") -> Floats:
    """Kendall's τ of many scorings at once; ``tau(x[:, None], x)`` is the matrix of all with all.

    >>> tau([[1, 2, 3, 4], [4, 3, 2, 1]], [1, 2, 4, 3]).round(4).tolist()
    [0.6667, -0.6667]
    """
    a, b = _checked(x, y)
    s, t = _signs(a), _signs(b)
    kept = np.einsum("...i,...i->...", s, t).astype(np.float64)
    if _variant(variant) == "a":
        return np.asarray(kept / s.shape[-1])
    decided = np.sqrt(np.abs(s).sum(axis=-1, dtype=np.float64) * np.abs(t).sum(axis=-1, dtype=np.float64))
    return _ratio(kept, decided)


def critical_tau(systems: int, alpha: float = 0.05) -> float:
    """The τ beyond which independent orders of so many untied systems seldom go: 1 where they go anywhere.

    By the normal distribution; for few systems all orders are counted.

    >>> round(critical_tau(30, 0.01), 4), critical_tau(4, 0.05)
    (0.3319, 1.0)
    """
    alpha, n = share("alpha", alpha), systems
    if n < 2:
        raise UsageError(f"a critical τ needs two systems, not {n}")
    if n <= FEW:
        pairs = n * (n - 1) // 2
        seldom = int((2 * _inversions(n)[: pairs // 2 + 1].cumsum() <= alpha * (1 + SAME)).sum())
        return (pairs - 2 * seldom) / pairs
    return NormalDist().inv_cdf(1 - alpha / 2) * math.sqrt(2 * (2 * n + 5) / (9 * n * (n - 1)))


def tau_ap(truth: npt.ArrayLike, estimate: npt.ArrayLike, variant: Variant = "a") -> Floats:
    """AP correlation: τ where the top counts most (Yilmaz, Aslam and Robertson, SIGIR 2008).

    Of a system of the estimated order, other than the first, and one above it: does the truth put them the same way?
    Ties as Urbano and Marrero (ICTIR 2017) have them: ``a``, accuracy, is the mean over all orders of systems that
    tie; ``b``, agreement of two equals, counts pairs that either scoring leaves undecided as no agreement, leaves
    out the first of the order, and takes the mean of both directions.

    >>> truth = [0.06, 0.2, 0.27, 0.37, 0.57, 0.63, 0.66, 0.9, 0.91, 0.94]
    >>> estimate = [0.37, 0.06, 0.2, 0.27, 0.57, 0.66, 0.63, 0.91, 0.9, 0.94]
    >>> round(float(tau_ap(truth, estimate)), 7)
    0.7491182
    """
    a, b = _checked(truth, estimate)
    if _variant(variant) == "b":
        return np.asarray((_decided_ap(a, b) + _decided_ap(b, a)) / 2)
    place = levels(b)
    above = (place[..., None, :] > place[..., :, None]).astype(np.float64)
    count = above.sum(axis=-1)
    size = (place[..., None, :] == place[..., :, None]).sum(axis=-1)
    # Within a tie, the preferences of the truth for and against cancel; what remains of the positions that a system
    # may take is the mean of 1 / (systems above it).
    harmonic = np.append(0, np.cumsum(1 / np.arange(1, a.shape[-1] + 1)))
    first = count.astype(np.int64)
    weight = np.where(first > 0, (harmonic[first + size - 1] - harmonic[np.maximum(first - 1, 0)]) / size, 0)
    kept = np.einsum("...ij,...ij->...i", above, _preferred(a))
    return np.asarray((kept * weight).sum(axis=-1) / (a.shape[-1] - 1))


def spearman(x: npt.ArrayLike, y: npt.ArrayLike) -> Floats:
    """Spearman's ρ: the linear correlation of ranks, equal scores sharing their mean rank.

    >>> round(float(spearman([0.1, 0.2, 0.9], [1, 3, 2])), 4)
    0.5
    """
    a, b = _checked(x, y)
    return _linear(_ranks(a), _ranks(b))


def pearson(x: npt.ArrayLike, y: npt.ArrayLike) -> Floats:
    """Pearson's r: how far one scoring is a straight line of the other; undefined where all systems score the same.

    >>> round(float(pearson([1, 2, 3], [10, 20, 35])), 4)
    0.9934
    """
    return _linear(*_checked(x, y))


def inverted(x: Floats, y: Floats) -> list[tuple[int, int]]:
    """The pairs that two scorings order differently: first the system that x prefers, then the one that y does.

    >>> inverted(np.array([0.9, 0.8, 0.1]), np.array([0.6, 0.7, 0.1]))
    [(0, 1)]
    """
    first, second = np.nonzero((_preferred(x) > 0) & (_preferred(y) < 0))
    # Rows and columns of `_preferred`: the column is what it prefers.
    pairs = zip(second.tolist(), first.tolist(), strict=True)
    return sorted(pairs, key=lambda pair: (-x[pair[0]], -x[pair[1]], pair))


def swaps(x: npt.ArrayLike, y: npt.ArrayLike, names: Sequence[str]) -> list[tuple[str, str]]:
    """The pairs that two scorings order differently, by name: first the system that x prefers.

    >>> swaps([0.9, 0.8, 0.1], [0.6, 0.7, 0.1], ["bm25", "dense", "random"])
    [('bm25', 'dense')]
    """
    a, b = _checked(x, y)
    if len(names) != len(a):
        raise UsageError(f"{len(names)} names for {len(a)} systems")
    return [(names[i], names[j]) for i, j in inverted(a, b)]


def _checked(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Two scorings of the same systems, at least two of them, and all scores defined."""
    a, b = np.asarray(x, np.float64), np.asarray(y, np.float64)
    n, m = (one.shape[-1] if one.ndim else 0 for one in (a, b))
    if n != m:
        raise UsageError(
            f"two orders of different systems: {n} scores against {m}",
            hint="give the scores of the same systems, in the same order",
        )
    if n < 2:
        raise UsageError(
            f"an order needs at least two runs, and there {'is one' if n == 1 else 'is none'}",
            hint="give the runs of several systems",
        )
    missing = int(np.isnan(a).sum() + np.isnan(b).sum())
    if missing:
        raise UsageError(
            f"{missing} of the scores to compare {'is' if missing == 1 else 'are'} undefined",
            hint="leave out these systems, or say what an undefined score counts",
        )
    return a, b


def _variant(variant: str) -> str:
    one_of("variant", variant, ("a", "b"))
    return variant


def _signs(x: Floats) -> npt.NDArray[np.float32]:
    """For every pair i < j: 1 where i scores higher than j, -1 where lower, 0 where the same; pairs are the last axis.

    Small floats, because products of them are fast, and sums of as many pairs as there will be are exact.
    """
    place = levels(x)
    i, j = np.triu_indices(x.shape[-1], 1)
    kind = np.float32 if len(i) < 2**24 else np.float64
    return np.sign(place[..., i] - place[..., j]).astype(kind)


def _preferred(x: Floats) -> Floats:
    """At (i, j) 1 where j scores higher than i, -1 where lower, 0 where the same."""
    place = levels(x)
    return np.sign(place[..., None, :] - place[..., :, None]).astype(np.float64)


def _decided_ap(truth: Floats, estimate: Floats) -> Floats:
    """One direction of the AP correlation of two equals: systems tied for the first place say nothing."""
    above = _preferred(estimate) > 0
    count = above.sum(axis=-1)
    agreed = (above & (_preferred(truth) > 0)).sum(axis=-1)
    share = np.where(count > 0, 2 * agreed / np.maximum(count, 1) - 1, 0).sum(axis=-1)
    return _ratio(share, (count > 0).sum(axis=-1))


def places(x: Floats) -> Floats:
    """The place of each system, 1 for the highest score; equal scores share the mean of their places.

    >>> places(np.array([0.2, 0.9, 0.2])).tolist()
    [2.5, 1.0, 2.5]
    """
    return (x.shape[-1] + 1) / 2 + _ranks(x)


def _ranks(x: Floats) -> Floats:
    """How far below the middle each system stands, equal scores sharing the mean of their ranks."""
    return _preferred(x).sum(axis=-1) / 2


def _linear(a: Floats, b: Floats) -> Floats:
    a, b = (one - one.mean(axis=-1, keepdims=True) for one in (a, b))
    # What differs in the last digits alone is constant.
    a, b = (np.where(levels(one).max(axis=-1, keepdims=True) > 0, one, 0) for one in (a, b))
    spread = np.sqrt((a**2).sum(axis=-1)) * np.sqrt((b**2).sum(axis=-1))
    return np.clip(_ratio(np.einsum("...i,...i->...", a, b), spread), -1, 1)


def _ratio(above: npt.ArrayLike, below: npt.ArrayLike) -> Floats:
    """A quotient, undefined where there is nothing to divide by."""
    top, bottom = np.broadcast_arrays(np.asarray(above, np.float64), np.asarray(below, np.float64))
    return np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom != 0)


def _variance(n: int, tied_x: Integers, tied_y: Integers) -> float:
    """Of concordant minus discordant pairs, were orders with ties of these sizes independent (Kendall, 1970)."""
    sizes = [size.astype(np.float64) for size in (tied_x, tied_y)]
    pairs = [float((t * (t - 1)).sum()) for t in sizes]
    triples = [float((t * (t - 1) * (t - 2)).sum()) for t in sizes]
    lost = sum(float((t * (t - 1) * (2 * t + 5)).sum()) for t in sizes)
    found = (n * (n - 1) * (2 * n + 5) - lost) / 18 + pairs[0] * pairs[1] / (2 * n * (n - 1))
    return found + triples[0] * triples[1] / (9 * n * (n - 1) * (n - 2)) if n > 2 else found


@cache
def _inversions(n: int) -> Floats:
    """How probable 0, 1, 2, ... inversions are in a random order of n."""
    found = np.ones(1)
    for i in range(2, n + 1):
        found = np.convolve(found, np.full(i, 1 / i))
    return found
