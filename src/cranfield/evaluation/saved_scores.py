"""Saved scores: one JSON file with a version number, for a baseline that outlives its run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.data import Floats
from cranfield.errors import check_choice
from cranfield.evaluation.columns import Column
from cranfield.evaluation.notes import Note
from cranfield.evaluation.policy import UNDEFINED

if TYPE_CHECKING:
    from cranfield.evaluation.scores import Scores
    from cranfield.io.saved_results import PathLike

KIND = "scores"
VERSION = 1
HINT = "save scores with `cranfield eval ... --format json -o FILE` or `scores.save(FILE)`"


def header(scores: Scores) -> dict[str, Any]:
    """What a file of scores says besides the scores: its version, and how to read the rest."""
    return {
        "kind": KIND,
        "version": VERSION,
        "undefined": scores.undefined,
        "queries": list(scores.queries),
        "measures": {c.label: {"measure": str(c.measure), "part": c.part} for c in scores.columns},
    }


def load_scores(path: PathLike) -> Scores:
    """Read the scores that `Scores.save` or ``cranfield eval --format json`` wrote.

    Values and means are the same to the last digit. Notes become plain sentences.
    """
    from cranfield.evaluation.scores import Scores
    from cranfield.io.saved_results import saved_result

    with saved_result(path, KIND, VERSION, what="a file of scores", hint=HINT) as data:
        check_choice("undefined", data["undefined"], UNDEFINED)
        columns = tuple(_column(label, record) for label, record in data["measures"].items())
        queries, runs = tuple(map(str, data["queries"])), tuple(data["runs"])
        values, counted = _values(data["runs"], [column.label for column in columns], queries)
        notes = tuple(Note("saved", values={"text": str(text)}) for text in data["notes"])
        return Scores(runs, columns, queries, values, counted, data["undefined"], notes)


def _column(label: str, record: Mapping[str, Any]) -> Column:
    from cranfield.measures import parse

    return Column(parse(record["measure"]), record["part"], label)


def _values(
    runs: Mapping[str, Any], labels: list[str], queries: tuple[str, ...]
) -> tuple[Floats, np.ndarray[Any, np.dtype[np.bool_]]]:
    """The values (run, column, query), and which queries count for each run."""
    index = {query: q for q, query in enumerate(queries)}
    values = np.full((len(runs), len(labels), len(queries)), np.nan)
    counted = np.zeros((len(runs), len(queries)), bool)
    for r, measures in enumerate(runs.values()):
        for m, label in enumerate(labels):
            by_query = measures[label]["queries"]
            at = [index[query] for query in by_query]
            values[r, m, at] = [np.nan if value is None else float(value) for value in by_query.values()]
            if m and counted[r].sum() != len(at):
                raise ValueError(f"{label} has other queries than {labels[0]}")
            counted[r, at] = True
    return values, counted
