"""How deep to judge: the depth at which the residual of a measure is small enough, and the judgments that it takes.

The residual is the score that unjudged documents could still add. If the first k documents of a ranking are judged, the
residual of RBP is p^k, so that a wanted uncertainty decides k (Moffat and Zobel, 2008; Moffat, 2013, section 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cranfield import io
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import read_runs
from cranfield.io.ids import Duplicates
from cranfield.io.runs import empty_index
from cranfield.measures import Measure, parse
from cranfield.ranking.rankings import Judged, Pool, Rankings
from cranfield.statistics.rounding import SAME

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
    judgments = io.read_qrels(qrels)
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
