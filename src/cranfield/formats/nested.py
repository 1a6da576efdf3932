"""Rankings and judgments as nested dicts: ``{query: {document: number}}``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from cranfield.data import Floats, Judgments, Strings
from cranfield.errors import InputError
from cranfield.formats.faults import Fault, Place, input_error, shown
from cranfield.formats.judging import Rows, judgments


def rankings(source: Mapping[Any, Any], place: Place) -> dict[str, dict[str, float]]:
    """The dict as it is, after a look at its shape; ids and scores are looked at when they are used."""
    _shaped(source, place)
    if type(source) is dict and all(type(ranking) is dict for ranking in source.values()):
        return source
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
    _shaped(source, place)
    given = list(_entries(source))
    labelled = [subtopic is not None for _, _, subtopic, _ in given]
    if any(labelled) and not all(labelled):
        query, document, *_ = given[labelled.index(False)]
        where = place.at(0, _bytes(query), shown(str(document)))
        raise InputError([f"{where}a grade without a subtopic, where others have one"])
    faults: list[Fault] = []
    queries = _ids(list(source), [b""] * len(source), faults)
    number = {query: q for q, query in enumerate(source)}
    owners = [_bytes(query) for query, *_ in given]
    documents = _ids([document for _, document, _, _ in given], owners, faults)
    grade = _grades([value for *_, value in given], given, faults)
    subtopic_of: dict[Any, int] = {}
    codes = [subtopic_of.setdefault(subtopic, len(subtopic_of)) for _, _, subtopic, _ in given]
    names = Strings.of(["0"]) if not any(labelled) else _ids(list(subtopic_of), [b""] * len(subtopic_of), faults)
    if faults:
        entries = [document for _, document, *_ in given]
        raise input_error(faults[:20], len(faults), place, lambda entry: shown(str(entries[entry - 1])))
    rows = Rows(
        queries,
        np.array([number[query] for query, *_ in given], np.int64),
        names,
        np.array(codes, np.int64),
        documents,
        grade,
        np.arange(1, len(given) + 1, dtype=np.int64),
    )
    return judgments(name, rows, place)


def _entries(source: Mapping[Any, Any]) -> Iterator[tuple[Any, Any, Any, Any]]:
    for query, judged in source.items():
        for document, value in judged.items():
            if isinstance(value, Mapping) and value:
                for subtopic, grade in value.items():
                    yield query, document, subtopic, grade
            else:
                yield query, document, None, value


def _bytes(value: object) -> bytes:
    return str(value).encode("utf-8", "backslashreplace")


def _ids(values: list[Any], owners: list[bytes], faults: list[Fault]) -> Strings:
    try:
        return Strings.of(values)
    except (AttributeError, UnicodeEncodeError):  # not all of them are text: find out which
        for entry, (value, owner) in enumerate(zip(values, owners, strict=True), 1):
            try:
                Strings.of([value])
            except (AttributeError, UnicodeEncodeError):
                faults.append((entry, "id", owner, _bytes(repr(value))[:80], 0))
        return Strings.of([])


def _grades(values: list[Any], given: list[tuple[Any, Any, Any, Any]], faults: list[Fault]) -> Floats:
    if set(map(type, values)) <= {int, float} and len(values):
        try:
            grades = np.array(values, np.float64)
        except OverflowError:
            grades = np.array([np.nan])
        if np.isfinite(grades).all():
            return grades
    grades = np.zeros(len(values))
    for entry, value in enumerate(values, 1):
        try:
            if isinstance(value, str | bytes) or not np.isfinite(float(value)):
                raise TypeError
            grades[entry - 1] = float(value)
        except (TypeError, ValueError, OverflowError):
            faults.append((entry, "grade", _bytes(given[entry - 1][0]), _bytes(repr(value))[:80], 0))
    return grades
