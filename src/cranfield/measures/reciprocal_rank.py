"""Reciprocal rank: how far down the first relevant document is."""

from __future__ import annotations

import numpy as np

from cranfield.data import Floats
from cranfield.measures.catalogue import TERMINAL, Rank, measure
from cranfield.measures.weights import harmonic
from cranfield.ranking.batch import CELLS, Batch
from cranfield.ranking.row_math import summed


@measure(
    "RR",
    cite="voorhees1999 mcsherry2008",
    formula="RR@k = 1 / min{i ≤ k : b_i = 1}, 0 if there is none",
    terminal=TERMINAL,
    retrieved_only=True,
)
def reciprocal_rank(b: Batch, *, k: Rank | None = None) -> Floats:
    """One over the rank of the first relevant document; 0 if there is none.

    >>> import cranfield as cf
    >>> round(cf.parse("RR")([0, 0, 1, 1]), 6)
    0.333333
    >>> round(cf.parse("RR[ties=expected]")([(0, 1, 1, 0)]), 6)
    0.722222
    """
    if not b.has_ties:
        seen = b.relevant if k is None else b.relevant & (b.start < k)
        # Of the relevant documents the first has the highest inverse rank.
        best: Floats = np.maximum.reduce(seen * harmonic.at(b.start + 1), axis=1)
        return best
    first = b.relevant.argmax(axis=1)
    rows = np.arange(len(first))
    found = b.relevant[rows, first]
    n, t, m = b.size[rows, first], b.start[rows, first], b.seen(k)[rows, first]
    r = b.within(b.relevant)[rows, first]
    # Alone in its tie the document may be anywhere in it, each rank as likely.
    value = np.where(n == 1, harmonic.at(t + 1), (harmonic(t + m) - harmonic(t)) / n) * (m > 0)
    several = np.flatnonzero(found & (r > 1) & (m > 0))
    step = max(1, CELLS // int(m[several].max(initial=1)))
    for i in range(0, len(several), step):
        some = several[i : i + step]
        value[some] = _first_of_several(t[some, None], n[some, None], r[some, None], m[some, None])
    return np.where(found, value, 0)


def _first_of_several(t: Floats, n: Floats, r: Floats, m: Floats) -> Floats:
    """Σ_x p(x)/(t+x), x ≤ m, where p(x) = C(n-x, r-1)/C(n, r) is the chance that x is the first relevant slot."""
    x = np.arange(1, m.max() + 1)
    follow = np.maximum(n - x - r + 1, 0) / np.maximum(n - x, 1)
    chance = np.cumprod(np.concatenate([r / n, follow[:, :-1]], axis=1), axis=1)
    return summed(np.where(x <= m, chance / (t + x), 0))
