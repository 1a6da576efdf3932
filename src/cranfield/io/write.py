"""Runs and judgments as files.

The extension of the file name decides the format and the compression.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np

from cranfield.data import Judgments, Run, Strings, Table, with_files
from cranfield.errors import InputError, optional
from cranfield.io.columns import is_marked
from cranfield.io.faults import quotable
from cranfield.io.register import atomic_write
from cranfield.io.runs import load
from cranfield.io.streams import Row, WritableTable, compression_of_name, compressor, without_compression, writer
from cranfield.io.tables import NO_SUBTOPIC

ROWS_PER_PIECE = 10_000


def write_run(run: Run | Table, path: str | os.PathLike[str], *, tag: str | None = None) -> None:
    """Write a run; in TREC text ``tag`` replaces the name of the run."""
    table = run if isinstance(run, Table) else load(run)
    name = tag or (run.name if isinstance(run, Run) else "") or "run"
    ranks = _ranks(table)

    def rows() -> Iterator[Row]:
        return zip(table.query, table.document, ranks, table.score.tolist(), strict=True)

    def trec_rows() -> Iterator[Row]:
        label = re.sub(r"[\x00\t-\r ]+", "_", name)
        return ((query, "Q0", document, rank, repr(score), label) for query, document, rank, score in rows())

    def nested() -> dict[str, Any]:
        return _nest(run if isinstance(run, Run) else (), ((query, d, score) for query, d, _, score in rows()))

    columns = {"query_id": table.query, "doc_id": table.document, "rank": np.array(ranks), "score": table.score}
    _write(WritableTable(os.fspath(path), "run", columns, rows, trec_rows, nested))


def to_pandas(run: Run) -> Any:
    """The rows of a run as a data frame."""
    pandas = optional("pandas", "a data frame", "pandas")
    table = load(run)
    ids = {"query_id": list(table.query), "doc_id": list(table.document)}
    return pandas.DataFrame({**ids, "score": table.score, "rank": _ranks(table)})


with_files(load=load, to_pandas=to_pandas, write_run=write_run)


def write_qrels(judgments: Judgments, path: str | os.PathLike[str]) -> None:
    """Write judgments: one row per document, or with subtopics one row per document and subtopic.

    A sample keeps its strata, probabilities and methods; a format that cannot hold them is an error.
    """
    _write(qrels_table(judgments, os.fspath(path)))


def qrels_table(judgments: Judgments, path: str) -> WritableTable:
    """Judgments in every shape that a writer may need."""
    if judgments.preferences is not None:
        raise InputError([f"{path}: preferences cannot be written as judgments"])
    labels = judgments.labels
    document_of = np.arange(len(judgments.grade)) if labels is None else labels.document
    query_of = judgments.query[document_of]
    grade = judgments.grade if labels is None else labels.grade
    names = Strings.of(["0"]) if labels is None else labels.names
    iteration_of = np.zeros(len(grade), np.int64) if labels is None else labels.subtopic
    # A lone subtopic 0 would be read as no subtopic.
    column = "subtopic" if labels is not None and set(names) <= NO_SUBTOPIC else "iteration"
    columns: dict[str, Any] = {
        "query_id": judgments.queries.take(query_of),
        column: names.take(iteration_of),
        "doc_id": judgments.documents.take(document_of),
        "relevance": grade,
    }

    columns |= _sample_columns(judgments, path)

    def rows() -> Iterator[Row]:
        ids = (columns[name] for name in ("query_id", column, "doc_id"))
        sample = (_plain(columns[name]) for name in ("stratum", "probability") if name in columns)
        return zip(*ids, map(shorten, grade.tolist()), *sample, strict=True)

    def nested() -> dict[str, Any]:
        if judgments.sample is not None:
            raise _unwritable_sample(path, "JSON has no place for strata and probabilities", ".csv")
        if labels is None:
            return _nest(judgments.queries, ((query, document, grade) for query, _, document, grade in rows()))
        keyed = ((query, document, subtopic, grade) for query, subtopic, document, grade in rows())
        return _nest(judgments.queries, keyed)

    trec_rows = rows if judgments.sample is None else lambda: _trec_sample(judgments, columns, path)
    return WritableTable(path, "qrels", columns, rows, trec_rows, nested)


def shorten(number: float) -> float | int:
    """A number as text shows it: 1 for 1.0, and all digits of others."""
    return int(number) if float(number).is_integer() else number


def _sample_columns(judgments: Judgments, path: str) -> dict[str, Any]:
    """The columns that say how documents were drawn; statAP's methods have none."""
    sample = judgments.sample
    if sample is None:
        return {}
    is_text = writer(_extension(path)) is writer("")
    if sample.method is not None and not is_text:
        raise _unwritable_sample(path, "only TREC text has a column for the methods of statAP", "a .txt file")
    strata = {"stratum": sample.strata} if len(sample.strata.data) else {}
    return strata | ({} if sample.probability is None else {"probability": sample.probability})


