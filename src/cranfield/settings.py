"""Settings: what a type says besides its name (limits, help, option), and the one walk over declared types.

A setting is a parameter of a function or a field of a class: ``samples: Annotated[Count, "Number of resamples."] =
1000``. `walk` takes its type apart. Options of the command line, keys of experiment files, their JSON Schema, saved
results and the parameters of measures are made from what it returns; `checked` and `check_fields` check Python's.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from functools import cache, cached_property, wraps
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from cranfield.errors import CranfieldError, UsageError
from cranfield.wording import one_of

T = TypeVar("T")
P = ParamSpec("P")


class Option(NamedTuple):
    """Metadata of an option besides its type, default and help.

    ``names``: the names, separated by spaces, if the setting has another one. ``rare``: only --help-all shows it.
    ``default``: what help says of a default that depends on the verb or on other options, {default} being the verb's
    ``DEFAULT``.
    """

    names: str = ""
    metavar: str | None = None
    rare: bool = False
    default: str = ""
    callback: Callable[..., Any] | None = None
    eager: bool = False


class Limits(NamedTuple):
    """The numbers from ``low`` to ``high``. ``ends``: brackets that say whether these two belong to them.

    >>> str(Limits(1)), str(Limits(0, 1)), str(Limits(0, 1, "()"))
    ('of at least 1', 'from 0 to 1', 'greater than 0 and less than 1')
    """

    low: float = -math.inf
    high: float = math.inf
    ends: Literal["[]", "[)", "(]", "()"] = "[]"

    def include(self, number: float) -> bool:
        """Whether a number is one of them."""
        above = number >= self.low if self.ends[0] == "[" else number > self.low
        return above and (number <= self.high if self.ends[1] == "]" else number < self.high)

    def __str__(self) -> str:
        low, high = (f"{x:,.0f}" if abs(x) < 1e9 and x == int(x) else f"{x:g}" for x in self[:2])
        if self.ends == "[]" and math.isfinite(self.low) and math.isfinite(self.high):
            return f"from {low} to {high}"
        above = f"{'of at least' if self.ends[0] == '[' else 'greater than'} {low}"
        below = f"{'at most' if self.ends[1] == ']' else 'less than'} {high}"
        return " and ".join([above] * math.isfinite(self.low) + [below] * math.isfinite(self.high))


class Choices(NamedTuple):
    """The texts allowed, where they are not a `Literal`."""

    names: tuple[str, ...]


RARE = Option(rare=True)
UNLIMITED = Limits()
LARGEST = (1 << 63) - 1  # of a whole number
Count = Annotated[int, Limits(1)]
Samples = Annotated[int, Limits(1, 10_000_000)]  # more would take hours, and change no digit that is shown
Seconds = Annotated[float, Limits(0, 1_000_000, "(]")]
Whole = Annotated[int, Limits(0)]
Chance = Annotated[float, Limits(0, 1, "()")]
Share = Annotated[float, Limits(0, 1)]
Positive = Annotated[float, Limits(0, ends="(]")]
NotNegative = Annotated[float, Limits(0)]


@dataclass(eq=False, kw_only=True)
class Type:
    """A declared type. ``metadata``: what `Annotated` adds, outermost first. ``optional``: None is allowed, too."""

    metadata: tuple[Any, ...] = ()
    optional: bool = False

    def find(self, kind: type[T]) -> T | None:
        """The first metadata of a class."""
        return next((item for item in self.metadata if isinstance(item, kind)), None)

    @property
    def help(self) -> str:
        """The description."""
        return self.find(str) or ""


@dataclass(eq=False)
class Scalar(Type):
    """A number, a text or a flag: int, float, str or bool."""

    python: Any

    @property
    def limits(self) -> Limits:
        """The numbers allowed."""
        return self.find(Limits) or UNLIMITED


@dataclass(eq=False)
class Choice(Type):
    """One of a few values."""

    names: tuple[Any, ...]


@dataclass(eq=False)
class ListOf(Type):
    """Any number of values of one type. ``python``: the container."""

    item: Type
    python: Any


@dataclass(eq=False)
class ArrayOf(Type):
    """An array of NumPy. ``python``: the type of its numbers."""

    python: Any


@dataclass(eq=False)
class TupleOf(Type):
    """As many values as there are types."""

    items: tuple[Type, ...]


@dataclass(eq=False)
class MapOf(Type):
    """Values by key."""

    key: Type
    value: Type


@dataclass(eq=False)
class Record(Type):
    """Values by name: the fields of a dataclass or named tuple, or ``chosen`` ones, which become a ``dict``."""

    python: Any
    chosen: Mapping[str, Field] | None = None

    @cached_property
    def fields(self) -> Mapping[str, Field]:
        """The fields."""
        return declared(self.python) if self.chosen is None else self.chosen


@dataclass(eq=False)
class OneOf(Type):
    """A value of one of several types."""

    types: tuple[Type, ...]


@dataclass(eq=False)
class Other(Type):
    """A type that is not taken apart."""

    python: Any


class Field(NamedTuple):
    """A parameter of a function, or a field of a class; a default of ``...`` is none."""

    type: Type
    default: Any = ...


def walk(hint: Any, metadata: tuple[Any, ...] = ()) -> Type:
    """A type annotation, taken apart; ``metadata``: what was collected so far.

    >>> walk(Annotated[Count | None, "Number of resamples."])
    Scalar(metadata=('Number of resamples.', Limits(low=1, high=inf, ends='[]')), optional=True, python=<class 'int'>)
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return walk(hint.__origin__, (*metadata, *hint.__metadata__))
    if record := next((item for item in metadata if isinstance(item, Record)), None):
        return replace(record, metadata=metadata)
    if origin in (Union, UnionType):
        hints = [item for item in arguments if item is not NoneType]
        optional = len(hints) < len(arguments)
        if len(hints) > 1:
            return OneOf(tuple(map(walk, hints)), metadata=metadata, optional=optional)
        return replace(walk(hints[0], metadata), optional=optional)
    choices = next((item.names for item in metadata if isinstance(item, Choices)), arguments)
    if origin is Literal or choices is not arguments:
        return Choice(choices, metadata=metadata)
    if origin is tuple and arguments[-1] is not ...:
        return TupleOf(tuple(map(walk, arguments)), metadata=metadata)
    if origin in (list, tuple, Sequence):
        return ListOf(walk(arguments[0]), origin, metadata=metadata)
    if origin in (dict, Mapping):
        return MapOf(*map(walk, arguments), metadata=metadata)
    if getattr(origin, "__name__", "") == "ndarray":  # NumPy may not be loaded
        return ArrayOf(get_args(arguments[1])[0], metadata=metadata)
    if hint in (int, float, str, bool):
        return Scalar(hint, metadata=metadata)
    is_record = isinstance(hint, type) and (is_dataclass(hint) or hasattr(hint, "_fields"))
    return (Record if is_record else Other)(hint, metadata=metadata)


