"""Where tables and figures go: options for the output of results, and the functions that write them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import click

from cranfield.cli import options
from cranfield.cli.commands import Settings
from cranfield.cli.output import colour, emit, note, say_written, width
from cranfield.codec import text as as_json
from cranfield.codec import with_origin
from cranfield.io.formats.json import load_json
from cranfield.io.streams import digesting
from cranfield.report.pages import FORMATS, Page, write
from cranfield.settings import Choices, Option

if TYPE_CHECKING:
    from pathlib import Path

    from cranfield.evaluation.designs import Groups
    from cranfield.report.canvas import Drawings

    Draw = Callable[[str], list[Path]]


def _drawable(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    """Raise before the computation starts if figures are requested and matplotlib is missing."""
    if value is not None:
        from cranfield.report import canvas

        canvas.require()
    return value


class Drawing(Settings):
    """Figures."""

    GROUP = "Output"

    figures: Annotated[
        options.Folder | None,
        "Draw figures into this folder (PDF, SVG and PNG).",
        Option(callback=_drawable, rare=True),
    ] = None


class Pages(options.Writing):
    """Tables as pages."""

    format: Annotated[str, Choices(FORMATS), "Output format. json holds the complete result."] = "table"


class Results(Pages, Drawing):
    """Tables and figures."""

    def deliver(self, pages: Sequence[Page], result: dict[str, Any], figures: Drawings | Draw | None = None) -> None:
        """Write tables to standard output or a file, figures into their folder, notes to standard error."""
        text = write(pages, result, self.format, width=width(), colour=colour(self.output))
        emit(for_file(text, self.format, self.output), self.output)
        save_figures(figures, self.figures)
        if self.format != "json":
            note(result.get("notes", ()))


def with_groups(text: str, groups: Groups, format: str, digits: int, **layout: Any) -> str:
    """The text of a result with tables of the scores by group; JSON has them under ``groups``."""
    from cranfield.report import groups as report

    if format == "csv":
        return report.csv(groups)
    if format == "json":
        return as_json({**load_json(text), "groups": groups.to_dict()})
    pages = write(report.pages(groups, digits), {}, format, **layout)
    note(report.notes(groups))
    return f"{text}\n{pages}"


def digests_for(format: str) -> AbstractContextManager[object]:
    """Take the digests of files while they are read, in another thread, if the output has them."""
    return digesting() if format == "json" else nullcontext()


def for_file(text: str, format: str, output: str | None) -> str:
    """JSON that is written to a file, with the time and the command; what is printed is always the same."""
    return as_json(with_origin(load_json(text))) if format == "json" and output not in (None, "-") else text


def save_figures(figures: Drawings | Draw | None, folder: str | None) -> None:
    """Draw the figures into their folder, if a folder is given, and report how many files were written."""
    if folder is not None and figures is not None:
        from cranfield.report.canvas import save_all

        written = figures(folder) if callable(figures) else save_all(figures, folder)
        say_written(f"{len(written)} files written to {folder}")
