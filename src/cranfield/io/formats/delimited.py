"""Fields with tabs between them, a document in each line. There are no quotes: what looks like one is text."""

from __future__ import annotations

from collections.abc import Iterator

from cranfield.io.detect import BOM
from cranfield.io.documents import IDS, NUL, TEXTS, Block, Choice, Documents, Faults
from cranfield.io.streams import Opened
from cranfield.io.text_blocks import TextBlocks


class TabSeparated:
    """With a first line that names the fields, or without one: then the id comes first and all else is text."""

    unit = "line"

    def __init__(self, stream: Opened, choice: Choice) -> None:
        self.place = stream.place
        self.text = TextBlocks(stream)
        self.bytes = self.text.bytes
        first = stream.head.removeprefix(BOM).partition(b"\n")[0].rstrip(b"\r").decode("utf-8", "surrogateescape")
        names = first.split("\t")
        low = {name.strip().lower() for name in names}
        self.headed = bool(choice.id or choice.texts) or not (low.isdisjoint(IDS) or low.isdisjoint(TEXTS))
        self.width = 0
        self.id, self.columns = 0, [0]
        if self.headed:
            fields = choice.of(names, self.place)
            self.width = len(names)
            self.id, self.columns = names.index(fields.id), [names.index(name) for name in fields.texts]

    def blocks(self) -> Iterator[Block]:
        return iter(self.text)

    def parse(self, block: Block) -> Documents:
        faults, lines, names, texts = Faults(), list[int](), list[str](), list[bytes]()
        content = block.content.removeprefix(BOM) if block.line == 1 else block.content
        for line, text in enumerate(content.split(b"\n"), block.line):
            if not text.strip() or (line == 1 and self.headed):
                continue
            cells = text.rstrip(b"\r").split(b"\t")
            if b"\0" in text:
                faults.add(line, NUL)
            elif self.headed and len(cells) != self.width:
                faults.add(line, f"expected {self.width} fields as in the first line, found {len(cells)}")
            elif len(cells) < 2:
                faults.add(line, "expected an id, a tab and a text, found no tab")
            elif not cells[self.id]:
                faults.add(line, "the id is empty")
            else:
                lines.append(line)
                names.append(cells[self.id].decode("utf-8", "surrogateescape"))
                texts.append(b"\n".join([cells[i] for i in self.columns] if self.headed else cells[1:]))
        return Documents.of(lines, names, texts, faults)
