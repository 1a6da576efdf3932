"""The reader of INST, who wants so much gain, and is the less patient the more of it was met.

With c gain met at or above rank i the reader goes on with chance ((i+2T-c-1)/(i+2T-c))². Between two documents with
gain c is fixed: products telescope, and sums of weights are differences of Hurwitz zetas.
"""

from __future__ import annotations

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.measures.ties.positions import mean_over_ranges
from cranfield.measures.weights import hurwitz
from cranfield.ranking.batch import Batch
from cranfield.ranking.row_math import running, summed


def gain_per_document(b: Batch, target: float, horizon: int) -> Floats:
    """The gain met by weight, over the weight of all ranks; of rankings with one open place at most."""
    shift = 2 * target
    counts = b.relevant & (b.start < horizon)
    open_ = np.nonzero(counts & (b.size > 1))
    gain = np.where(counts, b.gain, 0)
    met = running(gain)
    shifts = shift - met + gain
    x = np.where(counts, b.start + shifts, 1)
    stays = ((x - gain) / x) ** 2
    stays[open_] = 1  # an open document is passed over
    after = shift**2 * running(stays, np.multiply)
    before = np.concatenate([np.full((len(x), 1), shift**2), after[:, :-1]], axis=1)
    found = gain * np.where(counts, before / x**2, 0)
    turned = after * hurwitz(x + 1 - gain) - before * hurwitz(x + 1)
    whole = shift**2 * hurwitz(np.array(shift))
    left = after[:, -1] * hurwitz(shift - met[:, -1] + horizon)
    value = summed(found) / (whole + summed(turned) - left)
    query = open_[0]
    if not len(query):
        return value
    found[open_], turned[open_] = 0, 0
    found, turned = running(found), running(turned)
    above, read = found[open_], whole + turned[open_]
    below, rest = found[query, -1] - above, whole + turned[query, -1] - read - left[query]
    parts = above, read, below, rest, before[open_], shifts[open_], gain[open_]

    def score(which: Integers, times: Integers, place: Integers) -> Floats:
        # With the open document at a place, what is above it stays as it is, and all below shrinks alike.
        above, read, below, rest, reach, shift, gain = (np.repeat(part[which], times) for part in parts)
        x = place + shift
        stays = ((x - gain) / x) ** 2
        turned = stays * hurwitz(x + 1 - gain) - hurwitz(x + 1)
        return (above + reach * gain / x**2 + stays * below) / (read + reach * turned + stays * rest)

    first, size = b.start[open_], b.size[open_]
    inside = np.minimum(size, horizon - first)
    beyond = above / (read - before[open_] * hurwitz(shifts[open_] + horizon))
    value[query] = (inside * mean_over_ranges(first, inside, score, *parts) + (size - inside) * beyond) / size
    return value
