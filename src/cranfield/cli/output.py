"""Where results go: data to standard output or, whole or not at all, to a file; talk to standard error."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable

import click

from cranfield.io.atomic_write import atomic_write


def emit(text: str, output: str | None = None) -> None:
    """Data, byte for byte: ids that are no UTF-8 leave as they came."""
    data = text.encode("utf-8", "surrogateescape")
    if output is None or output == "-":
        _print(data)
    else:
        replace(output, data)


def _print(data: bytes) -> None:
    if sys.stdout is None:  # `>&-`
        raise OSError("standard output is closed")
    stream, left = sys.stdout.buffer, memoryview(data)
    try:
        # An unbuffered stream may take a part, and tells only the next time that the reader is gone or the disk full.
        while left:
            left = left[stream.write(left) :]
        stream.flush()
    except OSError:
        # Python flushes once more at exit, so give it somewhere to: the error has been told by then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def replace(path: str, data: bytes) -> None:
    """The file with new content; whoever reads it meanwhile sees the old one or the new one, never half of it."""
    with atomic_write(path) as beside:
        beside.write_bytes(data)


def note(lines: Iterable[str]) -> None:
    """What a reader of the numbers has to know."""
    for line in lines:
        click.echo(f"note: {line}".encode("utf-8", "surrogateescape"), err=True)


def colour(output: str | None = None) -> bool:
    """Whether bold and dim reach a person: on a terminal that wants them."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return output is None and wanted and sys.stdout is not None and sys.stdout.isatty()


def width() -> int:
    """The columns there are: ``COLUMNS``, the terminal's, or 80."""
    return shutil.get_terminal_size().columns
