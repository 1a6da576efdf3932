"""What reading down a ranking tells of each subtopic: gains from divergence (Hui et al. 2017, section 4.2).

How near the first k documents have come to a subtopic's model is 1 - KLD(Θ_q‖Θ_Rk) / KLD(Θ_q‖Θ_D). From one rank to
the next only the terms of one document change: KLD(Θ_q‖Θ_Rk) = KLD(Θ_q‖Θ_D) + log((L_k + μ) / μ) - Σ_{j≤k} Σ_{v∈d_j}
P(v|Θ_q) log(1 + tf / (c_{j-1}(v) + μ P(v|D))). So the work is proportional to the terms that are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from cranfield.corpus.models import Models, sums
from cranfield.data import Floats, Integers

AT_ONCE = 1 << 17  # terms read at a time, so that they stay near the processor


@dataclass(frozen=True, eq=False)
class Steps:
    """Every term of every document of some rankings: at which ``cell`` it is read (row · ranks + rank), its ``row`` in
    the words, and ``rise``, by how much the logarithm of its (not yet divided) probability grows there."""

    cell: Integers
    row: Integers
    rise: Floats


def steps(models: Models, documents: Integers, mu: float) -> Steps:
    """The terms of rankings (row, rank) of documents, -1 for one without words."""
    words, ranks = models.words, documents.shape[1]
    cell, row = words.rows(documents.reshape(-1))
    term, count = words.term[row], words.count[row]
    owner = cell // ranks * len(words.share) + term
    # Stable: of one term the ranks stay in order. And quick: each document's terms are in order already.
    order = np.argsort(owner, kind="stable")
    owner, count = owner[order], count[order]
    first = np.ones(len(owner), bool)
    first[1:] = owner[1:] != owner[:-1]
    head = np.maximum.accumulate(np.where(first, np.arange(len(owner)), 0))
    read = np.cumsum(count) - count
    before = read - read[head]
    return Steps(cell[order], row[order], np.log1p(count / (before + mu * words.share[term[order]])))


def nearness(models: Models, query: Integers, documents: Integers, mu: float) -> Floats:
    """1 - KLD(Θ_q‖Θ_Rk) / KLD(Θ_q‖Θ_D) of rankings, (row, rank, subtopic); NaN for a subtopic without a model.

    ``query`` (row,) counts the models' queries; ``documents`` (row, rank) their words', -1 where there are none.
    """
    distance = models.divergence(mu)
    found = np.empty((*documents.shape, distance.shape[1]))
    for some in shares(models, documents):
        found[some] = _nearness(models, query[some], documents[some], mu, distance[query[some]])
    return found


def shares(models: Models, documents: Integers) -> Iterator[slice]:
    """The rankings in shares that have few enough terms."""
    terms = models.words.size[documents].sum(axis=1)
    share = (np.cumsum(terms) - terms) // AT_ONCE
    edges = [0, *(np.flatnonzero(np.diff(share)) + 1).tolist(), len(documents)]
    for first, last in pairwise(edges):
        yield slice(first, last)


def _nearness(models: Models, query: Integers, documents: Integers, mu: float, distance: Floats) -> Floats:
    cell, rise, at, background = met(models, query, documents, mu)
    counts = [sums(cell, rise * models.count[at, s], documents.size) for s in range(distance.shape[1])]
    told = np.stack(counts, axis=1) + background[:, None]
    return approached(told, models.words.length[documents], models.length[query], mu, distance)


def met(models: Models, query: Integers, documents: Integers, mu: float) -> tuple[Integers, Floats, Integers, Floats]:
    """The terms read that a model of the query has, too: cell, rise, and row of the models; and, of each cell, what all
    its terms tell by smoothing alone."""
    read = steps(models, documents, mu)
    term = models.words.term[read.row]
    background = sums(read.cell, read.rise * (mu * models.words.share[term]), documents.size)
    at = models.at(query[read.cell // documents.shape[1]], term)
    known = at >= 0
    return read.cell[known], read.rise[known], at[known], background


def approached(told: Floats, read: Floats, learnt: Floats, mu: float, distance: Floats) -> Floats:
    """The nearness that follows from what every cell tells of each subtopic, before smoothing, (cell, subtopic).

    ``read`` (row, rank): the words of each document; ``learnt`` (row, subtopic): those behind each model.
    """
    each = told.reshape(*read.shape, told.shape[1]) / (learnt + mu)[:, None]
    seen = np.cumsum(read, axis=1)
    return (np.cumsum(each, axis=1) - np.log1p(seen / mu)[:, :, None]) / distance[:, None]


def gained(nearness: Floats) -> Floats:
    """g(i, k): never below nothing, which is where a reader begins; and what is the same is no nearer than that."""
    return np.clip(nearness, 0, 1)


def absolute(gains: Floats) -> Floats:
    """Of each rank the gain of the subtopic that is nearest by then, (row, rank); NaN where no subtopic has a model."""
    return _highest(gains)


def delta(gains: Floats) -> Floats:
    """Of each rank the gain of the subtopic that came nearer by most, (row, rank)."""
    return _highest(np.diff(gains, axis=1, prepend=np.where(np.isnan(gains[:, :1]), np.nan, 0)))


def _highest(change: Floats) -> Floats:
    known = ~np.isnan(change).all(axis=2)
    highest = np.max(np.where(np.isnan(change), 0, change), axis=2, initial=0)
    return np.where(known, highest, np.nan)
