"""Here ids meet, once, and here alone positions come from scores: a run and judgments in, batches for measures out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from cranfield import core, io
from cranfield.batch import CELLS, Batch, Key, ragged, ungained
from cranfield.data import Floats, Integers, Judgments, Run, Strings
from cranfield.rows import cells, scattered
from cranfield.subtopics import Subtopics

if TYPE_CHECKING:
    from cranfield.corpus.judged import Reading


class Aligner:
    """Judgments made ready to meet runs: ids hashed and pools laid out once, for any number of runs."""

    def __init__(
        self,
        judgments: Judgments,
        negative: Literal["unjudged", "nonrel"] = "unjudged",
        nil: Integers | None = None,
        reading: Reading | None = None,
        *,
        top: float | None = None,
    ) -> None:
        """``nil``: the rows that mean no answer; ``top``: the highest grade, where there are judgments beyond these."""
        self.judgments = judgments
        self.grade = judgments.grade if negative == "unjudged" else np.maximum(judgments.grade, 0)
        self.index = core.Index(
            (judgments.queries.offsets, judgments.queries.data),
            judgments.begin,
            (judgments.documents.offsets, judgments.documents.data),
        )
        self.judged = np.diff(judgments.begin)
        self.pools: dict[int, tuple[Integers, Floats, dict[Any, Any]]] = {}  # the last one of each height
        self.top = float(max(self.grade.max(initial=0) if top is None else top, 0))
        self.subtopics = None if judgments.labels is None else Subtopics(judgments, self.top)
        self.reading = reading
        self.nil = np.zeros(len(self.grade), bool)
        self.nil_grade = np.full(len(self.judged), np.nan)
        if nil is not None:
            self.nil[nil], self.nil_grade = True, self.grade[nil]

    def pool(self, queries: Integers) -> tuple[Floats, dict[Any, Any]]:
        """The grades of all that is judged, a row for each query, and a place to keep what is made of them."""
        known = self.pools.get(len(queries))
        if known is not None and np.array_equal(known[0], queries):
            return known[1], known[2]
        judged = self.judged[queries]
        row, place = ragged(judged)
        shape = len(queries), max(int(judged.max(initial=0)), 1)
        grade = scattered(
            self.grade[self.judgments.begin[queries][row] + place], cells(row, place, shape), shape, np.nan
        )
        self.pools[len(queries)] = queries, grade, {}
        return grade, self.pools[len(queries)][2]

    def align(self, run: Run, key: Key = "score", *, by_id: bool = True) -> Alignment:
        """Where a run ranks the judged documents."""
        return self.read(run, [key], by_id=by_id).alignments[key]

    def read(self, run: Run, keys: Sequence[Key], *, by_id: bool = True, top: int = 0) -> AlignedRun:
        """A run read once, and aligned for each of the keys that rank documents.

        ``by_id``: find each document's position by id in its tie group. ``top``: keep the ids of all documents,
        judged or not, that may be among the first so many.
        """
        joined = io.join(run, self.index, keys, by_id, top)
        unjudged, shared = Strings(*joined["other"]), {"length": joined["length"], "tag": joined["tag"]}
        alignments = {
            key: Alignment(self, self._in_order(hits | shared), unjudged, joined["other_length"])
            for key, hits in zip(keys, joined["hits"], strict=True)
        }
        tops = {key: TopDocuments.of(rows) for key, rows in zip(keys, joined.get("tops", ()), strict=False)}
        return AlignedRun(run, alignments, tops)

    def aligned(self, rows: dict[str, Any], other: Alignment) -> Alignment:
        """Rows of these judgments that another alignment of the same run was turned into."""
        return Alignment(self, self._in_order(rows), other.other, other.other_length)

    def _in_order(self, rows: dict[str, Any]) -> dict[str, Any]:
        """Tied documents by grade, then by id where it is known: in what order rows came does not move a last bit."""
        query, start, document = rows["query"], rows["start"], rows["document"]
        same = (query[1:] == query[:-1]) & (start[1:] == start[:-1])
        if not same.any():
            return rows
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        keys = rows["by_id"], self.nil[document], -self.grade[document], start, query
        order = np.arange(len(query))
        order[tied] = tied[np.lexsort([key[tied] for key in keys])]
        return rows | {name: rows[name][order] for name in ("query", "document", "start", "size", "by_id", "by_input")}


@dataclass(frozen=True, eq=False)
class TopDocuments:
    """The first documents of every query of a run, judged or not; whole tie groups, one row a document.

    ``query`` counts the judged queries, then the run's other ones; ``judged`` is the document's row in the
    judgments, -1 for none. ``start``, ``size``, ``by_id``, ``by_input`` are those of a `Batch`.
    """

    query: Integers
    document: Strings
    judged: Integers
    start: Integers
    size: Integers
    by_id: Integers
    by_input: Integers

    @classmethod
    def of(cls, rows: dict[str, Any]) -> TopDocuments:
        return cls(**rows | {"document": Strings(*rows["document"])})


@dataclass(frozen=True, eq=False)
class AlignedRun:
    """One run after its only reading: an alignment, and perhaps the top documents, for each key that ranks them."""

    run: Run
    alignments: dict[Key, Alignment]
    tops: dict[Key, TopDocuments]

    @property
    def first(self) -> Alignment:
        """Any of the alignments: they agree on queries and lengths."""
        return next(iter(self.alignments.values()))


@dataclass(frozen=True, eq=False)
class Alignment:
    """Where one run ranks the judged documents, as flat rows (see `core`); `batches` lays them out for measures."""

    aligner: Aligner
    rows: dict[str, Any]
    other: Strings
    other_length: Integers

    def release(self) -> None:
        """Forget the batches, which are many times the size of the rows; they are made again when asked for."""
        self.__dict__.pop("batches", None)

    @property
    def length(self) -> Integers:
        """Documents retrieved for each judged query; -1 where the run does not answer it."""
        return self.rows["length"]

    @cached_property
    def batches(self) -> list[tuple[Integers, Batch]]:
        """Every judged query once: its number among the judgments' queries, and its row of a batch."""
        return list(self._laid_out())

    def _laid_out(self) -> Iterator[tuple[Integers, Batch]]:
        found = np.bincount(self.rows["query"], minlength=len(self.length))
        width = np.maximum(found, self.aligner.judged)
        queries = np.arange(len(width))
        if len(width) * width.max(initial=1) <= max(CELLS, 2 * width.sum()):
            yield queries, self._batch(queries)
            return
        for bits in np.unique(np.ceil(np.log2(np.maximum(width, 1)))):
            alike = queries[np.ceil(np.log2(np.maximum(width, 1))) == bits]
            step = max(1, CELLS >> int(bits))
            for i in range(0, len(alike), step):
                yield alike[i : i + step], self._batch(alike[i : i + step])

    def unjudged(self) -> Batch:
        """The run's queries that nobody judged, as rows without documents."""
        n = len(self.other)
        empty = np.zeros((n, 1), np.int64)
        nothing = np.full((n, 1), np.nan)
        batch = ungained(nothing, empty, empty + 1, empty, empty, self.other_length, nothing, self.aligner.top)
        return replace(batch, subtopics=self.aligner.subtopics, reading=self.aligner.reading)

    def _batch(self, queries: Integers) -> Batch:
        aligner, rows = self.aligner, self.rows
        row: Integers = rows["query"]
        chosen: Any = slice(None)
        if len(queries) < len(self.length):
            row_of = np.full(len(self.length), -1)
            row_of[queries] = np.arange(len(queries))
            chosen = np.flatnonzero(row_of[row] >= 0)
            row = row_of[row[chosen]]
        counts = np.bincount(row, minlength=len(queries))
        shape = len(queries), max(int(counts.max(initial=0)), 1)
        at = cells(row, ragged(counts)[1], shape)

        def laid(values: npt.NDArray[Any], empty: float) -> npt.NDArray[Any]:
            return scattered(values, at, shape, empty)

        document, size = rows["document"][chosen], rows["size"][chosen]
        tied = bool((size > 1).any())
        nothing = np.broadcast_to(0, shape)
        pool, pooled = aligner.pool(queries)
        batch = ungained(
            laid(aligner.grade[document], np.nan),
            laid(rows["start"][chosen], 0),
            laid(size, 1) if tied else np.ones(shape, np.int64),
            laid(rows["by_id"][chosen], 0) if tied else nothing,
            laid(rows["by_input"][chosen], 0) if tied else nothing,
            np.maximum(self.length[queries], 0),
            pool,
            aligner.top,
        )
        return replace(
            batch,
            nil=laid(aligner.nil[document], False) if aligner.nil.any() else batch.nil,
            nil_grade=aligner.nil_grade[queries],
            query=queries,
            document=laid(document, -1) if aligner.subtopics or aligner.reading else batch.document,
            subtopics=aligner.subtopics,
            pooled=pooled,
            reading=aligner.reading,
        )
