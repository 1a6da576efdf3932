"""How far few judgments go: the parts of the study `judging`.

The order of systems by AP after each budget of a judging strategy; how many judgments decide a pair of systems; and the
coverage of intervals from human and predicted judgments, by simulated judges on judged queries.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.evaluation.pair_bounds import DECIMALS
from cranfield.lab.proposals import judging_order
from cranfield.statistics.correlation import tau
from cranfield.statistics.intervals import t_quantile
from cranfield.statistics.pair_tests import t_test
from cranfield.statistics.prediction import Estimates, classical, leave_one_out, of_these, powered, tuned
from cranfield.statistics.resampling import pairs
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


def compare_budgets(reference: Floats, by_budget: Iterable[Floats]) -> Floats:
    """τ-a with the order under all judgments, and the share of significant pairs found: (2, budget)."""
    significant, sign = _significant(reference)
    found = []
    for scores in by_budget:
        now, now_sign = _significant(scores)
        same = now & (now_sign == sign) & significant
        agreement = float(tau(reference.mean(axis=1), scores.mean(axis=1)))
        found.append((agreement, same.sum() / max(significant.sum(), 1)))
    return np.array(found, np.float64).T


def _significant(scores: Floats) -> tuple[Any, Any]:
    first, second = pairs(len(scores))
    difference = scores[first] - scores[second]
    return t_test(difference) < 0.05, np.sign(difference.mean(axis=1))


def sufficient(values: Sequence[float], budgets: Sequence[int], threshold: float) -> int | None:
    """The smallest budget from which all values are at least the threshold; None if no budget is enough."""
    below = [i for i, value in enumerate(values) if not value >= threshold - SAME]
    first = below[-1] + 1 if below else 0
    return budgets[first] if first < len(budgets) else None


RULES = ("pair bounds", "bounds of each alone", "pair bounds, random order", "95% sure")


class PairCounts(NamedTuple):
    """Judgments until a pair is decided by each rule, whether the sign was right, and how many documents differ."""

    judgments: dict[str, int]
    right: dict[str, bool]
    different: int


class PairDocuments(NamedTuple):
    """All documents of a pair, over all queries, in the order of judging: weights in both systems, and relevance."""

    a: Floats
    b: Floats
    relevant: Floats


def pair_documents(
    of_a: Mapping[str, Sequence[str]],
    of_b: Mapping[str, Sequence[str]],
    judged: Mapping[str, Mapping[str, float]],
    weights: Floats,
    rel: float,
) -> PairDocuments:
    """The documents of two systems, in the order in which `mtc` judges them: greatest weight first."""
    depth = len(weights)
    rows: list[tuple[float, float, float, str, str]] = []
    for query, grades in judged.items():
        weight: dict[str, list[float]] = {}
        for side, run in enumerate((of_a, of_b)):
            for rank, document in enumerate(run.get(query, ())[:depth]):
                weight.setdefault(document, [0.0, 0.0])[side] = float(weights[rank])
        rows += [(x, y, float(grades.get(d, 0) >= rel), query, d) for d, (x, y) in weight.items()]
    rows.sort(key=lambda row: (-round(abs(row[0] - row[1]), DECIMALS), row[3], row[4]))
    a, b, relevant = np.array([row[:3] for row in rows], np.float64).reshape(-1, 3).T
    return PairDocuments(a, b, relevant)


def count_judgments(pair: PairDocuments, *, seed: int = 0) -> PairCounts:
    """The judgments that each rule needs."""
    delta = pair.a - pair.b
    different = np.flatnonzero(np.abs(delta) > SAME)
    total = float((delta * pair.relevant).sum())
    truth = np.sign(total) if abs(total) > SAME else 0.0
    counts: dict[str, int] = {}
    right: dict[str, bool] = {}
    mtc = different  # documents are in this order already
    # For each system alone every document counts, and the greatest total weight comes first.
    alone = np.argsort(-(pair.a + pair.b), kind="stable")
    drawn = np.random.default_rng(seed).permutation(different)
    for rule, order in zip(RULES, (mtc, alone, drawn, mtc), strict=True):
        d, g = delta[order], pair.relevant[order]
        known = np.concatenate([[0.0], np.cumsum(d * g)])
        if rule == "bounds of each alone":
            low, high = known - _left(pair.b[order]), known + _left(pair.a[order])
        else:
            low = known - _left(np.maximum(-d, 0))
            high = known + _left(np.maximum(d, 0))
        settled = (low > SAME) | (high < -SAME)
        sign = np.sign(np.where(low > SAME, 1.0, np.where(high < -SAME, -1.0, 0.0)))
        if rule == "95% sure":
            from scipy.special import ndtr

            mean, variance = known + 0.5 * _left(d), 0.25 * _left(d**2)
            with np.errstate(divide="ignore", invalid="ignore"):
                sure = np.where(variance > 1e-18, ndtr(np.abs(mean) / np.sqrt(variance)), np.abs(mean) > SAME)
            settled, sign = sure >= 0.95, np.sign(mean)
        at = int(np.argmax(settled)) if settled.any() else len(order)
        counts[rule] = at
        right[rule] = bool(sign[at] == truth) if settled.any() else truth == 0
    return PairCounts(counts, right, len(different))


def _left(values: Floats) -> Floats:
    """The sum of the values that are not judged yet, after 0, 1, ... judgments."""
    return np.concatenate([np.cumsum(values[::-1])[::-1], [0.0]])


# The chance of each grade of the judge (columns) for each human grade (rows).
JUDGES: dict[str, tuple[tuple[float, ...], ...]] = {
    "good": ((0.95, 0.05, 0, 0), (0.2, 0.6, 0.2, 0), (0.05, 0.2, 0.6, 0.15), (0, 0.05, 0.2, 0.75)),
    "lenient": ((0.6, 0.3, 0.1, 0), (0.1, 0.4, 0.4, 0.1), (0, 0.1, 0.5, 0.4), (0, 0, 0.2, 0.8)),
    "random": ((0.4, 0.3, 0.2, 0.1),) * 4,
}
LEVEL = 0.95
# Methods for queries like these, and for exactly these queries.
LIKE = ("humans, t", "ppi, z", "ppi++, z", "ppi++ loo, t", "judge only, t")
THESE = ("humans, t, these queries", "ppi, t, these queries")


@dataclass(frozen=True)
class Coverage:
    """How often an interval holds the truth, and its mean width."""

    judge: str
    subject: str
    method: str
    coverage: float
    width: float


def predicted_grades(
    judged: Mapping[str, Mapping[str, float]], judge: str, seed: int = 1
) -> dict[str, dict[str, float]]:
    """The grades of a simulated judge, drawn once for each document from the row of its human grade."""
    rng, rows = np.random.default_rng(seed), np.array(JUDGES[judge])
    ends = np.cumsum(rows, axis=1)
    return {
        query: {
            document: float(np.searchsorted(ends[int(min(max(grade, 0), 3))], rng.random(), side="right").clip(0, 3))
            for document, grade in documents.items()
        }
        for query, documents in judged.items()
    }


def interval_coverage(
    human: Floats, predicted: Floats, n: int, *, repeats: int, seed: int = 0
) -> dict[str, tuple[float, float]]:
    """Coverage and mean width of each method; ``human``, ``predicted``: the scores of all queries.

    For queries like these, all queries are drawn with replacement and the first n have human scores; for exactly these
    queries, n are drawn without replacement. The truth is the mean over all queries.
    """
    count, truth = len(human), float(human.mean())
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, count, (repeats, count))
    y, f, others = human[drawn[:, :n]], predicted[drawn[:, :n]], predicted[drawn[:, n:]]
    z = NormalDist().inv_cdf(0.5 + LEVEL / 2)
    found = {
        "humans, t": (_mean(y), t_quantile(LEVEL, n - 1)),
        "ppi, z": (powered(y, f, others, 1.0), z),
        "ppi++, z": (powered(y, f, others, tuned(y, f, others)), z),
        "ppi++ loo, t": (leave_one_out(y, f, others), t_quantile(LEVEL, n - 2)),
        "judge only, t": (_mean(predicted[drawn]), t_quantile(LEVEL, count - 1)),
    }
    order = np.argsort(rng.random((repeats, count)), axis=1)
    y, f, others = human[order[:, :n]], predicted[order[:, :n]], predicted[order[:, n:]]
    plain = _mean(y)
    found["humans, t, these queries"] = (
        plain._replace(error=plain.error * math.sqrt(1 - n / count)),
        t_quantile(LEVEL, n - 1),
    )
    found["ppi, t, these queries"] = (of_these(y, f, others), t_quantile(LEVEL, n - 1))
    return {name: _covered(estimates, factor, truth) for name, (estimates, factor) in found.items()}


def _mean(y: Floats) -> Estimates:
    plain = classical(y)
    return plain._replace(error=y.std(axis=-1, ddof=1) / math.sqrt(y.shape[-1]))


def _covered(estimates: Estimates, factor: float, truth: float) -> tuple[float, float]:
    half = factor * estimates.error
    # An interval of width 0 holds a truth that it equals up to rounding.
    holds = np.abs(estimates.value - truth) <= half + SAME
    return float(holds.mean()), float(2 * half.mean())


def sample_coverage(
    weights: Floats, human: Sequence[Floats], predicted: Sequence[Floats], *, chance: float, repeats: int, seed: int = 0
) -> dict[str, tuple[float, float, float]]:
    """Within queries: coverage, mean width and bias (in standard errors of the mean) of two estimators.

    ``human``, ``predicted``: the gains of the ranked documents of each query. Each is drawn with the same chance.
    """
    width = len(weights)
    g, f = (
        np.array([np.pad(row[:width], (0, max(width - len(row), 0))) for row in side]) for side in (human, predicted)
    )
    truth = float((g @ weights).mean())
    rng, z = np.random.default_rng(seed), NormalDist().inv_cdf(0.5 + LEVEL / 2)
    found: dict[str, list[tuple[float, float]]] = {"Horvitz-Thompson": [], "difference": []}
    for _ in range(repeats):
        drawn = rng.random(g.shape) < chance
        for name, said in (("Horvitz-Thompson", np.zeros_like(f)), ("difference", f)):
            y = np.where(drawn, weights * (g - said), 0)
            value = float(((weights * said).sum(axis=1) + y.sum(axis=1) / chance).mean())
            error = math.sqrt(float(((1 - chance) / chance**2 * y**2).sum())) / len(g)
            found[name].append((value, error))
    result = {}
    for name, estimates in found.items():
        value, error = np.array(estimates).T
        bias = (value.mean() - truth) / (value.std(ddof=1) / math.sqrt(repeats)) if value.std() > 0 else 0.0
        result[name] = (
            float((np.abs(value - truth) <= z * error + SAME).mean()),
            float((2 * z * error).mean()),
            float(bias),
        )
    return result
