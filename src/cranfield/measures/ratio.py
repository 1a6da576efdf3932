"""A share of nothing is undefined: the one place that says so."""

from __future__ import annotations

import numpy as np

from cranfield.data import Floats


def ratio(part: Floats, whole: Floats) -> Floats:
    """part / whole, NaN where there is no whole."""
    return np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=whole > 0)
