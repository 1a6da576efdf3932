"""JSON and JSON Lines: runs and judgments as nested objects or as rows, documents as one object per line."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from functools import partial, reduce
from typing import Any

import numpy as np

from cranfield.errors import InputError, available
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
from cranfield.io.objects import from_object
from cranfield.io.streams import BOM, ContentKind, FileFormat, Roles, Stream, WritableTable
from cranfield.io.tables import COLUMN_NAMES, ROWS_PER_PIECE, Columns, normalise_name, read_rows, strings_of
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
    known = {name for names in COLUMN_NAMES.values() for name in names}
    named = not all(kind is str for kind in inner) or any(normalise_name(key) in known for key in value)
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
            documents.faults.add(line, str(reason))
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
)
