"""TREC RAG: answers with references, and nuggets.

An answer ``{topic_id, references: [document, ...], answer: [...]}`` is a ranking of its references. Nuggets
``{qid, nuggets: [{text, importance}, ...]}`` are judgments: 2 for vital ones, 1 for others. With ``assignment`` they
are also a run: the nuggets that an answer supports, with the score 1, or 0.5 if it supports them in part.
"""

from __future__ import annotations

import re
from typing import Any

from cranfield.data import Judgments, Run
from cranfield.errors import InputError
from cranfield.io.detect import Columns, ContentKind, FileFormat, reject_columns
from cranfield.io.faults import quotable
from cranfield.io.formats.json import is_json
from cranfield.io.json_values import expecting, read_json_lines, without_repeats
from cranfield.io.objects import qrels_from_object, run_from_object
from cranfield.io.streams import Stream

GRADES = {"vital": 2, "okay": 1}
SUPPORT = {"support": 1.0, "partial_support": 0.5, "not_support": None}
QUERY_FIELDS = ("qid", "topic_id", "narrative_id", "query_id")
_NUGGETS = re.compile(rb'"nuggets"\s*:\s*\[')
_REFERENCES = re.compile(rb'"references"\s*:\s*\[')


def is_rag(stream: Stream, kind: ContentKind, _columns: Columns = None) -> bool:
    """Whether a JSON file has nuggets or, for a run, references."""
    if kind == "documents" or not is_json(stream):
        return False
    return bool(_NUGGETS.search(stream.head) or (kind == "run" and _REFERENCES.search(stream.head)))


def read_run(stream: Stream, name: str, columns: Columns) -> Run:
    """The references of answers, or the nuggets that answers support."""
    reject_columns(columns)
    records = ((_query(record, stream.source_name), _ranking(record, stream)) for record in read_json_lines(stream))
    with expecting("{topic_id, references: [...]} or {qid, nuggets: [{text, assignment}, ...]} for each query", stream):
        rankings = without_repeats(records, "query", stream)
    return run_from_object(rankings, name, None, stream.source_name)


def read_qrels(stream: Stream, name: str, columns: Columns) -> Judgments:
    """The importance of nuggets."""
    reject_columns(columns)
    with expecting("{qid, nuggets: [{text, importance}, ...]} for each query", stream):
        judged = without_repeats(
            (
                (_query(record, stream.source_name), _nuggets(record, "importance", GRADES, stream))
                for record in read_json_lines(stream)
            ),
            "query",
            stream,
        )
    return qrels_from_object(judged, name, None, stream.source_name)


def _ranking(record: Any, stream: Stream) -> Any:
    if "nuggets" not in record:
        return record["references"]
    support = _nuggets(record, "assignment", SUPPORT, stream)
    return {text: score for text, score in support.items() if score is not None}


def _nuggets(record: Any, field: str, values: dict[str, Any], stream: Stream) -> dict[str, Any]:
    nuggets = ((nugget["text"], _value(nugget, field, values, stream)) for nugget in record["nuggets"])
    return without_repeats(nuggets, "nugget", stream)


def _query(record: Any, source_name: str) -> str:
    name = next((field for field in QUERY_FIELDS if field in record), None)
    if name is None:
        raise InputError([f"{source_name}: no field for the query; the fields are {', '.join(record)}"])
    return str(record[name])


def _value(nugget: Any, field: str, values: dict[str, Any], stream: Stream) -> Any:
    given = nugget.get(field)
    if given not in values:
        expected = ", ".join(values)
        text = f"the {field} of a nugget is {quotable(repr(given))}; expected {expected}"
        raise InputError([f"{stream.source_name}: {text}"])
    return values[given]


FORMATS = (
    FileFormat(
        "TREC RAG",
        priority=-4,
        recognises=is_rag,
        read_run=read_run,
        read_qrels=read_qrels,
        listed=False,
    ),
)
