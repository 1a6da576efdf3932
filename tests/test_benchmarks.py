"""The benchmarks' inputs are the same everywhere, and a wrong answer is never timed. Nothing here asserts a time."""

from __future__ import annotations

import importlib
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmarks are scripts beside each other, not a package."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


def columns(text: bytes) -> list[list[bytes]]:
    assert text.endswith(b"\n")
    return [line.split(b" ") for line in text[:-1].split(b"\n")]


@pytest.mark.parametrize("tied", [False, True])
def test_sparse_input(load: Any, tied: bool) -> None:
    generate = load("generate")
    (run, qrels), *rest = generate.sparse(7, 40, depth=25, tied=tied)
    assert not rest
    assert [(run, qrels)] == list(generate.sparse(7, 40, depth=25, tied=tied))
    assert run != next(generate.sparse(8, 40, depth=25, tied=tied))[0]
    lines = columns(run)
    assert len(lines) == 40 * 25
    assert all(len(line) == 6 for line in lines)
    assert len({(query, document) for query, _, document, *_ in lines}) == len(lines)
    assert [int(line[3]) for line in lines] == [*range(1, 26)] * 40
    scores = [float(line[4]) for line in lines]
    for first in range(0, len(scores), 25):
        ranking = scores[first : first + 25]
        assert ranking == sorted(ranking, reverse=True)
        assert not tied or len(set(ranking)) < 13
    assert all(len(line[4].partition(b".")[2]) == 6 for line in lines)
    judged = columns(qrels)
    assert {query for query, *_ in judged} == {line[0] for line in lines}
    assert len({(query, document) for query, _, document, _ in judged}) == len(judged)
    assert {grade for *_, grade in judged} == {b"1"}


def test_ids_and_queries_do_not_depend_on_ties(load: Any) -> None:
    generate = load("generate")
    plain, tied = (columns(next(generate.sparse(7, 5, depth=9, tied=t))[0]) for t in (False, True))
    assert [line[:4] for line in plain] == [line[:4] for line in tied]


def test_pooled_input(load: Any) -> None:
    generate = load("generate")
    pools = generate.Pools.drawn(1, 3, documents=5000)
    assert pools.text() == generate.Pools.drawn(1, 3, documents=5000).text()
    run = pools.run(5, depth=60)
    assert run == pools.run(5, depth=60)
    assert run != pools.run(6, depth=60)
    lines, judged = columns(run), columns(pools.text())
    assert len(lines) == 3 * 60
    assert len({(query, document) for query, _, document, *_ in lines}) == len(lines)
    assert len({(query, document) for query, _, document, _ in judged}) == len(judged)
    assert {grade for *_, grade in judged} == {b"0", b"1", b"2"}
    assert {query for query, *_ in judged} == {query for query, *_ in lines} == {b"301", b"302", b"303"}


def test_numbers_are_written_as_python_writes_them(load: Any) -> None:
    import numpy as np

    generate = load("generate")
    values = np.array([0, 7, 10, 999_999, 1_000_000, 20_000_001, 123_456_789])
    expected = "".join(f"{v} {v / 1e6:.6f}\n" for v in values.tolist())
    assert generate.text(generate.whole(values), generate.decimal(values)).decode() == expected


def test_inputs_are_made_once_and_whole(load: Any, tmp_path: Path) -> None:
    generate = load("generate")
    folder = generate.workload("one", data=tmp_path)
    assert sorted(p.name for p in folder.iterdir()) == ["qrels", "run"]
    (folder / "run").write_bytes(b"")
    assert generate.workload("one", data=tmp_path) == folder
    assert (folder / "run").read_bytes() == b""
    assert not list(tmp_path.rglob("*.partial"))


OURS = {"AP": 0.25, "RR": 0.5}


@pytest.mark.parametrize(
    "theirs, told",
    [
        ([{"AP": 0.25 + 5e-7, "RR": 0.5}], 0),
        ([{"AP": 0.25}], 0),
        ([{"AP": 0.25, "RR": 0.5 + 2e-6}], 1),
        ([{"AP": math.nan, "RR": 0.5}], 1),
        ([{"AP": 0.25, "P@5": 0.1}], 1),
        ([], 1),
    ],
)
def test_a_wrong_value_is_reported(load: Any, theirs: list[dict[str, float]], told: int) -> None:
    unexplained, known = load("agreement").differences("peer", [OURS], theirs)
    assert len(unexplained) == told
    assert not known
    assert all(line.startswith("peer") for line in unexplained)


def test_a_disagreement_stops_the_contest(load: Any) -> None:
    contest = load("contest")
    with pytest.raises(contest.Disagreement, match="S: peer, run 0: AP is"):
        contest.agreed("S", "peer", [OURS], [{"AP": 0.3}], contest.Settings())


def test_a_missing_value_is_said_where_it_is_known(load: Any) -> None:
    contest = load("contest")
    said: list[str] = []
    settings = contest.Settings(tell=said.append)
    contest.agreed("M", "ranx", [{"bpref": 0.5}], [{"bpref": math.nan}], settings)
    assert len(said) == 1
    assert said[0].startswith("M: ranx, run 0: bpref is nan, ours 0.50000000: ranx divides")
    for peer, measure, value in (("ranx", "bpref", 0.4), ("ranx", "AP", math.nan), ("pytrec_eval", "bpref", math.nan)):
        with pytest.raises(contest.Disagreement):
            contest.agreed("M", peer, [{measure: 0.5}], [{measure: value}], settings)


def test_ratios_are_of_rounds(load: Any) -> None:
    # One noisy round, in which both took ten times as long, changes nothing.
    assert load("rounds").ratio([2, 20, 2], [1, 10, 1]) == 2


def test_the_quick_benchmark_completes(tmp_path: Path) -> None:
    pytest.importorskip("pytrec_eval")
    result = tmp_path / "result.json"
    command = [sys.executable, str(BENCHMARKS / "run.py"), "--quick", "--only", "S", "--json", str(result)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = json.loads(result.read_text())["rows"]
    assert {row["contestant"] for row in rows} >= {"cranfield", "pytrec_eval"}
    assert "S: file, whole process" in done.stdout


def test_loops_over_pairs_agree_with_ours(load: Any) -> None:
    found = load("power").costs(1, 5, 20, 200)
    assert set(found["apart"]) == {"draw by draw", "pair by pair"}
    assert max(found["apart"].values()) < 1e-12


def test_texts_are_the_same_everywhere(load: Any) -> None:
    texts = load("texts")
    made = b"".join(texts.documents(5, 20_000, words=500))
    assert made == b"".join(texts.documents(5, 20_000, words=500))
    assert made != b"".join(texts.documents(6, 20_000, words=500))
    records = [json.loads(line) for line in made.splitlines()]
    assert [record["_id"] for record in records] == [str(i) for i in range(len(records))]
    assert 20_000 <= len(made) < 22_000
    assert all(record["text"].endswith(".") for record in records)
    assert any(not record["text"].isascii() for record in records)


def test_both_ways_count_the_same_words(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    command = [sys.executable, str(BENCHMARKS / "run.py"), "--quick", "--only", "corpus", "--json", str(result)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = json.loads(result.read_text())["rows"]
    assert [row["contestant"] for row in rows] == ["cranfield", "cranfield, one thread", "json, re and Counter"]


def test_measures_that_read_beside_their_formulas(load: Any) -> None:
    contest = load("contest")
    ours, dense = contest.content(contest.Settings(repeat=1, quick=True))
    assert ours.seconds is not None
    assert dense.compared.endswith("x ours, from one ranking")
