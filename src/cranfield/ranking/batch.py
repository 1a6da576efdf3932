"""`Batch`: rankings of many queries as arrays of the positions of judged documents; the input of every measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

from cranfield import native
from cranfield.data import Array, Booleans, Floats, Integers, JudgmentSample, PreferenceJudgments
from cranfield.ranking.subtopics import GainOfGrade, Subtopics

if TYPE_CHECKING:
    from functools import cached_property as cached_property

    from cranfield.corpus.judged import Reading
    from cranfield.ranking.rankings import Pool, Shown
else:

    class cached_property:  # noqa: N801
        """That of functools without its lock, which in Python 3.11 takes longer than most values of a small batch."""

        def __init__(self, function: Callable[[Any], Any]) -> None:
            self.function, self.__doc__ = function, function.__doc__

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self.function.__name__] = self.function(instance)
            return value


Key = Literal["score", "score32", "rank"]
Documents = Literal["judged", "retrieved"]


class Weights(NamedTuple):
    """Weights of ranks: ``total`` is the sum over the first n ranks, and ``at`` the exact weight of one rank.

    ``moment`` is the sum over the first n ranks of weight times rank, if it has a closed form. ``table`` has the
    weights of at least the first n ranks, preceded by that of rank 0.
    """

    total: Callable[[Integers], Floats]
    at: Callable[[Integers], Floats]
    moment: Callable[[Integers], Integers] | None = None
    table: Callable[[int], Floats] | None = None

    def __call__(self, n: Integers) -> Floats:
        recorded = getattr(n, "sum_of_weights", None)  # of a number that is not known yet; see `evaluation.recorded`
        return self.total(n) if recorded is None else recorded(self)


class GainSums(Protocol):
    """Sums of gains, the only input of many measures; a `Batch` provides them, and so do its `Completions`."""

    @property
    def R(self) -> Floats: ...
    @property
    def N(self) -> Floats: ...
    @property
    def mass(self) -> Floats: ...
    @property
    def tail(self) -> Floats: ...
    @property
    def length(self) -> Integers: ...
    @property
    def nonrelevant_retrieved(self) -> Floats: ...

    def gained(self, weights: Weights, k: Integers | int | None = None) -> Floats:
        """Expected sum over the first k documents of gain times weight."""

    def ideal_gained(self, weights: Weights, k: int | None = None, of: Documents = "judged") -> Floats:
        """The same for all judged documents, or for those retrieved, in descending order of gain."""

    def cumulated(self, weights: Weights, k: int | None = None) -> Floats:
        """Expected sum over the first k documents of gain times weight times the cumulated gain at the document."""


class Preferences(GainSums, Protocol):
    """`GainSums` for measures of pairs; `Completions` provide them only for rankings without ties."""

    def preferences(self, limit: Floats, pairs: Floats) -> Floats:
        """Expected sum over documents of gain times (1 - min(misplaced, limit) / pairs)."""


MOST_RANKS = 1000  # the length of most rankings, for which tables of weights suffice
# A batch is padded to its widest query; above this number of cells, queries of similar width are grouped.
CELLS = 1 << 20


@dataclass(eq=False, repr=False)
class Batch:
    """Rankings as their judged documents, best first; rows are padded with grade NaN and gain 0.

    ``grade``, ``gain`` (q, j): the judgment, and its gain for the current measure.
    ``start``, ``size`` (q, j): the document has one of the ranks start+1 .. start+size, which is its *span*.
    ``nil`` (q, j): the document id stands for "no answer"; ``nil_grade`` (q,): the grade of "no answer".
    ``document`` (q, j), ``query`` (q,): rows in the judgments, -1 for none.
    ``length`` (q,): the number of documents retrieved. A depth may end a ranking inside a tie.
    ``tail`` (q,): the gain of every rank below the last; 0 unless the ranking ends in a terminal document.
    ``ideal`` (q, g): the gains of all judged documents in descending order; ``ideal_sums``: cached sums of these, which
    all runs share.
    ``R``, ``N`` (q,): the numbers of relevant and of judged non-relevant documents, retrieved or not.
    ``mass`` (q,): the sum of the gains of all judged documents; R, if gains are 0 and 1. ``top``: the gain of the
    highest grade. ``gain_of_grade``: the mapping from grades to gains of the current measure, for grades by subtopic.
    ``subtopics``: the judgments by subtopic; ``reading``: the text of documents; ``judged_pairs``: the preferences
    between documents, if the judgments are preferences.
    ``costs``: the cost of each row of the judgments, NaN if it has none; None without costs. ``shown``: the ids and
    items of these rows, if they are all documents of the rankings.
    ``pool``, ``pool_row`` (q,): all judged documents, retrieved or not, and the row of each query there; only for
    measures of sampled judgments.
    """

    grade: Floats
    gain: Floats
    start: Integers
    size: Integers
    nil: Booleans
    document: Integers
    length: Integers
    query: Integers
    nil_grade: Floats
    tail: Floats
    ideal: Floats
    R: Floats
    N: Floats
    mass: Floats
    top: float
    gain_of_grade: GainOfGrade | None = None
    ideal_sums: dict[Any, Floats] = field(default_factory=dict)
    subtopics: Subtopics | None = None
    reading: Reading | None = None
    judged_pairs: PreferenceJudgments | None = None
    costs: Floats | None = None
    shown: Shown | None = None
    pool: Pool | None = None
    pool_row: Integers | None = None

    def changed(self, **fields: Any) -> Batch:
        """A copy with some fields replaced, and nothing cached."""
        if "ideal" in fields:
            fields["ideal_sums"] = {}
        return Batch.of(**{name: self.__dict__[name] for name in FIELDS} | fields)

    @classmethod
    def of(cls, **fields: Any) -> Batch:
        """A batch with all these fields; faster than the constructor of a frozen dataclass."""
        batch = object.__new__(cls)
        batch.__dict__.update(fields)
        return batch

    @cached_property
    def memo(self) -> dict[Any, Any]:
        """A cache that measures with the same view share."""
        return {}

    @property
    def anonymous(self) -> bool:
        """Whether no measure needs the identity of documents."""
        others = self.subtopics, self.reading, self.judged_pairs, self.costs, self.shown, self.pool
        return all(other is None for other in others)

    @property
    def sample(self) -> JudgmentSample | None:
        """How the judged documents were drawn, if they are a sample."""
        return None if self.pool is None else self.pool.judged.sample

    @cached_property
    def judged(self) -> Booleans:
        """Neither padding nor a negative grade, which means 'pooled but not judged'."""
        return self.grade >= 0

    @cached_property
    def relevant(self) -> Booleans:
        return self.gain > 0

    @property
    def full_gain(self) -> float:
        """The gain of an unjudged document at its best, for residuals: 1, or that of a top grade above ``max``."""
        return max(self.top, 1.0)

    def seen(self, k: Integers | int | None = None) -> Integers:
        """The number of positions of each span in the first k (a number, or one for each query)."""
        end = self.length if k is None else np.minimum(self.length, k)
        return np.clip(end[:, None] - self.start, 0, self.size)

    def mean_over(self, weights: Weights, k: Integers | int | None = None) -> Floats:
        """The expected weight of each document: the mean over its span, with weight 0 below rank k."""
        # The weight of a single rank is exact; a difference of sums would be rounded.
        if not self.has_ties:
            exact = weights.at(self.start + 1)
            if k is None:
                return exact
            return np.where(self.start < (k if isinstance(k, int) else np.reshape(k, (-1, 1))), exact, 0)
        seen = self.seen(k)
        start = self.start if k is None else np.where(seen > 0, self.start, 0)  # no weights are needed below rank k
        exact = np.where(seen > 0, weights.at(start + 1), 0)
        return np.where(self.size == 1, exact, (weights(start + seen) - weights(start)) / self.size)

    def span_sums(self, weights: Weights, k: Integers | int | None = None) -> tuple[Floats, Floats]:
        """Sums over the positions x = 1..m of each span in the first k of w(t+x), and of (x-1) w(t+x)."""
        own = self.mean_over(weights, k) * self.size
        assert weights.moment is not None  # only measures with such weights call this
        times_rank = weights.moment(self.start + self.seen(k)) - weights.moment(self.start)
        return own, times_rank - (self.start + 1) * own

    def gained(self, weights: Weights, k: Integers | int | None = None) -> Floats:
        if weights.table is not None and not self.has_ties and (k is None or isinstance(k, int)):
            return self._summed(native.weighted_sums, weights.table, k)
        return summed(self.gain * self.mean_over(weights, k))

    def _summed(self, sums: Callable[..., Floats], table: Callable[[int], Floats], k: int | None) -> Floats:
        """Weighted sums over rankings without ties, with a table that covers all ranks."""
        try:
            return sums(self.gain, self.start, table(MOST_RANKS), -1 if k is None else k)
        except IndexError:
            return sums(self.gain, self.start, table(int(self.start.max()) + 1), -1 if k is None else k)

    def ideal_gained(self, weights: Weights, k: int | None = None, of: Documents = "judged") -> Floats:
        sums = self.ideal_sums if of == "judged" else {}  # all runs share the ideal of the judgments
        if (weights, k) not in sums:
            ideal = self.best_order(of)[:, :k]
            sums[weights, k] = summed(ideal * weights.at(np.arange(ideal.shape[1]) + 1))
        return sums[weights, k]

    def best_order(self, of: Documents) -> Floats:
        """The gains of all judged documents, or of those retrieved, in descending order."""
        return self.ideal if of == "judged" else -np.sort(-self.gain, axis=1)

    def judged_weight(self, weights: Weights, k: Integers | int | None = None) -> Floats:
        """Expected sum over the judged documents of the first k of their weights."""
        return summed(self.judged * self.mean_over(weights, k))

    def highest_weight(self, weights: Weights, k: Integers | int | None = None) -> Floats:
        """The highest weight of a relevant document of the first k, for rankings without ties; 0 if there is none."""
        in_top = self.relevant if k is None else self.relevant & (self.start < k)
        highest: Floats = np.maximum.reduce(in_top * weights.at(self.start + 1), axis=1)
        return highest

    def cumulated(self, weights: Weights, k: Integers | int | None = None) -> Floats:
        if weights.table is not None and not self.has_ties and (k is None or isinstance(k, int)):
            return self._summed(native.cumulated_sums, weights.table, k)
        return summed(self.gain * self.cumulated_over(weights, k) / self.size)

    def cumulated_over(self, weights: Weights, k: Integers | int | None = None) -> Floats:
        """The sum over the span of each document of weight times the expected cumulated gain at the document."""
        above = self.above(self.gain) + self.gain
        # Let a span of n documents have total gain G, with gain C above it. At a document with gain g at position x of
        # the span, the mean cumulated gain is C + g + (x-1)(G-g)/(n-1).
        own, later = self.span_sums(weights, k)
        others = (self.within(self.gain) - self.gain) / np.maximum(self.size - 1, 1)
        return above * own + others * later

    def preferences(self, limit: Floats, pairs: Floats) -> Floats:
        if not self.has_ties:
            return native.preference_sums(self.gain, self.grade, limit, pairs)
        return summed(self.gain * self.mean_preferred(limit, pairs))

    def mean_preferred(self, limit: Floats, pairs: Floats) -> Floats:
        """The expected share of pairs that are not misplaced, for each document."""
        return 1 - penalty(self.misplaced(limit), pairs[:, None])

    def misplaced(self, limit: Floats) -> Floats:
        """The mean over the orders of ties of min(number of non-relevant documents above, limit), for each document.

        Of s non-relevant documents in its tie, any number from 0 to s is above with the same probability.
        """
        nonrel = self.judged & ~self.relevant
        above, inside, limit = self.above(nonrel), self.within(nonrel), limit[:, None]
        room = np.clip(limit - above, 0, inside)
        total = (room + 1) * np.minimum(above, limit) + room * (room + 1) / 2 + (inside - room) * limit
        return total / (inside + 1)

    @property
    def nonrelevant_retrieved(self) -> Floats:
        """The number of judged non-relevant documents retrieved."""
        return (self.judged & ~self.relevant).sum(axis=1).astype(np.float64)

    @cached_property
    def _edges(self) -> tuple[Integers, Integers]:
        """The first and last column of the tie group of each column."""
        first = np.ones_like(self.start, dtype=bool)
        first[:, 1:] = self.start[:, 1:] != self.start[:, :-1]
        return edges(first)

    def above(self, x: Array) -> Floats:
        """The sum of x over the documents above the span of each document."""
        if not self.has_ties:
            return (running(x) - x).astype(np.float64, copy=False)
        return reorder(running(x) - x, self._edges[0]).astype(np.float64, copy=False)

    def within(self, x: Array) -> Floats:
        """The sum of x over the documents in the span of each document, including itself."""
        if not self.has_ties:
            return x.astype(np.float64)
        return reorder(running(x), self._edges[1]) - self.above(x)

    @cached_property
    def order(self) -> Integers:
        """The index of each document among the judged documents of its span, by column."""
        return np.arange(self.start.shape[1]) - self._edges[0]

    @cached_property
    def has_ties(self) -> bool:
        """Whether any query has tied judged documents."""
        return any(self.size.strides) and bool((self.size > 1).any())

    @cached_property
    def tied(self) -> Booleans:
        """The queries with tied judged documents."""
        return np.any((self.size > 1) & ~np.isnan(self.grade), axis=1)

    def sorted(self) -> Batch:
        """The batch with columns sorted by rank, which is necessary after spans have moved."""
        key = np.where(np.isnan(self.grade), np.iinfo(np.int64).max, self.start)
        if (key[:, 1:] >= key[:, :-1]).all():
            return self
        return self.columns(np.argsort(key, axis=1, kind="stable"))

    def only(self, keep: Booleans) -> Batch:
        """The batch in which all other documents are replaced by padding."""
        emptied: dict[str, Any] = {name: np.where(keep, getattr(self, name), empty) for name, empty in COLUMNS.items()}
        return self.changed(**emptied).sorted()

    def columns(self, order: Integers) -> Batch:
        """The batch with the columns of each row reordered."""
        moved: dict[str, Any] = {}
        for name in COLUMNS:
            values = getattr(self, name)
            if values.strides[1]:  # else the values of a row are constant
                moved[name] = reorder(values, order)
        return self.changed(**moved)

    def rows(self, chosen: Array) -> Batch:
        """The batch of these queries; queries may repeat."""
        by_query = ["length", "ideal", "R", "N", "mass", "tail", "nil_grade", "query"]
        by_query += [] if self.pool_row is None else ["pool_row"]
        return self.changed(**{name: take_rows(getattr(self, name), chosen) for name in (*COLUMNS, *by_query)})

    def compact(self, keep: Booleans) -> Batch:
        """The batch with only these documents, and no wider than necessary."""
        counts = keep.sum(axis=1)
        width = max(int(counts.max(initial=0)), 1)
        if width == keep.shape[1]:
            return self.only(keep)
        row, column = np.nonzero(keep)
        slot = ragged(counts)[1]
        # Constant columns are not moved.
        constant = set() if self.has_ties else {"size"}
        constant |= {name for name in ("gain", "nil") if not getattr(self, name).any()}
        constant |= {"document"} if self.anonymous else set()
        shape = len(counts), width
        target = cells(row, slot, shape)
        fields: dict[str, Any] = {}
        for name, empty in COLUMNS.items():
            values = getattr(self, name)
            moved = values[:0, 0] if name in constant else values[row, column]
            fields[name] = scatter(moved, target[: len(moved)], shape, empty)
        return self.changed(**fields)


# The fields of a batch with a column for each document, and their values in padding.
COLUMNS = {"grade": np.nan, "gain": 0, "start": 0, "size": 1, "nil": False, "document": -1}
FIELDS = tuple(f.name for f in fields(Batch))


def penalty(misplaced: Floats, pairs: Floats) -> Floats:
    """The share of pairs that are misplaced; 0 if there are no pairs."""
    return misplaced / np.where(pairs > 0, pairs, np.inf)


def ragged(counts: Integers) -> tuple[Integers, Integers]:
    """The row and column of every cell of a table whose rows have these lengths."""
    row = np.repeat(np.arange(len(counts)), counts)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)


# Arithmetic along the rows of tables, which is fast for tables with few columns, too.
#
# NumPy has a fixed cost for each row of a reduction, but most tables here have thousands of rows and two or three
# columns. These narrow tables are stored and processed column by column.

NARROW = 8  # tables with up to this many columns are stored column by column
MOST_STATES = 1 << 62  # the most values of a combined key of 64 bits


def cells(row: Integers, column: Integers, shape: tuple[int, int]) -> Integers:
    """The indices at which `scatter` stores the values of these rows and columns."""
    return column * shape[0] + row if shape[1] <= NARROW else row * shape[1] + column


def scatter(values: Array, at: Integers, shape: tuple[int, int], empty: float) -> Array:
    """A table with these values in these `cells`, and ``empty`` in all others."""
    count = shape[0] * shape[1]
    flat = np.full(count, empty, values.dtype) if empty else np.zeros(count, values.dtype)
    flat[at] = values
    return flat.reshape(shape, order="F" if shape[1] <= NARROW else "C")


@lru_cache(maxsize=64)
def constant(value: float, shape: tuple[int, int]) -> Array:
    """A read-only table with the same value in every cell, which needs no memory."""
    return np.broadcast_to(np.array(value, np.bool_ if isinstance(value, bool) else np.int64), shape)


def take_rows(x: Array, rows: Integers) -> Array:
    """These rows of a table or column; rows may repeat."""
    if x.ndim == 1 or x.shape[1] > NARROW:
        return x[rows]
    # take is several times as fast, but copies arrays that are not contiguous.
    return (x.T.take(rows, axis=1) if x.flags.f_contiguous else x.T[:, rows]).T


def reorder(x: Array, order: Integers) -> Array:
    """The table with each row in its own order."""
    moved = np.take_along_axis(x, order, axis=1)
    return np.asfortranarray(moved) if x.shape[1] <= NARROW else moved


def running(x: Array, step: np.ufunc = np.add) -> Array:
    """The running sums of each row; another ufunc gives running products, maxima and so on."""
    if x.shape[1] > NARROW and step is np.add and x.dtype == np.float64:
        return native.running_sums(x)
    x = x.astype(np.int64) if x.dtype == bool else x
    if x.shape[1] > NARROW:
        return np.asarray(step.accumulate(x, axis=1))
    accumulated = np.array(x, order="F")
    for i in range(1, x.shape[1]):
        step(accumulated[:, i - 1], accumulated[:, i], out=accumulated[:, i])
    return accumulated


def edges(first: Booleans) -> tuple[Integers, Integers]:
    """The first and last column of the group of each column; ``first``: a column begins a group."""
    last = np.ones_like(first)
    last[:, :-1] = first[:, 1:]
    columns = np.arange(first.shape[1])
    tail = running(np.where(last, columns, columns[-1])[:, ::-1], np.minimum)[:, ::-1]
    return running(np.where(first, columns, 0), np.maximum), tail


def after_first(values: Array, first: float) -> Array:
    """Each row moved to the right by a column, with its last value dropped."""
    return np.concatenate([np.full((len(values), 1), first), values[:, :-1]], axis=1)


def summed(x: Floats) -> Floats:
    """The sum of each row; padding with zeros never changes the result, not even in the last bit."""
    return native.row_sums(x)


def ratio(part: Floats, total: Floats) -> Floats:
    """``part / total``; NaN (undefined) where the total is 0."""
    quotient: Floats = part / np.where(total > 0, total, np.nan)
    return quotient


def lexsorted(keys: Sequence[Array]) -> Integers:
    """`numpy.lexsort`; keys of small integers are combined into one, because that is several times faster.

    >>> lexsorted([np.array([0, 1, 0]), np.array([2.0, 2.0, -1.0])]).tolist()
    [2, 0, 1]
    """
    combined, states = np.zeros(len(keys[0]), np.int64), 1
    for key in reversed(keys) if len(combined) else ():
        low, high = float(key.min()), float(key.max())
        if max(-low, high) >= MOST_STATES or (key.dtype.kind == "f" and (key != np.floor(key)).any()):
            return np.lexsort(list(keys))
        values = int(high) - int(low) + 1
        if states * values >= MOST_STATES:
            return np.lexsort(list(keys))
        states *= values
        combined = combined * values + (key.astype(np.int64) - int(low))
    return np.argsort(combined, kind="stable")
