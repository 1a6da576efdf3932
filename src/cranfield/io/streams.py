"""Sources as streams that can be opened any number of times: their formats, compression and digests."""

from __future__ import annotations

import io
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from cranfield.data import Opener
from cranfield.errors import InputError, UsageError, available, optional, reading, reading_failed
from cranfield.io import register
from cranfield.parallel import in_background

if TYPE_CHECKING:
    from concurrent.futures import Future

    from cranfield.data import Judgments, Run
    from cranfield.io.documents import DocumentReader, FieldChoice

HEAD = 4096
READ_AHEAD = 1 << 17
SPOOL_IN_MEMORY = 1 << 20
_BLANKS = re.compile("[\t\n\v\f\r ]+")
MAX_OPEN_FILES = 128  # files that stay open between format detection and reading


@dataclass(frozen=True, eq=False, repr=False)
class Stream:
    """A source of bytes and its first bytes; each call of ``opener`` starts from the beginning."""

    source_name: str  # what error messages call it
    name: str  # what results call it
    head: bytes
    opener: Opener
    path: str = ""  # of an uncompressed regular file; "" for everything else

    def open(self) -> Any:
        """A new binary file, without a buffer."""
        source = self.opener()
        return open(source, "rb", buffering=0) if isinstance(source, int) else source

    def read(self) -> bytes:
        """All bytes, for formats that cannot be read piece by piece."""
        with reading(self.source_name), self.open() as file:
            return bytes(file.read())

    @contextmanager
    def text_lines(self, newline: str) -> Iterator[io.TextIOWrapper]:
        """Its lines as text, each with its end; ``newline``: what ends a line, "" for any kind of end.

        There is no byte order mark, and bytes that are not UTF-8 are surrogates.
        """
        buffered = io.BufferedReader(self.open(), READ_AHEAD)
        with (
            reading(self.source_name),
            io.TextIOWrapper(buffered, encoding="utf-8-sig", errors="surrogateescape", newline=newline) as file,
        ):
            yield file

    def read_text(self) -> str:
        """All of it as text, without a byte order mark; bytes that are not UTF-8 become surrogates."""
        return self.read().removeprefix(BOM).decode("utf-8", "surrogateescape")

    def columns(self) -> Iterator[tuple[int, list[str], str]]:
        """The number, the columns and the text of every line that is not blank and not a comment.

        Columns are separated as in TREC text.
        """
        with self.text_lines(newline="\n") as lines:
            for number, line in enumerate(lines, 1):
                columns = _BLANKS.sub(" ", line).strip(" ").split(" ")
                if columns[0] and not columns[0].startswith("#"):
                    yield number, columns, line

    @property
    def first_line(self) -> bytes:
        """The first line, as far as it is in the first bytes."""
        return self.head.removeprefix(BOM).partition(b"\n")[0].rstrip(b"\r")


ReadAt = Callable[[int, memoryview], int]  # reads from a position; returns the number of bytes


def _seekable_store(file: Any, source_name: str) -> ReadAt:
    """A file object of the caller, read from its current position and never closed."""
    origin = file.tell()

    def read_at(position: int, view: memoryview) -> int:
        with _reading_object(file, source_name):
            file.seek(origin + position)
        return _read_into(file, view, source_name)

    return read_at


class _SpooledStore:
    """A pipe or another stream that can be read once, copied while it is read so that it can be read again."""

    def __init__(self, file: Any, source_name: str, *, owned: bool) -> None:
        import tempfile

        self._file, self._source_name = file, source_name
        self._owned = owned
        self._copy = tempfile.SpooledTemporaryFile(SPOOL_IN_MEMORY)  # noqa: SIM115 - closed by __del__
        self._length = 0

    def __call__(self, position: int, view: memoryview) -> int:
        if position < self._length:
            self._copy.seek(position)
            data = self._copy.read(len(view))
            view[: len(data)] = data
            return len(data)
        count = _read_into(self._file, view, self._source_name)
        self._copy.seek(self._length)
        self._copy.write(view[:count])
        self._length += count
        return count

    def __del__(self) -> None:
        self._copy.close()
        if self._owned:
            self._file.close()


class _StoreReader(io.RawIOBase):
    """One pass through a store, from its beginning."""

    def __init__(self, read_at: ReadAt) -> None:
        super().__init__()
        self._read_at, self._position = read_at, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        count = self._read_at(self._position, memoryview(buffer).cast("B"))
        self._position += count
        return count


