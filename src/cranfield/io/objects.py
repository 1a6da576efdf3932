"""Runs and judgments from what is not TREC text: nested dicts, data frames, JSON, CSV, Parquet, ir_datasets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cranfield.data import Judgments, Run
from cranfield.errors import InputError, UsageError
from cranfield.io import nested, tables
from cranfield.io.detect import no_columns
from cranfield.io.faults import Place, What
from cranfield.io.formats import json as records
from cranfield.io.optional import optional
from cranfield.io.streams import Opened

_DATASET_FIELDS = ("query_id", "doc_id", "relevance", "subtopic_id", "iteration")


def held(stream: Opened, kind: str, what: What, columns: Mapping[str, str] | None) -> Any:
    """What is in a file that is not TREC text: a nested mapping or a frame."""
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


def run_of(source: Any, columns: Mapping[str, str] | None, name: str, file: str = "") -> Run:
    """A ranking for each query, from a nested dict or a frame, which may have come from a file."""
    if isinstance(source, Mapping):
        no_columns(columns)
        return Run(name, nested.rankings(source, Place(file, "run", "entry")), file)
    return Run(name, tables.run_table(_frame(source, "run"), columns, Place(file, "run", "row")), file)


def judgments_of(source: Any, columns: Mapping[str, str] | None, name: str, file: str = "") -> Judgments:
    """The same for judgments."""
    if isinstance(source, Mapping):
        no_columns(columns)
        return nested.graded(source, name, Place(file, "qrels", "entry"))
    return tables.qrels_table(_frame(source, "qrels"), columns, name, Place(file, "qrels", "row"))


def from_datasets(dataset: str, name: str, source: str) -> Judgments:
    """The judgments of a data set that ir_datasets knows."""
    datasets = optional("ir_datasets", f"reading {source}", "datasets")
    try:
        judged = list(datasets.load(dataset).qrels_iter())
    except (KeyError, AttributeError) as error:
        message = f"{source}: ir_datasets has no judgments under this name"
        raise InputError([message], hint="https://ir-datasets.com lists what there is") from error
    fields = [field for field in _DATASET_FIELDS if not judged or hasattr(judged[0], field)]
    frame = tables.ListFrame({field: [getattr(row, field) for row in judged] for field in fields})
    return tables.qrels_table(frame, None, name, Place(source, "qrels", "row"))
