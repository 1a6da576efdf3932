"""What the catalogue declares of measures are promises: each is tried on all small rankings."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

import cranfield as cf
from every_measure import NAMES, rankings_of

GRADES = (0, 1, 3)
World = tuple[int | None, ...]
WORLDS: list[World] = [world for n in range(5) for world in itertools.product(GRADES, repeat=n)]
MISSED = ((), (1,), (3, 0))
WITH_HOLES = {tuple(grade or None for grade in world) for world in WORLDS} - {*WORLDS}
ASKED = [*itertools.product(WORLDS, MISSED), *((world, ()) for world in WITH_HOLES)]
RANKINGS = rankings_of([([(grade,) for grade in world], [3, *missed]) for world, missed in ASKED])


@functools.lru_cache(1)
def scores(name: str) -> dict[tuple[World, tuple[int, ...]], float]:
    """The score of every ranking, from one evaluation."""
    return dict(zip(ASKED, cf.parse(name).values(RANKINGS).value.tolist(), strict=True))


def score_of(name: str, world: World, missed: tuple[int, ...] = ()) -> float:
    return scores(name)[world, missed]


def below(a: float, b: float) -> bool:
    return a < b - 1e-12


def same(a: float, b: float) -> bool:
    return a == b or bool(np.isnan(a) and np.isnan(b))


def retrieved_only(name: str) -> bool:
    """Documents that were not retrieved change nothing, but for the top grade, which is the collection's."""
    return all(same(score_of(name, world, missed), score_of(name, world)) for world in WORLDS for missed in MISSED)


def rewards_promotion(name: str) -> bool:
    """A better document that changes places with a worse one above it never lowers the score."""
    for world, missed in itertools.product(WORLDS, MISSED):
        score = score_of(name, world, missed)
        for i, j in itertools.combinations(range(len(world)), 2):
            if world[i] < world[j]:
                swapped = list(world)
                swapped[i], swapped[j] = swapped[j], swapped[i]
                if below(score_of(name, tuple(swapped), missed), score):
                    return False
    return True


def rising(name: str) -> bool:
    """A better document in the place of a worse one never lowers the score."""
    for world in WORLDS:
        score = score_of(name, world)
        for i, grade in enumerate(world):
            if grade < 3 and below(score_of(name, (*world[:i], 3, *world[i + 1 :])), score):
                return False
    return True


def blind_to_nonrelevant(name: str) -> bool:
    """A document judged not relevant is as good as one that nobody judged."""
    whole = [score_of(name, world) for world in WORLDS]
    holes = [score_of(name, tuple(grade or None for grade in world)) for world in WORLDS]
    return bool(np.allclose(whole, holes, atol=1e-12, equal_nan=True))


@pytest.mark.parametrize("name", NAMES)
def test_declared_facts(name: str) -> None:
    facts = cf.parse(name).definition
    if facts.retrieved_only:
        assert retrieved_only(name)
    if facts.rewards_promotion:
        assert rewards_promotion(name)
    if facts.retrieved_only and facts.rewards_promotion:
        assert rising(name)
    if not facts.uses_nonrelevant:
        assert blind_to_nonrelevant(name)


@pytest.mark.parametrize(
    ("check", "name"),
    [(retrieved_only, "AP"), (retrieved_only, "nDCG@3"), (rewards_promotion, "SN_AP@3"), (rewards_promotion, "Q"), (rewards_promotion, "SN_DCG@2"),
     (blind_to_nonrelevant, "bpref"), (blind_to_nonrelevant, "Judged@2")],
)  # fmt: skip
def test_a_false_fact_is_found(check, name: str) -> None:
    assert not check(name)