def _read_into(file: Any, view: memoryview, source_name: str) -> int:
    """Read up to the length of the view, and wait for data if there are none yet; 0 only at the end.

    Some file objects have no ``readinto``, and some do not keep its contract.
    """
    while (count := _read_available(file, view, source_name)) is None:
        _wait(file, source_name)
    if not isinstance(count, int) or not 0 <= count <= len(view):
        raise UsageError(f"{source_name}: the file object says that it read {count!r} of {len(view)} bytes")
    return count


def _read_available(file: Any, view: memoryview, source_name: str) -> Any:
    """What one read gives; None if the file object is in non-blocking mode and has no data yet."""
    with _reading_object(file, source_name):
        if isinstance(file, io.BufferedReader):
            count = file.readinto1(view)  # `readinto` goes on until the view is full, and heeds no signal meanwhile
        elif hasattr(file, "readinto"):
            count = file.readinto(view)
        else:
            data = file.read(len(view))
            if not isinstance(data, bytes | bytearray | memoryview | None):
                raise UsageError(
                    f"{source_name}: the file object gives {type(data).__name__}, not bytes",
                    hint="open the file in binary mode",
                )
            if data is None:
                return None
            count = len(data)
            if count <= len(view):
                view[:count] = data
    return count


def _wait(file: Any, source_name: str) -> None:
    """Wait until a file object in non-blocking mode has data, or raise if the system cannot tell."""
    import selectors

    try:
        with selectors.DefaultSelector() as selector:
            selector.register(file, selectors.EVENT_READ)
            selector.select()
    except (AttributeError, ValueError, OSError) as error:  # it has no descriptor, or one that cannot be waited for
        raise UsageError(
            f"{source_name}: the file object has no data yet: it is in non-blocking mode",
            hint="open it in blocking mode, or read it to the end first",
        ) from error


@contextmanager
def _reading_object(file: Any, source_name: str) -> Iterator[None]:
    """Errors of a file object of the caller, with its name."""
    try:
        with reading(source_name):
            yield
    except (ValueError, TypeError, EOFError) as error:  # the last two: of decompressors that have no data yet, or end
        problem = "is closed" if getattr(file, "closed", False) else f"cannot be read: {error}"
        raise UsageError(f"{source_name}: the file object {problem}") from error


def is_stream(source: object) -> bool:
    """Whether the source is a path or an object with ``read``."""
    return isinstance(source, str | os.PathLike) or hasattr(source, "read")


def open_stream(source: Any, default_name: str) -> Stream:
    """Open a path, "-" or a file object; ``default_name`` names a file object that has no name."""
    if isinstance(source, Stream):
        return source
    if isinstance(source, str) and source == "-":
        if sys.stdin is None:  # `<&-`
            raise InputError(["<stdin>: standard input is closed"])
        register.active().read("-")
        return _open_object(sys.stdin, "<stdin>", "stdin")
    if isinstance(source, str | os.PathLike):
        return _open_path(os.fsdecode(source))
    source_name = getattr(source, "name", None)
    if isinstance(source_name, str) and source_name.strip() and not source_name.startswith("<"):
        return _open_object(source, source_name, short_name(source_name))
    return _open_object(source, f"<{default_name}>", default_name)


def short_name(path: str) -> str:
    """A file name without its folder and without extensions for formats and compression.

    >>> short_name("runs/bm25.v2.run.gz")
    'bm25.v2'
    """
    name = os.path.basename(path)
    while True:
        stem, extension = os.path.splitext(name)
        if not stem or extension.lower() not in file_extensions():
            return name
        name = stem


def _open_file(path: str) -> int:
    register.active().read(path)
    try:
        return os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except FileNotFoundError as error:
        raise InputError([f"{path}: there is no such file"]) from error
    except PermissionError as error:
        raise InputError([f"{path}: no permission to read this file"]) from error
    except OSError as error:
        raise InputError([f"{path}: {(error.strerror or 'cannot be opened').lower()}"]) from error
    except ValueError as error:  # a NUL in the path
        raise InputError([f"{path!r}: this is not a valid file name"]) from error


