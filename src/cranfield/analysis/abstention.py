"""Abstention: whether a system knows which of its rankings are poor, so that it could leave these queries out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from cranfield import io
from cranfield.data import Floats
from cranfield.errors import InputError, UsageError, check_choice
from cranfield.io.faults import quotable
from cranfield.statistics.rounding import SAME

RATES = np.linspace(0, 1, 11)[:-1]  # the shares of queries that are left out

ConfidenceKind = Literal["max", "std", "diff1"]


class Confidence(NamedTuple):
    """How sure a system is of a ranking, by its scores.

    ``max``: the best score; ``std``: the standard deviation of all scores; ``diff1``: the best score minus the second.
    """

    max: float
    std: float
    diff1: float

    @classmethod
    def of(cls, scores: Sequence[float]) -> Confidence:
        """The confidence of one ranking from the scores of its documents, in any order.

        >>> Confidence.of([3.0, 1.0, 2.0]).diff1
        1.0
        """
        if len(scores) == 0:
            return cls(math.nan, math.nan, math.nan)
        ranked = np.sort(np.asarray(scores, np.float64))[::-1]
        return cls(float(ranked[0]), float(ranked.std()), float(ranked[0] - ranked[1]) if len(ranked) > 1 else 0.0)


def confidence(run: Any, by: ConfidenceKind = "max") -> dict[str, float]:
    """The confidence of each ranking of a run.

    >>> confidence({"q": {"a": 3.0, "b": 1.0}}, "diff1")
    {'q': 2.0}
    """
    check_choice("by", by, Confidence._fields)
    table = io.load(io.read_run(run))
    scores: dict[str, list[float]] = {}
    for query, score in zip(table.query, table.score.tolist(), strict=True):
        scores.setdefault(query, []).append(score)
    return {query: getattr(Confidence.of(of_query), by) for query, of_query in scores.items()}


def nauc(
    confidence: Mapping[str, float] | Sequence[float] | Floats,
    scores: Mapping[str, float | None] | Sequence[float] | Floats,
) -> float:
    """NAUC of abstention: how much leaving out the least confident queries raises the mean score.

    ``confidence``, ``scores``: one number for each query, by query or in the same order. For each rate 0, 0.1, ... 0.9
    this share of the queries is left out, those with the least confidence first, and the scores of the others are
    averaged. The area under these means is scaled: leaving out queries at random gives 0, and leaving out those with
    the lowest scores gives 1. NaN (undefined) if all scores are equal. Among queries with equal confidence the result
    is the mean over all orders in which they may be left out, so the order of the queries does not matter.

    >>> nauc([0.9, 0.1, 0.5, 0.7], [1, 0, 0.5, 0.8])
    1.0
    >>> nauc([0.5, 0.5], [1, 0])
    0.0
    """
    sure, values = _paired(confidence, scores)
    if len(values) == 0:
        return math.nan
    order = np.lexsort((values, sure))  # sums are the same to the last bit for every order of the queries
    sure, values = sure[order], values[order]
    found, best = _area(sure, values), _area(values, values)
    random = float((RATES[-1] - RATES[0]) * values.mean())
    return math.nan if abs(best - random) <= SAME else (found - random) / (best - random)


def _paired(confidence: Any, scores: Any) -> tuple[Floats, Floats]:
    if isinstance(confidence, Mapping) != isinstance(scores, Mapping):
        raise UsageError("confidence and scores must both be by query, or both be lists")
    if isinstance(scores, Mapping):
        defined = {str(query): value for query, value in scores.items() if value is not None and not math.isnan(value)}
        given = {str(query): value for query, value in confidence.items()}
        faults = [f"query `{quotable(query)}` has no confidence" for query in defined if query not in given]
        if faults:
            raise InputError(faults)
        confidence, scores = [given[query] for query in defined], list(defined.values())
    if len(confidence) != len(scores):
        raise UsageError(f"expected a confidence for each of {len(scores)} scores, not {len(confidence)}")
    return np.asarray(confidence, np.float64), np.asarray(scores, np.float64)


def _area(key: Floats, values: Floats) -> float:
    """The area under the mean of the values that remain, where those with the lowest keys are left out first.

    Any value of a group with equal keys may remain, so each counts as the mean of its group.
    """
    _, group, size = np.unique(key, return_inverse=True, return_counts=True)
    expected = np.repeat(np.bincount(group, values) / size, size)
    left_out = np.minimum(np.round(RATES * len(expected)), len(expected) - 1).astype(np.int64)
    means = np.array([expected[n:].mean() for n in left_out])
    return float((np.diff(RATES) * (means[1:] + means[:-1]) / 2).sum())
