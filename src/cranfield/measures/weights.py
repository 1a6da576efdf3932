"""Running sums of what each rank is worth, from which any span's mean weight is one difference."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from cranfield.batch import Cumulative
from cranfield.data import Floats, Integers


@lru_cache(maxsize=32)
def _table(kind: str, base: float, bits: int) -> Floats:
    rank = np.arange(1, 1 << bits)
    if kind == "harmonic":
        weight = 1 / rank
    elif kind == "log2":
        weight = 1 / np.log2(rank + 1)
    else:
        weight = 1 / np.maximum(np.log(np.maximum(rank, base)) / np.log(base), 1)
    return np.concatenate([[0], np.cumsum(weight)])


def _running(kind: str, base: float, n: Integers) -> Floats:
    # Tables double, so that a long ranking after many short ones costs little.
    return _table(kind, base, max(10, int(n.max(initial=0)).bit_length()))[n]


def count(n: Integers) -> Floats:
    """Every rank is worth 1."""
    return n.astype(np.float64)


def harmonic(n: Integers) -> Floats:
    """Rank i is worth 1/i."""
    return _running("harmonic", 0, n)


def log_discount(discount: str, base: float) -> Cumulative:
    """Rank i is worth 1/log2(i+1); or, as Järvelin and Kekäläinen have it, 1 up to the base, then 1/log_base(i)."""
    return lambda n: _running(discount, base if discount == "jk" else 0, n)


def geometric(p: float) -> Cumulative:
    """Rank i is worth (1-p) p^(i-1)."""
    return lambda n: 1 - np.power(p, n.astype(np.float64))


def inverse_square(n: Integers) -> Floats:
    """Rank i is worth 1/(i(i+1))."""
    return n / (n + 1)
