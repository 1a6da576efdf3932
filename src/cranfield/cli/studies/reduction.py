"""``cranfield study reduction``: scores and orders of systems when less is judged."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli import options
from cranfield.cli.studies import results
from cranfield.studies.reduction import DEFAULT, RATES


@click.command(short_help="Scores and orders of systems when less is judged.")
@options.inputs
@options.measuring(" ".join(DEFAULT))
@click.option(
    "--rates",
    callback=results.numbers,
    metavar="N,...",
    help=f"Percent of the judgments of each query to keep at random.  [default: {','.join(map(str, RATES))}]",
)
@click.option(
    "--pool-depth",
    "pool_depths",
    callback=results.numbers,
    metavar="N,...",
    help="Instead: keep what a run has among its first N.",
)
@click.option("--topics", callback=results.numbers, metavar="N,...", help="Instead: keep N queries, chosen at random.")
@results.repeats
@results.relevant
@click.option(
    "--least",
    type=(click.IntRange(0), click.IntRange(0)),
    default=(1, 10),
    show_default=True,
    metavar="R N",
    help="Relevant and other judgments of a query that are spared at any rate.",
)
@results.coefficient
@results.testing
@options.corpus
@options.seed
@results.writing
def command(**given: Any) -> None:
    """Show what becomes of measures over at least two RUNs as less and less is known.

    The experiment of Sakai, "Alternatives to Bpref" (SIGIR 2007), Figures 1 to 3: judgments are taken away at random,
    relevant and other ones apart, and become unjudged. For each measure: the mean score, the agreement with the order
    of systems under all judgments, and discriminative power. --pool-depth and --topics take away something else.

    \b
    cranfield study reduction qrels.txt *.run --figures figures
    cranfield study reduction qrels.txt *.run --pool-depth 100,50,20,10 -m "AP AP[condensed] bpref"
    cranfield study reduction qrels.txt *.run --topics 40,30,20,10
    """
    results.conduct("reduction", "reducing", **given)
