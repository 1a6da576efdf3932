"""The cascade under ties: how likely a reader is still reading after some documents of a tie in random order."""

from __future__ import annotations

import numpy as np

from cranfield.data import Floats, Integers


def survival(n: Integers, keep: Floats, depth: int) -> Floats:
    """The mean of the product of x documents' factors, over all sets of x of the n of a tie; (tie, x = 0..depth).

    ``keep`` (tie, document): the factors that are not 1, after as many 1s as it takes to fill the row. The mean is a
    normalised elementary symmetric polynomial, by a recurrence that adds one document at a time and stays in [0, 1].
    """
    n = n[:, None]
    x = np.arange(depth + 1)
    chance = np.ones((len(n), depth + 1))
    added = np.flatnonzero(keep.min(axis=0, initial=1) < 1)
    for i, column in enumerate(added):
        share = np.minimum(x / np.maximum(n - len(added) + i + 1, 1), 1)
        chance[:, 1:] = ((1 - share) * chance)[:, 1:] + share[:, 1:] * keep[:, column, None] * chance[:, :-1]
    return chance
