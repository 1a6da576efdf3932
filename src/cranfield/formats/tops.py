"""The first documents of each query of a run, whether anybody judged them or not, without the rest of it in memory."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from cranfield import core
from cranfield.data import Floats, Integers, Opener, Run, Strings, Table
from cranfield.formats.repeats import codes_of

PIECE = 1 << 22  # bytes of text looked at together
LONGEST = 1 << 20  # of a line

# What settles which of the documents tied across the last place are among the first: their ids in descending order,
# the order given, or nothing, so that all of them may be.
Settles = Literal["id", "input", "nothing"]
Entry = tuple[float, bytes]  # low is good; documents of one query, in the order given


@dataclass(frozen=True)
class First:
    """How far down a run is looked at (None: to its end), what orders it, and what settles ties."""

    k: int | None
    key: str
    settles: Settles


def firsts(run: Run, wanted: First) -> dict[str, set[str]]:
    """The documents among the first k of each query; with ties that nothing settles, all that could be.

    A run with faults gives what comes before them: whoever joins it will hear of them all.
    """
    held: dict[bytes, list[Entry]] = {}
    for query, entries in _entries(run, wanted):
        mine = held.setdefault(query, [])
        mine += entries
        # A sort now and then keeps what is held small, however long the list.
        if wanted.k is not None and len(mine) > 4 * wanted.k + 100:
            mine[:] = _first(mine, wanted)
    return {_text(query): {_text(name) for _, name in _first(mine, wanted)} for query, mine in held.items()}


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def _first(entries: list[Entry], wanted: First) -> list[Entry]:
    if wanted.k is None or len(entries) <= wanted.k:
        return entries
    if wanted.settles == "id":
        entries = sorted(entries, key=lambda entry: entry[1], reverse=True)
    entries = sorted(entries, key=lambda entry: entry[0])
    last = entries[wanted.k - 1][0]
    return [e for i, e in enumerate(entries) if i < wanted.k or (wanted.settles == "nothing" and e[0] == last)]


def _entries(run: Run, wanted: First) -> Iterator[tuple[bytes, list[Entry]]]:
    source = run.source
    if isinstance(source, Mapping):
        yield from _of_mapping(source, wanted)
    elif isinstance(source, Table):
        yield from _of_columns(*codes_of(source.query), source.document, source.score, source.rank, wanted)
    else:
        yield from _of_text(source, wanted)


def _of_mapping(source: Mapping[str, Mapping[str, float]], wanted: First) -> Iterator[tuple[bytes, list[Entry]]]:
    for query, ranking in source.items():
        try:
            names = [name.encode("utf-8", "surrogateescape") for name in ranking]
            score = np.array([float(value) for value in ranking.values()], np.float64)
            yield query.encode("utf-8", "surrogateescape"), _listed(names, _values(score, None, wanted))
        except (AttributeError, TypeError, ValueError, OverflowError):
            return


def _listed(names: list[bytes], value: Floats) -> list[Entry]:
    return list(zip(value.tolist(), names, strict=True))


def _values(score: Floats, rank: Floats | None, wanted: First) -> Floats:
    """What orders documents, low first."""
    if wanted.key == "rank":
        return np.arange(len(score), dtype=np.float64) if rank is None else rank
    if wanted.key == "score32":
        with np.errstate(over="ignore"):
            return -score.astype(np.float32).astype(np.float64)
    return -score


def _of_columns(
    queries: Strings, query: Integers, document: Strings, score: Floats, rank: Floats | None, wanted: First
) -> Iterator[tuple[bytes, list[Entry]]]:
    value = _values(score, rank, wanted)
    order = np.lexsort((value, query))
    begin = np.searchsorted(query[order], np.arange(len(queries) + 1))
    if wanted.k is not None:
        # What has k better ones in these rows alone is not among the first.
        sorted_value, place = value[order], np.arange(len(order)) - begin[query[order]]
        last = np.minimum(begin[:-1] + wanted.k, begin[1:]) - 1
        order = order[(place < wanted.k) | (sorted_value <= sorted_value[last[query[order]]])]
        begin = np.searchsorted(query[order], np.arange(len(queries) + 1))
    for q, name in enumerate(queries):
        rows = np.sort(order[begin[q] : begin[q + 1]])
        if len(rows):
            names = [text.encode("utf-8", "surrogateescape") for text in document.take(rows)]
            yield name.encode("utf-8", "surrogateescape"), _listed(names, value[rows])


def _of_text(opener: Opener, wanted: First) -> Iterator[tuple[bytes, list[Entry]]]:
    for piece in _pieces(opener):
        found: dict[str, Any] = core.scan_run(partial(io.BytesIO, piece))
        if found["faults_total"]:
            return
        columns = Strings(*found["query"]), found["query_of"], Strings(*found["document"]), found["score"]
        yield from _of_columns(*columns, found["rank"], wanted)


def _pieces(opener: Opener) -> Iterator[bytes]:
    """Text in pieces of whole lines."""
    source = opener()
    stream = os.fdopen(source, "rb", buffering=0) if isinstance(source, int) else source
    rest, buffer = b"", bytearray(PIECE)
    try:
        while (count := stream.readinto(buffer)) and len(rest) <= LONGEST:
            whole, newline, rest = (rest + bytes(memoryview(buffer)[:count])).rpartition(b"\n")
            if newline:
                yield whole + newline
        yield rest
    finally:
        if isinstance(source, int):
            stream.close()
