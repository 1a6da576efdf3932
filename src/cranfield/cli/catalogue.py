"""``cranfield measures``, ``show`` and ``cite``: the list of measures, the details of one, and the papers to cite."""

from __future__ import annotations

from typing import Annotated, Literal

from cranfield.cli import options
from cranfield.cli.commands import Argument, Option, Settings, verb
from cranfield.cli.output import colour, emit, width


class ListMeasures(Settings):
    """List all measures by family, with one sentence each.

    \b
    cranfield measures --family gain
    cranfield measures --search "user model"
    """

    family: Annotated[str | None, "List only this family, such as `precision` or `gain`.", Option(metavar="NAME")] = (
        None
    )
    search: Annotated[
        str | None,
        "List only measures with these words in their names, in any tool, or descriptions.",
        Option(metavar="TEXT"),
    ] = None
    format: Annotated[Literal["table", "json"], "Output format. json has all details."] = "table"

    def run(self) -> None:
        from cranfield.report import catalogue

        definitions = catalogue.of_family(self.family)
        if self.search is not None:
            definitions = catalogue.search(definitions, self.search)
        if self.format == "json":
            emit(catalogue.as_json(definitions))
        else:
            emit(catalogue.listing(definitions, width=width(), colour=colour()))


class Show(options.OwnMeasures):
    """Explain MEASURE: formula, parameters, bounds, ties, source and an example.

    \b
    cranfield show nDCG
    cranfield show "RBP(p=0.8)"
    """

    measure: Annotated[options.MeasureText, Argument()]

    def run(self) -> None:
        from cranfield.report import catalogue

        emit(catalogue.description(*catalogue.find(self.measure), width=width(), colour=colour()))


class Cite(options.Output):
    """Print BibTeX entries for measures, significance tests and corrections, and for Cranfield itself.

    \b
    cranfield cite nDCG@10 "RBP(p=0.8)" >> paper.bib
    cranfield cite randomisation holm cranfield
    """

    names: Annotated[tuple[options.MeasureText, ...], Argument("NAME...")]

    def run(self) -> None:
        from cranfield.report import catalogue

        emit(catalogue.bibtex(map(catalogue.papers, options.measure_names(self.names))), self.output)


measures = verb(ListMeasures, "List all measures.")
show = verb(Show, "Explain a measure, with an example.")
cite = verb(Cite, "Print BibTeX entries.")
