"""Test collections made up at random, of any size, with everything known that is hidden in real ones.

Which documents are relevant to which subtopic, how good each system is, what assessors never saw: a way to try
measures and experiments where the right answer is known. The same numbers give the same files on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cranfield.arguments import whole
from cranfield.data import Floats, Integers, Judgments, Labels, Run, Strings, Table
from cranfield.errors import UsageError
from cranfield.simulation.collection import World, world
from cranfield.simulation.systems import System, rankings
from cranfield.simulation.systems import systems as made_systems
from cranfield.simulation.texts import Language

__all__ = ["Simulation", "System", "simulate"]

MOST_NOISE = 1000
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Settings:
    """All that a simulation follows from."""

    queries: int
    systems: int
    documents: int
    subtopics: int
    relevant: int
    grades: int
    depth: int
    pool_depth: int
    ties: float
    truncate: float
    noise: float
    spread: float
    words: int
    vocabulary: int
    seed: int


@dataclass(frozen=True, eq=False)
class Simulation:
    """A collection with its systems and the truth about both.

    ``runs`` and ``judgments`` are what `evaluate` takes; the judgments are by subtopic, of what the pool held.
    ``complete`` has judgments of everything that any system could find. ``texts`` maps every document to its words,
    ``queries`` every query to its. ``systems`` says how good each is; ``truth`` is all that is known, as plain data.
    """

    settings: Settings
    runs: tuple[Run, ...]
    judgments: Judgments
    complete: Judgments
    systems: tuple[System, ...]
    language: Language

    @property
    def texts(self) -> dict[str, str]:
        return self.language.mapping

    @cached_property
    def queries(self) -> dict[str, str]:
        return {name: self.language.query(q) for q, name in enumerate(self.language.world.queries)}

    @cached_property
    def truth(self) -> dict[str, Any]:
        """The settings, the systems from best to worst, and how much is relevant to every subtopic."""
        there = self.language.world
        found = (there.grade > 0).sum(axis=1)
        names = [str(s + 1) for s in range(found.shape[1])]
        best = sorted(self.systems, key=lambda system: -system.quality)
        return {
            "settings": asdict(self.settings),
            "systems": {s.name: {k: v for k, v in asdict(s).items() if k != "name"} for s in best},
            "relevant": {
                query: dict(zip(names, found[q].tolist(), strict=True)) for q, query in enumerate(there.queries)
            },
        }


def simulate(
    *,
    queries: int = 50,
    systems: int = 20,
    documents: int = 5000,
    subtopics: int = 4,
    relevant: int = 15,
    grades: int = 3,
    depth: int = 200,
    pool_depth: int = 20,
    ties: float = 0.0,
    truncate: float = 0.0,
    noise: float = 1.0,
    spread: float = 1.0,
    words: int = 120,
    vocabulary: int = 8000,
    seed: int = 0,
    progress: Progress | None = None,
) -> Simulation:
    """A test collection made up at random: systems of known quality, subtopics, texts, judgments from a pool.

    Every query has ``subtopics``, popular ones first, and about ``relevant`` documents, each of a grade from 1 to
    ``grades`` for the subtopics that it is about. Systems rank ``depth`` documents; what any of them has in its first
    ``pool_depth`` is judged. ``ties`` and ``truncate`` are the shares of systems with few different scores, and with
    lists that stop early. ``noise`` is how much chance there is in scores, ``spread`` how far apart
    systems are in quality, 0 for all alike. Texts have about ``words`` words out of a ``vocabulary``.

    >>> import cranfield as cf
    >>> made = cf.simulate(queries=5, systems=3, documents=500, seed=1)
    >>> scores = cf.evaluate(made.judgments, made.runs, ["AP", "alpha_nDCG@20"])
    >>> scores.runs, scores.values.shape
    (('s1', 's2', 's3'), (3, 2, 5))
    """
    given = Settings(
        queries, systems, documents, subtopics, relevant, grades, depth, pool_depth, ties, truncate, noise, spread,
        words, vocabulary, seed,
    )  # fmt: skip
    _check(given)
    there = world(queries, documents, subtopics, relevant, grades, seed)
    made = made_systems(systems, spread, ties, truncate, seed)
    lists: list[tuple[Integers, Floats, Integers]] = []
    for query in range(queries):
        lists.append(rankings(there, made, query, depth, noise, seed))
        if progress is not None:
            progress(query + 1, queries)
    number = min(documents, max(2 * depth, there.grade.shape[1] + there.near))
    return Simulation(
        given,
        tuple(_run(there, lists, s, system.name) for s, system in enumerate(made)),
        _judged(there, [_pooled(found, ends, pool_depth) for found, _, ends in lists], "qrels"),
        _judged(there, [np.sort(there.candidates(q, number)) for q in range(queries)], "complete"),
        made,
        Language(there, vocabulary, words, seed),
    )


def _check(given: Settings) -> None:
    for name, value in asdict(given).items():
        if name in ("ties", "truncate", "noise", "spread"):
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            high = MOST_NOISE if name == "noise" else 1
            if not number or not 0 <= value <= high:
                raise UsageError(f"{name} must be a number from 0 to {high}, not {value!r}")
        else:
            whole(name, value, int(name != "seed"))


def _pooled(found: Integers, ends: Integers, depth: int) -> Integers:
    """What any system has among its first documents."""
    shown = np.arange(found.shape[1]) < np.minimum(ends, depth)[:, None]
    return np.unique(found[shown])


def _judged(there: World, documents: list[Integers], name: str) -> Judgments:
    """Judgments of these documents of each query, for every subtopic."""
    subtopics = len(there.popularity)
    counts = [len(some) for some in documents]
    rows = np.concatenate(documents)
    query = np.repeat(np.arange(len(documents)), counts)
    place = rows - query * there.share
    own = (place >= 0) & (place < there.grade.shape[1])
    grade = np.where(own[:, None], there.grade[query, np.where(own, place, 0)], 0.0)
    document = np.repeat(np.arange(len(rows)), subtopics)
    labels = Labels(
        document,
        np.tile(np.arange(subtopics), len(rows)),
        grade.reshape(-1),
        Strings.of([str(s + 1) for s in range(subtopics)]),
    )
    begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Judgments(name, there.queries, begin, there.documents.take(rows), grade.max(axis=1), labels)


def _run(there: World, lists: list[tuple[Integers, Floats, Integers]], system: int, name: str) -> Run:
    ends = [int(end[system]) for _, _, end in lists]
    document = np.concatenate([found[system, :end] for (found, _, _), end in zip(lists, ends, strict=True)])
    score = np.concatenate([scores[system, :end] for (_, scores, _), end in zip(lists, ends, strict=True)])
    query = there.queries.take(np.repeat(np.arange(len(lists)), ends))
    return Run(name, Table(query, there.documents.take(document), score))
