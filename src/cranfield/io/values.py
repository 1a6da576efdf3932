"""Values of cells: which are missing, and which are numbers. Every reader asks here, so that all follow one rule."""

from __future__ import annotations

import re
from typing import Any

NUMBER = r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)"
_NUMBER = re.compile(rf"\s*{NUMBER}\s*", re.ASCII | re.IGNORECASE)
MAX_NUMBER = 1e100  # larger costs, weights and scores, and costs below its inverse, may overflow in sums or underflow


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, NA, or the text "", "NaN" or "null"."""
    if isinstance(value, str):
        return value.strip().lower() in ("", "nan", "null")
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # NA is neither equal to itself nor unequal
        return True
    unequal = value != value  # of an array, an array
    return type(unequal).__name__ in ("bool", "bool_") and bool(unequal)


def number(value: Any, *, text: bool = False) -> float | None:
    """A value as a number; None if it is none, or is missing.

    Numbers of every type are numbers: Python's, NumPy's, `Decimal`, `Fraction`, objects with ``__float__``, and True
    and False, which are 1 and 0. ``text``: text is a number, too, if it looks like one, as in files of text.

    >>> number("0.5"), number("0.5", text=True), number(True), number(None)
    (None, 0.5, 1.0, None)
    """
    if isinstance(value, str | bytes | bytearray | memoryview):
        return float(value) if text and isinstance(value, str) and _NUMBER.fullmatch(value) else None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def is_scalar(value: Any) -> bool:
    """Whether a value is one value, as a score is, and not a ranking, a run or a table."""
    if value is None or isinstance(value, str | bytes | bytearray | memoryview):
        return True
    if (dimensions := getattr(value, "ndim", None)) is not None:
        return bool(dimensions == 0)
    return hasattr(value, "__float__") and not hasattr(value, "__iter__")
