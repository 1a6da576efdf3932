"""The expectation over ties beyond the small rankings of `test_limits`, which enumerates the orders of every measure."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.evaluation.notes import sentences
from cranfield.ranking.rankings import from_ranking
from every_measure import GAINING, NAMES, VARIANTS
from golden_cases import without_notes


def test_every_measure_is_tried() -> None:
    assert set(VARIANTS) == {
        d.symbol
        for d in cf.measures.CATALOGUE.values()
        if not (d.subtopics or d.content or d.preferences or d.sampled or d.spans or d.gains == "attribute")
    }


SCORES = st.dictionaries(st.sampled_from("abcdefg"), st.sampled_from([1.0, 1.0, 2.0, 3.0]), max_size=6)
JUDGED = st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from([-1, 0, 1, 1, 1, 2]), min_size=1, max_size=5)


ALONE = [name for name in [*NAMES, *GAINING] if not cf.parse(name).definition.collection]


@pytest.mark.parametrize("names", [ALONE[i::8] for i in range(8)])
@settings(max_examples=8, deadline=None)
@given(st.lists(st.tuples(SCORES, JUDGED), min_size=2, max_size=12))
def test_queries_together_score_as_they_do_alone(names: list[str], queries: list) -> None:
    # What one query's ties cost is shared with those that are alike; no value may be shared with those that are not.
    run = {f"q{i}": scores for i, (scores, _) in enumerate(queries)}
    judged = {f"q{i}": grades | {"top": 3} for i, (_, grades) in enumerate(queries)}
    together = without_notes(judged, run, names, ties="expected").values[0]
    for i, q in enumerate(judged):
        alone = without_notes({q: judged[q]}, {q: run[q]}, names, ties="expected", queries="judged").values[0]
        np.testing.assert_allclose(together[:, i], alone[:, 0], rtol=1e-12, atol=1e-12, err_msg=str(names))


def test_a_sample_of_orders_is_near_the_mean_and_says_how_near() -> None:
    documents = {f"d{i:02}": 1.0 for i in range(14)}
    judged = {"q": {f"d{i:02}": i % 4 for i in range(12)}}
    scores = cf.evaluate(judged, {"q": documents}, ["INST[ties=expected]", "INST"])
    note = next(n for n in sentences(scores.notes) if "sample" in n)
    assert "standard error" in note
    rng = np.random.default_rng(1)
    grades = [i % 4 for i in range(12)] + [None, None]
    plain = cf.parse("INST")
    brute = np.mean([plain([grades[i] for i in rng.permutation(14)]) for _ in range(3000)])
    assert scores.values[0, 0, 0] == pytest.approx(brute, abs=0.03)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        *itertools.product(
            ["INST", "INST(T=0.5, max=3)", "INST(T=2.5, horizon=9, max=4)", "INST(horizon=None)"],
            [((40, 2),), ((1, 1), (90, 1)), ((9, 1), (12, 1, 1))],
        ),
        ("INST(T=2.5, horizon=130, max=4)", ((90, 1), (1, 3), (60, 2))),
    ],
)
def test_every_order_of_wide_ties_is_in_the_mean_of_inst(name: str, shape: tuple) -> None:
    # What a tie has beside its size are the grades of its documents.
    ways = []
    for size, *grades in shape:
        places = {frozenset(zip(at, grades, strict=True)) for at in itertools.permutations(range(size), len(grades))}
        ways.append([[dict(way).get(i) for i in range(size)] for way in places])
    plain = cf.parse(name)
    mean = np.mean([plain([grade for way in each for grade in way]) for each in itertools.product(*ways)])
    tied = [(*grades, *[None] * (size - len(grades))) for size, *grades in shape]
    estimate = cf.parse(f"{name}[ties=expected]").values(from_ranking(tied))
    assert estimate.error is None
    assert estimate.value[0] == pytest.approx(mean, abs=1e-12)


def test_large_groups_stay_exact() -> None:
    # One relevant document among 5,000 tied: anywhere with the same chance.
    n = 5000
    group = (1, *[0] * (n - 1))
    harmonic = sum(1 / i for i in range(1, n + 1))
    assert cf.parse("RR[ties=expected]")([group]) == pytest.approx(harmonic / n, rel=1e-12)
    assert cf.parse("AP[ties=expected]")([group]) == pytest.approx(harmonic / n, rel=1e-12)
    two = (1, 1, *[0] * (n - 2))
    exact = sum((n - x) / (n * (n - 1) / 2) / x for x in range(1, n))
    assert cf.parse("RR[ties=expected]")([two]) == pytest.approx(exact, rel=1e-12)
    stop = sum(((n - x) * 0.5 * 0.5 * 2 + 0) / (n * (n - 1) / 2) / x for x in range(1, n))
    assert stop < cf.parse("ERR(max=1)[ties=expected]")([two]) < 1
