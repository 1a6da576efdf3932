"""Scores by name, and as data frames: the same values in every library."""

from __future__ import annotations

import math
import sys
from dataclasses import fields

import pytest

import cranfield as cf
from cranfield.errors import MissingDependency, UnknownName, UsageError

RUN = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"c": 1.0}}
QRELS = {"q1": {"a": 0, "b": 1}, "q2": {"c": 0}, "q3": {"a": 2}}
SCORES = cf.evaluate(QRELS, [RUN, {"q1": {"b": 1.0}}], ["AP", "P@1"], names=["x", "y"])


def rows(columns: dict) -> list[tuple]:
    clean = lambda v: None if v is None or (isinstance(v, float) and math.isnan(v)) else v  # noqa: E731
    return [tuple(clean(v) for v in row) for row in zip(*columns.values(), strict=True)]


def test_long_has_a_row_for_each_value() -> None:
    expected = [tuple(score) for score in SCORES]
    found = rows(SCORES.to_columns())
    assert [(run, measure, query) for run, query, measure, _ in found] == [row[:3] for row in expected]
    assert [v for *_, v in found] == [None if math.isnan(row[3]) else row[3] for row in expected]


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_every_library_has_the_same(layout: str) -> None:
    plain = rows(SCORES.to_columns(layout))
    assert rows(SCORES.to_arrow(layout).to_pydict()) == plain
    assert rows(SCORES.to_pandas(layout).to_dict("list")) == plain
    assert rows(SCORES.to_polars(layout).to_dict(as_series=False)) == plain
    assert len(plain) == (12 if layout == "long" else 6)


def test_a_column_without_values_is_still_of_numbers() -> None:
    nothing = cf.evaluate({"q": {"a": 0}}, {"q": {"a": 1.0}}, "AP")
    assert str(nothing.to_arrow().schema.field("value").type) == "double"
    assert nothing.to_pandas()["value"].dtype == float


@pytest.mark.parametrize("name", ["pyarrow", "pandas", "polars"])
def test_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingDependency, match=r"needs an optional package\n\nhint: pip install"):
        getattr(SCORES, f"to_{name.removeprefix('py')}")()


def test_an_unknown_layout() -> None:
    with pytest.raises(UsageError, match="layout must be one of long, wide; not 'tall'"):
        SCORES.to_columns("tall")


NAMED = cf.evaluate(
    {"1": {"a": 1}, "2": {"a": 1}, "3": {"b": 0}},
    {"old": {"1": ["b", "a"], "2": ["a"], "3": []}, "new": {"1": ["a"], "2": ["a"], "3": []}},
    ["RR", "P@1"],
)


def test_methods_take_and_return_names() -> None:
    assert NAMED.means == {"old": {"RR": 0.5, "P@1": 1 / 3}, "new": {"RR": 2 / 3, "P@1": 2 / 3}}
    assert NAMED.order() == ["new", "old"] and NAMED.order("name") == ["new", "old"]
    assert NAMED.order("input") == ["old", "new"] and NAMED.best(1) == ["new"] and NAMED.best(None) == ["old", "new"]
    part = NAMED.only(runs=["new", "old"], measures="recip_rank", queries=["2", "1"])
    assert (part.runs, part.measures, part.queries) == (("new", "old"), ("RR",), ("2", "1"))
    assert part.values.tolist() == [[[1.0, 1.0]], [[1.0, 0.5]]]
    assert NAMED.interval("old", "RR", method="t") == NAMED.only(runs="old").interval("old", "RR", method="t")
    assert NAMED.with_run(cf.evaluate({"1": {"a": 1}}, {"x": {"1": ["a"]}}, ["RR", "P@1"]), "x", changed_judgments=True)
    assert float(NAMED.only(runs="old", measures="RR")) == 0.5
    with pytest.raises(UsageError, match="2 measures are not one number"):
        float(NAMED)
    with pytest.raises(UsageError, match="P@1 of 2 runs is not one number"):
        float(NAMED.only(measures="P@1"))
    for wrong in ({"runs": "x"}, {"measures": ["RR", "AP"]}, {"queries": "9"}):
        with pytest.raises(UnknownName, match="is not one of the"):
            NAMED.only(**wrong)


def test_the_mean_over_collections_stays_one() -> None:
    qrels, run = {"1": {"a": 1}, "2": {"a": 1}}, {"1": ["a"], "2": ["b", "a"]}
    both = cf.evaluate({"x": qrels, "y": {"1": {"a": 1}}}, {"run": {"x": run, "y": {"1": ["c", "b", "a"]}}}, "RR")
    assert float(both) == pytest.approx((0.75 + 1 / 3) / 2)
    assert float(both.only(queries=["x/1", "x/2", "y/1"])) == float(both)
    assert float(both.only(queries=["x/1", "y/1"])) == pytest.approx((1 + 1 / 3) / 2)


def test_scores_have_few_public_methods() -> None:
    data = {field.name for field in fields(cf.Scores)}
    assert len([name for name in dir(cf.Scores) if not name.startswith("_") and name not in data]) <= 20
