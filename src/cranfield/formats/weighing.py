"""Weights of subtopics: ``{query: {subtopic: weight}}``, a JSON file of that, or lines ``query subtopic weight``.

A line may have a fourth column, the type of the intent: ``inf`` (informational) or ``nav`` (navigational).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from cranfield.errors import InputError, UsageError
from cranfield.formats.content import BOM, begins_as
from cranfield.formats.faults import shown
from cranfield.formats.opening import Opened, is_stream, opened
from cranfield.formats.records import parsed

MOST = 1e100  # beyond it sums of weights, and below its inverse their shares, may leave what floats can hold


IntentType = Literal["inf", "nav"]
TYPES: tuple[str, ...] = get_args(IntentType)
Row = tuple[str, str, str, Any, str]  # place, query, subtopic, weight, type


@dataclass(frozen=True)
class Weight:
    """One subtopic's weight, and where it stands; and the type of the intent."""

    place: str
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
    rows = _of_mapping(source, "types", "type")
    faults = [_wrong_type(place, given) for place, _, _, given, _ in rows if given not in TYPES]
    if faults:
        raise InputError(faults)
    return {(query, subtopic): given for _, query, subtopic, given, _ in rows}


def _wrong_type(place: str, given: Any) -> str:
    return f'{place}: the type of an intent is inf or nav, not "{shown(str(given))}"'


def read_weights(source: Any) -> tuple[str, list[Weight]]:
    """What messages call the source, and its weights in the order given, each a number that is not negative."""
    if isinstance(source, Mapping):
        return "intents", _checked(_of_mapping(source, "intents"))
    if not is_stream(source):
        raise UsageError(
            f"cannot read intents from {type(source).__name__}",
            hint="give {query: {subtopic: weight}}, or a file with lines: query subtopic weight",
        )
    stream = opened(source, "intents")
    if begins_as(stream.head) != "json":
        return stream.place, _checked(_of_text(stream))
    content = parsed(stream)
    if not isinstance(content, Mapping):
        raise InputError([f"{stream.place}: expected {{query: {{subtopic: weight}}}}, found rows"])
    return stream.place, _checked(_of_mapping(content, stream.place))


def _of_mapping(source: Mapping[Any, Any], name: str, what: str = "weight") -> list[Row]:
    wrong = [query for query, inner in source.items() if not isinstance(inner, Mapping)]
    if wrong:
        kinds = [(shown(str(query)), type(source[query]).__name__) for query in wrong]
        raise InputError([f"{name}: query `{q}`: expected {{subtopic: {what}}}, found {kind}" for q, kind in kinds])
    return [
        (
            f"{name}: query `{shown(str(query))}`, subtopic `{shown(str(subtopic))}`",
            str(query),
            str(subtopic),
            value,
            "inf",
        )
        for query, inner in source.items()
        for subtopic, value in inner.items()
    ]


def _of_text(stream: Opened) -> list[Row]:
    rows: list[Row] = []
    faults = []
    text = stream.content().removeprefix(BOM).decode("utf-8", "surrogateescape")
    for number, line in enumerate(text.split("\n"), 1):
        columns = line.split()
        if not columns or columns[0].startswith("#"):
            continue
        place = f"{stream.place}:{number}"
        query, subtopic, weight, kind = [*columns, *[""] * 4][:4]
        if len(columns) not in (3, 4):
            found = f'{len(columns)}: "{shown(line.strip())}"'
            faults.append(f"{place}: expected 3 or 4 columns (query subtopic weight [inf|nav]), found {found}")
        elif kind and kind not in TYPES:
            faults.append(_wrong_type(place, kind))
        else:
            rows.append((place, query, subtopic, weight, kind or "inf"))
    if faults:
        raise InputError(faults)
    return rows


def _checked(rows: list[Row]) -> list[Weight]:
    weights, faults = [], []
    first: dict[tuple[str, str], str] = {}
    for place, query, subtopic, given, kind in rows:
        value = _number(given)
        if value is None:
            faults.append(f'{place}: the weight is not a finite number: "{shown(str(given))}"')
        elif value < 0:
            faults.append(f"{place}: the weight is negative: {value:g}")
        elif 0 < value < 1 / MOST or value > MOST:
            faults.append(f"{place}: the weight is out of all proportion: {value:g}")
        elif (query, subtopic) in first:
            which = f"subtopic `{shown(subtopic)}` of query `{shown(query)}`"
            faults.append(f"{place}: {which} has a weight already, from {first[query, subtopic]}")
        else:
            weights.append(Weight(place, query, subtopic, value, kind))
        first.setdefault((query, subtopic), place)
    if faults:
        raise InputError(faults, hint="a weight says how many readers want a subtopic: any number from 0 on")
    return weights


def _number(given: Any) -> float | None:
    try:
        value = float(given)
    except (TypeError, ValueError, OverflowError):
        return None
    return value if math.isfinite(value) and not isinstance(given, bool) else None
