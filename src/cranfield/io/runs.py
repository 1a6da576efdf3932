"""Runs joined to the judged ids, loaded into memory, or read some queries at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from io import BytesIO
from itertools import islice
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from cranfield import native
from cranfield.data import Integers, Opener, Run, Strings, Table, TableStream
from cranfield.errors import InputError, UsageError, max_faults, reading, reading_objects
from cranfield.io.columns import check_marks, codes_of, first_rows, texts_of
from cranfield.io.faults import Fault, FaultList, Location, input_error, quotable
from cranfield.io.tables import concatenate, document_at

WHOLE_RANKING = 1 << 62  # a rank below the end of every ranking


class Positions(NamedTuple):
    """Where documents stand in rankings: one row per document, ranking by ranking, best first, ties in input order.

    ``query``: the ranking, the number of its query; ``document``: the row in the judgments, -1 if it is not judged. The
    document has one of the ranks start+1 .. start+size. ``by_id``, ``by_input``: its position in this tie group, from
    0, by descending id and in input order.
    """

    query: Integers
    document: Integers
    start: Integers
    size: Integers
    by_id: Integers
    by_input: Integers

    def take(self, rows: Integers | slice) -> Positions:
        """The positions of these rows."""
        return Positions(*(column[rows] for column in self))

    @classmethod
    def concatenate(cls, parts: Sequence[Positions]) -> Positions:
        """All rows of several positions, one after the other."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


class TopDocuments(NamedTuple):
    """The top documents of every query of a run, judged or not: complete tie groups.

    In ``positions``, the judged queries come first, then the other queries of the run.
    """

    ids: Strings
    positions: Positions


class RunQueries(NamedTuple):
    """The queries of a run.

    ``length``: the number of documents of each judged query, -1 if the run does not answer it. ``other``,
    ``other_length``: the queries without judgments. ``tag``: the last column of TREC text. ``ranks_compared``,
    ``ranks_contradicted``: the sequences of rows of a query whose first and last row differ in score and rank, and
    those in which the higher score has the higher rank.
    """

    length: Integers
    other: Strings
    other_length: Integers
    tag: bytes = b""
    ranks_compared: int = 0
    ranks_contradicted: int = 0


class Joined(NamedTuple):
    """A run joined to judged ids: for each ranking key the judged documents and, if wanted, the top documents."""

    queries: RunQueries
    judged: tuple[Positions, ...]
    tops: tuple[TopDocuments, ...]


@reading_objects()
def join(run: Run, index: Any, keys: Sequence[str], by_id: bool, top: int = 0) -> Joined:
    """Positions of the judged documents of an index, and of the top documents, in a run; see `native` on arguments."""
    joined = _join(run, index, keys, by_id, top)
    if not isinstance(run.source, Mapping):
        check_marks(joined.queries.other, run.source_name or run.name)  # judged ones have none
    return joined


def _join(run: Run, index: Any, keys: Sequence[str], by_id: bool, top: int) -> Joined:
    native.warn_if_slow()
    source, most = run.source, max_faults()
    with reading(run.source_name or run.name):
        if isinstance(source, TableStream):
            return _join_stream(run, source, lambda table: _join_table(table, index, keys, by_id, top))
        if isinstance(source, Table):
            table = source
            result = _join_table(table, index, keys, by_id, top)
            in_file = table.line is not None  # then the line is enough
            raise_faults(result, _location(run, table), lambda row: "" if in_file else table.document[row - 1])
            return _joined(result)
        if isinstance(source, Mapping):
            location = Location(run.source_name, "run", "entry")
            result = native.join_dict(source, index, keys, by_id, top, most)
            if any(fault[1] in ("id", "score") for fault in result["faults"]):
                from cranfield.io.records import rankings_of

                # Ids that are not text, or responses of search engines: rare, so that others need not be searched for
                # them.
                rankings = rankings_of(source, location, check_ids=True)
                result = native.join_dict(rankings, index, keys, by_id, top, most)
            return _joined(raise_faults(result, location, lambda entry: document_at(source, entry)))
        location = Location(run.source_name, "run")
        result = raise_faults(native.join_text(source, index, keys, by_id, top, most), location)
    if result["lines"] == 0:
        raise no_rows_error(run.source_name)
    return _joined(result)


