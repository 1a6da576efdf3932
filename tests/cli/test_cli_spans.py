"""``--judgments spans``: judged passages and runs of chunks on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_samples import Call
from click.testing import CliRunner

import cranfield as cf
from collection_files import write_collection
from cranfield.cli.main import cli

SPANS = "query,document,start,end\n1,a,10,50\n1,b,0,30\n2,a,100,150\n"
SMALL = "query,document,start,end,score\n1,a,0,60,3\n1,b,0,40,2\n2,a,80,140,1\n2,c,0,60,0.5\n"
LARGE = "query,document,start,end,score\n1,a,0,200,3\n1,c,0,200,2\n2,b,0,200,1\n2,a,50,200,0.5\n"


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / name for name in ("spans.csv", "small.csv", "large.csv")]
    for path, text in zip(paths, (SPANS, SMALL, LARGE), strict=True):
        path.write_text(text)
    return paths


def test_eval_is_that_of_python_and_has_measures_of_passages_by_default(call: Call, files: list[Path]) -> None:
    spans, *runs = files
    collection = write_collection(spans.parent, spans=spans, cover=1)
    found = json.loads(call("eval", collection, *runs, "--format", "json").stdout)
    measures = ["SpanR@10", "SpanP@10", "SpanIoU@10", "StRecall@10", "RR"]
    scores = cf.evaluate(cf.Collection(spans=spans, cover=1), list(runs), measures)
    assert found["runs"] == scores.to_dict()["runs"]


@pytest.mark.parametrize("verb", ["compare", "audit", "queries"])
def test_other_commands_take_them(call: Call, files: list[Path], verb: str) -> None:
    result = call(verb, *files, "--judgments", "spans", "-m", "SpanR@2", "--format", "json")
    assert result.exit_code == 0 and "SpanR@2" in result.stdout


def test_documents_of_a_query_have_the_grades_of_both_runs(call: Call, files: list[Path]) -> None:
    result = call("queries", *files, "--judgments", "spans", "-m", "RR", "--query", "2", "--format", "json")
    grades = {one["document"]: one["grade"] for one in json.loads(result.stdout)["documents"]}
    assert grades == {"b:0-200": None, "a:50-200": 1.0, "a:80-140": 1.0, "c:0-60": None}


def test_a_gate_and_a_report(call: Call, files: list[Path], tmp_path: Path) -> None:
    assert call("eval", *files[:2], "--judgments", "spans", "--at-least", "SpanR@2=0.99").exit_code == 3
    report = tmp_path / "report.html"
    texts = tmp_path / "texts.jsonl"
    texts.write_text(json.dumps({"_id": "a", "text": "lamp " * 40}) + "\n")
    result = call("report", *files, "--judgments", "spans", "-m", "SpanR@2", "--texts", texts, "-o", report)
    assert result.exit_code == 0
    assert '"marked":true' in report.read_text()
    texts.write_text("".join(json.dumps({"_id": name, "text": "lamp " * 40}) + "\n" for name in "abc"))
    call("report", *files, "--judgments", "spans", "-m", "SpanR@2", "--corpus", texts, "-o", report)
    assert '"a:0-60":["lamp lamp ","lamp lamp lamp' in report.read_text()


def test_wrong_input_is_one_sentence_with_its_line(call: Call, files: list[Path]) -> None:
    files[1].write_text(SMALL.replace("2,a,80,140,1", "2,a,80,14,1"))
    result = call("eval", *files[:2], "--judgments", "spans")
    assert result.exit_code == 1
    assert f"error: {files[1]}:4: the end 14 is before the start 80" in result.stderr
    wrong = call("eval", write_collection(files[0].parent, spans=files[0], cover=2), files[1])
    assert wrong.exit_code == 1 and "cover: expected a number greater than 0 and at most 1, found `2`" in wrong.stderr
    result = call("eval", files[0], files[2])
    assert "for passages and chunks, use --judgments spans" in result.stderr


def test_check_reads_passages_and_chunks(tmp_path: Path) -> None:
    judged, found = tmp_path / "judged.jsonl", tmp_path / "found.csv"
    judged.write_text("".join(f'{{"query_id": "{q}", "doc_id": "a", "start": 0, "end": 9}}\n' for q in ("q1", "q2")))
    found.write_text("query_id,doc_id,start,end,score\nq1,a,0,5,1\nq9,a,0,5,1\n")
    words = ["check", str(judged), str(found), "--judgments", "spans"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    assert "1 of 2 judged queries are not in the run: q2" in done.output
    assert "1 query without judgments: q9" in done.output
    judged.write_text('{"query_id": "q1", "doc_id": "a", "start": 9, "end": 9}\n')
    found.write_text("query_id,doc_id,start,end,score\nq1,a,x,5,1\nq1,a,7,5,1\n")
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 1
    assert "judged.jsonl: row 1: the passage is empty" in done.output
    assert "found.csv:2: the start must be a whole number, found x" in done.output
    assert CliRunner().invoke(cli, [*words, "--stats"]).exit_code == 2


def test_explain_takes_passages(call: Call, files: list[Path]) -> None:
    result = call("explain", *files[:2], "--judgments", "spans", "-m", "SpanR@1", "--query", "1", "--format", "json")
    found = json.loads(result.stdout)
    assert found["score"] == 40 / 70 and found["ranks"][0]["judged"] == {"a:10-50": 1}


def test_an_audit_of_chunks_suggests_no_page_for_judging(call: Call, files: list[Path]) -> None:
    result = call("audit", *files, "--judgments", "spans", "-m", "RR nDCG@2 SpanR@1")
    assert "Bottom line" in result.stdout and "cranfield judge" not in result.stdout
    assert "by SpanR@1 (unknown" not in result.stdout


def test_an_experiment_with_passages_is_checked(call: Call, files: list[Path], tmp_path: Path) -> None:
    experiment = tmp_path / "cranfield.toml"
    text = 'measures = ["SpanR@2"]\n[collections.c]\nspans = "spans.csv"\n[runs]\nsmall = "small.csv"\n'
    experiment.write_text(text)
    result = call("check", experiment)
    assert result.exit_code == 0, result.stdout
    files[1].write_text(SMALL + "1,a,0,60,3\n")
    assert "small.csv:6: document `a:0-60` appears twice" in call("check", experiment).stdout


def test_check_finds_offsets_beyond_a_text(call: Call, files: list[Path], tmp_path: Path) -> None:
    texts = tmp_path / "texts.jsonl"
    texts.write_text(json.dumps({"_id": "a", "text": "." * 150}) + "\n")
    assert call("check", *files[:2], "--judgments", "spans", "--corpus", texts).exit_code == 0
    result = call("check", files[0], files[2], "--judgments", "spans", "--corpus", texts)
    assert result.exit_code == 1
    assert f"{files[2]}:2: the end 200 is beyond the text of document `a`, which has 150 characters" in result.stdout


def test_check_counts_an_empty_list_of_chunks_as_an_answer(call: Call, tmp_path: Path) -> None:
    judged, run = tmp_path / "judged.json", tmp_path / "run.json"
    judged.write_text('{"q": [["d", 0, 10]], "r": [["e", 0, 5]]}')
    run.write_text('{"q": [["d", 0, 10, 1.0]], "r": []}')
    assert call("check", judged, run, "--judgments", "spans").stdout == ""
