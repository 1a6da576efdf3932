"""Collections within a collection: which documents are in which part, by a list, by their ids, or at random."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from cranfield.arguments import share as between
from cranfield.batch import Booleans
from cranfield.errors import UsageError
from cranfield.io.groups import read_groups

ALL = "all"
OTHER = "other"  # documents that a list does not name


@dataclass(frozen=True)
class Parts:
    """A rule that says which part a document is in, and in words what rule it is."""

    of: Callable[[str], str]
    rule: str

    @classmethod
    def chosen(cls, split: Any = None, pattern: str | None = None, share: float = 0.5, seed: int = 0) -> Parts:
        """The one rule that was asked for; documents go to A and B at random where none was.

        ``split``: ``{document: part}``, or a file of such lines. ``pattern``: a regular expression; documents whose
        ids have it are B, all others A. ``share`` of the documents is A, where chance decides.
        """
        if split is not None and pattern is not None:
            raise UsageError("either a split or a pattern, not both", hint="one rule says which documents are where")
        if split is not None:
            known = read_groups(split, "document", "part")
            if ALL in known.values():
                raise UsageError(f"no part can be called `{ALL}`: that is what all of them together are called")
            return cls(lambda document: known.get(document, OTHER), "a list")
        if pattern is not None:
            try:
                found = re.compile(pattern)
            except re.error as error:
                raise UsageError(f"`{pattern}` is no regular expression: {error}") from error
            return cls(lambda document: "B" if found.search(document) else "A", f"B is what matches `{pattern}`")
        part = between("share", share)
        return cls(lambda document: "A" if _chance(document, seed) < part else "B", f"at random, seed {seed}")

    def members(self, documents: Iterable[str]) -> dict[str, Booleans]:
        """For each part, which of these documents are in it; parts by name."""
        part = np.array([self.of(document) for document in documents], object)
        return {name: part == name for name in sorted(set(part.tolist()))}


def _chance(document: str, seed: int) -> float:
    """A number in [0, 1) that a document has whatever others there are."""
    key = f"{seed}\0".encode() + document.encode("utf-8", "surrogateescape")
    return int.from_bytes(blake2b(key, digest_size=7).digest(), "big") / 2**56
