"""What a study is: a class of settings that runs on judgments and runs, and a result that saves and shows itself.

A module of `cranfield.lab.studies` has two classes. ``Power(Study)`` is a frozen dataclass: its fields are the
settings, with their types, limits, help and defaults; its docstring is the help page; ``run`` takes what is studied.
``PowerResult(StudyResult)`` is what ``run`` returns: its fields are saved, and its ``pages`` and ``drawings`` show it.
The command, the function ``cranfield.lab.power``, the checks of settings and the JSON follow from these.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib import import_module
from inspect import Parameter, cleandoc, signature
from pathlib import Path
from textwrap import fill, indent
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Self, cast, get_type_hints

import numpy as np

from cranfield.codec import PathLike, Saved, typed
from cranfield.data import Floats, Run
from cranfield.errors import CranfieldError, InputError, UnknownName, UsageError
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.evaluator import unique_names
from cranfield.evaluation.notes import Note, sentences
from cranfield.evaluation.plan import Column
from cranfield.evaluation.provenance import Provenance, Source
from cranfield.evaluation.scores import Scores, check_rankings
from cranfield.io import is_list_of_runs, is_mapping_of_runs
from cranfield.lab.studies import study_names
from cranfield.lab.systems import COEFFICIENTS, studied
from cranfield.measures import Measure, parse
from cranfield.report import canvas
from cranfield.report.pages import Page, write
from cranfield.settings import Chance, Choices, Count, Field, Option, Positive, Whole, check_fields, declared
from cranfield.settings import Samples as Resamples
from cranfield.wording import listed, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMED_PARTS = {"run": "runs", "measure": "measures", "query": "queries"}  # that most results have

Measures = str | Measure | Sequence[str | Measure]
Progress = Callable[[int, int], None]
OF_COLLECTION = ("rel", "nil", "full_length")  # settings that a collection may have
EXAMPLES = re.compile(r"\s::\n\n")  # what is before the commands of a docstring
HIGH = 0.8  # the agreement that Hui et al. (ICTIR 2017) consider high

# The inputs of studies.
INPUTS = {
    "qrels": "The judgments, or a `Collection`: its level, its documents and its id for no answer count, too.",
    "runs": "The runs, as `evaluate` takes them.",
    "measures": "The measures.",
    "corpus": "The documents, for measures that read their text.",
    "nil": "The document id that stands for no answer.",
    "undefined": "How a query counts on which a measure is undefined, as in `evaluate`.",
    "standardise": "How to standardise scores by query before they are compared; by default they are not.",
    "seed": "The random seed.",
    "progress": "A function that is called with the number of steps done, and of all steps.",
}

# Settings of several studies.
Coefficient = Annotated[str, Choices(tuple(COEFFICIENTS)), "Correlation coefficient for comparing two orders of runs."]
Threshold = Annotated[Chance, "Agreement that counts as high."]
Samples = Annotated[Resamples, "Number of resamples per test."]
Repeats = Annotated[Count, "Number of random subsets of each size."]
Relevant = Annotated[Positive, "Lowest relevant grade.", Option(metavar="GRADE")]
Variants = Annotated[Whole, "With a single RUN: add N simulated runs that rerank its documents."]


class Preset(NamedTuple):
    """The measures of a published experiment, and how many of the best runs by which measure it studied."""

    measures: tuple[str, ...]
    top: int
    by: str


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


class Study:
    """The settings of a study. ``run`` takes judgments and runs first, and what else is studied by name.

    If ``runs`` may be left out, scores can take the place of judgments. ``PAPER``: what --paper stands for.
    """

    PAPER: ClassVar[Preset | None] = None

    def __post_init__(self) -> None:
        check_fields(self)

    def run(self, *given: Any, **inputs: Any) -> StudyResult:
        """Do the study."""
        raise NotImplementedError

    def _ascending(self, name: str) -> tuple[int, ...]:
        """The distinct numbers of a setting in ascending order; raises if there are none."""
        if not (numbers := getattr(self, name)):
            raise UsageError(f"{name} must have at least one number")
        return tuple(sorted(set(numbers)))

    @classmethod
    def name(cls) -> str:
        """The name of the study: that of its module and its command."""
        return cls.__name__.lower()

    @classmethod
    def takes_scores(cls) -> bool:
        """Whether scores can take the place of judgments and runs."""
        runs = signature(cls.run).parameters.get("runs")
        return runs is not None and runs.default is None


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

    @property
    def symbol(self) -> str:
        """The symbol of the correlation coefficient, in studies that have one."""
        return COEFFICIENTS[self.settings.coefficient].symbol

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

    @classmethod
    def takes_several(cls) -> bool:
        """Whether the study takes several collections: whether it has tables of their mean."""
        return any("mean_pages" in vars(base) for base in cls.__mro__ if base is not StudyResult)

    def write(self, format: str = "table", *, digits: int = 4, width: int = 80, colour: bool = False) -> str:
        """The tables as text in one of the formats of `report.pages`, ending in a newline."""
        return write(self.pages(digits), self.to_dict(), format, width=width, colour=colour)

    def plot(self, figure: str | None = None) -> list[Axes]:
        """Draw a figure of the study, by default the first; returns its Matplotlib axes.

        The figures have the names of the files that ``cranfield study --figures`` writes; the error for an unknown name
        lists them.
        """
        drawings = self._figures()
        if figure is not None and figure not in drawings:
            raise UnknownName(f"`{figure}` is not one of the figures", hint=f"the figures are {', '.join(drawings)}")
        return canvas.plotted(drawings[figure or next(iter(drawings))]).axes

    def save_figures(self, folder: PathLike) -> list[Path]:
        """Draw all figures into a folder; returns the files written."""
        return canvas.save_all(self._figures(), str(folder))

    def _figures(self) -> canvas.Drawings:
        if not (drawings := self.drawings()):
            raise UsageError(f"the study `{self.study}` has no figures", hint="leave out --figures")
        return drawings

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
        result = kind._of_fields(data)
        return result._with_provenance(Provenance.of_file(data))

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
    def settings(self) -> Any:
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
    study: type[Study] = getattr(import_module(f"cranfield.lab.studies.{name}"), name.capitalize())
    return study


def result_class(name: str) -> type[StudyResult]:
    """The class of the results of a study."""
    result: type[StudyResult] = get_type_hints(study_class(name).run)["return"]
    return result


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
    hints = get_type_hints(study.run, include_extras=True) | get_type_hints(study, include_extras=True)
    experiment.__name__ = experiment.__qualname__ = name
    experiment.__annotations__ = hints
    experiment.__signature__ = signature(study.run).replace(parameters=[*inputs, *by_name])  # type: ignore[attr-defined]
    experiment.__doc__ = _documentation(study, declared(experiment))
    return experiment


def _documentation(study: type[Study], parameters: Mapping[str, Field]) -> str:
    """The docstring of the function of a study: what it does, its parameters, and its result."""
    text, *commands = EXAMPLES.split(cleandoc(study.__doc__ or ""), maxsplit=1)
    text, prompt, session = text.partition(">>> ")
    result = result_class(study.name())
    helps = {name: INPUTS.get(name) or field.type.help for name, field in parameters.items()}
    described = [f"{name}\n{indent(fill(help, 100), '    ')}" if help else name for name, help in helps.items()]
    sections = {
        "Parameters": "\n".join(described),
        "Returns": f"{result.__name__}\n{indent(cleandoc(result.__doc__ or ''), '    ')}",
        "Examples": f"On the command line::\n\n{commands[0]}" if commands else f"{prompt}{session}",
    }
    titled = [f"{title}\n{'-' * len(title)}\n{content}" for title, content in sections.items() if content]
    return "\n\n".join([text.rstrip(), *titled])


def run_study(study: Study, *given: Any, **inputs: Any) -> StudyResult:
    """Run a study; its result knows what it was computed from.

    If it needs runs, scores in place of judgments are an error that says so.
    """
    bound = signature(study.run).bind_partial(*given, **inputs)
    arguments = bound.arguments
    qrels, runs = arguments.get("qrels"), arguments.get("runs", ())
    if not study.takes_scores():
        check_rankings(qrels, f"the study `{study.name()}`")
    if qrels is not None and not isinstance(qrels, Scores):
        qrels = bound.arguments["qrels"] = studied(qrels)
        # What the collection says, unless the settings say otherwise.
        own = [field for field in fields(study) if field.name in OF_COLLECTION]  # type: ignore[arg-type]
        own = [field for field in own if getattr(study, field.name) == field.default]
        study = replace(study, **{field.name: getattr(qrels, field.name) for field in own})  # type: ignore[type-var]
    several = list(runs.values()) if is_mapping_of_runs(runs) else runs if is_list_of_runs(runs) else [runs]
    sources = [Source.of("documents", arguments["corpus"])] if arguments.get("corpus") is not None else []
    files = [Source.of("run", run.source_name if isinstance(run, Run) else run) for run in several if qrels is not None]
    result = study.run(*bound.args, **bound.kwargs)
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


# Several collections, such as years of a track.

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


def run_on_collections(
    study: str,
    collections: Sequence[CollectionFiles | PathLike],
    *,
    experiment: Callable[..., StudyResult] | None = None,
    corpus: Any = None,
    **settings: Any,
) -> SeveralCollections:
    """Run a study on each of several collections.

    Parameters
    ----------
    study
        The name of the study.
    collections
        Folders with judgments, a folder ``runs`` and perhaps documents; or `CollectionFiles`.
    experiment
        A function to run in place of that of the study.
    corpus
        The documents of collections that have none of their own.
    settings
        The settings of the study, and its measures.

    Returns
    -------
    SeveralCollections
        The result of each collection, with the tables of the mean.

    Examples
    --------
    >>> run_on_collections("power", ["web2011", "web2012"], measures=["AP"])  # doctest: +SKIP
    """
    if not result_class(study).takes_several():
        raise UsageError(
            f"the study `{study}` takes one collection: its results have no mean over collections",
            hint="run it on each collection",
        )
    parts = [entry if isinstance(entry, CollectionFiles) else CollectionFiles.of(entry) for entry in collections]
    reads_documents = "corpus" in signature(study_class(study).run).parameters

    def run(entry: CollectionFiles) -> StudyResult:
        documents = {"corpus": corpus if entry.corpus is None else entry.corpus} if reads_documents else {}
        return (experiment or function_of(study))(entry.qrels, entry.runs, **documents, **settings)

    names = unique_names([entry.name for entry in parts], [str(entry.qrels) for entry in parts])
    results = {name: run(entry) for name, entry in zip(names, parts, strict=True)}
    origins = {name: result.provenance for name, result in results.items()}
    return SeveralCollections(results)._with_provenance(Provenance.of_several(origins))


def mean_of(values: list[Floats]) -> Floats:
    """The mean over collections, without those where a value is undefined; NaN if it is undefined for all.

    >>> mean_of([np.array([1.0, np.nan, np.nan]), np.array([0.5, 0.25, np.nan])]).tolist()
    [0.75, 0.25, nan]
    """
    mean: Floats = np.ma.masked_invalid(np.stack(values)).mean(axis=0).filled(np.nan)
    return mean


def averaged(results: Sequence[Any], equal: Sequence[str], means: Sequence[str], sums: Sequence[str] = ()) -> Any:
    """The results as one, with means and sums over collections of some fields; others must be ``alike``."""
    check_alike(results, *equal)
    values = {name: mean_of([getattr(result, name) for result in results]) for name in means}
    values |= {name: np.sum([getattr(result, name) for result in results], axis=0) for name in sums}
    return replace(results[0], **values)


def check_alike(results: Sequence[Any], *fields: str) -> None:
    """Raise if results that are to be averaged differ in one of these fields."""
    for field in fields:
        first, *others = (getattr(result, field) for result in results)
        for other in others:
            if other != first:
                raise InputError(
                    [f"the results differ in their {field}, so that they have no mean: {first} and {other}"]
                )
