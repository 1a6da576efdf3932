"""Judgments that are a sample of a pool: strata, the chance of each document to be drawn, and expanded gains.

A pooled document that was not drawn has a negative grade. Without a sample all documents of a query are in one stratum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.ranking.batch import Batch
from cranfield.ranking.rankings import Pool, Rankings


class Strata(NamedTuple):
    """The strata of a pool: that of each row of the judgments, and documents and drawn ones by (query, stratum)."""

    of_document: Integers
    size: Floats
    drawn: Floats


def strata(pool: Pool) -> Strata:
    """The strata of a pool."""
    if "strata" not in pool.memo:
        judged, queries = pool.judged, len(pool.query)
        of_document = np.zeros(len(judged.grade), np.int64) if judged.sample is None else judged.sample.stratum
        stratum = of_document[pool.document]
        count = int(stratum.max(initial=0)) + 1
        cell, is_drawn = pool.row * count + stratum, judged.grade[pool.document] >= 0
        size, drawn = (
            np.bincount(cell[chosen], minlength=queries * count).reshape(queries, count).astype(np.float64)
            for chosen in (np.ones(len(cell), bool), is_drawn)
        )
        pool.memo["strata"] = Strata(of_document, size, drawn)
    of_pool: Strata = pool.memo["strata"]
    return of_pool


def share(count: Floats, whole: Floats) -> Floats:
    """A share, 0 of nothing."""
    return np.divide(count, whole, out=np.zeros_like(count), where=whole > 0)


def probabilities(pool: Pool) -> Floats:
    """The chance of each row of the judgments to be drawn: as given, or the share of its stratum that was drawn."""
    if "probabilities" not in pool.memo:
        sample = pool.judged.sample
        if sample is not None and sample.probability is not None and not sample.stratified:
            chances = sample.probability
            if sample.method is not None:
                chances = np.where(np.isin(sample.method, (0, 2)), 1.0, chances)
        else:
            of_pool = strata(pool)
            chances = np.ones(len(pool.judged.grade))
            chances[pool.document] = share(of_pool.drawn, of_pool.size)[pool.row, of_pool.of_document[pool.document]]
        pool.memo["probabilities"] = chances
    result: Floats = pool.memo["probabilities"]
    return result


def expanded(rankings: Rankings, batch: Batch) -> Batch:
    """The batch with every gain divided by the chance of its document to be drawn (Horvitz and Thompson, 1952).

    A sum over documents of gain times weight is then an unbiased estimate of the same sum over all of them.
    """
    pool = rankings.pool
    rows = np.arange(len(rankings.length)) if rankings.pool_row is None else rankings.pool_row
    if pool.judged.sample is None:
        of_pool = strata(pool)
        chances = np.broadcast_to(share(of_pool.drawn, of_pool.size)[rows], batch.grade.shape)
    else:
        chances = probabilities(pool)[batch.document]
    gaining = (batch.gain > 0) & (chances > 0)
    return batch.changed(gain=np.divide(batch.gain, chances, out=np.zeros_like(batch.gain), where=gaining))
