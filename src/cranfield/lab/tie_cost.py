"""The cost of the expectation over tied documents, against that of ties broken by document id.

McSherry and Najork (ECIR 2008), section 3, measured both in memory, including the sort, on 28,043 queries scored by a
feature with few values, the in-degree of web pages. A collection of this kind is generated here, and both are measured
as users run them, and without what surrounds the arithmetic.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from cranfield import io
from cranfield.data import Floats, Integers, Judgments, Run, Strings, Table
from cranfield.errors import InputError, MeasureError
from cranfield.evaluation.evaluator import Evaluator
from cranfield.evaluation.predicted import mapping_of
from cranfield.lab.studies.ties import ALL, DEFAULT
from cranfield.lab.study import Progress
from cranfield.measures import Measure, parse
from cranfield.parallel import followed
from cranfield.ranking.tie_rules import Ties
from cranfield.report.pages import Page, table
from cranfield.settings import Count, Whole, checked

QUERIES = 28_043  # the number of queries in the paper
TOP_GRADE = 4
RUN_FILE = "feature.run"
RULES: tuple[Ties, Ties] = ("trec", "expected")
# What is timed, with the judgments prepared. End to end: an `Evaluator` called with nested dicts, the same with a run
# file, and its means, which make no notes. Kernels: new scores of documents whose ids are matched, sorted and scored;
# and the arithmetic alone, from sorted documents to a score for each query.
SORTED = "sort and arithmetic"
COLUMNS = ("evaluate, dicts", "evaluate, file", "means, dicts", SORTED, "arithmetic")
WITHOUT_SORT = {"RR"}  # the best score of a relevant document, and counts of the documents above it and tied with it


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
        group = np.unique(np.stack([self.query, self.score]), axis=1, return_inverse=True)[1].reshape(-1)
        return float((np.bincount(group)[group] > 1).mean())

    def dicts(self) -> Mapping[str, Mapping[str, float]]:
        """The scores as nested dicts."""
        return mapping_of(replace(self.judgments(), grade=self.score))

    def judgments(self) -> Judgments:
        """The grades as judgments."""
        begin = np.append(0, np.cumsum(self.size))
        return Judgments("feature", _names("q", len(self.size)), begin, _names("d", len(self.query)), self.grade)

    def run(self) -> Run:
        """The scores as a run."""
        queries = _names("q", len(self.size)).take(self.query)
        return Run("feature", Table(queries, _names("d", len(self.query)), self.score))

    def save(self, folder: str | Path) -> None:
        """Write ``qrels.txt`` and ``feature.run``, neither of which may be there."""
        path = Path(folder)
        for name in ("qrels.txt", RUN_FILE):
            if (path / name).exists():
                raise InputError([f"{path / name}: the file already exists"], hint="choose another folder")
        path.mkdir(parents=True, exist_ok=True)
        io.write_qrels(self.judgments(), path / "qrels.txt")
        io.write_run(self.run(), path / RUN_FILE)


def _names(prefix: str, count: int) -> Strings:
    return Strings.of([f"{prefix}{i}" for i in range(1, count + 1)])


@checked
def feature_scores(
    queries: Annotated[Count, "Number of queries to generate; the default is that of the paper."] = QUERIES,
    documents: Annotated[Count, "Mean number of documents per query."] = 20,
    values: Annotated[Count, "Number of distinct scores."] = 10,
    seed: Whole = 0,
) -> FeatureScores:
    """Generate queries and documents, and a feature with few values, distributed like the in-degree of web pages.

    The feature has values from 1 to ``values``, with probabilities proportional to the inverse of the value; documents
    with a higher value are more often relevant.
    """
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 2 * documents, queries)
    query = np.repeat(np.arange(queries), size)
    weight = 1 / np.arange(1, values + 1)
    score = rng.choice(np.arange(1.0, values + 1), len(query), p=weight / weight.sum())
    chance = 0.03 + 0.2 * np.log(score) / max(np.log(values), 1)
    return FeatureScores(query, score, rng.binomial(TOP_GRADE, chance).astype(np.float64), size)


@dataclass(frozen=True)
class Times:
    """Seconds of the processor with ties broken by document id, and for the expectation over all orders."""

    trec: float
    expected: float

    @property
    def overhead(self) -> float:
        """The additional time for the expectation, as a share of the other."""
        return self.expected / self.trec - 1


@dataclass(frozen=True)
class TieCosts:
    """Times on one collection, by measure and by what is timed; see `COLUMNS`."""

    queries: int
    documents: int
    values: int
    tied: float
    repeats: int
    measures: dict[str, dict[str, Times]]


@checked
def tie_costs(
    data: FeatureScores,
    measures: Sequence[str | Measure] = DEFAULT,
    *,
    repeats: Annotated[
        Count, "Number of repetitions; both tie rules take turns; the shortest processor time counts."
    ] = 10,
    progress: Progress | None = None,
) -> TieCosts:
    """The cost of the expectation over ties, against ties broken by id.

    Section 3 of McSherry and Najork (ECIR 2008): queries are generated, and their documents are scored by a feature
    with few values. The judgments are prepared. Times are end to end (`evaluate` of dicts and of a run file; `means`,
    without notes), and of the kernels: the sort and the arithmetic of a measure, and the arithmetic alone. RR needs no
    sort, and is charged for none. ::

        cranfield study tie-cost
        cranfield study tie-cost --save feature && cranfield study ties feature/qrels.txt feature/feature.run
    """
    parsed = [parse(given) for given in measures]
    for measure in parsed:
        definition = measure.definition
        if definition.subtopics or definition.content or definition.preferences or definition.spans:
            raise MeasureError(f"{measure} cannot be computed from grades alone")
    rows = {str(measure): [measure] for measure in parsed} | ({ALL: parsed} if len(parsed) > 1 else {})
    costs: dict[str, dict[str, Times]] = {}
    with tempfile.TemporaryDirectory() as folder:
        data.save(folder)
        for name, chosen in followed(rows.items(), progress, len(rows)):
            timed = [timed_work(data, chosen, rule, Path(folder) / RUN_FILE) for rule in RULES]
            sorts = any(measure.definition.symbol not in WITHOUT_SORT for measure in chosen)
            costs[name] = {
                column: _times([work[column] for work in timed], repeats)
                for column in COLUMNS
                if sorts or column != SORTED
            }
    values = len(np.unique(data.score))
    return TieCosts(len(data.size), len(data.query), values, data.tied, repeats, costs)


def timed_work(
    data: FeatureScores, measures: Sequence[Measure], rule: Ties, file: Path
) -> dict[str, Callable[[], Any]]:
    """The functions to time for one tie rule, by column; ``file``: the run as a file."""
    ruled = [replace(measure, views=replace(measure.views, ties=rule)) for measure in measures]
    evaluator, run = Evaluator(data.judgments(), ruled), data.dicts()
    rescorer = evaluator.rescorer(data.run())
    parts = evaluator.evaluation(data.run()).run_scores[0].alignment.rankings

    def arithmetic() -> Floats:
        fresh = [replace(part, memo={}) for part in parts]  # rankings remember the views that were taken of them
        return np.array([np.concatenate([measure.values(part).value for part in fresh]) for measure in ruled])

    work = (
        lambda: evaluator(run),
        lambda: evaluator(file),
        lambda: evaluator.means(run),
        lambda: rescorer.values(data.score),
        arithmetic,
    )
    return dict(zip(COLUMNS, work, strict=True))


def _times(work: Sequence[Callable[[], object]], repeats: int) -> Times:
    """The shortest times of both, after a call of each that is not measured; both take turns to be the first.

    These are times of the processor, which other programs on the machine disturb less.
    """
    best = [np.inf, np.inf]
    for call in work:
        call()
    for repeat in range(repeats):
        for i in (repeat % 2, 1 - repeat % 2):
            begin = time.process_time()
            work[i]()
            best[i] = min(best[i], time.process_time() - begin)
    return Times(*best)


def cost_tables(costs: TieCosts) -> list[Page]:
    """The additional time for the expectation, with its range over measures; and the times themselves."""
    single = [times for measure, times in costs.measures.items() if measure != ALL]
    ranges = []
    for column in COLUMNS:
        shares = [times[column].overhead for times in single if column in times]
        if shares:
            ranges.append(f"{column} {min(shares):+.0%} to {max(shares):+.0%}")
    relative = f"Time with ties=expected over ties=trec, one measure at a time: {'; '.join(ranges)}"
    times = (
        f"Milliseconds of the processor, trec → expected: {costs.queries:,} queries with {costs.documents:,} documents,"
        f" scored by {costs.values} values ({costs.tied:.0%} tied); the shortest of {costs.repeats} measurements"
    )
    return [
        _cost_table(relative, costs, lambda times: f"{times.overhead:+.0%}"),
        _cost_table(times, costs, lambda times: f"{_milliseconds(times.trec)} → {_milliseconds(times.expected)}"),
    ]


def _cost_table(title: str, costs: TieCosts, text: Callable[[Times], str]) -> Page:
    rows = [
        (measure, [text(times[column]) if column in times else "no sort" for column in COLUMNS])
        for measure, times in costs.measures.items()
    ]
    heads = [column.replace(", ", ",\n").replace(" and ", " and\n") for column in COLUMNS]
    return table(title, ("measure",), heads, rows)


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.1f}" if seconds < 0.01 else f"{1000 * seconds:.0f}"
