"""What all studies share: options, how they are conducted, and where their results go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from cranfield.cli import options
from cranfield.cli.output import colour, emit, note, width
from cranfield.cli.progress import progress
from cranfield.report.pages import FORMATS, Page, write
from cranfield.studies.coefficients import COEFFICIENTS

writing = options.several(
    options.figures("Draw the figures into this folder, as PDF, SVG and PNG."),
    options.digits,
    options.formats(FORMATS, "json is the whole result, and can be shown again."),
    options.output,
)


coefficient = click.option(
    "--coefficient",
    type=click.Choice(tuple(COEFFICIENTS)),
    default="tau-a",
    show_default=True,
    help="How the agreement of two orders is measured.",
)


testing = options.several(
    click.option(
        "--b",
        type=click.IntRange(min=1),
        default=1000,
        show_default=True,
        help="Resamplings of the queries in each test.",
    ),
    options.level(0.05, "The level at which runs are told apart."),
)


repeats = click.option(
    "--repeats", type=click.IntRange(min=1), default=30, show_default=True, help="Random samples of each size."
)


relevant = click.option(
    "--rel", type=click.FloatRange(0, min_open=True), default=1.0, show_default=True, help="Lowest relevant grade."
)


variants = click.option(
    "--variants",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="With one RUN: N more systems, made up over its documents.",
)


def numbers(ctx: click.Context, param: click.Parameter, value: str | None) -> list[int] | None:
    """A callback that reads whole numbers apart by commas."""
    try:
        return None if value is None else [int(part) for part in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"{value!r} is no list of whole numbers such as 50,20,10", ctx, param) from None


def drawable(figures: str | None) -> None:
    """An error where figures are asked for and cannot be drawn: better said before the work than after it."""
    if figures is not None:
        from cranfield.report.figures import canvas

        canvas.require()


def report_on(study: str) -> tuple[Callable[..., list[Page]], Callable[[Any, str], list[Path]]]:
    """What makes tables, and what draws figures, of a study: each is in a module of its name."""
    tables, figures = (import_module(f"cranfield.report.{kind}.{study}") for kind in ("studies", "figures"))
    return tables.pages, figures.figures


def conduct(
    study: str,
    waiting: str,
    *,
    qrels: str,
    runs: tuple[str, ...],
    measures: list[str] | None,
    figures: str | None,
    digits: int,
    format: str,
    output: str | None,
    more: Callable[[Any, int], list[Page]] | None = None,
    **how: Any,
) -> None:
    """Does the study of a name and delivers what it found; ``more`` are tables beyond the usual ones.

    ``waiting`` is what a progress bar says; ``how`` is what the study takes besides.
    """
    drawable(figures)
    if measures is not None:
        how["measures"] = measures
    with progress(waiting) as step:
        found = getattr(import_module(f"cranfield.studies.{study}"), study)(qrels, runs, progress=step, **how)
    pages, draw = report_on(study)
    tables = [*pages(found, digits), *(more(found, digits) if more else ())]
    deliver(tables, found.to_dict(), partial(draw, found), format=format, output=output, figures=figures)


def deliver(
    pages: Sequence[Page],
    result: dict[str, Any],
    draw: Callable[[str], list[Path]] | None,
    *,
    format: str,
    output: str | None,
    figures: str | None,
) -> None:
    """Tables to standard output or a file, figures into their folder, notes to standard error."""
    emit(write(pages, result, format, width=width(), colour=colour(output)), output)
    if figures is not None and draw is not None:
        click.echo(f"{len(draw(figures))} files in {figures}", err=True)
    if format != "json":
        note(result.get("notes", ()))
