"""``cranfield measures``: the list of measures."""

from __future__ import annotations

import click

from cranfield.cli import options
from cranfield.cli.output import colour, emit, width


@click.command(short_help="List all measures.")
@click.option("--family", metavar="NAME", help="List only this family, such as `precision` or `gain`.")
@options.formats(("table", "json"), "json has all details.")
def command(family: str | None, format: str) -> None:
    """List all measures by family, with one sentence each.

    \b
    cranfield measures --family gain
    """
    from cranfield.report import catalogue

    definitions = catalogue.of_family(family)
    if format == "json":
        emit(catalogue.as_json(definitions))
    else:
        emit(catalogue.listing(definitions, width=width(), colour=colour()))
