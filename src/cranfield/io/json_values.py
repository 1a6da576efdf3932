"""The values of JSON and JSON Lines, for formats that are neither nested objects nor rows."""

from __future__ import annotations

from typing import Any

from cranfield.errors import InputError
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


def _load(text: str, source_name: str, line: int) -> Any:
    import json

    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"{source_name}:{line + error.lineno - 1}"
        raise InputError([f"{where}: invalid JSON: {error.msg.lower()} at column {error.colno}"]) from error
    except RecursionError as error:
        raise InputError([f"{source_name}: the JSON is nested too deeply for a run or judgments"]) from error
