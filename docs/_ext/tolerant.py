"""Doctest output in which numbers may differ in the last digits: sums of floats do, between machines."""

from __future__ import annotations

import doctest
import math
import re
from typing import Any

NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e[+-]?\d+)?")
TOLERANCE = 1e-12
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


class Checker(doctest.OutputChecker):
    """Equal texts, but for numbers that agree to twelve digits."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        if super().check_output(want, got, optionflags):
            return True
        expected, found = NUMBER.findall(want), NUMBER.findall(got)
        close = len(expected) == len(found) and all(
            math.isclose(float(a), float(b), rel_tol=TOLERANCE, abs_tol=TOLERANCE)
            for a, b in zip(expected, found, strict=True)
        )
        return close and super().check_output(NUMBER.sub("#", want), NUMBER.sub("#", got), optionflags)


def setup(_app: Any) -> dict[str, bool]:
    """Let Sphinx's doctests use the checker."""
    from sphinx.ext import doctest as builder

    class Runner(builder.SphinxDocTestRunner):  # type: ignore[misc]
        def __init__(self, checker: Any = None, **options: Any) -> None:
            super().__init__(checker=checker or Checker(), **options)

    builder.SphinxDocTestRunner = Runner
    return {"parallel_read_safe": True, "parallel_write_safe": True}
