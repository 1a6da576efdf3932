"""Systems made up over real documents: what one run has found, in other orders of known quality.

For collections that come with the answers of one system only. Documents, texts and judgments are real; how well a
made-up system tells relevant documents from others is drawn as in a simulation, with the judgments as the truth.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from cranfield.arguments import whole
from cranfield.data import Floats, Judgments, Run, Strings, Table
from cranfield.errors import UsageError
from cranfield.formats import load
from cranfield.formats.repeats import codes_of
from cranfield.simulation.random_numbers import Chance
from cranfield.simulation.systems import System, appearance, impression, systems

ORDERS = 7  # a purpose of random numbers


def variants(
    run: Run, judgments: Judgments, number: int = 20, *, spread: float = 1.0, noise: float = 1.0, seed: int = 0
) -> tuple[tuple[Run, ...], tuple[System, ...]]:
    """So many orders of what a run has found for the judged queries, and how good each of these systems is.

    >>> from cranfield.formats import read_qrels, read_run
    >>> run = read_run({"q": {"a": 2.0, "b": 1.0}})
    >>> made, systems = variants(run, read_qrels({"q": {"b": 1}}), 3)
    >>> [one.name for one in made], sorted(round(one.quality, 2) for one in systems)
    (['v1', 'v2', 'v3'], [0.17, 0.5, 0.83])
    """
    made = systems(whole("number", number), spread, 0.0, 0.0, seed)
    table = load(run)
    names, query = codes_of(table.query)
    order = np.argsort(query, kind="stable")
    begin = np.searchsorted(query[order], np.arange(len(names) + 1))
    judged = {name: q for q, name in enumerate(judgments.queries)}
    rows, scores = [], []
    for name, (first, last) in zip(names, pairwise(begin.tolist()), strict=True):
        if name in judged:
            mine = order[first:last]
            chance = Chance(seed, ORDERS, judged[name])
            grade, popularity = _grades(judgments, judged[name], table.document.take(mine))
            seen = appearance(made, grade, popularity, chance)
            scores.append(np.rint(impression(made, seen, noise, chance) * 1e4) / 1e4)
            rows.append(mine)
    if not rows:
        raise UsageError(f"{run.name} answers none of the judged queries: there is nothing to make variants of")
    kept, score = np.concatenate(rows), np.concatenate(scores, axis=1)
    columns = table.query.take(kept), table.document.take(kept)
    found = tuple(Run(f"v{one.name[1:]}", Table(*columns, score[i])) for i, one in enumerate(made))
    return found, made


def _grades(judgments: Judgments, query: int, documents: Strings) -> tuple[Floats, Floats]:
    """What documents are judged for each subtopic of a query, (document, subtopic), and how much is relevant to it."""
    begin, end = (int(row) for row in judgments.begin[query : query + 2])
    labels = judgments.labels
    if labels is None:
        known = np.maximum(judgments.grade[begin:end], 0)[:, None]
    else:
        mine = (labels.document >= begin) & (labels.document < end)
        subtopics, code = np.unique(labels.subtopic[mine], return_inverse=True)
        known = np.zeros((end - begin, len(subtopics)))
        np.maximum.at(known, (labels.document[mine] - begin, code), labels.grade[mine])
    place = {judgments.documents[row]: row - begin for row in range(begin, end)}
    at = np.array([place.get(name, -1) for name in documents], np.int64)
    popularity = (known > 0).sum(axis=0).astype(np.float64)
    return np.where(at[:, None] < 0, 0.0, known[at]), popularity if popularity.any() else np.ones(known.shape[1])
