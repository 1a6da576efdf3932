"""Expectations over tie orders for measures that have no closed form: every order, or a sample of them.

A query with open ties is replaced by rows in which they are settled; a measure scores those rows, and
the mean of each query's rows is the expectation. Few possibilities are all taken, so the mean is exact;
many are sampled with a fixed seed, and the standard error says how far off the mean may be.

A row may leave one document open, as likely at each of several places. Rows that differ in nothing but which places
these are share the scores of those they have in common, and many do: most queries have one relevant document.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from cranfield.batch import CELLS, COLUMNS, Batch, Booleans, ragged
from cranfield.data import Floats, Integers
from cranfield.measures.estimate import Estimate
from cranfield.measures.places import alike, shared, sums

EXACT = 5_000  # possibilities of one query up to which all of them are taken
SAMPLES = 2_000  # how many are drawn beyond that
AT_ONCE = 1 << 14  # places of documents that are scored together: few enough to stay in the processor's cache
FEW = 8  # documents of one kind across a cut, up to which queries that have as many go together
# The same where no two documents are alike, so that every order is to be read anew.
EXACT_EACH, SAMPLES_EACH = 1_000, 500


Scorer = Callable[[Batch], Estimate]


def over_orders(kernel: Scorer, batch: Batch, *, but_one: bool = False, local: bool = False, seed: int = 0) -> Estimate:
    """The mean of a measure over all orders of tied documents.

    ``but_one``: the measure has a closed form for queries with no more than one open place. ``local``: it looks at
    nothing but what was retrieved.
    """
    if not batch.tied.any():
        return kernel(batch)
    if but_one:  # few rows for each query: to find those alike takes longer than to score them
        return _all_orders(kernel, batch, but_one, local, seed)
    return _once(batch, local, lambda some: _all_orders(kernel, some, but_one, local, seed))


def _once(batch: Batch, local: bool, score: Scorer) -> Estimate:
    """The score of every query, had once for all those between which the measure sees no difference."""
    if not batch.anonymous:
        return score(batch)
    number, one = alike(batch.start, batch.size, *_seen(batch, local))
    found = score(batch.rows(one))
    return Estimate(found.value[number], None if found.error is None else found.error[number])


def _seen(b: Batch, local: bool) -> Iterator[Any]:
    """What a measure sees of each query but positions, row by row."""
    yield from (b.gain, np.where(np.isnan(b.grade), 2, b.judged), b.nil, b.length, b.tail)
    if not local:
        yield from (b.ideal, b.R, b.N, b.mass, b.nil_grade)


def _all_orders(kernel: Scorer, batch: Batch, but_one: bool, local: bool, seed: int) -> Estimate:
    ties = Ties.of(batch)
    rows = ties.rows if but_one else ties.ways
    many = np.where(rows <= EXACT, rows, SAMPLES) * ties.loose.shape[1]
    chunk = (np.cumsum(many) // (4 * CELLS)).astype(np.int64)
    value, error = np.zeros((2, len(batch.length)))
    for number in range(chunk[-1] + 1):
        part = np.flatnonzero(chunk == number)
        some = ties if len(part) == len(value) else Ties.of(batch.rows(part))
        found = _some_orders(kernel, some, but_one, local, seed)
        value[part], error[part] = found.value, 0 if found.error is None else found.error
    return Estimate(value, error if error.any() else None)


def _some_orders(kernel: Scorer, ties: Ties, but_one: bool, local: bool, seed: int) -> Estimate:
    loose = ties.loose.sum(axis=1)
    few = (ties.rows if but_one else ties.ways) <= EXACT
    parts = [
        _every(ties, np.flatnonzero(few & (loose == many)), many)
        for many in np.unique(loose[few & (loose > 0)]).tolist()
    ]
    parts = [part.spanning() if but_one else part for part in parts]
    drawn = [_drawn(ties, q, seed) for q in np.flatnonzero(~few).tolist()]
    return _expected(kernel, ties.batch, [*parts, *drawn], local=local)


def over_cuts(kernel: Scorer, batch: Batch, *, k: int, local: bool = False, seed: int = 0) -> Estimate:
    """The mean of a measure over which of the documents tied across rank k make it into the first k."""
    if not _across(batch, k).any():
        return kernel(batch)
    return _once(batch, local, lambda some: _all_cuts(kernel, some, k, seed))


def _across(batch: Batch, k: int) -> Booleans:
    """The documents whose ties reach across rank k, or what there is of it."""
    end = np.minimum(batch.length, k)[:, None]
    return (batch.start < end) & (batch.start + batch.size > end) & ~np.isnan(batch.grade)


def _all_cuts(kernel: Scorer, batch: Batch, k: int, seed: int) -> Estimate:
    loose, kind = _across(batch, k), _kinds(batch)
    many = loose.sum(axis=1)
    one_kind = np.where(loose, kind, -np.inf).max(axis=1) == np.where(loose, kind, np.inf).min(axis=1)
    easy = one_kind & (many > 0) & (many <= FEW)
    parts = [_cuts_alike(batch, np.flatnonzero(easy & (many == n)), loose, n, k) for n in np.unique(many[easy])]
    hard = np.flatnonzero((many > 0) & ~easy)
    return _expected(kernel, batch, [*parts, *(_cuts(batch, q, k, seed) for q in hard.tolist())])


def _cuts_alike(batch: Batch, query: Integers, loose: Booleans, many: int, k: int) -> Settled:
    """Of so many documents of one kind any number makes it, with hypergeometric chance."""
    column = loose[query].argmax(axis=1)[:, None] + np.arange(many)
    end = np.minimum(batch.length, k)[query]
    first, size = batch.start[query, column[:, 0]], batch.size[query, column[:, 0]]
    slots = end - first
    parts = []
    for above in range(many + 1):
        drawn = [(slots - i) / (size - i) for i in range(above)]
        left = [(size - slots - i) / (size - above - i) for i in range(many - above)]
        chance = math.comb(many, above) * np.prod([*drawn, *left], axis=0)
        start, length = batch.start[query], batch.size[query]
        inside = np.arange(many) < above
        np.put_along_axis(start, column, np.where(inside, first[:, None], end[:, None]), axis=1)
        np.put_along_axis(length, column, np.where(inside, slots[:, None], (size - slots)[:, None]), axis=1)
        can = chance > 0
        parts.append(Settled.all(query[can], start[can], length[can], chance[can]))
    return Settled.together(parts)


def over_each(kernel: Scorer, batch: Batch, *, k: int, seed: int = 0) -> Estimate:
    """The mean of a measure of the first k over all orders of tied documents, of which no two are alike."""
    end = np.minimum(batch.length, k)[:, None]
    open_ties = ((batch.size > 1) & (batch.start < end) & ~np.isnan(batch.grade)).any(axis=1)
    settled = [_each(batch, q, k, seed) for q in np.flatnonzero(open_ties).tolist()]
    return _expected(kernel, batch, settled) if settled else kernel(batch)


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


def _expected(kernel: Scorer, batch: Batch, parts: Sequence[Settled], *, local: bool = False) -> Estimate:
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
            start = np.take(settled.start[:, :columns], one, axis=0)
            start[np.arange(len(one)), settled.column[one]] = place[cell]
            size = np.take(settled.size[:, :columns], one, axis=0) if spans else np.broadcast_to(1, start.shape)
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
        fields[name] = np.take(getattr(batch, name)[:, : start.shape[1]], query, axis=0)
    unseen = ("ideal", "R", "N", "mass", "nil_grade", "query")
    fields |= {name: np.broadcast_to(np.nan, (len(query), 1)[: getattr(batch, name).ndim]) for name in unseen if local}
    for name in ("length", "tail", *unseen):
        if name not in fields:
            fields[name] = np.take(getattr(batch, name), query, axis=0)
    rows = replace(batch, **fields)
    inside = np.isnan(rows.grade) | (start < rows.length[:, None])
    return rows.sorted() if inside.all() else rows.only(~np.isnan(rows.grade) & inside)


@dataclass(frozen=True, eq=False)
class Ties:
    """The ties of a batch whose documents are in order of their kind within each; arrays are (query, column).

    ``loose``: the document's place is open. ``kin``: how many of its kind and tie come before it, of ``alike`` in all.
    ``earlier``: documents of other kinds of its tie that come before it. ``pure``: there is one kind in its tie.
    """

    batch: Batch
    loose: Booleans
    kin: Integers
    alike: Integers
    earlier: Integers
    pure: Booleans

    @staticmethod
    def of(batch: Batch) -> Ties:
        kind = _kinds(batch)
        loose = (batch.size > 1) & ~np.isnan(batch.grade)
        tied = (batch.start[:, 1:] == batch.start[:, :-1]) & loose[:, 1:] & loose[:, :-1]
        if (tied & (kind[:, 1:] < kind[:, :-1])).any():
            key = np.where(np.isnan(batch.grade), np.iinfo(np.int64).max, batch.start)
            return Ties.of(batch.columns(np.lexsort((kind, key), axis=1)))
        kin, earlier = np.zeros((2, *loose.shape), np.int64)
        alike, pure = np.ones_like(kin), np.ones_like(loose)
        if len(several := np.flatnonzero(tied.any(axis=1))):
            tied = tied[several]
            head, tail = _runs(tied)
            lead, last = _runs(tied & (kind[several, 1:] == kind[several, :-1]))
            kin[several], alike[several] = np.arange(loose.shape[1]) - lead, last - lead + 1
            earlier[several], pure[several] = lead - head, (lead == head) & (last == tail)
        return Ties(batch, loose, kin, alike, earlier, pure)

    @cached_property
    def ways(self) -> Floats:
        """In how many ways the documents of each query can be arranged, those of one kind being alike."""
        factor = (self.batch.size - self.earlier - self.kin) / (self.kin + 1)
        with np.errstate(over="ignore"):
            return np.rint(np.where(self.loose, factor, 1).prod(axis=1))

    @cached_property
    def open(self) -> Integers:
        """The first column of each query's widest tie of one kind: the last document there may stay open; -1, none."""
        widest = np.where(self.loose & self.pure, self.batch.size, 0)
        return np.where(widest.max(axis=1) > 0, widest.argmax(axis=1), -1)

    @cached_property
    def rows(self) -> Floats:
        """In how many ways all documents but the open one can be arranged."""
        query = np.arange(len(self.open))
        share = self.alike[query, self.open] / self.batch.size[query, self.open]
        return np.where(self.open < 0, self.ways, self.ways * share)


