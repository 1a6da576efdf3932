"""Word counts of a collection: Arrow rows in; terms with frequencies and documents with their terms out.

An input row has an id, whether the words of the document are kept (``kept``), and its texts. An output record is one
of: a term and its frequency in the texts of a task; a kept document with its terms; the number of texts; a fault. The
engine adds up frequencies and numbers of texts.
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
from cranfield.io.tables import arrow_binary, strings_of

# A task returns its counts after this many bytes of text, or terms of kept documents, so that its memory is limited.
MAX_BYTES, MAX_KEPT_TERMS = 1 << 28, 1 << 22

RECORD = {
    "term": "bytes",
    "count": "count",
    "kept": "flag",  # whether a kept document has the term
    "document": "bytes",
    "digest": "bytes",  # of its text
    "terms": "list of bytes",
    "counts": "list of counts",
    "size": "count",  # texts
    "empty": "count",  # texts without words
    "fault": "text",
}


@dataclass(frozen=True)
class WordCountTask:
    """Counts the words of batches of rows; ``id`` and ``texts`` are the users' names of the columns."""

    settings: Settings
    id: str
    texts: Sequence[str]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        counter, kept, bytes_read = WordCounter(self.settings), list[KeptDocuments](), 0
        for batch in batches:
            if not batch.num_rows:
                continue
            faults = self._faults(batch)
            if faults:
                yield _batch(len(faults), fault=faults)
                continue
            documents = _documents(batch)
            rows = np.flatnonzero(batch.column("kept").to_numpy(zero_copy_only=False))
            kept.append(counter.count_rows(documents, rows))
            bytes_read += int(documents.offsets[-1] - documents.offsets[0])
            if bytes_read >= MAX_BYTES or sum(len(block.word) for block in kept) >= MAX_KEPT_TERMS:
                yield from _count_records(self.settings, counter, kept)
                counter, kept, bytes_read = WordCounter(self.settings), [], 0
        yield from _count_records(self.settings, counter, kept)

    def _faults(self, batch: Any) -> list[str]:
        """The faults of rows, one sentence each."""
        compute = optional("pyarrow.compute", "an engine", "arrow")
        ids, *texts = (batch.column(name).cast("binary") for name in ("id", *batch.schema.names[2:]))
        without_id = compute.fill_null(compute.equal(compute.binary_length(ids), 0), True)
        without_text = texts[0].is_null()
        for column in texts[1:]:
            without_text = compute.and_(without_text, column.is_null())
        faults = []
        for row in compute.indices_nonzero(without_id).to_pylist():
            begins = next((text for column in texts if (text := column[row].as_py())), b"")[:40]
            value = "null" if ids[row].as_py() is None else "an empty id"
            faults.append(
                f"texts: a document must have an id, found {value} in column `{quotable(self.id)}`; "
                f"the text begins with `{quotable(begins.decode('utf-8', 'replace'))}`"
            )
        where, contain = ("column", "contains") if len(self.texts) == 1 else ("columns", "contain")
        columns = ", ".join(f"`{quotable(name)}`" for name in self.texts)
        for row in compute.indices_nonzero(compute.and_not(without_text, without_id)).to_pylist():
            name = quotable(ids[row].as_py().decode("utf-8", "replace"))
            faults.append(f"texts: document `{name}`: there is no text; {where} {columns} {contain} null")
        return faults


def _documents(batch: Any) -> Documents:
    """The rows as documents."""
    pyarrow = optional("pyarrow", "an engine", "arrow")
    texts = join_text_columns([batch.column(name) for name in batch.schema.names[2:]])
    names: Any = strings_of(batch.column("id").cast(pyarrow.large_binary()))
    return Documents(range(batch.num_rows), names, texts.offsets, texts.data)


def _count_records(settings: Settings, counter: WordCounter, kept: Sequence[KeptDocuments]) -> Iterator[Any]:
    """The counts so far, as records."""
    words, counts = counter.core.columns()
    term_of_word = settings.terms(Strings(*words))
    terms, is_term = Strings.of(term_of_word), np.array([bool(term) for term in term_of_word], bool)
    in_kept = np.zeros(len(is_term), bool)
    for block in kept:
        in_kept[block.word] = True
    yield _batch(1, size=[sum(block.size for block in kept)], empty=[sum(block.empty for block in kept)])
    rows = np.flatnonzero(is_term)
    if len(rows):
        yield _batch(len(rows), term=_binary(terms.take(rows)), count=counts[rows], kept=in_kept[rows])
    for block in kept:
        if block.names:
            with_term = is_term[block.word]
            begin = np.concatenate([[0], np.cumsum(with_term)])[block.begin]
            yield _batch(
                len(block.names),
                document=_binary(Strings.of(block.names)),
                digest=block.digests,
                terms=_lists(begin, _binary(terms.take(block.word[with_term]))),
                counts=_lists(begin, block.count[with_term]),
            )


def _binary(strings: Strings) -> Any:
    pyarrow = optional("pyarrow", "an engine", "arrow")
    return arrow_binary(strings).cast(pyarrow.binary())


def _lists(begin: Any, values: Any) -> Any:
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
        pyarrow.array(columns[name], types[type_name]) if name in columns else pyarrow.nulls(rows, types[type_name])
        for name, type_name in RECORD.items()
    ]
    return pyarrow.RecordBatch.from_arrays(arrays, names=list(RECORD))
