"""Weights of subtopics: ``{query: {subtopic: weight}}``, a JSON file of that, or lines ``query subtopic weight``.

A line may have a fourth column, the type of the intent: ``inf`` (informational) or ``nav`` (navigational).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cranfield.errors import InputError, UsageError
from cranfield.io.faults import quotable
from cranfield.io.formats.json import is_json, parse_json
from cranfield.io.streams import Stream, is_stream, open_stream

MAX_WEIGHT = 1e100  # larger weights, and smaller ones than its inverse, may overflow in sums or underflow in shares


TYPES = ("inf", "nav")
Row = tuple[str, str, str, Any, str]  # location, query, subtopic, weight, type


@dataclass(frozen=True)
class Weight:
    """The weight of a subtopic, and the type of the intent; ``location`` is where it was read, for messages."""

    location: str
    query: str
    subtopic: str
    value: float
    type: str = "inf"


def read_types(source: Any) -> dict[tuple[str, str], str]:
    """The type of each (query, subtopic) in ``{query: {subtopic: "inf" or "nav"}}``."""
    if not isinstance(source, Mapping):
        raise UsageError(
            f"cannot read types of intents from {type(source).__name__}",
            hint='give {query: {subtopic: "inf" or "nav"}}, or a fourth column in the file of intents',
        )
    rows = _rows_of_mapping(source, "types", "type")
    faults = [_type_fault(location, given) for location, _, _, given, _ in rows if given not in TYPES]
    if faults:
        raise InputError(faults)
    return {(query, subtopic): given for _, query, subtopic, given, _ in rows}


def _type_fault(location: str, given: Any) -> str:
    return f'{location}: the type of an intent must be inf or nav, not "{quotable(str(given))}"'


def read_weights(source: Any) -> tuple[str, list[Weight]]:
    """The name of the source for messages, and its weights in input order, each a number of at least 0."""
    if isinstance(source, Mapping):
        return "intents", _check(_rows_of_mapping(source, "intents"))
    if not is_stream(source):
        raise UsageError(
            f"cannot read intents from {type(source).__name__}",
            hint="give {query: {subtopic: weight}}, or a file with lines: query subtopic weight",
        )
    stream = open_stream(source, "intents")
    if not is_json(stream):
        return stream.source_name, _check(_rows_of_text(stream))
    content = parse_json(stream)
    if not isinstance(content, Mapping):
        raise InputError([f"{stream.source_name}: expected {{query: {{subtopic: weight}}}}, found rows"])
    return stream.source_name, _check(_rows_of_mapping(content, stream.source_name))


def _rows_of_mapping(source: Mapping[Any, Any], source_name: str, value: str = "weight") -> list[Row]:
    faults = [
        f"{source_name}: query `{quotable(str(query))}`: expected {{subtopic: {value}}}, found {type(inner).__name__}"
        for query, inner in source.items()
        if not isinstance(inner, Mapping)
    ]
    if faults:
        raise InputError(faults)
    return [
        (
            f"{source_name}: query `{quotable(str(query))}`, subtopic `{quotable(str(subtopic))}`",
            str(query),
            str(subtopic),
            given,
            "inf",
        )
        for query, inner in source.items()
        for subtopic, given in inner.items()
    ]


def _rows_of_text(stream: Stream) -> list[Row]:
    rows: list[Row] = []
    faults = []
    for number, columns, line in stream.columns():
        location = f"{stream.source_name}:{number}"
        if len(columns) not in (3, 4):
            faults.append(
                f"{location}: expected 3 or 4 columns (query subtopic weight [inf|nav]), "
                f'found {len(columns)}: "{quotable(line.strip())}"'
            )
            continue
        query, subtopic, weight, intent_type = [*columns, "inf"][:4]
        if intent_type in TYPES:
            rows.append((location, query, subtopic, weight, intent_type))
        else:
            faults.append(_type_fault(location, intent_type))
    if faults:
        raise InputError(faults)
    return rows


def _check(rows: list[Row]) -> list[Weight]:
    weights, faults = [], []
    first: dict[tuple[str, str], str] = {}
    for location, query, subtopic, given, intent_type in rows:
        value = _finite_number(given)
        if value is None:
            faults.append(f'{location}: the weight is not a finite number: "{quotable(str(given))}"')
        elif value < 0:
            faults.append(f"{location}: the weight is negative: {value:g}")
        elif 0 < value < 1 / MAX_WEIGHT or value > MAX_WEIGHT:
            faults.append(f"{location}: the weight must be 0 or between 1e-100 and 1e100: {value:g}")
        elif (query, subtopic) in first:
            pair = f"subtopic `{quotable(subtopic)}` of query `{quotable(query)}`"
            faults.append(f"{location}: {pair} already has a weight, from {first[query, subtopic]}")
        else:
            weights.append(Weight(location, query, subtopic, value, intent_type))
        first.setdefault((query, subtopic), location)
    if faults:
        raise InputError(
            faults, hint="a weight is a number of at least 0, such as the share of readers who want the subtopic"
        )
    return weights


def _finite_number(given: Any) -> float | None:
    try:
        value = float(given)
    except (TypeError, ValueError, OverflowError):
        return None
    return value if math.isfinite(value) and not isinstance(given, bool) else None
