"""Parameters of measures: their types and ranges, and the parameters that all measures of a kind share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from cranfield.errors import MeasureError

GainKind = Literal["binary", "graded", "grades", "scaled", "either", "ideal", "none"]


@dataclass(frozen=True, eq=False)
class Range:
    """The values that a parameter may take, as part of its type: ``Annotated[float, Range(0, 1)]``."""

    low: float = -math.inf
    high: float = math.inf
    closed: str = "[]"

    def __contains__(self, value: float) -> bool:
        above = value >= self.low if self.closed[0] == "[" else value > self.low
        below = value <= self.high if self.closed[1] == "]" else value < self.high
        return above and below

    def __str__(self) -> str:
        if self.closed == "[]" and math.isfinite(self.low) and math.isfinite(self.high):
            return f"from {_format_limit(self.low)} to {_format_limit(self.high)}"
        limits = []
        if math.isfinite(self.low):
            limits.append(f"{'of at least' if self.closed[0] == '[' else 'greater than'} {_format_limit(self.low)}")
        if math.isfinite(self.high):
            limits.append(f"{'at most' if self.closed[1] == ']' else 'less than'} {_format_limit(self.high)}")
        return " and ".join(limits)


def _format_limit(limit: float) -> str:
    return f"{limit:,.0f}" if abs(limit) < 1e9 and limit == int(limit) else f"{limit:g}"


Rank = Annotated[int, Range(1, 10_000_000)]  # weights are tabulated for every rank down to the cutoff
Probability = Annotated[float, Range(0, 1, "()")]
Positive = Annotated[float, Range(0, 1e6, closed="(]")]
Share = Annotated[float, Range(0, 1)]
LARGEST = 1e100  # sums and ratios of gains up to this, and of their inverses, stay finite


@dataclass(frozen=True, eq=False)
class Parameter:
    """One parameter of a measure, as its function's signature declares it."""

    name: str
    kind: Any
    default: Any
    range: Range | None = None
    choices: tuple[Any, ...] = ()
    optional: bool = False  # may be None

    def check(self, value: Any, where: str) -> Any:
        """The value, converted to the type of the parameter; raises if it is not allowed."""
        if value is None and self.optional:
            return None
        if self.choices:
            if value in self.choices:
                return value
            expected = "one of " + ", ".join(map(repr, self.choices))
        elif self.kind is bool:
            if isinstance(value, bool):
                return value
            expected = "True or False"
        elif isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            expected = "a number"
        elif self.kind is int and value != int(value):
            expected = "a whole number"
        elif self.range is not None and value not in self.range:
            expected = f"{'a whole number' if self.kind is int else 'a number'} {self.range}"
        else:
            return self.kind(value)
        raise MeasureError(f"{where}: {self.name} must be {expected}, not {literal(value)}")


class GainParameter(Parameter):
    """``gain=``: the mapping from grades to gains, as a name or as ``{grade: gain}``."""

    def check(self, value: Any, where: str) -> Any:
        given = value
        if isinstance(value, dict):
            value = tuple(value.items())
        if isinstance(value, tuple) and value and all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
            flat = [number for pair in value for number in pair]
            numbers = all(isinstance(n, (int, float)) and not isinstance(n, bool) and math.isfinite(n) for n in flat)
            if numbers and min(gain for _, gain in value) < 0:
                raise MeasureError(f"{where}: a gain must not be negative")
            if numbers and max(gain for _, gain in value) > LARGEST:
                raise MeasureError(f"{where}: a gain must be at most {LARGEST:g}")
            if numbers:
                return tuple(sorted((float(grade), float(gain)) for grade, gain in value))
        elif value in self.choices:
            return value
        names = ", ".join(map(repr, self.choices))
        raise MeasureError(f"{where}: gain must be one of {names} or a map such as {{1: 0.5, 2: 1}}, not {given!r}")


# Parameters that all measures of a kind share. They determine the gains of a batch, which is all that kernels see.
REL = Parameter("rel", float, 1.0, Range(0, closed="(]"))
GRADED_REL = Parameter("rel", float, None, Range(0, closed="(]"), optional=True)
GAIN = GainParameter("gain", str, "linear", choices=("linear", "exp", "binary"))
MAX = Parameter("max", float, None, Range(1 / LARGEST, LARGEST), optional=True)
MIN = Parameter("min", float, 0.0, Range(0, closed="[)"))
IDEAL = Parameter("ideal", str, "paper", choices=("paper", "bounded"))
SHARED: dict[GainKind, tuple[Parameter, ...]] = {
    "binary": (REL,),
    "graded": (GAIN, GRADED_REL),
    "grades": (GRADED_REL,),  # the measure maps grades to gains itself
    "scaled": (GAIN, GRADED_REL, MAX, MIN),
    "ideal": (GAIN, GRADED_REL, MAX, IDEAL),  # scaled, and compared with a perfect ranking
    "none": (),  # the measure does not use grades
    "either": (REL, Parameter("graded", bool, False), GAIN, MAX),  # binary, unless graded=True
}


def literal(value: Any) -> str:
    """A value as written in the name of a measure."""
    if isinstance(value, tuple):
        return "{" + ", ".join(f"{literal(a)}: {literal(b)}" for a, b in value) + "}"
    is_integer = isinstance(value, float) and value.is_integer() and abs(value) < 1e16
    return str(int(value)) if is_integer else repr(value)
