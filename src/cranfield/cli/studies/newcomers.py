"""``cranfield study newcomers``: would the judgments have been fair to a run that took no part in making them?"""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli import options
from cranfield.cli.studies import results
from cranfield.studies.newcomers import DEFAULT


@click.command(short_help="What a run scores without the judgments it contributed.")
@options.inputs
@options.measuring(" ".join(DEFAULT))
@click.option(
    "--pool-depth",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="A run contributes the judged documents among its first N.",
)
@click.option("--groups", type=options.FILE, metavar="FILE", help="Which runs belong together: lines `run group`.")
@click.option(
    "--group-prefix", "prefix", metavar="TEXT", help="Instead: a group is what stands before TEXT in a run's name."
)
@results.relevant
@results.coefficient
@options.corpus
@options.seed
@results.writing
def command(**given: Any) -> None:
    """Score each of at least two RUNs without the judgments that only it, or only its group, contributed.

    After Zobel, "How reliable are the results of large-scale information retrieval experiments?" (SIGIR 1998). What
    changes for a run is what would change for a new run of its kind on this collection.

    \b
    cranfield study newcomers qrels.txt *.run --pool-depth 10
    cranfield study newcomers qrels.txt *.run --group-prefix _ -m "AP AP[condensed] bpref"
    """
    results.conduct("newcomers", "leaving out", **given)
