"""Numbers and names in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def plural(number: int, noun: str) -> str:
    """A number with its noun.

    >>> plural(1, "query"), plural(2000, "query"), plural(0, "run")
    ('1 query', '2,000 queries', '0 runs')
    """
    plural_noun = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural_noun}"


def few(names: Sequence[str], most: int = 5) -> str:
    """The first names of a list.

    >>> few(["a", "b", "c"]), few(["a", "b", "c"], most=2)
    ('a, b, c', 'a, b, ...')
    """
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def nearest(name: str, candidates: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The candidate most similar to a misspelt name, or None.

    >>> nearest("tie", ["ties", "depth"])
    'ties'
    """
    import difflib  # slow to load, and only needed for errors

    return next(iter(difflib.get_close_matches(name, candidates, n=1, cutoff=cutoff)), None)
