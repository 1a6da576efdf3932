"""Work on all cores: NumPy, SciPy and the native core let other threads run while they compute; and its progress."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

Part = TypeVar("Part")
Result = TypeVar("Result")


def parallel(work: Callable[[Part], Result], parts: Iterable[Part], threads: int | None = None) -> Iterator[Result]:
    """The result of every part, in order; an error or interrupt stops what has not begun, and waits for nothing.

    ``threads``: the most parts at a time, if they take much memory.
    """
    parts = iter(parts)
    first = list(islice(parts, 2))
    if len(first) < 2:
        yield from map(work, first)
        return
    from concurrent.futures import ThreadPoolExecutor  # not needed for small work, and slow to load

    cores = os.cpu_count() or 1
    cores = cores if threads is None else max(min(cores, threads), 1)
    pool = ThreadPoolExecutor(cores)
    waiting: deque[Future[Result]] = deque()
    try:
        for part in chain(first, parts):
            waiting.append(pool.submit(work, part))
            if len(waiting) > 2 * cores:  # parts may be large: few of them wait
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def followed(
    items: Iterable[Part], progress: Callable[[int, int], None] | None, total: int, done: int = 0
) -> Iterator[Part]:
    """The items; after each one, ``progress`` is told how many of the total are done."""
    for number, item in enumerate(items, done + 1):
        yield item
        if progress is not None:
            progress(number, total)


DELAY = 2.0  # seconds before progress is shown
WIDTH = 30  # characters of the bar


class ProgressLine:
    """A bar on standard error for work that takes longer than ``delay`` seconds; call it with counts.

    ``megabytes``: the counts are bytes.
    """

    def __init__(self, title: str, delay: float | None = None, *, megabytes: bool = False) -> None:
        self._title, self._begin, self._width = title, time.monotonic(), 0
        self._delay = DELAY if delay is None else delay
        self._unit, self._scale = (" MB", 1_000_000) if megabytes else ("", 1)

    @staticmethod
    def of(title: str) -> ProgressLine | None:
        """A bar in a terminal or a notebook; None where nobody would see it."""
        seen = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
        return ProgressLine(title) if seen else None

    def __call__(self, done: int, total: int) -> None:
        elapsed = time.monotonic() - self._begin
        if done < total and elapsed >= self._delay:
            filled = WIDTH * done // total
            counts = f"{done // self._scale:,}/{total // self._scale:,}{self._unit}"
            left = f" {elapsed * (total - done) / done:,.0f} s left" if done else ""
            self._write(f"{self._title} {'#' * filled}{'.' * (WIDTH - filled)} {counts}{left}")
        elif done >= total:
            self.clear()

    def clear(self) -> None:
        """Remove the bar."""
        if self._width:
            self._write("")
            print("\r", end="", file=sys.stderr, flush=True)

    def _write(self, line: str) -> None:
        # A line that became shorter is filled with spaces.
        print(f"\r{line.ljust(self._width)}", end="", file=sys.stderr, flush=True)
        self._width = len(line)


def in_background(work: Callable[[], Result]) -> Future[Result]:
    """The result of work that is done meanwhile; the process may end without it."""
    from concurrent.futures import Future
    from threading import Thread

    result: Future[Result] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except Exception as error:
            result.set_exception(error)

    Thread(target=run, daemon=True).start()
    return result
