"""Statistics of a collection, by hand and against counting in plain Python."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import cranfield as cf
from awkward import random_input
from cranfield.analysis.collection_statistics import collection_statistics
from cranfield.cli.main import cli
from cranfield.example import path

QRELS = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 0, "b": 0, "c": -1}, "q3": {"a": 1, "b": 1, "c": 0, "d": 0}}
RUN = {"q1": {"a": 3.0, "x": 2.0, "b": 2.0}, "q3": {"y": 1.0, "a": 1.0, "b": 1.0, "z": 0.5}, "q9": {"a": 1.0}}


def test_by_hand() -> None:
    found = collection_statistics(QRELS, RUN)
    judgments = found.judgments
    assert judgments.judged.tolist() == [3, 2, 4]  # a negative grade is not judged
    assert judgments.relevant.tolist() == [2, 0, 2]
    assert judgments.nonrelevant.tolist() == [1, 2, 2]
    assert {grade: counts.tolist() for grade, counts in judgments.by_grade.items()} == {1: [1, 0, 2], 2: [1, 0, 0]}
    assert judgments.more_relevant == ("q1",)
    assert judgments.without_relevant == ("q2",)
    run = found.runs[0]
    assert (run.answered, run.missing, run.other) == (2, 1, 1)
    assert run.length.tolist() == [3, 4]
    assert (run.tied, run.tied_queries, run.largest_tie) == (5, 2, 3)
    assert run.unjudged == pytest.approx(3 / 7)
    assert run.unjudged_at_top == pytest.approx(3 / 7)


def test_another_threshold() -> None:
    found = collection_statistics(cf.Collection(QRELS, rel=2), []).judgments
    assert found.relevant.tolist() == [1, 0, 0]
    assert list(found.by_grade) == [2]


@pytest.mark.parametrize("seed", range(10))
def test_against_counting(seed: int) -> None:
    run, qrels = random_input(random.Random(seed))
    found = collection_statistics(qrels, {"run": run}).runs[0]
    kept = {query: ranking for query, ranking in run.items() if query in qrels}
    groups = [count for ranking in kept.values() for count in Counter(ranking.values()).values()]
    assert found.tied == sum(count for count in groups if count > 1)
    assert found.largest_tie == max(groups, default=0)
    documents = [(query, document) for query, ranking in kept.items() for document in ranking]
    unjudged = [pair for pair in documents if qrels[pair[0]].get(pair[1], -1) < 0]
    assert found.unjudged == pytest.approx(len(unjudged) / len(documents))
    assert found.length.sum() == len(documents)


def test_to_dict_is_json() -> None:
    data = collection_statistics(QRELS, {"first": RUN}).to_dict()
    assert json.loads(json.dumps(data)) == data
    assert data["judgments"]["R"] == {"lowest": 0, "highest": 2, "mean": pytest.approx(4 / 3), "total": 4}
    assert data["judgments"]["grades"]["2"]["total"] == 1


def test_no_run_and_an_empty_run() -> None:
    assert collection_statistics(QRELS, []).runs == ()
    found = collection_statistics(QRELS, {"r": {"q1": {}}}).runs[0]
    assert (found.answered, found.tied, found.length.tolist()) == (1, 0, [0])
    assert np.isnan(found.unjudged)


def test_command_line(tmp_path: Path) -> None:
    arguments = ["check", str(path("qrels.txt")), str(path("bm25.run")), str(path("llm.run")), "--stats"]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    for text in ("documents judged", "R, grade 2", "largest", "R = 0"):
        assert text in result.stdout
    result = CliRunner().invoke(cli, [*arguments, "--format", "json"])
    assert json.loads(result.stdout)["judgments"]["queries"] == 8
    bad = tmp_path / "bad.run"
    bad.write_text("q1 Q0 d\n")
    result = CliRunner().invoke(cli, ["check", str(path("qrels.txt")), str(bad), "--stats"])
    assert result.exit_code == 1
