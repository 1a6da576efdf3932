"""Bounds of scores over all possible grades of the unjudged documents.

Every unjudged document retrieved may have any grade. The lowest and highest score over all assignments of grades are
bounds if a few assignments suffice to find them:

- A measure that depends only on the documents retrieved, and that a better document never lowers, is lowest if no
  unjudged document is relevant and highest if all are.
- A binary measure that is never lowered by moving a relevant document up is, for a given number of relevant unjudged
  documents, highest if the topmost are relevant and lowest if the bottommost are. All numbers are tried.

For other measures (graded and normalised ones, and those that moving a document up may lower) the same assignments are
tried, with the top grade as relevant: the result is a range, not a bound, and columns are called "unjudged at the top
grade". Bounds are attained, except with ``ties=expected`` for ties of unjudged documents only, which are taken in their
worst or best order.

Measures that depend only on sums of gains score all numbers at once (`completions`). For the others each assignment is
scored as a ranking, so that of many numbers only some are tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from cranfield.data import Array, Booleans, Floats, Integers
from cranfield.errors import MeasureError
from cranfield.measures import Measure
from cranfield.measures.ties.strategies import ClosedForm
from cranfield.ranking.batch import Batch, Documents, GainSums, Preferences, Weights, constant, penalty, ragged, running
from cranfield.ranking.rankings import Rankings
from cranfield.ranking.views import judge_all, with_every_document

CELLS = 1 << 16  # number of cells that are processed together; they fit into the processor cache
NO_BOUNDS = {  # facts of a measure, and why it has no bounds then
    "subtopics": "the subtopics of unjudged documents are unknown",
    "spans": "it knows which part of each chunk is relevant",
    "preferences": "documents without a preference do not count",
    "sampled": "it estimates the grades of unjudged documents from a sample",
    "content": "it uses the text of unjudged documents",
    "by_document": "documents of equal grade differ",
}
TRIED = 257  # the most numbers of relevant documents that are tried; with more, the result is a range


@dataclass(frozen=True, eq=False)
class Bounds:
    """The lowest and highest score of each query; ``hold``: no assignment of grades goes beyond them.

    A query with an undefined score has no bounds, so that all means are over the same queries.
    """

    low: Floats
    high: Floats
    hold: Booleans


def bounds(measure: Measure, rankings: Rankings, *, seed: int = 0) -> Bounds:
    """The lowest and highest score of each query over the possible grades of its unjudged documents."""
    for fact, reason in NO_BOUNDS.items():
        if getattr(measure.definition, fact) or (fact == "sampled" and measure.views.sampled):
            raise MeasureError(f"{measure} has no bounds: {reason}")
    if measure.definition.documents:  # what is judged has no effect
        value = measure.values(rankings, seed=seed).value
        return Bounds(value, value, np.ones(len(value), bool))
    if rankings.judged.costs is not None:
        raise MeasureError(f"{measure} has no bounds if documents have costs")
    if (measure, "bounds", seed) not in rankings.memo:
        rankings.memo[measure, "bounds", seed] = _bounds(measure, rankings, seed)
    result: Bounds = rankings.memo[measure, "bounds", seed]
    return result


def _bounds(measure: Measure, rankings: Rankings, seed: int) -> Bounds:
    ordered = measure.ordered(rankings, all_documents=True)
    value = measure.scored(ordered, seed=seed).value
    low, high, hold = value.copy(), value.copy(), np.ones(len(value), bool)
    # A condensed list has no unjudged documents.
    scored = np.flatnonzero(~np.isnan(value) & (not measure.views.condensed))
    suffice, step = _extremes_suffice(measure, rankings), max(1, CELLS // max(int(ordered.length.max(initial=0)), 1))
    top = measure.highest_gain(rankings.judged.top)
    for i in range(0, len(scored), step):
        rows = scored[i : i + step]
        full = with_every_document(ordered if len(rows) == len(value) else ordered.rows(rows))
        full = full if full.top == top else full.changed(top=top)
        unjudged, sums = (full.grade < 0).sum(axis=1), _from_sums(measure, full)
        hold[rows] = (unjudged == 0) | (suffice & (sums | (unjudged < TRIED) | measure.definition.retrieved_only))
        by_sums, by_assignments = partial(_bounds_from_sums, measure), partial(_bounds_from_assignments, measure, seed)
        for chosen, bounds_of in (sums & (unjudged > 0), by_sums), (~sums & (unjudged > 0), by_assignments):
            if chosen.any():
                low[rows[chosen]], high[rows[chosen]] = bounds_of(
                    full if chosen.all() else full.rows(np.flatnonzero(chosen))
                )
    if measure.views.rule.limit is not None:  # the order of gains is another one for other grades
        value = measure.values(rankings, seed=seed).value
        hold &= (low == high) | (rankings.count(rankings.size > 1) == 0)
    # The actual score is included: if a measure depends on which documents are judged, no assignment may reproduce it.
    return Bounds(np.fmin(low, value), np.fmax(high, value), hold)


def _extremes_suffice(measure: Measure, rankings: Rankings) -> bool:
    """Whether the extremes are among the assignments in which the topmost or bottommost documents are relevant."""
    if measure.gains.of(np.zeros(1), rankings.judged.top)[0] > 0:
        return False  # a judged non-relevant document has a higher gain than an unjudged one
    retrieved_only = measure.definition.retrieved_only
    return measure.definition.rewards_promotion and (retrieved_only or _two_valued(measure, rankings))


def _two_valued(measure: Measure, rankings: Rankings) -> bool:
    """Whether relevance is binary."""
    if measure.binary_gains:
        return True
    grades = rankings.judged.grade[rankings.pool.document]
    return rankings.judged.top <= 1 and bool(np.isin(grades[grades >= 0], (0, 1)).all())


def _from_sums(measure: Measure, full: Batch) -> Booleans:
    """The queries for which the measure depends only on sums that `Completions` have."""
    definition, views = measure.definition, measure.views
    if views.terminal or definition.reads not in (GainSums, Preferences):
        return np.zeros(len(full.length), bool)
    in_ties = definition.reads is GainSums and isinstance(definition.ties, ClosedForm) and views.depth is None
    return ~full.tied | in_ties


def _bounds_from_sums(measure: Measure, full: Batch) -> tuple[Floats, Floats]:
    """The lowest and highest score over all numbers of relevant unjudged documents, by running sums."""
    extremes = measure.definition.retrieved_only and measure.definition.rewards_promotion
    completions = full.memo.setdefault(("completions", extremes), Completions(full, extremes))
    values = measure.definition.function(completions, **measure.arguments)
    return np.fmin.reduce(values, axis=1), np.fmax.reduce(values, axis=1)


def _bounds_from_assignments(measure: Measure, seed: int, full: Batch) -> tuple[Floats, Floats]:
    """The lowest and highest score, one assignment at a time; at most `TRIED` numbers are tried."""
    definition, queries = measure.definition, np.arange(len(full.length))
    low, high = np.full((2, len(queries)), np.nan)
    tried: Iterable[tuple[Integers, Batch]] = _assignments(measure, full)
    if definition.retrieved_only and definition.rewards_promotion:
        tried = ((queries, judge_all(full, relevant=relevant)) for relevant in (False, True))
    for rows, judged in tried:
        value = measure.scored(judged, seed=seed).value
        np.fmin.at(low, rows, value)
        np.fmax.at(high, rows, value)
    return low, high


def _assignments(measure: Measure, full: Batch) -> Iterator[tuple[Integers, Batch]]:
    """Batches of queries in which the topmost or bottommost unjudged documents are relevant."""
    definition, cutoff = measure.definition, measure.rank_cutoff
    affects_score = (full.judged if definition.uses_nonrelevant else full.relevant | full.nil) | (full.grade < 0)
    if cutoff is not None:
        affects_score &= full.start < cutoff  # below, only totals matter
    of_cut_list = definition.retrieved_only and cutoff is not None and not measure.views.terminal
    total = ((full.grade < 0) & (affects_score | (not of_cut_list))).sum(axis=1)
    full = full.compact(affects_score)
    full = full.changed(document=constant(-1, full.grade.shape))
    counts = np.minimum(total + 1, TRIED)
    query, i = ragged(counts)
    number = i * total[query] // np.maximum(counts[query] - 1, 1)
    # If none or all are relevant, topmost and bottommost are the same. If none is, the score is the actual one, unless
    # the measure depends on which documents are judged.
    needed = (number > 0) | definition.uses_nonrelevant, (number > 0) & (number < total[query])
    depth = 1 if definition.retrieved_only else cutoff  # of ideal rankings, if they are used
    step = max(1, CELLS // full.grade.shape[1])
    for chosen, topmost in zip(needed, (True, False), strict=True):
        rows, n = query[chosen], number[chosen]
        for part in (slice(begin, begin + step) for begin in range(0, len(rows), step)):
            others = total[rows[part]] - n[part]
            assigned = _with_relevant(full.rows(rows[part]), n[part], others, depth, topmost=topmost)
            yield rows[part], assigned if definition.uses_nonrelevant else assigned.compact(assigned.gain > 0)


def _with_relevant(full: Batch, number: Integers, others: Integers, depth: int | None, *, topmost: bool) -> Batch:
    """The rankings in which so many unjudged documents, the topmost or bottommost, are relevant, and the others not.

    ``depth``: of ideal rankings, in which the relevant unjudged documents come first, as they have the highest gain.
    """
    unjudged = full.grade < 0
    nth = running(unjudged)
    relevant = unjudged & (nth <= number[:, None] if topmost else nth > others[:, None])
    rank = np.arange(full.ideal.shape[1] + int(number.max(initial=0)))[:depth] - number[:, None]
    ideal = np.pad(full.ideal, ((0, 0), (0, max(rank.shape[1] - full.ideal.shape[1], 0))))
    return full.changed(
        grade=np.where(relevant, np.inf, np.where(unjudged, 0, full.grade)),
        gain=np.where(relevant, full.top, full.gain),
        ideal=np.where(rank < 0, full.top, np.take_along_axis(ideal, np.maximum(rank, 0), axis=1)),
        R=full.R + number,
        N=full.N + others,
        mass=full.mass + number * full.top,
    )


# The sums that measures depend on, for each number of relevant unjudged documents of a ranking.
#
# The unjudged documents above a column are relevant, or those from this column on. As the column moves down, all sums
# follow from running sums of the contributions of documents.


def _from_top(x: Array) -> Array:
    """The running sums of each row, beginning with 0."""
    sums = running(x)
    return np.concatenate([np.zeros_like(sums[:, :1]), sums], axis=1)


def _take(table: Array, column: Integers) -> Array:
    return table.ravel().take(column + np.arange(len(table))[:, None] * table.shape[1])


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
        # Many completions have the same number of relevant unjudged documents; those below rank k change nothing.
        highest = int(self.number.max(initial=0))
        most = highest if k is None else min(highest, k)
        number = np.arange(most + 1)[None]
        gained: Floats = (self.full.top - ideal[:, :1]) * weights(number)
        for below, by in zip(rank.T, fall.T, strict=True):
            ranks = number + below[:, None]
            gained += by[:, None] * weights(ranks if k is None else np.minimum(ranks, k))
        return _take(gained, np.minimum(self.number, most))

    def cumulated(self, weights: Weights, k: int | None = None) -> Floats:
        b, unjudged = self.full, self.unjudged
        mean = b.mean_over(weights, k)
        gain_above, unjudged_above = b.above(b.gain), b.above(unjudged) if b.has_ties else self._above[:, :-1]
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
        b, above, cap = self.full, self._above, limit.astype(np.int64)
        judged = running(b.judged & ~b.relevant)
        # Among relevant unjudged documents only judged non-relevant ones are misplaced; elsewhere the other unjudged
        # documents are misplaced, too.
        among = _Sums(judged, b.relevant | self.unjudged)
        beyond = _Sums(judged + above[:, 1:], b.relevant)
        topmost, bottommost = cap[:, : above.shape[1]], cap[:, above.shape[1] :]
        misplaced = np.concatenate(
            [
                among.capped_above(topmost) + beyond.capped_below(topmost + above) - above * beyond.below,
                beyond.capped_above(bottommost) + among.capped_below(bottommost - above) + above * among.below,
            ],
            axis=1,
        )
        return b.relevant.sum(axis=1)[:, None] + self.number - penalty(misplaced.astype(np.float64), pairs)

    def _relevant(self, down: Array, up: Array) -> Array:
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


class _Sums:
    """Sums over the chosen documents above each column, or from it on; values never decrease along a row."""

    def __init__(self, value: Integers, chosen: Booleans) -> None:
        rows, width = value.shape
        cell = np.arange(rows)[:, None] * (width + 2) + value + 1
        self._smaller = running(np.bincount(cell.ravel(), minlength=rows * (width + 2)).reshape(rows, -1))
        self._sums, self._above = _from_top(np.where(chosen, value, 0)), _from_top(chosen)
        self._columns, self._first = np.arange(width + 1), np.arange(rows)[:, None] * (width + 1)

    @cached_property
    def below(self) -> Integers:
        """The number of these documents from each column on."""
        return self._above[:, -1:] - self._above

    def capped_above(self, cap: Integers) -> Integers:
        """The sum of min(value, cap) over the documents above each column."""
        reached = np.minimum(self._number_smaller(cap), self._columns) + self._first
        return self._sums.take(reached) + cap * (self._above - self._above.take(reached))

    def capped_below(self, cap: Integers) -> Integers:
        """The sum of min(value, cap) over the documents from each column on."""
        reached = np.maximum(self._number_smaller(cap), self._columns) + self._first
        return self._sums.take(reached) - self._sums + cap * (self._above[:, -1:] - self._above.take(reached))

    def _number_smaller(self, cap: Integers) -> Integers:
        """How many values are smaller."""
        return _take(self._smaller, np.clip(cap, 0, self._smaller.shape[1] - 1))
