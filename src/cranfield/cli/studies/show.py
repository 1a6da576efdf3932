"""``cranfield study show``: a study that was kept, shown and drawn again."""

from __future__ import annotations

from functools import partial
from importlib import import_module

import click

from cranfield.cli.output import colour, emit, note, width
from cranfield.cli.studies import results

# Studies by name: the class of the result, with a module of the same name for its tables and one for its figures.
RESULTS = {
    "truncation": "Truncation",
    "stopping": "Stopping",
    "correlation": "Correlation",
    "reduction": "Reduction",
    "newcomers": "Newcomers",
    "power": "Power",
    "sampling": "Sampling",
    "reuse": "Reuse",
    "properties": "Properties",
}


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
    if name not in RESULTS:
        raise InputError([f"{file}: a study of {name}, which this version does not know"])
    found = getattr(import_module(f"cranfield.studies.{name}"), RESULTS[name]).load(file)
    report = import_module(f"cranfield.report.studies.{name}")
    if name == "properties":  # which are no numbers to be drawn
        with saving.complete(name, file):
            text = report.write(found, format, digits=digits, width=width(), colour=colour(output))
        emit(text, output)
        return note(found.notes if format != "json" else ())
    with saving.complete(name, file):
        pages = report.pages(found, digits)
    draw = partial(import_module(f"cranfield.report.figures.{name}").figures, found)
    results.deliver(pages, found.to_dict(), draw, format=format, output=output, figures=figures)
