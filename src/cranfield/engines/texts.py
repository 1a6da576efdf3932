"""Texts of a collection, counted: Arrow rows in; out come terms with their frequencies, and documents with their terms.

A row in has an id, whether the document matters (``kept``), and its texts. Records out are of one kind each: a term and
how often it occurred in the texts of a task; a document that matters, with its terms; how many texts there were; or
what was wrong with one. Frequencies and numbers of texts are added up by the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.corpus.counting import KeptDocuments, WordCounter
from cranfield.corpus.settings import Settings
from cranfield.data import Strings
from cranfield.errors import optional
from cranfield.io.documents import Documents, join_text_columns
from cranfield.io.faults import quotable
from cranfield.io.tables import strings_of

# A task tells what it has counted after so many bytes of text, or words of documents that matter: so what it holds
# does not grow with its share of the collection.
BYTES, KEPT = 1 << 28, 1 << 22

RECORD = {
    "term": "bytes",
    "count": "count",
    "kept": "flag",  # whether a document that matters has the term
    "document": "bytes",
    "digest": "bytes",  # of its text
    "terms": "list of bytes",
    "counts": "list of counts",
    "size": "count",  # texts
    "empty": "count",  # of which had no words
    "fault": "text",
}


@dataclass(frozen=True)
class Counting:
    """What every task is told: what is a word, and what the columns are called that hold ids and texts."""

    settings: Settings
    id: str
    texts: Sequence[str]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        words, kept, read = WordCounter(self.settings), list[KeptDocuments](), 0
        for batch in batches:
            if not batch.num_rows:
                continue
            faults = self._faults(batch)
            if faults:
                yield _batch(len(faults), fault=faults)
                continue
            documents = _documents(batch)
            rows = np.flatnonzero(batch.column("kept").to_numpy(zero_copy_only=False))
            kept.append(words.count_rows(documents, rows))
            read += int(documents.offsets[-1] - documents.offsets[0])
            if read >= BYTES or sum(len(some.word) for some in kept) >= KEPT:
                yield from _told(self.settings, words, kept)
                words, kept, read = WordCounter(self.settings), [], 0
        yield from _told(self.settings, words, kept)

    def _faults(self, batch: Any) -> list[str]:
        """What is wrong with rows, a sentence each."""
        compute = optional("pyarrow.compute", "an engine", "arrow")
        ids, *texts = (batch.column(name).cast("binary") for name in ("id", *batch.schema.names[2:]))
        nameless = compute.fill_null(compute.equal(compute.binary_length(ids), 0), True)
        silent = texts[0].is_null()
        for column in texts[1:]:
            silent = compute.and_(silent, column.is_null())
        found = []
        for row in compute.indices_nonzero(nameless).to_pylist():
            begins = next((text for column in texts if (text := column[row].as_py())), b"")[:40]
            what = "null" if ids[row].as_py() is None else "nothing"
            found.append(
                f"texts: a document must have an id, found {what} in column `{quotable(self.id)}`; "
                f"its text begins `{quotable(begins.decode('utf-8', 'replace'))}`"
            )
        where = "column" if len(self.texts) == 1 else "columns"
        columns = ", ".join(f"`{quotable(name)}`" for name in self.texts)
        for row in compute.indices_nonzero(compute.and_not(silent, nameless)).to_pylist():
            name = quotable(ids[row].as_py().decode("utf-8", "replace"))
            found.append(f"texts: document `{name}`: there is no text, but null in {where} {columns}")
        return found


def _documents(batch: Any) -> Documents:
    """The rows as documents that the native core counts in one call."""
    pyarrow = optional("pyarrow", "an engine", "arrow")
    texts = join_text_columns([batch.column(name) for name in batch.schema.names[2:]])
    names: Any = strings_of(batch.column("id").cast(pyarrow.large_binary()))
    return Documents(range(batch.num_rows), names, texts.offsets, texts.data)


def _told(settings: Settings, words: WordCounter, kept: Sequence[KeptDocuments]) -> Iterator[Any]:
    """What was counted so far, as records."""
    pair, counts = words.core.columns()
    spelled = settings.terms(Strings(*pair))
    terms, there = Strings.of(spelled), np.array([bool(term) for term in spelled], bool)
    used = np.zeros(len(there), bool)
    for some in kept:
        used[some.word] = True
    yield _batch(1, size=[sum(some.size for some in kept)], empty=[sum(some.empty for some in kept)])
    said = np.flatnonzero(there)
    if len(said):
        yield _batch(len(said), term=_binary(terms.take(said)), count=counts[said], kept=used[said])
    for some in kept:
        if some.names:
            here = there[some.word]
            begin = np.concatenate([[0], np.cumsum(here)])[some.begin]
            yield _batch(
                len(some.names),
                document=_binary(Strings.of(some.names)),
                digest=some.digests,
                terms=_listed(begin, _binary(terms.take(some.word[here]))),
                counts=_listed(begin, some.count[here]),
            )


def _binary(strings: Strings) -> Any:
    pyarrow = optional("pyarrow", "an engine", "arrow")
    buffers = [None, pyarrow.py_buffer(strings.offsets), pyarrow.py_buffer(strings.data)]
    return pyarrow.Array.from_buffers(pyarrow.large_binary(), len(strings), buffers).cast(pyarrow.binary())


def _listed(begin: Any, values: Any) -> Any:
    pyarrow = optional("pyarrow", "an engine", "arrow")
    return pyarrow.ListArray.from_arrays(pyarrow.array(begin, pyarrow.int32()), values)


def _batch(rows: int, **columns: Any) -> Any:
    pyarrow = optional("pyarrow", "an engine", "arrow")
    types = {
        "text": pyarrow.string(),
        "bytes": pyarrow.binary(),
        "count": pyarrow.int64(),
        "flag": pyarrow.bool_(),
        "list of bytes": pyarrow.list_(pyarrow.binary()),
        "list of counts": pyarrow.list_(pyarrow.int64()),
    }
    arrays = [
        pyarrow.array(columns[name], types[kind]) if name in columns else pyarrow.nulls(rows, types[kind])
        for name, kind in RECORD.items()
    ]
    return pyarrow.RecordBatch.from_arrays(arrays, names=list(RECORD))
