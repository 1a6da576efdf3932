"""Simulated systems on real documents: rerankings of one run, of known quality.

For collections with a single run. Documents, texts and judgments are real; how well a simulated system separates
relevant documents from others is drawn as in a simulation, with the judgments as ground truth.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from cranfield.data import Floats, Judgments, Run, Strings, Table
from cranfield.errors import UsageError, check_count
from cranfield.io import load
from cranfield.io.duplicates import codes_of
from cranfield.simulation.random_numbers import RandomStream
from cranfield.simulation.systems import System, make_systems, match_scores, noisy_scores

ORDERS = 7  # a purpose of random numbers


def variants(
    run: Run, judgments: Judgments, number: int = 20, *, spread: float = 1.0, noise: float = 1.0, seed: int = 0
) -> tuple[tuple[Run, ...], tuple[System, ...]]:
    """Rerankings of a run for the judged queries, and the simulated systems that made them.

    >>> from cranfield.io import read_qrels, read_run
    >>> run = read_run({"q": {"a": 2.0, "b": 1.0}})
    >>> runs, systems = variants(run, read_qrels({"q": {"b": 1}}), 3)
    >>> [run.name for run in runs], sorted(round(system.quality, 2) for system in systems)
    (['v1', 'v2', 'v3'], [0.17, 0.5, 0.83])
    """
    systems = make_systems(check_count("number", number), spread, 0.0, 0.0, seed)
    table = load(run)
    names, query = codes_of(table.query)
    order = np.argsort(query, kind="stable")
    begin = np.searchsorted(query[order], np.arange(len(names) + 1))
    judged = {name: q for q, name in enumerate(judgments.queries)}
    rows, scores = [], []
    for name, (first, last) in zip(names, pairwise(begin.tolist()), strict=True):
        if name in judged:
            selected = order[first:last]
            stream = RandomStream(seed, ORDERS, judged[name])
            grade, popularity = _grades(judgments, judged[name], table.document.take(selected))
            matches = match_scores(systems, grade, popularity, stream)
            scores.append(np.rint(noisy_scores(systems, matches, noise, stream) * 1e4) / 1e4)
            rows.append(selected)
    if not rows:
        raise UsageError(f"{run.name} answers none of the judged queries; variants need at least one")
    kept, score = np.concatenate(rows), np.concatenate(scores, axis=1)
    columns = table.query.take(kept), table.document.take(kept)
    runs = tuple(Run(f"v{system.name[1:]}", Table(*columns, score[i])) for i, system in enumerate(systems))
    return runs, systems


def _grades(judgments: Judgments, query: int, documents: Strings) -> tuple[Floats, Floats]:
    """The grades of documents for each subtopic of a query, (document, subtopic), and the popularity of subtopics."""
    begin, end = (int(row) for row in judgments.begin[query : query + 2])
    labels = judgments.labels
    if labels is None:
        grade = np.maximum(judgments.grade[begin:end], 0)[:, None]
    else:
        selected = (labels.document >= begin) & (labels.document < end)
        subtopics, code = np.unique(labels.subtopic[selected], return_inverse=True)
        grade = np.zeros((end - begin, len(subtopics)))
        np.maximum.at(grade, (labels.document[selected] - begin, code), labels.grade[selected])
    row_of = {judgments.documents[row]: row - begin for row in range(begin, end)}
    rows = np.array([row_of.get(name, -1) for name in documents], np.int64)
    popularity = (grade > 0).sum(axis=0).astype(np.float64)
    return np.where(rows[:, None] < 0, 0.0, grade[rows]), popularity if popularity.any() else np.ones(grade.shape[1])
