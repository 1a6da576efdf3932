"""More systems than there are: an order needs several, and some collections come with the answers of one."""

from __future__ import annotations

from typing import Any

from cranfield.data import Judgments
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import read_runs
from cranfield.simulation.variants import variants


def widened(runs: Any, judgments: Judgments, number: int, seed: int) -> tuple[list[Any], list[str]]:
    """The runs, and so many made up over the documents of the one that was given; with what a reader has to know.

    What such systems are, `simulation.variants` says.
    """
    given = list(runs) if isinstance(runs, (list, tuple)) else [runs]
    if not number:
        return given, []
    if len(given) != 1:
        raise UsageError(
            f"variants are made of one run, and there are {len(given)}", hint="several runs have an order of their own"
        )
    run = read_runs(given)[0]
    made, _ = variants(run, judgments, number, seed=seed)
    what = f"{number} of the {number + 1} runs are made up: other orders of what {run.name} found, of known quality"
    return [run, *made], [what]
