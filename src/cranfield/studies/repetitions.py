"""What was repeated with other random samples, summed up."""

from __future__ import annotations

import numpy as np

from cranfield.data import Floats


def summary(values: Floats) -> Floats:
    """Mean, standard deviation, 5th and 95th percentile over the repetitions that have a value: (4, ...).

    Repetitions are along the last axis.
    """
    there = np.ma.masked_invalid(values)
    many = there.count(axis=-1)
    middle = there.mean(axis=-1).filled(np.nan)
    spread = np.sqrt(((there - middle[..., None]) ** 2).sum(axis=-1).filled(np.nan) / np.maximum(many - 1, 1))
    ends = np.full((2, *middle.shape), np.nan)
    for place in np.ndindex(middle.shape):
        if many[place]:
            ends[(slice(None), *place)] = np.quantile(there[place].compressed(), [0.05, 0.95])
    return np.stack([middle, spread, *ends])
