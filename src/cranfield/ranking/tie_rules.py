"""Rules that order documents with equal scores. Each rule is one record; adding a rule means adding a record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from cranfield.ranking.batch import Batch, Key
from cranfield.ranking.rankings import Position

Ties = Literal["trec", "trec9", "expected", "best", "worst", "input", "rank"]
TIES: tuple[str, ...] = get_args(Ties)
Arrangement = Callable[[Batch], Batch]


class TieRule(NamedTuple):
    """A rule that orders documents with equal scores.

    ``words``: what the line below a table says of it.
    ``key``: the number that ranks documents before ties are considered.
    ``position``: the field of `Rankings` with the position of each document in its tie group. A rule with this field
    gives the same order for every measure.
    ``arrange``, ``limit``: for a rule whose order depends on the measure, the order of the tied documents of a batch by
    gain, and what is taken of two orders. By gain is the order for a measure that rewards gain at the top; for others,
    and where a depth cuts a tie, orders are searched (`measures.ties.strategies.Scoring`). If both and ``position`` are
    None, documents stay tied, and measures compute the expectation over all orders.
    """

    words: str
    key: Key = "score"
    position: Position | None = None
    arrange: Arrangement | None = None
    limit: np.ufunc | None = None

    @property
    def fixes_order(self) -> bool:
        """Whether the order of documents is the same for every measure."""
        return self.position is not None

    @property
    def leaves_ties(self) -> bool:
        """Whether tied documents stay tied."""
        return self.position is None and self.arrange is None

    @property
    def needs_ids(self) -> bool:
        """Whether the rule compares document ids."""
        return self.position == "by_id"

    @property
    def page_position(self) -> Position:
        """The position that orders a shown ranking; a rule without a single order uses that of trec_eval."""
        return self.position or "by_id"


def fix_positions(batch: Batch, position: Any) -> Batch:
    """The batch with each document at a fixed position of its tie group."""
    if not batch.has_ties:
        return batch
    return batch.changed(start=batch.start + position, size=np.broadcast_to(np.int64(1), batch.size.shape)).sorted()


def best(batch: Batch) -> Batch:
    """Ties in descending order of gain, unjudged documents last."""
    batch = _by_gain(batch, descending=True)
    return fix_positions(batch, batch.order)


def worst(batch: Batch) -> Batch:
    """Ties in ascending order of gain, unjudged documents first."""
    batch = _by_gain(batch, descending=False)
    unjudged = batch.size - batch.within(~np.isnan(batch.grade))
    return fix_positions(batch, np.where(np.isnan(batch.grade), 0, unjudged + batch.order).astype(np.int64))


def _by_gain(batch: Batch, *, descending: bool) -> Batch:
    padding = np.isnan(batch.grade)
    start = np.where(padding, np.iinfo(np.int64).max, batch.start)
    # A document with a negative grade was pooled but not judged.
    unjudged = np.where(batch.judged, 0, 1)
    keys = (unjudged, -batch.gain, start) if descending else (-unjudged, batch.gain, start)
    return batch.columns(np.lexsort(keys, axis=1))


DEFAULT: Ties = "trec"
TIE_RULES: dict[Ties, TieRule] = {
    "trec": TieRule("ties broken by document id", position="by_id"),
    "trec9": TieRule("ties of 32-bit scores broken by document id", key="score32", position="by_id"),
    "expected": TieRule("ties averaged over all orders"),
    "best": TieRule("ties in the order with the highest score", arrange=best, limit=np.maximum),
    "worst": TieRule("ties in the order with the lowest score", arrange=worst, limit=np.minimum),
    "input": TieRule("ties in the order of the input", position="by_input"),
    "rank": TieRule("documents in the order of their ranks", key="rank", position="by_input"),
}


def tie_rule(ties: Ties | None) -> TieRule:
    """The rule with this name; by default, the rule of trec_eval."""
    return TIE_RULES[ties or DEFAULT]
