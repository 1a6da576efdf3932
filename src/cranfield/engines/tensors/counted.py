"""From counts to rankings: runs of which only the positions of some documents are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cranfield.data import Floats, Integers, Judgments, Run, Strings
from cranfield.errors import InputError, MeasureError
from cranfield.evaluation.evaluator import Evaluator
from cranfield.io.faults import quotable
from cranfield.ranking.alignment import AlignedRun, Aligner, Alignment, TopDocuments
from cranfield.ranking.batch import Key
from cranfield.ranking.rankings import COLUMNS


@dataclass(frozen=True, eq=False)
class CountedDocuments:
    """Documents of a run with counts, one row each.

    ``query``: the number of the query: judged queries first, then the unjudged queries of the run. ``document``: the
    row in the judgments, -1 for others. ``start``, ``size``: the numbers of documents with a higher score, and with an
    equal one. ``by_id``, ``by_input``: positions in the tie group, if they were counted. ``sequence``: the input order.
    """

    query: Integers
    document: Integers
    start: Integers
    size: Integers
    sequence: Integers
    by_id: Integers | None = None
    by_input: Integers | None = None


@dataclass(frozen=True, eq=False)
class RunLengths:
    """The number of documents of each judged query, -1 if the run does not answer it, and of unjudged queries."""

    length: Integers
    other: Strings
    other_length: Integers


def align_counts(aligner: Aligner, lengths: RunLengths, counted: CountedDocuments) -> Alignment:
    """The counts of judged documents as an alignment with the judgments."""
    judged = np.flatnonzero(counted.document >= 0)
    order = judged[_best_first(counted, judged)]
    rows = {"query" if name == "row" else name: _column(counted, name)[order] for name in COLUMNS}
    known = tuple(name for name in ("by_id", "by_input") if getattr(counted, name) is not None)
    return Alignment(
        aligner,
        rows | {"length": lengths.length, "tag": b""},
        lengths.other,
        lengths.other_length,
        tie_positions=known,
    )


def _column(counted: CountedDocuments, name: str) -> Integers:
    values = getattr(counted, "query" if name == "row" else name)
    return np.zeros_like(counted.start) if values is None else values


def _best_first(counted: CountedDocuments, chosen: Integers) -> Integers:
    return np.lexsort((counted.sequence[chosen], counted.start[chosen], counted.query[chosen]))


def top_documents(counted: CountedDocuments, ids: Strings, top: int) -> TopDocuments:
    """The counted documents, judged or not, that may have a rank up to ``top``; ``ids``: of all counted documents."""
    above = np.flatnonzero(counted.start < top)
    order = above[_best_first(counted, above)]
    columns = {name: _column(counted, name)[order] for name in ("start", "size", "by_id", "by_input")}
    return TopDocuments(counted.query[order], ids.take(order), counted.document[order], **columns)


def counted_run(
    evaluator: Evaluator,
    name: str,
    lengths: RunLengths,
    counted: dict[Key, CountedDocuments],
    ids: Strings | None = None,
) -> AlignedRun:
    """A run from its counts for each key; ``ids``: those of all counted documents, if they are known."""
    alignments = {key: align_counts(evaluator.reader.aligner, lengths, of_key) for key, of_key in counted.items()}
    top = evaluator.reader.top
    tops = {} if ids is None else {key: top_documents(of_key, ids, top) for key, of_key in counted.items()}
    return AlignedRun(Run(name, {}), alignments, tops)


def check_keys(evaluator: Evaluator, keys: Sequence[Key], reason: str) -> None:
    """Raise if a measure ranks documents by a number that tensors do not give."""
    for column in evaluator.columns:
        if column.alignment.key not in keys:
            raise MeasureError(
                f"{column.measure}: ties={column.measure.views.ties} {reason}",
                hint="ties=expected is the mean over all orders of tied documents",
            )


def check_identities(evaluator: Evaluator, *, ids: bool, reason: str = "needs document ids") -> None:
    """Raise if a measure reads document text, or unjudged documents whose ids are not known."""
    for column in evaluator.columns:
        if column.measure.definition.content:
            raise MeasureError(
                f"{column.measure} needs document text, which tensors do not have",
                hint="write the run to a file, and use cranfield.evaluate",
            )
        if (column.alignment.collection or column.alignment.costs) and not ids:
            raise MeasureError(f"{column.measure} {reason}")


def judgments_of(name: str, queries: Strings, query: Integers, documents: Strings, grade: Floats) -> Judgments:
    """Judgments from rows that are grouped by query; every query must have a row."""
    infinite = np.flatnonzero(~np.isfinite(grade))
    if len(infinite):
        example = quotable(queries[int(query[infinite[0]])])
        raise InputError([f"{name}: query `{example}` has an infinite grade"], total=len(infinite))
    begin = np.searchsorted(query, np.arange(len(queries) + 1)).astype(np.int64)
    return Judgments(name, queries, begin, documents, np.ascontiguousarray(grade, np.float64))
