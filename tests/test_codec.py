"""The codec of results: what is written is what is read, and data of another type are refused."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import pytest

import cranfield as cf
from cranfield.codec import Saved, plain, text, typed
from cranfield.data import Booleans, Floats, Integers
from cranfield.errors import InputError
from cranfield.saved import load


class Point(NamedTuple):
    """A record inside another one."""

    x: float
    label: str = "none"


@dataclass(frozen=True, eq=False)
class Everything(Saved):
    """A field of every type."""

    _KIND: ClassVar[str] = "everything"
    _VERSION: ClassVar[int] = 2
    _WHAT: ClassVar[str] = "a saved thing"
    _HINT: ClassVar[str] = "make one"
    DERIVED: ClassVar[tuple[str, ...]] = ("largest",)

    count: int
    share: float
    sure: bool
    name: str | None
    method: Literal["a", "b"]
    pair: tuple[int, float]
    names: tuple[str, ...]
    by_name: dict[str, float]
    points: tuple[Point, ...]
    values: Floats
    counts: Integers
    held: Booleans
    extra: tuple[str, ...] = ()
    sizes: dict[int, int] = field(default_factory=lambda: {2: 5, 3: 1})

    @property
    def largest(self) -> int:
        return max(self.sizes)


def thing(**changes: Any) -> Everything:
    values: dict[str, Any] = {
        "count": 3,
        "share": 0.1,
        "sure": True,
        "name": None,
        "method": "b",
        "pair": (1, math.nan),
        "names": ("x", "y"),
        "by_name": {"x": math.nan},
        "points": (Point(1.5), Point(2.5, "two")),
        "values": np.array([[0.1, math.nan], [0.3, 1 / 3]]),
        "counts": np.array([1, 2]),
        "held": np.array([True, False]),
    }
    return Everything(**values | changes)


def test_every_type_survives(tmp_path: Any) -> None:
    written = thing(extra=("more",))
    written.save(tmp_path / "file")
    read = Everything.load(tmp_path / "file")
    assert plain(vars(read)) == plain(vars(written))
    for name in ("values", "counts", "held"):
        a, b = getattr(read, name), getattr(written, name)
        assert a.dtype == b.dtype
        assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    assert read.points == written.points
    assert math.isnan(read.pair[1])


def test_the_layout_follows_the_fields() -> None:
    data = thing().to_dict()
    assert list(data)[:4] == ["kind", "version", "count", "share"]
    assert list(data)[-2:] == ["sizes", "largest"]
    assert (data["sizes"], data["largest"]) == ({"2": 5, "3": 1}, 3)
    assert data["points"] == [{"x": 1.5, "label": "none"}, {"x": 2.5, "label": "two"}]
    assert data["values"] == [[0.1, None], [0.3, 1 / 3]]


def test_infinity_is_null_or_text() -> None:
    assert plain([math.inf, -math.inf]) == [None, None]
    assert plain(np.array([math.inf, -math.inf, math.nan]), infinite=True) == ["inf", "-inf", None]
    assert typed(Floats, ["inf", "-inf", 1]).tolist() == [math.inf, -math.inf, 1.0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("count", 1.5),
        ("count", True),
        ("share", "much"),
        ("share", True),
        ("sure", 1),
        ("name", 3),
        ("method", "c"),
        ("pair", [1]),
        ("pair", [1, 2, 3]),
        ("names", "xy"),
        ("names", [1]),
        ("by_name", []),
        ("points", [{"label": "no x"}]),
        ("points", [[1.5, "list"]]),
        ("values", [[1, 2], [3]]),
        ("values", [["many"]]),
    ],
)
def test_other_types_are_refused_with_the_name_of_the_file(name: str, value: Any, tmp_path: Any) -> None:
    (tmp_path / "file").write_text(json.dumps(thing().to_dict() | {name: value}))
    with pytest.raises(InputError, match="not a complete saved thing") as raised:
        Everything.load(tmp_path / "file")
    assert raised.value.message.startswith(str(tmp_path / "file"))


def test_a_missing_field_is_refused_and_an_unknown_one_ignored(tmp_path: Any) -> None:
    data = thing().to_dict()
    (tmp_path / "file").write_text(json.dumps(data | {"unknown": 1}))
    assert Everything.load(tmp_path / "file").count == 3
    (tmp_path / "file").write_text(json.dumps({key: value for key, value in data.items() if key != "count"}))
    with pytest.raises(InputError, match="'count'"):
        Everything.load(tmp_path / "file")


def test_older_versions_are_read_and_later_ones_refused(tmp_path: Any) -> None:
    (tmp_path / "file").write_text(json.dumps(thing().to_dict() | {"version": 1}))
    assert Everything.load(tmp_path / "file").count == 3
    (tmp_path / "file").write_text(json.dumps(thing().to_dict() | {"version": 3}))
    with pytest.raises(InputError, match="version 3 of the file format; this version of cranfield reads up to 2"):
        Everything.load(tmp_path / "file")


def test_one_loader_reads_every_kind_of_result(tmp_path: Any) -> None:
    runs = {"x": {q: ["a"] for q in "123"}, "y": {q: ["b", "a"] for q in "123"}}
    scores = cf.evaluate({q: {"a": 1} for q in "123"}, runs, "RR")
    scores.save(tmp_path / "scores.json")
    cf.compare(scores).save(tmp_path / "comparison.json")
    cf.lab.properties("P", documents=2).save(tmp_path / "study.json")
    assert isinstance(cf.load(tmp_path / "scores.json"), cf.Scores)
    assert isinstance(cf.load(tmp_path / "comparison.json"), cf.Comparison)
    assert cf.load(tmp_path / "study.json").measures == ("P@k",)
    (tmp_path / "other.json").write_text('{"kind": "weather", "version": 1}')
    with pytest.raises(InputError, match="not saved scores, groups, a comparison or a study"):
        load(tmp_path / "other.json")


def test_text_has_no_control_characters_and_names_of_any_bytes_survive() -> None:
    assert text({"a\x1b": "é\u202e"}) == '{"a\\u001b": "é\\u202e"}\n'
