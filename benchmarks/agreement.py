"""Whether two tools found the same means. A time is worth comparing only where the answers are the same."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

TOLERANCE = 1e-6

# Differences that are a peer's own, by (peer, measure); they are printed instead of refused.
THEIRS: dict[tuple[str, str], str] = {
    ("ranx", measure): "ranx leaves the order of tied documents to an unstable sort"
    for measure in ("AP", "nDCG@10", "RR", "P@10", "bpref")
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
            reason = THEIRS.get((peer, measure))
            line = f"{peer}, run {i}: {measure} is {value:.8f}, ours {mine.get(measure, math.nan):.8f}"
            (known if reason else unexplained).append(f"{line}: {reason}" if reason else line)
    return unexplained, known
