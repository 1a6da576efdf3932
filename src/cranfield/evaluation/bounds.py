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

Measures that read no more than sums of gains score all numbers at once (`completions`). Of others every assignment is
laid out and scored, so that only some of many numbers are tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from cranfield.data import Booleans, Floats, Integers
from cranfield.errors import MeasureError
from cranfield.evaluation.completions import Completions, all_alike, every_document
from cranfield.measures import Measure
from cranfield.measures.ties.strategies import ClosedForm
from cranfield.ranking.batch import COLUMNS, Batch, GainSums, Preferences, ragged
from cranfield.ranking.rankings import Rankings

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


def bounds(measure: Measure, rankings: Rankings, *, seed: int = 0) -> Bounds:
    """The interval that the unjudged documents of each query leave open."""
    if measure.definition.subtopics:
        raise MeasureError(f"{measure} has no bounds: what documents that nobody judged are about is anybody's guess")
    if measure.definition.preferences:
        raise MeasureError(f"{measure} has no bounds: documents without a preference do not count")
    if measure.definition.content:
        raise MeasureError(f"{measure} has no bounds: it reads what nobody judged")
    if rankings.judged.costs is not None:
        message = f"{measure} has no bounds where documents have costs"
        raise MeasureError(message)
    if (measure, "bounds", seed) not in rankings.memo:
        rankings.memo[measure, "bounds", seed] = _bounds(measure, rankings, seed)
    known: Bounds = rankings.memo[measure, "bounds", seed]
    return known


