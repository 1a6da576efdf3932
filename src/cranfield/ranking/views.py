"""What a ranking's imperfections are turned into before a measure sees it; each view is ``Batch -> Batch``.

They apply in one order, which is part of a score's definition:
gain mapping -> ties -> depth -> condense -> terminate. They do not commute.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from cranfield.data import Booleans, Floats
from cranfield.errors import MeasureError
from cranfield.ranking.batch import COLUMNS, Batch, Key
from cranfield.ranking.rankings import Rankings
from cranfield.ranking.row_math import summed
from cranfield.ranking.tie_rules import TieRule, Ties, tie_rule


@dataclass(frozen=True)
class Gains:
    """How a measure sees grades: as relevant or not, as gains, or as gains scaled into [0, 1]."""

    kind: Literal["binary", "graded", "scaled"] = "graded"
    rel: float | None = None
    gain: str | tuple[tuple[float, float], ...] = "linear"
    max: float | None = None
    min: float = 0.0  # the highest grade without gain

    # It is a key of what is computed for every run.
    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.kind, self.rel, self.gain, self.max, self.min))

    def of(self, grade: Floats, top: float) -> Floats:
        """The gain of each grade; padding (NaN) and negative grades gain nothing."""
        if self.kind == "binary" or self.rel is not None or self.gain == "binary":
            return (grade >= (1.0 if self.rel is None else self.rel)).astype(np.float64)
        gain = self._mapped(np.fmax(grade, 0))
        if isinstance(self.gain, tuple):  # which may give a gain to 0
            gain = np.where(grade >= 0, gain, 0)
        if self.kind == "graded":
            return gain
        highest = float(self._mapped(np.array([top if self.max is None else self.max]))[0])
        if isinstance(self.gain, tuple):
            # A map need not rise with the grade, nor have every grade.
            below = self._mapped(np.maximum(top - np.arange(len(self.gain) + 1.0), 0))
            highest = max(highest, float(below.max()), *(value for _, value in self.gain))
        # A map may give a gain to grade 0: it is a gain like any other, and nothing to count from.
        lowest = float(self._mapped(np.array([self.min]))[0]) if self.min > 0 else 0.0
        return np.clip((gain - lowest) / (highest - lowest), 0, 1) if highest > lowest else np.zeros_like(gain)

    def _mapped(self, grade: Floats) -> Floats:
        if isinstance(self.gain, tuple):
            # A map that leaves a grade out leaves its gain as it is, as in trec_eval and ir_measures.
            return np.select([grade == g for g, _ in self.gain], [np.full_like(grade, v) for _, v in self.gain], grade)
        if self.gain == "exp" and grade.max(initial=0) > 1000:
            raise MeasureError(f"2 to the power of a grade of {grade.max():g} is too large a gain")
        return np.exp2(grade) - 1 if self.gain == "exp" else grade


@dataclass(frozen=True)
class Views:
    """What is done to a ranking before it is measured, as written in brackets after a measure's name."""

    ties: Ties | None = None
    depth: int | None = None
    condensed: bool = False
    terminal: bool = False
    full: int | None = None  # a list of this length was not ended by the system, and gets no terminal document
    groups: bool = False  # the mean over the groups of a query's judgments; see `evaluation.group_scores`

    def __str__(self) -> str:
        parts = [
            f"ties={self.ties}" if self.ties else "",
            f"depth={self.depth}" if self.depth else "",
            "condensed" if self.condensed else "",
            f"full={self.full}" if self.full and self.terminal else "",
            "terminal" if self.terminal else "",
            "groups" if self.groups else "",
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
            self.full or other.full,
            self.groups or other.groups,
        )

    @cached_property
    def plain(self) -> bool:
        """Whether lists are scored as they are: not cut, condensed or terminated."""
        return not (self.depth or self.condensed or self.terminal)

    @cached_property
    def rule(self) -> TieRule:
        """The tie rule in force."""
        return tie_rule(self.ties)

    @property
    def key(self) -> Key:
        """The number that ranks documents before ties are considered."""
        return self.rule.key


def ordered(rankings: Rankings, gains: Gains, views: Views, *, whole: bool = True) -> Batch:
    """The first half of the views: grades become gains, ties are ruled on, the ranking is cut at its depth.

    Documents without gain are left out, unless the ``whole`` list is asked for, or it is to be condensed.
    """
    whole, rule = whole or views.condensed, views.rule
    if rule.arrange is None and views.depth is None:
        return rankings.batch(gains, rule.position, whole=whole)
    key = gains, views.ties, views.depth, whole
    if key not in rankings.memo:
        batch = rule(rankings.batch(gains, rule.position, whole=whole))
        rankings.memo[key] = batch if views.depth is None else truncate(batch, views.depth)
    ordered: Batch = rankings.memo[key]
    return ordered


def settled(batch: Batch, views: Views, *, bounded: bool = False) -> Batch:
    """The second half, for rankings that do not end inside a tie: condensed and terminated."""
    if not (views.condensed or views.terminal):
        return batch
    if (views, bounded) not in batch.memo:
        batch.memo[views, bounded] = _settled(batch, views, bounded=bounded)
    return batch.memo[views, bounded]


