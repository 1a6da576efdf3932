"""Preference measures: only pairs of judged documents count, so unjudged ones do no harm.

All of them look at the condensed list, the ranking without the documents that nobody judged. A relevant
document that was not retrieved adds nothing (Sakai, eqs 16 and 17).
"""

from __future__ import annotations

import numpy as np

from cranfield.data import Floats
from cranfield.measures.catalogue import Rank, measure
from cranfield.measures.ratio import ratio
from cranfield.measures.ties.strategies import OverCuts
from cranfield.measures.weights import harmonic
from cranfield.ranking.batch import Batch, Preferences, penalty
from cranfield.ranking.row_math import summed
from cranfield.ranking.views import condense


def preferred(b: Preferences, limit: Floats, pairs: Floats) -> Floats:
    """The mean over relevant documents of 1 - misplaced / pairs, misplaced being at most the limit."""
    return ratio(b.preferences(limit, pairs), b.mass)


@measure(
    "bpref",
    cite="buckley2004 sakai2007",
    formula="bpref = Σ_rel (1 - min(R, nonrel above) / min(R, N)) / R",
    uses_nonrelevant=True,
)
def binary_preference(b: Preferences) -> Floats:
    """How rarely a document judged not relevant stands above a relevant one.

    Undefined where no document is relevant.

    >>> import cranfield as cf
    >>> cf.parse("bpref")([1, None, 0, 1], missed=[0])
    0.75
    """
    return preferred(b, b.R, np.minimum(b.R, b.N))


@measure(
    "bpref_R", cite="sakai2007", formula="bpref_R = Σ_rel (1 - min(R, nonrel above) / R) / R", uses_nonrelevant=True
)
def binary_preference_by_relevant(b: Preferences) -> Floats:
    """Bpref with penalties out of R, the number of relevant documents, even where fewer are non-relevant.

    >>> import cranfield as cf
    >>> cf.parse("bpref_R")([0, 1, None, 1])
    0.5
    """
    return preferred(b, b.R, b.R)


@measure("bpref_N", cite="sakai2007", formula="bpref_N = Σ_rel (1 - nonrel above / N) / R", uses_nonrelevant=True)
def binary_preference_by_nonrelevant(b: Preferences) -> Floats:
    """Bpref with every non-relevant document above counted, out of all N that are judged so.

    >>> import cranfield as cf
    >>> cf.parse("bpref_N")([0, 1, None, 1], missed=[0, 0, 0])
    0.75
    """
    return preferred(b, b.N, b.N)


@measure(
    "bpref_old",
    cite="sakai2007",
    formula="bpref_old = Σ_rel (1 - min(R, nonrel above) / min(R, N retrieved)) / R",
    uses_nonrelevant=True,
)
def binary_preference_before_trec_eval_8(b: Preferences) -> Floats:
    """Bpref as trec_eval had it up to version 7: non-relevant documents that were not retrieved do not count.

    >>> import cranfield as cf
    >>> cf.parse("bpref_old")([0, 1, None, 1], missed=[0, 0, 0])
    0.0
    """
    return preferred(b, b.R, np.minimum(b.R, b.nonrelevant_retrieved))


@measure(
    "bpref_relative",
    cite="sakai2007",
    formula="bpref_relative = Σ_rel (1 - nonrel above / (r' - 1)) / R,  r' ≠ 1",
    rewards_promotion=False,
    uses_nonrelevant=True,
)
def binary_preference_relative(b: Batch) -> Floats:
    """Bpref with penalties out of all judged documents above; a relevant document on top adds nothing.

    r' is the rank in the condensed list.

    >>> import cranfield as cf
    >>> cf.parse("bpref_relative")([1, 0, None, 1])
    0.25
    """
    return relative(b, first=1)


