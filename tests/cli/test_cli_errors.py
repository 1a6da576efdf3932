"""What goes wrong is said in one form, on standard error, with the right exit code and never a traceback."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

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


CASES = tomllib.loads(Path(__file__).with_name("errors.toml").read_text())["case"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case["args"]))
def test_the_usual_faults(call: Call, files: Path, case: dict[str, Any]) -> None:
    result = call(*case["args"])
    assert result.stderr == f"error: {case['message']}\n"
    assert result.stdout == ""
    assert result.exit_code == case["code"]


def test_undefined_values_can_be_refused(call: Call) -> None:
    result = call("eval", QRELS, QUIET, "-m", "AP", "--undefined", "error")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: AP of quiet is undefined for 1 of 8 quer")


def test_check_reports_everything_at_once(call: Call, files: Path) -> None:
    result = call("check", "conflict.txt", "five.run", "nan.run", "good.run")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "conflict.txt:2: document `d1` already has another grade for query `q1`, first in line 1",
        "conflict.txt: hint: keep one grade for each query, iteration and document",
        'five.run:1: expected 6 columns (query Q0 document rank score tag), found 5: "q1 Q0 d1 1 2.5"',
        'five.run:2: expected 6 columns (query Q0 document rank score tag), found 5: "q1 Q0 d2 2 2.0"',
        "five.run: hint: the run tag is missing; add a name for the run at the end of each line",
        "nan.run:1: the score is NaN",
        "nan.run: hint: NaN cannot be ordered; remove the document, or give it a score",
    ]
    assert result.stderr == "4 files: 4 faults, 0 warnings\n"


def test_check_warns_without_failing(call: Call, files: Path) -> None:
    (files / "more.txt").write_text("q1 0 d1 1\nq2 0 d1 0\nq3 0 d9 -1\nq1 0 d1 1\n")
    (files / "tied.run").write_text("q1 Q0 d1 1 1 t\nq1 Q0 d2 2 1 t\nq5 Q0 d1 1 1 t\n")
    result = call("check", "more.txt", "tied.run")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "more.txt: warning: 2 of 3 queries without a document of grade 1 or more: q2, q3",
        "more.txt: warning: 1 judgment with a negative grade, taken as unjudged",
        "more.txt: warning: 1 judgment given more than once",
        "tied.run: warning: 2 of 3 judged queries not answered: q2, q3",
        "tied.run: warning: 1 query not judged: q5",
        "tied.run: warning: 1 of 1 judged documents with a score that others share, in 1 query",
        "tied.run: warning: 50% of the first 10 documents not judged",
    ]
    assert result.stderr == "2 files: 0 faults, 7 warnings\n"


def test_check_reads_standard_input_once(call: Call) -> None:
    result = call("check", QRELS, "-", input=Path(BM25).read_bytes())
    assert result.exit_code == 0
    assert "-: warning: 30% of the first 10 documents not judged" in result.stdout
