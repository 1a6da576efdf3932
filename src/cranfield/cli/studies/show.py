"""``cranfield study show``: a study that was kept, shown and drawn again."""

from __future__ import annotations

from functools import partial
from importlib import import_module

import click

from cranfield.cli.output import colour, emit, note, width
from cranfield.cli.studies import results

# Each is the name of modules: of the study, with a class for its result, of its tables, and of its figures.
KNOWN = (
    *("truncation", "stopping", "correlation", "reduction", "newcomers", "power", "sampling", "reuse"),
    "properties",
)


@click.command(short_help="Show and draw a study that was kept.")
@click.argument("file", type=click.Path())
@results.writing
def command(file: str, figures: str | None, digits: int, format: str, output: str | None) -> None:
    """Show the study in FILE, which was written with --format json, without computing anything again.

    \b
    cranfield study stopping qrels.txt *.run --format json -o stopping.json
    cranfield study show stopping.json --format latex --figures figures
    """
    from cranfield.errors import InputError
    from cranfield.studies import saving

    results.drawable(figures)
    name = saving.load(file)["study"]
    if name not in KNOWN:
        raise InputError([f"{file}: a study of {name}, which this version does not know"])
    found = getattr(import_module(f"cranfield.studies.{name}"), name.capitalize()).load(file)
    if name == "properties":  # which are no numbers to be drawn
        from cranfield.report.studies import properties

        with saving.complete(name, file):
            text = properties.write(found, format, digits=digits, width=width(), colour=colour(output))
        emit(text, output)
        return note(found.notes if format != "json" else ())
    pages, draw = results.report_on(name)
    with saving.complete(name, file):
        tables = pages(found, digits)
    results.deliver(tables, found.to_dict(), partial(draw, found), format=format, output=output, figures=figures)
