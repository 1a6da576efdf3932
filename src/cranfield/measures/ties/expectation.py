"""The expectation of a measure over the rankings that ties leave possible.

A query with ties is replaced by rankings without them, each with its probability. The measure scores these rankings,
and the mean of each query's scores by probability is the expectation.

A ranking may leave one document *open*: tied, and equally likely at each of several positions. Rankings that differ
only in which positions these are share the scores of the positions that they have in common. This is frequent: most
queries have one relevant document.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.data import Booleans, Floats, Integers
from cranfield.measures.ties.estimate import Estimate
from cranfield.measures.ties.positions import distinct_positions, group_equal_rows, range_sums
from cranfield.ranking.batch import COLUMNS, Batch
from cranfield.ranking.row_math import picked

AT_ONCE = 1 << 14  # cells of rankings that are scored together: few enough to stay in the processor's cache

Scorer = Callable[[Batch], Estimate]


@dataclass(frozen=True, eq=False)
class PossibleRankings:
    """Rankings that the ties of some queries leave possible.

    ``query``: whose ranking each of them is. ``start``, ``size`` (ranking, column): as in a batch. ``probability``:
    those of one query sum to 1. The document in ``open_column`` is equally likely at each of ``open_positions``
    positions, from its start on; with one position it is not open. ``sampled``: it was drawn, not enumerated.
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
        """Rankings that leave no document open."""
        none = np.zeros_like(query)
        return PossibleRankings(query, start, size, probability, none, none + 1, np.full(len(query), sampled))

    def with_ties(self) -> PossibleRankings:
        """The same for a kernel that averages over the positions of an open document itself: as the size of a tie."""
        size = self.size.copy()
        size[np.arange(len(size)), self.open_column] = self.open_positions
        return replace(self, size=size, open_positions=np.ones_like(self.open_positions))

    @staticmethod
    def concatenated(parts: Sequence[PossibleRankings]) -> PossibleRankings:
        names = "query", "start", "size", "probability", "open_column", "open_positions", "sampled"
        return PossibleRankings(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def mean_over_rankings(
    score: Scorer, batch: Batch, parts: Sequence[PossibleRankings], *, retrieved_only: bool = False
) -> Estimate:
    """The expected score of every query, over its possible rankings; a query without any is scored as it is.

    ``retrieved_only``: the measure reads nothing but the documents retrieved.
    """
    replaced = np.zeros(len(batch.length), bool)
    for part in parts:
        replaced[part.query] = True
    if not replaced.any():
        return score(batch)
    kept = np.flatnonzero(~replaced)
    as_they_are = PossibleRankings.without_open(kept, batch.start[kept], batch.size[kept], np.ones(len(kept)))
    rankings = PossibleRankings.concatenated([as_they_are, *parts])
    query, probability, positions = rankings.query, rankings.probability, rankings.open_positions
    row, position, first = _to_score(batch, rankings, retrieved_only)
    tied = (rankings.size > 1).any()
    scores, errors = np.zeros((2, len(row)))
    # Queries with about the same number of documents go together, so that little is padded.
    bits_of_width = np.frexp(np.maximum((~np.isnan(batch.grade)).sum(axis=1), 1) - 0.5)[1][query[row]]
    for bits in np.flatnonzero(np.bincount(bits_of_width)).tolist():
        same_width = np.flatnonzero(bits_of_width == bits)
        columns = min(1 << bits, rankings.start.shape[1])
        for i in range(0, len(same_width), step := max(1, AT_ONCE // columns)):
            chunk = same_width[i : i + step]
            rows = row[chunk]
            start = picked(rankings.start[:, :columns], rows)
            start[np.arange(len(rows)), rankings.open_column[rows]] = position[chunk]
            size = picked(rankings.size[:, :columns], rows) if tied else np.broadcast_to(1, start.shape)
            estimate = score(_rearranged(batch, query[rows], start, size, retrieved_only))
            scores[chunk] = estimate.value
            if estimate.error is not None:
                errors[chunk] = estimate.error
    # A ranking for which the measure is undefined has nothing relevant to score: it counts 0 among defined ones.
    undefined = np.isnan(scores)
    queries = len(replaced)
    mean_of_ranking = range_sums(np.where(undefined, 0, scores), first, positions) / positions
    value = np.bincount(query, mean_of_ranking * probability, queries).astype(np.float64)
    if undefined.any():
        defined = np.bincount(query, range_sums(~undefined, first, positions), queries) > 0
        value[~defined] = np.nan
    variance = np.zeros(queries)
    if errors.any():
        variance += np.bincount(
            query, range_sums(errors**2, first, positions) * (probability / positions) ** 2, queries
        )
    if rankings.sampled.any():
        drawn = np.flatnonzero(rankings.sampled)
        deviation = mean_of_ranking[drawn] - np.nan_to_num(value)[query[drawn]]
        samples = np.maximum(np.bincount(query[drawn], minlength=queries), 2)
        variance = np.maximum(variance, np.bincount(query[drawn], deviation**2, queries) / (samples - 1) / samples)
    return Estimate(value, np.sqrt(variance) if variance.any() else None)


def _to_score(batch: Batch, rankings: PossibleRankings, retrieved_only: bool) -> tuple[Integers, Integers, Integers]:
    """What is to be scored, each thing once: a ranking, and the position of its open document.

    Last, for each ranking, the index of its first position among these.
    """
    closed, open_ = np.flatnonzero(rankings.open_positions == 1), np.flatnonzero(rankings.open_positions > 1)
    at = rankings.start[np.arange(len(rankings.query)), rankings.open_column]
    if not len(open_):
        return closed, at, closed
    column, others = rankings.open_column[open_], rankings.start[open_]
    others[np.arange(len(others)), column] = 0
    same_query = _equivalent_queries(batch, rankings.query[open_], retrieved_only)
    row, position, index = distinct_positions(at[open_], rankings.open_positions[open_], same_query, column, others)
    first = np.empty_like(rankings.query)
    first[closed], first[open_] = np.arange(len(closed)), len(closed) + index
    return np.concatenate([closed, open_[row]]), np.concatenate([at[closed], position]), first


def _equivalent_queries(batch: Batch, query: Integers, retrieved_only: bool) -> Integers:
    """A number for each query, the same for queries that measures cannot distinguish but by positions."""
    if not batch.anonymous:
        return query
    chosen = np.unique(query)
    number = np.zeros(len(batch.length), np.int64)
    number[chosen] = group_equal_rows(*(part[chosen] for part in _measured(batch, retrieved_only)))[0]
    return number[query]


def _rearranged(batch: Batch, query: Integers, start: Integers, size: Integers, retrieved_only: bool) -> Batch:
    """Rankings of some queries with their documents at other positions."""
    nothing = np.broadcast_to(0, start.shape)
    fields: dict[str, Any] = {"start": start, "size": size}
    # What no document of this batch has is not copied.
    fields |= {} if batch.nil.any() else {"nil": nothing > 0}
    fields |= {"document": np.broadcast_to(-1, start.shape)} if batch.anonymous else {}
    for name in COLUMNS.keys() - fields.keys():
        fields[name] = picked(getattr(batch, name)[:, : start.shape[1]], query)
    judged = ("ideal", "R", "N", "mass", "nil_grade", "query")  # what the judgments say, whatever was retrieved
    if retrieved_only:
        fields |= {name: np.broadcast_to(np.nan, (len(query), 1)[: getattr(batch, name).ndim]) for name in judged}
    for name in ("length", "tail", *judged):
        if name not in fields:
            fields[name] = picked(getattr(batch, name), query)
    rows = batch.changed(**fields)
    inside = np.isnan(rows.grade) | (start < rows.length[:, None])
    return rows.sorted() if inside.all() else rows.only(~np.isnan(rows.grade) & inside)


def score_once(score: Scorer, batch: Batch, *, retrieved_only: bool) -> Estimate:
    """The score of every query, computed once for all queries that the measure cannot distinguish."""
    if not batch.anonymous:
        return score(batch)
    number, example = group_equal_rows(batch.start, batch.size, *_measured(batch, retrieved_only))
    estimate = score(batch.rows(example))
    return Estimate(estimate.value[number], None if estimate.error is None else estimate.error[number])


def score_apart(batch: Batch, chosen: Booleans, score_chosen: Scorer, score_others: Scorer) -> Estimate:
    """The score of every query: the chosen queries scored in one way, the others in another."""
    if not chosen.any():
        return score_others(batch)
    parts = ((np.flatnonzero(chosen), score_chosen), (np.flatnonzero(~chosen), score_others))
    return Estimate.joined(len(chosen), ((part, score(batch.rows(part))) for part, score in parts if len(part)))


def _measured(batch: Batch, retrieved_only: bool) -> Iterator[Any]:
    """All that a measure can read of each query but positions, row by row."""
    yield from (batch.gain, np.where(np.isnan(batch.grade), 2, batch.judged), batch.nil, batch.length, batch.tail)
    if not retrieved_only:
        yield from (batch.ideal, batch.R, batch.N, batch.mass, batch.nil_grade)


def document_kinds(batch: Batch) -> Floats:
    """A number for each document, the same for documents that measures cannot distinguish."""
    if not batch.anonymous:
        return batch.document.astype(np.float64)
    return np.where(batch.nil, np.inf, np.where(batch.judged, batch.gain, -np.inf))


def document_kinds_in_order(batch: Batch) -> Floats:
    """`document_kinds`, where documents that say the same of all subtopics are of one kind, and kinds are in order.

    The order of kinds depends on grades alone: in what order judgments came changes no sum over orders.
    """
    if batch.costs is not None:
        cost = np.where(np.isnan(batch.grade), 0, np.nan_to_num(batch.costs[batch.document], nan=-1))
        return _numbered(np.stack([batch.judged, batch.gain, cost], axis=-1))
    if batch.subtopics is None or batch.worth is None or batch.reading is not None:
        return document_kinds(batch)
    seen = batch.subtopics.seen(batch.worth)
    facts = np.concatenate([seen.gain, seen.grade], axis=1)[batch.document].reshape(*batch.document.shape, -1)
    return _numbered(np.concatenate([np.where(batch.nil, 2, batch.judged)[:, :, None], facts], axis=2))


def _numbered(facts: Floats) -> Floats:
    """A number for each document, the same for those with the same facts; ``facts``: (query, column, fact)."""
    _, kind = np.unique(facts.reshape(-1, facts.shape[2]), axis=0, return_inverse=True)
    return kind.reshape(facts.shape[:2]).astype(np.float64)


def generator(batch: Batch, seed: int) -> np.random.Generator:
    """A random generator for a batch of one query, whose draws do not depend on which queries are scored with it."""
    documents = ~np.isnan(batch.grade[0])
    content = batch.start[0, documents].tobytes() + batch.gain[0, documents].tobytes()
    return np.random.default_rng([seed, zlib.crc32(content)])


def tie_groups(batch: Batch) -> Iterator[tuple[Integers, int, int]]:
    """The tie groups with judged documents in a batch of one query: the columns, start and size of each."""
    documents = np.flatnonzero(~np.isnan(batch.grade[0]))
    for columns in np.split(documents, np.flatnonzero(np.diff(batch.start[0, documents])) + 1):
        if len(columns):
            yield columns, int(batch.start[0, columns[0]]), int(batch.size[0, columns[0]])
