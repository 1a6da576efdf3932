"""`Rankings`: the positions of judged documents, one row per document, from which batches are built; samples."""

from __future__ import annotations

from _thread import allocate_lock  # the Lock of `threading`, which is slow to load
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

from cranfield import native
from cranfield.data import Array, Booleans, Bytes, Floats, Integers, JudgmentSample, PreferenceJudgments, Strings
from cranfield.io.runs import Positions
from cranfield.ranking.batch import Batch, cached_property, constant, lexsorted, scatter, summed
from cranfield.ranking.subtopics import GainOfGrade, Subtopics

if TYPE_CHECKING:
    from cranfield.corpus.judged import Reading
    from cranfield.io.named_tables import Items

Position = Literal["by_id", "by_input"]
NUMBERING = allocate_lock()  # runs are scored in several threads, which must not give one number to different sets


class Shown(NamedTuple):
    """The documents of rankings, judged or not: the id of each row, its row in the items, and these.

    The row is -1 for a document that is not among the items.
    """

    ids: Strings
    row: Integers
    items: Items | None

    def numbers(self, attribute: str, missing: float | None) -> Floats:
        """The attribute of each document; ``missing``, or NaN, if it has none."""
        assert self.items is not None  # `evaluation.run_scores` checks it
        values = np.append(self.items.numbers(attribute), np.nan)[self.row]
        return values if missing is None else np.where(np.isnan(values), missing, values)


class GainMapping(Protocol):
    """The mapping from grades to gains of a measure; equal mappings are equal keys.

    ``attribute``: the attribute of documents that is the gain instead, and its value where a document has none.
    """

    @property
    def attribute(self) -> tuple[str, float | None] | None: ...

    def of(self, grade: Floats, top: float) -> Floats:
        """The gain of each grade; ``top`` is the highest grade of the collection."""


@dataclass(eq=False, repr=False)
class Judged:
    """The judged documents of a collection and their gains, which all runs share.

    ``grade``: the grade of each row of the judgments. ``top``: the highest grade of the collection. ``nil``: the rows
    that mean "no answer". ``subtopics``: the judgments by subtopic; ``reading``: the text of documents;
    ``judged_pairs``: the preferences between documents; ``costs``: the cost of each row, NaN if it is not given;
    ``sample``: how the judged documents were drawn, if they are a sample. ``complete``: a document that is not here is
    not relevant. ``shown``: the ids and items of the rows, if these are all documents of a run.
    """

    grade: Floats
    top: float
    nil: Booleans | None = None
    subtopics: Subtopics | None = None
    reading: Reading | None = None
    judged_pairs: PreferenceJudgments | None = None
    costs: Floats | None = None
    sample: JudgmentSample | None = None
    complete: bool = False
    shown: Shown | None = None
    _gains: dict[GainMapping, Floats] = field(default_factory=dict, init=False)
    _sets: tuple[list[Bytes], dict[GainMapping, int]] = field(default_factory=lambda: ([], {}), init=False)

    @cached_property
    def has_negative(self) -> bool:
        """Whether some document is pooled but not judged."""
        return bool((self.grade < 0).any())

    def gain(self, gains: GainMapping) -> Floats:
        """The gain of each row of the judgments."""
        if gains not in self._gains:
            if self.shown is None or gains.attribute is None:
                self._gains[gains] = gains.of(self.grade, self.top)
            else:
                self._gains[gains] = self.shown.numbers(*gains.attribute)
        return self._gains[gains]

    def gaining_set(self, gains: GainMapping) -> int:
        """A number for the set of documents with a gain; equal numbers mean equal sets."""
        sets, numbers = self._sets
        if gains not in numbers:
            gaining = (self.gain(gains) > 0).view(np.uint8)
            with NUMBERING:
                number = next((i for i, other in enumerate(sets) if np.array_equal(gaining, other)), len(sets))
                if number == len(sets):
                    sets.append(gaining)
                numbers[gains] = number
        return numbers[gains]

    def gaining(self, gains: GainMapping) -> Bytes:
        """1 for each document with a gain, else 0."""
        return self._sets[0][self.gaining_set(gains)]

    @property
    def anonymous(self) -> bool:
        """Whether no measure needs the identity of documents."""
        others = self.subtopics, self.reading, self.judged_pairs, self.costs, self.sample, self.shown
        return all(other is None for other in others)


