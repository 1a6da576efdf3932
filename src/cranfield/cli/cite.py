"""``cranfield cite``: the papers to cite for measures."""

from __future__ import annotations

import click

from cranfield.cli import options
from cranfield.cli.commands import Verb
from cranfield.cli.output import emit


@click.command(cls=Verb, short_help="Print BibTeX entries for measures.")
@click.argument("measures", metavar="MEASURE...", nargs=-1, required=True, type=options.MeasureName())
@options.output
def command(measures: tuple[str, ...], output: str | None) -> None:
    """Print the BibTeX entries of the papers behind MEASUREs.

    \b
    cranfield cite nDCG@10 "RBP(p=0.8)" >> paper.bib
    """
    from cranfield.report import catalogue

    names = options.measure_names(measures)
    emit(catalogue.bibtex(catalogue.find(name).definition.cite for name in names), output)
