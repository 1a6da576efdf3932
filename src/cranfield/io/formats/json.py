"""JSON, JSON Lines and CSV: text that names its columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cranfield.errors import InputError
from cranfield.io.detect import BOM, delimiter_of
from cranfield.io.faults import Fault, Place, input_error, shown
from cranfield.io.streams import Opened
from cranfield.io.tables import ListFrame, TextFrame


def _text(stream: Opened) -> str:
    return stream.content().removeprefix(BOM).decode("utf-8", "surrogateescape")


def parsed(stream: Opened) -> Mapping[Any, Any] | ListFrame:
    """What a JSON file holds: nested objects as they are, row objects as columns."""
    import json

    text = _text(stream)

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise InputError([f"{stream.place}: `{shown(twice)}` appears twice in one object"])
        return made

    def load(piece: str, line: int) -> Any:
        try:
            return json.loads(piece, object_pairs_hook=distinct)
        except json.JSONDecodeError as error:
            where = f"{stream.place}:{line + error.lineno - 1}"
            raise InputError([f"{where}: this is not JSON: {error.msg.lower()} at column {error.colno}"]) from error
        except RecursionError as error:
            raise InputError([f"{stream.place}: the JSON is nested too deeply to be rankings or judgments"]) from error

    if _is_lines(text):
        return _rows([(n, load(line, n)) for n, line in enumerate(text.split("\n"), 1) if line.strip()], stream.place)
    value = load(text, 1)
    if isinstance(value, list):
        return _rows(list(enumerate(value, 1)), stream.place)
    if value and not any(isinstance(inner, Mapping) for inner in value.values()):
        return _rows([(1, value)], stream.place)
    return dict(value)


def _is_lines(text: str) -> bool:
    """Whether each line is an object of its own: then the first one is whole and something follows."""
    import json

    first, _, rest = text.lstrip().partition("\n")
    try:
        return isinstance(json.loads(first), dict) and bool(rest.strip())
    except (json.JSONDecodeError, RecursionError):
        return False


def _rows(objects: list[tuple[int, Any]], place: str) -> ListFrame:
    wrong = [f"{place}: row {row}: expected an object" for row, value in objects if not isinstance(value, dict)]
    if wrong:
        raise InputError(wrong)
    names = dict.fromkeys(name for _, value in objects for name in value)
    return ListFrame({name: [value.get(name) for _, value in objects] for name in names})


def delimited(stream: Opened, place: Place) -> TextFrame:
    """The columns of a CSV or TSV file, named by its first line."""
    import csv
    import io

    text = _text(stream)
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise input_error([(line, "binary", b"", b"", 0)], 1, Place(place.name, place.what))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter_of(place.name))
    try:
        records = [record for record in reader if record]
    except csv.Error as error:
        raise InputError([f"{place.name}:{reader.line_num}: this is not CSV: {error}"]) from error
    names, *records = records or [[]]
    width = len(names)
    faults: list[Fault] = [
        (row, "fields", b"", str(width).encode(), len(record))
        for row, record in enumerate(records, 1)
        if len(record) != width
    ]
    if faults:
        raise input_error(faults[:20], len(faults), place)
    return TextFrame({name: [record[i] for record in records] for i, name in enumerate(names)})
