"""ir_measures: every name is understood, gives its value, and where it does not, ours is right."""

from __future__ import annotations

import logging
import os
import random
import subprocess
import sys

import ir_measures
import numpy as np
import pytest

import cranfield as cf

logging.getLogger("ir_measures").setLevel(logging.ERROR)

SHARED = [
    "AP", "AP@10", "AP(rel=2)@5", "AP(judged_only=True)", "P@5", "P(rel=2)@3", "P(judged_only=True)@5", "R@5", "R(rel=2)@10", "RR",
    "RR(rel=2)", "RR(judged_only=True)", "nDCG", "nDCG@10", "nDCG(judged_only=True)@5", "nDCG(gains={1:3,2:10})@5", "Rprec", "RR@5",
    "Rprec(rel=2)", "Bpref", "Bpref(rel=2)", "infAP", "SetP", "SetR", "SetAP", "SetF", "SetP(relative=True)", "Success@3", "NumRet",
    "Success(rel=2)@1", "IPrec@0.1", "IPrec@0.3", "NumRelRet", "RBP(rel=1)", "RBP(p=0.5,rel=2)", "BPM(max_rel=3)@5",
    "SDCG(max_rel=3)@5", "SDCG(max_rel=3,min_rel=1)@5", "NERR8(max_rel=3)@5", "NERR9(max_rel=3)@5", "NERR10(max_rel=3)",
    "NERR10(p=0.5,max_rel=4)", "NERR11(max_rel=3)", "NERR11(T=2.0,max_rel=4)", "INST(max_rel=3)", "INSQ(max_rel=3)",
    "INST(T=2.0,max_rel=3,min_rel=1)", "MRR@10", "NDCG@5", "MAP", "SetP(relative=True,rel=2)", "nDCG(gains={0:1,1:4})@5",
]  # fmt: skip
DIVERSE = ["alpha_DCG@5", "alpha_nDCG@10", "alpha_nDCG(alpha=0.3)@5", "ERR_IA@5", "nERR_IA@10", "NRBP", "NRBP(alpha=0.2,beta=0.7)",
           "nNRBP", "AP_IA", "P_IA@5", "StRecall@10"]  # fmt: skip


def sample(rng: random.Random) -> tuple[dict, dict]:
    documents = [f"d{i:02}" for i in range(20)]
    qrels = {f"{q}": {d: rng.choice([0, 0, 1, 2, 3]) for d in documents if rng.random() < 0.6} for q in range(3)}
    for judged in qrels.values():
        judged |= {documents[0]: 3, documents[1]: 0}
    queries = list(qrels)[: rng.choice([2, 3])]
    return {q: {d: 50.0 - i for i, d in enumerate(rng.sample(documents, rng.randint(5, 20)))} for q in queries}, qrels


@pytest.mark.filterwarnings("ignore")
def test_values() -> None:
    rng = random.Random(1)
    asked = {name: ir_measures.parse_measure(name) for name in SHARED}
    for _ in range(25):
        run, qrels = sample(rng)
        # One at a time: NumRet and NumRelRet together give a wrong NumRet.
        theirs = {m: PLAIN.calc_aggregate([m], qrels, run)[m] for m in asked.values()}
        ours = cf.evaluate(qrels, run, SHARED, ties="trec9", undefined="zero")
        for m, name in enumerate(SHARED):
            assert ours._means[0, m] == pytest.approx(theirs[asked[name]], abs=1e-6), (name, run, qrels)


# Where the two define a measure differently: as a provider, theirs.
THEIRS = ["Judged@3", "Judged@50", "Judged", "SetF", "SetF(beta=2.0)", "SetF(beta=0.5,rel=2)", "Compat",
          "Compat(p=0.8)", "Compat(normalize=False)", "Accuracy", "Accuracy@5", "Accuracy(rel=2)@10"]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
