"""Preference measures: only pairs of judged documents count, so unjudged ones do no harm."""

from __future__ import annotations

import numpy as np

from cranfield.batch import Batch
from cranfield.data import Floats
from cranfield.measures.catalogue import measure
from cranfield.measures.ratio import ratio


def misplaced(b: Batch, limit: Floats) -> Floats:
    """Non-relevant documents above each document, never counted beyond a limit, on average over its tie.

    Of s of them in the tie, any number from 0 to s is above it with the same chance.
    """
    nonrel = b.judged & ~b.relevant
    above, inside = b.above(nonrel), b.within(nonrel)
    limit = limit[:, None]
    room = np.clip(limit - above, 0, inside)
    total = (room + 1) * np.minimum(above, limit) + room * (room + 1) / 2 + (inside - room) * limit
    return total / (inside + 1)


@measure("bpref", cite="buckley2004 sakai2007", formula="bpref = Σ_rel (1 - min(R, nonrel above) / min(R, N)) / R")
def binary_preference(b: Batch) -> Floats:
    """How rarely a document judged not relevant stands above a relevant one.

    Undefined where no document is relevant.

    >>> import cranfield as cf
    >>> cf.parse("bpref")([1, None, 0, 1], missed=[0])
    0.75
    """
    pairs = np.minimum(b.R, b.N)[:, None]
    penalty = np.divide(misplaced(b, b.R), pairs, out=np.zeros_like(b.gain), where=pairs > 0)
    return ratio(np.where(b.relevant, 1 - penalty, 0).sum(axis=1), b.R)
