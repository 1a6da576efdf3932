"""Tables of scores on several collections, and of groups of queries, in every format."""

from __future__ import annotations

import csv
import json
from io import StringIO
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.evaluation.scores import Scores
from cranfield.report import groups as report
from cranfield.report import pages, write
from cranfield.report.sheet import Layout

QRELS = {"dl19": {"1": {"a": 1}, "2": {"a": 1}, "3": {"a": 1}}, "dl20": {"1": {"a": 1}, "x": {"a": 1}}}
RUNS = {
    "old": {
        "dl19": {"1": ["a"], "2": ["b", "a"], "3": ["b", "a"]},
        "dl20": {"1": ["b", "a"], "x": ["b", "c", "d", "a"]},
    },
    "new": {"dl19": {"1": ["a"], "2": ["a"], "3": ["b", "a"]}, "dl20": {"1": ["b", "a"], "x": ["b", "a"]}},
}


@pytest.fixture(scope="module")
def several() -> cf.Scores:
    return cf.evaluate({name: cf.Collection(qrels) for name, qrels in QRELS.items()}, RUNS, ["RR", "P@1"])


def test_each_collection_has_a_column_and_the_mean_follows(several: cf.Scores) -> None:
    sheet = Layout(digits=4).sheet(several)
    assert sheet.columns == ("RR dl19", "RR dl20", "RR mean", "P@1 dl19", "P@1 dl20", "P@1 mean", "queries")
    # By hand: old has 1, 1/2, 1/2 and 1/2, 1/4; its means count equally, whatever the number of queries.
    found = {row.names[0]: [cell.text for cell in row.cells] for row in sheet.rows}
    assert found["old"] == ["0.6667", "0.3750", "0.5208", "0.3333", "0.0000", "0.1667", "5"]
    assert found["new"] == ["0.8333", "0.5000", "0.6667", "0.6667", "0.0000", "0.3333", "5"]
    best = [[cell.best for cell in row.cells] for row in sheet.rows]
    assert best == [[False] * 7, [True, True, True, True, False, True, False]]


def test_a_query_has_its_value_in_the_column_of_its_collection(several: cf.Scores) -> None:
    rows = {
        row.names: [cell.text for cell in row.cells] for row in Layout(per_query=True, digits=2).sheet(several).rows
    }
    assert rows["old", "dl19/2"] == ["0.50", "", "", "0.00", "", "", ""]
    assert rows["old", "dl20/x"] == ["", "0.25", "", "", "0.00", "", ""]
    assert rows["old", "all"][:3] == ["0.67", "0.38", "0.52"]


def test_collections_in_every_format(several: cf.Scores) -> None:
    heads = ["RR dl19", "RR dl20", "RR mean", "P@1 dl19", "P@1 dl20", "P@1 mean", "queries"]
    assert write(several, width=100).splitlines()[0].split() == " ".join(["run", *heads]).split()
    assert [cell.strip() for cell in write(several, "markdown").splitlines()[0].split("|")[2:-1]] == heads
    assert "run & RR dl19 & RR dl20 & RR mean & P@1 dl19" in write(several, "latex")
    assert json.loads(write(several, "json")) == json.loads(json.dumps(several.to_dict()))
    lines = list(csv.DictReader(StringIO(write(several, "csv", per_query=True))))
    means = {
        (line["run"], line["measure"], line["collection"]): float(line["value"])
        for line in lines
        if line["query"] == "all"
    }
    assert means["old", "RR", "dl20"] == 0.375
    assert means["old", "RR", ""] == several["RR"]["old"] == (2 / 3 + 0.375) / 2
    assert len(lines) == 2 * 2 * (5 + 3)
    assert "<th" in several._repr_html_() and "dl20" in several._repr_html_()


def test_intervals_are_those_of_each_collection_and_of_the_mean(several: cf.Scores) -> None:
    lines = list(csv.DictReader(StringIO(write(several, "csv", interval="t"))))
    alone = cf.evaluate(QRELS["dl19"], {"old": RUNS["old"]["dl19"]}, "RR")._interval(0, 0, method="t")
    found = {
        (line["run"], line["measure"], line["collection"]): (float(line["low"]), float(line["high"])) for line in lines
    }
    assert found["old", "RR", "dl19"] == alone
    assert found["old", "RR", ""] == several._interval(0, 0, method="t")
    assert max(high for _, high in found.values()) <= 1  # within the bounds of the measure


def test_a_run_without_a_collection_has_no_mean_there() -> None:
    runs = {"old": RUNS["old"], "new": {"dl19": RUNS["new"]["dl19"]}}
    scores = cf.evaluate({name: cf.Collection(qrels) for name, qrels in QRELS.items()}, runs, "RR", missing="skip")
    assert [cell.text for cell in Layout().sheet(scores).rows[1].cells] == ["0.8333", "–", "0.8333", "3"]


