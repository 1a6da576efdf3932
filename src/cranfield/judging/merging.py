"""New judgments added to old ones: with assessor, time and provenance, and without losing a conflict.

A file of new judgments is TREC text, or JSON as the judging page saves it, with the assessor and the time of each
judgment. Where an old judgment has another grade, nothing is merged.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any, NamedTuple

import numpy as np

from cranfield.data import Judgments
from cranfield.errors import InputError, max_faults
from cranfield.io import read_qrels
from cranfield.io.faults import quotable
from cranfield.io.formats.json import load_json
from cranfield.io.streams import is_stream, open_stream
from cranfield.wording import plural

COLUMNS = ("query_id", "doc_id", "relevance", "assessor", "time", "source")


class NewJudgment(NamedTuple):
    """A judgment with who gave it, when, and from which file it comes; empty if unknown."""

    query: str
    document: str
    grade: float
    assessor: str = ""
    time: str = ""
    source: str = ""


@dataclass(frozen=True, eq=False)
class Merged:
    """All judgments together: ``grades`` by query and document, the new ones, and how many were there already."""

    grades: dict[str, dict[str, float]]
    new: tuple[NewJudgment, ...]
    repeated: int
    known: Mapping[tuple[str, str], NewJudgment]
    strata: Mapping[tuple[str, str], str]  # of a sample; judgments outside its pool have none

    def rows(self) -> str:
        """All judgments as CSV, with assessor, time and source; empty for those that have none."""
        out = StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        for query, documents in self.grades.items():
            for document, grade in documents.items():
                entry = self.known.get((query, document))
                writer.writerow([query, document, f"{grade:g}", *((entry[3:]) if entry else ("", "", ""))])
        return out.getvalue()

    def lines(self) -> str:
        """All judgments as TREC text; a sample keeps its strata, as the fourth of five columns."""
        return "".join(
            f"{query} 0 {document} {self.strata[query, document]} {grade:g}\n"
            if self.strata
            else f"{query} 0 {document} {grade:g}\n"
            for query, documents in self.grades.items()
            for document, grade in documents.items()
            if not self.strata or (query, document) in self.strata
        )


def read_new(source: Any) -> list[NewJudgment]:
    """New judgments from a file: JSON of the judging page, a CSV with assessors, or any file of judgments."""
    if is_stream(source):
        stream = open_stream(source, "qrels")
        if stream.first_line.lstrip().startswith(b"{"):
            text = stream.read_text()
            try:
                content = load_json(text)
            except ValueError:
                content = None
            if isinstance(content, Mapping) and isinstance(content.get("judgments"), list):
                return _from_page(content, stream.source_name)
        name = stream.source_name
        if name.lower().endswith(".csv"):
            return _from_csv(stream.read_text(), name)
        judgments = read_qrels(source)
    else:
        judgments, name = read_qrels(source), "new judgments"
    from cranfield.evaluation.predicted import mapping_of

    return [
        NewJudgment(query, document, grade, source=name)
        for query, documents in mapping_of(judgments).items()
        for document, grade in documents.items()
        if grade >= 0
    ]


def _from_page(content: Mapping[str, Any], name: str) -> list[NewJudgment]:
    faults, found = [], []
    assessor = str(content.get("assessor", ""))
    for number, entry in enumerate(content["judgments"], 1):
        try:
            grade = float(entry["grade"])
            found.append(
                NewJudgment(
                    str(entry["query"]), str(entry["document"]), grade, assessor, str(entry.get("time", "")), name
                )
            )
        except (TypeError, KeyError, ValueError):
            faults.append(f"{name}: judgment {number} has no query, document or grade")
    if faults:
        raise InputError(faults[: max_faults()])
    return found


def _from_csv(text: str, name: str) -> list[NewJudgment]:
    found = []
    for number, row in enumerate(csv.DictReader(StringIO(text)), 1):
        try:
            grade = float(row["relevance"])
            found.append(
                NewJudgment(
                    row["query_id"],
                    row["doc_id"],
                    grade,
                    row.get("assessor") or "",
                    row.get("time") or "",
                    row.get("source") or name,
                )
            )
        except (KeyError, TypeError, ValueError):
            message = f"{name}: row {number} needs query_id, doc_id and a number as relevance"
            raise InputError([message]) from None
    return [entry for entry in found if entry.grade >= 0]


def merge(qrels: Any, files: Sequence[Any]) -> Merged:
    """The judgments with all new ones; raises, and merges nothing, if two grades of a document differ.

    A negative grade in ``qrels`` (pooled, or drawn and not yet judged) is replaced by a new judgment.

    >>> merged = merge({"q": {"a": 1}}, [{"q": {"b": 0}}, {"q": {"a": 1}}])
    >>> merged.grades, len(merged.new), merged.repeated
    ({'q': {'a': 1.0, 'b': 0.0}}, 1, 1)
    """
    from cranfield.evaluation.predicted import mapping_of

    known = _provenance(qrels)
    judgments: Judgments = read_qrels(qrels)
    grades = {query: dict(documents) for query, documents in mapping_of(judgments).items()}
    origin = {(q, d): judgments.name for q, documents in grades.items() for d in documents}
    new, repeated, faults = [], 0, []
    for file in files:
        for entry in read_new(file):
            pair = entry.query, entry.document
            old = grades.get(entry.query, {}).get(entry.document, -1.0)
            if old < 0:
                grades.setdefault(entry.query, {})[entry.document] = entry.grade
                origin[pair], known[pair] = entry.source, entry
                new.append(entry)
            elif old == entry.grade:
                repeated += 1
            else:
                what = f"document `{quotable(entry.document)}` of query `{quotable(entry.query)}`"
                faults.append(f"{entry.source}: {what} has the grade {entry.grade:g}, but {old:g} in {origin[pair]}")
    if faults:
        more = [f"and {plural(len(faults) - max_faults(), 'more conflict')}"] if len(faults) > max_faults() else []
        raise InputError(
            faults[: max_faults()] + more, hint="nothing was merged; settle these judgments in one of the files"
        )
    return Merged(grades, tuple(new), repeated, known, _strata(judgments))


def _strata(judgments: Judgments) -> dict[tuple[str, str], str]:
    sample = judgments.sample
    if sample is None or not len(sample.strata.data):
        return {}
    queries = [q for q, n in zip(judgments.queries, np.diff(judgments.begin).tolist(), strict=True) for _ in range(n)]
    return dict(zip(zip(queries, judgments.documents, strict=True), sample.strata, strict=True))


def _provenance(qrels: Any) -> dict[tuple[str, str], NewJudgment]:
    """Assessor, time and source of judgments that were merged before."""
    if not is_stream(qrels) or not str(getattr(qrels, "name", qrels)).lower().endswith(".csv"):
        return {}
    entries: Iterable[NewJudgment] = _from_csv(open_stream(qrels, "qrels").read_text(), "")
    return {(entry.query, entry.document): entry for entry in entries if entry.assessor or entry.time or entry.source}
