"""NIL: a document id with which a system says that there is no answer.

As in TREC question answering, NIL is a document with full gain if and only if no other document is relevant. For
measures with a terminal form, `views.end_at_nil` ends the ranking at NIL instead.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cranfield.data import Integers, Judgments, Run, Strings, Table, TableStream
from cranfield.errors import InputError, UsageError
from cranfield.io.ids import codes_of
from cranfield.io.tables import concatenate


def with_nil(judgments: Judgments, nil: str, top: float | None = None) -> tuple[Judgments, Integers]:
    """The judgments with NIL as the last document of every query, and the rows of NIL.

    ``top`` is the highest grade, if these are not all judgments.
    """
    if judgments.sample is not None:
        raise UsageError("nil cannot be combined with judgments of a sample")
    begin = judgments.begin
    documents = list(judgments.documents)
    judged_nil = [q for q in range(len(judgments.queries)) if nil in documents[begin[q] : begin[q + 1]]]
    if judged_nil:
        raise InputError(
            [f"{judgments.name}: `{nil}` is judged for query `{judgments.queries[q]}`" for q in judged_nil],
            hint='the id for "no answer" must not be the id of a document; choose another one',
        )
    counts = np.diff(begin)
    highest = np.full(len(counts), -np.inf)
    np.maximum.at(highest, np.repeat(np.arange(len(counts)), counts), judgments.grade)
    highest_of_all = float(judgments.grade.max(initial=1)) if top is None else top
    at = begin[1:]
    grade = np.insert(judgments.grade, at, np.where(highest > 0, 0.0, max(highest_of_all, 1.0)))
    rows_before = np.insert(np.arange(len(documents)), at, len(documents))
    ids = Strings.of([*documents, nil]).take(rows_before)
    rows = at + np.arange(len(counts))
    new_begin = begin + np.arange(len(begin))
    return replace(judgments, documents=ids, grade=grade, begin=new_begin, labels=None), rows


def first_nil_only(run: Run, nil: str) -> tuple[Run, tuple[str, ...]]:
    """The run with each NIL after the first of its query under another id, and the queries with several.

    The first NIL is the one with the highest score. The others gain nothing, like other unjudged documents.
    """
    source = run.source
    if callable(source):
        from cranfield.native import plain

        read = plain.scan_run(source)  # the native one refuses any repeated document
        if read["faults_total"]:
            return run, ()
        rank = None if np.isnan(read["rank"]).any() else read["rank"]
        source = Table(Strings(*read["query"]).take(read["query_of"]), Strings(*read["document"]), read["score"], rank)
    if isinstance(source, TableStream):
        source = concatenate(list(source.pieces()))
    if not isinstance(source, Table):
        return run, ()  # a dict has every document once
    documents = list(source.document)
    rows = np.array([row for row, document in enumerate(documents) if document == nil], np.int64)
    names, query = codes_of(source.query.take(rows))
    rows_by_query = np.lexsort((rows, -source.score[rows], query))
    is_first = np.append(True, np.diff(query[rows_by_query]) > 0)[: len(rows)]
    number = 1
    for i, first in zip(rows_by_query.tolist(), is_first.tolist(), strict=True):
        number = 1 if first else number + 1
        if not first:
            documents[rows[i]] = f"{nil} {number}"  # an id in TREC text has no blank
    repeated = np.unique(query[rows_by_query[~is_first]])
    table = replace(source, document=Strings.of(documents))
    return replace(run, source=table), tuple(names[int(q)] for q in repeated)
