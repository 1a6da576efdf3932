"""Rankings in which ties are settled, and the mean of a measure over them.

A query with open ties is replaced by rows in which they are settled; a measure scores those rows, and
the mean of each query's rows is the expectation.

A row may leave one document open, as likely at each of several places. Rows that differ in nothing but which places
these are share the scores of those they have in common, and many do: most queries have one relevant document.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.batch import COLUMNS, Batch, Booleans
from cranfield.data import Floats, Integers
from cranfield.measures.ties.estimate import Estimate
from cranfield.measures.ties.positions import alike, shared, sums
from cranfield.rows import picked

EXACT = 5_000  # possibilities of one query up to which all of them are taken
SAMPLES = 2_000  # how many are drawn beyond that
AT_ONCE = 1 << 14  # places of documents that are scored together: few enough to stay in the processor's cache

Scorer = Callable[[Batch], Estimate]


@dataclass(frozen=True, eq=False)
class Settled:
    """Possibilities of some queries: whose they are, positions and spans (possibility, column), and their chances.

    The document in ``column`` is as likely at each of ``places`` positions, from its own on.
    """

    query: Integers
    start: Integers
    size: Integers
    chance: Floats
    column: Integers
    places: Integers
    sampled: Booleans

    @staticmethod
    def all(query: Integers, start: Integers, size: Integers, chance: Floats, *, sampled: bool = False) -> Settled:
        """Possibilities that leave nothing open."""
        none = np.zeros_like(query)
        return Settled(query, start, size, chance, none, none + 1, np.full(len(query), sampled))

    def spanning(self) -> Settled:
        """The same with the places of open documents as their spans."""
        size = self.size.copy()
        size[np.arange(len(size)), self.column] = self.places
        return replace(self, size=size, places=np.ones_like(self.places))

    @staticmethod
    def together(parts: Sequence[Settled]) -> Settled:
        names = "query", "start", "size", "chance", "column", "places", "sampled"
        return Settled(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def expected(kernel: Scorer, batch: Batch, parts: Sequence[Settled], *, local: bool = False) -> Estimate:
    opened = np.zeros(len(batch.length), bool)
    for part in parts:
        opened[part.query] = True
    if not opened.any():
        return kernel(batch)
    closed = np.flatnonzero(~opened)
    settled = Settled.together(
        [Settled.all(closed, batch.start[closed], batch.size[closed], np.ones(len(closed))), *parts]
    )
    query, chance, places = settled.query, settled.chance, settled.places
    row, place, first = _cells(batch, settled, local)
    spans = (settled.size > 1).any()
    scores, within = np.zeros((2, len(row)))
    # Rows of like width go together.
    width = np.frexp(np.maximum((~np.isnan(batch.grade)).sum(axis=1), 1) - 0.5)[1][query[row]]
    for bits in np.flatnonzero(np.bincount(width)).tolist():
        same = np.flatnonzero(width == bits)
        columns = min(1 << bits, settled.start.shape[1])
        for i in range(0, len(same), step := max(1, AT_ONCE // columns)):
            cell = same[i : i + step]
            one = row[cell]
            start = picked(settled.start[:, :columns], one)
            start[np.arange(len(one)), settled.column[one]] = place[cell]
            size = picked(settled.size[:, :columns], one) if spans else np.broadcast_to(1, start.shape)
            found = kernel(_laid(batch, query[one], start, size, local))
            scores[cell] = found.value
            if found.error is not None:
                within[cell] = found.error
    # An order in which the measure is undefined has found nothing: it counts 0 among others that have.
    undefined = np.isnan(scores)
    many = len(opened)
    mean_of_row = sums(np.where(undefined, 0, scores), first, places) / places
    value = np.bincount(query, mean_of_row * chance, many).astype(np.float64)
    if undefined.any():
        defined = np.bincount(query, sums(~undefined, first, places), many) > 0
        value[~defined] = np.nan
    variance = np.zeros(many)
    if within.any():
        variance += np.bincount(query, sums(within**2, first, places) * (chance / places) ** 2, many)
    if settled.sampled.any():
        drawn = np.flatnonzero(settled.sampled)
        off = mean_of_row[drawn] - np.nan_to_num(value)[query[drawn]]
        size = np.maximum(np.bincount(query[drawn], minlength=many), 2)
        variance = np.maximum(variance, np.bincount(query[drawn], off**2, many) / (size - 1) / size)
    return Estimate(value, np.sqrt(variance) if variance.any() else None)


def _cells(batch: Batch, s: Settled, local: bool) -> tuple[Integers, Integers, Integers]:
    """What has to be scored: rows and the place of their open document, each once; and where a row's first is."""
    settled, open_ = np.flatnonzero(s.places == 1), np.flatnonzero(s.places > 1)
    at = s.start[np.arange(len(s.query)), s.column]
    if not len(open_):
        return settled, at, settled
    column, others = s.column[open_], s.start[open_]
    others[np.arange(len(others)), column] = 0
    row, place, run = shared(at[open_], s.places[open_], _same_queries(batch, s.query[open_], local), column, others)
    first = np.empty_like(s.query)
    first[settled], first[open_] = np.arange(len(settled)), len(settled) + run
    return np.concatenate([settled, open_[row]]), np.concatenate([at[settled], place]), first