class PoolGains(NamedTuple):
    """The gains of all judged documents of each query, retrieved or not; see `Batch` for the fields."""

    ideal: Floats
    R: Floats
    N: Floats
    mass: Floats
    top: float
    gain_of_grade: GainOfGrade
    ideal_sums: dict[Any, Floats]

    def take(self, rows: Integers) -> PoolGains:
        """The gains of these queries."""
        ideal, R, N, mass = (values[rows] for values in self[:4])
        return self._replace(ideal=ideal, R=R, N=N, mass=mass, ideal_sums={})


@dataclass(frozen=True)
class _GainOfGrade:
    """A gain mapping with the top grade of the collection."""

    gains: GainMapping
    top: float

    def __call__(self, grade: Floats) -> Floats:
        return self.gains.of(grade, self.top)


@dataclass(eq=False, repr=False)
class Pool:
    """All judged documents of some queries, retrieved or not; they do not depend on the run.

    ``query``: the rows of the queries in the judgments, -1 for an unjudged query. ``row``, ``document``: for each
    judged document, the index of its query in the pool, and its row in the judgments. ``nil_grade``: the grade of "no
    answer" for each query, NaN without NIL.
    """

    judged: Judged
    query: Integers
    row: Integers
    document: Integers
    nil_grade: Floats

    @classmethod
    def of(cls, judged: Judged, row: Integers, document: Integers, query: Integers) -> Pool:
        """A pool without NIL."""
        return cls(judged, query, row, document, np.full(len(query), np.nan))

    @cached_property
    def _gains(self) -> dict[GainMapping, PoolGains]:
        return {}

    @cached_property
    def memo(self) -> dict[Any, Any]:
        """A cache of what measures derive from the pool alone."""
        return {}

    @cached_property
    def _judged(self) -> Integers:
        """The number of documents of each query with a non-negative grade."""
        return np.bincount(self.row[self.judged.grade[self.document] >= 0], minlength=len(self.query))

    def gains(self, gains: GainMapping) -> PoolGains:
        """The gains of the documents of the pool."""
        if gains not in self._gains:
            gaining, count = self.judged.gaining(gains), len(self.query)
            kept, at, shape, _, _ = native.tabulate(
                self.row, self.document, self.row, gaining, self.judged.grade, count
            )
            ideal = -np.sort(-scatter(self.judged.gain(gains)[self.document[kept]], at, shape, 0), axis=1)
            R = np.bincount(self.row[kept], minlength=count).astype(np.float64)
            top = float(gains.of(np.array([self.judged.top]), self.judged.top)[0])
            gain_of_grade = _GainOfGrade(gains, self.judged.top)
            self._gains[gains] = PoolGains(ideal, R, self._judged - R, summed(ideal), top, gain_of_grade, {})
        return self._gains[gains]


