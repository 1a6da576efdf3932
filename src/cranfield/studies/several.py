"""One study on several collections, such as the years of a track: a result for each, and tables of their mean."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from cranfield.data import Floats
from cranfield.errors import InputError
from cranfield.evaluation.evaluator import unique_names
from cranfield.studies import saving
from cranfield.wording import listed

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
class SeveralCollections(saving.StudyResult):
    """The results of one study, by the name of the collection."""

    study: str
    results: Mapping[str, saving.StudyResult]

    def __repr__(self) -> str:
        return f"{type(self).__name__}: study `{self.study}` on {listed(tuple(self.results), 'collection')}"

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """The notes of all results, with the names of their collections."""
        return tuple(f"{name}: {note}" for name, result in self.results.items() for note in result.notes)

    def to_dict(self) -> dict[str, Any]:
        """The complete results as plain data: what `save` writes and ``--format json`` prints."""
        return {
            "study": self.study,
            "version": saving.VERSION,
            "by_collection": {name: result.to_dict() for name, result in self.results.items()},
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SeveralCollections:
        """The results that `to_dict` returned."""
        from cranfield.studies.registry import Study

        result_class = Study(data["study"]).result_class
        saving.nonempty_keys(data["by_collection"])
        results = {name: result_class.from_dict(entry) for name, entry in data["by_collection"].items()}
        return cls(data["study"], results)


def run_on_collections(
    study: str,
    collections: Sequence[CollectionFiles | saving.PathLike],
    *,
    experiment: Callable[..., saving.StudyResult] | None = None,
    corpus: Any = None,
    **settings: Any,
) -> SeveralCollections:
    """Run a study on each collection, a folder or its files; ``corpus`` is for those without documents of their own.

    ``experiment``: a function to run instead of that of the study.
    """
    from cranfield.studies.registry import Study

    found = Study(study)
    found.require_several()
    parts = [entry if isinstance(entry, CollectionFiles) else CollectionFiles.of(entry) for entry in collections]
    reads_documents = "corpus" in signature(found.experiment).parameters

    def run(entry: CollectionFiles) -> saving.StudyResult:
        documents = {"corpus": corpus if entry.corpus is None else entry.corpus} if reads_documents else {}
        return (experiment or found.experiment)(entry.qrels, entry.runs, **documents, **settings)

    names = unique_names([entry.name for entry in parts], [str(entry.qrels) for entry in parts])
    return SeveralCollections(study, {name: run(entry) for name, entry in zip(names, parts, strict=True)})


def mean_of(values: list[Floats]) -> Floats:
    """The mean over collections, without those where a value is undefined; NaN if it is undefined for all.

    >>> mean_of([np.array([1.0, np.nan, np.nan]), np.array([0.5, 0.25, np.nan])]).tolist()
    [0.75, 0.25, nan]
    """
    mean: Floats = np.ma.masked_invalid(np.stack(values)).mean(axis=0).filled(np.nan)
    return mean


def check_alike(results: list[Any], *fields: str) -> None:
    """Raise if results that are to be averaged differ in one of these fields."""
    for field in fields:
        first, *others = (getattr(result, field) for result in results)
        for other in others:
            if other != first:
                raise InputError(
                    [f"the results differ in their {field}, so that they have no mean: {first} and {other}"]
                )
