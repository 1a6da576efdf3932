"""One record for every ranking: the values of all columns, and what notes are written from; or a fault."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.batch import Booleans
from cranfield.data import Integers, Strings
from cranfield.errors import CranfieldError, InputError, optional
from cranfield.evaluation.columns import Column, Plan
from cranfield.evaluation.run_notes import (
    documents_read,
    judged_above,
    limited_by_ties,
    noted_depths,
    unknown_tie_effect,
)
from cranfield.evaluation.run_scores import RunScores

# The columns of records, by kind; see `_types`.
RECORD = {
    "run": "text",
    "query": "text",
    "judged": "flag",
    "length": "count",  # documents retrieved; -1 where the run does not answer
    "value": "numbers",  # by column
    "worst": "numbers",  # with ties at their worst, where that makes a difference
    "best": "numbers",
    "error": "numbers",  # of sampled tie orders, where there are any
    "seen": "numbers",  # judged documents down to each depth
    "read": "numbers",  # by column that reads: `documents_read`
    "learnt": "numbers",  # the same without a run: `Reading.coverage`
    "loose": "flags",  # by column: no bounds (lowest), or open to ties nobody knows how far (value); where any is
    "fault": "texts",
    "faults": "count",
    "hint": "text",
    "kind": "text",
}


def records(plan: Plan, name: str | None, run: RunScores, chosen: Integers) -> Any:
    """One run's rankings as records; ``chosen`` are the judged queries, and those that nobody judged follow."""
    pyarrow = optional("pyarrow", "an engine", "arrow")
    columns, judged, other = plan.columns, len(run.length), len(run.unjudged_queries)
    every = np.concatenate([chosen, np.arange(judged, judged + other)])
    table = np.array([run[column].value for column in columns])
    errors = np.array([run[column].error for column in columns])
    values, scores = table[:, every].T, table[:, :judged]
    limits = np.broadcast_to(scores, (2, *scores.shape)).copy()
    loose = np.zeros((len(columns), judged), bool)
    for m, column in enumerate(columns):
        if limited_by_ties(run, column):
            limits[:, m] = [limit[:judged] for limit in run.tie_limits(column)]
        if column.part == "lowest":
            loose[m] = ~run[column].hold[:judged]
        elif column.part == "value":
            loose[m] = unknown_tie_effect(run, column)
    same = (limits == scores) | (np.isnan(limits) & np.isnan(scores))
    moved = np.asarray(~same.all(axis=(0, 1)))
    above = judged_above(run, noted_depths(columns))
    names = run.alignment.aligner.judgments.queries.take(chosen)
    alone = np.zeros(other, bool)

    def numbers(table: npt.NDArray[Any], there: Booleans) -> Any:
        """A list for each record, (record, number) without gaps; null where it is not there."""
        width = table.shape[1]
        offsets = pyarrow.array(np.arange(len(table) + 1, dtype=np.int32) * width)
        return pyarrow.ListArray.from_arrays(offsets, pyarrow.array(table.ravel()), mask=pyarrow.array(~there))

    def below(table: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.concatenate([table[:, chosen].T, np.zeros((other, len(table)), table.dtype)])

    every_one = np.ones(len(every), bool)
    more: dict[str, Any] = {}
    if plan.content_columns:
        kind, count = ("learnt", _learnt) if name is None else ("read", documents_read)
        counts = np.concatenate([count(run, column) for column in plan.content_columns], axis=1)
        more[kind] = numbers(below(counts.T.astype(np.float64)), every_one)
    sampled = np.asarray((errors[:, every] > 0).any(axis=0))
    touched = np.concatenate([moved[chosen], alone])
    lengths = run.alignment.other_length
    return _batch(
        len(every),
        run=pyarrow.array([name] * len(every), pyarrow.string()),
        query=pyarrow.concat_arrays([texts_of(names), texts_of(run.unjudged_queries)]).cast(pyarrow.string()),
        judged=pyarrow.array(np.concatenate([np.ones(len(chosen), bool), alone])),
        length=pyarrow.array(np.concatenate([run.length[chosen], lengths])),
        value=numbers(values, every_one),
        worst=numbers(below(limits[0]), touched),
        best=numbers(below(limits[1]), touched),
        error=numbers(errors[:, every].T, sampled),
        seen=numbers(below(above), every_one),
        **more,
        loose=numbers(below(loose), np.concatenate([loose[:, chosen].any(axis=0), alone])),
    )


def _learnt(run: RunScores, column: Column) -> Integers:
    """`Reading.coverage` for what a column asks."""
    reading, chosen = run.alignments[column.alignment].aligner.reading, column.measure.chosen
    assert reading is not None
    return reading.coverage((chosen["rel"], chosen["whole"]), chosen["mu"])


def fault(error: CranfieldError) -> Any:
    """An error as a record."""
    pyarrow = optional("pyarrow", "an engine", "arrow")
    faults = list(error.faults) if isinstance(error, InputError) else [error.message]
    total = error.total if isinstance(error, InputError) else 1
    return _batch(
        1,
        fault=pyarrow.array([faults], pyarrow.list_(pyarrow.string())),
        faults=pyarrow.array([total]),
        hint=pyarrow.array([error.hint]),
        kind=pyarrow.array([type(error).__name__]),
    )


def _batch(count: int, **columns: Any) -> Any:
    pyarrow = optional("pyarrow", "an engine", "arrow")
    types = _types(pyarrow)
    arrays = [columns.get(name, pyarrow.nulls(count, types[kind])) for name, kind in RECORD.items()]
    return pyarrow.RecordBatch.from_arrays(arrays, names=list(RECORD))


def _types(pyarrow: Any) -> dict[str, Any]:
    return {
        "text": pyarrow.string(),
        "texts": pyarrow.list_(pyarrow.string()),
        "flag": pyarrow.bool_(),
        "flags": pyarrow.list_(pyarrow.bool_()),
        "count": pyarrow.int64(),
        "numbers": pyarrow.list_(pyarrow.float64()),
    }


def texts_of(strings: Strings) -> Any:
    """Ids as an Arrow array, without copying."""
    pyarrow = optional("pyarrow", "an engine", "arrow")
    offsets = np.ascontiguousarray(strings.offsets, np.int64)
    buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(np.ascontiguousarray(strings.data))]
    return pyarrow.LargeStringArray.from_buffers(len(strings), buffers[1], buffers[2])
