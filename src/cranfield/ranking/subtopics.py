"""Judgments by subtopic, made ready for measures of diversity: which document is about what, and the best order.

Subtopics are those with at least one relevant document; others cannot be covered by anybody. Where intents have
weights, a subtopic without one is none either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cranfield.data import Floats, Integers, Judgments
from cranfield.errors import MeasureError

EXACT = 16  # relevant documents up to which every set of them is tried for the best order
GainOfGrade = Callable[[Floats], Floats]  # what grades are worth to a measure; equal ones are equal


def diverse(judgments: Judgments) -> bool:
    """Whether these are beyond doubt judgments by subtopic.

    The second column of judgments has held rounds of judging, too: a document is then judged in one of them, and there
    are not many.
    """
    labels = judgments.labels
    if labels is None:
        return False
    of_query = np.searchsorted(judgments.begin, labels.document, side="right") - 1
    relevant = labels.grade > 0
    pairs = np.unique(np.stack([of_query[relevant], labels.subtopic[relevant]], axis=1), axis=0)
    most = np.bincount(pairs[:, 0]).max(initial=0)
    return bool(most > 2 or (most > 1 and len(labels.document) > len(judgments.documents)))


@dataclass(frozen=True, eq=False)
class Aspects:
    """What documents are about, as one way of seeing grades has it; subtopics are numbered within their query.

    ``gain``, ``grade`` (document, subtopic): 0 where not relevant, with a last row for no document.
    ``many`` (query,): M, the number of subtopics. ``weight`` (query, subtopic): M times the share of readers who want
    it, so that it is 1 where all are alike; 0 beyond the query's subtopics. ``navigational`` (query, subtopic): whether
    one document is enough for these readers.
    """

    gain: Floats
    grade: Floats
    many: Integers
    weight: Floats
    navigational: npt.NDArray[np.bool_]


class Subtopics:
    """The labels of judgments, laid out once for each way of seeing grades, for all runs."""

    def __init__(self, judgments: Judgments, top: float) -> None:
        self.judgments = judgments
        self.top = max(top, 1.0)  # the highest grade that any document has for any subtopic, of the whole collection
        # By name: in what order rows came does not move a last bit of a sum over subtopics.
        assert judgments.labels is not None
        named = [name.encode("utf-8", "surrogateescape") for name in judgments.labels.names]
        self.rank = np.argsort(sorted(range(len(named)), key=named.__getitem__))
        self._aspects: dict[GainOfGrade, Aspects] = {}
        self._greedy_orders: dict[tuple[int, GainOfGrade, float], Integers] = {}
        self._best_gains: dict[tuple[int, GainOfGrade, float, tuple[float, ...]], float] = {}

    def aspects(self, gain_of_grade: GainOfGrade) -> Aspects:
        """What documents are about where grades are worth this."""
        if gain_of_grade not in self._aspects:
            labels = self.judgments.labels
            assert labels is not None
            begin, names = self.judgments.begin, len(labels.names) + 1
            of_query = np.searchsorted(begin, labels.document, side="right") - 1
            name, gain = of_query * names + self.rank[labels.subtopic], gain_of_grade(labels.grade)
            weighed = _weights(self.judgments, self.rank)
            kept = gain > 0
            if weighed is not None:
                kept &= np.isin(name, list(weighed))
            distinct, code = np.unique(name[kept], return_inverse=True)
            query = distinct // names
            first = np.searchsorted(query, np.arange(len(begin)))
            many = np.diff(first)
            place = np.arange(len(distinct)) - first[query]
            gains, grades = np.zeros((2, len(self.judgments.documents) + 1, max(int(many.max(initial=0)), 1)))
            at = labels.document[kept], place[code]
            np.maximum.at(gains, at, gain[kept])
            np.maximum.at(grades, at, labels.grade[kept])
            weight = np.zeros((len(many), gains.shape[1]))
            weight[query, place] = 1.0
            if weighed is not None:
                given = np.array([weighed[key] for key in distinct.tolist()])
                total = np.bincount(query, given, len(many))
                # Alike means exactly 1: the greedy order is settled by exact equality.
                alike = np.bincount(query, given != given[first[query]], len(many)) == 0
                weight[query, place] = np.where(alike[query], 1.0, given * many[query] / total[query])
            navigational = np.zeros(weight.shape, bool)
            if (types := self.judgments.navigational) is not None:
                navigational[query, place] = np.isin(distinct, types.query * names + self.rank[types.subtopic])
            self._aspects[gain_of_grade] = Aspects(gains, grades, many, weight, navigational)
        return self._aspects[gain_of_grade]

    def best(self, query: int, gain_of_grade: GainOfGrade, alpha: float, ideal: str, discount: Floats) -> float:
        """The discounted gain of the best order of a query's relevant documents, as far as the discounts reach."""
        key = query, gain_of_grade, alpha, tuple(discount.tolist())
        aspects = self.aspects(gain_of_grade)
        many = int(aspects.many[query])  # no wider than this query needs: not a bit depends on others
        gain, weight = aspects.gain[:, :many], aspects.weight[query, :many]
        if ideal == "exact":
            if key not in self._best_gains:
                begin, end = self.judgments.begin[query : query + 2]
                about = np.sign(gain[begin:end])
                self._best_gains[key] = _exact(about[about.any(axis=1)], weight, alpha, discount)
            return self._best_gains[key]
        about = np.sign(gain[self._order(query, gain_of_grade, alpha)[: len(discount)]])
        above = np.cumsum(about, axis=0) - about
        return float(((about * (1 - alpha) ** above) @ weight) @ discount[: len(about)])

    def _order(self, query: int, gain_of_grade: GainOfGrade, alpha: float) -> Integers:
        """Greedy, as ndeval has it: next comes the document that adds most, of equal ones the one with the greatest id.

        It is not always the best order there is.
        """
        key = query, gain_of_grade, alpha
        if key not in self._greedy_orders:
            aspects = self.aspects(gain_of_grade)
            many = int(aspects.many[query])
            begin, end = self.judgments.begin[query : query + 2]
            rows = np.arange(begin, end)[aspects.gain[begin:end].any(axis=1)]
            ids = [self.judgments.documents[int(row)].encode("utf-8", "surrogateescape") for row in rows]
            rows = rows[np.array(sorted(range(len(rows)), key=ids.__getitem__, reverse=True), np.int64)]
            self._greedy_orders[key] = rows[
                _greedy(np.sign(aspects.gain[rows, :many]), aspects.weight[query, :many], alpha)
            ]
        return self._greedy_orders[key]


