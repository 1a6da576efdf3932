"""Paths, standard input and file objects as streams that can be opened any number of times, decompressed."""

from __future__ import annotations

import io
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from cranfield.data import Opener
from cranfield.errors import InputError, UsageError, reading, reading_failed
from cranfield.io import compression
from cranfield.io.detect import BOM, file_extensions
from cranfield.io.digests import active

HEAD = 4096
READ_AHEAD = 1 << 17
SPOOL_IN_MEMORY = 1 << 20
_BLANKS = re.compile("[\t\n\v\f\r ]+")
MAX_OPEN_FILES = 128  # files that stay open between format detection and reading


@dataclass(frozen=True, eq=False)
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
    return compression.Decompressed(raw, method, path)


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
    method = compression.detect_compression(head)
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
    method = compression.detect_compression(_head(opener))
    if not method:
        return _not_empty(Stream(source_name, name, _head(opener), opener))

    def decompress() -> Any:
        # The buffer is for libraries that read a few bytes at a time.
        return compression.Decompressed(io.BufferedReader(opener()), method, source_name)

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
