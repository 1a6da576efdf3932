"""For test suites: assertions on the quality of rankings, a plugin for pytest, and the tests of engines."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cranfield.testing.assertions import (
        QualityError,
        QualityWarning,
        UndecidedError,
        assert_at_least,
        assert_at_most,
        assert_gates,
        assert_not_worse,
        save_baseline,
    )

__all__ = [
    "QualityError",
    "QualityWarning",
    "UndecidedError",
    "assert_at_least",
    "assert_at_most",
    "assert_gates",
    "assert_not_worse",
    "save_baseline",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("cranfield.testing.assertions"), name)


def __dir__() -> list[str]:
    return __all__
