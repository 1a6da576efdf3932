"""What tie-awareness costs: every measure of the catalogue, tied documents averaged over and broken by id.

ties.py ROUNDS QRELS RUN [MEASURE ...]   prints JSON: seconds by measure and rule, from the file and in memory
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import cranfield
from cranfield.alignment import Aligner

RULES = ("trec", "expected")
CUTOFF = {"required": "@10", "recall": "@0.5"}
BRIEF = 0.25  # seconds of a round that a short kernel is repeated for, at most


def names() -> list[str]:
    """Every measure as it must be written: with a cut-off where it needs one."""
    # The judgments have no subtopics, and the documents no text.
    plain = [d for d in cranfield.MEASURES.values() if not (d.subtopics or d.content)]
    return [d.symbol + CUTOFF.get(d.cutoff, "") for d in plain]


def timed(function: Callable[[], object], repeats: int = 1) -> float:
    began = time.perf_counter()
    for _ in range(repeats):
        function()
    return (time.perf_counter() - began) / repeats


def kernels(qrels: str, run: str) -> Callable[[str, str], Callable[[], object]]:
    """A measure's arithmetic alone: the run is read and joined once, before any time is taken."""
    alignment = Aligner(cranfield.read_qrels(qrels)).align(cranfield.read_run(run))
    batches = [batch for _, batch in alignment.batches]

    def of(name: str, rule: str) -> Callable[[], object]:
        measure = cranfield.parse(f"{name}[ties={rule}]")
        # A fresh copy each time: a batch remembers the views that were taken of it.
        return lambda: [measure.values(replace(batch)) for batch in batches]

    return of


def costs(rounds: int, qrels: str, run: str, measures: Sequence[str]) -> dict[str, Any]:
    """Seconds by measure and rule, the two rules taking turns."""
    kernel = kernels(qrels, run)
    found: dict[str, Any] = {}
    for name in measures:
        whole = {rule: partial(cranfield.evaluate, run, qrels, name, ties=rule) for rule in RULES}
        alone = {rule: kernel(name, rule) for rule in RULES}
        repeats = {rule: max(1, int(BRIEF / rounds / timed(alone[rule]))) for rule in RULES}
        seconds: dict[str, dict[str, list[float]]] = {"file": {r: [] for r in RULES}, "memory": {r: [] for r in RULES}}
        for i in range(rounds):
            for rule in RULES[:: -1 if i % 2 else 1]:
                seconds["file"][rule].append(timed(whole[rule]))
                seconds["memory"][rule].append(timed(alone[rule], repeats[rule]))
        found[name] = seconds
    return found


if __name__ == "__main__":
    rounds, qrels, run, *measures = sys.argv[1:]
    print(json.dumps(costs(int(rounds), qrels, run, measures or names())))
