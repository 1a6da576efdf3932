"""``cranfield properties``, and ``cranfield study properties``."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import click

from cranfield.cli import options
from cranfield.cli.commands import Verb
from cranfield.cli.output import colour, emit, note, width
from cranfield.cli.progress import progress
from cranfield.errors import UsageError
from cranfield.studies.properties.tables import FORMATS


def _grades(_ctx: click.Context, _param: click.Parameter, value: str | None) -> list[float] | None:
    try:
        return None if value is None else [float(part) for part in value.split(",")]
    except ValueError:
        message = f"expected numbers separated by commas, such as 0,1,2; got {value!r}"
        raise click.BadParameter(message) from None


@click.command(cls=Verb, short_help="Check numeric properties of measures.")
@click.argument("measures", metavar="MEASURE...", nargs=-1, type=options.MeasureName())
@click.option(
    "--file",
    "file",
    type=click.Path(dir_okay=False),
    metavar="FILE.py",
    help="File with your own measures; without MEASURE, all of them are checked.",
)
@click.option("--table2", is_flag=True, help="Compute Table 2 of the paper instead.")
@click.option(
    "--documents",
    type=click.IntRange(min=1),
    metavar="N",
    help="Length of the longest rankings.  [default: 8, or less if there are too many rankings]",
)
@click.option("--grades", callback=_grades, metavar="G,G,...", help="Grades of judged documents, instead of 0,1.")
@options.digits
@options.formats(FORMATS, "json and csv have full precision.")
@options.output
def command(
    measures: tuple[str, ...],
    file: str | None,
    table2: bool,
    documents: int | None,
    grades: list[float] | None,
    digits: int,
    format: str,
    output: str | None,
) -> None:
    """Check numeric properties of MEASUREs (Moffat, AIRS 2013) on all small rankings.

    Y: the property holds for all of them; N: it does not, and the smallest counterexample is shown. All cutoffs are
    checked.

    \b
    cranfield properties AP nDCG "RBP(p=0.8)" bpref "nDCG[condensed]"
    cranfield properties --file my_measures.py
    cranfield properties --table2
    """
    from cranfield.measures.plugins import load_measures
    from cranfield.studies.properties import tables
    from cranfield.studies.properties.experiment import properties

    if table2:
        if measures or file or grades or format == "json":
            message = "--table2 cannot be combined with measures, --file, --grades or --format json"
            raise UsageError(message)
        emit(tables.table2(documents, format, width=width(), colour=colour(output)), output)
        return
    extra: AbstractContextManager[list[str]] = load_measures(file) if file else nullcontext([])
    with extra as own, progress("Checking measures") as step:
        result = properties(options.measure_names(measures) or own, documents=documents, grades=grades, progress=step)
    emit(tables.write(result, format, digits=digits, width=width(), colour=colour(output)), output)
    if format != "json":
        note(result.notes)
