"""Preference measures: they count pairs of judged documents, so unjudged documents do not matter.

All but Accuracy use the condensed list, which is the ranking without its unjudged documents. A relevant document that
is not retrieved adds nothing (Sakai, eqs 16 and 17).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from cranfield.data import Floats
from cranfield.measures.catalogue import Rank, measure
from cranfield.measures.precision import self_normalised
from cranfield.measures.weights import harmonic
from cranfield.ranking.batch import Batch, Preferences, penalty, ratio, summed
from cranfield.ranking.views import condense

of_pairs = partial(measure, cite="sakai2007", uses_nonrelevant=True)


def preference_score(b: Preferences, limit: Floats, pairs: Floats) -> Floats:
    """The mean over relevant documents of 1 - min(misplaced, limit) / pairs."""
    return ratio(b.preferences(limit, pairs), b.mass)


@of_pairs("bpref", cite="buckley2004 sakai2007", formula="bpref = Σ_rel (1 - min(R, nonrel above) / min(R, N)) / R")
def binary_preference(b: Preferences) -> Floats:
    """How rarely documents judged non-relevant are ranked above relevant ones.

    Undefined if no document is relevant.

    >>> cf.parse("bpref")([1, None, 0, 1], missed=[0])
    0.75
    """
    return preference_score(b, b.R, np.minimum(b.R, b.N))


@of_pairs("bpref_R", formula="bpref_R = Σ_rel (1 - min(R, nonrel above) / R) / R")
def binary_preference_by_relevant(b: Preferences) -> Floats:
    """The bpref variant that divides by R, even if fewer than R documents are judged non-relevant.

    >>> cf.parse("bpref_R")([0, 1, None, 1])
    0.5
    """
    return preference_score(b, b.R, b.R)


@of_pairs("bpref_N", formula="bpref_N = Σ_rel (1 - nonrel above / N) / R")
def binary_preference_by_nonrelevant(b: Preferences) -> Floats:
    """The bpref variant that counts all judged non-relevant documents above and divides by their number N.

    >>> cf.parse("bpref_N")([0, 1, None, 1], missed=[0, 0, 0])
    0.75
    """
    return preference_score(b, b.N, b.N)


@of_pairs("bpref_old", formula="bpref_old = Σ_rel (1 - min(R, nonrel above) / min(R, N retrieved)) / R")
def binary_preference_before_trec_eval_8(b: Preferences) -> Floats:
    """The bpref of trec_eval up to version 7, which ignores non-relevant documents that are not retrieved.

    >>> cf.parse("bpref_old")([0, 1, None, 1], missed=[0, 0, 0])
    0.0
    """
    return preference_score(b, b.R, np.minimum(b.R, b.nonrelevant_retrieved))


@of_pairs(
    "bpref_relative",
    formula="bpref_relative = Σ_rel (1 - nonrel above / (r' - 1)) / R,  r' ≠ 1",
    rewards_promotion=False,
)
def binary_preference_relative(b: Batch) -> Floats:
    """The bpref variant that divides by the number of judged documents above; rank 1 adds nothing.

    r' is the rank in the condensed list.

    >>> cf.parse("bpref_relative")([1, 0, None, 1])
    0.25
    """
    return relative_preference(b, first=1)


@of_pairs(
    "rpref_N",
    formula="rpref_N = Σ_r' g(r') (1 - penalty(r') / (R + N - Σ ideal g)) / Σ ideal g,  g = gain / top gain",
    gains="scaled",
    probabilities=True,
)
def graded_preference(b: Batch) -> Floats:
    """A graded bpref_N: how rarely documents of lower grade are ranked above documents of higher grade.

    The penalty of a document is the sum, over the documents above it with a smaller gain g', of (g - g') / g.

    >>> round(cf.parse("rpref_N(max=3)")([3, None, 0, 1], missed=[0]), 6)
    0.90625
    """
    above, inside = penalties(b)
    pairs = b.R + b.N - b.mass
    return ratio(summed(b.gain * (1 - penalty(above + inside / 2, pairs[:, None]))), b.mass)


@of_pairs(
    "rpref_relative",
    formula="rpref_relative = Σ_r' g(r') (1 - penalty(r') / (r' - 1)) / Σ ideal g,  r' ≠ 1",
    gains="scaled",
    rewards_promotion=False,
)
def graded_preference_relative(b: Batch) -> Floats:
    """A graded bpref_relative; rank 1 adds nothing.

    >>> cf.parse("rpref_relative(max=3)")([None, 3, 0, 1], missed=[0])
    0.125
    """
    return relative_preference(b, first=1)


@of_pairs("rpref_relative2", formula="rpref_relative2 = Σ_r' g(r') (1 - penalty(r') / r') / Σ ideal g", gains="scaled")
def graded_preference_relative_to_rank(b: Batch) -> Floats:
    """A graded bpref that divides by the rank; with grades 0 and 1, AP of the condensed list.

    >>> round(cf.parse("rpref_relative2(max=3)")([None, 3, 0, 1], missed=[0]), 6)
    0.916667
    """
    return relative_preference(b, first=0)


@self_normalised(
    "Accuracy", cite="radlinski2010", formula="Accuracy@k = 1 - Σ_{rel i≤k} nonrel above i / (rel in k · nonrel in k)"
)
def accuracy(b: Batch, *, k: Rank | None = None) -> Floats:
    """The share of pairs of a relevant and a non-relevant document, both in the first k, in the right order.

    Unjudged documents count as non-relevant. Undefined if there is no such pair.

    >>> cf.parse("Accuracy")([1, 0, 1, None])
    0.75
    """
    in_top = b.relevant & (b.seen(k) == b.size)
    relevant_in_top = in_top.sum(axis=1)
    others = (b.length if k is None else np.minimum(b.length, k)) - relevant_in_top
    # On average, half of the other documents of a tie are above a document.
    above = b.start - b.above(b.relevant) + (b.size - b.within(b.relevant)) / 2
    return 1 - ratio(summed(np.where(in_top, above, 0)), relevant_in_top * others.astype(np.float64))


def penalties(b: Batch) -> tuple[Floats, Floats]:
    """The penalties of each document from documents above it and from documents tied with it (Sakai, eq 8)."""
    above, inside = np.zeros((2, *b.gain.shape))
    gain = np.where(b.relevant, b.gain, 1)
    for level in np.unique(b.gain[b.judged]):
        same_gain = b.judged & (b.gain == level)
        lack = np.maximum(gain - level, 0) / gain
        above += lack * b.above(same_gain)
        inside += lack * b.within(same_gain)
    return above, inside


def relative_preference(b: Batch, *, first: int) -> Floats:
    """Σ_r' g(r') (1 - penalty(r') / (r' - first)) / Σ ideal g over ranks r' > first of the condensed list."""
    b = condense(b)
    above, inside = penalties(b)
    t, n = b.start, b.size
    ranks = n - ((t == 0) & (first == 1))
    inverse = harmonic(t + n - first) - harmonic(np.maximum(t - first, 0))
    # At position x of a tie of n, each of its other documents is above with probability (x-1)/(n-1).
    mean_above = (ranks - (t + 1 - first) * inverse) / np.maximum(n - 1, 1)
    return ratio(summed(b.gain * (ranks - above * inverse - inside * mean_above) / n), b.mass)
