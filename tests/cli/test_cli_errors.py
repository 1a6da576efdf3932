"""Errors of input files; the sentences are in ``tests/messages``."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_samples import BM25, QRELS, QUIET, Call


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Faulty files in the working directory, so that messages name them plainly."""
    monkeypatch.chdir(tmp_path)
    contents = {
        "qrels.txt": "q1 0 d1 1\n",
        "good.run": "q1 Q0 d1 1 2.5 good\n",
        "five.run": "q1 Q0 d1 1 2.5\nq1 Q0 d2 2 2.0\n",
        "score.run": "q1 Q0 d1 1 high tag\n",
        "nan.run": "q1 Q0 d1 1 nan tag\n",
        "twice.run": "q1 Q0 d1 1 2 tag\nq1 Q0 d1 2 1 tag\n",
        "other.run": "q7 Q0 d1 1 2.5 other\n",
        "empty.run": "",
        "grade.txt": "q1 0 d1 yes\n",
        "conflict.txt": "q1 0 d1 1\nq1 0 d1 2\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    return tmp_path


def test_undefined_values_can_be_refused(call: Call) -> None:
    result = call("eval", QRELS, QUIET, "-m", "AP", "--undefined", "error")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: AP of quiet is undefined for 1 of 8 quer")


def test_check_reports_everything_at_once(call: Call, files: Path) -> None:
    result = call("check", "conflict.txt", "five.run", "nan.run", "good.run")
    assert result.exit_code == 1
    expected = ["conflict.txt:2: ", "conflict.txt: hint: ", "five.run:1: ", "five.run:2: ", "five.run: hint: "]
    expected += ["nan.run:1: ", "nan.run: hint: "]
    for line, begin in zip(result.stdout.splitlines(), expected, strict=True):
        assert line.startswith(begin)
    assert result.stderr == "4 files: 4 errors, 0 warnings\n"


def test_check_warns_without_failing(call: Call, files: Path) -> None:
    (files / "more.txt").write_text("q1 0 d1 1\nq2 0 d1 0\nq3 0 d9 -1\nq1 0 d1 1\n")
    (files / "tied.run").write_text("q1 Q0 d1 1 1 t\nq1 Q0 d2 2 1 t\nq5 Q0 d1 1 1 t\n")
    result = call("check", "more.txt", "tied.run")
    assert result.exit_code == 0
    expected = [
        ("more.txt", "2 of 3 queries without relevant documents", "q2, q3"),
        ("more.txt", "1 judgment", "negative"),
        ("more.txt", "1 judgment", "more than once"),
        ("tied.run", "2 of 3 judged queries", "q2, q3"),
        ("tied.run", "1 query", "q5"),
        ("tied.run", "1 of 1 judged documents", "tied"),
        ("tied.run", "50%", "unjudged"),
    ]
    for line, (file, number, word) in zip(result.stdout.splitlines(), expected, strict=True):
        assert line.startswith(f"{file}: warning: {number}")
        assert word in line
    assert result.stderr == "2 files: 0 errors, 7 warnings\n"


def test_check_reads_standard_input_once(call: Call) -> None:
    result = call("check", QRELS, "-", input=Path(BM25).read_bytes())
    assert result.exit_code == 0
    assert "-: warning: 30% of the top 10 documents" in result.stdout
