"""A collection as language models need it: the words of some documents, and how often each occurs in all of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from cranfield.corpus import corpus_file, models
from cranfield.corpus.collecting import default_workers, read_parts
from cranfield.corpus.counting import Part, Words, columns
from cranfield.corpus.origin import Origin
from cranfield.corpus.settings import Settings
from cranfield.data import Integers, Strings
from cranfield.errors import InputError, UsageError
from cranfield.io.documents import Choice, Documents, Faults, encoded
from cranfield.io.faults import shown
from cranfield.io.streams import is_stream
from cranfield.wording import few


@dataclass(frozen=True, eq=False)
class Corpus:
    """What a collection says about its words, and the words of the documents that matter.

    Words of other documents are in ``total`` and in the frequencies alone: P(v|D) of a term that none of the
    documents at hand has is never asked for. Terms and ids are in the order of their bytes.
    """

    terms: Strings  # of the documents whose words are kept
    frequency: Integers  # (t,) how often each of these terms occurs in the whole collection
    total: int  # words in the whole collection, stop words left out
    documents: Strings  # those whose words are kept
    begin: Integers  # (d + 1,) document i's words are rows begin[i]:begin[i + 1]
    term: Integers  # (n,) row of `terms`, ascending within a document
    count: Integers  # (n,) how often the term occurs in the document
    settings: Settings
    size: int  # documents in the collection
    empty: int  # of which had no words
    missing: Strings  # ids of documents asked for that the collection does not have
    repeated: int = 0  # documents kept that were given more than once, with the same text
    origins: tuple[Origin, ...] = ()  # what it was read from

    @cached_property
    def place(self) -> dict[str, int]:
        """Which document each id is."""
        return {name: i for i, name in enumerate(self.documents)}

    @cached_property
    def counts(self) -> models.Words:
        """Its words as models take them."""
        return models.Words.of(self)

    @cached_property
    def _looked_for(self) -> frozenset[str]:
        return frozenset(self.missing)

    def lacking(self, wanted: Iterable[str]) -> set[str]:
        """Those of these documents that nobody asked for when this was made, so that it cannot tell what they say."""
        # Of a collection that was kept whole, what is not there is in none of its documents.
        whole = len(self.documents) + self.repeated >= self.size
        return set() if whole else set(wanted).difference(self.place, self._looked_for)

    @classmethod
    def of(
        cls, texts: Mapping[str, str], wanted: Iterable[str] | None = None, settings: Settings | None = None
    ) -> Corpus:
        """A small collection in memory; ``wanted`` are the documents whose words to keep, all where it is None.

        >>> corpus = Corpus.of({"D1": "Apple pie, apple tart", "D2": "apple phone"}, wanted=["D1", "D9"])
        >>> list(corpus.terms), corpus.frequency.tolist(), corpus.total
        (['apple', 'pie', 'tart'], [3, 1, 1], 6)
        >>> corpus.count.tolist(), list(corpus.missing)
        ([2, 1, 1], ['D9'])
        """
        wrong = {name: type(text).__name__ for name, text in texts.items() if not isinstance(text, str)}
        if wrong:
            raise InputError([f"document `{shown(name)}`: expected text, found {kind}" for name, kind in wrong.items()])
        settings, kept = settings or Settings(), None if wanted is None else frozenset(wanted)
        documents = Documents.of(range(len(texts)), list(texts), [encoded(text) for text in texts.values()], Faults())
        words = Words(settings)
        parts = [Part(words, words.count(documents, kept), lambda line: "")]
        return cls(**columns(parts, kept, settings), settings=settings)

    @classmethod
    def read(
        cls,
        *sources: Any,
        wanted: Iterable[str] | None = None,
        settings: Settings | None = None,
        id: str | None = None,
        text: Sequence[str] | None = None,
        workers: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Corpus:
        """A collection from files, in one pass that holds its vocabulary and the documents wanted, and no more.

        A source is a path (JSON Lines, tab-separated lines, TREC's ``<DOC>``, Parquet; compressed or not), a folder,
        "-", a binary file object or ``irds:DATASET``. ``id`` and ``text`` are the fields that hold these, where
        their names do not tell. The result does not depend on the number of ``workers``.
        """
        settings, kept = settings or Settings(), None if wanted is None else frozenset(wanted)
        origins = tuple(map(Origin.of, sources))  # before it is read: a change meanwhile is a change
        choice = Choice(id, tuple(text) if text else None)
        parts = read_parts(sources, kept, settings, choice, workers or default_workers(), progress)
        return cls(**columns(parts, kept, settings), settings=settings, origins=origins)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it to a Parquet file, whole or not at all."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        corpus_file.save(found, self.settings, self.origins, os.fsdecode(path))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        settings: Settings | None = None,
        wanted: Iterable[str] | None = None,
        trust: bool = False,
    ) -> Corpus:
        """Reads what `save` wrote.

        An error where it was made with other ``settings``, without documents that are ``wanted``, or of a source
        that has changed since; ``trust`` leaves the source alone.
        """
        path = os.fsdecode(path)
        found, settings, origins = corpus_file.load(path, settings, trust=trust)
        corpus = cls(**found, settings=settings, origins=origins)
        if wanted is not None and (absent := corpus.lacking(wanted)):
            names = few([f"`{shown(name)}`" for name in sorted(absent)])
            message = f"{path}: made without {len(absent):,} of the documents needed: {names}"
            raise InputError([message], hint=corpus_file.AGAIN.format(path))
        return corpus

    @classmethod
    def open(cls, source: Any, *, settings: Settings | None = None, wanted: Iterable[str] | None = None) -> Corpus:
        """A corpus from whatever there is: itself, ``{document: text}``, a file of one, or a collection to be read.

        Of a corpus that is already made, all documents are there; of a collection, those ``wanted``.
        """
        if isinstance(source, cls):
            return source
        if isinstance(source, Mapping):
            return cls.of(source, wanted, settings)
        if not is_stream(source):
            raise UsageError(
                f"cannot read a corpus from {type(source).__name__}",
                hint="give a Corpus, a path, an open binary file or {document: text}",
            )
        if corpus_file.is_corpus_file(source):
            return cls.load(source, settings=settings, wanted=wanted)
        return cls.read(source, wanted=wanted, settings=settings)
