"""Language models of the subtopics of queries, estimated from their relevant documents.

A model has the summed counts of its documents, smoothed by the collection: P(v|Θ) = (c(v) + μ P(v|D)) / (L + μ). This
is the Dirichlet smoothing that Hui et al. (2017) describe; `printed` has their equations 5 and 6. Terms that do not
occur in the collection are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cranfield.data import Floats, Integers

if TYPE_CHECKING:
    from cranfield.corpus.corpus import Corpus

MIN_DIVERGENCE = 1e-12  # a model closer to the collection than this is the same as the collection


def group_sums(group: Integers, values: Floats, size: int) -> Floats:
    """The sum of the values of each group, numbered from 0 to size - 1."""
    return np.bincount(group, values, size).astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class TermCounts:
    """Documents as term counts, and the background model: ``share`` (t,) is P(v|D).

    Rows ``begin[d]:begin[d + 1]`` are document d's terms, ascending, and their counts.
    """

    begin: Integers
    term: Integers
    count: Floats
    share: Floats

    @classmethod
    def of(cls, corpus: Corpus) -> TermCounts:
        """The terms of a corpus that occur in its collection."""
        share = corpus.frequency / max(corpus.total, 1)
        kept = share[corpus.term] > 0
        begin = np.concatenate([[0], np.cumsum(kept)])[corpus.begin]
        return cls(begin, corpus.term[kept], corpus.count[kept].astype(np.float64), share)

    @cached_property
    def length(self) -> Floats:
        """The length of each document, (d + 1,); the last one is 0, for the row -1 of a missing document."""
        return np.append(np.diff(np.concatenate([[0.0], np.cumsum(self.count)])[self.begin]), 0)

    @cached_property
    def size(self) -> Integers:
        """The number of distinct terms of each document, (d + 1,), as `length`."""
        return np.append(np.diff(self.begin), 0)

    def rows(self, documents: Integers) -> tuple[Integers, Integers]:
        """For each term of several documents: the index of its document, and its row here. Document -1 has no terms."""
        sizes = self.size[documents]
        owner = np.repeat(np.arange(len(documents)), sizes)
        return owner, np.arange(len(owner)) + np.repeat(self.begin[documents] - (np.cumsum(sizes) - sizes), sizes)


@dataclass(frozen=True, eq=False)
class Models:
    """The models of the subtopics of all queries, before smoothing.

    ``key`` (n,): query and term, as query · terms + term, ascending; ``count`` (n, s): its count in each subtopic.
    ``length`` (q, s): words in the documents of a subtopic; ``documents`` (q, s): the number of these documents.
    """

    words: TermCounts
    key: Integers
    count: Floats
    length: Floats
    documents: Integers

    @classmethod
    def estimate(
        cls, words: TermCounts, query: Integers, subtopic: Integers, document: Integers, shape: tuple[int, int]
    ) -> Models:
        """Models from rows of a query, a subtopic and a document that is relevant to it.

        ``shape`` is the number of queries, and the largest number of subtopics of a query.
        """
        terms, (queries, subtopics) = len(words.share), shape
        owner, row = words.rows(document)
        key, row_of_key = np.unique(query[owner] * terms + words.term[row], return_inverse=True)
        cell = row_of_key * subtopics + subtopic[owner]
        count = group_sums(cell, words.count[row], len(key) * subtopics).reshape(-1, subtopics)
        model = query * subtopics + subtopic
        length = group_sums(model, words.length[document], queries * subtopics).reshape(-1, subtopics)
        documents = np.bincount(model, minlength=queries * subtopics).reshape(-1, subtopics)
        return cls(words, key, count, length, documents)

    @cached_property
    def _divergences(self) -> dict[float, Floats]:
        """Results of `divergence`, by mu."""
        return {}

    @cached_property
    def query(self) -> Integers:
        """The query of each row, (n,)."""
        return self.key // len(self.words.share)

    def at(self, query: Integers, term: Integers) -> Integers:
        """The rows of these terms in the models of these queries; -1 if no subtopic has the term."""
        key = query * len(self.words.share) + term
        row = np.searchsorted(self.key, key)
        row[row == len(self.key)] = -1
        return np.where(self.key[row] == key, row, -1) if len(self.key) else np.full_like(key, -1)

    def divergence(self, mu: float) -> Floats:
        """KLD(Θ_q‖Θ_D) of every subtopic, (q, s); NaN if there is no model, or if it equals the collection.

        Σ P(v|Θ) log(P(v|Θ) / P(v|D)) over the terms of the model, plus log(μ / (L + μ)) for all other terms.
        """
        if mu not in self._divergences:
            base = mu * self.words.share[self.key % len(self.words.share)][:, None]
            by_term = (self.count + base) * np.log1p(self.count / base)
            total = np.stack([group_sums(self.query, column, len(self.length)) for column in by_term.T], axis=1)
            divergence = total / (self.length + mu) - np.log1p(self.length / mu)
            self._divergences[mu] = np.where((self.documents > 0) & (divergence > MIN_DIVERGENCE), divergence, np.nan)
        return self._divergences[mu]
