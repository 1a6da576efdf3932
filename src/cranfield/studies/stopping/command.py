"""``cranfield study stopping``."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli import options, results, study_options
from cranfield.studies.stopping.experiment import DEFAULT


@click.command(short_help="How long a ranking should be, and at which score to cut it.")
@study_options.inputs
@options.measuring(" ".join(DEFAULT))
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    metavar="N",
    default=100,
    show_default=True,
    help="Number of random splits of the queries.",
)
@options.seed
@results.writing
def command(**arguments: Any) -> None:
    """Show how much cutting the rankings of RUNs improves their scores, and at which score to cut them.

    Reports the scores of uncut lists, and of lists cut in three ways: each at its own best depth, all at the same
    depth, and all at the same score threshold. The threshold is also chosen on one half of the queries and tested on
    the other half. Other rules are tested in the same way: thresholds relative to the top score, on gaps between
    scores, and on a predicted number of relevant documents.

    \b
    cranfield study stopping qrels.txt bm25.run dense.run
    cranfield study stopping qrels.txt llm.run -m "RBP(p=0.5)[terminal]" --figures figures
    """
    study_options.run_study("stopping", "Cutting rankings", **arguments)