@dataclass(eq=False, repr=False)
class Rankings:
    """The positions of the judged documents of rankings, with what is judged for their queries.

    ``row``: the ranking; ``document``, ``start``, ``size``, ``by_id``, ``by_input``: as in `Positions`.
    ``length``: the number of documents of each ranking, judged or not. ``pool_row``: the query of each ranking in the
    pool, if rankings and queries do not correspond one to one. ``memo``: a cache that measures with the same view
    share.
    """

    pool: Pool
    length: Integers
    row: Integers
    document: Integers
    start: Integers
    size: Integers
    by_id: Integers
    by_input: Integers
    pool_row: Integers | None = field(default=None, kw_only=True)
    memo: dict[Any, Any] = field(default_factory=dict, kw_only=True)

    @property
    def judged(self) -> Judged:
        return self.pool.judged

    @property
    def positions(self) -> Positions:
        return Positions(self.row, self.document, self.start, self.size, self.by_id, self.by_input)

    @property
    def query(self) -> Integers:
        """The row of the query of each ranking in the judgments; -1 for none."""
        return self.pool.query if self.pool_row is None else self.pool.query[self.pool_row]

    @property
    def nil_grade(self) -> Floats:
        """The grade of "no answer" for the query of each ranking; NaN without NIL."""
        return self.pool.nil_grade if self.pool_row is None else self.pool.nil_grade[self.pool_row]

    @cached_property
    def tied(self) -> bool:
        """Whether any judged document has the same score as another document."""
        return bool((self.size > 1).any())

    def count(self, chosen: Booleans) -> Integers:
        """The number of chosen documents in each ranking."""
        return np.bincount(self.row[chosen], minlength=len(self.length))

    @property
    def nil(self) -> Booleans:
        """The rows that mean "no answer"."""
        nil = self.judged.nil
        return np.zeros(len(self.row), bool) if nil is None else nil[self.document]

    def rankings(self, chosen: Integers) -> Rankings:
        """The chosen rankings, whose indices must ascend."""
        number = np.full(len(self.length), -1)
        number[chosen] = np.arange(len(chosen))
        kept = np.flatnonzero(number[self.row] >= 0)
        row, *columns = self.positions.take(kept)
        rows = chosen if self.pool_row is None else self.pool_row[chosen]
        return Rankings(self.pool, self.length[chosen], number[row], *columns, pool_row=rows)

    def batch(self, gains: GainMapping, position: Position | None, *, all_documents: bool = True) -> Batch:
        """The rankings as a batch for measures.

        ``position``: the field that orders tied documents; None leaves them tied. ``all_documents``: keep judged
        documents without gain.
        """
        key = gains, position, all_documents
        batch: Batch | None = self.memo.get(key)
        if batch is None:
            batch = self.memo[key] = self._batch(gains, position, all_documents=all_documents)
        return batch

    def with_pool(self, batch: Batch) -> Batch:
        """A batch of these rankings that knows all judged documents, retrieved or not."""
        rows = np.arange(len(self.length)) if self.pool_row is None else self.pool_row
        return batch.changed(pool=self.pool, pool_row=rows)

    def _batch(self, gains: GainMapping, position: Position | None, *, all_documents: bool) -> Batch:
        table, pool = self._table(gains, position, all_documents=all_documents), self.pool.gains(gains)
        if self.pool_row is not None:
            pool = pool.take(self.pool_row)
        gain = scatter(self.judged.gain(gains)[table.document], table.at, table.shape, 0)
        return Batch.of(**table.fields | pool._asdict() | {"gain": gain})

    def _table(self, gains: GainMapping, position: Position | None, *, all_documents: bool) -> _Table:
        """The cells of the documents in a batch; gain mappings with the same gaining documents share it."""
        key = "table", position, None if all_documents else self.judged.gaining_set(gains)
        if key not in self.memo:
            self.memo[key] = self._tabulated(gains, position, all_documents=all_documents)
        table: _Table = self.memo[key]
        return table

    def _tabulated(self, gains: GainMapping, position: Position | None, *, all_documents: bool) -> _Table:
        judged = self.judged
        row, document, start, size = self._ordered(position)
        keep = None if all_documents else judged.gaining(gains)
        if keep is not None and judged.nil is not None:
            keep = keep | judged.nil
        kept, at, shape, starts, grades = native.tabulate(row, document, start, keep, judged.grade, len(self.length))
        document = document[kept]

        def table(values: Array, empty: float) -> Array:
            return scatter(values, at, shape, empty)

        fields = {
            "grade": grades,
            "start": starts,
            "size": constant(1, shape) if size is None else table(size[kept], 1),
            "nil": constant(False, shape) if judged.nil is None else table(judged.nil[document], 0),
            "document": constant(-1, shape) if judged.anonymous else table(document, -1),
            "length": self.length,
            "query": self.query,
            "nil_grade": self.nil_grade,
            "tail": np.zeros(len(self.length)),
            "subtopics": judged.subtopics,
            "reading": judged.reading,
            "judged_pairs": judged.judged_pairs,
            "costs": judged.costs,
            "shown": judged.shown,
            "pool": None,
            "pool_row": None,
        }
        return _Table(document, at, shape, fields)

    def _ordered(self, position: Position | None) -> tuple[Integers, Integers, Integers, Integers | None]:
        """Row, document, start and size of each document, with tied documents in order of a position, or left tied.

        The sizes are None if all of them are 1.
        """
        if not self.tied:
            return self.row, self.document, self.start, None
        if position not in self.memo:
            if position is None:
                order = self._by_grade()
                self.memo[position] = self.row, self.document[order], self.start, self.size
            else:
                # Only tied documents move, and only within their tie.
                tied = np.flatnonzero(self.size > 1)
                rank = self.start[tied] + getattr(self, position)[tied]
                order = np.argsort(self.row[tied] * (int(rank.max()) + 1) + rank, kind="stable")
                start, document = self.start.copy(), self.document.copy()
                start[tied], document[tied] = rank[order], document[tied[order]]
                self.memo[position] = self.row, document, start, None
        ordered: tuple[Integers, Integers, Integers, Integers | None] = self.memo[position]
        return ordered

    def _by_grade(self) -> Integers:
        """The order of tied documents by grade, then by id if known, so that sums do not depend on the input order."""
        order = np.arange(len(self.row))
        same = (self.row[1:] == self.row[:-1]) & (self.start[1:] == self.start[:-1])
        if same.any():
            tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
            group = np.append(0, np.cumsum(~same))[tied]
            keys = self.by_id[tied], self.nil[tied], -self.judged.grade[self.document[tied]], group
            order[tied] = tied[lexsorted(keys)]
        return order

    def mixed_ties(self, *, any_grade: bool = False) -> Booleans:
        """The relevant documents that are tied with a document of another grade or with an unjudged document.

        ``any_grade``: documents of grade 0 as well.
        """
        tied, grade, nil = self.size > 1, self.judged.grade[self.document], self.nil
        if self.judged.shown is not None:  # documents of equal grade differ
            return tied
        relevant = tied & (any_grade | (grade > 0))
        if not (relevant | (tied & nil)).any():
            return np.zeros(len(tied), bool)
        first_of_tie = np.append(True, (self.row[1:] != self.row[:-1]) | (self.start[1:] != self.start[:-1]))
        first, group = np.flatnonzero(first_of_tie), np.cumsum(first_of_tie) - 1
        low, high = np.minimum.reduceat(grade, first), np.maximum.reduceat(grade, first)
        mixed = ((low != high) | (np.bincount(group) < self.size[first]))[group]
        # The position of NIL determines the end of a list, whatever the grades in its tie.
        return (relevant & mixed) | (tied & nil)


