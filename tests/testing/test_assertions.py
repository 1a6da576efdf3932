"""Assertions on rankings, and the pytest plugin: what passes, what fails, and what a failure shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield.errors import UsageError
from cranfield.testing import (
    QualityError,
    QualityWarning,
    UndecidedError,
    assert_at_least,
    assert_gates,
    assert_not_worse,
    save_baseline,
)
from cranfield.testing.pytest_plugin import RankingChecks

RunDict = dict[str, dict[str, float]]


def collection(queries: int, worse: int) -> tuple[Any, RunDict, RunDict]:
    """Judgments, a baseline, and a run that ranks the relevant document third for the first queries."""
    qrels = {f"q{q}": {"good": 1} for q in range(queries)}
    old = {q: {"good": 9.0, "a": 3.0, "b": 2.0} for q in qrels}
    new = {q: {"good": 1.0 if i < worse else 9.0, "a": 3.0, "b": 2.0} for i, q in enumerate(qrels)}
    return qrels, old, new


@pytest.mark.parametrize("saved", ["run", "scores", "file"])
@pytest.mark.parametrize(
    ("queries", "worse", "options", "error"),
    [
        (4, 4, {}, UndecidedError),
        (5, 5, {}, QualityError),
        (5, 5, {"significance": False}, QualityError),
        (5, 5, {"test": "t"}, UndecidedError),  # all lose the same
        (5, 0, {"significance": False}, None),
        (50, 3, {}, QualityWarning),
        (50, 3, {"significance": False}, QualityError),
        (50, 3, {"significance": False, "by": 0.05}, None),
        (50, 8, {}, QualityError),
        (50, 0, {}, None),
    ],
)
def test_not_worse(
    queries: int, worse: int, options: dict[str, Any], error: type[Exception] | None, saved: str, tmp_path: Path
) -> None:
    qrels, old, new = collection(queries, worse)
    baseline: Any = old
    if saved != "run":
        baseline = save_baseline(tmp_path / "scores.json", qrels, old, ["AP", "RR"])
        baseline = baseline if saved == "scores" else tmp_path / "scores.json"
    if error is None:
        assert assert_not_worse(qrels, new, baseline, "RR", **options).baseline == "baseline"
    elif error is QualityWarning:
        with pytest.warns(error, match="no significant loss, but 3 queries lost and none won: q0, q1, q2"):
            assert_not_worse(qrels, new, baseline, "RR", **options)
    else:
        with pytest.raises(error) as raised:
            assert_not_worse(qrels, new, baseline, "RR", **options)
        assert type(raised.value) is error


def test_a_margin_asks_for_evidence() -> None:
    qrels = {f"q{i}": {"a": 1} for i in range(40)}
    good = {q: ["a", "b"] for q in qrels}
    some = {q: ["b", "a"] if i < 4 else ["a", "b"] for i, q in enumerate(qrels)}
    comparison = assert_not_worse(qrels, good, some, "RR", margin=0.1)
    assert comparison["RR"].pairs[0].difference == pytest.approx(0.05)
    with pytest.raises(UndecidedError, match="4 of 40 queries differ"):
        assert_not_worse(qrels, good, some, "RR", margin=0.05)
    with pytest.raises(UndecidedError, match="cannot decide whether new is worse than baseline"):
        assert_not_worse(qrels, some, good, "RR", margin=0.05)
    with pytest.raises(QualityError, match="new is worse than baseline by more than"):
        assert_not_worse(qrels, {q: ["b", "a"] for q in qrels} | {"q0": ["a"]}, good, "RR", margin=0.1)
    assert_not_worse(qrels, some, good, "RR", margin=0.25)
    with pytest.raises(UsageError, match="margin must be positive"):
        assert_not_worse(qrels, some, good, "RR", margin=0)


def test_a_failure_shows_queries_and_documents() -> None:
    qrels, old, new = collection(20, 10)
    with pytest.raises(QualityError) as raised:
        assert_not_worse(qrels, new, old, ["AP", "RR"], worst=3)
    lines = str(raised.value).splitlines()
    assert lines[0].startswith("new is worse than baseline: AP 0.6667 vs 1.0000")
    assert lines[1].startswith("new is worse than baseline: RR")
    assert "AP by query, 3 of 20 queries; difference: new minus baseline" in lines
    assert any(line.split() == ["q0", "1.0000", "0.3333", "-0.6667"] for line in lines)
    assert any(line.split()[-3:] == ["1", "good", "-2"] for line in lines)
    assert [check.outcome for check in raised.value.checks] == ["failed", "failed"]


def test_a_failure_against_scores_shows_the_new_ranking(tmp_path: Path) -> None:
    qrels, old, new = collection(20, 10)
    with pytest.raises(QualityError) as raised:
        assert_not_worse(qrels, new, cf.evaluate(qrels, old, "AP"), "AP", page=2)
    lines = [line.split() for line in str(raised.value).splitlines()]
    assert ["a", "?", "1"] in lines and ["good", "1", "–"] in lines


def test_at_least() -> None:
    qrels, _, new = collection(20, 10)
    assert_at_least(qrels, new, {"RR": 0.6, "recip_rank": 0.6, "nDCG@10": 0.5})
    with pytest.raises(QualityError, match=r"new: nDCG@10 0\.7500 is below 0\.8") as raised:
        assert_at_least(qrels, new, {"RR": 0.6, "nDCG@10": 0.8})
    assert "nDCG@10 by query, 5 of 20 queries" in str(raised.value)
    with pytest.raises(UndecidedError, match="undefined"):
        assert_at_least({"q": {"a": 0}}, {"q": {"a": 1.0}}, {"AP": 0.1})


def test_a_baseline_of_several_runs_is_refused() -> None:
    qrels, old, new = collection(20, 10)
    with pytest.raises(UsageError, match="the baseline has 2 runs"):
        assert_not_worse(qrels, new, cf.evaluate(qrels, {"x": old, "y": new}, "AP"), "AP")


SUITE = """
QRELS = {f"q{q}": {"good": 1} for q in range(20)}


