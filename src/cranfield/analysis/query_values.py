"""Measures that need more than judgments and one ranking: risk, abstention, neighbours, facts of an answer.

Risk: a system that is worse than others on some queries loses more than its mean shows. Abstention: whether a system
knows which of its rankings are poor, so that it could leave these queries out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from cranfield import io
from cranfield.data import Floats
from cranfield.errors import InputError, UsageError
from cranfield.evaluation.elsewhere import read_scores
from cranfield.evaluation.scores import Scores
from cranfield.io.columns import by_text
from cranfield.io.faults import quotable
from cranfield.io.formats.json import parse_json
from cranfield.io.streams import is_stream, open_stream
from cranfield.settings import Count, NotNegative, checked
from cranfield.statistics.rounding import SAME


class QueryValues(NamedTuple):
    """The mean, and the values that it is the mean of, by query. NaN: undefined.

    Undefined values do not count in the mean.

    Examples
    --------
    >>> QueryValues.of({"1": 0.5, "2": float("nan")}).mean
    0.5
    """

    mean: float
    values: dict[str, float]

    @classmethod
    def of(cls, values: Mapping[str, float]) -> QueryValues:
        """These values and their mean."""
        counted = [value for value in values.values() if not math.isnan(value)]
        return cls(math.fsum(counted) / len(counted) if counted else math.nan, dict(values))


def choose(names: tuple[str, ...], name: str | None, kind: str) -> int:
    """The index of a name; without one, there must be a single name."""
    if name is None and len(names) == 1:
        return 0
    if name not in names:
        raise UsageError(
            f"the scores have {len(names)} {kind}s" if name is None else f"the scores have no {kind} `{name}`",
            hint=f"choose one with {kind}=: {', '.join(names)}",
        )
    return names.index(name)


@checked
def urisk(scores: Any, baseline: str, *, alpha: NotNegative = 1.0, measure: str | None = None) -> dict[str, float]:
    """URisk of every run but the baseline: its mean gain over the baseline, where losses count (1 + alpha) times.

    Parameters
    ----------
    scores
        The result of `evaluate`, or ``{run: {query: score}}``. Queries count that have a score in every run.
    baseline
        The run with which the others are compared.
    alpha
        How much more a loss counts than a gain; with 0 the result is the difference of the means.
    measure
        Which measure, if the scores are of several.

    Returns
    -------
    dict
        The URisk of each run but the baseline.

    Examples
    --------
    >>> round(urisk({"old": {"1": 0.5, "2": 0.5}, "new": {"1": 0.9, "2": 0.4}}, "old")["new"], 6)
    0.1
    """
    runs, _, values = matched_values(scores, measure)
    at = choose(runs, baseline, "run")
    risks = risk_utility(values, values[at], alpha).tolist() if values.size else [math.nan] * len(runs)
    return {run: value for run, value in zip(runs, risks, strict=True) if run != baseline}


@checked
def georisk(scores: Any, *, alpha: NotNegative = 1.0, measure: str | None = None) -> dict[str, float]:
    """GeoRisk of every run among all of them: high if its mean is high and no query scores far below expectation.

    Parameters
    ----------
    scores
        The result of `evaluate`, or ``{run: {query: score}}``, with all the runs to compare; not negative. Queries
        count that have a score in every run.
    alpha
        How much more a score below expectation counts than one above.
    measure
        Which measure, if the scores are of several.

    Returns
    -------
    dict
        The GeoRisk of each run.

    Examples
    --------
    >>> found = georisk({"a": {"1": 0.5, "2": 0.5}, "b": {"1": 0.9, "2": 0.1}})
    >>> {run: round(value, 4) for run, value in found.items()}
    {'a': 0.4886, 'b': 0.4489}
    """
    runs, _, values = matched_values(scores, measure)
    if (values < 0).any():
        raise UsageError("GeoRisk needs scores that are not negative")
    risks = geometric_risk(values, alpha).tolist() if values.size else [math.nan] * len(runs)
    return dict(zip(runs, risks, strict=True))


def matched_values(
    scores: Any, measure: str | None, runs: Sequence[str] | None = None
) -> tuple[tuple[str, ...], list[str], Floats]:
    """The runs, the queries that have a value in each of them, and the values by (run, query).

    ``scores``: the result of `evaluate`, or ``{run: {query: score}}``.
    """
    if not isinstance(scores, Scores):
        if not isinstance(scores, Mapping) or not scores or not all(isinstance(of, Mapping) for of in scores.values()):
            raise UsageError(
                "expected the scores of runs", hint="give the result of evaluate, or {run: {query: score}}"
            )
        scores = read_scores({run: {"score": by_query} for run, by_query in scores.items()})
    m = choose(scores.measures, measure, "measure")
    if runs is not None:
        scores = scores._of_runs([choose(scores.runs, run, "run") for run in runs])
    values, queries = scores._matched(m)
    return scores.runs, [scores.queries[q] for q in queries.tolist()], values


def risk_utility(values: Floats, baseline: Floats, alpha: float) -> Floats:
    """URisk of each system (Wang et al. 2012): the mean gain over a baseline; losses count (1 + alpha) times.

    ``values`` (system, query), ``baseline`` (query,).
    """
    difference = values - baseline
    return np.asarray(np.where(difference < 0, (1 + alpha) * difference, difference).mean(axis=-1))


def geometric_risk(values: Floats, alpha: float) -> Floats:
    """GeoRisk of each system (Dinçer et al. 2016): the geometric mean of effectiveness and of risk among all systems.

    ``values`` (system, query), not negative. A system is expected to have its share of what all systems have on a
    query. z is the difference from this in standard units; where it is negative it counts (1 + alpha) times.
    """
    from scipy.special import ndtr

    queries, total = values.shape[1], values.sum()
    expected = np.outer(values.sum(axis=1), values.sum(axis=0)) / (total if total > 0 else 1)
    z = (values - expected) / np.sqrt(np.where(expected > 0, expected, 1))
    risk = np.where(z < 0, (1 + alpha) * z, z).sum(axis=1) / queries
    return np.asarray(np.sqrt(values.mean(axis=1) * ndtr(risk)))


RATES = np.linspace(0, 1, 11)[:-1]  # the shares of queries that are left out

ConfidenceKind = Literal["max", "std", "diff1"]


class Confidence(NamedTuple):
    """How sure a system is of a ranking, by its scores.

    ``max``: the best score; ``std``: the standard deviation of all scores; ``diff1``: the best score minus the second.

    Examples
    --------
    >>> Confidence.of([3.0, 1.0])
    Confidence(max=3.0, std=1.0, diff1=2.0)
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


