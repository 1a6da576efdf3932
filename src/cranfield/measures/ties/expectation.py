"""The expectation of a measure over the possible rankings of queries with ties.

A query with ties is replaced by rankings without ties, each with its probability. The measure scores these rankings,
and the expectation is the mean of the scores of a query, weighted by probability.

A ranking may leave one document *open*: it is tied, and each of several positions is equally likely. Rankings that
differ only in these positions share the scores of the positions that they have in common. This is frequent, because
most queries have one relevant document.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from cranfield.data import Array, Booleans, Floats, Integers
from cranfield.measures.ties.strategies import Estimate
from cranfield.ranking.batch import CELLS, COLUMNS, Batch, ragged, take_rows

AT_ONCE = 1 << 14  # number of cells that are scored together; they fit into the processor cache

Scorer = Callable[[Batch], Estimate]


class PossibleRankings(NamedTuple):
    """The possible rankings of queries with ties.

    ``query``: the query of each ranking. ``start``, ``size`` (ranking, column): as in a batch. ``probability``: those
    of one query sum to 1. The document in ``open_column`` is equally likely at each of ``open_positions`` positions,
    beginning at its start; with one position it is not open. ``sampled``: the ranking was drawn, not enumerated.
    """

    query: Integers
    start: Integers
    size: Integers
    probability: Floats
    open_column: Integers
    open_positions: Integers
    sampled: Booleans

    @staticmethod
    def without_open(
        query: Integers, start: Integers, size: Integers, probability: Floats, *, sampled: bool = False
    ) -> PossibleRankings:
        """Rankings without an open document."""
        none = np.zeros_like(query)
        return PossibleRankings(query, start, size, probability, none, none + 1, np.full(len(query), sampled))

    def with_ties(self) -> PossibleRankings:
        """The rankings with open documents as ties, for a kernel that averages over their positions itself."""
        size = self.size.copy()
        size[np.arange(len(size)), self.open_column] = self.open_positions
        return self._replace(size=size, open_positions=np.ones_like(self.open_positions))

    @staticmethod
    def concatenated(parts: Sequence[PossibleRankings]) -> PossibleRankings:
        return PossibleRankings(*map(np.concatenate, zip(*parts, strict=True)))


def over_rankings(
    score: Scorer,
    batch: Batch,
    parts: Iterable[PossibleRankings],
    *,
    retrieved_only: bool = False,
    limit: np.ufunc | None = None,
) -> Estimate:
    """The expected score of every query over its possible rankings; queries without any are scored unchanged.

    ``parts`` may share queries; only a few parts are in memory at a time. ``retrieved_only``: the measure depends only
    on the documents retrieved. ``limit``: the highest or lowest score instead, which is exact unless rankings were
    sampled.
    """
    queries = len(batch.length)
    replaced = np.zeros(queries, bool)
    scored: list[RankingScores] = []
    waiting: list[PossibleRankings] = []
    for part in parts:
        replaced[part.query] = True
        waiting.append(part)
        if sum(block.start.size for block in waiting) > 4 * CELLS:
            scored.append(_score_rankings(score, batch, waiting, retrieved_only=retrieved_only, limit=limit))
            waiting = []
    if not replaced.any():
        return score(batch)
    if len(kept := np.flatnonzero(~replaced)):
        waiting.insert(0, PossibleRankings.without_open(kept, batch.start[kept], batch.size[kept], np.ones(len(kept))))
    if waiting:
        scored.append(_score_rankings(score, batch, waiting, retrieved_only=retrieved_only, limit=limit))
    query, probability, mean, defined, error, sampled = (np.concatenate(field) for field in zip(*scored, strict=True))
    if limit is None:
        value = np.bincount(query, mean * probability, queries).astype(np.float64)
    else:
        by_query = np.argsort(query, kind="stable")
        value = limit.reduceat(mean[by_query], np.searchsorted(query[by_query], np.arange(queries)))
    value[np.bincount(query, defined, queries) == 0] = np.nan
    variance = np.zeros(queries)
    if error.any():
        variance += np.bincount(query, error, queries)
    if sampled.any() and limit is not None:
        variance[query[sampled]] = np.inf
    elif sampled.any():
        drawn = np.flatnonzero(sampled)
        deviation = mean[drawn] - np.nan_to_num(value)[query[drawn]]
        samples = np.maximum(np.bincount(query[drawn], minlength=queries), 2)
        variance = np.maximum(variance, np.bincount(query[drawn], deviation**2, queries) / (samples - 1) / samples)
    return Estimate(value, np.sqrt(variance) if variance.any() else None)


class RankingScores(NamedTuple):
    """The score of each ranking: the mean, or a limit, over the positions of its open document.

    If a measure is undefined for some rankings of a query, because they have no relevant document, these count 0.
    ``defined``: the number of positions with a score. ``variance``: that of the share of the ranking in the mean.
    """

    query: Integers
    probability: Floats
    mean: Floats
    defined: Floats
    variance: Floats
    sampled: Booleans


def _score_rankings(
    score: Scorer, batch: Batch, parts: Sequence[PossibleRankings], *, retrieved_only: bool, limit: np.ufunc | None
) -> RankingScores:
    rankings = PossibleRankings.concatenated(parts) if len(parts) > 1 else parts[0]
    query, probability, positions = rankings.query, rankings.probability, rankings.open_positions
    row, position, first = _rankings_to_score(batch, rankings, retrieved_only=retrieved_only)
    tied = (rankings.size > 1).any()
    scores, errors = np.zeros((2, len(row)))
    # Queries with about the same number of documents are scored together, so that there is little padding.
    bits_of_width = np.frexp(np.maximum((~np.isnan(batch.grade)).sum(axis=1), 1) - 0.5)[1][query[row]]
    for bits in np.flatnonzero(np.bincount(bits_of_width)).tolist():
        same_width = np.flatnonzero(bits_of_width == bits)
        columns = min(1 << bits, rankings.start.shape[1])
        for i in range(0, len(same_width), step := max(1, AT_ONCE // columns)):
            chunk = same_width[i : i + step]
            rows = row[chunk]
            start = take_rows(rankings.start[:, :columns], rows)
            start[np.arange(len(rows)), rankings.open_column[rows]] = position[chunk]
            size = take_rows(rankings.size[:, :columns], rows) if tied else np.broadcast_to(1, start.shape)
            estimate = score(_move_documents(batch, query[rows], start, size, retrieved_only=retrieved_only))
            scores[chunk] = estimate.value
            if estimate.error is not None:
                errors[chunk] = estimate.error
    undefined = np.isnan(scores)
    scores[undefined] = 0
    if limit is None:
        mean = range_sums(scores, first, positions) / positions
    else:
        mean = limit.reduceat(np.append(scores, 0), np.stack([first, first + positions], axis=1).ravel())[::2]
    defined = range_sums(~undefined, first, positions) if undefined.any() else np.ones(len(query))
    variance = np.zeros(len(query))
    if errors.any():
        variance = range_sums(errors**2, first, positions) * (probability / positions) ** 2
    return RankingScores(query, probability, mean, defined, variance, rankings.sampled)


def _rankings_to_score(
    batch: Batch, rankings: PossibleRankings, *, retrieved_only: bool
) -> tuple[Integers, Integers, Integers]:
    """The distinct things to score: a ranking, and the position of its open document.

    The third array has, for each ranking, the index of its first position in the other two.
    """
    closed, open_ = np.flatnonzero(rankings.open_positions == 1), np.flatnonzero(rankings.open_positions > 1)
    start = rankings.start[np.arange(len(rankings.query)), rankings.open_column]
    if not len(open_):
        return closed, start, closed
    column, others = rankings.open_column[open_], rankings.start[open_]
    others[np.arange(len(others)), column] = 0
    same_query = _equivalent_queries(batch, rankings.query[open_], retrieved_only=retrieved_only)
    row, position, index = distinct_positions(start[open_], rankings.open_positions[open_], same_query, column, others)
    first = np.empty_like(rankings.query)
    first[closed], first[open_] = np.arange(len(closed)), len(closed) + index
    return np.concatenate([closed, open_[row]]), np.concatenate([start[closed], position]), first


def _equivalent_queries(batch: Batch, query: Integers, *, retrieved_only: bool) -> Integers:
    """A number for each query; equal numbers mean that only the positions of documents differ."""
    if not batch.anonymous:
        return query
    chosen = np.unique(query)
    number = np.zeros(len(batch.length), np.int64)
    number[chosen] = group_equal_rows(*(part[chosen] for part in _fields_read(batch, retrieved_only=retrieved_only)))[0]
    return number[query]


def _move_documents(batch: Batch, query: Integers, start: Integers, size: Integers, *, retrieved_only: bool) -> Batch:
    """The rankings of these queries, with documents moved to new positions."""
    zeros = np.broadcast_to(0, start.shape)
    fields: dict[str, Any] = {"start": start, "size": size}
    # Columns that are constant in this batch are not copied.
    fields |= {} if batch.nil.any() else {"nil": zeros > 0}
    fields |= {"document": np.broadcast_to(-1, start.shape)} if batch.anonymous else {}
    for name in COLUMNS.keys() - fields.keys():
        fields[name] = take_rows(getattr(batch, name)[:, : start.shape[1]], query)
    if batch.pool_row is not None:
        fields["pool_row"] = batch.pool_row[query]
    judged = ("ideal", "R", "N", "mass", "nil_grade", "query")  # facts about the judgments, independent of the run
    if retrieved_only:
        fields |= {name: np.broadcast_to(np.nan, (len(query), 1)[: getattr(batch, name).ndim]) for name in judged}
    for name in ("length", "tail", *judged):
        if name not in fields:
            fields[name] = take_rows(getattr(batch, name), query)
    rows = batch.changed(**fields)
    inside = np.isnan(rows.grade) | (start < rows.length[:, None])
    return rows.sorted() if inside.all() else rows.only(~np.isnan(rows.grade) & inside)


def score_once(score: Scorer, batch: Batch, *, retrieved_only: bool) -> Estimate:
    """The score of every query; queries that the measure cannot distinguish are scored once."""
    if not batch.anonymous:
        return score(batch)
    number, example = group_equal_rows(batch.start, batch.size, *_fields_read(batch, retrieved_only=retrieved_only))
    estimate = score(batch.rows(example))
    return Estimate(estimate.value[number], None if estimate.error is None else estimate.error[number])


def score_apart(batch: Batch, chosen: Booleans, score_chosen: Scorer, score_others: Scorer) -> Estimate:
    """The score of every query: the chosen queries scored in one way, the others in another."""
    if not chosen.any():
        return score_others(batch)
    parts = ((np.flatnonzero(chosen), score_chosen), (np.flatnonzero(~chosen), score_others))
    return Estimate.joined(len(chosen), ((part, score(batch.rows(part))) for part, score in parts if len(part)))


def _fields_read(batch: Batch, *, retrieved_only: bool) -> Iterator[Any]:
    """The fields of each query that a measure can depend on, without positions, row by row."""
    yield from (batch.gain, np.where(np.isnan(batch.grade), 2, batch.judged), batch.nil, batch.length, batch.tail)
    if not retrieved_only:
        yield from (batch.ideal, batch.R, batch.N, batch.mass, batch.nil_grade)


def document_kinds(batch: Batch) -> Floats:
    """A number for each document, the same for documents that measures cannot distinguish."""
    if not batch.anonymous:
        return batch.document.astype(np.float64)
    return np.where(batch.nil, np.inf, np.where(batch.judged, batch.gain, -np.inf))


def document_kinds_in_order(batch: Batch) -> Floats:
    """`document_kinds`, in which documents with equal grades for all subtopics are of one kind; kinds are in order.

    The order of kinds depends on grades only, so that sums do not depend on the input order of judgments.
    """
    if batch.costs is not None:
        cost = np.where(np.isnan(batch.grade), 0, np.nan_to_num(batch.costs[batch.document], nan=-1))
        return _numbered(np.stack([batch.judged, batch.gain, cost], axis=-1))
    if batch.pool is not None:
        keys: list[Any] = [batch.judged, batch.gain, np.nan_to_num(batch.grade, nan=-np.inf)]
        if (sample := batch.sample) is not None:
            keys.append(sample.stratum[batch.document])
            if sample.probability is not None:
                keys.append(np.nan_to_num(sample.probability[batch.document], nan=-1))
            if sample.method is not None:
                keys.append(sample.method[batch.document])
        return _numbered(np.stack(keys, axis=-1).astype(np.float64))
    if batch.subtopics is None or batch.gain_of_grade is None or batch.reading is not None:
        return document_kinds(batch)
    aspects = batch.subtopics.aspects(batch.gain_of_grade)
    facts = np.concatenate([aspects.gain, aspects.grade], axis=1)[batch.document].reshape(*batch.document.shape, -1)
    return _numbered(np.concatenate([np.where(batch.nil, 2, batch.judged)[:, :, None], facts], axis=2))


def _numbered(facts: Floats) -> Floats:
    """A number for each document, the same for those with the same facts; ``facts``: (query, column, fact)."""
    _, kind = np.unique(facts.reshape(-1, facts.shape[2]), axis=0, return_inverse=True)
    return kind.reshape(facts.shape[:2]).astype(np.float64)


def generator(batch: Batch, seed: int) -> np.random.Generator:
    """A random generator for a batch of one query; its draws do not depend on other queries."""
    import zlib

    documents = ~np.isnan(batch.grade[0])
    content = batch.start[0, documents].tobytes() + batch.gain[0, documents].tobytes()
    return np.random.default_rng([seed, zlib.crc32(content)])


def tie_groups(batch: Batch) -> Iterator[tuple[Integers, int, int]]:
    """The tie groups with judged documents in a batch of one query: the columns, start and size of each."""
    documents = np.flatnonzero(~np.isnan(batch.grade[0]))
    for columns in np.split(documents, np.flatnonzero(np.diff(batch.start[0, documents])) + 1):
        if len(columns):
            yield columns, int(batch.start[0, columns[0]]), int(batch.size[0, columns[0]])


# Means over the positions of tied documents, if all orders of a tie are equally likely.
#
# A *range* is a sequence of consecutive positions, given by the first one and their number. Positions count from 0.

POSITIONS_AT_ONCE = 1 << 14  # number of positions that are scored together; they fit into the processor cache


@lru_cache(maxsize=8)
def _log_factorials(bits: int) -> Floats:
    return np.concatenate([[0], np.cumsum(np.log(np.arange(1, 1 << bits)))])


def mean_for_nth(
    size: Integers, count: Integers, nth: Integers, score: Callable[[Integers, Integers], Floats]
) -> Floats:
    """The mean score of one document of each tie, over all its possible positions in the tie.

    The document is the nth (from 0) of ``count`` documents in a tie of ``size``. ``score`` takes indices of ties and
    positions in them. With r documents in n positions, the document with j of the others above it is at position x
    with probability C(x, j) C(n-1-x, r-1-j) / C(n, r).
    """
    mean = np.zeros(len(size))
    for part in _chunks(size - count + 1):
        n, r, j = size[part], count[part], nth[part]
        owner, step = ragged(n - r + 1)
        log = _log_factorials(max(10, int(n.max(initial=0)).bit_length()))
        # x = j + step and n-1-x = r-1-j + after; factors that do not depend on x are added at the end.
        after = (n - r)[owner] - step
        x = j[owner] + step
        ways = log[x] - log[step] + log[(r - 1 - j)[owner] + after] - log[after]
        ways += (log[r] + log[n - r] - log[n] - log[j] - log[r - 1 - j])[owner]
        probability = np.exp(ways)
        total = np.bincount(owner, probability * score(part[owner], x), len(n))
        mean[part] = total / np.bincount(owner, probability, len(n))
    return mean


def _chunks(cells: Integers) -> Iterator[Integers]:
    """Indices of ties in chunks that fit into memory."""
    chunk = np.cumsum(cells) // CELLS
    return (np.flatnonzero(chunk == i) for i in np.unique(chunk))


def mean_over_ranges(
    first: Integers, count: Integers, score: Callable[[Integers, Integers, Integers], Floats], *tables: Array
) -> Floats:
    """The mean of a score over each range; ranges with equal rows in the tables share the scores of their positions.

    ``score`` takes indices of ranges, the number of positions to score for each of them, and all these positions.
    """
    total = np.zeros(len(first))
    order, leader, width, offset = _merge_ranges(first, count, tables)
    piece = np.flatnonzero(np.diff(np.cumsum(width) // POSITIONS_AT_ONCE)) + 1
    for begin, end in itertools.pairwise([0, *piece.tolist(), len(leader)]):
        example, times = order[leader[begin:end]], width[begin:end]
        scores = score(example, times, _positions(first[example], times))
        members = slice(leader[begin], leader[end] if end < len(leader) else None)
        total[order[members]] = _ascending_range_sums(
            scores, offset[members] - offset[leader[begin]], count[order[members]]
        )
    return total / count


def distinct_positions(first: Integers, count: Integers, *tables: Array) -> tuple[Integers, Integers, Integers]:
    """The distinct positions of the ranges; ranges with equal rows in the tables share positions.

    Returns, for each position, a range that contains it and the position itself; and, for each range, the index of
    its first position in these arrays. Its other positions follow.
    """
    order, leader, width, offset = _merge_ranges(first, count, tables)
    example = order[leader]
    index = np.empty_like(offset)
    index[order] = offset
    return np.repeat(example, width), _positions(first[example], width), index


def _positions(first: Integers, count: Integers) -> Integers:
    """All positions of ranges, one range after the other."""
    return np.arange(count.sum()) + np.repeat(first - np.cumsum(count) + count, count)


def _merge_ranges(
    first: Integers, count: Integers, tables: Sequence[Array]
) -> tuple[Integers, Integers, Integers, Integers]:
    """Merge ranges with equal rows in the tables that overlap or touch.

    Returns an order of the ranges in which the members of a merged range are adjacent; for each merged range, the
    index of its first member in this order, and its number of positions; and, for each range in this order, the number
    of positions of merged ranges before its first position.
    """
    group, _ = group_equal_rows(*tables)
    order = np.lexsort((_narrowest(first), _narrowest(group)))
    begin = (group * (int((first + count).max(initial=0)) + 1) + first)[order]
    end = np.maximum.accumulate(begin + count[order])
    leads = np.append(True, begin[1:] > end[:-1])
    leader = np.flatnonzero(leads)
    width = end[np.append(leader[1:], len(end)) - 1] - begin[leader]
    gap = begin[leader] - (np.cumsum(width) - width)
    return order, leader, width, begin - gap[np.cumsum(leads) - 1]


def _narrowest(x: Integers) -> Array:
    """The same numbers in 16 bits if possible, because NumPy sorts these much faster."""
    return x.astype(np.uint16) if x.max(initial=0) < 1 << 16 else x


@lru_cache(maxsize=32)
def _hash_factors(bits: int) -> Array:
    return np.random.default_rng(0).integers(1 << 63, size=(1 << bits, 1), dtype=np.uint64) | np.uint64(1)


def group_equal_rows(*tables: Array) -> tuple[Integers, Integers]:
    """A group number for each row, equal for rows that are equal in all tables; and one row of each group."""
    parts = [part for table in tables if len(part := _varying_columns(table))]
    hashed = np.zeros(len(tables[0]), np.uint64)
    for part in parts:
        factors = _hash_factors(len(part).bit_length())
        hashed = hashed * factors[0] + ((part ^ (part >> np.uint64(29))) * factors[1 : len(part) + 1]).sum(axis=0)
    _, example, group = np.unique(hashed, return_index=True, return_inverse=True)
    leader = example[group]
    if any((part != part.take(leader, axis=1)).any() for part in parts):  # different rows with the same hash
        _, example, group = np.unique(np.concatenate(parts), axis=1, return_index=True, return_inverse=True)
    return group, example


def _varying_columns(table: Array) -> Array:
    """The bits of a table's columns, without the columns that are the same in all rows."""
    columns = np.ascontiguousarray(table.reshape(len(table), -1).T, np.float64).view(np.uint64)
    return columns[(columns != columns[:, :1]).any(axis=1)]


def range_sums(x: Array, first: Integers, count: Integers) -> Floats:
    """The sum of x over each range."""
    total = x[first].astype(np.float64)
    several = np.flatnonzero(count > 1)
    several = several[np.argsort(_narrowest(first[several]), kind="stable")]
    total[several] = _ascending_range_sums(x, first[several], count[several])
    return total


def _ascending_range_sums(x: Array, first: Integers, count: Integers) -> Floats:
    """The sum of x over each range, where ranges are in order of their first position."""
    # From the last range to the first: reduceat then returns a single number for the gap between two ranges.
    ends = np.empty(2 * len(first), np.int64)
    ends[-2::-2], ends[::-2] = first, first + count
    return np.add.reduceat(np.append(x, 0.0), ends)[-2::-2]
