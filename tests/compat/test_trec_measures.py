"""The measures that trec_eval adds to the catalogue, worked by hand; and its names for them."""

from __future__ import annotations

import math

import pytest

import cranfield as cf
from cranfield.measures import CATALOGUE

L3 = 1 / math.log2(3)

# Grades of a ranking, best first, and of judged documents that it does not have.
WORKED = {
    # R = 3, recall 0 .. 1 needs 0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3 documents (0.7 * 3 is a little less than 2.1);
    # the best precisions with so many are 1 and 2/3, then none
    "IPrecAvg": (([1, 0, 1], [1]), (4 * 1 + 4 * (2 / 3)) / 11),
    # rounded to the nearest: 0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3
    "IPrecAvg(rule='trec10')": (([1, 0, 1], [1]), (5 * 1 + 4 * (2 / 3)) / 11),
    "RprecAt(times=2)": (([1, 0, 1], []), 2 / 4),
    "RprecAt(times=0.2)": (([1, 0, 1], []), 1 / 1),
    "RelP@2": (([1, 0, 1], [1, 1, 1]), 1 / 2),
    "RelP@10": (([1, 0, 1], [1, 1, 1]), 2 / 5),
    "SetRelP": (([1, 0, None, 1], [1]), 2 / 3),
    "Utility(hit=3, noise=-2, miss=-1, rest=0.5, size=100)": (
        ([1, 0, None, 1], [1, 0]), 3 * 2 - 2 * 2 - 1 + 0.5 * (100 - 5),
    ),
    "NumNonRelRet": (([1, 0, None, -1, 0], [0]), 2),
    "Unjudged@2": (([None, 1, 0, -1], []), 1 / 2),
    "Unjudged@8": (([None, 1, 0, -1], []), 2 / 8),
    "yaAP": (([1, 0, 1], [1]), math.log((1 + 5 / 3) / (1 + 3 - 5 / 3))),
    "GMbpref": (([1, 0, 1], []), 1 / 2),
    "binG": (([1, 0, 1], [1]), (1 + L3) / 3),
    "binG[ties=expected]": (([(1, 0)], []), (1 + L3) / 2),
    # a perfect ranking has 2, 1, 1; costs 2, 3, 4, 5
    "G": (([1, 0, 2, 1], []), (1 / math.log2(3) + 2 / math.log2(2 + 4 - 3) + 1 / math.log2(2 + 5 - 4)) / 4),
    "IDCG": (([0, 1], [3]), 3 + L3),
    "IDCG@1": (([0, 1], [3]), 3),
    # grades 2, 1, 1: the ideal falls after ranks 1 and 3
    "R_nDCG": (([1, 0, 2, 1], []), (1 / 2 + (1 + 2 / 2) / (2 + L3 + 1 / 2)) / 2),
    # and a ranking of 5 has an end beyond rank 3 + 1
    "R_nDCG(rel=None)": (
        ([1, 0, 2, 1, 0], []),
        (1 / 2 + 2 / (2.5 + L3) + (2 + 1 / math.log2(5)) / (2.5 + L3)) / 3,
    ),
    "nDCG_rel": (([1, 0, 2], [1]), (1 / 2 + 2 / (2.5 + L3) + 2 / (2.5 + L3)) / 3),
    "RBPq(p=0.5)": (([1, 0, 2], []), 0.5 * (1 + 2 / 4) / 2),
    "RBPq": (([1, 0, 1], []), 0.1 * (1 + 0.81)),
    "RBPres(p=0.5)": (([1, None, 0], []), 1 / 4 + 1 / 8),
}  # fmt: skip


@pytest.mark.parametrize("name", WORKED)
def test_worked(name: str) -> None:
    (ranking, missed), value = WORKED[name]
    assert cf.parse(name)(ranking, missed) == pytest.approx(value, abs=1e-12)


def test_every_one_is_worked() -> None:
    family = {symbol for symbol, definition in CATALOGUE.items() if definition.family == "trec"}
    assert family == {cf.parse(name).symbol for name in WORKED}


NAMES = {
    "11pt_avg": "IPrecAvg", "Rprec_mult_0.20": "RprecAt(times=0.2)", "Rprec_mult.1.4": "RprecAt(times=1.4)",
    "relative_P_10": "RelP@10", "set_relative_P": "SetRelP", "utility": "Utility", "yaap": "yaAP",
    "num_nonrel_judged_ret": "NumNonRelRet", "unj_5": "Unjudged@5", "gm_bpref": "GMbpref", "binG": "binG", "G": "G",
    "ideal_dcg": "IDCG", "dcg": "DCG", "Rndcg": "R_nDCG", "ndcg_rel": "nDCG_rel", "rbp_resid": "RBPres",
    "11pt_avg[ties=expected]": "IPrecAvg[ties=expected]",
}  # fmt: skip


@pytest.mark.parametrize(("theirs", "ours"), NAMES.items())
def test_names(theirs: str, ours: str) -> None:
    assert str(cf.parse(theirs)) == ours


def test_graded_gain_on_two_grades_is_the_binary_one() -> None:
    for ranking in ([1, 0, 1, None, 1], [(1, 0, None), 1]):
        for views in ("", "[ties=expected]"):
            a, b = (cf.parse(f"{name}{views}")(ranking, [1]) for name in ("G", "binG"))
            assert a == pytest.approx(b, abs=1e-12)
