"""Files that appear complete or not at all: they are written under a temporary name, then renamed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from cranfield.errors import InputError
from cranfield.io.compression import compressor

if TYPE_CHECKING:
    from pathlib import Path


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside ``path`` that replaces it at the end, unless there is an error.

    A symbolic link stays a link, and an existing file keeps its permissions. A pipe or a device cannot be replaced; it
    is written directly.
    """
    from pathlib import Path

    final = Path(os.path.realpath(path))
    if final.exists() and not final.is_file():
        yield final
        return
    temporary = final.with_name(f".{final.name}.{os.urandom(4).hex()}.part")
    try:
        mode = stat.S_IMODE(final.stat().st_mode) if final.exists() else None
        if mode is not None:
            # Others may not read the new content either, not even while it is written.
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield temporary
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(final)
    except OSError as error:
        if error.filename in (None, str(temporary)):  # a full disk has no name
            error.filename, error.filename2 = os.fspath(path), None
        raise
    finally:
        temporary.unlink(missing_ok=True)


def write_pieces(path: str, pieces: Iterator[bytes], compression: str = "") -> None:
    """Write bytes to a file, complete or not at all; ``compression`` is a method such as "gzip", or "" for none."""
    with atomic_write(path) as temporary:
        try:
            file = temporary.open("wb")
        except OSError as error:
            raise InputError([f"{path}: cannot be written: {(error.strerror or str(error)).lower()}"]) from error
        with file, compressor(compression, file) if compression else nullcontext(file) as stream:
            for piece in pieces:
                stream.write(piece)
