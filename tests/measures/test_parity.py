"""The reference tools as live oracles, on random runs with ties, gaps, negative grades and empty queries."""

from __future__ import annotations

import random

import numpy as np
import pytest
import pytrec_eval

import cranfield as cf
from awkward import random_input

TREC = {
    "map": "AP",
    "ndcg": "nDCG",
    "recip_rank": "RR",
    "Rprec": "Rprec",
    "bpref": "bpref",
    "infAP": "infAP",
    "set_P": "SetP",
    "set_recall": "SetR",
    "set_map": "SetAP",
    "set_F": "SetF",
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
    **{f"P_{k}": f"P@{k}" for k in (1, 3, 5, 10)},
    **{f"recall_{k}": f"R@{k}" for k in (1, 3, 5, 10)},
    **{f"ndcg_cut_{k}": f"nDCG@{k}" for k in (1, 3, 5, 10)},
    **{f"map_cut_{k}": f"AP@{k}" for k in (1, 3, 5, 10)},
    **{f"success_{k}": f"Success@{k}" for k in (1, 3, 5, 10)},
    **{f"iprec_at_recall_{r / 10:.2f}": f"IPrec@{r / 10}" for r in range(11)},
}
ASKED = {
    *(name for name in TREC if not name.rpartition("_")[2].replace(".", "").isdigit()),
    *(f"{family}.1,3,5,10" for family in ("P", "recall", "ndcg_cut", "map_cut", "success")),
    "iprec_at_recall",
}


@pytest.mark.parametrize("part", range(10))
def test_pytrec_eval(part: int) -> None:
    rng = random.Random(part)
    for _ in range(10):
        run, qrels = random_input(rng, 40)
        theirs = pytrec_eval.RelevanceEvaluator(qrels, ASKED).evaluate(run)
        ours = cf.evaluate(qrels, run, list(TREC.values()), ties="trec9", undefined="zero", queries="both")
        assert {score.query for score in ours} == set(theirs)
        for query, results in theirs.items():
            values = np.nan_to_num(ours.values[0, :, ours.queries.index(query)])  # theirs has no undefined
            difference = np.abs(values - [results[name] for name in TREC])
            assert difference.max() <= 1e-6, (list(TREC)[difference.argmax()], run, qrels)


CWL = {
    "RBP(p=0.8, rel=1)": "RBP(p=0.8, rel=1)",
    "INST(T=1.0, max_rel=3)": "INST(T=1, max=3)",
    "INST(T=2.5, max_rel=3)": "INST(T=2.5, max=3)",
    "INSQ(T=1.0, max_rel=3)": "INSQ(T=1, max=3)",
    "INSQ(T=3.0, max_rel=3)": "INSQ(T=3, max=3)",
    "BPM(T=1.0, max_rel=3)@10": "BPM(T=1, max=3)@10",
    "BPM(T=2.0, max_rel=3)@4": "BPM(T=2, max=3)@4",
    "SDCG(max_rel=3)@10": "SDCG(max=3)@10",
}


@pytest.mark.filterwarnings("ignore")
def test_cwl_eval() -> None:
    import ir_measures

    rng = random.Random(1)
    for _ in range(20):
        documents = [f"d{i}" for i in range(25)]
        qrels = {"q": {d: rng.choice([0, 1, 2, 3]) for d in documents if rng.random() < 0.7}}
        qrels["q"]["d0"] = 3
        run = {"q": {d: 100.0 - i for i, d in enumerate(rng.sample(documents, 20))}}
        asked = {name: ir_measures.parse_measure(name) for name in CWL}
        theirs = ir_measures.calc_aggregate(asked.values(), qrels, run)
        ours = cf.evaluate(qrels, run, list(CWL.values()))
        for m, name in enumerate(CWL):
            assert ours._means[0, m] == pytest.approx(theirs[asked[name]], abs=1e-9), name
        # their spelling is understood, and means the same
        for name, symbol in CWL.items():
            assert str(cf.parse(name)) == str(cf.parse(symbol))
