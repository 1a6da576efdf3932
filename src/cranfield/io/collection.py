"""What a collection is kept in, told by its content and by its name."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import Any

from cranfield.errors import InputError
from cranfield.io import compression
from cranfield.io.detect import begins_as, delimiter_of
from cranfield.io.documents import Block, Choice, Documents, Faults, Reader, encoded, joined
from cranfield.io.faults import shown
from cranfield.io.formats import ambient
from cranfield.io.formats.delimited import TabSeparated
from cranfield.io.formats.sgml import BEGIN, Sgml
from cranfield.io.json_lines import JsonLines
from cranfield.io.optional import optional
from cranfield.io.streams import Opened, opened
from cranfield.io.tables import strings_of

DATASETS = "irds:"
PARTS = (".jsonl", ".json", ".ndjson", ".tsv", ".parquet", ".sgml", ".sgm", ".trec")  # of a collection in a folder
BATCH = 4096
UNDERSTOOD = (
    "JSON Lines, tab-separated lines, TREC's <DOC>, Parquet, a folder of text files, irds:DATASET; "
    "plain or compressed with gzip, bzip2, xz or zstd"
)


def readers(source: Any, choice: Choice) -> Iterator[Reader]:
    """A path, a folder, "-", a binary file object or ``irds:DATASET``, as one reader or, for a folder, several."""
    if isinstance(source, str) and source.startswith(DATASETS):
        choice.none(source)
        yield Dataset(source)
    elif isinstance(source, str | os.PathLike) and os.path.isdir(source):
        yield from _of_folder(os.fsdecode(source), choice)
    else:
        yield _of_stream(opened(source, "corpus"), choice)


def files_of(source: Any) -> list[str]:
    """The files that a source is made of, in their order; none where it is no file."""
    if not isinstance(source, str | os.PathLike) or not os.path.exists(source):
        return []
    path = os.fsdecode(source)
    if not os.path.isdir(path):
        return [path]
    if ambient.is_folder(path):
        return [ambient.results(path)]
    if beir := _of_beir(path):
        return [beir]
    found, seen = [], {os.path.realpath(path)}
    for folder, folders, names in os.walk(path, followlinks=True):
        inside = {name: os.path.realpath(os.path.join(folder, name)) for name in folders if not name.startswith(".")}
        folders[:] = [name for name, real in inside.items() if real not in seen]  # links may lead in circles
        seen.update(inside.values())
        found += [os.path.join(folder, name) for name in names if not name.startswith(".")]
    gone = [f"{file}: this is a link to a file that is not there" for file in sorted(found) if not os.path.exists(file)]
    if gone:
        raise InputError(gone)
    return sorted(filter(os.path.isfile, found))  # pipes and devices are no documents


def _of_beir(path: str) -> str | None:
    """The documents in a folder of BEIR, where queries and judgments lie beside them."""
    names = {_bare(name): name for name in os.listdir(path)}
    return os.path.join(path, names["corpus.jsonl"]) if {"corpus.jsonl", "queries.jsonl"} <= names.keys() else None


def _of_folder(path: str, choice: Choice) -> Iterator[Reader]:
    files = files_of(path)
    if not files:
        raise InputError([f"{path}: there are no files in this folder"])
    whole = ambient.is_folder(path)
    parts = [file for file in files if whole or _bare(file).lower().endswith(PARTS)]
    plain = [] if whole else [file for file in files if not _bare(file).lower().endswith(PARTS)]
    # TREC's disks have many documents in a file, whose names say nothing of it.
    if plain and BEGIN.match(_first_bytes(plain[0]).lstrip()):
        parts, plain = files, []
    if parts and plain:
        one, other = (shown(os.path.relpath(some[0], path)) for some in (parts, plain))
        raise InputError(
            [f"{path}: collections, such as `{one}`, and other files, such as `{other}`, in one folder"],
            hint="name the files with the documents, not the folder",
        )
    for file in parts:
        yield _of_stream(opened(file, "corpus"), choice)
    if plain:
        yield TextFiles(path, plain, choice)


def _first_bytes(file: str) -> bytes:
    """The beginning of a file, which may be empty where it is one document of many."""
    return opened(file, "corpus").head if os.path.getsize(file) else b""


def _of_stream(stream: Opened, choice: Choice) -> Reader:
    kind = begins_as(stream.head)
    if kind == "parquet":
        return Parquet(stream, choice)
    if kind == "json":
        return JsonLines(stream, choice)
    named = delimiter_of(stream.place) == "\t"
    if BEGIN.search(stream.head) and not named:
        return Sgml(stream, choice)
    if named or b"\t" in stream.head.partition(b"\n")[0]:
        return TabSeparated(stream, choice)
    raise InputError([f"{stream.place}: this is no collection of documents"], hint=f"understood are {UNDERSTOOD}")


def _bare(path: str) -> str:
    """A path without the extension of a compression."""
    stem, extension = os.path.splitext(path)
    return stem if extension.lower() in compression.EXTENSIONS else path


class TextFiles:
    """A document in each file, called as the file is without its extension."""

    unit = "file"

    def __init__(self, place: str, files: list[str], choice: Choice) -> None:
        choice.none(place)
        self.place = place
        self.files = files
        self.sizes = [os.path.getsize(file) for file in files]
        self.bytes = sum(self.sizes)

    def blocks(self) -> Iterator[Block]:
        done = 0
        for first in range(0, len(self.files), BATCH // 16):
            some = self.files[first : first + BATCH // 16]
            done += sum(self.sizes[first : first + BATCH // 16])
            yield Block(first + 1, some, done)

    def parse(self, block: Block) -> Documents:
        faults, lines, names, texts = Faults(), list[int](), list[str](), list[bytes]()
        for number, file in enumerate(block.content, block.line):
            name = os.path.splitext(os.path.basename(_bare(file)))[0]
            # A document may well be empty, which no file of many may be.
            content = opened(file, "corpus").content() if os.path.getsize(file) else b""
            if b"\0" in content:
                faults.add(
                    number, f"`{shown(os.path.relpath(file, self.place))}` is not text: there is a NUL byte in it"
                )
                continue
            lines.append(number)
            names.append(name)
            texts.append(content)
        return Documents.of(lines, names, texts, faults)


class Parquet:
    """Rows of a table that name their columns."""

    unit = "row"

    def __init__(self, stream: Opened, choice: Choice) -> None:
        self.place = stream.place
        self.source: Any = stream.path or io.BytesIO(stream.content())
        self.module = optional("pyarrow.parquet", "reading Parquet", "arrow")
        self.arrow = optional("pyarrow", "reading Parquet", "arrow")
        with self._opened() as file:
            self.fields = choice.of(file.schema_arrow.names, self.place)
        self.bytes = os.path.getsize(stream.path) if stream.path else 0

    def _opened(self) -> Any:
        try:
            return self.module.ParquetFile(self.source)
        except (self.arrow.ArrowException, OSError) as error:
            raise InputError([f"{self.place}: this begins as Parquet but cannot be read as such"]) from error

    def blocks(self) -> Iterator[Block]:
        row = 1
        columns = list(dict.fromkeys((self.fields.id, *self.fields.texts)))
        with self._opened() as file:
            rows = max(file.metadata.num_rows, 1)
            try:
                for batch in file.iter_batches(BATCH, columns=columns):
                    yield Block(row, batch, self.bytes * row // rows)
                    row += len(batch)
            except (self.arrow.ArrowException, OSError) as error:
                raise InputError([f"{self.place}: the Parquet data are damaged after row {row - 1}"]) from error

    def parse(self, block: Block) -> Documents:
        import pyarrow as pa
        import pyarrow.compute as pc

        faults, batch = Faults(), block.content
        ids = _decoded(batch.column(self.fields.id))
        texts = [_decoded(batch.column(name)) for name in self.fields.texts]
        for name, column in ((self.fields.id, ids), *zip(self.fields.texts, texts, strict=True)):
            kind = column.type
            textual = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)
            if not (textual or (column is ids and pa.types.is_integer(kind))):
                raise InputError([f"{self.place}: the column `{shown(name)}` must be text, found {kind}"])
        ids = ids.cast(pa.large_string())
        unnamed = pc.fill_null(pc.equal(pc.binary_length(ids), 0), True)
        for row in pc.indices_nonzero(unnamed).to_pylist():
            faults.add(block.line + row, "the id is empty")
        if faults.total:
            return Documents.of([], [], [], faults)
        together = joined(texts)
        lines = range(block.line, block.line + len(batch))
        return Documents(lines, list(strings_of(ids)), together.offsets, together.data)


def _decoded(column: Any) -> Any:
    """A column that has each different value once, as texts of categories may have, with all of them."""
    return column.dictionary_decode() if hasattr(column, "dictionary_decode") else column


class Dataset:
    """The documents of a collection that ir_datasets knows."""

    unit = "document"
    bytes = 0

    def __init__(self, source: str) -> None:
        self.place = source
        name = source.removeprefix(DATASETS)
        datasets = optional("ir_datasets", f"reading {source}", "datasets")
        try:
            self.iterate = datasets.load(name).docs_iter
        except (KeyError, AttributeError) as error:
            message = f"{source}: ir_datasets has no documents under this name"
            raise InputError([message], hint="https://ir-datasets.com lists what there is") from error

    def blocks(self) -> Iterator[Block]:
        some: list[Any] = []
        first = 1
        for document in self.iterate():
            some.append((document.doc_id, document.default_text()))
            if len(some) == BATCH:
                yield Block(first, some)
                first, some = first + len(some), []
        if some:
            yield Block(first, some)

    def parse(self, block: Block) -> Documents:
        lines = range(block.line, block.line + len(block.content))
        names = [name for name, _ in block.content]
        return Documents.of(lines, names, [encoded(text) for _, text in block.content], Faults())
