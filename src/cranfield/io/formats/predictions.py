"""Predictions of sentence-transformers: one line ``{query_id, results: [{corpus_id, score}, ...]}`` for each query."""

from __future__ import annotations

import re

from cranfield.data import Run
from cranfield.io.detect import Columns, ContentKind, FileFormat, reject_columns
from cranfield.io.formats.json import is_json
from cranfield.io.json_values import read_json_lines
from cranfield.io.objects import run_from_object
from cranfield.io.streams import Stream

_RESULTS = re.compile(rb'"results"\s*:\s*\[')
_QUERY = re.compile(rb'^\s*\[?\s*\{\s*"(?:query_id|qid|query)"')


def is_predictions(stream: Stream, kind: ContentKind, _columns: Columns = None) -> bool:
    """Whether the first record has a query and its results."""
    head = stream.head
    return kind == "run" and is_json(stream) and bool(_QUERY.search(head) and _RESULTS.search(head))


def read_run(stream: Stream, name: str, columns: Columns) -> Run:
    """The results of every query."""
    reject_columns(columns)
    return run_from_object(read_json_lines(stream), name, None, stream.source_name)


FORMATS = (
    FileFormat(
        "sentence-transformers predictions",
        priority=-2,
        recognises=is_predictions,
        read_run=read_run,
        listed=False,
    ),
)
