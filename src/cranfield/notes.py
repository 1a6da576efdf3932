"""What a reader of the means has to know: who was counted, what was undefined, what ties and gaps could change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cranfield.batch import Batch, Booleans
from cranfield.data import Floats, Integers, Judgments
from cranfield.scored import Column, Scored, Slot
from cranfield.scores import Scores
from cranfield.subtopics import diverse
from cranfield.views import settled
from cranfield.wording import plural

if TYPE_CHECKING:
    from cranfield.content.judged import Reading

COUNTED = {
    "judged": "means are over all judged queries: {n}",
    "both": "means are over the judged queries that a run answers",
    "run": "means are over all queries that a run answers",
}
UNOPENED = "no measure asked for reads documents: the corpus was not opened"
POLICY = {"skip": "left out of means", "zero": "counted 0", "one": "counted 1", "error": "refused"}


def about(scores: Scores, columns: Sequence[Column], queries: str) -> list[str]:
    """What holds for all runs."""
    return [COUNTED[queries].format(n=int(scores.counted[:1].sum())), *_undefined(scores, columns)]


def by_subtopic(judgments: Judgments, columns: Sequence[Column]) -> list[str]:
    """What measures of single documents make of judgments by subtopic."""
    return about_subtopics(judgments.name, columns) if diverse(judgments) else []


def about_subtopics(name: str, columns: Sequence[Column]) -> list[str]:
    """The same, of judgments that are known to be by subtopic."""
    plain = [
        c.label
        for c in columns
        if c.part == "value" and not c.measure.definition.subtopics | c.measure.definition.content
    ]
    return (
        [f"{name} has judgments by subtopic: to {', '.join(plain)} a document's highest grade counts"] if plain else []
    )


@dataclass(frozen=True, eq=False)
class Names:
    """How many queries something is true of, and the first few of them."""

    count: int
    first: Sequence[str]


@dataclass(frozen=True, eq=False)
class Figures:
    """What notes on one run are written from: counts and sums over its queries, by whoever has them.

    ``missing``: judged queries that it does not answer; ``other``: what it answers that nobody judged.
    ``looked``: a depth (None: all of it), how many documents down to it are judged, and how many there are.
    ``ends``, by column: what its mean is with ties as they are, at their worst and best; empty where none matters.
    ``sampled``, by column: in how many queries tie orders were sampled, and the standard error of the mean.
    ``ranges``: the measures whose lowest and highest values are not bounds.
    ``open``: the columns that ties could move, nobody knows how far.
    """

    missing: Names
    other: Names
    looked: Sequence[tuple[int | None, float, float]]
    ends: Sequence[Sequence[float]]
    sampled: Sequence[tuple[int, float]]
    ranges: Sequence[str]
    open: Sequence[str] = ()


def about_run(scores: Scores, one: Scored, columns: Sequence[Column], queries: str) -> list[str]:
    """What is to know about one run, the only one of these scores."""
    found = written(one.run.name, _figures(scores, one, columns), columns, queries)
    return [*found, *_read(one, columns, scores.counted[0])]


def written(run: str, known: Figures, columns: Sequence[Column], queries: str) -> Iterator[str]:
    """The figures of a run as sentences."""
    if known.missing.count:
        treated = "scored as empty rankings" if queries == "judged" else "not counted"
        yield f"{run} does not answer {several(known.missing)}: {treated}"
    if known.other.count and queries != "run":
        yield f"{run} answers {several(known.other)} that nobody judged: not counted"
    yield from _unjudged(run, known)
    yield from _ties(run, known, columns)
    for column, (many, error) in zip(columns, known.sampled, strict=True):
        if many:
            yield (
                f"{run}: {column.label} has too many tie orders to take them all for {many} queries; "
                f"sampled, standard error of the mean {error:.2g}"
            )
    for measure in known.ranges:
        yield f"{measure}: lowest and highest are of the judgments tried, and are not bounds"


def _unjudged(run: str, known: Figures) -> Iterator[str]:
    """How much of what the measures looked at nobody judged; with ties, how much on average."""
    shares = []
    for k, seen, there in known.looked:
        if there and seen < there - 0.5:
            what = "everything retrieved" if k is None else f"the top {k}"
            share = 1 - seen / there
            shares.append(f"{'over 99%' if 0.995 <= share < 1 else f'{share:.0%}'} of {what}")
    if shares:
        yield f"{run}: nobody judged {', '.join(shares)}"


def _ties(run: str, known: Figures, columns: Sequence[Column]) -> Iterator[str]:
    """By how much another order of tied documents could move each mean."""
    moved, barely = [], []
    for column, ends in zip(columns, known.ends, strict=True):
        if ends and max(ends) - min(ends) >= 0.00005:
            moved.append(f"{column.label} between {min(ends):.4f} and {max(ends):.4f}")
        elif ends and min(ends) != max(ends):
            barely.append(column.label)
    if moved:
        yield f"{run}: tied scores could put {', '.join(moved)}"
    if barely:
        yield f"{run}: tied scores could move {', '.join(barely)} by less than 0.0001"
    if known.open:
        yield f"{run}: tied scores could move {', '.join(known.open)}; ties=expected is the mean over all orders"


def several(names: Names) -> str:
    """How many queries, and which, or the first of them."""
    shown = ", ".join(names.first[:5]) + (", ..." if names.count > 5 else "")
    return f"{plural(names.count, 'query')} ({shown})"


def some(names: Sequence[str]) -> str:
    """How many queries these are, and which, or the first of them."""
    return several(Names(len(names), names))


def _undefined(scores: Scores, columns: Sequence[Column]) -> Iterator[str]:
    for m, measure in enumerate(scores.measures):
        if columns[m].part != "value":
            continue
        gone = [np.flatnonzero(scores.counted[r] & np.isnan(scores.values[r, m])) for r in range(len(scores.runs))]
        every = sorted(set(np.concatenate(gone).tolist())) if gone else []
        if every:
            yield (f"{measure} is undefined for {some([scores.queries[q] for q in every])}, {POLICY[scores.undefined]}")


def _figures(scores: Scores, one: Scored, columns: Sequence[Column]) -> Figures:
    names = next(iter(one.alignments.values())).aligner.judgments.queries
    missing = np.flatnonzero(one.length < 0)
    judged = len(names)
    counted = scores.counted[0, :judged]
    depths = depths_of(columns)
    seen, length = judged_above(one, depths)[:, counted].sum(axis=1), np.maximum(one.length, 0)[counted]
    there = [float((length if k is None else np.minimum(length, k)).sum()) for k in depths]
    ends: list[list[float]] = []
    for m, limits in enumerate(tie_limits(one, columns)):
        values = [np.concatenate([limit, scores.values[0, m, judged:]]) for limit in limits]
        means = [scores.summary(0, m, instead=value) for value in values]
        ends.append([scores.summary(0, m), *means] if means else [])
    errors = one.errors[:, : scores.counted.shape[1]]
    return Figures(
        Names(len(missing), [names[int(q)] for q in missing[:5]]),
        Names(len(one.other), list(one.other)),
        list(zip(depths, seen.tolist(), there, strict=True)),
        ends,
        [
            (int((e > 0).sum()), float(np.sqrt((e**2).sum()) / max(len(scores.sample(0, m)), 1)))
            for m, e in enumerate(errors)
        ],
        [str(column.measure) for column in columns if column.part == "lowest" and not holds(one, column).all()],
        [column.label for column in columns if open_to_ties(one, column).any()],
    )


def depths_of(columns: Sequence[Column]) -> list[int | None]:
    """Down to where the share of unjudged documents is told: the first cut-offs asked for, and the whole ranking."""
    ranks = {c.measure.cutoff for c in columns if c.measure.definition.cutoff in ("optional", "required")}
    return [*sorted(int(k) for k in ranks if k is not None)[:3], None]


def judged_above(one: Scored, depths: Sequence[int | None]) -> Floats:
    """How many of the documents down to each depth are judged, by (depth, judged query); with ties, on average."""
    alignment = next(iter(one.alignments.values()))
    rows = alignment.rows
    judged = alignment.aligner.grade[rows["document"]] >= 0
    query, start, size = rows["query"][judged], rows["start"][judged], rows["size"][judged]
    every = np.bincount(query, minlength=len(one.length))
    counts, longest = [], one.length.max(initial=0)
    for k in depths:
        if k is None or k >= longest:
            counts.append(every)
            continue
        above = np.flatnonzero(start < k)
        share = np.minimum(k - start[above], size[above]) / size[above]
        counts.append(np.bincount(query[above], share, len(every)))
    return np.array(counts, np.float64)


def tie_limits(one: Scored, columns: Sequence[Column]) -> list[list[Floats]]:
    """For each column the judged queries' values with ties at their worst and best; nothing where no tie matters."""
    tied: dict[Slot, list[tuple[Integers, Batch]]] = {}
    for slot, alignment in one.alignments.items():
        tied[slot] = []
        for rows, batch in alignment.batches:
            # Among documents without any gain the order changes nothing.
            matters = np.flatnonzero(((batch.size > 1) & (slot[0] | (batch.grade > 0))).any(axis=1))
            if len(matters):
                tied[slot].append((rows[matters], batch.rows(matters)))
    found: list[list[Floats]] = []
    for m, column in enumerate(columns):
        limits: list[Floats] = []
        moves = column.part == "value" and not _new_counts(column) and tied[column.slot]
        for rule in ("worst", "best") if moves else ():
            ruled = replace(column.measure, views=replace(column.measure.views, ties=rule))
            values = one.values[m, : len(one.length)].copy()
            for rows, batch in tied[column.slot]:
                values[rows] = ruled.values(batch).value
            limits.append(values)
        found.append(limits)
    return found


