"""Judgments by subtopic, made ready for measures of diversity: which document is about what, and the best order.

Subtopics are those with at least one relevant document; others cannot be covered by anybody.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from cranfield.data import Floats, Integers, Judgments
from cranfield.errors import MeasureError

EXACT = 9  # relevant documents up to which every order of them is tried for the best


class Subtopics:
    """For each lowest relevant grade: a table (document, subtopic), subtopics numbered within their query."""

    def __init__(self, judgments: Judgments) -> None:
        self.judgments = judgments
        self.known: dict[float, tuple[Floats, Integers]] = {}
        self.orders: dict[tuple[int, float, float, str], Integers] = {}

    def grades(self, rel: float) -> tuple[Floats, Integers]:
        """Grades by (document, subtopic), 0 where not relevant, with a last row for no document; and M by query."""
        if rel not in self.known:
            labels = self.judgments.labels
            assert labels is not None
            begin = self.judgments.begin
            of_query = np.searchsorted(begin, labels.document, side="right") - 1
            kept = labels.grade >= rel
            name = of_query[kept] * (len(labels.names) + 1) + labels.subtopic[kept]
            distinct, code = np.unique(name, return_inverse=True)
            query = distinct // (len(labels.names) + 1)
            first = np.searchsorted(query, np.arange(len(begin)))
            many = np.diff(first)
            place = np.arange(len(distinct)) - first[query]
            table = np.zeros((len(self.judgments.documents) + 1, max(int(many.max(initial=0)), 1)))
            np.maximum.at(table, (labels.document[kept], place[code]), labels.grade[kept])
            self.known[rel] = table, many
        return self.known[rel]

    def order(self, query: int, alpha: float, rel: float, ideal: str) -> Integers:
        """The relevant documents of a query in the order that a cascade of readers would like best.

        Greedy, as ndeval has it: next comes the document that adds most, of equal ones the one with the greatest id.
        It is not always the best there is; ``exact`` tries every order.
        """
        key = query, alpha, rel, ideal
        if key not in self.orders:
            about = self.grades(rel)[0] > 0
            begin, end = self.judgments.begin[query : query + 2]
            rows = np.arange(begin, end)[about[begin:end].any(axis=1)]
            ids = [self.judgments.documents[int(row)].encode("utf-8", "surrogateescape") for row in rows]
            rows = rows[np.array(sorted(range(len(rows)), key=ids.__getitem__, reverse=True), np.int64)]
            make = _greedy if ideal == "greedy" else _exact
            self.orders[key] = rows[make(about[rows].astype(np.float64), alpha)]
        return self.orders[key]


def _greedy(about: Floats, alpha: float) -> Integers:
    worth = np.ones(about.shape[1])
    left = np.ones(len(about), bool)
    order = []
    for _ in range(len(about)):
        best = int(np.argmax(np.where(left, about @ worth, -1)))
        order.append(best)
        left[best] = False
        worth *= np.where(about[best] > 0, 1 - alpha, 1)
    return np.array(order, np.int64)


def _exact(about: Floats, alpha: float) -> Integers:
    """The order with the greatest discounted gain at every rank that counts, found by trying all."""
    if len(about) > EXACT:
        raise MeasureError(
            f"ideal='exact' tries every order, and {len(about)} documents have {math.factorial(len(about)):.0e}",
            hint=f"it is for queries with up to {EXACT} of them; the default is ideal='greedy'",
        )
    orders = np.array(list(itertools.permutations(range(len(about)))), np.int64)
    seen = np.cumsum(about[orders], axis=1) - about[orders]
    gain = (about[orders] * (1 - alpha) ** seen).sum(axis=2)
    discount = 1 / np.log2(np.arange(2, len(about) + 2))
    return orders[int(np.argmax(gain @ discount))]
