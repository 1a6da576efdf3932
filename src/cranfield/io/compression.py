"""Compressed streams, known by their first bytes and not by their names."""

from __future__ import annotations

import io
import os
from typing import Any

from cranfield.errors import InputError
from cranfield.io.optional import available, optional

CHUNK = 1 << 17

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
# "BZh9" alone could be a query id; the block or end-of-stream mark after it could not.
_BZIP2_MARKS = (b"1AY&SY", b"\x17rE8P\x90")

EXTENSIONS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}


def kind_of(head: bytes) -> str:
    """Which compression these first bytes are of; "" for none."""
    if head.startswith(b"BZh") and head[4:10] in _BZIP2_MARKS:
        return "bzip2"
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "")


class Decompressed(io.RawIOBase):
    """What a compressed stream holds; a damaged one is an `InputError` that names the place."""

    def __init__(self, raw: Any, kind: str, place: str) -> None:
        super().__init__()
        self._raw = raw
        self._kind = kind
        self._place = place
        try:
            self._stream = _OPENERS[kind](raw)
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
        except EOFError as error:
            self._raw.close()
            message = f"{self._place}: the {self._kind} data stop before their end"
            raise InputError([message], hint="the file was cut short; fetch or write it again") from error
        except Exception as error:  # each library has its own exceptions for damaged data
            self._raw.close()
            message = f"{self._place}: the {self._kind} data are damaged"
            raise InputError([message], hint="fetch or write the file again") from error
        if not data:
            self._raw.close()  # not every reader closes what it has read to the end
        view[: len(data)] = data
        return len(data)

    def consumed(self) -> int:
        """How many compressed bytes have been read; 0 where they come from a pipe, or are all read."""
        return self._raw.tell() if not self._raw.closed and self._raw.seekable() else 0

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()


class _ZstandardFrames:
    """Frames read through the zstandard package, whose own reader takes a cut stream for a whole one."""

    def __init__(self, raw: Any, package: Any) -> None:
        self._raw = raw
        self._package = package
        self._frame: Any = None
        self._pending = b""

    def read(self, size: int) -> bytes:
        while len(self._pending) == 0:
            data = self._raw.read(CHUNK)
            if not data:
                if self._frame is not None:
                    raise EOFError
                return b""
            self._pending = self._expand(data)
        result, self._pending = self._pending[:size], self._pending[size:]
        return result

    def _expand(self, data: bytes) -> bytes:
        pieces = []
        while data:
            if self._frame is None:
                self._frame = self._package.ZstdDecompressor().decompressobj()
            pieces.append(self._frame.decompress(data))
            data = b""
            if self._frame.eof:
                data, self._frame = self._frame.unused_data, None
        return b"".join(pieces)


def _gzip(raw: Any) -> Any:
    import gzip

    return gzip.GzipFile(fileobj=raw, mode="rb")


def _bzip2(raw: Any) -> Any:
    import bz2

    return bz2.BZ2File(raw)


def _xz(raw: Any) -> Any:
    import lzma

    return lzma.LZMAFile(raw)


def _zstd(raw: Any) -> Any:
    if standard := available("compression.zstd"):
        return standard.ZstdFile(raw)
    return _ZstandardFrames(raw, optional("zstandard", "reading zstd", "zstd"))


_OPENERS = {"gzip": _gzip, "bzip2": _bzip2, "xz": _xz, "zstd": _zstd}


def compressor(kind: str, raw: Any) -> Any:
    """A stream that compresses what is written to it; closing it leaves ``raw`` open."""
    if kind == "gzip":
        import gzip

        # No name and no time inside: the same rows always give the same bytes.
        return gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0)
    if kind == "bzip2":
        import bz2

        return bz2.BZ2File(raw, "wb")
    if kind == "xz":
        import lzma

        return lzma.LZMAFile(raw, "wb")
    if standard := available("compression.zstd"):
        return standard.ZstdFile(raw, "w", options={standard.CompressionParameter.checksum_flag: 1})
    package = optional("zstandard", "writing zstd", "zstd")
    return package.ZstdCompressor(write_checksum=True).stream_writer(raw, closefd=False)


def by_name(path: str) -> str:
    """Which compression a file name asks for; "" for none."""
    return EXTENSIONS.get(os.path.splitext(path)[1].lower(), "")
