"""One exception family: what is wrong, where, what was expected, what to do."""

from __future__ import annotations

from collections.abc import Sequence


class CranfieldError(Exception):
    """What every error of this package is; ``str()`` of it is fit to be shown to a person."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n\nhint: {self.hint}" if self.hint else self.message


class InputError(CranfieldError):
    """Runs or judgments that cannot be read as they are; holds every fault found, not only the first."""

    SHOWN = 20

    def __init__(self, faults: Sequence[str], *, total: int | None = None, hint: str = "") -> None:
        self.faults = tuple(faults[: self.SHOWN])
        self.total = len(faults) if total is None else total
        lines = list(self.faults)
        if self.total > len(lines):
            lines.append(f"... and {self.total - len(lines):,} more faults")
        super().__init__("\n".join(lines), hint=hint)


class MeasureError(CranfieldError):
    """A measure name that means nothing here, or a parameter that it cannot take."""

    exit_code = 2


class UsageError(CranfieldError):
    """An argument that has no meaning: an unknown tie rule, a policy that does not exist."""

    exit_code = 2


class MissingDependency(CranfieldError):
    """An optional package is needed for what was asked."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional package", hint=f"pip install 'cranfield[{extra}]'")
