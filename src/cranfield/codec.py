"""Results as plain data: one codec writes JSON from their fields and reads it back.

A record is a dataclass or a named tuple. Its fields and their types are its layout: `plain` writes a record, `typed`
reads and checks it. A class may say more:

- ``JSON``: the paths at which fields and properties are written, in order; properties are ignored when read.
- ``OMITTED``: fields that are left out while they have their default, or are empty texts.
- ``to_dict`` and ``from_dict``: a layout of its own.

A path is the names of objects inside each other, such as ``settings/seed``; the last name is that of the field unless
another follows: ``settings/random_seed = seed``, or ``share = part.share``, which is not read. ``{axis}`` in a path
stands for one axis of the field: an object with one entry for each name in ``axis``, another field, which is read from
the keys. ``[axis]`` is a list with as many entries. Axes are those of the field in order, or have numbers:
``runs/{runs.1}/{measures.0} = scores``. Paths may share objects.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, partial
from importlib import import_module
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, NamedTuple, Self, Union, get_args, get_origin, get_type_hints

import numpy as np

from cranfield.display import Displayed
from cranfield.errors import CranfieldError, InputError
from cranfield.wording import CONTROL

PathLike = str | os.PathLike[str]

# What may be raised while the content of a damaged file is read.
DAMAGED = CranfieldError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError
INFINITE = {"inf": math.inf, "-inf": -math.inf}
# The results that `load` reads: their kinds, and where their classes are.
SAVED = {
    "scores": "evaluation.scores.Scores",
    "comparison": "analysis.compare.Comparison",
    "groups": "evaluation.designs.Groups",
}


class Result(Displayed):
    """A result that is plain data, too."""

    def to_dict(self) -> dict[str, Any]:
        """The complete result as plain data, which ``--format json`` prints."""
        return _of_fields(self)


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
        return self._header() | _of_fields(self, infinite=self._INFINITE) | origin

    def _with_provenance(self, provenance: Any) -> Self:
        """The same result, computed from this."""
        result = copy(self)
        object.__setattr__(result, "provenance", provenance)
        return result

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The result that `to_dict` returned."""
        found: Self = _record(cls, data)
        return found

    def save(self, path: PathLike) -> None:
        """Write the result as one JSON file; an existing file is replaced only by a complete one."""
        from cranfield.io.write import atomic_write

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
        name, found = os.fspath(path), data.get("version")
        if not isinstance(found, int) or not 1 <= found <= cls._VERSION:
            raise InputError(
                [f"{name}: version {found!r} of the file format; this version of cranfield reads up to {cls._VERSION}"],
                hint=f"update cranfield, or save the {cls._KIND} again",
            )
        with damaged_file(path, cls._WHAT.replace("a ", "a complete ", 1), cls._HINT):
            return cls.from_dict(data)


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


