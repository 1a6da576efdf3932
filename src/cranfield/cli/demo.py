"""``cranfield demo``: a tour of the bundled example."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from cranfield.cli.output import colour, emit, say, width
from cranfield.io.atomic_write import atomic_write


@click.command(short_help="Show a tour of the bundled example.")
@click.option(
    "--into", type=click.Path(file_okay=False), metavar="DIR", help="Copy the files of the example into this folder."
)
def command(into: str | None) -> None:
    """Show scores, ties, unjudged documents and significance on a small example.

    With --into, the files of the example are copied to DIR, where you can run the commands of the tour.
    """
    from cranfield import example
    from cranfield.example.tour import tour

    for stop in tour():
        emit(stop.text(width=width(), colour=colour()))
    if into is None:
        say("To get the files: cranfield demo --into DIR")
        return
    folder = Path(into)
    folder.mkdir(parents=True, exist_ok=True)
    for name in example.NAMES:
        with atomic_write(folder / name) as temporary:
            shutil.copyfile(example.path(name), temporary)
    say(f"{len(example.NAMES)} files written to {into}")
