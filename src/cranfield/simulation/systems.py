"""Simulated systems: the better one is, the more its scores tell relevant documents from others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.simulation.collection import World
from cranfield.simulation.random_numbers import Chance

WEAKEST, STRONGEST = 0.8, 2.2  # how many deviations of the noise lie between a relevant document and one of no topic
NEAR, BETTER = 0.4, 0.25  # how relevant a near document looks, and how much more so each higher grade
NARROW = 0.3  # how visible the subtopics that it does not see first are to a system without any breadth
COMMON = 0.5  # the share of the noise that all systems have in common: what is hard for one is hard for others
COARSE = 0.5  # scores of tied systems are multiples of this
ENOUGH = 0.5  # systems that stop, do where a document looks like less than this share of a relevant one

SYSTEMS, SCORES = 5, 6  # purposes of random numbers


@dataclass(frozen=True)
class System:
    """One system and what makes it good.

    ``quality`` is between 0 and 1, evenly spread over the systems. ``skill``: how well its scores tell relevant
    documents from others. ``breadth``: how well it sees the subtopics beside the one that it takes the query for.
    ``tied``: it has few different scores. ``stops``: it ends its lists when it has no more to say.
    """

    name: str
    quality: float
    skill: float
    breadth: float
    tied: bool
    stops: bool


def systems(number: int, spread: float, ties: float, truncate: float, seed: int) -> tuple[System, ...]:
    """Systems of evenly spread quality in random order; broad ones tend to be skilled ones."""
    chance = Chance(seed, SYSTEMS)
    quality = 0.5 + spread * ((chance.order(number) + 0.5) / number - 0.5)
    breadth = np.clip(quality + 0.5 * (chance.uniform(number) - 0.5), 0, 1)
    tied = chance.order(number) < np.rint(ties * number)
    stops = chance.order(number) < np.rint(truncate * number)
    skill = WEAKEST + (STRONGEST - WEAKEST) * quality
    width = len(str(number))
    return tuple(
        System(
            f"s{i + 1:0{width}}", float(quality[i]), float(skill[i]), float(breadth[i]), bool(tied[i]), bool(stops[i])
        )
        for i in range(number)
    )


def appearance(made: tuple[System, ...], grade: Floats, popularity: Floats, chance: Chance) -> Floats:
    """How relevant documents (document, subtopic) look to each system, (system, document), before noise."""
    # What a system takes the query for; popular subtopics are taken by most.
    first = chance.choose(popularity, len(made))
    looks = np.where(grade > 0, 1 + BETTER * (grade - 1), 0.0)
    beside = NARROW + (1 - NARROW) * np.array([[s.breadth] for s in made])
    visible = np.where(first[:, None] == np.arange(len(popularity)), 1.0, beside)
    found: Floats = (visible[:, None, :] * looks).max(axis=2)
    return found


def impression(made: tuple[System, ...], match: Floats, noise: float, chance: Chance) -> Floats:
    """What scores come of it, (system, document): the more skilled a system, the less the noise tells."""
    number = match.shape[1]
    hard = np.sqrt(COMMON) * chance.bell((number,)) + np.sqrt(1 - COMMON) * chance.bell((len(made), number))
    return np.array([[s.skill] for s in made]) * match + noise * hard


def rankings(
    world: World, made: tuple[System, ...], query: int, depth: int, noise: float, seed: int
) -> tuple[Integers, Floats, Integers]:
    """What every system answers to one query: documents and scores (system, rank), and where each list ends."""
    chance = Chance(seed, SCORES, query)
    number = min(len(world.documents), max(2 * depth, world.grade.shape[1] + world.near))
    tied, stops = np.array([[s.tied, s.stops] for s in made]).T
    seen = appearance(made, world.grade[query], world.popularity, chance)
    many = int(world.relevant[query])
    match = np.zeros((len(made), number))
    match[:, many : many + world.near] = NEAR
    match[:, :many] = seen[:, :many]
    exact = impression(made, match, noise, chance)
    score = np.where(tied[:, None], np.rint(exact / COARSE) * COARSE, np.rint(exact * 1e4) / 1e4)
    shuffled = chance.order(number)  # what is tied stands in the file in an order without meaning
    order = shuffled[np.argsort(-score[:, shuffled], axis=1, kind="stable")][:, :depth]
    best = np.take_along_axis(score, order, axis=1)
    sure = (best >= ENOUGH * np.array([[s.skill] for s in made])).sum(axis=1)
    return (
        world.candidates(query, number)[order],
        best,
        np.where(stops, np.clip(sure, 1, order.shape[1]), order.shape[1]),
    )
