"""Runs and judgments from Python objects: nested dicts, lists, records, data frames and Arrow tables.

An argument may be one run or several: ``[run, run]`` and ``{name: run}`` stand beside the shapes of one run.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield import native
from cranfield.data import Judgments, Repeats, Run, Strings
from cranfield.errors import InputError, reading_objects
from cranfield.io import tables
from cranfield.io.columns import COLUMN_NAMES, Columns, RowFaults, frame_of, is_frame, is_lazy, normalise_name
from cranfield.io.faults import FaultList, Location, TableKind, fault_text, quotable
from cranfield.io.streams import Roles, reject_columns
from cranfield.io.tables import Rows, group_judgments, judged_columns
from cranfield.io.values import codes_of, is_id, is_scalar, texts_of

if TYPE_CHECKING:
    from cranfield.io.values import Duplicates


def from_object(kind: TableKind, source: Any, name: str, columns: Roles = None, source_name: str = "") -> Any:
    """A run or judgments, as `run_from_object` and `qrels_from_object` read them."""
    return (run_from_object if kind == "run" else qrels_from_object)(source, name, columns, source_name)


def run_from_object(
    source: Any, name: str, columns: Roles = None, source_name: str = "", duplicates: Duplicates = "error"
) -> Run:
    """A run from dicts, lists, records or a frame; ``source_name`` is the file it came from, if any."""
    location = Location(source_name, "run", "entry")
    shaped = _shape(source, location)
    if isinstance(shaped, Mapping):
        reject_columns(columns)
        rankings = _rankings(shaped, location, duplicates)
        if rankings is shaped and not any("hits" in ranking for ranking in shaped.values()):
            return Run(name, rankings, source_name)
        from cranfield.io.records import listed_run

        return listed_run(name, shaped, rankings, source_name)
    if callable(shaped):
        return tables.read_rows("run", shaped, name, columns, source_name, "row")
    if len(shaped) > tables.ROWS_PER_BATCH:
        pieces = partial(shaped.slices, tables.ROWS_PER_BATCH)
        return tables.read_rows("run", pieces, name, columns, source_name, "row")
    location = Location(source_name, "run", "row")
    return Run(name, tables.run_table(shaped, columns, location), source_name)


def qrels_from_object(source: Any, name: str, columns: Roles = None, source_name: str = "") -> Judgments:
    """Judgments from dicts, the same with subtopics, sets, lists, records or a frame."""
    location = Location(source_name, "qrels", "entry")
    shaped = _shape(source, location)
    if isinstance(shaped, Mapping):
        reject_columns(columns)
        judgments = qrels_from_dict(shaped, name, location)
        positions = type(shaped).__name__ == "ByPosition"
        return dataclasses.replace(judgments, by_position=len(shaped)) if positions else judgments
    if callable(shaped):
        return tables.read_rows("qrels", shaped, name, columns, source_name, "row")
    return tables.qrels_table(shaped, columns, name, Location(source_name, "qrels", "row"))


_ENGINES = {"hits", "error"}  # fields of responses of search engines


def _shape(source: Any, location: Location) -> Any:
    """A mapping by query, columns, or a function that opens pieces of columns."""
    if type(source) is dict and source and type(next(iter(source.values()))) is dict and not _ENGINES & source.keys():
        return source  # the usual case: without the modules for all others
    if isinstance(source, Columns):
        return source
    if is_frame(source) and not isinstance(source, Mapping):
        return tables.batches_of(source) or frame_of(source)
    from cranfield.io.records import shape_of

    return shape_of(source, location)


def may_be_fields(queries: Sequence[str]) -> bool:
    """Whether a dict of lists with such keys may be a table or a response, and not ``{query: [document, ...]}``."""
    names = {*COLUMN_NAMES["document"], "responses", "ids", "matches", "hits", "error"}
    return not names.isdisjoint(map(normalise_name, queries))


def _rankings(source: Mapping[Any, Any], location: Location, duplicates: Duplicates) -> Mapping[str, Any]:
    """The dict itself if it has the right shape; ids and scores are checked when they are used."""
    if type(source) is dict and set(map(type, source.values())) <= {dict}:
        return source
    from cranfield.io.records import rankings_of

    return rankings_of(source, location, duplicates)


def document_at(source: Mapping[str, Iterable[str]], entry: int) -> str:
    """The document of an entry, counted from 1 over all queries; "" for entry 0."""
    documents = (document for ranking in source.values() for document in ranking)
    return quotable(str(next(islice(documents, entry - 1, None), ""))) if entry else ""


def qrels_from_dict(source: Mapping[Any, Any], name: str, location: Location) -> Judgments:
    """Judgments from ``{query: {document: grade}}`` or ``{query: {document: {subtopic: grade}}}``."""
    columns = native.scan_nested(source)
    repeated = 0
    if columns is None:
        from cranfield.io.records import judged_of

        source, repeated = judged_of(source, location)
        columns = native.scan_nested(source)
    if columns is not None:
        queries, documents = Strings(*columns["query"]), Strings(*columns["document"])
        return Judgments(name, queries, columns["begin"], documents, columns["grade"], repeated=repeated)
    return _general_qrels(source, name, location)


def _general_qrels(source: Mapping[Any, Any], name: str, location: Location) -> Judgments:
    """The same for any type of number, for subtopics, and for faulty input."""
    names = list(source)
    query_of = np.repeat(np.arange(len(source)), [len(judged) for judged in source.values()])
    documents = [document for judged in source.values() for document in judged]
    values = [value for judged in source.values() for value in judged.values()]
    subtopics: list[Any] = []
    if any(issubclass(value_type, Mapping) for value_type in set(map(type, values))):
        plain = next((row for row, value in enumerate(values) if not isinstance(value, Mapping)), None)
        if plain is not None:
            prefix = location.prefix(0, fault_text(names[query_of[plain]]), quotable(str(documents[plain])))
            raise InputError([f"{prefix}the grade has no subtopic, but other grades have one"])
        # A document without subtopics keeps a row; `judged_columns` reports that its grade is missing.
        labels = [value or {"0": value} for value in values]
        counts = [len(label) for label in labels]
        query_of = np.repeat(query_of, counts)
        documents = [document for document, count in zip(documents, counts, strict=True) for _ in range(count)]
        subtopics = [subtopic for label in labels for subtopic in texts_of(label, "", location)]
        values = [value for label in labels for value in label.values()]

    columns = {"document": documents, "grade": values} | ({"iteration": subtopics} if subtopics else {})
    faults, frame = RowFaults(in_columns=False), Columns.of(columns)
    judged = judged_columns(frame, {role: role for role in columns}, faults)
    iterations = codes_of(judged["iteration"]) if subtopics else (Strings.of(["0"]), np.zeros(len(values), np.int64))
    queries = Strings.of(names)
    every = FaultList(faults.first(queries.take(query_of)), len(faults.by_row))
    every.raise_if_any(location, lambda entry: quotable(str(documents[entry - 1])))
    rows = Rows(queries, query_of, *iterations, judged["document"], judged["grade"], judged["line"])
    return group_judgments(name, rows, location, subtopics=bool(subtopics))


def is_list_of_runs(run: Any) -> bool:
    """Whether this is a list of runs and not a list of rankings or records."""
    if not isinstance(run, list | tuple) or hasattr(run, "_fields"):
        return False
    if len(run) > 1 and all(isinstance(item, str) and "." not in item and not _is_path(item) for item in run):
        hint = "in Python, one ranking is {query: [document, ...]} or [[document, ...]]"
        raise InputError([f"{quotable(run[0])}: there is no such file"], hint=hint)
    return not run or _is_run(run[0])


def _is_run(item: Any) -> bool:
    """Whether an item of a list or of a dict is a run; lists are none here."""
    if isinstance(item, str | os.PathLike | Run | Repeats) or hasattr(item, "read"):
        return True
    if isinstance(item, Mapping) and (not item or _is_one_value(next(iter(item.values())))):
        return False
    from cranfield.io.records import is_object, is_response, is_search_result, rankings_of_records

    if isinstance(item, Mapping):
        return not is_response(item) and rankings_of_records([item]) is None
    # A record may have a field that is called columns.
    is_table = is_lazy(item) or hasattr(item, "to_batches") or hasattr(item, "__arrow_c_stream__")
    return is_search_result(item) or (is_frame(item) and (is_table or not is_object(item)))


@reading_objects()
def is_mapping_of_runs(run: Any, *, chunks: bool = False) -> bool:
    """Whether this is ``{name: run}`` and not ``{query: ranking}``; ``chunks``: a list or array is one ranking."""
    if not isinstance(run, Mapping) or not run:
        return False
    name, first = next(((key, value) for key, value in run.items() if not isinstance(value, Mapping) or value), ("", 0))
    if isinstance(first, list | tuple) and first and not chunks:
        from cranfield.io.records import is_search_result, unwrap

        if is_search_result(first):
            return True
        return unwrap(run) is run and _is_list_of_rankings(first, quotable(str(name)))
    if isinstance(first, str) and not any(map(_is_path, run.values())):
        problem = f"expected [document, ...], found the text {quotable(repr(first))}, which is not a file either"
        raise InputError([f"query `{quotable(str(name))}`: {problem}"], hint=f"write [{quotable(repr(first))}]")
    # An array of two dimensions has a row for each query, or for each chunk.
    return is_frame(first) or (not chunks and getattr(first, "ndim", 0) == 2) or _is_run(first)


def _is_path(value: Any) -> bool:
    return not isinstance(value, str) or value == "-" or ":" in value or os.path.exists(value) or os.sep in value


def _is_one_value(value: Any) -> bool:
    """Whether this is a score or an id, and not a ranking."""
    return is_scalar(value) or is_id(value)


def _is_list_of_rankings(value: Sequence[Any], name: str) -> bool:
    """Whether a value of a dict is a list of rankings, as a run is, and not one ranking; ``name`` is its key."""
    from cranfield.io.records import is_pair, is_response

    first = value[0]
    if isinstance(first, Mapping):
        return is_response(first)
    if isinstance(first, set | frozenset) or not isinstance(first, list | tuple) or hasattr(first, "_fields"):
        return False
    if any(isinstance(item, float) for item in first) and not is_pair(first):
        message = f"query `{name}`, position 1: expected (document, score), found {quotable(repr(first))}"
        raise InputError([message], hint="write a pair with the id first, then the score, and nothing else")
    if isinstance(first, tuple) or not is_pair(first) or not all(map(is_pair, value)):
        return not is_pair(first)
    if isinstance(first[1], int) and is_id(first[0]) and not isinstance(first[0], str):
        message = f"`{name}`: {first!r} may be a document with its score, or a ranking of two documents"
        raise InputError([message], hint="write a pair as a tuple (document, score), or give ids as text")
    return False
