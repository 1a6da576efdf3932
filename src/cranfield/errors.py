"""Exceptions and checks of arguments. Messages say what is wrong, where, what was expected and what to do."""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ContextDecorator, contextmanager
from contextvars import ContextVar
from typing import Any

from cranfield.wording import printable


class CranfieldError(Exception):
    """The base class of all errors; ``str()`` gives a message for users."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        message, hint = printable(message, lines=True), printable(hint, lines=True)
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n\nhint: {self.hint}" if self.hint else self.message


_max_faults: ContextVar[int] = ContextVar("max_faults", default=20)


def max_faults() -> int:
    """How many faults an error lists; all are counted."""
    return _max_faults.get()


@contextmanager
def listing_faults(limit: int | None) -> Iterator[None]:
    """List up to ``limit`` faults in every error inside; None for all."""
    token = _max_faults.set(sys.maxsize >> 2 if limit is None else limit)
    try:
        yield
    finally:
        _max_faults.reset(token)


class InputError(CranfieldError):
    """Runs, judgments or documents with errors; ``faults`` holds the first of them, ``total`` counts all."""

    SHOWN = 20  # unless `listing_faults` says otherwise

    def __init__(
        self, faults: Sequence[str], *, total: int | None = None, hint: str = "", kinds: frozenset[str] = frozenset()
    ) -> None:
        self.faults = tuple(printable(fault) for fault in faults[: max_faults()])
        self.kinds = kinds  # of faults in rows of runs and judgments; see `io.faults`
        self.total = len(faults) if total is None else total
        counts = Counter(self.faults)
        lines = [fault if number == 1 else f"{fault} ({number:,} times)" for fault, number in counts.items()]
        if (rest := self.total - len(self.faults)) > 0:
            lines.append(f"... and {rest:,} more error{'s' if rest > 1 else ''}")
        super().__init__("\n".join(lines), hint=hint)


class reading:  # noqa: N801 - called like a function; a class takes a third of the time of a generator
    """Errors of the system while this source is read, with its name."""

    def __init__(self, source_name: str) -> None:
        self._source_name = source_name

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, OSError | MemoryError):
            raise reading_failed(self._source_name, error) from error


class reading_objects(ContextDecorator):  # noqa: N801 - as above
    """What Python objects raise while they are read, as an error of the input.

    These are whole numbers with more digits than Python writes as text, and dicts that change meanwhile.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, ValueError) and "integer string conversion" in str(error):
            most = sys.get_int_max_str_digits()
            raise InputError(
                [f"a whole number in the input has more than {most:,} digits"], hint="give long ids as text"
            ) from None
        if isinstance(error, RuntimeError) and str(error).endswith("during iteration"):
            raise InputError(
                ["the input changed while it was read"], hint="give a copy that nothing else changes: dict(run)"
            ) from error


def reading_failed(source_name: str, error: OSError | MemoryError) -> InputError:
    """The error for a source that the system could not read, or that does not fit into memory."""
    if isinstance(error, MemoryError):
        return InputError([f"{source_name}: there is not enough memory to read this"])
    return InputError([f"{source_name}: cannot be read: {(error.strerror or str(error)).lower()}"])


class MeasureError(CranfieldError):
    """An unknown measure, or a parameter value that it does not accept."""

    exit_code = 2


class UsageError(CranfieldError):
    """An invalid argument or option."""

    exit_code = 2


class UnknownName(UsageError, KeyError):
    """A name that a result does not have; it is a ``KeyError`` too, as of a dict."""


class MissingDependency(CranfieldError):
    """An optional package is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional package", hint=f"pip install '.[{extra}]'")


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


def check_choice(name: str, value: object, choices: Sequence[str | None]) -> None:
    """Raise if the value is not one of the choices, which may include None."""
    if value not in choices:
        raise UsageError(f"{name} must be one of {', '.join(filter(None, choices))}; not {value!r}")
