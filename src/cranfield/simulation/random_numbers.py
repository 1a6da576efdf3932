"""Random numbers that are the same on every machine and in every version of NumPy.

NumPy guarantees the bits of PCG64, but not its distributions. The numbers here are computed from the bits by exact
IEEE 754 arithmetic: no logarithms, and no sums of unspecified order.
"""

from __future__ import annotations

import numpy as np

from cranfield.data import Floats, Integers

Shape = int | tuple[int, ...]


class RandomStream:
    """A stream of random numbers for one purpose, independent of other streams."""

    def __init__(self, *key: int) -> None:
        self._bits = np.random.PCG64(np.random.SeedSequence(key))

    def uniform(self, shape: Shape) -> Floats:
        """Numbers in [0, 1), multiples of 2^-53."""
        bits = self._bits.random_raw(int(np.prod(shape, dtype=np.int64))) >> np.uint64(11)
        return bits.astype(np.float64).reshape(shape) * 2.0**-53

    def below(self, ends: Integers | int, shape: Shape) -> Integers:
        """Whole numbers from 0 to below the ends, equally likely up to a bias of 2^-53."""
        return (self.uniform(shape) * ends).astype(np.int64)

    def normal(self, shape: tuple[int, ...]) -> Floats:
        """Approximately normal numbers, mean 0 and deviation 1: sums of four uniform numbers, within ±3.5."""
        a, b, c, d = self.uniform((4, *shape))
        return (a + b + c + d - 2) * np.sqrt(3.0)

    def permutation(self, n: int) -> Integers:
        """A random permutation of the numbers below n."""
        return np.argsort(self.uniform(n), kind="stable")

    def choose(self, weights: Floats, shape: Shape) -> Integers:
        """Indices of the weights, drawn in proportion to them."""
        cumulative = np.cumsum(weights)
        return np.searchsorted(cumulative, self.uniform(shape) * cumulative[-1], side="right")