@checked
def confidence(run: Any, by: ConfidenceKind = "max") -> dict[str, float]:
    """The confidence of each ranking of a run.

    Parameters
    ----------
    run
        A run, as `evaluate` takes it.
    by
        ``max``: the best score; ``std``: the standard deviation of all scores; ``diff1``: the best score minus the
        second.

    Returns
    -------
    dict
        The confidence of the ranking of each query.

    Examples
    --------
    >>> confidence({"q": {"a": 3.0, "b": 1.0}}, "diff1")
    {'q': 2.0}
    """
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

    For each rate 0, 0.1, ... 0.9 this share of the queries is left out, those with the least confidence first, and the
    scores of the others are averaged. The area under these means is scaled. Among queries with equal confidence the
    result is the mean over all orders in which they may be left out, so the order of the queries does not matter.

    Parameters
    ----------
    confidence, scores
        One number for each query: both by query, or both in the same order.

    Returns
    -------
    float
        1 if the queries with the lowest scores are left out first, 0 if queries are left out at random. NaN (undefined)
        if all scores are equal.

    Examples
    --------
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
    area, best = _area(sure, values), _area(values, values)
    random = float((RATES[-1] - RATES[0]) * values.mean())
    return math.nan if abs(best - random) <= SAME else (area - random) / (best - random)


def _paired(confidence: Any, scores: Any) -> tuple[Floats, Floats]:
    if isinstance(confidence, Mapping) != isinstance(scores, Mapping):
        raise UsageError("confidence and scores must both be by query, or both be lists")
    if isinstance(scores, Mapping):
        values = by_text(scores, "scores")
        defined = {query: value for query, value in values.items() if value is not None and not math.isnan(value)}
        given = by_text(confidence, "confidence")
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


ABSOLUTE, RELATIVE = 1e-3, 0.01  # the tolerances of ann-benchmarks


@checked
def ann_recall(
    true_distances: Any,
    found_distances: Any,
    count: Count,
    *,
    relative: bool = False,
    epsilon: NotNegative | None = None,
) -> QueryValues:
    """Recall as in ann-benchmarks: the share of ``count`` neighbours that are as near as the true ones.

    With t, the distance of the true neighbour number ``count``, a neighbour counts if its distance is at most t +
    epsilon, or with ``relative`` at most t (1 + epsilon). Ids are not compared, so that ties at t all count.

    Parameters
    ----------
    true_distances
        The distances of the true neighbours, nearest first: a list for one query, a list of lists, or ``{query:
        list}``.
    found_distances
        The distances of the neighbours found, in their order, in the same form. If fewer were found than ``count``, the
        others count 0.
    count
        How many neighbours should be found.
    relative
        Whether the tolerance is relative to the distance of the last true neighbour.
    epsilon
        The tolerance: by default 0.001, or 0.01 if relative, as in ann-benchmarks.

    Returns
    -------
    QueryValues
        The recall of each query, and its mean.

    Examples
    --------
    >>> ann_recall([0.1, 0.2, 0.2, 0.5], [0.1, 0.2, 0.5, 0.6], 2).mean
    1.0
    """
    tolerance = (RELATIVE if relative else ABSOLUTE) if epsilon is None else epsilon
    true, returned = _by_query(true_distances), _by_query(found_distances)
    faults, values = [], {}
    for query, distances in true.items():
        exact = np.sort(np.asarray(distances, np.float64))
        given = np.asarray(returned.get(query, ()), np.float64)[:count]
        name = f"query `{quotable(query)}`"
        if len(exact) < count:
            faults.append(f"{name}: expected {count} true distances, found {len(exact)}")
        elif np.isnan(exact).any() or np.isnan(given).any():
            faults.append(f"{name}: a distance is NaN")
        elif relative and (exact.min() < 0 or given.min(initial=0) < 0):
            faults.append(f"{name}: a distance is negative, and has no relative tolerance")
        else:
            limit = exact[count - 1]
            limit = limit * (1 + tolerance) if relative else limit + tolerance
            values[query] = float((given <= limit).sum()) / count
    faults += [f"query `{quotable(query)}` has no true distances" for query in returned if query not in true]
    if faults:
        raise InputError(faults)
    return QueryValues.of(values)


