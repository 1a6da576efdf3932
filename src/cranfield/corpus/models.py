"""Language models of the subtopics of queries, estimated from their relevant documents.

A model has the summed counts of its documents, smoothed by the collection: P(v|Θ) = (c(v) + μ P(v|D)) / (L + μ). This
is the Dirichlet smoothing that Hui et al. (2017) describe; `PrintedModels` has their equations 5 and 6. Terms that
do not occur in the collection are ignored.

Gains from divergence: how close the top of a ranking comes to each subtopic (Hui et al. 2017, section 4.2).

The closeness of the first k documents to the model of a subtopic is 1 - KLD(Θ_q‖Θ_Rk) / KLD(Θ_q‖Θ_D). From one rank to
the next only the terms of one document change: KLD(Θ_q‖Θ_Rk) = KLD(Θ_q‖Θ_D) + log((L_k + μ) / μ) - Σ_{j≤k} Σ_{v∈d_j}
P(v|Θ_q) log(1 + tf / (c_{j-1}(v) + μ P(v|D))). So the work is proportional to the number of terms in the ranking.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from cranfield.data import Bytes, Floats, Integers
from cranfield.errors import UsageError, optional
from cranfield.io.streams import open_stream
from cranfield.settings import check_fields

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

    def at(self, query: Integers, term: Integers) -> Integers:
        """The rows of these terms in the models of these queries; -1 if no subtopic has the term."""
        key = query * len(self.words.share) + term
        row = np.searchsorted(self.key, key)
        row[row == len(self.key)] = -1
        return np.where(self.key[row] == key, row, -1) if len(self.key) else np.full_like(key, -1)

    def divergence(self, mu: float) -> Floats:
        """KLD(Θ_q‖Θ_D) of every subtopic, (q, s); NaN if there is no model, or if it equals the collection."""
        if mu not in self._divergences:
            divergence = self._divergence(mu)
            self._divergences[mu] = np.where((self.documents > 0) & (divergence > MIN_DIVERGENCE), divergence, np.nan)
        return self._divergences[mu]

    def _divergence(self, mu: float) -> Floats:
        """Σ P(v|Θ) log(P(v|Θ) / P(v|D)) over the terms of the model, plus log(μ / (L + μ)) for all other terms."""
        base = mu * self.words.share[self.key % len(self.words.share)][:, None]
        by_term = (self.count + base) * np.log1p(self.count / base)
        query = self.key // len(self.words.share)
        total = np.stack([group_sums(query, column, len(self.length)) for column in by_term.T], axis=1)
        return total / (self.length + mu) - np.log1p(self.length / mu)

    def nearness(self, query: Integers, documents: Integers, mu: float) -> Floats:
        """1 - KLD(Θ_q‖Θ_Rk) / KLD(Θ_q‖Θ_D) of rankings, (row, rank, subtopic); NaN for a subtopic without a model.

        ``query`` (row,) are queries of the models; ``documents`` (row, rank) are documents of the term counts, or -1.
        """
        divergence = self.divergence(mu)
        result = np.empty((*documents.shape, divergence.shape[1]))
        for rows in chunks(self, documents):
            of_chunk, ranked = query[rows], documents[rows]
            cell, rise, row, background = model_terms(self, of_chunk, ranked, mu)
            by_count = [group_sums(cell, rise * column, ranked.size) for column in self.count[row].T]
            evidence = np.stack(by_count, axis=1) + background[:, None]
            result[rows] = nearness_from_evidence(
                evidence, self.words.length[ranked], self.length[of_chunk], mu, divergence[of_chunk]
            )
        return result


TERMS_PER_CHUNK = 1 << 17  # so that a chunk fits into the cache of the processor


class Steps(NamedTuple):
    """Every term of every document of some rankings.

    ``cell``: its position as row · ranks + rank; ``row``: its row in the term counts; ``rise``: by how much the
    logarithm of its unnormalised probability grows at this position.
    """

    cell: Integers
    row: Integers
    rise: Floats


def steps(words: TermCounts, documents: Integers, prior: Floats) -> Steps:
    """The terms of rankings (row, rank) of documents; -1 stands for a document without words.

    ``prior`` (t,): the unnormalised probability of each term before the first document.
    """
    ranks = documents.shape[1]
    cell, row = words.rows(documents.reshape(-1))
    term, count = words.term[row], words.count[row]
    owner = cell // ranks * len(words.share) + term
    # A stable sort keeps the ranks of a term in order, and is fast because the terms of a document are sorted.
    order = np.argsort(owner, kind="stable")
    owner, count = owner[order], count[order]
    first = np.ones(len(owner), bool)
    first[1:] = owner[1:] != owner[:-1]
    group_begin = np.maximum.accumulate(np.where(first, np.arange(len(owner)), 0))
    counts_before = np.cumsum(count) - count
    before = counts_before - counts_before[group_begin]
    return Steps(cell[order], row[order], np.log1p(count / (before + prior[term[order]])))


def chunks(models: Models, documents: Integers) -> Iterator[slice]:
    """The rows of rankings in chunks with a limited number of terms."""
    terms = models.words.size[documents].sum(axis=1)
    chunk = (np.cumsum(terms) - terms) // TERMS_PER_CHUNK
    edges = [0, *(np.flatnonzero(np.diff(chunk)) + 1).tolist(), len(documents)]
    for first, last in pairwise(edges):
        yield slice(first, last)


def model_terms(
    models: Models, query: Integers, documents: Integers, mu: float
) -> tuple[Integers, Floats, Integers, Floats]:
    """The terms of rankings that a model of the query has: cell, rise, and row of the models.

    And for each cell the evidence of all its terms through smoothing alone.
    """
    prior = mu * models.words.share
    cell, row, rise = steps(models.words, documents, prior)
    term = models.words.term[row]
    background = group_sums(cell, rise * prior[term], documents.size)
    model_row = models.at(query[cell // documents.shape[1]], term)
    in_model = model_row >= 0
    return cell[in_model], rise[in_model], model_row[in_model], background


def nearness_from_evidence(
    evidence: Floats, length: Floats, model_length: Floats, mu: float, divergence: Floats
) -> Floats:
    """The nearness for the evidence of every cell for each subtopic, (cell, subtopic), before normalisation.

    ``length`` (row, rank): words of each document; ``model_length`` (row, subtopic): words behind each model.
    """
    by_rank = evidence.reshape(*length.shape, evidence.shape[1]) / (model_length + mu)[:, None]
    words_so_far = np.cumsum(length, axis=1)
    return (np.cumsum(by_rank, axis=1) - np.log1p(words_so_far / mu)[:, :, None]) / divergence[:, None]


class PrintedModels(Models):
    """Models by equations 5 and 6 of Hui et al. (2017) as they are printed, with μ and μ P(v|D) the other way round.

    P(v|Θ) = (c(v) + μ) / (L + μ P(v|D)), which does not sum to 1. Every term of the corpus counts in a divergence, also
    one that neither model has. Such terms differ only in P(v|D), so they are counted by its value.
    """

    @cached_property
    def shares(self) -> tuple[Floats, Integers]:
        """The distinct values of P(v|D), ascending, and the number of terms with each."""
        share = self.words.share
        return np.unique(share[share > 0], return_counts=True)

    def mass(self, query: int, mu: float) -> Floats:
        """Σ P(v|Θ) over the terms with each value of P(v|D), (subtopic, value)."""
        share, number = self.shares
        rows = self.rows_of(query)
        level = np.searchsorted(share, self.words.share[self.key[rows] % len(self.words.share)])
        counts = np.stack([group_sums(level, column, len(share)) for column in self.count[rows].T])
        return (mu * number + counts) / (self.length[query][:, None] + mu * share)

    def rows_of(self, query: int) -> slice:
        """The rows of a query."""
        first, last = np.searchsorted(self.key, np.array([query, query + 1]) * len(self.words.share))
        return slice(int(first), int(last))

    def _divergence(self, mu: float) -> Floats:
        return np.array([self._divergence_of(query, mu) for query in range(len(self.length))])

    def _divergence_of(self, query: int, mu: float) -> Floats:
        """Σ P(v|Θ) log(P(v|Θ) / P(v|D)) of each subtopic, as if no term occurred, plus what its counts add."""
        (share, _), rows, length = self.shares, self.rows_of(query), self.length[query]
        base = self.words.share[self.key[rows] % len(self.words.share)][:, None]
        count = self.count[rows]
        by_count = (count + mu) / (length + mu * base) * np.log1p(count / mu)
        by_share = self.mass(query, mu) * (np.log(mu / share) - np.log(length[:, None] + mu * share))
        divergence: Floats = by_count.sum(axis=0) + by_share.sum(axis=1)
        return divergence

    def nearness(self, query: Integers, documents: Integers, mu: float) -> Floats:
        """As that of `Models`; it may exceed 1."""
        divergence = self.divergence(mu)
        result = np.empty((*documents.shape, divergence.shape[1]))
        for row, q in enumerate(query.tolist()):
            result[row] = self._likelihood_ratio(q, documents[row], mu) / divergence[q]
        return result

    def _likelihood_ratio(self, query: int, documents: Integers, mu: float) -> Floats:
        """Σ P(v|Θ_q) log(P(v|Θ_Rk) / P(v|D)), which is KLD(Θ_q‖D) - KLD(Θ_q‖Θ_Rk): (rank, subtopic)."""
        words, (share, _) = self.words, self.shares
        cell, row, rise = steps(words, documents[None], np.full(len(words.share), mu))
        term = words.term[row]
        at = self.at(np.full_like(term, query), term)
        count = np.where((at >= 0)[:, None], self.count[at], 0) if len(self.key) else np.zeros((len(term), 1))
        by_term = rise[:, None] * (count + mu) / (self.length[query] + mu * words.share[term][:, None])
        by_count = np.stack([group_sums(cell, column, len(documents)) for column in by_term.T], axis=1)
        length = np.cumsum(words.length[documents])[:, None]
        rise_by_share = np.log(mu / share) - np.log(length + mu * share)
        by_share = np.stack([(rise_by_share * mass).sum(axis=1) for mass in self.mass(query, mu)], axis=1)
        ratio: Floats = np.cumsum(by_count, axis=0) + by_share
        return ratio


# How text becomes words, and words become terms.
#
# A word is a maximal sequence of letters, digits and combining marks, in any script. Text in a script without spaces
# between words must be split beforehand and read with ``split="space"``. A term is a word in lower case and in
# Unicode's composed form (NFC), stemmed if there is a stemmer; stop words are left out.
#
# Splitting is done for every word of a collection, the other steps only once for each distinct word.

Split = Literal["word", "space"]

SEPARATES, BEGINS, CONTINUES = 0, 1, 2
_JOINERS = (0x200C, 0x200D)  # invisible; inside of words in Persian and in Indian scripts
_SURROGATES = (0xD800, 0xE000)  # stand for bytes that are not UTF-8
_ASSIGNED = ((0, 0x32400), (0xE0100, 0xE01F0))  # Unicode has no letters, digits and marks elsewhere


# Articles, pronouns, verbs, prepositions, conjunctions and other function words, and what follows an apostrophe.
_FUNCTION_WORDS = """
a an the
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her
hers herself it its itself they them their theirs themselves one this that these those who whom whose which
what
am is are was were be been being have has had having do does did doing done can could shall should will would
may might must ought
about above across after against along among around at before behind below beneath beside between beyond by
down during for from in inside into near of off on onto out outside over past since through throughout till to
toward towards under until up upon with within without
although and as because but if nor or so than though unless when where whereas whether while yet
again all also any both each either else ever every few here how however just more most much neither never no
not now once only other own perhaps quite same some such then there therefore thus too very why
s t d m o y re ve ll don didn doesn isn aren wasn weren hasn haven hadn won wouldn shouldn couldn mustn
"""
ENGLISH_STOP_WORDS = frozenset(_FUNCTION_WORDS.split())


@dataclass(frozen=True)
class Settings:
    """What a word is, and which words are the same term. By default every word is kept, in lower case."""

    split: Split = "word"
    lower: bool = True
    stop: frozenset[str] = frozenset()
    stemmer: str = "none"

    def __post_init__(self) -> None:
        check_fields(self)
        if self.stemmer != "none":
            _stemmer(self.stemmer)

    def terms(self, words: Iterable[str]) -> list[str]:
        """The term of each word; "" for stop words.

        >>> Settings(stop=frozenset(["the"])).terms(["The", "PIES"])
        ['', 'pies']
        """
        # Lower-casing may decompose a letter, so composition comes after it.
        terms = [unicodedata.normalize("NFC", word.lower() if self.lower else word) for word in words]
        if self.stop:
            terms = ["" if term.lower() in self.stop else term for term in terms]
        return terms if self.stemmer == "none" else _stemmer(self.stemmer)(terms)

    def __str__(self) -> str:
        parts = [f"split={self.split}", f"stemmer={self.stemmer}"]
        parts += [f"stop={len(self.stop):,} words" if self.stop else "stop=none"]
        return ", ".join(parts if self.lower else [*parts, "case=kept"])


def stop_words(source: str) -> frozenset[str]:
    """``none``, ``english``, or the words in a file, separated by white space, in lower case."""
    if source == "none":
        return frozenset()
    if source == "english":
        return ENGLISH_STOP_WORDS
    words = open_stream(source, "stop words").read().decode("utf-8", "surrogateescape").split()
    return frozenset(unicodedata.normalize("NFC", word.lower()) for word in words)


@cache
def _stemmer(name: str) -> Callable[[list[str]], list[str]]:
    package: Any = optional("Stemmer", "stemming", "stem")
    if name not in package.algorithms():
        raise UsageError(f"unknown stemmer `{name}`", hint=f"use none, {', '.join(package.algorithms())}")
    stem: Callable[[list[str]], list[str]] = package.Stemmer(name).stemWords
    return stem


@cache
def character_classes(split: Split) -> Bytes:
    """For each code point: whether it separates words, can begin a word, or can only continue one.

    >>> character_classes("word")[[ord(c) for c in " a_é"]].tolist()
    [0, 1, 0, 1]
    """
    table = np.zeros(_ASSIGNED[-1][1], np.uint8)
    by_class = {"L": BEGINS, "N": BEGINS, "M": CONTINUES}
    for begin, end in _ASSIGNED:
        characters = map(chr, range(begin, end))
        if split == "word":
            table[begin:end] = [by_class.get(unicodedata.category(character)[0], SEPARATES) for character in characters]
        else:
            table[begin:end] = [SEPARATES if character.isspace() else BEGINS for character in characters]
    if split == "word":
        table[list(_JOINERS)] = CONTINUES
    table[slice(*_SURROGATES)] = SEPARATES
    return table
