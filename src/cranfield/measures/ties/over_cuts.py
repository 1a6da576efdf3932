"""The mean of a measure over the possible sets of documents in the first k, if a tie crosses rank k."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from cranfield.data import Booleans, Integers
from cranfield.measures.ties.expectation import (
    PossibleRankings,
    Scorer,
    document_kinds,
    generator,
    mean_over_rankings,
    score_once,
    tie_groups,
)
from cranfield.measures.ties.over_orders import blocks
from cranfield.measures.ties.strategies import EXACT_CUTS, SAMPLES, Estimate
from cranfield.ranking.batch import Batch, ragged

FEW = 8  # queries with up to this many documents of one kind in a tie across rank k are processed together


def over_cuts(score: Scorer, batch: Batch, *, k: int, retrieved_only: bool = False, seed: int = 0) -> Estimate:
    """The mean of a score over the possible sets of documents in the first k, if a tie crosses rank k.

    The documents of the tie above rank k stay tied with each other, and so do those below.
    """
    if not _across(batch, k).any():
        return score(batch)
    return score_once(lambda rows: _mean_over_cuts(score, rows, k, seed), batch, retrieved_only=retrieved_only)


def _across(batch: Batch, k: int) -> Booleans:
    """The documents in ties that cross rank k or the end of the ranking."""
    end = np.minimum(batch.length, k)[:, None]
    return (batch.start < end) & (batch.start + batch.size > end) & ~np.isnan(batch.grade)


def _mean_over_cuts(score: Scorer, batch: Batch, k: int, seed: int) -> Estimate:
    across, kind = _across(batch, k), document_kinds(batch)
    count = across.sum(axis=1)
    one_kind = np.where(across, kind, -np.inf).max(axis=1) == np.where(across, kind, np.inf).min(axis=1)
    groupable = one_kind & (count > 0) & (count <= FEW)
    grouped = [
        _cuts_of_one_kind(batch, np.flatnonzero(groupable & (count == n)), across, n, k)
        for n in np.unique(count[groupable])
    ]
    queries = np.flatnonzero((count > 0) & ~groupable).tolist()
    single = (part for query in queries for part in _cuts_of_query(batch, query, k, seed))
    return mean_over_rankings(score, batch, itertools.chain(grouped, single))


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


def _cuts_of_query(batch: Batch, query: int, k: int, seed: int) -> Iterator[PossibleRankings]:
    """All cuts of one query, or a sample if there are too many."""
    batch = batch.rows(np.array([query]))
    rng = generator(batch, seed)
    end = int(min(batch.length[0], k))
    columns, first, size = next((c, t, n) for c, t, n in tie_groups(batch) if t < end < t + n)
    slots = end - first
    # Documents of one kind are interchangeable: only the number of each kind in the first k matters. The last kind is
    # that of the unjudged documents.
    kind = np.unique(document_kinds(batch)[0, columns], return_inverse=True)[1]
    of_kind = np.append(np.bincount(kind), size - len(columns))
    sampled = math.prod((of_kind + 1).tolist()) > EXACT_CUTS
    if sampled:
        drawn = rng.multivariate_hypergeometric(of_kind, slots, SAMPLES, method="marginals")
        probability = np.full(SAMPLES, 1 / SAMPLES)
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
