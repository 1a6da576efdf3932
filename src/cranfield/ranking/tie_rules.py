"""How documents with equal scores are ordered. Each rule is one record; to add a rule is to add a record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from cranfield.ranking.batch import Batch, Key
from cranfield.ranking.rankings import Position

Ties = Literal["trec", "trec9", "expected", "best", "worst", "input", "rank"]
TIES: tuple[str, ...] = get_args(Ties)


@dataclass(frozen=True, eq=False)
class TieRule:
    """One rule.

    ``key``: the number that ranks documents before ties are considered.
    ``position``: the array of `Rankings` that holds each document's position in its tie group. A rule that has it puts
    the documents of a run into one order, whatever the measure.
    ``arrange``: how a rule without it arranges the documents of a batch; None leaves ties open, and measures take
    the expectation over all orders.
    """

    key: Key = "score"
    position: Position | None = None
    arrange: Callable[[Batch], Batch] | None = None

    @property
    def fixes_order(self) -> bool:
        """Whether the documents of a run have one order, the same for every measure."""
        return self.position is not None

    @property
    def leaves_ties(self) -> bool:
        """Whether tied documents stay tied."""
        return self.position is None and self.arrange is None

    @property
    def needs_ids(self) -> bool:
        """Whether document ids decide, so that they must be compared."""
        return self.position == "by_id"

    @property
    def page_position(self) -> Position:
        """The position that one shown ranking uses; a rule without one order is shown in trec_eval's."""
        return self.position or "by_id"

    def __call__(self, batch: Batch) -> Batch:
        """A batch whose ties are still open, or in the order of this rule's position, as this rule has it."""
        return batch if self.arrange is None else self.arrange(batch)


def fix_positions(batch: Batch, position: Any) -> Batch:
    """The batch with each document at one position of its tie group."""
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
    "trec": TieRule(position="by_id"),
    "trec9": TieRule(key="score32", position="by_id"),
    "expected": TieRule(),
    "best": TieRule(arrange=best),
    "worst": TieRule(arrange=worst),
    "input": TieRule(position="by_input"),
    "rank": TieRule(key="rank", position="by_input"),
}


def tie_rule(ties: Ties | None) -> TieRule:
    """The rule of this name; trec_eval's if none is named."""
    return TIE_RULES[ties or DEFAULT]
