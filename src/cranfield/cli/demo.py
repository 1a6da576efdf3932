"""``cranfield demo``: a walk through the bundled example."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from cranfield.cli.output import colour, emit, width
from cranfield.io.atomic_write import atomic_write


@click.command(short_help="Walk through the bundled example.")
@click.option(
    "--into", type=click.Path(file_okay=False), metavar="DIR", help="Also copy the files of the example here."
)
def command(into: str | None) -> None:
    """Show on a small example what scores, ties, unjudged documents and unanswerable queries do.

    Writes nothing unless --into is given; then the commands shown can be run in DIR.
    """
    from cranfield import example
    from cranfield.example.tour import tour

    for stop in tour():
        emit(stop.text(width=width(), colour=colour()))
    if into is None:
        click.echo("The files: cranfield demo --into DIR", err=True)
        return
    folder = Path(into)
    folder.mkdir(parents=True, exist_ok=True)
    for name in example.NAMES:
        with atomic_write(folder / name) as beside:
            shutil.copyfile(example.path(name), beside)
    click.echo(f"{len(example.NAMES)} files in {into}", err=True)