_signature = cache(inspect.signature)


@cache
def declared(source: Any) -> Mapping[str, Field]:
    """The parameters of a function, or of the class that it makes, by name."""
    is_record = not isinstance(source, type) or is_dataclass(source) or hasattr(source, "_fields")
    hints = get_type_hints(source if is_record else vars(source)["__init__"], include_extras=True)
    return {
        name: Field(walk(hints.get(name, Any)), ... if parameter.default is parameter.empty else parameter.default)
        for name, parameter in _signature(source).parameters.items()
    }


def fits(kind: Type, value: Any) -> bool:
    """Whether a value is of a type, whatever is inside it."""
    match kind:
        case Scalar() if kind.python in (str, bool):
            return isinstance(value, kind.python)
        case Scalar():
            if isinstance(value, bool) or not isinstance(value, Integral if kind.python is int else Real):
                return False
            if isinstance(value, float) and kind.limits is UNLIMITED:
                return True  # infinite and undefined, too
            number: Any = value
            largest = LARGEST if kind.python is int else sys.float_info.max
            return bool(abs(number) <= largest) and kind.limits.include(number)
        case Choice(names):
            return isinstance(value, (str, int, float)) and value in names
        case ListOf() | TupleOf():
            return isinstance(value, Collection) and not isinstance(value, (str, bytes, Mapping))
        case MapOf() | Record():
            return isinstance(value, Mapping)
        case OneOf(types):
            return any(fits(item, value) for item in types)
    return True


def expected(kind: Type) -> str:
    """What messages call a value of a type."""
    match kind:
        case Scalar(python):
            name = {str: "text", bool: "True or False", int: "a whole number", float: "a number"}[python]
            return f"{name} {kind.limits}".rstrip()
        case Choice(names):
            return f"one of {', '.join(map(str, names))}"
        case OneOf(types):
            return one_of([expected(item) for item in types])
    return "a list" if isinstance(kind, (ListOf, TupleOf)) else "a table"


def check(kind: Type, name: str, value: Any, error: type[CranfieldError] = UsageError) -> Any:
    """The value of an argument; raises if it is a number, text, flag or choice, or a list of these, that is wrong."""
    if not isinstance(getattr(kind, "item", kind), Scalar | Choice | TupleOf) or (value is None and kind.optional):
        return value
    if not fits(kind, value):
        try:
            shown = repr(float(value) if isinstance(value, float) else value)  # NumPy numbers without their type
        except ValueError:  # of a whole number that Python does not write
            shown = "a number with too many digits"
        raise error(f"{name} must be {expected(kind)}{';' if isinstance(kind, Choice) else ','} not {shown}")
    if isinstance(kind, ListOf | TupleOf):
        kinds = kind.items if isinstance(kind, TupleOf) else [kind.item] * len(value)
        return tuple(check(item, f"each of {name}", part) for item, part in zip(kinds, value, strict=True))
    return kind.python(value) if isinstance(kind, Scalar) else value


def check_all(source: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a function, or fields of a class, each checked by its declaration."""
    fields = declared(source)
    return {name: check(fields[name].type, name, value) for name, value in values.items()}


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """A function whose arguments are checked by their declarations.

    >>> @checked
    ... def draw(samples: Count) -> int:
    ...     return samples
    >>> draw(0)
    Traceback (most recent call last):
    cranfield.errors.UsageError: samples must be a whole number of at least 1, not 0
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        bound = _signature(function).bind(*args, **kwargs)
        bound.arguments.update(check_all(function, bound.arguments))
        return function(*bound.args, **bound.kwargs)

    return call


def check_fields(record: Any) -> None:
    """Check the fields of a dataclass by their declarations; for ``__post_init__``."""
    for name, value in check_all(type(record), vars(record)).items():
        object.__setattr__(record, name, value)
