"""Whether two tools found the same means. A time is worth comparing only where the answers are the same."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

TOLERANCE = 1e-6

# Where a peer has no mean though there is one, by (peer, measure): said, not refused. Only a missing value
# is excused, never a different one.
UNDEFINED_THERE: dict[tuple[str, str], str] = {
    ("ranx", "bpref"): "ranx divides 0 by 0 for a query without documents judged not relevant",
}


def differences(
    peer: str, ours: Sequence[Mapping[str, float]], theirs: Sequence[Mapping[str, float]]
) -> tuple[list[str], list[str]]:
    """What a peer has otherwise than we do, run by run: what is unexplained, and what is known to be its own."""
    if len(ours) != len(theirs):
        return [f"{peer}: {len(theirs)} runs, and {len(ours)} of ours"], []
    unexplained: list[str] = []
    known: list[str] = []
    for i, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        for measure, value in other.items():
            # Written so that NaN, which is close to nothing, is a difference.
            if math.isclose(value, mine.get(measure, math.nan), rel_tol=0, abs_tol=TOLERANCE):
                continue
            reason = UNDEFINED_THERE.get((peer, measure)) if math.isnan(value) else None
            line = f"{peer}, run {i}: {measure} is {value:.8f}, ours {mine.get(measure, math.nan):.8f}"
            (known if reason else unexplained).append(f"{line}: {reason}" if reason else line)
    return unexplained, known
