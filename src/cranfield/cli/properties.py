"""``cranfield properties``: numeric properties of measures."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, Any, Literal

import click

from cranfield.cli import options
from cranfield.cli.commands import Argument, Option, verb
from cranfield.cli.output import colour, emit, note, progress, text_width, width
from cranfield.errors import UsageError
from cranfield.lab.property_checks import PROPERTIES, SEVEN
from cranfield.lab.studies import properties as study
from cranfield.lab.study import function_of
from cranfield.report.pages import FORMATS
from cranfield.settings import Choices


class Properties(options.Writing):
    """Check numeric properties of MEASUREs (Moffat, AIRS 2013) on all small rankings.

    Y: the property holds for all of them; N: it does not, and the smallest counterexample is shown. All cutoffs are
    checked.

    \b
    cranfield properties AP nDCG "RBP(p=0.8)" bpref "nDCG[condensed]"
    cranfield properties --file my_measures.py
    cranfield properties --table 2
    cranfield properties --table 2 --properties complete,localized --classes
    """

    measures: Annotated[tuple[options.MeasureText, ...], Argument("MEASURE...")] = ()
    file: Annotated[
        str | None,
        click.Path(dir_okay=False),
        "Python file with your own measures, whose code is run; without MEASURE, all of them are checked.",
        Option("--measures-file --file", metavar="FILE.py"),
    ] = None
    table: Annotated[
        Literal["1", "2"] | None, "Show a table of the paper instead: 1, the variants of DCG, or 2, which is computed."
    ] = None
    columns: Annotated[
        Sequence[str] | None,
        "Properties to show, in this order. They also determine the order of rows in Table 2 and with --classes.",
        Option("--properties", metavar="P,P,..."),
    ] = None
    classes: Annotated[bool, "Show measures with the same properties in one row."] = False
    documents: study.Documents = None
    grades: study.Grades = None
    format: Annotated[str, Choices(FORMATS), "Output format. json has full precision."] = "table"

    def run(self) -> None:
        """Print the table."""
        if self.table is not None:
            self._print_table()
            return
        from cranfield.measures.own import load_measures

        study.check_columns(self.columns or ())
        extra: AbstractContextManager[list[str]] = load_measures(self.file) if self.file else nullcontext([])
        with extra as own, progress("Checking measures") as step:
            measures = options.measure_names(self.measures) or own
            result = function_of("properties")(measures, documents=self.documents, grades=self.grades, progress=step)
        assert isinstance(result, study.PropertiesResult)
        text = result.write(
            self.format,
            digits=self.digits,
            width=text_width(),
            colour=colour(self.output),
            columns=self.columns or PROPERTIES,
            classes=self.classes,
        )
        emit(text, self.output)
        if self.format != "json":
            note(map(str, result.notes))

    def _print_table(self) -> None:
        """Print a table of the paper."""
        if self.measures or self.file or self.grades:
            raise UsageError("--table cannot be combined with measures, --file or --grades")
        if self.table == "1" and (self.columns or self.classes or self.documents):
            raise UsageError("--table 1 cannot be combined with --properties, --classes or --documents")
        style: dict[str, Any] = {"width": width(), "colour": colour(self.output)}
        if self.table == "1":
            text = study.table1(self.format, **style)
        else:
            study.check_columns(self.columns or (), SEVEN)
            chosen = self.columns or SEVEN
            text = study.table2(self.documents, self.format, columns=chosen, classes=self.classes, **style)
        emit(text, self.output)


command = verb(Properties, "Check numeric properties of measures.")
