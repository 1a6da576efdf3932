"""The ways out: TREC text, JSON, JSON Lines, CSV and Parquet, by the extension of the file's name.

A file appears whole or not at all: it is written beside its place and then renamed.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from itertools import islice
from typing import Any

import numpy as np

from cranfield.data import Judgments, Run, Strings, Table
from cranfield.errors import InputError
from cranfield.io import compression
from cranfield.io.atomic_write import draft
from cranfield.io.detect import begins_as
from cranfield.io.faults import shown
from cranfield.io.optional import optional
from cranfield.io.runs import load

Row = tuple[Any, ...]
_BLANK = re.compile(r"[\x00-\x20]+")
_BLOCK = 10_000


def write_run(run: Run | Table, path: str | os.PathLike[str], *, tag: str | None = None) -> None:
    """Write a run; ``tag`` names it inside TREC text, where else its own name would."""
    table = run if isinstance(run, Table) else load(run)
    name = tag or (run.name if isinstance(run, Run) else "") or "run"
    rank = _ranks(table)

    def rows() -> Iterator[Row]:
        return zip(table.query, table.document, rank, table.score.tolist(), strict=True)

    def trec() -> Iterator[Row]:
        label = _BLANK.sub("_", name)
        return ((q, "Q0", d, r, repr(s), label) for q, d, r, s in rows())

    columns = {"query_id": table.query, "doc_id": table.document, "rank": np.array(rank), "score": table.score}
    nested = ((q, d, s) for q, d, _, s in rows())
    _write(os.fspath(path), tuple(columns), rows, trec, lambda: _nest(nested), columns)


def write_qrels(judgments: Judgments, path: str | os.PathLike[str]) -> None:
    """Write judgments: a row for each document, or with subtopics a row for each label."""
    labels = judgments.labels
    document_of = np.arange(len(judgments.grade)) if labels is None else labels.document
    query_of = np.repeat(np.arange(len(judgments.queries)), np.diff(judgments.begin))[document_of]
    grade = judgments.grade if labels is None else labels.grade
    names = Strings.of(["0"]) if labels is None else labels.names
    iteration_of = np.zeros(len(grade), np.int64) if labels is None else labels.subtopic
    columns: dict[str, Any] = {
        "query_id": judgments.queries.take(query_of),
        "iteration": names.take(iteration_of),
        "doc_id": judgments.documents.take(document_of),
        "relevance": grade,
    }

    def rows() -> Iterator[Row]:
        ids = (columns[name] for name in ("query_id", "iteration", "doc_id"))
        return zip(*ids, map(_short, grade.tolist()), strict=True)

    def nest() -> Any:
        if labels is None:
            return _nest((q, d, g) for q, _, d, g in rows())
        return _nest((q, d, i, g) for q, i, d, g in rows())

    _write(os.fspath(path), tuple(columns), rows, rows, nest, columns)


def _short(number: float) -> float | int:
    return int(number) if number.is_integer() else number


def _ranks(table: Table) -> list[float | int]:
    """The ranks given, else places in the order given: ordering by score is not this module's business."""
    if table.rank is not None and np.isfinite(table.rank).all():
        return [_short(rank) for rank in table.rank.tolist()]
    seen: dict[str, int] = {}
    ranks: list[float | int] = []
    for query in table.query:
        seen[query] = seen.get(query, 0) + 1
        ranks.append(seen[query])
    return ranks


def _nest(paths: Iterable[Row]) -> dict[str, Any]:
    """``{a: {b: value}}``, or deeper, from rows of keys with a value at the end."""
    root: dict[str, Any] = {}
    for *keys, last, value in paths:
        inner = root
        for key in keys:
            inner = inner.setdefault(key, {})
        inner[last] = value
    return root