def test_values_of_the_provider() -> None:
    script = f"""
import random, sys
import ir_measures
sys.path.insert(0, {os.path.dirname(__file__)!r})
from test_ir_measures import PLAIN, SHARED, THEIRS, sample
import cranfield.compat.ir_measures
(provider,) = (p for p in ir_measures.DefaultPipeline.providers if p.NAME == "cranfield")
rng = random.Random(3)
for _ in range(25):
    run, qrels = sample(rng)
    for name in SHARED + THEIRS:
        measure = ir_measures.parse_measure(name)
        try:
            theirs = {{m.query_id: m.value for m in PLAIN.iter_calc([measure], qrels, run)}}
        except ZeroDivisionError:
            continue  # Accuracy of a list without pairs
        ours = {{m.query_id: m.value for m in provider.iter_calc([measure], qrels, run)}}
        for query, value in theirs.items():
            assert abs(ours[query] - value) < 1e-6, (name, query, ours[query], value, run, qrels)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.filterwarnings("ignore")
def test_diverse_values() -> None:
    rng = random.Random(2)
    run, plain = sample(rng)
    labels = [(q, s, d, int(rng.random() < 0.3 or s == "1")) for q, docs in plain.items() for d in docs for s in "123"]
    qrels: dict = {}
    for q, s, d, g in labels:
        qrels.setdefault(q, {}).setdefault(d, {})[s] = g
    rows = [ir_measures.Qrel(q, d, g, s) for q, s, d, g in labels]
    for name in DIVERSE:
        measure = ir_measures.parse_measure(name)
        theirs = PLAIN.calc_aggregate([measure], rows, run)[measure]
        assert cf.evaluate(qrels, run, name)._means[0, 0] == pytest.approx(theirs, abs=1e-6), name


# ir_measures as it is without us: importing our provider below puts it first.
PLAIN = ir_measures.providers.FallbackProvider(
    [p for p in ir_measures.DefaultPipeline.providers if p.NAME not in ("cranfield", "ranx", "gdeval")]
)


def test_measure_objects_are_understood() -> None:
    run, qrels = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2}}
    objects = [ir_measures.nDCG @ 10, ir_measures.AP(rel=2), ir_measures.P(judged_only=True) @ 1]
    scores = cf.evaluate(qrels, run, objects)
    assert scores.measures == ("nDCG@10", "AP(rel=2)", "P@1[condensed]")
    assert scores._means[0].tolist() == pytest.approx([1 / np.log2(3), 0.5, 1.0])
    assert cf.evaluate(qrels, run, ir_measures.RR)._means[0, 0] == 0.5


def test_one_import_makes_it_the_provider() -> None:
    script = """
