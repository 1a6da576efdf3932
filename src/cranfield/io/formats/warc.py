"""WARC: web pages as crawled, such as ClueWeb. The id of a page is its WARC-TREC-ID, or else its WARC-Record-ID.

Of each response, the text outside of tags is read. Requests and metadata are left out; a page that is not text, such as
an image, has no words.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from cranfield.io.documents import (
    BLOCK_BYTES,
    MAX_RECORD_BYTES,
    Block,
    Documents,
    DocumentsBuilder,
    FieldChoice,
    encode_text,
    position_on_disk,
    size_on_disk,
)
from cranfield.io.formats.trec import html_text
from cranfield.io.streams import BOM, ContentKind, FileFormat, Roles, Stream

PAGES = (b"response", b"resource", b"conversion")
HEADER_BYTES = 1 << 16  # a header is shorter; otherwise this is not WARC
_VERSION = rb"WARC/\d"
_CHARSET = rb"(?i)charset\s*=[\s\"']*([\w.:-]+)"
# Python decodes these, but no page is written in them; punycode takes time that grows with the square of a page.
NOT_OF_PAGES = ("punycode", "idna", "unicode-escape", "raw-unicode-escape", "undefined")


class WarcRecord(NamedTuple):
    """One record: its number, from 1, its header fields by lower-case name, and its content; a fault if it has one."""

    number: int
    fields: dict[bytes, bytes]
    content: bytes
    fault: str = ""


def is_warc(stream: Stream, kind: ContentKind, _columns: Roles = None) -> bool:
    """Whether the first bytes are those of a WARC record."""
    return kind == "documents" and re.match(_VERSION, stream.head.removeprefix(BOM).lstrip()) is not None


class Warc:
    """The pages of a WARC file."""

    unit = "record"

    def __init__(self, stream: Stream, choice: FieldChoice) -> None:
        self.source_name, self._stream = stream.source_name, stream
        choice.reject(self.source_name)
        self.bytes = size_on_disk(stream)

    def blocks(self) -> Iterator[Block]:
        with self._stream.open() as raw:
            file = io.BufferedReader(raw)
            block: list[WarcRecord] = []
            size = 0
            for record in records(file):
                block.append(record)
                size += len(record.content)
                if size >= BLOCK_BYTES:
                    yield Block(block[0].number, block, position_on_disk(raw))
                    block, size = [], 0
            if block:
                yield Block(block[0].number, block, position_on_disk(raw))

    def parse(self, block: Block) -> Documents:
        documents = DocumentsBuilder()
        for record in block.content:
            if record.fault:
                documents.fault(record.number, record.fault)
                continue
            if record.fields.get(b"warc-type", b"").lower() not in PAGES:
                continue
            name = record.fields.get(b"warc-trec-id") or record.fields.get(b"warc-record-id", b"").strip(b"<>")
            if not name:
                documents.fault(record.number, "the record has no id: WARC-TREC-ID is missing")
            else:
                documents.add(record.number, name, page_text(record))
        return documents.build()


def records(file: Any) -> Iterator[WarcRecord]:
    """The records of a file. What follows a record up to the next one belongs to it, whatever its length says."""
    number, line = 0, _next_version(file, bytearray())
    while line:
        number += 1
        fields, fault = _fields(file)
        length = fields.get(b"content-length", b"")
        if not fault and not length.isdigit():
            fault = "the record has no length: Content-Length is missing"
        elif not fault and (len(length) > 18 or int(length) > MAX_RECORD_BYTES):
            fault = f"the record is longer than {MAX_RECORD_BYTES >> 20} MiB"
        content = file.read(int(length)) if not fault else b""
        if not fault and len(content) < int(length):
            fault = f"the record ends after {len(content):,} of {int(length):,} bytes"
        more = bytearray()
        line = _next_version(file, more)
        if more.strip():
            content += more
        yield WarcRecord(number, fields, content, fault)


def _next_version(file: Any, skipped: bytearray) -> bytes:
    """The line that begins the next record, or b"" at the end; lines before it are appended to ``skipped``."""
    while line := bytes(file.readline()):
        if re.match(_VERSION, line.removeprefix(BOM) if not skipped else line):
            return line
        skipped += line
    return b""


def _fields(file: Any) -> tuple[dict[bytes, bytes], str]:
    fields: dict[bytes, bytes] = {}
    size = 0
    while line := file.readline(HEADER_BYTES):
        size += len(line)
        if size > HEADER_BYTES:
            return fields, "the header of the record does not end"
        if not line.strip():
            return fields, ""
        name, colon, value = line.partition(b":")
        if colon:
            fields.setdefault(name.strip().lower(), value.strip())
    return fields, "the header of the record does not end"


def page_text(record: WarcRecord) -> bytes:
    """The text of a page as UTF-8; empty if it is not text."""
    header, body = b"", record.content
    if body.startswith(b"HTTP/"):
        end = re.search(rb"\r?\n\r?\n", body)
        header, body = (body[: end.start()], body[end.end() :]) if end else (body, b"")
    media = _media_type(header) or record.fields.get(b"content-type", b"").lower()
    if media and not media.startswith((b"text/", b"application/http", b"application/xhtml", b"application/xml")):
        return b""
    charset = re.search(_CHARSET, header) or re.search(_CHARSET, body[:2048])
    body = _as_utf8(body, charset[1].decode("ascii", "replace") if charset else "").replace(b"\0", b" ")
    return body if media.startswith(b"text/plain") else html_text(body)


def _media_type(header: bytes) -> bytes:
    for line in header.splitlines():
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-type":
            return value.strip().lower()
    return b""


def _as_utf8(text: bytes, charset: str) -> bytes:
    """Text in another encoding as UTF-8; unchanged if the encoding is unknown."""
    if not charset or charset.lower().replace("-", "").replace("_", "") in ("utf8", "ascii", "usascii"):
        return text
    try:
        is_text = codecs.lookup(charset).name not in NOT_OF_PAGES
        return encode_text(text.decode(charset, "replace")) if is_text else text
    except (LookupError, UnicodeError):
        return text


FORMATS = (FileFormat("WARC", priority=-1, recognises=is_warc, read_documents=Warc, document_extensions=(".warc",)),)
