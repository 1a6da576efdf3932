"""Options that all studies share, and where their results go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from cranfield.cli import options
from cranfield.cli.output import colour, emit, note, width
from cranfield.report.pages import FORMATS, Page, write
from cranfield.studies.coefficients import COEFFICIENTS

writing = options.several(
    click.option(
        "--figures",
        type=click.Path(file_okay=False),
        metavar="DIR",
        help="Draw the figures into this folder, as PDF, SVG and PNG.",
    ),
    click.option(
        "--digits", type=click.IntRange(0, 17), default=4, show_default=True, help="Decimals shown to people."
    ),
    click.option(
        "--format",
        "format",
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="json is the whole result, and can be shown again.",
    ),
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
    click.option(
        "--alpha",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        default=0.05,
        show_default=True,
        help="The level at which runs are told apart.",
    ),
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


def measures(default: str) -> options.Decorator:
    """The option -m, empty unless given; a study knows its own default."""
    return click.option(
        "-m",
        "--measure",
        "measures",
        multiple=True,
        type=options.MeasureName(),
        callback=lambda ctx, param, value: [name for text in value for name in options.split(text)],
        help=f"A measure, or several apart by spaces; may be repeated.  [default: {default}]",
    )


def drawable(figures: str | None) -> None:
    """An error where figures are asked for and cannot be drawn: better said before the work than after it."""
    if figures is not None:
        from cranfield.report.figures import canvas

        canvas.require()


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
