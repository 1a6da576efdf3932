"""Saved results of studies: one JSON file each, with a version number."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, Self, TypeVar

from cranfield import results
from cranfield.data import Run
from cranfield.errors import CranfieldError, InputError, UnknownName
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.plan import Column
from cranfield.evaluation.provenance import Provenance, Source
from cranfield.evaluation.scores import Scores
from cranfield.io.objects import is_list_of_runs, is_mapping_of_runs
from cranfield.measures import parse
from cranfield.report import canvas
from cranfield.report.pages import Page
from cranfield.results import DAMAGED, PathLike, Saved
from cranfield.wording import listed, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

P = ParamSpec("P")
R = TypeVar("R", bound="StudyResult")
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
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The result that `to_dict` returned."""
        return super().from_dict(data).with_provenance(Provenance.of_file(data))

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


def recorded(experiment: Callable[P, R]) -> Callable[P, R]:
    """The experiment of a study whose results know what they were computed from."""

    @wraps(experiment)
    def run(*given: P.args, **settings: P.kwargs) -> R:
        arguments = signature(experiment).bind(*given, **settings).arguments
        qrels, runs = arguments.get("qrels"), arguments.get("runs", ())
        several = list(runs.values()) if is_mapping_of_runs(runs) else runs if is_list_of_runs(runs) else [runs]
        given_names = list(runs) if is_mapping_of_runs(runs) else [None] * len(several)
        sources = [Source.of("documents", arguments["corpus"])] if arguments.get("corpus") is not None else []
        for name, one in zip(given_names, several, strict=True) if qrels is not None else ():
            source, name = (one.source_name, one.name) if isinstance(one, Run) else (one, name)
            sources.append(Source.of("run", source, name))
        result = experiment(*given, **settings)
        if isinstance(qrels, Scores):
            return result.with_provenance(qrels.provenance)
        columns = []
        for label in getattr(result, "measures", ()):
            with suppress(CranfieldError):  # of a measure that only this study has
                columns.append(Column(parse(label)))
        judged = () if qrels is None else (("", Collection.of(qrels)),)
        provenance = Provenance(tuple(columns), sources=tuple(sources), judged=judged)
        _ = provenance.judgments  # now: files may change
        return result.with_provenance(provenance)

    return run


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
