"""Expectations over tie orders for measures that have no closed form: every order, or a sample of them.

A query with open ties is replaced by rows in which they are settled; a measure scores those rows, and
the mean of each query's rows is the expectation. Few possibilities are all taken, so the mean is exact;
many are sampled with a fixed seed, and the standard error says how far off the mean may be.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cranfield.batch import CELLS, Batch, ragged
from cranfield.data import Floats, Integers

EXACT = 5_000  # possibilities of one query up to which all of them are taken
SAMPLES = 2_000  # how many are drawn beyond that


@dataclass(frozen=True, eq=False)
class Estimate:
    """A value for each query; where orders were sampled, with its standard error (else 0)."""

    value: Floats
    error: Floats | None = None


Scorer = Callable[[Batch], Estimate]


def over_orders(kernel: Scorer, batch: Batch, *, seed: int = 0) -> Estimate:
    """The mean of a measure over all orders of tied documents."""
    loose = (batch.size > 1) & ~np.isnan(batch.grade)
    alone = (loose.sum(axis=1) == 1) & (np.where(loose, batch.size, 0).max(axis=1) <= EXACT)
    row, column = np.nonzero(loose & alone[:, None])
    # One document in one tie, by far the most common case: it has every place of it in turn.
    owner, place = ragged(batch.size[row, column])
    start = batch.start[row[owner]]
    start[np.arange(len(owner)), column[owner]] += place
    easy = Settled(row[owner], start, np.ones_like(start), 1 / batch.size[row, column][owner])
    hard = np.flatnonzero(loose.any(axis=1) & ~alone)
    return _expected(kernel, batch, [easy, *(_orders(batch, q, seed) for q in hard.tolist())])


def over_cuts(kernel: Scorer, batch: Batch, *, k: int, seed: int = 0) -> Estimate:
    """The mean of a measure over which of the documents tied across rank k make it into the first k."""
    end = np.minimum(batch.length, k)[:, None]
    loose = (batch.start < end) & (batch.start + batch.size > end) & ~np.isnan(batch.grade)
    alone = loose.sum(axis=1) == 1
    row, column = np.nonzero(loose & alone[:, None])
    # One document in the tie: it makes it, with the chance of a place above the cut, or it does not.
    slots, size = end[row, 0] - batch.start[row, column], batch.size[row, column]
    twice = np.concatenate([row, row])
    start, length = batch.start[twice], batch.size[twice]
    which = np.arange(len(twice)), np.concatenate([column, column])
    start[which] = np.concatenate([batch.start[row, column], end[row, 0]])
    length[which] = np.concatenate([slots, size - slots])
    easy = Settled(twice, start, length, np.concatenate([slots / size, 1 - slots / size]))
    hard = np.flatnonzero(loose.any(axis=1) & ~alone)
    return _expected(kernel, batch, [easy, *(_cuts(batch, q, k, seed) for q in hard.tolist())])


@dataclass(frozen=True, eq=False)
class Settled:
    """Possibilities of some queries: whose they are, positions and spans (possibility, column), and their chances."""

    query: Integers
    start: Integers
    size: Integers
    chance: Floats
    sampled: bool = False


def _expected(kernel: Scorer, batch: Batch, settled: Sequence[Settled]) -> Estimate:
    query = np.concatenate([s.query for s in settled])
    if not len(query):
        return kernel(batch)
    chance = np.concatenate([s.chance for s in settled])
    start, size = np.concatenate([s.start for s in settled]), np.concatenate([s.size for s in settled])
    value, error = np.zeros((2, len(batch.length)))
    closed = np.setdiff1d(np.arange(len(value)), query)
    if len(closed):
        known = kernel(batch.rows(closed))
        value[closed], error[closed] = known.value, 0 if known.error is None else known.error
    scores, within = np.zeros((2, len(query)))
    for i in range(0, len(query), step := max(1, CELLS // start.shape[1])):
        part = slice(i, i + step)
        rows = replace(batch.rows(query[part]), start=start[part], size=size[part])
        found = kernel(rows.only(~np.isnan(rows.grade) & (rows.start < rows.length[:, None])))
        scores[part], within[part] = found.value, 0 if found.error is None else found.error
    # An order in which the measure is undefined has found nothing: it counts 0 among others that have.
    defined = np.bincount(query, ~np.isnan(scores), len(value)) > 0
    scores = np.nan_to_num(scores)
    mean = np.bincount(query, scores * chance, len(value))
    spread = np.sqrt(np.bincount(query, (within * chance) ** 2, len(value)))
    opened = np.unique(query)
    value[opened], error[opened] = np.where(defined, mean, np.nan)[opened], spread[opened]
    for s in settled:
        if s.sampled:
            own = scores[query == s.query[0]]
            error[s.query[0]] = max(error[s.query[0]], own.std(ddof=1) / math.sqrt(len(own)))
    return Estimate(value, error if error.any() else None)


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


def _kinds(batch: Batch, columns: Integers) -> Integers:
    """Numbers for the documents at these columns, the same for those that are alike: of one grade."""
    grade = np.where(batch.nil[0, columns], -np.inf, batch.grade[0, columns])
    return np.unique(grade, return_inverse=True)[1]


def _orders(batch: Batch, query: int, seed: int) -> Settled:
    batch = batch.rows(np.array([query]))
    rng = _generator(batch, seed)
    groups = list(_groups(batch))
    kinds = [_kinds(batch, columns) for columns, _, _ in groups]
    total = math.prod(_arrangements(np.bincount(kind), size) for kind, (_, _, size) in zip(kinds, groups, strict=True))
    sampled = total > EXACT
    if sampled:
        places = [_sample(len(columns), size, rng) for columns, _, size in groups]
    else:
        every = [_every(kind, size) for kind, (_, _, size) in zip(kinds, groups, strict=True)]
        which = np.array(list(itertools.product(*(range(len(places)) for places in every))), np.int64)
        places = [places[which[:, g]] for g, places in enumerate(every)]
    start = np.repeat(batch.start, len(places[0]), axis=0)
    for (columns, _, _), place in zip(groups, places, strict=True):
        start[:, columns] += place
    chance = np.full(len(start), 1 / len(start))
    return Settled(np.full(len(start), query), start, np.ones_like(start), chance, sampled)


def _arrangements(counts: Integers, size: int) -> int:
    """In how many ways documents of these kinds and anonymous others fill a group."""
    ways, left = 1, size
    for count in counts.tolist():
        ways *= math.comb(left, count)
        left -= count
    return ways


def _every(kind: Integers, size: int) -> Integers:
    """All places (arrangement, document) in a group of documents of which those of one kind are alike."""
    partial: list[dict[int, int]] = [{}]
    for k in range(kind.max() + 1):
        members = np.flatnonzero(kind == k).tolist()
        partial = [
            taken | dict(zip(members, spots, strict=True))
            for taken in partial
            for spots in itertools.combinations(sorted(set(range(size)) - set(taken.values())), len(members))
        ]
    return np.array([[taken[d] for d in range(len(kind))] for taken in partial], np.int64)


def _sample(documents: int, size: int, rng: np.random.Generator) -> Integers:
    """Places (sample, document) drawn without two documents in one."""
    if documents**2 > size:
        return np.array([rng.permutation(size)[:documents] for _ in range(SAMPLES)], np.int64)
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
    kind = _kinds(batch, columns)
    # Documents of one grade are alike, so an outcome is how many of each made it; last, those nobody judged.
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
    return Settled(np.full(len(start), query), start, length, chance, sampled)
