"""Rankings and judgments as nested dicts: ``{query: {document: number}}``."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

import numpy as np

from cranfield import core
from cranfield.data import Floats, Judgments, Strings
from cranfield.errors import InputError
from cranfield.io.faults import Fault, Place, input_error, shown
from cranfield.io.judgments import Rows, judgments


def rankings(source: Mapping[Any, Any], place: Place) -> dict[str, dict[str, float]]:
    """The dict as it is, after a look at its shape; ids and scores are looked at when they are used."""
    if type(source) is dict and all(type(ranking) is dict for ranking in source.values()):
        return source
    _shaped(source, place)
    return {query: dict(ranking) for query, ranking in source.items()}


def _shaped(source: Mapping[Any, Any], place: Place) -> None:
    faults = [
        (0, "shape", _bytes(query), type(value).__name__.encode(), 0)
        for query, value in source.items()
        if not isinstance(value, Mapping)
    ]
    if faults:
        raise input_error(faults[:20], len(faults), place)


def document_at(source: Mapping[str, Mapping[str, Any]], entry: int) -> str:
    """The document of an entry, counted from 1 over all queries; "" for none."""
    documents = (document for ranking in source.values() for document in ranking)
    return shown(str(next(islice(documents, entry - 1, None), ""))) if entry else ""


def graded(source: Mapping[Any, Any], name: str, place: Place) -> Judgments:
    """Judgments from ``{query: {document: grade}}`` or ``{query: {document: {subtopic: grade}}}``."""
    columns = core.scan_nested(source)
    if columns is not None:
        queries, documents = Strings(*columns["query"]), Strings(*columns["document"])
        return Judgments(name, queries, columns["begin"], documents, columns["grade"])
    return _graded(source, name, place)


def _graded(source: Mapping[Any, Any], name: str, place: Place) -> Judgments:
    """The same for grades of any kind of number, for subtopics, and for whatever is wrong."""
    _shaped(source, place)
    names = list(source)
    query_of = np.repeat(np.arange(len(source)), [len(judged) for judged in source.values()])
    documents = [document for judged in source.values() for document in judged]
    values = [value for judged in source.values() for value in judged.values()]
    subtopics: list[Any] = []
    if any(issubclass(kind, Mapping) for kind in set(map(type, values))):
        bare = next((row for row, value in enumerate(values) if not isinstance(value, Mapping)), None)
        if bare is not None:
            where = place.at(0, _bytes(names[query_of[bare]]), shown(str(documents[bare])))
            raise InputError([f"{where}a grade without a subtopic, where others have one"])
        # A document with no subtopic at all keeps its row, to be found without a grade below.
        labels = [value or {"0": value} for value in values]
        counts = [len(label) for label in labels]
        query_of = np.repeat(query_of, counts)
        documents = [document for document, count in zip(documents, counts, strict=True) for _ in range(count)]
        subtopics = [subtopic for label in labels for subtopic in label]
        values = [value for label in labels for value in label.values()]

    faults: list[Fault] = []

    def owner(row: int) -> bytes:
        return _bytes(names[query_of[row]])

    subtopic_of: dict[Any, int] = {}
    rows = Rows(
        _ids(names, lambda _: b"", faults),
        query_of.astype(np.int64),
        Strings.of(["0"]),
        np.array([subtopic_of.setdefault(subtopic, len(subtopic_of)) for subtopic in subtopics], np.int64),
        _ids(documents, owner, faults),
        _grades(values, owner, faults),
        np.arange(1, len(values) + 1, dtype=np.int64),
    )
    if subtopics:
        rows = dataclasses.replace(rows, iterations=_ids(list(subtopic_of), lambda _: b"", faults))
    else:
        rows = dataclasses.replace(rows, iteration_of=np.zeros(len(values), np.int64))
    if faults:
        faults.sort(key=lambda fault: fault[0])
        raise input_error(faults[:20], len(faults), place, lambda entry: shown(str(documents[entry - 1])))
    return judgments(name, rows, place, subtopics=bool(subtopics))


def _bytes(value: object) -> bytes:
    return str(value).encode("utf-8", "backslashreplace")


def _ids(values: list[Any], owner: Callable[[int], bytes], faults: list[Fault]) -> Strings:
    try:
        return Strings.of(values)
    except (AttributeError, UnicodeEncodeError):  # not all of them are text: find out which
        for row, value in enumerate(values):
            try:
                Strings.of([value])
            except (AttributeError, UnicodeEncodeError):
                faults.append((row + 1, "id", owner(row), _bytes(repr(value))[:80], 0))
        return Strings.of([])


def _grades(values: list[Any], owner: Callable[[int], bytes], faults: list[Fault]) -> Floats:
    if set(map(type, values)) <= {int, float}:  # the usual case, without a look at each
        try:
            grades = np.array(values, np.float64)
        except OverflowError:
            grades = np.array([np.nan])
        if np.isfinite(grades).all():
            return grades
    grades = np.zeros(len(values))
    for row, value in enumerate(values):
        try:
            if isinstance(value, str | bytes) or not np.isfinite(float(value)):
                raise TypeError
            grades[row] = float(value)
        except (TypeError, ValueError, OverflowError):
            faults.append((row + 1, "grade", owner(row), _bytes(repr(value))[:80], 0))
    return grades