def _bounds(measure: Measure, rankings: Rankings, seed: int) -> Bounds:
    seen = measure.ordered(rankings, whole=True)
    value = measure.scored(seen, seed=seed).value
    low, high, hold = value.copy(), value.copy(), np.ones(len(value), bool)
    # A condensed list has no unjudged documents.
    scored = np.flatnonzero(~np.isnan(value) & (not measure.views.condensed))
    few_matter, step = _few_matter(measure, rankings), max(1, CELLS // max(int(seen.length.max(initial=0)), 1))
    for i in range(0, len(scored), step):
        rows = scored[i : i + step]
        full = every_document(seen if len(rows) == len(value) else seen.rows(rows))
        full = full.changed(top=_highest_gain(measure, rankings.judged.top))
        many, sums = (full.grade < 0).sum(axis=1), _from_sums(measure, full)
        hold[rows] = (many == 0) | (few_matter & (sums | (many < TRIED) | measure.definition.retrieved_only))
        for chosen, completed in (sums & (many > 0), _of_sums), (~sums & (many > 0), _of_assignments):
            if chosen.any():
                part = full if chosen.all() else full.rows(np.flatnonzero(chosen))
                low[rows[chosen]], high[rows[chosen]] = completed(measure, part, seed)
    # Where it counts that a document is judged at all, the score as it stands is of no full set of judgments.
    return Bounds(np.fmin(low, value), np.fmax(high, value), hold)


def _few_matter(measure: Measure, rankings: Rankings) -> bool:
    """Whether no assignment goes beyond those in which some topmost or bottommost documents are relevant."""
    if measure.gains.of(np.zeros(1), rankings.judged.top)[0] > 0:
        return False  # a document judged not to be relevant gains more than one that nobody judged
    retrieved_only = measure.definition.retrieved_only
    return measure.definition.rewards_promotion and (retrieved_only or _two_valued(measure, rankings))


def _two_valued(measure: Measure, rankings: Rankings) -> bool:
    """Whether a document is either relevant or not, and nothing between."""
    gains = measure.gains
    if gains.kind == "binary" or gains.rel is not None or gains.gain == "binary":
        return True
    grades = rankings.judged.grade[rankings.pool.document]
    return rankings.judged.top <= 1 and bool(np.isin(grades[grades >= 0], (0, 1)).all())


def _highest_gain(measure: Measure, top: float) -> float:
    """The gain of the best grade: the top one, unless a map of gains gives more to another."""
    gain = measure.gains.gain
    mapped = [grade for grade, _ in gain if grade <= top] if isinstance(gain, tuple) else []
    return float(measure.gains.of(np.array([top, *mapped]), top).max())


def _from_sums(measure: Measure, full: Batch) -> Booleans:
    """The queries of which the measure reads no more than `Completions` have."""
    definition, views = measure.definition, measure.views
    if views.terminal or definition.reads not in (GainSums, Preferences):
        return np.zeros(len(full.length), bool)
    in_ties = definition.reads is GainSums and isinstance(definition.ties, ClosedForm) and views.depth is None
    return ~full.tied | in_ties


def _of_sums(measure: Measure, full: Batch, seed: int) -> tuple[Floats, Floats]:
    """The lowest and highest score with any number of unjudged documents relevant, by running sums."""
    columns = np.arange(full.gain.shape[1] + 1)
    if measure.definition.retrieved_only and measure.definition.rewards_promotion:
        completions = Completions(full, columns[[0, -1]], np.array([True, True]))
    else:
        completions = Completions(full, np.tile(columns, 2), np.repeat([True, False], len(columns)))
    values = measure.definition.function(completions, **measure.arguments)
    return np.fmin.reduce(values, axis=1), np.fmax.reduce(values, axis=1)


def _of_assignments(measure: Measure, full: Batch, seed: int) -> tuple[Floats, Floats]:
    """The same, one assignment at a time; of more numbers than `TRIED`, only some are tried."""
    definition, queries = measure.definition, np.arange(len(full.length))
    low, high = np.full((2, len(queries)), np.nan)
    tried: Iterable[tuple[Integers, Batch]] = _assignments(measure, full)
    if definition.retrieved_only and definition.rewards_promotion:
        tried = ((queries, all_alike(full, relevant=relevant)) for relevant in (False, True))
    for rows, judged in tried:
        value = measure.scored(judged, seed=seed).value
        np.fmin.at(low, rows, value)
        np.fmax.at(high, rows, value)
    return low, high


def _assignments(measure: Measure, full: Batch) -> Iterator[tuple[Integers, Batch]]:
    """Queries with some of their unjudged documents relevant, the topmost or the bottommost; some at a time."""
    definition = measure.definition
    cutoff = measure.rank_cutoff
    matters = (full.judged if definition.uses_nonrelevant else full.relevant | full.nil) | (full.grade < 0)
    if definition.retrieved_only and cutoff is not None and not measure.views.terminal:
        matters &= full.start < cutoff
    full = full.compact(matters)
    # An empty column at the end, to fill up rows with.
    wider: dict[str, Any] = {
        name: np.concatenate([getattr(full, name), np.full((len(full.R), 1), empty)], axis=1)
        for name, empty in COLUMNS.items()
    }
    assignments = Assignments(full.changed(**wider), definition.uses_nonrelevant)
    many = assignments.many
    counts = np.minimum(many + 1, TRIED)
    query, i = ragged(counts)
    number = i * many[query] // np.maximum(counts[query] - 1, 1)
    # With none or all of them relevant there is neither top nor bottom. With none, the score is that of the ranking as
    # it stands, unless it counts that documents are judged.
    new = (number > 0) | definition.uses_nonrelevant, (number > 0) & (number < many[query])
    for chosen, topmost in zip(new, (True, False), strict=True):
        rows, n = query[chosen], number[chosen]
        shape = assignments.shape(rows, n, cutoff)
        if definition.retrieved_only:
            shape[1] = 0  # nobody asks for the ideal ranking
        for part in _parts(shape.sum(axis=0)):
            size = shape[:, part].max(axis=1)
            yield rows[part], assignments.laid_out(rows[part], n[part], size, topmost=topmost)


def _parts(cells: Integers) -> Iterator[Integers]:
    """Rows of like size, as many at a time as fit into the processor's cache."""
    order = np.argsort(-cells, kind="stable")
    i = 0
    while i < len(order):
        step = max(1, CELLS // int(cells[order[i]]))
        yield order[i : i + step]
        i += step


@dataclass(frozen=True, eq=False)
class Assignments:
    """Queries laid out with some of their unjudged documents relevant, and all others not.

    ``full`` has an empty column at its end. ``nonrelevant``: whether documents that are not relevant need a column.
    """

    full: Batch
    nonrelevant: bool

    @cached_property
    def unjudged(self) -> Booleans:
        return self.full.grade < 0

    @cached_property
    def many(self) -> Integers:
        """How many documents are unjudged."""
        return self.unjudged.sum(axis=1)

    @cached_property
    def _columns(self) -> tuple[Integers, Integers]:
        """The columns of the unjudged documents, and of all others; after the last of them, the empty one."""
        return _columns(self.unjudged), _columns(self.full.judged)

    @cached_property
    def _relevant(self) -> tuple[Floats, Floats]:
        """Grades and gains with every unjudged document relevant."""
        full = all_alike(self.full, relevant=True)
        return full.grade, full.gain

    @cached_property
    def _ideal(self) -> Floats:
        """Ideal rankings, with as many documents that gain most before them as are unjudged in any query."""
        most = int(self.many.max(initial=0))
        tops, nothing = np.full((len(self.many), most), self.full.top), np.zeros((len(self.many), most))
        return np.concatenate([tops, self.full.ideal, nothing], axis=1)

    def ideal(self, rows: Integers, number: Integers, depth: int) -> Floats:
        """The top of ideal rankings, the relevant unjudged documents first: none gains more than they do."""
        if not depth:
            return np.zeros((len(rows), 1))
        return sliding_window_view(self._ideal, depth, axis=1)[rows, self.many.max() - number]

    def shape(self, rows: Integers, number: Integers, cutoff: int | None) -> Integers:
        """How many columns, and how much of the ideal ranking, each of some assignments needs."""
        kept = self.many[rows] if self.nonrelevant else number
        judged = self.full.judged.sum(axis=1)[rows]
        shape = np.stack([judged + kept, (self.full.R[rows] + number).astype(np.int64)])
        if cutoff is not None:
            # Of what is below the cut-off, and of the ideal there, nothing counts but how much it is.
            near = (~np.isnan(self.full.grade) & (self.full.start < cutoff)).sum(axis=1)
            shape = np.minimum(shape, [near[rows], np.full_like(rows, cutoff)])
        return np.maximum(shape, 1)

    def laid_out(self, rows: Integers, number: Integers, shape: Integers, *, topmost: bool) -> Batch:
        """Some queries, each with a number of its unjudged documents relevant, the topmost or the bottommost."""
        full, (unjudged, judged) = self.full, self._columns
        (width, depth), wide = shape.tolist(), full.gain.shape[1]
        row, n, others = rows[:, None], number[:, None], (self.many[rows] - number)[:, None]
        column = np.broadcast_to(np.arange(width), (len(rows), width))
        # Relevant are the unjudged documents above this column, or from it on.
        edge = np.where(n > 0, unjudged[row, n - 1] + 1, 0) if topmost else unjudged[row, others]
        if not self.nonrelevant and topmost:
            rest = judged.ravel().take(np.maximum(column - n, 0) + row * wide)
            column = np.where(column < edge, column, rest)
        elif not self.nonrelevant:
            column = np.where(column < edge - others, judged[rows, :width], np.minimum(column + others, wide - 1))
        cell = row * wide + column
        grade, gain = (table.ravel().take(cell) for table in self._relevant)
        if self.nonrelevant:
            relevant = (column < edge) == topmost
            grade = np.where(relevant, grade, np.maximum(full.grade.ravel().take(cell), 0))
            gain = np.where(relevant, gain, full.gain.ravel().take(cell))
        nothing = np.broadcast_to(np.int64(0), cell.shape)
        return full.changed(
            grade=grade,
            gain=gain,
            start=full.start.ravel().take(cell),
            size=full.size.ravel().take(cell) if full.tied.any() else np.broadcast_to(np.int64(1), cell.shape),
            nil=full.nil.ravel().take(cell) if full.nil.any() else np.broadcast_to(np.False_, cell.shape),
            document=nothing,
            length=full.length[rows],
            ideal=self.ideal(rows, number, depth),
            R=full.R[rows] + number,
            N=full.N[rows] + others[:, 0],
            mass=full.mass[rows] + number * full.top,
            tail=full.tail[rows],
            nil_grade=full.nil_grade[rows],
            query=full.query[rows],
        )


def _columns(chosen: Booleans) -> Integers:
    """The columns of chosen documents, from the left; after the last of them, the last column."""
    column = np.argsort(~chosen, axis=1, kind="stable")
    last = chosen.shape[1] - 1
    return np.where(np.arange(last + 1) < chosen.sum(axis=1)[:, None], column, last)
