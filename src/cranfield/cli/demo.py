"""``cranfield demo``: a tour of the bundled example."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from cranfield.cli.output import colour, emit, say, width
from cranfield.io.write import atomic_write


@click.command(short_help="Show a tour of the bundled example.")
@click.option(
    "--into", type=click.Path(file_okay=False), metavar="DIR", help="Copy the files of the example into this folder."
)
@click.option("--force", is_flag=True, help="Replace files in DIR that have other content.")
def command(into: str | None, force: bool) -> None:
    """Show scores, ties, unjudged documents and significance on a small example.

    With --into, the files of the example are copied to DIR, where you can run the commands of the tour.
    """
    from cranfield import example
    from cranfield.example.tour import tour

    if into is not None and not force:
        check_folder(Path(into))
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


def check_folder(folder: Path) -> None:
    """Raise if a file of the example would replace another one."""
    from cranfield import example
    from cranfield.errors import InputError

    existing = [name for name in example.NAMES if (folder / name).exists()]
    changed = [name for name in existing if (folder / name).read_bytes() != example.path(name).read_bytes()]
    if changed:
        raise InputError(
            [f"{folder / name}: the file exists and has other content" for name in changed],
            hint="choose another folder, or replace the files with --force",
        )
