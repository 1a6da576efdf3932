"""`Judgments` from judged rows in any order: grouped by query, each document once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from cranfield.data import Floats, Integers, Judgments, Labels, Strings
from cranfield.errors import InputError, UsageError, max_faults
from cranfield.io.faults import Fault, Location, input_error
from cranfield.io.ids import codes_of, first_rows

NO_SUBTOPIC = frozenset(("0", "Q0"))


@dataclass(frozen=True, eq=False)
class Rows:
    """Judgments in input order; ``query_of`` and ``iteration_of`` are rows of ``queries`` and ``iterations``."""

    queries: Strings
    query_of: Integers
    iterations: Strings
    iteration_of: Integers
    documents: Strings
    grade: Floats
    line: Integers

    @classmethod
    def of(
        cls, query: Strings, document: Strings, grade: Floats, line: Integers, iteration: Strings | None = None
    ) -> Rows:
        """The rows of columns with an id in each row; without iterations there are no subtopics."""
        iterations = (Strings.of(["0"]), np.zeros(len(line), np.int64)) if iteration is None else codes_of(iteration)
        return cls(*codes_of(query), *iterations, document, grade, line)

    def take(self, order: Integers) -> Rows:
        query_of, iteration_of = self.query_of[order], self.iteration_of[order]
        documents, grade, line = self.documents.take(order), self.grade[order], self.line[order]
        return Rows(self.queries, query_of, self.iterations, iteration_of, documents, grade, line)


def group_judgments(name: str, rows: Rows, location: Location, *, subtopics: bool | None = None) -> Judgments:
    """Group rows by query; keep the highest grade of a document, and its labels if there are subtopics.

    Identical repetitions are counted; a repetition with another grade is a fault. ``subtopics`` says whether
    iterations are subtopics, if the caller has seen more than these rows; by default the rows decide.
    """
    if np.any(np.diff(rows.query_of) < 0):
        rows = rows.take(np.argsort(rows.query_of, kind="stable"))
    first = first_rows(rows.query_of, rows.documents)
    is_first = first == np.arange(len(first))
    # A single iteration "0" or "Q0" means that there are no subtopics.
    if subtopics is None:
        subtopics = len(rows.iterations) > 1 or not set(rows.iterations) <= NO_SUBTOPIC

    if is_first.all():
        kept, grade = rows, rows.grade
        document_of = first
        repeated = 0
    else:
        pair = first * len(rows.iterations) + rows.iteration_of
        _, index, inverse = np.unique(pair, return_index=True, return_inverse=True)
        earlier = index[inverse]
        repetition = earlier != np.arange(len(earlier))
        conflicts = np.flatnonzero(rows.grade != rows.grade[earlier])
        if len(conflicts):
            raise _conflict_error(rows, conflicts, earlier, location)
        repeated = int(repetition.sum())
        document_of = (np.cumsum(is_first) - 1)[first]
        grade = np.full(int(is_first.sum()), -np.inf)
        np.maximum.at(grade, document_of, rows.grade)
        document_of, kept = document_of[~repetition], rows.take(np.flatnonzero(~repetition))
    labels = None
    if subtopics:
        # Subtopics are numbered by name, so that sums over them do not depend on the order of rows.
        ids = [name.encode("utf-8", "surrogateescape") for name in rows.iterations]
        by_name = np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int64)
        code = np.argsort(by_name)
        labels = Labels(document_of, code[kept.iteration_of], kept.grade, rows.iterations.take(by_name))

    documents = rows.documents if is_first.all() else rows.documents.take(np.flatnonzero(is_first))
    counts = np.bincount(rows.query_of[is_first], minlength=len(rows.queries))
    begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Judgments(name, rows.queries, begin, documents, grade, labels, repeated)


def with_queries(judgments: Judgments, queries: Iterable[str]) -> Judgments:
    """The judgments with all of these queries; one without judgments has no relevant document."""
    if judgments.sample is not None:
        raise UsageError(f"{judgments.name}: judgments of a sample are not complete", hint="leave out complete")
    judged = set(judgments.queries)
    nil = [query for query in queries if query not in judged]
    if not nil:
        return judgments

    def extended(begin: Integers) -> Integers:
        return np.concatenate([begin, np.full(len(nil), begin[-1])])

    spans = judgments.spans
    return replace(
        judgments,
        queries=Strings.of([*judgments.queries, *nil]),
        begin=extended(judgments.begin),
        spans=None if spans is None else replace(spans, begin=extended(spans.begin)),
    )


def _conflict_error(rows: Rows, conflicts: Integers, earlier: Integers, location: Location) -> InputError:
    ordered = conflicts[np.argsort(rows.line[conflicts], kind="stable")][: max_faults()]
    faults: list[Fault] = []
    for row in ordered.tolist():
        ids = rows.queries[rows.query_of[row]], rows.documents[row]
        query, document = (name.encode("utf-8", "surrogateescape") for name in ids)
        faults.append(Fault(int(rows.line[row]), "conflict", query, document, int(rows.line[earlier[row]])))
    return input_error(faults, len(conflicts), location)
