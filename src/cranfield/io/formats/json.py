"""JSON and JSON Lines: runs and judgments as nested objects or as rows, documents as one object per line.

JSON of other programs, by its keys: search responses, judgment lists, predictions, and TREC RAG.

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
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial, reduce
from typing import Any

import numpy as np

from cranfield.errors import InputError, available
from cranfield.io.columns import COLUMN_NAMES, RANKINGS, Columns, normalise_name, number, strings_of
from cranfield.io.documents import (
    NUL_IN_LINE,
    Block,
    Documents,
    DocumentsBuilder,
    FieldChoice,
    Fields,
    TextReader,
    encode_text,
    field_list,
    join_text_columns,
)
from cranfield.io.faults import Fault, FaultList, Location, TableKind, fault_text, quotable
from cranfield.io.streams import BOM, ContentKind, FileFormat, Roles, Stream, WritableTable, reject_columns
from cranfield.io.tables import ROWS_PER_PIECE, from_object, read_rows
from cranfield.io.write import check_ids

# A query id may begin with a bracket, so the next character decides.
_BEGINNING = re.compile(rb'\s*(?:\{\s*["}]|\[\s*[{\]]|\[\s*\[\s*(?:["\[{\]]|-?\d+\s*[,\]]))')


def is_json(stream: Stream, _kind: ContentKind = "run", _columns: Roles = None) -> bool:
    """Whether the first bytes of a stream are JSON."""
    return _BEGINNING.match(stream.head.removeprefix(BOM)) is not None


def read_json(kind: TableKind, stream: Stream, name: str, columns: Roles) -> Any:
    """A run or judgments from nested objects or from rows."""
    if is_json_lines(stream):
        return read_rows(kind, lambda: parse_json_lines(stream), name, columns, stream.source_name)
    value = read_value(stream)
    if isinstance(value, list) and value and isinstance(value[0], list):  # the rankings of queries 1, 2, 3, ...
        return from_object(kind, value, name, columns, stream.source_name)
    content = _rows_or_objects(value, stream)
    if not (content.names if isinstance(content, Columns) else content):
        raise InputError([f"{stream.source_name}: the file has no rows"])
    return from_object(kind, content, name, columns, stream.source_name)


class InvalidJson(ValueError):
    """Text that is not JSON; ``line`` counts from 1 within the text, 0 if it is unknown."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.reason, self.line = reason, line


def load_json(text: str, *, unique: bool = True) -> Any:
    """The value of a JSON text; every way in which it can be wrong is an `InvalidJson`.

    ``unique``: a key that appears twice in one object is an error.
    """
    import json

    try:
        return json.loads(text, object_pairs_hook=_unique_keys if unique else None)
    except json.JSONDecodeError as error:
        raise InvalidJson(f"invalid JSON: {error.msg.lower()} at column {error.colno}", error.lineno) from error
    except InvalidJson:
        raise
    except ValueError as error:
        raise InvalidJson("invalid JSON: a number has thousands of digits") from error
    except RecursionError as error:
        raise InvalidJson("the JSON is nested too deeply") from error


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        repeated = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise InvalidJson(f"`{quotable(repeated)}` appears twice in one object")
    return result


def parse_json(stream: Stream) -> Mapping[Any, Any] | Columns:
    """The content of a JSON file: nested objects as they are, rows as columns."""
    if is_json_lines(stream):
        frame, faults = next(parse_json_lines(stream, sys.maxsize))
        FaultList(faults).raise_if_any(Location(stream.source_name, "qrels"))
        return frame
    return _rows_or_objects(read_value(stream), stream)


def read_value(stream: Stream) -> Any:
    """The value of a file that is one JSON text."""
    return parse_value(stream.read_text(), stream.source_name)


def parse_value(text: str, source_name: str, line: int = 1) -> Any:
    """The value of a JSON text that begins in this line of a file; an error names the file and the line."""
    try:
        return load_json(text)
    except InvalidJson as error:
        where = f"{source_name}:{line + error.line - 1}" if error.line else source_name
        raise InputError([f"{where}: {error.reason}"]) from error


def _rows_or_objects(value: Any, stream: Stream) -> Mapping[Any, Any] | Columns:
    if isinstance(value, list):
        return _frame(value, stream.source_name)
    return _frame([value], stream.source_name) if _is_row(value) else dict(value)


def _is_row(value: dict[str, Any]) -> bool:
    """Whether this is a row, and not {query: [document, ...]} or the like."""
    inner = [type(value) for value in value.values()]
    column_names = {name for names in COLUMN_NAMES.values() for name in names}
    named = not all(kind is str for kind in inner) or any(normalise_name(key) in column_names for key in value)
    return bool(value) and named and not any(kind is dict for kind in inner) and not all(kind is list for kind in inner)


def is_json_lines(stream: Stream) -> bool:
    """Whether the first line is a complete object and more lines follow."""
    with stream.text_lines(newline="\n") as lines:
        rest = filter(str.strip, lines)
        first, second = next(rest, ""), next(rest, "")
    try:
        return bool(second) and isinstance(load_json(first, unique=False), dict)
    except InvalidJson as error:
        return "digits" in error.reason  # of an object that is otherwise complete


