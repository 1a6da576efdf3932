"""Systems that may answer "nothing": a document id that stands for no answer, judged as one.

Scored as TREC question answering did: NIL is a document with full gain if and only if no other one is relevant.
For measures with a terminal form, `views.answered` turns it into the end of the list instead.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cranfield.data import Integers, Judgments, Strings
from cranfield.errors import InputError


def with_nil(judgments: Judgments, nil: str, top: float | None = None) -> tuple[Judgments, Integers]:
    """The judgments with NIL judged for every query, as its last document; and the rows where it stands.

    ``top`` is the highest grade, where there are judgments beyond these.
    """
    begin = judgments.begin
    documents = list(judgments.documents)
    taken = [q for q in range(len(judgments.queries)) if nil in documents[begin[q] : begin[q + 1]]]
    if taken:
        raise InputError(
            [f"{judgments.name}: `{nil}` is judged for query `{judgments.queries[q]}`" for q in taken],
            hint="the id that means no answer cannot be a document; choose another one",
        )
    counts = np.diff(begin)
    highest = np.full(len(counts), -np.inf)
    np.maximum.at(highest, np.repeat(np.arange(len(counts)), counts), judgments.grade)
    highest_of_all = float(judgments.grade.max(initial=1)) if top is None else top
    at = begin[1:]
    grade = np.insert(judgments.grade, at, np.where(highest > 0, 0.0, max(highest_of_all, 1.0)))
    place = np.insert(np.arange(len(documents)), at, len(documents))
    ids = Strings.of([*documents, nil]).take(place)
    rows = at + np.arange(len(counts))
    moved = begin + np.arange(len(begin))
    return replace(judgments, documents=ids, grade=grade, begin=moved, labels=None), rows
