"""A share of nothing is undefined: the one place that says so."""

from __future__ import annotations

import numpy as np

from cranfield.data import Floats


def ratio(part: Floats, whole: Floats) -> Floats:
    """Part / whole, NaN where there is no whole."""
    quotient: Floats = part / np.where(whole > 0, whole, np.nan)
    return quotient