def _trec_sample(judgments: Judgments, columns: dict[str, Any], path: str) -> Iterator[Row]:
    """TREC's five columns, with strata, or statAP's, with methods and probabilities."""
    sample = judgments.sample
    assert sample is not None
    query, document = columns["query_id"], columns["doc_id"]
    grade = map(shorten, judgments.grade.tolist())
    if "probability" not in columns:
        return zip(query, ["0"] * len(query), document, sample.strata, grade, strict=True)
    if "stratum" in columns:
        raise _unwritable_sample(path, "TREC text has columns for strata or for probabilities, not for both", ".csv")
    method = [1] * len(query) if sample.method is None else sample.method.tolist()
    probability = ["NA" if share is None else share for share in _plain(columns["probability"])]
    return zip(query, document, grade, method, probability, strict=True)


def _plain(column: Any) -> Iterable[Any]:
    """The values of a column as Python's own; None for NaN."""
    return column if isinstance(column, Strings) else (None if np.isnan(x) else shorten(x) for x in column.tolist())


def _unwritable_sample(path: str, reason: str, alternative: str) -> InputError:
    return InputError([f"{path}: the sample cannot be written: {reason}"], hint=f"write {alternative} instead")


def _ranks(table: Table) -> list[float | int]:
    """The ranks of the table, else positions in input order. This module does not order by score."""
    if table.rank is not None and np.isfinite(table.rank).all():
        return [shorten(rank) for rank in table.rank.tolist()]
    seen: dict[str, int] = {}
    ranks: list[float | int] = []
    for query in table.query:
        seen[query] = seen.get(query, 0) + 1
        ranks.append(seen[query])
    return ranks


def _nest(queries: Iterable[str], rows: Iterable[Row]) -> dict[str, Any]:
    """``{query: {b: value}}``, or deeper, from rows of keys that end with a value; rows have no empty queries."""
    root: dict[str, Any] = {query: {} for query in queries}
    for *keys, last, value in rows:
        inner = root
        for key in keys:
            inner = inner.setdefault(key, {})
        inner[last] = value
    return root


def _write(table: WritableTable) -> None:
    write_pieces(table.path, writer(_extension(table.path))(table), compression_of_name(table.path))


def _extension(path: str) -> str:
    return os.path.splitext(without_compression(path))[1].lower()


def check_ids(table: WritableTable) -> None:
    """Raise if readers would refuse an id: an empty one, or that of a query with a byte order mark."""
    for column in table.columns.values():
        if isinstance(column, Strings) and not np.diff(column.offsets).all():
            raise unwritable_id(table.path, "", "a row must have an id", ".json")
    if is_marked(table.columns["query_id"]):
        raise unwritable_id(table.path, "\ufeff", "the id of a query cannot begin with a byte order mark", ".json")


def unwritable_id(path: str, text: str, reason: str, alternative: str = ".jsonl or .csv") -> InputError:
    """The error for an id that a format cannot hold."""
    message = f"{path}: the id `{quotable(text)}` cannot be written: {reason}"
    return InputError([message], hint=f"write {alternative} instead")


def write_pieces(path: str, pieces: Iterator[bytes], compression: str = "") -> None:
    """Write bytes to a file, complete or not at all; ``compression`` is a method such as "gzip", or "" for none."""
    with atomic_write(path) as temporary:
        try:
            file = temporary.open("wb")
        except OSError as error:
            raise InputError([f"{path}: cannot be written: {(error.strerror or str(error)).lower()}"]) from error
        with file, compressor(compression, file) if compression else nullcontext(file) as stream:
            for piece in pieces:
                stream.write(piece)
