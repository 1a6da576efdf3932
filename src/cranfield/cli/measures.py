"""``cranfield measures``: the list of measures."""

from __future__ import annotations

import click

from cranfield.cli import options
from cranfield.cli.output import colour, emit, width


@click.command(short_help="List all measures.")
@click.option("--family", metavar="NAME", help="List only this family, such as `precision` or `gain`.")
@click.option(
    "--search", metavar="TEXT", help="List only measures with these words in their names, in any tool, or descriptions."
)
@options.formats(("table", "json"), "json has all details.")
def command(family: str | None, search: str | None, format: str) -> None:
    """List all measures by family, with one sentence each.

    \b
    cranfield measures --family gain
    cranfield measures --search "user model"
    """
    from cranfield.report import catalogue

    definitions = catalogue.of_family(family)
    if search is not None:
        definitions = catalogue.search(definitions, search)
    if format == "json":
        emit(catalogue.as_json(definitions))
    else:
        emit(catalogue.listing(definitions, width=width(), colour=colour()))
