"""Reading and writing: one way in for runs, judgments and texts, whatever their format, and one way out.

A source is a path (compressed or not), "-" for standard input, a binary file object, a nested dict, lists, records, a
data frame, ``irds:DATASET``, or a folder with a known layout. The content of a file decides its format; see `detect`.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, get_args

from cranfield.data import Judgments, Repeats, Run
from cranfield.errors import InputError, check_choice, reading_objects
from cranfield.io.columns import Duplicates, check_duplicates, is_frame, is_id, is_lazy, is_scalar
from cranfield.io.faults import TableKind, quotable
from cranfield.io.runs import ScoreKind, directed, empty_index, held, join, load, load_unchecked, with_query_ids
from cranfield.io.streams import Roles, detect_file, detect_source, is_stream, open_stream, reject_columns
from cranfield.io.tables import from_object, run_from_object
from cranfield.io.write import write_qrels, write_run

__all__ = [
    "Judgments",
    "Repeats",
    "Run",
    "check_qrels",
    "check_run",
    "held",
    "join",
    "load",
    "read_qrels",
    "read_run",
    "read_runs",
    "write_qrels",
    "write_run",
]


@reading_objects()
def read_run(
    source: Any,
    *,
    name: str | None = None,
    columns: Roles = None,
    duplicates: Duplicates = "error",
    scores: ScoreKind | None = None,
    query_ids: Sequence[Any] | None = None,
) -> Run:
    """A run from a path, "-", a file object, ``{query: {document: score}}``, lists, records or a frame.

    TREC text is not read here, but when it is joined to judgments.

    Parameters
    ----------
    source
        A path, compressed or not, "-" for standard input, a binary file object, a nested dict, a frame, or lists:
        ``{query: [document, ...]}``, ``{query: [(document, score), ...]}``, or a list of lists for queries 1, 2, 3,
        ...; see also `records`.
    name
        The name of the run; by default that of the file.
    columns
        Which column of a table is the ``query``, ``document``, ``score`` and ``rank``, if their names do not say it.
    duplicates
        What happens if a document appears twice for a query: ``"error"``, or keep the ``"first"`` or the one with the
        ``"best"`` score.
    scores
        Whether documents with a high score come first (``"similarity"``), or those with a low one (``"distance"``).
        Without it, lists in which scores rise from first to last are an error when they are evaluated.
    query_ids
        The ids of queries, for a list of lists or an array, which has none.

    Returns
    -------
    Run
        It has a length, the number of queries; `Run.to_pandas` and `Run.save` give its rows.

    Examples
    --------
    >>> import cranfield as cf
    >>> run = cf.read_run([[("a", 0.1), ("b", 0.7)]], scores="distance", query_ids=["q"])
    >>> cf.Evaluator({"q": {"a"}}, "RR").means(run)
    {'RR': 1.0}
    """
    check_duplicates(duplicates)
    if scores is not None:
        check_choice("scores", scores, get_args(ScoreKind))
    if isinstance(source, Run) or is_stream(source):
        run: Run = _read("run", source, name, columns)
    else:
        run = run_from_object(source, name or "run", columns, duplicates=duplicates)
    if duplicates != "error":
        from cranfield.io.records import without_repeats

        run = without_repeats(run, duplicates, load_unchecked)
    if query_ids is not None:
        run = with_query_ids(run, query_ids)
    return run if scores is None else directed(run, scores)


def _read(kind: TableKind, source: Any, name: str | None, columns: Roles) -> Any:
    """A run, in which repeated documents are an error, or judgments."""
    if isinstance(source, Run if kind == "run" else Judgments):
        return source if name is None else dataclasses.replace(source, name=name)
    if isinstance(source, str | os.PathLike):
        path = os.fsdecode(source)
        if (source_format := detect_source(path, kind)) is not None:
            reject_columns(columns)
            return getattr(source_format, f"read_{kind}")(path, name)
    if not is_stream(source):
        return from_object(kind, source, name or kind, columns)
    stream = open_stream(source, kind)
    return getattr(detect_file(stream, kind, columns), f"read_{kind}")(stream, name or stream.name, columns)


@reading_objects()
def read_runs(source: Any, *, name: str | None = None, duplicates: Duplicates = "error") -> list[Run]:
    """All runs of a source, which is as in `read_run`: one, or one for each feature of a LETOR file."""
    if isinstance(source, Run) or not is_stream(source):
        return [read_run(source, name=name, duplicates=duplicates)]
    if isinstance(source, str | os.PathLike) and detect_source(os.fsdecode(source)) is not None:
        return [read_run(source, name=name, duplicates=duplicates)]
    stream = open_stream(source, "run")
    record = detect_file(stream, "run")
    if record.read_runs is not None:
        runs = record.read_runs(stream, name or stream.name, None)
    else:
        assert record.read_run is not None
        runs = [record.read_run(stream, name or stream.name, None)]
    return [read_run(run, duplicates=duplicates) for run in runs]


@reading_objects()
def read_qrels(source: Any, *, name: str | None = None, columns: Roles = None) -> Judgments:
    """Judgments, from the same sources as runs, and from ``irds:DATASET`` through ir_datasets.

    Parameters
    ----------
    source
        A path, a file object, a frame, or a nested dict: ``{query: {document: grade}}``, or with subtopics ``{query:
        {document: {subtopic: grade}}}``. Sets and lists of relevant documents, ``{query: {document, ...}}``, have
        grade 1; a list of them is for queries 1, 2, 3, ...
    name
        The name of the judgments in messages; by default that of the file.
    columns
        Which column of a table is the ``query``, ``document``, ``grade`` and ``iteration``, if their names do not say
        it.

    Returns
    -------
    Judgments
        The judged documents of every query, each once.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.read_qrels({"q1": {"d1": 2, "d2": 0}, "q2": {"d1"}})
    Judgments: qrels, 3 documents of 2 queries
    """
    judgments: Judgments = _read("qrels", source, name, columns)
    if (remarks := _remarks.get()) is not None:
        remarks += [f"{judgments.name}: {remark}" for remark in judgments.remarks]
    return judgments


_remarks: ContextVar[list[str] | None] = ContextVar("remarks", default=None)


@contextmanager
def remarks_on_judgments() -> Iterator[list[str]]:
    """A list to which reading judgments inside adds what it had to assume."""
    remarks: list[str] = []
    token = _remarks.set(remarks)
    try:
        yield remarks
    finally:
        _remarks.reset(token)


def check_run(source: Any, *, columns: Roles = None, duplicates: Duplicates = "error") -> InputError | None:
    """All faults of a run, or None."""
    try:
        join(read_run(source, columns=columns, duplicates=duplicates), empty_index(), ["score"], by_id=False)
    except InputError as error:
        return error
    return None


def check_qrels(source: Any, *, columns: Roles = None) -> InputError | None:
    """All faults of judgments, or None."""
    try:
        read_qrels(source, columns=columns)
    except InputError as error:
        return error
    return None


# An argument may be one run or several: ``[run, run]`` and ``{name: run}`` stand beside the shapes of one run.


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
