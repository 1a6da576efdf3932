"""Text in blocks of whole records, so that no more than a few of them are in memory at once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from cranfield.errors import InputError
from cranfield.io.documents import Block
from cranfield.io.streams import Opened

SIZE = 1 << 22
PIECE = 1 << 18  # what a damaged end may take with it
LONGEST = 1 << 27


class TextBlocks:
    """A stream of text whose records all end in the same way."""

    def __init__(self, stream: Opened, end: bytes = b"\n", size: int = SIZE) -> None:
        self.stream = stream
        self.end = end
        self.size = size
        self.bytes = os.path.getsize(stream.place) if os.path.isfile(stream.place) else 0

    def __iter__(self) -> Iterator[Block]:
        source = self.stream.opener()
        with open(source, "rb", buffering=0) if isinstance(source, int) else source as file:
            rest, line, cut = b"", 1, None
            while cut is None:
                data, cut = _filled(file, self.size)
                if not data:
                    break
                whole = rest + data
                end = whole.rfind(self.end)
                if end < 0:
                    if len(whole) > LONGEST:
                        what = "line" if self.end == b"\n" else "document"
                        message = f"{self.stream.place}:{line}: a {what} of more than {LONGEST >> 20} MiB"
                        raise InputError([message], hint="this is hardly a collection of documents")
                    rest = whole
                    continue
                end += len(self.end)
                content, rest = whole[:end], whole[end:]
                yield Block(line, content, _position(file))
                line += content.count(b"\n")
            if cut is not None:
                raise cut
            if rest.strip():
                yield Block(line, rest, _position(file))


def _filled(file: Any, size: int) -> tuple[bytes, InputError | None]:
    """As many bytes as asked for, or all there are: pipes and decompressors deal them out in small pieces.

    Where these stop with an error, it comes after what they gave before.
    """
    pieces = []
    try:
        while size and (data := file.read(min(size, PIECE))):
            pieces.append(data)
            size -= len(data)
    except InputError as error:
        return b"".join(pieces), error
    return b"".join(pieces), None


def _position(file: Any) -> int:
    """Bytes of the file read so far, as it lies on disk; 0 where it does not."""
    return int(file.consumed()) if hasattr(file, "consumed") else file.tell() if file.seekable() else 0
