"""trec_eval's command line: its output to the byte, every flag, every exit code."""

from __future__ import annotations

import gzip
import io
import math
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from peer import Trec, caller, printed, values, written

import cranfield as cf
from awkward import random_input
from cranfield.compat.trec_eval import Options, _Report, evaluate, four_decimals
from cranfield.compat.trec_measures import MeasureOptions, lines, nickname

QRELS = {"q1": {"a": 1, "b": 0, "c": 2}, "q10": {"a": 1}, "q2": {"a": 0, "b": 1}}
RUN = {"q2": {"a": 3.0, "b": 2.0}, "q1": {"c": 3.0, "x": 2.0, "a": 1.0}, "q10": {"b": 2.0, "a": 1.0}}


@pytest.fixture
def trec(tmp_path: Path) -> Trec:
    return caller(tmp_path)


@pytest.mark.parametrize("part", range(12))
def test_output_to_the_byte(part: int, trec: Trec) -> None:
    rng = random.Random(part)
    for _ in range(6):
        run, qrels = random_input(rng)
        options, how = [], {}
        for option, setting in (("-c", {"complete": True}), ("-q", {"per_query": True}), ("-M 3", {"most": 3})):
            if rng.random() < 0.4:
                options += option.split()
                how |= setting
        level = rng.choice([1, 1, 2])
        name = rng.choice(["official", "set", "all_trec"])
        result = trec(f"-l{level}", "-m", name, *options, qrels=qrels, run=run)
        assert result.exit_code == 0, result.output
        assert result.output == printed(qrels, run, {name}, level=level, **how)


@pytest.mark.parametrize("part", range(4))
def test_judged_documents_only(part: int, trec: Trec) -> None:
    rng = random.Random(100 + part)
    for _ in range(4):
        run, qrels = random_input(rng)
        result = trec("-J", "-q", "-m", "all_trec", qrels=qrels, run=run)
        assert result.output == printed(qrels, run, {"all_trec"}, judged=True, per_query=True)


