"""Gains from divergence: how close the top of a ranking comes to each subtopic (Hui et al. 2017, section 4.2).

The closeness of the first k documents to the model of a subtopic is 1 - KLD(Θ_q‖Θ_Rk) / KLD(Θ_q‖Θ_D). From one rank to
the next only the terms of one document change: KLD(Θ_q‖Θ_Rk) = KLD(Θ_q‖Θ_D) + log((L_k + μ) / μ) - Σ_{j≤k} Σ_{v∈d_j}
P(v|Θ_q) log(1 + tf / (c_{j-1}(v) + μ P(v|D))). So the work is proportional to the number of terms in the ranking.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from cranfield.corpus.models import Models, TermCounts, group_sums
from cranfield.data import Floats, Integers

TERMS_PER_CHUNK = 1 << 17  # so that a chunk fits into the cache of the processor


@dataclass(frozen=True, eq=False)
class Steps:
    """Every term of every document of some rankings.

    ``cell``: its position as row · ranks + rank; ``row``: its row in the term counts; ``rise``: by how much the
    logarithm of its unnormalised probability grows at this position.
    """

    cell: Integers
    row: Integers
    rise: Floats


def steps(words: TermCounts, documents: Integers, prior: Floats) -> Steps:
    """The terms of rankings (row, rank) of documents; -1 stands for a document without words.

    ``prior`` (t,): the unnormalised probability of each term before the first document.
    """
    ranks = documents.shape[1]
    cell, row = words.rows(documents.reshape(-1))
    term, count = words.term[row], words.count[row]
    owner = cell // ranks * len(words.share) + term
    # A stable sort keeps the ranks of a term in order, and is fast because the terms of a document are sorted.
    order = np.argsort(owner, kind="stable")
    owner, count = owner[order], count[order]
    first = np.ones(len(owner), bool)
    first[1:] = owner[1:] != owner[:-1]
    group_begin = np.maximum.accumulate(np.where(first, np.arange(len(owner)), 0))
    counts_before = np.cumsum(count) - count
    before = counts_before - counts_before[group_begin]
    return Steps(cell[order], row[order], np.log1p(count / (before + prior[term[order]])))


def nearness(models: Models, query: Integers, documents: Integers, mu: float) -> Floats:
    """1 - KLD(Θ_q‖Θ_Rk) / KLD(Θ_q‖Θ_D) of rankings, (row, rank, subtopic); NaN for a subtopic without a model.

    ``query`` (row,) are queries of the models; ``documents`` (row, rank) are documents of their term counts, or -1.
    """
    divergence = models.divergence(mu)
    result = np.empty((*documents.shape, divergence.shape[1]))
    for rows in chunks(models, documents):
        result[rows] = _nearness(models, query[rows], documents[rows], mu, divergence[query[rows]])
    return result


def chunks(models: Models, documents: Integers) -> Iterator[slice]:
    """The rows of rankings in chunks with a limited number of terms."""
    terms = models.words.size[documents].sum(axis=1)
    chunk = (np.cumsum(terms) - terms) // TERMS_PER_CHUNK
    edges = [0, *(np.flatnonzero(np.diff(chunk)) + 1).tolist(), len(documents)]
    for first, last in pairwise(edges):
        yield slice(first, last)


def _nearness(models: Models, query: Integers, documents: Integers, mu: float, divergence: Floats) -> Floats:
    cell, rise, row, background = model_terms(models, query, documents, mu)
    counts = [group_sums(cell, rise * models.count[row, s], documents.size) for s in range(divergence.shape[1])]
    evidence = np.stack(counts, axis=1) + background[:, None]
    return nearness_from_evidence(evidence, models.words.length[documents], models.length[query], mu, divergence)


def model_terms(
    models: Models, query: Integers, documents: Integers, mu: float
) -> tuple[Integers, Floats, Integers, Floats]:
    """The terms of rankings that a model of the query has: cell, rise, and row of the models.

    And for each cell the evidence of all its terms through smoothing alone.
    """
    prior = mu * models.words.share
    terms = steps(models.words, documents, prior)
    term = models.words.term[terms.row]
    background = group_sums(terms.cell, terms.rise * prior[term], documents.size)
    row = models.at(query[terms.cell // documents.shape[1]], term)
    in_model = row >= 0
    return terms.cell[in_model], terms.rise[in_model], row[in_model], background


def nearness_from_evidence(
    evidence: Floats, length: Floats, model_length: Floats, mu: float, divergence: Floats
) -> Floats:
    """The nearness for the evidence of every cell for each subtopic, (cell, subtopic), before normalisation.

    ``length`` (row, rank): words of each document; ``model_length`` (row, subtopic): words behind each model.
    """
    by_rank = evidence.reshape(*length.shape, evidence.shape[1]) / (model_length + mu)[:, None]
    words_so_far = np.cumsum(length, axis=1)
    return (np.cumsum(by_rank, axis=1) - np.log1p(words_so_far / mu)[:, :, None]) / divergence[:, None]


def absolute(gains: Floats) -> Floats:
    """For each rank the gain of the nearest subtopic, (row, rank); NaN if no subtopic has a model."""
    return _highest(gains)


def delta(gains: Floats) -> Floats:
    """For each rank the largest increase of the gain of a subtopic, (row, rank); NaN if no subtopic has a model."""
    return _highest(np.diff(gains, axis=1, prepend=np.where(np.isnan(gains[:, :1]), np.nan, 0)))


def _highest(values: Floats) -> Floats:
    defined = ~np.isnan(values).all(axis=2)
    highest = np.max(np.where(np.isnan(values), 0, values), axis=2, initial=0)
    return np.where(defined, highest, np.nan)
