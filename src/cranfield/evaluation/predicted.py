"""Means and differences from few human judgments and many predicted ones, such as those of an LLM.

Over queries: some queries have human judgments, all have predicted ones. The predictions say something about every
query, and the human judgments say how wrong that is; see `statistics.prediction`. This is right for every measure whose
value is a mean over queries.

Within queries: if the human judgments are a sample of each query's documents, a measure that is linear in the gains has
the difference estimator instead; see `statistics.survey`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from cranfield.codec import of_fields
from cranfield.data import Floats, Judgments, Run
from cranfield.errors import InputError
from cranfield.evaluation.plan import Column, Inference, Plan
from cranfield.evaluation.scores import Scores, substituted
from cranfield.measures import Measure
from cranfield.measures.weights import is_linear, rank_weights
from cranfield.ranking.alignment import Aligner, FirstPage, ranked_pages
from cranfield.ranking.rankings import probabilities
from cranfield.settings import check_fields
from cranfield.statistics import survey
from cranfield.statistics.survey import (
    MIN_DIFFERENT,
    MeanEstimate,
    equivalent_queries,
    human_mean,
    ppi_mean,
    too_few_differences,
    undefined_mean,
)
from cranfield.wording import few, plural


@dataclass(frozen=True)
class PredictedMean:
    """One measure of one run, or the difference of two runs: by humans, by predictions, and by both together.

    ``other``: the run that is subtracted; empty for a mean. ``worth_queries``: the number of human queries that would
    give the same standard error without predictions, less those there are; NaN if unknown. ``worth_judgments``: the
    same in judged documents. ``reason``: why there is no estimate, empty if there is one.
    """

    measure: str
    run: str
    other: str
    human: MeanEstimate
    predicted: MeanEstimate
    both: MeanEstimate
    worth_queries: float
    worth_judgments: float
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data; ``other`` is there for a difference only."""
        return {name: value for name, value in of_fields(self).items() if value or name != "other"}


class _Sides(NamedTuple):
    """The scores of one run and measure: by humans and by predictions, of the human queries and of the others."""

    human: Floats
    predicted: Floats
    others: Floats


@dataclass(frozen=True)
class Predictions:
    """What predicted judgments say of the runs and measures of human scores, beside which this stands.

    ``scores``: by predicted judgments, of all queries that have them. ``inference``: whether intervals are for new
    queries or for these. ``judged_per_query``: how many documents humans judged for a query.
    """

    scores: Scores
    inference: Inference
    judged_per_query: float

    def __post_init__(self) -> None:
        check_fields(self)

    def only(self, rows: Sequence[int] | None = None, columns: Sequence[int] | None = None) -> Predictions:
        """Those of some runs or columns."""
        scores = self.scores if rows is None else self.scores._of_runs(rows)
        return replace(self, scores=scores if columns is None else scores._of_columns(columns))

    def means(self, human: Scores, alpha: float = 0.05) -> tuple[PredictedMean, ...]:
        """The means of all runs and measures."""
        check_queries(human.queries, self.scores.queries)
        return tuple(
            self._estimate(human.columns[m], run, "", sides, alpha)
            for r, run in enumerate(human.runs)
            for m, sides in _sides_of_run(human, self.scores, r)
        )

    def differences(
        self, human: Scores, pairs: Sequence[Sequence[Sequence[int]]], alpha: float = 0.05
    ) -> tuple[PredictedMean, ...]:
        """The mean differences of the pairs of runs of each measure, the first minus the second."""
        check_queries(human.queries, self.scores.queries)
        of_run = [dict(_sides_of_run(human, self.scores, r)) for r in range(len(human.runs))]
        differences = []
        for m, column in enumerate(human.columns):
            for a, b in pairs[m] if m in of_run[0] else ():
                sides = _Sides(*(x - y for x, y in zip(of_run[a][m], of_run[b][m], strict=True)))
                differences.append(self._estimate(column, human.runs[a], human.runs[b], sides, alpha))
        return tuple(differences)

    def _estimate(self, column: Column, run: str, other: str, sides: _Sides, alpha: float) -> PredictedMean:
        if column.aggregate != "mean":
            return _no_mean(column, run, other, "predictions of queries cannot be added")
        human = human_mean(sides.human, alpha=alpha, method="human")
        every = np.concatenate([sides.predicted, sides.others])
        predicted = human_mean(every, alpha=alpha, method="predicted")
        both = ppi_mean(sides.human, sides.predicted, sides.others, method=self.inference, alpha=alpha)
        reason = _reason(sides, other, both)
        if reason:
            both = undefined_mean(self.inference, len(sides.human), len(sides.others))
            if "differ" in reason:  # no interval holds for so few differences
                human = replace(human, low=math.nan, high=math.nan)
        equivalent = equivalent_queries(both, human) - len(sides.human)
        judgments = equivalent * self.judged_per_query
        return PredictedMean(column.label, run, other, human, predicted, both, equivalent, judgments, reason)


