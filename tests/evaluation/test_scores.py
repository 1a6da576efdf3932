"""Scores as data frames: the same values in every library."""

from __future__ import annotations

import math
import sys

import pytest

import cranfield as cf
from cranfield.errors import MissingDependency, UsageError

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