class _Table(NamedTuple):
    """The documents in the cells of a table, and all fields of a batch except gains."""

    document: Integers
    at: Integers
    shape: tuple[int, int]
    fields: dict[str, Any]


def from_ranking(ranking: Iterable[Any], missed: Sequence[float] = ()) -> Rankings:
    """The ranking of one query from grades, best first: None is unjudged, a tuple is a tie.

    ``missed``: the grades of judged documents that are not retrieved.
    """
    rows: list[tuple[float, int, int, int]] = []
    start = 0
    for group in (tuple(group) if isinstance(group, (tuple, list)) else (group,) for group in ranking):
        rows += [(grade, start, len(group), i) for i, grade in enumerate(group) if grade is not None]
        start += len(group)
    table = np.array(rows, float).reshape(-1, 4)
    grade = np.concatenate([table[:, 0], np.array(missed, float)])
    at, size, position = table[:, 1:].T.astype(np.int64)
    judged = Judged(grade, float(max(grade.max(initial=0), 0)))
    every, first = np.arange(len(grade)), np.zeros(1, np.int64)
    pool = Pool.of(judged, np.zeros_like(every), every, first)
    return Rankings(pool, first + start, np.zeros_like(at), every[: len(at)], at, size, position, position)


def from_tables(
    grade: Floats,
    start: Integers,
    size: Integers,
    position: Integers,
    length: Integers,
    top: float,
    **judged_fields: Any,
) -> Rankings:
    """Rankings from tables with one row per ranking; NaN means no document. All judged documents are retrieved."""
    row, column = np.nonzero(~np.isnan(grade))
    document = np.arange(len(row))
    judged = Judged(grade[row, column], top, **judged_fields)
    pool = Pool.of(judged, row, document, np.arange(len(length)))
    starts, sizes, positions = (x[row, column] for x in (start, size, position))
    return Rankings(pool, length, row, document, starts, sizes, positions, positions)


