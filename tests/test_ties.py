"""Ties: the closed forms against every order there is."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.batch import from_ranking
from cranfield.evaluation.notes import sentences

# Every measure of the catalogue, with parameters that reach its branches.
VARIANTS = {
    "P": ["P@1", "P@3", "P(rel=2)@4"],
    "R": ["R@2", "R@9"],
    "F1": ["F1@3"],
    "Success": ["Success@1", "Success@3", "Success(rel=2)@2"],
    "HIT": ["HIT(max=3)@1", "HIT(max=3)@3", "HIT(gain='exp', max=3)@2"],
    "Rprec": ["Rprec", "Rprec(rel=2)"],
    "RPrec": ["RPrec@2"],
    "IPrec": ["IPrec@0", "IPrec@0.4", "IPrec@1"],
    "SetP": ["SetP"],
    "SetR": ["SetR"],
    "SetF": ["SetF(beta=2)"],
    "SetAP": ["SetAP"],
    "Judged": ["Judged@2", "Judged"],
    "NumRet": ["NumRet"],
    "NumRel": ["NumRel"],
    "NumRelRet": ["NumRelRet"],
    "AP": ["AP", "AP@3", "AP(norm='min')@2", "AP(rel=2)", "AP(graded=True, max=3)@4"],
    "SP": ["SP@3", "SP"],
    "SN_AP": ["SN_AP@1", "SN_AP@3", "SN_AP@9"],
    "GMAP": ["GMAP"],
    "infAP": ["infAP"],
    "Q": ["Q", "Q@3", "Q(beta=0)", "Q(beta=7.5)@4", "Q(norm='min')@2", "Q(gain={1: 0.3, 2: 5})"],
    "RR": ["RR", "RR@2", "RR(rel=2)"],
    "CG": ["CG@2", "CG"],
    "DCG": ["DCG", "DCG@3", "DCG(discount='jk', base=3)@5"],
    "nDCG": ["nDCG", "nDCG@2", "nDCG(gain='exp')@4", "nDCG(discount='jk')", "nDCG(rel=2)"],
    "SDCG": ["SDCG(max=3)@3"],
    "SN_DCG": ["SN_DCG@2", "SN_DCG@4", "SN_DCG(gain='binary')@3"],
    "RBP": ["RBP", "RBP(p=0.3, max=3)@3", "RBP(rel=1)"],
    "InvSq": ["InvSq", "InvSq(max=3)@2"],
    "INSQ": ["INSQ", "INSQ(T=2.5, horizon=3)", "INSQ(horizon=None)"],
    "NERR8": ["NERR8(max=3)@3"],
    "NERR9": ["NERR9(max=3)@3", "NERR9@9"],
    "NERR10": ["NERR10(max=3)", "NERR10(p=0.5, horizon=None, max=4, min=1)"],
    "NERR11": ["NERR11(max=3)", "NERR11(T=2.5, horizon=3, max=4)"],
    "Accuracy": ["Accuracy", "Accuracy@3", "Accuracy(rel=2)@2"],
    "Compat": ["Compat", "Compat(p=0.5, normalize=False)"],
    "NumQ": ["NumQ"],
    "INST": ["INST", "INST(T=2, horizon=4)", "INST(T=0.5, horizon=None, max=3)"],
    "BPM": ["BPM@3", "BPM(T=0.7, max=3)@5", "BPM(T=2)@9"],
    "ERR": ["ERR", "ERR(max=3)@3", "ERR(max=4)"],
    "bpref": ["bpref", "bpref(rel=2)"],
    "bpref_R": ["bpref_R"],
    "bpref_N": ["bpref_N"],
    "bpref_old": ["bpref_old"],
    "bpref_relative": ["bpref_relative"],
    "rpref_N": ["rpref_N(max=3)", "rpref_N(gain='exp')"],
    "rpref_relative": ["rpref_relative(max=3)"],
    "rpref_relative2": ["rpref_relative2(max=3)", "rpref_relative2(gain={1: 2, 2: 2.5})"],
    "IPrecAvg": ["IPrecAvg", "IPrecAvg(points=4, rule='trec10')"],
    "RprecAt": ["RprecAt(times=0.6)", "RprecAt(times=2, rel=2)"],
    "RelP": ["RelP@2", "RelP(rel=2)@9"],
    "SetRelP": ["SetRelP"],
    "Utility": ["Utility", "Utility(hit=2, noise=-0.5, miss=-1, rest=0.1, size=20)"],
    "NumNonRelRet": ["NumNonRelRet", "NumNonRelRet(rel=2)"],
    "Unjudged": ["Unjudged@2", "Unjudged@9"],
    "yaAP": ["yaAP"],
    "GMbpref": ["GMbpref"],
    "binG": ["binG", "binG(rel=2)"],
    "G": ["G", "G(gain={1: 0.3, 2: 5})"],
    "IDCG": ["IDCG", "IDCG@2"],
    "R_nDCG": ["R_nDCG", "R_nDCG(gain={1: 2, 2: 2, 3: 5})"],
    "nDCG_rel": ["nDCG_rel", "nDCG_rel(gain='exp')"],
    "RBPq": ["RBPq", "RBPq(p=0.5, gain={1: 0.5, 2: 0.25, 3: 1})"],
    "RBPres": ["RBPres(p=0.6)"],
}
NAMES = [name for names in VARIANTS.values() for name in names]
# Grades of 0 that gain: what is declared of measures, and bounds, do not hold for these.
GAINING = ["DCG(gain={0: 0.5, 1: 1})@4", "Compat(gain={0: 0.5})"]

grades = st.sampled_from([None, None, -1, 0, 0, 1, 1, 2, 3])
rankings = st.lists(st.lists(grades, min_size=1, max_size=4), max_size=3).filter(lambda r: sum(map(len, r)) <= 7)
missed = st.lists(st.sampled_from([0, 0, 1, 2, 3, -1]), max_size=4)


def orders(ranking: list[list[float | None]]) -> list[list[float | None]]:
    """Every ranking that the ties leave open, each as often as it is likely."""
    each = [list(itertools.permutations(group)) for group in ranking]
    return [[grade for group in whole for grade in group] for whole in itertools.product(*each)]


def same(a: float, b: float) -> bool:
    return (np.isnan(a) and np.isnan(b)) or abs(a - b) < 1e-9


def test_every_measure_is_tried() -> None:
    assert set(VARIANTS) == {d.symbol for d in cf.MEASURES.values() if not (d.subtopics or d.content)}


@pytest.mark.parametrize("name", [*NAMES, *GAINING])
@settings(max_examples=40, deadline=None)
@given(rankings, missed)
def test_expected_is_the_mean_over_orders(name: str, ranking: list, missed: list) -> None:
    measure = cf.parse(name)
    values = np.array([measure(order, missed) for order in orders(ranking)])
    expected = np.nan if np.isnan(values).all() else np.nan_to_num(values).mean()
    found = cf.parse(f"{name}[ties=expected]")([tuple(group) for group in ranking], missed)
    assert same(found, expected)


SCORES = st.dictionaries(st.sampled_from("abcdefg"), st.sampled_from([1.0, 1.0, 2.0, 3.0]), max_size=6)
JUDGED = st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from([-1, 0, 1, 1, 1, 2]), min_size=1, max_size=5)


@pytest.mark.parametrize("names", [[*NAMES, *GAINING][i::8] for i in range(8)])
@settings(max_examples=8, deadline=None)
@given(st.lists(st.tuples(SCORES, JUDGED), min_size=2, max_size=12))
def test_queries_together_score_as_they_do_alone(names: list[str], queries: list) -> None:
    # What one query's ties cost is shared with those that are alike; no value may be shared with those that are not.
    run = {f"q{i}": scores for i, (scores, _) in enumerate(queries)}
    judged = {f"q{i}": grades | {"top": 3} for i, (_, grades) in enumerate(queries)}
    together = cf.evaluate(judged, run, names, ties="expected").values[0]
    for i, q in enumerate(judged):
        alone = cf.evaluate({q: judged[q]}, {q: run[q]}, names, ties="expected", queries="judged").values[0]
        np.testing.assert_allclose(together[:, i], alone[:, 0], rtol=1e-12, atol=1e-12, err_msg=str(names))


# Neither order of gains is an end for these: they fall where a better document comes first, or do not look at gains.
UNENDING = ("Accuracy", "NERR", "SN_", "infAP", "IPrec", "INST", "BPM", "G", "nDCG_rel", "Unjudged", "RBPres")


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("GM") or not n.startswith(UNENDING)])
@settings(max_examples=25, deadline=None)
@given(rankings, missed)
def test_best_and_worst_are_ends(name: str, ranking: list, missed: list) -> None:
    values = [cf.parse(name)(order, missed) for order in orders(ranking)]
    groups = [tuple(group) for group in ranking]
    for rule, end in (("best", max(values)), ("worst", min(values))):
        assert same(cf.parse(f"{name}[ties={rule}]")(groups, missed), end), rule


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=20, deadline=None)
@given(rankings, missed)
def test_condensed_is_the_ranking_without_unjudged(name: str, ranking: list, missed: list) -> None:
    kept = [tuple(g for g in group if g is not None and g >= 0) for group in ranking]
    dropped = [g for group in ranking for g in group if g is not None and g < 0]
    shorter = cf.parse(f"{name}[ties=expected]")([group for group in kept if group], [*missed, *dropped])
    found = cf.parse(f"{name}[ties=expected, condensed]")([tuple(group) for group in ranking], missed)
    assert same(found, shorter)


def test_a_sample_of_orders_is_near_the_mean_and_says_how_near() -> None:
    documents = {f"d{i:02}": 1.0 for i in range(14)}
    judged = {"q": {f"d{i:02}": i % 4 for i in range(12)}}
    scores = cf.evaluate(judged, {"q": documents}, ["INST[ties=expected]", "INST"])
    note = next(n for n in sentences(scores.notes) if "sampled" in n)
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
