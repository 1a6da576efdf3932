"""What the catalogue declares of measures are promises: each is tried on all small rankings."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import cranfield as cf
from every_measure import NAMES

GRADES = (0, 1, 3)
WORLDS = [list(world) for n in range(5) for world in itertools.product(GRADES, repeat=n)]
MISSED = ([], [1], [3, 0])


def below(a: float, b: float) -> bool:
    return a < b - 1e-12


def same(a: float, b: float) -> bool:
    return a == b or bool(np.isnan(a) and np.isnan(b))


def retrieved_only(measure: cf.measures.Measure) -> bool:
    """Documents that were not retrieved change nothing, but for the top grade, which is the collection's."""
    return all(same(measure(world, [3, *missed]), measure(world, [3])) for world in WORLDS for missed in MISSED)


def rewards_promotion(measure: cf.measures.Measure) -> bool:
    """A better document that changes places with a worse one above it never lowers the score."""
    for world, missed in itertools.product(WORLDS, MISSED):
        score = measure(world, [3, *missed])
        for i, j in itertools.combinations(range(len(world)), 2):
            if world[i] < world[j]:
                swapped = list(world)
                swapped[i], swapped[j] = swapped[j], swapped[i]
                if below(measure(swapped, [3, *missed]), score):
                    return False
    return True


def rising(measure: cf.measures.Measure) -> bool:
    """A better document in the place of a worse one never lowers the score."""
    for world in WORLDS:
        score = measure(world, [3])
        for i, grade in enumerate(world):
            if grade < 3 and below(measure([*world[:i], 3, *world[i + 1 :]], [3]), score):
                return False
    return True


def blind_to_nonrelevant(measure: cf.measures.Measure) -> bool:
    """A document judged not relevant is as good as one that nobody judged."""
    whole = [measure(world, [3]) for world in WORLDS]
    holes = [measure([grade or None for grade in world], [3]) for world in WORLDS]
    return bool(np.allclose(whole, holes, atol=1e-12, equal_nan=True))


@pytest.mark.parametrize("name", NAMES)
def test_declared_facts(name: str) -> None:
    measure = cf.parse(name)
    facts = measure.definition
    if facts.retrieved_only:
        assert retrieved_only(measure)
    if facts.rewards_promotion:
        assert rewards_promotion(measure)
    if facts.retrieved_only and facts.rewards_promotion:
        assert rising(measure)
    if not facts.uses_nonrelevant:
        assert blind_to_nonrelevant(measure)


@pytest.mark.parametrize(
    ("check", "name"),
    [(retrieved_only, "AP"), (retrieved_only, "nDCG@3"), (rewards_promotion, "SN_AP@3"), (rewards_promotion, "Q"), (rewards_promotion, "SN_DCG@2"),
     (blind_to_nonrelevant, "bpref"), (blind_to_nonrelevant, "Judged@2")],
)  # fmt: skip
def test_a_false_fact_is_found(check, name: str) -> None:
    assert not check(cf.parse(name))