def _weights(judgments: Judgments, rank: Integers) -> dict[int, float] | None:
    """The weight of every (query, subtopic) that has one above 0; None where all subtopics are alike."""
    labels, intents = judgments.labels, judgments.intents
    if labels is None or intents is None:
        return None
    # A query whose intents nobody weighed has all its subtopics alike.
    of_query = np.searchsorted(judgments.begin, labels.document, side="right") - 1
    plain, names = ~np.isin(of_query, intents.query), len(rank) + 1
    weighed = dict.fromkeys((of_query * names + rank[labels.subtopic])[plain].tolist(), 1.0)
    given = intents.weight > 0
    keys = (intents.query * names + rank[intents.subtopic])[given]
    return weighed | dict(zip(keys.tolist(), intents.weight[given].tolist(), strict=True))


def _greedy(about: Floats, weight: Floats, alpha: float) -> Integers:
    worth = weight.copy()
    left = np.ones(len(about), bool)
    order = []
    for _ in range(len(about)):
        best = int(np.argmax(np.where(left, about @ worth, -1)))
        order.append(best)
        left[best] = False
        worth *= np.where(about[best] > 0, 1 - alpha, 1)
    return np.array(order, np.int64)


def _exact(about: Floats, weight: Floats, alpha: float, discount: Floats) -> float:
    """The greatest discounted gain of any order, by way of the best order of every set of documents.

    What a document adds depends on which are above it, not on their order: 2^n sets stand for n! orders.
    """
    n = len(about)
    if n > EXACT:
        raise MeasureError(
            f"ideal='exact' tries every set of relevant documents, and {n} of them have {2.0**n:.0e}",
            hint=f"it is for queries with up to {EXACT} of them; the default is ideal='greedy'",
        )
    sets = np.arange(1 << n)
    inside = (sets[:, None] >> np.arange(n)) & 1
    adds = (1 - alpha) ** (inside @ about) * weight @ about.T  # (set above, document)
    best = np.zeros(1 << n)
    size = inside.sum(axis=1)
    for rank in range(min(n, len(discount))):
        for document in range(n):
            above = sets[(size == rank) & (inside[:, document] == 0)]
            reached = above | (1 << document)
            best[reached] = np.maximum(best[reached], best[above] + discount[rank] * adds[above, document])
    return float(best[size == min(n, len(discount))].max())
