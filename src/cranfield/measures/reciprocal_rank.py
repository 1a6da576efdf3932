"""Where the first relevant documents are: reciprocal rank, and how long a search for them takes."""

from __future__ import annotations

import numpy as np

from cranfield.data import Floats
from cranfield.measures.catalogue import TERMINAL, Rank, measure
from cranfield.measures.precision import unbounded
from cranfield.measures.weights import harmonic
from cranfield.ranking.batch import CELLS, Batch, summed


@measure(
    "RR",
    cite="voorhees1999 mcsherry2008",
    formula="RR@k = 1 / min{i ≤ k : b_i = 1}, 0 if none of the first k is relevant",
    terminal=TERMINAL,
    retrieved_only=True,
)
def reciprocal_rank(b: Batch, *, k: Rank | None = None) -> Floats:
    """1 divided by the rank of the first relevant document; 0 if no relevant document is retrieved.

    >>> round(cf.parse("RR")([0, 0, 1, 1]), 6)
    0.333333
    >>> round(cf.parse("RR[ties=expected]")([(0, 1, 1, 0)]), 6)
    0.722222
    """
    if not b.has_ties:
        return b.highest_weight(harmonic, k)  # that of the first relevant document
    first = b.relevant.argmax(axis=1)
    rows = np.arange(len(first))
    any_relevant = b.relevant[rows, first]
    n, t, m = b.size[rows, first], b.start[rows, first], b.seen(k)[rows, first]
    r = b.within(b.relevant)[rows, first]
    # If it is the only relevant document of its tie, it has each rank of the tie with the same probability.
    value = np.where(n == 1, harmonic.at(t + 1), (harmonic(t + m) - harmonic(t)) / n) * (m > 0)
    several = np.flatnonzero(any_relevant & (r > 1) & (m > 0))
    step = max(1, CELLS // int(m[several].max(initial=1)))
    for i in range(0, len(several), step):
        chunk = several[i : i + step]
        value[chunk] = _first_of_several(t[chunk, None], n[chunk, None], r[chunk, None], m[chunk, None])
    return np.where(any_relevant, value, 0)


def _first_of_several(t: Floats, n: Floats, r: Floats, m: Floats) -> Floats:
    """Σ_{x≤m} p(x)/(t+x); p(x) = C(n-x, r-1)/C(n, r) is the probability that x is the first relevant position."""
    x = np.arange(1, m.max() + 1)
    follow = np.maximum(n - x - r + 1, 0) / np.maximum(n - x, 1)
    probability = np.cumprod(np.concatenate([r / n, follow[:, :-1]], axis=1), axis=1)
    return summed(np.where(x <= m, probability / (t + x), 0))


@unbounded(
    "ESL",
    cite="cooper1968",
    formula="ESL = j + s i / (r+1);  j: others above the tie; r, i: relevant and others in it; s: relevant wanted",
    retrieved_only=True,
    rewards_promotion=False,
    punishes_promotion=True,
)
def expected_search_length(b: Batch, *, n: Rank = 1) -> Floats:
    """The number of documents that are not relevant and have to be read before n relevant ones. Lower is better.

    Undefined if fewer than n relevant documents are retrieved: the search does not end.

    >>> cf.parse("ESL(n=2)")([1, 0, 0, 1])
    2.0
    >>> cf.parse("ESL[ties=expected]")([0, (1, 0, 0, 1, 0)])
    2.0
    """
    above, within = b.above(b.relevant), b.within(b.relevant)
    needed = n - above
    last = b.relevant & (needed > 0) & (needed <= within)
    length = b.start - above + needed * (b.size - within) / (within + 1)
    return np.where(last.any(axis=1), np.max(np.where(last, length, 0), axis=1, initial=0), np.nan)
