"""The first page of each query as a person would see it: documents nobody judged included, ties marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cranfield import formats
from cranfield.data import Run
from cranfield.formats.repeats import codes_of
from cranfield.views import Ties


class Ranking(NamedTuple):
    """The first documents of one query, ordered as scores and the rule for ties have them.

    ``ties``: the lengths of the groups of one score that follow each other; the last may be cut by the page's end.
    ``length``: how many documents the whole ranking has.
    """

    documents: tuple[str, ...]
    ties: tuple[int, ...]
    length: int


def rankings(run: Run, queries: Sequence[str], depth: int, ties: Ties | None = None) -> dict[str, Ranking]:
    """The first ``depth`` documents of those of the queries that the run answers.

    Rules for ties that have no one order are shown as trec_eval would order them.

    >>> run = formats.read_run({"q": {"a": 1.0, "b": 2.0, "c": 1.0}})
    >>> rankings(run, ["q", "r"], 2)
    {'q': Ranking(documents=('b', 'c'), ties=(1, 1), length=3)}
    """
    table = formats.load(run)
    names, query = codes_of(table.query)
    worth = table.score.astype(np.float32) if ties == "trec9" else table.score
    if ties == "rank":
        worth = -(np.arange(len(worth), dtype=np.float64) if table.rank is None else table.rank)
    order = np.lexsort((-worth, query))
    begin = np.searchsorted(query[order], np.arange(len(names) + 1))
    wanted, found = set(queries), {}
    for q, name in enumerate(names):
        if name not in wanted:
            continue
        rows = order[begin[q] : begin[q + 1]]
        if ties not in ("input", "rank"):
            last = worth[rows[min(depth, len(rows)) - 1]]
            near = rows[worth[rows] >= last]
            # Ids are compared as bytes, from the highest down.
            ids = [document.encode("utf-8", "surrogateescape") for document in table.document.take(near)]
            rows = near[[at for _, _, at in sorted(zip(worth[near], ids, range(len(ids)), strict=True), reverse=True)]]
        page = rows[:depth]
        value = worth[page]
        edges = np.flatnonzero(np.concatenate([[True], value[1:] != value[:-1], [True]]))
        length = int(begin[q + 1] - begin[q])
        found[name] = Ranking(tuple(table.document.take(page)), tuple(np.diff(edges).tolist()), length)
    return found
