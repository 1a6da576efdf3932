"""Samples of judgments: their sizes, that they are nested, and that chance alone decides."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from study_samples import GOLDEN

from cranfield import io
from cranfield.lab.relabelling import JudgmentStrata, reduced_sizes

CASES = GOLDEN["C3-reduce"]["expected"]


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['R']}-{c['N']}-{c['j']}")
def test_sizes_of_the_paper(case: dict[str, int]) -> None:
    assert reduced_sizes([case["R"], case["N"]], case["j"]).tolist() == [case["R_j"], case["N_j"]]


def test_the_constants_are_a_choice() -> None:
    assert reduced_sizes([15, 30], 10, (3, 5)).tolist() == [3, 5]
    assert reduced_sizes([15, 30], 10, (0, 0)).tolist() == [1, 3]
    assert reduced_sizes([2, 1], 10, (3, 5)).tolist() == [2, 1]


GRADES = st.lists(st.lists(st.integers(-1, 3), min_size=1, max_size=12), min_size=1, max_size=4)


def strata(grades: list[list[int]]) -> tuple[JudgmentStrata, np.ndarray]:
    judged = {f"q{q}": {f"d{d}": grade for d, grade in enumerate(row)} for q, row in enumerate(grades)}
    judgments = io.read_qrels(judged)
    return JudgmentStrata(judgments, judgments.grade), judgments.grade


@given(GRADES, st.integers(0, 99))
def test_samples_are_nested_and_of_the_sizes_asked_for(grades: list[list[int]], seed: int) -> None:
    piles, grade = strata(grades)
    assert piles.sizes.tolist() == [[sum(g >= 1 for g in row), sum(g == 0 for g in row)] for row in grades]
    place = piles.shuffle(np.random.default_rng(seed))
    query = np.repeat(np.arange(len(grades)), [len(row) for row in grades])
    inner = None
    for rate in (10, 30, 50, 70, 90, 100):
        sizes = reduced_sizes(piles.sizes, rate, (1, 2))
        keep = piles.sample(place, sizes)
        assert keep[grade < 0].all()  # nobody judged these, and nobody takes that back
        for q in range(len(grades)):
            mine = keep & (query == q)
            assert [(mine & (grade >= 1)).sum(), (mine & (grade == 0)).sum()] == sizes[q].tolist()
        assert inner is None or (keep | ~inner).all()
        inner = keep
    assert keep.all()


def test_every_judgment_is_drawn_as_often_as_any_other() -> None:
    piles, _ = strata([[1] * 4 + [0] * 5])
    times = sum(
        piles.sample(piles.shuffle(np.random.default_rng([7, i])), np.array([[2, 1]])).astype(int) for i in range(4000)
    )
    assert times[:4] / 4000 == pytest.approx(0.5, abs=0.04)
    assert times[4:] / 4000 == pytest.approx(0.2, abs=0.03)


def test_documents_keep_all_their_subtopics_together() -> None:
    judged = {"q": {"a": {"1": 1, "2": 0}, "b": {"1": 0, "2": 0}, "c": {"2": 1}}}
    judgments = io.read_qrels(judged)
    assert JudgmentStrata(judgments, judgments.grade).sizes.tolist() == [[2, 1]]
