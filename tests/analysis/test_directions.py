"""What a test says of two runs: its direction, its own estimate and interval, and nothing without a spread."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.analysis.gates import Gate, verdict
from cranfield.report.gates import sentence
from cranfield.statistics.design import Design, Sample
from cranfield.statistics.resampling import hodges_lehmann, rank_direction

MANY_WINS = [0.05 + 0.001 * (q % 3) for q in range(28)] + [-0.9, -0.9]  # and two losses that outweigh them


def scores_of(difference: Any, better: str = "higher") -> cf.Scores:
    """Two runs whose values differ by this, on each query."""
    new = {f"q{q}": 0.5 + float(gap) * (1 if better == "higher" else -1) for q, gap in enumerate(difference)}
    values = {"old": {"m": dict.fromkeys(new, 0.5)}, "new": {"m": new}}
    return cf.read_scores(values, lower="m" if better == "lower" else ())


@pytest.mark.parametrize("better", ["higher", "lower"])
@pytest.mark.parametrize(("test", "estimate"), [("sign", 0.051), ("wilcoxon", 0.051)])
def test_the_direction_is_that_of_the_test(test: Any, estimate: float, better: str) -> None:
    comparison = cf.compare(scores_of(MANY_WINS, better), test=test)
    (pair,) = comparison.pairs
    sign = 1 if better == "higher" else -1
    assert pair.significant and pair.difference * sign < 0  # the mean says the contrary
    assert pair.direction == sign
    assert pair.estimate == pytest.approx(estimate * sign)
    assert pair.low <= pair.estimate <= pair.high and pair.low * pair.high > 0
    assert comparison.ranks == {"m": {"old": (2, 2), "new": (1, 1)}}
    text = str(comparison)
    assert "new is significantly better than old" in text
    assert "the mean points the other way" in text
    against = cf.compare(scores_of(MANY_WINS, better), test=test, baseline="old")
    assert verdict({"m": Gate(no_significant_loss=True)}, None, against).outcome == "passed"
    turned = cf.compare(scores_of(-np.array(MANY_WINS), better), test=test, baseline="old")
    failed = verdict({"m": Gate(no_significant_loss=True)}, None, turned)
    assert failed.outcome == "failed"
    assert f"difference {'-' if better == 'higher' else '+'}0.0510" in sentence(failed.checks[0])


def test_the_estimate_of_other_tests_is_the_mean_difference() -> None:
    for test in ("randomisation", "t", "bootstrap", "tukey", "randomised-tukey"):
        (pair,) = cf.compare(scores_of(MANY_WINS), test=test, samples=999).pairs  # type: ignore[arg-type]
        assert (pair.estimate, pair.direction) == (pair.difference, -1)


@settings(max_examples=60)
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=9))
def test_hodges_and_lehmann_is_the_median_of_means(difference: list[int]) -> None:
    means = [(a + b) / 2 for a, b in combinations_with_replacement(difference, 2)]
    assert hodges_lehmann(np.array([difference], float))[0] == pytest.approx(np.median(means), abs=1e-12)


def test_ranks_of_differences_point_where_their_sum_does() -> None:
    table = np.array([[1.0, 2.0, -3.0], [1.0, 2.0, -4.0], [0.0, 0.0, -1.0], [0.0, 0.0, 0.0], [1.0, 3.0, -2.0]])
    assert rank_direction(table).tolist() == [0, 0, -1, 0, 1]


@pytest.mark.parametrize("test", ["t", "bootstrap", "tukey"])
def test_without_a_spread_nothing_is_decided(test: Any) -> None:
    comparison = cf.compare(scores_of([0.1, 0.1]), test=test, baseline="old")
    (pair,) = comparison.pairs
    assert not pair.significant and not pair.decides
    assert (pair.p, pair.low, pair.high) == (1, -np.inf, np.inf)
    assert any("without a spread" in str(note) for note in comparison.notes)
    lost = cf.compare(scores_of([-0.1, -0.1]), test=test, baseline="old")
    undecided = verdict({"m": Gate(no_significant_loss=True)}, None, lost)
    assert undecided.outcome == "undecided"
    assert "all queries differ by the same" in sentence(undecided.checks[0])
    same = cf.compare(scores_of([0.0, 0.0]), test=test)
    assert not any("without a spread" in str(note) for note in same.notes)
    assert "have the same mean" in str(same)
    assert (same.pairs[0].low, same.pairs[0].high) == (0, 0)


@pytest.mark.parametrize("n", [6, 8, 12])
@pytest.mark.parametrize("design", [False, True])
def test_the_interval_of_the_bootstrap_belongs_to_its_test(n: int, design: bool) -> None:
    how: dict[str, Any] = {"cluster": "topic"} if design else {}
    for seed in range(20):
        gaps = np.random.default_rng(seed).normal(0.5, 1, n)
        topics = {f"q{q}": {"topic": str(q if q < n - 2 else n - 2)} for q in range(n)}
        values = {"old": {"m": dict.fromkeys(topics, 0.0)}, "new": {"m": dict(zip(topics, gaps.tolist(), strict=True))}}
        scores = cf.read_scores(values, queries=topics)
        (pair,) = cf.compare(scores, test="bootstrap", samples=999, **how).pairs
        assert pair.significant == (pair.low > 0 or pair.high < 0)
        assert pair.low + pair.high == pytest.approx(2 * pair.difference)  # it is not cut at 0
        for shift in np.linspace(-1, 2, 13):
            if min(abs(shift - pair.low), abs(shift - pair.high)) > 1e-9:
                moved = {"old": values["old"], "new": {"m": {q: x - shift for q, x in values["new"]["m"].items()}}}
                p = cf.compare(cf.read_scores(moved, queries=topics), test="bootstrap", samples=999, **how).pairs[0].p
                assert (pair.low <= shift <= pair.high) == (p >= 0.05)


def studentised(sample: Sample, counts: np.ndarray) -> float:
    """The squared t of one resample, from its clusters written out, each as often as it was drawn."""
    design = sample.design
    assert design is not None
    d = sample.x[0] - sample.x[1]
    clusters = [np.flatnonzero(design.cluster == g) for g in range(design.clusters)]
    drawn = [clusters[g] for g, count in enumerate(counts) for _ in range(int(count))]
    queries = np.concatenate(drawn)
    labels = [g for g, cluster in enumerate(drawn) for _ in cluster]
    resample = Sample(sample.x[:, queries], Design.of(len(queries), None, labels))
    error = resample.error(np.array([[0, 1]]))
    return float((error.estimate[0] - d.mean()) ** 2 / error.variance[0]) if error.variance[0] else np.inf


@pytest.mark.parametrize("sizes", [[3, 3, 3, 3, 3], [1, 2, 7, 3, 1, 4]])
def test_a_resample_is_tested_as_the_data_are(sizes: list[int]) -> None:
    from cranfield.statistics.resampling import draw_counts

    rng = np.random.default_rng(0)
    labels = [g for g, size in enumerate(sizes) for _ in range(size)]
    sample = Sample(rng.normal(size=(2, len(labels))), Design.of(len(labels), None, labels))
    found = np.concatenate([*sample.squared_t(np.array([[0, 1]]), 50, seed=3)], axis=1)[0]
    counts = draw_counts(np.random.default_rng(3).integers(0, len(sizes), (50, len(sizes))))
    assert found == pytest.approx([studentised(sample, column) for column in counts.T], rel=1e-6)


@pytest.mark.parametrize("repeats", [2, 3])
def test_a_run_without_repeats_borrows_the_variance_of_three_or_more(repeats: int) -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(0.5, 0.1, (30, repeats)) + rng.normal(0, 0.1, repeats)
    queries = [f"q{q}" for q in range(30)]
    values: dict[str, Any] = {
        "dense": {"m": dict(zip(queries, table.tolist(), strict=True))},
        "bm25": {"m": dict(zip(queries, rng.normal(0.5, 0.1, 30).tolist(), strict=True))},
    }
    comparison = cf.compare(cf.read_scores(values), baseline="bm25")
    (pair,) = comparison.pairs
    between = comparison["m"].sources["dense"][1]
    assert between > 0
    assert pair.variance[1] == pytest.approx(between * (1 + 1 / 3) if repeats == 3 else between / 2)
    said = " ".join(map(str, comparison.notes))
    assert "without repeats: bm25" in said
    assert ("is taken from" if repeats == 3 else "is not known") in said
    assert said.count("equal runs may be called different more often than alpha says") == (0 if repeats == 3 else 2)


def test_a_cluster_that_spans_collections_is_flipped_and_drawn_as_one() -> None:
    rng = np.random.default_rng(1)
    judge, topic = np.divmod(np.arange(12), 6)
    design = Design.of(12, judge.tolist(), topic.tolist())
    assert (design.spans, design.clusters, len(design.parts)) == (True, 6, 1)
    x = rng.random((2, 12))
    # With two judges who agree on everything, it is as if there were one.
    twice = Sample(np.concatenate([x[:, :6], x[:, :6]], axis=1), design).error(np.array([[0, 1]]))
    once = Sample(x[:, :6], Design.of(6)).error(np.array([[0, 1]]))
    assert (twice.estimate[0], twice.variance[0], twice.degrees[0]) == pytest.approx(
        (once.estimate[0], once.variance[0], once.degrees[0])
    )
