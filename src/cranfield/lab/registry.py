"""Studies by name: their settings, saved results, and results on several collections, such as years of a track.

Parameters of experiments that verbs have too, such as ``seed``, need no description.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import wraps
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, ParamSpec, Self, TypeVar

import numpy as np

from cranfield import codec
from cranfield.codec import DAMAGED, PathLike, Saved
from cranfield.data import Floats, Run
from cranfield.errors import CranfieldError, InputError, UnknownName, UsageError
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.evaluator import unique_names
from cranfield.evaluation.plan import Column
from cranfield.evaluation.provenance import Provenance, Source
from cranfield.evaluation.scores import Scores, check_rankings
from cranfield.io.objects import is_list_of_runs, is_mapping_of_runs
from cranfield.lab import study
from cranfield.lab.studies import study_names
from cranfield.lab.systems import COEFFICIENTS
from cranfield.measures import Measure, parse
from cranfield.report import canvas
from cranfield.report.canvas import Drawings, save_all
from cranfield.report.pages import Page, write
from cranfield.settings import Chance, Choices, Count, Option, Positive, Whole
from cranfield.wording import listed, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Saved results of studies: one JSON file each, with a version number.

P = ParamSpec("P")
R = TypeVar("R", bound="StudyResult")
NAMED_PARTS = {"run": "runs", "measure": "measures", "query": "queries"}  # that most results have


class StudyResult(Saved):
    """The result of a study, which can be saved; ``_KIND`` is the name of the study, and of the class in lower case."""

    _TAG: ClassVar[str] = "study"
    _VERSION: ClassVar[int] = 2
    _WHAT: ClassVar[str] = "a saved study"
    _HINT: ClassVar[str] = "save a study with `cranfield study NAME ... --format json -o FILE`"
    _INFINITE: ClassVar[bool] = True

    notes: tuple[str, ...]

    def __init_subclass__(cls) -> None:
        cls._KIND = cls.__name__.lower()

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
        return Study(self._header()["study"]).tables(self, digits)

    def drawings(self) -> canvas.Drawings:
        """The figures of the study, by name: functions that draw them."""
        return Study(self._header()["study"]).drawings(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The result that `to_dict` returned."""
        return super().from_dict(data)._with_provenance(Provenance.of_file(data))

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read what `save` wrote; raise if the file holds another study or is incomplete."""
        data = load(path)
        if data["study"] != cls._KIND:
            raise InputError([f"{os.fspath(path)}: holds the study `{data['study']}`, expected `{cls._KIND}`"])
        with checked_file(cls._KIND, path):
            result = cls.from_dict(data)
            codec.text(result.to_dict())
            # Null is an undefined number; settings have none.
            settings = (vars(result) | vars(getattr(result, "settings", result))).values()
            several = [part for value in settings for part in (value if isinstance(value, tuple) else (value,))]
            if any(isinstance(part, float) and math.isnan(part) for part in several):
                raise ValueError("an undefined setting")
        return result


def recorded(experiment: Callable[P, R]) -> Callable[P, R]:
    """The experiment of a study whose results know what they were computed from.

    If it needs runs, scores in place of judgments are an error that says so.
    """
    parameters = signature(experiment).parameters
    needs_runs = "runs" in parameters and parameters["runs"].default is Parameter.empty

    @wraps(experiment)
    def run(*given: P.args, **settings: P.kwargs) -> R:
        arguments = signature(experiment).bind_partial(*given, **settings).arguments
        qrels, runs = arguments.get("qrels"), arguments.get("runs", ())
        if needs_runs:
            check_rankings(qrels, f"the study `{experiment.__name__}`")
        several = list(runs.values()) if is_mapping_of_runs(runs) else runs if is_list_of_runs(runs) else [runs]
        sources = [Source.of("documents", arguments["corpus"])] if arguments.get("corpus") is not None else []
        files = [
            Source.of("run", one.source_name if isinstance(one, Run) else one) for one in several if qrels is not None
        ]
        result = experiment(*given, **settings)
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

    return run


def load(path: PathLike) -> dict[str, Any]:
    """The plain data of a saved study; raise if the file holds something else or is of a later version."""
    name, data = os.fspath(path), codec.content(path, StudyResult._WHAT, StudyResult._HINT)
    if data.get("kind") == "study":
        return data
    if not isinstance(data.get("study"), str):
        raise InputError([f"{name}: not a saved study"], hint=StudyResult._HINT)
    if (version := data.get("version")) != StudyResult._VERSION:
        raise InputError(
            [f"{name}: version {version!r} of the file format; this version of cranfield reads {StudyResult._VERSION}"],
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
            [f"{os.fspath(path)}: not a complete study `{study}` ({reason})"], hint=StudyResult._HINT
        ) from error


Measures = str | Measure | Sequence[str | Measure]
Progress = Callable[[int, int], None]
HIGH = 0.8  # the agreement that Hui et al. (ICTIR 2017) consider high


class Preset(NamedTuple):
    """The measures of a published experiment, and how many of the best runs by which measure it studied."""

    measures: tuple[str, ...]
    top: int
    by: str


Coefficient = Annotated[str, Choices(tuple(COEFFICIENTS)), "Correlation coefficient for comparing two orders of runs."]
Threshold = Annotated[Chance, "Agreement that counts as high."]
Samples = Annotated[Count, "Number of resamples per test."]
Repeats = Annotated[Count, "Number of random subsets of each size."]
Relevant = Annotated[Positive, "Lowest relevant grade.", Option(metavar="GRADE")]
Variants = Annotated[Whole, "With a single RUN: add N simulated runs that rerank its documents."]

# Sakai, "Alternatives to Bpref" (SIGIR 2007), with the 30 best runs of each data set (section 5). AveP', Q' and nDCG'
# are the condensed forms. His nDCG has the discount of Järvelin and Kekäläinen with base 2, and a cutoff of 1000
# (section 4.2). His bpref_R is bpref, because N > R.
JK_NDCG = "nDCG(discount='jk', base=2)@1000"
SAKAI = Preset(
    (
        *("bpref", "bpref_N", "rpref_N", "rpref_relative2"),
        *("AP[condensed]", "Q[condensed]", f"{JK_NDCG}[condensed]"),
        *("AP", "Q", JK_NDCG),
    ),
    top=30,
    by="AP",
)
# Section 6 leaves out two measures where judgments are removed.
SAKAI_REDUCED = SAKAI._replace(measures=tuple(m for m in SAKAI.measures if m not in ("bpref_N", "rpref_N")))

QRELS = ("qrels.diversity.txt", "qrels.txt")
DOCUMENTS = ("corpus.parquet", "docs.jsonl")


@dataclass(frozen=True)
class CollectionFiles:
    """The judgments, the runs and, if it has its own, the documents of a collection."""

    name: str
    qrels: Any
    runs: Any
    corpus: Any = None

    @classmethod
    def of(cls, folder: str | os.PathLike[str], like: str = "") -> CollectionFiles:
        """The files of a folder: judgments, a folder ``runs``, and documents.

        ``like``: the name of the judgments to prefer; otherwise ``qrels.diversity.txt``, then ``qrels.txt``. Files may
        be compressed.
        """
        path = Path(folder)
        if not path.is_dir():
            raise InputError([f"{path}: there is no such folder"])
        qrels = _find(path, (like, *QRELS))
        if qrels is None:
            raise InputError([f"{path}: no judgments"], hint=f"expected {' or '.join(QRELS)}")
        runs = sorted(p for p in (path / "runs").glob("*") if p.is_file() and not p.name.startswith("."))
        if not runs:
            raise InputError([f"{path}: no runs"], hint=f"expected them in {path / 'runs'}")
        return cls(path.resolve().name, str(qrels), [str(run) for run in runs], _find(path, DOCUMENTS))


def _find(folder: Path, names: tuple[str, ...]) -> str | None:
    """The first of these files in a folder, compressed or not."""
    for name in filter(None, names):
        matches = [path for path in (folder / name, *sorted(folder.glob(f"{name}.*"))) if path.is_file()]
        if matches:
            return str(matches[0])
    return None


@dataclass(frozen=True, eq=False, repr=False)
class SeveralCollections(StudyResult):
    """The results of one study, by the name of the collection."""

    JSON: ClassVar[tuple[str, ...]] = ("by_collection = results", "notes")

    study: str
    results: Mapping[str, StudyResult]

    def __repr__(self) -> str:
        return f"{type(self).__name__}: study `{self.study}` on {listed(tuple(self.results), 'collection')}"

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """The notes of all results, with the names of their collections."""
        return tuple(f"{name}: {note}" for name, result in self.results.items() for note in result.notes)

    def _header(self) -> dict[str, Any]:
        """What the file begins with."""
        return super()._header() | {self._TAG: self.study}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SeveralCollections:
        """The results that `to_dict` returned."""
        result_class = Study(data["study"]).result_class
        results = {name: result_class.from_dict(one) for name, one in data["by_collection"].items()}
        return cls(data["study"], results)._with_provenance(Provenance.of_file(data))


def run_on_collections(
    study: str,
    collections: Sequence[CollectionFiles | PathLike],
    *,
    experiment: Callable[..., StudyResult] | None = None,
    corpus: Any = None,
    **settings: Any,
) -> SeveralCollections:
    """Run a study on each collection, a folder or its files; ``corpus`` is for those without documents of their own.

    ``experiment``: a function to run instead of that of the study.
    """
    found = Study(study)
    if not found.takes_several:
        raise UsageError(
            f"the study `{study}` takes one collection: its results have no mean over collections",
            hint="run it on each collection",
        )
    parts = [entry if isinstance(entry, CollectionFiles) else CollectionFiles.of(entry) for entry in collections]
    reads_documents = "corpus" in signature(found.experiment).parameters

    def run(entry: CollectionFiles) -> StudyResult:
        documents = {"corpus": corpus if entry.corpus is None else entry.corpus} if reads_documents else {}
        return (experiment or found.experiment)(entry.qrels, entry.runs, **documents, **settings)

    names = unique_names([entry.name for entry in parts], [str(entry.qrels) for entry in parts])
    results = {name: run(entry) for name, entry in zip(names, parts, strict=True)}
    origins = {name: result.provenance for name, result in results.items()}
    return SeveralCollections(study, results)._with_provenance(Provenance.of_several(origins))


def mean_of(values: list[Floats]) -> Floats:
    """The mean over collections, without those where a value is undefined; NaN if it is undefined for all.

    >>> mean_of([np.array([1.0, np.nan, np.nan]), np.array([0.5, 0.25, np.nan])]).tolist()
    [0.75, 0.25, nan]
    """
    mean: Floats = np.ma.masked_invalid(np.stack(values)).mean(axis=0).filled(np.nan)
    return mean


def averaged(results: list[Any], alike: Sequence[str], means: Sequence[str], sums: Sequence[str] = ()) -> Any:
    """The results as one, with means and sums over collections of some fields; others must be ``alike``."""
    check_alike(results, *alike)
    found = {name: mean_of([getattr(result, name) for result in results]) for name in means}
    found |= {name: np.sum([getattr(result, name) for result in results], axis=0) for name in sums}
    return replace(results[0], **found)


def check_alike(results: list[Any], *fields: str) -> None:
    """Raise if results that are to be averaged differ in one of these fields."""
    for field in fields:
        first, *others = (getattr(result, field) for result in results)
        for other in others:
            if other != first:
                raise InputError(
                    [f"the results differ in their {field}, so that they have no mean: {first} and {other}"]
                )


@dataclass(frozen=True)
class Study:
    """One study, by name; each property imports the module that it needs."""

    name: str

    def __post_init__(self) -> None:
        if self.name not in study_names():
            raise UsageError(f"unknown study `{self.name}`", hint=f"one of {', '.join(study_names())}")

    @property
    def module(self) -> ModuleType:
        """Its module."""
        return import_module(f"cranfield.lab.studies.{self.name}")

    @property
    def is_class(self) -> bool:
        return hasattr(self.module, f"{self.name.capitalize()}Result")

    @property
    def experiment(self) -> Callable[..., StudyResult]:
        """The function that runs the study."""
        if self.is_class:
            return study.function_of(self.name)
        function: Callable[..., StudyResult] = getattr(self.module, self.name)
        return function

    @property
    def result_class(self) -> type[StudyResult]:
        """The class of its results."""
        if self.is_class:
            return study.result_class(self.name)
        result: type[StudyResult] = getattr(self.module, self.name.capitalize())
        return result

    @property
    def has_figures(self) -> bool:
        """Whether it can be drawn."""
        if self.is_class:
            return True
        return hasattr(self.module, "drawings")

    @property
    def takes_several(self) -> bool:
        """Whether it takes several collections: whether it has tables of their mean."""
        return hasattr(self.module, "mean_tables")

    @property
    def takes_scores(self) -> bool:
        """Whether scores can take the place of judgments and runs: whether runs may be left out."""
        runs = signature(self.experiment).parameters.get("runs")
        return runs is not None and runs.default is None

    def load(self, path: PathLike) -> StudyResult:
        """Read a saved result of this study, on one or on several collections."""
        if self.is_class:
            return study.StudyResult.load(path)
        data = load(path)
        if "by_collection" not in data:
            return self.result_class.load(path)
        with checked_file(self.name, path):
            return SeveralCollections.from_dict(data)

    def tables(self, result: StudyResult, digits: int = 4) -> list[Page]:
        """A result as titled tables; on several collections, the tables of each, and those of the mean."""
        if self.is_class:
            return result.pages(digits)
        module = self.module
        if isinstance(result, SeveralCollections):
            by_collection = ((name, module.tables(part, digits)) for name, part in result.results.items())
            pages = [replace(page, title=f"{name}: {page.title}") for name, part in by_collection for page in part]
            return [*pages, *module.mean_tables(list(result.results.values()), digits)]
        single: list[Page] = module.tables(result, digits)
        return single

    def write(
        self, result: StudyResult, format: str = "table", *, digits: int = 4, width: int = 80, colour: bool = False
    ) -> str:
        """A result as text in one of the formats of `report.pages`, ending in a newline."""
        if hasattr(self.module, "write"):
            text: str = self.module.write(result, format, digits=digits, width=width, colour=colour)
            return text
        return write(self.tables(result, digits), result.to_dict(), format, width=width, colour=colour)

    def require_figures(self) -> None:
        """Raise if the study has no figures."""
        if not self.has_figures:
            raise UsageError(f"the study `{self.name}` has no figures", hint="leave out --figures")

    def save_figures(self, result: StudyResult, folder: str) -> list[Path]:
        """Draw the figures of a result into a folder; the files written."""
        if self.is_class:
            return result.save_figures(folder)
        self.require_figures()
        if isinstance(result, SeveralCollections):
            parts = result.results.items()
            return [path for name, part in parts for path in self.save_figures(part, str(Path(folder) / name))]
        return save_all(self.drawings(result), folder)

    def drawings(self, result: StudyResult) -> Drawings:
        """The figures of a result, by name: functions that draw them."""
        self.require_figures()
        if isinstance(result, SeveralCollections):
            parts = result.results.items()
            return {f"{name}/{key}": draw for name, part in parts for key, draw in self.drawings(part).items()}
        drawings: Drawings = self.module.drawings(result)
        return drawings
