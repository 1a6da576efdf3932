"""The sums that measures depend on, for each number of relevant unjudged documents of a ranking.

The unjudged documents above a column are relevant, or those from this column on. As the column moves down, all sums
follow from running sums of the contributions of documents.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.data import Booleans, Floats, Integers
from cranfield.ranking.batch import Batch, Documents, Weights, penalty, ragged
from cranfield.ranking.row_math import running


def _from_top(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The running sums of each row, beginning with 0."""
    sums = running(x)
    return np.concatenate([np.zeros_like(sums[:, :1]), sums], axis=1)


def _take(table: npt.NDArray[Any], column: Integers) -> npt.NDArray[Any]:
    return np.take_along_axis(table, column, axis=1)


@dataclass(frozen=True, eq=False)
class Completions:
    """Rankings in which every document is judged: `GainSums` by (query, completion).

    ``full``: the result of `with_every_document`; its ``top`` is the gain of a relevant unjudged document.
    ``extremes``: only the completions in which no unjudged document is relevant, or all are. Otherwise there are two
    for each column and the end: the unjudged documents above it are relevant (these come first), or those from it on.
    """

    full: Batch
    extremes: bool = False

    @cached_property
    def _columns(self) -> Integers:
        """The column at which each completion changes."""
        last = self.full.gain.shape[1]
        return np.array([0, last]) if self.extremes else np.tile(np.arange(last + 1), 2)

    @cached_property
    def _topmost(self) -> Booleans:
        """Whether the documents above this column are the relevant ones."""
        half = np.arange(len(self._columns)) < len(self._columns) // 2
        return np.full(2, True) if self.extremes else half

    @cached_property
    def unjudged(self) -> Booleans:
        return self.full.grade < 0

    @cached_property
    def _above(self) -> Integers:
        """The number of unjudged documents above each column."""
        return _from_top(self.unjudged)

    @cached_property
    def number(self) -> Integers:
        """The number of relevant unjudged documents."""
        return self._relevant(self._above, self._above)

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
        end = self.length if k is None else np.minimum(self.length, k)
        deepest = int(end.max(initial=0))
        # Each rank of a tie has the mean gain of the tie.
        at_rank = weights.at(np.arange(deepest) + 1) / b.size[:, :deepest]
        gained = _from_top(b.within(b.gain)[:, :deepest] * at_rank)
        if end.shape[1] == 1 and not b.tied.any():  # all completions end at the same rank, unlike for R-precision
            possible = np.where(self.unjudged[:, :deepest] & (np.arange(deepest) < end), at_rank, 0)
            rest = b.gain.shape[1] - deepest
            above = np.pad(_from_top(possible), ((0, 0), (0, rest)), "edge") if rest else _from_top(possible)
            return _take(gained, end) + b.top * self._relevant(above, above)
        possible = _from_top(b.within(self.unjudged)[:, :deepest] * at_rank)
        first, after, share = self._cut
        above = _take(possible, np.minimum(end, first))
        if b.tied.any():
            above += share * (_take(possible, np.minimum(end, after)) - above)
        part = np.where(self._topmost, above, _take(possible, end) - above)
        return _take(gained, end) + b.top * part

    def ideal_gained(self, weights: Weights, k: int | None = None, of: Documents = "judged") -> Floats:
        ideal = self.full.best_order(of)[:, :k]
        after = np.concatenate([ideal[:, 1:], np.zeros_like(ideal[:, :1])], axis=1)
        row, last = np.nonzero(ideal > after)
        steps = np.bincount(row, minlength=len(ideal))
        # The ideal gain drops after the last document of each grade; relevant unjudged documents come before all.
        step = row, ragged(steps)[1]
        shape = len(steps), int(steps.max(initial=0))
        rank, fall = np.zeros(shape, np.int64), np.zeros(shape)
        rank[step], fall[step] = last + 1, (ideal - after)[row, last]

        def total(n: Integers) -> Floats:
            return weights(n if k is None else np.minimum(n, k))

        gained: Floats = (self.full.top - ideal[:, :1]) * total(self.number)
        for below, by in zip(rank.T, fall.T, strict=True):
            gained += by[:, None] * total(self.number + below[:, None])
        return gained

    def cumulated(self, weights: Weights, k: int | None = None) -> Floats:
        b, unjudged = self.full, self.unjudged
        mean = b.mean_over(weights, k)
        gain_above, unjudged_above = b.above(b.gain), b.above(unjudged)
        gain_below, unjudged_below = (_below(b, x * mean) for x in (b.gain, unjudged))
        # The contribution of a document that becomes relevant after those above it (or, from the bottom up, after those
        # below it) is the gain down to its rank, plus its own gain at the rank of each relevant document below.
        added_alone = (gain_above + b.top) * mean + gain_below
        down, up = added_alone + b.top * unjudged_above * mean, added_alone + b.top * unjudged_below
        if b.tied.any():
            # Of two documents in a tie, each is above the other in half of all orders.
            half_pair = 2 * b.span_sums(weights, k)[1] / b.size / np.maximum(b.size - 1, 1)
            before = running(unjudged) - unjudged - unjudged_above
            down += half_pair * (b.within(b.gain) + b.top * before)
            up += half_pair * (b.within(b.gain) + b.top * (b.within(unjudged) - unjudged - before))
        added = self._relevant(*(_from_top(np.where(unjudged, x, 0)) for x in (down, up)))
        return b.cumulated(weights, k)[:, None] + b.top * added

    def preferences(self, limit: Floats, pairs: Floats) -> Floats:
        b, topmost, unjudged_above = self.full, self._topmost, self._above[:, self._columns]
        maybe_relevant = b.relevant | self.unjudged
        judged = running(b.judged & ~b.relevant)
        last = judged.shape[1]
        cap = limit.astype(np.int64)
        # Among relevant unjudged documents only judged non-relevant ones are misplaced; elsewhere the other unjudged
        # documents are misplaced, too.
        among = np.where(topmost, 0, self._columns), np.where(topmost, self._columns, last)
        beyond = np.where(topmost, self._columns, 0), np.where(topmost, last, self._columns)
        above = np.where(topmost, 0, unjudged_above)
        misplaced = _capped(judged, maybe_relevant, *among, cap - above) + above * _between(maybe_relevant, *among)
        above = np.where(topmost, unjudged_above, 0)
        everything = judged + self._above[:, 1:]
        misplaced += _capped(everything, b.relevant, *beyond, cap + above) - above * _between(b.relevant, *beyond)
        return b.relevant.sum(axis=1)[:, None] + self.number - penalty(misplaced.astype(np.float64), pairs)

    def _relevant(self, down: npt.NDArray[Any], up: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The part of the relevant documents in running sums over unjudged documents, from the top or the bottom."""
        return down[:, [0, -1]] if self.extremes else np.concatenate([down, up[:, -1:] - up], axis=1)

    @cached_property
    def _cut(self) -> tuple[Integers, Integers, Floats]:
        """For each of ``columns``: the start and end of its tie, and the share of the unjudged ones of it above."""
        b = self.full
        if not b.tied.any():
            return self._columns[None], self._columns[None], np.ones(1)
        edges = [np.concatenate([np.zeros_like(x[:, :1]), x], axis=1) for x in (b.start, b.start + b.size)]
        first, after = (edge[:, self._columns] for edge in edges)
        until, above, inside = self._above[:, self._columns], _take(self._above, first), _take(self._above, after)
        return first, after, (until - above) / np.maximum(inside - above, 1)


def _below(b: Batch, x: Floats) -> Floats:
    """The sum of x over the documents below the span of each document."""
    down_to = b.above(x) + b.within(x)
    return down_to[:, -1:] - down_to


def _between(x: Booleans, first: Integers, after: Integers) -> Integers:
    """The number of chosen documents in a range of columns."""
    sums = _from_top(x)
    return sums[:, after] - sums[:, first]


def _capped(value: Integers, chosen: Booleans, first: Integers, after: Integers, cap: Integers) -> Integers:
    """The sum of min(value, cap) over chosen documents in a range of columns; values never decrease along a row."""
    rows, width = value.shape
    cell = np.arange(rows)[:, None] * (width + 2) + value + 1
    smaller = running(np.bincount(cell.ravel(), minlength=rows * (width + 2)).reshape(rows, -1))
    reached = np.clip(_take(smaller, np.clip(cap, 0, width + 1)), first, after)
    sums, counts = _from_top(np.where(chosen, value, 0)), _from_top(chosen)
    return _take(sums, reached) - sums[:, first] + cap * (counts[:, after] - _take(counts, reached))
