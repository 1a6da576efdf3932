"""A ranking is where its judged documents are: the one type that measures read. There are only arrays in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from cranfield import native
from cranfield.data import Booleans, Floats, Integers
from cranfield.data import Preferences as PreferenceJudgments
from cranfield.ranking.row_math import cells, ordered, picked, running, scattered, summed
from cranfield.ranking.subtopics import Subtopics, Worth

if TYPE_CHECKING:
    from cranfield.corpus.judged import Reading

Key = Literal["score", "score32", "rank"]


@dataclass(frozen=True, eq=False)
class Weights:
    """What ranks are worth: ``total`` of the first n together, and ``at`` one of them, without rounding.

    ``moment`` is the total of the first n, each times its rank, where it has a closed form. ``table`` has the weights
    of at least the first n ranks, with one of rank 0 before them.
    """

    total: Callable[[Integers], Floats]
    at: Callable[[Integers], Floats]
    moment: Callable[[Integers], Integers] | None = None
    table: Callable[[int], Floats] | None = None

    def __call__(self, n: Integers) -> Floats:
        return self.total(n)


class GainSums(Protocol):
    """Sums of gains: all that many measures read of rankings, which then are a `Batch` or `Completions` of one."""

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

    def ideal_gained(self, weights: Weights, k: int | None = None) -> Floats:
        """The same for all judged documents in descending order of gain."""

    def cumulated(self, weights: Weights, k: int | None = None) -> Floats:
        """Expected sum over the first k documents of gain times weight times all gain down to the document."""


class Preferences(GainSums, Protocol):
    """The same for measures of pairs; of `Completions` only those without ties have these."""

    def preferences(self, limit: Floats, pairs: Floats) -> Floats:
        """Expected sum over documents of gain less what is misplaced above, up to a limit, as a share of pairs."""


MOST_RANKS = 1000  # of most rankings
# A batch is padded to its widest query; beyond this many cells, queries of like width go together.
CELLS = 1 << 20


@dataclass(frozen=True, eq=False)
class Batch:
    """Rankings by judged documents retrieved, best first; rows are padded with grade NaN and gain 0.

    ``grade``, ``gain`` (q, j): the judgment, and what it is worth to the measure at hand.
    ``start``, ``size`` (q, j): the document stands somewhere in positions start+1 .. start+size.
    ``nil`` (q, j): the document is none, but says that there is no answer; ``nil_grade`` (q,): how that is judged.
    ``document`` (q, j), ``query`` (q,): their rows in the judgments, -1 for none.
    ``length`` (q,): documents retrieved. A depth view may end it inside a tie.
    ``tail`` (q,): the gain of every rank below the last; 0 but for rankings that end in a terminal document.
    ``ideal`` (q, g): gains in descending order of all that is judged, retrieved or not; ``ideal_sums``: sums of these
    that are known already, for all runs.
    ``R``, ``N`` (q,): documents that are relevant, and that are judged not to be, retrieved or not.
    ``mass`` (q,): all gain there is to find; R, where gains are 0 and 1. ``top``: the gain of the highest grade.
    ``worth``: how the measure at hand turns grades into gains, for those that have grades by subtopic.
    ``subtopics``: what documents are about; ``reading``: what they say, for measures that read them.
    ``judged_pairs``: which documents are preferred to which, where the judgments are preferences.
    ``costs``: the cost of each row of the judgments, NaN where none was given; None if no cost was given at all.
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
    worth: Worth | None = None
    ideal_sums: dict[Any, Floats] = field(default_factory=dict)
    subtopics: Subtopics | None = None
    reading: Reading | None = None
    judged_pairs: PreferenceJudgments | None = None
    costs: Floats | None = None

    def changed(self, **fields: Any) -> Batch:
        """The same with other fields; what was computed from the old ones is forgotten."""
        if "ideal" in fields:
            fields["ideal_sums"] = {}
        return Batch.of(**{name: self.__dict__[name] for name in FIELDS} | fields)

    @classmethod
    def of(cls, **fields: Any) -> Batch:
        """A batch of these fields, all of them; quicker than the frozen dataclass sets them one by one."""
        made = object.__new__(cls)
        made.__dict__.update(fields)
        return made

    @cached_property
    def memo(self) -> dict[Any, Any]:
        """What was made of this batch already: measures that ask for the same view share it."""
        return {}

    @property
    def anonymous(self) -> bool:
        """Whether nobody will ask which documents these are."""
        return self.subtopics is None and self.reading is None and self.judged_pairs is None and self.costs is None

    @cached_property
    def judged(self) -> Booleans:
        """Not padding, and not a negative grade: that means 'pooled but not judged'."""
        return self.grade >= 0

    @cached_property
    def relevant(self) -> Booleans:
        return self.gain > 0

    def seen(self, k: Integers | int | None = None) -> Integers:
        """How many positions of each span are among the first k (a number, or one for each query)."""
        end = self.length if k is None else np.minimum(self.length, k)
        return np.clip(end[:, None] - self.start, 0, self.size)

    def mean_over(self, weights: Weights, k: Integers | int | None = None) -> Floats:
        """Each document's expected weight: the mean over its span, 0 for the part of it below the first k."""
        # Where there is no span but a rank, its weight is had without rounding.
        exact = weights.at(self.start + 1)
        if not self.has_ties:
            if k is None:
                return exact
            return np.where(self.start < (k if isinstance(k, int) else np.reshape(k, (-1, 1))), exact, 0)
        seen = self.seen(k)
        exact = np.where(seen > 0, exact, 0)
        return np.where(self.size == 1, exact, (weights(self.start + seen) - weights(self.start)) / self.size)

    def spread(self, weights: Weights, k: Integers | int | None = None) -> tuple[Floats, Floats]:
        """Sums over each span's first slots x = 1..m of w(t+x), and of (x-1) w(t+x)."""
        own = self.mean_over(weights, k) * self.size
        assert weights.moment is not None  # a measure that sums them says so
        times_rank = weights.moment(self.start + self.seen(k)) - weights.moment(self.start)
        return own, times_rank - (self.start + 1) * own

    def gained(self, weights: Weights, k: Integers | int | None = None) -> Floats:
        if weights.table is not None and not self.has_ties and (k is None or isinstance(k, int)):
            return self._summed(native.weighted_sums, weights.table, k)
        return summed(self.gain * self.mean_over(weights, k))

    def _summed(self, sums: Callable[..., Floats], table: Callable[[int], Floats], k: int | None) -> Floats:
        """Sums over rankings without ties, by weights from a table that is long enough."""
        try:
            return sums(self.gain, self.start, table(MOST_RANKS), -1 if k is None else k)
        except IndexError:
            return sums(self.gain, self.start, table(int(self.start.max()) + 1), -1 if k is None else k)

    def ideal_gained(self, weights: Weights, k: int | None = None) -> Floats:
        if (weights, k) not in self.ideal_sums:
            ideal = self.ideal[:, :k]
            self.ideal_sums[weights, k] = summed(ideal * weights.at(np.arange(ideal.shape[1]) + 1))
        return self.ideal_sums[weights, k]

    def cumulated(self, weights: Weights, k: int | None = None) -> Floats:
        if weights.table is not None and not self.has_ties:
            return self._summed(native.cumulated_sums, weights.table, k)
        above = self.above(self.gain) + self.gain
        # A document with gain g in a span of n, G gain in the span and C above it, at slot x has
        # C + g + (x-1)(G-g)/(n-1) gain at or above it on average.
        own, later = self.spread(weights, k)
        others = (self.within(self.gain) - self.gain) / np.maximum(self.size - 1, 1)
        return summed(self.gain * (above * own + others * later) / self.size)

    def preferences(self, limit: Floats, pairs: Floats) -> Floats:
        return summed(self.gain * (1 - penalty(self.misplaced(limit), pairs[:, None])))

    def misplaced(self, limit: Floats) -> Floats:
        """Non-relevant documents above each document, never counted beyond a limit, on average over its tie.

        Of s of them in the tie, any number from 0 to s is above it with the same chance.
        """
        nonrel = self.judged & ~self.relevant
        above, limit = self.above(nonrel), limit[:, None]
        if not self.has_ties:
            return np.minimum(above, limit)
        inside = self.within(nonrel)
        room = np.clip(limit - above, 0, inside)
        total = (room + 1) * np.minimum(above, limit) + room * (room + 1) / 2 + (inside - room) * limit
        return total / (inside + 1)

    @property
    def nonrelevant_retrieved(self) -> Floats:
        """How many documents retrieved are judged not to be relevant."""
        return (self.judged & ~self.relevant).sum(axis=1).astype(np.float64)

    @cached_property
    def _edges(self) -> tuple[Integers, Integers]:
        """The first and last column of each column's tie group."""
        columns = np.arange(self.start.shape[1])
        new = np.ones_like(self.start, dtype=bool)
        new[:, 1:] = self.start[:, 1:] != self.start[:, :-1]
        last = np.ones_like(new)
        last[:, :-1] = new[:, 1:]
        head = running(np.where(new, columns, 0), np.maximum)
        tail = running(np.where(last, columns, columns[-1])[:, ::-1], np.minimum)[:, ::-1]
        return head, tail

    def above(self, x: npt.NDArray[Any]) -> Floats:
        """Sum of x over the documents ranked strictly above each document's span."""
        if not self.has_ties:
            return (running(x) - x).astype(np.float64, copy=False)
        return ordered(running(x) - x, self._edges[0]).astype(np.float64, copy=False)

    def within(self, x: npt.NDArray[Any]) -> Floats:
        """Sum of x over the documents that share each document's span, itself included."""
        if not self.has_ties:
            return x.astype(np.float64)
        return ordered(running(x), self._edges[1]) - self.above(x)

    @cached_property
    def order(self) -> Integers:
        """Each document's place within its span among the judged ones, by column."""
        return np.arange(self.start.shape[1]) - self._edges[0]

    @cached_property
    def has_ties(self) -> bool:
        """Whether the order of judged documents is open in any query."""
        return any(self.size.strides) and bool((self.size > 1).any())

    @cached_property
    def tied(self) -> Booleans:
        """Queries in which the order of judged documents is open."""
        return np.any((self.size > 1) & ~np.isnan(self.grade), axis=1)

    def sorted(self) -> Batch:
        """The same with columns in rank order, as they must be once spans have moved."""
        key = np.where(np.isnan(self.grade), np.iinfo(np.int64).max, self.start)
        if (key[:, 1:] >= key[:, :-1]).all():
            return self
        return self.columns(np.argsort(key, axis=1, kind="stable"))

    def only(self, keep: Booleans) -> Batch:
        """The batch with all other documents turned into padding."""
        emptied: dict[str, Any] = {name: np.where(keep, getattr(self, name), empty) for name, empty in COLUMNS.items()}
        return self.changed(**emptied).sorted()

    def columns(self, order: Integers) -> Batch:
        """The columns of each row in another order."""
        moved: dict[str, Any] = {}
        for name in COLUMNS:
            values = getattr(self, name)
            if values.strides[1]:  # else all of a row are the same
                moved[name] = ordered(values, order)
        return self.changed(**moved)

    def rows(self, chosen: npt.NDArray[Any]) -> Batch:
        """Some of the queries, or some of them several times."""
        alone = "length", "ideal", "R", "N", "mass", "tail", "nil_grade", "query"
        return self.changed(**{name: picked(getattr(self, name), chosen) for name in (*COLUMNS, *alone)})

    def compact(self, keep: Booleans) -> Batch:
        """The batch with some of its documents only, and no wider than they need."""
        counts = keep.sum(axis=1)
        width = max(int(counts.max(initial=0)), 1)
        if width == keep.shape[1]:
            return self.only(keep)
        row, column = np.nonzero(keep)
        place = ragged(counts)[1]
        # What no document of this batch has is not moved.
        idle = set() if self.has_ties else {"size"}
        idle |= {name for name in ("gain", "nil") if not getattr(self, name).any()}
        idle |= {"document"} if self.anonymous else set()
        shape = len(counts), width
        at = cells(row, place, shape)
        fields: dict[str, Any] = {}
        for name, empty in COLUMNS.items():
            values = getattr(self, name)
            moved = values[:0, 0] if name in idle else values[row, column]
            fields[name] = scattered(moved, at[: len(moved)], shape, empty)
        return self.changed(**fields)


# What a batch has for each document, and what stands where there is none.
COLUMNS = {"grade": np.nan, "gain": 0, "start": 0, "size": 1, "nil": False, "document": -1}
FIELDS = tuple(f.name for f in fields(Batch))


def penalty(misplaced: Floats, pairs: Floats) -> Floats:
    """The share of pairs that are misplaced; where there is no pair nothing is."""
    return misplaced / np.where(pairs > 0, pairs, np.inf)


def ragged(counts: Integers) -> tuple[Integers, Integers]:
    """Row and column of every cell of a table whose rows have these lengths."""
    row = np.repeat(np.arange(len(counts)), counts)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
