"""Expectations over which of the tied documents make it into the first k."""

from __future__ import annotations

import itertools
import math

import numpy as np

from cranfield.batch import Batch, Booleans
from cranfield.data import Integers
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

FEW = 8  # documents of one kind across a cut, up to which queries that have as many go together


def over_cuts(kernel: Scorer, batch: Batch, *, k: int, local: bool = False, seed: int = 0) -> Estimate:
    """The mean of a measure over which of the documents tied across rank k make it into the first k."""
    if not _across(batch, k).any():
        return kernel(batch)
    return once(batch, local, lambda some: _all_cuts(kernel, some, k, seed))


def _across(batch: Batch, k: int) -> Booleans:
    """The documents whose ties reach across rank k, or what there is of it."""
    end = np.minimum(batch.length, k)[:, None]
    return (batch.start < end) & (batch.start + batch.size > end) & ~np.isnan(batch.grade)


def _all_cuts(kernel: Scorer, batch: Batch, k: int, seed: int) -> Estimate:
    loose, kind = _across(batch, k), kinds(batch)
    many = loose.sum(axis=1)
    one_kind = np.where(loose, kind, -np.inf).max(axis=1) == np.where(loose, kind, np.inf).min(axis=1)
    easy = one_kind & (many > 0) & (many <= FEW)
    parts = [_cuts_alike(batch, np.flatnonzero(easy & (many == n)), loose, n, k) for n in np.unique(many[easy])]
    hard = np.flatnonzero((many > 0) & ~easy)
    return expected(kernel, batch, [*parts, *(_cuts(batch, q, k, seed) for q in hard.tolist())])


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


def _cuts(batch: Batch, query: int, k: int, seed: int) -> Settled:
    batch = batch.rows(np.array([query]))
    rng = generator(batch, seed)
    end = int(min(batch.length[0], k))
    columns, first, size = next((c, t, n) for c, t, n in groups(batch) if t < end < t + n)
    slots = end - first
    # Documents of one kind are alike, so an outcome is how many of each made it; last, those nobody judged.
    kind = np.unique(kinds(batch)[0, columns], return_inverse=True)[1]
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
