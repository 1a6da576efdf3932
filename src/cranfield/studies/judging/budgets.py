"""The order of systems from few judgments: AP of every system after each budget of a judging strategy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.judging.strategies import judging_order
from cranfield.statistics.correlation import tau
from cranfield.statistics.pair_tests import t_test
from cranfield.statistics.rounding import SAME

BUDGETS = (5, 10, 15, 20, 30, 40, 60, 80, 100, 150)
STRATEGIES: dict[str, dict[str, Any]] = {
    "depth": {"strategy": "depth"},
    "move-to-front": {"strategy": "mtf"},
    "MaxMean": {"strategy": "maxmean"},
    "MaxMean, last only": {"strategy": "maxmean", "rate": 0.0},
    "MaxMean, credit all": {"strategy": "maxmean", "credit": "all"},
    "hedge": {"strategy": "hedge"},
}
RANDOM = "random"


class QueryLists(NamedTuple):
    """One query: the documents, whether each is relevant, and for each system their numbers in rank order (-1: none).

    ``relevant_elsewhere``: relevant documents that no list has.
    """

    documents: list[str]
    relevant: Any
    lists: list[list[str]]
    ranked: Integers
    relevant_elsewhere: int


def query_lists(
    rankings: Sequence[Mapping[str, Sequence[str]]], judged: Mapping[str, Mapping[str, float]], rel: float, depth: int
) -> list[QueryLists]:
    """Every judged query with a relevant document."""
    found = []
    for query, grades in judged.items():
        relevant = {document for document, grade in grades.items() if grade >= rel}
        if not relevant:
            continue
        lists = [list(of_run.get(query, ()))[:depth] for of_run in rankings]
        documents = sorted({d for ranking in lists for d in ranking})
        number = {d: i for i, d in enumerate(documents)}
        ranked = np.full((len(lists), depth), -1, np.int64)
        for s, ranking in enumerate(lists):
            ranked[s, : len(ranking)] = [number[d] for d in ranking]
        is_relevant = np.array([d in relevant for d in documents], bool)
        found.append(QueryLists(documents, is_relevant, lists, ranked, len(relevant) - int(is_relevant.sum())))
    return found


def average_precisions(query: QueryLists, relevant: Any, total: float) -> Floats:
    """AP of every system, with these documents as the relevant ones; 0 if there are none."""
    hits = np.append(relevant, False)[query.ranked]
    precision = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1)
    return (hits * precision).sum(axis=1) / total if total > 0 else np.zeros(len(hits))


def full_scores(queries: Sequence[QueryLists]) -> Floats:
    """AP by (system, query) under all judgments."""
    return np.stack(
        [average_precisions(q, q.relevant, float(q.relevant.sum()) + q.relevant_elsewhere) for q in queries], axis=1
    )


def scores_by_budget(
    queries: Sequence[QueryLists], orders: Sequence[Sequence[int]], budgets: Sequence[int]
) -> Iterator[Floats]:
    """AP by (system, query) after each budget; unjudged documents are not relevant."""
    for budget in budgets:
        columns = []
        for query, order in zip(queries, orders, strict=True):
            judged = np.zeros(len(query.documents), bool)
            judged[list(order[:budget])] = True
            known = judged & query.relevant
            columns.append(average_precisions(query, known, float(known.sum())))
        yield np.stack(columns, axis=1)


def order_of(query: QueryLists, most: int, options: dict[str, Any]) -> list[int]:
    """The first documents that a strategy judges, as numbers."""
    number = {d: i for i, d in enumerate(query.documents)}
    order: list[int] = []
    for document in judging_order(query.lists, lambda d: bool(query.relevant[number[d]]), **options):
        order.append(number[document])
        if len(order) >= most:
            break
    return order


def random_order(query: QueryLists, seed: int, index: int) -> list[int]:
    """All documents of the pool in a random order."""
    return np.random.default_rng([seed, index]).permutation(len(query.documents)).tolist()


class BudgetResult(NamedTuple):
    """τ-a with the order under all judgments, and the share of significant pairs found, after each budget."""

    tau: list[float]
    found: list[float]


def compare_budgets(reference: Floats, by_budget: Sequence[Floats]) -> BudgetResult:
    """Compare the orders after each budget with the order under all judgments."""
    pairs = np.array([(a, b) for a in range(len(reference)) for b in range(a + 1, len(reference))])
    significant, sign = _significant(reference, pairs)
    taus, shares = [], []
    for scores in by_budget:
        taus.append(float(tau(reference.mean(axis=1), scores.mean(axis=1))))
        now, now_sign = _significant(scores, pairs)
        same = now & (now_sign == sign) & significant
        shares.append(float(same.sum() / max(significant.sum(), 1)))
    return BudgetResult(taus, shares)


def _significant(scores: Floats, pairs: Integers) -> tuple[Any, Any]:
    difference = scores[pairs[:, 0]] - scores[pairs[:, 1]]
    return t_test(difference) < 0.05, np.sign(difference.mean(axis=1))


def sufficient(values: Sequence[float], budgets: Sequence[int], threshold: float) -> int | None:
    """The smallest budget from which all values are at least the threshold; None if no budget is enough."""
    below = [i for i, value in enumerate(values) if not value >= threshold - SAME]
    first = below[-1] + 1 if below else 0
    return budgets[first] if first < len(budgets) else None
