"""What simulated documents say: bags of made-up words from language models of topics and subtopics.

The background is Zipf's. A language model is a draw from a Dirichlet process around it, made as an urn (Blackwell and
MacQueen 1973): the next word is a new one from the background or, the likelier the more there are, one again that
the urn has. A document takes each word from one of its urns or from the background.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.simulation.collection import World
from cranfield.simulation.random_numbers import Chance

DRAWS = 200  # words in an urn
NEW = 60.0  # the weight of the background against the words drawn before
BESIDE = 2  # things a query is not about that its near documents are about
BLOCK = 4096  # documents whose words are drawn at once

# Shares of words: what the query is about in general, and what a document is about in particular.
TOPIC, SUBTOPIC, MORE, ELSEWHERE = 0.2, 0.15, 0.2, 0.4

URNS, TEXTS = 3, 4  # purposes of random numbers
CONSONANTS, VOWELS = "bdfgklmnprstvz", "aiou"  # without e: no word is an English one of the short and common kind
SYLLABLES = [c + v for c in CONSONANTS for v in VOWELS]


def spelling(number: int) -> str:
    """A word that can be spoken, another one for each number.

    >>> spelling(0), spelling(1), spelling(4000)
    ('bababa', 'bagabi', 'koluma')
    """
    n = len(SYLLABLES)
    # A step that shares no factor with 56^3 comes to every word of three syllables; numbers beyond get more of them.
    whole, rest = divmod(number, n**3)
    place = rest * 12 * n + rest
    word = "".join(SYLLABLES[place // n**i % n] for i in (2, 1, 0))
    return word if not whole else word + SYLLABLES[whole % n] * (1 + whole // n)


class Language:
    """The urns of a world, and the words of its documents."""

    def __init__(self, world: World, vocabulary: int, length: int, seed: int) -> None:
        self.world = world
        self.length = length
        self.seed = seed
        self.background = 1.0 / (np.arange(vocabulary, dtype=np.float64) + 3.0)
        self.names = np.array([spelling(v) for v in range(vocabulary)], object)
        queries, subtopics = len(world.queries), len(world.popularity)
        self.each = 1 + subtopics + BESIDE  # urns of a query: the topic's, the subtopics', and what it is not about
        self.elsewhere = queries * self.each  # the first urn of documents near no query
        self.urns = self._filled(self.elsewhere + queries)

    def _filled(self, urns: int) -> Integers:
        chance = Chance(self.seed, URNS)
        words = np.zeros((urns, DRAWS), np.int64)
        rows = np.arange(urns)
        for i in range(DRAWS):
            new = chance.choose(self.background, urns)
            again = words[rows, chance.below(max(i, 1), urns)]
            words[:, i] = np.where(chance.uniform(urns) * (NEW + i) < NEW, new, again)
        return words

    def query(self, query: int) -> str:
        """What is asked: the three words that the topic's documents have, and few others."""
        words, counts = np.unique(self.urns[query * self.each], return_counts=True)
        telling = counts / self.background[words]
        return " ".join(self.names[words[np.argsort(-telling * (counts > 1), kind="stable")[:3]]])

    def texts(self) -> Iterator[str]:
        """The text of every document, in their order."""
        for block in range(0, len(self.world.documents), BLOCK):
            yield from self._block(block, min(block + BLOCK, len(self.world.documents)))

    def _block(self, begin: int, end: int) -> Iterator[str]:
        chance = Chance(self.seed, TEXTS, begin)
        document = np.arange(begin, end)
        length = self.length - self.length // 2 + chance.below(self.length + 1, len(document))
        topic, particular, urns, choices = self._models(document)
        row = np.repeat(np.arange(len(document)), length)
        which = chance.uniform(len(row))
        urn = urns[row, chance.below(choices[row], len(row))]
        urn = np.where(which < topic[row], document[row] // self.world.share * self.each, urn)
        drawn = self.urns[urn, chance.below(DRAWS, len(row))]
        common = chance.choose(self.background, len(row))
        words = self.names[np.where(which < topic[row] + particular[row], drawn, common)].tolist()
        ends = np.cumsum(length).tolist()
        for first, last in zip([0, *ends[:-1]], ends, strict=True):
            yield " ".join(words[first:last])

    def _models(self, document: Integers) -> tuple[Floats, Floats, Integers, Integers]:
        """For each document: its share of general and of particular words, the urns of the latter, and their number."""
        world, subtopics = self.world, len(self.world.popularity)
        queries = len(world.queries)
        query, place = document // world.share, document % world.share
        inside = query < queries
        query = np.minimum(query, queries - 1)
        relevant = inside & (place < world.relevant[query])
        near = inside & ~relevant & (place < world.relevant[query] + world.near)
        grade = world.grade[query, np.minimum(place, world.grade.shape[1] - 1)] * relevant[:, None]
        about = grade > 0
        # The subtopics' urns first, in the order of their numbers; then those of what a near document is about.
        order = np.argsort(~about, axis=1, kind="stable")
        urns = (query * self.each + 1)[:, None] + order
        beside = (query * self.each + 1 + subtopics + place % BESIDE)[:, None]
        other = (self.elsewhere + document % queries)[:, None]
        urns = np.where(relevant[:, None], urns, np.where(near[:, None], beside, other))
        topic = np.where(relevant | near, TOPIC, 0.0)
        most = grade.max(axis=1) / max(world.grade.max(), 1.0)
        particular = np.where(relevant, SUBTOPIC + MORE * most, np.where(near, SUBTOPIC + MORE / 2, ELSEWHERE))
        return topic, particular, urns, np.maximum(about.sum(axis=1), 1)

    @cached_property
    def mapping(self) -> dict[str, str]:
        """The text of every document by its id."""
        return dict(zip(self.world.documents, self.texts(), strict=True))
