"""Reading, joining and counting words in plain Python: the fallback without the native core, and its test oracle.

The contract is in `cranfield.native`. The code is simple rather than fast. Where the contract leaves a
choice, this module makes it:

- a file descriptor that an opener returns is closed here; an object is only read;
- ``text`` of a whole-line fault is the line without its newline (and without a BOM), not stripped;
- a NUL within the first MiB of a line is ``binary`` even where the line would be ``long``;
- ``binary`` comes before everything, comments too;
- duplicates are looked for among all well-formed rows of the joins, judged queries or not; the
  scans look at lines one by one and leave that to their caller;
- rows come out by query, then best first, tied ones in input order.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Opener = Callable[[], Any]
Column = tuple[Integers, Bytes]
Fault = tuple[int, str, bytes, bytes, int]
Row = tuple[int, bytes, bytes, float, float, bytes]  # of a run: line, query, document, score, rank, tag

CUT = 80
LONGEST = 1 << 20
CHUNK = 1 << 16

_SEPARATORS = re.compile(rb"[\t\v\f\r ]+")
_NUMBER = re.compile(rb"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE)


class _Faults:
    """The faults with the lowest lines, at most ``most``, and how many there were."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.kept: list[Fault] = []
        self.total = 0

    def add(self, line: int, kind: str, query: bytes, text: bytes, other: int = 0) -> None:
        self.total += 1
        self.kept.append((line, kind, query, text[:CUT], other))
        if len(self.kept) > 2 * self.most:
            self._trim()

    def _trim(self) -> None:
        self.kept.sort(key=lambda fault: fault[0])
        del self.kept[self.most :]

    def result(self) -> dict[str, Any]:
        self._trim()
        return {"faults": self.kept, "faults_total": self.total}


class Index:
    """The judged ids: where each query and each of its documents is."""

    def __init__(self, queries: Column, begin: Integers, documents: Column) -> None:
        rows = list(_unpack(documents))
        bounds = begin.tolist()
        self.queries = {query: q for q, query in enumerate(_unpack(queries))}
        self.documents = [{rows[row]: row for row in range(first, last)} for first, last in pairwise(bounds)]


def _pack(texts: Iterable[bytes]) -> Column:
    texts = list(texts)
    offsets = np.zeros(len(texts) + 1, np.int64)
    offsets[1:] = np.cumsum([len(text) for text in texts])
    return offsets, np.frombuffer(b"".join(texts), np.uint8)


def _unpack(column: Column) -> Iterator[bytes]:
    bounds, data = column[0].tolist(), column[1].tobytes()
    for first, last in pairwise(bounds):
        yield data[first:last]


def _number(text: bytes) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None


def _chunks(opener: Opener) -> Iterator[bytes]:
    source = opener()
    if isinstance(source, int):
        try:
            while chunk := os.read(source, CHUNK):
                yield chunk
        finally:
            os.close(source)
    else:
        buffer = bytearray(CHUNK)
        while count := source.readinto(buffer):
            yield bytes(buffer[:count])


def _lines(opener: Opener) -> Iterator[bytes]:
    """Lines without their newline; an overlong one is given as far as it was read, and is the last."""
    rest = b""
    for chunk in _chunks(opener):
        *complete, rest = (rest + chunk).split(b"\n")
        yield from complete
        if len(rest) > LONGEST:
            break
    if rest:
        yield rest


def _rows(opener: Opener, width: int, faults: _Faults) -> Iterator[tuple[int, list[bytes]]]:
    """Line number and columns of each line that has as many as it should."""
    for number, line in enumerate(_lines(opener), 1):
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if b"\0" in line[:LONGEST]:
            faults.add(number, "binary", b"", line)
            return
        if len(line) > LONGEST:
            faults.add(number, "long", b"", line)
            return
        columns = [column for column in _SEPARATORS.split(line) if column]
        if not columns or columns[0].startswith(b"#"):
            continue
        if len(columns) != width:
            faults.add(number, "columns", b"", line, len(columns))
            continue
        yield number, columns


