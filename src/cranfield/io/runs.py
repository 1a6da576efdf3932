"""Runs joined to the judged ids, or loaded into memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from cranfield import native
from cranfield.data import Integers, Opener, Run, Strings, Table, TableStream
from cranfield.errors import InputError, max_faults, reading
from cranfield.io.duplicates import codes_of, first_rows
from cranfield.io.faults import Fault, FaultList, Location, input_error
from cranfield.io.objects import document_at
from cranfield.io.rows import concatenate


def join(run: Run, index: Any, keys: Sequence[str], by_id: bool, top: int = 0) -> dict[str, Any]:
    """Positions of the judged documents of an index, and of the top documents, in a run, as `core` describes them."""
    native.warn_if_slow()
    source, most = run.source, max_faults()
    with reading(run.source_name or run.name):
        if isinstance(source, TableStream):
            return _join_stream(run, source, lambda table: _join_table(table, index, keys, by_id, top))
        if isinstance(source, Table):
            table = source
            result = _join_table(table, index, keys, by_id, top)
            in_file = table.line is not None  # then the line is enough
            return raise_faults(result, _location(run, table), lambda row: "" if in_file else table.document[row - 1])
        if isinstance(source, Mapping):
            location = Location(run.source_name, "run", "entry")
            result = native.join_dict(source, index, keys, by_id, top, most)
            if any(fault[1] in ("id", "score") for fault in result["faults"]):
                from cranfield.io.lists import rankings_of

                # Ids that are not text, or responses of search engines: rare, so that others need not be searched for
                # them.
                rankings = rankings_of(source, location, check_ids=True)
                result = native.join_dict(rankings, index, keys, by_id, top, most)
            return raise_faults(result, location, lambda entry: document_at(source, entry))
        location = Location(run.source_name, "run")
        result = raise_faults(native.join_text(source, index, keys, by_id, top, most), location)
    if result["lines"] == 0:
        raise no_rows_error(run.source_name)
    return result


def _location(run: Run, table: Table) -> Location:
    if table.line is not None:
        return Location(run.source_name, "run", literals=True)
    return Location(run.source_name, "run", "row" if table.numbered else "entry", table.score_column)


def _join_table(table: Table, index: Any, keys: Sequence[str], by_id: bool, top: int) -> dict[str, Any]:
    """The join of a table; faults have the lines of its file, and include those of rows that are not in the table."""
    query, document = (table.query.offsets, table.query.data), (table.document.offsets, table.document.data)
    result: dict[str, Any] = native.join_table(
        query, document, table.score, table.rank, index, keys, by_id, top, max_faults()
    )
    if table.line is None or not (table.faults_total or result["faults_total"]):
        return result
    line = np.concatenate([[0], table.line])
    faults = FaultList()
    faults.add(table.faults, table.faults_total)
    records = [Fault(*fault) for fault in result["faults"]]
    placed = [fault._replace(line=int(line[fault.line]), other=_line_of(line, fault)) for fault in records]
    faults.add(placed, result["faults_total"])
    return {"faults": faults.first, "faults_total": faults.total}


def _line_of(line: Integers, fault: Fault) -> int:
    """The line of the first row of a duplicate."""
    return int(line[fault.other]) if fault.kind == "duplicate" else fault.other


def _join_stream(run: Run, source: TableStream, join_piece: Callable[[Table], dict[str, Any]]) -> dict[str, Any]:
    """The join of every piece, put together; if a query is in several of them, of all rows at once."""
    pieces = JoinedPieces()
    seen: set[str] = set()
    faults = FaultList()
    for table in source.pieces():
        queries = set(codes_of(table.query)[0])
        if not seen.isdisjoint(queries):
            whole = join_piece(concatenate(list(source.pieces())))
            return raise_faults(whole, Location(run.source_name, "run", literals=True))
        seen |= queries
        result = join_piece(table)
        faults.add(result["faults"], result["faults_total"])
        if not faults.total:
            pieces.add(result)
    faults.raise_if_any(Location(run.source_name, "run", literals=True))
    return pieces.result()


class JoinedPieces:
    """The joins of pieces of a run that have no query in common, as one join."""

    def __init__(self) -> None:
        self._results: list[dict[str, Any]] = []

    def add(self, result: dict[str, Any]) -> None:
        self._results.append(result)

    def result(self) -> dict[str, Any]:
        results = self._results
        judged = len(results[0]["length"])
        others = np.cumsum([0, *(len(result["other_length"]) for result in results)])

        def joined(kind: str, key: int) -> dict[str, Any]:
            parts = [result[kind][key] for result in results]
            # Queries without judgments are numbered after those of the index, over all pieces.
            query = np.concatenate(
                [
                    np.where(part["query"] < judged, part["query"], part["query"] + other)
                    for part, other in zip(parts, others, strict=False)
                ]
            )
            order = np.argsort(query, kind="stable")
            columns = {
                name: np.concatenate([part[name] for part in parts])[order]
                for name in parts[0]
                if not isinstance(parts[0][name], tuple)
            }
            texts = {
                name: Strings.concatenate([Strings(*part[name]) for part in parts]).take(order)
                for name in parts[0]
                if isinstance(parts[0][name], tuple)
            }
            return columns | {"query": query[order]} | {name: (ids.offsets, ids.data) for name, ids in texts.items()}

        kinds = [kind for kind in ("hits", "tops") if kind in results[0]]
        other = Strings.concatenate([Strings(*result["other"]) for result in results])
        return {
            **{kind: [joined(kind, key) for key in range(len(results[0][kind]))] for kind in kinds},
            "length": np.max([result["length"] for result in results], axis=0),
            "other": (other.offsets, other.data),
            "other_length": np.concatenate([result["other_length"] for result in results]),
            "lines": sum(result["lines"] for result in results),
            "tag": b"",
            **{name: sum(result[name] for result in results) for name in ("ranks_compared", "ranks_contradicted")},
            "faults": [],
            "faults_total": 0,
        }


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
    if isinstance(source, TableStream):
        with reading(run.source_name):
            source = concatenate(list(source.pieces()))
    if isinstance(source, Table):
        line = np.arange(1, len(source.score) + 1) if source.line is None else source.line
        _check_rows(source, line, _location(run, source))
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
    """All rows of a table or of text; a document may appear twice."""
    source = run.source
    if isinstance(source, TableStream):
        with reading(run.source_name):
            source = concatenate(list(source.pieces()))
    if isinstance(source, Table):
        every = FaultList()
        every.add(source.faults, source.faults_total)
        every.raise_if_any(_location(run, source))
        return source
    from cranfield.native import plain

    return _scan(run, plain.scan_run)[0]  # the native one refuses a document that appears twice


def _scan(run: Run, scan: Callable[..., dict[str, Any]] = native.scan_run) -> tuple[Table, dict[str, Any]]:
    with reading(run.source_name):
        scanned = scan(cast("Opener", run.source), max_faults())
    result = raise_faults(scanned, Location(run.source_name, "run"))
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
    for row in faulty[: max_faults()].tolist():
        query, document = (column[row].encode("utf-8", "surrogateescape") for column in (table.query, table.document))
        if nan[row]:
            faults.append(Fault(int(line[row]), "nan", query, b"nan", 0))
        else:
            faults.append(Fault(int(line[row]), "duplicate", query, document, int(line[first[row]])))
    if faults or table.faults_total:
        every = FaultList()
        every.add(table.faults, table.faults_total)
        every.add(faults, len(faulty))
        every.raise_if_any(location)


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
