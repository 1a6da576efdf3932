"""Judgments drawn at random, query by query, relevant and non-relevant ones apart, so that both stay represented."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cranfield.batch import Booleans, ragged
from cranfield.data import Floats, Integers, Judgments

RELEVANT, NONRELEVANT = 0, 1


class Strata:
    """The judgments of each query as two piles: ``sizes`` (query, 2) has R and N.

    A document is one judgment, whatever number of subtopics it is judged for. A negative grade means that it was not
    judged at all: it is in neither pile, and nothing is ever taken from it.
    """

    def __init__(self, judgments: Judgments, grade: Floats, rel: float = 1.0) -> None:
        query = ragged(np.diff(judgments.begin))[0]
        self.pile = np.where(grade >= 0, 2 * query + np.where(grade >= rel, RELEVANT, NONRELEVANT), -1)
        self.sizes = np.bincount(self.pile[self.pile >= 0], minlength=2 * len(judgments.queries)).reshape(-1, 2)

    def shuffled(self, rng: np.random.Generator) -> Integers:
        """The place of every judgment in its pile, from 0, once each pile is shuffled.

        What stands in the first n places of a pile is a random sample of it, and part of every larger one.
        """
        drawn = rng.random(len(self.pile))
        place = np.zeros(len(drawn), np.int64)
        order = np.lexsort((drawn, self.pile))
        order = order[self.pile[order] >= 0]
        place[order] = ragged(self.sizes.ravel())[1]
        return place

    def first(self, place: Integers, sizes: Integers) -> Booleans:
        """Which judgments are among the first so many, ``sizes`` (query, 2), of their piles."""
        return (self.pile < 0) | (place < sizes.ravel()[self.pile])


def reduced(sizes: npt.ArrayLike, rate: int, least: tuple[int, int] = (1, 10)) -> Integers:
    """How many relevant and non-relevant judgments are left at a rate in percent, ``sizes`` being (..., 2).

    Never fewer than ``least``, unless there were fewer (Buckley and Voorhees, SIGIR 2004, and Sakai, SIGIR 2007, take
    1 and 10). In whole numbers: 100 * 0.29 is less than 29.

    >>> reduced([[4, 911], [15, 30]], 30).tolist()
    [[1, 273], [4, 10]]
    """
    full = np.asarray(sizes, np.int64)
    return np.minimum(full, np.maximum(np.array(least), full * rate // 100))


def sampled(sizes: npt.ArrayLike, rate: int) -> Integers:
    """How many relevant and non-relevant judgments make a rate in percent, rounded up: where there is one, one stays.

    Hui et al. (ICTIR 2017), section 5.2. In whole numbers: 100 * 0.29 is less than 29.

    >>> sampled([[4, 911], [1, 0]], 30).tolist()
    [[2, 274], [1, 0]]
    """
    return -(-np.asarray(sizes, np.int64) * rate // 100)