def _run_rows(opener: Opener, keys: Sequence[str], faults: _Faults) -> Iterator[Row]:
    """The lines of a run file without faults; a rank that is not a number is NaN, unless it is one of the keys."""
    for line, (query, _, document, rank_text, text, tag) in _rows(opener, 6, faults):
        score, rank = _number(text), _number(rank_text)
        rank = np.nan if rank is None else rank
        if score is None:
            faults.add(line, "score", query, text)
        elif np.isnan(score):
            faults.add(line, "nan", query, text)
        elif "rank" in keys and np.isnan(rank):
            faults.add(line, "rank", query, rank_text)
        else:
            yield line, query, document, score, rank, tag


def _codes(ids: Iterable[bytes]) -> tuple[Column, Integers]:
    """The distinct ids in order of appearance, and the number of each."""
    number: dict[bytes, int] = {}
    codes = np.array([number.setdefault(text, len(number)) for text in ids], np.int64)
    return _pack(number), codes


def scan_qrels(opener: Opener, most: int = 20) -> dict[str, Any]:
    """Every line of a judgments file: query, iteration, document, grade."""
    faults, rows = _Faults(most), []
    for line, (query, iteration, document, text) in _rows(opener, 4, faults):
        grade = _number(text)
        if grade is None or not np.isfinite(grade):
            faults.add(line, "grade", query, text)
        else:
            rows.append((line, query, iteration, document, grade))
    if faults.total:
        return faults.result()
    lines, queries, iterations, documents, grades = zip(*rows, strict=True) if rows else ((),) * 5
    (query_ids, query_of), (iteration_ids, iteration_of) = _codes(queries), _codes(iterations)
    return {
        "query": query_ids,
        "iteration": iteration_ids,
        "query_of": query_of,
        "iteration_of": iteration_of,
        "document": _pack(documents),
        "grade": np.array(grades, np.float64),
        "line": np.array(lines, np.int64),
        **faults.result(),
    }


def scan_run(opener: Opener, most: int = 20) -> dict[str, Any]:
    """Every line of a run file: query, document, rank, score; and the tag of the first."""
    faults = _Faults(most)
    rows = list(_run_rows(opener, (), faults))
    if faults.total:
        return faults.result()
    lines, queries, documents, scores, ranks, tags = zip(*rows, strict=True) if rows else ((),) * 6
    query, query_of = _codes(queries)
    return {
        "query": query,
        "query_of": query_of,
        "document": _pack(documents),
        "rank": np.array(ranks, np.float64),
        "score": np.array(scores, np.float64),
        "line": np.array(lines, np.int64),
        "tag": tags[0] if tags else b"",
        **faults.result(),
    }


def _unusual(*_: Any) -> Any:
    """None of these is read at once: the caller reads value by value, as it does where input is unusual."""


split_fields = scan_nested = scan_passages = _unusual


def parse_numbers(column: Column) -> Floats | None:
    numbers = [_number(text) for text in _unpack(column)]
    return None if None in numbers else np.array(numbers, np.float64)


def name_passages(names: Column, document: Integers, start: Integers, end: Integers) -> Column:
    offsets, data = names
    texts = [data[a:b].tobytes() for a, b in pairwise(offsets.tolist())]
    rows = zip(document.tolist(), start.tolist(), end.tolist(), strict=True)
    return _pack(b"%s:%d-%d" % (texts[code], a, b) for code, a, b in rows)


def join_text(
    opener: Opener, index: Index, keys: Sequence[str], by_id: bool, top: int, most: int = 20
) -> dict[str, Any]:
    """Where the judged documents, and the first ones, stand in a run file."""
    faults = _Faults(most)
    rows = list(_run_rows(opener, keys, faults))
    return _join(rows, index, keys, by_id, top, faults) | (_rank_check(rows) if not faults.total else {})


