"""Equations 5 and 6 of Hui et al. (2017) as they are printed, with μ and μ P(v|D) the other way round.

P(v|Θ) = (c(v) + μ) / (L + μ P(v|D)), which does not sum to 1. Every term of the corpus counts in a divergence, also one
that neither model has. Such terms differ only in P(v|D), so they are counted by its value.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from cranfield.corpus.gains import steps
from cranfield.corpus.models import MIN_DIVERGENCE, Models, group_sums
from cranfield.data import Floats, Integers


class PrintedModels(Models):
    """Models of subtopics that are smoothed as printed."""

    @cached_property
    def shares(self) -> tuple[Floats, Integers]:
        """The distinct values of P(v|D), ascending, and the number of terms with each."""
        share = self.words.share
        return np.unique(share[share > 0], return_counts=True)

    def mass(self, query: int, mu: float) -> Floats:
        """Σ P(v|Θ) over the terms with each value of P(v|D), (subtopic, value)."""
        share, number = self.shares
        rows = self.rows_of(query)
        level = np.searchsorted(share, self.words.share[self.key[rows] % len(self.words.share)])
        counts = np.stack([group_sums(level, column, len(share)) for column in self.count[rows].T])
        return (mu * number + counts) / (self.length[query][:, None] + mu * share)

    def rows_of(self, query: int) -> slice:
        """The rows of a query."""
        first, last = np.searchsorted(self.key, np.array([query, query + 1]) * len(self.words.share))
        return slice(int(first), int(last))

    def divergence(self, mu: float) -> Floats:
        if mu not in self._divergences:
            divergence = np.array([self._divergence(query, mu) for query in range(len(self.length))])
            self._divergences[mu] = np.where((self.documents > 0) & (divergence > MIN_DIVERGENCE), divergence, np.nan)
        return self._divergences[mu]

    def _divergence(self, query: int, mu: float) -> Floats:
        """Σ P(v|Θ) log(P(v|Θ) / P(v|D)) of each subtopic, as if no term occurred, plus what its counts add."""
        (share, _), rows, length = self.shares, self.rows_of(query), self.length[query]
        base = self.words.share[self.key[rows] % len(self.words.share)][:, None]
        count = self.count[rows]
        by_count = (count + mu) / (length + mu * base) * np.log1p(count / mu)
        by_share = self.mass(query, mu) * (np.log(mu / share) - np.log(length[:, None] + mu * share))
        divergence: Floats = by_count.sum(axis=0) + by_share.sum(axis=1)
        return divergence


def nearness(models: PrintedModels, query: Integers, documents: Integers, mu: float) -> Floats:
    """As `gains.nearness`; it may exceed 1."""
    divergence = models.divergence(mu)
    result = np.empty((*documents.shape, divergence.shape[1]))
    for row, q in enumerate(query.tolist()):
        result[row] = _likelihood_ratio(models, q, documents[row], mu) / divergence[q]
    return result


def _likelihood_ratio(models: PrintedModels, query: int, documents: Integers, mu: float) -> Floats:
    """Σ P(v|Θ_q) log(P(v|Θ_Rk) / P(v|D)), which is KLD(Θ_q‖D) - KLD(Θ_q‖Θ_Rk): (rank, subtopic)."""
    words, (share, _) = models.words, models.shares
    read = steps(words, documents[None], np.full(len(words.share), mu))
    term = words.term[read.row]
    at = models.at(np.full_like(term, query), term)
    count = np.where((at >= 0)[:, None], models.count[at], 0) if len(models.key) else np.zeros((len(term), 1))
    rise = read.rise[:, None] * (count + mu) / (models.length[query] + mu * words.share[term][:, None])
    by_count = np.stack([group_sums(read.cell, column, len(documents)) for column in rise.T], axis=1)
    length = np.cumsum(words.length[documents])[:, None]
    by_share = (np.log(mu / share) - np.log(length + mu * share)) @ models.mass(query, mu).T
    ratio: Floats = np.cumsum(by_count, axis=0) + by_share
    return ratio
