"""Judgment lists of OpenSearch's Search Relevance Workbench: ``judgmentRatings``, with grades as text."""

from __future__ import annotations

import re
from typing import Any

from cranfield.data import Judgments
from cranfield.errors import InputError
from cranfield.io.detect import Columns, ContentKind, FileFormat, reject_columns
from cranfield.io.faults import quotable
from cranfield.io.formats.json import is_json
from cranfield.io.json_values import read_json
from cranfield.io.objects import qrels_from_object
from cranfield.io.streams import Stream

_BEGINNING = re.compile(rb'"judgmentRatings"\s*:\s*\[')


def is_judgment_list(stream: Stream, kind: ContentKind, _columns: Columns = None) -> bool:
    """Whether a JSON file has judgment ratings near its beginning."""
    return kind == "qrels" and is_json(stream) and _BEGINNING.search(stream.head) is not None


def read_qrels(stream: Stream, name: str, columns: Columns) -> Judgments:
    """The ratings of every query; a judgment list as stored or as the search for it returns it."""
    reject_columns(columns)
    judged: dict[str, dict[str, Any]] = {}
    for entry in _find(read_json(stream), "judgmentRatings"):
        ratings = {}
        for rating in entry["ratings"]:
            try:
                ratings[rating["docId"]] = float(rating["rating"])
            except ValueError as error:
                where = f"query `{quotable(str(entry['query']))}`, document `{quotable(str(rating['docId']))}`"
                text = quotable(repr(rating["rating"]))
                message = f"{stream.source_name}: {where}: the grade is not a finite number: {text}"
                raise InputError([message]) from error
        judged[entry["query"]] = ratings
    return qrels_from_object(judged, name, None, stream.source_name)


def _find(value: Any, key: str) -> list[Any]:
    """The lists under a key, however deep."""
    if isinstance(value, dict):
        if isinstance(value.get(key), list):
            return list(value[key])
        value = list(value.values())
    return [entry for inner in value for entry in _find(inner, key)] if isinstance(value, list) else []


FORMATS = (
    FileFormat(
        "judgment lists",
        priority=-5,
        recognises=is_judgment_list,
        read_qrels=read_qrels,
        listed=False,
    ),
)
