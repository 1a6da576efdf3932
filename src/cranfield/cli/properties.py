"""``cranfield properties``: what can be relied on in a measure."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import click

from cranfield.cli import options
from cranfield.cli.output import colour, emit, note, width
from cranfield.cli.progress import progress
from cranfield.errors import UsageError
from cranfield.report.studies.properties import FORMATS


def _grades(ctx: click.Context, param: click.Parameter, value: str | None) -> list[float] | None:
    try:
        return None if value is None else [float(part) for part in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"{value!r} is no list of numbers such as 0,1,2.") from None


@click.command(short_help="Check what a measure can be relied on for.")
@click.argument("measures", metavar="MEASURE...", nargs=-1, type=options.MeasureName())
@click.option(
    "--file",
    "file",
    type=click.Path(dir_okay=False),
    metavar="FILE.py",
    help="Measures of your own; alone, all of them.",
)
@click.option("--table2", is_flag=True, help="Print Table 2 of the paper, computed, instead.")
@click.option(
    "--documents",
    type=click.IntRange(min=1),
    metavar="N",
    help="Documents of the largest rankings.  [default: 8, fewer where these are many rankings]",
)
@click.option("--grades", callback=_grades, metavar="G,G,...", help="What documents can be judged, instead of 0,1.")
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
    """Check MEASUREs for numeric properties (Moffat, AIRS 2013), by trying every small ranking.

    Y: no ranking speaks against it; N: one does, and the smallest is shown. A cut-off need not be given.

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
            raise UsageError("--table2 is a table of its own: no measures, file or grades, and no json")
        emit(properties.table2(documents, format, width=width(), colour=colour(output)), output)
        return
    extra: AbstractContextManager[list[str]] = loaded(file) if file else nullcontext([])
    with extra as own, progress("checking") as step:
        wanted = options.listed(measures) or own
        found = check(wanted, documents=documents, grades=grades, progress=step)
    emit(properties.write(found, format, digits=digits, width=width(), colour=colour(output)), output)
    if format != "json":
        note(found.notes)
