"""What the catalogue says of every measure is true, and every way of writing one is understood."""

from __future__ import annotations

import contextlib
import itertools
import re
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.measures.catalogue import with_residual
from every_measure import NAMES
from golden_cases import without_notes

BIBLIOGRAPHY = files("cranfield").joinpath("references.bib").read_text()


@pytest.mark.parametrize("definition", cf.measures.CATALOGUE.values(), ids=lambda d: d.symbol)
def test_every_measure_is_documented(definition: cf.measures.Definition) -> None:
    assert definition.summary.endswith((".", "!"))
    assert len(definition.summary) <= 110
    assert ">>>" in definition.function.__doc__
    for key in definition.cite.split():
        assert re.search(rf"^@\w+{{{key},$", BIBLIOGRAPHY, re.MULTILINE), key


@pytest.mark.parametrize(
    "name", [*NAMES, "AP[ties=expected, depth=5, condensed]", "nDCG(gain={1: 0.5, 2: 3})@10[condensed]"]
)
def test_str_parses_back(name: str) -> None:
    measure = cf.parse(name)
    assert cf.parse(str(measure)) == measure
    assert str(cf.parse(str(measure))) == str(measure)


OF_QUERIES = [name for name in NAMES if not cf.parse(name).definition.collection]
OF_GRADES = [name for name in OF_QUERIES if "max" not in name and cf.parse(name).definition.gains != "binary"]


