"""One run, scored: every column's value for every query, as yet without means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from cranfield.batch import Aligner, Alignment, Batch, Key
from cranfield.bounds import bounds
from cranfield.data import Floats, Integers, Run, Strings
from cranfield.errors import InputError
from cranfield.measures import Measure
from cranfield.measures.orders import Estimate

Part = Literal["value", "residual", "lowest", "highest"]


@dataclass(frozen=True)
class Column:
    """One column of the scores: what to compute and what it is called."""

    label: str
    measure: Measure
    part: Part = "value"

    def of(self, batch: Batch, seed: int) -> Estimate:
        """This column's value for every query of a batch."""
        if self.part == "value":
            return self.measure.values(batch, seed=seed)
        if self.part == "residual":
            return self.measure.residual(batch, seed=seed)
        found = bounds(self.measure, batch, seed=seed)
        return Estimate(found.low if self.part == "lowest" else found.high)


@dataclass(frozen=True, eq=False)
class Scored:
    """One run's values by (column, query), with the queries beyond the judged ones last."""

    run: Run
    values: Floats
    errors: Floats
    length: Integers  # of each judged query's ranking; -1 where there is none
    other: Strings  # queries of the run that nobody judged
    alignments: dict[Key, Alignment]

    def released(self) -> Scored:
        """The same without the rankings: nobody needs them once the notes are written."""
        return replace(self, alignments={})


def align(run: Run, aligner: Aligner, columns: Sequence[Column]) -> dict[Key, Alignment]:
    """A run read once for each way of ordering that the columns ask for."""
    keys = {c.measure.views.key for c in columns}
    by_id = {
        c.measure.views.key
        for c in columns
        if (c.measure.views.ties or "trec") in ("trec", "trec9") or c.measure.definition.subtopics
    }
    return {key: aligner.align(run, key, by_id=key in by_id) for key in sorted(keys)}


def aligned(runs: Sequence[Run], aligner: Aligner, columns: Sequence[Column]) -> Iterator[dict[Key, Alignment]]:
    """All runs in turn, the next one being read while this one is measured."""
    if len(runs) == 1:
        yield align(runs[0], aligner, columns)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as reader:
        ahead = [reader.submit(align, run, aligner, columns) for run in runs[:2]]
        for run in [*runs[2:], None, None]:
            yield ahead.pop(0).result()
            if run is not None:
                ahead.append(reader.submit(align, run, aligner, columns))


def score(run: Run, alignments: dict[Key, Alignment], columns: Sequence[Column], seed: int) -> Scored:
    """A run, aligned, and measured."""
    alignment = next(iter(alignments.values()))
    aligner = alignment.aligner
    judged, other = len(aligner.judgments.queries), len(alignment.other)
    measurable(run, alignment, columns)
    values, errors = np.zeros((2, len(columns), judged + other))
    for key, found in alignments.items():
        batches = list(found.batches)
        if other:
            batches.append((np.arange(judged, judged + other), found.unjudged()))
        for c, column in enumerate(columns):
            if column.measure.views.key == key:
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
