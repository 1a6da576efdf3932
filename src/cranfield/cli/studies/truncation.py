"""``cranfield study truncation``: what changes when the end of a list counts."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli import options
from cranfield.cli.studies import results
from cranfield.studies.truncation import DEFINITE


@click.command(short_help="What changes when the end of a list counts.")
@options.inputs
@options.measuring("RR nDCG@N RBP(p=0.5) AP, N the full length")
@options.nil
@options.full_length
@click.option(
    "--ties", type=click.Choice(DEFINITE), default="trec", show_default=True, help="What orders documents of one score."
)
@results.writing
def command(**given: Any) -> None:
    """Compare plain scores with those that take the end of a list as an answer, over at least two RUNs.

    The experiment of Liu et al., "Quit While Ahead" (SIGIR 2016): means of both, Kendall's tau between the orders of
    systems, pairs that change places, list lengths before and after NIL ends a list, and the paper's figures. Without
    --full-length every list counts as ended by its system.

    \b
    cranfield study truncation qrels.txt *.run --nil NIL --full-length 5 --figures figures
    """
    results.conduct("truncation", "scoring", **given)
