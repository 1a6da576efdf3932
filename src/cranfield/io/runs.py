"""Runs of any kind meet the judged ids, or come into memory whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cranfield import core
from cranfield.data import Run, Strings, Table
from cranfield.errors import InputError
from cranfield.io.duplicates import first_rows
from cranfield.io.faults import Fault, Place, input_error
from cranfield.io.nested import document_at


def join(run: Run, index: Any, keys: Sequence[str], by_id: bool, top: int = 0) -> dict[str, Any]:
    """Where the judged documents of an index, and the first ones, stand in a run: the dict that `core` describes."""
    core.admit()
    source = run.source
    if isinstance(source, Table):
        query, document = (source.query.offsets, source.query.data), (source.document.offsets, source.document.data)
        result = core.join_table(query, document, source.score, source.rank, index, keys, by_id, top)
        place = Place(run.place, "run", "row" if source.numbered else "entry", source.score_from)
        return _sound(result, place, lambda row: source.document[row - 1])
    if isinstance(source, Mapping):
        result = core.join_dict(source, index, keys, by_id, top)
        return _sound(result, Place(run.place, "run", "entry"), lambda entry: document_at(source, entry))
    result = _sound(core.join_text(source, index, keys, by_id, top), Place(run.place, "run"))
    if result["lines"] == 0:
        raise _rowless(run.place)
    return result


def _sound(result: dict[str, Any], place: Place, documents: Callable[[int], str] = lambda line: "") -> dict[str, Any]:
    if result["faults_total"]:
        raise input_error(result["faults"], result["faults_total"], place, documents)
    return result


def _rowless(place: str) -> InputError:
    return InputError([f"{place}: there are only blank lines and comments in this file"])


def scan_qrels(opener: Any, place: str) -> dict[str, Any]:
    """All lines of a TREC judgments file, as `core` gives them, without faults."""
    result = _sound(core.scan_qrels(opener), Place(place, "qrels"))
    if len(result["line"]) == 0:
        raise _rowless(place)
    return result


def load(run: Run) -> Table:
    """All of a run in memory, checked as a join would check it."""
    source = run.source
    if isinstance(source, Table):
        _check(source, np.arange(1, len(source.score) + 1), Place(run.place, "run", "row"))
        return source
    if isinstance(source, Mapping):
        join(run, nothing(), ["score"], by_id=False)
        return Table(
            Strings.of(query for query, ranking in source.items() for _ in ranking),
            Strings.of(document for ranking in source.values() for document in ranking),
            np.array([float(score) for ranking in source.values() for score in ranking.values()], np.float64),
        )
    place = Place(run.place, "run")
    result = _sound(core.scan_run(source), place)
    if len(result["line"]) == 0:
        raise _rowless(run.place)
    table = Table(
        Strings(*result["query"]).take(result["query_of"]),
        Strings(*result["document"]),
        result["score"],
        None if np.isnan(result["rank"]).any() else result["rank"],
    )
    _check(table, result["line"], place, result["query_of"])
    return table


def _check(table: Table, line: Any, place: Place, query_of: Any = None) -> None:
    if query_of is None:
        query_of = first_rows(np.zeros(len(table.score), np.int64), table.query)
    first = first_rows(query_of, table.document)
    nan = np.isnan(table.score)
    bad = np.flatnonzero(nan | (first != np.arange(len(first))))
    faults: list[Fault] = []
    for row in bad[:20].tolist():
        query, document = (column[row].encode("utf-8", "surrogateescape") for column in (table.query, table.document))
        if nan[row]:
            faults.append((int(line[row]), "nan", query, b"nan", 0))
        else:
            faults.append((int(line[row]), "duplicate", query, document, int(line[first[row]])))
    if faults:
        raise input_error(faults, len(bad), place)


def nothing() -> Any:
    """An index without judgments, for runs that meet none."""
    empty = (np.zeros(1, np.int64), np.empty(0, np.uint8))
    return core.Index(empty, np.zeros(1, np.int64), empty)


def check(run: Run) -> InputError | None:
    """Every fault of a run, or None."""
    try:
        join(run, nothing(), ["score"], by_id=False)
    except InputError as error:
        return error
    return None
