"""Rankings with every document judged: the sums that measures read, for each number of relevant unjudged documents.

Of the unjudged documents of a ranking those above a column are relevant, or those from it on; a column moves down, and
every sum follows from running sums of what each document adds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.batch import Batch, Booleans, Weights, penalty, ragged
from cranfield.data import Floats, Integers
from cranfield.rows import running


def every_document(batch: Batch) -> Batch:
    """The batch with a column for every document retrieved, in rank order; those that nobody judged have grade -1.

    A document is in the column of its rank. Of a tie that holds judged documents, these come first.
    """
    row, column = np.nonzero(~np.isnan(batch.grade))
    first, size = batch.start[row, column], batch.size[row, column]
    # A depth may end a ranking inside a tie; all documents of the tie have a column.
    end = batch.length.copy()
    np.maximum.at(end, row, first + size)
    shape = len(end), max(int(end.max(initial=0)), 1)
    columns = np.arange(shape[1])
    at = row, first
    start, sizes = np.broadcast_to(columns, shape), np.broadcast_to(np.int64(1), shape)
    if batch.tied.any():
        place = batch.order[row, column]
        at = row, first + place
        owner, slot = ragged(np.where(place == 0, size, 0))
        start, sizes = start.copy(), sizes.copy()
        start[row[owner], first[owner] + slot] = first[owner]
        sizes[row[owner], first[owner] + slot] = size[owner]

    def laid(values: npt.NDArray[Any], empty: Any) -> npt.NDArray[Any]:
        table = np.broadcast_to(np.asarray(empty, values.dtype), shape).copy()
        table[at] = values[row, column]
        return table

    nothing = np.broadcast_to(np.int64(0), shape)
    return replace(
        batch,
        grade=laid(np.where(batch.grade < 0, -1, batch.grade), np.where(columns < end[:, None], -1, np.nan)),
        gain=laid(batch.gain, 0),
        start=start,
        size=sizes,
        nil=laid(batch.nil, False) if batch.nil.any() else nothing > 0,
        by_id=nothing,
        by_input=nothing,
        document=nothing,
        subtopics=None,
        reading=None,
    )


def _from_top(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Running sums of each row, from 0 on."""
    sums = running(x)
    return np.concatenate([np.zeros_like(sums[:, :1]), sums], axis=1)


def _take(table: npt.NDArray[Any], column: Integers) -> npt.NDArray[Any]:
    return np.take_along_axis(table, column, axis=1)


