"""The mean of a measure over all orders of the tied documents of a query, or over a sample of the orders.

All orders give the exact mean. A sample is drawn with a fixed seed, and the estimate includes its standard error.
With ``limit``, a function has the highest or lowest value over the orders instead of the mean.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from cranfield.data import Booleans, Floats, Integers
from cranfield.measures.ties.expectation import (
    PossibleRankings,
    Scorer,
    document_kinds,
    document_kinds_in_order,
    generator,
    over_rankings,
    score_once,
    tie_groups,
)
from cranfield.measures.ties.strategies import EXACT_DISTINCT, SAMPLES_DISTINCT, Estimate, Search
from cranfield.ranking.batch import CELLS, Batch, edges, ragged

MEAN = Search()


def over_orders(
    score: Scorer,
    batch: Batch,
    search: Search = MEAN,
    *,
    positions_at_once: float = 1,
    retrieved_only: bool = False,
) -> Estimate:
    """The mean of a score over all orders of tied documents.

    ``positions_at_once``: the number of positions of an open document that are scored in about the time of one
    ranking; if it is more than 1, ``score`` accepts rankings in which one document is tied. ``retrieved_only``: the
    measure depends only on the documents retrieved.
    """
    if not batch.tied.any():
        return score(batch)

    def mean(rows: Batch) -> Estimate:
        return _over_orders(score, rows, search, positions_at_once=positions_at_once, retrieved_only=retrieved_only)

    if positions_at_once == 1:
        return score_once(mean, batch, retrieved_only=retrieved_only)
    several = np.flatnonzero(((batch.size > 1) & ~np.isnan(batch.grade)).sum(axis=1) > 1)
    if not len(several):
        return score(batch)
    # Score all queries first, and those with several tied documents in an arbitrary order: copying these few queries
    # is cheaper than copying the many others.
    rows = batch.rows(several)
    start, size = batch.start.copy(order="K"), batch.size.copy(order="K")
    start[several], size[several] = rows.start + rows.order, 1
    others = score(batch.changed(start=start, size=size))
    averaged = score_once(mean, rows, retrieved_only=retrieved_only)
    return Estimate.joined(len(start), [(slice(None), others), (several, averaged)])


def _over_orders(
    score: Scorer, batch: Batch, search: Search, *, positions_at_once: float, retrieved_only: bool
) -> Estimate:
    """The mean over orders for each query; queries are processed in chunks that fit into memory."""
    tied = TiedDocuments.of(batch)
    rankings = tied.arrangements if positions_at_once == 1 else tied.arrangements_of_others
    exact, samples = search.effort.orders, max(search.effort.samples, 1)
    cells = np.where(tied.enumerable(positions_at_once, exact), rankings, samples) * tied.tied.shape[1]
    chunk = (np.cumsum(cells) // (4 * CELLS)).astype(np.int64)
    parts = [np.flatnonzero(chunk == number) for number in range(chunk[-1] + 1)]

    def mean_of_part(part: Integers) -> Estimate:
        of_part = tied if len(parts) == 1 else TiedDocuments.of(batch.rows(part))
        count, enumerable = of_part.movable.sum(axis=1), of_part.enumerable(positions_at_once, exact)
        count[~enumerable | ~of_part.tied.any(axis=1)] = -1
        enumerated = (
            rankings if positions_at_once == 1 else rankings.with_ties()
            for documents in np.unique(count[count >= 0]).tolist()
            for rankings in _enumerate(of_part, np.flatnonzero(count == documents), documents)
        )
        sampled = (
            rankings
            for query in np.flatnonzero(~enumerable).tolist()
            for rankings in _sample(of_part, query, samples, search.seed)
        )
        rankings_of_part = itertools.chain(enumerated, sampled)
        return over_rankings(score, of_part.batch, rankings_of_part, retrieved_only=retrieved_only, limit=search.limit)

    return Estimate.joined(len(chunk), ((part, mean_of_part(part)) for part in parts))


@dataclass(frozen=True, eq=False)
class TiedDocuments:
    """The tied documents of a batch, sorted by kind within each tie; arrays are (query, column).

    Documents of one kind are interchangeable. ``tied``: the document is tied. ``nth_of_kind``: the number of documents
    of its kind and tie in earlier columns, of ``of_kind`` in total. ``other_kinds``: the number of documents of other
    kinds of its tie in earlier columns. ``single_kind``: all judged documents of its tie are of one kind.
    """

    batch: Batch
    tied: Booleans
    nth_of_kind: Integers
    of_kind: Integers
    other_kinds: Integers
    single_kind: Booleans

    @staticmethod
    def of(batch: Batch) -> TiedDocuments:
        kind = document_kinds_in_order(batch)
        tied = (batch.size > 1) & ~np.isnan(batch.grade)
        same_tie = (batch.start[:, 1:] == batch.start[:, :-1]) & tied[:, 1:] & tied[:, :-1]
        if (same_tie & (kind[:, 1:] < kind[:, :-1])).any():
            key = np.where(np.isnan(batch.grade), np.iinfo(np.int64).max, batch.start)
            return TiedDocuments.of(batch.columns(np.lexsort((kind, key), axis=1)))
        nth_of_kind, other_kinds = np.zeros((2, *tied.shape), np.int64)
        of_kind, single_kind = np.ones_like(nth_of_kind), np.ones_like(tied)
        if len(several := np.flatnonzero(same_tie.any(axis=1))):
            same_tie = same_tie[several]
            same_kind = same_tie & (kind[several, 1:] == kind[several, :-1])
            (tie_first, tie_last), (first, last) = (
                edges(np.pad(~same, ((0, 0), (1, 0)), constant_values=True)) for same in (same_tie, same_kind)
            )
            nth_of_kind[several], of_kind[several] = np.arange(tied.shape[1]) - first, last - first + 1
            other_kinds[several], single_kind[several] = first - tie_first, (first == tie_first) & (last == tie_last)
        return TiedDocuments(batch, tied, nth_of_kind, of_kind, other_kinds, single_kind)

    @cached_property
    def arrangements(self) -> Floats:
        """The number of different rankings of each query."""
        factor = (self.batch.size - self.other_kinds - self.nth_of_kind) / (self.nth_of_kind + 1)
        with np.errstate(over="ignore"):
            return np.rint(np.where(self.movable, factor, 1).prod(axis=1))

    @cached_property
    def movable(self) -> Booleans:
        """The tied documents whose tie has more than one order; not those of a tie with documents of one kind only."""
        return self.tied & ~(self.single_kind & (self.of_kind == self.batch.size))

    @cached_property
    def open_tie(self) -> Integers:
        """The first column of the largest tie with a single kind, whose last document may stay open; -1 for none."""
        widest = np.where(self.tied & self.single_kind, self.batch.size, 0)
        return np.where(widest.max(axis=1) > 0, widest.argmax(axis=1), -1)

    @cached_property
    def arrangements_of_others(self) -> Floats:
        """The number of different rankings of all documents except the open one."""
        query = np.arange(len(self.open_tie))
        share = self.of_kind[query, self.open_tie] / self.batch.size[query, self.open_tie]
        return np.where(self.open_tie < 0, self.arrangements, self.arrangements * share)

    def enumerable(self, positions_at_once: float, most: int) -> Booleans:
        """The queries with few enough rankings to score all of them."""
        return (self.arrangements_of_others <= most) & (self.arrangements <= most * positions_at_once)


def enumerable(batch: Batch, most: int) -> Booleans:
    """The queries with at most so many rankings."""
    return TiedDocuments.of(batch).arrangements <= most


def _enumerate(tied: TiedDocuments, query: Integers, documents: int) -> Iterator[PossibleRankings]:
    """All rankings of queries with this number of movable documents; if possible, the last document is left open."""
    batch, width = tied.batch, tied.tied.shape[1]
    movable, first = tied.movable[query], batch.start[query]
    open_tie = tied.open_tie[query]
    opens = (open_tie >= 0) & movable[np.arange(len(query)), open_tie]
    in_open_tie = movable & opens[:, None] & (first == first[np.arange(len(query)), open_tie][:, None])
    column = np.argsort(np.arange(width) + width * (movable + 1 * in_open_tie), axis=1)[:, width - documents :]
    nth_of_kind, other_kinds, of_kind, size = (
        x[query[:, None], column] for x in (tied.nth_of_kind, tied.other_kinds, tied.of_kind, batch.size)
    )
    first += np.where(tied.tied[query] & ~movable, tied.nth_of_kind[query], 0)
    # Positions count only slots not taken by documents of earlier kinds; documents of one kind are in order. The
    # positions of a ranking are found from the last one backwards, by the ranking of fewer documents that it extends.
    end = size - other_kinds - of_kind + nth_of_kind + 1
    row, last, open_positions = np.arange(len(query)), np.zeros(len(query), np.int64), np.ones(len(query), np.int64)
    choices: list[tuple[Integers, Integers]] = []
    for d in range(documents):
        low = np.where(nth_of_kind[row, d] > 0, last + 1, 0)
        free = end[row, d] - low
        open_positions = np.where(opens[row], free, 1) if d == documents - 1 else np.ones_like(row)
        owner, step = ragged(free // open_positions)
        row, open_positions, last = row[owner], open_positions[owner], low[owner] + step
        choices.append((owner, last))
    probability = open_positions / np.bincount(row, open_positions)[row]
    for part in blocks(len(row), width):
        of_part = row[part]
        position = np.empty((len(of_part), documents), np.int64)
        ranking = np.arange(part.start, part.stop)
        for d, (owner, at) in reversed(list(enumerate(choices))):
            position[:, d], ranking = at[ranking], owner[ranking]
        for d in np.flatnonzero(other_kinds.any(axis=0)).tolist():
            before = np.arange(documents) - d + nth_of_kind[of_part, d][:, None]
            earlier = (before < 0) & (before >= -other_kinds[of_part, d][:, None])
            taken = np.where(earlier, position, np.iinfo(np.int64).max)
            for other in np.sort(taken, axis=1).T[: other_kinds[:, d].max()]:
                position[:, d] += position[:, d] >= other
        start = first[of_part]
        start[np.arange(len(start))[:, None], column[of_part]] += position
        yield PossibleRankings(
            query=query[of_part],
            start=start,
            size=np.ones_like(start),
            probability=probability[part],
            open_column=column[of_part, -1] if documents else np.zeros_like(of_part),
            open_positions=open_positions[part],
            sampled=np.zeros(len(start), bool),
        )


def blocks(rankings: int, width: int) -> Iterator[slice]:
    """The rankings of one query in parts that fit into memory."""
    step = max(1, 4 * CELLS // width)
    return (slice(first, min(first + step, rankings)) for first in range(0, rankings, step))


def _sample(tied: TiedDocuments, query: int, samples: int, seed: int) -> Iterator[PossibleRankings]:
    """A random sample of the rankings of a query."""
    batch = tied.batch.rows(np.array([query]))
    rng = generator(batch, seed)
    drawn = [(columns, SampledPositions(len(columns), size, samples, rng)) for columns, _, size in tie_groups(batch)]
    for part in blocks(samples, batch.start.shape[1]):
        start = np.repeat(batch.start, part.stop - part.start, axis=0)
        for columns, positions in drawn:
            start[:, columns] += positions[part]
        probability = np.full(len(start), 1 / samples)
        yield PossibleRankings.without_open(
            np.full(len(start), query), start, np.ones_like(start), probability, sampled=True
        )


class SampledPositions:
    """Random positions (sample, document) in a tie of this size; the documents of a sample have different positions.

    Many of them are drawn again for each part of the samples, because all would not fit into memory.
    """

    def __init__(self, documents: int, size: int, samples: int, rng: np.random.Generator) -> None:
        self._documents, self._size, self._samples = documents, size, samples
        self._drawn: Integers | None = None
        if documents**2 <= size:
            self._drawn = rng.integers(0, size, (samples, documents))
            while len(repeated := self._with_repetitions(self._drawn)):
                self._drawn[repeated] = rng.integers(0, size, (len(repeated), documents))
            return
        self._rng = copy.deepcopy(rng)
        for _ in range(documents):
            rng.random(samples)
        if size * samples <= CELLS:
            self._drawn = self[:samples].astype(np.min_scalar_type(size))

    @staticmethod
    def _with_repetitions(positions: Integers) -> Integers:
        return np.flatnonzero((np.diff(np.sort(positions, axis=1), axis=1) == 0).any(axis=1))

    def __getitem__(self, part: slice) -> Integers:
        if self._drawn is not None:
            return self._drawn[part]
        first, stop, _ = part.indices(self._samples)
        orders = np.empty((stop - first, self._documents), np.int64)
        step = max(1, 16 * CELLS // self._size)
        for i in range(first, stop, step):
            orders[i - first : i - first + step] = self._shuffled(slice(i, min(i + step, stop)))
        return orders

    def _shuffled(self, part: slice) -> npt.NDArray[np.int32]:
        """A Fisher-Yates shuffle of these samples at once; it stops when all documents have a position."""
        rng, samples = copy.deepcopy(self._rng), part.stop - part.start
        positions = np.repeat(np.arange(self._size, dtype=np.int32)[:, None], samples, axis=1)
        flat, sample = positions.reshape(-1), np.arange(samples)
        for d in range(self._documents):
            uniform = rng.random(self._samples)[part]
            at = (d + (uniform * (self._size - d)).astype(np.int64)) * samples + sample
            positions[d], flat[at] = flat[at], positions[d].copy()
        return positions[: self._documents].T


def over_distinct_orders(score: Scorer, batch: Batch, search: Search = MEAN, *, k: int) -> Estimate:
    """The mean of a score of the first k over all orders, if no two tied documents are interchangeable.

    Notes do not search these orders: there is one effort.
    """
    end = np.minimum(batch.length, k)[:, None]
    tied = ((batch.size > 1) & (batch.start < end) & ~np.isnan(batch.grade)).any(axis=1)
    if not tied.any():
        return score(batch)
    queries = np.flatnonzero(tied).tolist()
    parts = (part for query in queries for part in _distinct_orders(batch, query, k, search.seed))
    return over_rankings(score, batch, parts, limit=search.limit)


def _distinct_orders(batch: Batch, query: int, k: int, seed: int) -> Iterator[PossibleRankings]:
    """All orders of the first k of one query, or a sample if there are too many."""
    batch = batch.rows(np.array([query]))
    end = int(min(batch.length[0], k))
    # The seed must not depend on documents below the end: which of these are aligned depends on the other measures.
    rng = generator(batch.only(batch.start < end), seed)
    ties = [(columns, first, size) for columns, first, size in tie_groups(batch) if first < end]
    # The order below rank k does not matter: only the documents in the first k are drawn.
    slots = [min(size, end - first) for _, first, size in ties]
    sampled = _many_orders([(size, n) for (_, _, size), n in zip(ties, slots, strict=True)])
    drawn: Sequence[SampledPositions | Integers]
    if sampled:
        rankings = SAMPLES_DISTINCT
        drawn = [SampledPositions(n, size, rankings, rng) for (_, _, size), n in zip(ties, slots, strict=True)]
    else:
        orders = [
            np.array(list(itertools.permutations(range(size), n)), np.int64)
            for (_, _, size), n in zip(ties, slots, strict=True)
        ]
        which = np.array(list(itertools.product(*(range(len(of_tie)) for of_tie in orders))), np.int64)
        drawn, rankings = [of_tie[which[:, g]] for g, of_tie in enumerate(orders)], len(which)
    for part in blocks(rankings, max(batch.start.shape[1], *(size for _, _, size in ties))):
        start = np.repeat(batch.start, part.stop - part.start, axis=0)
        for (columns, first, size), members, n in zip(ties, drawn, slots, strict=True):
            position = np.full((len(start), size), end - first)
            np.put_along_axis(position, members[part].astype(np.int64), np.arange(n), axis=1)
            start[:, columns] = first + position[:, : len(columns)]
        probability = np.full(len(start), 1 / rankings)
        yield PossibleRankings.without_open(
            np.full(len(start), query), start, np.ones_like(start), probability, sampled=sampled
        )


def _many_orders(ties: Sequence[tuple[int, int]]) -> bool:
    """Whether the first n documents of ties of these sizes have too many orders to score them all."""
    logs = sum(math.lgamma(size + 1) - math.lgamma(size - n + 1) for size, n in ties)
    return logs > math.log(EXACT_DISTINCT + 0.5)


# The mean of a measure over the possible sets of documents in the first k, if a tie crosses rank k.

FEW = 8  # queries with up to this many documents of one kind in a tie across rank k are processed together


def over_cuts(score: Scorer, batch: Batch, search: Search = MEAN, *, k: int, retrieved_only: bool = False) -> Estimate:
    """The mean of a score over the possible sets of documents in the first k, if a tie crosses rank k.

    The documents of the tie above rank k stay tied with each other, and so do those below.
    """
    if not _across(batch, k).any():
        return score(batch)
    of_rows = partial(_over_cuts, score, search=search, k=k)
    return score_once(of_rows, batch, retrieved_only=retrieved_only)


def _across(batch: Batch, k: int) -> Booleans:
    """The documents in ties that cross rank k or the end of the ranking."""
    end = np.minimum(batch.length, k)[:, None]
    return (batch.start < end) & (batch.start + batch.size > end) & ~np.isnan(batch.grade)


def _over_cuts(score: Scorer, batch: Batch, search: Search, k: int) -> Estimate:
    across, kind = _across(batch, k), document_kinds(batch)
    count = across.sum(axis=1)
    one_kind = np.where(across, kind, -np.inf).max(axis=1) == np.where(across, kind, np.inf).min(axis=1)
    groupable = one_kind & (count > 0) & (count <= FEW)
    grouped = [
        _cuts_of_one_kind(batch, np.flatnonzero(groupable & (count == n)), across, n, k)
        for n in np.unique(count[groupable])
    ]
    queries = np.flatnonzero((count > 0) & ~groupable).tolist()
    single = (part for query in queries for part in _cuts_of_query(batch, query, k, search))
    return over_rankings(score, batch, itertools.chain(grouped, single), limit=search.limit)


def _cuts_of_one_kind(batch: Batch, query: Integers, across: Booleans, count: int, k: int) -> PossibleRankings:
    """The cuts of queries with ``count`` judged documents, all of one kind, in the tie across rank k.

    The number of them in the first k has a hypergeometric distribution.
    """
    column = across[query].argmax(axis=1)[:, None] + np.arange(count)
    end = np.minimum(batch.length, k)[query]
    first, size = batch.start[query, column[:, 0]], batch.size[query, column[:, 0]]
    slots = end - first
    parts = []
    for above in range(count + 1):
        drawn = [(slots - i) / (size - i) for i in range(above)]
        left = [(size - slots - i) / (size - above - i) for i in range(count - above)]
        probability = math.comb(count, above) * np.prod([*drawn, *left], axis=0)
        start, tie_size = batch.start[query], batch.size[query]
        inside = np.arange(count) < above
        np.put_along_axis(start, column, np.where(inside, first[:, None], end[:, None]), axis=1)
        np.put_along_axis(tie_size, column, np.where(inside, slots[:, None], (size - slots)[:, None]), axis=1)
        possible = probability > 0
        parts.append(
            PossibleRankings.without_open(query[possible], start[possible], tie_size[possible], probability[possible])
        )
    return PossibleRankings.concatenated(parts)


def _cuts_of_query(batch: Batch, query: int, k: int, search: Search) -> Iterator[PossibleRankings]:
    """All cuts of one query, or a sample if there are too many."""
    batch = batch.rows(np.array([query]))
    rng = generator(batch, search.seed)
    end = int(min(batch.length[0], k))
    columns, first, size = next((c, t, n) for c, t, n in tie_groups(batch) if t < end < t + n)
    slots = end - first
    # Documents of one kind are interchangeable: only the number of each kind in the first k matters. The last kind is
    # that of the unjudged documents.
    kind = np.unique(document_kinds(batch)[0, columns], return_inverse=True)[1]
    of_kind = np.append(np.bincount(kind), size - len(columns))
    exact, samples = search.effort.cuts, max(search.effort.samples, 1)
    sampled = math.prod((of_kind + 1).tolist()) > exact
    if sampled:
        drawn = rng.multivariate_hypergeometric(of_kind, slots, samples, method="marginals")
        probability = np.full(samples, 1 / samples)
    else:
        drawn = np.array(
            [
                (*head, slots - sum(head))
                for head in itertools.product(*(range(int(n) + 1) for n in of_kind[:-1]))
                if 0 <= slots - sum(head) <= of_kind[-1]
            ]
        )
        logs = np.array([math.lgamma(i + 1) for i in range(size + 1)])
        ways = (logs[of_kind] - logs[drawn] - logs[of_kind - drawn]).sum(axis=1)
        probability = np.exp(ways - ways.max())
        probability /= probability.sum()
    by_kind = np.argsort(kind, kind="stable")
    nth_of_kind = np.empty_like(kind)
    nth_of_kind[by_kind] = ragged(np.bincount(kind))[1]
    for part in blocks(len(drawn), batch.start.shape[1]):
        inside = nth_of_kind < drawn[part][:, kind]
        start, tie_size = (np.repeat(table, len(inside), axis=0) for table in (batch.start, batch.size))
        start[:, columns] = np.where(inside, first, end)
        tie_size[:, columns] = np.where(inside, slots, size - slots)
        yield PossibleRankings.without_open(
            np.full(len(start), query), start, tie_size, probability[part], sampled=sampled
        )
