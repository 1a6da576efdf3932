"""What the documents that nobody judged could make of a score.

Every unjudged document retrieved may have any grade. A score's lowest and highest value over all such
assignments is a bound where the assignments that matter are few:

- a measure that looks only at what was retrieved, and that a better document never lowers, is lowest with none of
  them relevant and highest with all of them;
- a measure of relevant or not that is never lowered by moving a relevant document up is, of all assignments with a
  given number of relevant documents, highest with the topmost relevant and lowest with the bottommost, so that
  only the number is open, and every number is tried.

Elsewhere (graded measures with a normaliser; measures that moving a document up may lower) the same assignments
are tried, with the top grade for relevant: what is found is a range, not a bound. Bounds are attained, but for
``ties=expected`` with ties of unjudged documents alone, whose order is taken as the worst or best one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from cranfield.batch import Batch, Booleans, ragged
from cranfield.data import Floats, Integers
from cranfield.errors import MeasureError
from cranfield.measures import Measure

CELLS = 1 << 17  # at a time, so that they stay in the processor's cache
TRIED = 257  # of more possible numbers of relevant documents, this many are tried, and the result is a range


@dataclass(frozen=True, eq=False)
class Bounds:
    """The lowest and highest value of each query; ``hold`` where no assignment of grades goes beyond them.

    A query whose score is undefined as it stands has none, so that means are over the same queries.
    """

    low: Floats
    high: Floats
    hold: Booleans


def bounds(measure: Measure, batch: Batch, *, seed: int = 0) -> Bounds:
    """The interval that the unjudged documents of each query leave open."""
    if measure.definition.subtopics:
        raise MeasureError(f"{measure} has no bounds: what documents that nobody judged are about is anybody's guess")
    if measure.definition.content:
        raise MeasureError(f"{measure} has no bounds: it reads what nobody judged")
    if (measure, "bounds", seed) not in batch.memo:
        batch.memo[measure, "bounds", seed] = _bounds(measure, batch, seed)
    return batch.memo[measure, "bounds", seed]


def _bounds(measure: Measure, batch: Batch, seed: int) -> Bounds:
    seen = measure.ordered(batch, whole=True)
    if measure.views.condensed:
        # A condensed list has none of them.
        value = measure.scored(seen, seed=seed).value
        return Bounds(value, value, np.ones(len(value), bool))
    full, unjudged = reveal(seen)
    many = unjudged.sum(axis=1)
    definition = measure.definition
    if not definition.uses_nonrelevant:
        full = full.compact(full.relevant | unjudged | full.nil)
        unjudged = full.grade < 0
    if definition.retrieved_only and definition.rewards_promotion:
        numbers = [np.unique([0, n]) for n in many.tolist()]
        hold = np.ones(len(many), bool)
    else:
        numbers = [np.unique(np.linspace(0, n, min(n + 1, TRIED)).astype(np.int64)) for n in many.tolist()]
        hold = (many < TRIED) & definition.rewards_promotion & _two_valued(measure, batch)
    if measure.gains.of(np.zeros(1), batch.top)[0] > 0:
        hold[:] = False  # a document judged not to be relevant gains more than one that nobody judged
    query = np.repeat(np.arange(len(many)), [len(n) for n in numbers])
    number = np.concatenate([*numbers, np.zeros(0)]).astype(np.int64)
    low, high = np.full((2, len(many)), np.nan)
    width, depth = full.gain.shape[1], max(int((full.R + many).max(initial=0)), 1)
    if measure.cutoff is not None and definition.cutoff != "recall":
        # Of what is below the cut-off, and of the ideal there, nothing counts but how much it is.
        width = max(int((~np.isnan(full.grade) & (full.start < measure.cutoff)).sum(axis=1).max(initial=1)), 1)
        depth = min(depth, int(measure.cutoff))
    step = max(1, CELLS // (width + depth))
    for i in range(0, len(query), step):
        rows, n = query[i : i + step], number[i : i + step]
        ends = (low, np.fmin, False), (high, np.fmax, True)
        for end, keep, topmost in ends:
            judged = assume(full, unjudged, rows, n, (width, depth), topmost=topmost)
            keep.at(end, rows, measure.scored(judged, seed=seed).value)
    value = measure.scored(seen, seed=seed).value
    # Where it counts that a document is judged at all, the score as it stands is of no full set of judgments.
    low, high = np.fmin(low, value), np.fmax(high, value)
    low[np.isnan(value)] = high[np.isnan(value)] = np.nan
    return Bounds(low, high, hold)


def _two_valued(measure: Measure, batch: Batch) -> bool:
    """Whether a document is either relevant or not, and nothing between."""
    gains = measure.gains
    if gains.kind == "binary" or gains.rel is not None or gains.gain == "binary":
        return True
    grades = batch.pool[batch.pool >= 0]
    return batch.top <= 1 and bool(np.isin(grades, (0, 1)).all())


def reveal(batch: Batch) -> tuple[Batch, Booleans]:
    """The batch with a column for every document retrieved, and which of them nobody judged (grade 0 for now)."""
    pooled = ~np.isnan(batch.grade)
    row, column = np.nonzero(pooled & (batch.order == 0))
    group = batch.start[row, column], batch.size[row, column]
    alone = np.ones((len(batch.length), int(batch.length.max(initial=0)) + 1), np.int64)
    alone[np.arange(alone.shape[1]) >= batch.length[:, None]] = 0
    taken = np.zeros_like(alone)
    np.add.at(taken, (row, np.minimum(group[0], alone.shape[1] - 1)), 1)
    ends = group[0] + group[1]
    inside = ends < alone.shape[1]
    np.add.at(taken, (row[inside], ends[inside]), -1)
    single = np.nonzero(alone & (np.cumsum(taken, axis=1) == 0))
    # Of a tie that holds judged documents, the others share its span.
    others = (group[1] - batch.within(pooled)[row, column]).astype(np.int64)
    rows = np.concatenate([single[0], np.repeat(row, others)])
    start = np.concatenate([single[1], np.repeat(group[0], others)])
    size = np.concatenate([np.ones_like(single[1]), np.repeat(group[1], others)])
    order = np.argsort(rows, kind="stable")
    rows, start, size = rows[order], start[order], size[order]
    counts = np.bincount(rows, minlength=len(batch.length))
    cell = rows, ragged(counts)[1]
    shape = len(batch.length), int(counts.max(initial=0))

    def beside(values: Any, empty: float, new: Any) -> Any:
        table = np.full(shape, empty, values.dtype)
        table[cell] = new
        return np.concatenate([values, table], axis=1)

    full = replace(
        batch,
        grade=beside(np.where(batch.grade < 0, -1, batch.grade), np.nan, -1),
        gain=beside(batch.gain, 0, 0),
        start=beside(batch.start, 0, start),
        size=beside(batch.size, 1, size),
        by_id=beside(batch.by_id, 0, 0),
        by_input=beside(batch.by_input, 0, 0),
        nil=beside(batch.nil, False, False),
        document=beside(batch.document, -1, -1),
    ).sorted()
    return full, full.grade < 0


def assume(
    full: Batch, unjudged: Booleans, rows: Integers, number: Integers, shape: tuple[int, int], *, topmost: bool
) -> Batch:
    """Some queries with every document judged: of the unjudged a number, topmost or bottommost, relevant, others not.

    ``shape`` is how many columns, and how much of the ideal ranking, are kept.
    """
    width, depth = shape
    many = unjudged.sum(axis=1)
    first = np.zeros_like(number) if topmost else many[rows] - number
    open_places = unjudged[:, :width]
    place = np.where(open_places, np.cumsum(open_places, axis=1) - 1, -1)[rows]
    relevant = (place >= first[:, None]) & (place < (first + number)[:, None])
    # None gains more than they do: they come first in the ideal ranking.
    most = int(many.max(initial=0))
    ideal = np.pad(full.ideal[:, :depth], ((0, 0), (0, max(depth - full.ideal.shape[1], 0))))
    ideal = np.concatenate([np.full((len(ideal), most), full.top), ideal], axis=1)
    found = sliding_window_view(ideal, depth, axis=1)[rows, most - number]
    # Ties are ruled on and pools counted by now: what was needed for that is not repeated for every row.
    narrow = {name: getattr(full, name)[:, :width] for name in ("grade", "gain", "start", "size")}
    narrow |= {name: getattr(full, name)[:, :1] for name in ("by_id", "by_input", "nil", "document", "pool", "ideal")}
    some = replace(full, **narrow).rows(rows)
    nil = full.nil[:, :width][rows] if full.nil.any() else np.broadcast_to(np.False_, place.shape)
    nothing = np.broadcast_to(np.int64(0), place.shape)
    return replace(
        some,
        # A grade of their own: documents of one grade are taken to be alike.
        grade=np.where(relevant, np.inf, np.where(place >= 0, 0, some.grade)),
        gain=np.where(relevant, full.top, some.gain),
        by_id=nothing,
        by_input=nothing,
        nil=nil,
        document=nothing,
        ideal=found,
        R=some.R + number,
        N=some.N + many[rows] - number,
        mass=some.mass + number * full.top,
    )
