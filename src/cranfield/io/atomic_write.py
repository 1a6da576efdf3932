"""Files that appear whole or not at all: written beside their place, then renamed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@contextmanager
def draft(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A file to write to that takes its place only when all is written; nobody ever reads half of it.

    A link stays one. A pipe or a device, which cannot be replaced, is written to as it is.
    """
    from pathlib import Path

    final = Path(os.path.realpath(path))
    if final.exists() and not final.is_file():
        yield final
        return
    beside = final.with_name(f".{final.name}.{os.urandom(4).hex()}.part")
    try:
        yield beside
        beside.replace(final)
    except OSError as error:
        if error.filename == str(beside):
            error.filename, error.filename2 = str(path), None
        raise
    finally:
        beside.unlink(missing_ok=True)
