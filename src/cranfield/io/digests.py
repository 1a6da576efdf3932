"""Digests of files: of their content after decompression, so that a compressed file is the same as a plain one."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from cranfield.io import compression
from cranfield.parallel import in_background

if TYPE_CHECKING:
    from concurrent.futures import Future

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
        waiting = [one for one in self._found.values() if not one.done()]
        if len(waiting) >= MAX_PENDING:
            waiting[0].result()
        own = os.dup(descriptor)
        self._found[path] = in_background(lambda: _digest(_Positioned(own), method, path))

    def get(self, path: str) -> str | None:
        """The digest of a file that was opened."""
        found = self._found.get(path)
        return None if found is None or found.exception() is not None else found.result()


_active: ContextVar[Digests | None] = ContextVar("digests", default=None)


@contextmanager
def digesting() -> Iterator[Digests]:
    """Take the digest of every file that is opened inside."""
    token = _active.set(Digests())
    try:
        found = _active.get()
        assert found is not None
        yield found
    finally:
        _active.reset(token)


def active() -> Digests | None:
    """What takes the digests of files that are opened, if anything does."""
    return _active.get()


def digest_of_file(path: str, *, in_any_order: bool = False) -> str | None:
    """The digest of a regular file; None if it cannot be read. ``in_any_order``: of its lines, sorted."""
    try:
        with open(path, "rb") as file:
            method = compression.detect_compression(file.read(64))
            file.seek(0)
            if in_any_order:
                content: Any = compression.Decompressed(io.BufferedReader(file), method, path) if method else file
                return text_digest(b"\n".join(sorted(line.strip() for line in content.read().splitlines())))
            return _digest(file, method, path)
    except (OSError, ValueError):
        return None


def text_digest(text: bytes) -> str:
    """The digest of a text."""
    from hashlib import sha256

    return f"sha256:{sha256(text).hexdigest()}"


def _digest(file: Any, method: str, path: str) -> str:
    from hashlib import sha256

    found = sha256()
    with file:
        content = compression.Decompressed(io.BufferedReader(file), method, path) if method else file
        buffer = bytearray(PIECE)
        while count := content.readinto(buffer):
            found.update(memoryview(buffer)[:count])
    return f"sha256:{found.hexdigest()}"


class _Positioned(io.RawIOBase):
    """A descriptor read from its beginning, whatever position others have moved it to; closed at the end."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor, self._position = descriptor, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer).cast("B")
        data = os.pread(self._descriptor, len(view), self._position)
        view[: len(data)] = data
        self._position += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
        super().close()
