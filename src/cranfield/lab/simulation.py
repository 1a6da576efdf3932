"""Simulated test collections of any size, with known ground truth.

The relevance of every document to every subtopic and the quality of every system are known, so that measures and
experiments can be checked against them. The same settings give the same files on every machine.

Each query has a block of consecutive documents of the same size: first its relevant documents, then near documents,
which share its words but are not relevant, then others. Document ids are random and do not reveal the block. The better
a system, the better its scores separate relevant documents from others.

Texts are bags of invented words from language models of queries and subtopics. The background follows Zipf's law. A
language model is a draw from a Dirichlet process around it, sampled as an urn (Blackwell and MacQueen 1973): the next
word is a new one from the background or a copy of a word in the urn. Each word of a document comes from one of its urns
or from the background.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from cranfield.data import Booleans, Floats, Integers, Judgments, Labels, Run, Strings, Table
from cranfield.errors import InputError, UsageError
from cranfield.io import load, write_qrels, write_run
from cranfield.io.columns import codes_of
from cranfield.parallel import followed
from cranfield.settings import Count, Limits, Share, Whole, checked
from cranfield.wording import plural

Shape = int | tuple[int, ...]


class RandomStream:
    """A stream of random numbers for one purpose, independent of other streams, and the same on every machine.

    NumPy guarantees the bits of PCG64, but not its distributions. The numbers are computed from the bits by exact IEEE
    754 arithmetic: no logarithms, and no sums of unspecified order.
    """

    def __init__(self, *key: int) -> None:
        self._bits = np.random.PCG64(np.random.SeedSequence(key))

    def uniform(self, shape: Shape) -> Floats:
        """Numbers in [0, 1), multiples of 2^-53."""
        bits = self._bits.random_raw(int(np.prod(shape, dtype=np.int64))) >> np.uint64(11)
        return bits.astype(np.float64).reshape(shape) * 2.0**-53

    def below(self, ends: Integers | int, shape: Shape) -> Integers:
        """Whole numbers from 0 to below the ends, equally likely up to a bias of 2^-53."""
        return (self.uniform(shape) * ends).astype(np.int64)

    def normal(self, shape: tuple[int, ...]) -> Floats:
        """Approximately normal numbers, mean 0 and deviation 1: sums of four uniform numbers, within ±3.5."""
        a, b, c, d = self.uniform((4, *shape))
        return (a + b + c + d - 2) * np.sqrt(3.0)

    def permutation(self, n: int) -> Integers:
        """A random permutation of the numbers below n."""
        return np.argsort(self.uniform(n), kind="stable")

    def choose(self, weights: Floats, shape: Shape) -> Integers:
        """Indices of the weights, drawn in proportion to them."""
        cumulative = np.cumsum(weights)
        return np.searchsorted(cumulative, self.uniform(shape) * cumulative[-1], side="right")


NEAR_PER_RELEVANT = 4  # near documents for each relevant one
MORE_SUBTOPICS = 0.15  # the probability that a document is relevant to another subtopic, for each of them
HIGHER_GRADE = 0.4  # the probability that a relevant document has the next higher grade

IDS, GRADES, NIL_QUERIES = 1, 2, 8  # purposes of random numbers


@dataclass(frozen=True, eq=False)
class SimulatedCollection:
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
) -> SimulatedCollection:
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
    without = RandomStream(seed, NIL_QUERIES).permutation(queries)[: round(nil * queries)]
    counts[without] = 0
    exists = np.arange(high) < counts[:, None]
    return SimulatedCollection(
        Strings.of([f"q{q:0{len(str(queries))}}" for q in range(1, queries + 1)]),
        Strings.of([f"d{d:0{len(str(documents))}}" for d in RandomStream(seed, IDS).permutation(documents).tolist()]),
        block,
        counts,
        min(NEAR_PER_RELEVANT * relevant, block - high),
        np.where(is_relevant & exists[:, :, None], grade, 0.0),
        popularity,
    )


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


class SimulatedTexts:
    """The language models of a collection, and the texts of its documents."""

    def __init__(self, collection: SimulatedCollection, vocabulary: int, length: int, seed: int) -> None:
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


WEAKEST, STRONGEST = 0.8, 2.2  # distance between relevant and unrelated documents, in deviations of the noise
NEAR_MATCH, GRADE_MATCH = 0.4, 0.25  # the match of a near document, and the increase for each higher grade
LEAST_VISIBLE = 0.3  # the visibility of further subtopics to a system with breadth 0
SHARED_NOISE = 0.5  # the share of the noise that all systems have in common
TIE_STEP = 0.5  # scores of tied systems are multiples of this
STOP_SHARE = 0.5  # systems that stop do so below this share of the score of a relevant document
# A document stands out if its score is a share of the highest score that noise would give, and a share of the score of
# a relevant document. A system is silent if none does.
SILENT_NOISE, SILENT_SHARE = 0.75, 0.35

SYSTEMS, SCORES = 5, 6  # purposes of random numbers

Lists = tuple[Integers, Floats, Integers]  # of one query: documents and scores (system, rank), and lengths


@dataclass(frozen=True)
class System:
    """One system and its parameters.

    ``quality``: between 0 and 1, evenly spread over the systems. ``skill``: how well its scores separate relevant
    documents from others. ``breadth``: how well it retrieves subtopics other than the one it takes the query for.
    ``tied``: it has few distinct scores. ``stops``: it ends its lists early.
    """

    name: str
    quality: float
    skill: float
    breadth: float
    tied: bool
    stops: bool


def make_systems(number: int, spread: float, ties: float, truncate: float, seed: int) -> tuple[System, ...]:
    """Systems of evenly spread quality in random order; breadth is correlated with skill."""
    stream = RandomStream(seed, SYSTEMS)
    quality = 0.5 + spread * ((stream.permutation(number) + 0.5) / number - 0.5)
    breadth = np.clip(quality + 0.5 * (stream.uniform(number) - 0.5), 0, 1)
    tied = stream.permutation(number) < np.rint(ties * number)
    stops = stream.permutation(number) < np.rint(truncate * number)
    skill = WEAKEST + (STRONGEST - WEAKEST) * quality
    width = len(str(number))
    return tuple(
        System(
            f"s{i + 1:0{width}}", float(quality[i]), float(skill[i]), float(breadth[i]), bool(tied[i]), bool(stops[i])
        )
        for i in range(number)
    )


def match_scores(systems: tuple[System, ...], grade: Floats, popularity: Floats, stream: RandomStream) -> Floats:
    """The match of documents with grades (document, subtopic) for each system, (system, document), without noise."""
    # The subtopic that a system takes the query for; popular subtopics are more likely.
    first = stream.choose(popularity, len(systems))
    match = np.where(grade > 0, 1 + GRADE_MATCH * (grade - 1), 0.0)
    further = LEAST_VISIBLE + (1 - LEAST_VISIBLE) * np.array([[s.breadth] for s in systems])
    visible = np.where(first[:, None] == np.arange(len(popularity)), 1.0, further)
    matches: Floats = (visible[:, None, :] * match).max(axis=2)
    return matches


def noisy_scores(systems: tuple[System, ...], match: Floats, noise: float, stream: RandomStream) -> Floats:
    """The scores with noise, (system, document): the more skilled a system, the less effect noise has."""
    number = match.shape[1]
    shared, own = stream.normal((number,)), stream.normal((len(systems), number))
    error = np.sqrt(SHARED_NOISE) * shared + np.sqrt(1 - SHARED_NOISE) * own
    return np.array([[s.skill] for s in systems]) * match + noise * error


def standing_out(systems: tuple[System, ...], noise: float, number: int) -> Floats:
    """The score of each system from which a document stands out from the noise of ``number`` documents."""
    return SILENT_NOISE * noise * np.sqrt(2 * np.log(number)) + SILENT_SHARE * np.array([s.skill for s in systems])


def rankings(
    collection: SimulatedCollection,
    systems: tuple[System, ...],
    query: int,
    depth: int,
    noise: float,
    seed: int,
    *,
    silence: bool = False,
) -> Lists:
    """The rankings of all systems for one query: documents and scores (system, rank), and the length of each list.

    ``silence``: whether systems that end lists early return an empty one if no document stands out from the noise.
    """
    stream = RandomStream(seed, SCORES, query)
    number = min(len(collection.documents), max(2 * depth, collection.grade.shape[1] + collection.near))
    tied, stops = np.array([[s.tied, s.stops] for s in systems]).T
    matches = match_scores(systems, collection.grade[query], collection.popularity, stream)
    relevant = int(collection.relevant[query])
    match = np.zeros((len(systems), number))
    match[:, relevant : relevant + collection.near] = NEAR_MATCH
    match[:, :relevant] = matches[:, :relevant]
    exact = noisy_scores(systems, match, noise, stream)
    score = np.where(tied[:, None], np.rint(exact / TIE_STEP) * TIE_STEP, np.rint(exact * 1e4) / 1e4)
    shuffled = stream.permutation(number)  # tied documents are in random order in the file
    order = shuffled[np.argsort(-score[:, shuffled], axis=1, kind="stable")][:, :depth]
    best = np.take_along_axis(score, order, axis=1)
    skill = np.array([s.skill for s in systems])
    lengths = np.clip((best >= STOP_SHARE * skill[:, None]).sum(axis=1), 1, order.shape[1])
    if silence:
        lengths = np.where(best[:, 0] < standing_out(systems, noise, number), 0, lengths)
    return (collection.candidates(query, number)[order], best, np.where(stops, lengths, order.shape[1]))


def before_nil(lists: Sequence[Lists], limit: Floats, share: float) -> Integers:
    """The number of documents before NIL, (query, system); -1 for lists without it.

    Each system gives this share of its lists a NIL: those whose best score is lowest, after the documents whose score
    is at least the system's ``limit``. NIL has a rank within the depth.
    """
    best = np.array([scores[:, 0] for _, scores, _ in lists])
    outstanding = np.array([(scores >= limit[:, None]).sum(axis=1) for _, scores, _ in lists])
    lengths = np.array([ends for _, _, ends in lists])
    before = np.minimum(np.minimum(outstanding, lengths), lists[0][1].shape[1] - 1)
    chosen = np.zeros(best.shape, bool)
    order = np.argsort(best, axis=0, kind="stable")
    np.put_along_axis(chosen, order[: round(share * len(lists))], True, axis=0)
    return np.where(chosen, before, -1)


MAX_NOISE = 1000
NIL = "NIL"  # the document with which a system says that there is no answer, or no other
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Simulation:
    """A collection with runs, judgments and ground truth.

    ``runs`` and ``judgments`` are input for `evaluate`; the judgments are by subtopic and cover the pool. ``complete``
    covers all documents that any system can retrieve. ``texts`` maps document ids to texts, ``queries`` query ids to
    texts. ``systems`` holds the quality of each system; ``truth`` is the ground truth as plain data; ``settings`` are
    the arguments of `simulate`.

    Examples
    --------
    >>> import cranfield as cf
    >>> simulation = cf.simulate(queries=5, systems=3, documents=500, seed=1)
    >>> simulation
    Simulation: 3 runs, Judgments: qrels, 223 documents of 5 queries
    >>> len(simulation.texts), max(simulation.systems, key=lambda system: system.quality).name
    (500, 's2')
    """

    settings: dict[str, Any]
    runs: tuple[Run, ...]
    judgments: Judgments
    complete: Judgments
    systems: tuple[System, ...]
    text_model: SimulatedTexts

    def __repr__(self) -> str:
        return f"Simulation: {plural(len(self.runs), 'run')}, {self.judgments!r}"

    @property
    def texts(self) -> dict[str, str]:
        return self.text_model.texts_by_id

    @cached_property
    def queries(self) -> dict[str, str]:
        return {name: self.text_model.query(q) for q, name in enumerate(self.text_model.collection.queries)}

    @cached_property
    def truth(self) -> dict[str, Any]:
        """The settings, the systems from best to worst, and the number of relevant documents of every subtopic."""
        collection = self.text_model.collection
        counts = (collection.grade > 0).sum(axis=1)
        names = [str(s + 1) for s in range(counts.shape[1])]
        best = sorted(self.systems, key=lambda system: -system.quality)
        return {
            "settings": {k: v for k, v in self.settings.items() if v or not k.startswith("nil")},
            "systems": {s.name: {k: v for k, v in asdict(s).items() if k != "name"} for s in best},
            "relevant": {
                query: dict(zip(names, counts[q].tolist(), strict=True)) for q, query in enumerate(collection.queries)
            },
        }


@checked
def simulate(
    *,
    queries: Annotated[Count, "Number of queries."] = 50,
    systems: Annotated[Count, "Number of systems, of evenly spread quality."] = 20,
    documents: Annotated[Count, "Number of documents."] = 5000,
    subtopics: Annotated[Count, "Subtopics per query, the most popular first."] = 4,
    relevant: Annotated[Count, "Approximate number of relevant documents per query."] = 15,
    grades: Annotated[Count, "Highest grade; 1 for binary judgments."] = 3,
    depth: Annotated[Count, "Documents per ranking."] = 200,
    pool_depth: Annotated[Count, "Pool depth: the first N documents of every system are judged."] = 20,
    ties: Annotated[Share, "Share of systems with many tied scores."] = 0.0,
    truncate: Annotated[Share, "Share of systems with short rankings."] = 0.0,
    noise: Annotated[float, Limits(0, MAX_NOISE), "Amount of noise in scores."] = 1.0,
    spread: Annotated[Share, "Range of system quality; 0 for equal systems."] = 1.0,
    words: Annotated[Count, "Approximate number of words per document."] = 120,
    vocabulary: Annotated[Count, "Number of distinct words."] = 8000,
    seed: Whole = 0,
    nil_queries: Annotated[
        Share, "Share of queries without relevant documents; short rankings may then be empty."
    ] = 0.0,
    nil_answers: Annotated[
        Share, "Share of each system's rankings that end in NIL: those with the lowest best score."
    ] = 0.0,
    progress: Progress | None = None,
) -> Simulation:
    """Simulate a test collection: systems of known quality, subtopics, texts, and judgments from a pool.

    Parameters
    ----------
    queries, systems, documents, subtopics
        How many there are; subtopics are those of each query.
    relevant, grades
        The approximate number of relevant documents of each query, and the highest grade.
    depth, pool_depth
        Documents per ranking, and how many of them are judged.
    ties, truncate
        The shares of systems with few distinct scores, and with lists that end early.
    noise, spread
        The amount of noise in scores, and the range of the quality of systems.
    words, vocabulary
        The approximate number of words per document, and the number of distinct words.
    seed
        The random seed.
    nil_queries
        The share of queries without relevant documents.
    nil_answers
        The share of each system's lists that end in the document ``NIL``: those whose best score is lowest, after the
        documents that stand out from the noise.
    progress
        A function that is called with the number of queries done, and of all queries.

    Returns
    -------
    Simulation
        Runs, judgments, texts and the ground truth.

    Examples
    --------
    >>> import cranfield as cf
    >>> simulation = cf.simulate(queries=5, systems=3, documents=500, seed=1)
    >>> scores = cf.evaluate(simulation.judgments, simulation.runs, ["AP", "alpha_nDCG@20"])
    >>> scores.runs, scores.values.shape
    (('s1', 's2', 's3'), (3, 2, 5))
    """
    settings = {name: value for name, value in locals().items() if name != "progress"}
    collection = make_collection(queries, documents, subtopics, relevant, grades, seed, nil_queries)
    simulated = make_systems(systems, spread, ties, truncate, seed)
    lists: list[Lists] = [
        rankings(collection, simulated, query, depth, noise, seed, silence=nil_queries > 0)
        for query in followed(range(queries), progress, queries)
    ]
    number = min(documents, max(2 * depth, collection.grade.shape[1] + collection.near))
    nil_after = before_nil(lists, standing_out(simulated, noise, number), nil_answers)
    lists = [(*of[:2], np.where(cut < 0, of[2], cut)) for of, cut in zip(lists, nil_after, strict=True)]
    return Simulation(
        settings,
        tuple(_run(collection, lists, s, system.name, nil_after[:, s] >= 0) for s, system in enumerate(simulated)),
        _judge(collection, [_pool(documents, ends, pool_depth) for documents, _, ends in lists], "qrels"),
        _judge(collection, [np.sort(collection.candidates(q, number)) for q in range(queries)], "complete"),
        simulated,
        SimulatedTexts(collection, vocabulary, words, seed),
    )


def _pool(documents: Integers, ends: Integers, depth: int) -> Integers:
    """The documents in the first ranks of any system; one document if all lists are empty."""
    pooled = np.arange(documents.shape[1]) < np.minimum(ends, depth)[:, None]
    return np.unique(documents[pooled]) if pooled.any() else documents[0, :1]


def _judge(collection: SimulatedCollection, documents: list[Integers], name: str) -> Judgments:
    """Judgments of the given documents of each query, for every subtopic."""
    subtopics = len(collection.popularity)
    counts = [len(rows) for rows in documents]
    rows = np.concatenate(documents)
    query = np.repeat(np.arange(len(documents)), counts)
    position = rows - query * collection.block
    own = (position >= 0) & (position < collection.grade.shape[1])
    grade = np.where(own[:, None], collection.grade[query, np.where(own, position, 0)], 0.0)
    document = np.repeat(np.arange(len(rows)), subtopics)
    labels = Labels(
        document,
        np.tile(np.arange(subtopics), len(rows)),
        grade.reshape(-1),
        Strings.of([str(s + 1) for s in range(subtopics)]),
    )
    begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Judgments(name, collection.queries, begin, collection.documents.take(rows), grade.max(axis=1), labels)


def _run(collection: SimulatedCollection, lists: list[Lists], system: int, name: str, nil: Booleans) -> Run:
    """The lists of one system; ``nil``: those that end in NIL, with a whole number below all scores of the list."""
    ends = np.array([end[system] for _, _, end in lists])
    document = [documents[system, :end] for (documents, _, _), end in zip(lists, ends, strict=True)]
    score = [scores[system, :end] for (_, scores, _), end in zip(lists, ends, strict=True)]
    names = collection.documents
    if nil.any():
        names = Strings.concatenate([names, Strings.of([NIL])])
        for q in np.flatnonzero(nil):
            document[q] = np.append(document[q], len(names) - 1)
            score[q] = np.append(score[q], np.floor(lists[q][1][system, ends[q]]) - 1)
    query = collection.queries.take(np.repeat(np.arange(len(lists)), ends + nil))
    return Run(name, Table(query, names.take(np.concatenate(document)), np.concatenate(score)))


ORDERS = 7  # a purpose of random numbers


@checked
def variants(
    run: Run, judgments: Judgments, number: Count = 20, *, spread: float = 1.0, noise: float = 1.0, seed: int = 0
) -> tuple[tuple[Run, ...], tuple[System, ...]]:
    """Rerankings of a run for the judged queries, and the simulated systems that made them.

    >>> from cranfield.io import read_qrels, read_run
    >>> run = read_run({"q": {"a": 2.0, "b": 1.0}})
    >>> runs, systems = variants(run, read_qrels({"q": {"b": 1}}), 3)
    >>> [run.name for run in runs], sorted(round(system.quality, 2) for system in systems)
    (['v1', 'v2', 'v3'], [0.17, 0.5, 0.83])
    """
    systems = make_systems(number, spread, 0.0, 0.0, seed)
    table = load(run)
    names, query = codes_of(table.query)
    order = np.argsort(query, kind="stable")
    begin = np.searchsorted(query[order], np.arange(len(names) + 1))
    judged = {name: q for q, name in enumerate(judgments.queries)}
    rows, scores = [], []
    for name, (first, last) in zip(names, pairwise(begin.tolist()), strict=True):
        if name in judged:
            selected = order[first:last]
            stream = RandomStream(seed, ORDERS, judged[name])
            grade, popularity = _grades(judgments, judged[name], table.document.take(selected))
            matches = match_scores(systems, grade, popularity, stream)
            scores.append(np.rint(noisy_scores(systems, matches, noise, stream) * 1e4) / 1e4)
            rows.append(selected)
    if not rows:
        raise UsageError(f"{run.name} answers none of the judged queries; variants need at least one")
    kept, score = np.concatenate(rows), np.concatenate(scores, axis=1)
    columns = table.query.take(kept), table.document.take(kept)
    runs = tuple(Run(f"v{system.name[1:]}", Table(*columns, score[i])) for i, system in enumerate(systems))
    return runs, systems


def _grades(judgments: Judgments, query: int, documents: Strings) -> tuple[Floats, Floats]:
    """The grades of documents for each subtopic of a query, (document, subtopic), and the popularity of subtopics."""
    begin, end = (int(row) for row in judgments.begin[query : query + 2])
    labels = judgments.labels
    if labels is None:
        grade = np.maximum(judgments.grade[begin:end], 0)[:, None]
    else:
        selected = (labels.document >= begin) & (labels.document < end)
        subtopics, code = np.unique(labels.subtopic[selected], return_inverse=True)
        grade = np.zeros((end - begin, len(subtopics)))
        np.maximum.at(grade, (labels.document[selected] - begin, code), labels.grade[selected])
    row_of = {judgments.documents[row]: row - begin for row in range(begin, end)}
    rows = np.array([row_of.get(name, -1) for name in documents], np.int64)
    popularity = (grade > 0).sum(axis=0).astype(np.float64)
    return np.where(rows[:, None] < 0, 0.0, grade[rows]), popularity if popularity.any() else np.ones(grade.shape[1])


# Write a simulation to files in the usual formats of test collections.

TRUTH = "truth.json"
FILES = ("qrels.txt", "qrels.diversity.txt", "qrels.complete.txt", "docs.jsonl", "queries.jsonl", TRUTH)
RUN = re.compile(r"s\d+\.run")


def save(
    simulation: Simulation,
    folder: str | os.PathLike[str],
    *,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Write the collection into a new folder; the folder appears when all files are written.

    ``force`` replaces a folder that holds another simulation. Files:

    ``qrels.txt``, ``qrels.diversity.txt`` and ``qrels.complete.txt``; ``docs.jsonl`` and ``queries.jsonl``;
    ``runs/*.run``; ``truth.json``.
    """
    target = Path(folder)
    with _new_folder(target, force=force) as draft:
        write_qrels(replace(simulation.judgments, labels=None), draft / "qrels.txt")
        write_qrels(simulation.judgments, draft / "qrels.diversity.txt")
        write_qrels(simulation.complete, draft / "qrels.complete.txt")
        texts = zip(simulation.text_model.collection.documents, simulation.text_model.texts(), strict=True)
        _lines(draft / "docs.jsonl", texts)
        _lines(draft / "queries.jsonl", iter(simulation.queries.items()))
        (draft / "runs").mkdir()
        for run in followed(simulation.runs, progress, len(simulation.runs)):
            write_run(run, draft / "runs" / f"{run.name}.run")
        (draft / TRUTH).write_text(json.dumps(simulation.truth, indent=1) + "\n", encoding="ascii")
    return target


