"""``cranfield study stopping``: how short a list should be."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli import options
from cranfield.cli.studies import results
from cranfield.studies.stopping import DEFAULT


@click.command(short_help="How short a list should be, and at which score to cut it.")
@options.inputs
@options.measuring(" ".join(DEFAULT))
@click.option(
    "--repeats", type=click.IntRange(min=1), default=100, show_default=True, help="Random splits of the queries."
)
@options.seed
@results.writing
def command(**given: Any) -> None:
    """Show what cutting the lists of RUNs would buy, and at which score to cut them.

    Scores as they are, with each list at its own best depth, with all at one depth, and with all documents dropped that
    score below a threshold. The threshold is also chosen on one half of the queries and tried on the other.

    \b
    cranfield study stopping qrels.txt bm25.run dense.run
    cranfield study stopping qrels.txt llm.run -m "RBP(p=0.5)[terminal]" --figures figures
    """
    results.conduct("stopping", "cutting", **given)
