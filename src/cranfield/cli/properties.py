"""``cranfield properties``: numeric properties of measures."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import click

from cranfield.cli import options
from cranfield.cli.commands import Verb
from cranfield.cli.output import colour, emit, note, width
from cranfield.cli.progress import progress
from cranfield.errors import UsageError
from cranfield.lab.property_checks import PROPERTIES, SEVEN
from cranfield.lab.studies import properties as study


def _grades(_ctx: click.Context, _param: click.Parameter, value: str | None) -> list[float] | None:
    try:
        return None if value is None else [float(part) for part in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"expected numbers separated by commas, such as 0,1,2; got {value!r}") from None


def _columns(_ctx: click.Context, _param: click.Parameter, value: str | None) -> list[str] | None:
    return None if value is None else [part.strip() for part in value.split(",")]


@click.command(cls=Verb, short_help="Check numeric properties of measures.")
@click.argument("measures", metavar="MEASURE...", nargs=-1, type=options.MeasureName())
@click.option(
    "--measures-file",
    "--file",
    "file",
    type=click.Path(dir_okay=False),
    metavar="FILE.py",
    help="File with your own measures; without MEASURE, all of them are checked.",
)
@click.option("--table1", is_flag=True, help="Show Table 1 of the paper instead: variants of DCG.")
@click.option("--table2", is_flag=True, help="Compute Table 2 of the paper instead.")
@click.option(
    "--columns",
    callback=_columns,
    metavar="P,P,...",
    help="Properties to show, in this order. They also determine the order of rows in Table 2 and with --classes.",
)
@click.option("--classes", is_flag=True, help="Show measures with the same properties in one row.")
@click.option(
    "--documents",
    type=click.IntRange(min=1),
    metavar="N",
    help="Length of the longest rankings.  [default: 8, or less if there are too many rankings]",
)
@click.option("--grades", callback=_grades, metavar="G,G,...", help="Grades of judged documents, instead of 0,1.")
@options.digits
@options.formats(study.FORMATS, "json and csv have full precision.")
@options.output
def command(
    measures: tuple[str, ...],
    file: str | None,
    table1: bool,
    table2: bool,
    columns: list[str] | None,
    classes: bool,
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
    cranfield properties --table2 --columns complete,localized --classes
    """
    from cranfield.measures.own import load_measures

    if table1 or table2:
        table = "--table1" if table1 else "--table2"
        if measures or file or grades:
            raise UsageError(f"{table} cannot be combined with measures, --file or --grades")
        if table1 and (table2 or columns or classes or documents):
            raise UsageError("--table1 cannot be combined with --table2, --columns, --classes or --documents")
        if table1:
            emit(study.table1(format, width=width(), colour=colour(output)), output)
            return
        study.check_columns(columns or (), SEVEN)
        chosen = columns or SEVEN
        shown = study.table2(documents, format, columns=chosen, classes=classes, width=width(), colour=colour(output))
        emit(shown, output)
        return
    study.check_columns(columns or ())
    extra: AbstractContextManager[list[str]] = load_measures(file) if file else nullcontext([])
    with extra as own, progress("Checking measures") as step:
        result = study.properties(
            options.measure_names(measures) or own, documents=documents, grades=grades, progress=step
        )
    text = study.write(
        result,
        format,
        digits=digits,
        width=width(),
        colour=colour(output),
        columns=columns or PROPERTIES,
        classes=classes,
    )
    emit(text, output)
    if format != "json":
        note(result.notes)
