"""Bounds: against every assignment of grades to the unjudged documents."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.evaluation.bounds import bounds
from cranfield.ranking.rankings import from_ranking
from every_measure import GAINING, NAMES

binary = [None, None, None, 0, 1]
graded = [None, None, 0, 1, 2, 3]


def completions(ranking: list, grades: list) -> list[list]:
    flat = [g for group in ranking for g in group]
    holes = [i for i, g in enumerate(flat) if g is None]
    found = []
    for values in itertools.product(grades, repeat=len(holes)):
        whole = list(flat)
        for i, value in zip(holes, values, strict=True):
            whole[i] = value
        parts = iter(whole)
        found.append([tuple(next(parts) for _ in group) for group in ranking])
    return found


def check(name: str, ranking: list, missed: list, grades: list) -> None:
    if sum(g is None for group in ranking for g in group) > 4:
        return
    measure = cf.parse(f"{name}[ties=expected]")
    found = bounds(measure, from_ranking([tuple(g) for g in ranking], missed))
    values = np.array([measure(whole, missed) for whole in completions(ranking, grades)])
    if np.isnan(measure([tuple(g) for g in ranking], missed)):
        assert np.isnan(found.low[0])
        return
    low, high = np.nanmin(values), np.nanmax(values)
    if measure.definition.uses_nonrelevant:
        # The score as it stands is of no full set of judgments, and is part of the interval.
        score = measure([tuple(g) for g in ranking], missed)
        low, high = min(low, score), max(high, score)
    if any(len(group) > 1 and set(group) == {None} for group in ranking):
        # In ties of unjudged documents alone the order is taken as the worst or best one.
        assert not found.hold[0] or found.low[0] - 1e-9 <= low <= high <= found.high[0] + 1e-9
    elif found.hold[0]:
        assert (found.low[0], found.high[0]) == pytest.approx((low, high), abs=1e-9)
    else:  # a range: attained, so within what is possible
        assert low - 1e-9 <= found.low[0] <= found.high[0] <= high + 1e-9


@pytest.mark.parametrize("name", [n for n in NAMES if "horizon" not in n])
@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(binary), min_size=1, max_size=3), max_size=3),
    st.lists(st.sampled_from([0, 1]), max_size=3),
)
def test_relevant_or_not(name: str, ranking: list, missed: list) -> None:
    """The top grade of the collection is 1: documents are relevant or they are not."""
    check(name.replace("max=3", "max=1").replace("rel=2", "rel=1"), ranking, [*missed, 1], [0, 1])


@pytest.mark.parametrize(
    "name", ["P@2", "RR", "DCG", "RBP(p=0.5)", "ERR", "AP", "nDCG@3", "Q", "R@2", "HIT@2", "rpref_N", "Rprec(rel=2)"]
)
@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(graded), min_size=1, max_size=2), max_size=3),
    st.lists(st.sampled_from([0, 1, 3]), max_size=2),
)
def test_graded(name: str, ranking: list, missed: list) -> None:
    check(name, ranking, [*missed, 3], [0, 1, 2, 3])


def test_which_are_bounds() -> None:
    ranking = [1, None, 0, None, 2]
    hold = {n for n in NAMES if bounds(cf.parse(n), from_ranking(ranking, [3])).hold[0]}
    assert {"P@3", "RR", "AP", "R@2", "DCG@3", "RBP", "ERR", "bpref", "Success@3", "Rprec", "nDCG(rel=2)"} <= hold
    assert not {"nDCG", "Q", "INST", "SN_AP@3", "rpref_N(max=3)", "BPM@3"} & hold


def test_the_residual_of_rbp_is_the_interval_and_the_tail() -> None:
    rng = np.random.default_rng(2)
    ranking = [None if rng.random() < 0.4 else int(rng.integers(0, 4)) for _ in range(50)]
    measure = cf.parse("RBP(p=0.9, max=3)")
    batch = from_ranking(ranking, [3])
    found = bounds(measure, batch)
    residual = measure.residual(batch).value[0]
    assert found.high[0] - found.low[0] + 0.9**50 == pytest.approx(residual, abs=1e-12)
    assert found.low[0] == pytest.approx(measure(ranking, [3]))


@pytest.mark.parametrize("name", ["AP", "nDCG", "RR", "bpref", "P@5", "ERR"])
def test_random_completions_of_a_long_list_are_inside(name: str) -> None:
    rng = np.random.default_rng(3)
    ranking = [None if rng.random() < 0.5 else int(rng.integers(0, 2)) for _ in range(120)]
    measure = cf.parse(name)
    found = bounds(measure, from_ranking(ranking, [1, 1, 0]))
    assert found.hold[0]
    for _ in range(200):
        share = rng.random()
        whole = [int(rng.random() < share) if g is None else g for g in ranking]
        assert found.low[0] - 1e-9 <= measure(whole, [1, 1, 0]) <= found.high[0] + 1e-9


@pytest.mark.parametrize("name", GAINING)
def test_no_bounds_where_a_grade_of_0_gains(name: str) -> None:
    assert not bounds(cf.parse(name), from_ranking([1, None, 0])).hold.any()


def test_columns_say_what_is_no_bound() -> None:
    """All unjudged documents at the grade in between score higher than at the top grade."""
    qrels, run = {"q": {"a": 1, "missed": 1}, "top": {"t": 2}}, {"q": ["a", "u", "v", "w"]}
    scores = cf.evaluate(qrels, run, ["nDCG@3", "AP", "RBP", "nDCG(rel=1)@3"], show="bounds")
    by_label = dict(zip(scores.measures, scores.values[0, :, 0], strict=True))
    assert by_label["nDCG@3 highest (unjudged at the top grade)"] == pytest.approx(0.8671, abs=1e-4)
    between = {"q": {**qrels["q"], "u": 1, "v": 1, "w": 1}, "top": qrels["top"]}
    assert cf.evaluate(between, run, "nDCG@3").values[0, 0, 0] == 1
    assert {"AP lowest", "AP highest", "RBP highest", "nDCG(rel=1)@3 highest"} < set(scores.measures)
