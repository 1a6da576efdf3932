"""One run, scored: every column's value for every query, as yet without means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from cranfield.alignment import Aligner, Alignment
from cranfield.batch import Batch, Key
from cranfield.data import Floats, Integers, Run, Strings
from cranfield.errors import InputError, MeasureError
from cranfield.measures import Measure
from cranfield.measures.ties.estimate import Estimate

# Runs that are read before they can be measured, as reading must not wait while a core is free; fewer where they may
# hold more judged documents together than this.
AHEAD, HELD = 8, 1 << 20
Part = Literal["value", "residual", "lowest", "highest"]
Slot = tuple[bool, Key]  # whether documents are read, and what orders them


@dataclass(frozen=True, eq=False)
class Column:
    """One column of the scores: what to compute and what it is called."""

    label: str
    measure: Measure
    part: Part = "value"

    @property
    def slot(self) -> Slot:
        """Which alignment of a run this is computed from."""
        return self.measure.definition.content, self.measure.views.key

    def of(self, batch: Batch, seed: int) -> Estimate:
        """This column's value for every query of a batch."""
        if self.part == "value":
            return self.measure.values(batch, seed=seed)
        if self.part == "residual":
            return self.measure.residual(batch, seed=seed)
        from cranfield.bounds import bounds

        found = bounds(self.measure, batch, seed=seed)
        return Estimate(found.low if self.part == "lowest" else found.high)


# Judgments made ready for measures that read documents (True), and for all others (False).
Aligners = dict[bool, Aligner]


@dataclass(frozen=True, eq=False)
class Scored:
    """One run's values by (column, query), with the queries beyond the judged ones last."""

    run: Run
    values: Floats
    errors: Floats
    length: Integers  # of each judged query's ranking; -1 where there is none
    other: Strings  # queries of the run that nobody judged
    alignments: dict[Slot, Alignment]

    def released(self) -> Scored:
        """The same without the rankings: nobody needs them once the notes are written."""
        return replace(self, alignments={})


def align(run: Run, aligners: Aligners, columns: Sequence[Column]) -> dict[Slot, Alignment]:
    """A run read once for each way of ordering that the columns ask for."""
    by_id = {
        c.slot
        for c in columns
        if (c.measure.views.ties or "trec") in ("trec", "trec9")
        or c.measure.definition.subtopics
        or c.measure.definition.content
    }
    slots = sorted({c.slot for c in columns})
    return {slot: aligners[slot[0]].align(run, slot[1], by_id=slot in by_id) for slot in slots}


def aligned(runs: Sequence[Run], aligners: Aligners, columns: Sequence[Column]) -> Iterator[dict[Slot, Alignment]]:
    """All runs in turn, the next few being read while this one is measured."""
    if len(runs) == 1:
        yield align(runs[0], aligners, columns)
        return
    from concurrent.futures import ThreadPoolExecutor

    judged = max(len(aligner.grade) for aligner in aligners.values())
    some = max(2, min(AHEAD, HELD // max(judged, 1)))
    reader = ThreadPoolExecutor(1)
    try:
        ahead = [reader.submit(align, run, aligners, columns) for run in runs[:some]]
        for run in runs[some:]:
            yield ahead.pop(0).result()
            ahead.append(reader.submit(align, run, aligners, columns))
        while ahead:
            yield ahead.pop(0).result()
    finally:
        reader.shutdown(cancel_futures=True)  # after a fault nobody waits for the others


def score(run: Run, alignments: dict[Slot, Alignment], columns: Sequence[Column], seed: int) -> Scored:
    """A run, aligned, and measured."""
    alignment = next(iter(alignments.values()))
    aligner = alignment.aligner
    judged, other = len(aligner.judgments.queries), len(alignment.other)
    for slot, found in alignments.items():
        measurable(run, found, [column for column in columns if column.slot == slot])
    values, errors = np.zeros((2, len(columns), judged + other))
    for slot, found in alignments.items():
        batches = list(found.batches)
        if other:
            batches.append((np.arange(judged, judged + other), found.unjudged()))
        for c, column in enumerate(columns):
            if column.slot == slot:
                for rows, batch in batches:
                    estimate = column.of(batch, seed)
                    values[c, rows] = estimate.value
                    errors[c, rows] = 0 if estimate.error is None else estimate.error
    return Scored(run, values, errors, alignment.length, alignment.other, alignments)


def measurable(run: Run, alignment: Alignment, columns: Sequence[Column]) -> None:
    """An error where a column asks for what the judgments or the run's lists do not have."""
    aligner = alignment.aligner
    for column in columns:
        _not_longer(run, alignment, column.measure)
        if column.measure.definition.content and aligner.reading is None:
            raise MeasureError(f"{column.measure} reads documents, and there is no corpus here to read them in")
        if column.measure.definition.subtopics and aligner.subtopics is None:
            raise InputError(
                [f"{aligner.judgments.name}: {column.measure} needs judgments by subtopic, and these have none"],
                hint="the second column of the judgments, or `subtopic` in a table, is the subtopic",
            )


def _not_longer(run: Run, alignment: Alignment, measure: Measure) -> None:
    """A list longer than the full length says that this is not the full length."""
    full, depth = measure.views.full, measure.views.depth
    if full is None:
        return
    length = alignment.length if depth is None else np.minimum(alignment.length, depth)
    longer = np.flatnonzero(length > full)
    if len(longer):
        names = alignment.aligner.judgments.queries
        place = run.place or run.name
        raise InputError(
            [f"{place}: query `{names[int(q)]}` has {length[q]} documents; a full list has {full}" for q in longer],
            hint="give the length at which the system was made to stop, or cut lists with a depth",
        )


def in_common(run: Run, alignment: Alignment) -> None:
    """A run without a single judged query is most likely another collection's."""
    queries, other = alignment.aligner.judgments.queries, alignment.other
    if len(other) and len(queries) and (alignment.length < 0).all():
        raise InputError(
            [f"{run.place or run.name}: none of its queries is judged (for example `{other[0]}`)"],
            hint=f"the judgments are for queries such as `{queries[0]}`; do the two belong together?",
        )
