"""Weights of subtopics: ``{query: {subtopic: weight}}``, a JSON file of that, or lines ``query subtopic weight``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cranfield.errors import InputError, UsageError
from cranfield.io.detect import BOM, begins_as
from cranfield.io.faults import shown
from cranfield.io.formats.json import parsed
from cranfield.io.streams import Opened, is_stream, opened

MOST = 1e100  # beyond it sums of weights, and below its inverse their shares, may leave what floats can hold


@dataclass(frozen=True)
class Weight:
    """One subtopic's weight, and where it stands."""

    place: str
    query: str
    subtopic: str
    value: float


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


def _of_mapping(source: Mapping[Any, Any], name: str) -> list[tuple[str, str, str, Any]]:
    wrong = [query for query, inner in source.items() if not isinstance(inner, Mapping)]
    if wrong:
        kinds = [(shown(str(query)), type(source[query]).__name__) for query in wrong]
        raise InputError([f"{name}: query `{q}`: expected {{subtopic: weight}}, found {kind}" for q, kind in kinds])
    return [
        (f"{name}: query `{shown(str(query))}`, subtopic `{shown(str(subtopic))}`", str(query), str(subtopic), value)
        for query, inner in source.items()
        for subtopic, value in inner.items()
    ]


def _of_text(stream: Opened) -> list[tuple[str, str, str, Any]]:
    rows: list[tuple[str, str, str, Any]] = []
    faults = []
    text = stream.content().removeprefix(BOM).decode("utf-8", "surrogateescape")
    for number, line in enumerate(text.split("\n"), 1):
        columns = line.split()
        if not columns or columns[0].startswith("#"):
            continue
        if len(columns) == 3:
            rows.append((f"{stream.place}:{number}", columns[0], columns[1], columns[2]))
        else:
            found = f'{len(columns)}: "{shown(line.strip())}"'
            faults.append(f"{stream.place}:{number}: expected 3 columns (query subtopic weight), found {found}")
    if faults:
        raise InputError(faults)
    return rows


def _checked(rows: list[tuple[str, str, str, Any]]) -> list[Weight]:
    weights, faults = [], []
    first: dict[tuple[str, str], str] = {}
    for place, query, subtopic, given in rows:
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
            weights.append(Weight(place, query, subtopic, value))
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
