"""``cranfield study newcomers``."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli import options, results, study_options
from cranfield.studies.newcomers.experiment import DEFAULT


@click.command(short_help="Scores of runs without the judgments that they contributed.")
@study_options.inputs
@options.measuring(" ".join(DEFAULT))
@click.option(
    "--pool-depth",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Pool depth: a run contributes the judged documents among its first N.",
)
@click.option("--groups", type=options.FILE, metavar="FILE", help="Groups of runs: lines `run group`.")
@click.option(
    "--group-prefix", "prefix", metavar="TEXT", help="Instead: the group is the part of a run's name before TEXT."
)
@study_options.relevant
@study_options.coefficient
@options.corpus
@options.seed
@results.writing
def command(**arguments: Any) -> None:
    """Score each of at least two RUNs without the judgments that only this run, or its group, contributed.

    After Zobel, "How reliable are the results of large-scale information retrieval experiments?" (SIGIR 1998). The
    change of a score estimates the change for a new run of the same kind on this collection.

    \b
    cranfield study newcomers qrels.txt *.run --pool-depth 10
    cranfield study newcomers qrels.txt *.run --group-prefix _ -m "AP AP[condensed] bpref"
    """
    study_options.run_study("newcomers", "Scoring groups", **arguments)