def test_one_collection_is_shown_as_ever() -> None:
    alone = cf.evaluate({"dl19": cf.Collection(QRELS["dl19"])}, {"old": {"dl19": RUNS["old"]["dl19"]}}, "RR")
    assert Layout().sheet(alone).columns == ("RR", "queries")
    assert write(alone, "csv").splitlines()[0] == "run,query,measure,value"


VALUES: dict[str, Any] = {
    "old": {"good": {"1": 0.5, "2": 0.25, "3": 0.5, "4": 0.75}, "slow": {"1": 9, "2": 8, "3": 9, "4": 9}},
    "new": {"good": {"1": 0.5, "2": 0.75, "3": 1.0, "4": 0.5}, "slow": {"1": 7, "2": 9, "3": 5, "4": 6}},
}
KINDS = {"1": {"kind": "how"}, "2": {"kind": "how"}, "3": {"kind": "a|b_"}, "4": {"kind": "a|b_"}}


@pytest.fixture(scope="module")
def scores() -> Scores:
    return cf.read_scores(VALUES, queries=KINDS, lower="slow")


def test_the_best_mean_is_the_lowest_where_less_is_better(scores: Scores) -> None:
    rows = Layout().sheet(scores).rows
    assert [[cell.best for cell in row.cells] for row in rows] == [[False, False, False], [True, True, False]]
    slow = report.pages(scores.by("kind"))[1].sheet
    assert [[cell.best for cell in row.cells] for row in slow.rows] == [[False, False], [True, True]]
    assert [cell.text for cell in slow.rows[0].cells] == ["9.0000", "8.5000"]


def test_equal_means_of_a_group_are_not_marked(scores: Scores) -> None:
    equal = cf.read_scores({"a": VALUES["old"], "b": VALUES["old"]}, queries=KINDS).by("kind")
    assert not any(cell.best for page in report.pages(equal) for row in page.sheet.rows for cell in row.cells)


def test_groups_in_every_format(scores: Scores) -> None:
    found = scores.by("kind", "old")
    text = pages.write(report.pages(found, 2), found.to_dict(), "table")
    assert text.startswith("good by kind; difference from old with its 95% interval\n")
    # The queries of `how`: differences 0 and 0.5; t with one degree of freedom is 12.706.
    assert "+0.25 [-2.93, +3.43]" in text
    heads = pages.write(report.pages(found), {}, "markdown").splitlines()[2]
    assert " ".join(heads.split()) == "| run | a\\|b\\_ 2 queries | how 2 queries | p of interaction |"
    assert "a$|$b\\_ 2 queries & how 2 queries" in pages.write(report.pages(found), {}, "latex")
    assert json.loads(pages.write([], found.to_dict(), "json"))["better"] == ["higher", "lower"]
    lines = list(csv.DictReader(StringIO(report.csv(found))))
    assert len(lines) == 2 * 2 * 2
    (line,) = [one for one in lines if (one["measure"], one["run"], one["kind"]) == ("good", "new", "how")]
    assert (line["queries"], float(line["mean"]), float(line["difference"])) == ("2", 0.625, 0.25)
    assert (float(line["low"]), float(line["high"])) == (found.low[0, 1, 1], found.high[0, 1, 1])


def test_groups_in_a_notebook(scores: Scores) -> None:
    found = scores.by("kind", "old")
    assert "<b>0.7500</b>" in found._repr_html_() and "a|b_<br>2 queries" in found._repr_html_()
    assert "note: no difference from old depends significantly on kind" in repr(found) + str(found)


def test_saved_groups_are_the_same(scores: Scores, tmp_path: Any) -> None:
    found = scores.by("kind", "old")
    found.save(tmp_path / "groups.json")
    again = cf.load(tmp_path / "groups.json")
    assert again.to_dict() == found.to_dict() and again.better == ("higher", "lower")


def test_a_geometric_mean_has_no_difference_by_group() -> None:
    table = {"1": {"kind": "x"}, "2": {"kind": "x"}, "3": {"kind": "y"}}
    collection = cf.Collection(QRELS["dl19"], queries=table)
    runs = {name: of["dl19"] for name, of in RUNS.items()}
    found = cf.evaluate(collection, runs, ["AP", "GMAP"]).by("kind", "old")
    assert np.isfinite(found.difference[0]).all() and np.isnan(found.difference[1]).all()
    assert found.means[1, 0, 0] == pytest.approx(np.sqrt(0.5))