def _decompress(path: str, method: str, descriptor: int | None = None) -> Any:
    descriptor = _open_file(path) if descriptor is None else descriptor
    # The buffer is for libraries that read a few bytes at a time.
    raw = io.BufferedReader(open(descriptor, "rb", buffering=0))  # noqa: SIM115 - closed with the stream
    return Decompressed(raw, method, path)


def _open_path(path: str) -> Stream:
    descriptor = _open_file(path)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISDIR(mode):
        os.close(descriptor)
        raise InputError([f"{path}: this is a directory, not a file"])
    if not stat.S_ISREG(mode):
        file = open(descriptor, "rb", buffering=0)  # noqa: SIM115 - closed by the store
        return _decompressed(path, short_name(path), partial(_StoreReader, _SpooledStore(file, path, owned=True)))
    try:
        head = os.read(descriptor, HEAD)
        os.lseek(descriptor, 0, os.SEEK_SET)
    except OSError as error:
        os.close(descriptor)
        raise reading_failed(path, error) from error
    method = detect_compression(head)
    if (digests := active()) is not None:
        digests.add(path, descriptor, method)
    if not method:
        return _not_empty(Stream(path, short_name(path), head, _KeptOpen(descriptor, partial(_open_file, path)), path))
    stream = _decompress(path, method, descriptor)
    head = _read_head(stream)
    opener = _KeptOpen(Continued(head, stream), partial(_decompress, path, method))
    return _not_empty(Stream(path, short_name(path), head, opener))


class _KeptOpen:
    """An opener whose first call returns the file that format detection opened, so that a file is opened once.

    In another process (`pickle`), the file is opened again.
    """

    count = 0  # of all instances together: a process may not have many files open

    def __init__(self, first: Any, reopen: Opener) -> None:
        self._first, self._reopen = None, reopen
        if first is None:
            return
        if _KeptOpen.count < MAX_OPEN_FILES:
            self._first = first
            _KeptOpen.count += 1
        else:
            _close(first)

    def __call__(self) -> Any:
        first = self._release()
        return self._reopen() if first is None else first

    def __reduce__(self) -> Any:
        return _KeptOpen, (None, self._reopen)

    def _release(self) -> Any:
        first, self._first = self._first, None
        if first is not None:
            _KeptOpen.count -= 1
        return first

    def __del__(self) -> None:
        if (first := self._release()) is not None:
            _close(first)


def _close(stream: Any) -> None:
    if isinstance(stream, int):
        os.close(stream)
    else:
        stream.close()


class Continued(io.RawIOBase):
    """A stream whose first bytes were read already."""

    def __init__(self, head: bytes, rest: Any) -> None:
        super().__init__()
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        if not self._head:
            return self._rest.readinto(buffer) or 0
        view = memoryview(buffer).cast("B")
        count = min(len(view), len(self._head))
        view[:count], self._head = self._head[:count], self._head[count:]
        return count

    def consumed(self) -> int:
        """How many compressed bytes have been read."""
        return int(self._rest.consumed())

    def close(self) -> None:
        self._rest.close()
        super().close()


def _open_object(file: Any, source_name: str, name: str) -> Stream:
    with _reading_object(file, source_name):
        if isinstance(file, io.StringIO):
            file = io.BytesIO(file.read().encode("utf-8", "surrogateescape"))
        file = getattr(file, "buffer", file)
        if hasattr(file, "readable") and not file.readable():
            raise UsageError(f"{source_name}: the file object is not open for reading")
        seekable = hasattr(file, "seekable") and bool(file.seekable())
        store = _seekable_store(file, source_name) if seekable else _SpooledStore(file, source_name, owned=False)
    return _decompressed(source_name, name, partial(_StoreReader, store))


def _decompressed(source_name: str, name: str, opener: Opener) -> Stream:
    """The stream with its first bytes, after decompression if it is compressed."""
    method = detect_compression(_head(opener))
    if not method:
        return _not_empty(Stream(source_name, name, _head(opener), opener))

    def decompress() -> Any:
        # The buffer is for libraries that read a few bytes at a time.
        return Decompressed(io.BufferedReader(opener()), method, source_name)

    return _not_empty(Stream(source_name, name, _head(decompress), decompress))


def _head(opener: Opener) -> bytes:
    with opener() as stream:
        return _read_head(stream)


