"""What a study is: a class of settings that runs on judgments and runs, and a result that saves and shows itself.

A module of `cranfield.lab.studies` has two classes. ``Power(Study)`` is a frozen dataclass: its fields are the
settings, with their types, limits, help and defaults; its docstring is the help page; ``run`` takes what is studied.
``PowerResult(StudyResult)`` is what ``run`` returns: its fields are saved, and its ``pages`` and ``drawings`` show it.
The command, the function ``cranfield.lab.power``, the checks of settings and the JSON follow from these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from cranfield.codec import PathLike, Saved, typed
from cranfield.data import Run
from cranfield.errors import (
    CranfieldError,
    InputError,
    UnknownName,
    UsageError,
    check_choice,
    check_count,
    check_fraction,
)
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.notes import Note, sentences
from cranfield.evaluation.plan import Column
from cranfield.evaluation.provenance import Provenance, Source
from cranfield.evaluation.scores import Scores, check_rankings
from cranfield.io.objects import is_list_of_runs, is_mapping_of_runs
from cranfield.lab.studies import study_names
from cranfield.measures import parse
from cranfield.report import canvas
from cranfield.report.pages import Page, write
from cranfield.settings import Choices, Limits
from cranfield.wording import listed, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMED_PARTS = {"run": "runs", "measure": "measures", "query": "queries"}  # that most results have


class Study:
    """The settings of a study. ``run`` takes judgments and runs first, and what else is studied by name.

    If ``runs`` may be left out, scores can take the place of judgments.
    """

    def __post_init__(self) -> None:
        for name, hint in settings_of(type(self)).items():
            object.__setattr__(self, name, checked(name, hint, getattr(self, name)))

    def run(self, *given: Any, **inputs: Any) -> StudyResult:
        """Do the study."""
        raise NotImplementedError

    @classmethod
    def name(cls) -> str:
        """The name of the study: that of its module and its command."""
        return cls.__name__.lower()

    @classmethod
    def takes_scores(cls) -> bool:
        """Whether scores can take the place of judgments and runs."""
        runs = signature(cls.run).parameters.get("runs")
        return runs is not None and runs.default is None


def settings_of(study: type[Study]) -> dict[str, Any]:
    """The types of the settings of a study, by name."""
    hints = get_type_hints(study, include_extras=True)
    return {name: hints[name] for name in signature(study).parameters}


def checked(name: str, hint: Any, value: Any) -> Any:
    """A value of an annotated type; an error that names the setting if it is outside of the limits or choices."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        kinds = [kind for kind in arguments if kind is not NoneType]
        return None if value is None else checked(name, kinds[0], value)
    if origin is Annotated:
        for fact in hint.__metadata__:
            if isinstance(fact, Choices):
                check_choice(name, value, fact.names)
            if isinstance(fact, Limits) and value is not None:
                value = within(name, arguments[0], fact, value)
        return checked(name, arguments[0], value)
    if origin is Literal:
        check_choice(name, value, arguments)
    if origin in (tuple, Sequence):
        kinds = arguments if origin is tuple and arguments[-1] is not ... else [arguments[0]] * len(value)
        return tuple(checked(name, kind, item) for kind, item in zip(kinds, value, strict=True))
    return value


def within(name: str, kind: Any, limits: Limits, value: Any) -> Any:
    """A number within limits."""
    if kind is not float:
        return check_count(name, value, int(limits.low or 0))
    if limits == Limits(0, 1, open=True):
        return check_fraction(name, value)
    if not limits.low < value < float("inf"):
        raise UsageError(f"{name} must be greater than {limits.low:g} and finite, not {value:g}")
    return float(value)


