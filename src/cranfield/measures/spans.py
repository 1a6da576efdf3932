"""Judged passages: how much of them the first chunks have, in characters or whatever the offsets count.

J is the union of the relevant passages of a query, and T_k that of the first k chunks; |X| is the length of X. What
several chunks have in common counts once. All measures are undefined if no passage is relevant.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from cranfield.data import Floats
from cranfield.measures.catalogue import UNORDERED, Rank, measure
from cranfield.measures.ties.strategies import OverCuts
from cranfield.ranking.batch import Batch, ragged, ratio
from cranfield.ranking.spans import PassageJudgments, concatenated, union_length

span_measure = partial(
    measure,
    cite="smith2024",
    gains="none",
    ties=OverCuts(),
    terminal=UNORDERED,
    rewards_promotion=False,
    uses_nonrelevant=True,
    spans=True,
)


class Lengths(NamedTuple):
    """|J|, |T_k| and |J ∪ T_k| of each query."""

    judged: Floats
    retrieved: Floats
    either: Floats

    @property
    def both(self) -> Floats:
        """|J ∩ T_k|."""
        return self.judged + self.retrieved - self.either


def lengths(b: Batch, k: int | None) -> Lengths:
    """The lengths for the first k chunks, for rankings in which no tie crosses rank k."""
    if (lengths, k) not in b.memo:
        judgments = None if b.subtopics is None else b.subtopics.judgments
        assert isinstance(judgments, PassageJudgments)  # the measure says that it needs them
        rows = len(b.length)
        end = b.length if k is None else np.minimum(b.length, k)
        row, column = np.nonzero(~np.isnan(b.grade) & (b.start < end[:, None]))
        chunks = judgments.passages.take(b.document[row, column])
        begin = judgments.relevant_begin
        owner, nth = ragged(np.where(b.query >= 0, np.diff(begin)[b.query], 0))
        judged = judgments.relevant.take(begin[b.query[owner]] + nth)
        either = concatenated([chunks, judged], chunks.names)
        b.memo[lengths, k] = Lengths(
            np.bincount(owner, judged.end - judged.start, rows).astype(np.float64),
            union_length(row, chunks, rows),
            union_length(np.concatenate([row, owner]), either, rows),
        )
    result: Lengths = b.memo[lengths, k]
    return result


@span_measure("SpanR", formula="SpanR@k = |J ∩ T_k| / |J|")
def span_recall(b: Batch, *, k: Rank | None = None) -> Floats:
    """The share of the relevant passages, by length, that is in the first k chunks.

    >>> collection = cf.Collection(spans={"q": [("d", 100, 140)]})
    >>> cf.evaluate(collection, {"q": [("d", 0, 110), ("d", 100, 130)]}, ["SpanR@1", "SpanR@2"]).means["run"]
    {'SpanR@1': 0.25, 'SpanR@2': 0.75}
    """
    covered = lengths(b, k)
    return ratio(covered.both, covered.judged)


@span_measure("SpanP", formula="SpanP@k = |J ∩ T_k| / |T_k|")
def span_precision(b: Batch, *, k: Rank | None = None) -> Floats:
    """The share of the first k chunks, by length, that is relevant; 0 for an empty ranking.

    >>> collection = cf.Collection(spans={"q": [("d", 100, 140)]})
    >>> cf.evaluate(collection, {"q": [("d", 0, 160), ("e", 0, 40)]}, ["SpanP@1", "SpanP@2"]).means["run"]
    {'SpanP@1': 0.25, 'SpanP@2': 0.2}
    """
    covered = lengths(b, k)
    return np.where(covered.judged > 0, covered.both / np.maximum(covered.retrieved, 1), np.nan)


@span_measure("SpanIoU", formula="SpanIoU@k = |J ∩ T_k| / |J ∪ T_k|")
def span_intersection_over_union(b: Batch, *, k: Rank | None = None) -> Floats:
    """The length that the relevant passages and the first k chunks have in common, divided by that of their union.

    It is 1 only if the chunks are exactly the relevant passages, so that long chunks score less than short ones.

    >>> collection = cf.Collection(spans={"q": [("d", 100, 140)]})
    >>> float(cf.evaluate(collection, {"q": [("d", 120, 180)]}, "SpanIoU"))
    0.25
    """
    covered = lengths(b, k)
    return np.where(covered.judged > 0, covered.both / np.maximum(covered.either, 1), np.nan)
