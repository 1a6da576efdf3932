"""Recall of approximate nearest neighbours, by distance: neighbours at equal distances are equally good."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.analysis.query_values import QueryValues
from cranfield.errors import InputError, UsageError, check_count
from cranfield.io.faults import quotable

ABSOLUTE, RELATIVE = 1e-3, 0.01  # the tolerances of ann-benchmarks


def ann_recall(
    true_distances: Any, found_distances: Any, count: int, *, relative: bool = False, epsilon: float | None = None
) -> QueryValues:
    """Recall as in ann-benchmarks: the share of ``count`` neighbours that are as near as the true ones.

    ``true_distances``: the distances of the true neighbours, nearest first; ``found_distances``: those of the
    neighbours found, in their order. Both are a list for one query, a list of lists, or ``{query: list}``.
    With t, the distance of the true neighbour number ``count``, a neighbour counts if its distance is at most
    t + epsilon (default 0.001), or with ``relative`` at most t (1 + epsilon) (default 0.01). Ids are not compared, so
    that ties at t all count. If fewer neighbours were found, the others count 0.

    >>> ann_recall([0.1, 0.2, 0.2, 0.5], [0.1, 0.2, 0.5, 0.6], 2).mean
    1.0
    """
    check_count("count", count)
    tolerance = (RELATIVE if relative else ABSOLUTE) if epsilon is None else float(epsilon)
    if not 0 <= tolerance < np.inf:
        raise UsageError(f"epsilon must be a number of at least 0, not {epsilon!r}")
    true, found = _by_query(true_distances), _by_query(found_distances)
    faults, values = [], {}
    for query, distances in true.items():
        exact = np.sort(np.asarray(distances, np.float64))
        given = np.asarray(found.get(query, ()), np.float64)[:count]
        name = f"query `{quotable(query)}`"
        if len(exact) < count:
            faults.append(f"{name}: expected {count} true distances, found {len(exact)}")
        elif np.isnan(exact).any() or np.isnan(given).any():
            faults.append(f"{name}: a distance is NaN")
        elif relative and (exact.min() < 0 or given.min(initial=0) < 0):
            faults.append(f"{name}: a distance is negative, and has no relative tolerance")
        else:
            limit = exact[count - 1]
            limit = limit * (1 + tolerance) if relative else limit + tolerance
            values[query] = float((given <= limit).sum()) / count
    faults += [f"query `{quotable(query)}` has no true distances" for query in found if query not in true]
    if faults:
        raise InputError(faults)
    return QueryValues.of(values)


def _by_query(distances: Any) -> dict[str, Sequence[float]]:
    """The distances of each query; the queries of a list are numbered from 0."""
    if isinstance(distances, Mapping):
        return {str(query): of_query for query, of_query in distances.items()}
    rows = list(distances)
    nested = bool(rows) and np.ndim(rows[0]) > 0
    return {str(i): row for i, row in enumerate(rows)} if nested else {"0": rows}
