"""Whether two tools compute the same values: a time is only worth comparing where the answers are the same."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

TOLERANCE = 1e-6

# Where a peer has no mean though there is one, by (peer, measure): reported, but no reason to stop. Only a missing
# value is excused, never a different one.
UNDEFINED_THERE: dict[tuple[str, str], str] = {
    ("ranx", "bpref"): "ranx divides 0 by 0 for a query without documents judged not relevant",
}

Values = Mapping[str, Mapping[str, float]]


class Disagreement(Exception):
    """A peer has other values than ours for no known reason: there is nothing to time."""

    def __init__(self, work: str, lines: Iterable[str]) -> None:
        super().__init__("\n".join(f"{work}: {line}" for line in lines))


def by_run(means: Sequence[Mapping[str, float]]) -> Values:
    """Means by the name of their run."""
    return {f"run {i}": values for i, values in enumerate(means)}


def differences(peer: str, ours: Values, theirs: Values, tolerance: float = TOLERANCE) -> tuple[list[str], list[str]]:
    """Values of a peer, by run or query, that are not ours: those without and those with a known reason.

    >>> differences("peer", {"q1": {"AP": 0.5}}, {"q1": {"AP": 0.25}, "q2": {"AP": 1.0}})
    (['peer, q1: AP is 0.25000000, ours 0.50000000', 'peer, q2: AP is 1.00000000, ours nan'], [])
    """
    unexplained = [f"{peer}, {key}: no values" for key in ours if key not in theirs]
    explained: list[str] = []
    for key, values in theirs.items():
        for measure, value in values.items():
            expected = ours.get(key, {}).get(measure, math.nan)
            # NaN is close to nothing, itself included, and so a difference.
            if math.isclose(value, expected, rel_tol=0, abs_tol=tolerance):
                continue
            reason = UNDEFINED_THERE.get((peer, measure)) if math.isnan(value) else None
            line = f"{peer}, {key}: {measure} is {value:.8f}, ours {expected:.8f}"
            if reason:
                explained.append(f"{line}: {reason}")
            else:
                unexplained.append(line)
    return unexplained, explained
