"""Results as plain data: one codec writes JSON from their fields and reads it back.

A record is a dataclass or a named tuple. Its fields and their types are its layout: `plain` writes them in order, by
name; `typed` reads and checks them. ``DERIVED`` of a class names properties that are written after the fields, and not
read. A class with a layout of its own has ``to_dict`` and ``from_dict``.
"""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import is_dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from cranfield.display import Displayed
from cranfield.errors import CranfieldError, InputError
from cranfield.settings import (
    ArrayOf,
    Choice,
    Limits,
    ListOf,
    MapOf,
    OneOf,
    Record,
    Scalar,
    TupleOf,
    Type,
    declared,
    expected,
    fits,
    walk,
)
from cranfield.wording import CONTROL

PathLike = str | os.PathLike[str]

# What may be raised while the content of a damaged file is read.
DAMAGED = CranfieldError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError
FINITE = walk(Annotated[float, Limits()])
INFINITE = {"inf": math.inf, "-inf": -math.inf}


class Result(Displayed):
    """A result that is plain data, too."""

    def to_dict(self) -> dict[str, Any]:
        """The complete result as plain data, which ``--format json`` prints."""
        return of_fields(self)


class Saved(Result):
    """A result that can be saved: one JSON file that begins with the kind of the result and the version of its format.

    ``_TAG``: the key of the kind. ``_WHAT``: what messages call the file. ``_HINT``: how to make one.
    ``_INFINITE``: whether infinite numbers are written, as text. ``provenance``: what the result was computed from.
    """

    _TAG: ClassVar[str] = "kind"
    _KIND: ClassVar[str]
    _VERSION: ClassVar[int] = 1
    _WHAT: ClassVar[str]
    _HINT: ClassVar[str]
    _INFINITE: ClassVar[bool] = False
    provenance: Any = None

    def _header(self) -> dict[str, Any]:
        """What the file begins with."""
        return {self._TAG: self._KIND, "version": self._VERSION}

    def to_dict(self) -> dict[str, Any]:
        """The complete result as plain data: what `save` writes."""
        origin = {} if self.provenance is None else {"provenance": self.provenance.data}
        return self._header() | of_fields(self, infinite=self._INFINITE) | origin

    def _with_provenance(self, provenance: Any) -> Self:
        """The same result, computed from this."""
        result = copy(self)
        object.__setattr__(result, "provenance", provenance)
        return result

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The result that `to_dict` returned."""
        result: Self = _from_fields(cls, data)
        return result

    def save(self, path: PathLike) -> None:
        """Write the result as one JSON file; an existing file is replaced only by a complete one."""
        from cranfield.io.register import atomic_write

        with atomic_write(path) as temporary:
            origin = {} if self.provenance is None else self.provenance.origin  # of a result that was saved before
            temporary.write_bytes(text(with_origin(self.to_dict(), origin)).encode("utf-8", "surrogateescape"))

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read what `save` wrote; all numbers are the same to the last digit."""
        data = content(path, cls._WHAT, cls._HINT)
        if data.get(cls._TAG) != cls._KIND:
            raise InputError([f"{os.fspath(path)}: not {cls._WHAT}"], hint=cls._HINT)
        return cls._from_file_data(data, path)

    @classmethod
    def _from_file_data(cls, data: Mapping[str, Any], path: PathLike) -> Self:
        """`from_dict`, with an error that names the file if the data are damaged or of a later version."""
        name, version = os.fspath(path), data.get("version")
        if not isinstance(version, int) or not 1 <= version <= cls._VERSION:
            latest = f"this version of cranfield reads up to {cls._VERSION}"
            raise InputError(
                [f"{name}: version {version!r} of the file format; {latest}"],
                hint=f"update cranfield, or save the {cls._KIND} again",
            )
        try:
            with warnings.catch_warnings(action="error", category=RuntimeWarning):  # of numbers out of range
                result = cls.from_dict(data)
                str(result), text(result.to_dict()).encode("utf-8", "surrogateescape")  # it can be shown, and saved
                return result
        except (*DAMAGED, RuntimeWarning) as error:
            reason = error if isinstance(error, CranfieldError) else repr(error)
            complete = cls._WHAT.replace("a ", "a complete ", 1)
            raise InputError([f"{name}: not {complete} ({reason})"], hint=cls._HINT) from error


def now() -> str:
    """The time in UTC; ``SOURCE_DATE_EPOCH`` is another one, for outputs that are always the same."""
    import time

    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(given) if given.isdigit() else None))


_origin: ContextVar[Mapping[str, str] | None] = ContextVar("origin", default=None)


@contextmanager
def made_by(**words: str) -> Iterator[None]:
    """Results that are saved inside say what made them, such as the command."""
    token = _origin.set(words)
    try:
        yield
    finally:
        _origin.reset(token)


