"""A progress bar for those who wait: on a terminal, on standard error, and only after a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE = 1.0


@contextmanager
def progress(what: str, *, octets: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """Yields what to call with (done, total), or None where nobody is looking; ``octets`` where these are bytes."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    begin = time.monotonic()
    bar: Progress | None = None

    def step(done: int, total: int) -> None:
        nonlocal bar
        if bar is None:
            if done >= total or time.monotonic() - begin < PATIENCE:
                return
            bar = _bar(what, total, octets=octets)
            bar.start()
        bar.update(bar.task_ids[0], completed=done, total=total)

    try:
        yield step
    finally:
        if bar is not None:
            bar.stop()


def _bar(what: str, total: int, *, octets: bool) -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    done = DownloadColumn() if octets else MofNCompleteColumn()
    columns = TextColumn("{task.description}"), BarColumn(), done, TimeRemainingColumn()
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.add_task(what, total=total)
    return bar
