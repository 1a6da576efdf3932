"""Which documents' words matter: those that somebody judged, and those that a run has near the top."""

from __future__ import annotations

from collections.abc import Iterable

from cranfield.data import Judgments, Run, Strings
from cranfield.io.runs import join, nothing

DEPTH = 20
WHOLE_RANKING = 1 << 62


def wanted(judgments: Judgments | None, runs: Iterable[Run] = (), depth: int | None = DEPTH) -> frozenset[str]:
    """Judged documents, and those that any order of ties may put among the first ``depth``, or all, of a judged query.

    >>> from cranfield.io import read_qrels, read_run
    >>> run = read_run({"q": {"a": 3, "b": 2, "c": 2, "d": 1}, "unjudged": {"e": 1}})
    >>> sorted(wanted(read_qrels({"q": {"z": 1}}), [run], depth=2))
    ['a', 'b', 'c', 'z']
    """
    found = set(judgments.documents if judgments else ())
    queries = None if judgments is None else frozenset(judgments.queries)
    for run in runs:
        for query, names in top(run, depth).items():
            if queries is None or query in queries:
                found |= names
    return frozenset(found)


def top(run: Run, depth: int | None = DEPTH) -> dict[str, set[str]]:
    """For each query the documents that any order of ties may put among the first ``depth``."""
    # Scores that are the same in 32 bits are tied for some tools, so that more documents may be near the top.
    joined = join(run, nothing(), ["score32"], by_id=False, top=WHOLE_RANKING if depth is None else depth)
    queries, tops = Strings(*joined["other"]), joined["tops"][0]
    found: dict[str, set[str]] = {query: set() for query in queries}
    for query, document in zip(tops["query"].tolist(), Strings(*tops["document"]), strict=True):
        found[queries[query]].add(document)
    return found
