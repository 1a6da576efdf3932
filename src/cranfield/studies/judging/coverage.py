"""Coverage of intervals from human and predicted judgments, by simulated judges on judged queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from cranfield.data import Floats
from cranfield.statistics.intervals import t_quantile
from cranfield.statistics.prediction import (
    Estimates,
    classical,
    leave_one_out,
    of_these,
    powered,
    tuned,
)
from cranfield.statistics.rounding import SAME

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
    weights: Floats,
    human: Sequence[Floats],
    predicted: Sequence[Floats],
    *,
    chance: float,
    repeats: int,
    seed: int = 0,
) -> dict[str, tuple[float, float, float]]:
    """Within queries: coverage, mean width and bias (in standard errors of the mean) of two estimators.

    ``human``, ``predicted``: the gains of the ranked documents of each query. Each is drawn with the same chance.
    """
    width = len(weights)
    g = np.array([_padded(row, width) for row in human])
    f = np.array([_padded(row, width) for row in predicted])
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
    for name, pairs in found.items():
        value, error = np.array(pairs).T
        bias = (value.mean() - truth) / (value.std(ddof=1) / math.sqrt(repeats)) if value.std() > 0 else 0.0
        result[name] = (
            float((np.abs(value - truth) <= z * error + SAME).mean()),
            float((2 * z * error).mean()),
            float(bias),
        )
    return result


def _padded(row: Floats, width: int) -> Floats:
    return np.pad(row[:width], (0, max(width - len(row), 0)))


Progress = Callable[[int, int], None]