def _write(
    path: str,
    names: tuple[str, ...],
    rows: Callable[[], Iterator[Row]],
    trec: Callable[[], Iterator[Row]],
    nested: Callable[[], Any],
    columns: dict[str, Any],
) -> None:
    packed = compression.by_name(path)
    extension = os.path.splitext(os.path.splitext(path)[0] if packed else path)[1].lower()
    if extension == ".json":
        pieces = iter([_json(nested()) + b"\n"])
    elif extension == ".jsonl":
        pieces = (_json(dict(zip(names, row, strict=True))) + b"\n" for row in rows())
    elif extension in (".csv", ".tsv"):
        pieces = _delimited(names, rows(), "," if extension == ".csv" else "\t", path)
    elif extension == ".parquet":
        pieces = iter([_parquet(columns)])
    else:
        pieces = _trec(trec(), path)
    save(path, pieces, packed)


def _json(value: Any) -> bytes:
    import json

    # ASCII, because ids that are not UTF-8 then come back as they were.
    return json.dumps(value).encode("ascii")


def _delimited(names: Row, rows: Iterator[Row], delimiter: str, path: str) -> Iterator[bytes]:
    import csv

    def block(some: list[Row]) -> bytes:
        texts = [field for row in some for field in row if isinstance(field, str)]
        if nul := next((text for text in texts if "\0" in text), None):
            raise _unfit(path, nul, "no reader of CSV expects a NUL byte", ".jsonl")
        # Up to Python 3.12 the writer leaves a carriage return bare, and readers take it for the end of a line.
        bare = any("\r" in text for text in texts)
        text_file = io.StringIO(newline="")
        csv.writer(
            text_file,
            delimiter=delimiter,
            lineterminator="\n",
            quoting=csv.QUOTE_NONNUMERIC if bare else csv.QUOTE_MINIMAL,
        ).writerows(some)
        return text_file.getvalue().encode("utf-8", "surrogateescape")

    yield block([names])
    while some := list(islice(rows, _BLOCK)):
        yield block(some)


def _trec(rows: Iterator[Row], path: str) -> Iterator[bytes]:
    first = True
    while some := list(islice(rows, _BLOCK)):
        for row in some:
            for text in (row[0], row[2], row[1]):
                if not text or _BLANK.search(text):
                    raise _unfit(path, text, "TREC text has no way to write an id that is empty or has blanks in it")
            if row[0].startswith(("#", "\ufeff")):
                raise _unfit(path, row[0], "a line of TREC text that begins like this would not be read as it is")
        block = "".join([" ".join(map(str, row)) + "\n" for row in some]).encode("utf-8", "surrogateescape")
        if first and (begins_as(block) or compression.kind_of(block)):
            raise _unfit(path, some[0][0], "TREC text that begins like this would be taken for another format")
        first = False
        yield block


def _unfit(path: str, text: str, why: str, better: str = ".jsonl or .csv") -> InputError:
    return InputError([f"{path}: the id `{shown(text)}` cannot be written: {why}"], hint=f"write {better} instead")


def _parquet(columns: dict[str, Any]) -> bytes:
    pyarrow = optional("pyarrow", "writing Parquet", "arrow")
    parquet = optional("pyarrow.parquet", "writing Parquet", "arrow")

    def column(values: Any) -> Any:
        if not isinstance(values, Strings):
            return pyarrow.array(values)
        buffers = [None, pyarrow.py_buffer(values.offsets), pyarrow.py_buffer(values.data)]
        array = pyarrow.Array.from_buffers(pyarrow.large_binary(), len(values), buffers)
        try:
            return array.cast(pyarrow.large_string())
        except pyarrow.ArrowInvalid:  # ids that are not UTF-8 are kept as bytes
            return array

    sink = io.BytesIO()
    parquet.write_table(pyarrow.table({name: column(values) for name, values in columns.items()}), sink)
    return sink.getvalue()


def save(path: str, pieces: Iterator[bytes], packed: str) -> None:
    """Bytes as a file, whole or not at all."""
    with draft(path) as beside:
        try:
            file = beside.open("wb")
        except OSError as error:
            raise InputError([f"{path}: cannot be written: {(error.strerror or str(error)).lower()}"]) from error
        with file, compression.compressor(packed, file) if packed else nullcontext(file) as stream:
            for piece in pieces:
                stream.write(piece)
