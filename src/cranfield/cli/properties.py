"""``cranfield properties``: numeric properties of measures."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import click

from cranfield.cli import options
from cranfield.cli.commands import Verb
from cranfield.cli.output import colour, emit, note, width
from cranfield.cli.progress import progress
from cranfield.errors import UsageError
from cranfield.report.studies.properties import FORMATS


def _grades(ctx: click.Context, param: click.Parameter, value: str | None) -> list[float] | None:
    try:
        return None if value is None else [float(part) for part in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of numbers such as 0,1,2.") from None


@click.command(cls=Verb, short_help="Check numeric properties of measures.")
@click.argument("measures", metavar="MEASURE...", nargs=-1, type=options.MeasureName())
@click.option(
    "--file",
    "file",
    type=click.Path(dir_okay=False),
    metavar="FILE.py",
    help="Python file that defines measures; without MEASURE, check all of them.",
)
@click.option("--table2", is_flag=True, help="Print Table 2 of the paper instead, computed.")
@click.option(
    "--documents",
    type=click.IntRange(min=1),
    metavar="N",
    help="Length of the longest rankings to try.  [default: 8, or fewer if that is too many rankings]",
)
@click.option("--grades", callback=_grades, metavar="G,G,...", help="Grades that documents can have.  [default: 0,1]")
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
    """Check numeric properties of MEASUREs (Moffat, AIRS 2013) by trying every small ranking.

    Y: no counterexample exists; N: there is one, and the smallest is shown. Measures need no cutoff here.

    \b
    cranfield properties AP nDCG "RBP(p=0.8)" bpref "nDCG[condensed]"
    cranfield properties --file my_measures.py
    cranfield properties --table2
    """
    from cranfield.measures.loading import loaded
    from cranfield.report.studies import properties
    from cranfield.studies.properties import properties as check

    if table2:
        if measures or file or grades or format == "json":
            raise UsageError("--table2 cannot be combined with measures, --file, --grades or --format json")
        emit(properties.table2(documents, format, width=width(), colour=colour(output)), output)
        return
    extra: AbstractContextManager[list[str]] = loaded(file) if file else nullcontext([])
    with extra as own, progress("Checking measures") as step:
        names = options.measure_names(measures) or own
        result = check(names, documents=documents, grades=grades, progress=step)
    emit(properties.write(result, format, digits=digits, width=width(), colour=colour(output)), output)
    if format != "json":
        note(result.notes)