def holds(one: Scored, column: Column) -> Booleans:
    """For each judged query, whether its lowest and highest values are bounds."""
    from cranfield.bounds import bounds

    found = np.ones(len(one.length), bool)
    for rows, batch in one.alignments[column.slot].batches:
        found[rows] = bounds(column.measure, batch).hold
    return found


def _new_counts(column: Column) -> bool:
    """Whether what a document is worth depends on those above it, so that no rule knows the best order of a tie."""
    return column.measure.definition.content or column.measure.definition.subtopics


def open_to_ties(one: Scored, column: Column) -> Booleans:
    """For each judged query, whether such a measure looks at documents with something to add whose order is open."""
    found = np.zeros(len(one.length), bool)
    views = column.measure.views
    if not _new_counts(column) or column.part != "value" or views.ties == "expected":
        return found
    # Condensed lists are cut after what nobody judged has left them, which brings others up.
    end = min((column.measure.cutoff if not views.condensed else None) or np.inf, views.depth or np.inf)
    reads = column.measure.definition.content
    for rows, batch in one.alignments[column.slot].batches:
        found[rows] = ((batch.size > 1) & (batch.start < end) & (reads | (batch.grade > 0))).any(axis=1)
    return found


def _read(one: Scored, columns: Sequence[Column], counted: Booleans) -> Iterator[str]:
    """How much of what was to be read, and learnt from, the corpus does not have."""
    reads = [column for column in columns if column.measure.definition.content]
    for column in reads:
        aligner, chosen = one.alignments[column.slot].aligner, column.measure.chosen
        assert aligner.reading is not None
        yield from read_of(aligner.reading, (chosen["rel"], chosen["whole"]), chosen["mu"], aligner.judgments.name)
    judged = counted[: len(one.length)]
    yield from unread(
        one.run.name, [documents_read(one, column)[judged].sum(axis=0).tolist() for column in reads], reads
    )


