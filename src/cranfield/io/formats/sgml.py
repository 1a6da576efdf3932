"""TREC's collections: ``<DOC> <DOCNO>id</DOCNO> ... </DOC>``, with the text in certain elements or in all of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cranfield.io.detect import Columns, ContentKind, FileFormat
from cranfield.io.documents import Block, Documents, DocumentsBuilder, FieldChoice, TextBlocks, encode_text
from cranfield.io.formats.delimited import delimiter_of
from cranfield.io.streams import Stream

TEXT_ELEMENTS = ("TITLE", "HEADLINE", "HEAD", "HL", "TTL", "LP", "LEADPARA", "TEXT")
DOC_TAG = re.compile(rb"<DOC>", re.IGNORECASE)
_DOCUMENT = re.compile(rb"<DOC>(.*?)(?:(</DOC>)|(?=<DOC>)|\Z)", re.IGNORECASE | re.DOTALL)
_DOCNO = re.compile(rb"<DOCNO>\s*(.*?)\s*</DOCNO>", re.IGNORECASE | re.DOTALL)
_METADATA = re.compile(rb"<(DOCNO|DOCHDR|DOCID|DOCOLDNO|FILEID)>.*?</\1>", re.IGNORECASE | re.DOTALL)
_INVISIBLE = re.compile(rb"<!--.*?-->|<(script|style)\b.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(rb"<[^<>]*>")


def is_sgml(stream: Stream, kind: ContentKind, _columns: Columns = None) -> bool:
    """Whether a collection has a <DOC> tag in its first bytes; a .tsv file may be about such tags."""
    return kind == "documents" and DOC_TAG.search(stream.head) is not None and delimiter_of(stream.source_name) != "\t"


class Sgml:
    """Newswire and web pages. A document with a TEXT element has its text in the named elements; others everywhere."""

    unit = "line"

    def __init__(self, stream: Stream, choice: FieldChoice) -> None:
        self.source_name = stream.source_name
        tag = DOC_TAG.search(stream.head)
        self.text = TextBlocks(stream, b"</doc>" if tag and tag[0] == b"<doc>" else b"</DOC>")
        self.bytes = self.text.bytes
        names = b"|".join(re.escape(name.encode("utf-8", "surrogateescape")) for name in choice.texts or TEXT_ELEMENTS)
        self.elements = re.compile(rb"<(" + names + rb")(?:\s[^<>]*)?>(.*?)</\1\s*>", re.IGNORECASE | re.DOTALL)
        self.elements_chosen = choice.texts is not None

    def blocks(self) -> Iterator[Block]:
        return iter(self.text)

    def parse(self, block: Block) -> Documents:
        documents = DocumentsBuilder()
        line, counted_to = block.line, 0
        for match in _DOCUMENT.finditer(block.content):
            line += block.content.count(b"\n", counted_to, match.start())
            counted_to = match.start()
            docno = _DOCNO.search(match[1])
            if match[2] is None:
                documents.faults.add(line, "the document has no end: </DOC> is missing")
            elif docno is None or not docno[1]:
                documents.faults.add(line, "the document has no id: <DOCNO> is missing")
            elif b"\0" in match[1]:
                documents.faults.add(line, "the document contains a NUL byte; this is not text")
            else:
                documents.add(line, docno[1], self._text(match[1]))
        return documents.build()

    def _text(self, document: bytes) -> bytes:
        parts = [element[2] for element in self.elements.finditer(document)]
        if not self.elements_chosen and b"<text>" not in document.lower():
            return html_text(_METADATA.sub(b" ", document))
        return without_tags(b"\n".join(parts))


def html_text(page: bytes) -> bytes:
    """The text of a page outside of tags, comments, scripts and styles."""
    return without_tags(_INVISIBLE.sub(b" ", page))


def without_tags(markup: bytes) -> bytes:
    """Text without tags, and with characters in place of entities."""
    text = _TAG.sub(b" ", markup)
    if b"&" not in text:
        return text
    import html

    return encode_text(html.unescape(text.decode("utf-8", "surrogateescape")))


FORMATS = (
    FileFormat(
        "TREC <DOC>",
        priority=2,
        recognises=is_sgml,
        read_documents=Sgml,
        document_extensions=(".sgml", ".sgm", ".trec"),
    ),
)
