"""``cranfield queries``: where runs differ."""

from __future__ import annotations

import json
from pathlib import Path

from cli_samples import BM25, DENSE, QRELS, RUNS, Call

import cranfield as cf


def test_two_runs_are_ordered_by_their_difference(call: Call) -> None:
    result = call("queries", QRELS, BM25, DENSE, "-m", "AP", "--format", "json")
    found = json.loads(result.stdout)["queries"]
    gaps = [one["difference"] for one in found.values()]
    assert gaps == sorted(gaps, key=abs, reverse=True)
    assert gaps == [one["runs"]["dense"] - one["runs"]["bm25"] for one in found.values()]
    lost = json.loads(result.stdout)["lost"]
    assert (
        list(lost) == sorted((q for q in found if found[q]["difference"] < 0), key=lambda q: found[q]["difference"])[:3]
    )
    expected = cf.evaluate(QRELS, [BM25, DENSE], "AP").to_dict()["runs"]
    assert {q: one["runs"]["bm25"] for q, one in found.items()} == {
        q: value for q, value in expected["bm25"]["AP"]["queries"].items() if value is not None
    }
    table = call("queries", QRELS, BM25, DENSE, "-m", "AP", "--top", "3")
    assert "AP by query, 3 of 7 queries" in table.stdout
    assert "█" in table.stdout
    assert table.stderr.startswith("note: 1 query left out")


def test_documents_of_one_query(call: Call) -> None:
    result = call("queries", QRELS, BM25, DENSE, "--query", "q1", "--top-documents", "3")
    assert result.stdout.startswith("Query q1: first 3 documents")
    rows = [line.split() for line in result.stdout.splitlines()[-3:]]
    assert rows[0][:5] == ["1", "3", "m40", "(lost)", "0"] and rows[1][-4:] == ["3", "m34", "3", "m34"]
    found = json.loads(
        call("queries", QRELS, BM25, DENSE, "--query", "q1", "--top-documents", "3", "--format", "json").stdout
    )
    assert [one["second"] for one in found["documents"]][:3] == [1, 2, 3]


def test_figures(call: Call, tmp_path: Path) -> None:
    assert call("queries", QRELS, *RUNS, "--figures", tmp_path).exit_code == 0
    assert call("queries", QRELS, BM25, DENSE, "-m", "AP", "--figures", tmp_path).exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"queries-{measure}.{kind}" for measure in ("AP", "nDCG_10") for kind in ("pdf", "png", "svg")
    ]


def test_a_query_takes_two_runs(call: Call) -> None:
    result = call("queries", QRELS, BM25, "--query", "q1")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "two runs, not 1" in result.stderr
