"""Runs without their own contributions: by hand, against `evaluate` on the judgments left, and in groups."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from study_samples import call

import cranfield as cf
from cranfield import example
from cranfield.io.side_tables import read_run_groups
from cranfield.lab.simulation import Simulation
from cranfield.lab.studies.newcomers import NewcomersResult

QRELS = example.path(example.QRELS)
RUNS = [example.path(name) for name in example.RUNS]
MEASURES = ["AP", "AP[condensed]", "bpref", "P@3"]

# At depth 2: u1 alone has a and x, w1 alone b, w2 alone c; nobody has z.
LISTS = {"u1": "a x c", "w1": "d b a", "w2": "d c b"}
JUDGED = {"a": 1, "b": 1, "c": 0, "d": 1, "x": 0, "z": 1}
ALONE = {"u1": {"a", "x"}, "w1": {"b"}, "w2": {"c"}}


def ranking(text: str) -> dict[str, float]:
    return {document: -float(i) for i, document in enumerate(text.split())}


def runs() -> list[Any]:
    return [cf.read_run({q: ranking(text) for q in ("q1", "q2")}, name=name) for name, text in LISTS.items()]


def judged(gone: set[str] = frozenset()) -> dict[str, dict[str, int]]:  # type: ignore[assignment]
    return {q: {d: grade for d, grade in JUDGED.items() if d not in gone} for q in ("q1", "q2")}


def test_each_run_without_what_it_alone_contributed() -> None:
    found = cf.lab.newcomers(judged(), runs(), MEASURES, pool_depth=2)
    assert found.groups == found.runs == ("u1", "w1", "w2")
    assert found.unique.tolist() == [[2, 2], [2, 0], [0, 2]]  # in two queries alike
    for r, name in enumerate(found.runs):
        left = cf.evaluate(judged(ALONE[name]), runs(), MEASURES)._means
        assert found.without[:, r] == pytest.approx(left[r], abs=1e-12)
        higher = (left > left[r] + 1e-12).sum(axis=0)
        assert found.rank_without[:, r].tolist() == (1 + higher).tolist()
    assert found.score == pytest.approx(cf.evaluate(judged(), runs(), MEASURES)._means.T)
    assert tuple(map(str, found.notes)) == (
        "2 of 12 judged documents are not among the first 2 of any run; they stay judged",
    )


def test_ranks_by_hand() -> None:
    found = cf.lab.newcomers(judged(), runs(), ["P@3"], pool_depth=2)
    # P@3: 1/3, 1 and 2/3. Without a, u1 has none; without b, w1 has 2/3 as has w2, and shares the first place.
    assert found.score.tolist() == [pytest.approx([1 / 3, 1, 2 / 3])]
    assert found.without.tolist() == [pytest.approx([0, 2 / 3, 2 / 3])]
    assert found.rank.tolist() == [[3, 1, 2]]
    assert found.rank_without.tolist() == [[3, 1, 2]]
    assert found.change.tolist() == [pytest.approx([-1, -1 / 3, 0])]


@pytest.mark.parametrize("how", [{"groups": {"u1": "u", "w1": "w", "w2": "w"}}, {"prefix": "1"}])
def test_groups_go_together(how: dict[str, Any]) -> None:
    named = (
        runs()
        if "groups" in how
        else [cf.read_run(r.source, name=n) for r, n in zip(runs(), ("u1", "w1", "w1x"), strict=True)]
    )
    found = cf.lab.newcomers(judged(), named, MEASURES, pool_depth=2, **how)
    assert found.groups == ("u", "w")
    assert found.group == [0, 1, 1]
    # d is in two lists, but of one group: b, c and d are w's alone.
    assert found.unique.tolist() == [[2, 2], [4, 2]]
    left = cf.evaluate(judged({"b", "c", "d"}), named, MEASURES)._means
    assert found.without[:, 1:] == pytest.approx(left[1:].T, abs=1e-12)


def test_what_becomes_undefined_is_stated() -> None:
    lists = [{"q1": ranking("a"), "q2": ranking("a")}, {"q1": ranking("b"), "q2": ranking("c")}]
    found = cf.lab.newcomers({"q1": {"a": 1, "b": 0}, "q2": {"a": 1, "c": 1}}, lists, ["AP"], pool_depth=1)
    assert tuple(map(str, found.notes)) == (
        "AP becomes undefined for some queries without the judgments of 1 group; without those of run, means are over 1 of 2 queries",
    )


def test_nothing_of_its_own_changes_nothing() -> None:
    twice = [*runs(), cf.read_run(runs()[0].source, name="copy")]
    found = cf.lab.newcomers(judged(), twice, MEASURES, pool_depth=2)
    assert found.unique[0].tolist() == [0, 0]
    assert found.without[:, 0].tolist() == found.score[:, 0].tolist()


def test_saved_and_read_again(tmp_path: Path) -> None:
    found = cf.lab.newcomers(QRELS, RUNS, MEASURES, pool_depth=3)
    found.save(tmp_path / "study.json")
    assert NewcomersResult.load(tmp_path / "study.json").to_dict() == found.to_dict()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"pool_depth": 0}, "pool_depth must be a whole number of at least 1, not 0"),
        ({"pool_depth": 1.5}, "pool_depth must be a whole number of at least 1, not 1.5"),
        ({"prefix": ""}, "the prefix separator must not be empty"),
        ({"groups": {"u1": "u"}}, "run `w1` has no group"),
        ({"groups": {"u1": "u", "w1": "u", "w2": "u"}}, "all runs belong to the group `u`"),
        ({"groups": {"u1": "u"}, "prefix": "_"}, "groups and prefix cannot be combined"),
        ({"groups": 7}, "cannot read groups from int"),
    ],
)
def test_wrong_settings(how: dict[str, Any], message: str) -> None:
    with pytest.raises(cf.CranfieldError, match=message):
        cf.lab.newcomers(judged(), runs(), ["AP"], **how)


def test_files_of_groups(tmp_path: Path) -> None:
    path = tmp_path / "groups.txt"
    path.write_text("# who made what\nbm25 old\n\nmy run\tnew\nbm25 old\n")
    assert read_run_groups(path) == {"bm25": "old", "my run": "new"}
    path.write_text("bm25 old\ndense\nbm25 new\n")
    with pytest.raises(cf.InputError) as caught:
        read_run_groups(path)
    assert str(caught.value) == (
        f"{path}:2: expected 2 columns (run group), found 1: `dense`\n"
        f"{path}:3: run `bm25` already has another group, in line 1"
    )


@pytest.mark.parametrize("format", ["table", "markdown", "latex", "csv", "json"])
def test_tables(format: str, tmp_path: Path) -> None:
    groups = tmp_path / "groups.txt"
    groups.write_text("bm25 words\ndense vectors\nllm marks\nquiet marks\n")
    args = (QRELS, *RUNS, "-m", "AP bpref", "--pool-depth", 3, "--groups", groups, "--format", format)
    result = call("study", "newcomers", *args)
    assert result.exit_code == 0
    assert "vectors" in result.stdout
    assert "nan" not in result.stdout.lower().replace("provenance", "")
    if format == "json":
        assert json.loads(result.stdout)["groups"]["marks"]["runs"] == ["llm", "quiet"]


def test_figures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    cf.lab.newcomers(QRELS, RUNS, MEASURES, pool_depth=3).save(tmp_path / "study.json")
    result = call("study", "show", tmp_path / "study.json", "--figures", tmp_path / "figures")
    assert result.exit_code == 0
    assert sorted(p.name for p in (tmp_path / "figures").iterdir()) == [f"newcomers.{k}" for k in ("pdf", "png", "svg")]


def test_a_track(simulated: Simulation) -> None:
    found = cf.lab.newcomers(simulated.judgments, simulated.runs, ["RBP", "AP", "AP[condensed]"])
    persistent, plain, condensed = found.change
    assert (persistent <= 1e-12).all()  # what only a run found and what is no longer known to be relevant is lost to it
    lost = found.unique[:, 0] > 0
    assert lost.any() and not lost.all()
    assert (persistent[lost] < 0).all() and persistent[~lost] == pytest.approx(0, abs=1e-12)
    assert (plain[lost] < 0).all()  # though fewer documents are then missed
    assert np.mean(condensed) > 0  # a condensed list forgets the run's own mistakes too
