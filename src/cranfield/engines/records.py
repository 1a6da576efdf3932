"""One record for every ranking: the values of all columns and the numbers for notes, or a fault."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.data import Booleans, Integers, Strings, TextView
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

# The columns of records and their types; see `_types`.
RECORD = {
    "run": "text",
    "query": "text",
    "judged": "flag",
    "length": "count",  # documents retrieved; -1 if the run does not have the query
    "value": "numbers",  # by column
    "worst": "numbers",  # by column, with ties at their worst; null if ties do not matter
    "best": "numbers",
    "error": "numbers",  # by column, of sampled tie orders; null without sampling
    "seen": "numbers",  # judged documents up to each depth
    "read": "numbers",  # by content column: `documents_read`
    "coverage": "numbers",  # by content column, without a run: `Reading.coverage`
    "unbounded": "flags",  # by column: has no bounds (lowest), or unknown effect of ties (value); null if none
    "fault": "texts",
    "faults": "count",
    "hint": "text",
    "kind": "text",
}


def records(plan: Plan, name: str | None, run: RunScores, chosen: Integers) -> Any:
    """The rankings of a run as records: those of the ``chosen`` judged queries, then those of unjudged queries."""
    pyarrow = optional("pyarrow", "an engine", "arrow")
    columns, judged, unjudged = plan.columns, len(run.length), len(run.unjudged_queries)
    queries = np.concatenate([chosen, np.arange(judged, judged + unjudged)])
    table = np.array([run[column].value for column in columns])
    errors = np.array([run[column].error for column in columns])
    values, scores = table[:, queries].T, table[:, :judged]
    limits = np.broadcast_to(scores, (2, *scores.shape)).copy()
    unbounded = np.zeros((len(columns), judged), bool)
    for m, column in enumerate(columns):
        if limited_by_ties(run, column):
            limits[:, m] = [limit[:judged] for limit in run.tie_limits(column)]
        if column.part == "lowest":
            unbounded[m] = ~run[column].hold[:judged]
        elif column.part == "value":
            unbounded[m] = unknown_tie_effect(run, column)
    unchanged = (limits == scores) | (np.isnan(limits) & np.isnan(scores))
    changed_by_ties = np.asarray(~unchanged.all(axis=(0, 1)))
    above = judged_above(run, noted_depths(columns))
    names = run.alignment.aligner.judgments.queries.take(chosen)
    unjudged_false = np.zeros(unjudged, bool)

    def lists(table: npt.NDArray[Any], present: Booleans) -> Any:
        """The rows of a table as lists; null where not present."""
        width = table.shape[1]
        offsets = pyarrow.array(np.arange(len(table) + 1, dtype=np.int32) * width)
        return pyarrow.ListArray.from_arrays(offsets, pyarrow.array(table.ravel()), mask=pyarrow.array(~present))

    def by_query(table: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A table of columns and judged queries as one row per query, 0 for unjudged queries."""
        return np.concatenate([table[:, chosen].T, np.zeros((unjudged, len(table)), table.dtype)])

    all_queries = np.ones(len(queries), bool)
    content: dict[str, Any] = {}
    if plan.content_columns:
        key, count = ("coverage", _coverage) if name is None else ("read", documents_read)
        counts = np.concatenate([count(run, column) for column in plan.content_columns], axis=1)
        content[key] = lists(by_query(counts.T.astype(np.float64)), all_queries)
    sampled = np.asarray((errors[:, queries] > 0).any(axis=0))
    with_limits = np.concatenate([changed_by_ties[chosen], unjudged_false])
    lengths = run.alignment.other_length
    return _batch(
        len(queries),
        run=pyarrow.array([name] * len(queries), pyarrow.string()),
        query=pyarrow.concat_arrays([arrow_strings(names), arrow_strings(run.unjudged_queries)]).cast(pyarrow.string()),
        judged=pyarrow.array(np.concatenate([np.ones(len(chosen), bool), unjudged_false])),
        length=pyarrow.array(np.concatenate([run.length[chosen], lengths])),
        value=lists(values, all_queries),
        worst=lists(by_query(limits[0]), with_limits),
        best=lists(by_query(limits[1]), with_limits),
        error=lists(errors[:, queries].T, sampled),
        seen=lists(by_query(above), all_queries),
        **content,
        unbounded=lists(by_query(unbounded), np.concatenate([unbounded[:, chosen].any(axis=0), unjudged_false])),
    )


def _coverage(run: RunScores, column: Column) -> Integers:
    """`Reading.coverage` for the measure of a column."""
    reading, chosen = run.alignments[column.alignment].aligner.reading, column.measure.chosen
    assert reading is not None
    return reading.coverage(TextView.of(chosen), chosen["mu"])


def fault_record(error: CranfieldError) -> Any:
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
    arrays = [columns.get(name, pyarrow.nulls(count, types[type_name])) for name, type_name in RECORD.items()]
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


def arrow_strings(strings: Strings) -> Any:
    """Ids as an Arrow array, without copying."""
    pyarrow = optional("pyarrow", "an engine", "arrow")
    offsets = np.ascontiguousarray(strings.offsets, np.int64)
    buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(np.ascontiguousarray(strings.data))]
    return pyarrow.LargeStringArray.from_buffers(len(strings), buffers[1], buffers[2])
