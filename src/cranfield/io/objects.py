"""Runs and judgments from Python objects: nested dicts, lists, records, data frames and Arrow tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield import native
from cranfield.data import Floats, Judgments, Run, Strings
from cranfield.errors import InputError, max_faults
from cranfield.io.detect import Columns, reject_columns
from cranfield.io.faults import Fault, Location, fault_text, input_error, quotable
from cranfield.io.judgments import Rows, group_judgments

if TYPE_CHECKING:
    from cranfield.io.duplicates import Duplicates


def run_from_object(
    source: Any, name: str, columns: Columns = None, source_name: str = "", duplicates: Duplicates = "error"
) -> Run:
    """A run from dicts, lists, records or a frame; ``source_name`` is the file it came from, if any."""
    location = Location(source_name, "run", "entry")
    shaped = _shape(source, location)
    if isinstance(shaped, Mapping):
        reject_columns(columns)
        rankings = _rankings(shaped, location, duplicates)
        if rankings is shaped:
            return Run(name, rankings, source_name)
        from cranfield.io.lists import ByPosition, order_remarks

        remarks = order_remarks(shaped, rankings)
        return Run(name, rankings, source_name, by_position=isinstance(shaped, ByPosition), remarks=remarks)
    from cranfield.io import tables

    location = Location(source_name, "run", "row")
    return Run(name, tables.run_table(shaped, columns, location), source_name)


def qrels_from_object(source: Any, name: str, columns: Columns = None, source_name: str = "") -> Judgments:
    """Judgments from dicts, the same with subtopics, sets, lists, records or a frame."""
    location = Location(source_name, "qrels", "entry")
    shaped = _shape(source, location)
    if isinstance(shaped, Mapping):
        reject_columns(columns)
        judgments = qrels_from_dict(shaped, name, location)
        positions = type(shaped).__name__ == "ByPosition"
        return dataclasses.replace(judgments, by_position=True) if positions else judgments
    from cranfield.io import tables

    return tables.qrels_table(shaped, columns, name, Location(source_name, "qrels", "row"))


_ENGINES = {"hits", "error"}  # fields of responses of search engines


def _shape(source: Any, location: Location) -> Any:
    """A mapping by query, or a frame."""
    if type(source) is dict and source and type(next(iter(source.values()))) is dict and not _ENGINES & source.keys():
        return source  # the usual case: without the modules for all others
    from cranfield.io import tables

    if isinstance(source, tables.ArrowFrame | tables.ListFrame):
        return source
    if tables.is_frame(source) and not isinstance(source, Mapping):
        return tables.frame_of(source)
    from cranfield.io.lists import shape_of

    return shape_of(source, location)


def _rankings(source: Mapping[Any, Any], location: Location, duplicates: Duplicates) -> Mapping[str, Any]:
    """The dict itself if it has the right shape; ids and scores are checked when they are used."""
    if type(source) is dict and set(map(type, source.values())) <= {dict}:
        return source
    from cranfield.io.lists import rankings_of

    return rankings_of(source, location, duplicates)


def document_at(source: Mapping[str, Iterable[str]], entry: int) -> str:
    """The document of an entry, counted from 1 over all queries; "" for entry 0."""
    documents = (document for ranking in source.values() for document in ranking)
    return quotable(str(next(islice(documents, entry - 1, None), ""))) if entry else ""


def qrels_from_dict(source: Mapping[Any, Any], name: str, location: Location) -> Judgments:
    """Judgments from ``{query: {document: grade}}`` or ``{query: {document: {subtopic: grade}}}``."""
    columns = native.scan_nested(source)
    repeated = 0
    if columns is None:
        from cranfield.io.lists import judged_of

        source, repeated = judged_of(source, location)
        columns = native.scan_nested(source)
    if columns is not None:
        queries, documents = Strings(*columns["query"]), Strings(*columns["document"])
        return Judgments(name, queries, columns["begin"], documents, columns["grade"], repeated=repeated)
    return _general_qrels(source, name, location)


def _general_qrels(source: Mapping[Any, Any], name: str, location: Location) -> Judgments:
    """The same for any type of number, for subtopics, and for faulty input."""
    names = list(source)
    query_of = np.repeat(np.arange(len(source)), [len(judged) for judged in source.values()])
    documents = [document for judged in source.values() for document in judged]
    values = [value for judged in source.values() for value in judged.values()]
    subtopics: list[Any] = []
    if any(issubclass(value_type, Mapping) for value_type in set(map(type, values))):
        plain = next((row for row, value in enumerate(values) if not isinstance(value, Mapping)), None)
        if plain is not None:
            prefix = location.prefix(0, fault_text(names[query_of[plain]]), quotable(str(documents[plain])))
            raise InputError([f"{prefix}the grade has no subtopic, but other grades have one"])
        # A document without subtopics keeps a row; `_grades` reports that its grade is missing.
        labels = [value or {"0": value} for value in values]
        counts = [len(label) for label in labels]
        query_of = np.repeat(query_of, counts)
        documents = [document for document, count in zip(documents, counts, strict=True) for _ in range(count)]
        subtopics = [subtopic for label in labels for subtopic in label]
        values = [value for label in labels for value in label.values()]

    faults: list[Fault] = []

    def query_at(row: int) -> bytes:
        return fault_text(names[query_of[row]])

    subtopic_of: dict[Any, int] = {}
    rows = Rows(
        _ids(names, lambda _: b"", faults),
        query_of.astype(np.int64),
        Strings.of(["0"]),
        np.array([subtopic_of.setdefault(subtopic, len(subtopic_of)) for subtopic in subtopics], np.int64),
        _ids(documents, query_at, faults),
        _grades(values, query_at, faults),
        np.arange(1, len(values) + 1, dtype=np.int64),
    )
    if subtopics:
        rows = dataclasses.replace(rows, iterations=_ids(list(subtopic_of), lambda _: b"", faults))
    else:
        rows = dataclasses.replace(rows, iteration_of=np.zeros(len(values), np.int64))
    if faults:
        faults.sort(key=lambda fault: fault.line)
        raise input_error(
            faults[: max_faults()], len(faults), location, lambda entry: quotable(str(documents[entry - 1]))
        )
    return group_judgments(name, rows, location, subtopics=bool(subtopics))


def _ids(values: list[Any], query_at: Callable[[int], bytes], faults: list[Fault]) -> Strings:
    try:
        return Strings.of(values)
    except (AttributeError, UnicodeEncodeError):  # some ids are not text
        for row, value in enumerate(values):
            try:
                Strings.of([value])
            except (AttributeError, UnicodeEncodeError):
                faults.append(Fault(row + 1, "id", query_at(row), fault_text(repr(value))[:80], 0))
        return Strings.of([])


def _finite(value: Any) -> float:
    """A finite number; text is not a number, even if it looks like one."""
    if isinstance(value, str | bytes) or not np.isfinite(number := float(value)):
        raise TypeError
    return number


def _grades(values: list[Any], query_at: Callable[[int], bytes], faults: list[Fault]) -> Floats:
    if set(map(type, values)) <= {int, float}:  # the usual case, in one step
        try:
            grades = np.array(values, np.float64)
        except OverflowError:
            grades = np.array([np.nan])
        if np.isfinite(grades).all():
            return grades
    grades = np.zeros(len(values))
    for row, value in enumerate(values):
        try:
            grades[row] = _finite(value)
        except (TypeError, ValueError, OverflowError):
            faults.append(Fault(row + 1, "grade", query_at(row), fault_text(repr(value))[:80], 0))
    return grades
