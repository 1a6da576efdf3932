"""A progress bar on standard error; only on a terminal, and only after a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cranfield.cli.output import quiet

if TYPE_CHECKING:
    from rich.progress import Progress

DELAY = 1.0  # seconds before the bar appears


@contextmanager
def progress(title: str, *, in_bytes: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function to call with (done, total), or None if standard error is not a terminal or --quiet was given.

    ``in_bytes``: the numbers count bytes.
    """
    if sys.stderr is None or not sys.stderr.isatty() or quiet():
        yield None
        return
    begin = time.monotonic()
    bar: Progress | None = None

    def step(done: int, total: int) -> None:
        nonlocal bar
        if bar is None:
            if done >= total or time.monotonic() - begin < DELAY:
                return
            bar = _bar(title, total, in_bytes=in_bytes)
            bar.start()
        bar.update(bar.task_ids[0], completed=done, total=total)

    try:
        yield step
    finally:
        if bar is not None:
            bar.stop()


def _bar(title: str, total: int, *, in_bytes: bool) -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    done = DownloadColumn() if in_bytes else MofNCompleteColumn()
    columns = TextColumn("{task.description}"), BarColumn(), done, TimeRemainingColumn()
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.add_task(title, total=total)
    return bar
