"""Random orders of tied documents: the same rankings with every tie broken at random, as often as wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.measures import Measure
from cranfield.ranking.rankings import Rankings

CELLS = 1 << 20  # documents that are ordered at a time


def random_orders(
    rankings: Rankings, samples: int, rng: np.random.Generator
) -> Iterator[tuple[slice, Integers, Rankings]]:
    """Random orders of all rankings with tied documents; every order of a tie group is equally likely.

    Yields a range of samples, the indices of the rankings with ties, and their orders as rankings without ties: first
    all rankings of the first sample, then all of the second, and so on.
    """
    tied = np.unique(rankings.row[rankings.size > 1])
    if not len(tied):
        return
    part = rankings.rankings(tied)
    row, start, size = part.row, part.start, part.size
    first_of_group = np.append(True, (row[1:] != row[:-1]) | (start[1:] != start[:-1]))
    first, group = np.flatnonzero(first_of_group), np.cumsum(first_of_group) - 1
    of_group = size[first]
    begin = np.cumsum(of_group) - of_group
    # A tie group has a slot for each of its documents; the judged ones take the first slots before they are shuffled.
    slot = begin[group] + np.arange(len(row)) - first[group]
    slot_group = np.repeat(np.arange(len(first)), of_group)
    slot_position = np.arange(len(slot_group)) - begin[slot_group]
    rankings_per_sample = len(part.length)
    step = max(1, CELLS // len(slot_group))
    for sample in range(0, samples, step):
        count = min(step, samples - sample)
        shuffled = np.argsort(slot_group + rng.random((count, len(slot_group))), axis=1)
        position = np.empty(shuffled.shape, np.int64)
        np.put_along_axis(position, shuffled, np.broadcast_to(slot_position, shuffled.shape), axis=1)
        new_row = (row + rankings_per_sample * np.arange(count)[:, None]).ravel()
        new_start = (start + position[:, slot]).ravel()
        order = np.lexsort((new_start, new_row))
        none = np.zeros(len(order), np.int64)
        assert part.pool_row is not None
        yield (
            slice(sample, sample + count),
            tied,
            Rankings(
                part.pool,
                np.tile(part.length, count),
                new_row[order],
                np.tile(part.document, count)[order],
                new_start[order],
                none + 1,
                none,
                none,
                pool_row=np.tile(part.pool_row, count),
            ),
        )


def score_random_orders(
    measures: Sequence[Measure], rankings: Rankings, samples: int, rng: np.random.Generator
) -> Iterator[tuple[slice, Integers, Floats]]:
    """The scores of random orders: a range of samples, the rankings with ties, and (measure, sample, ranking)."""
    for chunk, tied, orders in random_orders(rankings, samples, rng):
        values = np.array([measure.values(orders).value for measure in measures])
        yield chunk, tied, values.reshape(len(measures), chunk.stop - chunk.start, len(tied))
