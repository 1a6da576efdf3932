"""Saved results of studies: one JSON file each, with a version number."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from cranfield import results
from cranfield.data import Floats
from cranfield.errors import CranfieldError, InputError, UnknownName
from cranfield.io.formats.json import load_json
from cranfield.io.write import atomic_write
from cranfield.report import canvas
from cranfield.report.pages import Page
from cranfield.results import Displayed
from cranfield.wording import listed, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes


PathLike = str | os.PathLike[str]

VERSION = 2
DAMAGED = CranfieldError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError
NAMED_PARTS = {"run": "runs", "measure": "measures", "query": "queries"}  # that most results have
HINT = "save a study with `cranfield study NAME ... --format json -o FILE`"


class StudyResult(Displayed, ABC):
    """The result of a study, which can be saved; ``STUDY`` is the name of the study."""

    STUDY: ClassVar[str]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        parts = {noun: getattr(self, name, None) for noun, name in NAMED_PARTS.items()}
        counts = [plural(part, noun) for noun, part in parts.items() if isinstance(part, int)]
        names = [listed(part, noun) for noun, part in parts.items() if isinstance(part, tuple)]
        return f"{type(self).__name__}: {', '.join([*names, *counts])}"

    def plot(self, figure: str | None = None) -> list[Axes]:
        """Draw a figure of the study, by default the first; returns its Matplotlib axes.

        The figures have the names of the files that ``cranfield study --figures`` writes; the error for an unknown name
        lists them.
        """
        drawings = self.drawings()
        if figure is not None and figure not in drawings:
            raise UnknownName(f"`{figure}` is not one of the figures", hint=f"the figures are {', '.join(drawings)}")
        return canvas.plotted(drawings[figure or next(iter(drawings))]).axes

    def pages(self, digits: int = 4) -> list[Page]:
        """The tables of the study."""
        from cranfield.lab.registry import Study

        return Study(self.to_dict()["study"]).tables(self, digits)

    def drawings(self) -> canvas.Drawings:
        """The figures of the study, by name: functions that draw them."""
        from cranfield.lab.registry import Study

        return Study(self.to_dict()["study"]).drawings(self)

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The complete result as plain data: what `save` writes and ``--format json`` prints."""

    @classmethod
    @abstractmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The result that `to_dict` returned."""

    def header(self) -> dict[str, Any]:
        """What every saved result starts with."""
        return {"study": self.STUDY, "version": VERSION}

    def save(self, path: PathLike) -> None:
        """Write the result as one JSON file; an existing file is replaced only by a complete one."""
        with atomic_write(path) as beside:
            beside.write_bytes(results.text(self.to_dict()).encode("utf-8", "surrogateescape"))

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read what `save` wrote; raise if the file holds another study or is incomplete."""
        data = load(path)
        if data["study"] != cls.STUDY:
            raise InputError([f"{os.fspath(path)}: holds the study `{data['study']}`, expected `{cls.STUDY}`"])
        with checked_file(cls.STUDY, path):
            result = cls.from_dict(data)
            results.text(result.to_dict())
        return result


def load(path: PathLike) -> dict[str, Any]:
    """The plain data of a saved study; raise if the file holds something else or is of a later version."""
    name = os.fspath(path)
    try:
        data = load_json(Path(path).read_bytes().decode("utf-8", "surrogateescape"))
    except ValueError as error:
        raise InputError([f"{name}: not a saved study ({error})"], hint=HINT) from error
    if not isinstance(data, dict) or not isinstance(data.get("study"), str):
        raise InputError([f"{name}: not a saved study"], hint=HINT)
    if (version := data.get("version")) != VERSION:
        raise InputError(
            [f"{name}: version {version!r} of the file format; this version of cranfield reads {VERSION}"],
            hint="update cranfield, or run the study again",
        )
    return data


@contextmanager
def checked_file(study: str, path: PathLike) -> Iterator[None]:
    """Report any failure inside as a damaged or incomplete file."""
    try:
        yield
    except InputError:
        raise
    except DAMAGED as error:
        reason = error if isinstance(error, CranfieldError) else repr(error)
        raise InputError([f"{os.fspath(path)}: not a complete study `{study}` ({reason})"], hint=HINT) from error


def nonempty_keys(data: dict[str, Any]) -> tuple[str, ...]:
    """The keys of a saved dict; raise if there are none."""
    if not data:
        raise ValueError("empty mapping")
    return tuple(data)


def to_json(values: Floats) -> list[Any]:
    """Numbers as JSON values: null for undefined, text for infinite."""
    return [None if np.isnan(v) else v if np.isfinite(v) else str(v) for v in values.tolist()]


def from_json(values: list[Any], size: int | None = None) -> Floats:
    """The numbers that `to_json` wrote; raise if their count is not ``size``."""
    if size is not None and len(values) != size:
        raise ValueError(f"expected {size} values, got {len(values)}")
    return np.array([np.nan if v is None else float(v) for v in values], np.float64)
