"""``cranfield measures``: what can be measured."""

from __future__ import annotations

import click

from cranfield.cli import options
from cranfield.cli.output import colour, emit, width


@click.command(short_help="List every measure with what it says.")
@click.option("--family", metavar="F", help="Only this family, such as `precision` or `gain`.")
@options.formats(("table", "json"), "json has every fact.")
def command(family: str | None, format: str) -> None:
    """List every measure, by family, with what it says."""
    from cranfield.report import catalogue

    definitions = catalogue.of_family(family)
    if format == "json":
        emit(catalogue.as_json(definitions))
    else:
        emit(catalogue.listing(definitions, width=width(), colour=colour()))
