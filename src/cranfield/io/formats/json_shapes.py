"""JSON of other programs, by its keys: search responses, judgment lists, predictions, and TREC RAG.

Elasticsearch and OpenSearch: a ``_search`` response is the ranking of query 1, ``_msearch`` has those of queries 1, 2,
3, ... The request of ``_rank_eval`` has ratings, which are judgments; its response has the rankings. Judgment lists of
the Search Relevance Workbench have ``judgmentRatings``, with grades as text.

sentence-transformers, and logs of RAG programs: one line ``{query_id, results: [{corpus_id, score}, ...]}`` for each
query; the list may also be called ``hits``, ``retrieved`` or ``ranking``, and have ids only.

TREC RAG: an answer ``{topic_id, references: [document, ...], answer: [...]}`` is a ranking of its references. Nuggets
``{qid, nuggets: [{text, importance}, ...]}`` are judgments: 2 for vital ones, 1 for others. With ``assignment`` they
are also a run: the nuggets that an answer supports, with the score 1, or 0.5 if it supports them in part.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from cranfield.errors import InputError
from cranfield.io.faults import TableKind, quotable
from cranfield.io.formats.json import is_json, parse_value, read_value
from cranfield.io.objects import from_object
from cranfield.io.streams import ContentKind, FileFormat, Roles, Stream, reject_columns
from cranfield.io.tables import COLUMN_NAMES, RANKINGS

Head = Callable[[bytes], Any]  # whether the first bytes of a file have the shape
Value = Callable[[Stream], Any]  # what a file holds, as an object that `objects` reads


def _format(name: str, priority: int, run: tuple[Head, Value] | None, qrels: tuple[Head, Value] | None) -> FileFormat:
    shapes: dict[TableKind, tuple[Head, Value] | None] = {"run": run, "qrels": qrels}

    def recognises(stream: Stream, kind: ContentKind, _columns: Roles = None) -> bool:
        shape = None if kind == "documents" else shapes[kind]
        return shape is not None and is_json(stream) and bool(shape[0](stream.head))

    def read(kind: TableKind, value: Value, stream: Stream, name: str, columns: Roles) -> Any:
        reject_columns(columns)
        return from_object(kind, value(stream), name, None, stream.source_name)

    readers = {f"read_{kind}": partial(read, kind, shape[1]) for kind, shape in shapes.items() if shape}
    return FileFormat(name, priority, recognises, **readers, listed=False)  # type: ignore[arg-type]


def _read_json_lines(stream: Stream) -> list[Any]:
    """The values of JSON Lines, or the items of one JSON list."""
    text = stream.read_text()
    if text.lstrip().startswith("["):
        return list(parse_value(text, stream.source_name))
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    try:
        return [parse_value(line, stream.source_name, number) for number, line in lines]
    except InputError:
        if len(lines) == 1:
            raise
        value = parse_value(text, stream.source_name)  # one object over several lines
        return value if isinstance(value, list) else [value]


@contextmanager
def _expecting(shape: str, stream: Stream) -> Iterator[None]:
    """Raise an error that says which shape was expected, if a value inside has another."""
    try:
        yield
    except (AttributeError, LookupError, TypeError) as error:
        raise InputError([f"{stream.source_name}: expected {shape}"]) from error


def _without_repeats(pairs: Iterable[tuple[Any, Any]], what: str, stream: Stream) -> dict[Any, Any]:
    """A dict of pairs whose keys are all different."""
    result: dict[Any, Any] = {}
    for key, value in pairs:
        if key in result:
            raise InputError([f"{stream.source_name}: {what} `{quotable(str(key))}` appears twice"])
        result[key] = value
    return result


def _by_query(ratings: Iterable[tuple[Any, list[tuple[Any, Any]]]], stream: Stream) -> dict[Any, Any]:
    """The grades of every query; queries and their documents must appear once."""
    graded = ((query, _without_repeats(pairs, f"query `{query}`: document", stream)) for query, pairs in ratings)
    return _without_repeats(graded, "query", stream)


# Elasticsearch and OpenSearch

_RESPONSE = re.compile(rb'"(?:took|hits|responses|metric_score)"\s*:')
_INSIDE = re.compile(rb'"(?:hits|responses|details)"\s*:\s*[\[{]')
_REQUEST = re.compile(rb'"requests"\s*:\s*\[')
_RATINGS = re.compile(rb'"judgmentRatings"\s*:\s*\[')


def _is_response(head: bytes) -> bool:
    known = _RESPONSE.search(head[:400]) is not None and _INSIDE.search(head) is not None
    return known and not _is_predictions(head)


def _responses(stream: Stream) -> Any:
    """The rankings of the responses."""
    value = read_value(stream)
    if isinstance(value, dict) and isinstance(value.get("details"), dict):
        with _expecting("`details`: {query: {hits: [{hit: ...}, ...]}, ...}", stream):
            return {query: [hit["hit"] for hit in detail["hits"]] for query, detail in value["details"].items()}
    return [value] if isinstance(value, dict) and "took" in value and "responses" not in value else value


def _request(stream: Stream) -> dict[Any, Any]:
    """The ratings of a request of ``_rank_eval``."""
    with _expecting("`requests`: [{id, ratings: [{_id, rating}, ...]}, ...]", stream):
        requests = [
            (request["id"], [(rating["_id"], rating["rating"]) for rating in request["ratings"]])
            for request in read_value(stream)["requests"]
        ]
        return _by_query(requests, stream)


def _judgment_list(stream: Stream) -> dict[Any, Any]:
    """The ratings of every query; a judgment list as stored or as the search for it returns it."""
    with _expecting("`judgmentRatings`: [{query, ratings: [{docId, rating}, ...]}, ...]", stream):
        entries = [
            (entry["query"], [(rating["docId"], _grade(rating, entry, stream)) for rating in entry["ratings"]])
            for entry in _find(read_value(stream), "judgmentRatings")
        ]
        return _by_query(entries, stream)


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


# sentence-transformers

_RESULTS = re.compile(rb'"(?:%s)"\s*:\s*\[' % "|".join(RANKINGS).encode())
_QUERY = re.compile(rb'^\s*\[?\s*\{[^{\[]*"(?:%s)"\s*:' % "|".join(COLUMN_NAMES["query"]).encode())


def _is_predictions(head: bytes) -> bool:
    return bool(_QUERY.search(head) and _RESULTS.search(head))


# TREC RAG

GRADES = {"vital": 2, "okay": 1}
SUPPORT = {"support": 1.0, "partial_support": 0.5, "not_support": None}
QUERY_FIELDS = ("qid", "topic_id", "narrative_id", "query_id")
_NUGGETS = re.compile(rb'"nuggets"\s*:\s*\[')
_ANSWERS = re.compile(rb'"(?:nuggets|references)"\s*:\s*\[')


def _answers(stream: Stream) -> dict[Any, Any]:
    """The references of answers, or the nuggets that answers support."""
    records = ((_query(record, stream), _ranking(record, stream)) for record in _read_json_lines(stream))
    shape = "{topic_id, references: [...]} or {qid, nuggets: [{text, assignment}, ...]} for each query"
    with _expecting(shape, stream):
        return _without_repeats(records, "query", stream)


def _importance(stream: Stream) -> dict[Any, Any]:
    """The importance of nuggets."""
    records = (
        (_query(record, stream), _nuggets(record, "importance", GRADES, stream)) for record in _read_json_lines(stream)
    )
    with _expecting("{qid, nuggets: [{text, importance}, ...]} for each query", stream):
        return _without_repeats(records, "query", stream)


def _ranking(record: Any, stream: Stream) -> Any:
    if "nuggets" not in record:
        return record["references"]
    support = _nuggets(record, "assignment", SUPPORT, stream)
    return {text: score for text, score in support.items() if score is not None}


def _nuggets(record: Any, field: str, values: dict[str, Any], stream: Stream) -> dict[str, Any]:
    nuggets = ((nugget["text"], _value(nugget, field, values, stream)) for nugget in record["nuggets"])
    return _without_repeats(nuggets, "nugget", stream)


def _query(record: Any, stream: Stream) -> str:
    name = next((field for field in QUERY_FIELDS if field in record), None)
    if name is None:
        raise InputError([f"{stream.source_name}: no field for the query; the fields are {', '.join(record)}"])
    return str(record[name])


def _value(nugget: Any, field: str, values: dict[str, Any], stream: Stream) -> Any:
    given = nugget.get(field)
    if given not in values:
        text = f"the {field} of a nugget is {quotable(repr(given))}; expected {', '.join(values)}"
        raise InputError([f"{stream.source_name}: {text}"])
    return values[given]


FORMATS = (
    _format("judgment lists", -5, None, (_RATINGS.search, _judgment_list)),
    _format("TREC RAG", -4, (_ANSWERS.search, _answers), (_NUGGETS.search, _importance)),
    _format("search responses", -3, (_is_response, _responses), (_REQUEST.search, _request)),
    _format("sentence-transformers predictions", -2, (_is_predictions, _read_json_lines), None),
)