import cranfield.compat.ir_measures, ir_measures
from ir_measures import AP, RR, nDCG, alpha_nDCG, SetF
run, qrels = {"q": {"a": 1.0, "b": 1.0, "c": 1.0}, "x": {"a": 1.0}}, {"q": {"a": 1}, "r": {"a": 1}}
assert ir_measures.providers.registry["cranfield"] is ir_measures.DefaultPipeline.providers[0]
found = ir_measures.calc_aggregate([RR, RR @ 10, AP, nDCG @ 5], qrels, run)
assert found[RR] == found[RR @ 10] == found[AP] == 1 / 6, found
each = {m.query_id: m.value for m in ir_measures.iter_calc([RR], qrels, run)}
assert each == {"q": 1 / 3, "r": 0}, each
rows = [ir_measures.Qrel("q", "a", 1, "1"), ir_measures.Qrel("q", "b", 1, "2")]
two = ir_measures.calc_aggregate([alpha_nDCG(alpha=0.5) @ 2, alpha_nDCG(alpha=0.9) @ 2], rows, {"q": {"a": 2.0, "b": 1.0}})
assert set(two.values()) == {1.0}, two
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.filterwarnings("ignore")
class TestWhereWeDiffer:
    """Each shows the other's answer, and ours."""

    def test_one_tie_rule_for_all(self) -> None:
        run, qrels = {"1": {"a": 1.0, "b": 1.0, "c": 1.0}}, {"1": {"a": 1}}
        theirs = PLAIN.calc_aggregate([ir_measures.RR, ir_measures.RR @ 10], qrels, run)
        assert (theirs[ir_measures.RR], theirs[ir_measures.RR @ 10]) == (pytest.approx(1 / 3), 1.0)
        assert cf.evaluate(qrels, run, ["RR", "RR@10"])._means[0].tolist() == pytest.approx([1 / 3, 1 / 3])

    def test_beta_is_beta(self) -> None:
        run, qrels = {"1": {"a": 2.0, "b": 1.0}}, {"1": {"a": 1}}
        measure = ir_measures.SetF(beta=2.0)
        assert PLAIN.calc_aggregate([measure], qrels, run)[measure] == pytest.approx(0.75)
        assert cf.evaluate(qrels, run, "SetF(beta=2.0)")._means[0, 0] == pytest.approx(5 / 6)

    def test_all_judged_queries_are_counted(self) -> None:
        run, qrels = {"1": {"a": 1.0}}, {"1": {"a": 1}, "2": {"a": 1}, "3": {"b": 1}}
        theirs = PLAIN.calc_aggregate([ir_measures.NumQ, ir_measures.NumRel], qrels, run)
        assert (theirs[ir_measures.NumQ], theirs[ir_measures.NumRel]) == (1, 1)
        assert cf.evaluate(qrels, run, ["NumQ", "NumRel"])._means[0].tolist() == [3, 3]

    def test_gains_that_add_up_are_enough(self) -> None:
        """Six documents of gain 1/3 are 2, though not in floating point: theirs reads on."""
        run, qrels = {"1": {f"d{i}": 10.0 - i for i in range(8)}}, {"1": {f"d{i}": int(i < 6) for i in range(8)}}
        measure = ir_measures.parse_measure("BPM(T=2.0,max_rel=3)@8")
        assert PLAIN.calc_aggregate([measure], qrels, run)[measure] == pytest.approx(2 / 8)
        assert cf.evaluate(qrels, run, "BPM(T=2.0,max_rel=3)@8")._means[0, 0] == pytest.approx(2 / 6)

    def test_overlap_is_summed_to_one_depth(self) -> None:
        run, qrels = {"1": {"a": 1.0}}, {"1": {"a": 1, "b": 1}}
        assert PLAIN.calc_aggregate([ir_measures.Compat], qrels, run)[ir_measures.Compat] == pytest.approx(
            0.7564, abs=5e-5
        )
        values = cf.evaluate(qrels, run, ["Compat", "Compat(depth=None)"])._means[0]
        assert values.tolist() == pytest.approx([0.5942, 0.7564], abs=5e-5)

    def test_judged_is_out_of_k(self) -> None:
        run, qrels = {"1": {"a": 1.0}}, {"1": {"a": 1}}
        assert PLAIN.calc_aggregate([ir_measures.Judged @ 5], qrels, run)[ir_measures.Judged @ 5] == 1.0
        assert cf.evaluate(qrels, run, "Judged@5")._means[0, 0] == 0.2

    def test_pairs_of_one_kind_alone_are_no_pairs(self) -> None:
        run, qrels = {"1": {"a": 1.0}}, {"1": {"a": 1}}
        with pytest.raises(ZeroDivisionError):
            PLAIN.calc_aggregate([ir_measures.Accuracy], qrels, run)
        assert np.isnan(cf.evaluate(qrels, run, "Accuracy")._means[0, 0])


def test_queries_that_accuracy_skips_stay_out_of_its_mean() -> None:
    script = """
import math, ir_measures, cranfield.compat.ir_measures
from ir_measures import AP, Accuracy, RR
run = {"q1": {"a": 2.0, "x": 1.0}, "q2": {"x": 1.0}}
qrels = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}
assert ir_measures.calc_aggregate([Accuracy], qrels, run) == {Accuracy: 1.0}
both = ir_measures.calc_aggregate([Accuracy, Accuracy @ 5, AP], qrels, run)
assert both == {Accuracy: 1.0, Accuracy @ 5: 1.0, AP: 1 / 3}, both
each = [(str(m.measure), m.query_id, m.value) for m in ir_measures.iter_calc([AP, Accuracy], qrels, run)]
assert sorted(each) == [("AP", "q1", 1.0), ("AP", "q2", 0.0), ("AP", "q3", 0.0), ("Accuracy", "q1", 1.0)], each
for empty in ({}, []):
    assert list(ir_measures.iter_calc([Accuracy, AP, RR @ 10], empty, run)) == []
    assert all(map(math.isnan, ir_measures.calc_aggregate([Accuracy, AP], empty, run).values()))
assert math.isnan(ir_measures.calc_aggregate([Accuracy], qrels, {})[Accuracy])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
