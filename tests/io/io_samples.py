"""A run and judgments to read, and how to look at what was read."""

from __future__ import annotations

from typing import Any

import pandas as pd

from cranfield import io
from cranfield.data import Judgments, Run

RUN = """\
q1 Q0 d1 1 3.5 tag
q2 Q0 d1 1 1 tag
q1 Q0 d2 2 3.25 tag
q1 Q0 d3 3 -1e-3 tag
q3 Q0 9 1 7 tag
"""
QRELS = """\
q1 0 d1 2
q2 0 d1 0
q1 0 d2 0.5
q4 0 d7 -1
"""
SCORES = {"q1": {"d1": 3.5, "d2": 3.25, "d3": -1e-3}, "q2": {"d1": 1.0}, "q3": {"9": 7.0}}
GRADES = {"q1": {"d1": 2.0, "d2": 0.5}, "q2": {"d1": 0.0}, "q4": {"d7": -1.0}}
ROWS = [(q, d, s) for q, docs in SCORES.items() for d, s in docs.items()]
JUDGED = [(q, d, g) for q, docs in GRADES.items() for d, g in docs.items()]
FRAME = pd.DataFrame(ROWS, columns=["qid", "docno", "score"])
QFRAME = pd.DataFrame(JUDGED, columns=["query_id", "doc_id", "relevance"])


def rows(run: Run) -> list[tuple[str, str, float]]:
    """The rows of a run, queries in order of appearance."""
    table = io.load(run)
    order: dict[str, list[Any]] = {}
    for row in zip(table.query, table.document, table.score.tolist(), strict=True):
        order.setdefault(row[0], []).append(row)
    return [row for some in order.values() for row in some]


def judged(judgments: Judgments) -> dict[str, Any]:
    """Judgments as nested dicts, with labels where there are any."""
    bounds = judgments.begin.tolist()
    documents, grades = list(judgments.documents), judgments.grade.tolist()
    plain = {
        query: dict(zip(documents[a:b], grades[a:b], strict=True))
        for query, a, b in zip(judgments.queries, bounds, bounds[1:], strict=False)
    }
    if judgments.labels is None:
        return plain
    owner = {
        row: query for query, a, b in zip(judgments.queries, bounds, bounds[1:], strict=False) for row in range(a, b)
    }
    names = list(judgments.labels.names)
    nested: dict[str, Any] = {query: {} for query in plain}
    labels = judgments.labels
    for row, subtopic, grade in zip(
        labels.document.tolist(), labels.subtopic.tolist(), labels.grade.tolist(), strict=True
    ):
        nested[owner[row]].setdefault(documents[row], {})[names[subtopic]] = grade
    assert plain == {q: {d: max(by.values()) for d, by in docs.items()} for q, docs in nested.items()}
    return nested