_OF_QUERIES = ("length", "other_length", "tag", "ranks_compared", "ranks_contradicted")


def _joined(result: dict[str, Any]) -> Joined:
    """The result of a native join without faults."""
    queries = RunQueries(other=Strings(*result["other"]), **{name: result[name] for name in _OF_QUERIES})
    judged = tuple(Positions(**hits) for hits in result["hits"])
    return Joined(queries, judged, tuple(map(_top_documents, result.get("tops", ()))))


def _top_documents(rows: dict[str, Any]) -> TopDocuments:
    ids = Strings(*rows["document"])
    columns = {name: values for name, values in rows.items() if name != "judged"}
    return TopDocuments(ids, Positions(**columns | {"document": rows["judged"]}))


def _location(run: Run, table: Table) -> Location:
    return Location(run.source_name, "run", table.unit, table.score_column, literals=table.unit == "line")


def _join_table(table: Table, index: Any, keys: Sequence[str], by_id: bool, top: int) -> dict[str, Any]:
    """The join of a table; faults have the lines of its file, and include those of rows that are not in the table."""
    query, document = (table.query.offsets, table.query.data), (table.document.offsets, table.document.data)
    result: dict[str, Any] = native.join_table(
        query, document, table.score, table.rank, index, keys, by_id, top, max_faults()
    )
    if table.line is None or not (table.faults_total or result["faults_total"]):
        return result
    line = np.concatenate([[0], table.line])
    faults = FaultList(table.faults, table.faults_total)
    records = [Fault(*fault) for fault in result["faults"]]
    placed = [
        fault._replace(
            line=int(line[fault.line]), other=int(line[fault.other]) if fault.kind == "duplicate" else fault.other
        )
        for fault in records
    ]
    faults.add(placed, result["faults_total"])
    return {"faults": faults.first, "faults_total": faults.total}


def _join_stream(run: Run, source: TableStream, join_piece: Callable[[Table], dict[str, Any]]) -> Joined:
    """The join of every piece, put together; if a query is in several of them, of all rows at once."""
    pieces: list[Joined] = []
    seen: set[str] = set()
    faults, location = FaultList(), Location(run.source_name, "run")
    length: Integers | None = None  # of all pieces: one for each would take more memory than the documents
    for table in source.pieces():
        queries, location = set(codes_of(table.query)[0]), _location(run, table)
        if not seen.isdisjoint(queries):
            return _joined(raise_faults(join_piece(concatenate(list(source.pieces()))), location))
        seen |= queries
        result = join_piece(table)
        faults.add(result["faults"], result["faults_total"])
        if not faults.total:
            piece = _joined(result)
            length = piece.queries.length if length is None else np.maximum(length, piece.queries.length, out=length)
            pieces.append(piece._replace(queries=piece.queries._replace(length=length)))
    faults.raise_if_any(location)
    return join_pieces(pieces)


def join_pieces(pieces: Sequence[Joined]) -> Joined:
    """The joins of pieces of a run that have no query in common, as one join."""
    parts = [piece.queries for piece in pieces]
    judged_queries = len(parts[0].length)
    others = np.cumsum([0, *(len(part.other_length) for part in parts)]).tolist()

    def in_order(positions: Iterable[Positions]) -> tuple[Positions, Integers]:
        # Queries without judgments are numbered after those of the index, over all pieces.
        numbered = [
            part._replace(query=np.where(part.query < judged_queries, part.query, part.query + other))
            for part, other in zip(positions, others, strict=False)
        ]
        rows = Positions.concatenate(numbered)
        order = np.argsort(rows.query, kind="stable")
        return rows.take(order), order

    judged = tuple(in_order(parts)[0] for parts in zip(*(piece.judged for piece in pieces), strict=True))
    tops = []
    for of_key in zip(*(piece.tops for piece in pieces), strict=True):
        positions, order = in_order(top.positions for top in of_key)
        tops.append(TopDocuments(Strings.concatenate([top.ids for top in of_key]).take(order), positions))
    queries = RunQueries(
        reduce(np.maximum, [part.length for part in parts]),
        Strings.concatenate([part.other for part in parts]),
        np.concatenate([part.other_length for part in parts]),
        b"",
        sum(part.ranks_compared for part in parts),
        sum(part.ranks_contradicted for part in parts),
    )
    return Joined(queries, judged, tuple(tops))


