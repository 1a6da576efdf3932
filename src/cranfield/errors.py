"""Exceptions: what is wrong, where, what was expected, and what to do."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any


class CranfieldError(Exception):
    """The base class of all errors; ``str()`` gives a message for users."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n\nhint: {self.hint}" if self.hint else self.message


class InputError(CranfieldError):
    """Runs, judgments or documents with errors; ``faults`` holds the first of them, ``total`` counts all."""

    SHOWN = 20

    def __init__(
        self, faults: Sequence[str], *, total: int | None = None, hint: str = "", kinds: frozenset[str] = frozenset()
    ) -> None:
        self.faults = tuple(faults[: self.SHOWN])
        self.kinds = kinds  # of faults in rows of runs and judgments; see `io.faults`
        self.total = len(faults) if total is None else total
        lines = list(self.faults)
        if self.total > len(lines):
            lines.append(f"... and {self.total - len(lines):,} more errors")
        super().__init__("\n".join(lines), hint=hint)


class MeasureError(CranfieldError):
    """An unknown measure, or a parameter value that it does not accept."""

    exit_code = 2


class UsageError(CranfieldError):
    """An invalid argument or option."""

    exit_code = 2


class MissingDependency(CranfieldError):
    """An optional package is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional package", hint=f"pip install 'cranfield[{extra}]'")


def optional(module: str, purpose: str, extra: str) -> Any:
    """Import an optional package, or raise an error that says what needs it and how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingDependency(purpose, extra) from error


def available(module: str) -> Any:
    """Import an optional package; None if it is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        return None
