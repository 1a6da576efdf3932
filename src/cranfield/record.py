"""Frozen dataclasses that are quick to define.

`dataclasses.dataclass` writes source code for every class and compiles it. For the classes that the evaluation of one
run needs, that takes longer than the evaluation. The methods here are written once, for all classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform, overload

if TYPE_CHECKING:
    from inspect import Signature

T = TypeVar("T")
Fields = Sequence[Field[Any]]
Methods = dict[str, Any]

MANY = 500  # objects of a class, after which the code that is quicker to run is worth its compilation


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T], /) -> type[T]: ...
@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(
    *, eq: bool = True, repr: bool = True, kw_only: bool = False, frozen: bool = True
) -> Callable[[type[T]], type[T]]: ...
def record(
    cls: type[T] | None = None, /, *, eq: bool = True, repr: bool = True, kw_only: bool = False, frozen: bool = True
) -> type[T] | Callable[[type[T]], type[T]]:
    """Make a class a dataclass, frozen unless ``frozen`` is false; the options are those of `dataclasses.dataclass`.

    >>> @record
    ... class Point:
    ...     x: float
    ...     y: float = 0.0
    >>> Point(1.0)
    Point(x=1.0, y=0.0)
    """

    def decorate(cls: Any) -> Any:
        own = {name for name, value in vars(cls).items() if value is not None}  # __eq__ sets __hash__ to None
        base = getattr(cls, "__dataclass_params__", None)
        inherits = frozen and base is not None and base.frozen  # only then has `dataclass` to know that it is frozen
        dataclass(init=False, repr=False, eq=False, kw_only=kw_only, frozen=inherits)(cls)
        cls.__dataclass_params__.frozen = frozen
        parts = fields(cls)
        methods = {
            **_construction(cls, parts, frozen=frozen),
            **({"__repr__": _repr} if repr else {}),
            **(_comparison(parts, frozen=frozen) if eq else {}),
            **(_protection(cls, parts) if frozen else {}),
        }
        for name in methods.keys() - own:
            setattr(cls, name, methods[name])
        return cls

    return decorate if cls is None else decorate(cls)


def _construction(cls: Any, parts: Fields, *, frozen: bool) -> Methods:
    positional = [f.name for f in parts if f.init and not f.kw_only]
    required = {f.name for f in parts if f.init and f.default is f.default_factory}  # both are missing
    hidden = {f.name for f in parts if not f.init}
    initial = {f.name: f.default for f in parts if f.init or f.default is not f.default_factory}  # in this order
    factories = [(f.name, f.default_factory) for f in parts if f.default_factory is not MISSING]
    has_post_init = hasattr(cls, "__post_init__")
    calls = 0

    def __init__(self: Any, /, *values: Any, **named: Any) -> None:  # noqa: N807
        nonlocal calls
        calls += 1
        given = dict(zip(positional, values, strict=False), **named)
        state = initial | given
        valid = len(given) == len(values) + len(named) and len(state) == len(initial) and given.keys() >= required
        if calls > MANY or not valid or (hidden and not hidden.isdisjoint(given)):
            cls.__init__ = _compiled(cls, parts, frozen=frozen).__init__  # it also raises the errors of Python's own
            cls.__init__(self, *values, **named)
            return
        for name, factory in factories:
            if name not in given:
                state[name] = factory()
        self.__dict__.update(state)
        if has_post_init:
            self.__post_init__()

    return {"__init__": __init__, "__signature__": _LazySignature(__init__, parts)}


def _compiled(cls: type, parts: Fields, *, frozen: bool = False) -> Any:
    """A dataclass with the name and the fields of a record."""
    options = ("default", "default_factory", "init", "kw_only")
    namespace: dict[str, Any] = {f.name: field(**{name: getattr(f, name) for name in options}) for f in parts}
    namespace |= {name: getattr(cls, name) for name in ("__module__", "__qualname__", "__doc__")}
    namespace["__annotations__"] = {f.name: f.type for f in parts}
    if hasattr(cls, "__post_init__"):
        namespace["__post_init__"] = None  # which `__init__` then calls
    return dataclass(repr=False, eq=False, frozen=frozen)(type(cls.__name__, (), namespace))


class _LazySignature:
    """The signature of the classes that have this ``__init__``."""

    def __init__(self, init: Callable[..., None], parts: Fields) -> None:
        self.init, self.parts = init, parts

    def __get__(self, instance: object, cls: Any) -> Signature:
        if instance is not None or cls.__init__ is not self.init:
            raise AttributeError("__signature__")
        from inspect import signature

        return signature(_compiled(cls, self.parts))


@recursive_repr()
def _repr(self: Any) -> str:
    values = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{type(self).__qualname__}({values})"


def _comparison(parts: Fields, *, frozen: bool) -> Methods:
    compared = _values_of([f.name for f in parts if f.compare])
    hashed = _values_of([f.name for f in parts if (f.compare if f.hash is None else f.hash)])

    def __eq__(self: object, other: object) -> bool:  # noqa: N807
        return compared(self) == compared(other) if self.__class__ is other.__class__ else NotImplemented

    return {"__eq__": __eq__, "__hash__": (lambda self: hash(hashed(self))) if frozen else None}


def _values_of(names: Sequence[str]) -> Callable[[object], tuple[Any, ...]]:
    return attrgetter(*names) if len(names) > 1 else lambda self: tuple([getattr(self, name) for name in names])


def _protection(cls: Any, parts: Fields) -> Methods:
    names = frozenset(f.name for f in parts)

    def __setattr__(self: Any, name: str, value: object) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}
