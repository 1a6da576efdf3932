"""Diversity: against ndeval, against every order of ties, and where ndeval is wrong."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pyndeval
import pytest

import cranfield as cf

CUTOFFS = (5, 10, 20)
NDEVAL = {
    **{f"alpha-DCG@{k}": f"alpha_DCG@{k}" for k in CUTOFFS},
    **{f"alpha-nDCG@{k}": f"alpha_nDCG@{k}" for k in CUTOFFS},
    **{f"ERR-IA@{k}": f"ERR_IA@{k}" for k in CUTOFFS},
    **{f"nERR-IA@{k}": f"nERR_IA@{k}" for k in CUTOFFS},
    **{f"P-IA@{k}": f"P_IA@{k}" for k in CUTOFFS},
    **{f"strec@{k}": f"StRecall@{k}" for k in CUTOFFS},
    "NRBP": "NRBP",
    "nNRBP": "nNRBP",
    "MAP-IA": "AP_IA",
}


def topic(rng: random.Random, documents: int = 30, subtopics: int = 4) -> tuple[dict, dict]:
    names = [f"d{i:02}" for i in range(documents)]
    judged = rng.sample(names, rng.randint(3, documents))
    qrels = {d: {str(s): int(rng.random() < 0.25) for s in range(1, subtopics + 1)} for d in judged}
    qrels[judged[0]]["1"] = 1
    run = {d: 100.0 - i for i, d in enumerate(rng.sample(names, rng.randint(1, documents)))}
    return run, qrels


def test_ndeval() -> None:
    rng = random.Random(4)
    runs, judgments = {}, {}
    for q in range(500):
        runs[f"{q}"], judgments[f"{q}"] = topic(rng)
    theirs = pyndeval.ndeval(
        [(q, s, d, g) for q, docs in judgments.items() for d, labels in docs.items() for s, g in labels.items()],
        [(q, d, s) for q, docs in runs.items() for d, s in docs.items()],
        measures=list(NDEVAL),
    )
    ours = cf.evaluate(runs, judgments, list(NDEVAL.values()))
    for q, name in enumerate(ours.queries):
        for m, peer in enumerate(NDEVAL):
            assert ours.values[0, m, q] == pytest.approx(theirs[name][peer], abs=1e-6), (name, peer)


VARIANTS = ["alpha_DCG@3", "alpha_DCG(alpha=1)@4", "alpha_DCG(alpha=0)", "alpha_nDCG@2", "alpha_nDCG", "ERR_IA@3", "ERR_IA(norm='paper')",
            "ERR_IA(norm='paper', max=2)@2", "nERR_IA@3", "NRBP", "NRBP(beta=0.8)@3", "nNRBP", "AP_IA", "AP_IA@2", "P_IA@2", "StRecall@2",
            "alpha_nDCG(rel=2)@3"]  # fmt: skip


@pytest.mark.parametrize("name", VARIANTS)
def test_expected_is_the_mean_over_orders(name: str) -> None:
    rng = random.Random(name)
    for _ in range(12):
        documents = [f"d{i}" for i in range(rng.randint(1, 6))]
        qrels = {d: {s: rng.choice([0, 0, 1, 2]) for s in "xyz"} for d in [*documents, "missed"] if rng.random() < 0.8}
        qrels["always"] = {"x": 2, "y": 0, "z": 0}
        scores = {d: float(rng.choice([1, 1, 2])) for d in documents}
        groups = [[d for d in documents if scores[d] == s] for s in (2.0, 1.0)]
        orders = [
            a + b
            for a in map(list, itertools.permutations(groups[0]))
            for b in map(list, itertools.permutations(groups[1]))
        ]
        each = [
            cf.evaluate({"q": {d: -i for i, d in enumerate(order)}}, {"q": qrels}, name).summary(0, 0)
            for order in orders
        ]
        found = cf.evaluate({"q": scores}, {"q": qrels}, f"{name}[ties=expected]").summary(0, 0)
        assert found == pytest.approx(np.mean(each), abs=1e-9, nan_ok=True)


def test_every_measure_is_tried() -> None:
    assert {cf.parse(name).symbol for name in VARIANTS} == {d.symbol for d in cf.MEASURES.values() if d.subtopics}


def test_the_greedy_ideal_can_be_beaten_and_the_exact_one_cannot() -> None:
    qrels = {"q": {"d0": {"1": 1}, "d1": {"2": 1, "3": 1}, "d2": {"0": 1, "1": 1}, "d3": {"1": 1, "2": 1}}}
    run = {"q": {"d1": 2.0, "d2": 1.0}}
    assert cf.evaluate(run, qrels, "alpha_nDCG@2").summary(0, 0) == pytest.approx(1.107068101)
    assert cf.evaluate(run, qrels, "alpha_nDCG(ideal='exact')@2").summary(0, 0) == pytest.approx(1.0)
    many = {"q": {f"d{i}": {"1": 1, str(i): 1} for i in range(12)}}
    with pytest.raises(cf.MeasureError, match="ideal='exact' tries every order, and 12 documents have 5e"):
        cf.evaluate(run, many, "alpha_nDCG(ideal='exact')@2")


def test_nothing_relevant_is_undefined_where_ndeval_says_nan() -> None:
    qrels = {"q": {"a": {"1": 0, "2": 0}}}
    peer = pyndeval.ndeval([("q", "1", "a", 0), ("q", "2", "a", 0)], [("q", "a", 1.0)], measures=["nNRBP", "ERR-IA@5"])
    assert np.isnan(peer["q"]["nNRBP"])
    assert peer["q"]["ERR-IA@5"] == 0
    assert np.isnan(cf.evaluate({"q": {"a": 1.0}}, qrels, ["nNRBP", "ERR_IA@5"]).values).all()


def test_cut_offs_beyond_twenty() -> None:
    qrels = {"q": {f"d{i:02}": {"1": int(i == 25), "2": 0} for i in range(30)}}
    run = {"q": {f"d{i:02}": -i for i in range(30)}}
    scores = cf.evaluate(run, qrels, ["StRecall@20", "StRecall@30", "alpha_nDCG@30"])
    assert scores.means[0].tolist() == pytest.approx([0, 1, 1 / np.log2(27)])


def test_judgments_without_subtopics_are_refused() -> None:
    with pytest.raises(cf.InputError) as caught:
        cf.evaluate({"q": {"a": 1.0}}, {"q": {"a": 1}}, "alpha_nDCG@5")
    assert str(caught.value) == (
        "qrels: alpha_nDCG@5 needs judgments by subtopic, and these have none\n\n"
        "hint: the second column of the judgments, or `subtopic` in a table, is the subtopic"
    )


def test_unjudged_documents_are_about_anything() -> None:
    qrels = {"q": {"a": {"1": 1, "2": 0}}}
    with pytest.raises(cf.MeasureError, match="alpha_nDCG@5 has no bounds"):
        cf.evaluate({"q": {"a": 1.0}}, qrels, "alpha_nDCG@5", bounds=True)


def test_queries_that_nobody_judged_are_no_trouble() -> None:
    run, qrels = {"q": {"a": 1.0}, "other": {"a": 1.0}}, {"q": {"a": {"1": 1}}}
    measures = ["alpha_nDCG@5", "AP_IA", "nERR_IA@5"]
    assert cf.evaluate(run, qrels, measures).means[0].tolist() == [1, 1, 1]
    scores = cf.evaluate(run, qrels, measures, queries="run")
    assert np.isnan(scores.values[0, :, 1]).all()
