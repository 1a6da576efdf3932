"""Documents on their way from a source to the count of their words, and what is wrong with those that are none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Protocol

import numpy as np

from cranfield.data import Bytes, Integers, Strings
from cranfield.errors import InputError, UsageError
from cranfield.io.faults import shown
from cranfield.io.tables import strings_of

# What fields are called in the wild. The id is the first of these that there is, the text all of them in this order.
IDS = ("_id", "id", "doc_id", "pid", "docid", "docno", "document_id", "corpus_id")
TEXTS = (
    "title",
    "headings",
    "headline",
    "abstract",
    "text",
    "contents",
    "content",
    "body",
    "passage",
    "segment",
    "snippet",
)

SHOWN = InputError.SHOWN
NUL = "this is not text: there is a NUL byte in the line"


@dataclass(frozen=True)
class Fields:
    """Which field of a record is its id, and which are its text."""

    id: str
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Choice:
    """What somebody said of the fields; None where they are to be guessed."""

    id: str | None = None
    texts: tuple[str, ...] | None = None

    def of(self, names: Sequence[str], place: str, *, alike: bool = True) -> Fields:
        """The fields of records, the first of which has these names; ``alike`` where no other can have more."""
        by_name = {name.strip().lower(): name for name in reversed(names)}
        for name in (self.id, *(self.texts or ())):
            if name is not None and name not in names:
                raise InputError([f"{place}: there is no field `{shown(name)}`; {there(names)}"])
        chosen = self.id or next((by_name[name] for name in IDS if name in by_name), None)
        if chosen is None:
            raise InputError([f"{place}: no field for the id; {there(names)}"], hint="say which it is: --id FIELD")
        texts = self.texts or tuple(by_name[name] for name in TEXTS if name in by_name)
        if not texts:
            raise InputError([f"{place}: no field for the text; {there(names)}"], hint="say which it is: --text FIELD")
        if not alike and self.texts is None:
            texts = tuple(by_name.get(name, name) for name in TEXTS)
        return Fields(chosen, texts)

    def none(self, place: str) -> None:
        """An error where fields were named and there are none."""
        if self.id or self.texts:
            raise UsageError(f"{place}: this has no fields to choose from")


def there(names: Sequence[str]) -> str:
    """The names that records have, for those who looked for another."""
    return f"there are {', '.join(shown(name) for name in names)}" if names else "there are none"


@dataclass
class Faults:
    """The first faults as (line, sentence), and how many there are."""

    shown: list[tuple[int, str]] = field(default_factory=list)
    total: int = 0

    def add(self, line: int, sentence: str) -> None:
        self.total += 1
        if len(self.shown) < SHOWN:
            self.shown.append((line, sentence))


@dataclass
class Documents:
    """Some documents: where each stands in its source, its id and, one after the other, the texts in UTF-8."""

    lines: Sequence[int]
    names: Sequence[str]
    offsets: Integers
    data: Bytes
    faults: Faults = field(default_factory=Faults)

    @classmethod
    def of(cls, lines: Sequence[int], names: Sequence[str], texts: Sequence[bytes], faults: Faults) -> Documents:
        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(text) for text in texts], out=offsets[1:])
        return cls(lines, names, offsets, np.frombuffer(b"".join(texts), np.uint8), faults)


def joined(columns: Sequence[Any]) -> Strings:
    """The texts of each row of Arrow columns, a line each; what is null is left out."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # Arrow would leave out the row of which every text is null, and all texts after it were another document's.
    first, *others = [column.cast(pa.large_binary()) for column in columns]
    silent = reduce(pc.and_, map(pc.is_null, columns))
    first = pc.if_else(silent, pa.scalar(b"", pa.large_binary()), first)
    return strings_of(
        pc.binary_join_element_wise(first, *others, pa.scalar(b"\n", pa.large_binary()), null_handling="skip")
    )


def encoded(text: str) -> bytes:
    # Half of a surrogate pair is no text; as bytes it separates words, as all bytes do that are no UTF-8.
    return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class Block:
    """Some records as they were read: the number of the first one's line, and how far the source is read by now."""

    line: int
    content: Any
    position: int = 0


class Reader(Protocol):
    """One source: its blocks in their order, each to be taken apart by whichever thread is free."""

    place: str
    unit: str  # what a number counts there: "line", "row"
    bytes: int  # to be read in all; 0 where nobody knows

    def blocks(self) -> Iterator[Block]: ...
    def parse(self, block: Block) -> Documents: ...


def located(reader: Reader, line: int) -> str:
    """Where in its source something is."""
    if not line:
        return reader.place
    return f"{reader.place}:{line}" if reader.unit == "line" else f"{reader.place}: {reader.unit} {line}"
