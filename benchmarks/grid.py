"""Per-query scores of one run, judgments ready, beside pytrec_eval: from ten documents to seven million.

pytrec_eval parses a file with its own parser and evaluates what it gets, as its users do.
"""

from __future__ import annotations

import math
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import agreement
import generate
import numpy as np
import rounds
from rivals import PYTREC_NAMES

import cranfield

QUERIES, DOCUMENTS, JUDGED = (1, 8, 64, 512, 7000), (10, 100, 1000), (1, 10, 100, 300)
MANY = 1_000_000  # documents of all queries
LEFT_OUT = (
    "Left out: cells with more judged documents than documents. "
    f"Where all queries together have more than {MANY:,} documents, only the fewest and the most judged documents "
    "are measured, in two rounds."
)
SIX, THREE = tuple(PYTREC_NAMES), ("AP", "nDCG@10", "RR")
# Queries, documents and judged documents of the small calls with three measures.
SMALL = ((1, 10, 3), (8, 100, 10), (64, 100, 10), (512, 100, 10), (50, 1000, 30))
# Targets by queries and documents: dicts take at most this long, and all runs are this many times as fast as the peer.
MICROSECONDS = {(1, 10): 6}
TIMES_AS_FAST = {(8, 100): 4, (64, 10): 4, (64, 100): 8, (512, 100): 8}
TOLERANCE = 1e-9
SEED = 7

Functions = Mapping[str, Callable[[], Mapping[str, Any]]]


@dataclass(frozen=True)
class Cell:
    """Seconds of one call, the minimum over rounds. ``source`` is ``dicts`` or ``file``."""

    source: str
    queries: int
    documents: int
    judged: int
    measures: int
    ours: float
    means: float
    pytrec_eval: float
    target: str = ""
    met: bool | None = None

    @property
    def ratio(self) -> float:
        return self.pytrec_eval / self.ours

    @property
    def name(self) -> str:
        size = f"{self.queries:,} x {self.documents:,}, {self.judged} judged"
        return f"{self.source} {size}, {self.measures} measures"


def judged_counts(queries: int, documents: int) -> list[int]:
    """The numbers of judged documents in cells of this size; `LEFT_OUT` states the rule."""
    counts = [judged for judged in JUDGED if judged <= documents]
    return [counts[0], counts[-1]] if queries * documents > MANY else counts


def contestants(qrels: Mapping[str, Mapping[str, int]], run: Any, measures: Sequence[str]) -> Functions:
    """Both tools with judgments ready; ``run`` is a dict or the path of a file."""
    import pytrec_eval

    evaluator = cranfield.Evaluator(qrels, list(measures))
    peer = pytrec_eval.RelevanceEvaluator(qrels, {PYTREC_NAMES[measure] for measure in measures})

    def parse_and_evaluate() -> Mapping[str, Any]:
        with open(run) as file:
            return peer.evaluate(pytrec_eval.parse_run(file))

    return {
        "ours": lambda: evaluator.per_query(run),
        "means": lambda: evaluator.means(run),
        "pytrec_eval": parse_and_evaluate if isinstance(run, str) else lambda: peer.evaluate(run),
    }


def check(work: str, functions: Functions, measures: Sequence[str]) -> None:
    """Raise unless both tools agree on every value of every query, and on the means."""
    ours, means, theirs = (functions[name]() for name in ("ours", "means", "pytrec_eval"))
    expected = {query: {name: row[PYTREC_NAMES[name]] for name in measures} for query, row in theirs.items()}
    averages = {name: statistics.fmean(row[name] for row in expected.values()) for name in measures}
    unexplained, _ = agreement.differences(
        "pytrec_eval", {**ours, "mean": means}, {**expected, "mean": averages}, TOLERANCE
    )
    if unexplained:
        raise agreement.Disagreement(work, unexplained[:10])


def measure(
    source: str, size: tuple[int, int, int], functions: Functions, measures: Sequence[str], repeat: int
) -> Cell:
    """Compare the values, then time the calls."""
    check(f"{source} {size}", functions, measures)
    seconds = rounds.alternate(functions, min(repeat, 2) if size[0] * size[1] > MANY else repeat, long=math.inf)
    return Cell(source, *size, len(measures), **{name: min(values) for name, values in seconds.items()})


def cells(repeat: int, queries: Sequence[int] = QUERIES, documents: Sequence[int] = DOCUMENTS) -> Iterator[Cell]:
    """The grid: six measures, the same rankings as dicts and in a file."""
    rng = np.random.default_rng(SEED)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        for size in [(q, d) for q in queries for d in documents]:
            rankings = generate.Rankings.drawn(rng, *size)
            with open(path, "wb") as file:
                file.writelines(rankings.text())
            nested = rankings.nested()
            for judged in judged_counts(*size):
                qrels = rankings.judgments(rng, judged)
                for source, run in (("dicts", nested), ("file", str(path))):
                    yield with_target(measure(source, (*size, judged), contestants(qrels, run, SIX), SIX, repeat))


def small_calls(repeat: int, sizes: Sequence[tuple[int, int, int]] = SMALL) -> Iterator[Cell]:
    """Three measures of a few queries."""
    rng = np.random.default_rng(SEED)
    for size in sizes:
        rankings = generate.Rankings.drawn(rng, *size[:2])
        functions = contestants(rankings.judgments(rng, size[2]), rankings.nested(), THREE)
        yield with_target(measure("dicts", size, functions, THREE, repeat))


def with_target(cell: Cell) -> Cell:
    """A cell with the target of its size, if there is one."""
    size = (cell.queries, cell.documents)
    if size in MICROSECONDS and cell.source == "dicts":
        return replace(cell, target=f"{MICROSECONDS[size]} us", met=cell.ours * 1e6 <= MICROSECONDS[size])
    if size in TIMES_AS_FAST:
        return replace(cell, target=f"{TIMES_AS_FAST[size]}x", met=cell.ratio >= TIMES_AS_FAST[size])
    return cell


def summary(cells: Sequence[Cell]) -> list[str]:
    """Lines for below the table: the lowest ratio, the median, and every cell where pytrec_eval is faster."""
    lowest = min(cells, key=lambda cell: cell.ratio)
    median = statistics.median(cell.ratio for cell in cells)
    slower = [cell for cell in cells if cell.ratio < 1]
    return [
        LEFT_OUT,
        f"{len(cells)} cells: lowest ratio {lowest.ratio:.3g}x ({lowest.name}), median {median:.3g}x",
        f"{len(slower)} cells are below 1x{':' if slower else ''}",
        *(f"  {cell.ratio:.3g}x  {cell.name}" for cell in slower),
    ]
