"""``cranfield audit``: what it prints, where it writes, what it refuses."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from cli_samples import BM25, DENSE, QRELS, RUNS, Call

import cranfield as cf
from collection_files import write_collection
from cranfield.evaluation.plan import DEFAULT_MEASURES


def test_every_run_has_a_table_and_the_order_has_words(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    result = call("audit", QRELS, BM25, DENSE)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines if "documents per query" in line] == ["bm25", "dense"]
    rows = [line.split()[0] for line in lines if line.startswith(tuple(f"{name} " for name in DEFAULT_MEASURES))]
    assert rows == [*DEFAULT_MEASURES]
    assert "What could change the order of the runs" in lines
    notes = result.stderr.splitlines()
    undefined = "note: AP, nDCG@10, R@1000, bpref are undefined for 1 query (q8)"
    assert notes == [undefined, "note: 1 query (q8) has no relevant document"]
    policy = "Ties broken by document id (trec); relevant: grade 1 or higher; undefined values skipped; means over "
    assert " ".join(result.stdout.split()).endswith(f"{policy}7 to 8 queries.")


def test_words_name_the_pair(call: Call) -> None:
    words = " ".join(call("audit", QRELS, BM25, DENSE, "-m", "AP nDCG@10", "--digits", "3").stdout.split())
    assert re.search(
        r"AP: `dense` and `bm25` [^(]*ties[^(]* \(0.580 \[0.533, 0.619\] vs 0.566 \[0.561, 0.568\]\)", words
    )


def test_two_runs_have_one_order(call: Call) -> None:
    """By RR they have the same score, so there is no order to reverse; the sentence counts no pairs."""
    bottom, _, _ = call("audit", QRELS, BM25, DENSE).stdout.partition("What could change")
    words = " ".join(bottom.split())
    assert (
        "Ties could reverse the order by AP, P@10 or bpref;" in words
        and "unjudged documents could reverse the order by" in words
    )
    assert "pair" not in words


def test_one_run_is_enough(call: Call) -> None:
    result = call("audit", QRELS, BM25, "-m", "RR")
    assert result.exit_code == 0
    assert "What the columns mean" in result.stdout
    assert "Pairs of runs" not in result.stdout


def test_the_bottom_line_says_what_to_do(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first, most = "first 20 unjudged documents", "20 documents that matter most"
    for measures, runs, which in (("AP", [BM25, DENSE], most), ("P@10", [BM25], first)):
        lines = call("audit", QRELS, *runs, "-m", measures).stdout.splitlines()
        at = lines.index(f"  To judge the {which}:")
        command = " ".join(line.strip().rstrip("\\") for line in lines[at + 1 : lines.index("", at)])
        words = shlex.split(command)
        assert words[:2] == ["cranfield", "judge"]
        assert call(*words[1:]).exit_code == 0
        assert Path("judge.html").read_text(encoding="utf-8").count('"document":"') == 20
    unlikely = call("audit", QRELS, BM25, DENSE, "-m", "nDCG@10").stdout
    assert "only unlikely judgments could change it" in " ".join(unlikely.split())
    assert "To judge" not in unlikely
    collection = write_collection(tmp_path, qrels=QRELS, complete=True)
    complete = call("audit", collection, BM25, DENSE, "-m", "AP").stdout
    assert "judged documents" not in complete.partition("What could change")[0]


def test_json_is_the_audit(call: Call) -> None:
    result = call("audit", QRELS, *RUNS, "--format", "json")
    assert json.loads(result.stdout) == json.loads(json.dumps(cf.audit(QRELS, RUNS).to_dict()))
    assert result.stderr == ""


def test_all_pairs(call: Call) -> None:
    short, whole = call("audit", QRELS, *RUNS).stdout, call("audit", QRELS, *RUNS, "-v").stdout
    assert "more (use -v)" in short
    assert "more (use -v)" not in whole
    assert len(whole) > len(short)


def test_options_reach_the_library(call: Call) -> None:
    args = ["--ties", "input", "--depth", "5", "--queries", "both", "--undefined", "zero", "--interval", "bca"]
    found = json.loads(call("audit", QRELS, DENSE, "-m", "AP", *args, "--seed", "3", "--format", "json").stdout)
    how = {"ties": "input", "depth": 5, "queries": "both", "undefined": "zero", "interval": "bca", "seed": 3}
    assert found == json.loads(json.dumps(cf.audit(QRELS, DENSE, "AP", **how).to_dict()))
    assert list(found["runs"]["dense"]["measures"]) == ["AP"]


def test_standard_input_is_read_more_than_once(call: Call) -> None:
    result = call("audit", QRELS, "-", "-m", "AP", "--format", "json", input=Path(DENSE).read_bytes())
    entry = next(iter(json.loads(result.stdout)["runs"].values()))["measures"]["AP"]
    assert entry == cf.audit(QRELS, DENSE, "AP").to_dict()["runs"]["dense"]["measures"]["AP"]


def test_output_and_figures_are_files(call: Call, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    text, folder = tmp_path / "audit.md", tmp_path / "figures"
    result = call("audit", QRELS, *RUNS, "--format", "markdown", "-o", text, "--figures", folder)
    assert (result.exit_code, result.stdout) == (0, "")
    assert text.read_text(encoding="utf-8").startswith("**Pairs of runs with different scores")
    drawing = (folder / "audit.svg").read_text(encoding="utf-8")
    assert all(name in drawing for name in ("quiet", "nDCG@10", "condensed", "terminal", "ties: worst to best"))
    assert sorted(path.name for path in folder.iterdir()) == ["audit.pdf", "audit.png", "audit.svg"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["audit.md", "figures"]


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ("qrels.txt good.run -m nDGC@10", 2, "`nDGC@10`"),
        ("qrels.txt good.run -m ''", 2, "no measure"),
        ("qrels.txt good.run other.run", 1, "other.run: "),
        ("qrels.txt none.run", 1, "none.run: "),
        ("qrels.txt good.run --interval z", 2, "'--interval'"),
    ],
)
def test_what_is_refused(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: str, code: int, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text("q1 0 d1 1\n")
    Path("good.run").write_text("q1 Q0 d1 1 2.5 good\n")
    Path("other.run").write_text("q7 Q0 d1 1 2.5 other\n")
    result = call("audit", *shlex.split(args))
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr


def test_figures_without_matplotlib_are_refused_before_the_work(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = call("audit", QRELS, BM25, "--figures", "drawn")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "pip install '.[plot]'" in result.stderr


def test_many_runs_fit_two_screens(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    runs = []
    for i in range(40):
        runs.append(tmp_path / f"run{i:02}.run")
        lines = Path(RUNS[i % 4]).read_text().splitlines(keepends=True)
        runs[-1].write_text("".join(lines[: len(lines) - i]))
    short = call("audit", QRELS, *runs)
    assert short.exit_code == 0
    lines = short.stdout.splitlines()
    assert lines[0] == "Bottom line"
    assert "best 10 runs by AP" in lines[2]
    assert len(lines) + len(short.stderr.splitlines()) <= 110
    assert "AP: the best 10 of 40 runs, and the scores they could have had" in lines
    assert "The runs whose scores could change most" in lines
    assert "A table for each of the 40 runs: -v. All numbers: --format json." in lines
    long = call("audit", QRELS, *runs, "-v").stdout
    assert all(f"run{i:02}: " in long for i in range(40))
    markdown = call("audit", QRELS, *runs, "--format", "markdown").stdout
    assert "**AP: the best 10 of 40 runs" in markdown and "**run00: " not in markdown
