"""What a reader of the means has to know: who was counted, what was undefined, what ties and gaps could change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from cranfield.batch import Batch, Booleans
from cranfield.bounds import bounds
from cranfield.data import Integers, Judgments
from cranfield.scored import Column, Scored, Slot
from cranfield.scores import Scores
from cranfield.subtopics import diverse
from cranfield.views import settled

COUNTED = {
    "judged": "means are over all judged queries: {n}",
    "both": "means are over the judged queries that a run answers",
    "run": "means are over all queries that a run answers",
}
POLICY = {"skip": "left out of means", "zero": "counted 0", "one": "counted 1", "error": "refused"}


def about(scores: Scores, columns: Sequence[Column], queries: str) -> list[str]:
    """What holds for all runs."""
    return [COUNTED[queries].format(n=int(scores.counted[:1].sum())), *_undefined(scores, columns)]


def by_subtopic(judgments: Judgments, columns: Sequence[Column]) -> list[str]:
    """What measures of single documents make of judgments by subtopic."""
    plain = [
        c.label
        for c in columns
        if c.part == "value" and not c.measure.definition.subtopics | c.measure.definition.content
    ]
    if not plain or not diverse(judgments):
        return []
    return [f"{judgments.name} has judgments by subtopic: to {', '.join(plain)} a document's highest grade counts"]


def about_run(scores: Scores, one: Scored, columns: Sequence[Column], queries: str) -> list[str]:
    """What is to know about one run, the only one of these scores."""
    return [
        *_answered(one, queries),
        *_unjudged(one, columns, scores.counted[0]),
        *_read(one, columns, scores.counted[0]),
        *_ties(scores, one, columns),
        *_sampled(scores, one),
        *_ranges(one, columns),
    ]


def _undefined(scores: Scores, columns: Sequence[Column]) -> Iterator[str]:
    for m, measure in enumerate(scores.measures):
        if columns[m].part != "value":
            continue
        gone = [np.flatnonzero(scores.counted[r] & np.isnan(scores.values[r, m])) for r in range(len(scores.runs))]
        every = sorted(set(np.concatenate(gone).tolist())) if gone else []
        if every:
            yield (f"{measure} is undefined for {some([scores.queries[q] for q in every])}, {POLICY[scores.undefined]}")


def some(names: Sequence[str]) -> str:
    """How many queries these are, and which, or the first of them."""
    many = f"{len(names)} quer{'y' if len(names) == 1 else 'ies'}"
    return f"{many} ({', '.join(names[:5])}{', ...' if len(names) > 5 else ''})"


def _answered(one: Scored, queries: str) -> Iterator[str]:
    missing = np.flatnonzero(one.length < 0)
    names = next(iter(one.alignments.values())).aligner.judgments.queries
    if len(missing):
        treated = "scored as empty rankings" if queries == "judged" else "not counted"
        yield f"{one.run.name} does not answer {some([names[int(q)] for q in missing])}: {treated}"
    if len(one.other) and queries != "run":
        yield f"{one.run.name} answers {some(list(one.other))} that nobody judged: not counted"


def _unjudged(one: Scored, columns: Sequence[Column], counted: Booleans) -> Iterator[str]:
    """How much of what the measures looked at nobody judged; with ties, how much on average."""
    alignment = next(iter(one.alignments.values()))
    length = np.maximum(alignment.length, 0)
    counted = counted[: len(length)]
    ranks = {c.measure.cutoff for c in columns if c.measure.definition.cutoff in ("optional", "required")} - {None}
    depths = [*sorted(int(k) for k in ranks if k is not None)[:3], None]
    rows = alignment.rows
    judged = counted[rows["query"]] & (alignment.aligner.grade[rows["document"]] >= 0)
    start, size, end = rows["start"][judged], rows["size"][judged], length[rows["query"][judged]]
    seen = {
        k: float((np.clip((end if k is None else np.minimum(end, k)) - start, 0, size) / size).sum()) for k in depths
    }
    shares = []
    for k in depths:
        there = float((length if k is None else np.minimum(length, k))[counted].sum())
        if there and seen[k] < there - 0.5:
            what = "everything retrieved" if k is None else f"the top {k}"
            share = 1 - seen[k] / there
            shares.append(f"{'over 99%' if 0.995 <= share < 1 else f'{share:.0%}'} of {what}")
    if shares:
        yield f"{one.run.name}: nobody judged {', '.join(shares)}"


def _ties(scores: Scores, one: Scored, columns: Sequence[Column]) -> Iterator[str]:
    """By how much another order of tied documents could move each mean."""
    tied: dict[Slot, list[tuple[Integers, Batch]]] = {}
    for slot, alignment in one.alignments.items():
        tied[slot] = []
        for rows, batch in alignment.batches:
            # Among documents without any gain the order changes nothing.
            matters = np.flatnonzero(((batch.size > 1) & (slot[0] | (batch.grade > 0))).any(axis=1))
            if len(matters):
                tied[slot].append((rows[matters], batch.rows(matters)))
    moved, barely, unknown = [], [], []
    for m, column in enumerate(columns):
        if column.part != "value" or not tied[column.slot]:
            continue
        if column.measure.definition.content:
            if column.measure.views.ties != "expected" and any(_open(column, b) for _, b in tied[column.slot]):
                unknown.append(column.label)
            continue
        # What is reported is possible, too, where neither order by gain is an end.
        ends = [scores.summary(0, m)]
        for rule in ("worst", "best"):
            ruled = replace(column.measure, views=replace(column.measure.views, ties=rule))
            values = scores.values[0, m].copy()
            for rows, batch in tied[column.slot]:
                values[rows] = ruled.values(batch).value
            ends.append(scores.summary(0, m, instead=values))
        if max(ends) - min(ends) >= 0.00005:
            moved.append(f"{column.label} between {min(ends):.4f} and {max(ends):.4f}")
        elif min(ends) != max(ends):
            barely.append(column.label)
    if moved:
        yield f"{one.run.name}: tied scores could put {', '.join(moved)}"
    if barely:
        yield f"{one.run.name}: tied scores could move {', '.join(barely)} by less than 0.0001"
    if unknown:
        yield f"{one.run.name}: tied scores could move {', '.join(unknown)}; ties=expected is the mean over all orders"


def _open(column: Column, batch: Batch) -> bool:
    """Whether the measure reads documents whose order is open."""
    end = min(column.measure.cutoff or np.inf, column.measure.views.depth or np.inf)
    return bool(((batch.size > 1) & (batch.start < end)).any())


def _read(one: Scored, columns: Sequence[Column], counted: Booleans) -> Iterator[str]:
    """How much of what was to be read, and learnt from, the corpus does not have."""
    told: dict[tuple[int, int], list[str]] = {}
    for column in columns:
        measure = column.measure
        if not measure.definition.content:
            continue
        alignment = one.alignments[column.slot]
        reading, chosen = alignment.aligner.reading, measure.chosen
        assert reading is not None
        absent = there = 0
        for rows, batch in alignment.batches:
            seen = settled(measure.ordered(batch), measure.views)
            end = np.minimum(seen.length, measure.cutoff or np.inf)[:, None]
            read = seen.document[~np.isnan(seen.grade) & (seen.start < end) & counted[rows][:, None]]
            absent, there = absent + int((reading.document[read] < 0).sum()), there + len(read)
        told.setdefault((absent, there), []).append(column.label)
        view = chosen["rel"], chosen["whole"]
        gone, relevant = reading.absent(view)
        name = alignment.aligner.judgments.name
        yield f"{name}: {gone:,} of {relevant:,} relevant documents are not in the corpus, and teach nothing"
        silent, subtopics = reading.silent(view, chosen["mu"])
        if silent and subtopics:
            yield f"{name}: {silent:,} of {subtopics:,} subtopics have no model of what is relevant to them: left out"
    for (absent, there), labels in told.items():
        which = f" ({', '.join(labels)})" if len(told) > 1 else ""
        yield f"{one.run.name}: {absent:,} of {there:,} documents read{which} are not in the corpus, and add nothing"


def _ranges(one: Scored, columns: Sequence[Column]) -> Iterator[str]:
    """Which lowest and highest values are not bounds."""
    for column in columns:
        if column.part == "lowest":
            batches = [batch for _, batch in one.alignments[column.slot].batches]
            if not all(bounds(column.measure, batch).hold.all() for batch in batches):
                yield f"{column.measure}: lowest and highest are of the judgments tried, and are not bounds"


def _sampled(scores: Scores, one: Scored) -> Iterator[str]:
    for m, measure in enumerate(scores.measures):
        error = one.errors[m, : scores.counted.shape[1]]
        if error.any():
            of_mean = float(np.sqrt((error**2).sum()) / max(len(scores.sample(0, m)), 1))
            yield (
                f"{one.run.name}: {measure} has too many tie orders to take them all for "
                f"{int((error > 0).sum())} queries; sampled, standard error of the mean {of_mean:.2g}"
            )
