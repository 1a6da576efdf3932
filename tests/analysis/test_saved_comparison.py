"""Saved comparisons: what is read is what was written, and other files are refused in one sentence."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import cranfield as cf
from cranfield import example
from cranfield.analysis.significance import MeasureComparison
from cranfield.cli.main import cli
from cranfield.errors import InputError, UsageError

QRELS = str(example.path(example.QRELS))
RUNS = [str(example.path(name)) for name in example.RUNS]
SCORES = cf.evaluate(QRELS, RUNS, ["AP", "nDCG@10"])


def same(a: Any, b: Any) -> bool:
    """Whether two comparisons, or parts of them, are equal to the last bit; NaN equals NaN."""
    if isinstance(a, (cf.Comparison, MeasureComparison)):
        return all(
            same(getattr(a, field.name), getattr(b, field.name)) for field in fields(a) if field.name != "provenance"
        )
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, tuple) and a and isinstance(a[0], MeasureComparison):
        return len(a) == len(b) and all(map(same, a, b))
    return same(a(), b()) if callable(a) else repr(a) == repr(b)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"baseline": "bm25", "test": "t", "correction": "bh"},
        {"tests": ["wilcoxon", "bootstrap"], "family": "all", "samples": 200, "seed": 3},
        {"test": "tukey"},
    ],
    ids=["pairs", "baseline", "tests", "tukey"],
)
def test_comparisons_survive_a_file(options: dict[str, Any], tmp_path: Path) -> None:
    comparison = cf.compare(SCORES, **options)
    comparison.save(tmp_path / "comparison.json")
    read = cf.Comparison.load(tmp_path / "comparison.json")
    assert same(read, comparison)
    assert read.to_dict() == comparison.to_dict()


def test_causes_of_reversals_survive(tmp_path: Path) -> None:
    comparison = cf.compare(QRELS, RUNS, ["AP"])
    assert any(comparison["AP"].doubts)
    comparison.save(tmp_path / "comparison.json")
    assert cf.Comparison.load(tmp_path / "comparison.json")["AP"].doubts == comparison["AP"].doubts


def test_an_infinite_effect_survives(tmp_path: Path) -> None:
    qrels = {q: {"a": 1} for q in "123456"}
    runs = {"good": {q: ["a", "b"] for q in "123456"}, "bad": {q: ["b", "a"] for q in "123456"}}
    for baseline, effect in ((None, -np.inf), ("bad", np.inf)):
        comparison = cf.compare(qrels, runs, "RR", baseline=baseline)
        assert comparison["RR"].pairs[0].effect == effect
        comparison.save(tmp_path / "comparison.json")
        assert same(cf.Comparison.load(tmp_path / "comparison.json"), comparison)


def test_an_infinite_interval_survives(tmp_path: Path) -> None:
    qrels = {q: {"a": 1} for q in "123"}
    runs = {"good": {q: ["a", "b"] for q in "123"}, "mixed": {"1": ["a"], "2": ["b", "a"], "3": ["c", "b", "a"]}}
    comparison = cf.compare(qrels, runs, "RR")
    assert (comparison["RR"].pairs[0].low, comparison["RR"].pairs[0].high) == (-np.inf, np.inf)
    comparison.save(tmp_path / "comparison.json")
    assert same(cf.Comparison.load(tmp_path / "comparison.json"), comparison)


def test_predicted_judgments_survive(tmp_path: Path) -> None:
    queries = [f"q{i}" for i in range(1, 41)]
    runs = {"x": {q: ["a", "b"] for q in queries}, "y": {q: ["b", "a"] if int(q[1:]) % 3 else ["a"] for q in queries}}
    human = {q: {"a": 1, "b": 0} for q in queries[:20]}
    predicted = {q: {"a": 1, "b": int(int(q[1:]) % 5 == 0)} for q in queries}
    comparison = cf.compare(cf.Collection(human, predicted=predicted), runs, "nDCG@10")
    assert comparison.predicted
    comparison.save(tmp_path / "comparison.json")
    assert same(cf.Comparison.load(tmp_path / "comparison.json"), comparison)


def test_names_of_any_bytes_survive(tmp_path: Path) -> None:
    runs = {"r\udcff": {"q\udcff": ["a"], "2": ["b", "a"]}, "é": {"q\udcff": ["b", "a"], "2": ["a"]}}
    comparison = cf.compare({"q\udcff": {"a": 1}, "2": {"a": 1}}, runs, "RR")
    comparison.save(tmp_path / "comparison.json")
    assert same(cf.Comparison.load(tmp_path / "comparison.json"), comparison)


def test_the_command_writes_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "comparison.json"
    done = CliRunner().invoke(cli, ["compare", QRELS, *RUNS[:2], "-m", "AP", "--format", "json", "-o", str(path)])
    assert done.exit_code == 0
    assert same(cf.Comparison.load(path), cf.compare(QRELS, RUNS[:2], "AP"))


OTHERS = {
    "": "the file is empty",
    "q1 0 d1 1": "not a saved comparison",
    "[]": "not a saved comparison",
    '{"kind": "scores", "version": 1}': "not a saved comparison",
    '{"kind": "comparison"}': "version None of the file format",
    '{"kind": "comparison", "version": 99}': "version 99 of the file format; this version of cranfield reads up to 1",
    '{"kind": "comparison", "version": "1"}': "version '1' of the file format",
    '{"kind": "comparison", "version": 1}': "not a complete saved comparison",
    "[" * 100_000: "not a saved comparison",
}


@pytest.mark.parametrize("text", OTHERS, ids=lambda text: text[:40])
def test_other_files_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(text)
    with pytest.raises(InputError) as raised:
        cf.Comparison.load(tmp_path / "file")
    assert OTHERS[text] in raised.value.message
    assert raised.value.message.startswith(str(tmp_path / "file"))
    assert "\n" not in raised.value.message


def test_a_file_of_scores_is_no_comparison_and_the_reverse(tmp_path: Path) -> None:
    SCORES.save(tmp_path / "scores.json")
    cf.compare(SCORES).save(tmp_path / "comparison.json")
    with pytest.raises(InputError, match="not a saved comparison"):
        cf.Comparison.load(tmp_path / "scores.json")
    with pytest.raises(InputError, match="not a file of scores"):
        cf.Scores.load(tmp_path / "comparison.json")


@pytest.mark.parametrize("part", [0.1, 0.5, 0.99])
def test_a_truncated_file_is_refused(part: float, tmp_path: Path) -> None:
    cf.compare(SCORES).save(tmp_path / "whole")
    data = (tmp_path / "whole").read_bytes()
    (tmp_path / "file").write_bytes(data[: int(part * len(data))])
    with pytest.raises(InputError, match="not a saved comparison"):
        cf.Comparison.load(tmp_path / "file")


def damaged() -> list[Any]:
    """Files in which one thing is missing or has another type."""
    data = cf.compare(SCORES).to_dict()
    found = []
    for key in data:
        if key in ("kind", "version", "provenance"):
            continue
        missing = {k: v for k, v in data.items() if k != key}
        found.append(pytest.param(missing, id=f"no {key}"))
        if key not in ("baseline", "cluster", "collection", "repeats"):
            found.append(pytest.param(data | {key: None}, id=f"null {key}"))
            found.append(pytest.param(data | {key: {"x": [1]}}, id=f"other {key}"))
    for key, value in {
        "run": "nobody",
        "mean": "high",
        "wins": 1e400,
        "p": {},
        "tests": {},
        "doubts": ["weather"],
        "low": True,
    }.items():
        pairs = [dict(pair) for pair in data["pairs"]]
        pairs[0][key] = value
        found.append(pytest.param(data | {"pairs": pairs}, id=f"pair {key}"))
    found.append(pytest.param(data | {"pairs": data["pairs"][1:]}, id="one pair less"))
    return found


@pytest.mark.parametrize("data", damaged())
def test_a_damaged_file_is_refused(data: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "file").write_text(json.dumps(data))
    with pytest.raises(InputError) as raised:
        cf.Comparison.load(tmp_path / "file")
    assert "not a complete saved comparison" in raised.value.message
    assert len(raised.value.message) < 400


def test_infinite_means_are_not_saved(tmp_path: Path) -> None:
    comparison = cf.compare(SCORES)
    with pytest.raises(UsageError, match="cannot be saved"):
        one, *others = comparison.by_measure
        infinite = replace(comparison, by_measure=(replace(one, means=one.means + np.inf), *others))
        infinite.save(tmp_path / "file")
    assert not list(tmp_path.iterdir())