def _covered(queries: Sequence[str]) -> str:
    return f"the predictions are for queries such as `{queries[0]}`" if len(queries) else "the predictions are empty"


def check_queries(human: Sequence[str], predicted: Sequence[str]) -> None:
    """Raise if the predictions are for other queries, or lack some of those with human judgments."""
    having = set(predicted)
    missing = [query for query in human if query not in having]
    if len(missing) == len(human):
        raise InputError(
            [f"predicted: none of the human queries has predictions (first query: `{missing[0]}`)"],
            hint=_covered(predicted),
        )
    if missing:
        raise InputError(
            [f"predicted: {plural(len(missing), 'human query')} without predictions: {few(missing)}"],
            hint="predict the judgments of the human queries as well: they show how wrong predictions are",
        )


def _sides_of_run(human: Scores, predicted: Scores, run: int) -> Iterator[tuple[int, _Sides]]:
    where = {query: q for q, query in enumerate(predicted.queries)}
    at = np.array([where[query] for query in human.queries], np.int64)
    rest = np.setdiff1d(np.arange(len(predicted.queries)), at)
    for m, column in enumerate(human.columns):
        if column.part != "value" or column not in predicted.columns:  # such as a measure from elsewhere
            continue
        counted = human.counted[run]
        y = substituted(human.values[run, m, counted], human.undefined)
        f = substituted(predicted.values[run, m, at][counted], predicted.undefined)
        others = substituted(predicted.values[run, m, rest][predicted.counted[run, rest]], predicted.undefined)
        _check_defined(column, y, f, [q for q, c in zip(human.queries, counted, strict=True) if c])
        defined = ~np.isnan(y)
        yield m, _Sides(y[defined], f[defined], others[~np.isnan(others)])


def _check_defined(column: Column, y: Floats, f: Floats, queries: Sequence[str]) -> None:
    """Raise if the measure is undefined for a query by one judge only."""
    one_sided = np.flatnonzero(np.isnan(y) != np.isnan(f))
    if len(one_sided):
        names = few([queries[q] for q in one_sided.tolist()])
        side = "human" if np.isnan(y[one_sided[0]]) else "predicted"
        raise InputError(
            [f"{column.label} is undefined for {names} by {side} judgments only: no document is relevant"],
            hint='count such queries as 0 on both sides: undefined="zero" (--undefined zero)',
        )


def _no_mean(column: Column, run: str, other: str, consequence: str) -> PredictedMean:
    """The record of a measure that is a geometric mean, a sum or another aggregate of queries: it has no means."""
    nothing = undefined_mean("none")
    reason = f"{column.label} is not a mean over queries, so that {consequence}"
    return PredictedMean(column.label, run, other, nothing, nothing, nothing, math.nan, math.nan, reason)


def _reason(sides: _Sides, other: str, both: MeanEstimate) -> str:
    count = too_few_differences(sides.human) if other else None
    if count is not None:
        differ = f"the runs differ on {plural(count, 'human query')}"
        return f"{differ}, fewer than {MIN_DIFFERENT}; no interval holds for so few"
    if not both.defined:
        n, m = len(sides.human), len(sides.others)
        return f"there are {n} human and {m} other queries; at least 3 and 2 are needed"
    return ""


