"""Numbers and names within sentences."""

from __future__ import annotations

from collections.abc import Sequence


def plural(number: int, noun: str) -> str:
    """So many of something.

    >>> plural(1, "query"), plural(2000, "query"), plural(0, "run")
    ('1 query', '2,000 queries', '0 runs')
    """
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else many}"


def few(names: Sequence[str], most: int = 5) -> str:
    """Names, or the first of many.

    >>> few(["a", "b", "c"]), few(["a", "b", "c"], most=2)
    ('a, b, c', 'a, b, ...')
    """
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")
