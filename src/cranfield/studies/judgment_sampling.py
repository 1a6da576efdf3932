"""Random samples of judgments, stratified by query and relevance, and statistics over repeated samples."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cranfield.data import Booleans, Floats, Integers, Judgments
from cranfield.ranking.batch import ragged

RELEVANT, NONRELEVANT = 0, 1


class Strata:
    """The judgments of each query in two strata, relevant and non-relevant: ``sizes`` (query, 2) holds R and N.

    A document is one judgment, whatever number of subtopics it is judged for. A document with a negative grade is
    unjudged: it belongs to no stratum and is always kept.
    """

    def __init__(self, judgments: Judgments, grade: Floats, rel: float = 1.0) -> None:
        query = ragged(np.diff(judgments.begin))[0]
        self.stratum = np.where(grade >= 0, 2 * query + np.where(grade >= rel, RELEVANT, NONRELEVANT), -1)
        self.sizes = np.bincount(self.stratum[self.stratum >= 0], minlength=2 * len(judgments.queries)).reshape(-1, 2)

    def shuffle(self, rng: np.random.Generator) -> Integers:
        """A random position for every judgment within its stratum, from 0.

        The first n positions of a stratum are a random sample of it, and are contained in every larger sample.
        """
        keys = rng.random(len(self.stratum))
        position = np.zeros(len(keys), np.int64)
        order = np.lexsort((keys, self.stratum))
        order = order[self.stratum[order] >= 0]
        position[order] = ragged(self.sizes.ravel())[1]
        return position

    def sample(self, position: Integers, sizes: Integers) -> Booleans:
        """The judgments whose position is below the sample size, ``sizes`` (query, 2), of their stratum."""
        return (self.stratum < 0) | (position < sizes.ravel()[self.stratum])


def reduced_sizes(sizes: npt.ArrayLike, rate: int, least: tuple[int, int] = (1, 10)) -> Integers:
    """The numbers of relevant and non-relevant judgments kept at a rate in percent; ``sizes`` is (..., 2).

    At least ``least`` are kept, if there are as many (Buckley and Voorhees, SIGIR 2004, and Sakai, SIGIR 2007, use
    1 and 10). Integer arithmetic, because 100 * 0.29 is less than 29.

    >>> reduced_sizes([[4, 911], [15, 30]], 30).tolist()
    [[1, 273], [4, 10]]
    """
    full = np.asarray(sizes, np.int64)
    return np.minimum(full, np.maximum(np.array(least), full * rate // 100))


def sample_sizes(sizes: npt.ArrayLike, rate: int) -> Integers:
    """The numbers of relevant and non-relevant judgments in a sample at a rate in percent, rounded up.

    Hui et al. (ICTIR 2017), section 5.2. Integer arithmetic, because 100 * 0.29 is less than 29.

    >>> sample_sizes([[4, 911], [1, 0]], 30).tolist()
    [[2, 274], [1, 0]]
    """
    return -(-np.asarray(sizes, np.int64) * rate // 100)


def summarize_repeats(values: Floats) -> Floats:
    """Mean, standard deviation, 5th and 95th percentile over the last axis, ignoring undefined values: (4, ...)."""
    defined = np.ma.masked_invalid(values)
    count = defined.count(axis=-1)
    mean = defined.mean(axis=-1).filled(np.nan)
    deviation = np.sqrt(((defined - mean[..., None]) ** 2).sum(axis=-1).filled(np.nan) / np.maximum(count - 1, 1))
    percentiles = np.full((2, *mean.shape), np.nan)
    for index in np.ndindex(mean.shape):
        if count[index]:
            percentiles[(slice(None), *index)] = np.quantile(defined[index].compressed(), [0.05, 0.95])
    return np.stack([mean, deviation, *percentiles])
