"""Results as files: one JSON document each, written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from cranfield.data import Floats
from cranfield.errors import CranfieldError, InputError

Place = str | os.PathLike[str]


class Kept(Protocol):
    """A result that can be written down."""

    def to_dict(self) -> dict[str, Any]: ...


Result = TypeVar("Result", bound=Kept)

HINT = "a study is saved by `cranfield study NAME ... --format json -o FILE`"


@contextmanager
def draft(path: Place) -> Iterator[Path]:
    """A file to write to that takes its place only when all is written; nobody ever reads half of it."""
    final = Path(os.path.realpath(path))
    beside = final.with_name(f".{final.name}.{os.getpid()}")
    try:
        yield beside
        beside.replace(final)
    finally:
        beside.unlink(missing_ok=True)


def text(result: dict[str, Any]) -> str:
    """A result as JSON, ending in a newline."""
    return json.dumps(result, allow_nan=False, ensure_ascii=False) + "\n"


def save(path: Place, result: dict[str, Any]) -> None:
    """Writes what a result's ``to_dict`` returned."""
    with draft(path) as beside:
        beside.write_bytes(text(result).encode("utf-8", "surrogateescape"))


def load(path: Place) -> dict[str, Any]:
    """Reads what `save` wrote, for whichever study; an error where it is something else."""
    place = os.fspath(path)
    try:
        found = json.loads(Path(path).read_bytes().decode("utf-8", "surrogateescape"))
    except ValueError as error:
        raise InputError([f"{place}: not a saved study ({error})"], hint=HINT) from error
    if not isinstance(found, dict) or not isinstance(found.get("study"), str):
        raise InputError([f"{place}: not a saved study"], hint=HINT)
    return found


def rebuilt(make: Callable[[dict[str, Any]], Result], found: dict[str, Any], study: str, place: Place) -> Result:
    """The result that a saved dict describes; an error where it is another study's, or parts of it are gone."""
    if found["study"] != study:
        raise InputError([f"{os.fspath(place)}: a study of {found['study']}, not of {study}"])
    with complete(study, place):
        result = make(found)
        text(result.to_dict())
    return result


@contextmanager
def complete(study: str, place: Place) -> Iterator[None]:
    """In this whatever goes wrong is the fault of a file that somebody has cut or changed, and is said so."""
    try:
        yield
    except InputError:
        raise
    except (CranfieldError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        what = error if isinstance(error, CranfieldError) else repr(error)
        raise InputError([f"{os.fspath(place)}: not a complete study of {study} ({what})"], hint=HINT) from error


def names(found: dict[str, Any]) -> tuple[str, ...]:
    """What a part of a saved dict is about; there is something that it is about."""
    if not found:
        raise ValueError("nothing in it")
    return tuple(found)


def listed(values: Floats) -> list[Any]:
    """Numbers as JSON has them: null is undefined, and the infinite, which it has not, are texts."""
    return [None if np.isnan(v) else v if np.isfinite(v) else str(v) for v in values.tolist()]


def array(values: list[Any], size: int | None = None) -> Floats:
    """What `listed` wrote, as numbers again; so many, where that is known."""
    if size is not None and len(values) != size:
        raise ValueError(f"{len(values)} values in place of {size}")
    return np.array([np.nan if v is None else float(v) for v in values], np.float64)
