"""Which format a source has: the records that describe formats, and the search among them.

Every module in `cranfield.io.formats` reads and writes one format and describes it in ``FORMATS``. Nothing else lists
the formats, so a new one is a new module in that folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from cranfield.errors import InputError, UsageError
from cranfield.io.compression import EXTENSIONS

if TYPE_CHECKING:
    from cranfield.data import Judgments, Run
    from cranfield.io.documents import DocumentReader, FieldChoice
    from cranfield.io.streams import Stream

BOM = b"\xef\xbb\xbf"

ContentKind = Literal["run", "qrels", "documents"]
Columns = Mapping[str, str] | None  # which column of a table has which role, where its name does not say it
Row = tuple[Any, ...]


@dataclass(frozen=True)
class WritableTable:
    """A run or judgments in every shape that a writer may need; each call of a function starts again."""

    path: str
    kind: Literal["run", "qrels"]
    columns: Mapping[str, Any]  # `Strings` or arrays, by name
    rows: Callable[[], Iterator[Row]]  # the columns row by row
    trec_rows: Callable[[], Iterator[Row]]  # the fields of TREC lines
    nested: Callable[[], Mapping[str, Any]]  # {query: {document: number}}


@dataclass(frozen=True)
class FileFormat:
    """A format of one file. Formats with a low ``priority`` are tried first.

    ``recognises`` sees the name and the first bytes of a stream, and what it should hold.
    """

    name: str
    priority: int
    recognises: Callable[[Stream, ContentKind, Columns], bool]
    read_run: Callable[[Stream, str, Columns], Run] | None = None
    read_runs: Callable[[Stream, str, Columns], list[Run]] | None = None  # if a file has several runs
    read_qrels: Callable[[Stream, str, Columns], Judgments] | None = None
    read_documents: Callable[[Stream, FieldChoice], DocumentReader] | None = None
    writers: Mapping[str, Callable[[WritableTable], Iterator[bytes]]] = field(default_factory=dict)  # by extension
    extensions: tuple[str, ...] = ()  # not part of the name of a run
    document_extensions: tuple[str, ...] = ()  # of files in a folder that hold many documents each
    document_name: str = ""  # what a file with documents is called, if not ``name``
    listed: bool = True  # whether messages name it among the supported formats


@dataclass(frozen=True)
class SourceFormat:
    """A format that the path itself shows: a folder with certain files, or the id of a data set.

    A folder gives the ``document_files`` that hold its documents; other sources give a reader.
    """

    name: str
    recognises: Callable[[str], bool]
    read_run: Callable[[str, str | None], Run] | None = None
    read_qrels: Callable[[str, str | None], Judgments] | None = None
    read_documents: Callable[[str], DocumentReader] | None = None
    document_files: Callable[[str], list[str]] | None = None


@cache
def formats() -> tuple[FileFormat | SourceFormat, ...]:
    """All formats, from all modules in the folder ``formats``."""
    import pkgutil
    from importlib import import_module

    package = import_module("cranfield.io.formats")
    modules = (import_module(f"{package.__name__}.{module.name}") for module in pkgutil.iter_modules(package.__path__))
    return tuple(record for module in modules for record in module.FORMATS)


@cache
def file_formats() -> tuple[FileFormat, ...]:
    """The formats of single files, in the order in which they are tried."""
    records = [record for record in formats() if isinstance(record, FileFormat)]
    return tuple(sorted(records, key=lambda record: record.priority))


def detect_file(stream: Stream, kind: ContentKind, columns: Columns = None) -> FileFormat:
    """The first format that recognises a stream."""
    for record in file_formats():
        if record.recognises(stream, kind, columns) and getattr(record, f"read_{kind}") is not None:
            return record
    what = "a collection of documents" if kind == "documents" else f"a {kind} file"
    raise InputError([f"{stream.source_name}: this is not {what}"], hint=supported_formats(kind))


@cache
def source_formats() -> tuple[SourceFormat, ...]:
    """The formats of folders and data sets."""
    return tuple(record for record in formats() if isinstance(record, SourceFormat))


def detect_source(path: str) -> SourceFormat | None:
    """The format that a path itself shows, if any."""
    return next((record for record in source_formats() if record.recognises(path)), None)


def writer(extension: str) -> Callable[[WritableTable], Iterator[bytes]]:
    """The writer for a file extension. Files with an unknown extension are TREC text."""
    writers = {ending: write for record in file_formats() for ending, write in record.writers.items()}
    return writers.get(extension) or writers[""]


@cache
def file_extensions() -> frozenset[str]:
    """Extensions that say how a run or judgments are written and compressed."""
    formats = frozenset(extension for record in file_formats() for extension in record.extensions)
    return formats | EXTENSIONS.keys()


@cache
def document_extensions() -> tuple[str, ...]:
    """Extensions of files that hold many documents each."""
    return tuple(extension for record in file_formats() for extension in record.document_extensions)


def supported_formats(kind: ContentKind) -> str:
    """A hint that lists the formats of runs and judgments, or of documents."""
    records = [record for record in file_formats() if record.listed and getattr(record, f"read_{kind}") is not None]
    names = [record.document_name or record.name if kind == "documents" else record.name for record in records]
    if kind == "documents":
        names += ["a folder of text files", "irds:DATASET"]
    return f"supported formats: {', '.join(names)}; plain or compressed with gzip, bzip2, xz or zstd"


def reject_columns(columns: Columns) -> None:
    """Raise if columns were named for a source that has none."""
    if columns:
        raise UsageError("columns= is for tables; this source has no named columns")
