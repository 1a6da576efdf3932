"""Every measure of ir_measures, pyndeval and cwl_eval, computed by them and by us on the same random rankings.

All rankings are queries of one run, so that a tool is called once for each measure. No scores are tied: the tools order
ties differently. pytrec_eval has its own file.
"""

from __future__ import annotations

import contextlib
import inspect
import random
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pyndeval
import pytest
import pytrec_eval
from cwl.ruler import cwl_ruler
from cwl.ruler.measures.cwl_npv import NPVCWLMetric
from cwl.ruler.measures.cwl_set import SETCWLMetric
from cwl.ruler.ranking import Ranking
from ir_measures.providers import FallbackProvider

import cranfield as cf
from cranfield.compat.trec_measures import KINDS

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "_ext"))
from peers import PEERS

QUERIES = 500
DOCUMENTS = [f"d{i:02}" for i in range(14)]


def random_run(rng: random.Random, queries: int = QUERIES) -> dict[str, dict[str, float]]:
    ranked = {str(q + 1): rng.sample(DOCUMENTS, rng.randint(1, 12)) for q in range(queries)}
    return {q: {d: 90.0 - i for i, d in enumerate(documents)} for q, documents in ranked.items()}


def random_qrels(rng: random.Random, queries: int = QUERIES) -> dict[str, dict[str, int]]:
    """Judgments of some documents; every query has a relevant one."""
    grades = [0, 0, 0, 1, 1, 2, 3]
    qrels = {}
    for q in range(queries):
        judged = rng.sample(DOCUMENTS, rng.randint(1, 10))
        qrels[str(q + 1)] = {d: rng.choice(grades) for d in judged} | {judged[0]: rng.choice([1, 2, 3])}
    return qrels


RUN, QRELS = random_run(random.Random(1)), random_qrels(random.Random(2))

# Values of parameters, of which one at a time differs from its default.
VALUES: dict[str, list[Any]] = {
    "cutoff": [1, 3, 10],
    "rel": [1, 2],
    "judged_only": [True],
    "T": [2.25],
    "p": [0.5],
    "alpha": [0.3],
    "beta": [0.25, 0.75],
    "min_rel": [1],
    "dcg": ["exp-log2"],
    "gains": [{1: 3, 2: 10}, {0: 1, 1: 4}],
    "relative": [True],
    "normalize": [False],
    "recall": [0.0, 0.1, 0.5, 1.0],
}
REQUIRED = {"cutoff": 5, "max_rel": 3, "recall": 0.3}
PROVIDERS = [p for p in ir_measures.DefaultPipeline.providers if p.NAME not in ("cranfield", "ranx")]
if shutil.which("perl") is None:
    PROVIDERS = [p for p in PROVIDERS if p.NAME != "gdeval"]
THEIRS = FallbackProvider(PROVIDERS)


def variants(measure: Any) -> Iterator[Any]:
    """The measure with its defaults, and with each value of each parameter."""
    needed = {name: REQUIRED[name] for name, p in measure.SUPPORTED_PARAMS.items() if p.required}
    base = measure(**needed) if needed else measure
    yield base
    for name in measure.SUPPORTED_PARAMS:
        yield from (base(**{name: value}) for value in VALUES.get(name, ()))
        if name != "cutoff" and "cutoff" in measure.SUPPORTED_PARAMS:
            yield from (base(**{name: value, "cutoff": 4}) for value in VALUES.get(name, ()))


ONE_ROW, ONE_DOCUMENT = (
    [ir_measures.Qrel("1", "a", 1, "1"), ir_measures.Qrel("1", "b", 0, "1")],
    {"1": {"a": 2.0, "b": 1.0}},
)


def supported(measure: Any) -> bool:
    """Whether ir_measures computes it; it says so of some measures that then fail."""
    try:
        return THEIRS.supports(measure) and bool(list(THEIRS.iter_calc([measure], ONE_ROW, ONE_DOCUMENT)))
    except Exception:
        return False


def names() -> list[str]:
    found: dict[str, None] = {}
    for measure in ir_measures.measures.registry.values():
        found |= {str(one): None for one in variants(measure) if supported(one)}
    return list(found)


NAMES = names()
# cwl_eval fills every ranking up to 1,000 ranks: these have all queries with their default parameters only.
SLOW = ("BPM", "SDCG", "NERR8", "NERR9", "NERR10", "NERR11", "INST", "INSQ", "RBP")
BASES = {str(next(variants(measure))) for measure in ir_measures.measures.registry.values()} | {"RBP(rel=1)"}
FEW = 60