def predicted_in_sample(
    judgments: Judgments, predicted: Judgments, run: Run, plan: Plan, *, alpha: float = 0.05
) -> tuple[PredictedMean, ...]:
    """The means of a run if the human judgments are a sample of documents: the difference estimator of each query.

    The interval is for queries like these: the spread of the estimates contains both stages.
    """
    if not set(judgments.queries) & set(predicted.queries):
        raise InputError(
            [f"predicted: none of the human queries has predictions (first query: `{judgments.queries[0]}`)"],
            hint=_covered(list(predicted.queries)),
        )
    aligner = Aligner(judgments)
    by_row = np.ones(len(judgments.grade))
    for pool in aligner.pools:
        by_row[pool.document] = probabilities(pool)[pool.document]
    human, machine = mapping_of(judgments), mapping_of(predicted)
    chances = mapping_of(replace(judgments, grade=by_row))
    top = max(aligner.judged.top, float(predicted.grade.max(initial=0)))
    rules = {column.measure.views.ties for column in plan.columns}
    pages = {ties: ranked_pages([run], judgments, ties)[0] for ties in rules}
    means = []
    for column in plan.columns:
        ranking = pages[column.measure.views.ties]
        measure = replace(column.measure, views=replace(column.measure.views, sampled=False))
        if column.part != "value":
            continue
        if column.aggregate != "mean":
            means.append(_no_mean(column, run.name, "", "its estimates in queries have no mean"))
            continue
        by_grade = not measure.views.rule.fixes_order and not measure.views.rule.leaves_ties
        tied = any(max(page.ties, default=1) > 1 for page in ranking.values())
        if not is_linear(measure) or (by_grade and tied):
            nothing = undefined_mean("none")
            reason = f"{column.label} is not linear in the gains of documents"
            if is_linear(measure):
                reason = f"{column.label} orders tied documents by their grades"
            reason += ": a sample within queries has no unbiased difference estimator"
            estimates = (nothing, nothing, nothing, math.nan)
            means.append(PredictedMean(column.label, run.name, "", *estimates, math.nan, reason))
            continue
        totals = [
            _within(measure, ranking.get(query), human[query], chances[query], machine.get(query, {}), top)
            for query in human
        ]
        by_humans, by_judge, together = (
            human_mean(values, alpha=alpha, method=method)
            for values, method in zip(np.array(totals).T, ("human", "predicted", "both"), strict=True)
        )
        equivalent = equivalent_queries(together, by_humans) - len(human)
        means.append(PredictedMean(column.label, run.name, "", by_humans, by_judge, together, equivalent, math.nan))
    return tuple(means)


def _within(
    measure: Measure,
    page: FirstPage | None,
    human: Mapping[str, float],
    chances: Mapping[str, float],
    predicted: Mapping[str, float],
    top: float,
) -> tuple[float, float, float]:
    """One query: Horvitz-Thompson, predictions only, and the difference estimate."""
    ranking, ties = ((), ()) if page is None else (page.documents, page.ties)
    weight = rank_weights(measure, len(ranking), top)
    if measure.views.rule.leaves_ties and len(ranking):  # every order is equally likely
        weight = np.repeat(np.add.reduceat(weight, np.cumsum((0, *ties[:-1]))) / ties, ties)
    drawn = np.array([human.get(d, -1) >= 0 for d in ranking], bool)
    gain = measure.gains.of(np.array([human.get(d, 0.0) for d in ranking], np.float64), top)
    predicted_gain = measure.gains.of(np.array([predicted.get(d, 0.0) for d in ranking], np.float64), top)
    pooled = np.array([d in chances for d in ranking], bool)
    # Documents outside the pool were never to be judged; they count as not relevant, as in every other measure.
    pi = np.array([chances.get(d, 1.0) for d in ranking], np.float64)
    predicted_gain = np.where(pooled, predicted_gain, 0)
    values = np.where(pooled, np.where(drawn, gain, np.nan), 0.0)
    weight = np.where(pooled, weight, 0)
    plain = survey.difference_estimate(weight, values, pi).estimate
    both = survey.difference_estimate(weight, values, pi, predicted_gain).estimate
    return plain, float((weight * predicted_gain).sum()), both


def judged_per_query(judgments: Judgments) -> float:
    """The mean number of judged documents of a query."""
    return float((judgments.grade >= 0).sum() / max(len(judgments.queries), 1))


def mapping_of(judgments: Judgments) -> Mapping[str, Mapping[str, float]]:
    """The judgments as ``{query: {document: grade}}``."""
    documents, grades = list(judgments.documents), judgments.grade.tolist()
    begin = judgments.begin.tolist()
    return {
        query: dict(zip(documents[begin[q] : begin[q + 1]], grades[begin[q] : begin[q + 1]], strict=True))
        for q, query in enumerate(judgments.queries)
    }