# Judgments that are a sample of a pool: strata, the chance of each document to be drawn, and expanded gains.
#
# A pooled document that was not drawn has a negative grade. Without a sample all documents of a query are in one
# stratum.


class Strata(NamedTuple):
    """The strata of a pool: that of each row of the judgments, and documents and drawn ones by (query, stratum)."""

    of_document: Integers
    size: Floats
    drawn: Floats


def strata(pool: Pool) -> Strata:
    """The strata of a pool."""
    if "strata" not in pool.memo:
        judged, queries = pool.judged, len(pool.query)
        of_document = np.zeros(len(judged.grade), np.int64) if judged.sample is None else judged.sample.stratum
        stratum = of_document[pool.document]
        count = int(stratum.max(initial=0)) + 1
        cell, is_drawn = pool.row * count + stratum, judged.grade[pool.document] >= 0
        size, drawn = (
            np.bincount(cell[chosen], minlength=queries * count).reshape(queries, count).astype(np.float64)
            for chosen in (np.ones(len(cell), bool), is_drawn)
        )
        pool.memo["strata"] = Strata(of_document, size, drawn)
    of_pool: Strata = pool.memo["strata"]
    return of_pool


def share(count: Floats, total: Floats) -> Floats:
    """A share, 0 of nothing."""
    return np.divide(count, total, out=np.zeros_like(count), where=total > 0)


def probabilities(pool: Pool) -> Floats:
    """The chance of each row of the judgments to be drawn: as given, or the share of its stratum that was drawn."""
    if "probabilities" not in pool.memo:
        sample = pool.judged.sample
        if sample is not None and sample.probability is not None and not sample.stratified:
            chances = sample.probability
            if sample.method is not None:
                chances = np.where(np.isin(sample.method, (0, 2)), 1.0, chances)
        else:
            of_pool = strata(pool)
            chances = np.ones(len(pool.judged.grade))
            chances[pool.document] = share(of_pool.drawn, of_pool.size)[pool.row, of_pool.of_document[pool.document]]
        pool.memo["probabilities"] = chances
    result: Floats = pool.memo["probabilities"]
    return result


def expanded(rankings: Rankings, batch: Batch) -> Batch:
    """The batch with every gain divided by the chance of its document to be drawn (Horvitz and Thompson, 1952).

    A sum over documents of gain times weight is then an unbiased estimate of the same sum over all of them.
    """
    pool = rankings.pool
    rows = np.arange(len(rankings.length)) if rankings.pool_row is None else rankings.pool_row
    if pool.judged.sample is None:
        of_pool = strata(pool)
        chances = np.broadcast_to(share(of_pool.drawn, of_pool.size)[rows], batch.grade.shape)
    else:
        chances = probabilities(pool)[batch.document]
    gaining = (batch.gain > 0) & (chances > 0)
    return batch.changed(gain=np.divide(batch.gain, chances, out=np.zeros_like(batch.gain), where=gaining))
