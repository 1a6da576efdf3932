"""trec_eval's command line, version 10: where it is another than 9."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest
from peer import Trec, caller, values

from cranfield.compat.trec_eval import Options, _Report, evaluate

QRELS = {"q1": {"a": 1, "b": 0, "c": 2}, "q10": {"a": 1}, "q2": {"a": 0, "b": 1}}
RUN = {"q2": {"a": 3.0, "b": 2.0}, "q1": {"c": 3.0, "x": 2.0, "a": 1.0}, "q10": {"b": 2.0, "a": 1.0}}


@pytest.fixture
def trec(tmp_path: Path) -> Trec:
    return caller(tmp_path)


def test_scores_of_64_bits(trec: Trec) -> None:
    run = {"q": {"a": 0.30000001, "b": 0.3}}
    for version, expected in ((9, "0.5000"), (10, "1.0000")):
        output = trec("--compat", version, "-mrecip_rank", qrels={"q": {"a": 1}}, run=run).output
        assert output == f"recip_rank            \tall\t{expected}\n"


def test_recall_is_rounded_to_the_nearest(trec: Trec) -> None:
    qrels, run = {"q": {"a": 1, "b": 1, "c": 1, "d": 1}}, {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}
    for version, expected in ((9, "0.6667"), (10, "1.0000")):
        output = trec("--compat", version, "-miprec_at_recall.0.3", qrels=qrels, run=run).output
        assert output == f"iprec_at_recall_0.30  \tall\t{expected}\n"
    # Multiples of R are rounded up in both.
    outputs = [trec("--compat", v, "-mRprec_mult.0.3", qrels=qrels, run=run).output for v in (9, 10)]
    assert outputs == ["Rprec_mult_0.30       \tall\t0.5000\n"] * 2


def test_a_missing_query_ends_version_10(trec: Trec) -> None:
    run = {"q1": RUN["q1"], "q2": RUN["q2"]}
    result = trec("--compat", "10", "-q", "-mmap", qrels=QRELS, run=run)
    assert result.exit_code == 4
    assert result.stdout == "map                   \tq1\t0.8333\n"
    assert "query `q10`" in result.stderr and "-c" in result.stderr
    result = trec("-q", "-mmap", qrels=QRELS, run=run)
    assert (result.exit_code, result.output.count("\n")) == (0, 3)


def test_missing_queries_of_version_10(trec: Trec) -> None:
    given = ["num_ret", "num_rel", "map", "relstring", "utility", "yaap", "rbp_resid", "unj.5"]
    options = [part for name in given for part in ("-m", name)]
    output = trec("--compat", "10", "-q", "-c", *options, qrels=QRELS, run={"q1": RUN["q1"], "q2": RUN["q2"]}).output
    missing = {name: value for (name, query), value in values(output).items() if query == "q10"}
    assert missing == {
        "num_ret": "0", "num_rel": "1", "map": "0.0000", "relstring": "'-'", "utility": "0.0000", "yaap": "-0.6931",
        "rbp_resid": "0.0000", "unj_5": "0.0000",
    }  # fmt: skip


@pytest.mark.parametrize("version", [9, 10])
def test_relevant_documents_of_all_queries_whatever_the_level(trec: Trec, version: int) -> None:
    """What trec_eval 9.0.4 and 10.0-rc3 print."""
    qrels = {"q": {"a": 1, "b": 2, "c": 3}, "p": {"a": 1, "b": 3}}
    options = ("--compat", version, "-c", "-l", 3, "-m", "num_rel")
    assert trec(*options, qrels=qrels, run={"q": {"a": 3.0, "b": 2.0, "c": 1.0}}).output.split() == [
        "num_rel",
        "all",
        "5",
    ]


def test_a_run_without_lines_counts_0_in_version_10(trec: Trec, tmp_path: Path) -> None:
    judged, blank = tmp_path / "judged", tmp_path / "blank"
    judged.write_text("q 0 a 1\np 0 b 1\n")
    blank.write_text("\n")
    options = ("-mmap", "-mnum_ret", "-mnum_rel", "-mnum_q", judged, blank)
    found = values(trec("--compat", 10, "-c", *options).output)
    assert found == {("num_q", "all"): "2", ("num_ret", "all"): "0", ("num_rel", "all"): "2", ("map", "all"): "0.0000"}
    assert trec("--compat", 10, *options).exit_code == 2
    assert trec("--compat", 9, "-c", *options).exit_code == 2


def test_missing_queries_of_version_9_count_nothing(trec: Trec) -> None:
    output = trec("-q", "-c", "-myaap", "-mnum_rel", qrels=QRELS, run={"q1": RUN["q1"]}).output
    found = values(output)
    assert {query for _, query in found} == {"q1", "all"}
    assert found["num_rel", "all"] == "4"
    assert float(found["yaap", "all"]) == pytest.approx(float(found["yaap", "q1"]) / 3, abs=1e-4)


def test_measures_of_version_10(trec: Trec) -> None:
    qrels = {"q": {"a": 2, "b": 1, "c": 0, "m": 4}, "p": {"a": 1}}
    run = {"q": {"a": 5.0, "x": 4.0, "b": 3.0, "c": 2.0, "y": 1.0}, "p": {"a": 1.0}}
    given = ["dcg", "ideal_dcg", "rbp.p=0.5", "rbp_resid.p=0.5", "unj.2,10", "rbp"]
    options = [part for name in given for part in ("-m", name)]
    found = values(trec("--compat", "10", "-q", *options, qrels=qrels, run=run).output)
    assert found["dcg", "q"] == f"{2 + 1 / 2:6.4f}"
    assert found["ideal_dcg", "q"] == f"{4 + 2 / math.log2(3) + 1 / 2:6.4f}"
    assert found["rbp_p=0.5", "q"] == f"{0.5 * (2 + 1 / 4) / 4:6.4f}"
    assert found["rbp_resid_p=0.5", "q"] == f"{0.5 * (1 / 2 + 1 / 16) + 0.5**5:6.4f}"
    assert (found["unj_2", "q"], found["unj_10", "q"]) == ("0.5000", "0.2000")
    everything = values(trec("--compat", "10", "-m", "all_trec", qrels=qrels, run=run).output)
    assert list(everything)[-5:] == [(name, "all") for name in ("rbp", "rbp_resid", "unj_5", "unj_10", "unj_20")]
    assert found["rbp_p=0.5", "p"] == "0.5000"


def test_comments_and_standard_input(trec: Trec, tmp_path: Path) -> None:
    judged = tmp_path / "judged"
    judged.write_text("# one\n# two in a row\nq 0 a 1\n# at the end")
    run = b"# made by hand\nq Q0 a 1 1.0 tag\n"
    assert trec("--compat", "10", "-mmap", judged, "-", input=run).output == "map                   \tall\t1.0000\n"


def sequential(grades: list[int | None], p: float) -> tuple[float, float]:
    """rbp and rbp_resid as trec_eval 10 computes them, document by document."""
    total = unjudged = 0.0
    tail, best = 1.0, max([1, *(grade for grade in grades if grade is not None)])
    for grade in grades:
        if grade is None:
            unjudged += tail
        elif grade > 0:
            total += grade / best * tail
        tail *= p
    return (1.0 - p) * total, tail + (1 - p) * unjudged if None in grades else 0.0


@pytest.mark.parametrize("p", [0.5, 0.8, 0.9])
def test_rank_biased_precision_to_the_last_digit(p: float, monkeypatch: pytest.MonkeyPatch) -> None:
    tables: list[Any] = []
    monkeypatch.setattr(_Report, "_summary", lambda _, __, table: tables.append(table) or "")
    rng = random.Random(7)
    rankings = {f"q{i:02}": rng.choices([0, 1, 2, 3, None], k=rng.randint(1, 60)) for i in range(40)}
    rankings |= {f"r{i:02}": rng.choices([0, 1, 2], k=rng.randint(1, 9)) for i in range(10)}
    for grades in rankings.values():
        grades[0] = 0  # a judged document in every query
    qrels = {q: {f"d{i}": g for i, g in enumerate(grades) if g is not None} for q, grades in rankings.items()}
    run = {q: {f"d{i}": -float(i) for i in range(len(grades))} for q, grades in rankings.items()}
    list(evaluate(qrels, run, Options(measures=(f"rbp.p={p}", f"rbp_resid.p={p}"), generation=10)))
    assert tables[0].T.tolist() == [list(sequential(grades, p)) for grades in rankings.values()]


def test_a_residual_is_0_where_every_document_is_judged(trec: Trec) -> None:
    found = values(trec("--compat", "10", "-mrbp_resid", qrels={"q": {"a": 1}}, run={"q": {"a": 1.0}}).output)
    assert found["rbp_resid", "all"] == "0.0000"
