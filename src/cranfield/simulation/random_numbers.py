"""Random numbers that are the same on every machine and in every version of NumPy.

NumPy promises the bits of PCG64, not what its distributions make of them. So numbers are made here, from bits, by
arithmetic that IEEE 754 fixes to the last one: no logarithm, no sum of unspecified order.
"""

from __future__ import annotations

import numpy as np

from cranfield.data import Floats, Integers

Shape = int | tuple[int, ...]


class Chance:
    """A stream of random numbers for one purpose; streams of other purposes do not know of it."""

    def __init__(self, *key: int) -> None:
        self._bits = np.random.PCG64(np.random.SeedSequence(key))

    def uniform(self, shape: Shape) -> Floats:
        """Numbers in [0, 1), multiples of 2^-53."""
        bits = self._bits.random_raw(int(np.prod(shape, dtype=np.int64))) >> np.uint64(11)
        return bits.astype(np.float64).reshape(shape) * 2.0**-53

    def below(self, ends: Integers | int, shape: Shape) -> Integers:
        """Whole numbers from 0 to just below the ends, each as likely but for the last of 2^53 chances."""
        return (self.uniform(shape) * ends).astype(np.int64)

    def bell(self, shape: tuple[int, ...]) -> Floats:
        """Mean 0, deviation 1, shaped like a bell: the sum of four uniform numbers. Never beyond 3.5."""
        a, b, c, d = self.uniform((4, *shape))
        return (a + b + c + d - 2) * np.sqrt(3.0)

    def order(self, n: int) -> Integers:
        """The numbers below n in random order."""
        return np.argsort(self.uniform(n), kind="stable")

    def choose(self, weights: Floats, shape: Shape) -> Integers:
        """Places of the weights, each as likely as it weighs."""
        running = np.cumsum(weights)
        return np.searchsorted(running, self.uniform(shape) * running[-1], side="right")
