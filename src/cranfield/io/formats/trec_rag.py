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
from cranfield.io.json_values import read_json_lines
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
    rankings: dict[str, Any] = {}
    for record in read_json_lines(stream):
        query = _query(record, stream.source_name)
        if "nuggets" not in record:
            rankings[query] = record["references"]
            continue
        support = {nugget["text"]: _value(nugget, "assignment", SUPPORT, stream) for nugget in record["nuggets"]}
        rankings[query] = {text: score for text, score in support.items() if score is not None}
    return run_from_object(rankings, name, None, stream.source_name)


def read_qrels(stream: Stream, name: str, columns: Columns) -> Judgments:
    """The importance of nuggets."""
    reject_columns(columns)
    judged = {
        _query(record, stream.source_name): {
            nugget["text"]: _value(nugget, "importance", GRADES, stream) for nugget in record["nuggets"]
        }
        for record in read_json_lines(stream)
    }
    return qrels_from_object(judged, name, None, stream.source_name)


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
