"""From texts to columns: every word of the collection counted, those of some documents kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from cranfield import core
from cranfield.content.settings import Settings, kinds
from cranfield.data import Bytes, Integers, Strings


class Counting:
    """Counts of words so far. What it holds grows with the vocabulary and the documents kept, not with the texts."""

    def __init__(self, settings: Settings, wanted: Iterable[str]) -> None:
        self.settings = settings
        self.wanted = {name: row for row, name in enumerate(_sorted(set(wanted)))}
        self.words = core.Words(kinds(settings.split), settings.lower)
        self.kept: list[tuple[Integers, Integers, Integers, Integers]] = []
        self.size = self.empty = 0

    def add(self, names: Sequence[str], texts: Sequence[str]) -> None:
        """Some more documents."""
        rows = [row for row, name in enumerate(names) if name in self.wanted]
        found = self.words.add(_packed(texts), np.array(rows, np.int64))
        documents = np.array([self.wanted[names[row]] for row in rows], np.int64)
        self.kept.append((documents, found["begin"], found["word"], found["count"]))
        self.size += len(names)
        self.empty += int((found["length"] == 0).sum())

    def columns(self) -> dict[str, Any]:
        """All but the settings of a `Corpus`."""
        pair, counts = self.words.columns()
        term_of, names = _numbered(self.settings.terms(Strings(*pair)))
        frequency = np.bincount(term_of[term_of >= 0], counts[term_of >= 0], len(names)).astype(np.int64)

        parts = self.kept or [(np.zeros(0, np.int64),) * 4]
        there = np.concatenate([part[0] for part in parts])
        document = np.concatenate([np.repeat(d, np.diff(b)) for d, b, _, _ in self.kept] or [np.zeros(0, np.int64)])
        term = term_of[np.concatenate([part[2] for part in parts])]
        count = np.concatenate([part[3] for part in parts])
        document, term, count = (column[term >= 0] for column in (document, term, count))

        present = np.unique(there)
        used = np.unique(term)
        # Different words of one document may be the same term.
        pairs, code = np.unique(
            np.searchsorted(present, document) * max(len(used), 1) + np.searchsorted(used, term), return_inverse=True
        )
        wanted = Strings.of(self.wanted)
        absent = np.setdiff1d(np.arange(len(wanted)), present)
        lengths = np.bincount(pairs // max(len(used), 1), minlength=len(present))
        return {
            "terms": Strings.of(names).take(used),
            "frequency": frequency[used],
            "total": int(frequency.sum()),
            "documents": wanted.take(present),
            "begin": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            "term": pairs % max(len(used), 1),
            "count": np.bincount(code, count, len(pairs)).astype(np.int64),
            "size": self.size,
            "empty": self.empty,
            "missing": wanted.take(absent),
        }


def _sorted(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: name.encode("utf-8", "surrogateescape"))


def _numbered(terms: Sequence[str]) -> tuple[Integers, list[str]]:
    """For each entry the number of its term in the sorted vocabulary, -1 where there is none; and the vocabulary."""
    names = _sorted(set(terms) - {""})
    number = {name: row for row, name in enumerate(names)}
    return np.array([number.get(term, -1) for term in terms], np.int64), names


def _packed(texts: Sequence[str]) -> tuple[Integers, Bytes]:
    # Half of a surrogate pair is no text; as bytes it separates words, as all bytes do that are no UTF-8.
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    return offsets, np.frombuffer(b"".join(encoded), np.uint8)
