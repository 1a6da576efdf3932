"""Responses of Elasticsearch and OpenSearch: ``_search``, ``_msearch``, and ``_rank_eval`` with its request.

A ``_search`` response is the ranking of query 1, ``_msearch`` has those of queries 1, 2, 3, ... The request of
``_rank_eval`` has ratings, which are judgments; its response has the rankings.
"""

from __future__ import annotations

import re

from cranfield.data import Judgments, Run
from cranfield.io.detect import Columns, ContentKind, FileFormat, reject_columns
from cranfield.io.formats.json import is_json
from cranfield.io.json_values import expecting, read_json, without_repeats
from cranfield.io.objects import qrels_from_object, run_from_object
from cranfield.io.streams import Stream

_RUN = re.compile(rb'"(?:took|hits|responses|metric_score)"\s*:')
_INSIDE = re.compile(rb'"(?:hits|responses|details)"\s*:\s*[\[{]')
_QRELS = re.compile(rb'"requests"\s*:\s*\[')


def is_response(stream: Stream, kind: ContentKind, _columns: Columns = None) -> bool:
    """Whether a JSON file begins as responses do, or, for judgments, as a request of ``_rank_eval``."""
    if kind == "documents" or not is_json(stream):
        return False
    if kind == "qrels":
        return _QRELS.search(stream.head) is not None
    return _RUN.search(stream.head[:400]) is not None and _INSIDE.search(stream.head) is not None


def read_run(stream: Stream, name: str, columns: Columns) -> Run:
    """The rankings of the responses."""
    reject_columns(columns)
    value = read_json(stream)
    if isinstance(value, dict) and isinstance(value.get("details"), dict):
        with expecting("`details`: {query: {hits: [{hit: ...}, ...]}, ...}", stream):
            hits = {query: [hit["hit"] for hit in detail["hits"]] for query, detail in value["details"].items()}
        return run_from_object(hits, name, None, stream.source_name)
    if isinstance(value, dict) and ("took" in value or "responses" in value):
        value = [value] if "responses" not in value else value
    return run_from_object(value, name, None, stream.source_name)


def read_qrels(stream: Stream, name: str, columns: Columns) -> Judgments:
    """The ratings of a request."""
    reject_columns(columns)
    with expecting("`requests`: [{id, ratings: [{_id, rating}, ...]}, ...]", stream):
        requests = [
            (request["id"], [(rating["_id"], rating["rating"]) for rating in request["ratings"]])
            for request in read_json(stream)["requests"]
        ]
        ratings = ((query, without_repeats(graded, f"query `{query}`: document", stream)) for query, graded in requests)
        judged = without_repeats(ratings, "query", stream)
    return qrels_from_object(judged, name, None, stream.source_name)


FORMATS = (
    FileFormat(
        "search responses",
        priority=-3,
        recognises=is_response,
        read_run=read_run,
        read_qrels=read_qrels,
        listed=False,
    ),
)