def _by_query(distances: Any) -> dict[str, Sequence[float]]:
    """The distances of each query; the queries of a list are numbered from 0."""
    if isinstance(distances, Mapping):
        return by_text(distances, "distances")
    rows = list(distances)
    nested = bool(rows) and np.ndim(rows[0]) > 0
    return {str(i): row for i, row in enumerate(rows)} if nested else {"0": rows}


CREDIT = {"support": 1.0, "partial_support": 0.5}
OKAY = 0.5  # the weight of a nugget that is not vital

Over = Literal["all", "vital", "weighted"]


@checked
def nugget_recall(
    nuggets: Any, *, over: Over = "all", strict: bool = False, undefined: Literal["zero", "skip"] = "zero"
) -> QueryValues:
    """Nugget recall of TREC RAG: the share of required facts that an answer contains.

    Parameters
    ----------
    nuggets
        ``{query: [{"importance": "vital", "assignment": "support"}, ...]}``, or a file of JSON lines with ``qid`` and
        ``nuggets``, as the AutoNuggetizer writes them.
    over
        ``all`` nuggets; those that are ``vital``; or ``weighted``: all, where those that are not vital count half.
    strict
        Whether a nugget with ``partial_support`` counts 0 instead of a half.
    undefined
        What a query without such nuggets has: ``zero``, or it is left out (``skip``).

    Returns
    -------
    QueryValues
        The recall of each query, and its mean.

    Examples
    --------
    >>> nuggets = {"q": [{"importance": "vital", "assignment": "partial_support"},
    ...                  {"importance": "okay", "assignment": "support"}]}
    >>> nugget_recall(nuggets).mean, nugget_recall(nuggets, over="vital", strict=True).mean
    (0.75, 0.0)
    """
    empty = 0.0 if undefined == "zero" else math.nan
    values = {}
    for query, of_query in _nuggets(nuggets).items():
        weights = [1.0 if vital else {"all": 1.0, "vital": 0.0, "weighted": OKAY}[over] for vital, _ in of_query]
        credits = [CREDIT.get(assignment, 0.0) for _, assignment in of_query]
        if strict:
            credits = [math.floor(credit) for credit in credits]
        total = math.fsum(weights)
        earned = math.fsum(weight * credit for weight, credit in zip(weights, credits, strict=True))
        values[query] = earned / total if total else empty
    return QueryValues.of(values)


def _nuggets(source: Any) -> dict[str, list[tuple[bool, str]]]:
    """For each query, whether each nugget is vital, and its assignment."""
    rows: Iterable[tuple[str, Any]]
    if isinstance(source, Mapping):
        rows = by_text(source, "nuggets").items()
    elif is_stream(source):
        stream = open_stream(source, "nuggets")
        content = parse_json(stream)
        if isinstance(content, Mapping):
            return _nuggets(content)
        absent = [name for name in ("qid", "nuggets") if name not in content.names]
        if absent:
            raise InputError([f"{stream.source_name}: no line has the field `{name}`" for name in absent])
        rows = zip(content.column("qid"), content.column("nuggets"), strict=True)
    else:
        raise UsageError(
            f"cannot read nuggets from {type(source).__name__}",
            hint="give {query: [nugget, ...]}, or a file of JSON lines",
        )
    nuggets: dict[str, list[tuple[bool, str]]] = {}
    for query, listed in rows:
        if not isinstance(listed, Sequence) or not all(map(_is_nugget, listed)):
            raise InputError([f"query `{quotable(str(query))}`: expected nuggets with importance and assignment"])
        if str(query) in nuggets:
            raise InputError([f"query `{quotable(str(query))}` has two lists of nuggets"])
        nuggets[str(query)] = [(n["importance"] == "vital", str(n["assignment"])) for n in listed]
    return nuggets


def _is_nugget(value: Any) -> bool:
    return isinstance(value, Mapping) and {"importance", "assignment"} <= set(value)
