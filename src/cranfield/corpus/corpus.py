"""A collection for language models: the words of some documents, and how often each occurs in the collection.

`build` finds the documents whose words judgments and runs need, then counts words in one pass.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from cranfield.corpus import corpus_file, models
from cranfield.corpus.corpus_file import Origin
from cranfield.corpus.counting import CountedBlock, WordCounter, corpus_columns, count_sources, default_workers
from cranfield.corpus.models import Settings
from cranfield.data import Integers, Judgments, Run, Strings
from cranfield.errors import InputError, UsageError
from cranfield.io import join, read_qrels, read_run
from cranfield.io.columns import by_text
from cranfield.io.documents import Documents, FieldChoice, encode_text
from cranfield.io.faults import quotable
from cranfield.io.runs import WHOLE_RANKING, empty_index
from cranfield.io.streams import is_stream
from cranfield.wording import few, plural


@dataclass(frozen=True, eq=False)
class Corpus:
    """The words of the documents that are kept, and their frequencies in the whole collection.

    The words of other documents are only in ``total`` and ``frequency``: P(v|D) is needed only for terms of
    kept documents. Terms and ids are in the order of their bytes.
    """

    terms: Strings  # of the kept documents
    frequency: Integers  # (t,) how often each of these terms occurs in the whole collection
    total: int  # words in the whole collection, without stop words
    documents: Strings  # the kept documents
    begin: Integers  # (d + 1,) document i's words are rows begin[i]:begin[i + 1]
    term: Integers  # (n,) row of `terms`, ascending within a document
    count: Integers  # (n,) how often the term occurs in the document
    settings: Settings
    size: int  # documents in the collection
    empty: int  # documents without words
    missing: Strings  # ids of wanted documents that the collection does not have
    repeated: int = 0  # repetitions of kept documents, with the same text
    origins: tuple[Origin, ...] = ()  # the sources

    def __repr__(self) -> str:
        kept = f"{plural(len(self.documents), 'document')} kept of {self.size:,}"
        return f"Corpus: {kept}, {plural(len(self.terms), 'term')}"

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row of each document id."""
        return {name: i for i, name in enumerate(self.documents)}

    @cached_property
    def counts(self) -> models.TermCounts:
        """The words for language models."""
        return models.TermCounts.of(self)

    @cached_property
    def _missing(self) -> frozenset[str]:
        return frozenset(self.missing)

    def not_requested(self, wanted: Iterable[str]) -> set[str]:
        """The documents that were not requested when the corpus was built, so that their words are unknown."""
        # If all documents were kept, any other document is not in the collection.
        complete = len(self.documents) + self.repeated >= self.size
        return set() if complete else set(wanted).difference(self.row_of, self._missing)

    @classmethod
    def of(
        cls, texts: Mapping[str, str], wanted: Iterable[str] | None = None, settings: Settings | None = None
    ) -> Corpus:
        """A small collection in memory; ``wanted`` are the documents whose words are kept, None for all.

        >>> corpus = Corpus.of({"D1": "Apple pie, apple tart", "D2": "apple phone"}, wanted=["D1", "D9"])
        >>> list(corpus.terms), corpus.frequency.tolist(), corpus.total
        (['apple', 'pie', 'tart'], [3, 1, 1], 6)
        >>> corpus.count.tolist(), list(corpus.missing)
        ([2, 1, 1], ['D9'])
        """
        texts = by_text(texts, "documents")
        faults = [
            f"document `{quotable(name)}`: expected text, found {type(text).__name__}"
            for name, text in texts.items()
            if not isinstance(text, str)
        ]
        if faults:
            raise InputError(faults)
        settings, kept = settings or Settings(), None if wanted is None else frozenset(wanted)
        documents = Documents.of(range(len(texts)), list(texts), [encode_text(text) for text in texts.values()])
        counter = WordCounter(settings)
        blocks = [CountedBlock(counter, counter.count(documents, kept), lambda line: "")]
        return cls(**corpus_columns(blocks, kept, settings), settings=settings)

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
        """A collection from files, in one pass. Memory holds only the vocabulary and the wanted documents.

        A source is a path (JSON Lines, tab-separated lines, TREC's ``<DOC>``, Parquet; compressed or not), a folder,
        "-", a binary file object or ``irds:DATASET``. ``id`` and ``text`` are the fields with the id and the text, if
        they do not have a usual name. The result does not depend on the number of ``workers``.
        """
        settings, kept = settings or Settings(), None if wanted is None else frozenset(wanted)
        origins = tuple(map(Origin.of, sources))  # before reading, so that a change during reading is noticed
        choice = FieldChoice(id, tuple(text) if text else None)
        blocks = count_sources(sources, kept, settings, choice, workers or default_workers(), progress)
        return cls(**corpus_columns(blocks, kept, settings), settings=settings, origins=origins)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the corpus to a Parquet file, completely or not at all."""
        columns = {field.name: getattr(self, field.name) for field in fields(self)}
        corpus_file.save(columns, self.settings, self.origins, os.fsdecode(path))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        settings: Settings | None = None,
        wanted: Iterable[str] | None = None,
        trust: bool = False,
    ) -> Corpus:
        """Read a file that `save` wrote.

        Raises if it was built with other ``settings``, without some of the ``wanted`` documents, or from a source
        that has changed since; with ``trust`` the source is not checked.
        """
        path = os.fsdecode(path)
        columns, settings, origins = corpus_file.load(path, settings, trust=trust)
        corpus = cls(**columns, settings=settings, origins=origins)
        if wanted is not None and (unknown := corpus.not_requested(wanted)):
            names = few([f"`{quotable(name)}`" for name in sorted(unknown)])
            fault = f"the corpus was built without {len(unknown):,} of the needed documents: {names}"
            raise corpus_file.stale(path, fault)
        return corpus

    @classmethod
    def open(cls, source: Any, *, settings: Settings | None = None, wanted: Iterable[str] | None = None) -> Corpus:
        """A corpus from a `Corpus`, ``{document: text}``, a saved corpus, or a collection that is read now.

        A collection is read with the ``wanted`` documents; a saved corpus has the documents that it was built with.
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


