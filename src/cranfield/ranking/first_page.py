"""The first documents of each query as shown to a reader: with unjudged documents and marked ties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cranfield.data import Integers
from cranfield.ranking.alignment import TopDocuments
from cranfield.ranking.tie_rules import TieRule


class FirstPage(NamedTuple):
    """The first documents of one query, ordered by score and tie rule.

    ``ties``: the sizes of the groups of documents with equal scores, in order; the end of the page may cut the last
    one. ``length``: the number of documents in the ranking.
    """

    documents: tuple[str, ...]
    ties: tuple[int, ...]
    length: int


def first_pages(
    tops: TopDocuments, queries: Sequence[str], length: Integers, depth: int, rule: TieRule
) -> dict[str, FirstPage]:
    """The first ``depth`` documents of every query that the run answers; ``queries`` names the rows of ``length``.

    A tie rule without a single order is shown in the order of trec_eval.
    """
    position = tops.start + getattr(tops, rule.page_position)
    kept = np.flatnonzero(position < depth)
    kept = kept[np.lexsort((position[kept], tops.query[kept]))]
    query, start = tops.query[kept], tops.start[kept]
    names = list(tops.document.take(kept))
    begin = np.searchsorted(query, np.arange(len(queries) + 1))
    pages = {}
    for q in np.flatnonzero(length >= 0).tolist():
        rows = slice(begin[q], begin[q + 1])
        first_of_tie = np.flatnonzero(np.diff(start[rows], prepend=-1, append=-1))
        pages[queries[q]] = FirstPage(tuple(names[rows]), tuple(np.diff(first_of_tie).tolist()), int(length[q]))
    return pages