def test_no_name_is_left_out() -> None:
    tried = {ir_measures.parse_measure(name).NAME for name in NAMES}
    every = {measure.NAME for measure in ir_measures.measures.registry.values()}
    assert every - tried <= ({"ERR"} if shutil.which("perl") is None else set())


@pytest.fixture(scope="module")
def provider() -> Any:
    """Our provider, which does not stay the first one: other tests ask ir_measures itself."""
    pipeline = ir_measures.DefaultPipeline
    before = list(pipeline.providers)
    from cranfield.compat.ir_measures import register

    ours = register()
    pipeline.providers = [p for p in before if p.NAME != "cranfield"]
    ir_measures.providers.registry.pop("cranfield", None)
    return ours


def values(tool: Any, measure: Any, qrels: Any, run: Any) -> dict[str, float]:
    return {m.query_id: m.value for m in tool.iter_calc([measure], qrels, run)}


def with_pairs(measure: Any) -> tuple[dict, dict]:
    """The queries with a judged pair to order: for others, Accuracy of ir_measures divides by zero."""
    scores = cf.evaluate(QRELS, RUN, str(measure))
    defined = [q for q, value in scores._query_values(0, 0).items() if value is not None]
    return {q: QRELS[q] for q in defined}, {q: RUN[q] for q in defined}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in NAMES if not cf.parse(name).definition.subtopics])
def test_ir_measures(name: str, provider: Any) -> None:
    from cranfield.compat.ir_measures import equivalent

    measure = ir_measures.parse_measure(name)
    qrels, run = with_pairs(measure) if measure.NAME == "Accuracy" else (QRELS, RUN)
    if measure.NAME in SLOW and name not in BASES:
        qrels, run = ({q: of[q] for q in list(of)[:FEW]} for of in (qrels, run))
    theirs = values(THEIRS, measure, qrels, run)
    assert len(theirs) == len(run) >= 50
    digits = 6e-6 if measure.NAME == "ERR" or "exp-log2" in name else 1e-6  # gdeval.pl prints five digits
    assert values(provider, measure, qrels, run) == pytest.approx(theirs, abs=digits)
    ours = cf.evaluate(qrels, run, equivalent(measure), ties="trec9", undefined="zero")
    found = {q: value or 0.0 for q, value in ours._query_values(0, 0).items()}
    assert found == pytest.approx(theirs, abs=digits)


def by_subtopic(rng: random.Random) -> list[tuple[str, str, str, int]]:
    """Judgments of each document for one to three subtopics; a subtopic has a relevant document."""
    rows = []
    for q in range(QUERIES):
        for subtopic in "123"[: rng.randint(1, 3)]:
            judged = rng.sample(DOCUMENTS, rng.randint(1, 9))
            rows += [(str(q + 1), subtopic, d, int(i == 0 or rng.random() < 0.4)) for i, d in enumerate(judged)]
    return rows


ROWS = by_subtopic(random.Random(3))
SUBTOPICS: dict[str, dict[str, dict[str, int]]] = {}
for _query, _subtopic, _document, _grade in ROWS:
    SUBTOPICS.setdefault(_query, {}).setdefault(_document, {})[_subtopic] = _grade
