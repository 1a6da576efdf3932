"""Numbers and names within sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


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


def nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The known name that somebody who wrote this most likely meant.

    >>> nearest("tie", ["ties", "depth"])
    'ties'
    """
    import difflib  # slow to load, and needed for errors only

    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=cutoff)), None)
