"""Numbers as text: rounded for people, exact for programs."""

from __future__ import annotations

import numpy as np

UNDEFINED = "–"
HUGE = 1e15  # from here on use the exponential form


def shown(value: float, digits: int) -> str:
    """A number as text; a number that rounds to 0 has no sign.

    >>> shown(0.12345, 3), shown(-1e-9, 2), shown(1e300, 2), shown(float("nan"), 2)
    ('0.123', '0.00', '1.00e+300', '–')
    """
    if np.isnan(value):
        return UNDEFINED
    if HUGE <= abs(value) < np.inf:
        return f"{value:.{digits}e}"
    text = f"{value:.{digits}f}"
    return text if float(text) else text.removeprefix("-")


def signed(value: float, digits: int) -> str:
    """A difference as text, with a sign unless it rounds to 0.

    >>> signed(0.25, 2), signed(-0.001, 2), signed(float("inf"), 2)
    ('+0.25', '0.00', '+∞')
    """
    if np.isinf(value):
        return "+∞" if value > 0 else "-∞"
    text = shown(value, digits)
    return f"+{text}" if value > 0 and float(text) else text


def exact(value: float) -> str:
    """The shortest text that reads back as the same number; empty for undefined.

    >>> exact(0.1), exact(float("nan"))
    ('0.1', '')
    """
    return "" if np.isnan(value) else repr(float(value))