class StudyResult(Saved):
    """The result of a study: it can be saved, and its tables and figures can be shown."""

    _KIND: ClassVar[str] = "study"
    _WHAT: ClassVar[str] = "a saved study"
    _HINT: ClassVar[str] = "save a study with `cranfield study NAME ... --format json -o FILE`"
    _INFINITE: ClassVar[bool] = True

    settings: Any
    notes: tuple[Note, ...]

    @property
    def study(self) -> str:
        """The name of the study."""
        return str(self.settings.name())

    def __repr__(self) -> str:
        parts = {noun: getattr(self, name, None) for noun, name in NAMED_PARTS.items()}
        counts = [plural(part, noun) for noun, part in parts.items() if isinstance(part, int)]
        names = [listed(part, noun) for noun, part in parts.items() if isinstance(part, tuple)]
        return f"{type(self).__name__}: {', '.join([*names, *counts])}"

    def pages(self, digits: int = 4) -> list[Page]:
        """The tables of the study."""
        raise NotImplementedError

    def drawings(self) -> canvas.Drawings:
        """The figures of the study, by name: functions that draw them."""
        return {}

    @classmethod
    def mean_pages(cls, results: Sequence[Self], digits: int = 4) -> list[Page]:
        """The tables of the mean over results on several collections; only studies that have them take several."""
        raise NotImplementedError

    def write(self, format: str = "table", *, digits: int = 4, width: int = 80, colour: bool = False) -> str:
        """The tables as text in one of the formats of `report.pages`, ending in a newline."""
        return write(self.pages(digits), self.to_dict(), format, width=width, colour=colour)

    def plot(self, figure: str | None = None) -> list[Axes]:
        """Draw a figure of the study, by default the first; returns its Matplotlib axes.

        The figures have the names of the files that ``cranfield study --figures`` writes; the error for an unknown name
        lists them.
        """
        drawings = self.drawings()
        if figure is not None and figure not in drawings:
            raise UnknownName(f"`{figure}` is not one of the figures", hint=f"the figures are {', '.join(drawings)}")
        return canvas.plotted(drawings[figure or next(iter(drawings))]).axes

    def save_figures(self, folder: PathLike) -> list[Path]:
        """Draw all figures into a folder; returns the files written."""
        if not (drawings := self.drawings()):
            raise UsageError(f"the study `{self.study}` has no figures", hint="leave out --figures")
        return canvas.save_all(drawings, str(folder))

    def _header(self) -> dict[str, Any]:
        return super()._header() | {"study": self.study}

    def to_dict(self) -> dict[str, Any]:
        """The complete result as plain data: what `save` writes."""
        return super().to_dict() | {"notes": sentences(self.notes)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The result that `to_dict` returned; of any study if this is the base class. Notes become plain sentences."""
        kind = SeveralCollections if "by_collection" in data else result_class(typed(str, data["study"], "study"))
        if not issubclass(kind, cls):
            raise InputError([f"another study: `{data['study']}`"])
        return kind._of_fields(data)._with_provenance(Provenance.of_file(data))

    @classmethod
    def _of_fields(cls, data: Mapping[str, Any]) -> Self:
        notes = tuple(map(Note.saved, typed(tuple[str, ...], data["notes"], "notes")))
        result: Any = super().from_dict({**data, "notes": []})
        return cast(Self, replace(result, notes=notes))


@dataclass(frozen=True, eq=False, repr=False)
class SeveralCollections(StudyResult):
    """The results of one study, by the name of the collection."""

    by_collection: Mapping[str, StudyResult]

    def __repr__(self) -> str:
        return f"{type(self).__name__}: study `{self.study}` on {listed(tuple(self.by_collection), 'collection')}"

    @property
    def settings(self) -> Any:  # type: ignore[override]
        """The settings, which all results share."""
        return next(iter(self.by_collection.values())).settings

    @property
    def notes(self) -> tuple[Note, ...]:  # type: ignore[override]
        """The notes of all results, with the names of their collections."""
        return tuple(
            Note.saved(f"{name}: {sentence}")
            for name, result in self.by_collection.items()
            for sentence in sentences(result.notes)
        )

    def pages(self, digits: int = 4) -> list[Page]:
        """The tables of each collection, and those of the mean."""
        pages = [
            replace(page, title=f"{name}: {page.title}")
            for name, result in self.by_collection.items()
            for page in result.pages(digits)
        ]
        results = list(self.by_collection.values())
        return [*pages, *type(results[0]).mean_pages(results, digits)]

    def drawings(self) -> canvas.Drawings:
        """The figures of each collection."""
        parts = self.by_collection.items()
        return {f"{name}/{key}": draw for name, result in parts for key, draw in result.drawings().items()}

    def save_figures(self, folder: PathLike) -> list[Path]:
        """Draw the figures of each collection into a folder of its own; returns the files written."""
        parts = self.by_collection.items()
        return [path for name, result in parts for path in result.save_figures(Path(folder) / name)]

    @classmethod
    def _of_fields(cls, data: Mapping[str, Any]) -> Self:
        results = typed(dict[str, Any], data["by_collection"], "by_collection")
        return cls({name: StudyResult.from_dict(result) for name, result in results.items()})


@cache
def study_class(name: str) -> type[Study]:
    """The class of a study by its name."""
    if name not in study_names():
        raise UsageError(f"unknown study `{name}`", hint=f"one of {', '.join(study_names())}")
    found: type[Study] = getattr(import_module(f"cranfield.lab.studies.{name}"), name.capitalize())
    return found


def result_class(name: str) -> type[StudyResult]:
    """The class of the results of a study."""
    found: type[StudyResult] = get_type_hints(study_class(name).run)["return"]
    return found


@cache
def function_of(name: str) -> Callable[..., StudyResult]:
    """The function ``cranfield.lab.NAME``: it takes what is studied, and the settings by name."""
    study = study_class(name)
    _, *inputs = signature(study.run).parameters.values()
    settings = signature(study).parameters

    def experiment(*given: Any, **named: Any) -> StudyResult:
        chosen = {name: named.pop(name) for name in settings if name in named}
        return run_study(study(**chosen), *given, **named)

    by_name = [setting.replace(kind=Parameter.KEYWORD_ONLY) for setting in settings.values()]
    hints = get_type_hints(study.run, include_extras=True) | settings_of(study)
    experiment.__name__ = experiment.__qualname__ = name
    experiment.__doc__, experiment.__annotations__ = study.__doc__, hints
    experiment.__signature__ = signature(study.run).replace(parameters=[*inputs, *by_name])  # type: ignore[attr-defined]
    return experiment


def run_study(study: Study, *given: Any, **inputs: Any) -> StudyResult:
    """Run a study; its result knows what it was computed from.

    If it needs runs, scores in place of judgments are an error that says so.
    """
    arguments = signature(study.run).bind_partial(*given, **inputs).arguments
    qrels, runs = arguments.get("qrels"), arguments.get("runs", ())
    if not study.takes_scores():
        check_rankings(qrels, f"the study `{study.name()}`")
    several = list(runs.values()) if is_mapping_of_runs(runs) else runs if is_list_of_runs(runs) else [runs]
    sources = [Source.of("documents", arguments["corpus"])] if arguments.get("corpus") is not None else []
    files = [Source.of("run", run.source_name if isinstance(run, Run) else run) for run in several if qrels is not None]
    result = study.run(*given, **inputs)
    names = getattr(result, "runs", ())
    if not isinstance(names, tuple) or len(names) != len(files):  # such as those of --top
        names = [None] * len(files)
    sources += [file._replace(run=name) for file, name in zip(files, names, strict=True)]
    if isinstance(qrels, Scores):
        return result._with_provenance(qrels.provenance)
    columns = []
    for label in getattr(result, "measures", ()):
        with suppress(CranfieldError):  # of a measure that only this study has
            columns.append(Column(parse(label)))
    judged = () if qrels is None else (("", Collection.of(qrels)),)
    provenance = Provenance(tuple(columns), sources=tuple(sources), judged=judged)
    _ = provenance.judgments  # now: files may change
    return result._with_provenance(provenance)