def parse_json_lines(stream: Stream, rows: int | None = None) -> Iterator[tuple[Columns, list[Fault]]]:
    """The objects of a file, one per line, so many at a time; some thousand by default."""
    records: list[dict[str, Any]] = []
    numbers: list[int] = []
    faults: list[Fault] = []
    with stream.text_lines(newline="\n") as lines:
        for number, text in enumerate(lines, 1):
            if not text.strip():
                continue
            try:
                record = load_json(text.rstrip("\r\n"))
            except InvalidJson as error:
                faults.append(Fault(number, "syntax", b"", fault_text(error.reason), 0))
                continue
            if isinstance(record, dict):
                records.append(record)
                numbers.append(number)
            else:
                faults.append(Fault(number, "object", b"", fault_text(repr(record))[:80], 0))
            if len(records) >= (rows or ROWS_PER_PIECE):
                yield Columns.of_records(records, np.array(numbers, np.int64)), faults
                records, numbers, faults = [], [], []
    yield Columns.of_records(records, np.array(numbers, np.int64)), faults


def _frame(rows: list[Any], source_name: str) -> Columns:
    faults = [
        f"{source_name}: row {row}: expected an object"
        for row, value in enumerate(rows, 1)
        if not isinstance(value, dict)
    ]
    if faults:
        raise InputError(faults)
    return Columns.of_records(rows)


def write_json(table: WritableTable) -> Iterator[bytes]:
    """Nested objects."""
    yield _dump(table.nested()) + b"\n"


def write_json_lines(table: WritableTable) -> Iterator[bytes]:
    """One object per row."""
    check_ids(table)
    names = tuple(table.columns)
    return (_dump(dict(zip(names, row, strict=True))) + b"\n" for row in table.rows())


def _dump(value: Any) -> bytes:
    import json

    # ASCII, because ids that are not UTF-8 are then read back unchanged.
    return json.dumps(value).encode("ascii")


_NO_FIELDS = Fields("", ())  # if no line is a record, every line is a fault


class JsonLines(TextReader):
    """Documents, one JSON object per line. The first record decides the names of the fields; others may have more.

    PyArrow parses a block at a time and releases the interpreter's lock. A block that it cannot parse, or that is
    unusual in any way, is parsed line by line: that parser defines what is valid.
    """

    def __init__(self, stream: Stream, choice: FieldChoice) -> None:
        super().__init__(stream)
        self.choice = choice
        self.fields = _NO_FIELDS
        self.arrow = available("pyarrow") is not None

    def blocks(self) -> Iterator[Block]:
        for block in super().blocks():
            if self.fields is _NO_FIELDS:
                self.fields = self._find_fields(block)
            yield block

    def parse(self, block: Block) -> Documents:
        documents = parse_block(block, self.fields) if self.arrow else None
        return parse_lines(block, self.fields) if documents is None else documents

    def _find_fields(self, block: Block) -> Fields:
        for _, text in block.text_lines():
            try:
                record = _parse_line(text)
            except _InvalidLine:
                continue
            if isinstance(record, dict):
                return self.choice.resolve(list(record), self.source_name, same_fields=False)
        if block.content.removeprefix(BOM).lstrip().startswith(b"["):
            message = f"{self.source_name}: the documents are in one JSON list"
            raise InputError([message], hint="write one object per line, without brackets and commas")
        return _NO_FIELDS


class _InvalidLine(Exception):
    """Why a line is not a document."""


def parse_lines(block: Block, fields: Fields) -> Documents:
    """The documents of a block, line by line."""
    documents = DocumentsBuilder()
    for line, text in block.text_lines():
        try:
            name, body = _document(_parse_line(text), fields)
        except _InvalidLine as reason:
            documents.fault(line, str(reason))
        else:
            documents.add(line, name, encode_text(body))
    return documents.build()


def _parse_line(text: bytes) -> Any:
    if b"\0" in text:
        raise _InvalidLine(NUL_IN_LINE)
    try:
        return load_json(text.decode("utf-8", "surrogateescape"))
    except InvalidJson as error:
        raise _InvalidLine(error.reason) from error


def _document(record: Any, fields: Fields) -> tuple[str, str]:
    """The id and the text of a record."""
    if not isinstance(record, dict):
        raise _InvalidLine(f"expected an object, found {quotable(repr(record))}")
    if fields.id not in record:
        raise _InvalidLine(f"there is no field `{quotable(fields.id)}`")
    name = record[fields.id]
    if isinstance(name, int) and not isinstance(name, bool):
        name = str(name)
    if not isinstance(name, str) or not name:
        raise _InvalidLine(f"the id must be text, found {quotable(repr(name))}")
    present = [field for field in fields.texts if field in record]
    if not present:
        raise _InvalidLine(f"no field for the text; {field_list(list(record))}")
    return name, "\n".join(_text(record[field], field) for field in present if record[field] is not None)