def _settled(batch: Batch, views: Views, *, bounded: bool) -> Batch:
    plain = condense(batch) if views.condensed else batch
    if not views.terminal:
        return plain
    answers = answered(batch)
    ended = terminate(condense(answers) if views.condensed else answers, bounded=bounded)
    if views.full is None:
        return ended
    # Liu et al., Table 2: a full list without NIL did not end by choice, and is scored as it is. Where nothing is
    # relevant, there was silence to find, and it did not.
    barren = plain.mass == 0
    silence = np.concatenate([barren[:, None].astype(np.float64), np.zeros_like(plain.ideal[:, 1:])], axis=1)
    plain = plain.changed(ideal=plain.ideal + silence, R=plain.R + barren, mass=plain.mass + barren)
    return either(batch.nil.any(axis=1) | (batch.length < views.full), ended, plain)


def truncate(batch: Batch, depth: int) -> Batch:
    """The ranking cut at a depth, which may fall inside a tie."""
    return batch.only(batch.start < depth).changed(length=np.minimum(batch.length, depth))


def condense(batch: Batch) -> Batch:
    """The ranking without the documents that nobody judged."""
    batch = batch.only(batch.judged)
    return batch.changed(
        start=np.where(batch.judged, batch.above(batch.judged), 0).astype(np.int64),
        size=np.where(batch.judged, batch.within(batch.judged), 1).astype(np.int64),
        length=batch.judged.sum(axis=1),
    )


def answered(batch: Batch) -> Batch:
    """The answers alone: a list ends where the system says that there is none, and saying so is no document."""
    asked = ~np.isnan(batch.nil_grade)
    if not asked.any():
        return batch
    end = np.where(batch.nil, batch.start, batch.length[:, None]).min(axis=1)
    # Where NIL is the right answer it is all that there is to find.
    right = asked & (batch.nil_grade > 0)
    return batch.only(~np.isnan(batch.grade) & ~batch.nil & (batch.start < end[:, None])).changed(
        length=end,
        ideal=np.where(right[:, None], 0, batch.ideal),
        R=np.where(right, 0, batch.R),
        N=batch.N - (asked & ~right),
        mass=np.where(right, 0, batch.mass),
    )


def either(chosen: Booleans, one: Batch, other: Batch) -> Batch:
    """The rows of one batch where chosen, of the other where not."""
    fields: dict[str, Any] = {}
    for name, empty in {**COLUMNS, "ideal": 0}.items():
        a, b = getattr(one, name), getattr(other, name)
        width = max(a.shape[1], b.shape[1])
        a, b = (np.pad(x, ((0, 0), (0, width - x.shape[1])), constant_values=empty) for x in (a, b))
        fields[name] = np.where(chosen[:, None], a, b)
    for name in ("length", "R", "N", "mass", "tail"):
        fields[name] = np.where(chosen, getattr(one, name), getattr(other, name))
    return one.changed(**fields)


def terminate(batch: Batch, *, bounded: bool = False) -> Batch:
    """The ranking with a terminal document after it, as relevant as what was found is complete (Liu et al., eq 1).

    Where nothing is relevant it is fully so: silence is the right answer. A perfect ranking ends in one too, right
    after its last relevant document, and is compared as far as this one goes (eq 3). Every rank below has the
    same gain (eq 2). ``bounded`` gives the perfect ranking, where it is cut before its end, what its own terminal
    document would earn there: without it graded gains can score above 1.
    """
    found = summed(batch.gain)
    earned = np.where(batch.mass > 0, found / np.where(batch.mass > 0, batch.mass, 1), 1)
    queries = np.arange(len(earned))
    count = (batch.ideal > 0).sum(axis=1)
    ideal = np.pad(batch.ideal, ((0, 0), (0, 1)))
    ideal[queries, count] = 1
    inside = np.arange(ideal.shape[1]) <= batch.length[:, None]
    if bounded:
        last = np.minimum(batch.length, ideal.shape[1] - 1)
        so_far = summed(np.where(np.arange(ideal.shape[1]) < batch.length[:, None], ideal, 0))
        would_earn = so_far / np.where(batch.mass > 0, batch.mass, 1)
        cut = count > batch.length
        ideal[queries, last] = np.where(cut, np.maximum(ideal[queries, last], would_earn), ideal[queries, last])

    def ended(values: Any, last: Any) -> Any:
        return np.column_stack([values, np.broadcast_to(last, len(queries)).astype(values.dtype)])

    return batch.changed(
        grade=ended(batch.grade, earned),
        gain=ended(batch.gain, earned),
        start=ended(batch.start, batch.length),
        size=ended(batch.size, 1),
        nil=ended(batch.nil, False),
        document=ended(batch.document, -1),
        length=batch.length + 1,
        ideal=np.where(inside, ideal, 0),
        mass=batch.mass + 1,
        tail=earned,
    ).sorted()


def fill(batch: Batch, depth: int) -> Batch:
    """Settled rankings in which every position down to a depth that no judged document holds has full gain."""
    gain = np.ones((len(batch.length), depth))
    row, column = np.nonzero(batch.judged & (batch.start < depth))
    gain[row, batch.start[row, column]] = batch.gain[row, column]
    at = np.broadcast_to(np.arange(depth), gain.shape)
    nothing = np.zeros_like(at)
    length = np.full_like(batch.length, depth)
    return batch.changed(
        grade=gain,
        gain=gain,
        start=at,
        size=nothing + 1,
        nil=nothing > 0,
        document=nothing - 1,
        length=length,
    )
