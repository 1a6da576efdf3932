"""NIL: a document id with which a system says that there is no answer.

As in TREC question answering, NIL is a document with full gain if and only if no other document is relevant. For
measures with a terminal form, `views.end_at_nil` ends the ranking at NIL instead.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cranfield.data import Integers, Judgments, Strings
from cranfield.errors import InputError, UsageError


def with_nil(judgments: Judgments, nil: str, top: float | None = None) -> tuple[Judgments, Integers]:
    """The judgments with NIL as the last document of every query, and the rows of NIL.

    ``top`` is the highest grade, if these are not all judgments.
    """
    if judgments.sample is not None:
        message = "nil cannot be combined with judgments of a sample"
        raise UsageError(message)
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
