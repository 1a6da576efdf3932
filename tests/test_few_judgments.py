"""The simulation of judging, a script of the benchmarks, on a small collection."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import cranfield as cf

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from few_judgments import (
    Judging,
    JudgingResult,
    count_judgments,
    interval_coverage,
    pair_documents,
    sample_coverage,
    sufficient,
)

RNG = np.random.default_rng(0)
DOCUMENTS = [f"d{i}" for i in range(40)]
QRELS = {str(q): {d: int(RNG.choice(4, p=[0.6, 0.2, 0.1, 0.1])) for d in DOCUMENTS} | {"d0": 3} for q in range(20)}
RUNS = {
    f"r{r}": {q: {d: QRELS[q][d] * r / 8 + float(RNG.normal()) for d in DOCUMENTS} for q in QRELS} for r in range(6)
}


@pytest.fixture(scope="module")
def result() -> JudgingResult:
    settings = Judging(rel=2, depth=30, budgets=(5, 10, 30, 40), orders=3, pairs=10, repeats=200)
    return settings.run(QRELS, RUNS)


def test_more_judgments_agree_better(result: JudgingResult) -> None:
    for one in result.strategies:
        assert one.tau[-1] == pytest.approx(1, abs=0.2)
        assert one.found[-1] >= one.found[0]


def test_pair_bounds_need_fewest_judgments(result: JudgingResult) -> None:
    counts = {one.rule: one.judgments for one in result.decisions}
    assert counts["pair bounds"] <= counts["bounds of each alone"]
    assert counts["pair bounds"] <= counts["pair bounds, random order"]
    assert counts["95% sure"] <= counts["pair bounds"] <= result.different
    assert {one.rule: one.right for one in result.decisions}["pair bounds"] == 1


def test_tables_and_figures(result: JudgingResult, tmp_path: Path) -> None:
    assert len(result.pages()) == 5
    pytest.importorskip("matplotlib")
    assert len(result.save_figures(tmp_path)) == 6


def test_sufficient() -> None:
    assert sufficient([0.95, 0.8, 0.9, 0.91], (5, 10, 15, 20), 0.9) == 15
    assert sufficient([0.95, 0.8], (5, 10), 0.9) is None
    assert sufficient([0.95], (5,), 0.9) == 5


def test_coverage_of_a_judge_that_is_wrong() -> None:
    rng = np.random.default_rng(2)
    human = rng.random(60)
    found = interval_coverage(human, human * 0.5, 20, repeats=400)
    assert found["judge only, t"][0] < 0.1
    assert found["ppi++ loo, t"][0] > 0.9
    assert found["ppi++ loo, t"][1] < found["humans, t"][1]
    gains = [rng.integers(0, 2, 10).astype(float) for _ in range(30)]
    within = sample_coverage(np.full(10, 0.1), gains, gains, chance=0.3, repeats=100)
    assert within["difference"] == (1.0, 0.0, 0.0)
    assert abs(within["Horvitz-Thompson"][2]) < 3


def test_pairs_that_are_equal() -> None:
    run = {q: sorted(documents) for q, documents in QRELS.items()}
    documents = pair_documents(run, run, QRELS, np.array([0.5, 0.25]), 2)
    assert count_judgments(documents).judgments["pair bounds"] == 0


def test_bad_input() -> None:
    with pytest.raises(cf.InputError, match="at least three runs"):
        Judging().run(QRELS, {"a": RUNS["r0"], "b": RUNS["r1"]})
    with pytest.raises(cf.InputError, match="too few"):
        Judging().run({q: QRELS[q] for q in list(QRELS)[:4]}, RUNS)
