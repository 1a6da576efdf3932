"""One value for each query or group of queries, with their mean; and one column of scores as such values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from cranfield.errors import UsageError
from cranfield.evaluation.scores import Scores


class QueryValues(NamedTuple):
    """The mean, and the values that it is the mean of, by query or by group of queries. NaN: undefined.

    Undefined values do not count in the mean.
    """

    mean: float
    values: dict[str, float]

    @classmethod
    def of(cls, values: Mapping[str, float]) -> QueryValues:
        """These values and their mean."""
        counted = [value for value in values.values() if not math.isnan(value)]
        return cls(math.fsum(counted) / len(counted) if counted else math.nan, dict(values))


def values_of(scores: Any, run: str | None = None, measure: str | None = None) -> dict[str, float]:
    """One value for each query: of one run and measure of some scores, or of ``{query: value}``."""
    if not isinstance(scores, Scores):
        if not isinstance(scores, Mapping):
            raise UsageError(
                f"cannot take scores of queries from {type(scores).__name__}",
                hint="give the result of evaluate, or {query: score}",
            )
        return {str(query): math.nan if value is None else float(value) for query, value in scores.items()}
    r, m = choose(scores.runs, run, "run"), choose(scores.measures, measure, "measure")
    undefined = {"zero": 0.0, "one": 1.0}.get(scores.undefined, math.nan)
    return {q: undefined if value is None else value for q, value in scores.query_values(r, m).items()}


def choose(names: tuple[str, ...], name: str | None, kind: str) -> int:
    """The index of a name; without one, there must be a single name."""
    if name is None and len(names) == 1:
        return 0
    if name not in names:
        raise UsageError(
            f"the scores have {len(names)} {kind}s" if name is None else f"the scores have no {kind} `{name}`",
            hint=f"choose one with {kind}=: {', '.join(names)}",
        )
    return names.index(name)
