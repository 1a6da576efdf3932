"""Risk-sensitive comparison: a system that is worse than others on some queries loses more than its mean shows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from cranfield.analysis.query_values import choose
from cranfield.data import Floats
from cranfield.errors import UsageError
from cranfield.evaluation.scores import Scores
from cranfield.statistics.risk import geometric_risk, risk_utility


def urisk(scores: Any, baseline: str, *, alpha: float = 1.0, measure: str | None = None) -> dict[str, float]:
    """URisk of every run but the baseline: its mean gain over the baseline, where losses count (1 + alpha) times.

    ``scores``: the result of `evaluate`, or ``{run: {query: score}}``; ``measure`` chooses among several. Queries
    count that have a score in every run. With ``alpha=0`` it is the difference of the means.

    >>> round(urisk({"old": {"1": 0.5, "2": 0.5}, "new": {"1": 0.9, "2": 0.4}}, "old")["new"], 6)
    0.1
    """
    runs, values = _table(scores, measure, alpha)
    at = choose(runs, baseline, "run")
    found = risk_utility(values, values[at], alpha).tolist() if values.size else [math.nan] * len(runs)
    return {run: value for run, value in zip(runs, found, strict=True) if run != baseline}


def georisk(scores: Any, *, alpha: float = 1.0, measure: str | None = None) -> dict[str, float]:
    """GeoRisk of every run among all of them: high if its mean is high and no query scores far below expectation.

    ``scores``: the result of `evaluate`, or ``{run: {query: score}}``, with all the runs to compare; ``measure``
    chooses among several. Queries count that have a score in every run.

    >>> found = georisk({"a": {"1": 0.5, "2": 0.5}, "b": {"1": 0.9, "2": 0.1}})
    >>> {run: round(value, 4) for run, value in found.items()}
    {'a': 0.4886, 'b': 0.4489}
    """
    runs, values = _table(scores, measure, alpha)
    if (values < 0).any():
        raise UsageError("GeoRisk needs scores that are not negative")
    found = geometric_risk(values, alpha).tolist() if values.size else [math.nan] * len(runs)
    return dict(zip(runs, found, strict=True))


def _table(scores: Any, measure: str | None, alpha: float) -> tuple[tuple[str, ...], Floats]:
    """The runs, and their values by (run, query)."""
    if not (isinstance(alpha, (int, float)) and 0 <= alpha < math.inf):
        raise UsageError(f"alpha must be a number of at least 0, not {alpha!r}")
    if isinstance(scores, Scores):
        return scores.runs, scores.matched(choose(scores.measures, measure, "measure"))[0]
    if not isinstance(scores, Mapping) or not scores or not all(isinstance(of, Mapping) for of in scores.values()):
        raise UsageError(
            "risk needs the scores of several runs", hint="give the result of evaluate, or {run: {query: score}}"
        )
    by_run = [{query: value for query, value in of.items() if value is not None} for of in scores.values()]
    common = [query for query in by_run[0] if all(query in of for of in by_run)]
    values = np.array([[of[query] for query in common] for of in by_run], np.float64).reshape(len(by_run), -1)
    return tuple(map(str, scores)), values[:, ~np.isnan(values).any(axis=0)]
