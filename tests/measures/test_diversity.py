"""Diversity: against ndeval, against every order of ties, and where ndeval is wrong."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyndeval
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.evaluation.notes import sentences

CUT = {"alpha-DCG": "alpha_DCG", "alpha-nDCG": "alpha_nDCG", "ERR-IA": "ERR_IA", "nERR-IA": "nERR_IA", "P-IA": "P_IA",
       "strec": "StRecall"}  # fmt: skip
NDEVAL = {f"{theirs}@{k}": f"{ours}@{k}" for theirs, ours in CUT.items() for k in range(1, 21)}
NDEVAL |= {"NRBP": "NRBP", "nNRBP": "nNRBP", "MAP-IA": "AP_IA"}
# ndeval begins to divide by the gain of a perfect list at rank 2, so that these are M times too large.
UNDIVIDED = ("alpha-DCG@1", "ERR-IA@1")


def topic(rng: random.Random, documents: int = 30, subtopics: int = 4) -> tuple[dict, dict]:
    names = [f"d{i:02}" for i in range(documents)]
    judged = rng.sample(names, rng.randint(3, documents))
    qrels = {d: {str(s): int(rng.random() < 0.25) for s in range(1, subtopics + 1)} for d in judged}
    qrels[judged[0]]["1"] = 1
    run = {d: 100.0 - i for i, d in enumerate(rng.sample(names, rng.randint(1, documents)))}
    return run, qrels


def ndeval(runs: dict, judgments: dict, measures: list[str], **parameters: float) -> dict:
    lines = [(q, s, d, g) for q, docs in judgments.items() for d, labels in docs.items() for s, g in labels.items()]
    ranking = [(q, d, s) for q, docs in runs.items() for d, s in docs.items()]
    return pyndeval.ndeval(lines, ranking, measures=measures, **parameters)


def test_ndeval() -> None:
    """Every measure and cut-off that it has, on topics with grades up to 3, which it takes for 1."""
    rng = random.Random(4)
    runs, judgments = {}, {}
    for q in range(500):
        runs[f"{q}"], labels = topic(rng)
        judgments[f"{q}"] = {
            d: {s: g * rng.choice([1, 1, 2, 3]) for s, g in about.items()} for d, about in labels.items()
        }
    theirs = ndeval(runs, judgments, list(NDEVAL))
    ours = cf.evaluate(judgments, runs, list(NDEVAL.values()))
    covered = {q: {s for labels in docs.values() for s, g in labels.items() if g} for q, docs in judgments.items()}
    for q, name in enumerate(ours.queries):
        for m, peer in enumerate(NDEVAL):
            value = ours.values[0, m, q] * (len(covered[name]) if peer in UNDIVIDED else 1)
            assert value == pytest.approx(theirs[name][peer], abs=1e-6), (name, peer)


@pytest.mark.parametrize(("alpha", "beta"), [(0.2, 0.8), (0.9, 0.3)])
def test_ndeval_with_other_parameters(alpha: float, beta: float) -> None:
    rng = random.Random(alpha)
    run, judgments = zip(*[topic(rng) for _ in range(50)], strict=True)
    runs, qrels = (
        dict(zip(map(str, range(50)), run, strict=True)),
        dict(zip(map(str, range(50)), judgments, strict=True)),
    )
    peers = {
        "alpha-nDCG@10": f"alpha_nDCG(alpha={alpha})@10",
        "nERR-IA@10": f"nERR_IA(alpha={alpha})@10",
        "NRBP": f"NRBP(alpha={alpha}, beta={beta})",
        "nNRBP": f"nNRBP(alpha={alpha}, beta={beta})",
    }
    theirs = ndeval(runs, qrels, list(peers), alpha=alpha, beta=beta)
    ours = cf.evaluate(qrels, runs, list(peers.values()))
    for q, name in enumerate(ours.queries):
        assert ours.values[0, :, q] == pytest.approx([theirs[name][peer] for peer in peers], abs=1e-6)


def test_ties_of_ndeval_are_settled_by_ascending_id() -> None:
    qrels, run = {"q": {"a": {"1": 1}, "b": {"1": 0}}}, {"q": {"a": 1.0, "b": 1.0}}
    assert ndeval(run, qrels, ["ERR-IA@5"])["q"]["ERR-IA@5"] > float(cf.evaluate(qrels, run, "ERR_IA@5"))


VARIANTS = ["alpha_DCG@3", "alpha_DCG(alpha=1)@4", "alpha_DCG(alpha=0)", "alpha_nDCG@2", "alpha_nDCG", "ERR_IA@3", "ERR_IA(norm='paper')",
            "ERR_IA(norm='paper', max=4)@2", "nERR_IA@3", "NRBP", "NRBP(beta=0.8)@3", "nNRBP", "AP_IA", "AP_IA@2", "P_IA@2", "StRecall@2",
            "alpha_nDCG(rel=2)@3", "nDCG_IA@2", "nDCG_IA(gain='exp')", "nDCG_IA(rel=2)@3", "D_nDCG@2", "D_nDCG(discount='jk')",
            "D_nDCG(gain={1: 3, 2: 0})@3", "Dsharp_nDCG@2", "Dsharp_nDCG(gamma=0.2, gain='exp')@3", "D_Q@2", "D_Q(norm='R', beta=3)@4",
            "Dsharp_Q(gamma=0.2)@3", "DIN_nDCG@2", "DIN_nDCG(gain='exp', discount='jk')@4", "DINsharp_nDCG@3", "DIN_Q@2", "DIN_Q(norm='R')@9",
            "DINsharp_Q(gamma=0.2, beta=0)@3", "PplusQ@2", "PplusQ(beta=3)@4", "PplusQsharp@3", "IA_ERR@2", "IA_nERR(gain='exp')@3"]  # fmt: skip


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("name", VARIANTS)
def test_expected_is_the_mean_over_orders(name: str, weighed: bool) -> None:
    rng = random.Random(name)
    for _ in range(12):
        documents = [f"d{i}" for i in range(rng.randint(1, 6))]
        qrels = {d: {s: rng.choice([0, 0, 1, 2]) for s in "xyz"} for d in [*documents, "missed"] if rng.random() < 0.8}
        qrels["always"] = {"x": 2, "y": 0, "z": 0}
        intents = {"q": {"x": 1, "y": rng.choice([0, 2, 0.3]), "z": 0.5}} if weighed else None
        types = {"q": {"x": "nav", "y": "inf", "z": rng.choice(["inf", "nav"])}} if weighed else None
        given = {"intents": intents, "types": types}
        scores = {d: float(rng.choice([1, 1, 2])) for d in documents}
        groups = [[d for d in documents if scores[d] == s] for s in (2.0, 1.0)]
        orders = [
            a + b
            for a in map(list, itertools.permutations(groups[0]))
            for b in map(list, itertools.permutations(groups[1]))
        ]
        # Every order is a query of its own, so that one evaluation scores all of them.
        by_order = {str(i): {d: -rank for rank, d in enumerate(order)} for i, order in enumerate(orders)}
        copied = {role: of and dict.fromkeys(by_order, of["q"]) for role, of in given.items()}
        each = cf.evaluate(cf.Collection(dict.fromkeys(by_order, qrels), **copied), by_order, name).values[0, 0]
        tied = cf.evaluate(cf.Collection({"q": qrels}, **given), {"q": scores}, f"{name}[ties=expected]")
        found = float(tied)
        assert found == pytest.approx(np.mean(each), abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("name", VARIANTS)
def test_scores_do_not_depend_on_company(name: str) -> None:
    """Alone or with wider queries, rows in this order or another, a query scores the same to the last bit."""
    rng = random.Random(name)
    run, qrels, intents = {}, {}, {}
    for q in range(6):
        documents = [f"d{i}" for i in range(rng.choice([5, 20, 60]))]
        run[f"q{q}"] = {d: float(rng.randint(0, 12)) for d in documents}
        judged = rng.sample(documents, 4) if q else documents
        subtopics = "bcadefghijk"[: rng.randint(2, 11)] if q else "abcdefghijk"
        qrels[f"q{q}"] = {d: {s: rng.choice([0, 0, 1, 2]) for s in subtopics} for d in judged} | {"sure": {"a": 3}}
        intents[f"q{q}"] = {s: rng.random() for s in subtopics} | {"a": 1.0}
    asked = [f"{name}[ties=expected]", f"{name}[condensed]"]

    def values(run: dict, qrels: dict, intents: dict) -> dict[str, list[float]]:
        types = {q: dict.fromkeys(["a", "c"] if "c" in of else ["a"], "nav") for q, of in intents.items()}
        scores = cf.evaluate(cf.Collection(qrels, intents=intents, types=types), run, asked)
        return {query: scores.values[0, :, q].tolist() for q, query in enumerate(scores.queries)}

    together = values(run, qrels, intents)
    for q in run:
        assert np.array_equal(values({q: run[q]}, {q: qrels[q]}, {q: intents[q]})[q], together[q], equal_nan=True), q
    turned = [{q: dict(reversed(of.items())) for q, of in reversed(part.items())} for part in (run, qrels, intents)]
    again = values(*turned)
    assert all(np.array_equal(again[q], together[q], equal_nan=True) for q in run)


def test_every_measure_is_tried() -> None:
    assert {cf.parse(name).symbol for name in VARIANTS} == {
        d.symbol for d in cf.measures.CATALOGUE.values() if d.subtopics
    }


def test_the_greedy_ideal_can_be_beaten_and_the_exact_one_cannot() -> None:
    qrels = {"q": {"d0": {"1": 1}, "d1": {"2": 1, "3": 1}, "d2": {"0": 1, "1": 1}, "d3": {"1": 1, "2": 1}}}
    run = {"q": {"d1": 2.0, "d2": 1.0}}
    assert float(cf.evaluate(qrels, run, "alpha_nDCG@2")) == pytest.approx(1.107068101)
    assert float(cf.evaluate(qrels, run, "alpha_nDCG(ideal='exact')@2")) == pytest.approx(1.0)
    many = {"q": {f"d{i}": {"1": 1, str(i): 1} for i in range(20)}}
    with pytest.raises(cf.MeasureError, match="supports up to 16 relevant documents per query; a query has 20"):
        cf.evaluate(many, run, "alpha_nDCG(ideal='exact')@2")


@pytest.mark.parametrize("name", ["alpha_nDCG", "alpha_nDCG@2", "nERR_IA@3", "nNRBP(beta=0.8)", "nNRBP(alpha=0.9)@2"])
def test_the_exact_ideal_is_the_best_of_all_orders(name: str) -> None:
    measure = cf.parse(name)
    exact = str(cf.measures.Measure(measure.symbol, (*measure.parameters, ("ideal", "exact")), measure.cutoff))
    rng = random.Random(name)
    for _ in range(4):
        qrels = {"q": {f"d{i}": {s: int(rng.random() < 0.5) for s in "wxyz"} for i in range(4)} | {"sure": {"w": 1}}}
        intents = {"q": {"w": 1, "x": 2, "y": 0.3, "z": 1}}
        orders = [{"q": {d: -i for i, d in enumerate(order)}} for order in itertools.permutations(qrels["q"])]
        assert cf.evaluate(cf.Collection(qrels, intents=intents), orders, exact)._means.max() == pytest.approx(1)


def test_nothing_relevant_is_undefined_where_ndeval_says_nan() -> None:
    qrels = {"q": {"a": {"1": 0, "2": 0}}}
    peer = pyndeval.ndeval([("q", "1", "a", 0), ("q", "2", "a", 0)], [("q", "a", 1.0)], measures=["nNRBP", "ERR-IA@5"])
    assert np.isnan(peer["q"]["nNRBP"])
    assert peer["q"]["ERR-IA@5"] == 0
    assert np.isnan(cf.evaluate(qrels, {"q": {"a": 1.0}}, ["nNRBP", "ERR_IA@5"]).values).all()


@pytest.mark.parametrize("name", ["alpha_DCG", "ERR_IA", "alpha_nDCG", "nERR_IA", "NRBP", "nNRBP", "AP_IA", "D_nDCG"])
def test_without_a_cut_off_an_empty_list_scores_nothing(name: str) -> None:
    """Unanswered, or nothing left of it once it is condensed: that is 0, and never undefined."""
    qrels = {"q": {"a": {"1": 1, "2": 1}}, "unanswered": {"a": {"1": 1}}, "unjudged": {"a": {"1": 1}}}
    scores = cf.evaluate(qrels, {"q": {"a": 1.0}, "unjudged": {"b": 1.0}}, name, condensed=True)
    assert scores.values[0, 0].tolist() == [1 if name != "NRBP" else 0.75, 0, 0]


def test_cut_offs_beyond_twenty() -> None:
    qrels = {"q": {f"d{i:02}": {"1": int(i == 25), "2": 0} for i in range(30)}}
    run = {"q": {f"d{i:02}": -i for i in range(30)}}
    scores = cf.evaluate(qrels, run, ["StRecall@20", "StRecall@30", "alpha_nDCG@30"])
    assert scores._means[0].tolist() == pytest.approx([0, 1, 1 / np.log2(27)])


def test_judgments_without_subtopics_are_refused() -> None:
    with pytest.raises(cf.InputError) as caught:
        cf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "alpha_nDCG@5")
    assert str(caught.value) == (
        "qrels: alpha_nDCG@5 needs judgments by subtopic\n\n"
        "hint: the subtopic is the second column of a qrels file, or column `subtopic` of a table"
    )


def test_one_level_more_is_subtopics_whatever_they_are_called() -> None:
    """In a file a column of zeros is how everybody writes that there are none; nobody writes such a dict by habit."""
    qrels = {"q": {"a": {"0": 1}, "b": {"0": 0}}}
    assert cf.evaluate(qrels, {"q": {"a": 1.0}}, ["alpha_nDCG@5", "P@1"])._means.tolist() == [[1, 1]]


def test_ties_that_could_matter_are_told() -> None:
    """Two documents of one grade, one of which says something new: to order by grade shows nothing of what is open."""
    run, qrels = {"q": {"a": 2.0, "b": 1.0, "c": 1.0}}, {"q": {"a": {"1": 1}, "b": {"1": 1}, "c": {"2": 1}}}
    note = cf.evaluate(qrels, run, ["alpha_nDCG@1", "alpha_nDCG@2", "StRecall@2", "P@2"]).notes
    assert "could change alpha_nDCG@2, StRecall@2;" in sentences(note)[-1]
    assert not any("ties" in note for note in sentences(cf.evaluate(qrels, run, "alpha_nDCG@2", ties="expected").notes))
    last = {"q": {"z": 3.0, "a": 2.0, "b": 1.0, "c": 1.0}}
    assert "ties" in sentences(cf.evaluate(qrels, last, "alpha_nDCG@2", condensed=True).notes)[-1]


def test_diversity_measures_have_no_bounds_for_unjudged_documents() -> None:
    qrels = {"q": {"a": {"1": 1, "2": 0}}}
    with pytest.raises(cf.MeasureError, match="alpha_nDCG@5 has no bounds"):
        cf.evaluate(qrels, {"q": {"a": 1.0}}, "alpha_nDCG@5", show="bounds")


def test_unjudged_queries_are_left_out() -> None:
    run, qrels = {"q": {"a": 1.0}, "other": {"a": 1.0}}, {"q": {"a": {"1": 1}}}
    measures = ["alpha_nDCG@5", "AP_IA", "nERR_IA@5"]
    assert cf.evaluate(qrels, run, measures)._means[0].tolist() == [1, 1, 1]
    scores = cf.evaluate(qrels, run, measures, queries="run")
    assert np.isnan(scores.values[0, :, 1]).all()


# The definitions once more, written down without a thought for speed.


def naive(
    name: str, ranking: list[str], judged: dict[str, dict[str, float]], weights: dict[str, float] | None, k: int
) -> float:
    subtopics = sorted({s for labels in judged.values() for s, g in labels.items() if g > 0})
    weights = dict.fromkeys(subtopics, 1.0) if weights is None else {s: weights.get(s, 0.0) for s in subtopics}
    subtopics = [s for s in subtopics if weights[s] > 0]
    p = {s: weights[s] / sum(weights[t] for t in subtopics) for s in subtopics}
    grade = {s: [judged.get(d, {}).get(s, 0) for d in ranking] for s in subtopics}

    def dcg(gains: list[float]) -> float:
        return sum(g / np.log2(r + 2) for r, g in enumerate(gains[:k]))

    def ndcg(gain: list[float], pool: list[float]) -> float:
        return dcg(gain) / dcg(sorted(pool, reverse=True))

    def cascade(discount: list[float], order: list[str]) -> float:
        total = 0.0
        for s in subtopics:
            reach = 1.0
            for d, step in zip(order[:k], discount, strict=False):
                if judged.get(d, {}).get(s, 0) > 0:
                    total += p[s] * step * reach
                    reach *= 0.5
        return total

    recall = np.mean([any(grade[s][:k]) for s in subtopics])
    overall = ndcg(
        [sum(p[s] * grade[s][r] for s in subtopics) for r in range(len(ranking))],
        [sum(p[s] * labels.get(s, 0) for s in subtopics) for labels in judged.values()],
    )
    top = max(g for labels in judged.values() for g in labels.values())

    def err(grades: list[float]) -> float:
        reach, total = 1.0, 0.0
        for r, g in enumerate(grades[:k], 1):
            stop = (2**g - 1) / 2**top
            total += reach * stop / r
            reach *= 1 - stop
        return total

    log, harmonic = [1 / np.log2(r + 1) for r in range(1, 99)], [1 / r for r in range(1, 99)]
    power = [0.5 ** (r - 1) for r in range(1, 99)]
    orders = [list(order) for order in itertools.permutations(judged)]
    return {
        "nDCG_IA": lambda: sum(p[s] * ndcg(grade[s], [x.get(s, 0) for x in judged.values()]) for s in subtopics),
        "D_nDCG": lambda: overall,
        "I_rec": lambda: recall,
        "Dsharp_nDCG": lambda: (recall + overall) / 2,
        "P_IA": lambda: sum(p[s] * sum(g > 0 for g in grade[s][:k]) / k for s in subtopics),
        "ERR_IA(norm='paper')": lambda: sum(p[s] * err(grade[s]) for s in subtopics),
        "ERR_IA": lambda: cascade(harmonic, ranking) / sum(0.5**r * harmonic[r] for r in range(k)),
        "alpha_DCG": lambda: cascade(log, ranking) / sum(0.5**r * log[r] for r in range(k)),
        "NRBP": lambda: 0.75 * cascade(power, ranking),
        "alpha_nDCG(ideal='exact')": lambda: cascade(log, ranking) / max(cascade(log, order) for order in orders),
        "nERR_IA(ideal='exact')": lambda: cascade(harmonic, ranking) / max(cascade(harmonic, o) for o in orders),
    }[name]()


NAIVE = ("nDCG_IA", "D_nDCG", "I_rec", "Dsharp_nDCG", "P_IA", "ERR_IA(norm='paper')", "ERR_IA", "alpha_DCG", "NRBP",
         "alpha_nDCG(ideal='exact')", "nERR_IA(ideal='exact')")  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.sampled_from("abcde"), st.dictionaries(st.sampled_from("xyz"), st.integers(0, 3)), max_size=4),
    st.permutations("abcdefg"),
    st.none() | st.dictionaries(st.sampled_from("xyz"), st.floats(0.125, 4), min_size=1),
    st.integers(1, 6),
)
def test_definitions(judged: dict, order: list[str], weights: dict | None, k: int) -> None:
    judged = {d: labels for d, labels in judged.items() if labels} | {"sure": {"x": 1, "y": 0, "z": 2}}
    weights = weights and weights | {"x": 1.0}
    names = [f"{name}@{k}" for name in NAIVE]
    scores = cf.evaluate(
        cf.Collection({"q": judged}, intents=weights and {"q": weights}),
        {"q": {d: -i for i, d in enumerate(order)}},
        names,
    )
    expected = [naive(name, order, judged, weights, k) for name in NAIVE]
    assert scores.values[0, :, 0] == pytest.approx(expected, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.permutations("abcdefg"), st.sampled_from(VARIANTS))
def test_condensed_is_the_ranking_without_unjudged(order: list[str], name: str) -> None:
    judged = {"a": {"x": 1}, "c": {"x": 0, "y": 2}, "d": {"y": 0}, "f": {"x": 2, "y": 1}}
    run = {d: -i // 2 for i, d in enumerate(order)}
    views = "[ties=expected, condensed]"
    whole = float(cf.evaluate({"q": judged}, {"q": run}, name + views))
    short = float(cf.evaluate({"q": judged}, {"q": {d: s for d, s in run.items() if d in judged}}, name + views))
    assert whole == pytest.approx(short)


def test_graded_by_hand() -> None:
    """Two subtopics, three in four readers want the first; grades are gains."""
    qrels = {"q": {"a": {"1": 2, "2": 0}, "b": {"1": 0, "2": 3}, "c": {"1": 1, "2": 1}}}
    run, intents = {"q": {"b": 3.0, "c": 2.0}}, {"q": {"1": 3, "2": 1}}
    names = ["D_nDCG@2", "I-rec@1", "D#-nDCG@1", "nDCG_IA@1", "P_IA@2", "ERR_IA(norm='paper')@2"]
    scores = cf.evaluate(cf.Collection(qrels, intents=intents), run, names)
    step = 1 / np.log2(3)
    assert scores.values[0, :, 0] == pytest.approx(
        [
            (0.75 + step) / (1.5 + step),  # gains: a 1.5, b 0.75, c 1
            0.5,
            (0.5 + 0.75 / 1.5) / 2,
            0.25,
            0.75 / 2 + 0.25,
            0.75 * 1 / 8 / 2 + 0.25 * (7 / 8 + 1 / 8 * 1 / 8 / 2),
        ]
    )


def test_graded_judgments_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 1 a 3\nq 2 a 1\nq 1 b 0\nq 2 b 2\n")
    (tmp_path / "run").write_text("q Q0 b 1 2.0 x\nq Q0 a 2 1.0 x\n")
    names = ["ERR_IA(norm='paper')@2", "ERR_IA(norm='paper', max=4)@1", "alpha_DCG(rel=2)@1", "D_nDCG(gain='exp')@1"]
    scores = cf.evaluate(tmp_path / "qrels", tmp_path / "run", names)
    assert scores.values[0, :, 0] == pytest.approx([(7 / 8 / 2 + 3 / 8 + 5 / 8 / 8 / 2) / 2, 3 / 16 / 2, 0.5, 3 / 8])


# Intents.

SUBTOPICS = {"q": {"a": {"1": 1, "2": 0, "3": 0}, "b": {"1": 0, "2": 1, "3": 0}}, "r": {"a": {"1": 1}}}


def test_weights_from_a_file_and_notes(tmp_path: Path) -> None:
    (tmp_path / "weights.txt").write_text("# query subtopic weight\nq 1 0.75\n\nq 3 1\ns 1 1\n")
    (tmp_path / "weights.json").write_text('{"q": {"1": 0.75, "3": 1}, "s": {"1": 1}}')
    run = {"q": {"b": 1.0}, "r": {"a": 1.0}}
    for name in ("weights.txt", "weights.json"):
        scores = cf.evaluate(cf.Collection(SUBTOPICS, intents=tmp_path / name), run, "P_IA@1")
        assert scores.values[0, 0].tolist() == [0, 1]
        notes = [note for note in sentences(scores.notes) if note.startswith(str(tmp_path / name))]
        for note, part in zip(
            notes, ("1 query (r)", "1 query (s)", "1 subtopic with relevant documents (2 of q)"), strict=True
        ):
            assert part in note


def test_equal_weights_change_nothing() -> None:
    rng = random.Random(1)
    run, qrels = topic(rng)
    names = [name for name in VARIANTS if "{" not in name]
    intents = {"q": dict.fromkeys("1234", 0.1)}
    a, b = (
        cf.evaluate(cf.Collection({"q": qrels}, intents=given), {"q": run}, names).values for given in (None, intents)
    )
    assert np.array_equal(a, b, equal_nan=True)


WRONG = {
    "q 1\n": ['W:1: expected 3 or 4 columns (query subtopic weight [inf|nav]), found 2: "q 1"'],
    "q 1 1 nav\nq 2 1 both\nq 3 1 inf x\n": [
        'W:2: the type of an intent must be inf or nav, not "both"',
        'W:3: expected 3 or 4 columns (query subtopic weight [inf|nav]), found 5: "q 3 1 inf x"',
    ],
    "q 1 much\nq 2 nan\nq 3 -1": [
        'W:1: the weight is not a finite number: "much"',
        'W:2: the weight is not a finite number: "nan"',
        "W:3: the weight is negative: -1",
    ],
    "q 1 1e308\nq 2 1e-320\n": [
        "W:1: the weight must be 0 or between 1e-100 and 1e100: 1e+308",
        "W:2: the weight must be 0 or between 1e-100 and 1e100: 9.99989e-321",
    ],
    "q 1 1\nq 1 2\n": ["W:2: subtopic `1` of query `q` already has a weight, from W:1"],
    "q 7 1\nr 2 1\n": [
        "W:1: no document is judged for subtopic `7` of query `q`",
        "W:2: no document is judged for subtopic `2` of query `r`",
    ],
    "q 1 1\nr 1 0\n": ["W:2: all weights of query `r` are 0"],
    "x 1 1\n": ["W: none of its queries is judged (for example `x`)"],
    "[{}]": ["W: no column for the query; the columns are none"],
    '{"q": {"1": "x"}}': ['W: query `q`, subtopic `1`: the weight is not a finite number: "x"'],
    '{"q": {"1": 1}, "r": 2}': ["W: query `r`: expected {subtopic: weight}, found int"],
}


@pytest.mark.parametrize(("text", "faults"), WRONG.items())
def test_wrong_weights(text: str, faults: list[str], tmp_path: Path) -> None:
    place = tmp_path / "weights"
    place.write_text(text)
    with pytest.raises(cf.InputError) as caught:
        cf.evaluate(cf.Collection(SUBTOPICS, intents=place), {"q": {"a": 1.0}}, "P_IA@1")
    assert list(caught.value.faults) == [fault.replace("W:", f"{place}:") for fault in faults]


def test_a_weight_for_a_subtopic_without_judgments_is_a_note() -> None:
    run = {"q": {"a": 1.0}}
    judged = cf.evaluate(cf.Collection(SUBTOPICS, intents={"q": {"1": 1, "2": 2}}), run, "P_IA@1")
    found = cf.evaluate(
        cf.Collection(SUBTOPICS, intents={"q": {"1": 1, "2": 2, "7": 5}}, types={"q": {"1": "inf", "7": "nav"}}),
        run,
        "P_IA@1",
    )
    assert found.values.tolist() == judged.values.tolist()
    (note,) = [note for note in found.notes if note.kind == "unjudged_subtopics"]
    assert str(note) == "intents has weights for 1 subtopic without judgments (7 of q); not used"


def test_types_from_a_file_and_by_name(tmp_path: Path) -> None:
    """A fourth column of the intents says which are navigational; types= says otherwise where it says something."""
    (tmp_path / "intents").write_text("q 1 1 nav\nq 2 1\nq 3 1 inf\nr 1 1\n")
    qrels = {"q": {"a": {"1": 1, "3": 0}, "b": {"1": 1}, "c": {"2": 1}}, "r": {"a": {"1": 1}}}
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "r": {"a": 1.0}}

    def scores(**given: object) -> list[float]:
        return cf.evaluate(cf.Collection(qrels, **given), run, ["DIN_nDCG@3", "D_nDCG@3"]).values[0, :, 0].tolist()

    din, plain = scores(intents=tmp_path / "intents")
    assert din < plain
    assert scores(types={"q": {"1": "nav"}}) == [din, plain]
    assert scores(intents=tmp_path / "intents", types={"q": {"1": "inf"}, "other": {"9": "nav"}}) == [plain, plain]
    assert scores(types={"q": {"1": "inf"}}) == scores() == [plain, plain]


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ({"q": {"1": "navi"}}, 'types: query `q`, subtopic `1`: the type of an intent must be inf or nav, not "navi"'),
        ({"q": {"7": "nav"}}, "types: no document is judged for subtopic `7` of query `q`"),
        ({"x": {"1": "nav"}}, "types: none of its queries is judged (for example `x`)"),
        ({"q": 1}, "types: query `q`: expected {subtopic: type}, found int"),
    ],
)
def test_wrong_types(types: dict, message: str) -> None:
    with pytest.raises(cf.InputError) as caught:
        cf.evaluate(cf.Collection(SUBTOPICS, types=types), {"q": {"a": 1.0}}, "DIN_Q@1")
    assert list(caught.value.faults) == [message]


def test_types_need_subtopics_and_a_mapping() -> None:
    with pytest.raises(cf.InputError, match="types of intents need judgments by subtopic"):
        cf.evaluate(cf.Collection({"q": {"a": 1}}, types={"q": {"1": "nav"}}), {"q": {"a": 1.0}}, "AP")
    with pytest.raises(cf.CranfieldError, match="cannot read types from int"):
        cf.evaluate(cf.Collection(SUBTOPICS, types=3), {"q": {"a": 1.0}}, "AP")


def test_without_navigational_intents_types_change_nothing() -> None:
    rng = random.Random(2)
    run, qrels = topic(rng)
    pairs = {
        "DIN_nDCG@5": "D_nDCG@5",
        "DIN_Q@5": "D_Q@5",
        "DINsharp_nDCG@5": "Dsharp_nDCG@5",
        "DINsharp_Q@5": "Dsharp_Q@5",
    }
    values = cf.evaluate({"q": qrels}, {"q": run}, [*pairs, *pairs.values()]).values[0, :, 0]
    assert values[:4] == pytest.approx(values[4:], abs=1e-15)


def test_weights_without_subtopics() -> None:
    with pytest.raises(cf.InputError, match="qrels: weights of intents need judgments by subtopic"):
        cf.evaluate(cf.Collection({"q": {"a": 1}}, intents={"q": {"1": 1}}), {"q": {"a": 1.0}}, "AP")
    with pytest.raises(cf.CranfieldError, match="cannot read intents from int"):
        cf.evaluate(cf.Collection(SUBTOPICS, intents=3), {"q": {"a": 1.0}}, "AP")


# What is done where judgments are by subtopic.


@pytest.mark.parametrize(
    ("judged", "subtopics"),
    [
        ({"a": {"1": 1, "2": 1}}, True),
        ({"a": {"1": 1}, "b": {"2": 1}, "c": {"3": 2}}, True),
        ({"a": {"0": 1}, "b": {"1": 1}}, False),  # two rounds of judging
        ({"a": {"1": 1, "2": 0}}, False),
        ({"a": 1, "b": 1}, False),
    ],
)
def test_plain_measures_say_what_they_see(judged: dict, subtopics: bool) -> None:
    notes = sentences(cf.evaluate({"q": judged}, {"q": {"a": 1.0}}, ["AP", "P@1"]).notes)
    assert any("judgments by subtopic; AP, P@1" in note for note in notes) == subtopics


def test_the_range_of_ties_holds_the_score() -> None:
    """By grade alone neither order of a tie is the worst: what is reported is one, too."""
    judged = {"a": {"1": 1}, "b": {"1": 1}, "c": {"2": 1}}
    qrels, run = {"q": judged}, {"q": {"c": 1.0, "b": 1.0, "a": 1.0}}
    for rule in ("trec", "input"):
        scores = cf.evaluate(qrels, run, f"StRecall@2[ties={rule}]")
        notes = [note for note in sentences(scores.notes) if "between" in note]
        for note in notes:
            low, high = map(float, note.rpartition("between ")[2].split(" and "))
            assert low <= float(scores) <= high
    assert notes or float(scores) == 1


def test_web_track() -> None:
    """All measures on runs as those of a Web Track, with ties and lists that end early, beside ndeval."""
    names = [*NDEVAL.values(), "nDCG_IA@20", "D_nDCG@20", "I-rec@20", "D#-nDCG@20", "ERR_IA(norm='paper')@20", "AP"]
    made = cf.simulate(queries=12, systems=4, documents=800, depth=100, ties=0.5, truncate=0.5, seed=2)
    judgments = made.judgments
    scores = cf.evaluate(judgments, made.runs, names)
    assert np.isfinite(scores._means).all()
    assert (scores._means >= 0).all()
    assert (scores._means[:, [names.index("D#-nDCG@20")]] <= 1).all()
    labels = judgments.labels
    assert labels is not None
    of_query = np.searchsorted(judgments.begin, labels.document, side="right") - 1
    queries, documents, subtopics = list(judgments.queries), list(judgments.documents), list(labels.names)
    lines = [
        (queries[q], subtopics[s], documents[d], int(g))
        for q, s, d, g in zip(of_query, labels.subtopic, labels.document, labels.grade, strict=True)
    ]
    for r, run in enumerate(made.runs):
        table = cf.io.load(run)
        # In the order of trec_eval, for ndeval's own rule for ties is another one.
        rows = sorted(zip(table.query, table.score, table.document, strict=True), reverse=True)
        theirs = pyndeval.ndeval(
            lines, [(row[0], row[2], -float(i)) for i, row in enumerate(rows)], measures=list(NDEVAL)
        )
        for q, query in enumerate(scores.queries):
            for m, peer in enumerate(NDEVAL):
                if peer not in UNDIVIDED:
                    assert scores.values[r, m, q] == pytest.approx(theirs[query][peer], abs=1e-6), (run, query, peer)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "ERR_IA(norm='paper', alpha=0.3)@5",
            "ERR_IA: alpha has no effect with norm='paper'\n\nhint: omit alpha, or choose another norm",
        ),
        ("ERR_IA(max=4)@5", "ERR_IA: max has no effect with norm='ndeval'\n\nhint: omit max, or choose another norm"),
        (
            "nDCG(base=10)@5",
            "nDCG: base has no effect with discount='log2'\n\nhint: omit base, or choose another discount",
        ),
    ],
)
def test_parameters_that_would_change_nothing_are_refused(name: str, message: str) -> None:
    with pytest.raises(cf.MeasureError) as caught:
        cf.parse(name)
    assert str(caught.value) == message


INTENTS = ({"1": 0.5, "2": 0.25, "3": 0.25}, {"1": 2, "2": 1, "3": 1})


@pytest.mark.parametrize("weights", INTENTS)
@pytest.mark.parametrize("third", [{}, {"x": {"3": 0}}])
def test_an_intent_without_relevant_documents_keeps_its_share(weights: Any, third: Any) -> None:
    """Gains .5 and .25, whose sum is .75 of the readers: (1 + (.75 + 2) / (.75 + 3)) / 2, as by NTCIREVAL."""
    collection = cf.Collection({"q": {"a": {"1": 1}, "b": {"2": 1}} | third}, intents={"q": weights})
    expected = (1 + 2.75 / 3.75) / 2
    names = ["D_Q@10", "DIN_Q@10", "Dsharp_Q@10", "DINsharp_Q@10", "D_Q@10[ties=expected]", "D_nDCG@10", "PplusQ@10"]
    values = cf.evaluate(collection, {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}, names)._means[0]
    sharp = (1 + expected) / 2
    assert values[:5].tolist() == pytest.approx([expected, expected, sharp, sharp, expected])
    free_of_scale = cf.evaluate(
        cf.Collection({"q": {"a": {"1": 1}, "b": {"2": 1}}}, intents={"q": {"1": 2, "2": 1}}),
        {"q": {"a": 3.0, "x": 2.0, "b": 1.0}},
        names[5:],
    )
    assert values[5:].tolist() == free_of_scale._means[0].tolist()


def test_an_intent_of_no_reader_changes_nothing() -> None:
    qrels, run = {"q": {"a": {"1": 1}, "b": {"2": 1}}}, {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}
    for intents in ({"1": 2, "2": 1}, {"1": 2, "2": 1, "3": 0}):
        scores = cf.evaluate(cf.Collection(qrels, intents={"q": intents}), run, ["D_Q@10", "DIN_Q@10"])
        assert scores._means[0].tolist() == pytest.approx([0.875, 0.875])
