"""The first documents of each query as a person would see them: unjudged ones included, ties marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cranfield.data import Integers
from cranfield.ranking.alignment import TopDocuments
from cranfield.ranking.tie_rules import TieRule


class FirstPage(NamedTuple):
    """The first documents of one query, ordered by score and tie rule.

    ``ties``: the sizes of the groups of equal score that follow each other; the last may be cut by the page's end.
    ``length``: how many documents the whole ranking has.
    """

    documents: tuple[str, ...]
    ties: tuple[int, ...]
    length: int


def first_pages(
    tops: TopDocuments, queries: Sequence[str], length: Integers, depth: int, rule: TieRule
) -> dict[str, FirstPage]:
    """The first ``depth`` documents of every query that the run answers; ``queries`` names the rows of ``length``.

    A rule without one order is shown in trec_eval's order.
    """
    position = tops.start + getattr(tops, rule.page_position)
    kept = np.flatnonzero(position < depth)
    kept = kept[np.lexsort((position[kept], tops.query[kept]))]
    query, start = tops.query[kept], tops.start[kept]
    names = list(tops.document.take(kept))
    begin = np.searchsorted(query, np.arange(len(queries) + 1))
    pages = {}
    for q in np.flatnonzero(length >= 0).tolist():
        mine = slice(begin[q], begin[q + 1])
        new = np.flatnonzero(np.diff(start[mine], prepend=-1, append=-1))
        pages[queries[q]] = FirstPage(tuple(names[mine]), tuple(np.diff(new).tolist()), int(length[q]))
    return pages
