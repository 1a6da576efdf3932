"""What testing all pairs of systems at once saves: the paired bootstrap of one measure, beside loops over pairs.

power.py ROUNDS SYSTEMS TOPICS B   prints JSON: seconds for all pairs by contestant, and how far their answers are apart

Loops are timed on some of the pairs, and their times are for as many as there are.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cranfield.statistics.resampling import bootstrap, draw_queries, pairs

ALPHA = 0.05
SAMPLED = {"draw by draw": 2, "pair by pair": 60}  # pairs that a loop is timed on


def scores(systems: int, topics: int) -> Any:
    """Systems of different quality on topics of different difficulty."""
    rng = np.random.default_rng(0)
    quality, difficulty = rng.normal(0.4, 0.05, (systems, 1)), rng.normal(0, 0.2, (1, topics))
    return np.clip(quality + difficulty + rng.normal(0, 0.15, (systems, topics)), 0, 1)


def draw_by_draw(z: Any, drawn: Any) -> tuple[float, float]:
    """The test as it is defined: t of one draw after the other."""

    def t(values: Any) -> float:
        return abs(values.mean()) / (values.std(ddof=1) / math.sqrt(len(values)))

    w = z - z.mean()
    found = np.array([t(w[one]) for one in drawn])
    edge = np.argsort(-found, kind="stable")[math.ceil(len(drawn) * ALPHA) - 1]
    return float((found >= t(z)).mean()), float(abs(w[drawn[edge]].mean()))


def pair_by_pair(z: Any, drawn: Any) -> tuple[float, float]:
    """The same with all draws of a pair in one array."""

    def t(values: Any) -> Any:
        return np.abs(values.mean(axis=-1)) / (values.std(axis=-1, ddof=1) / math.sqrt(values.shape[-1]))

    w = z - z.mean()
    every = w[drawn]
    found = t(every)
    edge = np.argsort(-found, kind="stable")[math.ceil(len(drawn) * ALPHA) - 1]
    return float((found >= t(z)).mean()), float(abs(every[edge].mean()))


LOOPS: dict[str, Callable[[Any, Any], tuple[float, float]]] = {
    "draw by draw": draw_by_draw,
    "pair by pair": pair_by_pair,
}


def loop(name: str, x: Any, drawn: Any) -> Iterator[tuple[float, float]]:
    """The statistics of the first pairs of systems, one pair at a time."""
    for first, second in list(zip(*pairs(len(x)), strict=True))[: SAMPLED[name]]:
        yield LOOPS[name](x[first] - x[second], drawn)


def costs(rounds: int, systems: int, topics: int, b: int) -> dict[str, Any]:
    """Seconds for all pairs, contestants taking turns; and the largest difference between their answers and ours."""
    x, drawn = scores(systems, topics), draw_queries(topics, b)
    count = systems * (systems - 1) // 2
    seconds: dict[str, list[float]] = {"cranfield": [], **{name: [] for name in LOOPS}}
    apart = dict.fromkeys(LOOPS, 0.0)
    for _ in range(rounds):
        began = time.perf_counter()
        ours = bootstrap(x, draw_queries(topics, b), ALPHA)
        seconds["cranfield"].append(time.perf_counter() - began)
        for name in LOOPS:
            began = time.perf_counter()
            found = np.array(list(loop(name, x, drawn)))
            seconds[name].append((time.perf_counter() - began) * count / len(found))
            both = np.stack([ours.p, ours.required], axis=1)[: len(found)]
            apart[name] = max(apart[name], float(np.abs(both - found).max()))
    return {"pairs": count, "seconds": seconds, "apart": apart}


if __name__ == "__main__":
    print(json.dumps(costs(*map(int, sys.argv[1:]))))
