"""One pass through a collection: count all words, and keep the words of some documents.

One thread reads blocks, several threads parse them and count their words; the counts are merged at the end.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from queue import SimpleQueue
from typing import Any

import numpy as np

from cranfield import native
from cranfield.corpus.models import Settings, character_classes
from cranfield.data import Integers, Strings
from cranfield.errors import InputError, max_faults
from cranfield.io.documents import (
    Block,
    DocumentFault,
    DocumentReader,
    Documents,
    FieldChoice,
    document_readers,
    location_of,
)
from cranfield.io.faults import quotable

VOCABULARY_CHUNK = 1 << 16
ONE_TEXT_HINT = "each id must have one text; keep one of them"
MAX_WORKERS = 8  # more do not help: reading takes the time, and each has its own vocabulary


@dataclass(frozen=True)
class KeptDocuments:
    """The documents of one block whose words are kept, with a digest of each text to compare repeated ids."""

    names: list[str]
    lines: list[int]
    digests: list[bytes]
    begin: Integers
    word: Integers
    count: Integers
    size: int  # documents of the block, kept or not
    empty: int  # documents of the block without words


class WordCounter:
    """Word counts of one thread. Its memory grows with the vocabulary, not with the texts."""

    def __init__(self, settings: Settings) -> None:
        self.core = native.Words(character_classes(settings.split), settings.lower)

    def count(self, documents: Documents, wanted: Collection[str] | None) -> KeptDocuments:
        """Count the words of documents, and keep those of the wanted ones; None for all."""
        rows = [row for row, name in enumerate(documents.names) if wanted is None or name in wanted]
        return self.count_rows(documents, rows)

    def count_rows(self, documents: Documents, rows: Sequence[int] | Integers) -> KeptDocuments:
        """Count the words of documents, and keep those of these rows."""
        names = documents.names
        counts = self.core.add((documents.offsets, documents.data), np.array(rows, np.int64))
        bounds, data = documents.offsets, documents.data.data
        return KeptDocuments(
            [names[row] for row in rows],
            [documents.lines[row] for row in rows],
            [blake2b(data[bounds[row] : bounds[row + 1]], digest_size=16).digest() for row in rows],
            counts["begin"],
            counts["word"],
            counts["count"],
            len(names),
            int((counts["length"] == 0).sum()),
        )


@dataclass(frozen=True)
class CountedBlock:
    """A block after counting: the counter that was used, the kept documents, and the location of a line."""

    counter: WordCounter
    kept: KeptDocuments
    locate: Callable[[int], str]


def corpus_columns(blocks: Sequence[CountedBlock], wanted: Iterable[str] | None, settings: Settings) -> dict[str, Any]:
    """All fields of a `Corpus` except its settings. They do not depend on which thread counted what."""
    words, word_number = _merge_counters(blocks, settings)
    strings, counts = words.columns()
    vocabulary = Strings(*strings)

    names, numbers = _number_documents(blocks)
    empty = [np.zeros(0, np.int64)]
    lengths = [np.diff(block.kept.begin) for block in blocks]
    document = np.concatenate([np.repeat(*pair) for pair in zip(numbers, lengths, strict=True)] or empty)
    word = np.concatenate([word_number[id(block.counter)][block.kept.word] for block in blocks] or empty)
    count = np.concatenate([block.kept.count for block in blocks] or empty)
    document, word, count = (column[document >= 0] for column in (document, word, count))

    # Only terms of kept documents have a row; all other words count in the total only.
    used, word = np.unique(word, return_inverse=True)
    term_of_word = settings.terms(vocabulary.take(used))
    terms = sort_by_bytes(set(term_of_word) - {""})
    row_of_term = {term: row for row, term in enumerate(terms)}
    term = np.array([row_of_term.get(text, -1) for text in term_of_word], np.int64)[word]
    document, term, count = (column[term >= 0] for column in (document, term, count))
    frequency, total = _frequencies(vocabulary, counts, row_of_term, settings)

    return {
        "terms": Strings.of(terms),
        "frequency": frequency,
        "total": total,
        **document_vectors(names, document, term, count, len(terms)),
        "size": sum(block.kept.size for block in blocks),
        "empty": sum(block.kept.empty for block in blocks),
        "missing": Strings.of(sort_by_bytes(set(wanted or ()) - set(names))),
        "repeated": sum(int((number < 0).sum()) for number in numbers),
    }


def document_vectors(
    names: Sequence[str], document: Integers, term: Integers, count: Integers, terms: int
) -> dict[str, Any]:
    """Documents in the order of their ids, each with its terms and counts, from rows in any order."""
    order = sort_by_bytes(names)
    row_of_name = {name: row for row, name in enumerate(order)}
    document = np.array([row_of_name[name] for name in names], np.int64)[document]
    # Different words of a document may be the same term.
    width = max(terms, 1)
    pairs, code = np.unique(document * width + term, return_inverse=True)
    lengths = np.bincount(pairs // width, minlength=len(order))
    return {
        "documents": Strings.of(order),
        "begin": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        "term": pairs % width,
        "count": np.bincount(code, count, len(pairs)).astype(np.int64),
    }


def _merge_counters(blocks: Sequence[CountedBlock], settings: Settings) -> tuple[Any, dict[int, Integers]]:
    """All counts added to those of the first counter; and for each counter the number there of each of its words."""
    counters = list({id(block.counter): block.counter for block in blocks}.values())
    merged = (counters[0] if counters else WordCounter(settings)).core
    # The words of the first counter keep their numbers.
    numbers = {id(counter): np.arange(len(merged.columns()[1])) for counter in counters[:1]}
    numbers |= {id(counter): merged.merge(counter.core) for counter in counters[1:]}
    return merged, numbers


def _number_documents(blocks: Sequence[CountedBlock]) -> tuple[list[str], list[Integers]]:
    """The distinct ids, and for each block the number of each kept document; -1 for a repetition.

    An id with two different texts is an error.
    """
    first: dict[str, tuple[bytes, CountedBlock, int]] = {}
    number: dict[str, int] = {}
    numbers, faults = [], []
    for block in blocks:
        kept = block.kept
        number_of = np.full(len(kept.names), -1, np.int64)
        for i, (name, line, digest) in enumerate(zip(kept.names, kept.lines, kept.digests, strict=True)):
            if name not in first:
                first[name] = digest, block, line
                number_of[i] = number[name] = len(number)
            elif first[name][0] != digest:
                _, first_block, first_line = first[name]
                repetition = f"document `{quotable(name)}` appears again with another text"
                faults.append(f"{block.locate(line)}: {repetition}, first in {first_block.locate(first_line)}")
        numbers.append(number_of)
    if faults:
        raise InputError(faults, hint=ONE_TEXT_HINT)
    return list(number), numbers


def _frequencies(
    vocabulary: Strings, counts: Integers, row_of_term: dict[str, int], settings: Settings
) -> tuple[Integers, int]:
    """How often each of these terms occurs, and how often all terms occur; in chunks, as vocabularies are large."""
    frequency = np.zeros(len(row_of_term), np.int64)
    total = 0
    for begin in range(0, len(vocabulary), VOCABULARY_CHUNK):
        chunk = Strings(vocabulary.offsets[begin : begin + VOCABULARY_CHUNK + 1], vocabulary.data)
        terms, chunk_counts = settings.terms(chunk), counts[begin : begin + VOCABULARY_CHUNK]
        row = np.array([row_of_term.get(term, -1) if term else -2 for term in terms], np.int64)  # -2: a stop word
        total += int(chunk_counts[row > -2].sum())
        np.add.at(frequency, row[row >= 0], chunk_counts[row >= 0])
    return frequency, total


def sort_by_bytes(names: Iterable[str]) -> list[str]:
    """Ids or terms in the order of their bytes."""
    return sorted(names, key=lambda name: name.encode("utf-8", "surrogateescape"))


def default_workers() -> int:
    """The number of cores, up to a limit; 1 without the native core, which does not release the interpreter's lock."""
    if not native.NATIVE:
        return 1
    limit = os.environ.get("CRANFIELD_THREADS", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(int(limit) if limit.isdigit() and int(limit) else cores, MAX_WORKERS)


def count_sources(
    sources: Sequence[Any],
    wanted: Collection[str] | None,
    settings: Settings,
    choice: FieldChoice,
    workers: int,
    progress: Callable[[int, int], None] | None,
) -> list[CountedBlock]:
    """Count the words of all sources, block by block; raise one error with the faults of all of them."""
    idle: SimpleQueue[WordCounter] = SimpleQueue()
    for _ in range(workers):
        idle.put(WordCounter(settings))
    faults: list[str] = []
    total = 0
    blocks: list[CountedBlock] = []
    read_error: InputError | None = None

    def count(counter: WordCounter, reader: DocumentReader, block: Block) -> CountedBlock | Sequence[DocumentFault]:
        try:
            documents = reader.parse(block)
            if documents.faults:
                return documents.faults
            return CountedBlock(counter, counter.count(documents, wanted), partial(location_of, reader))
        finally:
            idle.put(counter)

    def collect(reader: DocumentReader, future: Future[CountedBlock | Sequence[DocumentFault]]) -> None:
        nonlocal total
        result = future.result()
        if isinstance(result, CountedBlock):
            blocks.append(result)
        else:
            total += len(result)
            faults.extend(f"{location_of(reader, line)}: {fault}" for line, fault in result[: max_faults()])

    pending: deque[tuple[DocumentReader, Future[CountedBlock | Sequence[DocumentFault]]]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for reader, block, position, size in _read_blocks(sources, choice):
                pending.append((reader, pool.submit(count, idle.get(), reader, block)))
                while pending and pending[0][1].done():
                    collect(*pending.popleft())
                if progress:
                    progress(position, size)
        except InputError as error:
            read_error = error  # faults in earlier blocks are reported first
        for reader, future in pending:
            collect(reader, future)
    if read_error is not None:
        if not faults:
            raise read_error
        raise InputError([*faults, *read_error.faults], total=total + read_error.total)
    if faults:
        raise InputError(faults, total=total)
    return blocks


def _read_blocks(sources: Sequence[Any], choice: FieldChoice) -> Iterator[tuple[DocumentReader, Block, int, int]]:
    """Each block with its reader, the bytes read so far, and the bytes of all sources."""
    readers = [reader for source in sources for reader in document_readers(source, choice)]
    size, before = sum(reader.bytes for reader in readers), 0
    for reader in readers:
        for block in reader.blocks():
            yield reader, block, before + block.position, size
        before += reader.bytes
