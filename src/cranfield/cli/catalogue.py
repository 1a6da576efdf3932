"""``cranfield measures``, ``show``, ``cite`` and ``conformance``: what measures there are, and worked cases of them."""

from __future__ import annotations

from typing import Annotated, Literal

import click

from cranfield.cli import options
from cranfield.cli.commands import Argument, Option, OptionGroup, verb
from cranfield.cli.output import colour, emit, say_written, text_width, width
from cranfield.errors import UsageError
from cranfield.wording import plural

DIFFERENT = 3  # as for other checks


class MeasuresVerb(OptionGroup):
    """List all measures by family, with one sentence each, or those with WORDs in their names or descriptions.

    \b
    cranfield measures --family gain
    cranfield measures user model
    """

    family: Annotated[str | None, "List only this family, such as `precision` or `gain`.", Option(metavar="NAME")] = (
        None
    )
    words: Annotated[tuple[str, ...], Argument("[WORD]...")] = ()
    format: Annotated[Literal["table", "json"], "Output format. json has all details."] = "table"

    def run(self) -> None:
        from cranfield.report import catalogue

        definitions = catalogue.of_family(self.family)
        if self.words:
            definitions = catalogue.search(definitions, " ".join(self.words))
        if self.format == "json":
            emit(catalogue.as_json(definitions))
        else:
            emit(catalogue.listing(definitions, width=text_width(), colour=colour()))


class ShowVerb(options.OwnMeasures):
    """Explain MEASURE, or a significance test: formula, parameters, bounds, ties, source and an example.

    \b
    cranfield show nDCG
    cranfield show "RBP(p=0.8)"
    cranfield show tukey
    """

    measure: Annotated[options.MeasureText, Argument()]

    def run(self) -> None:
        from cranfield.report import catalogue

        emit(catalogue.explanation(self.measure, width=text_width(), colour=colour()))


class CiteVerb(options.Output):
    """Print BibTeX entries for measures, significance tests and corrections, and for Cranfield itself.

    \b
    cranfield cite nDCG@10 "RBP(p=0.8)" >> paper.bib
    cranfield cite randomisation holm cranfield
    """

    names: Annotated[tuple[options.MeasureText, ...], Argument("NAME...")]

    def run(self) -> None:
        from cranfield.report import catalogue

        emit(catalogue.bibtex(map(catalogue.papers, options.measure_names(self.names))), self.output)


class ConformanceVerb(options.Output):
    """Write worked cases of all measures as JSON, or check PROGRAM against them.

    Each case has a run, judgments, a measure, its value and the source of the value. A program to be checked reads one
    case per line from its input and writes lines such as {"id": "A1-00", "value": 0.5}. The exit code is 3 if a value
    differs.

    \b
    cranfield conformance -o cases.json
    cranfield conformance -m "AP nDCG" check -- python my_measures.py
    """

    action: Annotated[tuple[str, ...], Argument("[check -- PROGRAM...]")] = ()
    measures: Annotated[
        tuple[options.MeasureText, ...],
        "Only the cases of these measures.",
        Option("-m --measure", metavar="MEASURE", callback=options.given_measures),
    ] = ()
    schema: Annotated[bool, "Write the JSON schema of the cases instead."] = False
    format: Annotated[Literal["table", "json", "csv", "markdown", "latex"], "Output format of a check."] = "table"

    def run(self) -> None:
        from cranfield import codec, conformance
        from cranfield.report.pages import write

        if self.schema:
            emit(conformance.SCHEMA.read_text(encoding="utf-8"), self.output)
        elif not self.action:
            document = conformance.document(self.measures or None)
            emit(codec.text(document), self.output)
            if self.output is not None:
                cases, measures = (plural(len(document[key]), key[:-1]) for key in ("cases", "measures"))
                say_written(f"{self.output} written ({cases} of {measures})")
        elif self.action[0] != "check" or len(self.action) == 1:
            raise UsageError("expected `check -- PROGRAM`", hint="without it, the cases are written")
        else:
            findings = conformance.check(self.action[1:], conformance.cases(self.measures or None))
            text = write(findings.pages(), findings.to_dict(), self.format, width=width(), colour=colour(self.output))
            emit(text, self.output)
            if findings.differences:
                click.get_current_context().exit(DIFFERENT)


measures = verb(MeasuresVerb, "List all measures.")
show = verb(ShowVerb, "Explain a measure, with an example.")
cite = verb(CiteVerb, "Print BibTeX entries.")
conformance = verb(ConformanceVerb, "Write worked cases, or check another program.")