def _read_head(stream: Any) -> bytes:
    """The first bytes; a pipe may give them in pieces."""
    head = b""
    while len(head) < HEAD and (piece := stream.read(HEAD - len(head))):
        head += piece
    return head


def _not_empty(stream: Stream) -> Stream:
    if not stream.head:
        raise InputError([f"{stream.source_name}: the file is empty"])
    return stream


# Which format a source has: the records that describe formats, and the search among them.
#
# Every module in `cranfield.io.formats` reads and writes one format and describes it in ``FORMATS``. Nothing else
# lists the formats, so a new one is a new module in that folder.

BOM = b"\xef\xbb\xbf"

ContentKind = Literal["run", "qrels", "documents"]
Roles = Mapping[str, str] | None  # which column of a table has which role, where its name does not say it
Row = tuple[Any, ...]


class WritableTable(NamedTuple):
    """A run or judgments in every shape that a writer may need; each call of a function starts again."""

    path: str
    kind: Literal["run", "qrels"]
    columns: Mapping[str, Any]  # `Strings` or arrays, by name
    rows: Callable[[], Iterator[Row]]  # the columns row by row
    trec_rows: Callable[[], Iterator[Row]]  # the fields of TREC lines
    nested: Callable[[], Mapping[str, Any]]  # {query: {document: number}}


class FileFormat(NamedTuple):
    """A format of one file. Formats with a low ``priority`` are tried first.

    ``recognises`` sees the name and the first bytes of a stream, and what it should hold.
    """

    name: str
    priority: int
    recognises: Callable[[Stream, ContentKind, Roles], bool]
    read_run: Callable[[Stream, str, Roles], Run] | None = None
    read_runs: Callable[[Stream, str, Roles], list[Run]] | None = None  # if a file has several runs
    read_qrels: Callable[[Stream, str, Roles], Judgments] | None = None
    read_documents: Callable[[Stream, FieldChoice], DocumentReader] | None = None
    writers: Mapping[str, Callable[[WritableTable], Iterator[bytes]]] = MappingProxyType({})  # by extension
    extensions: tuple[str, ...] = ()  # not part of the name of a run
    document_extensions: tuple[str, ...] = ()  # of files in a folder that hold many documents each
    document_name: str = ""  # what a file with documents is called, if not ``name``
    listed: bool = True  # whether messages name it among the supported formats


class SourceFormat(NamedTuple):
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
def file_formats(kind: ContentKind | None = None) -> tuple[FileFormat, ...]:
    """The formats of single files, in the order in which they are tried; only those that can hold ``kind``."""
    records = [record for record in formats() if isinstance(record, FileFormat) and _can_hold(record, kind)]
    return tuple(sorted(records, key=lambda record: record.priority))


def _can_hold(record: FileFormat | SourceFormat, kind: ContentKind | None) -> bool:
    return kind is None or getattr(record, f"read_{kind}") is not None


def detect_file(stream: Stream, kind: ContentKind, columns: Roles = None) -> FileFormat:
    """The first format that recognises a stream."""
    for file_format in file_formats(kind):
        if file_format.recognises(stream, kind, columns):
            return file_format
    what = "a collection of documents" if kind == "documents" else f"a {kind} file"
    raise InputError([f"{stream.source_name}: this is not {what}"], hint=supported_formats(kind))


@cache
def source_formats(kind: ContentKind | None = None) -> tuple[SourceFormat, ...]:
    """The formats of folders and data sets; only those that can hold ``kind``."""
    return tuple(record for record in formats() if isinstance(record, SourceFormat) and _can_hold(record, kind))


def detect_source(path: str, kind: ContentKind | None = None) -> SourceFormat | None:
    """The format that a path itself shows, if any; only one that can hold ``kind``."""
    for source_format in source_formats(kind):
        if source_format.recognises(path):
            return source_format
    return None


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
    records = [record for record in file_formats(kind) if record.listed]
    names = [record.document_name or record.name if kind == "documents" else record.name for record in records]
    if kind == "documents":
        names += ["a folder of text files", "irds:DATASET"]
    return f"supported formats: {', '.join(names)}; plain or compressed with gzip, bzip2, xz or zstd"


def reject_columns(columns: Roles) -> None:
    """Raise if columns were named for a source that has none."""
    if columns:
        raise UsageError("columns= is for tables; this source has no named columns")


