"""Results: how they show themselves, and one codec that makes plain data for JSON from their fields and reads it back.

A record is a dataclass or a named tuple. Its fields and their types are its layout: `plain` writes a record, `typed`
reads and checks it. A class may say more:

- ``JSON``: the fields and properties that are written, in order; properties are ignored when read. Or a mapping: the
  names of some fields in JSON.
- ``OMITTED``: fields that are left out while they are empty.
- ``to_dict`` and ``from_dict``: a layout of its own.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

import numpy as np

from cranfield.errors import CranfieldError, InputError
from cranfield.wording import CONTROL

PathLike = str | os.PathLike[str]

# What may be raised while the content of a damaged file is read.
DAMAGED = CranfieldError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError
INFINITE = {"inf": math.inf, "-inf": -math.inf}
# The results that `load` reads: their kinds, and where their classes are.
SAVED = {"scores": "evaluation.scores.Scores", "comparison": "analysis.compare.Comparison"}

DISPLAY = "cranfield.report.notebook"  # the module with the tables and figures of all classes of results


class Displayed:
    """Tables and figures of a result; what makes them is loaded when a result is shown.

    ``repr`` is one line, which each class writes.
    """

    def _repr_html_(self) -> str:
        """The tables for notebooks."""
        return str(_display("html", self))

    def __str__(self) -> str:
        return str(_display("text", self))

    def _draw(self, **options: Any) -> Any:
        """The axes of the figure of this class."""
        return _display("plot", self, **options)


def _display(how: str, result: Any, **options: Any) -> Any:
    return getattr(import_module(DISPLAY), how)(result, **options)


class TableText(str):
    """A table as text that a notebook shows as a table."""

    __slots__ = ("html",)
    html: str

    @classmethod
    def of(cls, text: str, html: str) -> TableText:
        """The same table as text and as HTML."""
        table = cls(text)
        table.html = html
        return table

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.html


def table_text(scores: Any, **layout: Any) -> TableText:
    """A table of scores as text and as HTML."""
    table: TableText = _display("score_table", scores, **layout)
    return table


class Saved(Displayed):
    """A result that can be saved: one JSON file that begins with the kind of the result and the version of its format.

    ``TAG``: the key of the kind. ``WHAT``: what messages call the file. ``HINT``: how to make one.
    """

    TAG: ClassVar[str] = "kind"
    KIND: ClassVar[str]
    VERSION: ClassVar[int] = 1
    WHAT: ClassVar[str]
    HINT: ClassVar[str]

    def header(self) -> dict[str, Any]:
        """What the file begins with."""
        return {self.TAG: self.KIND, "version": self.VERSION}

    def to_dict(self) -> dict[str, Any]:
        """The complete result as plain data: what `save` writes."""
        return self.header() | _of_fields(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The result that `to_dict` returned."""
        found: Self = _record(cls, data)
        return found

    def save(self, path: PathLike) -> None:
        """Write the result as one JSON file; an existing file is replaced only by a complete one."""
        from cranfield.io.write import atomic_write

        with atomic_write(path) as temporary:
            temporary.write_bytes(text(self.to_dict()).encode("utf-8", "surrogateescape"))

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read what `save` wrote; all numbers are the same to the last digit."""
        data = _content(path, cls.WHAT, cls.HINT)
        if data.get(cls.TAG) != cls.KIND:
            raise InputError([f"{os.fspath(path)}: not {cls.WHAT}"], hint=cls.HINT)
        return cls._checked(data, path)

    @classmethod
    def _checked(cls, data: dict[str, Any], path: PathLike) -> Self:
        name, found = os.fspath(path), data.get("version")
        if not isinstance(found, int) or not 1 <= found <= cls.VERSION:
            raise InputError(
                [f"{name}: version {found!r} of the file format; this version of cranfield reads up to {cls.VERSION}"],
                hint=f"update cranfield, or save the {cls.KIND} again",
            )
        with damaged_file(path, cls.WHAT.replace("a ", "a complete ", 1), cls.HINT):
            return cls.from_dict(data)


def load(path: PathLike) -> Any:
    """Read saved scores or a saved comparison: what ``save`` of either, or ``--format json``, wrote.

    All numbers are the same to the last digit; notes become plain sentences.
    """
    what, hint = "saved scores or a saved comparison", "save them with `result.save(FILE)` or `--format json -o FILE`"
    data = _content(path, what, hint)
    if data.get("kind") not in SAVED:
        raise InputError([f"{os.fspath(path)}: not {what}"], hint=hint)
    module, _, name = SAVED[data["kind"]].rpartition(".")
    return getattr(import_module(f"cranfield.{module}"), name)._checked(data, path)


def _content(path: PathLike, what: str, hint: str) -> dict[str, Any]:
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
        return {name: plain(one, infinite=infinite) for name, one in value.items()}
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if _is_record(type(value)):
        return _of_fields(value, infinite=infinite)
    return [plain(one, infinite=infinite) for one in value]


def _is_record(kind: Any) -> bool:
    return is_dataclass(kind) or hasattr(kind, "_fields")


def _of_fields(record: Any, *, infinite: bool = False) -> dict[str, Any]:
    omitted = getattr(record, "OMITTED", ())
    return {
        name: plain(getattr(record, attribute), infinite=infinite)
        for name, attribute in _layout(record.__class__)[0].items()
        if attribute not in omitted or getattr(record, attribute)
    }


@cache
def _layout(kind: Any) -> tuple[dict[str, str], dict[str, Any], set[str]]:
    """The attribute of each name in JSON, the type of each field, and the fields that have defaults."""
    if is_dataclass(kind):
        names = [field.name for field in fields(kind) if field.init]
        optional = {f.name for f in fields(kind) if f.default is not MISSING or f.default_factory is not MISSING}
    else:
        names, optional = list(kind._fields), set(kind._field_defaults)
    written = getattr(kind, "JSON", names)
    renamed = written if isinstance(written, Mapping) else {}
    attributes = {renamed.get(name, name): name for name in (names if renamed else written)}
    hints = get_type_hints(kind)
    return attributes, {name: hints[name] for name in names}, optional | set(getattr(kind, "OMITTED", ()))


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
        return {typed(arguments[0], name, what): typed(arguments[1], one, name) for name, one in data.items()}
    return hint.from_dict(data) if hasattr(hint, "from_dict") else _record(hint, data)


def _record(kind: Any, data: Mapping[str, Any]) -> Any:
    attributes, hints, optional = _layout(kind)
    values = {}
    for name, attribute in attributes.items():
        if attribute in hints and (name in data or attribute not in optional):
            values[attribute] = typed(hints[attribute], data[name], name)
    return kind(**values)


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
