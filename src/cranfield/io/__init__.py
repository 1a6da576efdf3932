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
from cranfield.errors import InputError
from cranfield.io.detect import kind_of, no_columns
from cranfield.io.faults import Place
from cranfield.io.formats import ambient
from cranfield.io.judgments import Rows, judgments
from cranfield.io.runs import check, join, load, scan_qrels
from cranfield.io.streams import is_stream, opened
from cranfield.io.write import write_qrels, write_run

__all__ = ["check_qrels", "check_run", "join", "load", "read_qrels", "read_run", "write_qrels", "write_run"]

_DATASETS = "irds:"  # before the name of a data set of ir_datasets


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
        return _objects().run_of(source, columns, name or "run")
    stream = opened(source, "run")
    name = name or stream.name
    kind = kind_of(stream, "run", columns)
    if kind == "trec":
        no_columns(columns)
        return Run(name, stream.opener, stream.place)
    return _objects().run_of(_objects().held(stream, kind, "run", columns), columns, name, stream.place)


def read_qrels(source: Any, *, name: str | None = None, columns: Mapping[str, str] | None = None) -> Judgments:
    """Judgments, from the same sources as runs, and from ``irds:DATASET`` through ir_datasets.

    A nested dict is ``{query: {document: grade}}``, or with subtopics
    ``{query: {document: {subtopic: grade}}}``. ``columns`` knows ``query``, ``document``, ``grade`` and
    ``iteration``.
    """
    if isinstance(source, Judgments):
        return source if name is None else dataclasses.replace(source, name=name)
    if isinstance(source, str) and source.startswith(_DATASETS):
        no_columns(columns)
        dataset = source.removeprefix(_DATASETS)
        return _objects().from_datasets(dataset, name or dataset, source)
    if ambient.is_folder(source):
        return ambient.read_qrels(os.fsdecode(source), name)
    if not is_stream(source):
        return _objects().judgments_of(source, columns, name or "qrels")
    stream = opened(source, "qrels")
    name = name or stream.name
    kind = kind_of(stream, "qrels", columns)
    if kind == "trec":
        no_columns(columns)
        rows = Rows.scanned(scan_qrels(stream.opener, stream.place))
        return judgments(name, rows, Place(stream.place, "qrels"))
    return _objects().judgments_of(_objects().held(stream, kind, "qrels", columns), columns, name, stream.place)


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


def _objects() -> Any:
    """All that is not TREC text; who reads that alone need not load it."""
    from cranfield.io import objects

    return objects
