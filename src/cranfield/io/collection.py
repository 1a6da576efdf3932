"""Collections of documents: the readers for a file, a folder or a data set, and the texts of documents and queries."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from cranfield.errors import InputError
from cranfield.io.compression import without_compression
from cranfield.io.detect import detect_file, detect_source, document_extensions
from cranfield.io.documents import Block, DocumentReader, Documents, DocumentsBuilder, FieldChoice, location_of
from cranfield.io.faults import quotable
from cranfield.io.formats.trec import DOC_TAG
from cranfield.io.streams import open_stream

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
                documents.faults.add(number, f"`{name}` contains a NUL byte; this is not text")
            else:
                documents.add(number, os.path.splitext(os.path.basename(without_compression(file)))[0], text)
        return documents.build()


def read_texts(sources: Sequence[Any], names: Collection[str], choice: FieldChoice | None = None) -> dict[str, str]:
    r"""The texts of these documents, as far as the sources have them. Reading stops when all are found.

    >>> from io import BytesIO
    >>> read_texts([BytesIO(b'{"_id": "d1", "text": "a lamp"}\n{"_id": "d2", "text": "a horn"}\n')], {"d2", "d9"})
    {'d2': 'a horn'}
    """
    texts: dict[str, str] = {}
    for source in sources:
        for reader in document_readers(source, choice or FieldChoice()):
            for block in reader.blocks():
                documents = reader.parse(block)
                if documents.faults.total:
                    faults = [f"{location_of(reader, line)}: {sentence}" for line, sentence in documents.faults.first]
                    raise InputError(faults, total=documents.faults.total)
                for row, name in enumerate(documents.names):
                    if name in names and name not in texts:
                        texts[name] = documents.text(row).decode("utf-8", "replace")
                if len(texts) == len(names):
                    return texts
    return texts


MAX_LENGTH = 60  # characters of a text in a table


def shortened(text: str) -> str:
    """A text for a table.

    >>> shortened("lamps " * 20)
    'lamps lamps lamps lamps lamps lamps lamps lamps lamps lam...'
    """
    text = " ".join(text.split())
    return text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 3].rstrip() + "..."
