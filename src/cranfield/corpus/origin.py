"""Where a corpus came from, so that it can be told when that is no longer what it was."""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from cranfield.io.collection import files_of


@dataclass(frozen=True)
class Origin:
    """A source as it was when it was read: its files, their size, and a digest of their names, sizes and times."""

    place: str
    files: int = 0  # 0 where it was no file, and nobody can tell
    bytes: int = 0
    digest: str = ""

    @classmethod
    def of(cls, source: Any) -> Origin:
        """The source as it is now."""
        files = files_of(source)
        if not files:
            return cls(source if isinstance(source, str) else getattr(source, "name", None) or "<corpus>")
        path = os.path.abspath(os.fsdecode(source))
        digest, size = blake2b(digest_size=16), 0
        for file in files:
            found = os.stat(file)
            size += found.st_size
            name = os.path.relpath(file, path)
            digest.update(f"{name}\0{found.st_size}\0{found.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
        return cls(path, len(files), size, digest.hexdigest())

    def changed(self) -> bool:
        """Whether it is still where it was, and is another now."""
        return self.files > 0 and os.path.exists(self.place) and Origin.of(self.place) != self
