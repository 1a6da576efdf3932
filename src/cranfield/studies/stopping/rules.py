"""Rules that cut a list by its scores: relative to the top score, at a gap, or at a predicted number of documents.

A rule gives each document of a list a key that never rises from rank to rank; a threshold keeps the documents whose key
is at least the threshold. The absolute rule has the score itself as its key. The others are those that Liu et al.
(SIGIR 2016, section 4) name as future work: the distribution of scores "in both relative and absolute terms", and the
prediction of R for a query.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cranfield.data import Booleans, Floats, Integers
from cranfield.ranking.batch import ragged
from cranfield.studies.stopping.cutoffs import DocumentsByScore, RankedLists

RIDGE = 1.0  # the penalty on the weights of features, which are standardised
FEWEST = 0.5  # the smallest prediction of R: a list can be cut at any multiple of it


@dataclass(frozen=True)
class StoppingRule:
    """A rule with one threshold.

    ``summary``: what it keeps. ``falling``: a higher threshold keeps more documents; then the threshold is the negative
    of the lowest key that is kept. ``learned``: keys are predictions, which are learned from the training queries.
    """

    name: str
    summary: str
    falling: bool = False
    learned: bool = False

    def threshold(self, key: float) -> float:
        """The threshold that keeps documents down to this key."""
        return 0.0 - key if self.falling else key

    def key(self, threshold: float) -> float:
        """The lowest key that a threshold keeps."""
        return 0.0 - threshold if self.falling else threshold


RULES = {
    rule.name: rule
    for rule in (
        StoppingRule("score", "documents that score at least the threshold"),
        StoppingRule("ratio", "documents that score at least this share of the top score"),
        StoppingRule("distance", "documents that score at most this much below the top score", falling=True),
        StoppingRule("gap", "documents above the first gap between scores that is larger", falling=True),
        StoppingRule(
            "predicted R", "this many times the predicted number of relevant documents", falling=True, learned=True
        ),
    )
}


class ScoredLists:
    """The lists of a run, and the keys of their documents by every rule."""

    def __init__(self, lists: RankedLists) -> None:
        self.lists = lists
        self.query, self.position = ragged(lists.length)
        self.first = np.cumsum(lists.length) - lists.length
        self.features = _features(lists.score, self.query, lists.length)

    def documents(self, rule: StoppingRule, relevant: Integers, training: Booleans) -> DocumentsByScore | None:
        """The documents by decreasing key; None if the rule cannot be applied to these scores.

        ``relevant``: the number of relevant documents of each query, of which only the training queries are used.
        """
        key = KEYS[rule.name](self, relevant, training)
        return None if key is None else self.lists.documents_by(key)

    def predicted_relevant(self, relevant: Integers, training: Booleans) -> Floats:
        """The predicted number of relevant documents of each query, learned from the training queries.

        Ridge regression of log(1 + R) on the top score, the mean and the standard deviation of the scores of a list,
        and the logarithm of its length.
        """
        x, y = self.features, np.log1p(relevant.astype(np.float64))
        centre, spread = x[training].mean(axis=0), x[training].std(axis=0)
        z = (x - centre) / np.where(spread > 0, spread, 1)
        mean = y[training].mean()
        a = z[training].T @ z[training] + RIDGE * np.eye(z.shape[1])
        weights = np.linalg.solve(a, z[training].T @ (y[training] - mean))
        # No prediction beyond what was seen: weights learned from few queries extrapolate badly.
        low, high = y[training].min(), y[training].max()
        return np.maximum(np.expm1(np.clip(mean + z @ weights, low, high)), FEWEST)


def _features(score: Floats, query: Integers, length: Integers) -> Floats:
    """The features of each list, (query, feature); 0 for an empty one."""
    count = np.maximum(length, 1)
    mean = np.bincount(query, score, len(length)) / count
    deviation = np.sqrt(np.bincount(query, (score - mean[query]) ** 2, len(length)) / count)
    top = np.zeros(len(length))
    top[length > 0] = score[(np.cumsum(length) - length)[length > 0]]
    return np.stack([top, mean, deviation, np.log1p(length)], axis=1)


def _score_key(scored: ScoredLists, _relevant: Integers, _training: Booleans) -> Floats | None:
    return scored.lists.score


def _ratio_key(scored: ScoredLists, _relevant: Integers, _training: Booleans) -> Floats | None:
    score = scored.lists.score
    return score / score[scored.first[scored.query]] if (score > 0).all() else None


def _distance_key(scored: ScoredLists, _relevant: Integers, _training: Booleans) -> Floats | None:
    return scored.lists.score - scored.lists.score[scored.first[scored.query]]


def _gap_key(scored: ScoredLists, _relevant: Integers, _training: Booleans) -> Floats | None:
    """The negative of the largest gap above a document."""
    score = scored.lists.score
    gap = np.where(scored.position > 0, np.append(0, score[:-1]) - score, 0)
    # The running maximum of each list: gaps are ranked, and an offset makes the ranks of a list higher than all before.
    rank = np.unique(gap, return_inverse=True)[1]
    offset = scored.query * (len(gap) + 1)
    largest = np.maximum.accumulate(rank + offset) - offset
    return -np.unique(gap)[largest] if len(gap) else gap


def _predicted_key(scored: ScoredLists, relevant: Integers, training: Booleans) -> Floats | None:
    predicted = scored.predicted_relevant(relevant, training)
    return -(scored.position + 1) / predicted[scored.query]


KEYS: dict[str, Callable[[ScoredLists, Integers, Booleans], Floats | None]] = {
    "score": _score_key,
    "ratio": _ratio_key,
    "distance": _distance_key,
    "gap": _gap_key,
    "predicted R": _predicted_key,
}
