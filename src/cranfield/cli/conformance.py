"""``cranfield conformance``: the worked cases for other programs, and a check of a program against them."""

from __future__ import annotations

from typing import Annotated, Literal

import click

from cranfield.cli import options
from cranfield.cli.commands import Argument, Option, verb
from cranfield.cli.output import colour, emit, say_written, width
from cranfield.errors import UsageError
from cranfield.settings import Limits
from cranfield.wording import plural

DIFFERENT = 3  # as for other checks


class Conformance(options.Output):
    """Write worked cases of all measures as JSON, or check PROGRAM against them.

    Each case has a run, judgments, a measure, its value and the source of the value. A program to be checked reads one
    case per line from its input and writes lines such as {"id": "A1-00", "value": 0.5}. The exit code is 3 if a value
    differs.

    \b
    cranfield conformance --out cases.json
    cranfield conformance -m "AP nDCG" check -- python my_measures.py
    """

    output: Annotated[
        options.OutputPath | None, "Write to this file instead of standard output.", Option("-o --out --output")
    ] = None
    action: Annotated[tuple[str, ...], Argument("[check -- PROGRAM...]")] = ()
    measures: Annotated[
        tuple[options.MeasureText, ...],
        "Only the cases of these measures.",
        Option("-m --measure", metavar="MEASURE", callback=options.given_measures),
    ] = ()
    schema: Annotated[bool, "Write the JSON schema of the cases instead."] = False
    seconds: Annotated[float, Limits(0, None, open=True), "Stop the program after so many seconds."] = 600
    format: Annotated[Literal["table", "json", "csv", "markdown", "latex"], "Output format of a check."] = "table"

    def run(self) -> None:
        from cranfield import conformance, results
        from cranfield.report.pages import write

        if self.schema:
            emit(conformance.SCHEMA.read_text(encoding="utf-8"), self.output)
        elif not self.action:
            document = conformance.document(self.measures or None)
            emit(results.text(document), self.output)
            if self.output is not None:
                cases, measures = (plural(len(document[key]), key[:-1]) for key in ("cases", "measures"))
                say_written(f"{self.output} written ({cases} of {measures})")
        elif self.action[0] != "check" or len(self.action) == 1:
            raise UsageError("expected `check -- PROGRAM`", hint="without it, the cases are written")
        else:
            found = conformance.check(self.action[1:], conformance.cases(self.measures or None), seconds=self.seconds)
            text = write(found.pages(), found.to_dict(), self.format, width=width(), colour=colour(self.output))
            emit(text, self.output)
            if found.differences:
                click.get_current_context().exit(DIFFERENT)


command = verb(Conformance, "Write worked cases, or check another program.")
