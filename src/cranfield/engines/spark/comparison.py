"""Comparisons of runs on Spark: one task per measure; the driver puts the outcomes together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.analysis.compare import (
    Comparison,
    build_comparison,
    check_comparable,
    check_query_count,
    number_of_tests,
    run_pairs,
)
from cranfield.analysis.significance import ComparisonSettings, MeasureComparison, choose_samples
from cranfield.engines.comparisons import MeasureOutcome, PairTests, measure_outcomes
from cranfield.engines.totals import PACKED_SCHEMA, unpack
from cranfield.errors import CranfieldError
from cranfield.evaluation.columns import Column
from cranfield.evaluation.policy import Undefined


@dataclass(frozen=True)
class _Outcomes:
    tests: PairTests

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        return measure_outcomes(self.tests, batches)


def compare_runs(
    values: Any,
    runs: Sequence[str],
    columns: Sequence[Column],
    undefined: Undefined,
    baseline: str | None,
    **terms: Any,
) -> Comparison:
    """`cranfield.compare` of a frame with columns measure (an index of ``columns``), query, run and value."""
    measures = [column.label for column in columns]
    pairs, settings = run_pairs(runs, baseline), ComparisonSettings(**terms)
    # The number of queries is not known here; the memory of a task is limited in other ways.
    settings = choose_samples(settings, 1, number_of_tests(settings, len(pairs), len(measures)))
    tests = PairTests(settings, tuple(runs), pairs, undefined)
    check_comparable(columns)
    shards = values.repartition(len(measures), "measure").sortWithinPartitions("measure", "query")
    by_measure = unpack(shards.mapInArrow(_Outcomes(tests), PACKED_SCHEMA).collect())
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
    return build_comparison(settings, runs, measures, baseline, all_queries, queries, outcomes)
