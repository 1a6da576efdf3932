"""The first documents of each query as shown to a reader: with unjudged documents and marked ties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cranfield.data import Integers, Judgments, Run, Strings
from cranfield.io.runs import WHOLE_RANKING, TopDocuments
from cranfield.ranking.alignment import Aligner
from cranfield.ranking.tie_rules import TieRule, Ties, tie_rule


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
    positions = tops.positions
    rank = positions.start + getattr(positions, rule.page_position)
    kept = np.flatnonzero(rank < depth)
    kept = kept[np.lexsort((rank[kept], positions.query[kept]))]
    query, start = positions.query[kept], positions.start[kept]
    names = list(tops.ids.take(kept))
    begin = np.searchsorted(query, np.arange(len(queries) + 1))
    pages = {}
    for q in np.flatnonzero(length >= 0).tolist():
        rows = slice(begin[q], begin[q + 1])
        first_of_tie = np.flatnonzero(np.diff(start[rows], prepend=-1, append=-1))
        pages[queries[q]] = FirstPage(tuple(names[rows]), tuple(np.diff(first_of_tie).tolist()), int(length[q]))
    return pages


def ranked_lists(
    runs: Sequence[Run], judgments: Judgments | None = None, ties: Ties | None = None, depth: int = WHOLE_RANKING
) -> list[dict[str, list[str]]]:
    """For each run the documents of every query in order, down to a depth; judged or not."""
    if judgments is None:
        none = Strings.of([])
        judgments = Judgments("", none, np.zeros(1, np.int64), none, np.zeros(0))
    aligner, rule = Aligner(judgments), tie_rule(ties)
    lists = []
    for run in runs:
        read = aligner.read(run, [rule.key], by_id=rule.page_position == "by_id", top=depth)
        alignment = read.alignments[rule.key]
        names = [*judgments.queries, *alignment.other]
        lengths = np.concatenate([alignment.length, alignment.other_length])
        pages = first_pages(read.tops[rule.key], names, lengths, depth, rule)
        lists.append({query: list(page.documents) for query, page in pages.items()})
    return lists