def check(folder: str | os.PathLike[str], *, force: bool = False) -> None:
    """Raise if the collection cannot be written to the folder."""
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise InputError([f"{target}: is a file; a simulation needs a folder"])
    if target.is_dir() and target.samefile(Path.cwd()):
        raise InputError([f"{target}: is the current folder"], hint="choose another folder, which will be created")
    if not target.exists() or not any(target.iterdir()):
        return
    if not force:
        raise InputError(
            [f"{target}: the folder is not empty"], hint="choose another folder, or replace it with --force"
        )
    other = _foreign_file(target)
    if other is not None or not (target / TRUTH).is_file():
        example = f", such as `{other}`" if other else ""
        raise InputError(
            [f"{target}: the folder holds files that are not part of a simulation{example}"],
            hint="--force replaces simulations only; empty the folder, or choose another one",
        )


def _foreign_file(target: Path) -> str | None:
    """A file in the folder that is not part of a simulation, if there is one."""
    runs = target / "runs"
    foreign = sorted(path for path in target.iterdir() if path.name not in FILES and path != runs)
    foreign += sorted(path for path in runs.iterdir() if not RUN.fullmatch(path.name)) if runs.is_dir() else []
    return str(foreign[0].relative_to(target)) if foreign else None


@contextmanager
def _new_folder(target: Path, *, force: bool) -> Iterator[Path]:
    """A temporary folder that replaces the target when all files are written."""
    check(target, force=force)
    target = target.resolve()  # keep symbolic links
    suffix = secrets.token_hex(4)
    draft, old = (target.with_name(f".{target.name}.{suffix}.{kind}") for kind in ("part", "old"))
    try:
        try:
            draft.mkdir(parents=True)
        except OSError as error:
            raise InputError([f"{target}: cannot be created: {(error.strerror or str(error)).lower()}"]) from error
        yield draft
        if target.exists():
            target.rename(old)
        draft.rename(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        if old.exists() and not target.exists():
            old.rename(target)
        shutil.rmtree(old, ignore_errors=True)


def _lines(path: Path, pairs: Iterator[tuple[str, str]]) -> None:
    with path.open("w", encoding="ascii") as file:
        file.writelines(json.dumps({"id": name, "text": text}) + "\n" for name, text in pairs)
