"""``cranfield study table1``: a printed table, computed."""

from __future__ import annotations

import click

from cranfield.cli import options
from cranfield.cli.studies import results
from cranfield.report.pages import WRITERS


@click.command(short_help="Table 1 of Quit While Ahead, computed.")
@click.option(
    "--digits", type=click.IntRange(0, 17), default=3, show_default=True, help="Decimals; the paper prints three."
)
@options.formats(("table", *WRITERS), "How to write.")
@options.output
def command(digits: int, format: str, output: str | None) -> None:
    """Print Table 1 of Liu et al., "Quit While Ahead: Evaluating Truncated Rankings" (SIGIR 2016), from this library.

    Ten rankings with the gain of their terminal document and four scores: all fifty numbers are those printed.
    """
    from cranfield.report.studies.truncation import table1

    results.deliver([table1(digits)], {}, None, format=format, output=output, figures=None)
