"""Simulated systems: the better a system, the better its scores separate relevant documents from others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.simulation.collection import Collection
from cranfield.simulation.random_numbers import RandomStream

WEAKEST, STRONGEST = 0.8, 2.2  # distance between relevant and unrelated documents, in deviations of the noise
NEAR_MATCH, GRADE_MATCH = 0.4, 0.25  # the match of a near document, and the increase for each higher grade
LEAST_VISIBLE = 0.3  # the visibility of further subtopics to a system with breadth 0
SHARED_NOISE = 0.5  # the share of the noise that all systems have in common
TIE_STEP = 0.5  # scores of tied systems are multiples of this
STOP_SHARE = 0.5  # systems that stop do so below this share of the score of a relevant document
# A document stands out if its score is a share of the highest score that noise would give, and a share of the score of
# a relevant document. A system is silent if none does.
SILENT_NOISE, SILENT_SHARE = 0.75, 0.35

SYSTEMS, SCORES = 5, 6  # purposes of random numbers

Lists = tuple[Integers, Floats, Integers]  # of one query: documents and scores (system, rank), and lengths


@dataclass(frozen=True)
class System:
    """One system and its parameters.

    ``quality``: between 0 and 1, evenly spread over the systems. ``skill``: how well its scores separate relevant
    documents from others. ``breadth``: how well it retrieves subtopics other than the one it takes the query for.
    ``tied``: it has few distinct scores. ``stops``: it ends its lists early.
    """

    name: str
    quality: float
    skill: float
    breadth: float
    tied: bool
    stops: bool


def make_systems(number: int, spread: float, ties: float, truncate: float, seed: int) -> tuple[System, ...]:
    """Systems of evenly spread quality in random order; breadth is correlated with skill."""
    stream = RandomStream(seed, SYSTEMS)
    quality = 0.5 + spread * ((stream.permutation(number) + 0.5) / number - 0.5)
    breadth = np.clip(quality + 0.5 * (stream.uniform(number) - 0.5), 0, 1)
    tied = stream.permutation(number) < np.rint(ties * number)
    stops = stream.permutation(number) < np.rint(truncate * number)
    skill = WEAKEST + (STRONGEST - WEAKEST) * quality
    width = len(str(number))
    return tuple(
        System(
            f"s{i + 1:0{width}}", float(quality[i]), float(skill[i]), float(breadth[i]), bool(tied[i]), bool(stops[i])
        )
        for i in range(number)
    )


def match_scores(systems: tuple[System, ...], grade: Floats, popularity: Floats, stream: RandomStream) -> Floats:
    """The match of documents with grades (document, subtopic) for each system, (system, document), without noise."""
    # The subtopic that a system takes the query for; popular subtopics are more likely.
    first = stream.choose(popularity, len(systems))
    match = np.where(grade > 0, 1 + GRADE_MATCH * (grade - 1), 0.0)
    further = LEAST_VISIBLE + (1 - LEAST_VISIBLE) * np.array([[s.breadth] for s in systems])
    visible = np.where(first[:, None] == np.arange(len(popularity)), 1.0, further)
    matches: Floats = (visible[:, None, :] * match).max(axis=2)
    return matches


def noisy_scores(systems: tuple[System, ...], match: Floats, noise: float, stream: RandomStream) -> Floats:
    """The scores with noise, (system, document): the more skilled a system, the less effect noise has."""
    number = match.shape[1]
    shared, own = stream.normal((number,)), stream.normal((len(systems), number))
    error = np.sqrt(SHARED_NOISE) * shared + np.sqrt(1 - SHARED_NOISE) * own
    return np.array([[s.skill] for s in systems]) * match + noise * error


def standing_out(systems: tuple[System, ...], noise: float, number: int) -> Floats:
    """The score of each system from which a document stands out from the noise of ``number`` documents."""
    return SILENT_NOISE * noise * np.sqrt(2 * np.log(number)) + SILENT_SHARE * np.array([s.skill for s in systems])


def rankings(
    collection: Collection,
    systems: tuple[System, ...],
    query: int,
    depth: int,
    noise: float,
    seed: int,
    *,
    silence: bool = False,
) -> Lists:
    """The rankings of all systems for one query: documents and scores (system, rank), and the length of each list.

    ``silence``: whether systems that end lists early return an empty one if no document stands out from the noise.
    """
    stream = RandomStream(seed, SCORES, query)
    number = min(len(collection.documents), max(2 * depth, collection.grade.shape[1] + collection.near))
    tied, stops = np.array([[s.tied, s.stops] for s in systems]).T
    matches = match_scores(systems, collection.grade[query], collection.popularity, stream)
    relevant = int(collection.relevant[query])
    match = np.zeros((len(systems), number))
    match[:, relevant : relevant + collection.near] = NEAR_MATCH
    match[:, :relevant] = matches[:, :relevant]
    exact = noisy_scores(systems, match, noise, stream)
    score = np.where(tied[:, None], np.rint(exact / TIE_STEP) * TIE_STEP, np.rint(exact * 1e4) / 1e4)
    shuffled = stream.permutation(number)  # tied documents are in random order in the file
    order = shuffled[np.argsort(-score[:, shuffled], axis=1, kind="stable")][:, :depth]
    best = np.take_along_axis(score, order, axis=1)
    skill = np.array([s.skill for s in systems])
    lengths = np.clip((best >= STOP_SHARE * skill[:, None]).sum(axis=1), 1, order.shape[1])
    if silence:
        lengths = np.where(best[:, 0] < standing_out(systems, noise, number), 0, lengths)
    return (
        collection.candidates(query, number)[order],
        best,
        np.where(stops, lengths, order.shape[1]),
    )


def before_nil(lists: Sequence[Lists], limit: Floats, share: float) -> Integers:
    """The number of documents before NIL, (query, system); -1 for lists without it.

    Each system gives this share of its lists a NIL: those whose best score is lowest, after the documents whose score
    is at least the system's ``limit``. NIL has a rank within the depth.
    """
    best = np.array([scores[:, 0] for _, scores, _ in lists])
    outstanding = np.array([(scores >= limit[:, None]).sum(axis=1) for _, scores, _ in lists])
    lengths = np.array([ends for _, _, ends in lists])
    before = np.minimum(np.minimum(outstanding, lengths), lists[0][1].shape[1] - 1)
    chosen = np.zeros(best.shape, bool)
    order = np.argsort(best, axis=0, kind="stable")
    np.put_along_axis(chosen, order[: round(share * len(lists))], True, axis=0)
    return np.where(chosen, before, -1)
