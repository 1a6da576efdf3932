"""Language models of what queries are about, learnt from the documents that are relevant to each of their subtopics.

A model is the counts of its documents together, smoothed by the collection: P(v|Θ) = (c(v) + μ P(v|D)) / (L + μ), which
is eq 5 of Hui et al. (2017) with its two slips mended. A term that the collection does not have is nobody's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cranfield.data import Floats, Integers

if TYPE_CHECKING:
    from cranfield.corpus.corpus import Corpus

NOTHING = 1e-12  # a model no further than this from the collection says nothing that could be approached


def sums(place: Integers, values: Floats, size: int) -> Floats:
    """The sum of the values that have each place, from 0 up to a size."""
    return np.bincount(place, values, size).astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class Words:
    """Documents as counts of terms, and the background: ``share`` (t,) is P(v|D).

    Document d has ``count`` of ``term`` in rows ``begin[d]:begin[d + 1]``, terms ascending.
    """

    begin: Integers
    term: Integers
    count: Floats
    share: Floats

    @classmethod
    def of(cls, corpus: Corpus) -> Words:
        """The words of a corpus, but for terms that its collection does not have."""
        share = corpus.frequency / max(corpus.total, 1)
        kept = share[corpus.term] > 0
        begin = np.concatenate([[0], np.cumsum(kept)])[corpus.begin]
        return cls(begin, corpus.term[kept], corpus.count[kept].astype(np.float64), share)

    @cached_property
    def length(self) -> Floats:
        """How long each document is, (d + 1,); the last one stands for a document, numbered -1, that is not there."""
        return np.append(np.diff(np.concatenate([[0.0], np.cumsum(self.count)])[self.begin]), 0)

    @cached_property
    def size(self) -> Integers:
        """How many different terms each document has, (d + 1,), as `length`."""
        return np.append(np.diff(self.begin), 0)

    def rows(self, documents: Integers) -> tuple[Integers, Integers]:
        """The rows of several documents one after the other, and whose each is; document -1 has none."""
        many = self.size[documents]
        owner = np.repeat(np.arange(len(documents)), many)
        return owner, np.arange(len(owner)) + np.repeat(self.begin[documents] - (np.cumsum(many) - many), many)


@dataclass(frozen=True, eq=False)
class Models:
    """The models of all queries' subtopics, before smoothing.

    ``key`` (n,): query and term, as query · terms + term, ascending; ``count`` (n, s): what each subtopic has of it.
    ``length`` (q, s): words in a subtopic's documents; ``documents`` (q, s): how many these are.
    """

    words: Words
    key: Integers
    count: Floats
    length: Floats
    documents: Integers

    @classmethod
    def learnt(
        cls, words: Words, query: Integers, subtopic: Integers, document: Integers, shape: tuple[int, int]
    ) -> Models:
        """Models from rows that say: this document is relevant to that subtopic of that query.

        ``shape`` is how many queries there are, and how many subtopics the one with the most of them has.
        """
        terms, (queries, many) = len(words.share), shape
        owner, row = words.rows(document)
        key, place = np.unique(query[owner] * terms + words.term[row], return_inverse=True)
        cells = place * many + subtopic[owner]
        count = sums(cells, words.count[row], len(key) * many).reshape(-1, many)
        own = query * many + subtopic
        length = sums(own, words.length[document], queries * many).reshape(-1, many)
        return cls(words, key, count, length, np.bincount(own, minlength=queries * many).reshape(-1, many))

    @cached_property
    def distances(self) -> dict[float, Floats]:
        """What was asked of `divergence` before."""
        return {}

    @cached_property
    def query(self) -> Integers:
        """Whose each row is, (n,)."""
        return self.key // len(self.words.share)

    def at(self, query: Integers, term: Integers) -> Integers:
        """The rows of these terms in these queries' models; -1 where no subtopic has the term."""
        key = query * len(self.words.share) + term
        place = np.searchsorted(self.key, key)
        place[place == len(self.key)] = -1
        return np.where(self.key[place] == key, place, -1) if len(self.key) else np.full_like(key, -1)

    def divergence(self, mu: float) -> Floats:
        """KLD(Θ_q‖Θ_D) of every subtopic, (q, s); NaN where there is no model, or one that says nothing.

        Σ P(v|Θ) log(P(v|Θ) / P(v|D)) over the terms of the model, and log(μ / (L + μ)) for all others together.
        """
        if mu not in self.distances:
            base = mu * self.words.share[self.key % len(self.words.share)][:, None]
            each = (self.count + base) * np.log1p(self.count / base)
            total = np.stack([sums(self.query, column, len(self.length)) for column in each.T], axis=1)
            found = total / (self.length + mu) - np.log1p(self.length / mu)
            self.distances[mu] = np.where((self.documents > 0) & (found > NOTHING), found, np.nan)
        return self.distances[mu]
