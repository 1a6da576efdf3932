"""What a file is, told by how it begins."""

from __future__ import annotations

import re
from collections.abc import Mapping

from cranfield.errors import UsageError
from cranfield.io.faults import What
from cranfield.io.streams import Opened

BOM = b"\xef\xbb\xbf"

# A query id may begin with a bracket; only what can follow one in JSON makes it JSON.
_JSON = re.compile(rb'\s*(?:\{\s*["}]|\[\s*[{\]])')
_WIDTH = {"run": 6, "qrels": 4}


def begins_as(head: bytes) -> str:
    """Which format these first bytes are of: "parquet", "json" or "" for text."""
    if head.startswith(b"PAR1") and b"\0" in head:
        return "parquet"
    return "json" if _JSON.match(head.removeprefix(BOM)) else ""


def delimiter_of(place: str) -> str:
    """The delimiter that a file name stands for, compressed or not; "" for names of other files."""
    parts = place.lower().rsplit(".", 2)[1:]
    return next((mark for part in parts for suffix, mark in (("csv", ","), ("tsv", "\t")) if part == suffix), "")


def no_columns(columns: Mapping[str, str] | None) -> None:
    """Refuses names of columns for what has none."""
    if columns:
        raise UsageError("columns= is for tables, and this source has no named columns")


def kind_of(stream: Opened, what: What, columns: Mapping[str, str] | None) -> str:
    """The format of a stream: "parquet", "json", "csv" or "trec"."""
    if kind := begins_as(stream.head):
        return kind
    delimiter = delimiter_of(stream.place)
    if not delimiter:
        return "trec"
    from cranfield.io.tables import GUESSES

    # TREC lines are often called .tsv: no header, and as many columns as there should be.
    first = stream.head.removeprefix(BOM).partition(b"\n")[0].decode("utf-8", "replace")
    names = {name.strip().strip('"').lower().replace("-", "_").replace(" ", "_") for name in first.split(delimiter)}
    headed = bool(columns) or not names.isdisjoint(GUESSES["query"])
    return "trec" if not headed and len(first.split()) == _WIDTH[what] else "csv"
