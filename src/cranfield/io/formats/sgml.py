"""TREC's own: ``<DOC> <DOCNO>id</DOCNO> ... </DOC>``, with the text in named elements or all over the document."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from cranfield.io.documents import Block, Choice, Documents, Faults, encoded
from cranfield.io.streams import Opened
from cranfield.io.text_blocks import TextBlocks

TEXTS = ("TITLE", "HEADLINE", "HEAD", "HL", "TTL", "LP", "LEADPARA", "TEXT")
BEGIN = re.compile(rb"<DOC>", re.IGNORECASE)
_DOCUMENT = re.compile(rb"<DOC>(.*?)(?:(</DOC>)|(?=<DOC>)|\Z)", re.IGNORECASE | re.DOTALL)
_NAME = re.compile(rb"<DOCNO>\s*(.*?)\s*</DOCNO>", re.IGNORECASE | re.DOTALL)
_ASIDE = re.compile(rb"<(DOCNO|DOCHDR|DOCID|DOCOLDNO|FILEID)>.*?</\1>", re.IGNORECASE | re.DOTALL)
_HIDDEN = re.compile(rb"<!--.*?-->|<(script|style)\b.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(rb"<[^<>]*>")


class Sgml:
    """Newswire and crawled pages: of a document with a TEXT the named elements, of others all that is no tag."""

    unit = "line"

    def __init__(self, stream: Opened, choice: Choice) -> None:
        self.place = stream.place
        small = BEGIN.search(stream.head)
        self.text = TextBlocks(stream, b"</doc>" if small and small[0] == b"<doc>" else b"</DOC>")
        self.bytes = self.text.bytes
        names = b"|".join(re.escape(name.encode("utf-8", "surrogateescape")) for name in choice.texts or TEXTS)
        self.elements = re.compile(rb"<(" + names + rb")(?:\s[^<>]*)?>(.*?)</\1\s*>", re.IGNORECASE | re.DOTALL)
        self.chosen = choice.texts is not None

    def blocks(self) -> Iterator[Block]:
        return iter(self.text)

    def parse(self, block: Block) -> Documents:
        faults, lines, names, texts = Faults(), list[int](), list[str](), list[bytes]()
        line, counted = block.line, 0
        for found in _DOCUMENT.finditer(block.content):
            line += block.content.count(b"\n", counted, found.start())
            counted = found.start()
            name = _NAME.search(found[1])
            if found[2] is None:
                faults.add(line, "the document has no end: there is no </DOC>")
            elif name is None or not name[1]:
                faults.add(line, "the document has no id: there is no <DOCNO>")
            elif b"\0" in found[1]:
                faults.add(line, "this is not text: there is a NUL byte in the document")
            else:
                lines.append(line)
                names.append(name[1].decode("utf-8", "surrogateescape"))
                texts.append(self._text(found[1]))
        return Documents.of(lines, names, texts, faults)

    def _text(self, document: bytes) -> bytes:
        parts = [found[2] for found in self.elements.finditer(document)]
        if not self.chosen and b"<text>" not in document.lower():
            parts = [_HIDDEN.sub(b" ", _ASIDE.sub(b" ", document))]
        text = _TAG.sub(b" ", b"\n".join(parts))
        return encoded(html.unescape(text.decode("utf-8", "surrogateescape"))) if b"&" in text else text
