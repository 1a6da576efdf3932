"""How far two ways of scoring agree on the order of systems."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cranfield.data import Floats
from cranfield.errors import UsageError

# Means of the same values, added up in another order, differ in the last digits: that is no difference.
SAME = 1e-12


@dataclass(frozen=True)
class Agreement:
    """Pairs of systems by what two scorings say of them.

    ``concordant``: both put the same system first; ``discordant``: they do not; ``tied_x``, ``tied_y``: pairs that
    the first, and that the second, leaves undecided.
    """

    systems: int
    concordant: int
    discordant: int
    tied_x: int
    tied_y: int

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


def agreement(x: Floats, y: Floats) -> Agreement:
    """Counts the pairs of systems on whose order two lists of scores agree.

    >>> found = agreement(np.array([0.7, 0.8, 0.9]), np.array([0.7, 0.8, 0.8]))
    >>> found.concordant, found.discordant, found.tied_x, found.tied_y
    (2, 0, 0, 1)
    >>> round(found.tau_a, 4), round(found.tau_b, 4)
    (0.6667, 0.8165)
    """
    n = len(x)
    if n < 2:
        raise UsageError(
            f"an order needs at least two runs, and there {'is one' if n == 1 else 'is none'}",
            hint="give the runs of several systems",
        )
    upper = np.triu_indices(n, 1)
    a, b = _signs(x)[upper], _signs(y)[upper]
    both = a * b
    return Agreement(n, int((both > 0).sum()), int((both < 0).sum()), int((a == 0).sum()), int((b == 0).sum()))


def inverted(x: Floats, y: Floats) -> list[tuple[int, int]]:
    """The pairs that two scorings order differently: first the system that x prefers, then the one that y does.

    >>> inverted(np.array([0.9, 0.8, 0.1]), np.array([0.6, 0.7, 0.1]))
    [(0, 1)]
    """
    first, second = np.nonzero((_signs(x) > 0) & (_signs(y) < 0))
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    return sorted(pairs, key=lambda pair: (-x[pair[0]], -x[pair[1]], pair))


def _signs(x: Floats) -> npt.NDArray[np.int64]:
    """For every pair (i, j): 1 where i scores higher than j, -1 where lower, 0 where the same."""
    difference = x[:, None] - x
    return np.where(np.abs(difference) <= SAME, 0, np.sign(difference)).astype(np.int64)