def _runs(same: Booleans) -> tuple[Integers, Integers]:
    """The first and last column of the run that each column is in; ``same`` says which go with the one before."""
    first = np.pad(~same, ((0, 0), (1, 0)), constant_values=True)
    last = np.pad(~same, ((0, 0), (0, 1)), constant_values=True)
    columns = np.arange(first.shape[1])
    until = np.where(last, columns, columns[-1])[:, ::-1]
    return np.maximum.accumulate(np.where(first, columns, 0), axis=1), np.minimum.accumulate(until, axis=1)[:, ::-1]


def _kinds(batch: Batch) -> Floats:
    """Numbers for documents, the same for those between which measures see no difference."""
    if not batch.anonymous:
        return batch.document.astype(np.float64)
    return np.where(batch.nil, np.inf, np.where(batch.judged, batch.gain, -np.inf))


def _every(ties: Ties, query: Integers, many: int) -> Settled:
    """Every arrangement of queries in which so many places are open, but for one document where it may stay so."""
    batch, width = ties.batch, ties.loose.shape[1]
    loose, first = ties.loose[query], batch.start[query]
    opens = ties.open[query] >= 0
    chosen = loose & opens[:, None] & (first == first[np.arange(len(query)), ties.open[query]][:, None])
    column = np.argsort(np.arange(width) + width * (loose + 1 * chosen), axis=1)[:, -many:]
    kin, earlier, alike, size = (x[query[:, None], column] for x in (ties.kin, ties.earlier, ties.alike, batch.size))
    # A place is counted among those that documents of earlier kinds leave; documents of one kind are in order.
    end = size - earlier - alike + kin + 1
    row = np.arange(len(query))
    spot = np.zeros((len(query), many), np.int64)
    for d in range(many):
        low = np.where(kin[row, d] > 0, spot[:, d - 1] + 1, 0)
        places = end[row, d] - low
        left = np.where(opens[row], places, 1) if d == many - 1 else np.ones_like(row)
        owner, step = ragged(places // left)
        row, spot, left = row[owner], spot[owner], left[owner]
        spot[:, d] = low[owner] + step
    for d in np.flatnonzero(earlier.any(axis=0)).tolist():
        before = np.arange(many) - d + kin[row, d][:, None]
        taken = np.where((before < 0) & (before >= -earlier[row, d][:, None]), spot, np.iinfo(np.int64).max)
        for other in np.sort(taken, axis=1).T[: earlier[:, d].max()]:
            spot[:, d] += spot[:, d] >= other
    start = first[row]
    start[np.arange(len(row))[:, None], column[row]] += spot
    chance = left / np.bincount(row, left)[row]
    return Settled(query[row], start, np.ones_like(start), chance, column[row, -1], left, np.zeros(len(row), bool))


def _generator(batch: Batch, seed: int) -> np.random.Generator:
    """Seeded by what the query holds: its score does not depend on which queries are scored with it."""
    real = ~np.isnan(batch.grade[0])
    return np.random.default_rng([seed, zlib.crc32(batch.start[0, real].tobytes() + batch.gain[0, real].tobytes())])


def _groups(batch: Batch) -> Iterator[tuple[Integers, int, int]]:
    """The tie groups of a single query that hold judged documents: their columns, start and size."""
    real = np.flatnonzero(~np.isnan(batch.grade[0]))
    for columns in np.split(real, np.flatnonzero(np.diff(batch.start[0, real])) + 1):
        if len(columns):
            yield columns, int(batch.start[0, columns[0]]), int(batch.size[0, columns[0]])


def _drawn(ties: Ties, query: int, seed: int) -> Settled:
    """Some arrangements of a query."""
    batch = ties.batch.rows(np.array([query]))
    rng = _generator(batch, seed)
    start = np.repeat(batch.start, SAMPLES, axis=0)
    for columns, _, size in _groups(batch):
        start[:, columns] += _sample(len(columns), size, rng)
    own = np.full(SAMPLES, query)
    return Settled.all(own, start, np.ones_like(start), np.full(SAMPLES, 1 / SAMPLES), sampled=True)


def _sample(documents: int, size: int, rng: np.random.Generator) -> Integers:
    """Places (sample, document) drawn without two documents in one."""
    if documents**2 > size:
        return rng.permuted(np.tile(np.arange(size), (SAMPLES, 1)), axis=1)[:, :documents]
    places = rng.integers(0, size, (SAMPLES, documents))
    while len(again := np.flatnonzero((np.diff(np.sort(places, axis=1), axis=1) == 0).any(axis=1))):
        places[again] = rng.integers(0, size, (len(again), documents))
    return places


def _cuts(batch: Batch, query: int, k: int, seed: int) -> Settled:
    batch = batch.rows(np.array([query]))
    rng = _generator(batch, seed)
    end = int(min(batch.length[0], k))
    columns, first, size = next((c, t, n) for c, t, n in _groups(batch) if t < end < t + n)
    slots = end - first
    # Documents of one kind are alike, so an outcome is how many of each made it; last, those nobody judged.
    kind = np.unique(_kinds(batch)[0, columns], return_inverse=True)[1]
    have = np.append(np.bincount(kind), size - len(columns))
    sampled = math.prod((have + 1).tolist()) > 20 * EXACT
    if sampled:
        drawn = rng.multivariate_hypergeometric(have, slots, SAMPLES, method="marginals")
        chance = np.full(SAMPLES, 1 / SAMPLES)
    else:
        drawn = np.array(
            [
                (*head, slots - sum(head))
                for head in itertools.product(*(range(int(n) + 1) for n in have[:-1]))
                if 0 <= slots - sum(head) <= have[-1]
            ]
        )
        logs = np.array([math.lgamma(i + 1) for i in range(size + 1)])
        ways = (logs[have] - logs[drawn] - logs[have - drawn]).sum(axis=1)
        chance = np.exp(ways - ways.max())
        chance /= chance.sum()
    rank = np.array([(kind[:i] == kind[i]).sum() for i in range(len(kind))])
    inside = rank < drawn[:, kind]
    start, length = np.repeat(batch.start, len(drawn), axis=0), np.repeat(batch.size, len(drawn), axis=0)
    start[:, columns] = np.where(inside, first, end)
    length[:, columns] = np.where(inside, slots, size - slots)
    return Settled.all(np.full(len(start), query), start, length, chance, sampled=sampled)


def _each(batch: Batch, query: int, k: int, seed: int) -> Settled:
    batch = batch.rows(np.array([query]))
    end = int(min(batch.length[0], k))
    # Which documents are known below the end is a matter of what else is evaluated.
    rng = _generator(batch.only(batch.start < end), seed)
    groups = [(columns, first, size) for columns, first, size in _groups(batch) if first < end]
    # What does not reach the first k may be in any order, and only those that do are chosen.
    slots = [min(size, end - first) for _, first, size in groups]
    sampled = math.prod(math.perm(size, n) for (_, _, size), n in zip(groups, slots, strict=True)) > EXACT_EACH
    chosen: list[Integers]
    if sampled:
        chosen = [
            rng.permuted(np.tile(np.arange(size), (SAMPLES_EACH, 1)), axis=1)[:, :n]
            for (_, _, size), n in zip(groups, slots, strict=True)
        ]
    else:
        every = [
            np.array(list(itertools.permutations(range(size), n)), np.int64)
            for (_, _, size), n in zip(groups, slots, strict=True)
        ]
        which = np.array(list(itertools.product(*(range(len(orders)) for orders in every))), np.int64)
        chosen = [orders[which[:, g]] for g, orders in enumerate(every)]
    start = np.repeat(batch.start, len(chosen[0]), axis=0)
    for (columns, first, size), members, n in zip(groups, chosen, slots, strict=True):
        place = np.full((len(start), size), end - first)
        np.put_along_axis(place, members, np.arange(n), axis=1)
        start[:, columns] = first + place[:, : len(columns)]
    chance = np.full(len(start), 1 / len(start))
    return Settled.all(np.full(len(start), query), start, np.ones_like(start), chance, sampled=sampled)