@pytest.mark.parametrize("part", range(6))
def test_values_to_the_last_digit(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every value is the same double as in trec_eval 9.0.8, so that no rounding to four decimals can differ."""
    tables: list[Any] = []
    monkeypatch.setattr(_Report, "_summary", lambda _, __, table: tables.append(table) or "")
    rng = random.Random(200 + part)
    for _ in range(4):
        run, qrels = random_input(rng) if rng.random() < 0.5 else long_input(rng)
        level, judged = rng.choice([1, 1, 2]), rng.random() < 0.3
        list(evaluate(qrels, run, Options(measures=("all_trec",), level=level, judged_docs_only=judged)))
        names = [line.name for name in nickname("all_trec", 9) for line in lines(name, "", MeasureOptions())]
        expected = pytrec_eval.RelevanceEvaluator(qrels, {"all_trec"}, level, judged).evaluate(run)
        for query, row in expected.items():
            column = tables[-1][:, list(qrels).index(query)]
            found = dict(zip(names, column.tolist(), strict=True))
            kept = {name: value for name, value in row.items() if name not in ("runid", "num_q", "relstring")}
            assert {name: repr(found[name]) for name in kept} == {name: repr(value) for name, value in kept.items()}


def long_input(rng: random.Random) -> tuple[dict, dict]:
    """A run and judgments of many documents."""
    documents = [f"d{i}" for i in range(300)]
    qrels = {
        f"q{i}": {d: rng.choice([0, 0, 1, 2, 3]) for d in rng.sample(documents, rng.randint(5, 250))} for i in range(6)
    }
    return {q: {d: rng.random() for d in rng.sample(documents, rng.randint(3, 300))} for q in qrels}, qrels


def test_the_official_output_of_trec_eval(trec: Trec) -> None:
    result = trec(qrels=QRELS, run=RUN)
    lines = result.output.splitlines()
    assert lines[:6] == [
        "runid                 \tall\ttag",
        "num_q                 \tall\t3",
        "num_ret               \tall\t7",
        "num_rel               \tall\t4",
        "num_rel_ret           \tall\t4",
        "map                   \tall\t0.6111",
    ]
    assert lines[-1] == "P_1000                \tall\t0.0013"
    assert len(lines) == 30


def test_order_of_queries_and_measures(trec: Trec) -> None:
    result = trec("-q", "-m", "recip_rank", "-m", "num_ret", "-mmap", qrels=QRELS, run=RUN)
    assert [line.split("\t")[:2] for line in result.output.splitlines()] == [
        [f"{name:<22}", query] for query in ("q1", "q10", "q2", "all") for name in ("num_ret", "map", "recip_rank")
    ]


def test_parameters(trec: Trec) -> None:
    given = "iprec_at_recall..10,.50 P.5,3 recall.20,2000 Rprec_mult.5.0,0.2 utility.2,-1,0,0 11pt_avg..25,.5 "
    given += "ndcg.1=3,2=9 ndcg_cut.10,2.7 success.2 set_F.0.5 relstring.2 map.7 G.1=2"
    options = [part for name in given.split() for part in ("-m", name)]
    names = dict.fromkeys(name for name, _ in values(trec("-q", *options, qrels=QRELS, run=RUN).output))
    assert list(names) == [
        "map",
        "iprec_at_recall_0.10",
        "iprec_at_recall_0.50",
        "P_3",
        "P_5",
        "relstring_2",
        "recall_20",
        "recall_2000",
        "Rprec_mult_0.20",
        "Rprec_mult_5.00",
        "utility_2,-1,0,0",
        "11pt_avg_.25,.5",
        "G_1=2",
        "ndcg_1=3,2=9",
        "ndcg_cut_2",
        "ndcg_cut_10",
        "success_2",
        "set_F_0.5",
    ]


def test_the_first_parameters_of_a_measure_count(trec: Trec) -> None:
    assert list(values(trec("-m", "P.5", "-m", "P.10", qrels=QRELS, run=RUN).output)) == [("P_5", "all")]
    assert list(values(trec("-m", "P", "-m", "P.10", qrels=QRELS, run=RUN).output)) == [("P_10", "all")]
    everything = values(trec("-m", "all_trec", "-m", "P.7", qrels=QRELS, run=RUN).output)
    assert [name for name, _ in everything if name.startswith("P_")] == ["P_7"]


def test_values_with_parameters(trec: Trec) -> None:
    options = [
        "-m",
        "ndcg.1=3,2=9",
        "-m",
        "utility.2,-1,1,0.5",
        "-N",
        "10",
        "-m",
        "set_F.0",
        "-m",
        "relstring.2",
        "-m",
        "11pt_avg.0,1",
    ]
    found = values(trec("-q", *options, qrels=QRELS, run=RUN).output)
    assert found["ndcg_1=3,2=9", "q1"] == f"{(9 + 3 / 2) / (9 + 3 / math.log2(3)):6.4f}"
    assert found["utility_2,-1,1,0.5", "q1"] == f"{2 * 2 - 1 + 0 + 0.5 * (10 - 3):6.4f}"
    assert found["set_F_0", "q1"] == "0.6667"
    assert found["relstring_2", "q1"] == "'2-'"
    assert found["11pt_avg_0,1", "q1"] == f"{(1 + 2 / 3) / 2:6.4f}"


def test_summary_and_queries(trec: Trec) -> None:
    assert trec("-n", "-m", "map", qrels=QRELS, run=RUN).output == ""
    assert trec("-n", "-q", "-m", "map", qrels=QRELS, run=RUN).output.count("\n") == 3
    assert list(values(trec("-qD1.q10", "-m", "map", qrels=QRELS, run=RUN).output)) == [("map", "q10"), ("map", "all")]
    plain = trec("-m", "official", qrels=QRELS, run=RUN).output
    assert trec("-o", "-D", "3", qrels=QRELS, run=RUN).output == plain
    assert trec("--Output_old_results_format", "x", qrels=QRELS, run=RUN).output == plain


def test_long_names(trec: Trec) -> None:
    long = [
        "--query_eval_wanted",
        "--measure",
        "map",
        "--complete_rel_info_wanted",
        "--level_for_rel",
        "2",
        "--Judged_docs_only",
    ]
    long += ["--Number_docs_in_coll", "5", "--Max_retrieved_per_topic", "2", "--Rel_info_format", "qrels"]
    long += ["--Results_format", "trec_results", "--Debug_level", "0"]
    short = [
        "-q",
        "-m",
        "map",
        "-c",
        "-l",
        "2",
        "-J",
        "-N",
        "5",
        "-M",
        "2",
        "-R",
        "qrels",
        "-T",
        "trec_results",
        "-D",
        "0",
    ]
    result = trec(*long, qrels=QRELS, run=RUN)
    assert result.exit_code == 0
    assert result.output == trec(*short, qrels=QRELS, run=RUN).output
    assert trec("--nosummary", "-m", "map", qrels=QRELS, run=RUN).output == ""


def test_options_after_files(trec: Trec, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(written(QRELS, "qrels"))
    (tmp_path / "b").write_bytes(written(RUN, "run"))
    result = trec(tmp_path / "a", tmp_path / "b", "-qcm", "map")
    assert result.output == trec("-q", "-c", "-m", "map", qrels=QRELS, run=RUN).output


def test_version_and_help(trec: Trec) -> None:
    result = trec("-v")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "trec_eval version 9.0.8\n")
    assert trec("--compat", "10", "--version").stderr == "trec_eval version 10.0\n"
    result = trec("-h", "-m", "map", "-m", "runid")
    assert result.exit_code == 0
    assert "--complete_rel_info_wanted" in result.stdout
    assert f"\nmap\n    AP: {cf.measures.CATALOGUE['AP'].summary}" in result.stdout


def test_z_scores(trec: Trec, tmp_path: Path) -> None:
    means = tmp_path / "means"
    means.write_text("q1 map 0.5 0.1\nq10 map 0.5 0\nq2 map 0.25 0\nq1 num_ret 1 2\nq1 gm_map -1 1\n")
    given = ["runid", "num_q", "num_ret", "map", "gm_map", "relstring"]
    assert trec("-nqmrelstring.1", "-Z", means, qrels=QRELS, run=RUN).output.startswith(
        "relstring_1           \tq1\t'2'\n"
    )
    options = [part for name in given for part in ("-m", name)]
    output = trec("-q", "-Z", means, *options, qrels=QRELS, run=RUN).output
    assert output == (
        "Znum_ret               \tq1\t1.0000\n"
        "Zmap                   \tq1\t3.3333\n"
        "relstring             \tq1\t'2-1'\n"
        "Znum_ret               \tq10\t-1000000.0000\n"
        "Zmap                   \tq10\t0.0000\n"
        "relstring             \tq10\t'-1'\n"
        "Znum_ret               \tq2\t-1000000.0000\n"
        "Zmap                   \tq2\t-1000000.0000\n"
        "relstring             \tq2\t'01'\n"
        "runid                 \tall\ttag\n"
        "Znum_q                 \tall\t3.0000\n"
        "Znum_ret               \tall\t-1999999.0000\n"
        "Zmap                   \tall\t-333332.2222\n"
        "Zgm_map                \tall\t0.0000\n"
    )


@pytest.mark.parametrize(
    ("grades", "expected"), [({"a": 12, "b": 9, "c": -1, "d": 0}, ">9.0-"), ({"e": 1}, "----1"), ({"z": 1}, "-----")]
)
def test_strings_of_grades(grades: dict, expected: str, trec: Trec) -> None:
    run = {"q": {"a": 5.0, "b": 4.0, "c": 3.0, "d": 2.0, "e": 1.0}}
    assert trec("-nqmrelstring", qrels={"q": grades}, run=run).output == f"relstring             \tq\t'{expected}'\n"


def test_strings_of_grades_as_long_as_the_ranking(trec: Trec) -> None:
    output = trec("-nqmrelstring.100000000000", qrels=QRELS, run=RUN).output
    assert [line.split("\t")[2] for line in output.splitlines()] == ["'2-1'", "'-1'", "'01'"]


def test_the_run_id_is_the_last_one(trec: Trec, tmp_path: Path) -> None:
    text = b"q1 Q0 a 1 2.0 first\nq1 Q0 b 2 1.0 last\r\n\n"
    assert trec("-mrunid", qrels=QRELS, run=text).output == "runid                 \tall\tlast\n"
    assert trec("-mrunid", qrels=QRELS, run=gzip.compress(text)).output == "runid                 \tall\tlast\n"
    (tmp_path / "judged").write_bytes(written(QRELS, "qrels"))
    assert trec("-mrunid", tmp_path / "judged", "-", input=text).output == "runid                 \tall\tlast\n"
    # The end of a long last line does not say which of its columns is the run id.
    long = text + b"q1 Q0 " + b"x" * 100_000 + b" 3 0.5 end\n"
    assert trec("-mrunid", qrels=QRELS, run=long).output == "runid                 \tall\tfirst\n"


class Counting(io.BytesIO):
    """A file that counts the bytes that are read from it."""

    total = 0

    def readinto(self, buffer: Any) -> int:
        count = super().readinto(buffer)
        self.total += count
        return count


def test_a_run_is_read_once() -> None:
    text = written({"q1": {f"d{i}": float(i) for i in range(20_000)}}, "run")
    run = Counting(text)
    assert "runid                 \tall\ttag\n" in "".join(evaluate(QRELS, run, Options()))
    assert run.total < 1.5 * len(text)


def test_queries_are_printed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    options = Options(measures=("official", "relstring"), query_eval_wanted=True)
    whole = list(evaluate(QRELS, RUN, options))
    assert len(whole) == 2  # all queries, then the summary
    monkeypatch.setattr("cranfield.compat.trec_eval.LINES", 30)
    parts = list(evaluate(QRELS, RUN, options))
    assert len(parts) == len(QRELS) + 1
    assert "".join(parts) == "".join(whole)


def test_nothing_is_loaded_for_masked_arrays() -> None:
    """`numpy.unique` loads them, which takes as long as a small run."""
    code = (
        "import sys, numpy; before = set(sys.modules)\n"
        "from cranfield.compat.trec_eval import Options, evaluate\n"
        "list(evaluate({'q': {'a': 1}}, {'q': {'a': 1.0}}, Options()))\n"
        "print(sorted(name for name in set(sys.modules) - before if name.startswith('numpy.ma')))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


# Exit codes.

# The exit code, and what the message names.
REFUSED = {
    ("-m", "nonsense"): (1, "`nonsense`"),
    ("-m", "P."): (1, "`P.`"),
    ("-m", "unj"): (1, "--compat 10 -m unj"),
    ("-m", "prefs_simp"): (4, "-R prefs or -R qrels_prefs"),
    ("-m", "qrels_jg"): (4, "-R qrels_jg"),
    ("-m", "prefs_avgjg_Rnonrel_imp"): (1, "`prefs_avgjg_Rnonrel_imp`"),
    ("-R", "qrels_prefs"): (4, "-R qrels"),
    ("-R", "qrels_jg", "-m", "all_prefs"): (4, "-R prefs or -R qrels_prefs"),
    ("-m", "P.0"): (2, "at least 1, not 0"),
    ("-m", "P.5,5"): (2, "5,5"),
    ("-m", "P.x"): (2, "`P.x`"),
    ("-m", "ndcg.1"): (2, "ndcg.1=3,2=9"),
    ("-m", "ndcg.1=-3"): (2, "negative"),
    ("-m", "utility.1,2"): (4, "4 numbers, not 2"),
    ("-m", "set_F.-1"): (2, "negative"),
    ("-R", "prefs", "-m", "prefs"): (2, "expected 5 columns (query group subgroup document level), found 4"),
    ("-R", "csv"): (2, "`qrels`"),
    ("-T", "csv"): (2, "`trec_results`"),
    ("-Z", "/nowhere"): (2, "/nowhere: no such file or directory"),
    ("-l", "0"): (1, "at least 1, not 0"),
    ("-M", "0"): (1, "at least 1, not 0"),
    ("-x",): (1, "cranfield trec_eval --help"),
    ("-l", "two"): (1, "is not a valid integer"),
    ("another",): (1, "2 files"),
    ("-D", "1.q3"): (7, "no query in common"),
}


@pytest.mark.parametrize(("options", "expected"), REFUSED.items())
def test_what_is_refused(options: tuple[str, ...], expected: tuple[int, str], trec: Trec) -> None:
    result = trec(*options, qrels=QRELS, run=RUN)
    assert result.exit_code == expected[0]
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert expected[1] in result.stderr


def test_files_that_are_wrong(trec: Trec, tmp_path: Path) -> None:
    twice = "q1 Q0 a 1 1 t\nq1 Q0 a 2 1 t\n"
    assert trec(qrels=QRELS, run=twice).exit_code == 4
    assert trec(qrels="q1 0 a 1\nq1 0 a 2\n", run=RUN).exit_code == 4
    assert trec(qrels="q1 0 a\n", run=RUN).exit_code == 2
    assert trec(qrels=QRELS, run="q1 Q0 a 1 1\n").exit_code == 2
    assert trec(qrels=QRELS, run="").exit_code == 2
    assert trec(tmp_path / "nowhere", tmp_path / "nowhere").exit_code == 2
    assert trec(qrels=QRELS, run={"other": {"a": 1.0}}).exit_code == 7
    wrong = tmp_path / "means"
    wrong.write_text("q1 map 0.5 0.1\nq1 map 0.5\n")
    result = trec("-Z", wrong, qrels=QRELS, run=RUN)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {wrong}:2: expected 4 columns")


@pytest.mark.parametrize("compat", ["9", "10"])
def test_text_after_the_sixth_column(compat: str, trec: Trec, tmp_path: Path) -> None:
    long = "q1 Q0 z 9 0.5 tag " + "and much text " * 10_000
    text = f"q1 Q0 a 1 2.0 my run\r\n\n  q1\tQ0 b 2 1.0 my   own run\n{long}\nq2 Q0 b 1 1 last of all"
    plain = "q1 Q0 a 1 2.0 my\nq1 Q0 b 2 1.0 my\nq1 Q0 z 9 0.5 tag\nq2 Q0 b 1 1 last\n"
    options = "--compat", compat, "-q", "-c", "-mall_trec"
    expected = trec(*options, qrels=QRELS, run=plain).output
    assert "runid                 \tall\tlast\n" in expected
    assert trec(*options, qrels=QRELS, run=text).output == expected
    assert trec(*options, qrels=QRELS, run=gzip.compress(text.encode())).output == expected
    (tmp_path / "judged").write_bytes(written(QRELS, "qrels"))
    assert trec(*options, tmp_path / "judged", "-", input=text.encode()).output == expected


@pytest.mark.parametrize("number", range(3))
def test_text_after_the_sixth_column_of_one_line(number: int, trec: Trec) -> None:
    plain = ["q1 Q0 a 1 2.0 STD", "q1 Q0 b 2 1.0 STD", "q2 Q0 b 1 10.5 STD"]
    text = [line + " more junk" * (i == number) for i, line in enumerate(plain)]
    found, expected = (trec("-q", "-c", "-mall_trec", qrels=QRELS, run="\n".join(lines)) for lines in (text, plain))
    assert (found.exit_code, found.output) == (0, expected.output)


def test_lines_that_are_too_short_beside_lines_with_text(trec: Trec, tmp_path: Path) -> None:
    result = trec(qrels=QRELS, run="q1 Q0 a 1 2.0 my run\nq1 Q0 b 2 1.0\n")
    assert result.exit_code == 2
    assert f"{tmp_path / 'run'}:2: expected 6 columns" in result.stderr
    assert ":1:" not in result.stderr


def test_other_verbs_refuse_text_after_the_sixth_column(tmp_path: Path) -> None:
    (tmp_path / "judged").write_bytes(written(QRELS, "qrels"))
    (tmp_path / "run").write_text("q1 Q0 a 1 2.0 my run\n")
    with pytest.raises(cf.InputError, match="expected 6 columns"):
        cf.evaluate(tmp_path / "judged", tmp_path / "run", "AP")


def test_nothing_judged_was_retrieved(trec: Trec) -> None:
    """trec_eval divides by the number of documents, which is 0; C prints the quotient in six places."""
    run = {"q1": {"x": 1.0}, "q2": RUN["q2"]}
    options = "-J", "-q", "-miprec_at_recall", "-m11pt_avg", "-mmap"
    found = values(trec(*options, qrels=QRELS, run=run).output)
    assert found["iprec_at_recall_0.00", "q1"] == found["11pt_avg", "q1"] == "  -nan"
    assert found["iprec_at_recall_0.00", "all"] == found["11pt_avg", "all"] == "  -nan"
    assert found["iprec_at_recall_0.10", "q1"] == found["map", "q1"] == "0.0000"
    assert found["iprec_at_recall_0.10", "all"] == "0.2500"
    # Version 10 rounds a fifth of two documents to none.
    found = values(trec("--compat", "10", "-c", *options, qrels=QRELS, run=run).output)
    assert found["iprec_at_recall_0.20", "q1"] == found["iprec_at_recall_0.40", "q10"] == "  -nan"
    assert found["iprec_at_recall_0.30", "q1"] == found["iprec_at_recall_0.50", "q10"] == "0.0000"


def test_relevant_documents_of_all_queries(trec: Trec) -> None:
    """With -c, every grade above 0 counts in the summary, whatever -l says."""
    assert values(trec("-c", "-q", "-l2", "-mnum_rel", qrels=QRELS, run=RUN).output) == {
        ("num_rel", "q1"): "1",
        ("num_rel", "q10"): "0",
        ("num_rel", "q2"): "0",
        ("num_rel", "all"): "4",
    }
    assert values(trec("-l2", "-mnum_rel", qrels=QRELS, run=RUN).output) == {("num_rel", "all"): "1"}
    assert values(trec("--compat", "10", "-c", "-l2", "-mnum_rel", qrels=QRELS, run=RUN).output) == {
        ("num_rel", "all"): "4"
    }


# Where trec_eval is wrong, or stops, and this does not.


def test_a_perfect_ranking_by_a_gain_map(trec: Trec) -> None:
    """Gains less than 1 apart are not put in order there, and this ranking scores 0."""
    qrels, run = {"q": {"a": 1, "b": 3, "c": 2}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    for name in ("ndcg", "Rndcg", "ndcg_rel"):
        output = trec("-m", f"{name}.1=0.9,2=0.3,3=0.6", qrels=qrels, run=run).output
        assert values(output) == {(f"{name}_1=0.9,2=0.3,3=0.6", "all"): "1.0000"}


def test_a_gain_map_that_falls(trec: Trec) -> None:
    """Grades that the map leaves out keep their gain."""
    qrels, run = {"q": {"a": 3, "b": 2}}, {"q": {"a": 2.0, "b": 1.0}}
    found = values(trec("-m", "ndcg.3=0.1", qrels=qrels, run=run).output)
    expected = (0.1 + 2 / math.log2(3)) / (2 + 0.1 / math.log2(3))
    assert found["ndcg_3=0.1", "all"] == f"{expected:6.4f}"


def test_halves_are_rounded_as_c_does(trec: Trec) -> None:
    """1/32 lies between two numbers of four decimals: the even one is printed."""
    run = {"q": {f"x{i:02}": 100.0 - i for i in range(31)} | {"a": 1.0}}
    qrels = {"q": {"a": 1}}
    assert trec("-mrecip_rank", "-mmap", qrels=qrels, run=run).output == printed(qrels, run, {"recip_rank", "map"})


def test_numbers_as_c_prints_them() -> None:
    halves = np.arange(20_001) / 20_000
    shares = np.concatenate([np.arange(n + 1) / n for n in range(1, 130)])
    others = np.array([-0.0, -1e-9, -0.5, 1.00004, 1.00006, 12345.6789, 1e300, np.inf, -np.inf, np.nan])
    values = np.concatenate([halves, np.nextafter(halves, 2), np.nextafter(halves, -1), shares, others])
    for part in (values, others):  # a few are printed in another way than many
        assert four_decimals(part) == [f"{value:6.4f}\n".replace("   nan", "  -nan") for value in part.tolist()]


def test_names_that_are_no_text(trec: Trec) -> None:
    result = trec("-q", "-mmap", qrels=b"q\xff 0 a 1\n", run=b"q\xff Q0 a 1 1 t\n")
    assert result.stdout_bytes.splitlines()[0] == b"map                   \tq\xff\t1.0000"
