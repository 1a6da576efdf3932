"""Significance tests in tasks: all values of a measure in, the outcomes of its pairs of runs out.

Each measure is one task, which uses the functions of `cranfield.compare`. Only the outcomes leave the task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.analysis.significance import ComparisonSettings, MeasureComparison, test_pairs
from cranfield.data import Floats, Integers
from cranfield.engines.totals import id_list, pack
from cranfield.errors import CranfieldError, optional
from cranfield.evaluation.policy import Undefined


@dataclass(frozen=True)
class PairTests:
    """The settings of a comparison, for every task."""

    settings: ComparisonSettings
    runs: tuple[str, ...]
    pairs: Integers
    undefined: Undefined


@dataclass(frozen=True)
class MeasureOutcome:
    """The outcome for one measure. ``used``: the queries that were compared, as packed bits in the order of ids.

    ``queries`` has the ids, for the first measure only: they are the same for all. The outcome is None if fewer than
    two queries have a value in every run.
    """

    outcome: MeasureComparison | CranfieldError | None
    used: npt.NDArray[np.uint8]
    count: int
    queries: Sequence[str]


def measure_outcomes(tests: PairTests, batches: Iterable[Any]) -> Iterator[Any]:
    """Rows of measure (a number), query, run and value, sorted by the first two, in; packed outcomes out."""
    for measure, rows in _by_measure(batches):
        names, values, counted = _table(tests.runs, rows)
        if tests.undefined in ("zero", "one"):
            values = np.where(np.isnan(values), float(tests.undefined == "one"), values)
        used = counted & ~np.isnan(values).any(axis=0)
        yield pack({str(measure): _outcome(tests, values[:, used], used, names if measure == 0 else ())})


def _outcome(tests: PairTests, values: Floats, used: npt.NDArray[np.bool_], queries: Sequence[str]) -> MeasureOutcome:
    outcome: MeasureComparison | CranfieldError | None = None
    try:
        if values.shape[1] > 1:
            outcome = test_pairs(values, tests.pairs, tests.settings)
    except CranfieldError as error:
        outcome = error
    return MeasureOutcome(outcome, np.packbits(used), len(used), queries)


def _by_measure(batches: Iterable[Any]) -> Iterator[tuple[int, list[Any]]]:
    """The rows of each measure, in input order."""
    held: list[Any] = []
    last = -1
    for batch in batches:
        measure = batch.column("measure").to_numpy()
        bounds = [0, *(np.flatnonzero(np.diff(measure)) + 1).tolist(), len(measure)]
        for begin, end in pairwise(bounds):
            if begin == end:
                continue
            if held and measure[begin] != last:
                yield last, held
                held = []
            last = int(measure[begin])
            held.append(batch.slice(begin, end - begin))
    if held:
        yield last, held


def _table(runs: Sequence[str], rows: list[Any]) -> tuple[list[str], Floats, npt.NDArray[np.bool_]]:
    """The queries in order, the values (run, query), and whether every run has the query."""
    pyarrow = optional("pyarrow", "an engine", "arrow")
    compute = optional("pyarrow.compute", "an engine", "arrow")
    table = pyarrow.Table.from_batches(rows)
    query = table.column("query").cast(pyarrow.large_string()).combine_chunks()
    new = np.ones(len(query), bool)
    new[1:] = compute.not_equal(query.slice(1), query.slice(0, len(query) - 1)).to_numpy(zero_copy_only=False)
    of_query = np.cumsum(new) - 1
    names = id_list(query.filter(pyarrow.array(new)))
    names_of_runs = pyarrow.array(runs, pyarrow.string())
    of_run = compute.index_in(table.column("run"), value_set=names_of_runs).to_numpy()
    values = np.full((len(runs), len(names)), np.nan)
    values[of_run, of_query] = table.column("value").to_numpy()
    return names, values, np.bincount(of_query) == len(runs)