UNDIVIDED = ("ERR_IA@1", "alpha_DCG@1")  # see test_ndeval_divides_from_rank_2_on
DIVERSE = [
    name
    for name in NAMES
    if cf.parse(name).definition.subtopics and not ("rel=2" in name or "judged_only" in name or name in UNDIVIDED)
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", DIVERSE)
def test_ir_measures_by_subtopic(name: str, provider: Any) -> None:
    measure = ir_measures.parse_measure(name)
    rows = [ir_measures.Qrel(q, d, grade, s) for q, s, d, grade in ROWS]
    theirs = values(THEIRS, measure, rows, RUN)
    assert len(theirs) == QUERIES
    assert values(provider, measure, rows, RUN) == pytest.approx(theirs, abs=1e-6)
    assert cf.evaluate(SUBTOPICS, RUN, name)._query_values(0, 0) == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parametrize("alpha", [0.5, 0.2])
def test_pyndeval(alpha: float) -> None:
    """Every measure, at every cutoff that ndeval has, by its own name."""
    asked = [
        name if name in pyndeval.NOCUTOFF_MEASURES else f"{name}@{k}"
        for name in pyndeval.SUPPORTED_MEASURES
        for k in (1, 3, 5, 20)
    ]
    asked = list(dict.fromkeys(asked))
    rows = [pyndeval.SubtopicQrel(*row) for row in ROWS]
    run = [pyndeval.ScoredDoc(q, d, score) for q, of in RUN.items() for d, score in of.items()]
    theirs = pyndeval.RelevanceEvaluator(rows, asked, alpha=alpha).evaluate(run)
    ours = cf.evaluate(SUBTOPICS, RUN, [_with_alpha(name, alpha) for name in asked])
    for m, name in enumerate(asked):
        expected = {q: found[name] for q, found in theirs.items()}
        if name in ("ERR-IA@1", "alpha-DCG@1"):  # see test_ndeval_divides_from_rank_2_on
            continue
        assert ours._query_values(0, m) == pytest.approx(expected, abs=1e-6), name


def test_ndeval_divides_from_rank_2_on() -> None:
    """It divides ERR-IA and alpha-DCG by the number of subtopics, but not at rank 1: a value may fall with the rank."""
    rows = [pyndeval.SubtopicQrel("1", s, s, 1) for s in "abc"]
    run = [pyndeval.ScoredDoc("1", "a", 2.0), pyndeval.ScoredDoc("1", "x", 1.0)]
    theirs = pyndeval.RelevanceEvaluator(rows, ["alpha-DCG@1", "alpha-DCG@2", "P-IA@1"]).evaluate(run)["1"]
    assert theirs == {
        "alpha-DCG@1": 1.0,
        "alpha-DCG@2": pytest.approx(0.253396, abs=1e-6),
        "P-IA@1": pytest.approx(1 / 3),
    }
    qrels = {"1": {d: {d: 1} for d in "abc"}}
    assert cf.evaluate(qrels, {"1": {"a": 2.0, "x": 1.0}}, "alpha_DCG@1")._means[0, 0] == pytest.approx(1 / 3)


def _with_alpha(name: str, alpha: float) -> str:
    symbol = cf.parse(name).symbol
    if "alpha" not in cf.measures.CATALOGUE[symbol].parameters:
        return name
    _, at, cutoff = name.partition("@")
    return f"{symbol}(alpha={alpha}){at}{cutoff}"


# The metrics of cwl_eval, and our name for each with gains scaled by grade 3.
CWL: list[tuple[Any, str]] = [
    (cwl_ruler.PrecisionCWLMetric(5), "P@5"),
    (cwl_ruler.RRCWLMetric(), "RR"),
    (cwl_ruler.APCWLMetric(), "AP(R='retrieved')"),
    (cwl_ruler.RBPCWLMetric(0.7), "RBP(p=0.7, max=3)"),
    (cwl_ruler.NDCGCWLMetric(7), "SDCG(max=3)@7"),
    (cwl_ruler.INSTCWLMetric(1.25), "INST(T=1.25, max=3)"),
    (cwl_ruler.INSQCWLMetric(2.0), "INSQ(T=2, max=3)"),
    (cwl_ruler.BPMCWLMetric(1.1, 6), "BPM(T=1.1, max=3)@6"),
    (cwl_ruler.BPMDCWLMetric(1.1, 6, 0.5, 0.0, 0.25), "BPMD(T=1.1, hb=0.5, hc=0, med=0.25, max=3)@6"),
    (cwl_ruler.NERReq8CWLMetric(5), "NERR8(max=3)@5"),
    (cwl_ruler.NERReq9CWLMetric(5), "NERR9(max=3)@5"),
    (cwl_ruler.NERReq10CWLMetric(0.8), "NERR10(p=0.8, max=3)"),
    (cwl_ruler.NERReq11CWLMetric(1.5), "NERR11(T=1.5, max=3)"),
    (cwl_ruler.TBGCWLMetric(22), "TBG(half=22, max=3)"),
    (cwl_ruler.UMeasureCWLMetric(50), "U(L=50, max=3)"),
    (cwl_ruler.IFTGoalCWLMetric(2, 0.9, 2), "IFT_C1(T=2, b1=0.9, R1=2, max=3)"),
    (cwl_ruler.IFTRateCWLMetric(0.2, 0.9, 3), "IFT_C2(A=0.2, b2=0.9, R2=3, max=3)"),
    (cwl_ruler.IFTGoalRateCWLMetric(2, 0.9, 2, 0.2, 0.9, 3), "IFT(T=2, b1=0.9, R1=2, A=0.2, b2=0.9, R2=3, max=3)"),
    (NPVCWLMetric(0.2), "NPV(rate=0.2, max=3)"),
    (SETCWLMetric(0.4, 8), "SET(beta=0.4, max=3)@8"),
]
WITHOUT_RESIDUAL = ("P", "RR", "AP", "SDCG", "NERR8", "NERR9", "NERR10", "NERR11")
BINARY = ("P", "RR", "AP")  # what cwl_eval computes of gains in place of 0 and 1 has no other name
COSTS = {q: {d: random.Random(f"{q} {d}").choice([0.5, 1.0, 2.0, 8.0]) for d in of} for q, of in RUN.items()}


def test_every_metric_of_cwl_eval_is_compared() -> None:
    modules = [cwl_ruler, inspect.getmodule(NPVCWLMetric), inspect.getmodule(SETCWLMetric)]
    classes = {name for module in modules for name in vars(module) if name.endswith("CWLMetric")}
    assert classes == {type(metric).__name__ for metric, _ in CWL} | {"CWLMetric", "TrAPCWLMetric"}  # which raises


WITH_COSTS = [(metric, name) for metric, name in CWL if cf.parse(name).definition.costs]


@pytest.mark.parametrize(("metric", "name"), WITH_COSTS, ids=[name for _, name in WITH_COSTS])
def test_cwl_eval_with_costs(metric: Any, name: str) -> None:
    compare_with_cwl_eval(metric, name, with_costs=True)


@pytest.mark.parametrize(("metric", "name"), CWL, ids=[name for _, name in CWL])
def test_cwl_eval(metric: Any, name: str) -> None:
    compare_with_cwl_eval(metric, name, with_costs=False)


def compare_with_cwl_eval(metric: Any, name: str, *, with_costs: bool) -> None:
    queries = list(RUN)[: 5 if "AP" in name else FEW]  # theirs takes a quarter of a second for each AP
    binary = cf.parse(name).symbol in BINARY
    metric.residuals = True
    expected, residual = {}, {}
    for q in queries:
        grades = [QRELS[q].get(d, np.nan) for d in RUN[q]]
        gains = np.array([g if np.isnan(g) else float(g >= 1) if binary else g / 3 for g in grades])
        costs = np.array([COSTS[q][d] if with_costs else 1.0 for d in RUN[q]])
        ranking = Ranking(q, gains, costs, min_cost=min(1.0, *costs))
        metric.measure(ranking)
        expected[q], residual[q] = metric.expected_utility, metric.residual_expected_utility
    asked, run = {q: QRELS[q] for q in queries}, {q: RUN[q] for q in queries}
    given = {"costs": {q: COSTS[q] for q in queries}} if with_costs else {}
    scores = cf.evaluate(cf.Collection(asked, **given), run, name, show="residuals")
    found = {q: value or 0.0 for q, value in scores._query_values(0, 0).items()}
    assert found == pytest.approx({q: np.nan_to_num(value) for q, value in expected.items()}, abs=1e-9)
    if len(scores.measures) == 1:
        assert metric.residual_expected_utility is not None and cf.parse(name).symbol in WITHOUT_RESIDUAL
    else:
        assert scores._query_values(0, 1) == pytest.approx(residual, abs=1e-9)


def listed(tool: str) -> list[str]:
    return [one for names in PEERS[tool] for one in (names.split(", ") if "(" not in names else [names])]


@pytest.mark.parametrize("tool", PEERS)
def test_every_listed_name_has_ours(tool: str) -> None:
    """What the page of peers says of names is so: ours is a measure, and a name that is understood means it."""
    for names, ours in PEERS[tool].items():
        if ours.startswith("cranfield "):
            continue
        measure = cf.parse(ours)
        assert measure.symbol in cf.measures.CATALOGUE
        for name in names.split(", ") if "(" not in names else [names]:
            with contextlib.suppress(cf.MeasureError):
                assert cf.parse(name).symbol == measure.symbol or (name, ours) in OTHER_NAMES


# trec_eval's RBP does not scale gains; ours of that name does.
OTHER_NAMES = {("rbp", "RBPq")}


def test_the_lists_are_complete() -> None:
    def bases(tool: str, separator: str) -> set[str]:
        return {re.split(separator, name)[0] for name in listed(tool)}

    assert {re.sub(r"_\d.*", "", name) for name in PEERS["trec_eval, pytrec_eval"]} == set(KINDS)
    assert set(pytrec_eval.supported_measures) <= set(KINDS)
    assert set(ir_measures.measures.registry) == bases("ir_measures", "[@(]")
    assert set(pyndeval.SUPPORTED_MEASURES) == bases("ndeval, pyndeval", "@")
    assert {type(metric).__name__ for metric, _ in CWL} == bases("cwl_eval", r"\(")
