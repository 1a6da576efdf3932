"""Saved scores: what is read is what was written, and other files are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield import codec, example
from cranfield.errors import InputError, UsageError
from cranfield.evaluation.notes import sentences

QRELS = str(example.path(example.QRELS))
RUNS = [str(example.path(name)) for name in example.RUNS]


def same(a: cf.Scores, b: cf.Scores) -> bool:
    return (
        (a.runs, a.queries, a.measures, a.undefined) == (b.runs, b.queries, b.measures, b.undefined)
        and [c.measure for c in a.columns] == [c.measure for c in b.columns]
        and np.array_equal(a.counted, b.counted)
        and np.array_equal(np.where(a.counted[:, None], a.values, 0), np.where(b.counted[:, None], b.values, 0), True)
        and np.array_equal(a._means, b._means, True)
        and np.array_equal(a._sizes, b._sizes)
        and sentences(a.notes) == sentences(b.notes)
    )


@pytest.mark.parametrize(
    "options",
    [{}, {"queries": "both"}, {"queries": "run", "undefined": "zero"}, {"ties": "expected", "show": "bounds"}],
)
def test_scores_survive_a_file(options: dict[str, Any], tmp_path: Path) -> None:
    scores = cf.evaluate(QRELS, RUNS, ["AP", "nDCG(gain='exp')@5", "GMAP", "NumRet", "c_at_1"], **options)
    scores.save(tmp_path / "scores.json")
    assert same(cf.Scores.load(tmp_path / "scores.json"), scores)


GRADES = {f"q{i}": {"a": 1, "b": i % 3, "c": 0} for i in range(6)}
PREDICTED = {query: {"a": 1, "b": 1, "c": 0, "d": 1} for query in (*GRADES, "q7", "q8")}
ORDERS = {"x": {query: ["a", "b", "d"] for query in GRADES}, "y": {query: ["b", "c"] for query in list(GRADES)[1:]}}
KINDS: dict[str, Any] = {
    "predicted judgments": lambda: cf.evaluate(cf.Collection(GRADES, predicted=PREDICTED), ORDERS, ["RR", "GMAP"]),
    "repeats": lambda: cf.evaluate(GRADES, {"x": cf.Repeats([*ORDERS.values()])}, ["RR", "AP"]),
    "judges": lambda: cf.evaluate(cf.Collection(judges={"a": GRADES, "b": PREDICTED}), ORDERS, ["RR", "AP"]),
    "collections": lambda: cf.evaluate(
        {"a": cf.Collection(GRADES), "b": cf.Collection(PREDICTED)},
        {run: {"a": order, "b": order} for run, order in ORDERS.items()},
        "RR",
    ),
    "attributes": lambda: cf.evaluate(cf.Collection(GRADES, queries={"q1": {"type": "x"}}), ORDERS, "RR"),
    "passages": lambda: cf.evaluate(cf.Collection(spans={"q": [("d", 0, 5)]}), {"x": {"q": [("d", 0, 3)]}}, "SpanR@5"),
    "items": lambda: cf.evaluate(cf.Collection(items={d: {"p": 1} for d in "abcd"}), ORDERS, "DocMean(of='p')@2"),
    "other programs": lambda: cf.read_scores({"x": {"m m": {"q": 1, "r": None}}}, lower="m m"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_every_kind_survive_a_file(kind: str, tmp_path: Path) -> None:
    scores = KINDS[kind]()
    scores.save(tmp_path / "scores.json")
    again = cf.load(tmp_path / "scores.json")
    assert same(again, scores)
    assert codec.plain(again) == codec.plain(scores)


def test_names_of_any_bytes_survive(tmp_path: Path) -> None:
    scores = cf.evaluate({"q\udcff": {"é": 1}}, {"r\udcff": {"q\udcff": {"é": 1.0}}}, "RR")
    scores.save(tmp_path / "scores.json")
    assert same(cf.Scores.load(tmp_path / "scores.json"), scores)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"kind": "scores", "version": 2}', '{"kind": "scores", "version": 1}']
)
def test_other_files_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(text)
    with pytest.raises(InputError, match="file"):
        cf.Scores.load(tmp_path / "file")


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    data = cf.evaluate(QRELS, RUNS[:1], ["AP", "RR"]).to_dict()
    del data["runs"]["bm25"]["RR"]["queries"]["q1"]
    (tmp_path / "file").write_text(json.dumps(data))
    with pytest.raises(InputError, match="RR has other queries than AP"):
        cf.Scores.load(tmp_path / "file")


def other_queries(data: dict[str, Any]) -> None:
    of_run = data["runs"]["bm25"]["RR"]["queries"]
    of_run["q9"] = of_run.pop("q1")
    data["queries"].append("q9")


def infinite(data: dict[str, Any]) -> None:
    data["runs"]["bm25"]["RR"]["queries"]["q1"] = float("inf")


def large(data: dict[str, Any]) -> None:
    data["runs"]["bm25"]["RR"]["queries"]["q1"] = -1e308


def text(data: dict[str, Any]) -> None:
    data["runs"]["bm25"]["RR"]["queries"]["q1"] = "0.5"


def truth(data: dict[str, Any]) -> None:
    data["runs"]["bm25"]["RR"]["queries"]["q1"] = True


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda data: data["measures"].clear(), "there are no scores"),
        (lambda data: data["runs"].clear(), "there are no scores"),
        (lambda data: data["queries"].append("q1"), "a query appears twice"),
        (other_queries, "RR has other queries than AP"),
        (infinite, "infinite|not a number|number"),
        (large, "a score is not between -1e\\+100 and 1e\\+100"),
        (text, "number"),
        (truth, "number"),
    ],
)
def test_damage_that_only_the_whole_shows(spoil: Any, message: str, tmp_path: Path) -> None:
    data = cf.evaluate(QRELS, RUNS[:1], ["AP", "RR"]).to_dict()
    spoil(data)
    (tmp_path / "file").write_text(json.dumps(data))
    with pytest.raises(InputError, match=message):
        cf.Scores.load(tmp_path / "file")


def test_a_run_of_other_scores_comes_first() -> None:
    old = cf.evaluate({"1": {"a": 1}, "2": {"a": 1}}, {"old": {"1": {"a": 1.0}, "2": {"a": 1.0}}}, ["AP", "RR"])
    new = cf.evaluate({"2": {"a": 1}, "3": {"a": 1}}, {"new": {"2": {"a": 1.0}, "3": {"a": 1.0}}}, ["recip_rank"])
    both = new.with_run(old, changed_judgments=True)
    assert both.runs == ("old", "new")
    assert both.queries == ("2", "3", "1")
    assert both.counted.tolist() == [[True, False, True], [True, True, False]]
    assert both._means.tolist() == [[1.0], [1.0]]
    assert old.with_run(old).runs == ("old (baseline)", "old")
    with pytest.raises(UsageError, match="has no scores for AP"):
        old.with_run(new, changed_judgments=True)


def test_a_baseline_of_another_policy_has_other_measures(tmp_path: Path) -> None:
    cf.evaluate(QRELS, {"old": RUNS[0]}, ["AP", "RR[ties=trec]"]).save(tmp_path / "old.json")
    old = cf.load(tmp_path / "old.json")
    new = cf.evaluate(QRELS, {"new": RUNS[1]}, ["AP", "RR[ties=trec]"], ties="expected")
    assert new.measures == old.measures
    with pytest.raises(
        UsageError, match=r"no scores for AP\[ties=expected\]\n\nhint: its measures are AP, RR\[ties=trec\]"
    ):
        new.with_run(old)
    assert new.only(measures="RR").with_run(old).runs == ("old", "new")
