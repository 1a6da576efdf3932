"""``cranfield cite``: whom to cite."""

from __future__ import annotations

import click

from cranfield.cli import options
from cranfield.cli.output import emit


@click.command(short_help="Print the BibTeX entries of measures.")
@click.argument("measures", metavar="MEASURE...", nargs=-1, required=True, type=options.MeasureName())
@options.output
def command(measures: tuple[str, ...], output: str | None) -> None:
    """Print the BibTeX entries of MEASUREs, each once.

    \b
    cranfield cite nDCG@10 "RBP(p=0.8)" >> paper.bib
    """
    from cranfield.report import bibliography, catalogue

    names = options.listed(measures)
    emit(bibliography.bibtex(catalogue.find(name).definition.cite for name in names), output)
