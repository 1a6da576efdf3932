"""Paths, standard input and file objects, each as something that can be opened again and again."""

from __future__ import annotations

import io
import os
import stat
import sys
from dataclasses import dataclass
from typing import Any, Protocol

from cranfield.data import Opener
from cranfield.errors import InputError
from cranfield.io import compression

HEAD = 4096
KEPT_IN_MEMORY = 1 << 20
MOST_HELD = 128  # files that stay open between a look at their beginning and their reading

FORMATS = (
    ".run",
    ".txt",
    ".trec",
    ".res",
    ".results",
    ".qrels",
    ".qrel",
    ".json",
    ".jsonl",
    ".csv",
    ".tsv",
    ".parquet",
)
STRIPPED = frozenset((*compression.EXTENSIONS, *FORMATS))


@dataclass(frozen=True, eq=False)
class Opened:
    """A stream whose first bytes are known; ``opener`` starts it anew each time it is called."""

    place: str
    name: str
    head: bytes
    opener: Opener
    path: str = ""  # where a plain regular file is; "" for everything else

    def content(self) -> bytes:
        """All of it, for the formats that cannot be read in passing."""
        source = self.opener()
        if isinstance(source, int):
            with open(source, "rb") as file:
                return file.read()
        with source:
            return bytes(source.read())


class _Store(Protocol):
    def read_at(self, position: int, view: memoryview) -> int: ...


