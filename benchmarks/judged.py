"""Dicts with few and with many judged documents, sorted and shuffled, judgments ready and not, beside pytrec_eval.

Where judgments are not ready, both tools read them, and average the values, within the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import generate
import grid
import numpy as np
import rivals
import rounds

SEED = 8


@dataclass(frozen=True)
class Case:
    """Seconds of both tools by round, for one number of judged documents."""

    judged: int
    order: str
    ready: bool
    ours: list[float]
    pytrec_eval: list[float]


def cases(repeat: int, queries: int, documents: int, counts: Sequence[int]) -> Iterator[Case]:
    """Seconds by round."""
    rng = np.random.default_rng(SEED)
    for judged in counts:
        rankings = generate.Rankings.drawn(rng, queries, documents)
        qrels = rankings.judgments(rng, judged)
        for order in ("sorted", "shuffled"):
            run = (rankings if order == "sorted" else rankings.shuffled(rng)).nested()
            ready = grid.contestants(qrels, run, grid.SIX)
            grid.check(f"{judged} judged, {order}", ready, grid.SIX)
            seconds = rounds.alternate({name: ready[name] for name in ("ours", "pytrec_eval")}, repeat)
            yield Case(judged, order, True, **seconds)
            unready = {
                "ours": partial(rivals.cranfield_dicts, qrels, run),
                "pytrec_eval": partial(rivals.pytrec_eval_dicts, qrels, run),
            }
            yield Case(judged, order, False, **rounds.alternate(unready, repeat))