# Compressed streams, recognised by their first bytes and not by their names.

CHUNK = 1 << 17

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
# "BZh9" alone could be a query id; the block or end-of-stream mark after it could not.
_BZIP2_MARKS = (b"1AY&SY", b"\x17rE8P\x90")

EXTENSIONS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}


def detect_compression(head: bytes) -> str:
    """The compression method that these first bytes show; "" for none."""
    if head.startswith(b"BZh") and head[4:10] in _BZIP2_MARKS:
        return "bzip2"
    if _is_skippable(head):
        return "zstd"
    return next((method for magic, method in _MAGIC.items() if head.startswith(magic)), "")


class Decompressed(io.RawIOBase):
    """The content of a compressed stream; damaged data are an `InputError` that names the source."""

    def __init__(self, raw: Any, method: str, source_name: str) -> None:
        super().__init__()
        self._raw = raw
        self._method = method
        self._source_name = source_name
        try:
            self._stream = _decompressor(method, raw)
        except BaseException:
            raw.close()
            raise

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer).cast("B")
        if self._raw.closed:
            return 0
        try:
            data = self._stream.read(len(view))
        except (OSError, MemoryError) as error:
            # Some libraries report damaged data as an OSError without a number.
            damaged = isinstance(error, OSError) and error.errno is None
            raise self._damaged() if damaged else reading_failed(self._source_name, error) from error
        except EOFError as error:
            self._raw.close()
            message = f"{self._source_name}: the {self._method} data end too early"
            raise InputError([message], hint="the file is incomplete; download or write it again") from error
        except Exception as error:  # each library has its own exceptions for damaged data
            raise self._damaged() from error
        if not data:
            self._raw.close()  # not every reader closes its source at the end
        view[: len(data)] = data
        return len(data)

    def _damaged(self) -> InputError:
        self._raw.close()
        message = f"{self._source_name}: the {self._method} data are damaged"
        return InputError([message], hint="download or write the file again")

    def consumed(self) -> int:
        """How many compressed bytes have been read; 0 for a pipe, and after the end."""
        return self._raw.tell() if not self._raw.closed and self._raw.seekable() else 0

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()


class _Concatenated:
    """Compressed streams one after another: what follows the end of one must be another, or padding of zero bytes.

    The readers of the standard library take anything else for the end of the file.
    """

    def __init__(self, raw: Any, new_decoder: Callable[[], Any], *, padding: bool = False) -> None:
        self._raw, self._new_decoder, self._padding = raw, new_decoder, padding
        self._decoder, self._ended = new_decoder(), False
        self._pending = b""

    def read(self, size: int) -> bytes:
        while True:
            if self._ended and not self._begin_next():
                return b""
            if not self._pending and self._decoder.needs_input:
                self._pending = self._raw.read(CHUNK)
                if not self._pending:
                    raise EOFError
            data, self._pending = self._decoder.decompress(self._pending, size), b""
            if self._decoder.eof:
                self._pending, self._ended = self._decoder.unused_data, True
            if data:
                return bytes(data)

    def _begin_next(self) -> bool:
        """Go to the next stream; False at the end of the file."""
        zeros = 0
        while True:
            rest = self._pending.lstrip(b"\0") if self._padding else self._pending
            zeros += len(self._pending) - len(rest)
            self._pending = rest or self._raw.read(CHUNK)
            if rest or not self._pending:
                break
        if zeros % 4:  # of xz; other formats have no padding
            raise ValueError
        if not self._pending:
            return False
        self._decoder, self._ended = self._new_decoder(), False
        return True


class _ZstandardDecoder:
    """A decoder of the zstandard package, as those of the standard library are: its output has a size limit."""

    def __init__(self, package: Any) -> None:
        self._decoder, self._output = package.ZstdDecompressor().decompressobj(), b""

    @property
    def needs_input(self) -> bool:
        return not self._output and not self._decoder.eof

    @property
    def eof(self) -> bool:
        return not self._output and bool(self._decoder.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._decoder.unused_data)

    def decompress(self, data: bytes, size: int) -> bytes:
        self._output = self._output or (self._decoder.decompress(data) if data else b"")
        result, self._output = self._output[:size], self._output[size:]
        return result


def _is_skippable(head: bytes) -> bool:
    """Whether a zstd frame begins that holds no data."""
    return len(head) >= 4 and 0x50 <= head[0] <= 0x5F and head[1:4] == b"\x2a\x4d\x18"


