"""Small worlds: every ranking of a few documents there is, as the rows of one batch."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cranfield.batch import Booleans
from cranfield.data import Floats, Integers, Judgments, Labels, Strings
from cranfield.errors import UsageError
from cranfield.ranking.rankings import Rankings, from_tables
from cranfield.subtopics import Subtopics

MOST = 1 << 18  # rankings that are tried at all
USUAL = 3_500  # rankings that are tried where nobody says how many documents a world has
DOCUMENTS = 8  # of a world, unless these are too many rankings


@dataclass(frozen=True)
class Kind:
    """What a document of a small world can be, and how it is written; a grade of NaN is one that nobody judged."""

    mark: str
    grade: float
    about: frozenset[int] = frozenset()  # subtopics

    def is_judged(self) -> bool:
        return not np.isnan(self.grade)


UNJUDGED = Kind("?", np.nan)


@dataclass(frozen=True, eq=False)
class Worlds:
    """Rankings by row; all documents of a world are ranked, and what is judged of them is all that is judged.

    ``kind`` (row, rank) counts ``kinds``; it is -1 below the end of a ranking. ``tie`` (row,) is the rank, from 0,
    of the first of two neighbours that share a score; -1 for none. Rows stand in the order of their ``size``.
    """

    kinds: tuple[Kind, ...]
    kind: Integers
    tie: Integers

    @cached_property
    def size(self) -> Integers:
        return (self.kind >= 0).sum(axis=1)

    @property
    def documents(self) -> int:
        return self.kind.shape[1]

    @cached_property
    def grade(self) -> Floats:
        return np.array([*(kind.grade for kind in self.kinds), np.nan])[self.kind]

    @cached_property
    def top(self) -> float:
        return max(kind.grade for kind in self.kinds if kind.is_judged())

    @cached_property
    def start(self) -> Integers:
        """The first rank, from 0, that a document may have."""
        ranks = np.broadcast_to(np.arange(self.documents), self.kind.shape)
        return ranks - ((ranks == self.tie[:, None] + 1) & (self.tie[:, None] >= 0))

    @cached_property
    def end(self) -> Integers:
        """The rank, from 0, below which it cannot be."""
        ranks = np.arange(self.documents)
        tied = (self.tie[:, None] >= 0) & ((ranks == self.tie[:, None]) | (ranks == self.tie[:, None] + 1))
        return self.start + np.where(tied, 2, 1)

    @cached_property
    def rankings(self) -> Rankings:
        """The worlds as queries, each with all its documents retrieved."""
        position = np.arange(self.documents) - self.start
        subtopics = self._subtopics() if any(kind.about for kind in self.kinds) else None
        spans = self.start, self.end - self.start, position
        return from_tables(self.grade, *spans, self.size, self.top, subtopics=subtopics)

    def _subtopics(self) -> Subtopics:
        there = ~np.isnan(self.grade)
        document = np.cumsum(there).reshape(self.kind.shape) - 1
        pairs = [(k, s) for k, kind in enumerate(self.kinds) for s in sorted(kind.about)]
        rows = [document[self.kind == k] for k, _ in pairs]
        subtopic = np.repeat([s for _, s in pairs], [len(found) for found in rows])
        label = Labels(
            np.concatenate(rows),
            subtopic,
            np.full(len(subtopic), self.top),
            Strings.of(map(str, range(int(subtopic.max(initial=0)) + 1))),
        )
        names = [str(rank) for rank in np.nonzero(there)[1].tolist()]
        begin = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
        queries = Strings.of(map(str, range(len(begin) - 1)))
        judgments = Judgments("worlds", queries, begin, Strings.of(names), self.grade[there], label)
        return Subtopics(judgments, self.top)

    def swapped(self, i: int, j: int) -> Integers:
        """The row in which the documents at two ranks have changed places; of use only where `every` made the rows."""
        weight = len(self.kinds) ** np.maximum(self.size[:, None] - 1 - np.array([i, j]), 0)
        step = (self.kind[:, j] - self.kind[:, i]) * (weight[:, 0] - weight[:, 1])
        return np.arange(len(self.size)) + np.where(self.size > max(i, j), step, 0)

    def prefixes(self, k: int) -> Integers:
        """Numbers that two rankings share when their first k documents are the same, and tied in the same way.

        Of a tie that the cut-off divides both documents count: either may be among the first k.
        """
        inside = (self.tie >= 0) & (self.tie < k)
        divided = inside & (self.tie == k - 1)
        ranks = np.arange(self.documents)
        known = ranks < (k + divided)[:, None]
        digits = np.where(known, self.kind + 1, 0)
        code = digits @ (len(self.kinds) + 1) ** ranks
        return code * (self.documents + 1) + np.where(inside, self.tie + 1, 0)

    def text(self, row: int, k: int | None = None) -> str:
        """A ranking as a person writes it: best first, ties in parentheses, a bar where it is cut."""
        gap = " " if any(len(kind.mark) > 1 for kind in self.kinds) else ""
        tie, size = int(self.tie[row]), int(self.size[row])
        out = []
        for rank in range(size):
            mark = self.kinds[self.kind[row, rank]].mark
            mark = f"({mark}" if rank == tie else f"{mark})" if tie >= 0 and rank == tie + 1 else mark
            out.append(f"|{mark}" if rank == k else mark)
        return gap.join(out)

    def only(self, rows: Booleans) -> Worlds:
        """Some of the rankings."""
        return Worlds(self.kinds, self.kind[rows], self.tie[rows])


def every(kinds: Sequence[Kind], documents: int, *, ties: bool = False) -> Worlds:
    """Every ranking of 1 to so many documents, and, with ``ties``, each with every pair of neighbours tied."""
    blocks, tied = [], []
    for size in range(1, documents + 1):
        codes = np.arange(len(kinds) ** size)
        digits = codes[:, None] // len(kinds) ** np.arange(size)[::-1] % len(kinds)
        padded = np.pad(digits, ((0, 0), (0, documents - size)), constant_values=-1)
        for tie in range(-1, size - 1 if ties else 0):
            blocks.append(padded)
            tied.append(np.full(len(codes), tie))
    return Worlds(tuple(kinds), np.concatenate(blocks), np.concatenate(tied))


def alike(kind: int, kinds: Sequence[Kind], documents: int) -> Worlds:
    """One long ranking of documents of one kind."""
    return Worlds(tuple(kinds), np.full((1, documents), kind), np.array([-1]))


def count(kinds: int, documents: int, *, ties: bool = False) -> int:
    """How many rankings `every` makes."""
    return sum(kinds**size * (size if ties else 1) for size in range(1, documents + 1))


def usual(kinds: int, *, ties: bool = False, most: int = DOCUMENTS, limit: int = USUAL) -> int:
    """How many documents a world has where nobody says so."""
    return next(d for d in range(most, 0, -1) if d == 1 or count(kinds, d, ties=ties) <= limit)


def accept(kinds: int, documents: int, *, ties: bool = False) -> None:
    """An error where there are too many rankings to try them all."""
    if not 1 <= documents <= 60 or (many := count(kinds, documents, ties=ties)) > MOST:
        rankings = f"{many:,} rankings" if 1 <= documents <= 60 else "no number of rankings that could be tried"
        best = max((d for d in range(1, 61) if count(kinds, d, ties=ties) <= MOST), default=1)
        raise UsageError(
            f"worlds of {documents} documents with {kinds} kinds of document are {rankings}",
            hint=f"give a number of documents from 1 to {best}",
        )


def diverse(grade: float, subtopics: int = 2) -> list[Kind]:
    """A document for every set of subtopics that it can be about."""
    names = "abcdefgh"[:subtopics]
    sets = [chosen for n in range(subtopics + 1) for chosen in itertools.combinations(range(subtopics), n)]
    return [Kind("".join(names[s] for s in one) or "0", grade if one else 0.0, frozenset(one)) for one in sets]
