"""``check`` and ``eval`` for runs of Change Detection: what the track refuses, and nested means."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_samples import Call

from collection_files import write_collection

TABLE = "query,topic,question,day\n" + "".join(f"t1/{q}/{d},t1,{q},{d}\n" for q in ("q1", "q2") for d in ("d1", "d2"))
QRELS = "t1/q1/d1 0 a 10\nt1/q1/d2 0 b 5\n"


def answer(question: str, rank: int, *documents: str) -> dict[str, Any]:
    ranking = [{"doc_id": name, "score": -i} for i, name in enumerate(documents)]
    return {"qid": question, "question-rank": rank, "doc-ranking": ranking}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    paths = tmp_path / "qrels.txt", tmp_path / "run.jsonl", tmp_path / "queries.csv"
    paths[0].write_text(QRELS)
    paths[2].write_text(TABLE)
    return paths


def write(path: Path, **days: Any) -> None:
    path.write_text(f'{{"runtag": "x"}}\n{json.dumps({"topic": "t1", "results": days})}\n')


def test_check_finds_unknown_questions_and_documents_of_another_day(files: tuple[Path, ...], call: Call) -> None:
    qrels, run, table = files
    write(run, d1=[answer("q1", 0, "a", "b"), answer("q9", 1)], d2=[])
    result = call("check", qrels, run, "--queries-file", table)
    assert result.exit_code == 1
    assert f"{run}:2: topic `t1`, day `d1`: unknown question `q9`\n" in result.stdout
    assert f"{run}:2: topic `t1`, day `d1`, question `q1`: document `b` is of day `d2`\n" in result.stdout
    assert "3 files: 2 errors" in result.stderr


def test_without_a_table_an_unknown_question_is_a_warning(files: tuple[Path, ...], call: Call) -> None:
    qrels, run, _ = files
    write(run, d1=[answer("q1", 0, "a"), answer("q9", 1)], d2=[])
    result = call("check", qrels, run)
    assert result.exit_code == 0
    assert "warning: " in result.stdout
    assert "unknown question `q9`" in result.stdout


def test_check_finds_long_lists_negative_ranks_and_absent_days(files: tuple[Path, ...], call: Call) -> None:
    qrels, run, table = files
    write(run, d1=[answer("q1", -1, *(f"x{i}" for i in range(101)))], d2=[])
    result = call("check", qrels, run)
    assert result.exit_code == 1
    assert "101 documents; at most 100 are allowed" in result.stdout
    assert "the question-rank must be a whole number of at least 0; found -1" in result.stdout
    write(run, d1=[answer("q1", 0, "a")])
    assert "topic `t1` has no day `d2`" in call("check", qrels, run, "--queries-file", table).stdout
    collection = write_collection(qrels.parent, qrels=qrels, queries=table, absent_days="empty")
    assert call("check", collection, run).exit_code == 0


def test_eval_counts_nil_queries_and_averages_by_topic_and_question(files: tuple[Path, ...], call: Call) -> None:
    """By hand: q1 has 1 on day 1 and 0 on day 2 (r_t = 0 at rank 1); q2 is silent on both days, which is right."""
    qrels, run, table = files
    write(run, d1=[answer("q1", 0, "a")], d2=[])
    collection = write_collection(qrels.parent, qrels=qrels, queries=table, complete=True)
    terms = ("--average", "topic,question", "-m", "RR[terminal]")
    result = call("eval", collection, run, *terms, "--format", "json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)["runs"]["run"]["RR[terminal]"]
    assert found == {"mean": 0.75, "n": 1, "queries": {"t1": 0.75}}


def test_check_finds_unknown_questions_in_the_ranking_of_questions(files: tuple[Path, ...], call: Call) -> None:
    qrels, run, table = files
    qrels.write_text("t1/d1 0 q1 10\n")
    write(run, d1=[answer("q1", 0), answer("q9", 1)], d2=[])
    table.write_text("query,topic,day,questions\nt1/d1,t1,d1,q1 q2\nt1/d2,t1,d2,q1 q2\n")
    result = call("check", qrels, f"{run}#questions", "--queries-file", table)
    assert result.exit_code == 1 and "day `d1`: unknown question `q9`\n" in result.stdout
    table.write_text("query,topic,day\nt1/d1,t1,d1\nt1/d2,t1,d2\n")
    assert call("check", qrels, f"{run}#questions", "--queries-file", table).exit_code == 0


def test_explain_takes_a_table_without_texts(files: tuple[Path, ...], call: Call) -> None:
    qrels, run, table = files
    write(run, d1=[answer("q1", 0, "x", "a")], d2=[])
    collection = write_collection(qrels.parent, qrels=qrels, queries=table, complete=True)
    assert "0.5000" in call("explain", collection, run, "-m", "RR[terminal]", "--query", "t1/q1/d1").stdout
