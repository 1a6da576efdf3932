"""What tie-awareness costs: every measure of the catalogue, tied documents averaged over and broken by id.

ties.py ROUNDS QRELS RUN [MEASURE ...]   prints JSON: seconds by measure and rule, from the file and in memory
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import rounds

import cranfield
from cranfield.ranking.alignment import Aligner

RULES: tuple[Literal["trec", "expected"], ...] = ("trec", "expected")
CUTOFF = {"required": "@10", "recall": "@0.5"}
BRIEF = 0.25  # seconds that all rounds of a short kernel last together, at least


def names() -> list[str]:
    """Every measure as it must be written: with a cut-off where it needs one."""
    # The judgments have neither subtopics nor preferences, are no sample; documents have neither text nor attributes.
    plain = [
        d
        for d in cranfield.measures.CATALOGUE.values()
        if not (d.subtopics or d.content or d.preferences or d.sampled or d.spans or d.gains == "attribute")
    ]
    return [d.symbol + CUTOFF.get(d.cutoff, "") for d in plain]


def kernels(qrels: str, run: str) -> Callable[[str, str], Callable[[], object]]:
    """A measure's arithmetic alone: the run is read and joined once, before any time is taken."""
    alignment = Aligner(cranfield.read_qrels(qrels)).align(cranfield.read_run(run))
    parts = alignment.rankings

    def of(name: str, rule: str) -> Callable[[], object]:
        measure = cranfield.parse(f"{name}[ties={rule}]")
        # A fresh copy each time: rankings remember the views that were taken of them.
        return lambda: [measure.values(replace(rankings, memo={})) for rankings in parts]

    return of


def costs(repeat: int, qrels: str, run: str, measures: Sequence[str]) -> dict[str, Any]:
    """Seconds by measure, source and rule, round by round."""
    kernel = kernels(qrels, run)
    seconds: dict[str, Any] = {}
    for name in measures:
        from_file: Mapping[str, Callable[[], object]] = {
            rule: partial(cranfield.evaluate, qrels=qrels, run=run, measures=name, ties=rule) for rule in RULES
        }
        in_memory = {rule: kernel(name, rule) for rule in RULES}
        seconds[name] = {
            "file": rounds.alternate(from_file, repeat, short=0),
            "memory": rounds.alternate(in_memory, repeat, short=BRIEF / repeat),
        }
    return seconds


if __name__ == "__main__":
    repeat, qrels, run, *measures = sys.argv[1:]
    print(json.dumps(costs(int(repeat), qrels, run, measures or names())))
