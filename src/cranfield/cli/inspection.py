"""What ``check`` looks for in judgments and runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from cranfield.alignment import Aligner, Alignment
from cranfield.data import Judgments
from cranfield.errors import InputError
from cranfield.io import check_run, read_qrels, read_run
from cranfield.wording import plural

SHOWN = 5
TOP = 10


@dataclass(frozen=True)
class Findings:
    """What there is to say of one file."""

    place: str
    error: InputError | None = None
    warnings: tuple[str, ...] = ()

    @property
    def faults(self) -> int:
        return self.error.total if self.error else 0

    def lines(self) -> Iterator[str]:
        """Faults as they are, warnings marked as such."""
        if self.error:
            yield from self.error.message.splitlines()
            if self.error.hint:
                yield f"{self.place}: hint: {self.error.hint}"
        for warning in self.warnings:
            yield f"{self.place}: warning: {warning}"


def inspect(qrels: str, runs: Sequence[str]) -> list[Findings]:
    """The findings of every file: a fault in one does not hide those of the next."""
    aligner = None
    try:
        judgments = read_qrels(qrels)
        aligner = Aligner(judgments)
        first = Findings(qrels, warnings=tuple(of_judgments(judgments)))
    except InputError as error:
        first = Findings(qrels, error)
    return [first, *(_of_file(run, aligner) for run in runs)]


def _of_file(place: str, aligner: Aligner | None) -> Findings:
    try:
        run = read_run(place)
        if aligner is None:
            return Findings(place, check_run(run))
        return Findings(place, warnings=tuple(of_alignment(aligner.align(run, by_id=False))))
    except InputError as error:
        return Findings(place, error)


def of_judgments(judgments: Judgments) -> Iterator[str]:
    """What may surprise in judgments that are well formed."""
    begin, grade = judgments.begin, judgments.grade
    barren = [q for q, (a, b) in enumerate(pairwise(begin)) if not (grade[a:b] >= 1).any()]
    if barren:
        every, names = plural(len(judgments.queries), "query"), named([judgments.queries[q] for q in barren])
        yield f"{len(barren):,} of {every} without a document of grade 1 or more: {names}"
    if negative := int((grade < 0).sum()):
        yield f"{plural(negative, 'judgment')} with a negative grade, taken as unjudged"
    if judgments.repeated:
        yield f"{plural(judgments.repeated, 'judgment')} given more than once"


def of_alignment(alignment: Alignment) -> Iterator[str]:
    """What may surprise when a run meets its judgments."""
    queries, rows, length = alignment.aligner.judgments.queries, alignment.rows, alignment.length
    missing = np.flatnonzero(length < 0).tolist()
    if missing:
        names = named([queries[q] for q in missing])
        yield f"{len(missing)} of {len(length)} judged queries not answered: {names}"
    if len(alignment.other):
        yield f"{plural(len(alignment.other), 'query')} not judged: {named(list(alignment.other))}"
    tied = rows["size"] > 1
    if tied.any():
        touched = plural(len(np.unique(rows["query"][tied])), "query")
        yield f"{int(tied.sum()):,} of {len(tied):,} judged documents with a score that others share, in {touched}"
    shown = int(np.clip(length, 0, TOP).sum())
    # Of a tie that the tenth place cuts, the expected share is above the cut.
    judged = float((np.clip(TOP - rows["start"], 0, rows["size"]) / rows["size"]).sum())
    if shown and judged < shown - 0.5:
        yield f"{1 - judged / shown:.0%} of the first {TOP} documents not judged"


def named(names: Sequence[str]) -> str:
    """The first few of many names."""
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
