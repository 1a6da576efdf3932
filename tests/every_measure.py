"""Every measure with some of its parameters, small rankings with ties, and all orders of these."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from cranfield.ranking.rankings import Judged, Pool, Rankings

# Every measure of the catalogue, with parameters that reach its branches.
VARIANTS = {
    "P": ["P@1", "P@3", "P(rel=2)@4"],
    "R": ["R@2", "R@9"],
    "FullR": ["FullR", "FullR@2", "FullR(rel=2)@3"],
    "R_cap": ["R_cap@2", "R_cap(rel=2)@3"],
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
    "FallOut": ["FallOut", "FallOut@3", "FallOut(rel=2)@4"],
    "Hole": ["Hole@2", "Hole@9"],
    "NumRet": ["NumRet"],
    "NumRel": ["NumRel"],
    "NumRelRet": ["NumRelRet"],
    "AP": ["AP", "AP@3", "AP(norm='min')@2", "AP(rel=2)", "AP(graded=True, max=3)@4"],
    "MAP_R": ["MAP_R", "MAP_R(rel=2)"],
    "SP": ["SP@3", "SP"],
    "SN_AP": ["SN_AP@1", "SN_AP@3", "SN_AP@9"],
    "GMAP": ["GMAP"],
    "infAP": ["infAP"],
    "Q": ["Q", "Q@3", "Q(beta=0)", "Q(beta=7.5)@4", "Q(norm='min')@2", "Q(gain={1: 0.3, 2: 5})"],
    "RR": ["RR", "RR@2", "RR(rel=2)"],
    "ESL": ["ESL", "ESL(n=2)", "ESL(n=2, rel=2)"],
    "Answered": ["Answered"],
    "FalseAnswer": ["FalseAnswer", "FalseAnswer(rel=2)"],
    "MissedAnswer": ["MissedAnswer", "MissedAnswer(rel=2)"],
    "AnswerAccuracy": ["AnswerAccuracy", "AnswerAccuracy(rel=2)"],
    "c_at_1": ["c_at_1", "c_at_1(rel=2)"],
    "CG": ["CG@2", "CG"],
    "DCG": ["DCG", "DCG@3", "DCG(discount='jk', base=3)@5"],
    "nDCG": ["nDCG", "nDCG@2", "nDCG(gain='exp')@4", "nDCG(discount='jk')", "nDCG(rel=2)"],
    "SDCG": ["SDCG(max=3)@3"],
    "SN_DCG": ["SN_DCG@2", "SN_DCG@4", "SN_DCG(gain='binary')@3"],
    "RBP": ["RBP", "RBP(p=0.3, max=3)@3", "RBP(rel=1)"],
    "RBPbeta": ["RBPbeta", "RBPbeta(a=1, b=1, max=3)@3", "RBPbeta(a=0.5, b=3)"],
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
    "TBG": ["TBG", "TBG(half=2, max=3, horizon=5)", "TBG(half=5, per='list', cost=2)"],
    "U": ["U", "U(L=4.5, max=3)", "U(L=9, cost=2, horizon=4)"],
    "IFT_C1": ["IFT_C1", "IFT_C1(T=0.5, b1=0.25, R1=1, max=3, horizon=5)"],
    "IFT_C2": ["IFT_C2", "IFT_C2(A=0.5, R2=100, cost=2, max=3, horizon=5)"],
    "IFT": ["IFT", "IFT(T=1, R1=1, A=0.1, b2=0.25, R2=1, max=3, horizon=5)"],
    "NPV": ["NPV", "NPV(rate=1, max=3, horizon=3)"],
    "SET": ["SET@3", "SET(beta=0.25, max=3)@10", "SET(beta=1, horizon=2)@4"],
    "BPMD": ["BPMD@3", "BPMD(T=0.7, hb=0.5, med=0.25, max=3)@2", "BPMD(T=3, hc=2, cost=2, horizon=5)@4"],
    "ERR": ["ERR", "ERR(max=3)@3", "ERR(max=4)", "ERR(gain='linear', max=3)@4"],
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
    "O": ["O", "O@2", "O(beta=0)", "O(beta=10, gain='exp')@3"],
    "Pmeasure": ["Pmeasure", "Pmeasure@2", "Pmeasure(beta=0.5, gain={1: 2, 2: 2, 3: 5})@4"],
    "Pplus": ["Pplus", "Pplus@2", "Pplus(beta=10, gain='exp')", "Pplus(rel=2)@3"],
    "NCU": [
        "NCU",
        "NCU(stop='gu')@3",
        "NCU(stop='gu', utility='BR', beta=10, gain='exp')",
        "NCU(stop='gu', utility='IE', p=0.8)@3",
        "NCU(gamma=0.5, norm='min')@3",
        "NCU(utility='BR', gamma=1)",
        "NCU(utility='BR', gain='exp', beta=0.5)@4",
        "NCU(utility='IE', p=0.8)@2",
    ],
    "GAP": ["GAP", "GAP@3", "GAP(weights='even')", "GAP(rel=2)"],
    "nERR": ["nERR", "nERR(gain='exp', max=3)@3", "nERR(max=4)@2"],
    "nRBP": ["nRBP", "nRBP(p=0.5, gain='exp')@3"],
    "EBR": ["EBR", "EBR(beta=10, gain='exp', max=3)@3", "EBR(beta=0, max=4)"],
    "nEBR": ["nEBR", "nEBR(beta=0.5, max=3)@3"],
    "iRBU": ["iRBU", "iRBU(p=0.5, gain='exp', max=3)@3"],
    "niRBU": ["niRBU", "niRBU(p=0.5, max=4)@2"],
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


Groups = list[tuple[Any, ...]]  # documents by descending score; those of a tuple are tied
TOP = 3.0


def rankings_of(given: Sequence[tuple[Groups, list[int]]]) -> Rankings:
    """One ranking for each of these."""
    rows = [
        (grade, q, sum(map(len, groups[:g])), len(group), i)
        for q, (groups, _) in enumerate(given)
        for g, group in enumerate(groups)
        for i, grade in enumerate(group)
        if grade is not None
    ]
    missed = [(grade, q) for q, (_, grades) in enumerate(given) for grade in grades]
    grade = np.array([row[0] for row in rows] + [grade for grade, _ in missed], float)
    query = np.array([row[1] for row in rows] + [q for _, q in missed], np.int64)
    by_query = np.argsort(query, kind="stable")
    pool = Pool.of(Judged(grade, TOP), query[by_query], by_query, np.arange(len(given)))
    row, start, size, position = np.array([row[1:] for row in rows], np.int64).reshape(-1, 4).T
    length = np.array([sum(map(len, groups)) for groups, _ in given], np.int64)
    return Rankings(pool, length, row, np.arange(len(rows)), start, size, position, position)
