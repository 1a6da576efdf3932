"""``cranfield show``: the details of one measure."""

from __future__ import annotations

import click

from cranfield.cli import options
from cranfield.cli.output import colour, emit, width


@click.command(short_help="Explain a measure, with an example.")
@click.argument("measure", type=options.MeasureName())
@options.measures_file
def command(measure: str) -> None:
    """Explain MEASURE: formula, parameters, bounds, ties, source and an example.

    \b
    cranfield show nDCG
    cranfield show "RBP(p=0.8)"
    """
    from cranfield.report import catalogue

    emit(catalogue.description(catalogue.find(measure), width=width(), colour=colour()))