def with_origin(data: dict[str, Any], known: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The data of a result for a file: with the time, and the command or the experiment that made it.

    ``known``: these, if a file had them already.
    """
    if "provenance" not in data:
        return data
    return {**data, "provenance": {**(known or {"time": now(), **(_origin.get() or {})}), **data["provenance"]}}


def load(path: PathLike) -> Any:
    """Read saved scores, groups or a saved comparison: what ``save`` of these, or ``--format json``, wrote.

    All numbers are the same to the last digit; notes become plain sentences.
    """
    what, hint = "saved scores, groups or a comparison", "save them with `result.save(FILE)` or `--format json -o FILE`"
    data = content(path, what, hint)
    if not isinstance(data.get("kind"), str) or data["kind"] not in SAVED:
        raise InputError([f"{os.fspath(path)}: not {what}"], hint=hint)
    module, _, name = SAVED[data["kind"]].rpartition(".")
    return getattr(import_module(f"cranfield.{module}"), name)._from_file_data(data, path)


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


@contextmanager
def damaged_file(path: PathLike, whole: str, hint: str) -> Iterator[None]:
    """Report any failure inside as one `InputError` about a file that is not ``whole``."""
    try:
        yield
    except DAMAGED as error:
        reason = error if isinstance(error, CranfieldError) else repr(error)
        raise InputError([f"{os.fspath(path)}: not {whole} ({reason})"], hint=hint) from error


def text(data: Any) -> str:
    """Plain data as one line of JSON; control characters are escaped."""
    import json

    shown = json.dumps(data, allow_nan=False, ensure_ascii=False)
    return CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", shown) + "\n"


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
        return {str(name): plain(one, infinite=infinite) for name, one in value.items()}
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(type(value)) or hasattr(type(value), "_fields"):
        return _of_fields(value, infinite=infinite)
    return [plain(one, infinite=infinite) for one in value]


class _Entry(NamedTuple):
    """Where an attribute is written: the steps of its path, and the order of its axes there, empty if unchanged."""

    path: tuple[str, ...]
    attribute: str
    order: tuple[int, ...]

    @classmethod
    def parse(cls, entry: str) -> _Entry:
        """The entry of ``JSON`` with this text."""
        steps, _, attribute = entry.partition(" = ")
        order = tuple(map(int, re.findall(r"\.(\d)", steps)))
        path = tuple(re.sub(r"\.\d", "", steps).split("/"))
        return cls(path, attribute or [step for step in path if step[0] not in "{["][-1], order)

    def transpose(self, value: Any, *, back: bool = False) -> Any:
        """An array with its axes in the order of the path, or back in its own."""
        if not self.order:
            return value
        order = [*self.order, *(axis for axis in range(value.ndim) if axis not in self.order)]
        # Sums depend on the order in memory.
        return np.ascontiguousarray(value.transpose(np.argsort(order) if back else order))


def _of_fields(record: Any, *, infinite: bool = False) -> dict[str, Any]:
    entries, _, defaults = _layout(record.__class__)
    omitted, data = getattr(record, "OMITTED", ()), dict[str, Any]()
    for entry in entries:
        value = attrgetter(entry.attribute)(record)
        if entry.attribute not in omitted or value != defaults.get(entry.attribute, ""):
            _merge(data, _along(entry.path, entry.transpose(value), record, infinite=infinite))
    return data


def _along(path: tuple[str, ...], value: Any, record: Any, *, infinite: bool) -> Any:
    """Plain data of a value, inside the objects and lists of a path."""
    if not path:
        return plain(value, infinite=infinite)
    step, rest = path[0], path[1:]
    if step[0] not in "{[":
        return {step: _along(rest, value, record, infinite=infinite)}
    parts = zip(getattr(record, step[1:-1]), value, strict=True)
    inside = [(str(name), _along(rest, one, record, infinite=infinite)) for name, one in parts]
    return dict(inside) if step[0] == "{" else [one for _, one in inside]


def _merge(data: Any, more: Any) -> None:
    """Put plain data into others of the same shape."""
    for key, one in more.items() if isinstance(more, dict) else enumerate(more):
        if isinstance(data, dict) and key not in data:
            data[key] = one
        else:
            _merge(data[key], one)


@cache
def _layout(kind: Any) -> tuple[list[_Entry], dict[str, Any], dict[str, Any]]:
    """Where each attribute is written, the type of each field, and the defaults of fields that have one."""
    if is_dataclass(kind):
        names = [field.name for field in fields(kind) if field.init]
        defaults = {f.name: f.default for f in fields(kind) if f.default is not MISSING}
        defaults |= {f.name: f.default_factory() for f in fields(kind) if f.default_factory is not MISSING}
    else:
        names, defaults = list(kind._fields), dict(kind._field_defaults)
    hints = get_type_hints(kind)
    entries = [_Entry.parse(entry) for entry in getattr(kind, "JSON", (*names, *getattr(kind, "DERIVED", ())))]
    return entries, {name: hints[name] for name in names}, defaults


def typed(hint: Any, data: Any, what: str = "value") -> Any:
    """A value of this type from the plain data that `plain` wrote; an error if the data are of another type.

    ``what``: what messages call the value.

    >>> typed(dict[str, float], {"low": None, "high": 1})
    {'low': nan, 'high': 1.0}
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return data
    if origin in (Union, UnionType):
        if data is None and NoneType in arguments:
            return None
        return typed(next(one for one in arguments if one is not NoneType), data, what)
    if origin is Literal:
        return _expect(data in arguments, f"one of {', '.join(map(str, arguments))}", data, what)
    if hint is float:
        return _number(data, what)
    if hint in (int, bool, str):
        exact = isinstance(data, hint) and not (hint is int and isinstance(data, bool))
        return _expect(exact, {int: "a whole number", bool: "true or false", str: "text"}[hint], data, what)
    if origin is np.ndarray:
        scalar = get_args(arguments[1])[0]
        return np.array(_nested(data, {np.bool_: bool, np.int64: int}.get(scalar, float), what), scalar)
    if origin in (tuple, list, Sequence):
        _expect(isinstance(data, list), "a list", data, what)
        same = origin is not tuple or arguments[-1] is ...
        kinds = [arguments[0]] * len(data) if same else arguments
        return (list if origin is list else tuple)(typed(k, one, what) for k, one in zip(kinds, data, strict=True))
    _expect(isinstance(data, Mapping), "names with values", data, what)
    if origin in (dict, Mapping):
        key = int if arguments[0] is int else partial(typed, arguments[0])
        return {key(name): typed(arguments[1], one, name) for name, one in data.items()}
    return hint.from_dict(data) if hasattr(hint, "from_dict") else _record(hint, data)


def _record(kind: Any, data: Mapping[str, Any]) -> Any:
    entries, hints, defaults = _layout(kind)
    values: dict[str, Any] = {}
    names: dict[str, Sequence[Any]] = {}
    for entry in entries:
        if entry.attribute in hints:
            try:
                found = _inside(data, entry.path, names, kind)
            except LookupError:
                if entry.attribute in defaults:
                    continue
                raise
            value = typed(hints[entry.attribute], found, entry.path[-1])
            values[entry.attribute] = entry.transpose(value, back=True)
            if isinstance(value, tuple):
                names[entry.attribute] = value
    values |= {
        axis: typed(hints[axis], list(names[axis]), axis) for axis in names.keys() & hints.keys() - values.keys()
    }
    return kind(**values)


def _inside(data: Any, path: tuple[str, ...], names: dict[str, Sequence[Any]], kind: Any) -> Any:
    """The data at a path, as lists inside each other for its axes; ``names``: those of axes, known or found."""
    if not path:
        return data
    step, rest = path[0], path[1:]
    if step[0] == "[":
        found = _expect(isinstance(data, list), "a list", data, step[1:-1])
        return [_inside(one, rest, names, kind) for one in found]
    _expect(isinstance(data, Mapping), "names with values", data, step)
    if step[0] != "{":
        return _inside(data[step], rest, names, kind)
    constant = getattr(kind, step[1:-1], ())
    known = names.setdefault(step[1:-1], constant if isinstance(constant, tuple) and constant else tuple(data))
    _expect(known, "at least one entry", data, step[1:-1])
    return [_inside(data[str(name)], rest, names, kind) for name in known]


def _expect(correct: Any, expected: str, data: Any, what: str) -> Any:
    if not correct:
        raise TypeError(f"{what}: expected {expected}, not {data!r:.60}")
    return data


def _number(data: Any, what: str) -> float:
    if data is None:
        return math.nan
    if isinstance(data, str) and data in INFINITE:
        return INFINITE[data]
    return float(_expect(isinstance(data, (int, float)) and not isinstance(data, bool), "a number", data, what))


def _nested(data: Any, scalar: type, what: str) -> Any:
    return [_nested(one, scalar, what) for one in data] if isinstance(data, list) else typed(scalar, data, what)
