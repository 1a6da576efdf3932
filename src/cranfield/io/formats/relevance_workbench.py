"""Judgment lists of OpenSearch's Search Relevance Workbench: ``judgmentRatings``, with grades as text."""

from __future__ import annotations

import re
from typing import Any

from cranfield.data import Judgments
from cranfield.errors import InputError
from cranfield.io.detect import Columns, ContentKind, FileFormat, reject_columns
from cranfield.io.faults import quotable
from cranfield.io.formats.json import is_json
from cranfield.io.json_values import expecting, read_json, without_repeats
from cranfield.io.objects import qrels_from_object
from cranfield.io.streams import Stream

_BEGINNING = re.compile(rb'"judgmentRatings"\s*:\s*\[')


def is_judgment_list(stream: Stream, kind: ContentKind, _columns: Columns = None) -> bool:
    """Whether a JSON file has judgment ratings near its beginning."""
    return kind == "qrels" and is_json(stream) and _BEGINNING.search(stream.head) is not None


def read_qrels(stream: Stream, name: str, columns: Columns) -> Judgments:
    """The ratings of every query; a judgment list as stored or as the search for it returns it."""
    reject_columns(columns)
    with expecting("`judgmentRatings`: [{query, ratings: [{docId, rating}, ...]}, ...]", stream):
        entries = [
            (entry["query"], [(rating["docId"], _grade(rating, entry, stream)) for rating in entry["ratings"]])
            for entry in _find(read_json(stream), "judgmentRatings")
        ]
        ratings = ((query, without_repeats(graded, f"query `{query}`: document", stream)) for query, graded in entries)
        judged = without_repeats(ratings, "query", stream)
    return qrels_from_object(judged, name, None, stream.source_name)


def _grade(rating: Any, entry: Any, stream: Stream) -> float:
    try:
        return float(rating["rating"])
    except ValueError as error:
        where = f"query `{quotable(str(entry['query']))}`, document `{quotable(str(rating['docId']))}`"
        text = quotable(repr(rating["rating"]))
        message = f"{stream.source_name}: {where}: the grade is not a finite number: {text}"
        raise InputError([message]) from error


def _find(value: Any, key: str) -> list[Any]:
    """The items of all lists under a key, however deep."""
    found, left = [], [value]
    while left:
        value = left.pop()
        if isinstance(value, dict) and isinstance(value.get(key), list):
            found += value[key]
        elif isinstance(value, dict):
            left += reversed(value.values())
        elif isinstance(value, list):
            left += reversed(value)
    return found


FORMATS = (
    FileFormat(
        "judgment lists",
        priority=-5,
        recognises=is_judgment_list,
        read_qrels=read_qrels,
        listed=False,
    ),
)