@dataclass(frozen=True, eq=False)
class Completions:
    """Rankings of which each unjudged document is relevant or not: `GainSums` of (query, completion).

    ``full``: what `every_document` returned; ``top`` is what a relevant document gains that nobody judged.
    ``columns`` (completion,): relevant are the unjudged documents in the columns above if ``topmost``, else all others.
    """

    full: Batch
    columns: Integers
    topmost: bool

    @cached_property
    def unjudged(self) -> Booleans:
        return self.full.grade < 0

    @cached_property
    def _above(self) -> Integers:
        """How many unjudged documents are in the columns above each column."""
        return _from_top(self.unjudged)

    @cached_property
    def number(self) -> Integers:
        """How many unjudged documents are relevant."""
        return self._relevant(self._above)

    @cached_property
    def R(self) -> Floats:
        return self.full.R[:, None] + self.number

    @cached_property
    def N(self) -> Floats:
        return self.full.N[:, None] + self._above[:, -1:] - self.number

    @cached_property
    def mass(self) -> Floats:
        return self.full.mass[:, None] + self.number * self.full.top

    @property
    def length(self) -> Integers:
        return self.full.length[:, None]

    @property
    def tail(self) -> Floats:
        return self.full.tail[:, None]

    @property
    def nonrelevant_retrieved(self) -> Floats:
        return self.full.nonrelevant_retrieved[:, None] + self._above[:, -1:] - self.number

    def gained(self, weights: Weights, k: Integers | int | None = None) -> Floats:
        b = self.full
        # What is tied gains the same at each rank of its span.
        at_rank = weights.at(np.arange(b.gain.shape[1]) + 1) / b.size
        judged, unjudged = (_from_top(b.within(x) * at_rank) for x in (b.gain, self.unjudged))
        end = self.length if k is None else np.minimum(self.length, k)
        first, after, share = self._cut
        part = _take(unjudged, np.minimum(end, first))
        if b.tied.any():
            part += share * (_take(unjudged, np.minimum(end, after)) - part)
        if not self.topmost:
            part = _take(unjudged, end) - part
        return _take(judged, end) + b.top * part

    def ideal_gained(self, weights: Weights, k: int | None = None) -> Floats:
        b = self.full
        after = np.concatenate([b.ideal[:, 1:], np.zeros_like(b.ideal[:, :1])], axis=1)
        row, last = np.nonzero(b.ideal > after)
        steps = np.bincount(row, minlength=len(b.ideal))
        # Gain falls by a step after the last document of each grade; all that is unjudged and relevant is before them.
        step = row, ragged(steps)[1]
        shape = len(steps), int(steps.max(initial=0))
        rank, fall = np.zeros(shape, np.int64), np.zeros(shape)
        rank[step], fall[step] = last + 1, (b.ideal - after)[row, last]

        def total(n: Integers) -> Floats:
            return weights(n if k is None else np.minimum(n, k))

        gained: Floats = (b.top - b.ideal[:, :1]) * total(self.number)
        for below, by in zip(rank.T, fall.T, strict=True):
            gained += by[:, None] * total(self.number + below[:, None])
        return gained

    def cumulated(self, weights: Weights, k: int | None = None) -> Floats:
        b, unjudged = self.full, self.unjudged
        mean = b.mean_over(weights, k)

        def below(x: Floats) -> Floats:
            return running(x)[:, -1:] - b.above(x) - b.within(x)

        # What a document adds that becomes relevant after those above it, or, from the bottom up, below it: precision
        # at its own rank, and a document more at the rank of each relevant one below.
        above, later = b.above(b.gain) + b.top, below(b.gain * mean)
        if self.topmost:
            above += b.top * b.above(unjudged)
        else:
            later += b.top * below(unjudged * mean)
        added = above * mean + later
        if b.tied.any():
            # Of two in a tie, each is above the other in half of all orders.
            before = running(unjudged) - unjudged - b.above(unjudged)
            beside = before if self.topmost else b.within(unjudged) - unjudged - before
            own = b.spread(weights, k)[1] / b.size / np.maximum(b.size - 1, 1)
            added += 2 * (b.within(b.gain) + b.top * beside) * own
        return b.cumulated(weights, k)[:, None] + b.top * self._relevant(_from_top(np.where(unjudged, added, 0)))

    def preferences(self, limit: Floats, pairs: Floats) -> Floats:
        b, open_ = self.full, self._above[:, self.columns]
        relevant = b.relevant
        either = relevant | self.unjudged
        judged = running(b.judged & ~relevant)
        all_others = judged + self._above[:, 1:]
        # Of the unjudged documents, none that is above a relevant one counts if it is relevant itself.
        top, bottom = np.zeros_like(self.columns), np.full_like(self.columns, judged.shape[1])
        cap = limit.astype(np.int64)
        if self.topmost:
            misplaced = _capped(judged, either, top, self.columns, cap)
            misplaced += _capped(all_others, relevant, self.columns, bottom, cap + open_)
            misplaced -= open_ * _between(relevant, self.columns, bottom)
        else:
            misplaced = _capped(all_others, relevant, top, self.columns, cap)
            misplaced += _capped(judged, either, self.columns, bottom, cap - open_)
            misplaced += open_ * _between(either, self.columns, bottom)
        return relevant.sum(axis=1)[:, None] + self.number - penalty(misplaced.astype(np.float64), pairs)

    def _relevant(self, sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The part of running sums over unjudged documents that the relevant ones have."""
        part = sums[:, self.columns]
        return part if self.topmost else sums[:, -1:] - part

    @cached_property
    def _cut(self) -> tuple[Integers, Integers, Floats]:
        """The ranks between which there is the tie that each of ``columns`` is in, and its share of it above."""
        b = self.full
        if not b.tied.any():
            return self.columns[None], self.columns[None], np.ones(1)
        edges = [np.concatenate([np.zeros_like(x[:, :1]), x], axis=1) for x in (b.start, b.start + b.size)]
        first, after = (edge[:, self.columns] for edge in edges)
        until, above, inside = self._above[:, self.columns], _take(self._above, first), _take(self._above, after)
        return first, after, (until - above) / np.maximum(inside - above, 1)


def _between(x: Booleans, first: Integers, after: Integers) -> Integers:
    """How many are in some columns."""
    sums = _from_top(x)
    return sums[:, after] - sums[:, first]


def _capped(value: Integers, chosen: Booleans, first: Integers, after: Integers, cap: Integers) -> Integers:
    """Sums over chosen documents in some columns of a value, which never falls from column to column, or the cap."""
    rows, width = value.shape
    cell = np.arange(rows)[:, None] * (width + 2) + value + 1
    smaller = running(np.bincount(cell.ravel(), minlength=rows * (width + 2)).reshape(rows, -1))
    reached = np.clip(_take(smaller, np.clip(cap, 0, width + 1)), first, after)
    sums, counts = _from_top(np.where(chosen, value, 0)), _from_top(chosen)
    return _take(sums, reached) - sums[:, first] + cap * (counts[:, after] - _take(counts, reached))
