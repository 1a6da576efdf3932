"""The same runs on several collections: scores whose means are those over the means of the collections."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.data import Repeats
from cranfield.errors import UsageError
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.notes import Note, sentences
from cranfield.evaluation.provenance import Provenance
from cranfield.evaluation.scores import COLLECTION, Scores
from cranfield.wording import few


def evaluate_each(
    collections: Mapping[str, Any],
    runs: Any,
    evaluate: Callable[[Collection, Any, Sequence[str] | None], Scores],
    missing: str,
) -> Scores:
    """The scores of runs, ``{run: {collection: run}}``, on each collection, put together."""
    table = _by_collection(runs, collections)
    lacking = [(run, name) for run, of_run in table.items() for name in collections if name not in of_run]
    if lacking and missing == "error":
        run, name = lacking[0]
        more = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
        raise UsageError(
            f"run `{run}` has no ranking for the collection `{name}`{more}",
            hint='add it, or use missing="skip" to average over the collections that a run has',
        )
    parts = {}
    for name, collection in collections.items():
        here = {run: of_run[name] for run, of_run in table.items() if name in of_run}
        if here:
            parts[name] = evaluate(Collection.of(collection), list(here.values()), list(here))
    return together(parts, tuple(table))


def _by_collection(runs: Any, collections: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    if not isinstance(runs, Mapping) or not runs:
        raise UsageError(
            f"with several collections, runs are {{run: {{collection: run}}}}, not {type(runs).__name__}",
            hint=f"the collections are {few(list(collections), 10)}",
        )
    table = {}
    for run, given in runs.items():
        of_run = given
        if isinstance(given, Repeats) and all(isinstance(one, Mapping) for one in given.runs):
            names = dict.fromkeys(name for one in given.runs for name in one)
            of_run = {name: Repeats([one[name] for one in given.runs if name in one]) for name in names}
        if not isinstance(of_run, Mapping) or not of_run.keys() <= collections.keys():
            unknown = [str(name) for name in of_run if name not in collections] if isinstance(of_run, Mapping) else []
            found = f"the unknown collection `{unknown[0]}`" if unknown else type(given).__name__
            raise UsageError(
                f"run `{run}`: expected {{collection: run}}, found {found}",
                hint=f"the collections are {few(list(collections), 10)}",
            )
        table[str(run)] = dict(of_run)
    return table


def together(parts: Mapping[str, Scores], runs: tuple[str, ...]) -> Scores:
    """The scores of all collections; the id of a query begins with the name of its collection."""
    first = next(iter(parts.values()))
    queries = [f"{name}/{query}" for name, part in parts.items() for query in part.queries]
    shape = len(runs), len(first.columns), len(queries)
    values, counted = np.full(shape, np.nan), np.zeros((shape[0], shape[2]), bool)
    repeats = {run: _repeats(run, parts, shape) for run in runs if any(run in part.repeats for part in parts.values())}
    attributes: dict[str, dict[str, str]] = {}
    begin = 0
    for name, part in parts.items():
        end = begin + len(part.queries)
        rows = [runs.index(run) for run in part.runs]
        values[rows, :, begin:end], counted[rows, begin:end] = part.values, part.counted
        for run, table in part.repeats.items():
            repeats[run][:, begin:end] = table
        for query in part.queries:
            attributes[f"{name}/{query}"] = {**part.attributes.get(query, {}), COLLECTION: name}
        begin = end
    notes = [Note.saved(f"{name}: {text}") for name, part in parts.items() for text in sentences(part.notes)]
    return replace(
        first,
        runs=runs,
        queries=tuple(queries),
        values=values,
        counted=counted,
        notes=tuple(notes),
        attributes=attributes,
        repeats=repeats,
        by_collection=True,
        provenance=Provenance.of_several({name: part.provenance for name, part in parts.items()}),
    )


def _repeats(run: str, parts: Mapping[str, Scores], shape: tuple[int, int, int]) -> Any:
    numbers = {
        name: part.repeats[run].shape[2] if run in part.repeats else 1
        for name, part in parts.items()
        if run in part.runs
    }
    if len(set(numbers.values())) > 1:
        found = ", ".join(f"{name} {number}" for name, number in numbers.items())
        raise UsageError(f"run `{run}` has other numbers of repeats in other collections: {found}")
    return np.full((shape[1], shape[2], next(iter(numbers.values()))), np.nan)
