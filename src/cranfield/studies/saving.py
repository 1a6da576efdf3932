"""Results of studies as files: one JSON document each."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from cranfield.data import Floats
from cranfield.errors import CranfieldError, InputError
from cranfield.io.atomic_write import atomic_write

Place = str | os.PathLike[str]


HINT = "a study is saved by `cranfield study NAME ... --format json -o FILE`"


class Study(ABC):
    """What a study found, which can be kept in a file; ``STUDY`` is the name it is asked for by."""

    STUDY: ClassVar[str]

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: what `save` writes and ``--format json`` prints."""

    @classmethod
    @abstractmethod
    def of_dict(cls, found: dict[str, Any]) -> Self:
        """What `to_dict` returned, as a result again."""

    def save(self, path: Place) -> None:
        """Writes the result as one JSON file, whole or not at all."""
        with atomic_write(path) as beside:
            beside.write_bytes(text(self.to_dict()).encode("utf-8", "surrogateescape"))

    @classmethod
    def load(cls, path: Place) -> Self:
        """Reads what `save` wrote; an error where it is another study's, or parts of it are gone."""
        found = load(path)
        if found["study"] != cls.STUDY:
            raise InputError([f"{os.fspath(path)}: a study of {found['study']}, not of {cls.STUDY}"])
        with complete(cls.STUDY, path):
            result = cls.of_dict(found)
            text(result.to_dict())
        return result


def text(result: dict[str, Any]) -> str:
    """A result as JSON, ending in a newline."""
    return json.dumps(result, allow_nan=False, ensure_ascii=False) + "\n"


def load(path: Place) -> dict[str, Any]:
    """The plain data of whichever study a file holds; an error where it is something else."""
    place = os.fspath(path)
    try:
        found = json.loads(Path(path).read_bytes().decode("utf-8", "surrogateescape"))
    except ValueError as error:
        raise InputError([f"{place}: not a saved study ({error})"], hint=HINT) from error
    if not isinstance(found, dict) or not isinstance(found.get("study"), str):
        raise InputError([f"{place}: not a saved study"], hint=HINT)
    return found


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
