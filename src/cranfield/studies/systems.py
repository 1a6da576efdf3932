"""What studies of orders of systems begin with: several runs and queries, and measures that are means over these."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield import io
from cranfield.batch import Booleans
from cranfield.data import Floats
from cranfield.errors import InputError, MeasureError, UsageError
from cranfield.evaluation.columns import make_plan
from cranfield.evaluation.evaluator import Evaluator
from cranfield.evaluation.notes import QueryNames, sentences
from cranfield.evaluation.policy import Negative, Policy, Undefined
from cranfield.evaluation.run_notes import reading_notes
from cranfield.statistics.correlation import levels
from cranfield.studies.relabelling import Relabeller

LEAST = 2  # queries that an order and a test need


@dataclass(frozen=True, eq=False)
class Systems:
    """Runs that were read once, with what they are scored by.

    ``values`` (run, measure, query): under all judgments, NaN where undefined; ``defined`` (measure, query): for
    every run; ``said``: what a reader has to know of runs that leave queries out, and of a corpus with gaps.
    """

    relabeller: Relabeller
    runs: tuple[str, ...]
    measures: tuple[str, ...]
    queries: tuple[str, ...]
    values: Floats
    defined: Booleans
    said: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader has to know of means that are taken measure by measure."""
        return (*self.said, *_undefined(self.measures, self.defined, self.queries))

    @property
    def means(self) -> Floats:
        """The score of each system, (measure, run): its mean over the queries where all systems have one."""
        return means(self.values, self.defined)


def systems(
    qrels: Any,
    runs: Any,
    measures: Any,
    *,
    negative: Negative = "unjudged",
    undefined: Undefined = "skip",
    corpus: Any = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Systems:
    """Reads runs once, and refuses what has no order: one run, one topic, a measure that is hardly ever defined.

    ``undefined`` is what ``values`` have where a measure has none: nothing, 0, 1, or an error. ``corpus`` is what
    measures of contents read.
    """
    policy = Policy(negative=negative, undefined=undefined, seed=seed)
    given = list(runs) if isinstance(runs, (list, tuple)) else [runs]
    if len(given) < 2:
        raise UsageError(
            f"an order needs at least two runs, and there {'is one' if given else 'is none'}",
            hint="give the runs of several systems",
        )
    plan = make_plan(measures, policy)
    for column in plan.columns:
        if column.aggregate != "mean":
            raise MeasureError(
                f"{column.label} is no mean over queries, and systems are not ordered by it",
                hint="use AP in place of GMAP, and a share in place of a count",
            )
    judgments = io.read_qrels(qrels)
    queries = tuple(judgments.queries)
    if len(queries) < LEAST:
        raise InputError(
            [f"{judgments.name}: {'one query is' if queries else 'no query is'} judged, and it takes at least two"]
        )
    relabeller = Relabeller(Evaluator.of(judgments, plan, corpus=corpus).evaluation(given, progress=progress))
    labels = tuple(column.label for column in plan.columns)
    values = _settled(relabeller.scores(), undefined, labels, queries)
    defined = complete(values)
    for label, there in zip(labels, defined, strict=True):
        if there.sum() < LEAST:
            raise InputError(
                [f"{label} is defined for {there.sum()} of {len(queries)} queries in all runs; it takes at least two"],
                hint=f"leave {label} out, or the runs for which it is undefined",
            )
    names = relabeller.evaluation.runs
    said = (*_unanswered(relabeller, queries), *dict.fromkeys(_read(relabeller)))
    return Systems(relabeller, names, labels, queries, values, defined, said)


def _settled(values: Floats, undefined: Undefined, labels: Sequence[str], queries: Sequence[str]) -> Floats:
    missing = np.isnan(values)
    if undefined == "skip" or not missing.any():
        return values
    if undefined == "error":
        measure = int(missing.any(axis=(0, 2)).argmax())
        where = [queries[q] for q in np.flatnonzero(missing[:, measure].any(axis=0)).tolist()]
        raise InputError(
            [f"{labels[measure]} is undefined for {QueryNames.of(where)}"],
            hint="no relevant document is judged for them; use undefined = skip, zero or one",
        )
    return np.where(missing, float(undefined == "one"), values)


def complete(values: Floats) -> Booleans:
    """Where a measure has a value for every run: (measure, query), of (run, measure, query)."""
    return np.logical_not(np.isnan(values).any(axis=0))


def means(values: Floats, counted: Booleans) -> Floats:
    """The mean of each run over the queries counted, (measure, run); undefined where there are none."""
    total = np.where(counted, values, 0).sum(axis=-1).T
    many = counted.sum(axis=-1)[:, None]
    return np.divide(total, many, out=np.full(total.shape, np.nan), where=many > 0)


def tied(measures: Sequence[str], means: Floats, coefficient: str) -> Iterator[str]:
    """What a reader has to know of measures, (measure, run), that leave runs without an order."""
    many = {m: len(one) - 1 - int(levels(one).max()) for m, one in zip(measures, means, strict=True)}
    for measure, same in many.items():
        if same == means.shape[1] - 1:
            yield f"{measure} gives all runs the same score, and orders none"
        elif same and coefficient == "tau-a":
            yield f"{measure} gives some runs the same score; such a pair is half a disagreement, except by tau-b"


def _unanswered(relabeller: Relabeller, queries: Sequence[str]) -> Iterator[str]:
    for run, answered in zip(relabeller.evaluation.runs, relabeller.answered, strict=True):
        missing = np.flatnonzero(~answered).tolist()
        if missing:
            yield f"{run} does not answer {QueryNames.of([queries[q] for q in missing])}: scored as empty rankings"


def _read(relabeller: Relabeller) -> Iterator[str]:
    """What the corpus does not have of what measures read, or would learn from."""
    for measure in relabeller.measures:
        if relabeller.rereading is None or not measure.definition.content:
            continue
        reading, chosen = relabeller.rereading.every, measure.chosen
        lacks, there = relabeller.unread(measure)
        if lacks:
            yield f"{lacks:,} of {there:,} documents that runs have on top are not in the corpus, and add nothing"
        view = chosen["rel"], chosen["whole"]
        if reading.absent(view)[0] or reading.silent(view, chosen["mu"])[0]:
            yield from sentences(reading_notes(reading, view, chosen["mu"], relabeller.judgments.name))


def _undefined(labels: Sequence[str], defined: Booleans, queries: Sequence[str]) -> Iterator[str]:
    """Measures that lack the same queries are named together."""
    alike: dict[tuple[int, ...], list[str]] = {}
    for label, there in zip(labels, defined, strict=True):
        alike.setdefault(tuple(np.flatnonzero(~there).tolist()), []).append(label)
    for missing, names in alike.items():
        if missing:
            gone, left = QueryNames.of([queries[q] for q in missing]), len(queries) - len(missing)
            yield f"{', '.join(names)}: undefined for {gone}, left out for all runs; means are over {left}"
