"""Simulated test collections of any size, with known ground truth.

The relevance of every document to every subtopic and the quality of every system are known, so that measures and
experiments can be checked against them. The same settings give the same files on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cranfield.data import Booleans, Integers, Judgments, Labels, Run, Strings, Table
from cranfield.errors import UsageError, check_count
from cranfield.simulation.collection import Collection, make_collection
from cranfield.simulation.systems import Lists, System, before_nil, make_systems, rankings, standing_out
from cranfield.simulation.texts import TextModel
from cranfield.wording import plural

__all__ = ["Simulation", "System", "simulate"]

MAX_NOISE = 1000
NIL = "NIL"  # the document with which a system says that there is no answer, or no other
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class SimulationSettings:
    """The settings that determine a simulation."""

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
    nil: float = 0.0
    nil_answers: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """The settings by name; ``nil`` and ``nil_answers`` only if they are not 0."""
        return {name: value for name, value in asdict(self).items() if value or not name.startswith("nil")}


@dataclass(frozen=True, eq=False)
class Simulation:
    """A collection with runs, judgments and ground truth.

    ``runs`` and ``judgments`` are input for `evaluate`; the judgments are by subtopic and cover the pool. ``complete``
    covers all documents that any system can retrieve. ``texts`` maps document ids to texts, ``queries`` query ids to
    texts. ``systems`` holds the quality of each system; ``truth`` is the ground truth as plain data.
    """

    settings: SimulationSettings
    runs: tuple[Run, ...]
    judgments: Judgments
    complete: Judgments
    systems: tuple[System, ...]
    text_model: TextModel

    def __repr__(self) -> str:
        return f"Simulation: {plural(len(self.runs), 'run')}, {self.judgments!r}"

    @property
    def texts(self) -> dict[str, str]:
        return self.text_model.texts_by_id

    @cached_property
    def queries(self) -> dict[str, str]:
        return {name: self.text_model.query(q) for q, name in enumerate(self.text_model.collection.queries)}

    @cached_property
    def truth(self) -> dict[str, Any]:
        """The settings, the systems from best to worst, and the number of relevant documents of every subtopic."""
        collection = self.text_model.collection
        counts = (collection.grade > 0).sum(axis=1)
        names = [str(s + 1) for s in range(counts.shape[1])]
        best = sorted(self.systems, key=lambda system: -system.quality)
        return {
            "settings": self.settings.to_dict(),
            "systems": {s.name: {k: v for k, v in asdict(s).items() if k != "name"} for s in best},
            "relevant": {
                query: dict(zip(names, counts[q].tolist(), strict=True)) for q, query in enumerate(collection.queries)
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
    nil: float = 0.0,
    nil_answers: float = 0.0,
    progress: Progress | None = None,
) -> Simulation:
    """Simulate a test collection: systems of known quality, subtopics, texts, and judgments from a pool.

    Every query has ``subtopics``, the most popular first, and about ``relevant`` relevant documents, with grades from 1
    to ``grades`` for their subtopics. Systems rank ``depth`` documents; the first ``pool_depth`` of each are judged.
    ``ties`` and ``truncate`` are the shares of systems with few distinct scores, and with lists that end early.
    ``noise`` is the amount of noise in scores, ``spread`` the range of system quality, 0 for equal systems. Texts have
    about ``words`` words out of a ``vocabulary``. ``nil`` is the share of queries without relevant documents; systems
    that end their lists early may then return empty ones. ``nil_answers`` is the share of each system's lists that end
    in the document ``NIL``: those whose best score is lowest, after the documents that stand out from the noise.

    >>> import cranfield as cf
    >>> simulation = cf.simulate(queries=5, systems=3, documents=500, seed=1)
    >>> scores = cf.evaluate(simulation.judgments, simulation.runs, ["AP", "alpha_nDCG@20"])
    >>> scores.runs, scores.values.shape
    (('s1', 's2', 's3'), (3, 2, 5))
    """
    settings = SimulationSettings(
        queries, systems, documents, subtopics, relevant, grades, depth, pool_depth, ties, truncate, noise, spread,
        words, vocabulary, seed, nil, nil_answers,
    )  # fmt: skip
    _check(settings)
    collection = make_collection(queries, documents, subtopics, relevant, grades, seed, nil)
    simulated = make_systems(systems, spread, ties, truncate, seed)
    lists: list[Lists] = []
    for query in range(queries):
        lists.append(rankings(collection, simulated, query, depth, noise, seed, silence=nil > 0))
        if progress is not None:
            progress(query + 1, queries)
    number = min(documents, max(2 * depth, collection.grade.shape[1] + collection.near))
    nil_after = before_nil(lists, standing_out(simulated, noise, number), nil_answers)
    lists = [(*of[:2], np.where(cut < 0, of[2], cut)) for of, cut in zip(lists, nil_after, strict=True)]
    return Simulation(
        settings,
        tuple(_run(collection, lists, s, system.name, nil_after[:, s] >= 0) for s, system in enumerate(simulated)),
        _judge(collection, [_pool(documents, ends, pool_depth) for documents, _, ends in lists], "qrels"),
        _judge(collection, [np.sort(collection.candidates(q, number)) for q in range(queries)], "complete"),
        simulated,
        TextModel(collection, vocabulary, words, seed),
    )


def _check(settings: SimulationSettings) -> None:
    for name, value in asdict(settings).items():
        if name in ("ties", "truncate", "noise", "spread", "nil", "nil_answers"):
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            high = MAX_NOISE if name == "noise" else 1
            if not number or not 0 <= value <= high:
                raise UsageError(f"{name} must be a number from 0 to {high}, not {value!r}")
        else:
            check_count(name, value, int(name != "seed"))


def _pool(documents: Integers, ends: Integers, depth: int) -> Integers:
    """The documents in the first ranks of any system; one document if all lists are empty."""
    pooled = np.arange(documents.shape[1]) < np.minimum(ends, depth)[:, None]
    return np.unique(documents[pooled]) if pooled.any() else documents[0, :1]


def _judge(collection: Collection, documents: list[Integers], name: str) -> Judgments:
    """Judgments of the given documents of each query, for every subtopic."""
    subtopics = len(collection.popularity)
    counts = [len(rows) for rows in documents]
    rows = np.concatenate(documents)
    query = np.repeat(np.arange(len(documents)), counts)
    position = rows - query * collection.block
    own = (position >= 0) & (position < collection.grade.shape[1])
    grade = np.where(own[:, None], collection.grade[query, np.where(own, position, 0)], 0.0)
    document = np.repeat(np.arange(len(rows)), subtopics)
    labels = Labels(
        document,
        np.tile(np.arange(subtopics), len(rows)),
        grade.reshape(-1),
        Strings.of([str(s + 1) for s in range(subtopics)]),
    )
    begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Judgments(name, collection.queries, begin, collection.documents.take(rows), grade.max(axis=1), labels)


def _run(collection: Collection, lists: list[Lists], system: int, name: str, nil: Booleans) -> Run:
    """The lists of one system; ``nil``: those that end in NIL, with a whole number below all scores of the list."""
    ends = np.array([end[system] for _, _, end in lists])
    document = [documents[system, :end] for (documents, _, _), end in zip(lists, ends, strict=True)]
    score = [scores[system, :end] for (_, scores, _), end in zip(lists, ends, strict=True)]
    names = collection.documents
    if nil.any():
        names = Strings.concatenate([names, Strings.of([NIL])])
        for q in np.flatnonzero(nil):
            document[q] = np.append(document[q], len(names) - 1)
            score[q] = np.append(score[q], np.floor(lists[q][1][system, ends[q]]) - 1)
    query = collection.queries.take(np.repeat(np.arange(len(lists)), ends + nil))
    return Run(name, Table(query, names.take(np.concatenate(document)), np.concatenate(score)))
