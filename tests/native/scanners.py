"""What the native core reads at once, in plain Python: the oracle of its fast ways for usual input."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from typing import Any

import numpy as np

from cranfield.native.plain import Column, _pack

HIGHEST_OFFSET = 10**11  # of passages


def split_fields(lines: bytes, delimiter: str, width: int, longest: int) -> list[Column] | None:
    texts = lines.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n")
    sizes = [len(line) for line in lines.split(b"\n")]
    if b"\0" in lines or max(sizes) > longest or any("\r" in text.removesuffix("\r") for text in texts):
        return None
    try:
        rows = list(csv.reader([f"{text}\n" for text in texts], delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    if not all(rows) or len(rows) != len(texts) or lines.endswith(b"\r"):
        return None
    if {*map(len, rows)} != {width or len(rows[0])}:
        return None
    return [_pack(field.encode("utf-8", "surrogateescape") for field in column) for column in zip(*rows, strict=True)]


def scan_nested(mapping: Mapping[Any, Any]) -> dict[str, Any] | None:
    """Every judgment of ``{query: {document: grade}}``, or None where there is something unusual."""
    if not isinstance(mapping, dict) or not all(isinstance(judged, dict) for judged in mapping.values()):
        return None
    documents = [document for judged in mapping.values() for document in judged]
    grades = [grade for judged in mapping.values() for grade in judged.values()]
    if not ({*map(type, mapping), *map(type, documents)} <= {str} and {*map(type, grades)} <= {int, float}):
        return None
    try:
        query, document = (_pack(text.encode() for text in texts) for texts in (mapping, documents))
        grade = np.array(grades, np.float64)
    except (UnicodeEncodeError, OverflowError):
        return None
    begin = np.cumsum([0, *(len(judged) for judged in mapping.values())], dtype=np.int64)
    return {"query": query, "begin": begin, "document": document, "grade": grade} if np.isfinite(grade).all() else None


def scan_passages(mapping: Mapping[Any, Any]) -> dict[str, Any] | None:
    """The passages of ``{query: [(document, start, end), ...]}``, or None where there is something unusual."""
    if type(mapping) is not dict or {*map(type, mapping.values())} - {list, tuple} or {*map(type, mapping)} - {str}:
        return None
    rows = [row for passages in mapping.values() for row in passages]
    if {*map(type, rows)} - {list, tuple} or {*map(len, rows)} not in ({3}, {4}):
        return None
    document, *offsets = ([row[i] for row in rows] for i in range(len(rows[0])))
    values = offsets[2:]
    numbers = [*offsets[0], *offsets[1]]
    if {*map(type, document)} - {str} or not all(document) or {*map(type, numbers)} - {int}:
        return None
    if {type(value) for column in values for value in column} - {int, float}:
        return None
    if min(numbers) < 0 or max(numbers) > HIGHEST_OFFSET or any(a > b for a, b in zip(*offsets[:2], strict=True)):
        return None
    codes: dict[str, int] = {}
    code = [codes.setdefault(name, len(codes)) for name in document]
    try:
        query, name = (_pack(text.encode() for text in texts) for texts in (mapping, codes))
        value = [np.array(column, np.float64) for column in values]
    except (UnicodeEncodeError, OverflowError):
        return None
    if any(np.isnan(column).any() for column in value):
        return None
    begin = np.cumsum([0, *map(len, mapping.values())])
    arrays = {"query": query, "begin": begin, "name": name, "document": np.array(code, np.int64)}
    arrays |= {role: np.array(column, np.int64) for role, column in zip(("start", "end"), offsets, strict=False)}
    return arrays | ({"value": value[0]} if value else {})
