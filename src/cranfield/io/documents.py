"""Collections of documents: the readers for a file, a folder or a data set, and the texts of documents.

A `DocumentReader` cuts its source into blocks, in order; any thread can then parse a block into `Documents`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from functools import reduce
from typing import Any, NamedTuple, Protocol

import numpy as np

from cranfield.data import Bytes, Integers, Strings
from cranfield.errors import InputError, UsageError, reading
from cranfield.io.columns import strings_of
from cranfield.io.faults import quotable
from cranfield.io.streams import (
    BOM,
    Stream,
    detect_file,
    detect_source,
    document_extensions,
    open_stream,
    without_compression,
)

# Usual names of fields. The id is the first of these that exists; the text is all that exist, in this order.
ID_FIELDS = ("_id", "id", "doc_id", "pid", "docid", "docno", "document_id", "corpus_id")
TEXT_FIELDS = (
    "title",
    "headings",
    "headline",
    "abstract",
    "text",
    "contents",
    "content",
    "body",
    "passage",
    "segment",
    "snippet",
)

ROWS_PER_BLOCK = 4096
BLOCK_BYTES = 1 << 22
READ_BYTES = 1 << 18  # at most this much is lost before a damaged end
MAX_RECORD_BYTES = 1 << 27
NUL_IN_LINE = "the line contains a NUL byte; this is not a text file"


class Fields(NamedTuple):
    """The field of a record with its id, and the fields with its text."""

    id: str
    texts: tuple[str, ...]


class FieldChoice(NamedTuple):
    """The fields that the user named; None to find them by their usual names."""

    id: str | None = None
    texts: tuple[str, ...] | None = None

    def resolve(self, names: Sequence[str], source_name: str, *, same_fields: bool = True) -> Fields:
        """The fields of records whose first one has these names.

        Without ``same_fields`` later records may have fields that the first one does not have.
        """
        by_name = {name.strip().lower(): name for name in reversed(names)}
        for name in (self.id, *(self.texts or ())):
            if name is not None and name not in names:
                raise InputError([f"{source_name}: there is no field `{quotable(name)}`; {field_list(names)}"])
        id_field = self.id or next((by_name[name] for name in ID_FIELDS if name in by_name), None)
        if id_field is None:
            message = f"{source_name}: no field for the id; {field_list(names)}"
            raise InputError([message], hint="call it id, or give `cranfield corpus` its name with --id FIELD")
        texts = self.texts or tuple(by_name[name] for name in TEXT_FIELDS if name in by_name)
        if not texts:
            message = f"{source_name}: no field for the text; {field_list(names)}"
            raise InputError([message], hint="call it text, or give `cranfield corpus` its name with --text FIELD")
        if not same_fields and self.texts is None:
            texts = tuple(by_name.get(name, name) for name in TEXT_FIELDS)
        return Fields(id_field, texts)

    def reject(self, source_name: str) -> None:
        """Raise if fields were named for a source that has none."""
        if self.id or self.texts:
            raise UsageError(f"{source_name}: this source has no named fields")


def field_list(names: Sequence[str]) -> str:
    """The fields of a record, for a message about a missing one."""
    return f"the fields are {', '.join(quotable(name) for name in names)}" if names else "the record has no fields"


DocumentFault = tuple[int, str]  # a line, and what is wrong with it


class Documents(NamedTuple):
    """The documents of a block: line, id and text of each; the texts are concatenated UTF-8."""

    lines: Sequence[int]
    names: Sequence[str]
    offsets: Integers
    data: Bytes
    faults: Sequence[DocumentFault] = ()

    @classmethod
    def of(
        cls, lines: Sequence[int], names: Sequence[str], texts: Sequence[bytes], faults: Sequence[DocumentFault] = ()
    ) -> Documents:
        """Documents from one text each."""
        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(text) for text in texts], out=offsets[1:])
        return cls(lines, names, offsets, np.frombuffer(b"".join(texts), np.uint8), faults)

    def text(self, row: int) -> bytes:
        """The text of one document."""
        return self.data[self.offsets[row] : self.offsets[row + 1]].tobytes()


class DocumentsBuilder:
    """Collects documents and faults one by one."""

    def __init__(self) -> None:
        self.lines: list[int] = []
        self.names: list[str] = []
        self.texts: list[bytes] = []
        self.faults: list[DocumentFault] = []

    def add(self, line: int, name: str | bytes, text: bytes) -> None:
        """Add a document."""
        self.lines.append(line)
        self.names.append(name.decode("utf-8", "surrogateescape") if isinstance(name, bytes) else name)
        self.texts.append(text)

    def fault(self, line: int, sentence: str) -> None:
        """Add what is wrong with a line."""
        self.faults.append((line, sentence))

    def build(self) -> Documents:
        """All documents and faults that were added."""
        return Documents.of(self.lines, self.names, self.texts, self.faults)


def join_text_columns(columns: Sequence[Any]) -> Strings:
    """The texts of each row of Arrow columns, separated by newlines; nulls are left out."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # Arrow would drop a row with only nulls, and shift all later texts by one document.
    first, *others = [column.cast(pa.large_binary()) for column in columns]
    all_null = reduce(pc.and_, map(pc.is_null, columns))
    first = pc.if_else(all_null, pa.scalar(b"", pa.large_binary()), first)
    return strings_of(
        pc.binary_join_element_wise(first, *others, pa.scalar(b"\n", pa.large_binary()), null_handling="skip")
    )


