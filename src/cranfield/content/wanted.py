"""Which documents' words matter: those that somebody judged, and those that a run has near the top."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from cranfield import core
from cranfield.data import Judgments, Run
from cranfield.formats import join, load
from cranfield.formats.repeats import codes_of

DEPTH = 20


def wanted(judgments: Judgments | None, runs: Iterable[Run] = (), depth: int = DEPTH) -> frozenset[str]:
    """Judged documents, and those that any order of ties may put among the first ``depth`` of a judged query.

    >>> from cranfield.formats import read_qrels, read_run
    >>> run = read_run({"q": {"a": 3, "b": 2, "c": 2, "d": 1}, "unjudged": {"e": 1}})
    >>> sorted(wanted(read_qrels({"q": {"z": 1}}), [run], depth=2))
    ['a', 'b', 'c', 'z']
    """
    found = set(judgments.documents if judgments else ())
    queries = None if judgments is None else frozenset(judgments.queries)
    for run in runs:
        found.update(_top(run, queries, depth))
    return frozenset(found)


def _top(run: Run, queries: frozenset[str] | None, depth: int) -> Iterator[str]:
    """The run's own documents as an index, so that the join says where they stand."""
    table = load(run)
    names, query_of = codes_of(table.query)
    order = np.argsort(query_of, kind="stable")
    begin = np.searchsorted(query_of[order], np.arange(len(names) + 1))
    documents = table.document.take(order)
    index = core.Index((names.offsets, names.data), begin.astype(np.int64), (documents.offsets, documents.data))
    # Scores that are the same in 32 bits are tied for some, so that more documents may be near the top.
    rows = join(Run(run.name, table, run.place), index, "score32", by_id=False)
    answered = np.array([queries is None or name in queries for name in names])
    near = (rows["start"] < depth) & answered[rows["query"]]
    return iter(documents.take(rows["document"][near]))
