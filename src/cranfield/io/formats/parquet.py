"""Parquet: tables of runs, judgments or documents."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import Any

from cranfield.data import Strings
from cranfield.errors import InputError, optional, reading_failed
from cranfield.io import tables
from cranfield.io.columns import QRELS_COLUMNS, RUN_COLUMNS, Columns, arrow_binary, choose_columns, strings_of
from cranfield.io.documents import (
    ROWS_PER_BLOCK,
    Block,
    Documents,
    FieldChoice,
    join_text_columns,
)
from cranfield.io.faults import TableKind, quotable
from cranfield.io.streams import ContentKind, FileFormat, Roles, Stream, WritableTable
from cranfield.io.tables import pieces_of_batches, read_rows
from cranfield.io.write import check_ids


def is_parquet(stream: Stream, _kind: ContentKind = "run", _columns: Roles = None) -> bool:
    """Whether the first bytes of a stream are Parquet. A query may be called PAR1, but text has no NUL byte."""
    return stream.head.startswith(b"PAR1") and b"\0" in stream.head


def _seekable(stream: Stream) -> Any:
    """What PyArrow can read: the path of a plain file, or all bytes of another stream."""
    import io

    return stream.path or io.BytesIO(stream.read())


def _open(source: Any, source_name: str) -> Any:
    """PyArrow's ParquetFile."""
    pyarrow = optional("pyarrow", "reading Parquet", "arrow")
    parquet = optional("pyarrow.parquet", "reading Parquet", "arrow")
    try:
        return parquet.ParquetFile(source, pre_buffer=False)  # else the bytes of all row groups stay in memory
    except (pyarrow.ArrowException, OSError, MemoryError) as error:
        raise _damaged(source_name, error) from error


def _damaged(source_name: str, error: Exception, where: str = "") -> InputError:
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno):
        return reading_failed(source_name, error)
    return InputError([f"{source_name}: the Parquet data are damaged{where}"])


def read_parquet(kind: TableKind, stream: Stream, name: str, columns: Roles) -> Any:
    """A run or judgments from the columns that are needed."""
    source, roles = _seekable(stream), RUN_COLUMNS if kind == "run" else QRELS_COLUMNS

    def batches() -> Iterator[Any]:
        with _open(source, stream.source_name) as file:
            chosen = choose_columns(file.schema_arrow.names, roles, columns, stream.source_name)
            try:
                yield from file.iter_batches(tables.ROWS_PER_BATCH, columns=list(dict.fromkeys(chosen.values())))
            except (pyarrow.ArrowException, OSError, MemoryError) as error:
                raise _damaged(stream.source_name, error) from error

    pyarrow = optional("pyarrow", "reading Parquet", "arrow")
    return read_rows(kind, lambda: pieces_of_batches(batches()), name, columns, stream.source_name, "row")


def column_names(stream: Stream) -> list[str]:
    """The names of the columns of a file."""
    with _open(_seekable(stream), stream.source_name) as file:
        return list(file.schema_arrow.names)


def read_columns(stream: Stream) -> Columns:
    """All columns of a file."""
    pyarrow = optional("pyarrow", "reading Parquet", "arrow")
    with _open(_seekable(stream), stream.source_name) as file:
        try:
            table = file.read()
        except (pyarrow.ArrowException, OSError, MemoryError) as error:
            raise _damaged(stream.source_name, error) from error
    if not len(table):
        raise InputError([f"{stream.source_name}: the file has no rows"])
    return Columns.of_arrow(table)


def write_parquet(table: WritableTable) -> Iterator[bytes]:
    """All columns."""
    import io

    pyarrow = optional("pyarrow", "writing Parquet", "arrow")
    parquet = optional("pyarrow.parquet", "writing Parquet", "arrow")

    def column(values: Any) -> Any:
        if not isinstance(values, Strings):
            return pyarrow.array(values)
        array = arrow_binary(values)
        try:
            return array.cast(pyarrow.large_string())
        except pyarrow.ArrowInvalid:  # ids that are not UTF-8 stay bytes
            return array

    check_ids(table)
    sink = io.BytesIO()
    parquet.write_table(pyarrow.table({name: column(values) for name, values in table.columns.items()}), sink)
    yield sink.getvalue()


class ParquetDocuments:
    """Documents, one per row."""

    unit = "row"

    def __init__(self, stream: Stream, choice: FieldChoice) -> None:
        self.source, self.source_name = _seekable(stream), stream.source_name
        with _open(self.source, self.source_name) as file:
            self.fields = choice.resolve(file.schema_arrow.names, self.source_name)
        self.bytes = os.path.getsize(stream.path) if stream.path else 0

    def blocks(self) -> Iterator[Block]:
        pyarrow = optional("pyarrow", "reading Parquet", "arrow")
        row = 1
        columns = list(dict.fromkeys((self.fields.id, *self.fields.texts)))
        with _open(self.source, self.source_name) as file:
            rows = max(file.metadata.num_rows, 1)
            try:
                for batch in file.iter_batches(ROWS_PER_BLOCK, columns=columns):
                    yield Block(row, batch, self.bytes * row // rows)
                    row += len(batch)
            except (pyarrow.ArrowException, OSError, MemoryError) as error:
                raise _damaged(self.source_name, error, f" after row {row - 1}") from error

    def parse(self, block: Block) -> Documents:
        import pyarrow as pa
        import pyarrow.compute as pc

        batch = block.content
        ids = _without_dictionary(batch.column(self.fields.id))
        texts = [_without_dictionary(batch.column(name)) for name in self.fields.texts]
        for name, column in ((self.fields.id, ids), *zip(self.fields.texts, texts, strict=True)):
            is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
            is_integer_id = column is ids and pa.types.is_integer(column.type)
            if not (is_text or is_integer_id or pa.types.is_null(column.type)):
                message = f"{self.source_name}: the column `{quotable(name)}` must be text, found {column.type}"
                raise InputError([message])
        ids = ids.cast(pa.large_string())
        without_id = pc.fill_null(pc.equal(pc.binary_length(ids), 0), True)
        if faulty := pc.indices_nonzero(without_id).to_pylist():
            return Documents.of([], [], [], [(block.line + row, "the id is empty") for row in faulty])
        joined = join_text_columns(texts)
        lines = range(block.line, block.line + len(batch))
        return Documents(lines, list(strings_of(ids)), joined.offsets, joined.data)


def _without_dictionary(column: Any) -> Any:
    """A column without dictionary encoding."""
    return column.dictionary_decode() if hasattr(column, "dictionary_decode") else column


FORMATS = (
    FileFormat(
        "Parquet",
        priority=0,
        recognises=is_parquet,
        read_run=partial(read_parquet, "run"),
        read_qrels=partial(read_parquet, "qrels"),
        read_documents=ParquetDocuments,
        writers={".parquet": write_parquet},
        extensions=(".parquet",),
        document_extensions=(".parquet",),
    ),
)
