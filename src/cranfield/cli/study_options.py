"""Options that several studies share, and the function that runs a study from the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from cranfield.cli import results
from cranfield.cli.output import colour, emit, note, width
from cranfield.cli.progress import progress
from cranfield.report.pages import Page, write
from cranfield.studies.coefficients import COEFFICIENTS
from cranfield.studies.registry import Study
from cranfield.studies.saving import StudyResult

coefficient = click.option(
    "--coefficient",
    type=click.Choice(tuple(COEFFICIENTS)),
    default="tau-a",
    show_default=True,
    help="Correlation coefficient for comparing two orders of runs.",
)

samples = click.option(
    "--samples",
    type=click.IntRange(min=1),
    metavar="N",
    default=1000,
    show_default=True,
    help="Number of resamples per test.",
)

repeats = click.option(
    "--repeats",
    type=click.IntRange(min=1),
    metavar="N",
    default=30,
    show_default=True,
    help="Number of random subsets of each size.",
)

relevant = click.option(
    "--rel",
    type=click.FloatRange(0, min_open=True),
    metavar="GRADE",
    default=1.0,
    show_default=True,
    help="Lowest relevant grade.",
)

variants = click.option(
    "--variants",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="With a single RUN: add N simulated runs that rerank its documents.",
)


def integers(ctx: click.Context, param: click.Parameter, value: str | None) -> list[int] | None:
    """Parse an option of comma-separated whole numbers."""
    try:
        return None if value is None else [int(part) for part in value.split(",")]
    except ValueError:
        message = f"expected whole numbers separated by commas, such as 50,20,10; got {value!r}"
        raise click.BadParameter(message, ctx, param) from None


def run_study(
    name: str,
    activity: str,
    *,
    qrels: str,
    runs: tuple[str, ...],
    measures: list[str] | None,
    figures: str | None,
    digits: int,
    format: str,
    output: str | None,
    extra_tables: Callable[[Any, int], list[Page]] | None = None,
    **settings: Any,
) -> None:
    """Run a study and write its tables, figures and notes.

    ``activity`` labels the progress bar; ``settings`` are the other arguments of the experiment; ``extra_tables``
    makes tables that follow the usual ones.
    """
    study = Study(name)
    check_figures(study, figures)
    if measures is not None:
        settings["measures"] = measures
    with progress(activity) as step:
        result = study.experiment(qrels, runs, progress=step, **settings)
    if extra_tables is None:
        text = study.write(result, format, digits=digits, width=width(), colour=colour(output))
    else:
        pages = [*study.tables(result, digits), *extra_tables(result, digits)]
        text = write(pages, result.to_dict(), format, width=width(), colour=colour(output))
    deliver_result(study, result, text, figures=figures, format=format, output=output)


def check_figures(study: Study, figures: str | None) -> None:
    """Raise before any work is done if figures are requested and cannot be drawn."""
    if figures is not None:
        study.require_figures()
        results.drawable(figures)


def deliver_result(
    study: Study, result: StudyResult, text: str, *, figures: str | None, format: str, output: str | None
) -> None:
    """Write a result, given as text, with its figures and notes."""
    emit(text, output)
    results.save_figures(lambda folder: study.save_figures(result, folder), figures)
    if format != "json":
        note(result.notes)
