"""How often other topics would put two systems the other way round (Voorhees and Buckley, SIGIR 2002)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cranfield.arguments import whole
from cranfield.data import Floats, Integers
from cranfield.statistics.correlation import SAME
from cranfield.statistics.resampling import CELLS, begun, checked, pairs

BINS = 21  # differences of 0 to 0.01, of 0.01 to 0.02, ..., and of 0.2 and more
SIZES = 10  # numbers of topics that are tried
SMALLEST = 5  # topics; fewer tell little of more


@dataclass(frozen=True, eq=False)
class Swaps:
    """How often two sets of topics disagree on which of two systems is better, by how far apart the first puts them.

    ``sizes``: topics in a set; ``edges``: where bins of differences begin, the last of which has no end;
    ``compared``, ``swapped`` (size, bin): pairs of systems, over all pairs of sets, and those that change places;
    ``topics``: how many there are in all.
    """

    topics: int
    sizes: Integers
    edges: Floats
    compared: Integers
    swapped: Integers

    @property
    def rates(self) -> Floats:
        """The share of pairs that change places, (size, bin); undefined where no difference was of this size."""
        return np.where(self.compared > 0, self.swapped / np.maximum(self.compared, 1), np.nan)

    @property
    def extrapolated(self) -> Floats:
        """The share for two sets as large as all the topics, by bin.

        Voorhees and Buckley's curve, rate = A exp(-B size), on a logarithmic scale and weighted by swaps; where swaps
        at fewer than two sizes are no curve, the share at the largest.
        """
        found = np.full(len(self.edges), np.nan)
        for i, (rate, swapped, compared) in enumerate(zip(self.rates.T, self.swapped.T, self.compared.T, strict=True)):
            known, seen = swapped > 0, np.flatnonzero(compared)
            if known.sum() > 1:
                slope, begin = np.polyfit(self.sizes[known], np.log(rate[known]), 1, w=np.sqrt(swapped[known]))
                found[i] = min(1.0, np.exp(begin + slope * self.topics))
            elif len(seen):
                found[i] = rate[seen[-1]]
        return found

    def required(self, error: float = 0.05, *, extrapolated: bool = False) -> float:
        """The difference from which on no more than this share of pairs change places; NaN where none is enough.

        For sets of the largest size tried or, extrapolated, for sets as large as all the topics.
        """
        rates = self.extrapolated if extrapolated else self.rates[-1]
        wrong = np.flatnonzero(rates > error)
        enough = self.edges[0 if not len(wrong) else wrong[-1] + 1 :]
        known = np.flatnonzero(~np.isnan(rates))
        return float(enough[0]) if len(enough) and len(known) and known[-1] >= len(rates) - len(enough) else np.nan

    def share(self, difference: float) -> float:
        """The share of comparisons, at the largest size, that differ by so much or more."""
        if np.isnan(difference):
            return 0.0
        return float(self.compared[-1, self.edges >= difference - SAME].sum() / self.compared[-1].sum())


def swap_rates(scores: npt.ArrayLike, *, trials: int = 100, width: float | None = None, seed: int = 0) -> Swaps:
    """Draws two sets of topics that share none, ``trials`` times for each size, and sees which pairs change places.

    ``width`` is that of a bin of differences: 0.01, times the highest score where that is beyond 1.
    """
    x = checked(scores)
    trials = whole("trials", trials)
    systems, n = x.shape
    step = 0.01 * max(1.0, float(np.abs(x).max())) if width is None else width
    sizes = np.unique(np.linspace(min(SMALLEST, n // 2), n // 2, SIZES).round().astype(np.int64))
    rng = begun(seed)
    first, second = pairs(systems)
    compared, swapped = np.zeros((2, len(sizes), BINS), np.int64)
    at_a_time = max(1, CELLS // len(first))
    for i, size in enumerate(sizes):
        order = rng.permuted(np.tile(np.arange(n), (trials, 1)), axis=1)
        for begin in range(0, trials, at_a_time):
            some = order[begin : begin + at_a_time]
            one, other = (x[:, half].mean(axis=2) for half in (some[:, :size], some[:, size : 2 * size]))
            a, b = (means[first] - means[second] for means in (one, other))
            # A difference on an edge belongs above it, whichever way it was rounded.
            bins = np.minimum((np.abs(a) + SAME) // step, BINS - 1).astype(np.int64)
            changed = (np.minimum(np.abs(a), np.abs(b)) > SAME) & (a * b < 0)
            compared[i] += np.bincount(bins.ravel(), minlength=BINS)
            swapped[i] += np.bincount(bins[changed], minlength=BINS)
    return Swaps(n, sizes, step * np.arange(BINS, dtype=np.float64), compared, swapped)
