"""Plausible scores: what a score would be if unjudged documents were relevant as often as judged ones at their depth.

Every unjudged document retrieved gets the grade of a random judged document that the runs retrieve at a similar rank,
independently of all others. This is repeated, and gives the mean and the variance of the score of each query. Bounds
say what judging could do at worst; this says what it would do if unjudged documents were like judged ones. They are
often worse, because judged documents are those that many systems found. Documents below the cutoff of a measure are not
drawn: they could only enlarge its ideal ranking, which is the same for all runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cranfield.data import Booleans, Floats, Integers
from cranfield.measures import Measure
from cranfield.measures.ties.strategies import ClosedForm
from cranfield.ranking.alignment import Alignment
from cranfield.ranking.batch import COLUMNS, Batch, cells, constant, ragged, scatter
from cranfield.ranking.rankings import Position, Rankings
from cranfield.ranking.views import with_every_document

LAST_RANKS = np.array([5, 10, 20, 50, 100, 200, 500, 1000])  # the last rank of each depth; below is one more
SCORED = 500  # rankings to score in all draws together
FEWEST, MOST = 10, 100  # draws
CELLS = 1 << 18  # cells of a batch of draws


@dataclass(frozen=True, eq=False)
class Deck:
    """How often judged documents have each grade: ``share`` (depth, grade) of the ascending ``grades``."""

    grades: Floats
    share: Floats

    @classmethod
    def of(cls, alignments: Iterable[Alignment], position: Position | None) -> Deck:
        """The judged documents that these runs retrieve."""
        parts = list(alignments)
        judged = parts[0].aligner.judged
        grades = np.unique(judged.grade[judged.grade >= 0]) if parts else np.zeros(0)
        counts = np.zeros((len(LAST_RANKS) + 1, len(grades)))
        for alignment in parts:
            positions, of = alignment.positions, alignment.aligner.judged
            grade, rank = (
                of.grade[positions.document],
                positions.start + (0 if position is None else getattr(positions, position)),
            )
            kept = grade >= 0 if of.nil is None else (grade >= 0) & ~of.nil[positions.document]
            cell = depth_of(rank[kept]) * len(grades) + np.searchsorted(grades, grade[kept])
            counts += np.bincount(cell, minlength=counts.size).reshape(counts.shape)
        return cls(grades, _filled(counts))


def depth_of(start: Integers) -> Integers:
    """The depth of a document that has this many documents above it."""
    return np.searchsorted(LAST_RANKS, start + 1)


def _filled(counts: Floats) -> Floats:
    """The shares at each depth; a depth without documents has those of the next one above, or else below."""
    total = counts.sum(axis=1)
    judged_queries = np.flatnonzero(total)
    if not len(judged_queries):
        return np.zeros_like(counts)
    above = np.maximum(np.searchsorted(judged_queries, np.arange(len(total)), side="right") - 1, 0)
    nearest = judged_queries[above]
    return counts[nearest] / total[nearest, None]


class Plausible(NamedTuple):
    """The mean and variance over draws of the score of each query; NaN where they are not known."""

    mean: Floats
    variance: Floats


def plausible(
    measure: Measure, rankings: Rankings, deck: Deck, *, draws: int | None = None, seed: int = 0
) -> Plausible:
    """The score of each query if its unjudged documents had grades drawn from the deck.

    ``draws``: by default fewer for many queries, over which errors average out.
    """
    ordered = measure.ordered(rankings, all_documents=True)
    value = measure.scored(ordered, seed=seed).value
    mean, variance = value.copy(), np.where(np.isnan(value), np.nan, 0.0)
    rows = np.flatnonzero(~np.isnan(value) & (ordered.length > 0))
    # A condensed list has no unjudged documents, and neither has a list with complete judgments.
    if measure.views.condensed or rankings.judged.complete or not len(rows):
        return Plausible(mean, variance)
    full = with_every_document(ordered if len(rows) == len(value) else ordered.rows(rows))
    if full.has_ties and not isinstance(measure.definition.ties, ClosedForm):
        mean[rows] = variance[rows] = np.nan  # the orders of every draw would have to be enumerated
        return Plausible(mean, variance)
    number = draws or int(np.clip(SCORED // len(rows), FEWEST, MOST))
    drawn, rng = _Drawn(measure, full, deck, rankings.judged.top), np.random.default_rng(seed)
    sums = np.zeros((2, len(rows)))
    # Measures with the same gains for which the same grades count share their draws.
    key = "draws", measure.gains, measure.views, drawn.cutoff, drawn.kept.tobytes(), rows.tobytes(), number, seed
    if key not in rankings.memo:
        rankings.memo[key] = [drawn.batch(part, rng) for part in drawn.parts(number)]
    for batch in rankings.memo[key]:
        scores = measure.scored(batch, seed=seed).value.reshape(-1, len(rows))
        # The distance from the actual score, so that a query without unjudged documents has variance 0.
        change = np.nan_to_num(scores - value[rows])
        sums += change.sum(axis=0), (change**2).sum(axis=0)
    first, second = sums / number
    mean[rows] += first
    variance[rows] = np.maximum(second - first**2, 0) * number / max(number - 1, 1)
    return Plausible(mean, variance)


class _Drawn:
    """Batches in which unjudged documents have drawn grades."""

    def __init__(self, measure: Measure, full: Batch, deck: Deck, top: float) -> None:
        definition, cutoff = measure.definition, None if measure.views.terminal else measure.rank_cutoff
        self.cutoff = None if cutoff is None or cutoff >= full.grade.shape[1] else cutoff
        if self.cutoff is not None:
            full = full.compact(full.start < self.cutoff)  # below, only the ideal ranking could change
        self.unjudged = (full.grade < 0).sum(axis=1)
        self.full, self.at = full, np.flatnonzero(full.grade < 0)
        # Documents without gain get a column only if the measure uses them. Grades with a column come first.
        gain = measure.gains.of(deck.grades, top)
        self.kept = kept = (gain > 0) | definition.uses_nonrelevant
        order = np.argsort(~kept, kind="stable")
        self.grade, self.gain = deck.grades[order], gain[order]
        depth = depth_of(full.start.reshape(-1)[self.at])
        # Up to `chance` a document has a column; each of the limits below that it reaches gives it the next grade.
        self.chance = deck.share[:, kept].sum(axis=1)[depth]
        self.limits = np.cumsum(deck.share[:, order], axis=1).T[: max(int(kept.sum()) - 1, 0), depth]
        judged = full.judged if definition.uses_nonrelevant else full.relevant
        self.fixed = (judged | full.nil).reshape(-1)

    def parts(self, draws: int) -> Iterator[int]:
        """How many draws to score at once."""
        step = max(1, CELLS // max(self.full.gain.size, 1))
        return (min(step, draws - i) for i in range(0, draws, step))

    def batch(self, draws: int, rng: np.random.Generator) -> Batch:
        """Every ranking as often as there are draws, one draw after another."""
        full, (queries, width) = self.full, self.full.gain.shape
        every = np.tile(np.arange(queries), draws)
        number = rng.random((draws, len(self.at)))
        hit = number < self.chance
        keep = np.broadcast_to(self.fixed, (draws, len(self.fixed))).copy()
        keep[:, self.at] = hit
        cell, which, number = _columns(keep), _columns(hit), number[hit]
        picked = sum((number >= limit[which] for limit in self.limits), np.zeros(len(which), np.int64))
        counts = keep.reshape(-1, width).sum(axis=1)
        row, drawn = np.repeat(np.arange(len(every)), counts), np.flatnonzero(~self.fixed[cell])
        # Constant columns are not moved.
        varied = ["grade", "gain", "start", *(["size"] if full.has_ties else []), *(["nil"] if full.nil.any() else [])]
        columns = {name: getattr(full, name).reshape(-1)[cell] for name in varied}
        gain = self.gain[picked]
        columns["grade"][drawn], columns["gain"][drawn] = self.grade[picked], gain
        at, shape = _cells(counts)
        tables = {name: scatter(values, at, shape, COLUMNS[name]) for name, values in columns.items()}
        constants = {name: constant(COLUMNS[name], shape) for name in COLUMNS if name not in tables}
        by_query = {name: getattr(full, name)[every] for name in ("length", "query", "tail", "nil_grade")}
        row = row[drawn]
        gained = np.bincount(row[gain > 0], minlength=len(every))
        added = scatter(gain[gain > 0], *_cells(gained), 0)
        return full.changed(
            **tables,
            **constants,
            **by_query,
            ideal=-np.sort(-np.concatenate([full.ideal[every], added], axis=1), axis=1),
            R=full.R[every] + gained,
            N=full.N[every] + self.unjudged[every] - gained,
            mass=full.mass[every] + np.bincount(row, gain, len(every)),
        )


def _columns(table: Booleans) -> Integers:
    """The columns of the cells that are true, row by row."""
    counts = table.sum(axis=1)
    return np.flatnonzero(table) - np.repeat(np.arange(len(table)) * table.shape[1], counts)


def _cells(counts: Integers) -> tuple[Integers, tuple[int, int]]:
    """Where `scatter` puts values row by row, so many in each, and the shape of its table."""
    shape = len(counts), max(int(counts.max(initial=0)), 1)
    return cells(*ragged(counts), shape), shape
