"""Arguments that are numbers or names: checked where they come in, with one message for each kind of fault."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real

from cranfield.errors import UsageError


def whole(name: str, value: object, least: int = 1) -> int:
    """A whole number of at least so much.

    >>> whole("b", 1000)
    1000
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise UsageError(f"{name} must be a whole number of at least {least}, not {_shown(value)}")
    return int(value)


def whole_numbers(name: str, values: Sequence[object], low: int, high: int) -> tuple[int, ...]:
    """Whole numbers within bounds, at least one, each once, in ascending order.

    >>> whole_numbers("rates", [50, 10, 50], 1, 100)
    (10, 50)
    """
    wrong = [n for n in values if isinstance(n, bool) or not isinstance(n, Integral) or not low <= int(n) <= high]
    if wrong or not len(values):
        what = f"not {_shown(wrong[0])}" if wrong else "and there is none"
        raise UsageError(f"{name} are whole numbers from {low} to {high}, {what}")
    return tuple(sorted({int(n) for n in values if isinstance(n, Integral)}))


def share(name: str, value: object) -> float:
    """A number between 0 and 1, and neither of them.

    >>> share("alpha", 0.05)
    0.05
    """
    if not isinstance(value, Real) or not 0 < float(value) < 1:
        raise UsageError(f"{name} must be between 0 and 1, not {_shown(value)}")
    return float(value)


def one_of(name: str, value: object, known: Sequence[str | None]) -> None:
    """An error where a name is none of those known; None is known where nothing need be said."""
    if value not in known:
        raise UsageError(f"{name} must be one of {', '.join(filter(None, known))}; not {value!r}")


def _shown(value: object) -> str:
    return repr(float(value) if isinstance(value, float) else value)  # NumPy's numbers as numbers
