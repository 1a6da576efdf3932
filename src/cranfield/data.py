"""What people bring: rankings and judgments, as frozen columns.

Ids are bytes-exact: text that is not UTF-8 survives the way in and out (surrogateescape).
This module knows nothing of files (`io`) and nothing of measures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Strings:
    """A column of ids in Arrow's layout: string i is ``data[offsets[i]:offsets[i + 1]]``."""

    offsets: Integers
    data: Bytes

    @classmethod
    def of(cls, texts: Iterable[str]) -> Strings:
        encoded = [text.encode("utf-8", "surrogateescape") for text in texts]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(text) for text in encoded], out=offsets[1:])
        return cls(offsets, np.frombuffer(b"".join(encoded), np.uint8))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> str:
        return self.data[self.offsets[i] : self.offsets[i + 1]].tobytes().decode("utf-8", "surrogateescape")

    def __iter__(self) -> Iterator[str]:
        data, bounds = self.data.tobytes(), self.offsets.tolist()
        for a, b in pairwise(bounds):
            yield data[a:b].decode("utf-8", "surrogateescape")

    def take(self, rows: Integers) -> Strings:
        """The strings at these rows, in this order."""
        lengths = np.diff(self.offsets)[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        return Strings(offsets, self.data[np.repeat(self.offsets[:-1][rows], lengths) + within])


@dataclass(frozen=True, eq=False)
class Labels:
    """Judgments by subtopic: row i says that document ``document[i]`` has ``grade[i]`` for a subtopic.

    ``document`` counts rows of the `Judgments` that hold these labels; ``subtopic`` counts ``names``.
    """

    document: Integers
    subtopic: Integers
    grade: Floats
    names: Strings


@dataclass(frozen=True, eq=False)
class Intents:
    """How many readers want what: row i says that subtopic ``subtopic[i]`` of query ``query[i]`` has a weight.

    Both count rows of the `Judgments` that hold these intents: its queries, and the names of its labels.
    """

    query: Integers
    subtopic: Integers
    weight: Floats


@dataclass(frozen=True, eq=False)
class Judgments:
    """Who judged what: for every query its documents, each once, with a grade.

    The documents of query q are rows ``begin[q]:begin[q + 1]``. With subtopics a document's grade
    is its highest over them, and ``labels`` has the details; ``intents`` says which of them readers want, where known.
    """

    name: str
    queries: Strings
    begin: Integers
    documents: Strings
    grade: Floats
    labels: Labels | None = None
    repeated: int = 0  # judgments given twice with the same grade
    intents: Intents | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """A run in memory as columns, a row for each retrieved document, in the order given."""

    query: Strings
    document: Strings
    score: Floats
    rank: Floats | None = None
    numbered: bool = True  # whether a row's number means something to whoever gave the rows
    score_column: str = ""  # the column of scores, if error messages should name it


Opener = Callable[[], Any]  # returns a file descriptor or an object with ``readinto``; may be called again


@dataclass(frozen=True, eq=False)
class Run:
    """What one system answered; ``source`` is where the rows are, and is read only when needed.

    A dict ``{query: {document: score}}``, a `Table`, or, for TREC text, a function that opens it:
    files are joined to judgments as they stream by, and are never held in memory.
    """

    name: str
    source: Mapping[str, Mapping[str, float]] | Table | Opener
    place: str = ""  # what error messages call it: the file name
