"""The top documents of a run, some queries at a time: a long run is never in memory as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from io import BytesIO
from itertools import islice
from typing import Any, NamedTuple

from cranfield.data import Integers, Opener, Run, Strings, TableStream
from cranfield.errors import InputError
from cranfield.io.runs import Joined, empty_index, join

BLOCK = 1 << 22  # bytes of text that are read at once
QUERIES = 10_000  # of a dict that are joined at once


class Piece(NamedTuple):
    """The top documents of some queries: complete tie groups, each with its query and its span of ranks."""

    queries: list[str]
    ids: Strings
    query: Integers
    start: Integers
    size: Integers

    @classmethod
    def of(cls, joined: Joined) -> Piece:
        """The piece of a join without judgments."""
        tops = joined.tops[0]
        return cls(
            list(joined.queries.other), tops.ids, tops.positions.query, tops.positions.start, tops.positions.size
        )


def for_each_piece(run: Run, top: int, begin: Callable[[], Any], add: Callable[[Any, Piece], None]) -> Any:
    """Add up all pieces of a run, from what ``begin`` returns; where a query comes back later, the whole run at once.

    ``top``: documents that may have a rank up to this are in a piece.
    """
    total, seen = begin(), set[str]()
    try:
        for source in _sources(run.source):
            piece = Piece.of(_join(replace(run, source=source), top))
            if not seen.isdisjoint(piece.queries):
                break
            seen.update(piece.queries)
            add(total, piece)
        else:
            return total
    except InputError:
        pass  # in all rows at once, its line numbers are those of the file
    total = begin()
    add(total, Piece.of(_join(run, top)))
    return total


def _join(run: Run, top: int) -> Joined:
    return join(run, empty_index(), ["score"], by_id=False, top=top)


def _sources(source: Any) -> Iterator[Any]:
    """The parts of a source, each with whole queries if these are contiguous."""
    if isinstance(source, TableStream):
        yield from source.pieces()
    elif isinstance(source, Mapping):
        rankings = iter(source.items())
        while part := dict(islice(rankings, QUERIES)):
            yield part
    elif callable(source):
        for text in _blocks(source):
            yield partial(BytesIO, text)
    else:
        yield source


def _blocks(opener: Opener) -> Iterator[bytes]:
    """TREC text in blocks that end where a query ends."""
    opened = opener()
    with open(opened, "rb", buffering=0) if isinstance(opened, int) else opened as file:
        text = b""
        while more := file.read(BLOCK):
            text += more
            end = _last_query(text)
            if end:
                yield text[:end]
                text = text[end:]
    if text.strip():
        yield text


def _last_query(text: bytes) -> int:
    """Where the lines of the last query begin, which may go on in the next block; 0 if it is the first one, too."""
    end = text.rfind(b"\n") + 1
    begin = text.rfind(b"\n", 0, max(end - 1, 0)) + 1
    last = _query(text, begin)
    if last == _query(text, 0):
        return 0
    while _query(text, begin) == last:
        end, begin = begin, text.rfind(b"\n", 0, begin - 1) + 1
    return end


def _query(text: bytes, begin: int) -> list[bytes]:
    """The first column of the line that begins here."""
    return text[begin : text.find(b"\n", begin)].split(None, 1)[:1]
