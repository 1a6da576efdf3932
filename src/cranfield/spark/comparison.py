"""Comparisons of runs: one task per measure has all its values; the driver puts the outcomes together.

A task uses the functions of `cranfield.compare`. Only outcomes leave it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
from pyarrow import compute

from cranfield.analysis.compare import (
    Comparison,
    build_comparison,
    check_comparable,
    check_query_count,
    compared_pairs,
    number_of_tests,
)
from cranfield.analysis.significance import (
    ComparisonSettings,
    MeasureComparison,
    choose_samples,
    test_pairs,
)
from cranfield.data import Floats, Integers
from cranfield.errors import CranfieldError
from cranfield.evaluation.plan import Undefined
from cranfield.evaluation.scores import ScoreTable
from cranfield.spark.totals import PACKED_SCHEMA, id_list, pack, unpack
from cranfield.statistics.design import Sample


def compare_runs(
    values: Any,
    scores: ScoreTable,
    undefined: Undefined,
    baseline: str | None,
    **terms: Any,
) -> Comparison:
    """`cranfield.compare` of a frame with columns measure (an index), query, run and value."""
    runs, columns, measures = scores.runs, scores.columns, scores.measures
    (baseline, pairs), settings = (
        compared_pairs(scores, baseline),
        ComparisonSettings(**terms).for_scores(repeated=False),
    )
    # The number of queries is not known here; the memory of a task is limited in other ways.
    settings = choose_samples(settings, 1, number_of_tests(settings, pairs.shape[1], len(measures)))
    check_comparable(columns)
    shards = values.repartition(len(measures), "measure").sortWithinPartitions("measure", "query")
    tests = partial(measure_outcomes, settings, tuple(runs), pairs, undefined)
    by_measure = unpack(shards.mapInArrow(tests, PACKED_SCHEMA).collect())
    results: list[MeasureOutcome] = [by_measure[str(m)] for m in range(len(measures))]
    all_queries = list(results[0].queries)
    masks = [np.unpackbits(result.used, count=result.count).astype(bool) for result in results]
    queries = [tuple(name for name, used in zip(all_queries, mask, strict=True) if used) for mask in masks]
    outcomes: list[MeasureComparison] = []
    for measure, used, result in zip(measures, queries, results, strict=True):
        check_query_count(measure, len(used), len(all_queries))
        if isinstance(result.outcome, CranfieldError):
            raise result.outcome
        assert result.outcome is not None
        outcomes.append(result.outcome)
    return build_comparison(settings, scores, baseline, pairs, all_queries, queries, outcomes)


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


def measure_outcomes(
    settings: ComparisonSettings, runs: Sequence[str], pairs: Integers, undefined: Undefined, batches: Iterable[Any]
) -> Iterator[Any]:
    """Rows of measure (a number), query, run and value, sorted by the first two, in; packed outcomes out."""
    for measure, rows in _by_measure(batches):
        names, values, counted = _table(runs, rows)
        if undefined in ("zero", "one"):
            values = np.where(np.isnan(values), float(undefined == "one"), values)
        used = counted & ~np.isnan(values).any(axis=0)
        outcome: MeasureComparison | CranfieldError | None = None
        try:
            if used.sum() > 1:
                outcome = test_pairs(Sample(values[:, used]), pairs[measure], settings)
        except CranfieldError as error:
            outcome = error
        queries = names if measure == 0 else ()
        yield pack({str(measure): MeasureOutcome(outcome, np.packbits(used), len(used), queries)})


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
