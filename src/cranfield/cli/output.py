"""Where output goes: results to standard output or a file, notes and progress to standard error."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import click

from cranfield.codec import text as as_json
from cranfield.codec import with_origin
from cranfield.io.formats.json import load_json
from cranfield.io.register import atomic_write
from cranfield.io.streams import digesting
from cranfield.parallel import ProgressLine
from cranfield.wording import printable

if TYPE_CHECKING:
    from pathlib import Path

    from cranfield.data import Run
    from cranfield.evaluation.designs import Groups
    from cranfield.evaluation.notes import Note
    from cranfield.report.canvas import Drawings

UNLIMITED = 10_000  # characters of a line in a file or a pipe
DELAY = 1.0  # seconds before the bar appears
QUIET = "cranfield.quiet"  # where the context of click keeps --quiet
NOTES = "cranfield.notes"  # where the context of click keeps the notes that were printed


def emit(text: str | bytes, output: str | None = None) -> None:
    """Write results to standard output or a file; ids that are not UTF-8 keep their bytes."""
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    if output is None or output == "-":
        _print(data)
    else:
        replace(output, data)


def _print(data: bytes) -> None:
    if sys.stdout is None:  # `>&-`
        raise OSError("standard output is closed")
    stream, rest = sys.stdout.buffer, memoryview(data)
    try:
        # An unbuffered stream may write only a part, and reports a closed pipe or a full disk on the next write.
        while rest:
            rest = rest[stream.write(rest) :]
        stream.flush()
    except OSError as error:
        error.filename = "standard output"
        # Python flushes once more at exit, when the error has already been reported: give it somewhere to write.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def replace(path: str, data: bytes) -> None:
    """Replace the content of a file at once: readers see the old content or the new, never a part."""
    with atomic_write(path) as temporary:
        temporary.write_bytes(data)


def quiet() -> bool:
    """Whether the user asked for no notes (--quiet)."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(QUIET))


def note(lines: Iterable[str]) -> None:
    """Print notes to standard error, each once, unless the user asked for none."""
    if quiet():
        return
    context = click.get_current_context(silent=True)
    printed: set[str] = set() if context is None else context.meta.setdefault(NOTES, set())
    for line in map(str, lines):
        if line not in printed:
            say(f"note: {printable(line)}")
            printed.add(line)


def note_remarks(runs: Iterable[Run]) -> None:
    """Print what reading runs had to assume, for commands that print no other notes on them."""
    note(f"{run.name}: {remark}" for run in runs for remark in run.remarks)


def say_written(text: str) -> None:
    """Say which files were written, unless the user asked for no notes."""
    if not quiet():
        say(text)


def run_notes(notes: Iterable[Note], *, verbose: bool) -> list[str]:
    """Notes on runs as sentences: one for each kind if there are many runs, unless the user asked for all."""
    from cranfield.evaluation.notes import sentences, summarised

    if verbose:
        return sentences(notes)
    texts, shortened = summarised(notes)
    return [*texts, "use -v for the notes on each run"] if shortened else texts


def say(text: str) -> None:
    """Print a message to standard error; bytes of ids and file names that are not UTF-8 stay as they are."""
    click.echo(printable(text, lines=True).encode("utf-8", "surrogateescape"), err=True)


def colour(output: str | None = None) -> bool:
    """Whether to use bold and colours: on a terminal, unless NO_COLOR is set."""
    allowed = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return output is None and allowed and sys.stdout is not None and sys.stdout.isatty()


def width() -> int:
    """The width to print tables for: ``COLUMNS``, or the terminal's; without limit in files and pipes."""
    terminal = sys.stdout is not None and sys.stdout.isatty()
    return shutil.get_terminal_size().columns if terminal or os.environ.get("COLUMNS") else UNLIMITED


def text_width() -> int:
    """The width to print text for."""
    return shutil.get_terminal_size().columns


@contextmanager
def progress(title: str, *, in_bytes: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function to call with (done, total), or None if standard error is not a terminal or --quiet was given.

    ``in_bytes``: the numbers count bytes.
    """
    if sys.stderr is None or not sys.stderr.isatty() or quiet():
        yield None
        return
    bar = ProgressLine(title, DELAY, megabytes=in_bytes)
    try:
        yield bar
    finally:
        bar.clear()


def with_groups(text: str, groups: Groups, format: str, digits: int, **layout: Any) -> str:
    """The text of a result with tables of the scores by group; JSON has them under ``groups``."""
    from cranfield.report import groups as report
    from cranfield.report.pages import write

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


def save_figures(figures: Drawings | Callable[[str], list[Path]] | None, folder: str | None) -> None:
    """Draw the figures into their folder, if a folder is given, and report how many files were written."""
    if folder is not None and figures is not None:
        from cranfield.report.canvas import save_all

        written = figures(folder) if callable(figures) else save_all(figures, folder)
        say_written(f"{len(written)} files written to {folder}")
