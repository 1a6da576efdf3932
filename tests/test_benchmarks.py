"""The benchmarks' inputs are the same everywhere, and values that differ are never timed. Nothing here asserts a time."""

from __future__ import annotations

import doctest
import importlib
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmarks are scripts beside each other, not a package."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


@pytest.mark.parametrize("name", sorted(path.stem for path in BENCHMARKS.glob("*.py")))
def test_every_script_can_be_loaded(load: Any, name: str) -> None:
    """Nothing else notices that a script names something that the package no longer has."""
    try:
        load(name)
    except ModuleNotFoundError as error:
        if str(error.name).startswith("cranfield"):
            raise
        pytest.skip(f"needs {error.name}")


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


def test_rankings_as_dicts_and_as_text(load: Any) -> None:
    import numpy as np

    generate = load("generate")

    def drawn(seed: int) -> Any:
        return generate.Rankings.drawn(np.random.default_rng(seed), 600, 12)

    rankings = drawn(1)
    nested = rankings.nested()
    assert nested == drawn(1).nested() != drawn(2).nested()
    lines = columns(b"".join(rankings.text()))
    assert [len(documents) for documents in nested.values()] == [12] * 600
    assert [(q, d, s) for q, documents in nested.items() for d, s in documents.items()] == [
        (line[0].decode(), line[2].decode(), float(line[4])) for line in lines
    ]
    assert [int(line[3]) for line in lines] == [*range(1, 13)] * 600
    for documents in nested.values():
        scores = np.array(list(documents.values()), np.float32)
        assert (np.diff(scores) < 0).all()
    shuffled = rankings.shuffled(np.random.default_rng(3)).nested()
    assert shuffled == nested
    assert [list(documents) for documents in shuffled.values()] != [list(documents) for documents in nested.values()]


def test_judged_documents_of_rankings(load: Any) -> None:
    import numpy as np

    rng = np.random.default_rng(1)
    rankings = load("generate").Rankings.drawn(rng, 200, 12)
    retrieved = rankings.nested()
    for count in (1, 5, 12):
        qrels = rankings.judgments(rng, count)
        assert list(qrels) == list(retrieved)
        for query, grades in qrels.items():
            assert len(grades) == count
            assert set(grades) <= set(retrieved[query])
            assert max(grades.values()) > 0
        assert {grade for grades in qrels.values() for grade in grades.values()} == {0, 1, 2, 3} - (
            {0} if count == 1 else set()
        )


