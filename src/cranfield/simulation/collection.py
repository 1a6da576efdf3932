"""The ground truth of a simulated collection: the grade of every document for every subtopic of every query.

Each query has a block of consecutive documents of the same size: first its relevant documents, then near documents,
which share its words but are not relevant, then others. Document ids are random and do not reveal the block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield.data import Floats, Integers, Strings
from cranfield.errors import UsageError
from cranfield.simulation.random_numbers import RandomStream

NEAR_PER_RELEVANT = 4  # near documents for each relevant one
MORE_SUBTOPICS = 0.15  # the probability that a document is relevant to another subtopic, for each of them
HIGHER_GRADE = 0.4  # the probability that a relevant document has the next higher grade

IDS, GRADES, NIL = 1, 2, 8  # purposes of random numbers


@dataclass(frozen=True, eq=False)
class Collection:
    """Queries, documents, and the ground truth."""

    queries: Strings
    documents: Strings
    block: int  # documents of each query: query q has block*q .. block*(q+1)-1
    relevant: Integers  # (q,) the number of relevant documents, which come first
    near: int  # the number of near documents, which come next
    grade: Floats  # (q, j, s) of the relevant documents for each subtopic; 0 for the rest of a row
    popularity: Floats  # (s,) the weight of each subtopic, the same for all queries

    def candidates(self, query: int, number: int) -> Integers:
        """The documents that systems can retrieve for a query: its own block first, then others."""
        return (query * self.block + np.arange(number)) % len(self.documents)


def make_collection(
    queries: int, documents: int, subtopics: int, relevant: int, grades: int, seed: int, nil: float = 0.0
) -> Collection:
    """A random collection with about ``relevant`` relevant documents per query, up to a third more or less.

    ``nil``: the share of queries without relevant documents.
    """
    low, high = max(1, (2 * relevant + 2) // 3), max(1, 4 * relevant // 3)
    block = documents // queries
    if block < 2 * high:
        raise UsageError(
            f"{documents:,} documents are too few for {queries:,} queries with up to {high} relevant documents each",
            hint=f"use at least {2 * high * queries:,} documents",
        )
    stream = RandomStream(seed, GRADES)
    counts = low + stream.below(high - low + 1, queries)
    popularity = 1.0 / np.arange(1, subtopics + 1)
    first = stream.choose(popularity, (queries, high))
    is_relevant = stream.uniform((queries, high, subtopics)) < MORE_SUBTOPICS
    is_relevant |= first[:, :, None] == np.arange(subtopics)
    grade = np.ones((queries, high, subtopics))
    promoted = np.ones(grade.shape, bool)
    for _ in range(grades - 1):
        promoted &= stream.uniform(grade.shape) < HIGHER_GRADE
        grade += promoted
    without = RandomStream(seed, NIL).permutation(queries)[: round(nil * queries)]
    counts[without] = 0
    exists = np.arange(high) < counts[:, None]
    return Collection(
        Strings.of([f"q{q:0{len(str(queries))}}" for q in range(1, queries + 1)]),
        Strings.of([f"d{d:0{len(str(documents))}}" for d in RandomStream(seed, IDS).permutation(documents).tolist()]),
        block,
        counts,
        min(NEAR_PER_RELEVANT * relevant, block - high),
        np.where(is_relevant & exists[:, :, None], grade, 0.0),
        popularity,
    )