def raise_faults(
    result: dict[str, Any], location: Location, document_at: Callable[[int], str] = lambda line: ""
) -> dict[str, Any]:
    """The result of a scan or a join, or an error with its faults."""
    if result["faults_total"]:
        raise input_error(result["faults"], result["faults_total"], location, document_at)
    return result


def no_rows_error(source_name: str) -> InputError:
    """The error for a text file without data."""
    return InputError([f"{source_name}: the file has only blank lines and comments"], kinds=frozenset({"blank"}))


@reading_objects()
def load(run: Run) -> Table:
    """All rows of a run in memory, checked as a join checks them."""
    source = _in_memory(run)
    if isinstance(source, Table):
        line = np.arange(1, len(source.score) + 1) if source.line is None else source.line
        _check_rows(source, line, _location(run, source))
        return source
    if isinstance(source, Mapping):
        from cranfield.io.records import rankings_of

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


def _in_memory(run: Run) -> Any:
    """The source of a run; the pieces of a stream are one table."""
    if not isinstance(run.source, TableStream):
        return run.source
    with reading(run.source_name):
        return concatenate(list(run.source.pieces()))


class Held:
    """A source that is opened once: its text, or its pieces, stay in memory until they are released."""

    def __init__(self, source: Opener | TableStream) -> None:
        from threading import Lock  # most evaluations need none

        self._source, self._lock = source, Lock()
        self._content: Any = None

    def __call__(self) -> Any:
        """The text from its beginning, or the pieces."""
        with self._lock:
            if self._content is None:
                self._content = self._read()
        return iter(self._content) if isinstance(self._source, TableStream) else BytesIO(self._content)

    def _read(self) -> Any:
        if isinstance(self._source, TableStream):
            return list(self._source.pieces())
        opened = self._source()
        with open(opened, "rb", buffering=0) if isinstance(opened, int) else opened as file:
            return file.read()

    def release(self) -> None:
        """Free the memory."""
        self._content = None


def held(run: Run) -> tuple[Run, Callable[[], None]]:
    """The run for several joins, though its source is opened once; and what frees its memory."""
    if isinstance(run.source, Table | Mapping):
        return run, lambda: None
    kept = Held(run.source)
    source: Any = TableStream(kept) if isinstance(run.source, TableStream) else kept
    return replace(run, source=source), kept.release


def load_unchecked(run: Run) -> Table:
    """All rows of a table or of text; a document may appear twice."""
    source = _in_memory(run)
    if isinstance(source, Table):
        FaultList(source.faults, source.faults_total).raise_if_any(_location(run, source))
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


ScoreKind = Literal["similarity", "distance"]


def directed(run: Run, scores: ScoreKind) -> Run:
    """The run with high scores first; distances, of which low ones are better, are negated."""
    if scores == "similarity":
        return replace(run, rising=False)
    table = load(run)
    source: Any = replace(table, score=-table.score)
    if isinstance(run.source, Mapping):  # a table has no empty rankings
        scored = ((query, r) for query, r in run.source.items())
        source = {q: {d: -float(s) for d, s in r.items()} if isinstance(r, Mapping) else r for q, r in scored}
    return replace(run, source=source, rising=False)


