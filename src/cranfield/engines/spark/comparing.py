"""Runs compared where their scores are: a task for each measure, and what it finds put together on the driver."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.analysis.compare import Comparison, build_comparison, check_comparable, check_query_count, run_pairs
from cranfield.analysis.significance import MeasureComparison, check_settings
from cranfield.engines.contests import Match, Verdict, verdicts
from cranfield.errors import CranfieldError
from cranfield.evaluation.columns import Column
from cranfield.evaluation.policy import Undefined


@dataclass(frozen=True)
class _Verdicts:
    match: Match

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        return verdicts(self.match, batches)


def compared(
    values: Any,
    runs: Sequence[str],
    columns: Sequence[Column],
    undefined: Undefined,
    baseline: str | None,
    **terms: Any,
) -> Comparison:
    """`cranfield.compare` of a frame with columns measure (its place among ``columns``), query, run and value."""
    measures = [column.label for column in columns]
    asked = check_settings(**terms)
    match = Match(asked, tuple(runs), run_pairs(runs, baseline), undefined)
    check_comparable(columns)
    shards = values.repartition(len(measures), "measure").sortWithinPartitions("measure", "query")
    rows = shards.mapInArrow(_Verdicts(match), "name string, found binary").collect()
    by_measure: dict[int, Verdict] = {int(row["name"]): pickle.loads(bytes(row["found"])) for row in rows}
    found = [by_measure[m] for m in range(len(measures))]
    everything = list(found[0].queries)
    masks = [np.unpackbits(one.used, count=one.count).astype(bool) for one in found]
    queries = [tuple(name for name, used in zip(everything, mask, strict=True) if used) for mask in masks]
    outcomes: list[MeasureComparison] = []
    for measure, used, one in zip(measures, queries, found, strict=True):
        check_query_count(measure, len(used), len(everything))
        if isinstance(one.outcome, CranfieldError):
            raise one.outcome
        assert one.outcome is not None
        outcomes.append(one.outcome)
    return build_comparison(asked, runs, measures, baseline, everything, queries, outcomes)
