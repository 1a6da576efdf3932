"""Runs joined to the judged ids, or loaded into memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from cranfield import native
from cranfield.data import Integers, Opener, Run, Strings, Table
from cranfield.errors import InputError
from cranfield.io.detect import BOM
from cranfield.io.duplicates import first_rows
from cranfield.io.faults import MAX_FAULTS, Fault, Location, input_error
from cranfield.io.objects import document_at


def join(run: Run, index: Any, keys: Sequence[str], by_id: bool, top: int = 0) -> dict[str, Any]:
    """Positions of the judged documents of an index, and of the top documents, in a run, as `core` describes them."""
    native.warn_if_slow()
    source = run.source
    if isinstance(source, Table):
        table = source
        query, document = (table.query.offsets, source.query.data), (source.document.offsets, source.document.data)
        result = native.join_table(query, document, source.score, source.rank, index, keys, by_id, top)
        location = Location(run.source_name, "run", "row" if source.numbered else "entry", source.score_column)
        return raise_faults(result, location, lambda row: table.document[row - 1])
    if isinstance(source, Mapping):
        location = Location(run.source_name, "run", "entry")
        result = native.join_dict(source, index, keys, by_id, top)
        if any(fault[1] in ("id", "score") for fault in result["faults"]):
            from cranfield.io.lists import rankings_of

            # Ids that are not text, or responses of search engines: rare, so that others need not be searched for them.
            rankings = rankings_of(source, location, check_ids=True)
            result = native.join_dict(rankings, index, keys, by_id, top)
        return raise_faults(result, location, lambda entry: document_at(source, entry))
    result = raise_faults(native.join_text(source, index, keys, by_id, top), Location(run.source_name, "run"))
    if result["lines"] == 0:
        raise no_rows_error(run.source_name)
    return result


def raise_faults(
    result: dict[str, Any], location: Location, document_at: Callable[[int], str] = lambda line: ""
) -> dict[str, Any]:
    """The result of a scan or a join, or an error with its faults."""
    if result["faults_total"]:
        raise input_error(result["faults"], result["faults_total"], location, document_at)
    return result


def no_rows_error(source_name: str) -> InputError:
    """The error for a text file without data."""
    return InputError([f"{source_name}: the file has only blank lines and comments"])


def load(run: Run) -> Table:
    """All rows of a run in memory, checked as a join checks them."""
    source = run.source
    if isinstance(source, Table):
        _check_rows(source, np.arange(1, len(source.score) + 1), Location(run.source_name, "run", "row"))
        return source
    if isinstance(source, Mapping):
        from cranfield.io.lists import rankings_of

        join(run, empty_index(), ["score"], by_id=False)
        rankings = rankings_of(source, Location(run.source_name, "run", "entry"), check_ids=True)
        scores = (r.values() if isinstance(r, Mapping) else range(0, -len(r), -1) for r in rankings.values())
        return Table(
            Strings.of(query for query, ranking in rankings.items() for _ in ranking),
            Strings.of(document for ranking in rankings.values() for document in ranking),
            np.array([float(score) for of_query in scores for score in of_query], np.float64),
        )
    table, result = _scan(run)
    _check_rows(table, result["line"], Location(run.source_name, "run"), result["query_of"])
    return table


def load_unchecked(run: Run) -> Table:
    """All rows of a table or of text; a document may appear twice for a query, everything else is checked."""
    if isinstance(run.source, Table):
        return run.source
    try:
        return _scan(run)[0]
    except InputError as error:
        if error.kinds != {"duplicate"}:
            raise
    source = cast("Opener", run.source)()
    with open(source, "rb") if isinstance(source, int) else source as file:
        lines = file.read().removeprefix(BOM).decode("utf-8", "surrogateescape").split("\n")
    rows = [fields for line in lines if (fields := line.split()) and not fields[0].startswith("#")]
    return Table(
        Strings.of(row[0] for row in rows),
        Strings.of(row[2] for row in rows),
        np.array([float(row[4]) for row in rows]),
    )


def _scan(run: Run) -> tuple[Table, dict[str, Any]]:
    result = raise_faults(native.scan_run(cast("Opener", run.source)), Location(run.source_name, "run"))
    if len(result["line"]) == 0:
        raise no_rows_error(run.source_name)
    table = Table(
        Strings(*result["query"]).take(result["query_of"]),
        Strings(*result["document"]),
        result["score"],
        None if np.isnan(result["rank"]).any() else result["rank"],
    )
    return table, result


def _check_rows(table: Table, line: Integers, location: Location, query_of: Integers | None = None) -> None:
    """Raise if a score is NaN, or a document appears twice for a query."""
    if query_of is None:
        query_of = first_rows(np.zeros(len(table.score), np.int64), table.query)
    first = first_rows(query_of, table.document)
    nan = np.isnan(table.score)
    faulty = np.flatnonzero(nan | (first != np.arange(len(first))))
    faults: list[Fault] = []
    for row in faulty[:MAX_FAULTS].tolist():
        query, document = (column[row].encode("utf-8", "surrogateescape") for column in (table.query, table.document))
        if nan[row]:
            faults.append(Fault(int(line[row]), "nan", query, b"nan", 0))
        else:
            faults.append(Fault(int(line[row]), "duplicate", query, document, int(line[first[row]])))
    if faults:
        raise input_error(faults, len(faulty), location)


def empty_index() -> Any:
    """An index without judgments, to read a run alone."""
    empty = (np.zeros(1, np.int64), np.empty(0, np.uint8))
    return native.Index(empty, np.zeros(1, np.int64), empty)


def check(run: Run) -> InputError | None:
    """All faults of a run, or None."""
    try:
        join(run, empty_index(), ["score"], by_id=False)
    except InputError as error:
        return error
    return None
