"""Preference judgments and judgments by group: lists and dicts, or files in the formats of trec_eval.

``prefs``: lines ``query group subgroup document level``. ``qrels_prefs``: lines ``query group document level``, with
one subgroup in each group. ``qrels_jg``: lines ``query group document grade``, where a group is an assessor.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cranfield.errors import InputError, UsageError
from cranfield.io.faults import quotable
from cranfield.io.formats.json import InvalidJson, is_json, load_json
from cranfield.io.streams import Stream, is_stream, open_stream

Format = Literal["prefs", "qrels_prefs", "qrels_jg"]
COLUMNS: dict[Format, tuple[str, ...]] = {
    "prefs": ("query", "group", "subgroup", "document", "level"),
    "qrels_prefs": ("query", "group", "document", "level"),
    "qrels_jg": ("query", "group", "document", "grade"),
}


@dataclass(frozen=True)
class PreferenceLine:
    """The level, or grade, of a document in a subgroup; ``location`` is where it was read, for messages."""

    location: str
    query: str
    group: str
    subgroup: str
    document: str
    level: float


Row = tuple[str, tuple[Any, ...]]  # where it was read; query, group, subgroup, document, level


def read_preferences(source: Any, format: Format = "prefs") -> tuple[str, list[PreferenceLine]]:
    """The name of the source, and its lines.

    ``source``: ``{query: [[group, subgroup, document, level], ...]}``, or a file; a text file is read in ``format``.
    """
    if isinstance(source, Mapping):
        return "prefs", _checked(_rows_of_lists(source, "prefs"), "level")
    stream = _stream(source, "prefs", "{query: [[group, subgroup, document, level], ...]}")
    if is_json(stream):
        return stream.name, _checked(_rows_of_lists(_mapping(stream), stream.source_name), "level")
    return stream.name, _checked(_rows_of_text(stream, format), "level")


def read_groups(source: Any) -> tuple[str, list[PreferenceLine]]:
    """The same for judgments by group: ``{query: {group: {document: grade}}}``, or a file in the format qrels_jg."""
    if isinstance(source, Mapping):
        return "groups", _checked(_rows_of_dicts(source, "groups"), "grade")
    stream = _stream(source, "groups", "{query: {group: {document: grade}}}")
    if is_json(stream):
        return stream.name, _checked(_rows_of_dicts(_mapping(stream), stream.source_name), "grade")
    return stream.name, _checked(_rows_of_text(stream, "qrels_jg"), "grade")


def _stream(source: Any, what: str, shape: str) -> Stream:
    if not is_stream(source):
        raise UsageError(f"cannot read {what} from {type(source).__name__}", hint=f"give {shape}, or a file")
    return open_stream(source, what)


def _mapping(stream: Stream) -> Mapping[Any, Any]:
    try:
        content = load_json(stream.read_text())
    except InvalidJson as error:
        where = f"{stream.source_name}:{error.line}" if error.line else stream.source_name
        raise InputError([f"{where}: {error.reason}"]) from None
    if not isinstance(content, Mapping):
        raise InputError([f"{stream.source_name}: expected an object with a key for each query"])
    return content


def _rows_of_lists(source: Mapping[Any, Any], name: str) -> Iterator[Row]:
    for query, rows in source.items():
        for number, row in enumerate(rows, 1):
            location = f"{name}: query `{quotable(str(query))}`, row {number}"
            if isinstance(row, str) or not isinstance(row, Sequence) or len(row) != 4:
                raise InputError([f"{location}: expected [group, subgroup, document, level], found {row!r}"])
            yield location, (query, *row)


def _rows_of_dicts(source: Mapping[Any, Any], name: str) -> Iterator[Row]:
    for query, groups in source.items():
        for group, documents in groups.items() if isinstance(groups, Mapping) else [("", None)]:
            location = f"{name}: query `{quotable(str(query))}`"
            if not isinstance(documents, Mapping):
                raise InputError([f"{location}: expected {{group: {{document: grade}}}}"])
            for document, grade in documents.items():
                yield f"{location}, group `{quotable(str(group))}`", (query, group, "", document, grade)


def _rows_of_text(stream: Stream, format: Format) -> Iterator[Row]:
    expected, faults = COLUMNS[format], []
    for number, columns, line in stream.columns():
        if len(columns) == len(expected):
            row = dict(zip(expected, columns, strict=True))
            yield f"{stream.source_name}:{number}", (row["query"], row["group"], row.get("subgroup", ""), *columns[-2:])
        else:
            faults.append(
                f"{stream.source_name}:{number}: expected {len(expected)} columns ({' '.join(expected)}), "
                f'found {len(columns)}: "{quotable(line.strip())}"'
            )
    if faults:
        raise InputError(faults)


def _checked(rows: Iterator[Row], what: Literal["level", "grade"]) -> list[PreferenceLine]:
    lines, faults = [], []
    first: dict[tuple[str, ...], PreferenceLine] = {}
    for location, (query, group, subgroup, document, given) in rows:
        try:
            level = math.nan if isinstance(given, bool) else float(given)
        except (TypeError, ValueError, OverflowError):
            level = math.nan
        if not math.isfinite(level):
            faults.append(f'{location}: the {what} is not a finite number: "{quotable(str(given))}"')
            continue
        if what == "level" and level < 0:
            faults.append(f"{location}: the level is negative: {level:g}")
            continue
        line = PreferenceLine(location, str(query), str(group), str(subgroup), str(document), level)
        key = line.query, line.group, line.subgroup, line.document
        if what == "grade" and first.setdefault(key, line).level != level:
            pair = f"document `{quotable(line.document)}` of query `{quotable(line.query)}`"
            faults.append(f"{location}: {pair} already has grade {first[key].level:g} in this group")
        elif what == "level" or first[key] is line:
            lines.append(line)
    if faults:
        raise InputError(faults)
    return lines
