"""From judged rows in any order to `Judgments`: grouped by query, each document once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.data import Floats, Integers, Judgments, Labels, Strings
from cranfield.errors import InputError
from cranfield.io.duplicates import first_rows
from cranfield.io.faults import Fault, Place, input_error

FAULTS_KEPT = 20
NO_SUBTOPIC = frozenset(("0", "Q0"))


@dataclass(frozen=True, eq=False)
class Rows:
    """Judgments as they were given: codes count the distinct queries and iterations."""

    queries: Strings
    query_of: Integers
    iterations: Strings
    iteration_of: Integers
    documents: Strings
    grade: Floats
    line: Integers

    @classmethod
    def scanned(cls, result: dict[str, Any]) -> Rows:
        return cls(
            Strings(*result["query"]),
            result["query_of"],
            Strings(*result["iteration"]),
            result["iteration_of"],
            Strings(*result["document"]),
            result["grade"],
            result["line"],
        )

    def take(self, order: Integers) -> Rows:
        return Rows(
            self.queries,
            self.query_of[order],
            self.iterations,
            self.iteration_of[order],
            self.documents.take(order),
            self.grade[order],
            self.line[order],
        )


def judgments(name: str, rows: Rows, place: Place, *, subtopics: bool | None = None) -> Judgments:
    """Group by query, keep a document's highest grade, and its labels where there are subtopics.

    The same judgment again is counted; the same again with another grade is a fault. ``subtopics``: whether
    iterations are that, where somebody has seen more than these rows.
    """
    if np.any(np.diff(rows.query_of) < 0):
        rows = rows.take(np.argsort(rows.query_of, kind="stable"))
    first = first_rows(rows.query_of, rows.documents)
    fresh = first == np.arange(len(first))
    # One value for all is no subtopic where it is what everybody writes who has none.
    if subtopics is None:
        subtopics = len(rows.iterations) > 1 or not set(rows.iterations) <= NO_SUBTOPIC

    if fresh.all():
        kept, grade = rows, rows.grade
        document_of = first
        repeated = 0
    else:
        pair = first * len(rows.iterations) + rows.iteration_of
        _, index, inverse = np.unique(pair, return_index=True, return_inverse=True)
        earlier = index[inverse]
        again = earlier != np.arange(len(earlier))
        conflicts = np.flatnonzero(rows.grade != rows.grade[earlier])
        if len(conflicts):
            raise _conflicting(rows, conflicts, earlier, place)
        repeated = int(again.sum())
        document_of = (np.cumsum(fresh) - 1)[first]
        grade = np.full(int(fresh.sum()), -np.inf)
        np.maximum.at(grade, document_of, rows.grade)
        document_of, kept = document_of[~again], rows.take(np.flatnonzero(~again))
    labels = None
    if subtopics:
        # Numbered by name and not by appearance, so that sums over them are the same in whatever order rows come.
        ids = [name.encode("utf-8", "surrogateescape") for name in rows.iterations]
        by_name = np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int64)
        code = np.argsort(by_name)
        labels = Labels(document_of, code[kept.iteration_of], kept.grade, rows.iterations.take(by_name))

    documents = rows.documents if fresh.all() else rows.documents.take(np.flatnonzero(fresh))
    counts = np.bincount(rows.query_of[fresh], minlength=len(rows.queries))
    return Judgments(
        name,
        rows.queries,
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        documents,
        grade,
        labels,
        repeated,
    )


def _conflicting(rows: Rows, conflicts: Integers, earlier: Integers, place: Place) -> InputError:
    ordered = conflicts[np.argsort(rows.line[conflicts], kind="stable")][:FAULTS_KEPT]
    faults: list[Fault] = []
    for row in ordered.tolist():
        query = rows.queries[rows.query_of[row]].encode("utf-8", "surrogateescape")
        document = rows.documents[row].encode("utf-8", "surrogateescape")
        faults.append((int(rows.line[row]), "conflict", query, document, int(rows.line[earlier[row]])))
    return input_error(faults, len(conflicts), place)
