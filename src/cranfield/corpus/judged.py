"""Judged documents and their words together: what can be read of a ranking, and what its subtopics are about."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from cranfield.corpus.corpus import Corpus
from cranfield.corpus.gains import gained, nearness
from cranfield.corpus.models import Models
from cranfield.data import Floats, Integers, Judgments

# What counts as relevant to what: the lowest grade, and whether a query is taken as one subtopic.
View = tuple[float, bool]


@dataclass(frozen=True, eq=False)
class Relevant:
    """Rows of judgments that are relevant to something: to which subtopic of their query, counted within it.

    ``names`` has for each query its subtopics, in this order.
    """

    row: Integers
    query: Integers
    subtopic: Integers
    names: list[list[str]]


class Reading:
    """Judgments, and the words of the documents that they speak of, so far as a corpus has them.

    ``document`` (row of the judgments + 1,) counts the corpus' documents; -1 where it does not have the document, and
    for row -1, which stands for none.
    """

    def __init__(self, judgments: Judgments, corpus: Corpus) -> None:
        place = corpus.place
        self.judgments, self.corpus, self.words = judgments, corpus, corpus.counts
        self.document = np.array([*(place.get(name, -1) for name in judgments.documents), -1], np.int64)
        self._relevant: dict[View, Relevant] = {}
        self._models: dict[View, Models] = {}

    def relevant(self, view: View) -> Relevant:
        """What is relevant to what."""
        if view not in self._relevant:
            self._relevant[view] = _relevant(self.judgments, view)
        return self._relevant[view]

    def models(self, view: View) -> Models:
        """The models of all queries; relevant documents that the corpus does not have are left out of them."""
        if view not in self._models:
            found = self.relevant(view)
            document = self.document[found.row]
            here = document >= 0
            # Of no judgments at all there is one model that says nothing, for rankings that nobody judged.
            shape = max(len(found.names), 1), max([1, *map(len, found.names)])
            self._models[view] = Models.learnt(
                self.words, found.query[here], found.subtopic[here], document[here], shape
            )
        return self._models[view]

    def nearness(self, query: Integers, rows: Integers, view: View, mu: float) -> Floats:
        """How near rankings (row, rank) of rows of the judgments come to each subtopic; see `gains.nearness`."""
        found = nearness(self.models(view), np.maximum(query, 0), self.document[rows], mu)
        return np.where(query[:, None, None] < 0, np.nan, found)

    def gains(self, query: Integers, rows: Integers, view: View, mu: float) -> Floats:
        """g(i, k) of these rankings, (row, rank, subtopic)."""
        return gained(self.nearness(query, rows, view, mu))

    def defined(self, query: Integers, view: View, mu: float) -> npt.NDArray[np.bool_]:
        """Queries with at least one subtopic that has a model."""
        return (query >= 0) & ~np.isnan(self.models(view).divergence(mu)[query]).all(axis=1)

    def absent(self, view: View) -> tuple[int, int]:
        """How many of the relevant documents the corpus does not have, and how many there are."""
        rows = np.unique(self.relevant(view).row)
        return int((self.document[rows] < 0).sum()), len(rows)

    def silent(self, view: View, mu: float) -> tuple[int, int]:
        """How many of the subtopics with a relevant document have no model, and how many there are."""
        many = sum(map(len, self.relevant(view).names))
        return many - int((~np.isnan(self.models(view).divergence(mu))).sum()), many

    def learnt(self, view: View, mu: float) -> Integers:
        """`absent` and `silent` of each query, one after the other: (query, 4)."""
        found, queries = self.relevant(view), len(self.judgments.queries)
        rows = np.unique(found.row)
        gone = rows[self.document[rows] < 0]
        absent, relevant = (np.bincount(_queries(self.judgments, some), minlength=queries) for some in (gone, rows))
        many = np.array([len(names) for names in found.names], np.int64)
        known = (~np.isnan(self.models(view).divergence(mu))).sum(axis=1)[:queries]
        return np.stack([absent, relevant, many - known, many], axis=1)


def _relevant(judgments: Judgments, view: View) -> Relevant:
    queries = len(judgments.queries)
    rel, whole = view
    if whole or judgments.labels is None:
        row = np.flatnonzero(judgments.grade >= rel)
        query = _queries(judgments, row)
        counts = np.bincount(query, minlength=queries)
        return Relevant(row, query, np.zeros_like(row), [[""] if n else [] for n in counts.tolist()])
    labels = judgments.labels
    kept = labels.grade >= rel
    row, named = labels.document[kept], labels.subtopic[kept]
    query = _queries(judgments, row)
    distinct, code = np.unique(query * len(labels.names) + named, return_inverse=True)
    owner, name = np.divmod(distinct, len(labels.names))
    begin = np.searchsorted(owner, np.arange(queries + 1))
    names = [[labels.names[int(n)] for n in name[a:b]] for a, b in pairwise(begin)]
    return Relevant(row, query, code - begin[query], names)


def _queries(judgments: Judgments, row: Integers) -> Integers:
    return np.searchsorted(judgments.begin, row, side="right") - 1
