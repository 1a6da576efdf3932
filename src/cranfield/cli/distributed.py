"""``--engine spark``: the same evaluation where the data are, and only its summaries here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cranfield.errors import UsageError
from cranfield.scores import Scores


def accept(engine: str, *, per_query: bool, interval: bool, master: str | None, scores: str | None) -> None:
    """An error where what was asked for is the other engine's."""
    if engine == "spark" and per_query:
        raise UsageError(
            "with --engine spark the scores of queries stay where the data are", hint="--scores DIR keeps them"
        )
    if engine == "spark" and interval:
        raise UsageError("--engine spark has no intervals", hint="write scores with --scores, and resample those")
    if engine == "local" and (master or scores):
        raise UsageError(f"{'--master' if master else '--scores'} is for --engine spark")


def on_spark(
    qrels: str, runs: Sequence[str], measures: Sequence[str], master: str | None, keep: str | None, how: dict[str, Any]
) -> Scores:
    """The means of runs that Spark reads and scores; ``keep`` is where it writes the scores of queries."""
    from cranfield.engines import spark
    from cranfield.engines.spark.files import read_qrels, read_runs
    from cranfield.engines.spark.session import session

    made = session(master)
    try:
        found = spark.evaluate(read_runs(made, runs), read_qrels(made, qrels), list(measures), **how)
        if keep is not None:
            found.write.parquet(keep)
        return found.mean()
    finally:
        made.stop()
