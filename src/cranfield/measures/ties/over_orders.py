"""Expectations over tie orders for measures that have no closed form: every order, or a sample of them.

Few possibilities are all taken, so the mean is exact; many are sampled with a fixed seed, and the standard error says
how far off the mean may be.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cranfield.batch import CELLS, Batch, Booleans, ragged
from cranfield.data import Floats, Integers
from cranfield.measures.ties.estimate import Estimate
from cranfield.measures.ties.expectation import (
    EXACT,
    SAMPLES,
    Scorer,
    Settled,
    expected,
    generator,
    groups,
    kinds,
    once,
)
from cranfield.rows import running

# The same where no two documents are alike, so that every order is to be read anew.
EXACT_EACH, SAMPLES_EACH = 1_000, 500


def over_orders(kernel: Scorer, batch: Batch, *, places: float = 1, local: bool = False, seed: int = 0) -> Estimate:
    """The mean of a measure over all orders of tied documents.

    ``places``: how many orders that differ in the place of one document the kernel scores for the price of one; where
    that is more than 1 it takes such a document as it is, in a tie. ``local``: it looks at nothing but what was
    retrieved.
    """
    if not batch.tied.any():
        return kernel(batch)

    def every(some: Batch) -> Estimate:
        return _all_orders(kernel, some, places, local, seed)

    if places == 1:
        return once(batch, local, every)
    several = np.flatnonzero(((batch.size > 1) & ~np.isnan(batch.grade)).sum(axis=1) > 1)
    if not len(several):
        return kernel(batch)
    # They stay among the others in any order: copies of the few are cheaper than of the many.
    some = batch.rows(several)
    start, size = batch.start.copy(order="K"), batch.size.copy(order="K")
    start[several], size[several] = some.start + some.order, 1
    others = kernel(replace(batch, start=start, size=size))
    return Estimate.joined(len(start), [(slice(None), others), (several, once(some, local, every))])


def _all_orders(kernel: Scorer, batch: Batch, places: float, local: bool, seed: int) -> Estimate:
    ties = Ties.of(batch)
    rows = ties.ways if places == 1 else ties.rows
    many = np.where(ties.few(places), rows, SAMPLES) * ties.loose.shape[1]
    chunk = (np.cumsum(many) // (4 * CELLS)).astype(np.int64)
    parts = [np.flatnonzero(chunk == number) for number in range(chunk[-1] + 1)]
    each = (ties if len(parts) == 1 else Ties.of(batch.rows(part)) for part in parts)
    found = (_some_orders(kernel, some, places, local, seed) for some in each)
    return Estimate.joined(len(chunk), zip(parts, found, strict=True))


def _some_orders(kernel: Scorer, ties: Ties, places: float, local: bool, seed: int) -> Estimate:
    loose = ties.loose.sum(axis=1)
    few = ties.few(places)
    parts = [
        _every(ties, np.flatnonzero(few & (loose == many)), many)
        for many in np.unique(loose[few & (loose > 0)]).tolist()
    ]
    parts = [part if places == 1 else part.spanning() for part in parts]
    drawn = [_drawn(ties, q, seed) for q in np.flatnonzero(~few).tolist()]
    return expected(kernel, ties.batch, [*parts, *drawn], local=local)


def over_each(kernel: Scorer, batch: Batch, *, k: int, seed: int = 0) -> Estimate:
    """The mean of a measure of the first k over all orders of tied documents, of which no two are alike."""
    end = np.minimum(batch.length, k)[:, None]
    open_ties = ((batch.size > 1) & (batch.start < end) & ~np.isnan(batch.grade)).any(axis=1)
    settled = [_each(batch, q, k, seed) for q in np.flatnonzero(open_ties).tolist()]
    return expected(kernel, batch, settled) if settled else kernel(batch)


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
        kind = kinds(batch)
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

    def few(self, places: float) -> Booleans:
        """The queries of which all arrangements are to be scored, so many places of an open document at once."""
        return (self.rows <= EXACT) & (self.ways <= EXACT * places)


def _runs(same: Booleans) -> tuple[Integers, Integers]:
    """The first and last column of the run that each column is in; ``same`` says which go with the one before."""
    first = np.pad(~same, ((0, 0), (1, 0)), constant_values=True)
    last = np.pad(~same, ((0, 0), (0, 1)), constant_values=True)
    columns = np.arange(first.shape[1])
    until = np.where(last, columns, columns[-1])[:, ::-1]
    return running(np.where(first, columns, 0), np.maximum), running(until, np.minimum)[:, ::-1]


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


def _drawn(ties: Ties, query: int, seed: int) -> Settled:
    """Some arrangements of a query."""
    batch = ties.batch.rows(np.array([query]))
    rng = generator(batch, seed)
    start = np.repeat(batch.start, SAMPLES, axis=0)
    for columns, _, size in groups(batch):
        start[:, columns] += _sample(len(columns), size, SAMPLES, rng)
    own = np.full(SAMPLES, query)
    return Settled.all(own, start, np.ones_like(start), np.full(SAMPLES, 1 / SAMPLES), sampled=True)


def _sample(documents: int, size: int, samples: int, rng: np.random.Generator) -> Integers:
    """Places (sample, document) drawn without two documents in one."""
    if documents**2 > size:
        # Fisher's and Yates's shuffle of all samples at once, which ends when the documents have their places.
        places = np.repeat(np.arange(size)[:, None], samples, axis=1)
        flat, each = places.reshape(-1), np.arange(samples)
        for d, chance in enumerate(rng.random((documents, samples))):
            at = (d + (chance * (size - d)).astype(np.int64)) * samples + each
            places[d], flat[at] = flat[at], places[d].copy()
        return places[:documents].T
    places = rng.integers(0, size, (samples, documents))
    while len(again := np.flatnonzero((np.diff(np.sort(places, axis=1), axis=1) == 0).any(axis=1))):
        places[again] = rng.integers(0, size, (len(again), documents))
    return places


def _each(batch: Batch, query: int, k: int, seed: int) -> Settled:
    batch = batch.rows(np.array([query]))
    end = int(min(batch.length[0], k))
    # Which documents are known below the end is a matter of what else is evaluated.
    rng = generator(batch.only(batch.start < end), seed)
    tied = [(columns, first, size) for columns, first, size in groups(batch) if first < end]
    # What does not reach the first k may be in any order, and only those that do are chosen.
    slots = [min(size, end - first) for _, first, size in tied]
    sampled = math.prod(math.perm(size, n) for (_, _, size), n in zip(tied, slots, strict=True)) > EXACT_EACH
    chosen: list[Integers]
    if sampled:
        chosen = [_sample(n, size, SAMPLES_EACH, rng) for (_, _, size), n in zip(tied, slots, strict=True)]
    else:
        every = [
            np.array(list(itertools.permutations(range(size), n)), np.int64)
            for (_, _, size), n in zip(tied, slots, strict=True)
        ]
        which = np.array(list(itertools.product(*(range(len(orders)) for orders in every))), np.int64)
        chosen = [orders[which[:, g]] for g, orders in enumerate(every)]
    start = np.repeat(batch.start, len(chosen[0]), axis=0)
    for (columns, first, size), members, n in zip(tied, chosen, slots, strict=True):
        place = np.full((len(start), size), end - first)
        np.put_along_axis(place, members, np.arange(n), axis=1)
        start[:, columns] = first + place[:, : len(columns)]
    chance = np.full(len(start), 1 / len(start))
    return Settled.all(np.full(len(start), query), start, np.ones_like(start), chance, sampled=sampled)