def encode_text(text: str) -> bytes:
    """Text as UTF-8. A lone surrogate becomes invalid bytes, which separate words."""
    return text.encode("utf-8", "surrogatepass")


class Block(NamedTuple):
    """Records that were read but not parsed: the line of the first one, and the position in the source after them."""

    line: int
    content: Any
    position: int = 0

    def text_lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines of a block of text that are not blank, with their numbers."""
        content = self.content.removeprefix(BOM) if self.line == 1 else self.content
        return ((line, text) for line, text in enumerate(content.split(b"\n"), self.line) if text.strip())


class DocumentReader(Protocol):
    """Reads one source: its blocks in order, and the documents of any block."""

    source_name: str
    unit: str  # what line numbers count: "line", "row"
    bytes: int  # size of the source; 0 if unknown

    def blocks(self) -> Iterator[Block]: ...
    def parse(self, block: Block) -> Documents: ...


def location_of(reader: DocumentReader, line: int) -> str:
    """Source and line for messages."""
    if not line:
        return reader.source_name
    return f"{reader.source_name}:{line}" if reader.unit == "line" else f"{reader.source_name}: {reader.unit} {line}"


class TextReader:
    """Text cut into blocks of complete records, so that only a few blocks are in memory at a time."""

    unit = "line"
    block_bytes = BLOCK_BYTES

    def __init__(self, stream: Stream, record_end: bytes = b"\n") -> None:
        self.stream, self.source_name, self.record_end = stream, stream.source_name, record_end
        self.bytes = size_on_disk(stream)

    def blocks(self) -> Iterator[Block]:
        with reading(self.source_name), self.stream.open() as file:
            rest, line, error = b"", 1, None
            while error is None:
                data, error = _read_block(file, self.block_bytes)
                if not data:
                    break
                data = rest + data
                end = data.rfind(self.record_end)
                if end < 0:
                    if len(data) > MAX_RECORD_BYTES:
                        record = "line" if self.record_end == b"\n" else "document"
                        size = f"the {record} is longer than {MAX_RECORD_BYTES >> 20} MiB"
                        message = f"{self.source_name}:{line}: {size}"
                        raise InputError([message], hint="this is probably not a collection of documents")
                    rest = data
                    continue
                end += len(self.record_end)
                content, rest = data[:end], data[end:]
                yield Block(line, content, position_on_disk(file))
                line += content.count(b"\n")
            if error is not None:
                raise error
            if rest.strip():
                yield Block(line, rest, position_on_disk(file))


def _read_block(file: Any, size: int) -> tuple[bytes, InputError | None]:
    """Up to ``size`` bytes; pipes and decompressors give small pieces. An error comes with the bytes before it."""
    pieces = []
    try:
        while size and (data := file.read(min(size, READ_BYTES))):
            pieces.append(data)
            size -= len(data)
    except InputError as error:
        return b"".join(pieces), error
    return b"".join(pieces), None


def size_on_disk(stream: Stream) -> int:
    """The bytes of a file, compressed or not; 0 if unknown."""
    return os.path.getsize(stream.source_name) if os.path.isfile(stream.source_name) else 0


def position_on_disk(file: Any) -> int:
    """Bytes read so far of the file on disk; 0 if unknown."""
    if hasattr(file, "consumed"):
        return int(file.consumed())
    return int(file.tell()) if not file.closed and file.seekable() else 0


FILES_PER_BLOCK = 256


def document_readers(source: Any, choice: FieldChoice) -> Iterator[DocumentReader]:
    """The readers for a path, a folder, "-", a binary file object or ``irds:DATASET``; a folder may need several."""
    if isinstance(source, str | os.PathLike):
        path = os.fsdecode(source)
        layout = detect_source(path)
        if layout is not None and layout.read_documents is not None:
            choice.reject(path)
            yield layout.read_documents(path)
            return
        if os.path.isdir(path):
            yield from _folder_readers(path, choice)
            return
    yield _stream_reader(source, choice)


def _stream_reader(source: Any, choice: FieldChoice) -> DocumentReader:
    stream = open_stream(source, "corpus")
    read_documents = detect_file(stream, "documents").read_documents
    assert read_documents is not None
    return read_documents(stream, choice)


def document_files(source: Any) -> list[str]:
    """The files of a source, in order; empty if it is not a file or a folder."""
    if not isinstance(source, str | os.PathLike) or not os.path.exists(source):
        return []
    path = os.fsdecode(source)
    if not os.path.isdir(path):
        return [path]
    layout = detect_source(path)
    if layout is not None and layout.document_files is not None:
        return layout.document_files(path)
    files, visited = [], {os.path.realpath(path)}
    for folder, folders, names in os.walk(path, followlinks=True):
        inside = {name: os.path.realpath(os.path.join(folder, name)) for name in folders if not name.startswith(".")}
        folders[:] = [name for name, real in inside.items() if real not in visited]  # links may form circles
        visited.update(inside.values())
        files += [os.path.join(folder, name) for name in names if not name.startswith(".")]
    broken = [f"{file}: this link points to a missing file" for file in sorted(files) if not os.path.exists(file)]
    if broken:
        raise InputError(broken)
    return sorted(filter(os.path.isfile, files))  # pipes and devices are not documents


def _folder_readers(path: str, choice: FieldChoice) -> Iterator[DocumentReader]:
    from cranfield.io.formats.trec import DOC_TAG

    files = document_files(path)
    if not files:
        raise InputError([f"{path}: the folder has no files"])
    layout = detect_source(path)
    if layout is not None and layout.document_files is not None:
        collections, texts = files, list[str]()
    else:
        collections = [file for file in files if _has_many_documents(file)]
        texts = [file for file in files if not _has_many_documents(file)]
        # TREC's disks have many documents per file, and file names without an extension.
        if texts and DOC_TAG.match(_head(texts[0]).lstrip()):
            collections, texts = files, []
    if collections and texts:
        collection, text = (quotable(os.path.relpath(files[0], path)) for files in (collections, texts))
        raise InputError(
            [f"{path}: the folder mixes collections, such as `{collection}`, with other files, such as `{text}`"],
            hint="give the files with the documents, not the folder",
        )
    for file in collections:
        yield _stream_reader(file, choice)
    if texts:
        yield TextFiles(path, texts, choice)


def _has_many_documents(file: str) -> bool:
    return without_compression(file).lower().endswith(document_extensions())


def _head(file: str) -> bytes:
    """The first bytes of a file, which may be empty if it is one document of many."""
    return open_stream(file, "corpus").head if os.path.getsize(file) else b""


class TextFiles:
    """A folder with one document per file; the id is the file name without its extension."""

    unit = "file"

    def __init__(self, folder: str, files: list[str], choice: FieldChoice) -> None:
        choice.reject(folder)
        self.source_name = folder
        self.files = files
        self.sizes = [os.path.getsize(file) for file in files]
        self.bytes = sum(self.sizes)

    def blocks(self) -> Iterator[Block]:
        position = 0
        for first in range(0, len(self.files), FILES_PER_BLOCK):
            last = first + FILES_PER_BLOCK
            position += sum(self.sizes[first:last])
            yield Block(first + 1, self.files[first:last], position)

    def parse(self, block: Block) -> Documents:
        documents = DocumentsBuilder()
        for number, file in enumerate(block.content, block.line):
            # A document may be empty; `open_stream` refuses empty files.
            text = open_stream(file, "corpus").read() if os.path.getsize(file) else b""
            if b"\0" in text:
                name = quotable(os.path.relpath(file, self.source_name))
                documents.fault(number, f"`{name}` contains a NUL byte; this is not text")
            else:
                documents.add(number, os.path.splitext(os.path.basename(without_compression(file)))[0], text)
        return documents.build()


def read_texts(sources: Sequence[Any], names: Collection[str]) -> dict[str, str]:
    r"""The texts of these documents, as far as the sources have them. Reading stops when all are found.

    >>> from io import BytesIO
    >>> read_texts([BytesIO(b'{"_id": "d1", "text": "a lamp"}\n{"_id": "d2", "text": "a horn"}\n')], {"d2", "d9"})
    {'d2': 'a horn'}
    """
    texts: dict[str, str] = {}
    for source in sources:
        for reader in document_readers(source, FieldChoice()):
            for block in reader.blocks():
                documents = reader.parse(block)
                if documents.faults:
                    raise InputError([f"{location_of(reader, line)}: {fault}" for line, fault in documents.faults])
                for row, name in enumerate(documents.names):
                    if name in names and name not in texts:
                        texts[name] = documents.text(row).decode("utf-8", "replace")
                if len(texts) == len(names):
                    return texts
    return texts
