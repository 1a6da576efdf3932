"""Parts of a collection: assign each document to a part by a list, by its id, or at random."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from cranfield.data import Booleans
from cranfield.errors import UsageError, check_fraction
from cranfield.io.groups import read_groups

ALL = "all"
OTHER = "other"  # documents that the list does not contain


@dataclass(frozen=True)
class CollectionSplit:
    """A rule that assigns documents to parts, and its description."""

    part_of: Callable[[str], str]
    description: str

    @classmethod
    def of(cls, split: Any = None, pattern: str | None = None, share: float = 0.5, seed: int = 0) -> CollectionSplit:
        """The requested rule; by default documents are assigned to A and B at random.

        ``split``: ``{document: part}``, or a file of such lines. ``pattern``: a regular expression; documents whose
        ids match are in B, all others in A. ``share``: the proportion of documents in A, if assigned at random.
        """
        if split is not None and pattern is not None:
            raise UsageError("split and pattern cannot be combined", hint="give one of them")
        if split is not None:
            parts = read_groups(split, "document", "part")
            if ALL in parts.values():
                raise UsageError(f"`{ALL}` cannot be the name of a part: it stands for the complete collection")
            return cls(lambda document: parts.get(document, OTHER), "from a list")
        if pattern is not None:
            try:
                expression = re.compile(pattern)
            except re.error as error:
                raise UsageError(f"invalid regular expression `{pattern}`: {error}") from error
            return cls(lambda document: "B" if expression.search(document) else "A", f"B matches `{pattern}`")
        limit = check_fraction("share", share)
        return cls(lambda document: "A" if _hash_fraction(document, seed) < limit else "B", f"at random, seed {seed}")

    def members(self, documents: Iterable[str]) -> dict[str, Booleans]:
        """For each part, in order of their names, which of the documents belong to it."""
        part = np.array([self.part_of(document) for document in documents], object)
        return {name: part == name for name in sorted(set(part.tolist()))}


def _hash_fraction(document: str, seed: int) -> float:
    """A number in [0, 1) that depends on the document id and the seed only."""
    key = f"{seed}\0".encode() + document.encode("utf-8", "surrogateescape")
    return int.from_bytes(blake2b(key, digest_size=7).digest(), "big") / 2**56
