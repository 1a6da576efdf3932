"""Judged passages, and chunks that are judged by the passages that they cover.

A chunk covers a judged passage if at least the share ``cover`` of the passage lies inside it. The relevant passages of
a query are its subtopics. A chunk that covers none of them is not relevant if a passage of its document is judged for
the query, and unjudged otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cranfield.data import Booleans, Floats, Integers, Judgments, Labels, Passages, Run, Spans, Strings, Table
from cranfield.io.columns import codes_of, first_rows
from cranfield.ranking.batch import lexsorted, ragged


def span_judgments(judgments: Judgments, passages: Passages, cover: float) -> Judgments:
    """The judgments of these passages, one for each row, with the union of the relevant ones."""
    relevant = np.flatnonzero(judgments.grade > 0)
    query, union = merged(judgments.query[relevant], passages.take(relevant))
    begin = np.searchsorted(query, np.arange(len(judgments.queries) + 1))
    return replace(judgments, spans=Spans(passages, begin, union, cover))


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


def judge_chunks(judgments: Judgments, runs: Sequence[Run]) -> Judgments:
    """The judgments of all chunks of these runs, and of the relevant passages that none of the chunks covers.

    Such a passage is a document that is not retrieved. Chunks that are not judged have a negative grade. Judgments of
    documents stay as they are.
    """
    spans, queries = judgments.spans, {name: q for q, name in enumerate(judgments.queries)}
    if spans is None:
        return judgments
    query_rows, ids, of_runs, parts = [], [], [], [spans.passages.names]
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

    chunk, span, judged = _covered(judgments, query, passages, len(names))
    missed = judgments.grade > 0
    missed[span] = False
    uncovered = np.flatnonzero(missed)
    of_missed = judgments.query[uncovered]
    missing = spans.passages.take(uncovered)
    other, other_span, _ = _covered(judgments, of_missed, missing, len(names))
    document, span = np.concatenate([chunk, other + len(query)]), np.concatenate([span, other_span])
    grade = np.concatenate([np.where(judged, 0.0, -1.0), np.zeros(len(uncovered))])
    np.maximum.at(grade, document, judgments.grade[span])

    query = np.concatenate([query, of_missed])
    order = np.argsort(query, kind="stable")
    row_of = np.empty_like(order)
    row_of[order] = np.arange(len(order))
    labels = judgments.labels
    assert labels is not None
    subtopic = np.empty(len(judgments.grade), np.int64)
    subtopic[labels.document] = labels.subtopic
    return replace(
        judgments,
        begin=np.append(0, np.cumsum(np.bincount(query, minlength=len(judgments.queries)))),
        documents=Strings.concatenate([chunk_ids, judgments.documents.take(uncovered)]).take(order),
        grade=grade[order],
        labels=Labels(row_of[document], subtopic[span], judgments.grade[span], labels.names),
        spans=spans._replace(passages=concatenated([passages, missing], names).take(order)),
    )


def _covered(
    judgments: Judgments, query: Integers, passages: Passages, documents: int
) -> tuple[Integers, Integers, Booleans]:
    """Pairs of a passage and a relevant judged passage that it covers; and whether its document is judged."""
    spans = judgments.spans
    assert spans is not None
    judged = spans.passages
    key = judgments.query * documents + judged.document
    order = np.argsort(key, kind="stable")
    mine = query * documents + passages.document
    low, high = (np.searchsorted(key[order], mine, side) for side in ("left", "right"))
    row, nth = ragged(high - low)
    span = order[low[row] + nth]
    overlap = np.minimum(passages.end[row], judged.end[span]) - np.maximum(passages.start[row], judged.start[span])
    # A quotient, because a product such as 0.55 · 20 may be rounded up to more than 11.
    covers = overlap / (judged.end - judged.start)[span] >= spans.cover
    covers &= judgments.grade[span] > 0
    return row[covers], span[covers], high > low