def search(worse):
    return {f"q{q}": {"good": 1.0 if q < worse else 9.0, "a": 3.0, "b": 2.0} for q in range(20)}


def test_search(rankings):
    with open("worse") as file:
        run = search(int(file.read()))
    rankings.not_worse(QRELS, run, ["RR", "AP"], by=0.01)
    rankings.at_least(QRELS, run, {"RR": 0.1})
"""


def run_suite(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """pytest with our plugin alone, by its module: the entry point is there only where the package is installed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "cranfield.testing.pytest_plugin", "-p", "no:cacheprovider"]
    environment = os.environ | {"COLUMNS": "100", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run([*command, *options], cwd=folder, capture_output=True, text=True, env=environment)


def test_the_plugin_writes_baselines_and_shows_tables(tmp_path: Path) -> None:
    (tmp_path / "test_search.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def suite(worse: int, *options: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "worse").write_text(str(worse))
        return run_suite(tmp_path, *options)

    missing = suite(0)
    assert missing.returncode == 1 and "write it with `pytest --update-baselines`" in missing.stdout
    written = suite(0, "--update-baselines")
    assert written.returncode == 0, written.stdout
    (path,) = (tmp_path / "baselines").iterdir()
    assert str(path) in written.stdout
    assert path.name.startswith("test_search.test_search.RR+AP-")
    assert cf.Scores.load(path).measures == ("RR", "AP")
    found = json.loads(path.read_text())["provenance"]
    assert {"time", "cranfield", "measures", "policy", "judgments"} <= found.keys()
    assert found["inputs"][0]["digest"].startswith("sha256:")
    assert suite(0).returncode == 0
    failed = suite(10)
    assert failed.returncode == 1
    assert "new is worse than baseline: RR" in failed.stdout
    assert "RR by query, 5 of 20 queries" in failed.stdout
    assert "rankings.not_worse(" not in failed.stdout
    assert "FAILED test_search.py::test_search - new is worse than baseline: RR " in failed.stdout


CLASHES = """
import pytest

def search(good):
    return {str(q): ["a", "b"] if good else ["b", "a"] for q in range(20)}

QRELS = {str(q): {"a"} for q in range(20)}

def check(rankings, good, **options):
    rankings.not_worse(QRELS, search(good), "RR", **options)

def test_one(rankings):
    check(rankings, GOOD)

class TestA:
    def test_one(self, rankings):
        check(rankings, not GOOD)

class TestB:
    def test_one(self, rankings):
        check(rankings, GOOD)

@pytest.mark.parametrize("name", ["a b", "a-b", "a/b", "A-B"])
def test_ids(rankings, name):
    check(rankings, GOOD if name == "a b" else not GOOD)
"""


def test_no_two_tests_share_a_baseline(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for name, good in {"test_first": True, "test_second": False}.items():
        (tmp_path / f"{name}.py").write_text(CLASHES.replace("not GOOD", str(not good)).replace("GOOD", str(good)))
    written = run_suite(tmp_path, "--update-baselines")
    assert written.returncode == 0, written.stdout
    found = {path.name: cf.Scores.load(path)._means.item() for path in (tmp_path / "baselines").iterdir()}
    assert len(found) == 14
    of_test = {name.rpartition("-")[0]: mean for name, mean in found.items()}
    assert (of_test["test_first.test_one.RR"], of_test["test_second.test_one.RR"]) == (1.0, 0.5)
    assert sorted(found.values()) == [0.5] * 7 + [1.0] * 7
    assert run_suite(tmp_path).returncode == 0
    (tmp_path / "test_second.py").write_text((tmp_path / "test_first.py").read_text().replace("True", "False"))
    changed = run_suite(tmp_path)
    assert changed.returncode == 1
    assert "4 failed, 10 passed" in changed.stdout


def test_two_checks_of_a_test_have_two_baselines(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    body = CLASHES.partition("def test_one")[0]
    (tmp_path / "test_two.py").write_text(
        body
        + """
def test_unnamed(rankings):
    check(rankings, True)
    check(rankings, False)

def test_measures(rankings):
    rankings.not_worse(QRELS, search(True), "RR")
    rankings.not_worse(QRELS, search(False), "AP")
    rankings.not_worse(QRELS, search(False), ["RR", "AP"])

def test_named(rankings):
    check(rankings, True)
    check(rankings, False, baseline="a b")
    check(rankings, True, baseline="a-b")
    check(rankings, True, baseline="a-b")

def test_one_name(rankings):
    check(rankings, False, baseline="a-b")
"""
    )
    written = run_suite(tmp_path, "--update-baselines").stdout
    assert "FAILED test_two.py::test_unnamed - Failed: test_two.test_unnamed has two checks" in written
    assert "FAILED test_two.py::test_one_name" in written
    assert "FAILED test_two.py::test_measures" not in written
    assert len(list((tmp_path / "baselines").glob("test_two.test_measures.*.json"))) == 3
    assert "FAILED test_two.py::test_named" not in written
    assert "FAILED test_two.py::test_named" not in run_suite(tmp_path).stdout


SPANS = """
import cranfield as cf

DOCUMENTS = {f"d{i}": f"the lamp {i} was lit by oil, and later by gas" for i in range(8)}
CHUNKS = {f"q{i}": [{"document": f"d{i}", "start": 0, "end": 20}] for i in range(8)}


def spans(end):
    return [{"query": f"q{i}", "document": f"d{i}", "start": 0, "end": end(i)} for i in range(8)]


def test_search(rankings):
    with open("changed") as file:
        changed = int(file.read())
    texts = {f"q{i}": {"text": f"question {i}"} for i in range(8)}
    collection = cf.Collection(
        spans=spans(lambda i: 30 if changed == 1 and i < 3 else 10), documents=DOCUMENTS, queries=texts
    )
    chunks = {q: [] if changed == 2 else list for q, list in CHUNKS.items()}
    rankings.not_worse(collection, chunks, "SpanR@5", significance=False)
"""


def test_changed_spans_in_memory_are_noticed_without_our_source(tmp_path: Path) -> None:
    (tmp_path / "test_search.py").write_text(SPANS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def suite(changed: int, *options: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "changed").write_text(str(changed))
        return run_suite(tmp_path, *options)

    assert suite(0, "--update-baselines").returncode == 0
    assert suite(0).returncode == 0
    other = suite(1)
    assert other.returncode == 1
    assert "judgments" in other.stdout and "3 queries" in other.stdout
    assert "pytest --update-baselines" in other.stdout
    assert "--allow-changed-judgments" not in other.stdout
    assert "raise " not in other.stdout and "provenance.py" not in other.stdout
    worse = suite(2)
    assert worse.returncode == 1
    assert "question 0" in worse.stdout


OF_TYPES = cf.Collection(
    {f"q{i}": {"a": 1} for i in range(8)},
    queries={f"q{i}": {"text": f"what is {i}?", "type": "how" if i % 2 else "who"} for i in range(8)},
)
FIRST = {f"q{i}": ["a", "b"] for i in range(8)}
LOST_Q3 = {**FIRST, "q3": ["b"]}


def test_gates_have_the_keys_of_experiments() -> None:
    who = {"where": {"type": "who"}}
    passing: list[dict[str, Any]] = [
        {"at_least": 0.8},
        {"may_drop": 0.13},
        {"may_drop": 0.0, **who},
        {"queries": ["q1", "q2"]},
    ]
    for gate in passing:
        assert assert_gates(OF_TYPES, LOST_Q3, {"RR": gate}, FIRST).outcome == "passed"
    how = {"where": {"type": "how"}}
    for gate in ({"at_least": 0.9}, {"may_drop": 0.12}, {"may_drop": 0.0, **how}, {"queries": "q3"}):
        with pytest.raises(QualityError, match=r"q3 .*what is 3\?") as caught:
            assert_gates(OF_TYPES, LOST_Q3, {"RR": gate}, FIRST)
        assert "q2 " not in str(caught.value) or "where" not in gate
    with pytest.raises(UndecidedError, match="cannot decide"):
        assert_gates(OF_TYPES, LOST_Q3, {"RR": {"not_worse_by": 0.01}}, FIRST)


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ({}, "checks nothing"),
        ({"at_most": 0.5}, "wrong side"),
        ({"at_least": 2}, "outside the bounds"),
        ({"may_drop": -1}, "may_drop must be"),
        ({"may_drop": 0.1, "margin": 0.1}, "margin needs"),
        ({"at_leats": 0.5}, "at_least"),
        ({"at_least": 0.5, "queries": ["q9"]}, "not one of the queries"),
        ({"at_least": 0.5, "where": {"type": "why"}}, "no query has"),
        ({"at_least": 0.5, "runs": ["old"]}, "no such run"),
    ],
)
def test_a_gate_that_checks_nothing_or_the_wrong_side(gate: dict[str, Any], message: str) -> None:
    with pytest.raises(cf.CranfieldError) as caught:
        assert_gates(OF_TYPES, LOST_Q3, {"RR": gate}, FIRST)
    assert message in str(caught.value)


def test_gates_of_one_run_need_no_baseline() -> None:
    assert assert_gates(OF_TYPES, FIRST, {"RR": {"at_least": 0.9}}).outcome == "passed"
    with pytest.raises(cf.CranfieldError, match="nothing to compare it with"):
        assert_gates(OF_TYPES, FIRST, {"RR": {"may_drop": 0.1}})


def test_the_fixture_saves_what_its_gates_need(tmp_path: Path) -> None:
    limit, loss = {"RR": {"at_least": 0.9}}, {"RR": {"may_drop": 0.1}}
    writing = RankingChecks(tmp_path, "test", update=True)
    assert writing.gates(OF_TYPES, FIRST, limit) is not None
    assert writing.gates(OF_TYPES, FIRST, loss) is None
    checks = RankingChecks(tmp_path, "test", update=False)
    assert checks.gates(OF_TYPES, FIRST, loss) is not None
    with pytest.raises(QualityError, match="q3"):
        checks.gates(OF_TYPES, LOST_Q3, loss, baseline="test.RR")
