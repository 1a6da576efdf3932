"""Rankings cut at every depth and at every threshold of a rule, by relabelling arrays.

A rule gives each document of a list a key that never rises from rank to rank; a threshold keeps the documents whose key
is at least the threshold. The absolute rule has the score itself as its key. The others are those that Liu et al.
(SIGIR 2016, section 4) name as future work: the distribution of scores "in both relative and absolute terms", and the
prediction of R for a query.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cranfield import io
from cranfield.data import Booleans, Floats, Integers, Run
from cranfield.lab.systems import judged_scores
from cranfield.measures import Measure
from cranfield.ranking.alignment import Aligner, Alignment
from cranfield.ranking.batch import COLUMNS, Batch, ragged
from cranfield.statistics.rounding import SAME

# Cells of a batch that are processed at a time: they fit into a processor's cache.
CELLS = 1 << 17


@dataclass(frozen=True, eq=False)
class RankedLists:
    """The rankings of one run for the judged queries: the positions of judged documents, and the score at every rank.

    ``score``: from the top down for the first query, then for the second, and so on; ``length`` (q,): of each list.
    """

    alignment: Alignment
    score: Floats
    length: Integers

    @classmethod
    def of(cls, run: Run, aligner: Aligner) -> RankedLists:
        """Read a run once."""
        table = io.load(run)
        alignment = aligner.align(replace(run, source=table))
        # The aligner decides which document holds a rank; the scores by rank only need sorting.
        return cls(alignment, judged_scores(table, aligner.judgments)[1], np.maximum(alignment.length, 0))

    def scores_by_depth(self, measure: Measure) -> Floats:
        """The score of every query with its list cut at every depth: (query, depth), from no document to all."""
        table = np.zeros((len(self.length), int(self.length.max(initial=0)) + 1))
        for rankings in self.alignment.rankings:
            queries, ordered = rankings.query, without_unused_columns(measure.ordered(rankings))
            for row, depth, cut in cut_at_all_depths(ordered):
                table[queries[row], depth] = measure.scored(cut).value
            depths = np.minimum(np.arange(table.shape[1]), ordered.length[:, None])
            table[queries] = np.take_along_axis(table[queries], depths, axis=1)
        return table

    @cached_property
    def by_score(self) -> DocumentsByScore:
        """All documents by decreasing score."""
        return self.documents_by(self.score)

    def documents_by(self, key: Floats) -> DocumentsByScore:
        """All documents by a decreasing key, which takes the place of scores; within a list it must not rise."""
        query, position = ragged(self.length)
        order = np.argsort(-key, kind="stable")
        score = key[order]
        last = np.flatnonzero(np.append(score[1:] != score[:-1], True)) if len(score) else np.zeros(0, np.int64)
        return DocumentsByScore(query[order], position[order] + 1, score, last)


def without_unused_columns(batch: Batch) -> Batch:
    """The batch without columns that no measure reads once gains are computed, because its rows are copied often."""
    width = max(int((batch.ideal > 0).sum(axis=1).max(initial=0)), 1)
    return batch.changed(ideal=batch.ideal[:, :width])


def cut_at_all_depths(batch: Batch) -> Iterator[tuple[Integers, Integers, Batch]]:
    """Every list cut at every depth up to its length: rows, depths and the cut lists, in blocks of limited size."""
    row, depth = ragged(batch.length + 1)
    order = np.argsort(depth, kind="stable")  # shallow cuts hold few documents and need few columns
    row, depth = row[order], depth[order]
    begin = 0
    while begin < len(row):
        end = begin + max(1, CELLS // (batch.start.shape[1] + batch.ideal.shape[1]))
        q, d = row[begin:end], depth[begin:end]
        inside = ~np.isnan(batch.grade) & (batch.start < d[-1])
        part = first_columns(batch, max(int(inside.sum(axis=1).max(initial=0)), 1)).rows(q)
        keep = ~np.isnan(part.grade) & (part.start < d[:, None])
        yield q, d, part.only(keep).changed(length=d)
        begin = end


def first_columns(batch: Batch, columns: int) -> Batch:
    """The first columns of every row."""
    return batch.changed(**{name: getattr(batch, name)[:, :columns] for name in COLUMNS})


@dataclass(frozen=True, eq=False)
class DocumentsByScore:
    """All documents of a run by decreasing score; a threshold keeps a prefix of them.

    ``query``, ``depth``, ``score``: of each document; ``last``: the last document of each distinct score. One more
    document changes the score of one query, so that the means for all thresholds are one running sum.
    """

    query: Integers
    depth: Integers
    score: Floats
    last: Integers

    def steps(self, table: Floats) -> Floats:
        """The change of its query's score when a document is added."""
        return table[self.query, self.depth] - table[self.query, self.depth - 1]

    def totals(self, table: Floats) -> Floats:
        """The sum over queries without any document, and then at every distinct score."""
        return table[:, 0].sum() + np.append(0, np.cumsum(self.steps(table))[self.last])

    def best_threshold(self, steps: Floats, training: Booleans) -> tuple[float, int]:
        """The best threshold on the training queries, and the number of distinct scores that it keeps.

        Of equally good thresholds the lowest. Infinite if it keeps nothing; minus infinite if it cuts nothing.
        """
        in_training = training[self.query]
        gain = np.append(0, np.cumsum(np.where(in_training, steps, 0))[self.last])
        best = int(np.flatnonzero(gain >= gain.max() - SAME * len(training))[-1])
        documents = np.flatnonzero(in_training)
        kept = int(np.searchsorted(documents, self.last[best - 1], side="right")) if best else 0
        if kept == 0 and len(documents):
            return np.inf, 0
        if kept == len(documents):
            return -np.inf, len(self.last)
        score = float(self.score[documents[kept - 1]])
        return score, int(np.searchsorted(self.last, documents[kept - 1])) + 1


