"""The scores of the same runs under subsets of the judgments, without reading anything again; samples of judgments.

Runs are read and aligned with the judgments once. After that a subset of the judgments is a selection of their rows.
Everything that a measure takes from judgments (R, N, the ideal ranking, the top grade, subtopics) is computed from the
selected rows, so that scores equal those of `evaluate` with a file of these judgments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.corpus.judged import Partial, Products, Reading
from cranfield.data import Booleans, Floats, Integers, Judgments, Labels
from cranfield.errors import MeasureError
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.plan import AlignmentKey
from cranfield.evaluation.run_scores import check_measurable
from cranfield.io.runs import Positions
from cranfield.measures import Measure
from cranfield.ranking.alignment import Alignment
from cranfield.ranking.batch import Key, ragged
from cranfield.ranking.rankings import Judged, Pool, Position, Rankings
from cranfield.ranking.subtopics import Subtopics

# Cells of a batch that are processed at a time: they fit into a processor's cache.
CELLS = 1 << 15

# The key that ranks documents, and the position within a tie group that fixes their order; None if ties stay open.
Order = tuple[Key, Position | None]
TREC: Order = ("score", "by_id")


def order_of(measure: Measure) -> Order:
    """The order in which a measure reads documents."""
    rule = measure.views.rule
    return rule.key, rule.position


@dataclass(frozen=True, eq=False)
class RankingBlock:
    """Rankings with similar numbers of judged documents, from any runs, as flat rows: ranking by ranking, best first.

    ``rankings``: their numbers, run × queries + query; ``positions``: of documents; rankings are counted in this block.
    """

    rankings: Integers
    query: Integers
    length: Integers
    positions: Positions

    def rankings_under(self, subset: JudgmentSubset) -> Rankings:
        """The rankings under a subset of the judgments."""
        positions = self.positions.take(np.flatnonzero(subset.keep[self.positions.document]))
        return Rankings(subset.pool, self.length, *positions, pool_row=self.query)


@dataclass(frozen=True, eq=False)
class JudgmentSubset:
    """A subset of the judgments, and what measures take from it for any run.

    ``keep``: the documents that measures see; ``reading``: the texts, for measures that read them.
    """

    judgments: Judgments
    grade: Floats
    keep: Booleans
    by_subtopic: bool
    reading: Reading | None = None

    @cached_property
    def judged_counts(self) -> Integers:
        """The number of judged documents of each query."""
        return np.diff(np.append(0, np.cumsum(self.keep))[self.judgments.begin])

    @cached_property
    def top_grade(self) -> float:
        """The highest grade."""
        return float(max(self.grade[self.keep].max(initial=0), 0))

    @cached_property
    def pool(self) -> Pool:
        """All documents that measures see, by query."""
        judged = Judged(self.grade, self.top_grade, None, self.subtopics, self.reading)
        queries = np.arange(len(self.judged_counts))
        return Pool.of(judged, np.repeat(queries, self.judged_counts), np.flatnonzero(self.keep), queries)

    @cached_property
    def subtopics(self) -> Subtopics | None:
        """The subtopics of the judged documents, if a measure uses them."""
        labels = self.judgments.labels
        if labels is None or not self.by_subtopic:
            return None
        kept = self.keep[labels.document]
        selected = Labels(labels.document[kept], labels.subtopic[kept], labels.grade[kept], labels.names)
        return Subtopics(replace(self.judgments, labels=selected), self.top_grade)


class Relabeller:
    """Runs that are read once and scored under any number of subsets of their judgments.

    A subset is a selection of rows of ``judgments`` (a document with all its subtopics is one row); documents outside
    the selection are unjudged.

    >>> from cranfield import Evaluator
    >>> run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    >>> runs = Relabeller(Evaluator({"q": {"a": 1, "b": 0, "c": 1}}, ["P@2", "AP"]).evaluation(run))
    >>> runs.values(np.array([True, True, True])).round(3).tolist()
    [[[0.5], [0.833]]]
    >>> runs.values(np.array([False, False, True])).round(3).tolist()
    [[[0.0], [0.333]]]
    """

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation, self.judgments = evaluation, evaluation.judgments
        self.measures = tuple(column.measure for column in evaluation.columns)
        self.seed = evaluation.policy.seed
        self.orders: dict[Order, list[int]] = {TREC: []}
        for m, measure in enumerate(self.measures):
            if measure.definition.collection:
                raise MeasureError(
                    f"{measure} cannot be scored with a part of the judgments: it depends on those of all queries"
                )
            self.orders.setdefault(order_of(measure), []).append(m)
        runs = evaluation.run_scores
        for run in runs:
            for column in evaluation.columns:
                check_measurable(run.run, run.alignments[column.alignment], column.measure)
        content = any(measure.definition.content for measure in self.measures)
        self.aligner = runs[0].alignments[AlignmentKey(content, "score")].aligner
        self.products: dict[Any, Products] = {}
        # With a corpus, the aligner's judgments also hold the unjudged documents, after the judged ones of each query.
        counts = np.diff(self.judgments.begin)
        self.judgment_rows = np.arange(len(self.judgments.grade)) + np.repeat(
            (self.aligner.judgments.begin - self.judgments.begin)[:-1], counts
        )
        self.grade = self.aligner.grade[self.judgment_rows]
        self.answered = np.array([run.length >= 0 for run in runs])
        self.blocks = {
            (key, position): list(
                ranking_blocks([run.alignments[AlignmentKey(content, key)] for run in runs], position)
            )
            for key, position in self.orders
        }

    def ranks(self) -> Integers:
        """The rank of each judged document in each run, (run, judgment), in trec_eval's order; 0 if not retrieved."""
        ranks = np.zeros((len(self.evaluation.runs), len(self.aligner.grade)), np.int64)
        for block in self.blocks[TREC]:
            query, document, start, *_ = block.positions
            ranks[block.rankings[query] // len(self.judgments.queries), document] = start + 1
        return ranks[:, self.judgment_rows]

    def values(self, keep: Booleans | None = None) -> Floats:
        """The value of every (run, measure, query) under the selected judgments, or under all of them.

        NaN where a measure is undefined, and for queries without a selected judgment.
        """
        judged = np.zeros(len(self.aligner.grade), bool)
        judged[self.judgment_rows] = True if keep is None else keep
        by_subtopic = any(measure.definition.subtopics for measure in self.measures)
        subset = JudgmentSubset(self.aligner.judgments, self.aligner.grade, judged, by_subtopic)
        queries = len(self.judgments.queries)
        values = np.full((len(self.measures), len(self.evaluation.runs) * queries), np.nan)
        for visible, measures in self._visible_subsets(subset):
            for order, blocks in self.blocks.items():
                in_order = [m for m in self.orders[order] if m in measures]
                for block in blocks if in_order else ():
                    rankings = block.rankings_under(visible)
                    for m in in_order:
                        values[m, block.rankings] = self.measures[m].values(rankings, seed=self.seed).value
        table = values.reshape(len(self.measures), len(self.evaluation.runs), queries).transpose(1, 0, 2)
        return np.where(subset.judged_counts > 0, table, np.nan)

    def count_missing_texts(self, measure: Measure) -> tuple[int, int]:
        """The number of documents that a measure reads and the corpus lacks, and the number that it reads."""
        assert self.aligner.reading is not None
        end = measure.cutoff or np.inf
        blocks = self.blocks[order_of(measure)]
        rows = np.unique(np.concatenate([block.positions.document[block.positions.start < end] for block in blocks]))
        return int((self.aligner.reading.document[rows] < 0).sum()), len(rows)

    def _visible_subsets(self, subset: JudgmentSubset) -> Iterator[tuple[JudgmentSubset, set[int]]]:
        """The documents that measures see, and which measures: those that read text see unjudged documents too."""
        readers = {m for m, measure in enumerate(self.measures) if measure.definition.content}
        yield subset, set(range(len(self.measures))) - readers
        if (reading := self.aligner.reading) is None:
            return
        fixed = {m for m in readers if has_fixed_order(self.measures[m])}
        grade = np.where(subset.keep, subset.grade, -1.0)
        everything = replace(subset, grade=grade, keep=np.ones_like(subset.keep), by_subtopic=False)
        yield replace(everything, reading=Partial(reading, subset.keep, self.products)), fixed
        yield replace(everything, reading=Partial(reading, subset.keep)), readers - fixed


def has_fixed_order(measure: Measure) -> bool:
    """Whether a measure reads documents in one order, whatever is judged."""
    return not measure.views.condensed and measure.views.rule.fixes_order


def ranking_blocks(alignments: Sequence[Alignment], position: Position | None) -> Iterator[RankingBlock]:
    """The rankings of all runs, grouped by similar numbers of judged documents."""
    queries = len(alignments[0].length)
    counts = [len(alignment.positions.query) for alignment in alignments]
    flat = Positions.concatenate([alignment.positions for alignment in alignments])
    ranking = flat.query + queries * np.repeat(np.arange(len(counts)), counts)
    if position:
        flat = flat._replace(start=flat.start + getattr(flat, position), size=np.ones_like(flat.size))
    length = np.maximum(np.concatenate([alignment.length for alignment in alignments]), 0)
    width = np.bincount(ranking, minlength=len(length))
    by_width = np.argsort(-width, kind="stable")
    block_of, begin = np.zeros(len(length), np.int64), 0
    while begin < len(by_width):
        end = begin + max(1, CELLS // max(int(width[by_width[begin]]), 1))
        block_of[by_width[begin:end]] = begin
        begin = end
    for block in np.unique(block_of):
        rankings = np.flatnonzero(block_of == block)
        number = np.full(len(length), -1)
        number[rankings] = np.arange(len(rankings))
        rows = np.flatnonzero(number[ranking] >= 0)
        row = number[ranking[rows]]
        # A tie rule may have reordered documents within ties; other documents keep their order.
        order = np.lexsort((flat.start[rows], row))
        yield RankingBlock(
            rankings,
            rankings % queries,
            length[rankings],
            flat.take(rows[order])._replace(query=row[order]),
        )


RELEVANT, NONRELEVANT = 0, 1


class JudgmentStrata:
    """The judgments of each query in two strata, relevant and non-relevant: ``sizes`` (query, 2) holds R and N.

    A document is one judgment, whatever number of subtopics it is judged for. A document with a negative grade is
    unjudged: it belongs to no stratum and is always kept.
    """

    def __init__(self, judgments: Judgments, grade: Floats, rel: float = 1.0) -> None:
        query = ragged(np.diff(judgments.begin))[0]
        self.stratum = np.where(grade >= 0, 2 * query + np.where(grade >= rel, RELEVANT, NONRELEVANT), -1)
        self.sizes = np.bincount(self.stratum[self.stratum >= 0], minlength=2 * len(judgments.queries)).reshape(-1, 2)

    def shuffle(self, rng: np.random.Generator) -> Integers:
        """A random position for every judgment within its stratum, from 0.

        The first n positions of a stratum are a random sample of it, and are contained in every larger sample.
        """
        keys = rng.random(len(self.stratum))
        position = np.zeros(len(keys), np.int64)
        order = np.lexsort((keys, self.stratum))
        order = order[self.stratum[order] >= 0]
        position[order] = ragged(self.sizes.ravel())[1]
        return position

    def sample(self, position: Integers, sizes: Integers) -> Booleans:
        """The judgments whose position is below the sample size, ``sizes`` (query, 2), of their stratum."""
        return (self.stratum < 0) | (position < sizes.ravel()[self.stratum])


def nested_samples(
    strata: JudgmentStrata, levels: Sequence[int], sizes: Callable[[Integers, int], Integers], repeats: int, seed: int
) -> Iterator[tuple[int, int, Booleans]]:
    """The level, the repetition and the judgments kept; smaller samples are contained in larger ones.

    ``sizes``: the number of judgments kept of each stratum, from those that there are, at a level.
    """
    for repeat in range(repeats):
        position = strata.shuffle(np.random.default_rng([seed, repeat]))
        for number, level in enumerate(levels):
            yield number, repeat, strata.sample(position, sizes(strata.sizes, level))


def reduced_sizes(sizes: npt.ArrayLike, rate: int, least: tuple[int, int] = (1, 10)) -> Integers:
    """The numbers of relevant and non-relevant judgments kept at a rate in percent; ``sizes`` is (..., 2).

    At least ``least`` are kept, if there are as many (Buckley and Voorhees, SIGIR 2004, and Sakai, SIGIR 2007, use
    1 and 10). Integer arithmetic, because 100 * 0.29 is less than 29.

    >>> reduced_sizes([[4, 911], [15, 30]], 30).tolist()
    [[1, 273], [4, 10]]
    """
    full = np.asarray(sizes, np.int64)
    return np.minimum(full, np.maximum(np.array(least), full * rate // 100))


def sample_sizes(sizes: npt.ArrayLike, rate: int) -> Integers:
    """The numbers of relevant and non-relevant judgments in a sample at a rate in percent, rounded up.

    Hui et al. (ICTIR 2017), section 5.2. Integer arithmetic, because 100 * 0.29 is less than 29.

    >>> sample_sizes([[4, 911], [1, 0]], 30).tolist()
    [[2, 274], [1, 0]]
    """
    return -(-np.asarray(sizes, np.int64) * rate // 100)


def summarize_repeats(values: Floats) -> Floats:
    """Mean, standard deviation, 5th and 95th percentile over the last axis, ignoring undefined values: (4, ...)."""
    defined = np.ma.masked_invalid(values)
    count = defined.count(axis=-1)
    mean = defined.mean(axis=-1).filled(np.nan)
    deviation = np.sqrt(((defined - mean[..., None]) ** 2).sum(axis=-1).filled(np.nan) / np.maximum(count - 1, 1))
    percentiles = np.full((2, *mean.shape), np.nan)
    for index in np.ndindex(mean.shape):
        if count[index]:
            percentiles[(slice(None), *index)] = np.quantile(defined[index].compressed(), [0.05, 0.95])
    return np.stack([mean, deviation, *percentiles])
