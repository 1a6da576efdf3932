"""Lists cut at every depth at once, and at every score: all by relabelling arrays, nothing is read twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cranfield import io
from cranfield.alignment import Aligner, Alignment
from cranfield.batch import COLUMNS, Batch, Booleans, ragged
from cranfield.data import Floats, Integers, Run
from cranfield.io.duplicates import codes_of
from cranfield.measures import Measure
from cranfield.statistics.correlation import SAME

# Cells of a batch that are worked on at a time: what a processor's cache holds.
CELLS = 1 << 17


@dataclass(frozen=True, eq=False)
class Lists:
    """One run's lists for the judged queries: where its judged documents stand, and the score at every rank.

    ``score``: those of the first query from the top down, then those of the second; ``length`` (q,): how many each has.
    """

    alignment: Alignment
    score: Floats
    length: Integers

    @classmethod
    def of(cls, run: Run, aligner: Aligner) -> Lists:
        """A run read once."""
        table = io.load(run)
        alignment = aligner.align(replace(run, source=table))
        place = {query: i for i, query in enumerate(aligner.judgments.queries)}
        names, code = codes_of(table.query)
        query = np.array([place.get(name, -1) for name in names], np.int64)[code]
        score, query = table.score[query >= 0], query[query >= 0]
        # Which document holds a rank is the aligner's business; which score does is a matter of sorting numbers.
        return cls(alignment, score[np.lexsort((-score, query))], np.maximum(alignment.length, 0))

    def by_depth(self, measure: Measure) -> Floats:
        """The score of every query with its list cut at every depth: (query, depth), from no document to all."""
        table = np.zeros((len(self.length), int(self.length.max(initial=0)) + 1))
        for rankings in self.alignment.rankings:
            queries, seen = rankings.query, slim(measure.ordered(rankings))
            for row, depth, cut in cuts(seen):
                table[queries[row], depth] = measure.scored(cut).value
            beyond = np.minimum(np.arange(table.shape[1]), seen.length[:, None])
            table[queries] = np.take_along_axis(table[queries], beyond, axis=1)
        return table

    @cached_property
    def walk(self) -> Walk:
        """All documents by falling score."""
        query, place = ragged(self.length)
        order = np.argsort(-self.score, kind="stable")
        score = self.score[order]
        last = np.flatnonzero(np.append(score[1:] != score[:-1], True)) if len(score) else np.zeros(0, np.int64)
        return Walk(query[order], place[order] + 1, score, last)


def slim(batch: Batch) -> Batch:
    """The batch without what no measure looks at once gains are known: rows of it are copied many times."""
    some = max(int((batch.ideal > 0).sum(axis=1).max(initial=0)), 1)
    return batch.changed(ideal=batch.ideal[:, :some])


def cuts(batch: Batch) -> Iterator[tuple[Integers, Integers, Batch]]:
    """Every list cut at every depth that it has: rows, depths and the cut lists, a manageable part at a time."""
    row, depth = ragged(batch.length + 1)
    order = np.argsort(depth, kind="stable")  # shallow cuts hold few documents, and need few columns
    row, depth = row[order], depth[order]
    begin = 0
    while begin < len(row):
        end = begin + max(1, CELLS // (batch.start.shape[1] + batch.ideal.shape[1]))
        q, d = row[begin:end], depth[begin:end]
        inside = ~np.isnan(batch.grade) & (batch.start < d[-1])
        part = head(batch, max(int(inside.sum(axis=1).max(initial=0)), 1)).rows(q)
        keep = ~np.isnan(part.grade) & (part.start < d[:, None])
        yield q, d, part.only(keep).changed(length=d)
        begin = end


def head(batch: Batch, columns: int) -> Batch:
    """The first columns of every row."""
    return batch.changed(**{name: getattr(batch, name)[:, :columns] for name in COLUMNS})


@dataclass(frozen=True, eq=False)
class Walk:
    """All documents of a run by falling score: a threshold is a place on this walk.

    ``query``, ``depth``, ``score``: of each document; ``last``: where each distinct score ends. Lowering the threshold
    past a document changes the score of one query, so that means for all thresholds are one running sum.
    """

    query: Integers
    depth: Integers
    score: Floats
    last: Integers

    def steps(self, table: Floats) -> Floats:
        """By how much each document, let in, changes the score of its query."""
        return table[self.query, self.depth] - table[self.query, self.depth - 1]

    def totals(self, table: Floats) -> Floats:
        """Sums over queries with nothing kept, and then at every distinct score."""
        return table[:, 0].sum() + np.append(0, np.cumsum(self.steps(table))[self.last])

    def choose(self, steps: Floats, learned: Booleans) -> tuple[float, int]:
        """The best threshold for the queries learned from, and how many distinct scores of the walk it lets in.

        The lowest of those that do equally well: a threshold must earn what it cuts. Infinite where it lets nothing
        in; minus infinite where nothing is to be cut.
        """
        mine = learned[self.query]
        gained = np.append(0, np.cumsum(np.where(mine, steps, 0))[self.last])
        best = int(np.flatnonzero(gained >= gained.max() - SAME * len(learned))[-1])
        known = np.flatnonzero(mine)
        let_in = int(np.searchsorted(known, self.last[best - 1], side="right")) if best else 0
        if let_in == 0 and len(known):
            return np.inf, 0
        if let_in == len(known):
            return -np.inf, len(self.last)
        score = float(self.score[known[let_in - 1]])
        return score, int(np.searchsorted(self.last, known[let_in - 1])) + 1
