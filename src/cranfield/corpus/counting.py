"""From texts to columns: every word of the collection counted, those of some documents kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from cranfield import core
from cranfield.corpus.settings import Settings, kinds
from cranfield.data import Integers, Strings
from cranfield.errors import InputError
from cranfield.io.documents import Documents
from cranfield.io.faults import shown

CHUNK = 1 << 16


@dataclass(frozen=True)
class Kept:
    """Documents of one block whose words are kept, and a digest of each text to tell the same from another."""

    names: list[str]
    lines: list[int]
    digests: list[bytes]
    begin: Integers
    word: Integers
    count: Integers
    size: int  # documents of the block, kept or not
    empty: int  # of which had no words


class Words:
    """Counts of words so far, for one thread. What it holds grows with the vocabulary, not with the texts."""

    def __init__(self, settings: Settings) -> None:
        self.core = core.Words(kinds(settings.split), settings.lower)

    def count(self, documents: Documents, wanted: Collection[str] | None) -> Kept:
        """Some more documents, of which those wanted are kept."""
        return self.keep(
            documents, [row for row, name in enumerate(documents.names) if wanted is None or name in wanted]
        )

    def keep(self, documents: Documents, rows: Sequence[int] | Integers) -> Kept:
        """The same, where it is known which rows to keep."""
        names = documents.names
        found = self.core.add((documents.offsets, documents.data), np.array(rows, np.int64))
        bounds, data = documents.offsets, documents.data.data
        return Kept(
            [names[row] for row in rows],
            [documents.lines[row] for row in rows],
            [blake2b(data[bounds[row] : bounds[row + 1]], digest_size=16).digest() for row in rows],
            found["begin"],
            found["word"],
            found["count"],
            len(names),
            int((found["length"] == 0).sum()),
        )


@dataclass(frozen=True)
class Part:
    """What one block gave, by whose words, and how to say where in it something is."""

    words: Words
    kept: Kept
    locate: Callable[[int], str]


def columns(parts: Sequence[Part], wanted: Iterable[str] | None, settings: Settings) -> dict[str, Any]:
    """All that a `Corpus` holds but its settings, whoever counted what."""
    words, rows = _merged(parts, settings)
    pair, counts = words.columns()
    vocabulary = Strings(*pair)

    names, fresh = _distinct(parts)
    document = np.concatenate([np.repeat(fresh_of, np.diff(p.kept.begin)) for p, fresh_of in fresh] or [_none()])
    raw = np.concatenate([rows[id(p.words)][p.kept.word] for p in parts] or [_none()])
    count = np.concatenate([p.kept.count for p in parts] or [_none()])
    document, raw, count = (column[document >= 0] for column in (document, raw, count))

    # Only terms of kept documents have a place; all others count towards the total alone.
    seen, raw = np.unique(raw, return_inverse=True)
    spelled = settings.terms(vocabulary.take(seen))
    terms = in_order(set(spelled) - {""})
    place = {term: row for row, term in enumerate(terms)}
    term = np.array([place.get(text, -1) for text in spelled], np.int64)[raw]
    document, term, count = (column[term >= 0] for column in (document, term, count))
    frequency, total = _frequencies(vocabulary, counts, place, settings)

    return {
        "terms": Strings.of(terms),
        "frequency": frequency,
        "total": total,
        **vectors(names, document, term, count, len(terms)),
        "size": sum(p.kept.size for p in parts),
        "empty": sum(p.kept.empty for p in parts),
        "missing": Strings.of(in_order(set(wanted or ()) - set(names))),
        "repeated": sum(int((fresh_of < 0).sum()) for _, fresh_of in fresh),
    }


def vectors(names: Sequence[str], document: Integers, term: Integers, count: Integers, terms: int) -> dict[str, Any]:
    """Documents in the order of their ids, and what each has of which term, from rows in whatever order."""
    order = in_order(names)
    rank = {name: row for row, name in enumerate(order)}
    document = np.array([rank[name] for name in names], np.int64)[document]
    # Different words of one document may be the same term.
    width = max(terms, 1)
    pairs, code = np.unique(document * width + term, return_inverse=True)
    lengths = np.bincount(pairs // width, minlength=len(order))
    return {
        "documents": Strings.of(order),
        "begin": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        "term": pairs % width,
        "count": np.bincount(code, count, len(pairs)).astype(np.int64),
    }


def _merged(parts: Sequence[Part], settings: Settings) -> tuple[Any, dict[int, Integers]]:
    """All counts with those of the first thread, and the number there of each word of each thread."""
    every = list({id(part.words): part.words for part in parts}.values())
    whole = (every[0] if every else Words(settings)).core
    # The words that it had itself keep their numbers.
    rows = {id(words): np.arange(len(whole.columns()[1])) for words in every[:1]}
    rows |= {id(words): whole.merge(words.core) for words in every[1:]}
    return whole, rows


def _distinct(parts: Sequence[Part]) -> tuple[list[str], list[tuple[Part, Integers]]]:
    """The names of documents, each once, and for every one kept which it is: -1 where it came before."""
    first: dict[str, tuple[bytes, Part, int]] = {}
    number: dict[str, int] = {}
    rows, faults = [], []
    for part in parts:
        row_of = np.full(len(part.kept.names), -1, np.int64)
        for i, (name, line, digest) in enumerate(zip(part.kept.names, part.kept.lines, part.kept.digests, strict=True)):
            if name not in first:
                first[name] = digest, part, line
                row_of[i] = number[name] = len(number)
            elif first[name][0] != digest:
                where = first[name][1].locate(first[name][2])
                faults.append(
                    f"{part.locate(line)}: document `{shown(name)}` again with another text, first in {where}"
                )
        rows.append((part, row_of))
    if faults:
        raise InputError(faults, hint="an id is to stand for one document; keep one of its texts")
    return list(number), rows


def _frequencies(
    vocabulary: Strings, counts: Integers, place: dict[str, int], settings: Settings
) -> tuple[Integers, int]:
    """How often each term with a place occurs, and how often all terms do; in chunks, as vocabularies are large."""
    frequency = np.zeros(len(place), np.int64)
    total = 0
    for begin, terms in _chunks(vocabulary, settings):
        some = counts[begin : begin + len(terms)]
        row = np.array([place.get(term, -1) if term else -2 for term in terms], np.int64)
        total += int(some[row > -2].sum())
        np.add.at(frequency, row[row >= 0], some[row >= 0])
    return frequency, total


def _chunks(vocabulary: Strings, settings: Settings) -> Iterator[tuple[int, list[str]]]:
    for begin in range(0, len(vocabulary), CHUNK):
        some = Strings(vocabulary.offsets[begin : begin + CHUNK + 1], vocabulary.data)
        yield begin, settings.terms(some)


def in_order(names: Iterable[str]) -> list[str]:
    """Ids or terms by their bytes."""
    return sorted(names, key=lambda name: name.encode("utf-8", "surrogateescape"))


def _none() -> Integers:
    return np.zeros(0, np.int64)