def with_origin(data: dict[str, Any], saved: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The data of a result for a file: with the time, and the command or the experiment that made it.

    ``saved``: these, if a file had them already.
    """
    if "provenance" not in data:
        return data
    return {**data, "provenance": {**(saved or {"time": now(), **(_origin.get() or {})}), **data["provenance"]}}


def content(path: PathLike, what: str, hint: str) -> dict[str, Any]:
    """The plain data of a file that is an object of JSON; ``what``: what messages call it."""
    from cranfield.io.formats.json import load_json
    from cranfield.io.streams import open_stream

    name = os.fspath(path)
    try:
        data = load_json(open_stream(name, what).read_text())
    except ValueError as error:
        raise InputError([f"{name}: not {what} ({error})"], hint=hint) from error
    if not isinstance(data, dict):
        raise InputError([f"{name}: not {what}"], hint=hint)
    return data


def text(data: Any) -> str:
    """Plain data as one line of JSON; control characters are escaped."""
    import json

    shown = json.dumps(data, allow_nan=False, ensure_ascii=False)
    return re.sub(CONTROL, lambda match: f"\\u{ord(match[0]):04x}", shown) + "\n"


def plain(value: Any, *, infinite: bool = False) -> Any:
    """Plain data for JSON: records by field, arrays and tuples as lists, NaN as None.

    Infinity, which JSON does not have, is None too, or with ``infinite`` the text "inf" or "-inf".

    >>> plain({"low": math.nan, "high": np.array([0.5, math.inf])}, infinite=True)
    {'low': None, 'high': [0.5, 'inf']}
    """
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value) if infinite and not math.isnan(value) else None
    if isinstance(value, (np.ndarray, np.generic)):
        finite = value.dtype.kind != "f" or np.isfinite(value).all()
        return value.tolist() if finite else plain(value.tolist(), infinite=infinite)
    if isinstance(value, Mapping):
        return {str(name): plain(item, infinite=infinite) for name, item in value.items()}
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(type(value)) or hasattr(type(value), "_fields"):
        return of_fields(value, infinite=infinite)
    return [plain(item, infinite=infinite) for item in value]


def of_fields(record: Any, *, infinite: bool = False) -> dict[str, Any]:
    """The fields of a record and its derived values as plain data, by name."""
    kind: Any = type(record)
    names = (*declared(kind), *getattr(record, "DERIVED", ()))
    return {name: plain(getattr(record, name), infinite=infinite) for name in names}


def typed(hint: Any, data: Any, what: str = "value") -> Any:
    """A value of this type from the plain data that `plain` wrote; an error if the data are of another type.

    ``what``: what messages call the value.

    >>> typed(dict[str, float], {"low": None, "high": 1})
    {'low': nan, 'high': 1.0}
    """
    return _typed(walk(hint), data, what)


def _typed(kind: Type, data: Any, what: str) -> Any:
    if data is None and kind.optional:
        return None
    match kind:
        case Scalar(python) if python is float:
            return _number(data, what)
        case Scalar() | Choice() | OneOf():
            return _expect(fits(kind, data), expected(kind), data, what)
        case ListOf(item, container):
            values = (_typed(item, value, what) for value in _expect(isinstance(data, list), "a list", data, what))
            return list(values) if container is list else tuple(values)
        case TupleOf(items):
            _expect(isinstance(data, list), "a list", data, what)
            return tuple(_typed(item, value, what) for item, value in zip(items, data, strict=True))
        case MapOf(key, value):
            _expect(isinstance(data, Mapping), "names with values", data, what)
            is_number = isinstance(key, Scalar) and key.python is int
            return {int(name) if is_number else name: _typed(value, item, name) for name, item in data.items()}
        case Record(python):
            _expect(isinstance(data, Mapping), "names with values", data, what)
            return python.from_dict(data) if hasattr(python, "from_dict") else _from_fields(python, data)
        case ArrayOf(python):
            return np.array(_nested(data, {np.bool_: bool, np.int64: int}.get(python, float), what), python)
    return data


def _from_fields(python: Any, data: Mapping[str, Any]) -> Any:
    """A record from its fields; those without data have their defaults."""
    present = [(name, kind) for name, (kind, default) in declared(python).items() if name in data or default is ...]
    return python(**{name: _typed(kind, data[name], name) for name, kind in present})


def _expect(correct: Any, wanted: str, data: Any, what: str) -> Any:
    if not correct:
        raise TypeError(f"{what}: expected {wanted}, not {data!r:.60}")
    return data


def _number(data: Any, what: str) -> float:
    if data is None:
        return math.nan
    if isinstance(data, str) and data in INFINITE:
        return INFINITE[data]
    return float(_expect(fits(FINITE, data), "a number", data, what))


def _nested(data: Any, scalar: type, what: str) -> Any:
    return [_nested(item, scalar, what) for item in data] if isinstance(data, list) else typed(scalar, data, what)