@measure(
    "rpref_N",
    cite="sakai2007",
    formula="rpref_N = Σ_r' g(r') (1 - penalty(r') / (R + N - Σ ideal g)) / Σ ideal g,  g = gain / top gain",
    gains="scaled",
    uses_nonrelevant=True,
)
def graded_preference(b: Batch) -> Floats:
    """bpref_N for graded relevance: how little worse documents stand above better ones.

    The penalty of a document sums, over the documents above that gain less, what they lack of its gain.

    >>> import cranfield as cf
    >>> round(cf.parse("rpref_N(max=3)")([3, None, 0, 1], missed=[0]), 6)
    0.90625
    """
    above, inside = penalties(b)
    pairs = b.R + b.N - b.mass
    return ratio(summed(b.gain * (1 - penalty(above + inside / 2, pairs[:, None]))), b.mass)


@measure(
    "rpref_relative",
    cite="sakai2007",
    formula="rpref_relative = Σ_r' g(r') (1 - penalty(r') / (r' - 1)) / Σ ideal g,  r' ≠ 1",
    gains="scaled",
    rewards_promotion=False,
    uses_nonrelevant=True,
)
def graded_preference_relative(b: Batch) -> Floats:
    """bpref_relative for graded relevance; the document on top adds nothing.

    >>> import cranfield as cf
    >>> cf.parse("rpref_relative(max=3)")([None, 3, 0, 1], missed=[0])
    0.125
    """
    return relative(b, first=1)


@measure(
    "rpref_relative2",
    cite="sakai2007",
    formula="rpref_relative2 = Σ_r' g(r') (1 - penalty(r') / r') / Σ ideal g",
    gains="scaled",
    uses_nonrelevant=True,
)
def graded_preference_relative_to_rank(b: Batch) -> Floats:
    """rpref_relative with penalties out of the rank itself; on 0 and 1, average precision of the condensed list.

    >>> import cranfield as cf
    >>> round(cf.parse("rpref_relative2(max=3)")([None, 3, 0, 1], missed=[0]), 6)
    0.916667
    """
    return relative(b, first=0)


@measure(
    "Accuracy",
    cite="radlinski2010",
    formula="Accuracy@k = 1 - Σ_{rel i≤k} nonrel above i / (rel in k · nonrel in k)",
    ties=OverCuts(),
    retrieved_only=True,
    rewards_promotion=False,
)
def accuracy(b: Batch, *, k: Rank | None = None) -> Floats:
    """The share of pairs of a relevant and another document among the first k that are in the right order.

    Documents that nobody judged count as not relevant. Undefined where there is no such pair.

    >>> import cranfield as cf
    >>> cf.parse("Accuracy")([1, 0, 1, None])
    0.75
    """
    inside = b.relevant & (b.seen(k) == b.size)
    found = inside.sum(axis=1)
    others = (b.length if k is None else np.minimum(b.length, k)) - found
    # Of the others in its tie, half are above a document on average.
    above = b.start - b.above(b.relevant) + (b.size - b.within(b.relevant)) / 2
    return 1 - ratio(summed(np.where(inside, above, 0)), found * others.astype(np.float64))


def penalties(b: Batch) -> tuple[Floats, Floats]:
    """What documents above each one, and those tied with it, lack of its gain, relative to it (Sakai, eq 8)."""
    above, inside = np.zeros((2, *b.gain.shape))
    gain = np.where(b.relevant, b.gain, 1)
    for level in np.unique(b.gain[b.judged]):
        alike = b.judged & (b.gain == level)
        lack = np.maximum(gain - level, 0) / gain
        above += lack * b.above(alike)
        inside += lack * b.within(alike)
    return above, inside


def relative(b: Batch, *, first: int) -> Floats:
    """The mean of gain less penalty / (r' - first), over the ranks r' > first of each span of the condensed list."""
    b = condense(b)
    above, inside = penalties(b)
    t, n = b.start, b.size
    ranks = n - ((t == 0) & (first == 1))
    inverse = harmonic(t + n - first) - harmonic(np.maximum(t - first, 0))
    # At the x-th place of a tie, each of the others in it stands above with chance (x-1)/(n-1).
    tied = (ranks - (t + 1 - first) * inverse) / np.maximum(n - 1, 1)
    return ratio(summed(b.gain * (ranks - above * inverse - inside * tied) / n), b.mass)