DEPTH = 20


def build(*sources: Any, qrels: Any = None, runs: Sequence[Any] = (), depth: int = DEPTH, **reading: Any) -> Corpus:
    """A corpus with the words of all judged documents, and of those that may be in the top ``depth`` of a run.

    The other arguments are those of `Corpus.read`.
    """
    if qrels is None and not runs:
        raise nothing_needed_error()
    judgments = None if qrels is None else read_qrels(qrels)
    names = needed_documents(judgments, [read_run(run) for run in runs], depth)
    corpus = Corpus.read(*sources, wanted=names, **reading)
    documents = set(corpus.documents)
    if judgments is not None and documents.isdisjoint(judgments.documents):
        raise no_overlap_error(len(set(judgments.documents)), judgments.documents[0])
    if not documents:
        raise no_overlap_error()
    return corpus


def nothing_needed_error() -> UsageError:
    """The error for a corpus without judgments and runs."""
    return UsageError(
        "a corpus needs judgments or runs: they say which documents to keep",
        hint="give --qrels QRELS, --run RUN or both",
    )


def no_overlap_error(judged: int = 0, example: str = "") -> InputError:
    """The error for a collection with none of the judged documents, or none of the retrieved ones."""
    if not judged:
        message = "none of the retrieved documents is in the collection"
        return InputError([message], hint="check that both belong to the same collection")
    return InputError(
        [f"none of the {judged:,} judged documents is in the collection (first document: `{quotable(example)}`)"],
        hint="check that both belong to the same collection, and that --id is the field with the judged ids",
    )


def needed_documents(
    judgments: Judgments | None, runs: Iterable[Run] = (), depth: int | None = DEPTH
) -> frozenset[str]:
    """Judged documents, and those that may be in the top ``depth`` of a judged query in some order of ties.

    Without ``depth`` these are all documents of the runs.

    >>> from cranfield.io import read_qrels, read_run
    >>> run = read_run({"q": {"a": 3, "b": 2, "c": 2, "d": 1}, "unjudged": {"e": 1}})
    >>> sorted(needed_documents(read_qrels({"q": {"z": 1}}), [run], depth=2))
    ['a', 'b', 'c', 'z']
    """
    names = set(judgments.documents if judgments else ())
    queries = None if judgments is None else frozenset(judgments.queries)
    for run in runs:
        for query, documents in top_documents(run, depth).items():
            if queries is None or query in queries:
                names |= documents
    return frozenset(names)


def top_documents(run: Run, depth: int | None = DEPTH) -> dict[str, set[str]]:
    """For each query the documents that may be in the top ``depth`` in some order of ties."""
    # Some tools compare scores in 32 bits; more documents are tied then, and may be in the top.
    joined = join(run, empty_index(), ["score32"], by_id=False, top=WHOLE_RANKING if depth is None else depth)
    queries, tops = joined.queries.other, joined.tops[0]
    documents: dict[str, set[str]] = {query: set() for query in queries}
    for query, document in zip(tops.positions.query.tolist(), tops.ids, strict=True):
        documents[queries[query]].add(document)
    return documents
