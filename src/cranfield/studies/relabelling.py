"""Other judgments, the same runs: documents lose their judgments, and every score is had again without reading again.

Runs are read and meet the judgments once. After that a set of judgments is a choice among their rows, and all that a
measure knows of judgments (R, N, the ideal, the top grade, subtopics) is made anew from the rows chosen, as it would
be by `evaluate` from a file of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cranfield.alignment import Alignment
from cranfield.batch import Booleans, Key
from cranfield.corpus.judged import Reading
from cranfield.corpus.rereading import Partial, Rereading
from cranfield.data import Floats, Integers, Judgments, Labels
from cranfield.evaluation.columns import AlignmentKey
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.run_scores import check_measurable
from cranfield.measures import Measure
from cranfield.ranking.rankings import COLUMNS, Judged, Pool, Position, Rankings
from cranfield.subtopics import Subtopics

# Cells of a batch that are worked on at a time: what a processor's cache holds.
CELLS = 1 << 15
FLAT = ("document", "start", "size", "by_id", "by_input")

# What ranks documents, and the position in a tie group that fixes their order once and for all; None where none does.
Order = tuple[Key, Position | None]
TREC: Order = ("score", "by_id")


def order_of(measure: Measure) -> Order:
    """The order in which a measure sees documents."""
    rule = measure.views.rule
    return rule.key, rule.position


@dataclass(frozen=True, eq=False)
class Shelf:
    """Lists of like width, from any runs, as flat rows: list by list, best first.

    ``lists``: their numbers, run × queries + query; ``row``: the list of each document, counted within this shelf.
    """

    lists: Integers
    query: Integers
    length: Integers
    row: Integers
    document: Integers
    start: Integers
    size: Integers
    by_id: Integers
    by_input: Integers

    def rankings(self, labelled: Labelled) -> Rankings:
        """The lists as measures see them when only some judgments are known."""
        chosen = np.flatnonzero(labelled.keep[self.document])
        columns = {name: getattr(self, name)[chosen] for name in COLUMNS}
        return Rankings(labelled.pool, **columns, length=self.length, pool_row=self.query)


@dataclass(frozen=True, eq=False)
class Labelled:
    """Some of the judgments, and what measures need to know of them whatever the run.

    ``keep``: the documents that measures hear of at all; ``reading``: what those of them that read find there.
    """

    judgments: Judgments
    grade: Floats
    keep: Booleans
    by_subtopic: bool
    reading: Reading | None = None

    @cached_property
    def judged(self) -> Integers:
        """How many documents of each query are judged."""
        return np.diff(np.append(0, np.cumsum(self.keep))[self.judgments.begin])

    @cached_property
    def top(self) -> float:
        """The highest grade there is."""
        return float(max(self.grade[self.keep].max(initial=0), 0))

    @cached_property
    def pool(self) -> Pool:
        """All documents that measures hear of, by query."""
        judged = Judged(self.grade, self.top, None, self.subtopics, self.reading)
        queries = np.arange(len(self.judged))
        return Pool.of(judged, np.repeat(queries, self.judged), np.flatnonzero(self.keep), queries)

    @cached_property
    def subtopics(self) -> Subtopics | None:
        """What the documents judged are about, where a measure asks for it."""
        labels = self.judgments.labels
        if labels is None or not self.by_subtopic:
            return None
        known = self.keep[labels.document]
        kept = Labels(labels.document[known], labels.subtopic[known], labels.grade[known], labels.names)
        return Subtopics(replace(self.judgments, labels=kept), self.top)


class Relabeller:
    """Runs that were read once, to be scored under any number of subsets of their judgments.

    A subset is a choice among the rows of ``judgments`` (a document with all its subtopics is one row); what is not
    chosen is unjudged.

    >>> from cranfield import Evaluator
    >>> run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    >>> runs = Relabeller(Evaluator({"q": {"a": 1, "b": 0, "c": 1}}, ["P@2", "AP"]).evaluation(run))
    >>> runs.scores(np.array([True, True, True])).round(3).tolist()
    [[[0.5], [0.833]]]
    >>> runs.scores(np.array([False, False, True])).round(3).tolist()
    [[[0.0], [0.333]]]
    """

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation, self.judgments = evaluation, evaluation.judgments
        self.measures = tuple(column.measure for column in evaluation.columns)
        self.seed = evaluation.policy.seed
        self.orders: dict[Order, list[int]] = {TREC: []}
        for m, measure in enumerate(self.measures):
            self.orders.setdefault(order_of(measure), []).append(m)
        runs = evaluation.run_scores
        for run in runs:
            for column in evaluation.columns:
                check_measurable(run.run, run.alignments[column.alignment], column.measure)
        content = any(measure.definition.content for measure in self.measures)
        self.aligner = runs[0].alignments[AlignmentKey(content, "score")].aligner
        self.rereading = Rereading(self.aligner.reading) if self.aligner.reading else None
        # Where unjudged documents are read, they stand among the judgments, after those of each query.
        many = np.diff(self.judgments.begin)
        self.place = np.arange(len(self.judgments.grade)) + np.repeat(
            (self.aligner.judgments.begin - self.judgments.begin)[:-1], many
        )
        self.grade = self.aligner.grade[self.place]
        self.answered = np.array([run.length >= 0 for run in runs])
        self.shelves = {
            (key, position): list(_shelves([run.alignments[AlignmentKey(content, key)] for run in runs], position))
            for key, position in self.orders
        }

    def ranks(self) -> Integers:
        """Where each run puts each judged document, (run, judgment), in trec_eval's order; 0 where it does not."""
        found = np.zeros((len(self.evaluation.runs), len(self.aligner.grade)), np.int64)
        for shelf in self.shelves[TREC]:
            found[shelf.lists[shelf.row] // len(self.judgments.queries), shelf.document] = shelf.start + 1
        return found[:, self.place]

    def scores(self, keep: Booleans | None = None) -> Floats:
        """The value of every (run, measure, query) when only the judgments chosen are known; all where none are.

        NaN where a measure is undefined, and for queries of which no judgment is left: these count no more.
        """
        known = np.zeros(len(self.aligner.grade), bool)
        known[self.place] = True if keep is None else keep
        by_subtopic = any(measure.definition.subtopics for measure in self.measures)
        labelled = Labelled(self.aligner.judgments, self.aligner.grade, known, by_subtopic)
        queries = len(self.judgments.queries)
        values = np.full((len(self.measures), len(self.evaluation.runs) * queries), np.nan)
        for seen, measures in self._seen(labelled):
            for order, shelves in self.shelves.items():
                mine = [m for m in self.orders[order] if m in measures]
                for shelf in shelves if mine else ():
                    rankings = shelf.rankings(seen)
                    for m in mine:
                        values[m, shelf.lists] = self.measures[m].values(rankings, seed=self.seed).value
        table = values.reshape(len(self.measures), len(self.evaluation.runs), queries).transpose(1, 0, 2)
        return np.where(labelled.judged > 0, table, np.nan)

    def unread(self, measure: Measure) -> tuple[int, int]:
        """How many of the documents that a measure reads in any run are not in the corpus, and how many there are."""
        assert self.rereading is not None
        end = measure.cutoff or np.inf
        shelves = self.shelves[order_of(measure)]
        rows = np.unique(np.concatenate([shelf.document[shelf.start < end] for shelf in shelves]))
        return int((self.rereading.every.document[rows] < 0).sum()), len(rows)

    def _seen(self, labelled: Labelled) -> Iterator[tuple[Labelled, set[int]]]:
        """What measures see of the judgments known, and which measures: those that read see unjudged documents too."""
        read = {m for m, measure in enumerate(self.measures) if measure.definition.content}
        yield labelled, set(range(len(self.measures))) - read
        if self.rereading is None:
            return
        same = {m for m in read if stays(self.measures[m])}
        grade = np.where(labelled.keep, labelled.grade, -1.0)
        everything = replace(labelled, grade=grade, keep=np.ones_like(labelled.keep), by_subtopic=False)
        yield replace(everything, reading=self.rereading.knowing(labelled.keep)), same
        yield replace(everything, reading=Partial(self.rereading.every, labelled.keep)), read - same


def stays(measure: Measure) -> bool:
    """Whether the order that the measure reads documents in is the same whatever is judged, and there is only one."""
    return not measure.views.condensed and measure.views.rule.fixes_order


def _shelves(alignments: Sequence[Alignment], position: Position | None) -> Iterator[Shelf]:
    """The lists of all runs, those of like width together."""
    queries = len(alignments[0].length)
    many = [len(one.rows["query"]) for one in alignments]
    at = np.concatenate([one.rows["query"] for one in alignments]) + queries * np.repeat(np.arange(len(many)), many)
    flat = {name: np.concatenate([one.rows[name] for one in alignments]) for name in FLAT}
    if position:
        flat["start"] = flat["start"] + flat[position]
        flat["size"] = np.ones_like(flat["size"])
    length = np.maximum(np.concatenate([one.length for one in alignments]), 0)
    width = np.bincount(at, minlength=len(length))
    by_width = np.argsort(-width, kind="stable")
    shelf_of, begin = np.zeros(len(length), np.int64), 0
    while begin < len(by_width):
        end = begin + max(1, CELLS // max(int(width[by_width[begin]]), 1))
        shelf_of[by_width[begin:end]] = begin
        begin = end
    for shelf in np.unique(shelf_of):
        lists = np.flatnonzero(shelf_of == shelf)
        number = np.full(len(length), -1)
        number[lists] = np.arange(len(lists))
        mine = np.flatnonzero(number[at] >= 0)
        row = number[at[mine]]
        # Ties that are settled may have moved documents past each other; others stay in the order they came in.
        order = np.lexsort((flat["start"][mine], row))
        yield Shelf(lists, lists % queries, length[lists], row[order], *(flat[name][mine[order]] for name in FLAT))
