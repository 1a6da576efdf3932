"""Other judgments, the same runs: documents lose their judgments, and every score is had again without reading again.

Runs are read and meet the judgments once. After that a set of judgments is a choice among their rows, and all that a
measure knows of judgments (R, N, the ideal, the top grade, subtopics) is made anew from the rows chosen, as it would
be by `evaluate` from a file of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from cranfield.alignment import Aligner, Alignment
from cranfield.batch import Batch, Booleans, Key, ragged, ungained
from cranfield.content.judged import Reading
from cranfield.content.rereading import Partial, Rereading
from cranfield.data import Floats, Integers, Judgments, Labels, Run
from cranfield.located import reader
from cranfield.measures import Measure
from cranfield.scored import Column, in_common, measurable
from cranfield.subtopics import Subtopics
from cranfield.views import Gains, Ties

# Cells of a batch that are worked on at a time: what a processor's cache holds.
CELLS = 1 << 15
# Tie rules that ask for nothing but a document's place within its tie can be followed once and for all.
PLACES: dict[Ties | None, str] = {
    None: "by_id",
    "trec": "by_id",
    "trec9": "by_id",
    "input": "by_input",
    "rank": "by_input",
}
FLAT = ("document", "start", "size", "by_id", "by_input")

Order = tuple[Key, str]  # what sorts documents, and what settles their ties ("" where nothing does)
TREC: Order = ("score", "by_id")


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

    def batch(self, labelled: Labelled) -> Batch:
        """The lists as measures see them when only some judgments are known."""
        chosen = np.flatnonzero(labelled.keep[self.document])
        row, document = self.row[chosen], self.document[chosen]
        counts = np.bincount(row, minlength=len(self.lists))
        shape = len(self.lists), max(int(counts.max(initial=0)), 1)
        cell = row * shape[1] + ragged(counts)[1]

        def laid(values: Any, empty: float) -> Any:
            table = np.full(shape, empty, values.dtype)
            table.reshape(-1)[cell] = values
            return table

        size = self.size[chosen]
        tied = bool((size > 1).any())
        none = np.zeros(shape, np.int64)
        batch = ungained(
            laid(labelled.grade[document], np.nan),
            laid(self.start[chosen], 0),
            laid(size, 1) if tied else none + 1,
            laid(self.by_id[chosen], 0) if tied else none,
            laid(self.by_input[chosen], 0) if tied else none,
            self.length,
            labelled.everything.pool[self.query, :1],
            labelled.top,
        )
        return replace(
            batch,
            query=self.query,
            document=batch.document if labelled.anonymous else laid(document, -1),
            subtopics=labelled.subtopics,
            reading=labelled.reading,
            pooled={
                gains: (ideal[self.query], relevant[self.query], nonrelevant[self.query], mass[self.query])
                for gains, (ideal, relevant, nonrelevant, mass) in labelled.pooled.items()
            },
        )


@dataclass(frozen=True, eq=False)
class Labelled:
    """Some of the judgments, and what measures need to know of them whatever the run.

    ``keep``: the documents that measures hear of at all; ``reading``: what those of them that read find there.
    """

    judgments: Judgments
    grade: Floats
    keep: Booleans
    gains: frozenset[Gains]
    by_subtopic: bool
    reading: Reading | None = None

    @property
    def anonymous(self) -> bool:
        """Whether nobody will ask which documents these are."""
        return self.subtopics is None and self.reading is None

    @cached_property
    def judged(self) -> Integers:
        """How many documents of each query are judged."""
        return np.diff(np.append(0, np.cumsum(self.keep))[self.judgments.begin])

    @cached_property
    def top(self) -> float:
        """The highest grade there is."""
        return float(max(self.grade[self.keep].max(initial=0), 0))

    @cached_property
    def everything(self) -> Batch:
        """A row for each query, with no document retrieved."""
        row, place = ragged(self.judged)
        pool = np.full((len(self.judged), max(int(self.judged.max(initial=0)), 1)), np.nan)
        pool[row, place] = self.grade[self.keep]
        none = np.zeros((len(pool), 1), np.int64)
        return ungained(np.full(none.shape, np.nan), none, none + 1, none, none, none[:, 0], pool, self.top)

    @cached_property
    def pooled(self) -> dict[Gains, tuple[Floats, Floats, Floats, Floats]]:
        """For each way of seeing grades: ideal gains, R, N and the mass of gains, by query."""
        found = {}
        for gains in self.gains:
            seen = gains(self.everything)
            wide = max(int(seen.R.max(initial=0)), 1)  # below its last document the ideal has no gain to look at
            found[gains] = np.ascontiguousarray(seen.ideal[:, :wide]), seen.R, seen.N, seen.mass
        return found

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

    >>> from cranfield import formats, parse
    >>> run = formats.read_run({"q": {"a": 3.0, "b": 2.0, "c": 1.0}})
    >>> judgments = formats.read_qrels({"q": {"a": 1, "b": 0, "c": 1}})
    >>> runs = Relabeller([run], judgments, [parse("P@2"), parse("AP")])
    >>> runs.scores(np.array([True, True, True])).round(3).tolist()
    [[[0.5], [0.833]]]
    >>> runs.scores(np.array([False, False, True])).round(3).tolist()
    [[[0.0], [0.333]]]
    """

    def __init__(
        self,
        runs: Sequence[Run],
        judgments: Judgments,
        measures: Sequence[Measure],
        *,
        negative: Literal["unjudged", "nonrel"] = "unjudged",
        corpus: Any = None,
        seed: int = 0,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """``corpus`` is what measures of contents read; see `evaluate`."""
        self.runs, self.judgments, self.measures, self.seed = tuple(runs), judgments, tuple(measures), seed
        self.orders: dict[Order, list[int]] = {TREC: []}
        for m, measure in enumerate(measures):
            self.orders.setdefault((measure.views.key, PLACES.get(measure.views.ties, "")), []).append(m)
        read = [measure for measure in measures if measure.definition.content]
        steps = len(runs) * (2 if read else 1)
        tell = None if progress is None else lambda done: progress(done, steps)
        aligner = reader(runs, judgments, read, corpus, negative=negative, progress=tell) if read else None
        self.aligner = aligner or Aligner(judgments, negative)
        self.rereading = Rereading(aligner.reading) if aligner and aligner.reading else None
        # Where documents that nobody judged are read, they stand among the judgments, after those of each query.
        many = np.diff(judgments.begin)
        self.place = np.arange(len(judgments.grade)) + np.repeat(
            (self.aligner.judgments.begin - judgments.begin)[:-1], many
        )
        self.grade = self.aligner.grade[self.place]
        columns = [Column(str(measure), measure) for measure in measures]
        found: dict[Key, list[Alignment]] = {key: [] for key, _ in self.orders}
        for i, run in enumerate(runs):
            for key, aligned in found.items():
                aligned.append(self.aligner.align(run, key, by_id=(key, "by_id") in self.orders))
            in_common(run, found["score"][i])
            measurable(run, found["score"][i], columns)
            if tell is not None:
                tell(steps - len(runs) + i + 1)
        self.answered = np.array([one.length >= 0 for one in found["score"]])
        self.shelves = {(key, place): list(_shelves(found[key], place)) for key, place in self.orders}

    def ranks(self) -> Integers:
        """Where each run puts each judged document, (run, judgment), in trec_eval's order; 0 where it does not."""
        found = np.zeros((len(self.runs), len(self.aligner.grade)), np.int64)
        for shelf in self.shelves[TREC]:
            found[shelf.lists[shelf.row] // len(self.judgments.queries), shelf.document] = shelf.start + 1
        return found[:, self.place]

    def scores(self, keep: Booleans | None = None) -> Floats:
        """The value of every (run, measure, query) when only the judgments chosen are known; all where none are.

        NaN where a measure is undefined, and for queries of which no judgment is left: these count no more.
        """
        known = np.zeros(len(self.aligner.grade), bool)
        known[self.place] = True if keep is None else keep
        gains = frozenset(measure.gains for measure in self.measures)
        by_subtopic = any(measure.definition.subtopics for measure in self.measures)
        labelled = Labelled(self.aligner.judgments, self.aligner.grade, known, gains, by_subtopic)
        queries = len(self.judgments.queries)
        values = np.full((len(self.measures), len(self.runs) * queries), np.nan)
        for seen, measures in self._seen(labelled):
            for order, shelves in self.shelves.items():
                mine = [m for m in self.orders[order] if m in measures]
                for shelf in shelves if mine else ():
                    batch = shelf.batch(seen)
                    for m in mine:
                        values[m, shelf.lists] = self.measures[m].values(batch, seed=self.seed).value
        table = values.reshape(len(self.measures), len(self.runs), queries).transpose(1, 0, 2)
        return np.where(labelled.judged > 0, table, np.nan)

    def unread(self, measure: Measure) -> tuple[int, int]:
        """How many of the documents that a measure reads in any run are not in the corpus, and how many there are."""
        assert self.rereading is not None
        end = measure.cutoff or np.inf
        order = measure.views.key, PLACES.get(measure.views.ties, "")
        rows = np.unique(np.concatenate([shelf.document[shelf.start < end] for shelf in self.shelves[order]]))
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
    return not measure.views.condensed and measure.views.ties in PLACES


def _shelves(alignments: Sequence[Alignment], place: str) -> Iterator[Shelf]:
    """The lists of all runs, those of like width together."""
    queries = len(alignments[0].length)
    many = [len(one.rows["query"]) for one in alignments]
    at = np.concatenate([one.rows["query"] for one in alignments]) + queries * np.repeat(np.arange(len(many)), many)
    flat = {name: np.concatenate([one.rows[name] for one in alignments]) for name in FLAT}
    if place:
        flat["start"] = flat["start"] + flat[place]
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
