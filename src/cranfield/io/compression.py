"""Compressed streams, recognised by their first bytes and not by their names."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from functools import partial
from typing import Any

from cranfield.errors import InputError, available, optional, reading_failed

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
