"""Compressed streams: several in one file, padding, damage in a later one."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
from collections.abc import Callable
from typing import Any

import pytest
import zstandard

import cranfield as cf
from cranfield.errors import InputError
from cranfield.io import streams

FIRST, SECOND = b"q1 0 d 1\n", b"q2 0 d 1\n"
PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
}


def queries(data: bytes) -> list[str]:
    return list(cf.read_qrels(io.BytesIO(data)).queries)


@pytest.mark.parametrize("method", PACK)
def test_streams_one_after_another(method: str) -> None:
    assert queries(PACK[method](FIRST) + PACK[method](SECOND)) == ["q1", "q2"]


@pytest.mark.parametrize("method", PACK)
@pytest.mark.parametrize("lost", [1, 2, 4])
def test_a_later_stream_with_a_damaged_header(method: str, lost: int) -> None:
    with pytest.raises(InputError, match=f"the {method} data are damaged|end too early"):
        queries(PACK[method](FIRST) + PACK[method](SECOND)[lost:])


@pytest.mark.parametrize("method", PACK)
@pytest.mark.parametrize("lost", [1, 5, 12])
def test_a_later_stream_that_ends_too_early(method: str, lost: int) -> None:
    with pytest.raises(InputError, match=f"the {method} data end too early"):
        queries(PACK[method](FIRST) + PACK[method](SECOND)[:-lost])


@pytest.mark.parametrize("method", PACK)
def test_text_after_the_last_stream(method: str) -> None:
    with pytest.raises(InputError, match=f"the {method} data are damaged"):
        queries(PACK[method](FIRST) + b"q2 0 d 1\nq3 0 d 1\n")


@pytest.mark.parametrize("zeros", [4, 8, 4096, 1 << 20])
def test_padding_of_xz(zeros: int) -> None:
    assert queries(lzma.compress(FIRST) + bytes(zeros) + lzma.compress(SECOND) + bytes(zeros)) == ["q1", "q2"]
    with pytest.raises(InputError, match="damaged"):
        queries(lzma.compress(FIRST) + bytes(zeros + 1))


def test_padding_of_bzip2_is_damage() -> None:
    with pytest.raises(InputError, match="damaged"):
        queries(bz2.compress(FIRST) + bytes(4))


@pytest.mark.parametrize("size", [0, 1, 300_000])
def test_zstd_frames_without_data(size: int) -> None:
    skipped = struct.pack("<II", 0x184D2A57, size) + bytes(size)
    packed = skipped + PACK["zstd"](FIRST) + skipped + PACK["zstd"](SECOND) + skipped
    assert queries(packed) == ["q1", "q2"]
    with pytest.raises(InputError, match="end too early"):
        queries(packed[:-1])


class Failing(io.RawIOBase):
    """A compressed stream whose disk fails after the first bytes."""

    def __init__(self, data: bytes, error: BaseException) -> None:
        super().__init__()
        self.data, self.error = io.BytesIO(data), error

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        count = self.data.readinto(buffer)
        if not count:
            raise self.error
        return count


@pytest.mark.parametrize("method", PACK)
@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(5, "Input/output error"), "FILE: cannot be read: input/output error"),
        (MemoryError(), "FILE: there is not enough memory to read this"),
    ],
)
def test_what_is_not_damage(method: str, error: BaseException, message: str) -> None:
    raw = io.BufferedReader(Failing(PACK[method](FIRST * 1000)[:-20], error))
    with pytest.raises(InputError) as raised:
        streams.Decompressed(raw, method, "FILE").read()
    assert str(raised.value) == message
