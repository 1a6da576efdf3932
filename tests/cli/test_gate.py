"""Checks for pipelines: exit codes 0 (passed), 3 (failed) and 4 (not decided), from a run or a saved baseline."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from cli_samples import BM25, DENSE, QRELS, Call

import cranfield as cf
from cranfield.errors import UsageError
from cranfield.testing import assert_at_least

MEASURE = "RR"


def collection(folder: Path, queries: int) -> Path:
    """Judgments with one relevant document for each query."""
    path = folder / "qrels"
    path.write_text("".join(f"{q} 0 good 1\n" for q in range(queries)))
    return path


def ranked(folder: Path, name: str, queries: int, worse: int) -> Path:
    """A run with the relevant document first, but third for the first queries."""
    path = folder / f"{name}.run"
    path.write_text(
        "".join(f"{q} Q0 good 1 {1 if q < worse else 9} x\n{q} Q0 a 2 3 x\n{q} Q0 b 3 2 x\n" for q in range(queries))
    )
    return path


# queries, queries on which the new run is worse, options, exit code
CASES = {
    "4 queries, all worse": (4, 4, [], 4),
    "5 queries, all worse": (5, 5, [], 3),
    "5 queries, all worse, t-test": (5, 5, ["--test", "t"], 4),  # all lose the same
    "5 queries, all worse, without significance": (5, 5, ["--may-drop", "RR=0"], 3),
    "5 queries, all worse, within the tolerance": (5, 5, ["--may-drop", "RR=0.7"], 0),
    "4 queries, equal": (4, 0, [], 4),
    "5 queries, equal": (5, 0, [], 0),
    "5 queries, equal, without significance": (5, 0, ["--may-drop", "RR=0"], 0),
    "6 queries, all worse": (6, 6, [], 3),
    "50 queries, 3 worse": (50, 3, [], 0),
    "50 queries, 3 worse, without significance": (50, 3, ["--may-drop", "RR=0"], 3),
    "50 queries, 3 worse, tolerance": (50, 3, ["--may-drop", "RR=0.05"], 0),
    "50 queries, 8 worse": (50, 8, [], 3),
    "50 queries, 8 worse, tolerance": (50, 8, ["--no-significant-loss", "RR=0.2"], 0),
    "50 queries, equal": (50, 0, [], 0),
    "too few resamples": (50, 50, ["--samples", "10"], 4),
}


@pytest.mark.parametrize("saved", [False, True], ids=["run", "file"])
@pytest.mark.parametrize(("queries", "worse", "how", "code"), CASES.values(), ids=CASES)
def test_exit_codes(
    call: Call, tmp_path: Path, queries: int, worse: int, how: list[str], code: int, saved: bool
) -> None:
    qrels = collection(tmp_path, queries)
    old, new = ranked(tmp_path, "old", queries, 0), ranked(tmp_path, "new", queries, worse)
    junit, scores = tmp_path / "junit.xml", tmp_path / "scores.json"
    assert call("eval", qrels, old, "-m", MEASURE, "--format", "json", "-o", scores).exit_code == 0
    baseline = [new, "--baseline", scores] if saved else [old, new]
    check = [] if how and how[0] in ("--may-drop", "--no-significant-loss") else ["--no-significant-loss", MEASURE]
    result = call("compare", qrels, *baseline, "-m", MEASURE, *check, "--junit", junit, *how)
    assert result.exit_code == code, result.stderr
    said = {
        0: "1 check: 1 passed",
        3: "new is worse than old: RR ",
        4: "cannot decide whether new is worse than old: RR ",
    }
    assert said[code] in result.stderr
    assert ("hint: use more queries" in result.stderr) == (code == 4)
    suite = ElementTree.parse(junit).getroot()
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == [
        "1",
        str(int(code == 3)),
        str(int(code == 4)),
    ]


def test_a_better_run_passes_against_a_saved_baseline(call: Call, tmp_path: Path) -> None:
    qrels, old, new = collection(tmp_path, 20), ranked(tmp_path, "run", 20, 20), ranked(tmp_path, "new", 20, 0)
    cf.evaluate(qrels, [old], MEASURE).save(tmp_path / "scores.json")
    result = call("compare", qrels, new, "--baseline", tmp_path / "scores.json", "--no-significant-loss", MEASURE)
    assert result.exit_code == 0
    assert "not checked: whether ties or unjudged documents could reverse a difference" in result.stderr
    assert "+0.6667" in result.stdout


def test_a_saved_run_of_the_same_name_is_told_apart(call: Call, tmp_path: Path) -> None:
    qrels, run = collection(tmp_path, 20), ranked(tmp_path, "run", 20, 0)
    cf.evaluate(qrels, [run], ["AP", MEASURE]).save(tmp_path / "scores.json")
    result = call("compare", qrels, run, "--baseline", tmp_path / "scores.json", "--no-significant-loss", MEASURE)
    assert result.exit_code == 0
    assert "run (baseline)" in result.stdout
    assert "AP" not in result.stdout  # the checked measure alone
    unchecked = call("compare", qrels, run, "--baseline", tmp_path / "scores.json")
    assert "AP" in unchecked.stdout and MEASURE in unchecked.stdout  # the measures of the file


def test_without_measures_the_checked_ones_are_compared(call: Call) -> None:
    ask = ["compare", QRELS, DENSE, BM25, "--format", "json"]

    def measures(*how: str) -> list[str]:
        compared: list[str] = json.loads(call(*ask, *how).stdout)["measures"]
        return compared

    assert measures("--no-significant-loss", "ndcg_cut_10 AP map") == ["ndcg_cut_10", "AP"]
    assert measures("--no-significant-loss", "AP", "--at-least", "RR=0.1") == ["AP", "RR"]
    assert measures("--no-significant-loss", "AP", "-m", "RR") == ["RR", "AP"]
    assert len(measures()) == 6


def test_which_saved_run_is_meant(call: Call, tmp_path: Path) -> None:
    cf.evaluate(QRELS, [BM25, DENSE], ["AP"]).save(tmp_path / "scores.json")
    ask = ["compare", QRELS, BM25, "-m", "AP", "--baseline"]
    several = call(*ask, tmp_path / "scores.json")
    assert several.exit_code == 2
    assert "scores.json has 2 runs" in several.stderr and "scores.json#bm25" in several.stderr
    assert call(*ask, f"{tmp_path / 'scores.json'}#dense").exit_code == 0
    unknown = call(*ask, f"{tmp_path / 'scores.json'}#other")
    assert unknown.exit_code == 2 and "has no run `other`" in unknown.stderr
    missing = call("compare", QRELS, BM25, "-m", "RR", "--baseline", f"{tmp_path / 'scores.json'}#dense")
    assert missing.exit_code == 2 and "`dense` has no scores for RR" in missing.stderr
    assert call(*ask, tmp_path / "nothing.json").exit_code == 1


@pytest.mark.parametrize("verb", ["eval", "compare"])
def test_a_limit_for_a_mean(call: Call, tmp_path: Path, verb: str) -> None:
    junit = tmp_path / "junit.xml"
    means = dict(
        zip(("bm25", "dense"), cf.evaluate(QRELS, [BM25, DENSE], "nDCG@10")._means[:, 0].tolist(), strict=True)
    )
    low, high = sorted(means, key=means.__getitem__)
    between = sum(means.values()) / 2
    ask = [verb, QRELS, BM25, DENSE, "-m", "AP ndcg_cut_10", "--junit", junit, "--at-least"]
    result = call(*ask, f"nDCG@10={between}")
    assert result.exit_code == 3
    assert f"{low}: ndcg_cut_10 {means[low]:.4f} is below {between:g}" in result.stderr
    assert f"{high}: " not in "".join(line for line in result.stderr.splitlines() if not line.startswith("note"))
    assert ElementTree.parse(junit).getroot().get("failures") == "1"
    assert call(*ask, f"nDCG@10={means[low]!r}").exit_code == 0
    assert call(*ask, "nDCG@10=0.01 RBP(p=0.8)=0.01").exit_code == 0
    for wrong in ("nDCG@10", "nDCG@10=x", "=0.5", "nDCG@10=nan"):
        refused = call(*ask, wrong)
        assert refused.exit_code == 2 and "MEASURE=VALUE" in refused.stderr


@pytest.mark.parametrize("verb", ["eval", "compare"])
def test_a_limit_beyond_the_bounds_is_refused(call: Call, verb: str) -> None:
    ask = [verb, QRELS, BM25, DENSE, "--at-least"]
    percent = call(*ask, "ndcg_cut_10=60")
    assert percent.exit_code == 2
    message = "the limit 60 is outside the bounds of nDCG@10, whose values are between 0 and 1"
    assert f"error: {message}\n\nhint: no run could pass" in percent.stderr
    below = call(*ask, "DCG@10=-1")
    assert below.exit_code == 2 and "values are at least 0\n\nhint: every run would pass" in below.stderr
    assert call(*ask, "DCG@10=60").exit_code == 3
    assert call(*ask, "nDCG@10=1").exit_code == 3
    with pytest.raises(UsageError, match="the limit 70 is outside the bounds of AP"):
        assert_at_least(QRELS, BM25, {"map": 70})


def test_an_undefined_mean_is_not_decided(call: Call, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 a 0\n")
    (tmp_path / "run").write_text("q Q0 a 1 1 x\n")
    result = call("eval", tmp_path / "qrels", tmp_path / "run", "-m", "AP", "--at-least", "AP=0.1")
    assert result.exit_code == 4
    assert "run: AP is undefined; the limit is 0.1" in result.stderr
    assert "hint" not in result.stderr


def test_markdown_begins_with_the_checks(call: Call, tmp_path: Path) -> None:
    qrels, old, new = collection(tmp_path, 20), ranked(tmp_path, "old", 20, 0), ranked(tmp_path, "new", 20, 20)
    result = call("compare", qrels, old, new, "-m", MEASURE, "--no-significant-loss", MEASURE, "--format", "markdown")
    assert result.exit_code == 3
    assert result.stdout.startswith("**1 check: 1 failed**\n\n- ❌ new is worse than old: RR 0.3333 vs 1.0000 (")
    result = call("eval", qrels, old, "-m", MEASURE, "--at-least", "RR=0.5", "--format", "markdown")
    assert result.stdout.startswith("**1 check: 1 passed**\n\n- ✅ old: RR 1.0000 is not below 0.5\n\n| run")


def test_checks_that_do_not_work_together(call: Call, tmp_path: Path) -> None:
    for wrong in (["--top", "1", "--no-significant-loss", "AP"], ["--standardise", "z", "--at-least", "AP=0.1"]):
        assert call("compare", QRELS, BM25, DENSE, *wrong).exit_code == 2
    assert call("eval", QRELS, BM25, "--junit", tmp_path / "junit.xml").exit_code == 2


def test_one_measure_in_several_checks(call: Call, tmp_path: Path) -> None:
    junit = tmp_path / "junit.xml"
    checks = [
        "--no-significant-loss",
        "nDCG@10 ndcg_cut_10",
        "--at-least",
        "nDCG@10=0.1",
        "--at-least",
        "ndcg_cut.10=0.5",
    ]
    scores = tmp_path / "scores.json"
    call("eval", QRELS, DENSE, "--format", "json", "-o", scores)
    for runs in ([DENSE, BM25], [BM25, "--baseline", scores]):
        for measures in ([], ["-m", "AP"], ["-m", "nDCG@10"]):
            done = call("compare", QRELS, *runs, *measures, *checks, "--junit", junit, "--format", "markdown")
            assert done.exit_code in (0, 3, 4), done.stderr
            assert ElementTree.parse(junit).getroot().findall(".//testcase")


def test_the_highest_of_several_limits_counts(call: Call) -> None:
    for first, second in (("0.9", "0.1"), ("0.1", "0.9")):
        for other in ("nDCG@10", "ndcg_cut_10"):
            limits = ["--at-least", f"nDCG@10={first}", "--at-least", f"{other}={second}"]
            assert call("eval", QRELS, DENSE, "-m", "AP", *limits).exit_code == 3
