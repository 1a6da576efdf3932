"""Judged passages, and chunks that are judged by the passages that they cover.

A chunk covers a judged passage if at least the share ``cover`` of the passage lies inside it. The relevant passages of
a query are its subtopics. A chunk that covers none of them is not relevant if a passage of its document is judged for
the query, and unjudged otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cranfield.data import Booleans, Floats, Integers, Judgments, Labels, Passages, Run, Strings, Table
from cranfield.io.columns import codes_of, first_rows
from cranfield.ranking.batch import lexsorted, ragged


def merged(row: Integers, passages: Passages) -> tuple[Integers, Passages]:
    """The union of the passages of each row, as passages without overlap; in the order of rows.

    >>> passages = Passages(Strings.of(["d"]), np.array([0, 0, 0]), np.array([5, 0, 8]), np.array([7, 6, 9]))
    >>> row, union = merged(np.array([0, 0, 0]), passages)
    >>> union.start.tolist(), union.end.tolist()
    ([0, 8], [7, 9])
    """
    if not len(row):
        return row, passages
    order = lexsorted((passages.start, passages.document, row))
    row, passages = row[order], passages.take(order)
    first = np.append(True, (row[1:] != row[:-1]) | (passages.document[1:] != passages.document[:-1]))
    # Each document has numbers of its own, so that the running maximum begins again with every document.
    shift = (np.cumsum(first) - 1) * (int(passages.end.max()) + 1)
    furthest = np.maximum.accumulate(passages.end + shift) - shift
    opens = first | (passages.start > np.append(0, furthest[:-1]))
    begin = np.flatnonzero(opens)
    union = passages.take(begin)._replace(end=furthest[np.append(begin[1:], len(row)) - 1])
    return row[begin], union


def union_length(row: Integers, passages: Passages, rows: int) -> Floats:
    """The length of the union of the passages of each row."""
    owner, union = merged(row, passages)
    return np.bincount(owner, union.end - union.start, rows).astype(np.float64)


def concatenated(parts: Sequence[Passages], names: Strings) -> Passages:
    """The passages of several parts, whose documents are rows of the same names."""
    columns = zip(*((part.document, part.start, part.end) for part in parts), strict=True)
    return Passages(names, *map(np.concatenate, columns))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PassageJudgments(Judgments):
    """Judgments of passages, each a document and a subtopic of its own; `of_runs` gives those of chunks.

    ``passages``: the passage of each row. ``relevant``: the relevant passages without overlap, and ``relevant_query``:
    the query of each, in order. ``cover``: the share of a judged passage that a chunk must have.
    """

    measures = ("SpanR@10", "SpanP@10", "SpanIoU@10", "StRecall@10", "RR")  # how much is found, and at which rank first
    of_documents = False
    passages: Passages
    relevant: Passages
    relevant_query: Integers
    cover: float

    @classmethod
    def of(cls, judgments: Judgments, passages: Passages, cover: float) -> PassageJudgments:
        """The judgments of these passages, one for each row."""
        rows = np.flatnonzero(judgments.grade > 0)
        query, union = merged(judgments.query[rows], passages.take(rows))
        return cls(**vars(judgments), passages=passages, relevant=union, relevant_query=query, cover=cover)

    @property
    def relevant_begin(self) -> Integers:
        """The first relevant passage of each query, and the end of those of the last one."""
        return np.searchsorted(self.relevant_query, np.arange(len(self.queries) + 1))

    @property
    def sources(self) -> Strings:
        """The documents of which passages are judged."""
        return self.relevant.names

    def facts(self) -> list[str]:
        """All that is known of each row, besides subtopics, as text."""
        names, own = list(self.passages.names), self.passages
        places = zip(own.document.tolist(), own.start.tolist(), own.end.tolist(), strict=True)
        facts = zip(super().facts(), places, strict=True)
        return [f"{row} {names[document]} {start} {end} {self.cover!r}" for row, (document, start, end) in facts]

    def of_runs(self, runs: Sequence[Run]) -> PassageJudgments:
        """The judgments of all chunks of these runs, and of the relevant passages that none of the chunks covers.

        Such a passage is a document that is not retrieved. Chunks that are not judged have a negative grade.
        """
        queries = {name: q for q, name in enumerate(self.queries)}
        query_rows, ids, of_runs, parts = [], [], [], [self.passages.names]
        for run in runs:
            assert isinstance(run.source, Table) and run.source.passages is not None
            names, code = codes_of(run.source.query)
            query_rows.append(np.array([queries.get(name, -1) for name in names], np.int64)[code])
            ids.append(run.source.document)
            of_runs.append(run.source.passages)
            parts.append(run.source.passages.names)
        names, code = codes_of(Strings.concatenate(parts))
        begin = np.cumsum([len(part) for part in parts])  # the names of judged passages are the first, in their order
        chunks = [
            passages._replace(document=code[start + passages.document])
            for passages, start in zip(of_runs, begin, strict=False)
        ]
        query, passages, chunk_ids = np.concatenate(query_rows), concatenated(chunks, names), Strings.concatenate(ids)
        if (query < 0).any():
            kept = np.flatnonzero(query >= 0)
            query, passages, chunk_ids = query[kept], passages.take(kept), chunk_ids.take(kept)
        if len(runs) > 1:  # a chunk that a run has twice is reported when the run is aligned
            number = np.cumsum(np.bincount(query) > 0) - 1  # of the queries that the runs answer
            kept = np.flatnonzero(first_rows(number[query], chunk_ids) == np.arange(len(query)))
            query, passages, chunk_ids = query[kept], passages.take(kept), chunk_ids.take(kept)

        chunk, span, judged = self._covered(query, passages, len(names))
        missed = self.grade > 0
        missed[span] = False
        uncovered = np.flatnonzero(missed)
        of_missed = self.query[uncovered]
        missing = self.passages.take(uncovered)
        other, other_span, _ = self._covered(of_missed, missing, len(names))
        document, span = np.concatenate([chunk, other + len(query)]), np.concatenate([span, other_span])
        grade = np.concatenate([np.where(judged, 0.0, -1.0), np.zeros(len(uncovered))])
        np.maximum.at(grade, document, self.grade[span])

        query = np.concatenate([query, of_missed])
        order = np.argsort(query, kind="stable")
        row_of = np.empty_like(order)
        row_of[order] = np.arange(len(order))
        labels = self.labels
        assert labels is not None
        subtopic = np.empty(len(self.grade), np.int64)
        subtopic[labels.document] = labels.subtopic
        return replace(
            self,
            begin=np.append(0, np.cumsum(np.bincount(query, minlength=len(self.queries)))),
            documents=Strings.concatenate([chunk_ids, self.documents.take(uncovered)]).take(order),
            grade=grade[order],
            labels=Labels(row_of[document], subtopic[span], self.grade[span], labels.names),
            passages=concatenated([passages, missing], names).take(order),
        )

    def _covered(self, query: Integers, passages: Passages, documents: int) -> tuple[Integers, Integers, Booleans]:
        """Pairs of a passage and a relevant judged passage that it covers; and whether its document is judged."""
        judged = self.passages
        key = self.query * documents + judged.document
        order = np.argsort(key, kind="stable")
        mine = query * documents + passages.document
        low, high = (np.searchsorted(key[order], mine, side) for side in ("left", "right"))
        row, nth = ragged(high - low)
        span = order[low[row] + nth]
        overlap = np.minimum(passages.end[row], judged.end[span]) - np.maximum(passages.start[row], judged.start[span])
        # A quotient, because a product such as 0.55 · 20 may be rounded up to more than 11.
        covers = overlap / (judged.end - judged.start)[span] >= self.cover
        covers &= self.grade[span] > 0
        return row[covers], span[covers], high > low
