"""The cost of the expectation over tied documents, against that of breaking ties.

McSherry and Najork (ECIR 2008), section 3, measured both in memory, including the sort, on 28,043 queries scored by a
feature with few values, the in-degree of web pages. A collection of this kind is generated here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cranfield import io
from cranfield.data import Floats, Integers, Judgments, Run, Strings, Table
from cranfield.errors import MeasureError, check_count
from cranfield.measures import Measure, parse
from cranfield.ranking.batch import ragged
from cranfield.ranking.rankings import Judged, Pool, Rankings
from cranfield.studies.ties.experiment import DEFAULT

QUERIES = 28_043  # the number of queries in the paper
TOP_GRADE = 4


@dataclass(frozen=True, eq=False)
class FeatureScores:
    """Queries with documents that are all judged, and one feature of every document as its score.

    ``query``, ``score``, ``grade``: of each document, in no order within a query; ``size``: documents per query.
    """

    query: Integers
    score: Floats
    grade: Floats
    size: Integers

    @property
    def tied(self) -> float:
        """The share of documents that have the score of another document of their query."""
        rankings = self.rankings(self.sort(), ties=True)
        return float((rankings.size > 1).mean())

    def sort(self) -> Integers:
        """The order of documents by query and descending score; equal scores keep their input order."""
        return np.lexsort((-self.score, self.query))

    def pool(self) -> Pool:
        """All judged documents: what does not depend on the scores."""
        judged = Judged(self.grade, float(self.grade.max(initial=0)))
        return Pool.of(judged, self.query, np.arange(len(self.query)), np.arange(len(self.size)))

    def rankings(self, order: Integers, *, ties: bool, pool: Pool | None = None) -> Rankings:
        """The rankings in this order: with tie groups, or with every document at a rank of its own."""
        query, position = self.query[order], ragged(self.size)[1]
        none = np.zeros(len(order), np.int64)
        start, size = position, none + 1
        if ties:
            score = self.score[order]
            first_of_group = np.append(True, (query[1:] != query[:-1]) | (score[1:] != score[:-1]))
            first, group = np.flatnonzero(first_of_group), np.cumsum(first_of_group) - 1
            start, size = position[first][group], np.diff(np.append(first, len(order)))[group]
        by_position = position - start
        return Rankings(pool or self.pool(), self.size, query, order, start, size, by_position, by_position)

    def judgments(self) -> Judgments:
        """The grades as judgments."""
        begin = np.append(0, np.cumsum(self.size))
        return Judgments("feature", self._names("q", len(self.size)), begin, self._documents(), self.grade)

    def run(self) -> Run:
        """The scores as a run."""
        names = self._names("q", len(self.size))
        return Run("feature", Table(names.take(self.query), self._documents(), self.score))

    def save(self, folder: str) -> None:
        """Write ``qrels.txt`` and ``feature.run``."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        io.write_qrels(self.judgments(), path / "qrels.txt")
        io.write_run(self.run(), path / "feature.run")

    def _documents(self) -> Strings:
        return self._names("d", len(self.query))

    @staticmethod
    def _names(prefix: str, count: int) -> Strings:
        return Strings.of([f"{prefix}{i}" for i in range(1, count + 1)])


def feature_scores(queries: int = QUERIES, documents: int = 20, values: int = 10, seed: int = 0) -> FeatureScores:
    """Generate queries and documents, and a feature with few values, distributed like the in-degree of web pages.

    The feature has values from 1 to ``values``, with probabilities proportional to the inverse of the value; documents
    with a higher value are more often relevant.
    """
    queries, documents = check_count("queries", queries), check_count("documents", documents)
    values, seed = check_count("values", values), check_count("seed", seed, 0)
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 2 * documents, queries)
    query = np.repeat(np.arange(queries), size)
    weight = 1 / np.arange(1, values + 1)
    score = rng.choice(np.arange(1.0, values + 1), len(query), p=weight / weight.sum())
    chance = 0.03 + 0.2 * np.log(score) / max(np.log(values), 1)
    return FeatureScores(query, score, rng.binomial(TOP_GRADE, chance).astype(np.float64), size)


@dataclass(frozen=True)
class MeasureCost:
    """Seconds for one order of tied documents, and for the expectation over all orders, without the sort."""

    one_order: float
    expected: float

    def overhead(self, sort: float) -> float:
        """The additional time for the expectation, as a share of the time for one order; both include ``sort``."""
        return (sort + self.expected) / (sort + self.one_order) - 1


@dataclass(frozen=True)
class TieCosts:
    """Times of measures on one collection; ``sort``: seconds to sort all documents by query and score."""

    queries: int
    documents: int
    values: int
    tied: float
    repeats: int
    sort: float
    measures: dict[str, MeasureCost]


def tie_costs(
    data: FeatureScores,
    measures: Sequence[str | Measure] = DEFAULT,
    *,
    repeats: int = 5,
    progress: Callable[[int, int], None] | None = None,
) -> TieCosts:
    """The time for one order of tied documents, and for the expectation over all orders, of each measure.

    Everything is in memory. The time of a measure begins with the sorted documents, finds ties if it needs them, and
    ends with a score for every query. What depends on judgments only (R, the ideal ranking) is prepared before.
    """
    repeats = check_count("repeats", repeats)
    pool, order = data.pool(), data.sort()
    costs: dict[str, MeasureCost] = {}
    for i, given in enumerate(measures):
        measure = parse(given)
        if measure.definition.subtopics or measure.definition.content or measure.definition.preferences:
            message = f"{measure} cannot be computed from grades alone"
            raise MeasureError(message)
        expected = replace(measure, views=replace(measure.views, ties="expected"))
        pool.gains(measure.gains)

        def score_one_order(measure: Measure = measure) -> None:
            measure.values(data.rankings(order, ties=False, pool=pool))

        def score_all_orders(expected: Measure = expected) -> None:
            expected.values(data.rankings(order, ties=True, pool=pool))

        costs[str(measure)] = MeasureCost(_seconds(score_one_order, repeats), _seconds(score_all_orders, repeats))
        if progress is not None:
            progress(i + 1, len(measures))
    values = len(np.unique(data.score))
    sort = _seconds(data.sort, repeats)
    return TieCosts(len(data.size), len(data.query), values, data.tied, repeats, sort, costs)


def _seconds(work: Callable[[], object], repeats: int) -> float:
    """The shortest time of several calls, after one that is not measured."""
    work()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)