def join_table(
    query: Column,
    document: Column,
    score: Floats,
    rank: Floats | None,
    index: Index,
    keys: Sequence[str],
    by_id: bool,
    top: int,
    most: int = 20,
) -> dict[str, Any]:
    """The same in a run given as columns."""
    faults, rows = _Faults(most), list[Row]()
    ranks = np.arange(len(score), dtype=np.float64) if rank is None else rank
    columns = zip(_unpack(query), _unpack(document), score.tolist(), ranks.tolist(), strict=True)
    for row, (name, text, value, position) in enumerate(columns, 1):
        if np.isnan(value):
            faults.add(row, "nan", name, b"nan")
        elif "rank" in keys and np.isnan(position):
            faults.add(row, "rank", name, b"nan")
        else:
            rows.append((row, name, text, value, position, b""))
    joined = _join(rows, index, keys, by_id, top, faults)
    return joined | (_rank_check(rows) if rank is not None and not faults.total else {})


def join_dict(
    mapping: Mapping[str, Mapping[str, float] | Sequence[str]],
    index: Index,
    keys: Sequence[str],
    by_id: bool,
    top: int,
    most: int = 20,
) -> dict[str, Any]:
    """The same in a run given as ``{query: {document: score}}`` or ``{query: [document, ...]}``."""
    faults, rows, queries = _Faults(most), list[Row](), list[bytes]()
    row = 0
    for query, ranking in mapping.items():
        name = _id(query)
        if name is None:
            faults.add(row + 1, "id", b"", _shown(query))
            row += len(ranking)
            continue
        queries.append(name)
        scored = (
            ranking.items() if isinstance(ranking, Mapping) else zip(ranking, range(0, -len(ranking), -1), strict=True)
        )
        for document, score in scored:
            row += 1
            text = _id(document)
            value = _float(score)
            if text is None:
                faults.add(row, "id", name, _shown(document))
            elif value is None:
                faults.add(row, "score", name, _shown(score))
            elif np.isnan(value):
                faults.add(row, "nan", name, b"nan")
            else:
                rows.append((row, name, text, value, row, b""))
    return _join(rows, index, keys, by_id, top, faults, queries)


def first_rows(group: Integers, ids: Column) -> Integers:
    offsets, data = ids
    texts = data.tobytes()
    seen: dict[tuple[int, bytes], int] = {}
    rows = zip(group.tolist(), pairwise(offsets.tolist()), strict=True)
    first = [seen.setdefault((code, texts[begin:end]), row) for row, (code, (begin, end)) in enumerate(rows)]
    return np.array(first, np.int64)


def locate(
    document: Column,
    begin: Integers,
    row: Integers,
    judged: Integers,
    score: Floats,
    rank: Floats | None,
    keys: Sequence[str],
    by_id: bool,
) -> list[dict[str, Any]]:
    """Where documents stand whose ids are matched already."""
    ids = list(_unpack(document))
    ranks = np.arange(len(score), dtype=np.float64) if rank is None else rank
    judged_row = dict(zip(row.tolist(), judged.tolist(), strict=True))
    index = Index.__new__(Index)
    index.documents, groups = [], []
    for first, last in pairwise(begin.tolist()):
        index.documents.append({ids[i]: judged_row[i] for i in range(first, last) if i in judged_row})
        groups.append([(i, b"", ids[i], float(score[i]), float(ranks[i]), b"") for i in range(first, last)])
    return [
        _columns([_Positions(group, key, q, index).hits(by_id) for q, group in enumerate(groups)], "document")
        for key in keys
    ]


def _id(value: object) -> bytes | None:
    if not isinstance(value, str):
        return None
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return None


def _float(value: Any) -> float | None:
    if isinstance(value, str | bytes):  # NumPy's have ``__float__`` too
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _shown(value: object) -> bytes:
    return repr(value).encode("utf-8", "backslashreplace")


