"""`cranfield check` of many runs: those that stand out are listed, the others are counted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from cranfield.cli.main import cli

RUNS = 9


def check(folder: Path, runs: Mapping[str, str]) -> list[str]:
    """The lines of a check; runs by name: the documents of each query."""
    queries = ["q1", "q2"]
    (folder / "qrels.txt").write_text("".join(f"{q} 0 {d} 1\n" for q in queries for d in "abcdefgh"))
    for name, documents in runs.items():
        rows = [f"{q} Q0 {document} 1 {-rank} t\n" for q in queries for rank, document in enumerate(documents)]
        (folder / f"{name}.run").write_text("".join(rows))
    result = CliRunner().invoke(cli, ["check", "qrels.txt", *(f"{name}.run" for name in runs)])
    assert result.exit_code == 0
    return result.stdout.splitlines()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_few_runs_are_all_listed(folder: Path) -> None:
    lines = check(folder, {f"r{i}": "abcdX" for i in range(5)})
    assert lines == [f"r{i}.run: warning: 20% of the top 10 documents are unjudged" for i in range(5)]


def test_equal_warnings_of_many_runs_are_one_line(folder: Path) -> None:
    lines = check(folder, {f"r{i}": "abcdX" for i in range(RUNS)})
    assert lines == [f"{RUNS} runs: warning: 20% of the top 10 documents are unjudged"]


def test_runs_that_stand_out_are_listed(folder: Path) -> None:
    runs = {f"r{i}": "abcd" + "X" for i in range(RUNS)} | {"s": "abcXY", "t": "XYZab", "u": "abcdefghX"}
    lines = check(folder, runs)
    assert lines == [
        "s.run: warning: 40% of the top 10 documents are unjudged",
        "t.run: warning: 60% of the top 10 documents are unjudged",
        f"{RUNS + 1} more runs: warning: 11% to 20% of the top 10 documents are unjudged",
    ]
