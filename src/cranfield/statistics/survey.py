"""Estimates of one query's score from judgments of a sample: Horvitz-Thompson and the difference estimator.

A measure that is linear in the gains is a total over documents of weight times gain. If document d was drawn with a
known probability π_d, then Σ w g/π over the drawn documents estimates it without bias. With predicted gains ĝ, the
difference estimator adds what the predictions got wrong to what they say: λ Σ w ĝ + Σ w (g - λ ĝ)/π. It is unbiased for
every λ that is fixed beforehand; λ = 0 is Horvitz-Thompson.

In all functions a gain of NaN is a document that was not drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from cranfield.codec import plain
from cranfield.data import Booleans, Floats
from cranfield.errors import InputError, UsageError
from cranfield.settings import Chance, checked
from cranfield.statistics.intervals import t_quantile
from cranfield.statistics.rounding import SAME


class Total(NamedTuple):
    """An estimated total and its estimated variance; NaN if undefined."""

    estimate: float
    variance: float


def _columns(*values: npt.ArrayLike) -> list[Floats]:
    columns = [np.asarray(value, np.float64) for value in values]
    if len({column.shape for column in columns}) > 1:
        raise UsageError(f"expected one value for each document, got {', '.join(str(c.size) for c in columns)}")
    return columns


def _predictions(predicted: npt.ArrayLike | None, like: Floats) -> Floats:
    """The predicted gains; 0 for documents without a prediction."""
    return np.zeros_like(like) if predicted is None else np.nan_to_num(_columns(like, predicted)[1])


def _check_drawn(probability: Floats, relevant_to_score: Booleans) -> None:
    if ((probability < 0) | (probability > 1)).any():
        raise InputError(["a probability to be drawn must be between 0 and 1"])
    if (relevant_to_score & (probability == 0)).any():
        raise InputError(
            ["a document that counts cannot be drawn: its probability is 0"],
            hint="give every document that affects the score a probability above 0",
        )


def difference_estimate(
    weight: npt.ArrayLike,
    gain: npt.ArrayLike,
    probability: npt.ArrayLike,
    predicted: npt.ArrayLike | None = None,
) -> Total:
    """Documents drawn independently (Poisson sampling): the estimate and its unbiased variance.

    >>> difference_estimate([1, 1], [1, np.nan], [0.5, 0.5])
    Total(estimate=2.0, variance=2.0)
    """
    w, g, pi = _columns(weight, gain, probability)
    predictions = _predictions(predicted, w)
    _check_drawn(pi, w != 0)
    drawn = ~np.isnan(g)
    y = np.where(drawn, w * (np.where(drawn, g, 0) - predictions), 0)
    pi = np.where(pi > 0, pi, 1)
    estimate = float((w * predictions).sum()) + float((y / pi).sum())
    return Total(estimate, float(((1 - pi) / pi**2 * y**2).sum()))


# Means over queries from few human scores and many predicted ones: prediction-powered inference (PPI).
#
# n queries have a human score y and a predicted score f, which is the same measure under the judge's labels; N other
# queries have f only. The predictions give a mean over all queries, and the human queries tell how wrong it is:
# estimate = λ · mean(f of the others) + mean(y - λ f). If λ does not depend on the same queries, it is unbiased for any
# judge; a good one makes it precise.
#
# - `loo` (the default): λ of each human query is tuned on the other human queries, so that the estimate is unbiased,
# and the interval is Student's. For queries like these. - `fixed`: the human queries are a random sample of exactly
# these queries, whose mean is wanted. - `ppi++`, `ppi`, `classical`: those of Angelopoulos et al. (2023) as in their
# program ppi_py, with λ tuned, 1 or 0, and normal intervals, which are too short for few queries.
#
# Queries are along the last axis; other axes are repetitions.

Method = Literal["loo", "fixed", "ppi++", "ppi", "classical"]
MIN_DIFFERENT = 5  # the least number of human queries with a difference for which a pair of runs has an interval
NO_SPREAD = 1e-15  # predictions with less spread are constant


@dataclass(frozen=True)
class MeanEstimate:
    """An estimate of a mean over queries, with its standard error and interval; NaN if undefined.

    ``tuning``: λ, the weight of the predictions; for `loo`, its mean over queries. ``degrees``: those of Student's t;
    0 for a normal interval. ``human``, ``others``: the numbers of queries with and without a human score.
    """

    method: str
    estimate: float
    standard_error: float
    low: float
    high: float
    tuning: float
    degrees: int
    human: int
    others: int

    def to_dict(self) -> dict[str, Any]:
        """Plain data, with the number of queries and the p-value."""
        interval = ("estimate", "standard_error", "low", "high", "tuning", "p_value")
        names = ("method", "queries", *interval, "degrees", "human", "others")
        return {name: plain(getattr(self, name)) for name in names}

    @property
    def queries(self) -> int:
        return self.human + self.others

    @property
    def defined(self) -> bool:
        return math.isfinite(self.standard_error)

    @property
    def p_value(self) -> float:
        """The two-sided p-value of a mean of 0."""
        if not self.defined or self.standard_error == 0:
            return math.nan if not self.defined else float(self.estimate == 0)
        size = abs(self.estimate) / self.standard_error
        if self.degrees == 0:
            return math.erfc(size / math.sqrt(2))
        from scipy.special import stdtr

        return float(2 * stdtr(self.degrees, -size))


def undefined_mean(method: str, human: int = 0, others: int = 0) -> MeanEstimate:
    """An estimate that is undefined."""
    nan = math.nan
    return MeanEstimate(method, nan, nan, nan, nan, nan, 0, human, others)


class Estimates(NamedTuple):
    """Estimates of several repetitions: the estimate, its standard error, and λ."""

    value: Floats
    error: Floats
    tuning: Floats


def classical(y: Floats) -> Estimates:
    """The mean of the human scores alone; the standard error has the divisor n, as in ppi_py."""
    return Estimates(y.mean(axis=-1), np.sqrt(y.var(axis=-1) / y.shape[-1]), np.zeros(y.shape[:-1]))


def powered(y: Floats, f: Floats, others: Floats, tuning: Floats | float) -> Estimates:
    """The prediction-powered mean with a given λ."""
    tuning = np.broadcast_to(np.asarray(tuning, np.float64), y.shape[:-1])
    rest = y - tuning[..., None] * f
    value = tuning * others.mean(axis=-1) + rest.mean(axis=-1)
    variance = tuning**2 * others.var(axis=-1) / others.shape[-1] + rest.var(axis=-1) / y.shape[-1]
    return Estimates(value, np.sqrt(variance), tuning)


def tuned(y: Floats, f: Floats, others: Floats) -> Floats:
    """The λ of PPI++, between 0 and 1; 0 if the predictions are constant."""
    n, m = y.shape[-1], others.shape[-1]
    covariance = ((y - y.mean(axis=-1, keepdims=True)) * (f - f.mean(axis=-1, keepdims=True))).mean(axis=-1)
    spread = np.concatenate([f, others], axis=-1).var(axis=-1, ddof=1)
    constant = spread <= NO_SPREAD
    return np.where(constant, 0, np.clip(covariance / ((1 + n / m) * np.where(constant, 1, spread)), 0, 1))


def leave_one_out(y: Floats, f: Floats, others: Floats) -> Estimates:
    """The prediction-powered mean with a λ for each human query, tuned on all others."""
    n, m = y.shape[-1], others.shape[-1]
    dy, df = y - y.mean(axis=-1, keepdims=True), f - f.mean(axis=-1, keepdims=True)
    products = (dy * df).sum(axis=-1, keepdims=True) - n / (n - 1) * dy * df
    squares = (df * df).sum(axis=-1, keepdims=True) - n / (n - 1) * df * df
    constant = squares <= NO_SPREAD
    each = np.where(constant, 0, np.clip(products / np.where(constant, 1, squares) / (1 + n / m), 0, 1))
    rest, mean = y - each * f, each.mean(axis=-1)
    value = mean * others.mean(axis=-1) + rest.mean(axis=-1)
    variance = mean**2 * others.var(axis=-1, ddof=1) / m + rest.var(axis=-1, ddof=1) / n
    return Estimates(value, np.sqrt(variance), mean)


def of_these(y: Floats, f: Floats, others: Floats) -> Estimates:
    """The mean over exactly these queries, of which the human ones are a random sample."""
    n, m = y.shape[-1], others.shape[-1]
    rest = y - f
    value = np.concatenate([f, others], axis=-1).mean(axis=-1) + rest.mean(axis=-1)
    variance = (1 - n / (n + m)) * rest.var(axis=-1, ddof=1) / n
    return Estimates(value, np.sqrt(variance), np.ones(y.shape[:-1]))


@checked
def ppi_mean(
    human: npt.ArrayLike,
    predicted: npt.ArrayLike,
    predicted_only: npt.ArrayLike = (),
    *,
    method: Method = "loo",
    alpha: Chance = 0.05,
) -> MeanEstimate:
    """The mean over queries, from human scores, predicted scores of the same queries, and those of other queries.

    Undefined (NaN) with fewer than 2 human queries, without other queries where these are needed, and for `loo` with
    fewer than 3 human or 2 other queries.

    >>> round(ppi_mean([0.2, 0.4, 0.9], [0.3, 0.4, 0.8], [0.1, 0.5, 0.6, 0.8]).estimate, 4)
    0.4743
    """
    y, f, others = (np.asarray(x, np.float64) for x in (human, predicted, predicted_only))
    if y.shape != f.shape or y.ndim != 1 or others.ndim != 1:
        raise UsageError(f"expected one predicted score for each of {y.size} human scores, got {f.size}")
    n, m = len(y), len(others)
    needs = {"loo": (3, 2), "fixed": (2, 0), "ppi++": (2, 1), "ppi": (2, 1), "classical": (2, 0)}[method]
    if n < needs[0] or m < needs[1]:
        return undefined_mean(method, n, m)
    if method == "loo":
        estimates, degrees = leave_one_out(y, f, others), n - 2
    elif method == "fixed":
        estimates, degrees = of_these(y, f, others), n - 1
    elif method == "classical":
        estimates, degrees = classical(y), 0
    else:
        estimates, degrees = powered(y, f, others, tuned(y, f, others) if method == "ppi++" else 1.0), 0
    return interval(method, estimates, degrees, 1 - alpha, n, m)


def interval(method: str, estimates: Estimates, degrees: int, level: float, human: int, others: int) -> MeanEstimate:
    """An estimate with its interval: Student's, or the normal one without degrees of freedom."""
    value, error = float(estimates.value), float(estimates.error)
    factor = t_quantile(level, degrees) if degrees else NormalDist().inv_cdf(0.5 + level / 2)
    half = factor * error
    return MeanEstimate(
        method, value, error, value - half, value + half, float(estimates.tuning), degrees, human, others
    )


def human_mean(scores: npt.ArrayLike, *, alpha: float = 0.05, method: str = "human") -> MeanEstimate:
    """The mean of scores with Student's interval, without predictions."""
    y = np.asarray(scores, np.float64)
    n = len(y)
    if n < 2:
        return replace(undefined_mean(method, n, 0), estimate=float(y.mean()) if n else math.nan)
    estimates = Estimates(y.mean(), y.std(ddof=1) / math.sqrt(n), np.zeros(()))
    return interval(method, estimates, n - 1, 1 - alpha, n, 0)


def too_few_differences(difference: Floats) -> int | None:
    """The number of queries on which two systems differ, if these are too few for an interval."""
    count = int((np.abs(difference) > SAME).sum())
    return count if count < MIN_DIFFERENT else None


def equivalent_queries(both: MeanEstimate, human: MeanEstimate) -> float:
    """The number of human queries that would give the standard error of the prediction-powered estimate."""
    if not (both.defined and human.defined) or both.standard_error == 0:
        return math.nan
    return human.human * (human.standard_error / both.standard_error) ** 2
