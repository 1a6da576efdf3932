"""Relative improvement, effect ratio and RMSE of two experiments, by their definitions and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

import cranfield as cf

reproduction = cf.stats.reproduction


def experiment(seed: int, queries: int = 40, effect: float = 0.1, prefix: str = "q") -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(seed)
    base = rng.uniform(0.2, 0.6, queries)
    new = base + rng.normal(effect, 0.05, queries)
    names = [f"{prefix}{q}" for q in range(queries)]
    return {
        "base": dict(zip(names, base.tolist(), strict=True)),
        "new": dict(zip(names, new.tolist(), strict=True)),
    }


def test_by_definition() -> None:
    first, again = experiment(1), experiment(2, effect=0.05)
    again = {run: dict(reversed(values.items())) for run, values in again.items()}
    found = reproduction(first, again, "new", "base", samples=999)
    a, b, c, d = (np.mean(list(scores[run].values())) for scores in (first, again) for run in ("new", "base"))
    assert found.same_queries
    assert found.improvement.value == pytest.approx((a - b) / b)
    assert found.improvement_again.value == pytest.approx((c - d) / d)
    assert found.delta.value == pytest.approx((a - b) / b - (c - d) / d)
    assert found.effect_ratio.value == pytest.approx((c - d) / (a - b))
    squares = [(first["new"][q] - again["new"][q]) ** 2 for q in first["new"]]
    assert found.rmse is not None
    assert found.rmse.value == pytest.approx(math.sqrt(np.mean(squares)))
    for part in (found.improvement, found.delta, found.effect_ratio, found.rmse):
        assert part.low < part.value < part.high


def test_the_same_experiment_is_reproduced_exactly() -> None:
    found = reproduction(experiment(3), experiment(3), "new", "base", samples=99)
    assert tuple(found.delta) == (0, 0, 0)
    assert tuple(found.effect_ratio) == (1, 1, 1)
    assert found.rmse == (0, 0, 0)


def test_other_queries_are_resampled_separately() -> None:
    found = reproduction(experiment(4), experiment(5, prefix="later"), "new", "base", samples=999)
    assert not found.same_queries
    assert found.rmse is None
    assert found.delta.low < found.delta.value < found.delta.high


def test_a_ratio_with_a_divisor_around_0_is_unbounded() -> None:
    found = reproduction(experiment(6, effect=0.0), experiment(7), "new", "base", samples=999)
    assert found.effect_ratio.unbounded
    assert not found.improvement.unbounded
    data = found.to_dict()
    assert data["effect_ratio"]["low"] is None
    nothing = {"new": {"1": 0.5, "2": 0.25}, "base": {"1": 0.25, "2": 0.5}}
    assert math.isnan(reproduction(nothing, experiment(7), "new", "base", samples=99).effect_ratio.value)
    zero = {"new": {"1": 0.5, "2": 0.25}, "base": {"1": 0.0, "2": 0.0}}
    assert math.isnan(reproduction(zero, experiment(7), "new", "base", samples=99).improvement.value)


def test_scores_of_evaluate_and_what_is_missing() -> None:
    qrels = {f"q{i}": {"a": 1} for i in range(5)}
    new = {q: {"a": 2.0, "b": 1.0} for q in qrels}
    old = {q: {"a": 1.0, "b": 2.0 if i % 2 else 0.5} for i, q in enumerate(qrels)}
    scores = cf.evaluate(qrels, {"new": new, "old": old}, ["RR", "P@1"])
    found = reproduction(scores, scores, "new", "old", measure="RR", samples=99)
    assert found.improvement.value == pytest.approx(0.25)
    with pytest.raises(cf.CranfieldError, match="the scores have no run `newer`"):
        reproduction(scores, scores, "newer", "old", measure="RR")
    with pytest.raises(cf.CranfieldError, match="the scores have no run `newer`"):
        reproduction(experiment(1), experiment(1), "newer", "base")
    with pytest.raises(cf.InputError, match="at least two queries with a score in both, found 1"):
        reproduction({"new": {"1": 1.0}, "base": {"1": 0.5}}, experiment(1), "new", "base")


def test_intervals_cover() -> None:
    """The effect ratio of experiments with other queries, 300 times; the true one is 0.5."""
    covered = sum(
        (found := reproduction(
            experiment(2 * i, 50), experiment(2 * i + 1, 50, effect=0.05, prefix="x"), "new", "base", samples=499
        ).effect_ratio).low <= 0.5 <= found.high
        for i in range(300)
    )  # fmt: skip
    assert 0.91 <= covered / 300 <= 0.98
