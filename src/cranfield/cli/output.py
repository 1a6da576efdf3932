"""Where output goes: results to standard output or a file, notes to standard error."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from cranfield.io.write import atomic_write
from cranfield.wording import printable

if TYPE_CHECKING:
    from cranfield.evaluation.notes import Note

QUIET = "cranfield.quiet"  # where the context of click keeps --quiet


def emit(text: str, output: str | None = None) -> None:
    """Write results to standard output or a file; ids that are not UTF-8 keep their bytes."""
    data = text.encode("utf-8", "surrogateescape")
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
    """Print notes to standard error, unless the user asked for none."""
    if quiet():
        return
    for line in lines:
        say(f"note: {printable(str(line))}")


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
    """The width to print for: ``COLUMNS``, the terminal's, or 80."""
    return shutil.get_terminal_size().columns
