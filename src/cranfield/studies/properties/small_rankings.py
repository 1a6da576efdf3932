"""All rankings of a few documents, as input for measures."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cranfield.data import Booleans, Floats, Integers, Judgments, Labels, Strings
from cranfield.errors import UsageError
from cranfield.ranking.rankings import Rankings, from_tables
from cranfield.ranking.subtopics import Subtopics

MAX_RANKINGS = 1 << 18  # the most rankings that are ever checked
DEFAULT_RANKINGS = 3_500  # the most rankings that are checked by default
DEFAULT_DOCUMENTS = 8  # the length of the longest ranking, unless that gives too many rankings


@dataclass(frozen=True)
class DocumentKind:
    """A kind of document in a small ranking and the mark that represents it; the grade of an unjudged one is NaN."""

    mark: str
    grade: float
    subtopics: frozenset[int] = frozenset()

    def is_judged(self) -> bool:
        return not np.isnan(self.grade)


UNJUDGED = DocumentKind("?", np.nan)


@dataclass(frozen=True, eq=False)
class SmallRankings:
    """One ranking per row; each contains all documents of its query, so that all judgments are in the ranking.

    ``kind`` (row, rank): index into ``kinds``, -1 below the end of a ranking. ``tie`` (row,): the rank, from 0, of the
    first of two tied neighbours; -1 for none. Rows are in order of their ``size``.
    """

    kinds: tuple[DocumentKind, ...]
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
    def top_grade(self) -> float:
        return max(kind.grade for kind in self.kinds if kind.is_judged())

    @cached_property
    def start(self) -> Integers:
        """The first rank, from 0, that a document can have."""
        ranks = np.broadcast_to(np.arange(self.documents), self.kind.shape)
        return ranks - ((ranks == self.tie[:, None] + 1) & (self.tie[:, None] >= 0))

    @cached_property
    def end(self) -> Integers:
        """One more than the last rank, from 0, that a document can have."""
        ranks = np.arange(self.documents)
        tied = (self.tie[:, None] >= 0) & ((ranks == self.tie[:, None]) | (ranks == self.tie[:, None] + 1))
        return self.start + np.where(tied, 2, 1)

    @cached_property
    def rankings(self) -> Rankings:
        """The rankings as input for measures, each with all documents of its query retrieved."""
        position = np.arange(self.documents) - self.start
        subtopics = self._subtopics() if any(kind.subtopics for kind in self.kinds) else None
        spans = self.start, self.end - self.start, position
        return from_tables(self.grade, *spans, self.size, self.top_grade, subtopics=subtopics)

    def _subtopics(self) -> Subtopics:
        judged = ~np.isnan(self.grade)
        document = np.cumsum(judged).reshape(self.kind.shape) - 1
        pairs = [(k, s) for k, kind in enumerate(self.kinds) for s in sorted(kind.subtopics)]
        rows = [document[self.kind == k] for k, _ in pairs]
        subtopic = np.repeat([s for _, s in pairs], [len(documents) for documents in rows])
        labels = Labels(
            np.concatenate(rows),
            subtopic,
            np.full(len(subtopic), self.top_grade),
            Strings.of(map(str, range(int(subtopic.max(initial=0)) + 1))),
        )
        names = [str(rank) for rank in np.nonzero(judged)[1].tolist()]
        begin = np.concatenate([[0], np.cumsum(judged.sum(axis=1))])
        queries = Strings.of(map(str, range(len(begin) - 1)))
        judgments = Judgments("small rankings", queries, begin, Strings.of(names), self.grade[judged], labels)
        return Subtopics(judgments, self.top_grade)

    def swapped(self, i: int, j: int) -> Integers:
        """The row with the documents at two ranks swapped; valid only if the rows come from `all_rankings`."""
        weight = len(self.kinds) ** np.maximum(self.size[:, None] - 1 - np.array([i, j]), 0)
        step = (self.kind[:, j] - self.kind[:, i]) * (weight[:, 0] - weight[:, 1])
        return np.arange(len(self.size)) + np.where(self.size > max(i, j), step, 0)

    def prefix_codes(self, k: int) -> Integers:
        """Numbers that are equal for rankings whose first k documents are the same and tied in the same way.

        If the cutoff divides a tie, both tied documents count, because either can be among the first k.
        """
        inside = (self.tie >= 0) & (self.tie < k)
        divided = inside & (self.tie == k - 1)
        ranks = np.arange(self.documents)
        visible = ranks < (k + divided)[:, None]
        digits = np.where(visible, self.kind + 1, 0)
        code = digits @ (len(self.kinds) + 1) ** ranks
        return code * (self.documents + 1) + np.where(inside, self.tie + 1, 0)

    def text(self, row: int, k: int | None = None) -> str:
        """A ranking as text: best first, ties in parentheses, a bar at the cutoff."""
        separator = " " if any(len(kind.mark) > 1 for kind in self.kinds) else ""
        tie, size = int(self.tie[row]), int(self.size[row])
        parts = []
        for rank in range(size):
            mark = self.kinds[self.kind[row, rank]].mark
            mark = f"({mark}" if rank == tie else f"{mark})" if tie >= 0 and rank == tie + 1 else mark
            parts.append(f"|{mark}" if rank == k else mark)
        return separator.join(parts)

    def select(self, rows: Booleans) -> SmallRankings:
        """The selected rankings."""
        return SmallRankings(self.kinds, self.kind[rows], self.tie[rows])


def all_rankings(kinds: Sequence[DocumentKind], documents: int, *, ties: bool = False) -> SmallRankings:
    """All rankings of 1 to ``documents`` documents; with ``ties`` also each with every pair of neighbours tied."""
    blocks, tied = [], []
    for size in range(1, documents + 1):
        codes = np.arange(len(kinds) ** size)
        digits = codes[:, None] // len(kinds) ** np.arange(size)[::-1] % len(kinds)
        padded = np.pad(digits, ((0, 0), (0, documents - size)), constant_values=-1)
        for tie in range(-1, size - 1 if ties else 0):
            blocks.append(padded)
            tied.append(np.full(len(codes), tie))
    return SmallRankings(tuple(kinds), np.concatenate(blocks), np.concatenate(tied))


def uniform_ranking(kind: int, kinds: Sequence[DocumentKind], documents: int) -> SmallRankings:
    """One ranking of documents of the same kind."""
    return SmallRankings(tuple(kinds), np.full((1, documents), kind), np.array([-1]))


def count_rankings(kinds: int, documents: int, *, ties: bool = False) -> int:
    """The number of rankings that `all_rankings` returns."""
    return sum(kinds**size * (size if ties else 1) for size in range(1, documents + 1))


def default_documents(
    kinds: int, *, ties: bool = False, most: int = DEFAULT_DOCUMENTS, limit: int = DEFAULT_RANKINGS
) -> int:
    """The default length of the longest ranking."""
    return next(d for d in range(most, 0, -1) if d == 1 or count_rankings(kinds, d, ties=ties) <= limit)


def check_size(kinds: int, documents: int, *, ties: bool = False) -> None:
    """Raise if there are too many rankings to check all of them."""
    if not 1 <= documents <= 60 or (number := count_rankings(kinds, documents, ties=ties)) > MAX_RANKINGS:
        fits = (d for d in range(1, 61) if count_rankings(kinds, d, ties=ties) <= MAX_RANKINGS)
        reason = f" ({number:,} rankings)" if 1 <= documents <= 60 else ""
        raise UsageError(
            f"cannot check all rankings of {documents} documents with {kinds} kinds of document{reason}",
            hint=f"give a number of documents from 1 to {max(fits, default=1)}",
        )


def subtopic_kinds(grade: float, subtopics: int = 2) -> list[DocumentKind]:
    """A kind of document for every set of subtopics."""
    names = "abcdefgh"[:subtopics]
    sets = [chosen for n in range(subtopics + 1) for chosen in itertools.combinations(range(subtopics), n)]
    return [
        DocumentKind("".join(names[s] for s in chosen) or "0", grade if chosen else 0.0, frozenset(chosen))
        for chosen in sets
    ]
