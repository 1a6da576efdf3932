"""The texts of simulated documents: bags of invented words from language models of queries and subtopics.

The background follows Zipf's law. A language model is a draw from a Dirichlet process around it, sampled as an urn
(Blackwell and MacQueen 1973): the next word is a new one from the background or a copy of a word in the urn. Each word
of a document comes from one of its urns or from the background.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.simulation.collection import Collection
from cranfield.simulation.random_numbers import RandomStream

DRAWS = 200  # words in an urn
NEW = 60.0  # the weight of the background against the words drawn before
NEAR_TOPICS = 2  # other topics of each query's near documents
BLOCK = 4096  # documents whose words are drawn at once

# Shares of words: from the topic of the query; from a subtopic, at least and in addition; from unrelated topics.
TOPIC, SUBTOPIC, MORE_SUBTOPIC, UNRELATED = 0.2, 0.15, 0.2, 0.4

URNS, TEXTS = 3, 4  # purposes of random numbers
CONSONANTS, VOWELS = "bdfgklmnprstvz", "aiou"  # without e, so that no word is a common English one
SYLLABLES = [c + v for c in CONSONANTS for v in VOWELS]


def spelling(number: int) -> str:
    """A pronounceable word, different for each number.

    >>> spelling(0), spelling(1), spelling(4000)
    ('bababa', 'bagabi', 'koluma')
    """
    n = len(SYLLABLES)
    # The step has no factor in common with 56^3, so that all words of three syllables are used; then words get longer.
    quotient, rest = divmod(number, n**3)
    code = rest * 12 * n + rest
    word = "".join(SYLLABLES[code // n**i % n] for i in (2, 1, 0))
    return word if not quotient else word + SYLLABLES[quotient % n] * (1 + quotient // n)


class TextModel:
    """The language models of a collection, and the texts of its documents."""

    def __init__(self, collection: Collection, vocabulary: int, length: int, seed: int) -> None:
        self.collection = collection
        self.length = length
        self.seed = seed
        self.background = 1.0 / (np.arange(vocabulary, dtype=np.float64) + 3.0)
        self.names = np.array([spelling(v) for v in range(vocabulary)], object)
        queries, subtopics = len(collection.queries), len(collection.popularity)
        self.urns_per_query = 1 + subtopics + NEAR_TOPICS  # the topic, its subtopics, and topics of near documents
        self.unrelated = queries * self.urns_per_query  # the first urn of unrelated documents
        self.urns = self._fill_urns(self.unrelated + queries)

    def _fill_urns(self, urns: int) -> Integers:
        stream = RandomStream(self.seed, URNS)
        words = np.zeros((urns, DRAWS), np.int64)
        rows = np.arange(urns)
        for i in range(DRAWS):
            new = stream.choose(self.background, urns)
            again = words[rows, stream.below(max(i, 1), urns)]
            words[:, i] = np.where(stream.uniform(urns) * (NEW + i) < NEW, new, again)
        return words

    def query(self, query: int) -> str:
        """The text of a query: the three words that are most specific to its topic."""
        words, counts = np.unique(self.urns[query * self.urns_per_query], return_counts=True)
        specificity = counts / self.background[words]
        return " ".join(self.names[words[np.argsort(-specificity * (counts > 1), kind="stable")[:3]]])

    def texts(self) -> Iterator[str]:
        """The text of every document, in their order."""
        for block in range(0, len(self.collection.documents), BLOCK):
            yield from self._block(block, min(block + BLOCK, len(self.collection.documents)))

    def _block(self, begin: int, end: int) -> Iterator[str]:
        stream = RandomStream(self.seed, TEXTS, begin)
        document = np.arange(begin, end)
        length = self.length - self.length // 2 + stream.below(self.length + 1, len(document))
        topic, specific, urns, choices = self._models(document)
        row = np.repeat(np.arange(len(document)), length)
        source = stream.uniform(len(row))
        urn = urns[row, stream.below(choices[row], len(row))]
        urn = np.where(source < topic[row], document[row] // self.collection.block * self.urns_per_query, urn)
        drawn = self.urns[urn, stream.below(DRAWS, len(row))]
        common = stream.choose(self.background, len(row))
        words = self.names[np.where(source < topic[row] + specific[row], drawn, common)].tolist()
        ends = np.cumsum(length).tolist()
        for first, last in zip([0, *ends[:-1]], ends, strict=True):
            yield " ".join(words[first:last])

    def _models(self, document: Integers) -> tuple[Floats, Floats, Integers, Integers]:
        """For each document: its shares of topic and of specific words, the urns of the latter, and their number."""
        collection, subtopics = self.collection, len(self.collection.popularity)
        queries = len(collection.queries)
        query, position = document // collection.block, document % collection.block
        inside = query < queries
        query = np.minimum(query, queries - 1)
        relevant = inside & (position < collection.relevant[query])
        near = inside & ~relevant & (position < collection.relevant[query] + collection.near)
        grade = collection.grade[query, np.minimum(position, collection.grade.shape[1] - 1)] * relevant[:, None]
        is_relevant = grade > 0
        # Relevant documents use the urns of their subtopics, near documents those of other topics of the query.
        order = np.argsort(~is_relevant, axis=1, kind="stable")
        urns = (query * self.urns_per_query + 1)[:, None] + order
        near_urn = (query * self.urns_per_query + 1 + subtopics + position % NEAR_TOPICS)[:, None]
        other_urn = (self.unrelated + document % queries)[:, None]
        urns = np.where(relevant[:, None], urns, np.where(near[:, None], near_urn, other_urn))
        topic = np.where(relevant | near, TOPIC, 0.0)
        best = grade.max(axis=1) / max(collection.grade.max(), 1.0)
        near_share = SUBTOPIC + MORE_SUBTOPIC / 2
        specific = np.where(relevant, SUBTOPIC + MORE_SUBTOPIC * best, np.where(near, near_share, UNRELATED))
        return topic, specific, urns, np.maximum(is_relevant.sum(axis=1), 1)

    @cached_property
    def texts_by_id(self) -> dict[str, str]:
        """The text of every document by its id."""
        return dict(zip(self.collection.documents, self.texts(), strict=True))