def _rank_check(rows: Sequence[Row]) -> dict[str, int]:
    """Whether the rank column agrees with the scores, in the first and the last of consecutive rows of a query."""
    compared = contradicted = 0
    for _, of_query in groupby(rows, key=lambda row: row[1]):
        first, *others = of_query
        (score, rank), (last_score, last_rank) = first[3:5], (others or [first])[-1][3:5]
        if (rank < last_rank or rank > last_rank) and score != last_score:
            compared += 1
            contradicted += (rank < last_rank) == (score < last_score)
    return {"ranks_compared": compared, "ranks_contradicted": contradicted}


def _join(
    rows: Sequence[Row],
    index: Index,
    keys: Sequence[str],
    by_id: bool,
    top: int,
    faults: _Faults,
    queries: Iterable[bytes] = (),
) -> dict[str, Any]:
    """``queries``: those that may have no rows."""
    groups: dict[bytes, list[Row]] = {query: [] for query in queries}
    first: dict[tuple[bytes, bytes], int] = {}
    for row in rows:
        line, query, document, *_ = row
        groups.setdefault(query, []).append(row)
        if (query, document) in first:
            faults.add(line, "duplicate", query, document, first[query, document])
        first.setdefault((query, document), line)
    if faults.total:
        return faults.result()

    of_judged = {query: groups[query] for query in index.queries if query in groups}
    other = {query: group for query, group in groups.items() if query not in index.queries}
    length = np.full(len(index.queries), -1, np.int64)
    for query, group in of_judged.items():
        length[index.queries[query]] = len(group)
    hits, tops = [], []
    for key in keys:
        judged = [_Positions(group, key, index.queries[query], index) for query, group in of_judged.items()]
        hits.append(_columns([positions.hits(by_id) for positions in judged], "document"))
        if top:
            rest = [_Positions(group, key, number, index) for number, group in enumerate(other.values(), len(length))]
            first_ones = [positions.tops(top) for positions in judged + rest]
            ids = _pack(document for _, documents in first_ones for document in documents)
            tops.append({**_columns([columns for columns, _ in first_ones], "judged"), "document": ids})
    return {
        "hits": hits,
        **({"tops": tops} if top else {}),
        "length": length,
        "other": _pack(other),
        "other_length": np.array([len(group) for group in other.values()], np.int64),
        "lines": len(rows),
        "tag": rows[0][5] if rows else b"",
        "ranks_compared": 0,
        "ranks_contradicted": 0,
        **faults.result(),
    }


def _columns(pieces: list[Integers], document: str) -> dict[str, Integers]:
    names = ("query", document, "start", "size", "by_id", "by_input")
    columns = np.concatenate([np.empty((6, 0), np.int64), *pieces], axis=1)
    return {name: np.ascontiguousarray(column) for name, column in zip(names, columns, strict=True)}


class _Positions:
    """Where the documents of one query stand, in the six numbers of the contract."""

    def __init__(self, rows: Sequence[Row], key: str, q: int, index: Index) -> None:
        values = np.array([row[4] if key == "rank" else -row[3] for row in rows], np.float64)  # low first
        if key == "score32":
            with np.errstate(over="ignore"):
                values = values.astype(np.float32).astype(np.float64)
        in_order = np.sort(values)
        self.documents, self.q = [row[2] for row in rows], q
        judged = index.documents[q] if q < len(index.documents) else {}
        self.judged = np.array([judged.get(document, -1) for document in self.documents], np.int64)
        self.start = np.searchsorted(in_order, values, "left")
        self.size = np.searchsorted(in_order, values, "right") - self.start
        self.by_input = _places(np.argsort(values, kind="stable")) - self.start
        ids = sorted(range(len(values)), key=lambda row: self.documents[row], reverse=True)
        self.by_id = _places(np.lexsort((_places(np.array(ids, np.int64)), values))) - self.start

    def hits(self, by_id: bool) -> Integers:
        """Of the judged documents."""
        columns = self._of(np.flatnonzero(self.judged >= 0))[0]
        if not by_id:
            columns[4] = 0
        return columns

    def tops(self, top: int) -> tuple[Integers, list[bytes]]:
        """Of the first documents, and their ids."""
        return self._of(np.flatnonzero(self.start < top))

    def _of(self, rows: npt.NDArray[np.intp]) -> tuple[Integers, list[bytes]]:
        rows = rows[np.lexsort((rows, self.start[rows]))]
        query = np.full(len(rows), self.q)
        places = self.judged, self.start, self.size, self.by_id, self.by_input
        return np.array([query, *(each[rows] for each in places)], np.int64), [self.documents[row] for row in rows]