def _same_queries(b: Batch, query: Integers, local: bool) -> Integers:
    """A number for each query, the same for those between which no measure sees a difference but positions."""
    if not b.anonymous:
        return query
    chosen = np.unique(query)
    number = np.zeros(len(b.length), np.int64)
    number[chosen] = alike(*(part[chosen] for part in _seen(b, local)))[0]
    return number[query]


def _laid(batch: Batch, query: Integers, start: Integers, size: Integers, local: bool) -> Batch:
    """Rankings of some queries with their documents elsewhere; what was not retrieved is left out if ``local``."""
    nothing = np.broadcast_to(0, start.shape)
    fields: dict[str, Any] = {"start": start, "size": size, "by_id": nothing, "by_input": nothing}
    # What no document of this batch has is not moved, nor is the pool: gains were made of it already.
    fields |= {} if batch.nil.any() else {"nil": nothing > 0}
    fields |= {"document": np.broadcast_to(-1, start.shape)} if batch.anonymous else {}
    fields |= {"pool": np.broadcast_to(np.nan, (len(query), 1)), "pooled": {}}
    for name in COLUMNS.keys() - fields.keys():
        fields[name] = picked(getattr(batch, name)[:, : start.shape[1]], query)
    unseen = ("ideal", "R", "N", "mass", "nil_grade", "query")
    fields |= {name: np.broadcast_to(np.nan, (len(query), 1)[: getattr(batch, name).ndim]) for name in unseen if local}
    for name in ("length", "tail", *unseen):
        if name not in fields:
            fields[name] = picked(getattr(batch, name), query)
    rows = replace(batch, **fields)
    inside = np.isnan(rows.grade) | (start < rows.length[:, None])
    return rows.sorted() if inside.all() else rows.only(~np.isnan(rows.grade) & inside)


def once(batch: Batch, local: bool, score: Scorer) -> Estimate:
    """The score of every query, had once for all those between which the measure sees no difference."""
    if not batch.anonymous:
        return score(batch)
    number, one = alike(batch.start, batch.size, *_seen(batch, local))
    found = score(batch.rows(one))
    return Estimate(found.value[number], None if found.error is None else found.error[number])


def split(batch: Batch, chosen: Booleans, one: Scorer, other: Scorer) -> Estimate:
    """The score of every query: one way where chosen, another where not."""
    if not chosen.any():
        return other(batch)
    parts = ((np.flatnonzero(chosen), one), (np.flatnonzero(~chosen), other))
    return Estimate.joined(len(chosen), ((part, score(batch.rows(part))) for part, score in parts if len(part)))


def _seen(b: Batch, local: bool) -> Iterator[Any]:
    """What a measure sees of each query but positions, row by row."""
    yield from (b.gain, np.where(np.isnan(b.grade), 2, b.judged), b.nil, b.length, b.tail)
    if not local:
        yield from (b.ideal, b.R, b.N, b.mass, b.nil_grade)


def kinds(batch: Batch) -> Floats:
    """Numbers for documents, the same for those between which measures see no difference."""
    if not batch.anonymous:
        return batch.document.astype(np.float64)
    return np.where(batch.nil, np.inf, np.where(batch.judged, batch.gain, -np.inf))


def generator(batch: Batch, seed: int) -> np.random.Generator:
    """Seeded by what the query holds: its score does not depend on which queries are scored with it."""
    real = ~np.isnan(batch.grade[0])
    return np.random.default_rng([seed, zlib.crc32(batch.start[0, real].tobytes() + batch.gain[0, real].tobytes())])


def groups(batch: Batch) -> Iterator[tuple[Integers, int, int]]:
    """The tie groups of a single query that hold judged documents: their columns, start and size."""
    real = np.flatnonzero(~np.isnan(batch.grade[0]))
    for columns in np.split(real, np.flatnonzero(np.diff(batch.start[0, real])) + 1):
        if len(columns):
            yield columns, int(batch.start[0, columns[0]]), int(batch.size[0, columns[0]])
