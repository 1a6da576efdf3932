"""What a ranking's imperfections are turned into before a measure sees it; each view is ``Batch -> Batch``.

They apply in one order, which is part of a score's definition:
gain mapping -> ties -> depth -> condense. They do not commute.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from cranfield.batch import Batch, Key
from cranfield.data import Floats

Ties = Literal["trec", "trec9", "expected", "best", "worst", "input", "rank"]
TIES: tuple[str, ...] = get_args(Ties)


@dataclass(frozen=True)
class Gains:
    """How a measure sees grades: as relevant or not, as gains, or as gains scaled into [0, 1]."""

    kind: Literal["binary", "graded", "scaled"] = "graded"
    rel: float | None = None
    gain: str | tuple[tuple[float, float], ...] = "linear"
    max: float | None = None

    def of(self, grade: Floats, top: float) -> Floats:
        """The gain of each grade; padding (NaN) and negative grades gain nothing."""
        grade = np.nan_to_num(grade)
        if self.kind == "binary" or self.rel is not None or self.gain == "binary":
            # The lowest grade that counts may be 0 or less, but no judgment ever is: padding must not count.
            return (grade >= (1.0 if self.rel is None else self.rel)).astype(np.float64)
        gain = self._mapped(np.maximum(grade, 0))
        if self.kind == "graded":
            return gain
        highest = float(self._mapped(np.array([top if self.max is None else self.max]))[0])
        return np.minimum(gain / highest, 1) if highest > 0 else np.zeros_like(gain)

    def _mapped(self, grade: Floats) -> Floats:
        if isinstance(self.gain, tuple):
            # A map that leaves a grade out leaves its gain as it is, as in trec_eval and ir_measures.
            return np.select([grade == g for g, _ in self.gain], [np.full_like(grade, v) for _, v in self.gain], grade)
        return np.exp2(grade) - 1 if self.gain == "exp" else grade

    def __call__(self, batch: Batch) -> Batch:
        ideal = np.where(np.isnan(batch.pool), 0, self.of(batch.pool, batch.top))
        gain = np.where(np.isnan(batch.grade), 0, self.of(batch.grade, batch.top))
        top = float(self.of(np.array([batch.top]), batch.top)[0])
        return replace(batch, gain=gain, ideal=-np.sort(-ideal, axis=1), top=top)


@dataclass(frozen=True)
class Views:
    """What is done to a ranking before it is measured, as written in brackets after a measure's name."""

    ties: Ties | None = None
    depth: int | None = None
    condensed: bool = False
    terminal: bool = False

    def __str__(self) -> str:
        parts = [
            f"ties={self.ties}" if self.ties else "",
            f"depth={self.depth}" if self.depth else "",
            "condensed" if self.condensed else "",
            "terminal" if self.terminal else "",
        ]
        inside = ", ".join(filter(None, parts))
        return f"[{inside}]" if inside else ""

    def over(self, other: Views) -> Views:
        """These views, and the other's wherever these leave a choice open."""
        return Views(
            self.ties or other.ties,
            self.depth or other.depth,
            self.condensed or other.condensed,
            self.terminal or other.terminal,
        )

    @property
    def key(self) -> Key:
        """What the tie rule orders documents by in the first place."""
        return {"trec9": "score32", "rank": "rank"}.get(self.ties or "", "score")  # type: ignore[return-value]


def apply(batch: Batch, gains: Gains, views: Views) -> Batch:
    """The batch as a measure sees it."""
    if (gains, views) not in batch.memo:
        batch.memo[gains, views] = _applied(batch, gains, views)
    return batch.memo[gains, views]


def _applied(batch: Batch, gains: Gains, views: Views) -> Batch:
    batch = RULES[views.ties or "trec"](gains(batch))
    if views.depth is not None:
        batch = truncate(batch, views.depth)
    if views.condensed:
        batch = condense(batch)
    return batch


def narrow(batch: Batch, place: Any) -> Batch:
    """Spans of one position: each document at its place within the tie."""
    return replace(batch, start=batch.start + place, size=np.ones_like(batch.size)).sorted()


def best(batch: Batch) -> Batch:
    """Ties in descending order of gain, documents that nobody judged last."""
    batch = _by_gain(batch, descending=True)
    return narrow(batch, batch.order)


def worst(batch: Batch) -> Batch:
    """Ties in ascending order of gain, documents that nobody judged first."""
    batch = _by_gain(batch, descending=False)
    unjudged = batch.size - batch.within(~np.isnan(batch.grade))
    return narrow(batch, np.where(np.isnan(batch.grade), 0, unjudged + batch.order).astype(np.int64))


def _by_gain(batch: Batch, *, descending: bool) -> Batch:
    padding = np.isnan(batch.grade)
    start = np.where(padding, np.iinfo(np.int64).max, batch.start)
    # A negative grade is pooled but not judged: it stands with the unjudged.
    judged = np.where(batch.judged, 0, 1)
    keys = (judged, -batch.gain, start) if descending else (-judged, batch.gain, start)
    return batch.columns(np.lexsort(keys, axis=1))


RULES: dict[str, Callable[[Batch], Batch]] = {
    "trec": lambda b: narrow(b, b.by_id),
    "trec9": lambda b: narrow(b, b.by_id),
    "expected": lambda b: b,
    "best": best,
    "worst": worst,
    "input": lambda b: narrow(b, b.by_input),
    "rank": lambda b: narrow(b, b.by_input),
}


def _only(batch: Batch, keep: Any) -> Batch:
    """The batch with the other documents turned into padding."""
    return replace(
        batch,
        grade=np.where(keep, batch.grade, np.nan),
        gain=np.where(keep, batch.gain, 0),
        start=np.where(keep, batch.start, 0),
        size=np.where(keep, batch.size, 1),
    ).sorted()


def truncate(batch: Batch, depth: int) -> Batch:
    """The ranking cut at a depth, which may fall inside a tie."""
    return replace(_only(batch, batch.start < depth), length=np.minimum(batch.length, depth))


def condense(batch: Batch) -> Batch:
    """The ranking without the documents that nobody judged."""
    batch = _only(batch, batch.judged)
    return replace(
        batch,
        start=np.where(batch.judged, batch.above(batch.judged), 0).astype(np.int64),
        size=np.where(batch.judged, batch.within(batch.judged), 1).astype(np.int64),
        length=batch.judged.sum(axis=1),
    )


def fill(batch: Batch, depth: int) -> Batch:
    """Settled rankings in which every position down to a depth that no judged document holds has full gain."""
    gain = np.ones((len(batch.length), depth))
    row, column = np.nonzero(batch.judged & (batch.start < depth))
    gain[row, batch.start[row, column]] = batch.gain[row, column]
    at = np.broadcast_to(np.arange(depth), gain.shape)
    nothing = np.zeros_like(at)
    length = np.full_like(batch.length, depth)
    return replace(
        batch, grade=gain, gain=gain, start=at, size=nothing + 1, by_id=nothing, by_input=nothing, length=length
    )