def _places(order: npt.NDArray[np.intp] | Integers) -> Integers:
    """Where each row went, from which row went where."""
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places


NARROW = 8  # columns up to which a table is kept column by column


def tabulate(
    row: Integers, document: Integers, start: Integers, keep: Bytes | None, grade: Floats, rankings: int
) -> tuple[Integers, Integers, tuple[int, int], Integers, Floats]:
    kept = np.arange(len(row)) if keep is None else np.flatnonzero(keep[document])
    counts = np.bincount(row[kept], minlength=rankings)
    column = np.arange(len(kept)) - (np.cumsum(counts) - counts)[row[kept]]
    width = max(int(counts.max(initial=0)), 1)
    shape = rankings, width if width <= NARROW else width + -width % 8
    at = column * rankings + row[kept] if shape[1] <= NARROW else row[kept] * shape[1] + column

    def table(values: npt.NDArray[Any], empty: float) -> npt.NDArray[Any]:
        flat = np.full(shape[0] * shape[1], empty, values.dtype)
        flat[at] = values
        return flat.reshape(shape, order="F" if shape[1] <= NARROW else "C")

    return kept, at, shape, table(start[kept], 0), table(grade[document[kept]], np.nan)


def row_sums(table: Floats) -> Floats:
    # NumPy adds up to 128 columns in eight lanes, which zeros behind the last of a multiple of eight do not change;
    # neither do blocks of zeros. Eight columns and fewer are added as it adds its lanes.
    height, width = table.shape
    if width <= NARROW:
        columns = [table[:, i] for i in range(width)] or [np.zeros(height)]
        while len(columns) > 1:
            pairs = zip(columns[::2], columns[1::2], strict=False)
            columns = [a + b for a, b in pairs] + columns[len(columns) - len(columns) % 2 :]
        return columns[0] + 0.0  # never -0.0
    if width % 8:
        wider = np.zeros((height, width + -width % 8))
        wider[:, :width] = table
        table = wider
    if width <= 128:
        return np.ascontiguousarray(table).sum(axis=1) + 0.0
    blocks = [np.ascontiguousarray(table[:, i : i + 128]).sum(axis=1) for i in range(0, width, 128)]
    return np.cumsum(blocks, axis=0)[-1] + 0.0


def running_sums(table: Floats) -> Floats:
    return np.add.accumulate(table, axis=1)


def weighted_sums(gain: Floats, start: Integers, weights: Floats, k: int) -> Floats:
    return row_sums(gain * _weights(start, weights, k))


def cumulated_sums(gain: Floats, start: Integers, weights: Floats, k: int) -> Floats:
    return row_sums(gain * (np.cumsum(gain, axis=1) * _weights(start, weights, k)))


def preference_sums(gain: Floats, grade: Floats, limit: Floats, pairs: Floats) -> Floats:
    other = (grade >= 0) & ~(gain > 0)
    above = np.minimum(np.cumsum(other, axis=1) - other, limit[:, None])
    return row_sums(gain * (1 - above / np.where(pairs > 0, pairs, np.inf)[:, None]))


def nest(rows: tuple[Any, ...], columns: tuple[Any, ...], values: Floats) -> dict[Any, dict[Any, float]]:
    return {row: dict(zip(columns, of_row, strict=True)) for row, of_row in zip(rows, values.T.tolist(), strict=True)}


def _weights(start: Integers, weights: Floats, k: int) -> Floats:
    if k < 0:
        return weights[start + 1]
    seen = start < k
    return np.where(seen, weights[np.where(seen, start + 1, 0)], 0)