class _Seekable:
    """A file object of somebody else's, read from where it stood and never closed."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._origin = file.tell()

    def read_at(self, position: int, view: memoryview) -> int:
        self._file.seek(self._origin + position)
        return _read_some(self._file, view)


class _Kept:
    """A stream that passes once, kept as it passes so that it can be read again."""

    def __init__(self, file: Any, *, owned: bool) -> None:
        import tempfile

        self._file = file
        self._owned = owned
        self._kept = tempfile.SpooledTemporaryFile(KEPT_IN_MEMORY)  # noqa: SIM115 - lives as long as this does
        self._length = 0

    def read_at(self, position: int, view: memoryview) -> int:
        if position < self._length:
            self._kept.seek(position)
            data = self._kept.read(len(view))
            view[: len(data)] = data
            return len(data)
        count = _read_some(self._file, view)
        self._kept.seek(self._length)
        self._kept.write(view[:count])
        self._length += count
        return count

    def __del__(self) -> None:
        self._kept.close()
        if self._owned:
            self._file.close()


class _Reader(io.RawIOBase):
    """One passage through a store, from its beginning."""

    def __init__(self, store: _Store) -> None:
        super().__init__()
        self._store = store
        self._position = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        count = self._store.read_at(self._position, memoryview(buffer).cast("B"))
        self._position += count
        return count


def _read_some(file: Any, view: memoryview) -> int:
    """Fill what can be filled; not every file object has ``readinto``."""
    if hasattr(file, "readinto"):
        return file.readinto(view) or 0
    data = file.read(len(view))
    view[: len(data)] = data
    return len(data)


def is_stream(source: object) -> bool:
    """Whether this is a path or something with bytes to read."""
    return isinstance(source, str | os.PathLike) or hasattr(source, "read")


def opened(source: Any, fallback: str) -> Opened:
    """A path, "-" or a file object, decompressed where it is compressed; ``fallback`` names the nameless."""
    if isinstance(source, str) and source == "-":
        return _of_object(sys.stdin, "<stdin>", "stdin")
    if isinstance(source, str | os.PathLike):
        return _of_path(os.fsdecode(source))
    place = getattr(source, "name", None)
    if isinstance(place, str) and not place.startswith("<"):
        return _of_object(source, place, name_of(place))
    return _of_object(source, f"<{fallback}>", fallback)


def name_of(path: str) -> str:
    """A file name without its directory and without the extensions that say only how it is written."""
    name = os.path.basename(path)
    while True:
        stem, extension = os.path.splitext(name)
        if extension.lower() not in STRIPPED or not stem:
            return name
        name = stem


def _of_path(path: str) -> Opened:
    def open_file() -> int:
        try:
            return os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except FileNotFoundError as error:
            raise InputError([f"{path}: there is no such file"]) from error
        except PermissionError as error:
            raise InputError([f"{path}: no permission to read this file"]) from error
        except OSError as error:
            raise InputError([f"{path}: {(error.strerror or 'cannot be opened').lower()}"]) from error
        except ValueError as error:  # a NUL in the path
            raise InputError([f"{path!r}: this cannot be the name of a file"]) from error

    descriptor = open_file()
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISDIR(mode):
        os.close(descriptor)
        raise InputError([f"{path}: this is a directory, not a file"])
    if not stat.S_ISREG(mode):
        return _settled(path, name_of(path), _replayed(_Kept(open(descriptor, "rb", buffering=0), owned=True)))
    head = os.read(descriptor, HEAD)
    os.lseek(descriptor, 0, os.SEEK_SET)
    kind = compression.kind_of(head)
    if not kind:
        return _checked(Opened(path, name_of(path), head, _FirstPassage(descriptor, open_file), path))

    def decompressed(descriptor: int) -> Any:
        # The buffer is for the libraries that read a few bytes at a time.
        raw = io.BufferedReader(open(descriptor, "rb", buffering=0))  # noqa: SIM115 - closed by what reads it
        return compression.Decompressed(raw, kind, path)

    stream = decompressed(descriptor)
    head = _first_bytes(stream)
    opener = _FirstPassage(_Continued(head, stream), lambda: decompressed(open_file()))
    return _checked(Opened(path, name_of(path), head, opener))


class _FirstPassage:
    """An opener that first hands over what was opened to look at the beginning, so that a file is opened once."""

    held = 0  # by all of them together: a process may not have many files open

    def __init__(self, first: Any, again: Opener) -> None:
        self._first, self._again = None, again
        if _FirstPassage.held < MOST_HELD:
            self._first = first
            _FirstPassage.held += 1
        else:
            _close(first)

    def __call__(self) -> Any:
        first = self._release()
        return self._again() if first is None else first

    def _release(self) -> Any:
        first, self._first = self._first, None
        if first is not None:
            _FirstPassage.held -= 1
        return first

    def __del__(self) -> None:
        if (first := self._release()) is not None:
            _close(first)


def _close(stream: Any) -> None:
    if isinstance(stream, int):
        os.close(stream)
    else:
        stream.close()


class _Continued(io.RawIOBase):
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


def _of_object(file: Any, place: str, name: str) -> Opened:
    if isinstance(file, io.StringIO):
        file = io.BytesIO(file.read().encode("utf-8", "surrogateescape"))
    file = getattr(file, "buffer", file)
    try:
        seekable = bool(file.seekable())
    except AttributeError:
        seekable = False
    return _settled(place, name, _replayed(_Seekable(file) if seekable else _Kept(file, owned=False)))


def _replayed(store: _Store) -> Opener:
    return lambda: _Reader(store)


def _settled(place: str, name: str, opener: Opener) -> Opened:
    """The stream after decompression, if it needs any, with its first bytes."""
    if kind := compression.kind_of(_head(opener)):
        packed = opener
        # The buffer is for the libraries that read a few bytes at a time.
        return _settled_once(place, name, lambda: compression.Decompressed(io.BufferedReader(packed()), kind, place))
    return _settled_once(place, name, opener)


def _settled_once(place: str, name: str, opener: Opener) -> Opened:
    return _checked(Opened(place, name, _head(opener), opener))


def _head(opener: Opener) -> bytes:
    with opener() as stream:
        return _first_bytes(stream)


def _first_bytes(stream: Any) -> bytes:
    """The first bytes; a pipe may hand them over in pieces."""
    head = b""
    while len(head) < HEAD and (piece := stream.read(HEAD - len(head))):
        head += piece
    return head


def _checked(stream: Opened) -> Opened:
    if not stream.head:
        raise InputError([f"{stream.place}: the file is empty"])
    return stream
