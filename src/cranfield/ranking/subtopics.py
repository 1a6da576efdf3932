"""Judgments by subtopic as tables for diversity measures, and ideal orders.

Only subtopics with at least one relevant document count. If intents have weights, subtopics without a weight do not
count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from cranfield.data import Booleans, Floats, Integers, Judgments
from cranfield.errors import MeasureError

EXACT = 16  # the exact ideal order is computed for queries with up to this many relevant documents
GainOfGrade = Callable[[Floats], Floats]  # maps grades to gains; equal mappings compare equal


def diverse(judgments: Judgments) -> bool:
    """Whether these are certainly judgments by subtopic.

    The second column of judgments is sometimes a round of judging. Then each document is in one round, and there are
    few rounds.
    """
    labels = judgments.labels
    if labels is None:
        return False
    of_query = np.searchsorted(judgments.begin, labels.document, side="right") - 1
    relevant = labels.grade > 0
    pairs = np.unique(np.stack([of_query[relevant], labels.subtopic[relevant]], axis=1), axis=0)
    most = np.bincount(pairs[:, 0]).max(initial=0)
    return bool(most > 2 or (most > 1 and len(labels.document) > len(judgments.documents)))


class Aspects(NamedTuple):
    """The subtopics of documents for one gain mapping; subtopics are numbered within their query.

    ``gain``, ``grade`` (document, subtopic): 0 if not relevant; the last row stands for no document.
    ``M`` (query,): the number of subtopics. ``weight`` (query, subtopic): M p_i, which is 1 if all weights are
    equal; 0 beyond the subtopics of the query. ``navigational`` (query, subtopic): whether one document is enough.
    ``answerable`` (query,): the share of these subtopics in the weights of all subtopics.
    """

    gain: Floats
    grade: Floats
    M: Integers
    weight: Floats
    navigational: Booleans
    answerable: Floats


class Subtopics:
    """The judgments by subtopic as tables, computed once for each gain mapping and shared by all runs."""

    def __init__(self, judgments: Judgments, top: float) -> None:
        self.judgments = judgments
        self.top = max(top, 1.0)  # the highest grade of any document for any subtopic of the collection
        # Sorted by name, so that sums over subtopics do not depend on the input order.
        assert judgments.labels is not None
        named = [name.encode("utf-8", "surrogateescape") for name in judgments.labels.names]
        self.rank = np.argsort(sorted(range(len(named)), key=named.__getitem__))
        self._aspects: dict[GainOfGrade, Aspects] = {}
        self._greedy_orders: dict[tuple[int, GainOfGrade, float], Integers] = {}
        self._best_gains: dict[tuple[int, GainOfGrade, float, tuple[float, ...]], float] = {}

    def aspects(self, gain_of_grade: GainOfGrade) -> Aspects:
        """The subtopics of documents with these gains."""
        if gain_of_grade not in self._aspects:
            labels = self.judgments.labels
            assert labels is not None
            begin, names = self.judgments.begin, len(labels.names) + 1
            of_query = np.searchsorted(begin, labels.document, side="right") - 1
            name, gain = of_query * names + self.rank[labels.subtopic], gain_of_grade(labels.grade)
            weight_of = _weights(self.judgments, self.rank)
            kept = gain > 0
            if weight_of is not None:
                kept &= np.isin(name, list(weight_of))
            distinct, code = np.unique(name[kept], return_inverse=True)
            query = distinct // names
            first = np.searchsorted(query, np.arange(len(begin)))
            counts = np.diff(first)
            column = np.arange(len(distinct)) - first[query]
            gains, grades = np.zeros((2, len(self.judgments.documents) + 1, max(int(counts.max(initial=0)), 1)))
            at = labels.document[kept], column[code]
            np.maximum.at(gains, at, gain[kept])
            np.maximum.at(grades, at, labels.grade[kept])
            weight = np.zeros((len(counts), gains.shape[1]))
            weight[query, column] = 1.0
            answerable = np.ones(len(counts))
            if weight_of is not None:
                given = np.array([weight_of[key] for key in distinct.tolist()])
                total = np.bincount(query, given, len(counts)).astype(np.float64)
                # Equal weights are exactly 1, because the greedy order compares gains for exact equality.
                equal_weights = np.bincount(query, given != given[first[query]], len(counts)) == 0
                weight[query, column] = np.where(equal_weights[query], 1.0, given * counts[query] / total[query])
                answerable = _answerable(self.judgments, total, counts)
            navigational = np.zeros(weight.shape, bool)
            if (types := self.judgments.navigational) is not None:
                navigational[query, column] = np.isin(distinct, types.query * names + self.rank[types.subtopic])
            self._aspects[gain_of_grade] = Aspects(gains, grades, counts, weight, navigational, answerable)
        return self._aspects[gain_of_grade]

    def best(self, query: int, gain_of_grade: GainOfGrade, alpha: float, ideal: str, discount: Floats) -> float:
        """The discounted gain of the ideal order of the relevant documents of a query, down to the last discount."""
        key = query, gain_of_grade, alpha, tuple(discount.tolist())
        aspects = self.aspects(gain_of_grade)
        M = int(aspects.M[query])  # only the columns of this query, so that sums do not depend on other queries
        gain, weight = aspects.gain[:, :M], aspects.weight[query, :M]
        if ideal == "exact":
            if key not in self._best_gains:
                begin, end = self.judgments.begin[query : query + 2]
                about = np.sign(gain[begin:end])
                self._best_gains[key] = _exact(about[about.any(axis=1)], weight, alpha, discount)
            return self._best_gains[key]
        about = np.sign(gain[self._order(query, gain_of_grade, alpha)[: len(discount)]])
        above = np.cumsum(about, axis=0) - about
        return float(((about * (1 - alpha) ** above * weight).sum(axis=1) * discount[: len(about)]).sum())

    def _order(self, query: int, gain_of_grade: GainOfGrade, alpha: float) -> Integers:
        """The greedy ideal order of ndeval, which is not always the best order.

        The next document is always the one that adds most; of equal ones, the one with the highest id.
        """
        key = query, gain_of_grade, alpha
        if key not in self._greedy_orders:
            aspects = self.aspects(gain_of_grade)
            M = int(aspects.M[query])
            begin, end = self.judgments.begin[query : query + 2]
            rows = np.arange(begin, end)[aspects.gain[begin:end].any(axis=1)]
            ids = [self.judgments.documents[int(row)].encode("utf-8", "surrogateescape") for row in rows]
            rows = rows[np.array(sorted(range(len(rows)), key=ids.__getitem__, reverse=True), np.int64)]
            self._greedy_orders[key] = rows[_greedy(np.sign(aspects.gain[rows, :M]), aspects.weight[query, :M], alpha)]
        return self._greedy_orders[key]


def _weights(judgments: Judgments, rank: Integers) -> dict[int, float] | None:
    """The positive weights by (query, subtopic); None if all subtopics have equal weights."""
    labels, intents = judgments.labels, judgments.intents
    if labels is None or intents is None:
        return None
    # A query without weights has equal weights for all its subtopics.
    of_query = np.searchsorted(judgments.begin, labels.document, side="right") - 1
    unweighted, names = ~np.isin(of_query, intents.query), len(rank) + 1
    equal = dict.fromkeys((of_query * names + rank[labels.subtopic])[unweighted].tolist(), 1.0)
    given = (intents.weight > 0) & (intents.subtopic >= 0)
    keys = (intents.query * names + rank[intents.subtopic])[given]
    return equal | dict(zip(keys.tolist(), intents.weight[given].tolist(), strict=True))


def _answerable(judgments: Judgments, relevant: Floats, counts: Integers) -> Floats:
    """The share of the weights of subtopics with a relevant document, of which there are ``counts``."""
    intents = judgments.intents
    assert intents is not None
    given = intents.weight > 0
    query, weight = intents.query[given], intents.weight[given]
    total = np.bincount(query, weight, len(counts))
    exceeds = np.bincount(query, minlength=len(counts)) > counts
    return np.divide(relevant, total, out=np.ones(len(counts)), where=exceeds)


def _greedy(about: Floats, weight: Floats, alpha: float) -> Integers:
    weights = weight.copy()
    by_subtopic = np.ascontiguousarray(about.T)
    left = np.ones(len(about), bool)
    order = []
    for _ in range(len(about)):
        # Subtopics are added one after the other, as in ndeval, because a gain may equal another to the last bit.
        best = int(np.argmax(np.where(left, np.einsum("s,sd->d", weights, by_subtopic), -1)))
        order.append(best)
        left[best] = False
        weights[about[best] > 0] *= 1 - alpha
    return np.array(order, np.int64)


def _exact(about: Floats, weight: Floats, alpha: float, discount: Floats) -> float:
    """The highest discounted gain of any order, by dynamic programming over sets of documents.

    The contribution of a document depends on the set of documents above it, not on their order, so that 2^n sets
    replace n! orders.
    """
    n = len(about)
    if n > EXACT:
        raise MeasureError(
            f"ideal='exact' supports up to {EXACT} relevant documents per query; a query has {n}",
            hint="use ideal='greedy', the default",
        )
    sets = np.arange(1 << n)
    inside = (sets[:, None] >> np.arange(n)) & 1
    gains = (1 - alpha) ** (inside @ about) * weight
    adds = np.zeros((1 << n, n))  # (set above, document)
    for gain, on_subtopic in zip(gains.T, about.T, strict=True):
        adds += gain[:, None] * on_subtopic
    best = np.zeros(1 << n)
    size = inside.sum(axis=1)
    for rank in range(min(n, len(discount))):
        for document in range(n):
            above = sets[(size == rank) & (inside[:, document] == 0)]
            with_document = above | (1 << document)
            best[with_document] = np.maximum(best[with_document], best[above] + discount[rank] * adds[above, document])
    return float(best[size == min(n, len(discount))].max())
