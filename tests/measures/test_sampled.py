"""Golden cases of `cranfield.measures.sampled`, and what holds for every sample."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from golden_cases import STRUCTURED

PRINTED = {
    "infAP": "xinfAP",
    "infNDCG": "infnDCG",
    "iP10": "infP@10",
    "inum_rel_ret": "infNumRelRet",
    "num_ret": "NumRet",
}


@pytest.mark.parametrize("case", [case for case in STRUCTURED if case["id"].startswith("G5-")], ids=lambda c: c["id"])
def test_queries_of_files_of_sample_eval(case: dict[str, Any], tmp_path: Path) -> None:
    """What sample_eval.pl of 2011 prints for each query; it drops leading zeros of the query ids of the run."""
    qrels, run = tmp_path / "qrels.txt", tmp_path / "run.txt"
    qrels.write_text(case["qrels_text"])
    run.write_text("".join(f"{line.lstrip('0')}\n" for line in case["run_text"].splitlines()))
    values = cf.Evaluator(qrels, [*PRINTED.values(), "infNumRel"]).per_query(run)
    for query, expected in case["expected"].items():
        if query != "all":
            found = {name: values[query][symbol] for name, symbol in PRINTED.items()}
            found["inum_rel"] = values[query]["infNumRel"]
            assert found == pytest.approx(expected, abs=case["tol"])


@pytest.mark.parametrize("case", [case for case in STRUCTURED if case["id"].startswith("H2-")], ids=lambda c: c["id"])
def test_queries_of_files_of_statap(case: dict[str, Any], tmp_path: Path) -> None:
    """What statAP_MQ_eval_v4.pl prints for each query that it counts; -f drops documents of other methods."""
    prels, run = tmp_path / "prels.txt", tmp_path / "run.txt"
    prels.write_text(case["prels_text"])
    run.write_text(case["run_text"])
    measure = f"statAP(method='{'sampled' if '-f' in case['flags'] else 'mixed'}')"
    values = cf.Evaluator(prels, measure).per_query(run)
    counted = {query: value for query, value in case["expected"]["AP"].items() if value is not None}
    assert {query: values[query][measure] for query in counted} == pytest.approx(counted, abs=1e-9)


QRELS = {"q": {"a": 2, "b": 0, "c": -1, "d": 1, "e": -1, "missed": 1, "nope": 0}}
STRATA = {"q": {"a": "1", "b": "2", "c": "1", "d": "2", "e": "2", "missed": "1", "nope": "2"}}
INCLUSION = {"q": {"a": 0.5, "b": 0.25, "d": 0.3, "missed": 0.1, "nope": 1.0, "c": None, "e": None}}
TIED = {"q": {"a": 2.0, "b": 2.0, "c": 2.0, "x": 2.0, "d": 1.0, "e": 1.0}}
ESTIMATES = ["xinfAP", "xinfAP@3", "infnDCG", "infP@3", "infIPrec@0.5", "infNumRelRet"]
BY_CHANCE = ["statAP", "statP@3", "statRPrec", "statAP_variance(version=3)", "statnDCG@4"]


def orders() -> list[dict[str, float]]:
    return [
        {document: -float(rank) for rank, document in enumerate([*first, *second])}
        for first in itertools.permutations("abcx")
        for second in itertools.permutations("de")
    ]


@pytest.mark.parametrize(
    ("name", "design"),
    [*((name, {"strata": STRATA}) for name in ESTIMATES), *((name, {"inclusion": INCLUSION}) for name in BY_CHANCE)],
)
def test_expectation_over_orders(name: str, design: dict[str, Any]) -> None:
    expected = cf.Evaluator(cf.Collection(QRELS, **design), f"{name}[ties=expected]").values(TIED)
    evaluator = cf.Evaluator(cf.Collection(QRELS, **design), name)
    every = [float(evaluator.values({"q": run})[0, 0]) for run in orders()]
    assert float(expected[0, 0]) == pytest.approx(np.mean(every), abs=1e-12)


def test_worked_examples() -> None:
    qrels = {"q": {"a": 1, "b": 0, "c": -1, "e": 2}}
    strata = {"q": {"a": "1", "b": "1", "c": "1", "e": "2"}}
    run = {"q": {"a": 3.0, "c": 2.0, "b": 1.0}}
    found = cf.Evaluator(cf.Collection(qrels, strata=strata), ["xinfAP", "infnDCG"]).per_query(run)["q"]
    assert found == pytest.approx({"xinfAP": 0.6, "infnDCG": 0.479091}, abs=1e-6)
    qrels = {"q": {"a": 2, "b": 0, "d": 1, "e": 1}}
    inclusion, method = {"q": {"a": 0.5, "b": 0.25, "d": 0.3, "e": 0.1}}, {"q": {"a": 1, "b": 1, "d": 2, "e": 4}}
    run = {"q": {d: -float(i) for i, d in enumerate("bazdc")}}
    assert cf.evaluate(cf.Collection(qrels, inclusion=inclusion, method=method), run, "statAP")._means == pytest.approx(
        1.75 / 13
    )


def test_complete_judgments_are_no_estimate() -> None:
    """Where everything is drawn, the estimates are the measures themselves and have no error."""
    qrels = {"q": {"a": 1, "b": 0, "c": 1, "d": 0}}
    run = {"q": {"b": 4.0, "a": 3.0, "c": 2.0, "d": 1.0}}
    names = ["statAP", "AP", "P@3[sampled]", "P@3"]
    values = cf.Evaluator(cf.Collection(qrels, strata={"q": dict.fromkeys("abcd", "1")}), names).per_query(run)["q"]
    assert values["statAP"] == pytest.approx(values["AP"], abs=1e-12)
    assert values["P@3[sampled]"] == pytest.approx(values["P@3"], abs=1e-12)
    scores = cf.evaluate(
        cf.Collection(qrels, strata={"q": dict.fromkeys("abcd", "1")}),
        run,
        ["xinfAP", "P@3[sampled]"],
        show="standard-errors",
    )
    assert scores._means[0, [1, 3]].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", ["P@4", "DCG@5", "RBP(p=0.7)", "SDCG(max=2)@4", "NumRelRet"])
def test_expanded_gains_are_unbiased(name: str) -> None:
    """The mean over all samples of two documents from each stratum is the true score, and so is that of variances."""
    grades = {"a": 2, "b": 0, "c": 1, "d": 0, "e": 1, "f": 2}
    strata = dict(zip("abcdef", "111222", strict=True))
    run = {"q": {d: -float(i) for i, d in enumerate("cxaebfd")}}
    truth = float(cf.Evaluator({"q": grades}, name).values(run)[0, 0])
    values, variances = [], []
    for first in itertools.combinations("abc", 2):
        for second in itertools.combinations("def", 2):
            drawn = {*first, *second}
            qrels = {"q": {d: grade if d in drawn else -1 for d, grade in grades.items()}}
            # The highest grade is part of the measure.
            top = {"z": {"top": 2}}
            scores = cf.evaluate(
                cf.Collection(qrels | top, strata={"q": strata, "z": {"top": "1"}}),
                run,
                f"{name}[sampled]",
                show="standard-errors",
            )
            values.append(float(scores.values[0, 0, 0]))
            variances.append(float(scores.values[0, 1, 0]) ** 2)
    assert np.mean(values) == pytest.approx(truth, abs=1e-12)
    assert np.mean(variances) == pytest.approx(np.var(values), abs=1e-12)


@pytest.mark.parametrize(
    ("design", "sentence"),
    [
        ({"inclusion": {"q": {"a": 1.5}}}, "not between 0 and 1"),
        ({"inclusion": {"q": {"a": "often"}}}, "not between 0 and 1"),
        ({"inclusion": {"q": {"a": 0}}}, "cannot be drawn"),
        ({"strata": {"q": {"a": "1"}}}, "has no stratum"),
        ({"strata": {"other": {"a": "1"}}}, "none of the queries is judged"),
        ({"method": {"q": {"a": 3}}}, "not 0, 1, 2 or 4"),
    ],
)
def test_bad_samples(design: dict[str, Any], sentence: str) -> None:
    with pytest.raises(cf.InputError, match=sentence):
        cf.evaluate(cf.Collection({"q": {"a": 1, "b": 0}}, **design), {"q": {"a": 1.0}}, "statAP")


def test_strata_without_a_sample() -> None:
    qrels, strata = {"q": {"a": 1, "b": -1}}, {"q": {"a": "1", "b": "2"}}
    with pytest.raises(cf.InputError, match="no document of stratum `2` of query `q` is judged"):
        cf.evaluate(cf.Collection(qrels, strata=strata), {"q": {"a": 1.0}}, "P@1[sampled]")
    assert cf.evaluate(cf.Collection(qrels, strata=strata), {"q": {"a": 1.0}}, "xinfAP")._means == 1


@pytest.mark.parametrize("name", ["AP[sampled]", "nDCG@10[sampled]", "P@5[sampled, condensed]"])
def test_no_such_estimate(name: str) -> None:
    with pytest.raises(cf.MeasureError):
        cf.parse(name)


def test_shifted_file(tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    path.write_text("1 0 a 1 1\n1 0 b 1\n1 0 c 2 -1\n")
    with pytest.raises(cf.InputError, match=r"qrels.txt:2: 4 columns, expected query Q0 document stratum grade"):
        cf.evaluate(path, {"1": {"a": 1.0}}, "xinfAP")
    path.write_text("1 0 a 1 1\n1 0 b 1 x\n")
    with pytest.raises(cf.InputError, match=r"qrels.txt:2: the grade is not a finite number"):
        cf.evaluate(path, {"1": {"a": 1.0}}, "xinfAP")


@pytest.mark.parametrize(
    ("text", "name", "sentence"),
    [
        ("1 0 a s 1\n1 0 b s 0\n1 0 a t 1\n", "qrels.txt", "document `a` of query `1` has two strata"),
        ("1 0 a s 1\n1 0 b s 0\n1 0 a s 0\n", "qrels.txt", "qrels.txt:3: document `a` already has another grade"),
        ("1 a 1 1 0.5\n1 b 0 1 0.5\n1 a 1 1 0.4\n", "qrels.txt", "document `a` of query `1` has two probabilities"),
        ("1 a 1 1 0.5\n1 b 0 1 0.5\n1 a 1 2 0.5\n", "qrels.txt", "document `a` of query `1` has two methods"),
        ("query,doc_id,grade,stratum\n1,a,1,s\n1,a,1,t\n", "qrels.csv", "document `a` of query `1` has two strata"),
    ],
)
def test_a_document_that_is_given_in_two_ways(text: str, name: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(cf.InputError, match=sentence):
        cf.read_qrels(tmp_path / name)


def test_tables_with_probabilities(tmp_path: Path) -> None:
    path = tmp_path / "qrels.csv"
    path.write_text("query_id,doc_id,relevance,probability\nq,a,1,0.5\nq,b,0,0.25\nq,c,1,\n")
    run = {"q": {"b": 2.0, "a": 1.0}}
    found = cf.evaluate(path, run, ["statAP", "P@2[sampled]"])._means[0]
    assert found.tolist() == pytest.approx([0.5, 1.0])
