"""Array arithmetic on all cores: NumPy and SciPy let other threads run while they compute."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


def parallel(work: Callable[[Part], Result], parts: Iterable[Part]) -> list[Result]:
    """The result of every part, in order; the first error stops what has not begun."""
    parts = list(parts)
    if len(parts) < 2:
        return [work(part) for part in parts]
    from concurrent.futures import ThreadPoolExecutor  # not needed for small work, and slow to load

    pool = ThreadPoolExecutor(min(os.cpu_count() or 1, len(parts)))
    try:
        return list(pool.map(work, parts))
    finally:
        pool.shutdown(cancel_futures=True)