def _text(value: Any, field: str) -> str:
    parts = value if isinstance(value, list) else [value]
    if not all(isinstance(part, str) for part in parts):
        raise _InvalidLine(f"the field `{quotable(field)}` must be text, found {quotable(repr(value))}")
    return "\n".join(parts)


def parse_block(block: Block, fields: Fields) -> Documents | None:
    """The same with PyArrow; None if the block is unusual in any way."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.json as pj

    content = block.content.removeprefix(BOM) if block.line == 1 else block.content
    # Line numbers are right only if every line begins an object and there are no other objects. PyArrow crashes where
    # there is a null instead.
    lines = content.count(b"\n") + (not content.endswith(b"\n"))
    objects = content.startswith(b"{") + content.count(b"\n{")
    if b"\0" in content or not fields.texts or objects != lines:
        return None
    columns = dict.fromkeys((fields.id, *fields.texts))
    parse_options = pj.ParseOptions(
        explicit_schema=pa.schema([(name, pa.string()) for name in columns]), unexpected_field_behavior="ignore"
    )
    read_options = pj.ReadOptions(use_threads=False, block_size=len(content) + 1)
    try:
        table = pj.read_json(pa.BufferReader(content), read_options=read_options, parse_options=parse_options)
    except (pa.ArrowException, UnicodeError):
        return None
    ids, texts = table.column(fields.id), [table.column(name) for name in fields.texts]
    if len(table) != lines:
        return None
    without_id = ids.null_count or pc.any(pc.equal(pc.binary_length(ids), 0)).as_py()
    if without_id or pc.any(reduce(pc.and_, map(pc.is_null, texts))).as_py():
        return None
    joined = join_text_columns([text for text in texts if text.null_count < len(text)])
    names = list(strings_of(ids.cast(pa.large_binary())))
    return Documents(range(block.line, block.line + len(names)), names, joined.offsets, joined.data)


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
    if is_json_lines(stream):
        lines = enumerate(stream.read_text().split("\n"), 1)
        return [parse_value(line, stream.source_name, number) for number, line in lines if line.strip()]
    value = read_value(stream)
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

_RESPONSE = rb'"(?:took|hits|responses|metric_score)"\s*:'
_INSIDE = rb'"(?:hits|responses|details)"\s*:\s*[\[{]'
_REQUEST = rb'"requests"\s*:\s*\['
_RATINGS = rb'"judgmentRatings"\s*:\s*\['


def _is_response(head: bytes) -> bool:
    is_response = re.search(_RESPONSE, head[:400]) is not None and re.search(_INSIDE, head) is not None
    return is_response and not _is_predictions(head)


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
            (entry["query"], [(rating["docId"], _grade(rating["rating"])) for rating in entry["ratings"]])
            for entry in _find(read_value(stream), "judgmentRatings")
        ]
        return _by_query(entries, stream)


def _grade(rating: Any) -> Any:
    """A grade that may be text; what is no number is reported with its document."""
    grade = number(rating, text=True)
    return rating if grade is None else grade


def _find(value: Any, key: str) -> list[Any]:
    """The items of all lists under a key, however deep."""
    values, left = [], [value]
    while left:
        value = left.pop()
        if isinstance(value, dict) and isinstance(value.get(key), list):
            values += value[key]
        elif isinstance(value, dict):
            left += reversed(value.values())
        elif isinstance(value, list):
            left += reversed(value)
    return values


# sentence-transformers

_RESULTS = rb'"(?:%s)"\s*:\s*\[' % "|".join(RANKINGS).encode()
_QUERY = rb'^\s*\[?\s*\{[^{\[]*"(?:%s)"\s*:' % "|".join(COLUMN_NAMES["query"]).encode()


def _is_predictions(head: bytes) -> bool:
    return bool(re.search(_QUERY, head) and re.search(_RESULTS, head))


# TREC RAG

GRADES = {"vital": 2, "okay": 1}
SUPPORT = {"support": 1.0, "partial_support": 0.5, "not_support": None}
QUERY_FIELDS = ("qid", "topic_id", "narrative_id", "query_id")
_NUGGETS = rb'"nuggets"\s*:\s*\['
_ANSWERS = rb'"(?:nuggets|references)"\s*:\s*\['


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
    FileFormat(
        "JSON",
        priority=1,
        recognises=is_json,
        read_run=partial(read_json, "run"),
        read_qrels=partial(read_json, "qrels"),
        read_documents=JsonLines,
        writers={".json": write_json, ".jsonl": write_json_lines},
        extensions=(".json", ".jsonl"),
        document_extensions=(".jsonl", ".json", ".ndjson"),
        document_name="JSON Lines",
    ),
    _format("judgment lists", -5, None, (partial(re.search, _RATINGS), _judgment_list)),
    _format("TREC RAG", -4, (partial(re.search, _ANSWERS), _answers), (partial(re.search, _NUGGETS), _importance)),
    _format("search responses", -3, (_is_response, _responses), (partial(re.search, _REQUEST), _request)),
    _format("sentence-transformers predictions", -2, (_is_predictions, _read_json_lines), None),
)
