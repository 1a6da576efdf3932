"""Views: how rankings are prepared for a measure. Each view is a function ``Batch -> Batch``; NIL ends a list.

The order of views is part of the definition of a score, because views do not commute:
gain mapping -> ties -> depth -> condense -> terminate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from cranfield.data import Array, Booleans, Floats, Integers, Judgments, Run, Strings
from cranfield.errors import InputError, MeasureError, UsageError
from cranfield.io.columns import codes_of
from cranfield.io.runs import load_unchecked
from cranfield.ranking.batch import COLUMNS, Batch, Key, ragged, summed
from cranfield.ranking.rankings import Rankings
from cranfield.ranking.tie_rules import Arrangement, TieRule, Ties, tie_rule
from cranfield.wording import plural


@dataclass(frozen=True)
class Gains:
    """The mapping from grades to gains of a measure: binary, graded, or divided by the gain of the top grade."""

    kind: Literal["binary", "graded", "scaled"] = "graded"
    rel: float | None = None
    gain: str | tuple[tuple[float, float], ...] = "linear"
    max: float | None = None
    min: float = 0.0  # the highest grade without gain
    attribute: tuple[str, float | None] | None = None  # of documents, which is the gain; and where there is none

    # Cached, because gains are keys of many caches.
    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.kind, self.rel, self.gain, self.max, self.min, self.attribute))

    @property
    def level(self) -> float | None:
        """The lowest relevant grade of binary gains; None if gains are graded."""
        if self.kind == "binary" or self.rel is not None or self.gain == "binary":
            return 1.0 if self.rel is None else self.rel
        return None

    def of(self, grade: Floats, top: float) -> Floats:
        """The gain of each grade; padding (NaN) and negative grades have no gain."""
        if self.level is not None:
            return (grade >= self.level).astype(np.float64)
        gain = self._mapped(np.fmax(grade, 0))
        if isinstance(self.gain, tuple):  # a map may give a gain to grade 0
            gain = np.where(grade >= 0, gain, 0)
        if self.kind == "graded":
            with np.errstate(over="ignore"):
                total = gain.sum()
            if total == np.inf:
                raise MeasureError(f"gains of {gain.max():g} are too large: their sum overflows")
            return gain
        highest = self._full_gain(top)
        # The gain of grade 0 in a map is an ordinary gain, not the lower end of the scale.
        lowest = float(self._mapped(np.array([self.min]))[0]) if self.min > 0 else 0.0
        # Nothing is clipped from above: a grade above ``max`` gains more than 1.
        return np.maximum((gain - lowest) / (highest - lowest), 0) if highest > lowest else np.zeros_like(gain)

    def _full_gain(self, top: float) -> float:
        """The gain that is scaled to 1."""
        if not isinstance(self.gain, tuple):
            return float(self._mapped(np.array([top if self.max is None else self.max]))[0])
        if self.max is not None:
            return self.max
        largest = max(value for _, value in self.gain)
        if largest <= 1:
            return 1.0
        # A map may be non-monotone, and may lack some grades.
        below = self._mapped(np.maximum(top - np.arange(len(self.gain) + 1.0), 0))
        return max(largest, float(below.max()))

    def _mapped(self, grade: Floats) -> Floats:
        if isinstance(self.gain, tuple):
            # A grade that is not in the map is its own gain, as in trec_eval and ir_measures.
            return np.select([grade == g for g, _ in self.gain], [np.full_like(grade, v) for _, v in self.gain], grade)
        if self.gain == "exp" and grade.max(initial=0) > 1000:
            raise MeasureError(f"gain='exp' overflows for a grade of {grade.max():g}")
        return np.exp2(grade) - 1 if self.gain == "exp" else grade


@dataclass(frozen=True)
class Views:
    """How a ranking is prepared for a measure; written in brackets after the name of the measure."""

    # A field is all that brackets need to know of a view: False is a flag, None a number (or the tie rule).
    ties: Ties | None = None
    depth: int | None = None
    condensed: bool = False
    full: int | None = None  # lists of this length were cut by the system's limit and get no terminal document
    terminal: bool = False
    groups: bool = False  # the mean over the groups of a query's judgments; see `evaluation.run_scores`
    sampled: bool = False  # an estimate from judgments of a sample; see `samples.expanded`

    def __str__(self) -> str:
        chosen = {view.name: getattr(self, view.name) for view in fields(self)}
        if not self.terminal:
            chosen["full"] = None
        inside = ", ".join(name if value is True else f"{name}={value}" for name, value in chosen.items() if value)
        return f"[{inside}]" if inside else ""

    def over(self, other: Views) -> Views:
        """These views, completed by the others where these have no value."""
        return Views(**{view.name: getattr(self, view.name) or getattr(other, view.name) for view in fields(self)})

    @cached_property
    def plain(self) -> bool:
        """Whether lists are scored unchanged: not cut, condensed or terminated."""
        return not (self.depth or self.condensed or self.terminal)

    @cached_property
    def rule(self) -> TieRule:
        """The tie rule."""
        return tie_rule(self.ties)

    @property
    def key(self) -> Key:
        """The number that ranks documents before ties are considered."""
        return self.rule.key


def ordered(
    rankings: Rankings, gains: Gains, views: Views, *, all_documents: bool = True, arrange: Arrangement | None = None
) -> Batch:
    """The first views: map grades to gains, apply the tie rule, and cut the ranking at its depth.

    ``all_documents``: keep judged documents without gain. Condensed lists always keep them. ``arrange``: another order
    of ties by gain than that of the rule.
    """
    all_documents, rule = all_documents or views.condensed, views.rule
    arrange = arrange or rule.arrange
    if arrange is None and views.depth is None:
        return rankings.batch(gains, rule.position, all_documents=all_documents)
    key = gains, views.ties, views.depth, all_documents, arrange
    if key not in rankings.memo:
        batch = rankings.batch(gains, rule.position, all_documents=all_documents)
        batch = batch if arrange is None else arrange(batch)
        rankings.memo[key] = batch if views.depth is None else truncate(batch, views.depth)
    ordered: Batch = rankings.memo[key]
    return ordered


def condense_and_terminate(batch: Batch, views: Views, *, bounded: bool = False) -> Batch:
    """The last views, for rankings that do not end inside a tie: condense and terminate them."""
    if not (views.condensed or views.terminal):
        return batch
    if (views, bounded) not in batch.memo:
        batch.memo[views, bounded] = _condense_and_terminate(batch, views, bounded=bounded)
    return batch.memo[views, bounded]


def _condense_and_terminate(batch: Batch, views: Views, *, bounded: bool) -> Batch:
    unterminated = condense(batch) if views.condensed else batch
    if not views.terminal:
        return unterminated
    up_to_nil = end_at_nil(batch)
    terminated = terminate(condense(up_to_nil) if views.condensed else up_to_nil, bounded=bounded)
    if views.full is None:
        return terminated
    # Liu et al., Table 2: a full list without NIL was not ended by the system, and is scored without a terminal
    # document. If no document is relevant, its ideal still is to return nothing.
    nothing_relevant = unterminated.mass == 0
    terminal_gain = np.concatenate(
        [nothing_relevant[:, None].astype(np.float64), np.zeros_like(unterminated.ideal[:, 1:])], axis=1
    )
    unterminated = unterminated.changed(
        ideal=unterminated.ideal + terminal_gain,
        R=unterminated.R + nothing_relevant,
        mass=unterminated.mass + nothing_relevant,
    )
    return choose_rows(batch.nil.any(axis=1) | (batch.length < views.full), terminated, unterminated)


def truncate(batch: Batch, depth: int) -> Batch:
    """The ranking cut at a depth, which may be inside a tie."""
    return batch.only(batch.start < depth).changed(length=np.minimum(batch.length, depth))


def condense(batch: Batch) -> Batch:
    """The ranking without unjudged documents."""
    batch = batch.only(batch.judged)
    return batch.changed(
        start=np.where(batch.judged, batch.above(batch.judged), 0).astype(np.int64),
        size=np.where(batch.judged, batch.within(batch.judged), 1).astype(np.int64),
        length=batch.judged.sum(axis=1),
    )


def end_at_nil(batch: Batch) -> Batch:
    """The ranking cut above NIL, which is removed."""
    has_nil = ~np.isnan(batch.nil_grade)
    if not has_nil.any():
        return batch
    end = np.where(batch.nil, batch.start, batch.length[:, None]).min(axis=1)
    # If NIL is the right answer, there is no other relevant document.
    nil_is_right = has_nil & (batch.nil_grade > 0)
    return batch.only(~np.isnan(batch.grade) & ~batch.nil & (batch.start < end[:, None])).changed(
        length=end,
        ideal=np.where(nil_is_right[:, None], 0, batch.ideal),
        R=np.where(nil_is_right, 0, batch.R),
        N=batch.N - (has_nil & ~nil_is_right),
        mass=np.where(nil_is_right, 0, batch.mass),
    )


def choose_rows(chosen: Booleans, first: Batch, second: Batch) -> Batch:
    """The chosen rows of the first batch, and the other rows of the second."""
    fields: dict[str, Any] = {}
    for name, empty in {**COLUMNS, "ideal": 0}.items():
        left, right = getattr(first, name), getattr(second, name)
        width = max(left.shape[1], right.shape[1])
        left, right = (np.pad(x, ((0, 0), (0, width - x.shape[1])), constant_values=empty) for x in (left, right))
        fields[name] = np.where(chosen[:, None], left, right)
    for name in ("length", "R", "N", "mass", "tail"):
        fields[name] = np.where(chosen, getattr(first, name), getattr(second, name))
    return first.changed(**fields)


def terminate(batch: Batch, *, bounded: bool = False) -> Batch:
    """The ranking with a terminal document at its end, whose gain is the recall of gain (Liu et al., eq 1).

    If no document is relevant, the terminal document has full gain, because an empty ranking is the right answer. The
    ideal ranking also ends in a terminal document, right after its last relevant document, and is cut at the length of
    this ranking (eq 3). Every rank below has the same gain (eq 2). With ``bounded``, an ideal ranking that is cut gets
    the terminal document that it would have there; without it, gains between 0 and 1 can score above 1.
    """
    retrieved_gain = summed(batch.gain)
    terminal_gain = np.where(batch.mass > 0, retrieved_gain / np.where(batch.mass > 0, batch.mass, 1), 1)
    queries = np.arange(len(terminal_gain))
    count = (batch.ideal > 0).sum(axis=1)
    ideal = np.pad(batch.ideal, ((0, 0), (0, 1)))
    ideal[queries, count] = 1
    inside = np.arange(ideal.shape[1]) <= batch.length[:, None]
    if bounded:
        last = np.minimum(batch.length, ideal.shape[1] - 1)
        ideal_gain = summed(np.where(np.arange(ideal.shape[1]) < batch.length[:, None], ideal, 0))
        ideal_terminal_gain = ideal_gain / np.where(batch.mass > 0, batch.mass, 1)
        cut = count > batch.length
        ideal[queries, last] = np.where(
            cut, np.maximum(ideal[queries, last], ideal_terminal_gain), ideal[queries, last]
        )
    end = (~np.isnan(batch.grade)).sum(axis=1)
    terminal = COLUMNS | {"grade": terminal_gain, "gain": terminal_gain, "start": batch.length}

    def with_terminal(name: str) -> Array:
        values = getattr(batch, name)
        values = np.concatenate([values, np.full((len(end), 1), COLUMNS[name], values.dtype)], axis=1)
        values[queries, end] = terminal[name]
        return values

    return batch.changed(
        **{name: with_terminal(name) for name in COLUMNS},
        length=batch.length + 1,
        ideal=np.where(inside, ideal, 0),
        mass=batch.mass + 1,
        tail=terminal_gain,
    )


def with_every_document(batch: Batch, *, subtopics: bool = False) -> Batch:
    """The batch with a column for every document retrieved, in rank order; unjudged documents have grade -1.

    A document is in the column of its rank. In a tie, judged documents come first. ``subtopics``: keep the subtopics
    of judged documents.
    """
    key = with_every_document, subtopics
    if key not in batch.memo:
        batch.memo[key] = _with_every_document(batch, subtopics=subtopics)
    full: Batch = batch.memo[key]
    return full


def _with_every_document(batch: Batch, *, subtopics: bool) -> Batch:
    row, column = np.nonzero(~np.isnan(batch.grade))
    first, size = batch.start[row, column], batch.size[row, column]
    # If a depth ends a ranking inside a tie, all documents of the tie have a column.
    end = batch.length.copy()
    np.maximum.at(end, row, first + size)
    shape = len(end), max(int(end.max(initial=0)), 1)
    columns = np.arange(shape[1])
    at = row, first
    start, sizes = np.broadcast_to(columns, shape), np.broadcast_to(np.int64(1), shape)
    if batch.tied.any():
        order = batch.order[row, column]
        at = row, first + order
        owner, slot = ragged(np.where(order == 0, size, 0))
        start, sizes = start.copy(), sizes.copy()
        start[row[owner], first[owner] + slot] = first[owner]
        sizes[row[owner], first[owner] + slot] = size[owner]

    def table(values: Array, empty: Any) -> Array:
        laid_out = np.broadcast_to(np.asarray(empty, values.dtype), shape).copy()
        laid_out[at] = values[row, column]
        return laid_out

    zeros = np.broadcast_to(np.int64(0), shape)
    return batch.changed(
        grade=table(np.where(batch.grade < 0, -1, batch.grade), np.where(columns < end[:, None], -1, np.nan)),
        gain=table(batch.gain, 0),
        start=start,
        size=sizes,
        nil=table(batch.nil, False) if batch.nil.any() else zeros > 0,
        document=table(batch.document, -1) if subtopics else zeros,
        subtopics=batch.subtopics if subtopics else None,
        reading=None,
    )


def judge_all(full: Batch, *, relevant: bool) -> Batch:
    """The batch with all unjudged documents relevant, or none of them; the ideal ranking is unchanged."""
    unjudged = full.grade < 0
    number = unjudged.sum(axis=1)
    if not relevant:
        return full.changed(grade=np.where(unjudged, 0, full.grade), N=full.N + number)
    return full.changed(
        grade=np.where(unjudged, np.inf, full.grade),
        gain=np.where(unjudged, full.top, full.gain),
        R=full.R + number,
        mass=full.mass + number * full.top,
    )


# NIL: a document id with which a system says that there is no answer.
#
# As in TREC question answering, NIL is a document with full gain if and only if no other document is relevant. For
# measures with a terminal form, `views.end_at_nil` ends the ranking at NIL instead.


def with_nil(judgments: Judgments, nil: str, top: float | None = None) -> tuple[Judgments, Integers]:
    """The judgments with NIL as the last document of every query, and the rows of NIL.

    NIL is relevant where no document is, and where it is judged so. ``top`` is the highest grade, if these are not all
    judgments.
    """
    if judgments.sample is not None:
        raise UsageError("nil cannot be combined with judgments of a sample")
    judgments, nil_is_judged_right = _without_nil(judgments, nil)
    begin, documents = judgments.begin, list(judgments.documents)
    counts = np.diff(begin)
    highest = np.full(len(counts), -np.inf)
    np.maximum.at(highest, np.repeat(np.arange(len(counts)), counts), judgments.grade)
    highest_of_all = float(judgments.grade.max(initial=1)) if top is None else top
    at = begin[1:]
    nil_is_right = (highest <= 0) | nil_is_judged_right
    grade = np.insert(judgments.grade, at, np.where(nil_is_right, max(highest_of_all, 1.0), 0.0))
    rows_before = np.insert(np.arange(len(documents)), at, len(documents))
    ids = Strings.of([*documents, nil]).take(rows_before)
    rows = at + np.arange(len(counts))
    new_begin = begin + np.arange(len(begin))
    return replace(judgments, documents=ids, grade=grade, begin=new_begin, labels=None), rows


def _without_nil(judgments: Judgments, nil: str) -> tuple[Judgments, Booleans]:
    """The judgments of all other documents, and the queries for which NIL is judged relevant: these have no others."""
    query = np.repeat(np.arange(len(judgments.queries)), np.diff(judgments.begin))
    is_nil = np.array([document == nil for document in judgments.documents], bool)
    right = np.zeros(len(judgments.queries), bool)
    right[query[is_nil & (judgments.grade > 0)]] = True
    if not is_nil.any():
        return judgments, right
    rows = np.flatnonzero(~is_nil)
    grade, contradicts = judgments.grade[rows], right[query[rows]] & (judgments.grade[rows] > 0)
    remarks = judgments.remarks
    if contradicted := len(np.unique(query[rows][contradicts])):
        queries = plural(contradicted, "query")
        remarks += (f"`{nil}` and other documents are judged relevant for {queries}; the others count as not relevant",)
    others = replace(
        judgments,
        documents=judgments.documents.take(rows),
        grade=np.where(contradicts, 0.0, grade),
        begin=np.searchsorted(rows, judgments.begin),
        remarks=remarks,
        labels=None,
    )
    return others, right


def first_nil_only(run: Run, nil: str) -> tuple[Run, tuple[str, ...]]:
    """The run with each NIL after the first of its query under another id, and the queries with several.

    The first NIL is the one with the highest score. The others gain nothing, like other unjudged documents.
    """
    if isinstance(run.source, Mapping):
        return run, ()  # a dict has every document once
    try:
        source = load_unchecked(run)
    except InputError:  # there are other faults, which the caller reports
        return run, ()
    documents = list(source.document)
    rows = np.array([row for row, document in enumerate(documents) if document == nil], np.int64)
    names, query = codes_of(source.query.take(rows))
    rows_by_query = np.lexsort((rows, -source.score[rows], query))
    is_first = np.append(True, np.diff(query[rows_by_query]) > 0)[: len(rows)]
    number = 1
    for i, first in zip(rows_by_query.tolist(), is_first.tolist(), strict=True):
        number = 1 if first else number + 1
        if not first:
            documents[rows[i]] = f"{nil} {number}"  # an id in TREC text has no blank
    repeated = np.unique(query[rows_by_query[~is_first]])
    table = replace(source, document=Strings.of(documents))
    return replace(run, source=table), tuple(names[int(q)] for q in repeated)
