"""Rankings of documents that stay the same while their scores change, aligned without matching ids again.

`Aligner` matches the ids of a run with those of the judgments, which is most of the work. Here this is done once; new
scores then only give new positions. The result is what `Aligner` gives for the same run, row for row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cranfield import io, native
from cranfield.data import Bytes, Floats, Integers, Run, Strings, Table
from cranfield.errors import UsageError
from cranfield.io.ids import codes_of
from cranfield.io.runs import Positions, RunQueries
from cranfield.ranking.alignment import Aligner, Alignment
from cranfield.ranking.batch import Key


class FixedDocuments:
    """The documents of a run, whose ids are matched with the judgments once.

    ``documents``: the run in memory; new scores are in the order of its rows. ``alignment``: the run with its own
    scores.
    """

    def __init__(self, aligner: Aligner, run: Run) -> None:
        self.aligner, self.run = aligner, run
        self.documents: Table = io.load(run)
        self.alignment = aligner.align(run, by_id=False)
        table, queries = self.documents, aligner.judgments.queries
        # The rows of the judged queries, query by query.
        known = {name: q for q, name in enumerate(queries)}
        names, code = codes_of(table.query)
        query = np.array([known.get(name, -1) for name in names], np.int64)[code]
        rows = np.flatnonzero(query >= 0)
        self._rows = rows[np.argsort(query[rows], kind="stable")]
        self._begin = np.concatenate([[0], np.cumsum(np.bincount(query[rows], minlength=len(queries)))])
        self._order_of_ids = order_of_ids(table.document.take(self._rows))
        self._rank = None if table.rank is None else table.rank[self._rows]
        # Each document has a different score, so that its rank is its position among the documents of its query.
        numbered = Table(table.query, table.document, -np.arange(float(len(self))))
        hits = aligner.align(Run(run.name, numbered, run.source_name), by_id=False).positions
        self._judged_rows = np.ascontiguousarray(self._begin[hits.query] + hits.start)
        self._judged = np.ascontiguousarray(hits.document)
        self._in_order = bool((self._rows == np.arange(len(self))).all()) if len(rows) == len(self) else False

    def __len__(self) -> int:
        return len(self.documents.score)

    def _ordered(self, scores: npt.ArrayLike) -> Floats:
        """The scores in the order of queries; raises if there is not one for each document, or one is NaN."""
        given = np.asarray(scores, np.float64)
        if given.shape != (len(self),):
            raise UsageError(
                f"expected {len(self):,} scores, one for each document of {self.run.name}; got {given.shape}"
            )
        if np.isnan(given).any():
            row = int(np.flatnonzero(np.isnan(given))[0])
            document = f"`{self.documents.document[row]}` of query `{self.documents.query[row]}`"
            raise UsageError(f"the score of document {document} is NaN")
        return np.ascontiguousarray(given) if self._in_order else given[self._rows]

    def align(self, scores: npt.ArrayLike, keys: Sequence[Key], *, by_id: bool) -> dict[Key, Alignment]:
        """The positions of the judged documents with these scores, for each key that ranks documents."""
        ordered = self._ordered(scores)
        located = native.locate(
            self._order_of_ids, self._begin, self._judged_rows, self._judged, ordered, self._rank, list(keys), by_id
        )
        queries = RunQueries(self.alignment.length, self.alignment.other, self.alignment.other_length)
        return {
            key: Alignment(self.aligner, Positions(**hits), queries) for key, hits in zip(keys, located, strict=True)
        }


def order_of_ids(ids: Strings) -> tuple[Integers, Bytes]:
    """Texts of eight bytes in the order of the ids, as offsets and data: short texts are compared faster."""
    names = [name.encode("utf-8", "surrogateescape") for name in ids]
    position = np.empty(len(names), ">u8")
    position[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return np.arange(0, 8 * len(names) + 1, 8), position.view(np.uint8)