def differences_at_least(table: Floats, first: Integers, second: Integers, limit: Floats) -> Integers:
    return _of_pairs(lambda x, part: np.count_nonzero(np.abs(x) >= limit[part, None], axis=1), table, first, second)


def differences_below(table: Floats, first: Integers, second: Integers, limits: Floats) -> Integers:
    def count(x: Floats, part: slice) -> Integers:
        return np.stack([np.count_nonzero(x < limits[part, end, None], axis=1) for end in (0, 1)], axis=1)

    return _of_pairs(count, table, first, second).reshape(-1, 2)


def keep_freed_memory() -> None:
    """Python alone cannot influence this."""


def ranked_differences(table: Floats, first: Integers, second: Integers, ranks: Integers) -> Floats:
    def rank(x: Floats, part: slice) -> Floats:
        neighbours = np.stack([ranks[part], np.minimum(ranks[part] + 1, x.shape[1] - 1)], axis=2)
        return np.take_along_axis(np.sort(x, axis=1)[:, :, None], neighbours, axis=1)

    return _of_pairs(rank, table, first, second).reshape(-1, ranks.shape[1], 2)


def _of_pairs(statistic: Callable[[Floats, slice], Any], table: Floats, first: Integers, second: Integers) -> Any:
    """A statistic of differences, of some pairs at a time."""
    step = max(1, (1 << 18) // max(table.shape[1], 1))
    parts = [slice(i, i + step) for i in range(0, len(first), step)]
    pieces = [statistic(table[first[part]] - table[second[part]], part) for part in parts]
    return np.concatenate(pieces) if pieces else np.zeros(0, np.int64)


class Words:
    """Words of texts, split and counted; the contract is in `cranfield.native`."""

    def __init__(self, kinds: Bytes, lower: bool) -> None:
        begins, continues = (_class_of(np.flatnonzero(kinds == kind)) for kind in (1, 2))
        self.pattern = re.compile(f"[{begins}][{begins}{continues}]*")
        self.lower = lower
        self.counts: Counter[bytes] = Counter()
        self.number: dict[bytes, int] = {}

    def add(self, texts: Column, keep: Integers) -> dict[str, Any]:
        lengths = []
        kept: list[list[tuple[int, int]]] = []
        wanted = set(keep.tolist())
        data = texts[1].tobytes()
        for row, (a, b) in enumerate(pairwise(texts[0].tolist())):
            words = Counter(self._words(data[a:b]))
            lengths.append(words.total())
            self._count(words)
            if row in wanted:
                kept.append(sorted((self.number[word], count) for word, count in words.items()))
        rows = np.array([pair for pairs in kept for pair in pairs], np.int64).reshape(-1, 2)
        return {
            "length": np.array(lengths, np.int64),
            "begin": np.cumsum([0, *map(len, kept)], dtype=np.int64),
            "word": rows[:, 0].copy(),
            "count": rows[:, 1].copy(),
        }

    def merge(self, other: Words) -> Integers:
        self._count(other.counts)
        return np.array([self.number[word] for word in other.number], np.int64)

    def columns(self) -> tuple[Column, Integers]:
        return _pack(self.number), np.array([self.counts[word] for word in self.number], np.int64)

    def _words(self, text: bytes) -> list[bytes]:
        words = [word.encode("utf-8") for word in self.pattern.findall(text.decode("utf-8", "surrogateescape"))]
        return [word.lower() for word in words] if self.lower else words

    def _count(self, words: Counter[bytes]) -> None:
        self.counts.update(words)
        for word in words:
            self.number.setdefault(word, len(self.number))


def _class_of(points: Any) -> str:
    """These code points inside the brackets of a regular expression."""
    breaks = np.flatnonzero(np.diff(points) != 1) + 1
    return "".join(f"\\U{run[0]:08x}-\\U{run[-1]:08x}" for run in np.split(points, breaks) if len(run))


# Programs of measures are for speed alone: without them, values come from batches.
Program: Any = None