def with_query_ids(run: Run, ids: Iterable[Any]) -> Run:
    """The run of a list, with these ids in place of positions."""
    if not run.by_position or not isinstance(run.source, Mapping):
        raise UsageError("query_ids= is for lists and arrays; this source has ids of queries")
    names = texts_of(list(ids), "", Location("query_ids", "run", "entry"))
    if len(names) != run.by_position:
        raise UsageError(f"query_ids has {len(names)} ids for {run.by_position} lists")
    if len(named := dict(zip(names, run.source.values(), strict=True))) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"query_ids has the id `{quotable(repeated)}` twice")
    return replace(run, source=named, by_position=0)


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
        every = FaultList(table.faults, table.faults_total)
        every.add(faults, len(faulty))
        every.raise_if_any(location)


def empty_index() -> Any:
    """An index without judgments, to read a run alone."""
    empty = (np.zeros(1, np.int64), np.empty(0, np.uint8))
    return native.Index(empty, np.zeros(1, np.int64), empty)


BLOCK = 1 << 22  # bytes of text that are read at once
QUERIES = 10_000  # of a dict that are joined at once


class Piece(NamedTuple):
    """The top documents of some queries: complete tie groups, each with its query and its span of ranks."""

    queries: list[str]
    ids: Strings
    query: Integers
    start: Integers
    size: Integers

    @classmethod
    def of(cls, joined: Joined) -> Piece:
        """The piece of a join without judgments."""
        tops = joined.tops[0]
        return cls(
            list(joined.queries.other), tops.ids, tops.positions.query, tops.positions.start, tops.positions.size
        )


def for_each_piece(run: Run, top: int, begin: Callable[[], Any], add: Callable[[Any, Piece], None]) -> Any:
    """Add up all pieces of a run, from what ``begin`` returns; where a query comes back later, the whole run at once.

    ``top``: documents that may have a rank up to this are in a piece.
    """
    total, seen = begin(), set[str]()
    try:
        for source in _sources(run.source):
            piece = Piece.of(_join_piece(replace(run, source=source), top))
            if not seen.isdisjoint(piece.queries):
                break
            seen.update(piece.queries)
            add(total, piece)
        else:
            return total
    except InputError:
        pass  # in all rows at once, its line numbers are those of the file
    total = begin()
    add(total, Piece.of(_join_piece(run, top)))
    return total


def _join_piece(run: Run, top: int) -> Joined:
    return join(run, empty_index(), ["score"], by_id=False, top=top)


def _sources(source: Any) -> Iterator[Any]:
    """The parts of a source, each with whole queries if these are contiguous."""
    if isinstance(source, TableStream):
        yield from source.pieces()
    elif isinstance(source, Mapping):
        rankings = iter(source.items())
        while part := dict(islice(rankings, QUERIES)):
            yield part
    elif callable(source):
        for text in _blocks(source):
            yield partial(BytesIO, text)
    else:
        yield source


def _blocks(opener: Opener) -> Iterator[bytes]:
    """TREC text in blocks that end where a query ends."""
    opened = opener()
    with open(opened, "rb", buffering=0) if isinstance(opened, int) else opened as file:
        text = b""
        while more := file.read(BLOCK):
            text += more
            end = _last_query(text)
            if end:
                yield text[:end]
                text = text[end:]
    if text.strip():
        yield text


def _last_query(text: bytes) -> int:
    """Where the lines of the last query begin, which may go on in the next block; 0 if it is the first one, too."""
    end = text.rfind(b"\n") + 1
    begin = text.rfind(b"\n", 0, max(end - 1, 0)) + 1
    last = _query(text, begin)
    if last == _query(text, 0):
        return 0
    while _query(text, begin) == last:
        end, begin = begin, text.rfind(b"\n", 0, begin - 1) + 1
    return end


def _query(text: bytes, begin: int) -> list[bytes]:
    """The first column of the line that begins here."""
    return text[begin : text.find(b"\n", begin)].split(None, 1)[:1]
