"""The first page of each query as a person would see it: documents nobody judged included, ties marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cranfield import formats
from cranfield.data import Run
from cranfield.formats.repeats import codes_of


class Ranking(NamedTuple):
    """The first documents of one query, ordered as trec_eval would.

    ``ties``: the lengths of the groups of one score that follow each other; the last may be cut by the page's end.
    ``length``: how many documents the whole ranking has.
    """

    documents: tuple[str, ...]
    ties: tuple[int, ...]
    length: int


def rankings(run: Run, queries: Sequence[str], depth: int) -> dict[str, Ranking]:
    """The first ``depth`` documents of those of the queries that the run answers.

    >>> run = formats.read_run({"q": {"a": 1.0, "b": 2.0, "c": 1.0}})
    >>> rankings(run, ["q", "r"], 2)
    {'q': Ranking(documents=('b', 'c'), ties=(1, 1), length=3)}
    """
    table = formats.load(run)
    names, query = codes_of(table.query)
    order = np.lexsort((-table.score, query))
    begin = np.searchsorted(query[order], np.arange(len(names) + 1))
    wanted, found = set(queries), {}
    for q, name in enumerate(names):
        if name not in wanted:
            continue
        rows = order[begin[q] : begin[q + 1]]
        last = table.score[rows[min(depth, len(rows)) - 1]]
        near = rows[table.score[rows] >= last]
        # Ids are compared as bytes, from the highest down.
        ids = [document.encode("utf-8", "surrogateescape") for document in table.document.take(near)]
        page = sorted(zip(table.score[near].tolist(), ids, strict=True), reverse=True)[:depth]
        edges = np.flatnonzero(np.diff([score for score, _ in page], prepend=np.nan, append=np.nan) != 0)
        documents = tuple(document.decode("utf-8", "surrogateescape") for _, document in page)
        found[name] = Ranking(documents, tuple(np.diff(edges).tolist()), len(rows))
    return found