RIDGE = 1.0  # the penalty on the weights of features, which are standardised
FEWEST = 0.5  # the smallest prediction of R: a list can be cut at any multiple of it


@dataclass(frozen=True)
class StoppingRule:
    """A rule with one threshold.

    ``summary``: what it keeps. ``falling``: a higher threshold keeps more documents; then the threshold is the negative
    of the lowest key that is kept. ``learned``: keys are predictions, which are learned from the training queries.
    """

    name: str
    summary: str
    falling: bool = False
    learned: bool = False

    def threshold(self, key: float) -> float:
        """The threshold that keeps documents down to this key."""
        return 0.0 - key if self.falling else key

    def key(self, threshold: float) -> float:
        """The lowest key that a threshold keeps."""
        return 0.0 - threshold if self.falling else threshold


RULES = {
    rule.name: rule
    for rule in (
        StoppingRule("score", "documents that score at least the threshold"),
        StoppingRule("ratio", "documents that score at least this share of the top score"),
        StoppingRule("distance", "documents that score at most this much below the top score", falling=True),
        StoppingRule("gap", "documents above the first gap between scores that is larger", falling=True),
        StoppingRule(
            "predicted R", "this many times the predicted number of relevant documents", falling=True, learned=True
        ),
    )
}


class ScoredLists:
    """The lists of a run, and the keys of their documents by every rule."""

    def __init__(self, lists: RankedLists) -> None:
        self.lists = lists
        self.query, self.position = ragged(lists.length)
        self.first = np.cumsum(lists.length) - lists.length
        self.features = _features(lists.score, self.query, lists.length)

    def documents(self, rule: StoppingRule, relevant: Integers, training: Booleans) -> DocumentsByScore | None:
        """The documents by decreasing key; None if the rule cannot be applied to these scores.

        ``relevant``: the number of relevant documents of each query, of which only the training queries are used.
        """
        score = self.lists.score
        if rule.name == "ratio":
            if (score <= 0).any():
                return None
            key = score / self.top
        elif rule.name == "distance":
            key = score - self.top
        elif rule.name == "gap":
            key = -self.largest_gap
        elif rule.name == "predicted R":
            key = -(self.position + 1) / self.predicted_relevant(relevant, training)[self.query]
        else:
            key = score
        return self.lists.documents_by(key)

    @property
    def top(self) -> Floats:
        """The highest score of its list, for each document."""
        return self.lists.score[self.first[self.query]]

    @property
    def largest_gap(self) -> Floats:
        """The largest gap between scores above each document."""
        score = self.lists.score
        gap = np.where(self.position > 0, np.append(0, score[:-1]) - score, 0)
        # The running maximum of each list: gaps are ranked, and an offset makes the ranks of a list higher than all
        # before.
        gaps, rank = np.unique(gap, return_inverse=True)
        offset = self.query * (len(gap) + 1)
        return gaps[np.maximum.accumulate(rank + offset) - offset]

    def predicted_relevant(self, relevant: Integers, training: Booleans) -> Floats:
        """The predicted number of relevant documents of each query, learned from the training queries.

        Ridge regression of log(1 + R) on the top score, the mean and the standard deviation of the scores of a list,
        and the logarithm of its length.
        """
        x, y = self.features, np.log1p(relevant.astype(np.float64))
        centre, spread = x[training].mean(axis=0), x[training].std(axis=0)
        z = (x - centre) / np.where(spread > 0, spread, 1)
        mean = y[training].mean()
        a = z[training].T @ z[training] + RIDGE * np.eye(z.shape[1])
        weights = np.linalg.solve(a, z[training].T @ (y[training] - mean))
        # No prediction beyond what was seen: weights learned from few queries extrapolate badly.
        low, high = y[training].min(), y[training].max()
        return np.maximum(np.expm1(np.clip(mean + z @ weights, low, high)), FEWEST)


def _features(score: Floats, query: Integers, length: Integers) -> Floats:
    """The features of each list, (query, feature); 0 for an empty one."""
    count = np.maximum(length, 1)
    mean = np.bincount(query, score, len(length)) / count
    deviation = np.sqrt(np.bincount(query, (score - mean[query]) ** 2, len(length)) / count)
    top = np.zeros(len(length))
    top[length > 0] = score[(np.cumsum(length) - length)[length > 0]]
    return np.stack([top, mean, deviation, np.log1p(length)], axis=1)
