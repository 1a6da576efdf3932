"""``--queries-file``: the texts of queries beside their ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cranfield.cli.main import cli
from cranfield.io.named_tables import read_query_texts

FILES = {
    "qrels.txt": "q1 0 d1 1\nq2 0 d2 1\n",
    "a.run": "q1 Q0 d1 1 2 a\nq2 Q0 d1 1 2 a\n",
    "b.run": "q1 Q0 d2 1 2 b\nq2 Q0 d2 1 2 b\n",
    "queries.jsonl": '{"_id": "q1", "text": "oil lamp"}\n{"_id": "q2", "text": "sea gull"}\n',
    "other.jsonl": '{"query_id": "q1", "query": "oil lamp"}\n{"query_id": "q2", "query": "sea gull"}\n',
    "queries.tsv": "q1\toil lamp\nq2\tsea gull\n",
    "topics.txt": "<top>\n<num> Number: q1\n<title> oil lamp\n\n<desc> ...\n</top>\n<top>\n<num> q2 </num>\n<title> sea gull\n</top>\n",
    "none.tsv": "q7\toil lamp\n",
}


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", ["queries.jsonl", "other.jsonl", "queries.tsv", "topics.txt", "."])
def test_texts(name: str) -> None:
    assert read_query_texts(name, ["q1", "q2", "q9"]) == {"q1": "oil lamp", "q2": "sea gull"}


def call(*words: str) -> str:
    result = CliRunner().invoke(cli, list(words))
    return result.stdout if result.exit_code == 0 else result.stderr


def test_queries() -> None:
    words = ["queries", "qrels.txt", "a.run", "b.run", "--queries-file", "queries.tsv"]
    assert "q1     oil lamp" in call(*words)
    assert json.loads(call(*words, "--format", "json"))["texts"] == {"q1": "oil lamp", "q2": "sea gull"}
    assert "Query q1 (oil lamp): first 10 documents" in call(*words, "--query", "q1")


@pytest.mark.parametrize("format", ["table", "markdown", "latex"])
def test_eval(format: str) -> None:
    words = ["eval", "qrels.txt", "a.run", "-m", "RR", "-q", "--queries-file", "queries.tsv", "--format", format]
    header, *lines = [line for line in call(*words).splitlines() if "q1" in line or "q2" in line or "query" in line]
    assert header.index("query") < header.index("text")
    assert ["oil lamp" in lines[0], "sea gull" in lines[1]] == [True, True]


def test_report() -> None:
    pytest.importorskip("vl_convert")
    call("report", "qrels.txt", "a.run", "b.run", "-m", "RR", "--queries-file", "queries.jsonl")
    assert '"queryTexts":{"q1":"oil lamp"' in Path("report.html").read_text().replace(": ", ":")


def test_no_query_has_a_text() -> None:
    said = call(*["queries", "qrels.txt", "a.run", "b.run", "--queries-file", "none.tsv"])
    assert "queries: none of them has a score (first query: `q7`)" in said
    assert "the scores are of queries such as `q1`" in said


def test_explain() -> None:
    Path("subtopics.txt").write_text("q1 1 d1 1\nq1 2 d2 1\n")
    Path("texts.jsonl").write_text('{"id": "d1", "text": "lamp oil"}\n{"id": "d2", "text": "sea gull"}\n')
    words = ["explain", "subtopics.txt", "a.run", "-m", "DELTARB@20", "--corpus", "texts.jsonl", "--query", "q1"]
    assert "for query q1 (oil lamp):" in call(*words, "--queries-file", "queries.tsv")
    assert json.loads(call(*words, "--queries-file", "queries.tsv", "--format", "json"))["text"] == "oil lamp"
