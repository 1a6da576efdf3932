"""Large runs are scored in several threads, with the same results."""

from __future__ import annotations

import numpy as np
import pytest

import cranfield as cf
from cranfield.evaluation import evaluation

RNG = np.random.default_rng(4)
QRELS = {f"q{q}": {f"d{d}": int(d % 4) for d in range(12)} for q in range(9)}
RUNS = {f"r{r}": {f"q{q}": {f"d{d}": float(RNG.integers(6)) for d in range(20)} for q in range(9)} for r in range(7)}
MEASURES = ["AP", "nDCG@5", "RR", "AP(rel=2)", "P(rel=3)@5", "bpref"]


def test_threads_have_the_results_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    used = []
    parallel = evaluation.parallel
    monkeypatch.setattr(evaluation, "parallel", lambda *given: used.append(given) or parallel(*given))
    one = cf.audit(QRELS, RUNS, MEASURES)
    assert not used
    monkeypatch.setattr(evaluation, "MIN_SHARED", 1)
    several = cf.audit(QRELS, RUNS, MEASURES)
    assert used
    assert one.to_dict() == several.to_dict()
