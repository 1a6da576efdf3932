"""What is true in a simulated collection: which document is about which subtopic of which query, and how much so.

Documents 0, 1, 2, ... are dealt to the queries in turn, as many to each. Of its share a query first has its relevant
documents, then some that share its words and are not relevant, then others. Ids do not tell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield.data import Floats, Integers, Strings
from cranfield.errors import UsageError
from cranfield.simulation.random_numbers import Chance

NEAR = 4  # documents beside the topic for each relevant one
SECOND = 0.15  # the chance that a document is about a further subtopic, for each of them
BETTER = 0.4  # the chance that a relevant document has the next higher grade

IDS, GRADES = 1, 2  # purposes of random numbers


@dataclass(frozen=True, eq=False)
class World:
    """Queries, documents, and the truth about them."""

    queries: Strings
    documents: Strings
    share: int  # documents of each query: query q has share*q .. share*(q+1)-1
    relevant: Integers  # (q,) how many of these are relevant; they come first
    near: int  # how many come next that are near, but not relevant
    grade: Floats  # (q, j, s) of the relevant ones, for each subtopic; 0 for the rest of a row
    popularity: Floats  # (s,) how many readers and documents go for each subtopic, of each query alike

    def candidates(self, query: int, number: int) -> Integers:
        """The documents that systems find for a query at all: its own first, then others'."""
        return (query * self.share + np.arange(number)) % len(self.documents)


def world(queries: int, documents: int, subtopics: int, relevant: int, grades: int, seed: int) -> World:
    """The truth, drawn at random: about ``relevant`` documents for each query, a third more or less."""
    low, high = max(1, (2 * relevant + 2) // 3), max(1, 4 * relevant // 3)
    share = documents // queries
    if share < 2 * high:
        raise UsageError(
            f"{documents:,} documents are too few for {queries:,} queries with up to {high} relevant ones each",
            hint=f"it takes at least {2 * high * queries:,}",
        )
    chance = Chance(seed, GRADES)
    many = low + chance.below(high - low + 1, queries)
    popularity = 1.0 / np.arange(1, subtopics + 1)
    first = chance.choose(popularity, (queries, high))
    about = chance.uniform((queries, high, subtopics)) < SECOND
    about |= first[:, :, None] == np.arange(subtopics)
    grade = np.ones((queries, high, subtopics))
    rising = np.ones(grade.shape, bool)
    for _ in range(grades - 1):
        rising &= chance.uniform(grade.shape) < BETTER
        grade += rising
    there = np.arange(high) < many[:, None]
    return World(
        Strings.of([f"q{q:0{len(str(queries))}}" for q in range(1, queries + 1)]),
        Strings.of([f"d{d:0{len(str(documents))}}" for d in Chance(seed, IDS).order(documents).tolist()]),
        share,
        many,
        min(NEAR * relevant, share - high),
        np.where(about & there[:, :, None], grade, 0.0),
        popularity,
    )