def _decompressor(method: str, raw: Any) -> Any:
    if method == "gzip":
        import gzip

        return gzip.GzipFile(fileobj=raw, mode="rb")
    if method == "bzip2":
        import bz2

        return _Concatenated(raw, bz2.BZ2Decompressor)
    if method == "xz":
        import lzma

        return _Concatenated(raw, partial(lzma.LZMADecompressor, lzma.FORMAT_XZ), padding=True)
    if standard := available("compression.zstd"):
        return standard.ZstdFile(raw)
    return _Concatenated(raw, partial(_ZstandardDecoder, optional("zstandard", "reading zstd", "zstd")))


def compressor(method: str, raw: Any) -> Any:
    """A stream that compresses what is written to it; closing it leaves ``raw`` open."""
    if method == "gzip":
        import gzip

        # Without a name and a time, the same rows always give the same bytes.
        return gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0)
    if method == "bzip2":
        import bz2

        return bz2.BZ2File(raw, "wb")
    if method == "xz":
        import lzma

        return lzma.LZMAFile(raw, "wb")
    if standard := available("compression.zstd"):
        return standard.ZstdFile(raw, "w", options={standard.CompressionParameter.checksum_flag: 1})
    package = optional("zstandard", "writing zstd", "zstd")
    return package.ZstdCompressor(write_checksum=True).stream_writer(raw, closefd=False)


def compression_of_name(path: str) -> str:
    """The compression method that a file name asks for; "" for none."""
    return EXTENSIONS.get(os.path.splitext(path)[1].lower(), "")


def without_compression(path: str) -> str:
    """A path without the extension of a compression method."""
    return os.path.splitext(path)[0] if compression_of_name(path) else path


# Digests of files: of their content after decompression, so that a compressed file is the same as a plain one.

PIECE = 1 << 20
MAX_PENDING = 64  # files that are open only because their digest is not known yet


class Digests:
    """Digests of all files that are opened while it is active, taken from the open files: none is opened twice."""

    def __init__(self) -> None:
        self._found: dict[str, Future[str]] = {}

    def add(self, path: str, descriptor: int, method: str) -> None:
        """Read an open file a second time, in a thread; its position stays as it is."""
        if path in self._found or not hasattr(os, "pread"):
            return
        waiting = [digest for digest in self._found.values() if not digest.done()]
        if len(waiting) >= MAX_PENDING:
            waiting[0].result()
        own = os.dup(descriptor)

        def read_at(position: int, view: memoryview) -> int:
            data = os.pread(own, len(view), position)
            view[: len(data)] = data
            return len(data)

        def digest() -> str:
            try:
                return _digest(_StoreReader(read_at), method, path)
            finally:
                os.close(own)

        self._found[path] = in_background(digest)

    def get(self, path: str) -> str | None:
        """The digest of a file that was opened."""
        digest = self._found.get(path)
        return None if digest is None or digest.exception() is not None else digest.result()


_active: ContextVar[Digests | None] = ContextVar("digests", default=None)


@contextmanager
def digesting() -> Iterator[Digests]:
    """Take the digest of every file that is opened inside."""
    token = _active.set(Digests())
    try:
        digests = _active.get()
        assert digests is not None
        yield digests
    finally:
        _active.reset(token)


def active() -> Digests | None:
    """What takes the digests of files that are opened, if anything does."""
    return _active.get()


def digest_of_file(path: str) -> str | None:
    """The digest of a regular file; None if it cannot be read."""
    register.active().read(path)
    try:
        with open(path, "rb") as file:
            method = detect_compression(file.read(64))
            file.seek(0)
            return _digest(file, method, path)
    except (OSError, ValueError):
        return None


def text_digest(text: bytes) -> str:
    """The digest of a text."""
    from hashlib import sha256

    return f"sha256:{sha256(text).hexdigest()}"


def _digest(file: Any, method: str, path: str) -> str:
    from hashlib import sha256

    hasher = sha256()
    with file:
        content = Decompressed(io.BufferedReader(file), method, path) if method else file
        buffer = bytearray(PIECE)
        while count := content.readinto(buffer):
            hasher.update(memoryview(buffer)[:count])
    return f"sha256:{hasher.hexdigest()}"
