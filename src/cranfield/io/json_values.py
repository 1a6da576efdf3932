"""The values of JSON and JSON Lines, for formats that are neither nested objects nor rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from cranfield.errors import InputError
from cranfield.io.faults import quotable
from cranfield.io.formats.json import InvalidJson, load_json
from cranfield.io.streams import Stream


def read_json(stream: Stream) -> Any:
    """The value of a JSON file."""
    return _load(stream.read_text(), stream.source_name, 1)


def read_json_lines(stream: Stream) -> list[Any]:
    """The values of JSON Lines, or the items of one JSON list."""
    text = stream.read_text()
    if text.lstrip().startswith("["):
        return list(_load(text, stream.source_name, 1))
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    try:
        return [_load(line, stream.source_name, number) for number, line in lines]
    except InputError:
        if len(lines) == 1:
            raise
        value = _load(text, stream.source_name, 1)  # one object over several lines
        return value if isinstance(value, list) else [value]


@contextmanager
def expecting(shape: str, stream: Stream) -> Iterator[None]:
    """Raise an error that says which shape was expected, if a value inside has another."""
    try:
        yield
    except (AttributeError, LookupError, TypeError) as error:
        raise InputError([f"{stream.source_name}: expected {shape}"]) from error


def without_repeats(pairs: Iterable[tuple[Any, Any]], what: str, stream: Stream) -> dict[Any, Any]:
    """A dict of pairs whose keys are all different."""
    result: dict[Any, Any] = {}
    for key, value in pairs:
        if key in result:
            raise InputError([f"{stream.source_name}: {what} `{quotable(str(key))}` appears twice"])
        result[key] = value
    return result


def _load(text: str, source_name: str, line: int) -> Any:
    try:
        return load_json(text)
    except InvalidJson as error:
        where = f"{source_name}:{line + error.line - 1}" if error.line else source_name
        raise InputError([f"{where}: {error.reason}"]) from error