def documents_read(one: Scored, column: Column) -> Integers:
    """How many of the documents read the corpus does not have, and how many there are: (judged query, 2)."""
    measure, alignment = column.measure, one.alignments[column.slot]
    reading = alignment.aligner.reading
    assert reading is not None
    found = np.zeros((len(one.length), 2), np.int64)
    for rows, batch in alignment.batches:
        seen = settled(measure.ordered(batch), measure.views)
        end = np.minimum(seen.length, measure.cutoff or np.inf)[:, None]
        read = ~np.isnan(seen.grade) & (seen.start < end)
        found[rows, 0] = (read & (reading.document[seen.document] < 0)).sum(axis=1)
        found[rows, 1] = read.sum(axis=1)
    return found


def unread(run: str, found: Sequence[Sequence[int]], columns: Sequence[Column]) -> Iterator[str]:
    """The sums of `documents_read` of a run, by column, in words."""
    told: dict[tuple[int, ...], list[str]] = {}
    for counts, column in zip(found, columns, strict=True):
        told.setdefault(tuple(counts), []).append(column.label)
    for (absent, there), labels in told.items():
        which = f" ({', '.join(labels)})" if len(told) > 1 else ""
        yield f"{run}: {absent:,} of {there:,} documents read{which} are not in the corpus, and add nothing"


def read_of(reading: Reading, view: tuple[float, bool], mu: float, name: str) -> Iterator[str]:
    """How much of what could have been learnt the corpus does not have."""
    return untaught(name, *reading.absent(view), *reading.silent(view, mu))


def untaught(name: str, gone: int, relevant: int, silent: int, subtopics: int) -> Iterator[str]:
    """The same in words."""
    yield f"{name}: {gone:,} of {relevant:,} relevant documents are not in the corpus, and teach nothing"
    if silent:
        yield f"{name}: {silent:,} of {subtopics:,} subtopics have no model of what is relevant to them: left out"
