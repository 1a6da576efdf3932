"""Bounds of pairs of runs against golden values, and against all completions."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import MeasureError
from cranfield.evaluation.pair_bounds import differences_of_runs
from cranfield.measures import parse
from cranfield.measures.weights import rank_weights
from golden_cases import STRUCTURED
from pair_oracles import judge_until_decided, linear_difference, precision_difference


def rows(prefix: str) -> Any:
    cases = [case for case in STRUCTURED if case["id"].split("-")[0] == prefix]
    return pytest.mark.parametrize("case", cases, ids=lambda case: case["id"])


def measure(case: dict[str, Any]) -> str:
    name: str = case["measure"].rpartition(", ")[2]
    return name


@rows("L2")
def test_linear(case: dict[str, Any]) -> None:
    found = linear_difference(
        measure(case), case["run_a"], case["run_b"], case["judged"], top=case["gain_range"][1], prior=case["prior"]
    )
    assert found.chances is not None
    values = {
        "low": found.low,
        "high": found.high,
        "low_of_single_bounds": found.low_alone,
        "high_of_single_bounds": found.high_alone,
        "expected": found.expected,
        "variance": found.variance,
        "confidence_normal": found.confidence,
        "p_a_better": found.chances.a_better,
        "p_b_better": found.chances.b_better,
    }
    expected = dict(case["expected"])
    assert found.next == expected.pop("next")
    assert values == pytest.approx(expected, abs=case["tol"])


@rows("L3")
def test_average_precision(case: dict[str, Any]) -> None:
    # The cases count the relevant documents of the two lists alone.
    judged = {d: grade for d, grade in case["judged"].items() if d in case["run_a"] or d in case["run_b"]}
    found = {
        kind: precision_difference(case["run_a"], case["run_b"], judged, prior=case["prior"], weighting=kind)
        for kind in ("expected", "relevant")
    }
    expected = dict(case["expected"])
    for kind, bounds in found.items():
        assert bounds.weights == pytest.approx(expected.pop(f"weights_{kind}"), abs=case["tol"])
        assert bounds.next == expected.pop(f"next_{kind}")
    bounds = found["expected"]
    assert bounds.chances is not None
    values = {
        "sp_low_pairwise": bounds.sp_low_pairwise,
        "sp_high_pairwise": bounds.sp_high_pairwise,
        "sp_low_exact": bounds.sp_low,
        "sp_high_exact": bounds.sp_high,
        "ap_low_exact": bounds.ap_low,
        "ap_high_exact": bounds.ap_high,
        "sp_expected": bounds.sp_expected,
        "sp_variance": bounds.sp_variance,
        "confidence_normal": bounds.confidence,
        "p_a_better": bounds.chances.a_better,
        "p_b_better": bounds.chances.b_better,
    }
    assert values == pytest.approx(expected, abs=case["tol"])


@rows("L4")
def test_judging_until_decided(case: dict[str, Any]) -> None:
    found = judge_until_decided(measure(case), case["run_a"], case["run_b"], case["truth"])
    expected = case["expected"]
    assert (found.judged, found.decision) == (expected["judged"], expected["decision"])
    assert (found.low, found.high) == pytest.approx((expected["low"], expected["high"]), abs=case["tol"])


LINEAR = [
    "P@3",
    "CG@4",
    "DCG@5",
    "SDCG(max=1)@4",
    "RBP(p=0.6)",
    "RBPbeta",
    "InvSq",
    "INSQ",
    "NPV",
    "SET@4",
    "TBG(half=3)",
    "U(L=4)",
]
LINEAR += ["SetP", "NumRelRet"]
RUN_A, RUN_B = list("abcdef"), list("cagfh")


def test_every_linear_measure_is_tried() -> None:
    assert {parse(name).symbol for name in LINEAR} == {d.symbol for d in cf.measures.CATALOGUE.values() if d.linear}


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("judged", [{}, {"a": 1, "b": 0, "g": 1}])
def test_bounds_are_those_of_all_completions(name: str, judged: dict[str, float]) -> None:
    found = linear_difference(name, RUN_A, RUN_B, judged)
    documents = sorted(set(RUN_A + RUN_B) - set(judged))
    runs = [{"q": {d: -float(i) for i, d in enumerate(run)}} for run in (RUN_A, RUN_B)]
    differences = []
    for grades in itertools.product((0, 1), repeat=len(documents)):
        complete = judged | dict(zip(documents, grades, strict=True))
        evaluator = cf.Evaluator({"q": complete, "top": {"t": 1}}, name)
        a, b = (float(evaluator.values(run)[0, 0]) for run in runs)
        differences.append(a - b)
    assert (found.low, found.high) == pytest.approx((min(differences), max(differences)), abs=1e-12)
    assert found.low_alone <= found.low + 1e-12
    assert found.high <= found.high_alone + 1e-12
    assert found.expected == pytest.approx(np.mean(differences), abs=1e-12)
    assert found.variance == pytest.approx(np.var(differences), abs=1e-12)


def test_bounds_of_average_precision_are_those_of_all_completions() -> None:
    judged = {"a": 1, "b": 0, "elsewhere": 1}
    found = precision_difference(RUN_A, RUN_B, judged)
    documents = sorted(set(RUN_A + RUN_B) - set(judged))
    runs = [{"q": {d: -float(i) for i, d in enumerate(run)}} for run in (RUN_A, RUN_B)]
    differences = []
    for grades in itertools.product((0, 1), repeat=len(documents)):
        evaluator = cf.Evaluator({"q": judged | dict(zip(documents, grades, strict=True))}, "AP")
        a, b = (float(evaluator.values(run)[0, 0]) for run in runs)
        differences.append(a - b)
    assert (found.ap_low, found.ap_high) == pytest.approx((min(differences), max(differences)), abs=1e-12)
    assert found.sp_low_pairwise <= found.sp_low
    assert found.sp_high <= found.sp_high_pairwise


def test_other_measures_have_no_such_bounds() -> None:
    with pytest.raises(MeasureError, match="not linear"):
        rank_weights(parse("nDCG@10"), 10)


def test_pairs_of_an_evaluation_are_those_of_single_queries() -> None:
    qrels = {"1": {"a": 2, "b": 0, "c": -1}, "2": {"x": 1}}
    runs = {
        "A": {"1": {d: -float(i) for i, d in enumerate(RUN_A)}, "2": {"y": 2.0, "x": 1.0}},
        "B": {"1": {d: -float(i) for i, d in enumerate(RUN_B)}, "2": {"x": 2.0, "y": 1.0}},
        "C": {"1": {"h": 2.0, "c": 1.0}},
    }
    ones = {"1": 1.0, "2": 1.0}
    # With grades 2 and 1, the ideal ranking has a DCG of 2 for query 1 and of 1 for query 2; query 3 has none.
    for name, part, ideal in (
        ("P@3", "P@3", ones),
        ("DCG@4", "DCG@4", ones),
        ("nDCG@4", "DCG@4", {"1": 2.0, "2": 1.0}),
    ):
        judged = qrels | ({"3": {"z": 0}} if name == "nDCG@4" else {})
        found = differences_of_runs(cf.Evaluator(judged, name).evaluation(runs), 0)
        assert found is not None
        for a, b in itertools.permutations(range(3), 2):
            lowest = [
                linear_difference(part, *(list(runs["ABC"[r]].get(q, {})) for r in (a, b)), qrels[q], top=2).low / of
                for q, of in ideal.items()
            ]
            assert found[a, b] == pytest.approx(sum(lowest) / 2, abs=1e-12)
    assert differences_of_runs(cf.Evaluator(qrels, "AP").evaluation(runs), 0) is None


@pytest.mark.parametrize("seed", range(5))
def test_many_runs_are_those_of_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    documents = [f"d{i}" for i in range(12)]
    queries = [str(q) for q in range(6)]
    qrels = {
        q: {d: int(rng.integers(0, 3)) for d in rng.permutation(documents)[:5].tolist()} | {"r": 1} for q in queries
    }
    runs = {
        f"run{r}": {q: {d: -float(i) for i, d in enumerate(rng.permutation(documents)[:8].tolist())} for q in queries}
        for r in range(7)
    }
    found = differences_of_runs(cf.Evaluator(qrels, "DCG@6").evaluation(runs), 0)
    assert found is not None
    top = max(grade for grades in qrels.values() for grade in grades.values())
    for (a, first), (b, second) in itertools.permutations(enumerate(runs.values()), 2):
        parts = [linear_difference("DCG@6", list(first[q]), list(second[q]), qrels[q], top=top) for q in queries]
        assert found[a, b] == pytest.approx(np.mean([part.low for part in parts]), abs=1e-12)
        assert -found[b, a] == pytest.approx(np.mean([part.high for part in parts]), abs=1e-12)


def test_a_larger_ideal_ranking_reverses_no_pair() -> None:
    """All documents down to rank 2 are judged; those below only enlarge the ideal ranking of both runs."""
    qrels = {"1": {"a": 1, "b": 0}, "2": {"c": 1, "d": 0}}
    below = {f"u{i}": -float(i) for i in range(5)}
    runs = {
        "good": {"1": {"a": 2.0, "b": 1.0} | below, "2": {"c": 2.0, "d": 1.0} | below},
        "bad": {"1": {"b": 2.0, "a": 1.0} | below, "2": {"c": 2.0, "d": 1.0} | below},
    }
    for name in ("nDCG@2", "AP@2", "R@1"):
        audit = cf.audit(qrels, runs, name)
        assert (audit.unjudged == 0).all()
        assert (audit.lowest < audit.score - 0.1).any()
        assert not [swap for swap in audit.swaps if swap.cause == "unjudged"]
        assert audit.plausible == pytest.approx(audit.score)


def test_shared_documents_cannot_reverse_a_pair() -> None:
    """Each run alone could lose everything, but the unjudged document is the same for both."""
    qrels = {"q": {"a": 1, "b": 0}}
    runs = {"good": {"q": {"u": 3.0, "a": 2.0}}, "bad": {"q": {"u": 3.0, "b": 2.0}}}
    swaps = cf.audit(qrels, runs, ["P@2", "RBP"]).swaps
    assert ("P@2", "unjudged") not in {(swap.measure, swap.cause) for swap in swaps}
    assert ("RBP", "unjudged") in {(swap.measure, swap.cause) for swap in swaps}


def test_weights_of_ranks_without_the_native_core() -> None:
    code = "import cranfield as cf; from cranfield.measures.weights import rank_weights; "
    code += "print(rank_weights(cf.parse('P@2'), 3, 1).tolist())"
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, env=os.environ | {"CRANFIELD_PLAIN": "1"}, capture_output=True, text=True)
    assert done.stdout == "[0.5, 0.5, 0.0]\n", done.stderr
