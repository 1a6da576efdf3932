"""One way in for runs and judgments, whatever they come as; and the ways out.

A source is a path (compressed or not; TREC text, JSON, JSON Lines, CSV, Parquet), "-" for standard
input, a binary file object, a nested dict, or a data frame. What a file is is told by its content. A folder
is understood where it has the files of AMBIENT (`ambient`).
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from cranfield.data import Judgments, Run
from cranfield.errors import InputError, UsageError
from cranfield.formats import ambient, nested, records, tables
from cranfield.formats.content import kind_of
from cranfield.formats.faults import Place, What
from cranfield.formats.joining import check, join, load, scan_qrels
from cranfield.formats.judging import Rows, judgments
from cranfield.formats.opening import Opened, is_stream, opened
from cranfield.formats.optional import optional
from cranfield.formats.writing import write_qrels, write_run

__all__ = ["check_qrels", "check_run", "join", "load", "read_qrels", "read_run", "write_qrels", "write_run"]

_DATASETS = "irds:"
_DATASET_FIELDS = ("query_id", "doc_id", "relevance", "subtopic_id", "iteration")


def read_run(source: Any, *, name: str | None = None, columns: Mapping[str, str] | None = None) -> Run:
    """A ranking for each query, from a path, "-", a file object, ``{query: {document: score}}`` or a frame.

    TREC text is not read here but when it is joined to judgments. ``columns`` says which column of a
    table is the ``query``, ``document``, ``score`` and ``rank``, where their names do not.
    """
    if isinstance(source, Run):
        return source if name is None else dataclasses.replace(source, name=name)
    if ambient.is_folder(source):
        return ambient.read_run(os.fsdecode(source), name)
    if not is_stream(source):
        return Run(name or "run", _of_object(source, columns, Place("", "run", _unit(source))))
    stream = opened(source, "run")
    name = name or stream.name
    kind = kind_of(stream, "run", columns)
    if kind == "trec":
        _no_columns(columns)
        return Run(name, stream.opener, stream.place)
    content = _content(stream, kind, "run", columns)
    return Run(name, _of_object(content, columns, Place(stream.place, "run", _unit(content))), stream.place)


def read_qrels(source: Any, *, name: str | None = None, columns: Mapping[str, str] | None = None) -> Judgments:
    """Judgments, from the same sources as runs, and from ``irds:DATASET`` through ir_datasets.

    A nested dict is ``{query: {document: grade}}``, or with subtopics
    ``{query: {document: {subtopic: grade}}}``. ``columns`` knows ``query``, ``document``, ``grade`` and
    ``iteration``.
    """
    if isinstance(source, Judgments):
        return source if name is None else dataclasses.replace(source, name=name)
    if isinstance(source, str) and source.startswith(_DATASETS):
        _no_columns(columns)
        dataset = source.removeprefix(_DATASETS)
        return _from_datasets(dataset, name or dataset)
    if ambient.is_folder(source):
        return ambient.read_qrels(os.fsdecode(source), name)
    if not is_stream(source):
        return _judged_object(source, columns, name or "qrels", Place("", "qrels", _unit(source)))
    stream = opened(source, "qrels")
    name = name or stream.name
    kind = kind_of(stream, "qrels", columns)
    if kind == "trec":
        _no_columns(columns)
        rows = Rows.scanned(scan_qrels(stream.opener, stream.place))
        return judgments(name, rows, Place(stream.place, "qrels"))
    content = _content(stream, kind, "qrels", columns)
    return _judged_object(content, columns, name, Place(stream.place, "qrels", _unit(content)))


def check_run(source: Any, *, columns: Mapping[str, str] | None = None) -> InputError | None:
    """Every fault of a run, or None where there is none."""
    try:
        return check(read_run(source, columns=columns))
    except InputError as error:
        return error


def check_qrels(source: Any, *, columns: Mapping[str, str] | None = None) -> InputError | None:
    """Every fault of judgments, or None where there is none."""
    try:
        read_qrels(source, columns=columns)
    except InputError as error:
        return error
    return None


def _unit(source: Any) -> Any:
    return "entry" if isinstance(source, Mapping) else "row"


def _content(stream: Opened, kind: str, what: What, columns: Mapping[str, str] | None) -> Any:
    """A nested mapping or a frame, from a file that is not TREC text."""
    place = Place(stream.place, what, "row")
    if kind == "json":
        return records.parsed(stream)
    if kind == "csv":
        return records.delimited(stream, place)
    import io

    wanted = tables.RUN_COLUMNS if what == "run" else tables.QRELS_COLUMNS
    return tables.parquet(stream.path or io.BytesIO(stream.content()), wanted, columns, place)


def _frame(source: Any, what: What) -> tables.Frame:
    if isinstance(source, tables.ArrowFrame | tables.ListFrame):
        return source
    if tables.is_frame(source):
        return tables.frame_of(source)
    dicts = "{query: {document: score}}" if what == "run" else "{query: {document: grade}}"
    raise UsageError(
        f"cannot read {'a run' if what == 'run' else 'judgments'} from {type(source).__name__}",
        hint=f"give a path, an open binary file, {dicts} or a data frame",
    )


def _of_object(source: Any, columns: Mapping[str, str] | None, place: Place) -> Any:
    if isinstance(source, Mapping):
        _no_columns(columns)
        return nested.rankings(source, place)
    return tables.run_table(_frame(source, "run"), columns, place)


def _judged_object(source: Any, columns: Mapping[str, str] | None, name: str, place: Place) -> Judgments:
    if isinstance(source, Mapping):
        _no_columns(columns)
        return nested.graded(source, name, place)
    return tables.qrels_table(_frame(source, "qrels"), columns, name, place)


def _no_columns(columns: Mapping[str, str] | None) -> None:
    if columns:
        raise UsageError("columns= is for tables, and this source has no named columns")


def _from_datasets(dataset: str, name: str) -> Judgments:
    datasets = optional("ir_datasets", f"reading {_DATASETS}{dataset}", "datasets")
    try:
        judged = list(datasets.load(dataset).qrels_iter())
    except (KeyError, AttributeError) as error:
        message = f"{_DATASETS}{dataset}: ir_datasets has no judgments under this name"
        raise InputError([message], hint="https://ir-datasets.com lists what there is") from error
    fields = [field for field in _DATASET_FIELDS if not judged or hasattr(judged[0], field)]
    frame = tables.ListFrame({field: [getattr(row, field) for row in judged] for field in fields})
    return tables.qrels_table(frame, None, name, Place(f"{_DATASETS}{dataset}", "qrels", "row"))
