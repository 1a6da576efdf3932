"""A JSON object in each line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import reduce
from typing import Any

from cranfield.errors import InputError
from cranfield.io.detect import BOM
from cranfield.io.documents import NUL, Block, Choice, Documents, Faults, Fields, encoded, joined, there
from cranfield.io.faults import shown
from cranfield.io.optional import available
from cranfield.io.streams import Opened
from cranfield.io.tables import strings_of
from cranfield.io.text_blocks import TextBlocks

_UNKNOWN = Fields("", ())  # where no line is a record, each is a fault, whatever the fields


class JsonLines:
    """Records that name their fields; how these are spelled is told by the first one, others may have more of them.

    PyArrow parses whole blocks without the interpreter's lock. Where it stumbles the block is read line by line,
    and that way is the rule: it says what is right, and what is wrong.
    """

    unit = "line"

    def __init__(self, stream: Opened, choice: Choice) -> None:
        self.place = stream.place
        self.text = TextBlocks(stream)
        self.bytes = self.text.bytes
        self.choice = choice
        self.fields = _UNKNOWN
        self.arrow = available("pyarrow") is not None

    def blocks(self) -> Iterator[Block]:
        for block in self.text:
            if self.fields is _UNKNOWN:
                self.fields = self._fields(block)
            yield block

    def parse(self, block: Block) -> Documents:
        found = fast(block, self.fields) if self.arrow else None
        return slow(block, self.fields) if found is None else found

    def _fields(self, block: Block) -> Fields:
        for _, text in _lines(block):
            try:
                record = _record(text)
            except _Wrong:
                continue
            if isinstance(record, dict):
                return self.choice.of(list(record), self.place, alike=False)
        if block.content.removeprefix(BOM).lstrip().startswith(b"["):
            raise InputError([f"{self.place}: a list of objects"], hint="write one object in each line, without commas")
        return _UNKNOWN


class _Wrong(Exception):
    """Why a line is no document."""


def slow(block: Block, fields: Fields) -> Documents:
    """The documents of a block, line by line."""
    faults, lines, names, texts = Faults(), list[int](), list[str](), list[bytes]()
    for line, text in _lines(block):
        try:
            name, body = _document(_record(text), fields)
        except _Wrong as wrong:
            faults.add(line, str(wrong))
            continue
        lines.append(line)
        names.append(name)
        texts.append(encoded(body))
    return Documents.of(lines, names, texts, faults)


def _lines(block: Block) -> Iterator[tuple[int, bytes]]:
    content = block.content.removeprefix(BOM) if block.line == 1 else block.content
    return ((line, text) for line, text in enumerate(content.split(b"\n"), block.line) if text.strip())


def _record(text: bytes) -> Any:
    if b"\0" in text:
        raise _Wrong(NUL)
    try:
        return json.loads(text.decode("utf-8", "surrogateescape"))
    except json.JSONDecodeError as error:
        raise _Wrong(f"this is not JSON: {error.msg.lower()} at column {error.colno}") from error
    except ValueError as error:  # a number of thousands of digits
        raise _Wrong(f"this cannot be read as JSON: {error}") from error
    except RecursionError as error:
        raise _Wrong("the JSON is nested too deeply to be a document") from error


def _document(record: Any, fields: Fields) -> tuple[str, str]:
    if not isinstance(record, dict):
        raise _Wrong(f"expected an object, found {shown(repr(record))}")
    if fields.id not in record:
        raise _Wrong(f"there is no field `{shown(fields.id)}`")
    name = record[fields.id]
    if isinstance(name, int) and not isinstance(name, bool):
        name = str(name)
    if not isinstance(name, str) or not name:
        raise _Wrong(f"the id must be text, found {shown(repr(name))}")
    found = [field for field in fields.texts if field in record]
    if not found:
        raise _Wrong(f"no field for the text; {there(list(record))}")
    return name, "\n".join(_text(record[field], field) for field in found if record[field] is not None)


def _text(value: Any, field: str) -> str:
    parts = value if isinstance(value, list) else [value]
    if not all(isinstance(part, str) for part in parts):
        raise _Wrong(f"the field `{shown(field)}` must be text, found {shown(repr(value))}")
    return "\n".join(parts)


def fast(block: Block, fields: Fields) -> Documents | None:
    """The same by PyArrow; None where there is anything out of the ordinary."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.json as pj

    content = block.content.removeprefix(BOM) if block.line == 1 else block.content
    if b"\0" in content or not fields.texts:
        return None
    columns = dict.fromkeys((fields.id, *fields.texts))
    parsing = pj.ParseOptions(
        explicit_schema=pa.schema([(name, pa.string()) for name in columns]), unexpected_field_behavior="ignore"
    )
    options = pj.ReadOptions(use_threads=False, block_size=len(content) + 1)
    try:
        table = pj.read_json(pa.BufferReader(content), read_options=options, parse_options=parsing)
    except (pa.ArrowException, UnicodeError):
        return None
    ids, texts = table.column(fields.id), [table.column(name) for name in fields.texts]
    # An object begins in each line, and there are no more: else the lines that are told would be others.
    begun = content.startswith(b"{") + content.count(b"\n{")
    if not len(table) == begun == content.count(b"\n") + (not content.endswith(b"\n")):
        return None
    nameless = ids.null_count or pc.any(pc.equal(pc.binary_length(ids), 0)).as_py()
    if nameless or pc.any(reduce(pc.and_, map(pc.is_null, texts))).as_py():
        return None
    together = joined([text for text in texts if text.null_count < len(text)])
    names = list(strings_of(ids.cast(pa.large_binary())))
    return Documents(range(block.line, block.line + len(names)), names, together.offsets, together.data)