@pytest.mark.parametrize("names", [OF_GRADES, [name for name in OF_QUERIES if name not in OF_GRADES]])
def test_scores_do_not_depend_on_company(names: list[str]) -> None:
    """Alone, together with wider queries, or in a shard, a query scores the same: the law of distribution."""
    rng = np.random.default_rng(7)
    run, qrels = {}, {}
    for q in range(12):
        n = int(rng.integers(0, 25))
        documents = [f"d{i}" for i in rng.permutation(40)[:n]]
        run[f"q{q}"] = {d: float(rng.integers(0, 5)) for d in documents}
        qrels[f"q{q}"] = {f"d{i}": int(rng.integers(-1, 4)) for i in rng.permutation(40)[: int(rng.integers(1, 30))]}
    qrels["q0"]["d1"] = 3
    if names is OF_GRADES:
        top = {f"q{q}": {"top": 3} for q in range(12)}  # the top grade is the collection's: every shard has it
        qrels = {q: judged | top[q] for q, judged in qrels.items()}
    # Much wider than the others, so that these are padded.
    run["wide"] = {f"d{i}": float(i // 2) for i in range(300)}
    qrels["wide"] = {f"d{i}": i % 4 for i in range(0, 900, 3)}
    views = ("ties=expected", "ties=trec", "ties=best", "depth=7", "ties=expected, condensed")
    asked = [f"{name}[{view}]" for name in names for view in views]
    ends = [name for name in names if not cf.parse(name).definition.terminal]
    asked += [f"{name}[{view}]" for name in ends for view in ("terminal", "ties=worst, terminal")]
    together = _of_queries(without_notes(qrels, run, asked))
    for q in run:
        alone = _of_queries(without_notes({q: qrels[q]}, {q: run[q]}, asked))
        assert alone == {key: value for key, value in together.items() if key[1] == q}
    turned = ({q: dict(reversed(ranked.items())) for q, ranked in reversed(of.items())} for of in (qrels, run))
    assert _of_queries(without_notes(*turned, asked)) == together


def _of_queries(scores: cf.Scores) -> dict[tuple[str, str], bytes]:
    """The bits of all values."""
    cells = itertools.product(enumerate(scores.measures), enumerate(scores.queries))
    return {(measure, q): scores.values[0, i, j].tobytes() for (i, measure), (j, q) in cells}


ALIASES = {
    # trec_eval
    "map": "AP", "map_cut_10": "AP@10", "map_cut.10": "AP@10", "P_5": "P@5", "P.5": "P@5", "recall_100": "R@100",
    "ndcg": "nDCG", "ndcg_cut_10": "nDCG@10", "ndcg_cut.10": "nDCG@10", "recip_rank": "RR", "Rprec": "Rprec",
    "bpref": "bpref", "infAP": "infAP", "gm_map": "GMAP", "iprec_at_recall_0.10": "IPrec@0.1", "set_P": "SetP",
    "set_recall": "SetR", "set_map": "SetAP", "set_F": "SetF", "set_F.4": "SetF(beta=2)", "success_5": "Success@5",
    "num_ret": "NumRet", "num_rel": "NumRel", "num_rel_ret": "NumRelRet", "rbp.p=0.85": "RBPq(p=0.85)",
    # ir_measures
    "MAP": "AP", "MRR@10": "RR@10", "NDCG@5": "nDCG@5", "Precision@3": "P@3", "Recall@3": "R@3", "RPrec": "Rprec",
    "Bpref": "bpref", "nDCG(dcg='exp-log2')@10": "nDCG(gain='exp')@10", "nDCG(dcg='log2')@10": "nDCG@10",
    "AP(judged_only=True)": "AP[condensed]", "nDCG(gains={1: 2, 2: 5})@3": "nDCG(gain={1: 2, 2: 5})@3",
    "INST(T=1.5, min_rel=0, max_rel=3)": "INST(T=1.5, max=3)", "SetP(relative=True)": "SetRelP", "P(cutoff=5)": "P@5",
    "SetP(rel=2, relative=True)": "SetRelP(rel=2)", "IPrec(recall=0.1)": "IPrec@0.1", "α_nDCG@20": "alpha_nDCG@20", "MAP_IA": "AP_IA", "NumRet(rel=1)": "NumRelRet",
    "SDCG(min_rel=1, max_rel=3)@5": "SDCG(max=3, min=1)@5", "AP(rel=2)@100": "AP(rel=2)@100",
    # ndeval and NTCIR
    "alpha-nDCG@20": "alpha_nDCG@20", "ERR-IA@20": "ERR_IA@20", "MAP-IA": "AP_IA", "strec@10": "StRecall@10", "I-rec@10": "StRecall@10",
    "I_rec@10": "StRecall@10", "D-nDCG@10": "D_nDCG@10", "D#-nDCG@10": "Dsharp_nDCG@10", "nDCG-IA@10": "nDCG_IA@10",
    "D#-nDCG(gamma=0.3)@10[condensed]": "Dsharp_nDCG(gamma=0.3)@10[condensed]",
    "D-Q@10": "D_Q@10", "D#-Q@10": "Dsharp_Q@10", "DIN-nDCG@10": "DIN_nDCG@10", "DIN#-nDCG@10": "DINsharp_nDCG@10", "DIN-Q@10": "DIN_Q@10",
    "DIN#-Q(gamma=0.3)@10": "DINsharp_Q(gamma=0.3)@10", "P+Q@10": "PplusQ@10", "P+Q#@10": "PplusQsharp@10", "IA-ERR@10": "IA_ERR@10",
    "IA-nERR@10": "IA_nERR@10", "O-measure": "O", "P-measure(beta=0)@5": "Pmeasure(beta=0)@5", "P-plus[ties=expected]": "Pplus[ties=expected]",
    # ranx
    "ndcg@10": "nDCG@10", "mrr": "RR", "precision@10": "P@10", "recall@10": "R@10", "f1@10": "F1@10",
    "r-precision": "Rprec", "hit_rate@10": "Success@10", "hit_rate": "Success", "rbp.95": "RBP(p=0.95, max=1)", "map@100-l2": "AP(rel=2)@100",
    "R_cap@10": "R_cap@10", "recall_cap@10": "R_cap@10", "MAP@R": "MAP_R", "map(rel=2)@R[condensed]": "MAP_R(rel=2)[condensed]", "hole@5": "Hole@5",
    "ndcg_burges@10": "nDCG(gain='exp')@10", "hits@10": "CG(gain='binary')@10",
    "precision": "SetP", "recall": "SetR", "f1": "SetF", "f1-l2": "SetF(rel=2)", "recall[condensed]": "SetR[condensed]", "hits@5-l2": "CG(rel=2)@5",
    "rbp.80@5-l3": "RBP(gain={1: 0, 2: 0}, max=1)@5", "ndcg@10-l2": "nDCG(gain={1: 0})@10", "dcg-l1": "DCG",
}  # fmt: skip


@pytest.mark.parametrize(("theirs", "ours"), ALIASES.items())
def test_names_of_other_tools(theirs: str, ours: str) -> None:
    assert cf.parse(theirs) == cf.parse(ours)
    assert str(cf.parse(theirs)) == ours


# What the message names; the sentences are in tests/messages.
WRONG = {
    "NDGC@10": "`nDCG@10`",
    "zzz": "`zzz`",
    "": "unknown measure",
    "P": "`P@10`",
    "IPrec": "`IPrec@0.1`",
    "P@0": "from 1 to 10,000,000, not 0",
    "P@1.5": "whole number",
    "P@nan": "not nan",
    "P@ten": "`ten`",
    "IPrec@2": "from 0 to 1",
    "bpref@10": "`bpref[depth=10]`",
    "RBP(p=1)": "greater than 0 and less than 1",
    "RBP(p='x')": "not 'x'",
    "RBP(q=1)": "p, gain, rel, max, min",
    "RBP(0.8)": "RBP(p=0.8)",
    "RBP(p=": "@cutoff",
    "AP(rel=2, rel=3)": "name=value",
    "AP(rel=2)(rel=3)": "name=value",
    "CG(gain={1: 2, 1: 3})": "name=value",
    "CG(gain={})": "gain must be",
    "CG(gain=(1, 2))": "gain must be",
    "CG(gain={1: 2, 'a': 3})": "gain must be",
    "RBP(max=1e-320)": "max must be",
    "DCG(gain={1: 1e308})": "1e+100",
    "INST(T=0.25)": "greater than 0.25 and at most 1,000,000",
    "INSQ(T=1e-300)": "T must be a number from 1e-06 to 1,000,000",
    "NERR11(T=1e-100)": "T must be",
    "SET(beta=1e-300)@5": "beta must be a number from 1e-06 to 1",
    "Q(beta=1e300)": "beta must be",
    "Utility(hit=1e300)": "hit must be",
    "AP[depth=3, depth=5]": "twice",
    "AP(rel=-1)": "greater than 0",
    "DCG(rel=2, gain='exp')@2": "gain",
    "AP(max=3)": "AP(graded=True, ...)",
    "CG(gain={1: -5})": "negative",
    "ERR(gain='binary')": "one of exp, linear; not 'binary'",
    "NCU(stop='gu', gamma=0.5)": "gamma",
    "AP(norm='K')": "one of R, min; not 'K'",
    "nDCG(gain='cubic')": "'cubic'",
    "AP[ties=luck]": "trec, trec9",
    "AP[depth=0]": "at least 1",
    "AP[condense]": "`condensed`",
    "subcollection_AP": "induced_AP",
    "nDCG'@10": "`[terminal]` in Liu",
    "nDCG(R='retrieved')[terminal]": "all judged documents",
}


@pytest.mark.parametrize(("text", "part"), WRONG.items())
def test_what_is_wrong_with_a_name(text: str, part: str) -> None:
    with pytest.raises(cf.MeasureError) as caught:
        cf.parse(text)
    assert part in str(caught.value)


@given(st.text(max_size=40))
@settings(max_examples=300, deadline=None)
def test_no_text_breaks_the_parser(text: str) -> None:
    for whole in (text, f"nDCG({text})@10", f"AP[{text}]", f"P@{text}"):
        with contextlib.suppress(cf.MeasureError):
            assert cf.parse(str(cf.parse(whole))) == cf.parse(whole)


RESIDUAL = {
    "RBP(p=0.5)@3": 0.125,
    "RBP(p=0.5)": 0.125,
    "InvSq@3": 0.25,
}


@pytest.mark.parametrize(("name", "value"), RESIDUAL.items())
def test_residual_of_a_judged_list_is_the_tail(name: str, value: float) -> None:
    run, qrels = {"q": {"a": 3, "b": 2, "c": 1}}, {"q": {"a": 1, "b": 0, "c": 1}}
    scores = cf.evaluate(qrels, run, name, show="residuals")
    assert scores.measures == (name, f"{name} residual")
    assert scores._means[0, 1] == pytest.approx(value)


@pytest.mark.parametrize("name", ["RBP(p=0.8, max=3)", "INSQ(T=2, max=3)", "INST(T=2, max=3)", "BPM(T=2, max=3)@7"])
def test_residual_is_what_unjudged_documents_could_add(name: str) -> None:
    """Unjudged documents made perfect, and a perfect tail after the list, raise the score by the residual."""
    rng = np.random.default_rng(3)
    ranking = [None if rng.random() < 0.5 else int(rng.integers(0, 4)) for _ in range(30)]
    tail = [3] * 970
    measure = cf.parse(name)
    full = measure([3 if grade is None else grade for grade in ranking] + tail)
    run = {"q": {f"d{i:02}": -i for i in range(30)}}
    qrels = {"q": {f"d{i:02}": grade for i, grade in enumerate(ranking) if grade is not None}}
    score, residual = cf.evaluate(qrels, run, name, show="residuals")._means[0]
    assert score + residual == pytest.approx(full, abs=1e-9)
    assert measure.symbol in with_residual()


def test_a_measure_without_residual_says_so() -> None:
    with pytest.raises(cf.MeasureError, match="AP has no residual"):
        cf.parse("AP").residual(None)
