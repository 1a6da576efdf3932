"""Designs on the command line: scores from elsewhere, groups, nested means, clusters, repeats, margins, and names."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import cranfield as cf
from cranfield.cli.main import cli

QUERIES = 24


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = ["run,query,faithfulness,latency"]
    for run, mean in (("old", 0.5), ("new", 0.7)):
        rows += [f"{run},q{q:02},{mean + rng.normal(0, 0.05):.6f},{100 / mean + q:.3f}" for q in range(QUERIES)]
    Path("judge.csv").write_text("\n".join(rows) + "\n")
    about = [f"q{q:02},text of {q},{'free' if q % 2 else 'paid'},t{q // 4}" for q in range(QUERIES)]
    Path("queries.csv").write_text("\n".join(["query,text,segment,topic", *about]) + "\n")
    Path("qrels.txt").write_text("".join(f"q{q:02} 0 a 1\n" for q in range(QUERIES)))
    for name, seed in (("bm25", 1), ("seed1", 2), ("seed2", 3), ("seed3", 4)):
        order = np.random.default_rng(seed).random((QUERIES, 3))
        lines = [f"q{q:02} Q0 {d} 1 {s:.6f} x\n" for q in range(QUERIES) for d, s in zip("abc", order[q], strict=True)]
        Path(f"{name}.run").write_text("".join(lines))


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


def first_pair(*words: str) -> dict[str, object]:
    result = call(*words, "--format", "json")
    assert result.exit_code == 0, result.stderr
    pair: dict[str, object] = json.loads(result.stdout)["pairs"][0]
    return pair


def test_scores_from_elsewhere_are_compared_as_in_python() -> None:
    found = first_pair("compare", "--scores", "judge.csv", "--lower", "latency", "--test", "t")
    expected = cf.compare(cf.read_scores("judge.csv", lower=["latency"]), test="t").pairs[0]
    assert (found["p"], found["difference"]) == (expected.p, expected.difference)


def test_several_files_of_scores() -> None:
    lines = Path("judge.csv").read_text().splitlines()
    for run in ("old", "new"):
        own = [line.partition(",")[2] for line in lines if line.startswith((run, "run"))]
        Path(f"{run}.csv").write_text("\n".join(own) + "\n")
    assert first_pair("compare", "--scores", "old.csv", "new.csv") == first_pair("compare", "--scores", "judge.csv")


def test_the_cluster_of_queries() -> None:
    words = ["compare", "--scores", "judge.csv", "--queries-file", "queries.csv", "--test", "t", "--cluster", "topic"]
    scores = cf.read_scores("judge.csv", queries="queries.csv")
    assert first_pair(*words)["p"] == cf.compare(scores, test="t", cluster="topic").pairs[0].p
    assert "queries have no attribute `topi`" in call(*words[:-1], "topi").stderr


def test_repeats_are_files_with_one_name() -> None:
    words = ["compare", "qrels.txt", "bm25.run", "-m", "RR"]
    given = [f"dense=seed{i}.run" for i in (1, 2, 3)]
    found = first_pair(*words, *given)
    assert first_pair(*words, "dense=seed*.run") == found
    runs = {"bm25": "bm25.run", "dense": cf.Repeats([f"seed{i}.run" for i in (1, 2, 3)])}
    assert found["p"] == cf.compare("qrels.txt", runs, "RR").pairs[0].p
    fixed = first_pair(*words, *given, "--repeats", "fixed", "--test", "t")
    assert fixed["variance"][1] == 0  # type: ignore[index]


def test_a_run_may_be_given_a_name() -> None:
    assert json.loads(call("eval", "qrels.txt", "BM25=bm25.run", "--format", "json").stdout)["runs"].keys() == {"BM25"}
    assert "BM25" in call("queries", "qrels.txt", "BM25=bm25.run", "seed1.run").stdout
    assert call("compare", "qrels.txt", "A=bm25.run", "B=seed1.run", "--baseline", "A").exit_code == 0


@pytest.mark.parametrize("format", ["table", "markdown", "latex", "csv", "json"])
def test_groups_in_every_format(format: str) -> None:
    words = ["--queries-file", "queries.csv", "--by", "segment", "--format", format]
    for verb in (["compare", "--scores", "judge.csv"], ["eval", "qrels.txt", "bm25.run", "seed1.run", "-m", "RR"]):
        result = call(*verb, *words)
        assert result.exit_code == 0, result.stderr
        assert "free" in result.stdout
        assert "paid" in result.stdout
    baseline = call("compare", "--scores", "judge.csv", "--baseline", "old", *words)
    found = cf.read_scores("judge.csv", queries="queries.csv").by("segment", "old")
    if format == "json":
        assert json.loads(baseline.stdout)["groups"] == found.to_dict()
    if format == "csv":
        assert repr(float(found.difference[0, 1, 0])) in baseline.stdout


def test_a_limit_is_for_the_mean_of_the_design() -> None:
    Path("queries.csv").write_text("query,part\n" + "".join(f"q{q:02},{int(q > 3)}\n" for q in range(QUERIES)))
    words = ["--queries-file", "queries.csv", "--collection", "part", "--lower", "latency", "--at-most", "latency=207"]
    result = call("compare", "--scores", "judge.csv", "--test", "t", *words)
    assert "old: latency 207.5000 is above 207" in result.stderr
    assert "207.5000" in result.stdout


def test_groups_have_the_design_of_the_comparison() -> None:
    words = ["--baseline", "old", "--queries-file", "queries.csv", "--by", "segment"]
    design = ["--cluster", "topic", "--alpha", "0.1"]
    found = json.loads(call("compare", "--scores", "judge.csv", *words, *design, "--format", "json").stdout)["groups"]
    scores = cf.read_scores("judge.csv", queries="queries.csv")
    assert found == scores.by("segment", baseline="old", cluster="topic", level=0.9).to_dict()
    assert found["low"] != scores.by("segment", baseline="old", level=0.9).to_dict()["low"]


def test_nested_means() -> None:
    words = ["--queries-file", "queries.csv", "--average", "topic"]
    expected = cf.evaluate(cf.Collection("qrels.txt", queries="queries.csv"), "bm25.run", "RR").averaged("topic")
    found = json.loads(call("eval", "qrels.txt", "bm25.run", "-m", "RR", *words, "--format", "json").stdout)
    assert found["runs"]["bm25"]["RR"]["queries"] == expected["RR"].per_query["bm25"]
    assert first_pair("compare", "--scores", "judge.csv", *words, "--test", "t")["losses"] == 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--baseline", "old", "--not-worse-by", "faithfulness=0.01"], 0, "new is not worse than old by 0.01 or more"),
        (["--baseline", "new", "--not-worse-by", "faithfulness=0.01"], 3, "is worse than new by more than 0.01"),
        (
            ["--baseline", "new", "--not-worse-by", "faithfulness=0.2"],
            4,
            " at least -0.2409 and at most -0.1958; 24 of 24 queries differ)",
        ),
        (
            ["--not-worse-by", "latency=1", "--lower", "latency"],
            4,
            "(difference -57.1430; 24 of 24 queries differ, which shows no spread to judge by)",
        ),
        (
            ["--baseline", "new", "--not-worse-by", "latency=1", "--lower", "latency"],
            4,
            "(difference +57.1430; 24 of 24 queries differ, which shows no spread to judge by)",
        ),
        (["--baseline", "new", "--not-worse-by", "faithfulness=9 faithfulness=0.01"], 3, "by more than 0.01"),
        (["--no-significant-loss", "faithfulness=0.01"], 0, "new: no significant loss against old: faithfulness"),
        (["--may-drop", "faithfulness=1"], 0, "1 check: 1 passed"),
        (["--not-worse-by", "faithfulness=0"], 2, "must be a number greater than 0"),
        (["--not-worse-by", "unknown=0.1"], 2, "not one of the measures"),
        (["--baseline", "new", "--not-worse-by", "faithfulness=0.2", "--at-least", "faithfulness=0.9"], 3, "below"),
    ],
)
def test_margins_have_three_outcomes(words: list[str], code: int, said: str) -> None:
    result = call("compare", "--scores", "judge.csv", "--test", "t", *words)
    assert (result.exit_code, said in result.stderr) == (code, True), result.stderr


def test_queries_of_scores_show_texts() -> None:
    result = call(
        "queries", "--scores", "judge.csv", "--queries-file", "queries.csv", "-m", "faithfulness", "--top", "2"
    )
    assert result.exit_code == 0
    assert "text of" in result.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["compare"], "compare needs judgments and runs, or --scores"),
        (["compare", "qrels.txt"], "compare needs judgments and runs, or --scores"),
        (["queries", "--scores", "judge.csv", "--query", "q01"], "have no rankings"),
        (["compare", "qrels.txt", "bm25.run", "seed1.run", "--lower", "AP"], "--lower needs --scores"),
        (["compare", "--scores", "judge.csv", "-m", "fidelity"], "not one of the measures"),
        (["compare", "--scores", "judge.csv", "--by", "segment"], "give a table of queries"),
        (
            [
                "compare",
                "--scores",
                "judge.csv",
                "--test",
                "sign",
                "--cluster",
                "topic",
                "--queries-file",
                "queries.csv",
            ],
            "not defined",
        ),
    ],
)
def test_wrong_command_lines(words: list[str], said: str) -> None:
    result = call(*words)
    assert result.exit_code in (1, 2)
    assert said in result.stderr
