"""Saved results of studies: one JSON file each, with a version number."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Self

from cranfield import results
from cranfield.errors import CranfieldError, InputError, UnknownName
from cranfield.report import canvas
from cranfield.report.pages import Page
from cranfield.results import DAMAGED, PathLike, Saved
from cranfield.wording import listed, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMED_PARTS = {"run": "runs", "measure": "measures", "query": "queries"}  # that most results have


class StudyResult(Saved):
    """The result of a study, which can be saved; ``KIND`` is the name of the study."""

    TAG: ClassVar[str] = "study"
    VERSION: ClassVar[int] = 2
    WHAT: ClassVar[str] = "a saved study"
    HINT: ClassVar[str] = "save a study with `cranfield study NAME ... --format json -o FILE`"
    INFINITE: ClassVar[bool] = True

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

        return Study(self.header()["study"]).tables(self, digits)

    def drawings(self) -> canvas.Drawings:
        """The figures of the study, by name: functions that draw them."""
        from cranfield.lab.registry import Study

        return Study(self.header()["study"]).drawings(self)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read what `save` wrote; raise if the file holds another study or is incomplete."""
        data = load(path)
        if data["study"] != cls.KIND:
            raise InputError([f"{os.fspath(path)}: holds the study `{data['study']}`, expected `{cls.KIND}`"])
        with checked_file(cls.KIND, path):
            result = cls.from_dict(data)
            results.text(result.to_dict())
            # Null is an undefined number; settings have none.
            settings = (vars(result) | vars(getattr(result, "settings", result))).values()
            several = [part for value in settings for part in (value if isinstance(value, tuple) else (value,))]
            if any(isinstance(part, float) and math.isnan(part) for part in several):
                raise ValueError("an undefined setting")
        return result


def load(path: PathLike) -> dict[str, Any]:
    """The plain data of a saved study; raise if the file holds something else or is of a later version."""
    name, data = os.fspath(path), results.content(path, StudyResult.WHAT, StudyResult.HINT)
    if not isinstance(data.get("study"), str):
        raise InputError([f"{name}: not a saved study"], hint=StudyResult.HINT)
    if (version := data.get("version")) != StudyResult.VERSION:
        raise InputError(
            [f"{name}: version {version!r} of the file format; this version of cranfield reads {StudyResult.VERSION}"],
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
        raise InputError(
            [f"{os.fspath(path)}: not a complete study `{study}` ({reason})"], hint=StudyResult.HINT
        ) from error
