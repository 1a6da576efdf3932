"""Comparisons where the data are: all values of one measure in, what tests find of its pairs of runs out.

A measure is one task's, which calls what `cranfield.compare` calls. Only what it finds leaves the task.
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
from cranfield.engines.totals import packed, texts
from cranfield.errors import CranfieldError
from cranfield.evaluation.policy import Undefined
from cranfield.formats.optional import optional


@dataclass(frozen=True)
class Match:
    """What every task of a comparison is told."""

    settings: ComparisonSettings
    runs: tuple[str, ...]
    pairs: Integers
    undefined: Undefined


@dataclass(frozen=True)
class Verdict:
    """What is found of one measure. ``used``: which of the queries, by id, it was compared on, as packed bits.

    ``queries`` has their ids, of the first measure alone: others have the same. There is an outcome where two queries
    or more have a value in every run, unless it is an error.
    """

    outcome: MeasureComparison | CranfieldError | None
    used: npt.NDArray[np.uint8]
    count: int
    queries: Sequence[str]


def verdicts(match: Match, batches: Iterable[Any]) -> Iterator[Any]:
    """Rows of measure (a number), query, run and value, sorted by the first two, in; packed verdicts out."""
    for measure, rows in _by_measure(batches):
        names, values, counted = _table(match.runs, rows)
        if match.undefined in ("zero", "one"):
            values = np.where(np.isnan(values), float(match.undefined == "one"), values)
        used = counted & ~np.isnan(values).any(axis=0)
        yield packed({str(measure): _verdict(match, values[:, used], used, names if measure == 0 else ())})


def _verdict(match: Match, x: Floats, used: npt.NDArray[np.bool_], queries: Sequence[str]) -> Verdict:
    outcome: MeasureComparison | CranfieldError | None = None
    try:
        if x.shape[1] > 1:
            outcome = test_pairs(x, match.pairs, match.settings)
    except CranfieldError as error:
        outcome = error
    return Verdict(outcome, np.packbits(used), len(used), queries)


def _by_measure(batches: Iterable[Any]) -> Iterator[tuple[int, list[Any]]]:
    """The rows of each measure, as they come."""
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
    """Queries in their order, values by (run, query), and whether a query counts for every run."""
    pyarrow = optional("pyarrow", "an engine", "arrow")
    compute = optional("pyarrow.compute", "an engine", "arrow")
    table = pyarrow.Table.from_batches(rows)
    query = table.column("query").cast(pyarrow.large_string()).combine_chunks()
    new = np.ones(len(query), bool)
    new[1:] = compute.not_equal(query.slice(1), query.slice(0, len(query) - 1)).to_numpy(zero_copy_only=False)
    of_query = np.cumsum(new) - 1
    names = texts(query.filter(pyarrow.array(new)))
    known = pyarrow.array(runs, pyarrow.string())
    of_run = compute.index_in(table.column("run"), value_set=known).to_numpy()
    values = np.full((len(runs), len(names)), np.nan)
    values[of_run, of_query] = table.column("value").to_numpy()
    return names, values, np.bincount(of_query) == len(runs)
