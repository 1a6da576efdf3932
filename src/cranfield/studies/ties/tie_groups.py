"""Tie groups of runs: how many documents have the score of another document, and what rounding of scores adds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from cranfield import io
from cranfield.data import Floats, Integers, Judgments, Run
from cranfield.io.duplicates import codes_of
from cranfield.ranking.alignment import Alignment


@dataclass(frozen=True)
class TieCounts:
    """The tied documents of one run, or of all runs, in the rankings of judged queries.

    A document is tied if another document of its ranking has the same score. ``retrieved``, ``judged``: documents of
    the rankings, and those of them with a judgment; ``decisive``: relevant documents that are tied with a document of
    another grade or with an unjudged one, so that the order of the tie affects scores. ``sizes``: the number of tie
    groups of each size, from 2.
    """

    retrieved: int
    tied: int
    judged: int
    judged_tied: int
    decisive: int
    queries: int
    queries_tied: int
    sizes: dict[int, int]

    @property
    def groups(self) -> int:
        """The number of tie groups."""
        return sum(self.sizes.values())

    @property
    def largest(self) -> int:
        """The number of documents of the largest tie group; 0 without ties."""
        return max(self.sizes, default=0)

    @staticmethod
    def total(counts: list[TieCounts]) -> TieCounts:
        """The counts of several runs together."""
        sizes: dict[int, int] = {}
        for entry in counts:
            for size, number in entry.sizes.items():
                sizes[size] = sizes.get(size, 0) + number
        fields = ("retrieved", "tied", "judged", "judged_tied", "decisive", "queries", "queries_tied")
        sums = {name: sum(getattr(entry, name) for entry in counts) for name in fields}
        return TieCounts(**sums, sizes=dict(sorted(sizes.items())))


def count_ties(run: Run, judgments: Judgments, alignment: Alignment) -> TieCounts:
    """The tie groups of a run that is in memory, and aligned with the judgments."""
    query, score = judged_scores(run, judgments)
    size = group_sizes(query, score)
    several = size[size > 1]
    rows = alignment.rows
    judged = alignment.aligner.judged.grade[rows["document"]] >= 0
    tied_queries = np.unique(query[np.repeat(size > 1, size)]) if len(size) else size
    decisive = sum(int(rankings.mixed_ties().sum()) for rankings in alignment.rankings)
    values, numbers = np.unique(several, return_counts=True)
    return TieCounts(
        len(query),
        int(several.sum()),
        int(judged.sum()),
        int((judged & (rows["size"] > 1)).sum()),
        decisive,
        int((alignment.length >= 0).sum()),
        len(tied_queries),
        dict(zip(values.tolist(), numbers.tolist(), strict=True)),
    )


def judged_scores(run: Run, judgments: Judgments) -> tuple[Integers, Floats]:
    """The judged query and the score of each document, ordered by query and by score."""
    table = io.load(run)
    index = {query: i for i, query in enumerate(judgments.queries)}
    names, code = codes_of(table.query)
    query = np.array([index.get(name, -1) for name in names], np.int64)[code]
    score, query = table.score[query >= 0], query[query >= 0]
    order = np.lexsort((score, query))
    return query[order], score[order]


def group_sizes(query: Integers, score: Floats) -> Integers:
    """The size of each group of equal scores, including those of a single document; both arrays are ordered."""
    if not len(query):
        return np.zeros(0, np.int64)
    first = np.append(True, (query[1:] != query[:-1]) | (score[1:] != score[:-1]))
    return np.diff(np.append(np.flatnonzero(first), len(query)))


@dataclass(frozen=True)
class Rounding:
    """Scores rounded to a number of significant decimal digits, or of bits of the significand."""

    unit: str
    number: int

    @property
    def label(self) -> str:
        """The rounding as text."""
        formats = {24: " (32-bit float)", 11: " (16-bit float)", 8: " (bfloat16)"} if self.unit == "bits" else {}
        unit = self.unit if self.number > 1 else self.unit.removesuffix("s")
        return f"{self.number} {unit}{formats.get(self.number, '')}"

    def __call__(self, scores: Floats) -> Floats:
        """The scores, rounded.

        >>> Rounding("digits", 2)(np.array([0.12345, -1250.0, 99.6])).tolist()
        [0.12, -1200.0, 100.0]
        >>> Rounding("bits", 2)(np.array([0.8, 5.0, 7.1])).tolist()
        [0.75, 4.0, 8.0]
        """
        if self.unit == "digits":
            distinct, index = np.unique(scores, return_inverse=True)
            return np.array([float(f"{score:.{self.number - 1}e}") for score in distinct.tolist()])[index]
        significand, exponent = np.frexp(scores)
        return np.ldexp(np.rint(np.ldexp(significand, self.number)), exponent - self.number)

    def of_run(self, run: Run) -> Run:
        """The run with rounded scores."""
        table = io.load(run)
        return replace(run, source=replace(table, score=self(table.score)))


def histogram_bins(largest: int) -> Iterator[tuple[int, int]]:
    """Ranges of sizes: 2, 3, 4, then 5-8, 9-16 and so on up to the largest size.

    >>> list(histogram_bins(20))
    [(2, 2), (3, 3), (4, 4), (5, 8), (9, 16), (17, 32)]
    """
    low, high = 2, 2
    while low <= largest:
        yield low, high
        low, high = high + 1, high + 1 if high < 4 else 2 * high
