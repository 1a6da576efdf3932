"""Reproduction: whether an effect is found again in another experiment, with other data or another implementation.

Breuer et al., *How to Measure the Reproducibility of System-oriented IR Experiments* (SIGIR 2020); as LongEval reports
it over time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from cranfield.analysis.query_values import matched_values
from cranfield.codec import plain
from cranfield.data import Floats
from cranfield.errors import InputError
from cranfield.settings import Chance, Count, Whole, checked
from cranfield.statistics.resampling import query_blocks
from cranfield.statistics.rounding import SAME


class Bounded(NamedTuple):
    """A value and its confidence interval; infinite ends: the interval is unbounded, as that of a ratio may be."""

    value: float
    low: float
    high: float

    @property
    def unbounded(self) -> bool:
        """Whether the divisor of the ratio may be 0, so that nothing is known of its size."""
        return math.isinf(self.low) or math.isinf(self.high)


@dataclass(frozen=True)
class Reproduction:
    """How well an effect, that of an advanced run over a baseline, is found again in another experiment.

    ``improvement``, ``improvement_again``: the relative improvement RI of the advanced run over the baseline in each
    experiment. ``delta``: their difference; 0 if reproduced. ``effect_ratio``: the mean difference in the other
    experiment, divided by that in the original one; 1 if reproduced, NaN if there was no effect. ``rmse``: the root
    mean square of the differences between both scores of the advanced run; None unless the queries are the same.
    ``same_queries``: whether they are; queries are then resampled together for both.

    Examples
    --------
    >>> first = {"bm25": {"1": 0.5, "2": 0.5}, "dense": {"1": 0.75, "2": 0.625}}
    >>> again = {"bm25": {"1": 0.5, "2": 0.5}, "dense": {"1": 0.625, "2": 0.625}}
    >>> found = reproduction(first, again, "dense", "bm25")
    >>> found.improvement.value, found.improvement_again.value, found.same_queries
    (0.375, 0.25, True)
    """

    improvement: Bounded
    improvement_again: Bounded
    delta: Bounded
    effect_ratio: Bounded
    rmse: Bounded | None
    same_queries: bool
    level: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; an infinite end is null."""
        return plain({name: part._asdict() if isinstance(part, Bounded) else part for name, part in vars(self).items()})


@checked
def reproduction(
    original: Any,
    again: Any,
    advanced: str,
    baseline: str,
    *,
    measure: str | None = None,
    level: Chance = 0.95,
    samples: Count = 9_999,
    seed: Whole = 0,
) -> Reproduction:
    """Whether the effect of an advanced run over a baseline is found again in another experiment.

    Parameters
    ----------
    original, again
        Both experiments: each the result of `evaluate`, or ``{run: {query: score}}``.
    advanced, baseline
        The names of the two runs, in both experiments.
    measure
        Which measure, if the scores are of several.
    level
        The level of confidence intervals.
    samples, seed
        The number of bootstrap samples of queries, and the random seed. Queries are drawn together for both experiments
        where they are the same, separately where they are not.

    Returns
    -------
    Reproduction
        The relative improvement in both experiments and its change, the ratio of the effects, and the root mean square
        error.

    Examples
    --------
    >>> first = {"bm25": {"1": 0.5, "2": 0.5, "3": 0.25}, "dense": {"1": 0.75, "2": 0.625, "3": 0.5}}
    >>> later = {"bm25": {"1": 0.5, "2": 0.5, "3": 0.25}, "dense": {"1": 0.625, "2": 0.625, "3": 0.375}}
    >>> found = reproduction(first, later, "dense", "bm25")
    >>> round(found.improvement.value, 4), round(found.delta.value, 4), round(found.effect_ratio.value, 4)
    (0.5, 0.2, 0.6)
    """
    (names, first), (others, second) = (_table(scores, advanced, baseline, measure) for scores in (original, again))
    same = set(names) == set(others)
    if same:
        row = {name: q for q, name in enumerate(others)}
        second = second[:, [row[name] for name in names]]
    tables = [np.vstack([first, second, (first[0] - second[0]) ** 2])] if same else [first, second]
    observed = np.concatenate([table.mean(axis=1) for table in tables])[:, None]
    drawn = np.concatenate([_resampled(table, samples, seed + i) for i, table in enumerate(tables)], axis=1).T

    def bounded(statistic: Callable[[Floats], Floats], *divisors: Callable[[Floats], Floats]) -> Bounded:
        ends = (1 - level) / 2, (1 + level) / 2
        value = float(statistic(observed)[0])
        if any(low <= SAME and high >= -SAME for low, high in (np.quantile(of(drawn), ends) for of in divisors)):
            return Bounded(value, -math.inf, math.inf)
        low, high = np.quantile(statistic(drawn), ends).tolist()
        return Bounded(value, low, high)

    # Rows: A, B, A', B', and the squared differences of A and A'.
    return Reproduction(
        bounded(lambda m: _quotient(m[0] - m[1], m[1]), itemgetter(1)),
        bounded(lambda m: _quotient(m[2] - m[3], m[3]), itemgetter(3)),
        bounded(lambda m: _quotient(m[0] - m[1], m[1]) - _quotient(m[2] - m[3], m[3]), itemgetter(1), itemgetter(3)),
        bounded(lambda m: _quotient(m[2] - m[3], m[0] - m[1]), lambda m: m[0] - m[1]),
        bounded(lambda m: np.sqrt(m[4])) if same else None,
        same,
        level,
    )


def _table(scores: Any, advanced: str, baseline: str, measure: str | None) -> tuple[list[str], Floats]:
    """The queries with a score in both runs, and these scores: (run, query)."""
    _, names, values = matched_values(scores, measure, (advanced, baseline))
    if len(names) < 2:
        raise InputError(
            [f"{advanced} and {baseline}: expected at least two queries with a score in both, found {len(names)}"]
        )
    return names, values


def _resampled(table: Floats, samples: int, seed: int) -> Floats:
    """The mean of each row over each resample of queries: (resample, row)."""
    blocks = query_blocks(table.shape[1], samples, seed)
    return np.concatenate([table[:, queries].mean(axis=2).T for queries in blocks])


def _quotient(numerator: Floats, divisor: Floats) -> Floats:
    return np.divide(numerator, divisor, out=np.full_like(numerator, np.nan), where=np.abs(divisor) > SAME)
