"""Statistics of a collection: judgments per query; lengths, ties and unjudged documents of runs; how deep to judge.

The statistics of judgments are those of Table 1 in Sakai, *Alternatives to Bpref* (SIGIR 2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield import io
from cranfield.codec import plain
from cranfield.data import Integers, Judgments, Run, Table
from cranfield.display import Displayed
from cranfield.errors import UsageError
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.evaluator import read_runs
from cranfield.evaluation.run_notes import judged_documents
from cranfield.io.columns import Duplicates, codes_of
from cranfield.io.runs import empty_index
from cranfield.measures import Measure, parse
from cranfield.ranking.alignment import Aligner
from cranfield.ranking.rankings import Judged, Pool, Rankings
from cranfield.statistics.rounding import SAME
from cranfield.wording import listed

TOP = 10  # depth for the share of unjudged documents near the top


@dataclass(frozen=True, eq=False)
class JudgmentStatistics:
    """Counts of judged documents by query; a negative grade is not a judgment.

    ``relevant`` (R), ``nonrelevant`` (N) and ``by_grade`` depend on ``rel``, the lowest relevant grade.
    """

    name: str
    queries: tuple[str, ...]
    rel: float
    judged: Integers
    relevant: Integers
    nonrelevant: Integers
    by_grade: dict[float, Integers]

    @property
    def more_relevant(self) -> tuple[str, ...]:
        """The queries with more relevant than nonrelevant judged documents (R > N)."""
        return tuple(np.array(self.queries, object)[self.relevant > self.nonrelevant])

    @property
    def without_relevant(self) -> tuple[str, ...]:
        """The queries without relevant documents (R = 0)."""
        return tuple(np.array(self.queries, object)[self.relevant == 0])

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "name": self.name,
            "queries": len(self.queries),
            "rel": self.rel,
            "judged": _range(self.judged),
            "N": _range(self.nonrelevant),
            "R": _range(self.relevant),
            "grades": {f"{grade:g}": _range(counts) for grade, counts in self.by_grade.items()},
            "more_relevant": list(self.more_relevant),
            "without_relevant": list(self.without_relevant),
        }


@dataclass(frozen=True, eq=False)
class RunStatistics:
    """Counts of one run over the judged queries that it answers.

    ``answered``, ``missing``: judged queries in the run, and not in it. ``other``: queries of the run without
    judgments. ``length``: documents of each answered query. ``tied``: documents that share their score with another one
    of their query; ``tied_queries``: queries with such documents; ``largest_tie``: documents of the largest tie.
    ``unjudged``, ``unjudged_at_top``: the share of unjudged documents, of all and of the first ten; in a tie that rank
    10 divides, the expected share.
    """

    name: str
    answered: int
    missing: int
    other: int
    length: Integers
    tied: int
    tied_queries: int
    largest_tie: int
    unjudged: float
    unjudged_at_top: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        counts = vars(self) | {"length": _range(self.length)}
        return plain({name: value for name, value in counts.items() if name != "name"})


@dataclass(frozen=True, eq=False, repr=False)
class CollectionStatistics(Displayed):
    """The statistics of judgments and of any number of runs."""

    _SHOWN_BY = "collection"

    judgments: JudgmentStatistics
    runs: tuple[RunStatistics, ...]

    def __repr__(self) -> str:
        runs = listed([run.name for run in self.runs], "run")
        return f"CollectionStatistics: {listed(self.judgments.queries, 'query')}, {runs}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"judgments": self.judgments.to_dict(), "runs": {run.name: run.to_dict() for run in self.runs}}


def collection_statistics(qrels: Any, runs: Any = ()) -> CollectionStatistics:
    """The statistics of judgments and runs, which are given as to `evaluate`.

    >>> found = collection_statistics({"q": {"a": 2, "b": 0, "c": 0}}, {"q": {"a": 1.0, "x": 1.0}})
    >>> found.judgments.relevant.tolist(), found.runs[0].tied, found.runs[0].unjudged
    ([1], 2, 0.5)
    """
    collection = Collection.of(qrels)
    judgments = collection.judgments
    aligner = Aligner(judgments)
    given = read_runs(runs) if not isinstance(runs, (list, tuple)) or len(runs) else []
    return CollectionStatistics(
        judgment_statistics(judgments, collection.rel), tuple(run_statistics(aligner, run) for run in given)
    )


def judgment_statistics(judgments: Judgments, rel: float = 1.0) -> JudgmentStatistics:
    """Counts of judged documents by query."""
    query = np.repeat(np.arange(len(judgments.queries)), np.diff(judgments.begin))
    grade = judgments.grade

    def count(chosen: Any) -> Integers:
        return np.bincount(query[chosen], minlength=len(judgments.queries))

    judged, relevant = count(grade >= 0), count(grade >= rel)
    levels = np.unique(grade[grade >= rel]).tolist()
    by_grade = {float(level): count(grade == level) for level in levels}
    queries = tuple(judgments.queries)
    return JudgmentStatistics(judgments.name, queries, rel, judged, relevant, judged - relevant, by_grade)


def run_statistics(aligner: Aligner, run: Run) -> RunStatistics:
    """The lengths, ties and unjudged documents of a run."""
    alignment = aligner.align(run, by_id=False)
    length = alignment.length
    groups, group_query = _tie_groups(io.load(run), set(aligner.judgments.queries))
    tied = groups > 1
    return RunStatistics(
        run.name,
        int((length >= 0).sum()),
        int((length < 0).sum()),
        len(alignment.other),
        length[length >= 0],
        int(groups[tied].sum()),
        len(np.unique(group_query[tied])),
        int(groups.max(initial=0)),
        *(counts.unjudged for counts in judged_documents(alignment, [None, TOP])),
    )


def _tie_groups(table: Table, judged: set[str]) -> tuple[Integers, Integers]:
    """The number of documents of each score of a judged query, and that query."""
    names, query = codes_of(table.query)
    is_judged = np.array([name in judged for name in names], bool)
    chosen = np.flatnonzero(is_judged[query]) if len(names) else np.zeros(0, np.int64)
    query, score = query[chosen], table.score[chosen] + 0.0  # -0.0 and 0.0 are equal
    order = np.lexsort((score, query))
    query, score = query[order], score[order]
    new = np.append(True, (np.diff(query) != 0) | (score[1:] != score[:-1]))[: len(query)]
    first = np.flatnonzero(new)
    return np.diff(np.append(first, len(query))), query[first]


def _range(counts: Integers) -> dict[str, Any]:
    """The lowest, highest and mean count, and their sum."""
    if not len(counts):
        return {"lowest": None, "highest": None, "mean": None, "total": 0}
    lowest, highest, total = int(counts.min()), int(counts.max()), int(counts.sum())
    return {"lowest": lowest, "highest": highest, "mean": total / len(counts), "total": total}


# How deep to judge: the depth at which the residual of a measure is small enough, and the judgments that it takes.
#
# The residual is the score that unjudged documents could still add. If the first k documents of a ranking are judged,
# the residual of RBP is p^k, so that a wanted uncertainty decides k (Moffat and Zobel, 2008; Moffat, 2013, section 5).

DEEPEST = 1 << 20  # depths up to this are tried


def depth_for(measure: str | Measure, residual: float) -> int | None:
    """The smallest depth at which the residual is at most ``residual``; None if no depth is enough.

    All documents of the ranking down to the depth are judged.

    >>> depth_for("RBP(p=0.8)", 0.01), depth_for("RBP(p=0.95)", 0.01), depth_for("InvSq", 0.01)
    (21, 90, 99)
    """
    if not 0 < residual < 1:
        raise UsageError(f"the residual must be between 0 and 1, not {residual:g}")
    parsed, low, high = parse(measure), 0, 1
    while residual_at(parsed, high) > residual + SAME:
        low, high = high, 2 * high
        if high > DEEPEST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if residual_at(parsed, middle) <= residual + SAME else (middle, high)
    return high


def residual_at(measure: Measure, depth: int) -> float:
    """The residual of a ranking of judged documents that are not relevant; relevant ones may leave less."""
    grade, rank, none = np.zeros(depth), np.arange(depth), np.zeros(depth, np.int64)
    query = np.zeros(1, np.int64)
    pool = Pool.of(Judged(grade, 1.0), none, rank, query - 1)
    rankings = Rankings(pool, query + depth, none, rank, rank, none + 1, none, none)
    return float(measure.residual(rankings).value[0])


def pooled_documents(runs: Any, depth: int, duplicates: Duplicates = "error") -> dict[str, set[str]]:
    """The documents of each query that are among the first ``depth`` of any run; ties as in trec_eval."""
    pools: dict[str, set[str]] = {}
    for run in read_runs(runs, duplicates=duplicates):
        joined = io.join(run, empty_index(), ["score"], by_id=True, top=depth)
        queries, (ids, positions) = list(joined.queries.other), joined.tops[0]
        kept = np.flatnonzero(positions.start + positions.by_id < depth)
        for query, document in zip(positions.query[kept].tolist(), ids.take(kept), strict=True):
            pools.setdefault(queries[query], set()).add(document)
    return pools


def judged_of(pools: dict[str, set[str]], qrels: Any) -> int:
    """The number of pooled documents that are judged already."""
    judgments = Collection.of(qrels).judgments
    documents, begin = list(judgments.documents), judgments.begin.tolist()
    judged = 0
    for q, query in enumerate(judgments.queries):
        if query in pools:
            rows = range(begin[q], begin[q + 1])
            judged += sum(documents[row] in pools[query] for row in rows if judgments.grade[row] >= 0)
    return judged


def depths_for(measures: Sequence[str], residuals: Sequence[float]) -> dict[str, dict[float, int | None]]:
    """`depth_for` every measure and residual."""
    return {measure: {residual: depth_for(measure, residual) for residual in residuals} for measure in measures}