def test_runs_of_a_track(load: Any, tmp_path: Path) -> None:
    import cranfield

    generate = load("generate")
    generate.write_track(tmp_path, 12, 4)
    judged = columns((tmp_path / "qrels").read_bytes())
    pairs = {(query, document) for query, _, document, _ in judged}
    assert len(judged) == len(pairs) == 4 * 460
    shares = [sum(line[3] == b"%d" % grade for line in judged) / len(judged) for grade in range(4)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.5
    retrieved = judged_count = 0
    for i, path in enumerate(generate.run_files(tmp_path)):
        lines = columns(path.read_bytes())
        rankings: dict[bytes, list[list[bytes]]] = {}
        for line in lines:
            rankings.setdefault(line[0], []).append(line)
        assert {len(ranking) for ranking in rankings.values()} == {100 if i == 8 else 1000}
        for ranking in rankings.values():
            scores = [float(line[4]) for line in ranking]
            assert scores == sorted(scores, reverse=True)
            assert (len(set(scores)) < len(scores) // 2) == (i in (5, 11))
        retrieved += len(lines)
        judged_count += sum((line[0], line[2]) in pairs for line in lines)
    assert 1 - judged_count / retrieved == pytest.approx(0.76, abs=0.02)
    means = cranfield.evaluate(
        qrels=str(tmp_path / "qrels"), run=[str(p) for p in generate.run_files(tmp_path)], measures="nDCG@10"
    )._means[:, 0]
    # A leaderboard: the best run is far from the worst, and no run is perfect.
    assert means.max() - means.min() > 0.3
    assert 0.1 < means.min() < means.max() < 0.95


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


OURS = {"run 0": {"AP": 0.25, "RR": 0.5}}


@pytest.mark.parametrize(
    "theirs, count",
    [
        ([{"AP": 0.25 + 5e-7, "RR": 0.5}], 0),
        ([{"AP": 0.25}], 0),
        ([{"AP": 0.25, "RR": 0.5 + 2e-6}], 1),
        ([{"AP": math.nan, "RR": 0.5}], 1),
        ([{"AP": 0.25, "P@5": 0.1}], 1),
        ([], 1),
        ([{"AP": 0.25}, {"AP": 0.25}], 1),
    ],
)
def test_a_wrong_value_is_reported(load: Any, theirs: list[dict[str, float]], count: int) -> None:
    agreement = load("agreement")
    unexplained, explained = agreement.differences("peer", OURS, agreement.by_run(theirs))
    assert len(unexplained) == count
    assert not explained
    assert all(line.startswith("peer, run") for line in unexplained)


def test_a_disagreement_stops_the_contest(load: Any) -> None:
    contest = load("contest")
    with pytest.raises(load("agreement").Disagreement, match="S: peer, run 0: AP is"):
        contest.require_agreement("S", "peer", OURS, {"run 0": {"AP": 0.3}}, contest.Settings())


def test_a_missing_value_with_a_known_reason_is_logged(load: Any) -> None:
    contest = load("contest")
    logged: list[str] = []
    settings = contest.Settings(log=logged.append)
    contest.require_agreement("M", "ranx", {"run 0": {"bpref": 0.5}}, {"run 0": {"bpref": math.nan}}, settings)
    assert len(logged) == 1
    assert logged[0].startswith("M: ranx, run 0: bpref is nan, ours 0.50000000: ranx divides")
    for peer, measure, value in (("ranx", "bpref", 0.4), ("ranx", "AP", math.nan), ("pytrec_eval", "bpref", math.nan)):
        with pytest.raises(load("agreement").Disagreement):
            contest.require_agreement("M", peer, {"run 0": {measure: 0.5}}, {"run 0": {measure: value}}, settings)


@pytest.mark.parametrize("name", ["agreement", "rounds"])
def test_examples(load: Any, name: str) -> None:
    result = doctest.testmod(load(name))
    assert result.attempted
    assert not result.failed


def test_ratios_are_of_rounds(load: Any) -> None:
    # One noisy round, in which both took ten times as long, changes nothing.
    assert load("rounds").ratio([2, 20, 2], [1, 10, 1]) == 2
    # A slow contestant takes part in fewer rounds.
    assert load("rounds").ratio([30], [1, 100, 100]) == 30


def test_contestants_take_turns(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = load("rounds")
    now, called = 0.0, []

    def lasting(name: str, seconds: float) -> Any:
        def call() -> None:
            nonlocal now
            now += seconds
            called.append(name)

        return call

    monkeypatch.setattr(rounds.time, "perf_counter", lambda: now)
    functions = {"fast": lasting("fast", 0.25), "usual": lasting("usual", 1), "slow": lasting("slow", 30)}
    seconds = rounds.alternate(functions, 3, short=1, long=50)
    assert seconds == {"fast": [0.25] * 3, "usual": [1] * 3, "slow": [30] * 2}
    # One call, then two, then four are tried until a round of the fast one is long enough.
    assert called == ["fast"] * 7 + ["usual", "slow", "slow", "usual"] + ["fast"] * 8 + ["usual"]


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """The results and the output of the benchmark with small inputs."""
    pytest.importorskip("pytrec_eval")
    result = tmp_path_factory.mktemp("quick") / "result.json"
    parts = ("S", "grid", "judged", "trec_eval", "track", "corpus")
    command = [sys.executable, str(BENCHMARKS / "run.py"), "--quick", *parts, "--json", str(result)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(result.read_text()), done.stdout


def test_the_quick_benchmark_completes(quick: tuple[dict[str, Any], str]) -> None:
    results, printed = quick
    assert {row["contestant"] for row in results["rows"]} >= {"cranfield", "pytrec_eval"}
    assert "S: file, whole process" in printed


def test_an_unknown_part_is_refused() -> None:
    command = [sys.executable, str(BENCHMARKS / "run.py"), "gird"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "unknown part: gird (choose from grid, " in done.stderr


def test_a_part_that_fails_does_not_lose_the_others(
    load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run, contest = load("run"), load("contest")

    def fails(settings: Any) -> Any:
        raise RuntimeError("[no] such measure")

    works = [contest.Row("work", "cranfield", 1.0, "2x", "1x", True)]
    monkeypatch.setattr(run.contest, "CONTESTS", {"S": fails, "M": lambda settings: works})
    monkeypatch.setattr(run, "RESULTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["run.py", "S", "M"])
    assert run.main() == 1
    printed = capsys.readouterr()
    assert "not measured: S" in printed.out
    assert "every target is met" in printed.out
    assert "[no] such measure" in printed.err
    [written] = tmp_path.glob("*.json")
    assert [row["work"] for row in json.loads(written.read_text())["rows"]] == ["work"]


def test_the_measures_whose_ties_are_timed(load: Any) -> None:
    names = load("ties").names()
    run = {"q": {"a": 2.0, "b": 1.0, "c": 1.0}}
    scores = cf.evaluate({"q": {"a": 1, "b": 0, "c": 1}}, run, names, ties="expected")
    assert len(scores.measures) == len(names) > 80


def test_the_grid_and_the_commands_complete(quick: tuple[dict[str, Any], str]) -> None:
    results, printed = quick
    cells = results["cells"]
    assert {cell["source"] for cell in cells} == {"dicts", "file"}
    assert {(cell["queries"], cell["documents"]) for cell in cells} == {(1, 10), (1, 100), (8, 10), (8, 100)}
    assert {cell["measures"] for cell in cells} == {3, 6}
    assert all(min(cell["ours"], cell["means"], cell["pytrec_eval"], cell["ratio"]) > 0 for cell in cells)
    assert "Left out: cells with more judged documents than documents" in printed
    contestants = {row["contestant"] for row in results["rows"] if not row["work"].startswith(("S:", "corpus:"))}
    assert contestants == {
        "cranfield, judgments ready",
        "cranfield, judgments read too",
        "cranfield eval",
        "cranfield trec_eval",
        "cranfield compare -m AP",
        "cranfield audit",
        "cranfield audit -m 'AP nDCG@10 RR RBP'",
        "cranfield report",
    }


def test_which_cells_are_left_out(load: Any) -> None:
    grid = load("grid")
    counts = {(q, d): grid.judged_counts(q, d) for q in grid.QUERIES for d in grid.DOCUMENTS}
    assert counts[1, 10] == [1, 10]
    assert counts[512, 100] == [1, 10, 100]
    assert counts[512, 1000] == [1, 10, 100, 300]
    assert counts[7000, 100] == [1, 10, 100]
    assert counts[7000, 1000] == [1, 300]


@pytest.mark.parametrize(
    "ours, means, message",
    [
        ({"1": {"AP": 0.5}, "2": {"AP": 1.0}}, {"AP": 0.75}, None),
        ({"1": {"AP": 0.5 + 2e-9}, "2": {"AP": 1.0}}, {"AP": 0.75}, "cell: pytrec_eval, 1: AP is 0.5"),
        ({"1": {"AP": 0.5}, "2": {"AP": 1.0}}, {"AP": 0.7}, "cell: pytrec_eval, mean: AP is 0.75"),
        ({"1": {"AP": 0.5}}, {"AP": 0.75}, "cell: pytrec_eval, 2: AP is 1.0"),
        ({"1": {"AP": 0.5}, "2": {"AP": 1.0}, "3": {"AP": 1.0}}, {"AP": 0.75}, "cell: pytrec_eval, 3: no values"),
    ],
)
def test_a_cell_is_timed_where_all_values_agree(load: Any, ours: Any, means: Any, message: str | None) -> None:
    grid = load("grid")
    theirs = {"1": {"map": 0.5}, "2": {"map": 1.0}}
    functions = {"ours": lambda: ours, "means": lambda: means, "pytrec_eval": lambda: theirs}
    if message is None:
        grid.check("cell", functions, ["AP"])
        return
    with pytest.raises(load("agreement").Disagreement, match=message):
        grid.check("cell", functions, ["AP"])


def test_cells_below_one_are_listed_by_name(load: Any) -> None:
    grid = load("grid")
    ratios = {1: 0.25, 8: 0.999, 64: 1.0, 512: 30.0}
    cells = [grid.Cell("file", queries, 10, 1, 6, 1.0, 1.0, ratio) for queries, ratio in ratios.items()]
    assert grid.summary(cells)[1:] == [
        "4 cells: lowest ratio 0.25x (file 1 x 10, 1 judged, 6 measures), median 1x",
        "2 cells are below 1x:",
        "  0.25x  file 1 x 10, 1 judged, 6 measures",
        "  0.999x  file 8 x 10, 1 judged, 6 measures",
    ]
    assert grid.summary(cells[2:])[2:] == ["0 cells are below 1x"]


def test_targets_of_small_calls(load: Any) -> None:
    grid = load("grid")

    def met(queries: int, documents: int, *, ours: float = 1.0, ratio: float = 1.0) -> tuple[str, bool | None]:
        cell = grid.with_target(grid.Cell("dicts", queries, documents, 3, 3, ours, ours, ours * ratio))
        return cell.target, cell.met

    assert met(1, 10, ours=5.9e-6) == ("6 us", True)
    assert met(1, 10, ours=6.1e-6) == ("6 us", False)
    assert met(64, 100, ratio=8.1) == ("8x", True)
    assert met(64, 100, ratio=7.9) == ("8x", False)
    assert met(50, 1000) == ("", None)


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


def test_both_ways_count_the_same_words(quick: tuple[dict[str, Any], str]) -> None:
    results, _ = quick
    assert [row["contestant"] for row in results["rows"] if row["work"].startswith("corpus:")] == [
        "cranfield",
        "cranfield, one thread",
        "json, re and Counter",
    ]


def test_measures_that_read_beside_their_formulas(load: Any) -> None:
    contest = load("contest")
    ours, dense = contest.content(contest.Settings(repeat=1, quick=True))
    assert ours.seconds is not None
    assert dense.compared.endswith("x ours, from one ranking")


def test_simulated_rates_do_not_depend_on_the_number_of_processes(
    load: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    validity = load("validity")
    monkeypatch.setattr(validity, "CHUNK", 2)
    files = [tmp_path / f"{jobs}.json" for jobs in (1, 2)]
    for jobs, file in enumerate(files, 1):
        table = ["--table", "judges", "--table", "predictions", "--replications", "4"]
        monkeypatch.setattr(sys, "argv", ["validity.py", *table, "--jobs", str(jobs), "--output", str(file)])
        validity.main()
    assert "8 queries, 2 judges: t, other queries" in capsys.readouterr().out
    assert files[0].read_text() == files[1].read_text()


def test_every_simulated_cell_can_be_drawn(load: Any) -> None:
    validity = load("validity")
    for name in validity.TABLES:
        tasks = validity.tasks_of(name, "", seed=0, replications=1)
        counts = validity.simulate(tasks[0])
        assert counts
        assert set(counts.values()) <= {0, 1}


def test_the_page_of_simulations_is_that_of_its_rates(load: Any) -> None:
    validity = load("validity")
    rates = json.loads(validity.RATES.read_text())
    assert {name: [*table["cells"]] for name, table in rates.items()} == {
        name: [cell for cell, _ in cells(np.random.default_rng(0))] for name, cells in validity.TABLES.items()
    }
    assert validity.PAGE.read_text() == validity.page(rates)
